/* The quadrotor's Hessian of the Lagrangian, written by hand: sensitivities forward, adjoints backward, and at each of
 * the four points the second derivatives by attitude, rates and push between the sensitivities. */
#include "quadrotor.h"

enum { WIDTH = 72 };

/* Derivative of weight . axis(q) by q: its gradient, and the product of its (constant) Hessian with d. */
INLINE quat axis_gradient(quat q, const vec a[3]) {
  return (quat){2 * (a[0] * q.y - a[1] * q.x), 2 * (a[0] * q.z - a[1] * q.w) - 4 * a[2] * q.x,
                2 * (a[0] * q.w + a[1] * q.z) - 4 * a[2] * q.y, 2 * (a[0] * q.x + a[1] * q.y)};
}

/* Vector part of conj(a) * k. */
INLINE void conjugate_times(quat a, quat k, vec w[3]) {
  w[0] = a.w * k.x - a.x * k.w - a.y * k.z + a.z * k.y;
  w[1] = a.w * k.y + a.x * k.z - a.y * k.w - a.z * k.x;
  w[2] = a.w * k.z - a.x * k.y + a.y * k.x - a.z * k.w;
}

static void chunk(const double *z, const double *lam, const double *p, double lam_f, double *out) {
  (void)p;
  vec x[14], l[STATES], t[3];
  load_block(z + 3, STAGE, 14, x);
  load_block(lam, STATES, STATES, l);
  scaled_torque(x + 10, t);
  vec push = PER_MASS * (x[10] + x[11] + x[12] + x[13]);
  quad_point o[4];
  o[0] = quad_first((quat){x[0], x[1], x[2], x[3]}, x + 7);
#pragma GCC unroll 4
  for (int i = 0; i < 3; i++) {
    quad_rate d = quad_rates(&o[i], t);
    o[i + 1] = quad_next(&o[0], &d, step[i]);
  }
  vec h[10][10], h_push[10]; /* lower triangle by q, w, t; the row of push */
  vec w_bar[2] = {splat(0), splat(0)};
  quat q_bar = {splat(0), splat(0), splat(0), splat(0)};
#pragma GCC unroll 4
  for (int i = 3; i >= 0; i--) {
    const quad_point *at = &o[i];
    double b = sum_of[i], c = step[i], e = twice_sum_of[i];
    vec a[3] = {b * l[7] + e * l[0], b * l[8] + e * l[1], b * l[9] + e * l[2]}, pushed[3];
    quat k = {0.5 * (b * l[3] + c * q_bar.w), 0.5 * (b * l[4] + c * q_bar.x), 0.5 * (b * l[5] + c * q_bar.y),
              0.5 * (b * l[6] + c * q_bar.z)};
    vec mx = TWIST * (b * l[10] + c * w_bar[0]), my = TWIST * (b * l[11] + c * w_bar[1]), by_w[3];
    for (int j = 0; j < 3; j++) pushed[j] = push * a[j];
    quat gradient = axis_gradient(at->q, a);
    /* The forms of the second derivatives times each column of sensitivities: s by q, s_w by w. */
    quat column[10], s[10];
    vec s_w[10][3];
#pragma GCC unroll 10
    for (int y = 0; y < 10; y++) {
      column[y] = y < 4 ? unit_times(y, at->r) : at->qy[y - 4];
      s[y] = axis_gradient(column[y], pushed);
      conjugate_times(column[y], k, s_w[y]);
      if (y < 4) continue;
      vec dw[3] = {at->wx[y - 4], at->wy[y - 4], at->wz[y - 4]};
      s[y] = add_scaled(s[y], splat(-1), times_rates(k, dw));
      s_w[y][0] += my * dw[2];
      s_w[y][1] -= mx * dw[2];
      s_w[y][2] += my * dw[0] - mx * dw[1];
    }
#pragma GCC unroll 10
    for (int y = 0; y < 10; y++) {
      vec g = dot4(gradient, column[y]);
      h_push[y] = i == 3 ? g : h_push[y] + g;
#pragma GCC unroll 10
      for (int u = 0; u <= y; u++) {
        vec sum = u < 4 ? dot4(s[y], column[u])
                        : dot4(s[y], column[u]) + s_w[y][0] * at->wx[u - 4] + s_w[y][1] * at->wy[u - 4] +
                              s_w[y][2] * at->wz[u - 4];
        h[y][u] = i == 3 ? sum : h[y][u] + sum;
      }
    }
    conjugate_times(at->q, k, by_w);
    w_bar[0] = by_w[0] + my * at->w[2];
    w_bar[1] = by_w[1] - mx * at->w[2];
    quat turned = times_rates(k, at->w);
    q_bar = (quat){push * gradient.w - turned.w, push * gradient.x - turned.x, push * gradient.y - turned.y,
                   push * gradient.z - turned.z};
  }
  vec block[WIDTH], f = splat(lam_f), *at = block, by_u[7][4], rows[4][4], uu[4][4];
  for (int y = 0; y < 7; y++) by_thrusts((const vec[]){h[7][y], h[8][y], h[9][y]}, h_push[y], by_u[y]);
  by_thrusts((const vec[]){h[7][7], h[8][7], h[9][7]}, h_push[7], rows[0]);
  by_thrusts((const vec[]){h[8][7], h[8][8], h[9][8]}, h_push[8], rows[1]);
  by_thrusts((const vec[]){h[9][7], h[9][8], h[9][9]}, h_push[9], rows[2]);
  by_thrusts(h_push + 7, splat(0), rows[3]);
  for (int u = 0; u < 4; u++) by_thrusts((const vec[]){rows[0][u], rows[1][u], rows[2][u]}, rows[3][u], uu[u]);
  for (int k = 0; k < 3; k++) *at++ = f;
  for (int y = 0; y < 7; y++) {
    if (y == 4)
      for (int k = 0; k < 3; k++) *at++ = f;
    *at++ = h[y][y] + f;
    for (int u = y + 1; u < 7; u++) *at++ = h[u][y];
    for (int u = 0; u < 4; u++) *at++ = by_u[y][u];
  }
  for (int y = 0; y < 4; y++)
    for (int u = y; u < 4; u++) *at++ = u == y ? uu[y][u] + f : uu[y][u];
  store_block(out, WIDTH, WIDTH, block);
}

int quadrotor_sphess_gamma_z_z(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  double f = arg[2][0], *out = res[0];
  over_horizon(chunk, HAND_N, arg[0], STAGE, STAGE, arg[3] + STATES, STATES, arg[1], f, out, WIDTH);
  for (int i = 0; i < STATES; i++) out[HAND_N * WIDTH + i] = f;
  return 0;
}
