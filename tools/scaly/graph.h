/* Pictures of expression graphs. */
#ifndef SCALY_COMMAND_GRAPH_H
#define SCALY_COMMAND_GRAPH_H

#include "scaly/scaly.h"

/* Everything that a function's outputs and inputs reach. */
typedef struct node_set {
  sc_expr *by_id; /* null handle: not reached */
  size_t n;
} node_set;
node_set graph_reach(const sc_function *f);

/* The graph of a function as a picture: operands above users, outputs at the ends, self-contained SVG to standard
 * output. False after a failure reported in the context. */
bool write_svg(const sc_function *f);

/* The graph of a function in the dot language, to standard output. False after a failure reported in the context. */
bool write_dot(const sc_function *f);

#endif
