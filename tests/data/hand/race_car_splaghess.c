/* The race car's Hessian of the Lagrangian, written by hand: forward sensitivities, adjoints backward, and at each of
 * the four points the second derivatives by (v, theta, d) between the sensitivities. */
#include "race_car.h"

enum { WIDTH = 12 };

static void chunk(const double *z, const double *lam, const double *p, double lam_f, double *out) {
  car k = car_of(p);
  vec x[4], l[4];
  load_block(z + 2, 6, 4, x);
  load_block(lam, 4, 4, l);
  vec v0 = x[1], throttle = x[2], beta = 0.5 * x[3], cb = VECTOR_MATH(cos)(beta), sb = VECTOR_MATH(sin)(beta);
  vec s = k.per_length * sb, s_d = 0.5 * k.per_length * cb, s_dd = -0.25 * s, v = v0, theta = x[0] + beta;
  vec vv[4], vt[4], vd[4], tv[4], tt[4], td[4], a_v[4];
  car_point o[4];
  vv[0] = splat(1);
  vt[0] = vd[0] = tv[0] = tt[0] = splat(0);
  td[0] = splat(0.5);
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    o[i] = car_at(&k, v, theta, cb, 1);
    a_v[i] = -k.per_mass * o[i].g1 * cb;
    if (i == 3) break;
    double c = k.c[i];
    vec a_d = 0.5 * k.per_mass * o[i].g1 * v * sb;
    vv[i + 1] = c * (a_v[i] * vv[i]) + 1;
    vt[i + 1] = c * (a_v[i] * vt[i] + k.cm * k.per_mass);
    vd[i + 1] = c * (a_v[i] * vd[i] + a_d);
    tv[i + 1] = c * (s * vv[i]);
    tt[i + 1] = c * (s * vt[i]);
    td[i + 1] = c * (s * vd[i] + v * s_d) + 0.5;
    theta = x[0] + beta + c * (s * v);
    v = v0 + c * (k.per_mass * (k.cm * throttle - o[i].g));
  }
  vec speed_bar = splat(0), theta_bar = splat(0); /* of the next point */
  vec pp = splat(0), pv = splat(0), pt = splat(0), pd = splat(0), hvv = splat(0), hvt = splat(0), hvd = splat(0),
      htt = splat(0), htd = splat(0), hdd = splat(0);
#pragma GCC unroll 4
  for (int i = 3; i >= 0; i--) {
    double b = k.b[i], c = k.c[i];
    vec along = l[0] * o[i].cos + l[1] * o[i].sin, across = l[1] * o[i].cos - l[0] * o[i].sin;
    vec weight_a = b * l[3] + c * speed_bar, weight_s = b * l[2] + c * theta_bar;
    speed_bar = b * along + weight_a * a_v[i] + weight_s * s;
    theta_bar = b * across * o[i].v;
    /* Local second derivatives. */
    vec m = -k.per_mass * weight_a, vx_d = -0.5 * o[i].v * sb;
    vec l_vv = m * o[i].g2 * cb * cb, l_vd = m * (o[i].g2 * cb * vx_d - 0.5 * o[i].g1 * sb) + weight_s * s_d;
    vec l_dd = m * (o[i].g2 * vx_d * vx_d - 0.25 * o[i].g1 * o[i].vx) + weight_s * s_dd * o[i].v;
    vec l_vp = b * across, l_pp = -b * along * o[i].v;
    /* Rows of the local matrix times the sensitivities. */
    vec sv = l_vv * vv[i] + l_vp * tv[i], st = l_vv * vt[i] + l_vp * tt[i], sd = l_vv * vd[i] + l_vp * td[i] + l_vd;
    vec rv = l_vp * vv[i] + l_pp * tv[i], rt = l_vp * vt[i] + l_pp * tt[i], rd = l_vp * vd[i] + l_pp * td[i];
    pp += l_pp;
    pv += rv;
    pt += rt;
    pd += rd;
    hvv += vv[i] * sv + tv[i] * rv;
    hvt += vt[i] * sv + tt[i] * rv;
    hvd += vv[i] * sd + tv[i] * rd;
    htt += vt[i] * st + tt[i] * rt;
    htd += vt[i] * sd + tt[i] * rd;
    hdd += vd[i] * sd + td[i] * rd + l_vd * vd[i] + l_dd;
  }
  vec block[WIDTH] = {splat(lam_f), splat(lam_f), pp + 0.5 * lam_f,   pv,  pt,         pd, hvv + 0.1 * lam_f,
                      hvt,          hvd,          htt + 1e-4 * lam_f, htd, hdd + lam_f};
  /* theta holds half of d: its sensitivity 0.5 is in td. */
  store_block(out, WIDTH, WIDTH, block);
}

int race_car_sphess_gamma_z_z(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  double f = arg[2][0], *out = res[0], *last = out + HAND_N * WIDTH;
  over_horizon(chunk, HAND_N, arg[0], 6, 6, arg[3] + 4, 4, arg[1], f, out, WIDTH);
  last[0] = last[1] = last[5] = f;
  last[2] = 0.5 * f;
  last[3] = 0.1 * f;
  last[4] = 1e-4 * f;
  return 0;
}
