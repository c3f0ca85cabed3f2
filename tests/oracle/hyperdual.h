/* Hyper-dual numbers (Fike and Alonso, AIAA 2011-886): values with two first derivatives and the mixed second one,
 * exact to rounding. The slopes of every operation are written out here, apart from the library's table, so that the
 * two check each other. */
#ifndef SCALY_TESTS_HYPERDUAL_H
#define SCALY_TESTS_HYPERDUAL_H

#include "lib/ops/ops.h"
#include "scaly/function.h"

typedef struct hyperdual {
  double v, d1, d2, d12;
} hyperdual;

/* Operations with derivatives, away from kinks; false for one without. */
bool hd_apply(sci_op op, const hyperdual *a, hyperdual *out);

/* One output of a float64 function over hyper-dual inputs (integers and bools among them as plain values). Ties are
 * split as the library does. False: something that a result depends on is not finite, too large to compare, or on a
 * jump of a derivative; what a selection leaves out may be anything. */
bool ora_eval_dual(const sc_function *f, const hyperdual *const *in, uint32_t output, hyperdual *out);

#endif
