/* The NumPy file format. */
#ifndef SCALY_COMMAND_NPY_H
#define SCALY_COMMAND_NPY_H

#include "tools/scaly/values.h"

/* The shape that the header of a file announces; false when it cannot be read. */
bool npy_shape(value_source src, int *rank, int64_t shape[SC_MAX_RANK]);

/* One dense array to standard output. */
void write_npy(const sc_port *port, const void *data);

#endif
