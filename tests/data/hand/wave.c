/* wave, written by hand: y = sin(x) exp(-x^2) and the gradient of its sum, W elements at a time; the last vector
 * overlaps. */
#include "hand.h"

#ifndef HAND_N
#define HAND_N 64
#endif

INLINE vec value(vec x) {
  return VECTOR_MATH(sin)(x) * VECTOR_MATH(exp)(-x * x);
}

INLINE vec slope(vec x) {
  vec e = VECTOR_MATH(exp)(-x * x), c = VECTOR_MATH(cos)(x);
  return e * (c - 2 * x * VECTOR_MATH(sin)(x));
}

INLINE void over(vec (*f)(vec), const double *x, double *y, long n) {
  if (n < W) {
    vec v = {0};
    for (long i = 0; i < n; i++) v[i] = x[i];
    v = f(v);
    for (long i = 0; i < n; i++) y[i] = v[i];
    return;
  }
  long i = 0;
  for (; i + W <= n; i += W) store(y + i, f(load(x + i)));
  if (i < n) store(y + n - W, f(load(x + n - W)));
}

int wave(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  over(value, arg[0], res[0], HAND_N);
  return 0;
}

int wave_grad_s_x(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  over(slope, arg[0], res[0], HAND_N);
  return 0;
}
