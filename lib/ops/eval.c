/* Owns scalar evaluation: what folding computes at build time is what the table says, per dtype. */
#include <math.h>
#include <string.h>

#include "lib/ops/ops.h"

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

/* ---- one evaluator per type, each an expansion of the fold column ---- */

/* clang-format off */

/* Integers wrap; a division by zero gives 0 and the remainder follows: x - 0 * 0 = x. */
#define INTEGER_HELPERS(T, U, name)                                                                                    \
  static T neg_##name(T a) { return (T)(0 - (U)a); }                                                                   \
  static T add_##name(T a, T b) { return (T)((U)a + (U)b); }                                                           \
  static T sub_##name(T a, T b) { return (T)((U)a - (U)b); }                                                           \
  static T mul_##name(T a, T b) { return (T)((U)a * (U)b); }                                                           \
  static T div_##name(T a, T b) { return b == 0 ? 0 : b == -1 ? neg_##name(a) : a / b; }                               \
  static T mod_##name(T a, T b) { return b == 0 ? a : b == -1 ? 0 : a % b; }                                           \
  static T abs_##name(T a) { return a < 0 ? neg_##name(a) : a; }
INTEGER_HELPERS(int64_t, uint64_t, i64)
INTEGER_HELPERS(int32_t, uint32_t, i32)

/* What a signature makes of its fold expression: a value of the operand type, a predicate, or nothing. */
#define FOLD_AS_F(e) *r = (T)(e)
#define FOLD_AS_A(e) *r = (T)(e)
#define FOLD_AS_B(e) *p = (e)
#define FOLD_AS_AP(e) *p = (e)
#define FOLD_AS_EP(e) *p = (e)
#define FOLD_AS_FP(e) *p = (e)
#define FOLD_AS_SEL(e) (void)0
#define FOLD_AS_CAST(e) (void)0
#define FOLD_E(e) e

/* Operations that do not take the type fold to 0 here and are never asked for. */
#define SCI_OP(name, arity, sig, traits, nan, fold, ...)                                                               \
  case SCI_OP_##name: FOLD_AS_##sig(fold); break;
/* clang-format on */

#define FOLD_F(e) e
#define FOLD_FI(e, i) e
#define FOLD_B(e) 0
#define T double
#define M(name) name
static void eval_f64(sci_op op, double a, double b, double c, double *r, bool *p) {
  switch (op) {
#include "lib/ops/ops.def"
  }
}
#undef T
#undef M

#define T float
#define M(name) name##f
static void eval_f32(sci_op op, float a, float b, float c, float *r, bool *p) {
  switch (op) {
#include "lib/ops/ops.def"
  }
}
#undef T
#undef M
#undef FOLD_F
#undef FOLD_FI

#define FOLD_F(e) 0
#define FOLD_FI(e, i) i
#define T int64_t
#define W(name) name##_i64
static void eval_i64(sci_op op, int64_t a, int64_t b, int64_t *r, bool *p) {
  switch (op) {
#include "lib/ops/ops.def"
  }
}
#undef T
#undef W

#define T int32_t
#define W(name) name##_i32
static void eval_i32(sci_op op, int32_t a, int32_t b, int32_t *r, bool *p) {
  switch (op) {
#include "lib/ops/ops.def"
  }
}
#undef T
#undef W
#undef FOLD_FI
#undef FOLD_B

#define FOLD_FI(e, i) 0
#define FOLD_B(e) e
#define T bool
static void eval_b8(sci_op op, bool a, bool b, bool *r, bool *p) {
  switch (op) {
#include "lib/ops/ops.def"
  }
}

/* ---- dispatch ---- */

sci_scalar sci_op_eval(sci_op op, sc_dtype dtype, sc_dtype to, const sci_scalar *x) {
  if (op == SCI_OP_select) return x[0].b8 ? x[1] : x[2];
  sci_scalar r = {.bits = 0};
  if (op == SCI_OP_cast) {
    r = cast(dtype, to, x[0]);
    return sci_scalar_from_bits(to, sci_scalar_bits(to, r));
  }
  sci_scalar a = x[0], b = sci_ops[op].arity > 1 ? x[1] : a, c = sci_ops[op].arity > 2 ? x[2] : a;
  bool p = false, unused;
  switch (dtype) {
  case SC_FLOAT64: eval_f64(op, a.f64, b.f64, c.f64, &r.f64, &p); break;
  case SC_FLOAT32: eval_f32(op, a.f32, b.f32, c.f32, &r.f32, &p); break;
  case SC_INT64: eval_i64(op, a.i64, b.i64, &r.i64, &p); break;
  case SC_INT32: eval_i32(op, a.i32, b.i32, &r.i32, &p); break;
  case SC_BOOL: eval_b8(op, a.b8 != 0, b.b8 != 0, &unused, &p); break;
  }
  sc_dtype result = sci_op_result(op, dtype);
  if (result == SC_BOOL) r = (sci_scalar){.b8 = p};
  return sci_scalar_from_bits(result, sci_scalar_bits(result, r));
}
