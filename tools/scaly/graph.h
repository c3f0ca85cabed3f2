/* Pictures of expression graphs. */
#ifndef SCALY_COMMAND_GRAPH_H
#define SCALY_COMMAND_GRAPH_H

#include "scaly/scaly.h"

/* The graph of a function in the dot language, to standard output. False after a failure reported in the context. */
bool write_dot(const sc_function *f);

#endif
