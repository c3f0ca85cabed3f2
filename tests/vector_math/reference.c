/* Owns the exact results, from MPFR, and the measure of error. */
#include <math.h>
#include <mpfr.h>

#include "tests/vector_math/rig.h"

enum { BITS = 53 + 64 };

static void evaluate(int op, mpfr_t r, mpfr_t x, mpfr_t y) {
  switch (op) {
  case SCI_OP_pow: mpfr_pow(r, x, y, MPFR_RNDN); return;
  case SCI_OP_fmod: mpfr_fmod(r, x, y, MPFR_RNDN); return;
  case SCI_OP_hypot: mpfr_hypot(r, x, y, MPFR_RNDN); return;
  case SCI_OP_atan2: mpfr_atan2(r, x, y, MPFR_RNDN); return;
#define UNARY(name)                                                                                                    \
  case SCI_OP_##name: mpfr_##name(r, x, MPFR_RNDN); return;
    UNARY(sin)
    UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos) UNARY(atan) UNARY(sinh) UNARY(cosh) UNARY(tanh) UNARY(asinh)
        UNARY(acosh) UNARY(atanh) UNARY(exp) UNARY(exp2) UNARY(expm1) UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p)
            UNARY(cbrt) UNARY(erf) UNARY(erfc) default : mpfr_set_nan(r);
  }
}

/* The exponent of a unit in the last place of a value whose leading bit has exponent e. */
static long unit_exponent(sc_dtype dtype, long e) {
  long digits = dtype == SC_FLOAT32 ? 24 : 53, least = dtype == SC_FLOAT32 ? -149 : -1074;
  return e - (digits - 1) > least ? e - (digits - 1) : least;
}

/* What is left of a result that overflows is its distance, in ULP, from the number that would follow the largest. */
static void overflow(exact *v, mpfr_t scaled, int digits) {
  mpfr_abs(scaled, scaled, MPFR_RNDN);
  v->rest = mpfr_get_d(scaled, MPFR_RNDN) - ldexp(1, digits);
  v->rounded = copysign(INFINITY, v->rounded);
}

exact exact_value(int op, sc_dtype dtype, double a, double b) {
  mpfr_t r, x, y;
  mpfr_inits2(BITS, r, x, y, (mpfr_ptr)0);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  evaluate(op, r, x, y);
  exact v = {mpfr_get_d(r, MPFR_RNDN), mpfr_inf_p(r) ? INFINITY : 0};
  if (mpfr_regular_p(r)) {
    int digits = dtype == SC_FLOAT32 ? 24 : 53;
    long e = (long)mpfr_get_exp(r), top = dtype == SC_FLOAT32 ? 128 : 1024;
    long u = unit_exponent(dtype, e > top ? top - 1 : e - 1);
    mpfr_mul_2si(r, r, -u, MPFR_RNDN);
    mpfr_rint(x, r, MPFR_RNDN);
    mpfr_sub(y, r, x, MPFR_RNDN);
    v.rest = mpfr_get_d(y, MPFR_RNDN);
    v.rounded = copysign(ldexp(fabs(mpfr_get_d(x, MPFR_RNDN)), (int)u), v.rounded);
    if (fabs(ldexp(v.rounded, (int)(1 - top))) >= 2) overflow(&v, r, digits);
  }
  mpfr_clears(r, x, y, (mpfr_ptr)0);
  return v;
}

/* An infinity in the place of a number counts as the number that would follow the largest: whether a result next to
 * that overflows is a matter of the last place too. */
double error_of(sc_dtype dtype, double got, exact want) {
  int digits = dtype == SC_FLOAT32 ? 24 : 53, top = dtype == SC_FLOAT32 ? 128 : 1024;
  if (isnan(got) || isnan(want.rounded)) return isnan(got) && isnan(want.rounded) ? 0 : INFINITY;
  if (got == 0 && want.rounded == 0) return signbit(got) == signbit(want.rounded) ? fabs(want.rest) : INFINITY;
  if (isinf(got) && isinf(want.rounded)) return signbit(got) == signbit(want.rounded) ? 0 : INFINITY;
  if (isinf(got)) return fabs(ldexp(copysign(1, got) - ldexp(want.rounded, -top), digits) - want.rest);
  if (isinf(want.rounded)) return fabs(ldexp(copysign(1, want.rounded) - ldexp(got, -top), digits)) + want.rest;
  int e;
  frexp(want.rounded, &e);
  long u = unit_exponent(dtype, want.rounded == 0 ? -5000 : (long)e - 1);
  return fabs(ldexp(got - want.rounded, (int)-u) - want.rest);
}
