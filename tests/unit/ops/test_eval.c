/* Owns the tests of scalar evaluation: what the table says at the edges, for every type an operation takes. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "lib/ops/ops.h"

static sci_scalar f64(double v) {
  return (sci_scalar){.f64 = v};
}

static double eval2(sci_op op, double a, double b) {
  return sci_op_eval(op, SC_FLOAT64, SC_FLOAT64, (sci_scalar[]){f64(a), f64(b)}).f64;
}

static int64_t int2(sci_op op, sc_dtype d, int64_t a, int64_t b) {
  sci_scalar x[2] = {{.bits = 0}, {.bits = 0}};
  if (d == SC_INT64) x[0].i64 = a, x[1].i64 = b;
  if (d == SC_INT32) x[0].i32 = (int32_t)a, x[1].i32 = (int32_t)b;
  sci_scalar r = sci_op_eval(op, d, d, x);
  return d == SC_INT64 ? r.i64 : r.i32;
}

Test(ops, integers_wrap) {
  static const struct {
    sci_op op;
    int64_t a, b, want; /* with M for the least and L for the largest value of the type */
  } cases[] = {
#define M INT64_MIN
#define L INT64_MAX
      {SCI_OP_add, L, 1, M},      {SCI_OP_sub, M, 1, L},    {SCI_OP_mul, L, 2, -2},  {SCI_OP_mul, M, -1, M},
      {SCI_OP_div, M, -1, M},     {SCI_OP_div, 7, 0, 0},    {SCI_OP_div, -7, 2, -3}, {SCI_OP_fmod, 7, 0, 7},
      {SCI_OP_fmod, M, -1, 0},    {SCI_OP_fmod, -7, 2, -1}, {SCI_OP_neg, M, 0, M},   {SCI_OP_abs, M, 0, M},
      {SCI_OP_abs, -3, 0, 3},     {SCI_OP_sign, -9, 0, -1}, {SCI_OP_sign, 0, 0, 0},  {SCI_OP_minimum, -1, 2, -1},
      {SCI_OP_maximum, -1, 2, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_expect_eq(int2(cases[i].op, SC_INT64, cases[i].a, cases[i].b), cases[i].want, "int64 case %zu", i);
#define NARROW(v) ((v) == M ? INT32_MIN : (v) == L ? INT32_MAX : (v))
    cr_expect_eq(int2(cases[i].op, SC_INT32, NARROW(cases[i].a), NARROW(cases[i].b)), NARROW(cases[i].want),
                 "int32 case %zu", i);
  }
}

Test(ops, floats_at_the_edges) {
  static const struct {
    sci_op op;
    double a, b, want;
  } cases[] = {
      {SCI_OP_minimum, NAN, 1, NAN},
      {SCI_OP_minimum, 1, NAN, NAN},
      {SCI_OP_maximum, NAN, 1, NAN},
      {SCI_OP_maximum, 1, NAN, NAN},
      {SCI_OP_maximum, INFINITY, 1, INFINITY},
      {SCI_OP_sign, -0.0, 0, 0},
      {SCI_OP_sign, NAN, 0, NAN},
      {SCI_OP_sign, -INFINITY, 0, -1},
      {SCI_OP_round, 2.5, 0, 3},
      {SCI_OP_round, -0.5, 0, -1},
      {SCI_OP_pow, NAN, 0, 1},
      {SCI_OP_pow, 0, -1, INFINITY},
      {SCI_OP_hypot, INFINITY, NAN, INFINITY},
      {SCI_OP_fmod, -5, 3, -2},
      {SCI_OP_copysign, 2, -0.0, -2},
      {SCI_OP_atan2, 0, -0.0, 0x1.921fb54442d18p+1},
      {SCI_OP_div, 1, 0, INFINITY},
      {SCI_OP_div, 0, 0, NAN},
      {SCI_OP_sqrt, -1, 0, NAN},
      {SCI_OP_abs, -0.0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double got = eval2(cases[i].op, cases[i].a, cases[i].b), want = cases[i].want;
    cr_expect(!memcmp(&got, &want, 8) || (isnan(got) && isnan(want)), "%s(%g, %g) = %a", sci_ops[cases[i].op].name,
              cases[i].a, cases[i].b, got);
    sci_scalar x[2] = {{.f32 = (float)cases[i].a}, {.f32 = (float)cases[i].b}};
    float got32 = sci_op_eval(cases[i].op, SC_FLOAT32, SC_FLOAT32, x).f32, want32 = (float)want;
    cr_expect(!memcmp(&got32, &want32, 4) || (isnan(got32) && isnan(want32)), "%s in float32: %a",
              sci_ops[cases[i].op].name, (double)got32);
  }
  double x[3] = {0x1.0000001p0, 0x1.0000001p0, -1};
  cr_expect_eq(sci_op_eval(SCI_OP_fma, SC_FLOAT64, SC_FLOAT64, (sci_scalar[]){f64(x[0]), f64(x[1]), f64(x[2])}).f64,
               fma(x[0], x[1], x[2]));
  volatile double product = x[0] * x[1];
  cr_expect_eq(eval2(SCI_OP_sub, eval2(SCI_OP_mul, x[0], x[1]), 1), product - 1,
               "no contraction of separate operations");
}

/* Every predicate on every pair of edge values: a truth table independent of the evaluator's expressions. */
Test(ops, predicates) {
  static const double v[] = {-INFINITY, -1, -0.0, 0.0, 1, INFINITY, NAN};
  static const int rank[] = {0, 1, 2, 2, 3, 4, 9};
  for (int i = 0; i < 7; i++) {
    for (int j = 0; j < 7; j++) {
      bool ordered = i != 6 && j != 6;
      sci_scalar x[2] = {f64(v[i]), f64(v[j])};
      cr_expect_eq(sci_op_eval(SCI_OP_lt, SC_FLOAT64, SC_BOOL, x).bits, ordered && rank[i] < rank[j]);
      cr_expect_eq(sci_op_eval(SCI_OP_le, SC_FLOAT64, SC_BOOL, x).bits, ordered && rank[i] <= rank[j]);
      cr_expect_eq(sci_op_eval(SCI_OP_eq, SC_FLOAT64, SC_BOOL, x).bits, ordered && rank[i] == rank[j]);
      cr_expect_eq(sci_op_eval(SCI_OP_ne, SC_FLOAT64, SC_BOOL, x).bits, !(ordered && rank[i] == rank[j]));
    }
    sci_scalar x = f64(v[i]);
    cr_expect_eq(sci_op_eval(SCI_OP_isnan, SC_FLOAT64, SC_BOOL, &x).bits, i == 6);
    cr_expect_eq(sci_op_eval(SCI_OP_isfinite, SC_FLOAT64, SC_BOOL, &x).bits, i > 0 && i < 5);
  }
  for (unsigned a = 0; a < 4; a++)
    for (unsigned b = 0; b < 4; b++) { /* any nonzero bool reads as true */
      sci_scalar x[2] = {{.b8 = (uint8_t)a}, {.b8 = (uint8_t)b}};
      cr_expect_eq(sci_op_eval(SCI_OP_and, SC_BOOL, SC_BOOL, x).bits, a && b);
      cr_expect_eq(sci_op_eval(SCI_OP_or, SC_BOOL, SC_BOOL, x).bits, a || b);
      cr_expect_eq(sci_op_eval(SCI_OP_eq, SC_BOOL, SC_BOOL, x).bits, !a == !b);
      cr_expect_eq(sci_op_eval(SCI_OP_ne, SC_BOOL, SC_BOOL, x).bits, !a != !b);
      cr_expect_eq(sci_op_eval(SCI_OP_not, SC_BOOL, SC_BOOL, x).bits, !a);
    }
}

Test(ops, casts) {
  static const struct {
    double from;
    int64_t i64;
    int32_t i32;
    uint8_t b8;
  } cases[] = {{NAN, 0, 0, 1},
               {INFINITY, INT64_MAX, INT32_MAX, 1},
               {-INFINITY, INT64_MIN, INT32_MIN, 1},
               {0x1p63, INT64_MAX, INT32_MAX, 1},
               {-0x1p63, INT64_MIN, INT32_MIN, 1},
               {0x1.fffffffffffffp62, 0x7FFFFFFFFFFFFC00, INT32_MAX, 1},
               {2147483647.5, 2147483647, INT32_MAX, 1},
               {2147483648.0, 2147483648, INT32_MAX, 1},
               {-2147483648.9, -2147483648, INT32_MIN, 1},
               {-2147483649.0, -2147483649, INT32_MIN, 1},
               {-0.9, 0, 0, 1},
               {-0.0, 0, 0, 0},
               {0.25, 0, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sci_scalar x = f64(cases[i].from);
    cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_FLOAT64, SC_INT64, &x).i64, cases[i].i64, "%g", cases[i].from);
    cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_FLOAT64, SC_INT32, &x).i32, cases[i].i32, "%g", cases[i].from);
    cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_FLOAT64, SC_BOOL, &x).bits, cases[i].b8, "%g", cases[i].from);
  }
  sci_scalar big = {.i64 = INT64_C(0x123456789)}, negative = {.i64 = -1};
  cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_INT64, SC_INT32, &big).i32, 0x23456789, "integers wrap");
  cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_INT64, SC_INT32, &negative).i32, -1);
  cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_INT64, SC_BOOL, &big).bits, 1);
  sci_scalar odd = {.i64 = INT64_C(16777217)}, yes = {.b8 = 3};
  cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_INT64, SC_FLOAT32, &odd).f32, 16777216.0f);
  cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_BOOL, SC_FLOAT64, &yes).f64, 1.0);
  sci_scalar nan32 = {.bits = 0xFFC12345u};
  cr_expect_eq(sci_op_eval(SCI_OP_cast, SC_FLOAT32, SC_FLOAT64, &nan32).bits, 0x7FF8000000000000u,
               "NaNs come out canonical");
}

Test(ops, bits_and_tables) {
  for (int d = 0; d < SC_DTYPE_COUNT; d++) {
    sc_dtype found;
    const char *name = sc_dtype_name((sc_dtype)d);
    cr_expect(sci_dtype_find(name, strlen(name), &found) && found == (sc_dtype)d);
    char data[16] = {0};
    for (int v = -2; v < 3; v++) {
      sci_scalar s = sci_scalar_number((sc_dtype)d, v);
      sci_scalar_store((sc_dtype)d, data, 1, s);
      sci_scalar back = sci_scalar_load((sc_dtype)d, data, 1);
      cr_expect_eq(sci_scalar_bits((sc_dtype)d, s), sci_scalar_bits((sc_dtype)d, back));
      cr_expect_eq(sci_scalar_double((sc_dtype)d, back), d == SC_BOOL ? v != 0 : v);
    }
  }
  cr_expect(!sci_scalar_is(SC_FLOAT64, f64(-0.0), 0.0) && sci_scalar_is(SC_FLOAT64, f64(-0.0), -0.0));
  cr_expect(!sci_scalar_is(SC_FLOAT64, f64(NAN), NAN));
  cr_expect_eq(sci_op_find("hypot", 5), SCI_OP_hypot);
  cr_expect_eq(sci_op_find("hypo", 4), -1);
  for (int op = 0; op < SCI_OP_COUNT; op++) {
    cr_expect_eq(sci_op_find(sci_ops[op].name, strlen(sci_ops[op].name)), op);
    if (sci_ops[op].traits & SCI_COMM) cr_expect_eq(sci_ops[op].arity, 2, "%s", sci_ops[op].name);
  }
}

/* What the nan column promises, and that commutative operations commute bit for bit. */
Test(ops, columns_hold) {
  static const double v[] = {-INFINITY, -2.5, -1, -0.0, 0.0, 0.3, 1, 3, INFINITY, NAN, 5e-324, 1e308};
  enum { N = sizeof v / sizeof *v };
  for (int op = 0; op < SCI_OP_COUNT; op++) {
    if (!sci_op_accepts((sci_op)op, SC_FLOAT64) || op == SCI_OP_select || op == SCI_OP_cast) continue;
    for (int i = 0; i < N * N; i++) {
      sci_scalar x[3] = {f64(v[i % N]), f64(v[i / N]), f64(1)}, swapped[3] = {x[1], x[0], x[2]};
      uint64_t bits = sci_op_eval((sci_op)op, SC_FLOAT64, SC_FLOAT64, x).bits;
      bool nan_in = isnan(x[0].f64) || (sci_ops[op].arity > 1 && isnan(x[1].f64));
      bool nan_out = sci_op_result((sci_op)op, SC_FLOAT64) == SC_FLOAT64 && bits == 0x7FF8000000000000u;
      if (sci_ops[op].nan == SCI_NAN_PROP && nan_in)
        cr_expect(nan_out, "%s(%g, %g)", sci_ops[op].name, x[0].f64, x[1].f64);
      bool zeros = (op == SCI_OP_minimum || op == SCI_OP_maximum) && x[0].f64 == 0 && x[1].f64 == 0; /* unspecified */
      if ((sci_ops[op].traits & SCI_COMM) && !zeros)
        cr_expect_eq(bits, sci_op_eval((sci_op)op, SC_FLOAT64, SC_FLOAT64, swapped).bits, "%s commutes",
                     sci_ops[op].name);
    }
  }
}
