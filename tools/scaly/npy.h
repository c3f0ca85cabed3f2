/* The NumPy file format. */
#ifndef SCALY_COMMAND_NPY_H
#define SCALY_COMMAND_NPY_H

#include "tools/scaly/values.h"

/* One dense array to standard output. */
void write_npy(const sc_port *port, const void *data);

#endif
