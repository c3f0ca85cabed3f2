/* The chain's Hessian of the Lagrangian, written by hand: with T_i the second derivative of the weighted accelerations
 * at point i and R_i = dQ_i/dq, the parts are R' T R by q and q, and short sums of T, T R and R' T R by the velocities
 * and the input. */
#include "chain.h"

enum { WIDTH = STAGE * (STAGE + 1) / 2 };

/* Second derivative of beta . force(d) in one link. */
INLINE sym link_curvature(const chain_point *o, int i, const vec beta[3]) {
  const vec *d = o->d[i];
  vec s = beta[0] * d[0] + beta[1] * d[1] + beta[2] * d[2], e = o->e[i], es = e * s, m = -3 * es * o->per_n2[i];
  vec eb[3] = {e * beta[0], e * beta[1], e * beta[2]}, md[3] = {m * d[0], m * d[1], m * d[2]};
  return (sym){{2 * eb[0] * d[0] + es + md[0] * d[0], eb[0] * d[1] + eb[1] * d[0] + md[0] * d[1],
                eb[0] * d[2] + eb[2] * d[0] + md[0] * d[2], 2 * eb[1] * d[1] + es + md[1] * d[1],
                eb[1] * d[2] + eb[2] * d[1] + md[1] * d[2], 2 * eb[2] * d[2] + es + md[2] * d[2]}};
}

/* Blocks of T: the links' curvatures under the weights of the moving masses. */
INLINE void curvatures(const chain_point *o, vec weight[MASSES][3], sym link[MASSES]) {
#pragma GCC unroll 4
  for (int i = 0; i < MASSES; i++) {
    vec beta[3];
    for (int x = 0; x < 3; x++) {
      beta[x] = splat(0);
      if (i) beta[x] += weight[i - 1][x];
      if (i < MOVING) beta[x] -= weight[i][x];
    }
    link[i] = link_curvature(o, i, beta);
  }
}

INLINE mat t_block(const sym link[MASSES], int i, int j) {
  if (i == j) return mat_of(i + 1 < MASSES ? sym_add(link[i], link[i + 1]) : link[i]);
  mat r = mat_of(link[i > j ? i : j]);
  for (int x = 0; x < 3; x++)
    for (int y = 0; y < 3; y++) r.m[x][y] = -r.m[x][y];
  return r;
}

/* Block (i, j) of R = 1 + c G. */
INLINE mat r_block(const chain_point *o, double c, int i, int j) {
  mat r = {0};
  if (i < MOVING && near(i, j, 1)) r = g_block(o, i, j);
  for (int x = 0; x < 3; x++)
    for (int y = 0; y < 3; y++) r.m[x][y] = (i == j && x == y) + c * r.m[x][y];
  return r;
}

/* weight of the accelerations that `o` depends on: += c G' weight_of_o */
INLINE void pull_back(const chain_point *o, double c, vec from[MASSES][3], vec to[MASSES][3]) {
#pragma GCC unroll 4
  for (int i = 0; i < MOVING; i++)
#pragma GCC unroll 4
    for (int j = 0; j < MOVING; j++) {
      if (!near(i, j, 1)) continue;
      mat g = g_block(o, i, j);
      for (int x = 0; x < 3; x++)
        for (int y = 0; y < 3; y++) to[j][y] += c * g.m[x][y] * from[i][x];
    }
}

typedef struct products {
  mat x[MASSES][MASSES], z[MASSES][MASSES]; /* T R (within 2 blocks of the diagonal), R' T R (lower) */
} products;

static void multiply(const sym link[MASSES], const chain_point *o, double c, products *out) {
#pragma GCC unroll 4
  for (int i = 0; i < MASSES; i++)
#pragma GCC unroll 4
    for (int j = 0; j < MASSES; j++) {
      mat sum = {0};
#pragma GCC unroll 4
      for (int m = 0; m < MASSES; m++) {
        if (!near(i, m, 1) || !near(m, j, 1) || (m == MOVING && j != m)) continue;
        mat t = t_block(link, i, m), r = r_block(o, c, m, j);
        mul_add(&sum, &t, &r);
      }
      out->x[i][j] = sum;
    }
#pragma GCC unroll 4
  for (int i = 0; i < MASSES; i++)
#pragma GCC unroll 4
    for (int j = 0; j <= i; j++) {
      mat sum = {0};
#pragma GCC unroll 4
      for (int m = 0; m < MASSES; m++) {
        if (!near(m, i, 1) || !near(m, j, 2) || (m == MOVING && i != m)) continue;
        mat r = r_block(o, c, m, i);
        mul_add_transposed(&sum, &r, &out->x[m][j]);
      }
      out->z[i][j] = sum;
    }
}

/* (row, column) among q and w, row >= column. */
INLINE vec *lower_at(vec *block, int row, int column) {
  return block + column * STAGE - column * (column - 1) / 2 + row - column;
}

static void combine(double h, sym t[4][MASSES], const products *p3, const products *p4, vec *block) {
#pragma GCC unroll 4
  for (int i = 0; i < MASSES; i++)
#pragma GCC unroll 4
    for (int j = 0; j < MASSES; j++) {
      mat t1 = {0}, t2 = {0}, t3 = {0}, t4 = {0};
      if (near(i, j, 1)) {
        t1 = t_block(t[0], i, j);
        t2 = t_block(t[1], i, j);
        t3 = t_block(t[2], i, j);
        t4 = t_block(t[3], i, j);
      }
#pragma GCC unroll 9
      for (int e = 0; e < 9; e++) {
        int a = e / 3, b = e % 3, row = 3 * i + a, column = 3 * j + b;
        vec x4 = p4->x[i][j].m[a][b], x4_t = p4->x[j][i].m[b][a], x3 = p3->x[i][j].m[a][b];
        vec z4 = i >= j ? p4->z[i][j].m[a][b] : p4->z[j][i].m[b][a];
        /* by w (row) and q (column): h/2 times the rows of T dQ/dq */
        *lower_at(block, Q + row, column) = h / 2 * (t2.m[a][b] + x3 + x4 + z4);
        if (row < column) continue;
        *lower_at(block, row, column) = t1.m[a][b] + t2.m[a][b] + p3->z[i][j].m[a][b] + z4;
        *lower_at(block, Q + row, Q + column) = h * h / 4 * (t2.m[a][b] + t3.m[a][b] + t4.m[a][b] + x4 + x4_t + z4);
      }
    }
}

static void chunk(const double *z, const double *lam, const double *p, double lam_f, double *out) {
  chain_constants k = chain_of(p);
  double h = k.h;
  vec x[STAGE], l[STATES], block[WIDTH], weight[4][MASSES][3] = {0};
  chain_point o[4];
  sym t[4][MASSES];
  products p3, p4;
  load_block(z, STAGE, STAGE, x);
  load_block(lam, STATES, STATES, l);
  chain_points(&k, x, o);
  for (int i = 0; i < 3 * MOVING; i++) {
    vec by_q = h * h / 6 * l[i], by_v = h / 6 * l[Q + i];
    weight[0][i / 3][i % 3] = by_q + by_v;
    weight[1][i / 3][i % 3] = weight[2][i / 3][i % 3] = by_q + 2 * by_v;
    weight[3][i / 3][i % 3] = by_v;
  }
  pull_back(&o[3], h * h / 2, weight[3], weight[1]);
  pull_back(&o[2], h * h / 4, weight[2], weight[0]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) curvatures(&o[i], weight[i], t[i]);
  multiply(t[2], &o[0], h * h / 4, &p3);
  multiply(t[3], &o[1], h * h / 2, &p4);
  combine(h, t, &p3, &p4, block);
  double per_stage = lam_f / HAND_N;
  for (int i = 0; i < STAGE; i++)
    if (i >= Q - 3) *lower_at(block, i, i) += per_stage * (i < Q ? 2.5 : i < STATES ? 25 : 0.1);
  store_block(out, WIDTH, WIDTH, block);
}

int chain_sphess_gamma_z_z(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  double f = arg[2][0], *out = res[0];
  over_horizon(chunk, HAND_N, arg[0], STAGE, STAGE, arg[3] + STATES, STATES, arg[1], f, out, WIDTH);
  for (int i = 0; i < 3; i++) out[HAND_N * WIDTH + i] = 10 * f;
  return 0;
}
