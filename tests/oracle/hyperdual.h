/* Hyper-dual numbers (Fike and Alonso, AIAA 2011-886): values with two first derivatives and the mixed second one,
 * exact to rounding. The slopes of every operation are written out here, apart from the library's table, so that the
 * two check each other. */
#ifndef SCALY_TESTS_HYPERDUAL_H
#define SCALY_TESTS_HYPERDUAL_H

#include "lib/ops/ops.h"

typedef struct hyperdual {
  double v, d1, d2, d12;
} hyperdual;

/* Operations with derivatives, away from kinks; false for one without. */
bool hd_apply(sci_op op, const hyperdual *a, hyperdual *out);

#endif
