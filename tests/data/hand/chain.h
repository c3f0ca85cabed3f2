/* The hanging chain's stage: link forces and their derivatives, and the integrator's algebra that both derivative
 * kernels use.
 *
 * Positions obey q'' = a(q), so the four points are Q1 = q, Q2 = q + h/2 w, Q3 = Q2 + h^2/4 a(Q1), Q4 = q + h w + h^2/2
 * a(Q2), where w holds the velocities and, for the last mass, the input (its acceleration is 0); then q+ = q + h w +
 * h^2/6 (a1 + a2 + a3) and v+ = v + h/6 (a1 + 2 a2 + 2 a3 + a4). With G_i = da/dq at Q_i, block tridiagonal, every
 * sensitivity is a short product of these. */
#ifndef SCALY_HAND_CHAIN_H
#define SCALY_HAND_CHAIN_H

#include <immintrin.h>

#include "hand.h"

#ifndef HAND_M
#define HAND_M 5
#endif
#ifndef HAND_N
#define HAND_N 40
#endif

enum { MOVING = HAND_M - 2, MASSES = HAND_M - 1, STATES = 3 * (2 * HAND_M - 3), STAGE = STATES + 3, Q = 3 * MASSES };

INLINE vec square_root(vec x) {
#ifdef HAND_LANES
  for (int l = 0; l < W; l++) x[l] = __builtin_sqrt(x[l]);
  return x;
#elif W == 8
  return (vec)_mm512_sqrt_pd((__m512d)x);
#elif W == 4
  return (vec)_mm256_sqrt_pd((__m256d)x);
#else
  return (vec)_mm_sqrt_pd((__m128d)x);
#endif
}

/* Three by three; symmetric ones hold xx xy xz yy yz zz. */
typedef struct mat {
  vec m[3][3];
} mat;
typedef struct sym {
  vec s[6];
} sym;

static const unsigned char sym_at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

INLINE sym sym_add(sym a, sym b) {
  for (int i = 0; i < 6; i++) a.s[i] += b.s[i];
  return a;
}

INLINE sym sym_negative_sum(sym a, sym b) {
  for (int i = 0; i < 6; i++) a.s[i] = -(a.s[i] + b.s[i]);
  return a;
}

INLINE mat mat_of(sym a) {
  mat r;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) r.m[i][j] = a.s[sym_at[i][j]];
  return r;
}

/* c += a b, and c += a' b */
INLINE void mul_add(mat *c, const mat *a, const mat *b) {
#pragma GCC unroll 3
  for (int i = 0; i < 3; i++)
#pragma GCC unroll 3
    for (int j = 0; j < 3; j++)
      c->m[i][j] += a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] + a->m[i][2] * b->m[2][j];
}

INLINE void mul_add_transposed(mat *c, const mat *a, const mat *b) {
#pragma GCC unroll 3
  for (int i = 0; i < 3; i++)
#pragma GCC unroll 3
    for (int j = 0; j < 3; j++)
      c->m[i][j] += a->m[0][i] * b->m[0][j] + a->m[1][i] * b->m[1][j] + a->m[2][i] * b->m[2][j];
}

typedef struct chain_constants {
  double pull, l, g, h; /* pull = D / m */
} chain_constants;

INLINE chain_constants chain_of(const double *p) {
  const double *c = p + STATES;
  return (chain_constants){c[1] / c[0], c[2], c[3], c[4]};
}

/* Everything the links have at one point: accelerations of the moving masses, blocks of G, and what second derivatives
 * need. */
typedef struct chain_point {
  vec a[MASSES][3]; /* the last one 0 */
  sym link[MASSES]; /* derivative of the force in the link that ends at mass i */
  vec d[MASSES][3], e[MASSES], per_n2[MASSES];
} chain_point;

INLINE void chain_at(const chain_constants *k, vec q[MASSES][3], chain_point *o) {
  vec force[MASSES][3];
#pragma GCC unroll 4
  for (int i = 0; i < MASSES; i++) {
    vec *d = o->d[i];
    for (int x = 0; x < 3; x++) d[x] = i ? q[i][x] - q[i - 1][x] : q[i][x];
    vec per_n = 1 / square_root(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), per_n2 = per_n * per_n;
    vec slack = k->pull - k->pull * k->l * per_n, e = k->pull * k->l * per_n * per_n2;
    o->e[i] = e;
    o->per_n2[i] = per_n2;
    for (int x = 0; x < 3; x++) force[i][x] = slack * d[x];
    vec ed[3] = {e * d[0], e * d[1], e * d[2]};
    o->link[i] = (sym){
        {slack + ed[0] * d[0], ed[0] * d[1], ed[0] * d[2], slack + ed[1] * d[1], ed[1] * d[2], slack + ed[2] * d[2]}};
  }
#pragma GCC unroll 4
  for (int i = 0; i < MOVING; i++)
    for (int x = 0; x < 3; x++) o->a[i][x] = force[i + 1][x] - force[i][x] + (x == 2 ? k->g : 0);
  for (int x = 0; x < 3; x++) o->a[MOVING][x] = splat(0);
}

/* Block (i, j) of G: masses i, j from 0, |i - j| <= 1, i moving. */
INLINE mat g_block(const chain_point *o, int i, int j) {
  if (i == j) return mat_of(sym_negative_sum(o->link[i], o->link[i + 1]));
  return mat_of(o->link[i > j ? i : j]);
}

/* The four points of a stage. */
INLINE void chain_points(const chain_constants *k, const vec *x, chain_point o[4]) {
  double h = k->h;
  vec at[MASSES][3];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    double c = i == 0 ? 0 : i == 3 ? h : h / 2, c2 = i < 2 ? 0 : i == 2 ? h * h / 4 : h * h / 2;
    for (int m = 0; m < MASSES; m++)
      for (int n = 0; n < 3; n++) {
        at[m][n] = x[3 * m + n];
        if (i) at[m][n] += c * x[Q + 3 * m + n];
        if (i > 1) at[m][n] += c2 * o[i - 2].a[m][n];
      }
    chain_at(k, at, &o[i]);
  }
}

INLINE int near(int i, int j, int most) {
  return i - j <= most && j - i <= most;
}

/* Block (i, j) of G_a G_b over the moving masses between, |i - j| <= 2. */
INLINE mat g_product(const chain_point *a, const chain_point *b, int i, int j) {
  mat r = {0};
#pragma GCC unroll 4
  for (int m = 0; m < MOVING; m++) {
    if (!near(i, m, 1) || !near(m, j, 1)) continue;
    mat left = g_block(a, i, m), right = g_block(b, m, j);
    mul_add(&r, &left, &right);
  }
  return r;
}

#endif
