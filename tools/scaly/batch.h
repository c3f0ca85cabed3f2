/* Many calls in one run: inputs with a leading axis, of which every call gets a row. */
#ifndef SCALY_COMMAND_BATCH_H
#define SCALY_COMMAND_BATCH_H

#include "tools/scaly/values.h"

typedef struct batch {
  int64_t rows;     /* -1: no input has a leading axis yet */
  size_t *step;     /* per input, bytes from one call's values to the next one's; 0: all calls share them */
  const char *file; /* which said how many rows there are */
} batch;

/* If the file holds a row per call instead of the values of one, gives `port` the leading axis that it has then: an npy
 * file whose shape is the input's behind one more dimension, or a csv file with all of the input's values in a line,
 * and several lines. What a vector or matrix alone could be is that. False after a complaint. */
bool batch_widen(batch *b, size_t input, value_source src, sc_port *port);

/* Calls the kernel once per row. `ports` and `out` get the outputs, with the leading axis. Returns the exit code. */
int batch_call(sc_kernel *k, const batch *b, void *const *in, port_list *ports, void ***out);

#endif
