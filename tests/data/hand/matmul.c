/* A square product, written by hand: panels of B packed, tiles of 4 rows by 2 vectors kept in registers. */
#include "hand.h"

#ifndef HAND_N
#define HAND_N 64
#endif
#if HAND_N % 16
#error "written for multiples of 16"
#endif

int matmul(const double **arg, double **res, int *iw, double *w, int mem) {
  enum { N = HAND_N, COLUMNS = 2 * W, ROWS = 4 };
  (void)iw;
  (void)w;
  (void)mem;
  const double *a = arg[0], *b = arg[1];
  double *c = res[0];
  vec panel[N][2];
  for (int j = 0; j < N; j += COLUMNS) {
    for (int k = 0; k < N; k++) {
      panel[k][0] = load(b + k * N + j);
      panel[k][1] = load(b + k * N + j + W);
    }
    for (int i = 0; i < N; i += ROWS) {
      vec sum[ROWS][2] = {0};
      const double *rows = a + i * N;
#pragma GCC unroll 4
      for (int k = 0; k < N; k++)
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
          vec x = splat(rows[r * N + k]);
          sum[r][0] += x * panel[k][0];
          sum[r][1] += x * panel[k][1];
        }
      for (int r = 0; r < ROWS; r++) {
        store(c + (i + r) * N + j, sum[r][0]);
        store(c + (i + r) * N + j + W, sum[r][1]);
      }
    }
  }
  return 0;
}
