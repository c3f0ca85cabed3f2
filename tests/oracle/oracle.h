/* Reference evaluators of both dialects for the tests: slow, plain, and written apart from lib/ so that the two check
 * each other. */
#ifndef SCALY_TESTS_ORACLE_H
#define SCALY_TESTS_ORACLE_H

#include "lib/ops/ops.h"
#include "scaly/scaly.h"

/* The meaning of one scalar operation. `dtype` is the operands' (of a select: the branches'), `to` a cast's result.
 * `fma` rounds once. */
sci_scalar ora_scalar(sci_op op, sc_dtype dtype, sc_dtype to, const sci_scalar args[3]);
static inline sci_scalar ora_scalar2(sci_op op, sc_dtype dtype, sci_scalar a, sci_scalar b) {
  return ora_scalar(op, dtype, dtype, (sci_scalar[3]){a, b, {.bits = 0}});
}

/* Element i of an array in the storage form of its dtype; any nonzero bool reads as true. */
sci_scalar ora_load(sc_dtype dtype, const void *data, int64_t i);
void ora_store(sc_dtype dtype, void *data, int64_t i, sci_scalar v);

/* The documented order of a sum, maximum or minimum, which fixes its bits (of an extremum, which zero of two): fewer
 * than 8 terms in order; fewer than 64 in 4 partial results; else 32 over blocks of 4,096, halved, blocks pairwise.
 * Overwrites `terms`. */
sci_scalar ora_ordered(sc_dtype dtype, sci_op op, int64_t n, sci_scalar *terms);

/* Evaluates f node by node, without fused multiply-adds: what a program lowered with strict rounding must reproduce bit
 * for bit. in[i] and out[i] hold row-major elements (stored values when sparse). */
void ora_eval_function(const sc_function *f, const void *const *in, void *const *out);
/* The same; tells whether every value on the way was finite. */
bool ora_eval_finite(const sc_function *f, const void *const *in, void *const *out);

typedef struct ora_run_options {
  bool reverse; /* run independent loops backwards: their promise is that this changes nothing */
} ora_run_options;

/* Executes a program as its dialect says and checks what compiled code cannot: bounds, reads of uninitialized memory,
 * overlapping views of calls, workspace windows, outputs left unwritten. Returns false with a message in `why` for a
 * program that breaks a rule. */
bool ora_run_program(const sc_program *p, const void *const *in, void *const *out, const ora_run_options *options,
                     char *why, size_t why_size);

/* The first element whose bits differ, NaN payloads and signs aside; -1: none. */
int64_t ora_first_difference(sc_dtype dtype, int64_t n, const void *a, const void *b);
/* Distance in units in the last place; 0 for equal values and for two NaNs, INT64_MAX where only one is NaN. Integers:
 * 0 or 1. */
int64_t ora_ulps(sc_dtype dtype, sci_scalar a, sci_scalar b);
/* The value in full, for messages. */
const char *ora_text(sc_dtype dtype, sci_scalar v, char buffer[48]);

#endif
