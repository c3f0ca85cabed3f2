/* Owns hyper-dual arithmetic: first and second slopes of every differentiable operation. */
#include "tests/oracle/hyperdual.h"

#include <math.h>

/* f(x) from its value and first two slopes. */
static hyperdual chain1(hyperdual x, double f, double f1, double f2) {
  return (hyperdual){f, f1 * x.d1, f1 * x.d2, f1 * x.d12 + f2 * x.d1 * x.d2};
}

/* f(x, y) from its value, gradient and Hessian. */
static hyperdual chain2(hyperdual x, hyperdual y, double f, double fx, double fy, double fxx, double fxy, double fyy) {
  return (hyperdual){f, fx * x.d1 + fy * y.d1, fx * x.d2 + fy * y.d2,
                     fx * x.d12 + fy * y.d12 + fxx * x.d1 * x.d2 + fxy * (x.d1 * y.d2 + x.d2 * y.d1) +
                         fyy * y.d1 * y.d2};
}

static bool apply1(sci_op op, hyperdual x, hyperdual *out) {
  double v = x.v, ln2 = log(2.0), ln10 = log(10.0), s = 1 - v * v, p = 1 + v * v,
         g = 2 / sqrt(acos(-1.0)) * exp(-v * v);
  double t = tan(v), h = tanh(v), r = sqrt(v), c = cbrt(v);
  switch ((int)op) {
  case SCI_OP_neg: *out = chain1(x, -v, -1, 0); return true;
  case SCI_OP_sin: *out = chain1(x, sin(v), cos(v), -sin(v)); return true;
  case SCI_OP_cos: *out = chain1(x, cos(v), -sin(v), -cos(v)); return true;
  case SCI_OP_tan: *out = chain1(x, t, 1 + t * t, 2 * t * (1 + t * t)); return true;
  case SCI_OP_asin: *out = chain1(x, asin(v), 1 / sqrt(s), v / (s * sqrt(s))); return true;
  case SCI_OP_acos: *out = chain1(x, acos(v), -1 / sqrt(s), -v / (s * sqrt(s))); return true;
  case SCI_OP_atan: *out = chain1(x, atan(v), 1 / p, -2 * v / (p * p)); return true;
  case SCI_OP_sinh: *out = chain1(x, sinh(v), cosh(v), sinh(v)); return true;
  case SCI_OP_cosh: *out = chain1(x, cosh(v), sinh(v), cosh(v)); return true;
  case SCI_OP_tanh: *out = chain1(x, h, 1 - h * h, -2 * h * (1 - h * h)); return true;
  case SCI_OP_asinh: *out = chain1(x, asinh(v), 1 / sqrt(p), -v / (p * sqrt(p))); return true;
  case SCI_OP_acosh: *out = chain1(x, acosh(v), 1 / sqrt(v * v - 1), -v / pow(v * v - 1, 1.5)); return true;
  case SCI_OP_atanh: *out = chain1(x, atanh(v), 1 / s, 2 * v / (s * s)); return true;
  case SCI_OP_exp: *out = chain1(x, exp(v), exp(v), exp(v)); return true;
  case SCI_OP_exp2: *out = chain1(x, exp2(v), ln2 * exp2(v), ln2 * ln2 * exp2(v)); return true;
  case SCI_OP_expm1: *out = chain1(x, expm1(v), exp(v), exp(v)); return true;
  case SCI_OP_log: *out = chain1(x, log(v), 1 / v, -1 / (v * v)); return true;
  case SCI_OP_log2: *out = chain1(x, log2(v), 1 / (v * ln2), -1 / (v * v * ln2)); return true;
  case SCI_OP_log10: *out = chain1(x, log10(v), 1 / (v * ln10), -1 / (v * v * ln10)); return true;
  case SCI_OP_log1p: *out = chain1(x, log1p(v), 1 / (1 + v), -1 / ((1 + v) * (1 + v))); return true;
  case SCI_OP_sqrt: *out = chain1(x, r, 0.5 / r, -0.25 / (r * v)); return true;
  case SCI_OP_cbrt: *out = chain1(x, c, 1 / (3 * c * c), -2 / (9 * c * c * v)); return true;
  case SCI_OP_erf: *out = chain1(x, erf(v), g, -2 * v * g); return true;
  case SCI_OP_erfc: *out = chain1(x, erfc(v), -g, 2 * v * g); return true;
  case SCI_OP_abs: *out = chain1(x, fabs(v), v < 0 ? -1 : 1, 0); return true;
  case SCI_OP_sign:
  case SCI_OP_floor:
  case SCI_OP_ceil:
  case SCI_OP_round:
  case SCI_OP_trunc:
    *out = chain1(x, sci_op_eval(op, SC_FLOAT64, SC_FLOAT64, &(sci_scalar){.f64 = v}).f64, 0, 0);
    return true;
  default: return false;
  }
}

static bool apply2(sci_op op, hyperdual x, hyperdual y, hyperdual *out) {
  double a = x.v, b = y.v, f, l, q;
  switch ((int)op) {
  case SCI_OP_add: *out = chain2(x, y, a + b, 1, 1, 0, 0, 0); return true;
  case SCI_OP_sub: *out = chain2(x, y, a - b, 1, -1, 0, 0, 0); return true;
  case SCI_OP_mul: *out = chain2(x, y, a * b, b, a, 0, 1, 0); return true;
  case SCI_OP_div: *out = chain2(x, y, a / b, 1 / b, -a / (b * b), 0, -1 / (b * b), 2 * a / (b * b * b)); return true;
  case SCI_OP_pow:
    f = pow(a, b), l = log(a);
    *out = chain2(x, y, f, b * f / a, f * l, b * (b - 1) * f / (a * a), f / a * (1 + b * l), f * l * l);
    return true;
  case SCI_OP_fmod: *out = chain2(x, y, fmod(a, b), 1, -trunc(a / b), 0, 0, 0); return true;
  case SCI_OP_hypot:
    f = hypot(a, b);
    *out = chain2(x, y, f, a / f, b / f, b * b / (f * f * f), -a * b / (f * f * f), a * a / (f * f * f));
    return true;
  case SCI_OP_atan2: /* of (y, x) = (a, b) */
    q = a * a + b * b;
    *out =
        chain2(x, y, atan2(a, b), b / q, -a / q, -2 * a * b / (q * q), (a * a - b * b) / (q * q), 2 * a * b / (q * q));
    return true;
  case SCI_OP_minimum: *out = a < b ? x : y; return true;
  case SCI_OP_maximum: *out = a > b ? x : y; return true;
  case SCI_OP_copysign: *out = chain2(x, y, copysign(a, b), (a < 0) == (b < 0) ? 1 : -1, 0, 0, 0, 0); return true;
  default: return false;
  }
}

bool hd_apply(sci_op op, const hyperdual *a, hyperdual *out) {
  switch (sci_ops[op].arity) {
  case 1: return apply1(op, a[0], out);
  case 2: return apply2(op, a[0], a[1], out);
  default: return false;
  }
}
