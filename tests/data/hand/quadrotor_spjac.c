/* The quadrotor's constraint Jacobian, written by hand. */
#include "quadrotor.h"

enum { WIDTH = 153 };

/* Derivatives of the stage's result by one variable. */
typedef struct column {
  vec p[3], v[3], w[2];
  quat q;
} column;

static void chunk(const double *z, const double *lam, const double *p, double lam_f, double *out) {
  (void)lam;
  (void)p;
  (void)lam_f;
  vec x[14], t[3];
  load_block(z + 3, STAGE, 14, x); /* q, v, w, thrusts */
  scaled_torque(x + 10, t);
  vec push = PER_MASS * (x[10] + x[11] + x[12] + x[13]);
  quad_point first = quad_first((quat){x[0], x[1], x[2], x[3]}, x + 7), o = first;
  column by_q[4] = {0}, by_y[6] = {0}, by_push = {0};
  quat r_end = first.r;
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    vec b = splat(sum_of[i]), e = splat(twice_sum_of[i]), half = 0.5 * b, axis[3];
    quad_rate d = quad_rates(&o, t);
    thrust_axis(o.q, axis);
    for (int k = 0; k < 3; k++) {
      by_push.v[k] += b * axis[k];
      by_push.p[k] += e * axis[k];
    }
    r_end = add_scaled(r_end, half, d.r);
    vec bp = b * push, ep = e * push;
#pragma GCC unroll 10
    for (int y = 0; y < 10; y++) {
      column *c = y < 4 ? &by_q[y] : &by_y[y - 4];
      thrust_axis_along(o.q, y < 4 ? unit_times(y, o.r) : o.qy[y - 4], axis);
      for (int k = 0; k < 3; k++) {
        c->v[k] += bp * axis[k];
        c->p[k] += ep * axis[k];
      }
      if (y < 4) continue;
      c->q = add_scaled(c->q, half, d.qy[y - 4]);
      c->w[0] += b * d.wx[y - 4];
      c->w[1] += b * d.wy[y - 4];
    }
    if (i < 3) o = quad_next(&first, &d, step[i]);
  }
  by_y[0].w[0] += 1;
  by_y[1].w[1] += 1;
  vec block[WIDTH], one = splat(1), *at = block;
  for (int k = 0; k < 3; k++) {
    *at++ = -one;
    *at++ = one;
  }
  for (int y = 0; y < 4; y++) {
    quat q = unit_times(y, r_end);
    *at++ = -one;
    for (int k = 0; k < 3; k++) *at++ = by_q[y].p[k];
    *at++ = q.w, *at++ = q.x, *at++ = q.y, *at++ = q.z;
    for (int k = 0; k < 3; k++) *at++ = by_q[y].v[k];
  }
  for (int k = 0; k < 3; k++) {
    *at++ = -one;
    *at++ = splat(H);
    *at++ = one;
  }
  for (int y = 0; y < 3; y++) {
    const column *c = &by_y[y];
    *at++ = -one;
    for (int k = 0; k < 3; k++) *at++ = c->p[k];
    *at++ = c->q.w, *at++ = c->q.x, *at++ = c->q.y, *at++ = c->q.z;
    for (int k = 0; k < 3; k++) *at++ = c->v[k];
    *at++ = c->w[0], *at++ = c->w[1], *at++ = splat(y == 2); /* d w_z'/d w_x and w_y cancel */
  }
  vec f[4], zero = splat(0);
  const column *c = by_y + 3;
#define ROW(at_, field_, push_)                                                                                        \
  by_thrusts((const vec[]){c[0].field_, c[1].field_, c[2].field_}, push_, f);                                          \
  for (int u = 0; u < 4; u++) at[13 * u + (at_)] = f[u]
  ROW(0, p[0], by_push.p[0]);
  ROW(1, p[1], by_push.p[1]);
  ROW(2, p[2], by_push.p[2]);
  ROW(3, q.w, zero);
  ROW(4, q.x, zero);
  ROW(5, q.y, zero);
  ROW(6, q.z, zero);
  ROW(7, v[0], by_push.v[0]);
  ROW(8, v[1], by_push.v[1]);
  ROW(9, v[2], by_push.v[2]);
  ROW(10, w[0], zero);
  ROW(11, w[1], zero);
  for (int u = 0; u < 4; u++) at[13 * u + 12] = splat(u % 2 ? -YAW * H : YAW * H);
  store_block(out, WIDTH, WIDTH, block);
}

int quadrotor_spjac_eq_z(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  static const int own[STATES] = {0, 2, 4, 6, 17, 28, 39, 50, 53, 56, 59, 73, 87};
  double *out = res[0];
  over_horizon(chunk, HAND_N, arg[0], STAGE, STAGE, 0, 0, arg[1], 0, out, WIDTH);
  for (int i = 0; i < STATES; i++) { /* x_0 - xbar; the last state */
    out[own[i]] = 1;
    out[HAND_N * WIDTH + i] = -1;
  }
  return 0;
}
