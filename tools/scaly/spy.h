/* Sparsity patterns as text. */
#ifndef SCALY_COMMAND_SPY_H
#define SCALY_COMMAND_SPY_H

#include "scaly/scaly.h"

/* The pattern of every sparse output, to standard output. Returns the exit code: a function without one is an input
 * that is wrong. */
int write_spy(const sc_function *f);

#endif
