/* Timing of kernel calls, and distances between results. */
#ifndef SCALY_COMMAND_MEASURE_H
#define SCALY_COMMAND_MEASURE_H

#include "tools/scaly/values.h"

typedef struct timing {
  double ns;     /* per call, median */
  double spread; /* interquartile range / median */
} timing;

timing measure_calls(const sc_kernel *k, void *const *in, void **out);

/* Largest distance seen. Two NaNs are equal, a NaN and a number infinitely far apart. Integers: ulp is the absolute
 * difference. */
typedef struct difference {
  double abs, ulp;
} difference;

void widen_difference(difference *d, const sc_kernel *k, void *const *a, void *const *b);

#endif
