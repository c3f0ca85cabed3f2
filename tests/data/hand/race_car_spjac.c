/* The race car's constraint Jacobian, written by hand: the sensitivities of speed and heading carried through the four
 * points. */
#include "race_car.h"

enum { WIDTH = 21 };

static void chunk(const double *z, const double *lam, const double *p, double lam_f, double *out) {
  (void)lam;
  (void)lam_f;
  car k = car_of(p);
  vec x[4];
  load_block(z + 2, 6, 4, x);
  vec v0 = x[1], throttle = x[2], beta = 0.5 * x[3], cb = VECTOR_MATH(cos)(beta), sb = VECTOR_MATH(sin)(beta);
  vec s = k.per_length * sb, s_d = 0.5 * k.per_length * cb, v = v0, theta = x[0] + beta;
  vec vv = splat(1), vt = splat(0), vd = splat(0), tv = splat(0), tt = splat(0), td = splat(0.5);
  vec px[4] = {0}, py[4] = {0}, f[3] = {0}, speed[3] = {0}; /* by phi, v, T, d; the last two by v, T, d */
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    car_point o = car_at(&k, v, theta, cb, 0);
    double b = k.b[i], c = k.c[i];
    vec bc = b * o.cos, bs = b * o.sin, bvc = bc * v, bvs = bs * v;
    px[0] -= bvs;
    px[1] += bc * vv - bvs * tv;
    px[2] += bc * vt - bvs * tt;
    px[3] += bc * vd - bvs * td;
    py[0] += bvc;
    py[1] += bs * vv + bvc * tv;
    py[2] += bs * vt + bvc * tt;
    py[3] += bs * vd + bvc * td;
    vec a_v = -k.per_mass * o.g1 * cb, a_d = 0.5 * k.per_mass * o.g1 * v * sb;
    vec av = a_v * vv, at = a_v * vt + k.cm * k.per_mass, ad = a_v * vd + a_d;
    vec wv = s * vv, wt = s * vt, wd = s * vd + v * s_d;
    f[0] += b * wv;
    f[1] += b * wt;
    f[2] += b * wd;
    speed[0] += b * av;
    speed[1] += b * at;
    speed[2] += b * ad;
    tv = c * wv;
    tt = c * wt;
    td = c * wd + 0.5;
    vv = c * av + 1;
    vt = c * at;
    vd = c * ad;
    theta = x[0] + beta + c * (s * v);
    v = v0 + c * (k.per_mass * (k.cm * throttle - o.g));
  }
  vec one = splat(1);
  vec block[WIDTH] = {-one, one,          -one,  one,   -one, px[0],    py[0], one,   -one, px[1],   py[1],
                      f[0], speed[0] + 1, px[2], py[2], f[1], speed[1], px[3], py[3], f[2], speed[2]};
  store_block(out, WIDTH, WIDTH, block);
}

int race_car_spjac_eq_z(const double **arg, double **res, int *iw, double *w, int mem) {
  (void)iw;
  (void)w;
  (void)mem;
  double *out = res[0];
  over_horizon(chunk, HAND_N, arg[0], 6, 6, 0, 0, arg[1], 0, out, WIDTH);
  out[0] = out[2] = out[4] = out[8] = 1; /* x_0 - xbar */
  for (int i = 0; i < 4; i++) out[HAND_N * WIDTH + i] = -1;
  return 0;
}
