/* Sum, dot product and norm, written by hand: eight vectors of partial sums, enough for the latency of an addition. */
#include <math.h>

#include "hand.h"

#ifndef HAND_N
#define HAND_N 100
#endif

enum { PARTS = 8 };

INLINE double total(const double *x, const double *y) {
  vec part[PARTS] = {0};
  long i = 0;
  for (; i + PARTS * W <= HAND_N; i += PARTS * W)
#pragma GCC unroll 8
    for (int k = 0; k < PARTS; k++) part[k] += y ? load(x + i + k * W) * load(y + i + k * W) : load(x + i + k * W);
  for (; i + W <= HAND_N; i += W) part[0] += y ? load(x + i) * load(y + i) : load(x + i);
  for (int k = PARTS / 2; k; k /= 2)
    for (int j = 0; j < k; j++) part[j] += part[j + k];
  double sum = 0;
  for (int l = 0; l < W; l++) sum += part[0][l];
  for (; i < HAND_N; i++) sum += y ? x[i] * y[i] : x[i];
  return sum;
}

int reduce_sum(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  res[0][0] = total(arg[0], 0);
  return 0;
}

int reduce_dot(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  res[0][0] = total(arg[0], arg[1]);
  return 0;
}

int reduce_norm(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  res[0][0] = sqrt(total(arg[0], arg[0]));
  return 0;
}
