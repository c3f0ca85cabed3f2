/* The race car's stage: constants and the forward pass of the integrator that both derivative kernels start from.
 *
 * Speed and heading rate do not depend on the position, so with vx = v cos(beta) and theta = phi + beta the integrator
 * is v_{i+1} = v + c_i a(v_i, T, d), theta_{i+1} = theta + c_i s(d) v_i, and the position's rates are v_i (cos,
 * sin)(theta_i). */
#ifndef SCALY_HAND_RACE_CAR_H
#define SCALY_HAND_RACE_CAR_H

#include "hand.h"

#ifndef HAND_N
#define HAND_N 10
#endif

typedef struct car {
  double h, per_length, per_mass, cm, r0, r1, r2;
  double c[4], b[4]; /* step to the next point; weight in the sum */
} car;

INLINE car car_of(const double *p) {
  const double *q = p + 4, h = q[1];
  return (car){h, 2 / q[0], 1 / q[2], q[3], q[4], q[5], q[6], {h / 2, h / 2, h, 0}, {h / 6, h / 3, h / 3, h / 6}};
}

/* At one of the four points: speed, heading, drag D(vx) tanh(10 vx) and its derivatives. */
typedef struct car_point {
  vec v, vx, cos, sin, g, g1, g2;
} car_point;

INLINE car_point car_at(const car *k, vec v, vec theta, vec cos_beta, int second) {
  car_point o = {.v = v, .vx = v * cos_beta};
  vec t = VECTOR_MATH(tanh)(10 * o.vx), t1 = 10 - 10 * t * t;
  vec drag = k->r0 + o.vx * (k->r1 + k->r2 * o.vx), drag1 = k->r1 + 2 * k->r2 * o.vx;
  o.cos = VECTOR_MATH(cos)(theta);
  o.sin = VECTOR_MATH(sin)(theta);
  o.g = drag * t;
  o.g1 = drag1 * t + drag * t1;
  if (second) o.g2 = 2 * k->r2 * t + 2 * drag1 * t1 - 20 * drag * t * t1;
  return o;
}

#endif
