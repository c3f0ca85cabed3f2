/* What the parts of the accuracy test share: arguments, exact results, and calls of vector routines. */
#ifndef SCALY_TESTS_VECTOR_MATH_RIG_H
#define SCALY_TESTS_VECTOR_MATH_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/target/vector_math.h"

/* ---- points.c: arguments over a function's whole domain ---- */

/* Fills x (and y for two operands) with n arguments: edges first, then a mixture of random bits, the range where the
 * function is interesting, and neighbourhoods of its hard points. The first n are the same for every larger n. Floats
 * are exact in doubles. */
void make_points(int op, sc_dtype dtype, size_t n, double *x, double *y);

/* ---- reference.c: what is exact ---- */

/* A result: rounded to nearest, and what that leaves of the exact value, in ULP of the exact value. */
typedef struct exact {
  double rounded, rest;
} exact;
exact exact_value(int op, sc_dtype dtype, double x, double y); /* op: a sci_op with vector routines */
/* The error in ULP. Infinite for a wrong NaN, infinity or sign of zero. */
double error_of(sc_dtype dtype, double got, exact want);

/* ---- call.c: by register width ---- */

bool can_run(const sci_vector_routine *r);
/* Calls the routine on n elements (a multiple of its lanes) of `dtype`; two results for a sincos. */
void call_routine(const sci_vector_routine *r, void (*address)(void), sc_dtype dtype, int op, size_t n, const void *x,
                  const void *y, void *out, void *out2);

#endif
