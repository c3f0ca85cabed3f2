/* Very long straight-line code in pieces: the second half of schedule_scalar. */
#ifndef SCI_PASSES_SPLIT_H
#define SCI_PASSES_SPLIT_H

#include "lib/program/program.h"

/* In procedures that no loop calls, runs of loads, stores and immutable names in procedures' outermost blocks that hold
 * more than SCI_SPLIT_FROM operations become calls of procedures of about SCI_SPLIT_PIECE each, so that a compiler
 * whose time per function grows faster than its length still takes time proportional to the whole. NULL when there is
 * nothing to split. */
enum { SCI_SPLIT_PIECE = 512, SCI_SPLIT_FROM = 2048 };
sci_program *sci_split_procs(const sci_program *p, int64_t *changes);

#endif
