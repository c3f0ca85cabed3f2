/* Owns scalar evaluation: what folding computes at build time is what the table says, per dtype. */
#include <math.h>
#include <string.h>

#include "lib/ops/ops.h"

/* Folding must round as the run-time operation does: no contraction into fused multiply-adds. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

uint64_t sci_scalar_bits(sc_dtype dtype, sci_scalar v) {
  switch (dtype) {
  case SC_FLOAT64: return isnan(v.f64) ? 0x7FF8000000000000u : v.bits;
  case SC_FLOAT32: {
    uint32_t bits;
    memcpy(&bits, &v.f32, 4);
    return isnan(v.f32) ? 0x7FC00000u : bits;
  }
  case SC_INT64: return v.bits;
  case SC_INT32: return (uint32_t)v.i32;
  case SC_BOOL: return v.b8 != 0;
  }
  return 0;
}

sci_scalar sci_scalar_from_bits(sc_dtype dtype, uint64_t bits) {
  sci_scalar v = {.bits = 0};
  uint32_t low = (uint32_t)bits;
  switch (dtype) {
  case SC_FLOAT64:
  case SC_INT64: v.bits = bits; break;
  case SC_FLOAT32: memcpy(&v.f32, &low, 4); break;
  case SC_INT32: memcpy(&v.i32, &low, 4); break;
  case SC_BOOL: v.b8 = bits != 0; break;
  }
  return v;
}

sci_scalar sci_scalar_load(sc_dtype dtype, const void *data, size_t i) {
  uint64_t bits = 0;
  size_t size = sc_dtype_size(dtype);
  if (size == 8) memcpy(&bits, (const char *)data + 8 * i, 8);
  if (size == 4) {
    uint32_t low;
    memcpy(&low, (const char *)data + 4 * i, 4);
    bits = low;
  }
  if (size == 1) bits = ((const uint8_t *)data)[i];
  return sci_scalar_from_bits(dtype, bits);
}

void sci_scalar_store(sc_dtype dtype, void *data, size_t i, sci_scalar v) {
  uint64_t bits = sci_scalar_bits(dtype, v);
  uint32_t low = (uint32_t)bits;
  size_t size = sc_dtype_size(dtype);
  if (size == 8) memcpy((char *)data + 8 * i, &bits, 8);
  if (size == 4) memcpy((char *)data + 4 * i, &low, 4);
  if (size == 1) ((uint8_t *)data)[i] = (uint8_t)bits;
}

/* Saturating, NaN to 0: the casts of the dialect. 2^63 and 2^31 are exact in double. */
static int64_t to_i64(double v) {
  if (v != v) return 0;
  if (v >= 0x1p63) return INT64_MAX;
  if (v <= -0x1p63) return INT64_MIN;
  return (int64_t)v;
}

static int32_t to_i32(double v) {
  if (v != v) return 0;
  if (v >= 0x1p31) return INT32_MAX;
  if (v <= -0x1p31) return INT32_MIN;
  return (int32_t)v;
}

static sci_scalar cast(sc_dtype from, sc_dtype to, sci_scalar a) {
  sci_scalar r = {.bits = 0};
  bool whole = sci_is_int(from);
  int64_t i = from == SC_INT64 ? a.i64 : from == SC_INT32 ? a.i32 : from == SC_BOOL ? a.b8 != 0 : 0;
  whole |= from == SC_BOOL;
  double f = from == SC_FLOAT64 ? a.f64 : from == SC_FLOAT32 ? (double)a.f32 : 0;
  switch (to) {
  case SC_FLOAT64: r.f64 = whole ? (double)i : f; break;
  case SC_FLOAT32: r.f32 = whole ? (float)i : from == SC_FLOAT32 ? a.f32 : (float)f; break;
  case SC_INT64: r.i64 = whole ? i : to_i64(f); break;
  case SC_INT32: r = sci_scalar_from_bits(SC_INT32, whole ? (uint32_t)(uint64_t)i : (uint32_t)to_i32(f)); break;
  case SC_BOOL: r.b8 = whole ? i != 0 : f != 0; break;
  }
  return r;
}

sci_scalar sci_scalar_number(sc_dtype dtype, double v) {
  return cast(SC_FLOAT64, dtype, (sci_scalar){.f64 = v});
}

double sci_scalar_double(sc_dtype dtype, sci_scalar v) {
  return cast(dtype, SC_FLOAT64, v).f64;
}

bool sci_scalar_is(sc_dtype dtype, sci_scalar v, double number) {
  double d = sci_scalar_double(dtype, v);
  return d == number && (signbit(d) != 0) == (signbit(number) != 0);
}

/* Wrapping integer arithmetic; division by zero gives 0 and the remainder follows (x - 0 * 0 = x). */
#define INTEGERS(T, U, suffix)                                                                                    \
  static T wneg_##suffix(T a) { return (T)(0 - (U)a); }                                                                \
  static T wadd_##suffix(T a, T b) { return (T)((U)a + (U)b); }                                                        \
  static T wsub_##suffix(T a, T b) { return (T)((U)a - (U)b); }                                                        \
  static T wmul_##suffix(T a, T b) { return (T)((U)a * (U)b); }                                                        \
  static T wdiv_##suffix(T a, T b) { return b == 0 ? 0 : b == -1 ? wneg_##suffix(a) : a / b; }                          \
  static T wmod_##suffix(T a, T b) { return b == 0 ? a : b == -1 ? 0 : a % b; }                                         \
  static T wabs_##suffix(T a) { return a < 0 ? wneg_##suffix(a) : a; }
INTEGERS(int64_t, uint64_t, i64)
INTEGERS(int32_t, uint32_t, i32)

/* One evaluator per type, expanded from the fold column. `r` receives a value of the operand type, `p` a predicate. */
#define EVAL(T, suffix)                                                                           \
  static bool eval_##suffix(sci_op op, T a, T b, T c, T *r, bool *p) {                                                 \
    (void)a, (void)b, (void)c;                                                                                         \
    switch (op)

#define KIND_F(e) *r = (T)(e); return true
#define KIND_A(e) *r = (T)(e); return true
#define KIND_AP(e) *p = (e); return true
#define KIND_EP(e) *p = (e); return true
#define KIND_FP(e) *p = (e); return true
#define KIND_B(e) (void)0; return false
#define KIND_SEL(e) (void)0; return false
#define KIND_CAST(e) (void)0; return false
#define FOLD_X 0
#define SCI_OP(name, arity, sig, traits, nan, fold, ...)                                                               \
  case SCI_OP_##name: {                                                                                                \
    KIND_##sig(fold);                                                                                                  \
  }

#define M(name) name
#define FOLD_F(e) e
#define FOLD_FI(e, i) e
#define T double
EVAL(double, f64) {
#include "lib/ops/ops.def"
}
return false;
}
#undef T
#undef M
#define M(name) name##f
#define T float
EVAL(float, f32) {
#include "lib/ops/ops.def"
}
return false;
}
#undef T
#undef M
#undef FOLD_F
#undef FOLD_FI
#define FOLD_F(e) 0
#define FOLD_FI(e, i) i
#define WNEG wneg_i64
#define WADD wadd_i64
#define WSUB wsub_i64
#define WMUL wmul_i64
#define WDIV wdiv_i64
#define WMOD wmod_i64
#define WABS wabs_i64
#define T int64_t
EVAL(int64_t, i64) {
#include "lib/ops/ops.def"
}
return false;
}
#undef T
#undef WNEG
#undef WADD
#undef WSUB
#undef WMUL
#undef WDIV
#undef WMOD
#undef WABS
#define WNEG wneg_i32
#define WADD wadd_i32
#define WSUB wsub_i32
#define WMUL wmul_i32
#define WDIV wdiv_i32
#define WMOD wmod_i32
#define WABS wabs_i32
#define T int32_t
EVAL(int32_t, i32) {
#include "lib/ops/ops.def"
}
return false;
}
#undef T

static bool eval_bool(sci_op op, bool a, bool b) {
  switch ((int)op) {
  case SCI_OP_and:
    return a && b;
  case SCI_OP_or:
    return a || b;
  case SCI_OP_not:
    return !a;
  case SCI_OP_eq:
    return a == b;
  case SCI_OP_ne:
    return a != b;
  default:
    return false;
  }
}

sci_scalar sci_op_eval(sci_op op, sc_dtype dtype, sc_dtype to, const sci_scalar *x) {
  sci_scalar r = {.bits = 0}, zero = {.bits = 0};
  if (op == SCI_OP_select) return x[0].b8 ? x[1] : x[2];
  if (op == SCI_OP_cast) {
    r = cast(dtype, to, x[0]);
    return sci_scalar_from_bits(to, sci_scalar_bits(to, r));
  }
  sci_scalar a = x[0], b = sci_ops[op].arity > 1 ? x[1] : zero, c = sci_ops[op].arity > 2 ? x[2] : zero;
  bool p = false;
  switch (dtype) {
  case SC_FLOAT64: eval_f64(op, a.f64, b.f64, c.f64, &r.f64, &p); break;
  case SC_FLOAT32: eval_f32(op, a.f32, b.f32, c.f32, &r.f32, &p); break;
  case SC_INT64: eval_i64(op, a.i64, b.i64, c.i64, &r.i64, &p); break;
  case SC_INT32: eval_i32(op, a.i32, b.i32, c.i32, &r.i32, &p); break;
  case SC_BOOL: p = eval_bool(op, a.b8 != 0, b.b8 != 0); break;
  }
  sc_dtype result = sci_op_result(op, dtype);
  if (result == SC_BOOL) r = (sci_scalar){.b8 = p};
  return sci_scalar_from_bits(result, sci_scalar_bits(result, r));
}
