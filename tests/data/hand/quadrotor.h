/* The quadrotor's stage: constants, quaternion products and the forward pass that both derivative kernels start from.
 *
 * Inputs enter through t = inverse inertia times torque, and push = sum of thrusts / mass. Body rates depend on rates
 * and t alone; the attitude is linear in itself: q_i = q * r_i with r_1 = 1, r_{i+1} = 1 + c_i r_i * (0, w_i) / 2, *
 * being Hamilton's product. So only rates and attitude by y = (w, t) need sensitivities carried along. */
#ifndef SCALY_HAND_QUADROTOR_H
#define SCALY_HAND_QUADROTOR_H

#include "hand.h"

#ifndef HAND_N
#define HAND_N 20
#endif

enum { STAGE = 17, STATES = 13 };
#define H 0.05
#define TWIST ((0.004 - 0.0023) / 0.0023) /* of the gyroscopic terms, the same in x and y */
#define ROLL (0.17 / 0.0023)
#define YAW (0.016 / 0.004)
#define PER_MASS (1 / 0.5)

/* Step to the next point, weight of a rate in the sum, weight of an acceleration in the position. */
static const double step[4] = {H / 2, H / 2, H, 0}, sum_of[4] = {H / 6, H / 3, H / 3, H / 6},
                    twice_sum_of[4] = {H * H / 6, H *H / 6, H *H / 6, 0};

typedef struct quat {
  vec w, x, y, z;
} quat;

/* a * (0, w) */
INLINE quat times_rates(quat a, const vec w[3]) {
  return (quat){-a.x * w[0] - a.y * w[1] - a.z * w[2], a.w * w[0] + a.y * w[2] - a.z * w[1],
                a.w * w[1] - a.x * w[2] + a.z * w[0], a.w * w[2] + a.x * w[1] - a.y * w[0]};
}

INLINE quat add_scaled(quat a, vec s, quat b) {
  return (quat){a.w + s * b.w, a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

INLINE vec dot4(quat a, quat b) {
  return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}

/* The product of the unit e (0 to 3: 1, i, j, k) and r. */
INLINE quat unit_times(int e, quat r) {
  return e == 0   ? r
         : e == 1 ? (quat){-r.x, r.w, -r.z, r.y}
         : e == 2 ? (quat){-r.y, r.z, r.w, -r.x}
                  : (quat){-r.z, -r.y, r.x, r.w};
}

/* The axis of thrust, and its derivative along d. */
INLINE void thrust_axis(quat q, vec axis[3]) {
  axis[0] = 2 * (q.x * q.z + q.w * q.y);
  axis[1] = 2 * (q.y * q.z - q.w * q.x);
  axis[2] = 1 - 2 * (q.x * q.x + q.y * q.y);
}

INLINE void thrust_axis_along(quat q, quat d, vec axis[3]) {
  axis[0] = 2 * (q.x * d.z + q.z * d.x + q.w * d.y + q.y * d.w);
  axis[1] = 2 * (q.y * d.z + q.z * d.y - q.w * d.x - q.x * d.w);
  axis[2] = -4 * (q.x * d.x + q.y * d.y);
}

/* One of the four points: rates, attitude, and their derivatives by y. */
typedef struct quad_point {
  vec w[3], wx[6], wy[6], wz[6];
  quat q, r, qy[6];
} quad_point;

/* Rates of change at a point. */
typedef struct quad_rate {
  vec w[3], wx[6], wy[6];
  quat q, r, qy[6];
} quad_rate;

INLINE quad_rate quad_rates(const quad_point *o, const vec t[3]) {
  quad_rate d;
  d.w[0] = t[0] - TWIST * o->w[1] * o->w[2];
  d.w[1] = t[1] + TWIST * o->w[0] * o->w[2];
  d.w[2] = t[2];
  d.q = times_rates(o->q, o->w);
  d.r = times_rates(o->r, o->w);
#pragma GCC unroll 6
  for (int y = 0; y < 6; y++) {
    d.wx[y] = (y == 3 ? 1 : 0) - TWIST * (o->wy[y] * o->w[2] + o->w[1] * o->wz[y]);
    d.wy[y] = (y == 4 ? 1 : 0) + TWIST * (o->wx[y] * o->w[2] + o->w[0] * o->wz[y]);
    quat by_q = times_rates(o->qy[y], o->w), by_w = times_rates(o->q, (const vec[]){o->wx[y], o->wy[y], o->wz[y]});
    d.qy[y] = add_scaled(by_q, splat(1), by_w);
  }
  return d;
}

INLINE quad_point quad_first(quat q, const vec w[3]) {
  quad_point o = {.q = q, .r = {splat(1), splat(0), splat(0), splat(0)}};
  for (int k = 0; k < 3; k++) o.w[k] = w[k];
#pragma GCC unroll 6
  for (int y = 0; y < 6; y++) {
    o.wx[y] = splat(y == 0);
    o.wy[y] = splat(y == 1);
    o.wz[y] = splat(y == 2);
    o.qy[y] = (quat){splat(0), splat(0), splat(0), splat(0)};
  }
  return o;
}

INLINE quad_point quad_next(const quad_point *first, const quad_rate *d, double c) {
  quad_point o = *first;
  o.q = add_scaled(first->q, splat(0.5 * c), d->q);
  o.r = add_scaled(first->r, splat(0.5 * c), d->r);
  for (int k = 0; k < 3; k++) o.w[k] += c * d->w[k];
#pragma GCC unroll 6
  for (int y = 0; y < 6; y++) {
    o.wx[y] += c * d->wx[y];
    o.wy[y] += c * d->wy[y];
    if (y == 5) o.wz[y] += c;
    o.qy[y] = add_scaled(first->qy[y], splat(0.5 * c), d->qy[y]);
  }
  return o;
}

INLINE void scaled_torque(const vec f[4], vec t[3]) {
  t[0] = ROLL * (f[1] - f[3]);
  t[1] = ROLL * (f[2] - f[0]);
  t[2] = YAW * (f[0] - f[1] + f[2] - f[3]);
}

/* Derivatives by t and push to those by the four thrusts. */
INLINE void by_thrusts(const vec t[3], vec push, vec f[4]) {
  vec up = PER_MASS * push + YAW * t[2], down = PER_MASS * push - YAW * t[2];
  f[0] = up - ROLL * t[1];
  f[1] = down + ROLL * t[0];
  f[2] = up + ROLL * t[1];
  f[3] = down - ROLL * t[0];
}

#endif
