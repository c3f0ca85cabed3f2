/* The same product by whatever BLAS is linked. */
#include <cblas.h>

#ifndef HAND_N
#define HAND_N 64
#endif

int matmul(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, HAND_N, HAND_N, HAND_N, 1, arg[0], HAND_N, arg[1], HAND_N, 0,
              res[0], HAND_N);
  return 0;
}
