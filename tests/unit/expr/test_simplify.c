/* Owns the tests of interning and of what is simplified and folded as nodes are built. */
#include <criterion/criterion.h>
#include <math.h>

#include "lib/expr/expr.h"
#include "tests/support/fault_alloc.h"

static fault_alloc allocated;
static sc_context *cx;

static sc_expr vec(const char *name, int64_t n) {
  return sc_input(cx, name, SC_FLOAT64, 1, &n);
}

static sc_expr num(double v) {
  return sc_scalar(cx, v);
}

static void begin(void) {
  allocated = (fault_alloc){0};
  cx = sc_context_create(&(sc_allocator){.reallocate = fault_reallocate, .user = &allocated});
}

static void end(void) {
  const sc_diagnostic *d = sc_context_error(cx);
  cr_expect(d == NULL, "%s", d ? d->message : "");
  sc_context_destroy(cx);
  cr_expect_eq(allocated.bytes, 0, "%zu bytes leak", allocated.bytes);
}

#define SAME(a, b) cr_expect(sc_same(a, b), "%s is not %s", #a, #b)
#define DIFFER(a, b) cr_expect(!sc_same(a, b) && !sc_is_null(a), "%s is %s", #a, #b)
#define OP(a, name) cr_expect_str_eq(sc_expr_op(a), name)

TestSuite(simplify, .init = begin, .fini = end);

Test(simplify, interning) {
  sc_expr x = vec("x", 3), y = vec("x", 3), a = sc_input_nodiff(cx, "a", SC_FLOAT64, 1, (int64_t[]){3});
  DIFFER(x, y);
  SAME(sc_sin(x), sc_sin(x));
  SAME(sc_add(x, y), sc_add(y, x));
  SAME(sc_eq(x, y), sc_eq(y, x));
  DIFFER(sc_sub(x, y), sc_sub(y, x));
  DIFFER(sc_lt(x, y), sc_lt(y, x));
  sc_expr xy = sc_mul(y, x);
  cr_expect_eq(sc_expr_arg(xy, 0).id, y.id, "operands keep the order they were first given in");
  DIFFER(sc_add(x, y), sc_add(x, a));
  DIFFER(num(0.0), num(-0.0));
  SAME(num(NAN), num(-NAN));
  SAME(num(NAN), sc_number(cx, SC_FLOAT64, nan("7")));
  DIFFER(num(1), sc_number(cx, SC_FLOAT32, 1));
  double ones[] = {1, 1, 1}, mixed[] = {1, 2, 1}, nans[] = {NAN, -NAN, NAN};
  int64_t three = 3;
  SAME(sc_const(cx, SC_FLOAT64, 1, &three, ones), sc_ones(cx, SC_FLOAT64, 1, &three));
  SAME(sc_const(cx, SC_FLOAT64, 1, &three, nans), sc_full(cx, SC_FLOAT64, 1, &three, NAN));
  OP(sc_const(cx, SC_FLOAT64, 1, &three, ones), "broadcast");
  OP(sc_const(cx, SC_FLOAT64, 1, &three, mixed), "const");
  SAME(sc_const(cx, SC_FLOAT64, 1, &three, mixed), sc_const(cx, SC_FLOAT64, 1, &three, mixed));
  uint8_t flags[] = {0, 7, 1}, clean[] = {0, 1, 1};
  SAME(sc_const(cx, SC_BOOL, 1, &three, flags), sc_const(cx, SC_BOOL, 1, &three, clean));
  sc_expr hinted = sc_with_hint(sc_sin(x), SC_HINT_BLOCK);
  DIFFER(hinted, sc_sin(x));
  SAME(sc_with_hint(hinted, SC_HINT_AUTO), sc_sin(x));
  sc_expr parts[5] = {x, y, x, y, x};
  SAME(sc_stack(parts, 5, 0), sc_stack(parts, 5, -2));
}

Test(simplify, arithmetic) {
  sc_expr x = vec("x", 3), s = sc_input(cx, "s", SC_FLOAT64, 0, NULL),
          i = sc_input(cx, "i", SC_INT32, 1, (int64_t[]){3});
  SAME(sc_mul(x, num(1)), x);
  SAME(sc_mul(num(1), x), x);
  SAME(sc_div(x, num(1)), x);
  SAME(sc_sub(x, num(0)), x);
  SAME(sc_neg(sc_neg(x)), x);
  SAME(sc_mul(i, sc_number(cx, SC_INT32, 1)), i);
  OP(sc_sub(x, num(-0.0)), "sub");
  OP(sc_add(x, num(0)), "add");
  OP(sc_mul(x, num(0)), "mul");
  OP(sc_sub(x, x), "sub");
  OP(sc_div(x, x), "div");
  SAME(sc_mul(sc_sqrt(x), sc_sqrt(x)), x);
  SAME(sc_square(sc_norm_2(x)), sc_sumsqr(x));
  SAME(sc_pow(sc_norm_2(x), num(2)), sc_sumsqr(x));
  OP(sc_mul(sc_with_hint(sc_sqrt(x), SC_HINT_SCALAR), sc_with_hint(sc_sqrt(x), SC_HINT_SCALAR)), "mul");
  OP(sc_neg(sc_with_hint(sc_neg(x), SC_HINT_BLOCK)), "neg");
  /* A wider constant still gives its shape. */
  sc_expr wide = sc_mul(s, sc_ones(cx, SC_FLOAT64, 1, (int64_t[]){4}));
  OP(wide, "broadcast");
  SAME(sc_expr_arg(wide, 0), s);
}

Test(simplify, powers) {
  sc_expr x = vec("x", 3), x2 = sc_mul(x, x), one = sc_ones(cx, SC_FLOAT64, 1, (int64_t[]){3});
  SAME(sc_pow(x, num(0)), one);
  SAME(sc_pow(x, num(1)), x);
  SAME(sc_pow(x, num(2)), x2);
  SAME(sc_pow(x, num(3)), sc_mul(x, x2));
  SAME(sc_pow(x, num(4)), sc_mul(x2, x2));
  SAME(sc_pow(x, num(-1)), sc_div(one, x));
  SAME(sc_pow(x, num(-2)), sc_div(one, x2));
  SAME(sc_pow(x, num(0.5)), sc_sqrt(x));
  SAME(sc_pow(x, num(-0.5)), sc_div(one, sc_sqrt(x)));
  OP(sc_pow(x, num(32)), "mul");
  OP(sc_pow(x, num(-32)), "div");
  OP(sc_pow(x, num(33)), "pow");
  OP(sc_pow(x, num(1.875)), "pow");
  OP(sc_pow(x, num(NAN)), "pow");
  OP(sc_pow(x, x), "pow");
  OP(sc_pow(num(2), x), "pow");
  sc_expr f = sc_input(cx, "f", SC_FLOAT32, 0, NULL);
  SAME(sc_pow(f, sc_like(f, 2)), sc_mul(f, f));
}

Test(simplify, choices_and_casts) {
  sc_expr x = vec("x", 3), y = vec("y", 3), s = num(2), c = sc_lt(x, y);
  SAME(sc_select(c, x, x), x);
  SAME(sc_select(sc_number(cx, SC_BOOL, 1), x, y), x);
  SAME(sc_select(sc_zeros(cx, SC_BOOL, 1, (int64_t[]){3}), x, y), y);
  OP(sc_select(sc_number(cx, SC_BOOL, 1), s, x), "broadcast");
  SAME(sc_cast(x, SC_FLOAT64), x);
  sc_expr f = sc_cast(x, SC_FLOAT32);
  cr_expect(sc_expr_diff(f));
  cr_expect(!sc_expr_diff(sc_cast(x, SC_INT64)));
  OP(sc_cast(f, SC_FLOAT64), "cast");
  cr_expect(!sc_expr_diff(sc_floor(x)) && !sc_expr_diff(sc_sign(x)) && !sc_expr_diff(c) &&
            !sc_expr_diff(sc_stop_gradient(x)));
  SAME(sc_stop_gradient(s), s);
  SAME(sc_stop_gradient(sc_stop_gradient(x)), sc_stop_gradient(x));
  cr_expect(sc_expr_diff(sc_select(c, s, x)) && !sc_expr_diff(sc_select(c, s, num(3))));
}

Test(simplify, shapes) {
  sc_expr m = sc_input(cx, "m", SC_FLOAT64, 2, (int64_t[]){3, 4}), v = sc_vec(m);
  SAME(sc_reshape(m, 2, (int64_t[]){3, 4}), m);
  SAME(sc_reshape(m, 2, (int64_t[]){3, -1}), m);
  SAME(sc_reshape(v, 2, (int64_t[]){3, 4}), m);
  SAME(sc_reshape(sc_reshape(m, 2, (int64_t[]){2, 6}), 1, (int64_t[]){12}), v);
  SAME(sc_transpose(sc_transpose(m)), m);
  SAME(sc_transpose_axes(m, (int[]){0, 1}), m);
  SAME(sc_transpose_axes(m, (int[]){-1, -2}), sc_transpose(m));
  sc_expr t = sc_input(cx, "t", SC_FLOAT64, 3, (int64_t[]){2, 3, 4});
  SAME(sc_transpose_axes(sc_transpose_axes(t, (int[]){1, 2, 0}), (int[]){1, 2, 0}),
       sc_transpose_axes(t, (int[]){2, 0, 1}));
  SAME(sc_broadcast(m, 2, (int64_t[]){3, 4}), m);
  SAME(sc_broadcast(sc_broadcast(num(7), 1, (int64_t[]){4}), 2, (int64_t[]){3, 4}),
       sc_full(cx, SC_FLOAT64, 2, (int64_t[]){3, 4}, 7));
  sc_expr empty = sc_input(cx, "e", SC_FLOAT64, 2, (int64_t[]){0, 4});
  cr_expect_eq(sc_expr_size(sc_reshape(empty, 1, (int64_t[]){-1})), 0);
  SAME(sc_sum_axes(m, 0, (int[]){0}), m);
  SAME(sc_sum(sc_at(v, 0)), sc_at(v, 0));
}

Test(simplify, slices) {
  sc_expr m = sc_input(cx, "m", SC_FLOAT64, 2, (int64_t[]){5, 4}), v = vec("v", 10);
  SAME(sc_slice(m, 2, (sc_range[]){SC_ALL, SC_ALL}), m);
  SAME(sc_slice(m, 0, NULL), m);
  SAME(sc_span(m, -100, 100), m);
  SAME(sc_span(sc_span(v, 2, 9), 1, 3), sc_span(v, 3, 5));
  SAME(sc_at(sc_span(v, 2, 9), -1), sc_at(v, 8));
  sc_expr back = sc_slice(v, 1, &(sc_range){SC_NONE, SC_NONE, -1});
  SAME(sc_slice(back, 1, &(sc_range){SC_NONE, SC_NONE, -1}), v);
  SAME(sc_span(back, 0, 1), sc_span(v, 9, 10));
  SAME(sc_slice(sc_slice(v, 1, &(sc_range){1, SC_NONE, 2}), 1, &(sc_range){1, SC_NONE, 2}),
       sc_slice(v, 1, &(sc_range){3, SC_NONE, 4}));
  SAME(sc_at(sc_at(m, 2), 1), sc_slice(m, 2, (sc_range[]){SC_AT(2), SC_AT(1)}));
  SAME(sc_slice(v, 1, &(sc_range){3, 4, 7}), sc_span(v, 3, 4));
  SAME(sc_span(v, 7, 3), sc_span(v, 0, 0));
  cr_expect_eq(sc_expr_size(sc_slice(v, 1, &(sc_range){0, INT64_MAX, INT64_MAX})), 1);
  cr_expect_eq(sc_expr_size(sc_slice(v, 1, &(sc_range){SC_NONE, SC_NONE, INT64_MIN + 1})), 1);

  sc_expr a = vec("a", 3), b = vec("b", 3), c = vec("c", 3), parts[] = {a, b, c};
  sc_expr s0 = sc_stack(parts, 3, 0), s1 = sc_stack(parts, 3, 1);
  SAME(sc_at(s0, 1), b);
  SAME(sc_slice(s1, 2, (sc_range[]){SC_ALL, SC_AT(2)}), c);
  SAME(sc_slice(s1, 2, (sc_range[]){SC_AT(0), SC_AT(-1)}), sc_at(c, 0));
  SAME(sc_span(s0, 1, 3), sc_stack(&parts[1], 2, 0));
  SAME(sc_slice(s0, 1, &(sc_range){SC_NONE, SC_NONE, -2}), sc_stack((sc_expr[]){c, a}, 2, 0));
  sc_expr cat = sc_concat(parts, 3, 0);
  SAME(sc_span(cat, 3, 6), b);
  SAME(sc_at(cat, 7), sc_at(c, 1));
  SAME(sc_span(cat, 2, 4), sc_span(sc_concat(parts, 2, 0), 2, 4));
  SAME(sc_slice(cat, 1, &(sc_range){5, 2, -1}), sc_slice(b, 1, &(sc_range){SC_NONE, SC_NONE, -1}));
  OP(sc_span(cat, 0, 0), "slice");
  sc_expr with_empty[] = {a, vec("z", 0), b};
  SAME(sc_span(sc_concat(with_empty, 3, 0), 3, 6), b);
  SAME(sc_gather(sc_gather(v, (int64_t[]){3, 1, -1}, 1, (int64_t[]){3}), (int64_t[]){2, 2}, 1, (int64_t[]){2}),
       sc_gather(v, (int64_t[]){9, 9}, 1, (int64_t[]){2}));
}

/* Slices of every start, stop and step against Python's rule, element by element, through folding. */
Test(simplify, slice_means_what_python_means) {
  enum { N = 5 };
  double data[N] = {10, 11, 12, 13, 14};
  sc_expr v = sc_const(cx, SC_FLOAT64, 1, (int64_t[]){N}, data);
  for (int step = -3; step <= 3; step++)
    for (int start = -8; start <= 8; start++)
      for (int stop = -8; stop <= 8 && step; stop++) {
        double want[N];
        int n = 0, lo = start < 0 ? start + N : start, hi = stop < 0 ? stop + N : stop;
        for (int i = lo; step > 0 ? i < hi : i > hi; i += step) {
          /* Python clamps the start first: out-of-range positions shift the phase */
          if (step > 0 && i < 0) i = 0;
          if (step < 0 && i > N - 1) i = N - 1;
          if (i < 0 || i >= N || !(step > 0 ? i < hi : i > hi)) break;
          want[n++] = data[i];
        }
        sc_expr s = sc_slice(v, 1, &(sc_range){start, stop, step});
        cr_assert_eq(sc_expr_size(s), n, "[%d:%d:%d]", start, stop, step);
        sc_expr w = sc_const(cx, SC_FLOAT64, 1, (int64_t[]){n}, want);
        cr_assert(sc_same(s, w) || n == 0, "[%d:%d:%d]", start, stop, step);
      }
}

static double value(sc_expr e, int64_t i) {
  if (!strcmp(sc_expr_op(e), "broadcast")) e = sc_expr_arg(e, 0), i = 0;
  const void *data = sc_expr_const_data(e);
  if (!data) return -12345;
  return sci_scalar_double(sc_expr_dtype(e), sci_scalar_load(sc_expr_dtype(e), data, (size_t)i));
}

#define VALUES(e, ...)                                                                                                 \
  do {                                                                                                                 \
    const double want_[] = {__VA_ARGS__};                                                                              \
    sc_expr got_ = e;                                                                                                  \
    cr_expect_eq(sc_expr_size(got_), (int64_t)(sizeof want_ / sizeof *want_), "%s", #e);                               \
    for (int64_t i_ = 0; i_ < sc_expr_size(got_); i_++)                                                                \
      cr_expect_eq(value(got_, i_), want_[i_], "%s [%d]", #e, (int)i_);                                                \
  } while (0)

Test(simplify, folding) {
  int64_t two_three[] = {2, 3}, three = 3;
  sc_expr m = sc_const(cx, SC_FLOAT64, 2, two_three, (double[]){1, 2, 3, 4, 5, 6}),
          v = sc_const(cx, SC_FLOAT64, 1, &three, (double[]){7, 8, 9});
  VALUES(sc_add(m, v), 8, 10, 12, 11, 13, 15);
  VALUES(sc_transpose(m), 1, 4, 2, 5, 3, 6);
  VALUES(sc_vec(m), 1, 2, 3, 4, 5, 6);
  VALUES(sc_slice(m, 2, (sc_range[]){SC_AT(1), {SC_NONE, SC_NONE, -2}}), 6, 4);
  VALUES(sc_gather(m, (int64_t[]){5, 0, -2}, 1, &three), 6, 1, 5);
  VALUES(sc_scatter(v, (int64_t[]){1, 3, 1}, 1, (int64_t[]){4}), 0, 16, 0, 8);
  VALUES(sc_index_add(v, sc_const(cx, SC_FLOAT64, 1, (int64_t[]){2}, (double[]){1, 2}), (int64_t[]){0, 0}), 10, 8, 9);
  VALUES(sc_index_set(v, sc_const(cx, SC_FLOAT64, 1, (int64_t[]){2}, (double[]){1, 2}), (int64_t[]){0, 0}), 2, 8, 9);
  VALUES(sc_stack((sc_expr[]){v, sc_neg(v)}, 2, 1), 7, -7, 8, -8, 9, -9);
  VALUES(sc_concat((sc_expr[]){m, m}, 2, 1), 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
  VALUES(sc_sum_axes(m, 1, (int[]){0}), 5, 7, 9);
  VALUES(sc_max_axes(m, 1, (int[]){-1}), 3, 6);
  VALUES(sc_min(m), 1);
  VALUES(sc_matmul(m, v), 50, 122);
  VALUES(sc_matmul(m, sc_transpose(m)), 14, 32, 32, 77);
  VALUES(sc_select(sc_lt(m, num(3)), m, num(0)), 1, 2, 0, 0, 0, 0);
  VALUES(sc_sum(sc_zeros(cx, SC_FLOAT64, 1, (int64_t[]){0})), 0);
  VALUES(sc_cast(sc_const(cx, SC_FLOAT64, 1, &three, (double[]){NAN, 1e300, -1.5}), SC_INT32), 0, 2147483647, -1);
  VALUES(sc_linspace(cx, SC_FLOAT64, -1, 2, 4), -1, 0, 1, 2);
  VALUES(sc_eye(cx, SC_INT32, 2), 1, 0, 0, 1);
  VALUES(sc_kron(v, sc_const(cx, SC_FLOAT64, 1, (int64_t[]){2}, (double[]){1, 10})), 7, 70, 8, 80, 9, 90);
  VALUES(sc_sin(num(0.5)), sin(0.5));
  sc_expr large =
      sc_sin(sc_full(cx, SC_FLOAT64, 2, (int64_t[]){1000, 1000}, 0.5)); /* equal elements fold at any size */
  cr_expect_eq(value(large, 0), sin(0.5));
  cr_expect_eq(sc_expr_size(large), 1000000);
  float f = 0.1f;
  VALUES(sc_mul(sc_const(cx, SC_FLOAT32, 0, NULL, &f), sc_const(cx, SC_FLOAT32, 0, NULL, &f)), (double)(f * f));
  /* What makes a NaN out of numbers stays where it is; what only passes one on folds. */
  OP(sc_div(num(0), num(0)), "div");
  OP(sc_sqrt(num(-1)), "sqrt");
  OP(sc_log(sc_const(cx, SC_FLOAT64, 1, &three, (double[]){1, -1, 1})), "log");
  cr_expect(isnan(value(sc_mul(num(INFINITY), num(0)), 0)));
  cr_expect(isnan(value(sc_sin(num(NAN)), 0)));
  /* Too large to fold element by element. */
  sc_expr big = sc_linspace(cx, SC_FLOAT64, 0, 1, 100000);
  OP(sc_sin(big), "sin");
  OP(sc_mul(num(2), sc_with_hint(sc_sin(num(1)), SC_HINT_AUTO)), "const");
}

/* The documented order of summation shows in the rounding. */
Test(simplify, folded_sums_have_the_documented_order) {
  double x[100];
  uint64_t rng = 42;
  for (int i = 0; i < 100; i++)
    rng = rng * 6364136223846793005u + 1442695040888963407u,
    x[i] = ((double)(rng >> 11) * 0x1p-53 - 0.5) * exp2((double)(rng & 31));
  for (int64_t n = 1; n <= 100; n++) {
    double p[32] = {0};
    int w = n < 8 ? 1 : n < 64 ? 4 : 32;
    for (int k = 0; k < n; k++) p[k % w] = k < w ? x[k] : p[k % w] + x[k];
    double want = p[0];
    if (w == 4) want = (p[0] + p[1]) + (p[2] + p[3]);
    if (w == 32) {
      for (int h = 16; h; h /= 2)
        for (int i = 0; i < h; i++) p[i] += p[i + h];
      want = p[0];
    }
    cr_expect_eq(value(sc_sum(sc_const(cx, SC_FLOAT64, 1, &n, x)), 0), want, "%d terms", (int)n);
  }
}

/* ---- random chains of structural operations: symbolic, simplified, then evaluated, against folded step by step ----
 */

static uint64_t rng;

static int64_t pick(int64_t n) {
  rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
  return (int64_t)(rng % (uint64_t)n);
}

static sc_range random_range(int64_t size) {
  if (size && pick(4) == 0) return SC_AT(pick(2 * size) - size);
  int64_t step = pick(7) - 3;
  return (sc_range){pick(3) ? pick(2 * size + 1) - size : SC_NONE, pick(3) ? pick(2 * size + 1) - size : SC_NONE,
                    step ? step : 1};
}

/* One random operation on e, drawn from the generator's state alone: the same state draws the same operation. */
static sc_expr random_op(sc_expr e) {
  int rank = sc_expr_rank(e);
  const int64_t *shape = sc_expr_shape(e);
  int64_t size = sc_expr_size(e), factor = size ? 1 + pick(size) : 1;
  sc_range index[SC_MAX_RANK];
  int axes[SC_MAX_RANK];
  int64_t idx[64], n = 1 + pick(6);
  switch (pick(9)) {
  case 0:
  case 1:
    for (int i = 0; i < rank; i++) index[i] = random_range(shape[i]);
    return sc_slice(e, (int)pick(rank + 1), index);
  case 2:
    return size > 200 || rank > 5 ? e
                                  : sc_stack((sc_expr[]){e, sc_neg(e), e}, (size_t)(1 + pick(3)), (int)pick(rank + 1));
  case 3:
    return size > 200 || !rank ? e : sc_concat((sc_expr[]){sc_neg(e), e, e}, (size_t)(1 + pick(3)), (int)pick(rank));
  case 4: return size % factor ? sc_vec(e) : sc_reshape(e, 2, (int64_t[]){factor, size / factor});
  case 5:
    for (int i = 0; i < rank; i++) axes[i] = i;
    for (int i = rank - 1; i > 0; i--) {
      int j = (int)pick(i + 1), t = axes[i];
      axes[i] = axes[j], axes[j] = t;
    }
    return sc_transpose_axes(e, axes);
  case 6:
    for (int64_t i = 0; i < 2 * n; i++) idx[i] = size ? pick(size) : 0;
    return size ? sc_gather(e, idx, 2, (int64_t[]){n, 2}) : e;
  case 7:
    return rank > 5 || size > 200 ? e : sc_broadcast(sc_reshape(e, 2, (int64_t[]){1, size}), 2, (int64_t[]){2, size});
  default: return rank ? sc_sum_axes(e, 1, (int[]){(int)pick(rank)}) : sc_neg(e);
  }
}

Test(simplify, random_chains) {
  double data[12];
  for (int i = 0; i < 12; i++) data[i] = i + 1;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 2, (int64_t[]){3, 4}),
          known = sc_const(cx, SC_FLOAT64, 2, (int64_t[]){3, 4}, data);
  for (volatile uint64_t seed = 1; seed <= 5000; seed++) {
    sc_expr e = x, folded = known;
    rng = seed * 0x9E3779B97F4A7C15u;
    for (int k = 0; k < 8; k++) {
      uint64_t state = rng;
      e = random_op(e);
      rng = state;
      folded = random_op(folded);
      cr_assert(!sc_is_null(e) && !sc_is_null(folded), "seed %d: %s", (int)seed,
                sc_context_error(cx) ? sc_context_error(cx)->message : "");
    }
    sci_frame fr;
    if (!SCI_TRY(&cx->env, &fr)) cr_assert_fail("%s", sc_context_error(cx)->message);
    sci_order o = sci_reach(cx, &e.id, 1);
    sci_id *value_of = SCI_ARRAY(&cx->env.scratch, sci_id, o.n), args[3];
    for (uint32_t k = 0; k < o.n; k++) {
      const sci_node *n = sci_node_at(cx, o.ids[k]);
      for (uint32_t i = 0; i < n->n_args; i++) args[i] = value_of[sci_number(&o, sci_args(cx, n)[i])];
      value_of[k] = n->op == SCI_X_input ? known.id : sci_remake(cx, o.ids[k], args);
    }
    sci_id equal = sci_make2(cx, SCI_OP_eq, value_of[o.n - 1], folded.id);
    cr_expect_eq(sci_type_of(cx, equal)->size, sc_expr_size(folded), "seed %d", (int)seed);
    cr_expect(!sc_expr_size(folded) || sci_is_const_number(cx, equal, 1), "seed %d", (int)seed);
    sci_leave(&cx->env, &fr);
  }
}
