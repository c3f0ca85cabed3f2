/* Distances between results. */
#ifndef SCALY_COMMAND_DIFFERENCE_H
#define SCALY_COMMAND_DIFFERENCE_H

#include "tools/scaly/values.h"

/* Largest distance seen. Two NaNs are equal, a NaN and a number infinitely far apart. Integers: ulp is the absolute
 * difference. */
typedef struct difference {
  double abs, ulp;
} difference;

void widen_difference(difference *d, port_list outputs, void *const *a, void *const *b);

/* Whether no element of an output is farther apart than 1e-6 (float32: 1e-3) of the output's largest finite magnitude,
 * with NaNs and infinities in the same places, and all integers equal. */
bool same_but_rounding(port_list outputs, void *const *a, void *const *b);

#endif
