/* The chain's constraint Jacobian, written by hand. */
#include "chain.h"

enum { MAX_WIDTH = STAGE * (STATES + 1) };

/* Derivatives of q+ and v+ by q, and of both by w, blocks of masses. */
typedef struct blocks {
  mat q_q[MOVING][MASSES], v_q[MOVING][MASSES], q_w[MOVING][MASSES], v_w[MOVING][MASSES];
} blocks;

static void fill(const chain_constants *k, const chain_point o[4], blocks *r) {
  double h = k->h, h2 = h * h;
#pragma GCC unroll 4
  for (int i = 0; i < MOVING; i++)
#pragma GCC unroll 4
    for (int j = 0; j < MASSES; j++) {
      if (!near(i, j, 2)) continue;
      mat p3 = g_product(&o[2], &o[0], i, j), p4 = g_product(&o[3], &o[1], i, j), g1 = {0}, g2 = {0}, g3 = {0},
          g4 = {0};
      if (near(i, j, 1)) {
        g1 = g_block(&o[0], i, j);
        g2 = g_block(&o[1], i, j);
        g3 = g_block(&o[2], i, j);
        g4 = g_block(&o[3], i, j);
      }
#pragma GCC unroll 9
      for (int e = 0; e < 9; e++) {
        int x = e / 3, y = e % 3, own = i == j && x == y;
        vec a1 = g1.m[x][y], a2 = g2.m[x][y], a3 = g3.m[x][y] + h2 / 4 * p3.m[x][y], b3 = g3.m[x][y];
        vec a4 = g4.m[x][y] + h2 / 2 * p4.m[x][y], b4 = h * g4.m[x][y] + h2 * h / 4 * p4.m[x][y];
        r->q_q[i][j].m[x][y] = own + h2 / 6 * (a1 + a2 + a3);
        r->v_q[i][j].m[x][y] = h / 6 * (a1 + 2 * (a2 + a3) + a4);
        r->q_w[i][j].m[x][y] = (own ? h : 0) + h2 * h / 12 * (a2 + b3);
        r->v_w[i][j].m[x][y] = own + h / 6 * (h * (a2 + b3) + b4);
      }
    }
}

/* The stage's columns in order: the state's own row (not for the input), q+, v+. Returns the number of values. */
INLINE int lay_out(const blocks *r, double h, vec *block) {
  int n = 0;
#pragma GCC unroll 32
  for (int c = 0; c < STAGE; c++) {
    int by_w = c >= Q, j = (by_w ? c - Q : c) / 3, y = c % 3;
    if (c < STATES) block[n++] = splat(-1);
    for (int i = 0; i < MOVING; i++)
      if (near(i, j, by_w ? 1 : 2))
        for (int x = 0; x < 3; x++) block[n++] = by_w ? r->q_w[i][j].m[x][y] : r->q_q[i][j].m[x][y];
    if (j == MOVING) block[n++] = splat(by_w ? h : 1);
    for (int i = 0; i < MOVING; i++)
      if (near(i, j, 2))
        for (int x = 0; x < 3; x++) block[n++] = by_w ? r->v_w[i][j].m[x][y] : r->v_q[i][j].m[x][y];
  }
  return n;
}

/* Values per stage. */
static int width(void) {
  int n = STATES + 6;
  for (int i = 0; i < MOVING; i++)
    for (int j = 0; j < MASSES; j++) n += 9 * (near(i, j, 1) + 3 * near(i, j, 2));
  return n;
}

static void chunk(const double *z, const double *lam, const double *p, double lam_f, double *out) {
  (void)lam;
  (void)lam_f;
  chain_constants k = chain_of(p);
  vec x[STAGE], block[MAX_WIDTH];
  chain_point o[4];
  blocks r;
  load_block(z, STAGE, STAGE, x);
  chain_points(&k, x, o);
  fill(&k, o, &r);
  int n = lay_out(&r, k.h, block);
  store_block(out, n, n, block);
}

int chain_spjac_eq_z(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  double *out = res[0];
  int n = width(), at = 0;
  over_horizon(chunk, HAND_N, arg[0], STAGE, STAGE, 0, 0, arg[1], 0, out, n);
  for (int c = 0; c < STATES; c++) { /* x_0 - xbar; the last state */
    out[at] = 1;
    int by_w = c >= Q, j = (by_w ? c - Q : c) / 3;
    at += 1 + (j == MOVING);
    for (int i = 0; i < MOVING; i++) at += 3 * (near(i, j, by_w ? 1 : 2) + near(i, j, 2));
    out[HAND_N * n + c] = -1;
  }
  return 0;
}
