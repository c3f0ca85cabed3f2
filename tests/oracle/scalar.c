/* Owns the reference meaning of scalar operations, one explicit case per operation and dtype. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/oracle/oracle.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

static sci_scalar of_f64(double v) {
  return (sci_scalar){.f64 = v};
}

static sci_scalar of_f32(float v) {
  sci_scalar r = {.bits = 0};
  r.f32 = v;
  return r;
}

static sci_scalar of_i64(int64_t v) {
  return (sci_scalar){.i64 = v};
}

static sci_scalar of_i32(int32_t v) {
  sci_scalar r = {.bits = 0};
  r.i32 = v;
  return r;
}

static sci_scalar of_bool(bool v) {
  sci_scalar r = {.bits = 0};
  r.b8 = v;
  return r;
}

sci_scalar ora_load(sc_dtype dtype, const void *data, int64_t i) {
  switch (dtype) {
  case SC_FLOAT64: return of_f64(((const double *)data)[i]);
  case SC_FLOAT32: return of_f32(((const float *)data)[i]);
  case SC_INT64: return of_i64(((const int64_t *)data)[i]);
  case SC_INT32: return of_i32(((const int32_t *)data)[i]);
  case SC_BOOL: return of_bool(((const uint8_t *)data)[i] != 0);
  }
  abort();
}

void ora_store(sc_dtype dtype, void *data, int64_t i, sci_scalar v) {
  switch (dtype) {
  case SC_FLOAT64: ((double *)data)[i] = v.f64; return;
  case SC_FLOAT32: ((float *)data)[i] = v.f32; return;
  case SC_INT64: ((int64_t *)data)[i] = v.i64; return;
  case SC_INT32: ((int32_t *)data)[i] = v.i32; return;
  case SC_BOOL: ((uint8_t *)data)[i] = v.b8 != 0; return;
  }
}

/* ---- the real functions; X expands one case per row for both float types ---- */

#define UNARY_LIBM(X)                                                                                                  \
  X(sin)                                                                                                               \
  X(cos)                                                                                                               \
  X(tan)                                                                                                               \
  X(asin)                                                                                                              \
  X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10)   \
      X(log1p) X(sqrt) X(cbrt) X(erf) X(erfc) X(floor) X(ceil) X(round) X(trunc)
#define BINARY_LIBM(X) X(pow) X(fmod) X(hypot) X(atan2) X(copysign)

#define FLOATS(T, suffix, U, sign_bit)                                                                                 \
  static T sign_##suffix(T a) {                                                                                        \
    if (isnan(a)) return a;                                                                                            \
    return a == 0 ? 0 : signbit(a) ? -1 : 1;                                                                           \
  }                                                                                                                    \
  static T magnitude_##suffix(T a) {                                                                                   \
    U bits;                                                                                                            \
    memcpy(&bits, &a, sizeof a);                                                                                       \
    bits &= (U)~sign_bit;                                                                                              \
    memcpy(&a, &bits, sizeof a);                                                                                       \
    return a;                                                                                                          \
  }                                                                                                                    \
  static T minimum_##suffix(T a, T b) {                                                                                \
    if (isnan(a)) return a;                                                                                            \
    if (isnan(b)) return b;                                                                                            \
    return a < b ? a : b;                                                                                              \
  }                                                                                                                    \
  static T maximum_##suffix(T a, T b) {                                                                                \
    if (isnan(a)) return a;                                                                                            \
    if (isnan(b)) return b;                                                                                            \
    return a > b ? a : b;                                                                                              \
  }
FLOATS(double, f64, uint64_t, (UINT64_C(1) << 63))
FLOATS(float, f32, uint32_t, (UINT32_C(1) << 31))

static sci_scalar float64(sci_op op, double a, double b, double c) {
  switch (op) {
#define X(name)                                                                                                        \
  case SCI_OP_##name: return of_f64(name(a));
    UNARY_LIBM(X)
#undef X
#define X(name)                                                                                                        \
  case SCI_OP_##name: return of_f64(name(a, b));
    BINARY_LIBM(X)
#undef X
  case SCI_OP_neg: return of_f64(-a);
  case SCI_OP_add: return of_f64(a + b);
  case SCI_OP_sub: return of_f64(a - b);
  case SCI_OP_mul: return of_f64(a * b);
  case SCI_OP_div: return of_f64(a / b);
  case SCI_OP_abs: return of_f64(magnitude_f64(a));
  case SCI_OP_sign: return of_f64(sign_f64(a));
  case SCI_OP_minimum: return of_f64(minimum_f64(a, b));
  case SCI_OP_maximum: return of_f64(maximum_f64(a, b));
  case SCI_OP_fma: return of_f64(fma(a, b, c));
  case SCI_OP_lt: return of_bool(isless(a, b));
  case SCI_OP_le: return of_bool(islessequal(a, b));
  case SCI_OP_eq: return of_bool(!isunordered(a, b) && !islessgreater(a, b));
  case SCI_OP_ne: return of_bool(isunordered(a, b) || islessgreater(a, b));
  case SCI_OP_isfinite: return of_bool(magnitude_f64(a) <= 0x1.fffffffffffffp1023);
  case SCI_OP_isnan: return of_bool(isunordered(a, a));
  case SCI_OP_and:
  case SCI_OP_or:
  case SCI_OP_not:
  case SCI_OP_select:
  case SCI_OP_cast: break;
  }
  abort();
}

static sci_scalar float32(sci_op op, float a, float b, float c) {
  switch (op) {
#define X(name)                                                                                                        \
  case SCI_OP_##name: return of_f32(name##f(a));
    UNARY_LIBM(X)
#undef X
#define X(name)                                                                                                        \
  case SCI_OP_##name: return of_f32(name##f(a, b));
    BINARY_LIBM(X)
#undef X
  case SCI_OP_neg: return of_f32(-a);
  case SCI_OP_add: return of_f32(a + b);
  case SCI_OP_sub: return of_f32(a - b);
  case SCI_OP_mul: return of_f32(a * b);
  case SCI_OP_div: return of_f32(a / b);
  case SCI_OP_abs: return of_f32(magnitude_f32(a));
  case SCI_OP_sign: return of_f32(sign_f32(a));
  case SCI_OP_minimum: return of_f32(minimum_f32(a, b));
  case SCI_OP_maximum: return of_f32(maximum_f32(a, b));
  case SCI_OP_fma: return of_f32(fmaf(a, b, c));
  case SCI_OP_lt: return of_bool(isless(a, b));
  case SCI_OP_le: return of_bool(islessequal(a, b));
  case SCI_OP_eq: return of_bool(!isunordered(a, b) && !islessgreater(a, b));
  case SCI_OP_ne: return of_bool(isunordered(a, b) || islessgreater(a, b));
  case SCI_OP_isfinite: return of_bool(magnitude_f32(a) <= 0x1.fffffep127f);
  case SCI_OP_isnan: return of_bool(isunordered(a, a));
  case SCI_OP_and:
  case SCI_OP_or:
  case SCI_OP_not:
  case SCI_OP_select:
  case SCI_OP_cast: break;
  }
  abort();
}

/* ---- integers: computed exactly in 128 bits, then wrapped to the width ---- */

__extension__ typedef __int128 wide;

static sci_scalar wrap(sc_dtype dtype, wide v) {
  uint64_t low = (uint64_t)v;
  if (dtype == SC_INT64)
    return of_i64(low > INT64_MAX ? (int64_t)(low - (UINT64_C(1) << 63)) + INT64_MIN : (int64_t)low);
  uint32_t half = (uint32_t)low;
  return of_i32(half > INT32_MAX ? (int32_t)(half - (UINT32_C(1) << 31)) + INT32_MIN : (int32_t)half);
}

static sci_scalar integer(sci_op op, sc_dtype dtype, wide a, wide b) {
  switch ((int)op) {
  case SCI_OP_neg: return wrap(dtype, -a);
  case SCI_OP_add: return wrap(dtype, a + b);
  case SCI_OP_sub: return wrap(dtype, a - b);
  case SCI_OP_mul: return wrap(dtype, a * b);
  case SCI_OP_div: return wrap(dtype, b == 0 ? 0 : a / b);
  case SCI_OP_fmod: return wrap(dtype, b == 0 ? a : a % b);
  case SCI_OP_abs: return wrap(dtype, a < 0 ? -a : a);
  case SCI_OP_sign: return wrap(dtype, a > 0 ? 1 : a < 0 ? -1 : 0);
  case SCI_OP_minimum: return wrap(dtype, a < b ? a : b);
  case SCI_OP_maximum: return wrap(dtype, a < b ? b : a);
  case SCI_OP_lt: return of_bool(a < b);
  case SCI_OP_le: return of_bool(a <= b);
  case SCI_OP_eq: return of_bool(a == b);
  case SCI_OP_ne: return of_bool(a != b);
  }
  abort();
}

static sci_scalar logical(sci_op op, bool a, bool b) {
  switch ((int)op) {
  case SCI_OP_and: return of_bool(a && b);
  case SCI_OP_or: return of_bool(a || b);
  case SCI_OP_not: return of_bool(!a);
  case SCI_OP_eq: return of_bool(a == b);
  case SCI_OP_ne: return of_bool(a != b);
  }
  abort();
}

/* ---- casts ---- */

/* Toward zero; out of range to the nearest end, NaN to 0. */
static sci_scalar truncated(sc_dtype to, long double v) {
  long double lo = to == SC_INT64 ? (long double)INT64_MIN : (long double)INT32_MIN;
  long double hi = to == SC_INT64 ? (long double)INT64_MAX : (long double)INT32_MAX;
  wide w = isnan(v) ? 0 : v <= lo ? (wide)lo : v >= hi ? (wide)hi : (wide)truncl(v);
  return wrap(to, w);
}

static sci_scalar cast(sc_dtype from, sc_dtype to, sci_scalar a) {
  bool is_float = from == SC_FLOAT64 || from == SC_FLOAT32;
  int64_t whole = from == SC_INT64 ? a.i64 : from == SC_INT32 ? a.i32 : a.b8 != 0;
  switch (to) {
  case SC_FLOAT64: return of_f64(from == SC_FLOAT64 ? a.f64 : from == SC_FLOAT32 ? (double)a.f32 : (double)whole);
  case SC_FLOAT32: return of_f32(from == SC_FLOAT64 ? (float)a.f64 : from == SC_FLOAT32 ? a.f32 : (float)whole);
  case SC_INT64:
  case SC_INT32:
    return is_float ? truncated(to, from == SC_FLOAT64 ? (long double)a.f64 : (long double)a.f32) : wrap(to, whole);
  case SC_BOOL: return of_bool(from == SC_FLOAT64 ? !(a.f64 == 0) : from == SC_FLOAT32 ? !(a.f32 == 0) : whole != 0);
  }
  abort();
}

sci_scalar ora_scalar(sci_op op, sc_dtype dtype, sc_dtype to, const sci_scalar x[3]) {
  if (op == SCI_OP_select) return x[0].b8 ? x[1] : x[2];
  if (op == SCI_OP_cast) return cast(dtype, to, x[0]);
  switch (dtype) {
  case SC_FLOAT64: return float64(op, x[0].f64, x[1].f64, x[2].f64);
  case SC_FLOAT32: return float32(op, x[0].f32, x[1].f32, x[2].f32);
  case SC_INT64: return integer(op, dtype, x[0].i64, x[1].i64);
  case SC_INT32: return integer(op, dtype, x[0].i32, x[1].i32);
  case SC_BOOL: return logical(op, x[0].b8 != 0, x[1].b8 != 0);
  }
  abort();
}

/* ---- reductions ---- */

static sci_scalar partials(sc_dtype dtype, sci_op op, int64_t n, const sci_scalar *terms, int width) {
  sci_scalar p[32];
  int64_t present = n < width ? n : width;
  memcpy(p, terms, (size_t)present * sizeof *p);
  for (int64_t k = present; k < n; k++) p[k % width] = ora_scalar2(op, dtype, p[k % width], terms[k]);
  if (width == 4) return ora_scalar2(op, dtype, ora_scalar2(op, dtype, p[0], p[1]), ora_scalar2(op, dtype, p[2], p[3]));
  for (int half = width / 2; half > 0; half /= 2)
    for (int i = 0; i < half && i + half < present; i++) p[i] = ora_scalar2(op, dtype, p[i], p[i + half]);
  return p[0];
}

sci_scalar ora_ordered(sc_dtype dtype, sci_op op, int64_t n, sci_scalar *terms) {
  enum { BLOCK = 4096 };
  if (n == 0) return (sci_scalar){.bits = 0};
  if (n < 8) return partials(dtype, op, n, terms, 1);
  if (n < 64) return partials(dtype, op, n, terms, 4);
  int64_t blocks = 0;
  for (int64_t at = 0; at < n; at += BLOCK)
    terms[blocks++] = partials(dtype, op, n - at < BLOCK ? n - at : BLOCK, terms + at, 32);
  for (; blocks > 1; blocks = (blocks + 1) / 2) {
    for (int64_t i = 0; i < blocks / 2; i++) terms[i] = ora_scalar2(op, dtype, terms[2 * i], terms[2 * i + 1]);
    if (blocks % 2) terms[blocks / 2] = terms[blocks - 1];
  }
  return terms[0];
}

/* ---- comparing ---- */

static bool is_nan(sc_dtype dtype, sci_scalar v) {
  return dtype == SC_FLOAT64 ? isnan(v.f64) : dtype == SC_FLOAT32 ? isnan(v.f32) : false;
}

/* Float bits as integers in the order of the values, both zeros at 0. */
static int64_t ordinal(sc_dtype dtype, sci_scalar v) {
  if (dtype == SC_FLOAT64) return v.i64 >= 0 ? v.i64 : INT64_MIN - v.i64;
  return v.i32 >= 0 ? v.i32 : (int64_t)INT32_MIN - v.i32;
}

int64_t ora_ulps(sc_dtype dtype, sci_scalar a, sci_scalar b) {
  if (dtype == SC_INT64) return a.i64 != b.i64;
  if (dtype == SC_INT32) return a.i32 != b.i32;
  if (dtype == SC_BOOL) return (a.b8 != 0) != (b.b8 != 0);
  if (is_nan(dtype, a) || is_nan(dtype, b)) return is_nan(dtype, a) && is_nan(dtype, b) ? 0 : INT64_MAX;
  wide d = (wide)ordinal(dtype, a) - ordinal(dtype, b);
  if (d < 0) d = -d;
  return d > INT64_MAX ? INT64_MAX : (int64_t)d;
}

int64_t ora_first_difference(sc_dtype dtype, int64_t n, const void *a, const void *b) {
  size_t size = sc_dtype_size(dtype);
  for (int64_t i = 0; i < n; i++) {
    if (!memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size)) continue;
    if (!is_nan(dtype, ora_load(dtype, a, i)) || !is_nan(dtype, ora_load(dtype, b, i))) return i;
  }
  return -1;
}

const char *ora_text(sc_dtype dtype, sci_scalar v, char buffer[48]) {
  switch (dtype) {
  case SC_FLOAT64: snprintf(buffer, 48, "%.17g (%a)", v.f64, v.f64); break;
  case SC_FLOAT32: snprintf(buffer, 48, "%.9g (%a)", (double)v.f32, (double)v.f32); break;
  case SC_INT64: snprintf(buffer, 48, "%" PRId64, v.i64); break;
  case SC_INT32: snprintf(buffer, 48, "%" PRId32, v.i32); break;
  case SC_BOOL: snprintf(buffer, 48, "%d", v.b8); break;
  }
  return buffer;
}
