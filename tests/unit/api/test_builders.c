/* Owns the tests of the builders that expand into several operations, and of reading graphs and functions back. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "scaly/scaly.h"
#include "tests/support/fault_alloc.h"

static fault_alloc allocated;
static sc_context *cx;

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

TestSuite(builders, .init = begin, .fini = end);

/* Elements of a constant expression, which folding has computed. */
static double at(sc_expr e, int64_t i) {
  if (!strcmp(sc_expr_op(e), "broadcast")) e = sc_expr_arg(e, 0), i = 0;
  const double *data = sc_expr_const_data(e);
  cr_assert(data != NULL, "%s is not constant", sc_expr_op(e));
  return data[i];
}

static sc_expr vec(int64_t n, const double *v) {
  return sc_const(cx, SC_FLOAT64, 1, &n, v);
}

static double ulps(double got, double want) {
  if (got == want || (isnan(got) && isnan(want))) return 0;
  return fabs(got - want) / (nextafter(fabs(want), INFINITY) - fabs(want));
}

/* Values over the whole range, against formulas in long double. */
Test(builders, smooth_functions) {
  for (int k = -4000; k <= 4000; k++) {
    double x = k * 0.25;
    long double e = expl(-(long double)x);
    double sigmoid = (double)(1 / (1 + e)), softplus = (double)(x > 0 ? x + log1pl(e) : log1pl(expl((long double)x)));
    if (sigmoid < 0x1p-1022 || softplus < 0x1p-1022) continue;
    cr_expect_lt(ulps(at(sc_sigmoid(sc_scalar(cx, x)), 0), sigmoid), 3, "sigmoid(%g)", x);
    cr_expect_lt(ulps(at(sc_softplus(sc_scalar(cx, x)), 0), softplus), 3, "softplus(%g)", x);
  }
  const double edges[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 710, -750};
  const double sigmoids[] = {1, 0, NAN, 0.5, 0.5, 1, 0},
               softplusses[] = {INFINITY, 0, NAN, 0x1.62e42fefa39efp-1, 0x1.62e42fefa39efp-1, 710, 0};
  for (int i = 0; i < 6; i++) {
    cr_expect_eq(ulps(at(sc_sigmoid(sc_scalar(cx, edges[i])), 0), sigmoids[i]), 0, "sigmoid(%g)", edges[i]);
    cr_expect_eq(ulps(at(sc_softplus(sc_scalar(cx, edges[i])), 0), softplusses[i]), 0, "softplus(%g)", edges[i]);
  }
  cr_expect_eq(at(sc_norm_2(vec(2, (double[]){3, 4})), 0), 5);
  cr_expect_eq(at(sc_norm_2(vec(2, (double[]){0.0, -0.0})), 0), 0);
  cr_expect(isnan(at(sc_norm_2(vec(2, (double[]){NAN, 0})), 0)));
  cr_expect(isnan(at(sc_relu(sc_scalar(cx, NAN)), 0)) && at(sc_relu(sc_scalar(cx, -2)), 0) == 0 &&
            at(sc_relu(sc_scalar(cx, 2)), 0) == 2);
  sc_expr v = vec(4, (double[]){-5, 0.5, 5, NAN}), clipped = sc_clip(v, sc_scalar(cx, -1), sc_scalar(cx, 1));
  cr_expect(at(clipped, 0) == -1 && at(clipped, 1) == 0.5 && at(clipped, 2) == 1 && isnan(at(clipped, 3)));
  cr_expect_eq(at(sc_reciprocal(sc_scalar(cx, 4)), 0), 0.25);
  double c[] = {2, -3, 1};
  cr_expect_eq(at(sc_polyval(c, 3, sc_scalar(cx, 5)), 0), 36);
  cr_expect_eq(at(sc_polyval(c, 1, v), 3), 2);
  cr_expect_eq(sc_expr_size(sc_polyval(NULL, 0, v)), 4);
}

Test(builders, linspace) {
  static const struct {
    double first, last;
    int64_t n;
  } cases[] = {{0, 1, 11}, {-1, 1, 7}, {1, 0, 5}, {3, 3, 4}, {-1.7e308, 1.7e308, 5}, {5, 9, 1}, {5, 9, 2}, {0, 0.3, 4}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int64_t n = cases[k].n;
    sc_expr v = sc_linspace(cx, SC_FLOAT64, cases[k].first, cases[k].last, n);
    cr_expect_eq(sc_expr_size(v), n);
    cr_expect_eq(at(v, 0), cases[k].first);
    if (n > 1) cr_expect_eq(at(v, n - 1), cases[k].last);
    for (int64_t i = 0; i < n && n > 1; i++) {
      long double want = cases[k].first + ((long double)cases[k].last - cases[k].first) * i / (n - 1);
      cr_expect_lt(fabsl(at(v, i) - want), 1e-15L * fmaxl(fabsl(cases[k].first), fabsl(cases[k].last)),
                   "case %zu, point %d", k, (int)i);
      cr_expect(cases[k].first != -cases[k].last || at(v, i) == -at(v, n - 1 - i), "symmetric");
    }
  }
  cr_expect_eq(sc_expr_size(sc_linspace(cx, SC_FLOAT64, 0, 1, 0)), 0);
  cr_expect_eq(sc_expr_dtype(sc_linspace(cx, SC_INT32, 0, 10, 3)), SC_INT32);
}

static void shape_is(sc_expr e, int rank, int64_t a, int64_t b) {
  cr_expect_eq(sc_expr_rank(e), rank);
  if (rank > 0) cr_expect_eq(sc_expr_shape(e)[0], a);
  if (rank > 1) cr_expect_eq(sc_expr_shape(e)[1], b);
}

Test(builders, matrices) {
  sc_expr m = sc_const(cx, SC_FLOAT64, 2, (int64_t[]){2, 2}, (double[]){1, 2, 3, 4}), v = vec(2, (double[]){5, 6}),
          s = sc_scalar(cx, 7);
  cr_expect_eq(at(sc_trace(m), 0), 5);
  cr_expect(at(sc_diag(m), 0) == 1 && at(sc_diag(m), 1) == 4);
  cr_expect(at(sc_diag(v), 0) == 5 && at(sc_diag(v), 1) == 0 && at(sc_diag(v), 2) == 0 && at(sc_diag(v), 3) == 6);
  sc_expr outer = sc_outer(v, m);
  shape_is(outer, 2, 2, 4);
  cr_expect_eq(at(outer, 7), 24);
  sc_expr cross = sc_cross(vec(3, (double[]){1, 2, 3}), vec(3, (double[]){-4, 5, 7}));
  cr_expect(at(cross, 0) == -1 && at(cross, 1) == -19 && at(cross, 2) == 13);
  sc_expr kron = sc_kron(m, m);
  shape_is(kron, 2, 4, 4);
  for (int64_t i = 0; i < 4; i++)
    for (int64_t j = 0; j < 4; j++)
      cr_expect_eq(at(kron, 4 * i + j), at(m, 2 * (i / 2) + j / 2) * at(m, 2 * (i % 2) + j % 2));
  shape_is(sc_kron(v, m), 2, 2, 4);
  shape_is(sc_kron(s, m), 2, 2, 2);
  shape_is(sc_horzcat((sc_expr[]){v, m, v}, 3), 2, 2, 4);
  shape_is(sc_horzcat((sc_expr[]){s, s}, 2), 2, 1, 2);
  shape_is(sc_vertcat((sc_expr[]){s, v, s}, 3), 1, 4, 0);
  shape_is(sc_vertcat((sc_expr[]){m, m}, 2), 2, 4, 2);
  sc_expr column = sc_vertcat((sc_expr[]){sc_reshape(v, 2, (int64_t[]){2, 1}), s}, 2);
  shape_is(column, 2, 3, 1);
  sc_expr tiles = sc_repmat(m, 2, 3);
  shape_is(tiles, 2, 4, 6);
  shape_is(sc_repmat(v, 3, 2), 2, 6, 2);
  shape_is(sc_repmat(m, 0, 3), 2, 0, 6);
  sc_expr eye = sc_eye(cx, SC_BOOL, 3);
  cr_expect_eq(sc_expr_dtype(eye), SC_BOOL);
  cr_expect_eq(((const uint8_t *)sc_expr_const_data(eye))[4], 1);
  shape_is(sc_eye(cx, SC_FLOAT64, 0), 2, 0, 0);
  shape_is(sc_eye(cx, SC_FLOAT64, 1), 2, 1, 1);
  cr_expect_str_eq(sc_expr_op(sc_eye(cx, SC_FLOAT64, 1000)), "scatter");
  cr_expect_eq(at(sc_dot(m, m), 0), 30);
  cr_expect_eq(at(sc_sumsqr(v), 0), 61);
}

Test(builders, numbers) {
  cr_expect_eq(*(const int64_t *)sc_expr_const_data(sc_integer(cx, SC_INT64, INT64_MAX)), INT64_MAX);
  cr_expect_eq(*(const int32_t *)sc_expr_const_data(sc_integer(cx, SC_INT32, INT64_C(1) << 32 | 5)), 5);
  cr_expect_eq(*(const int32_t *)sc_expr_const_data(sc_number(cx, SC_INT32, 1e10)), INT32_MAX);
  cr_expect_eq(*(const int64_t *)sc_expr_const_data(sc_number(cx, SC_INT64, NAN)), 0);
  cr_expect_eq(*(const uint8_t *)sc_expr_const_data(sc_number(cx, SC_BOOL, 0.5)), 1);
  cr_expect_eq(*(const float *)sc_expr_const_data(sc_like(sc_number(cx, SC_FLOAT32, 0), 0.1)), 0.1f);
}

Test(builders, reading_back) {
  int64_t shape[] = {2, 3};
  sc_expr x = sc_input(cx, "x", SC_FLOAT32, 2, shape), n = sc_input_nodiff(cx, "n", SC_FLOAT32, 2, shape),
          y = sc_mul(x, n);
  const int64_t *kept = sc_expr_shape(y);
  for (int64_t i = 1; i < 200; i++) sc_input(cx, "many", SC_FLOAT64, 1, &i); /* the types' table grows */
  cr_expect(kept[0] == 2 && kept[1] == 3 && kept == sc_expr_shape(y), "shapes stay where they are");
  cr_expect_str_eq(sc_expr_op(y), "mul");
  cr_expect_eq(sc_expr_arg_count(y), 2);
  cr_expect(sc_same(sc_expr_arg(y, 0), x) && sc_same(sc_expr_arg(y, 1), n) && sc_is_null(sc_expr_arg(y, 2)));
  cr_expect(sc_expr_dtype(y) == SC_FLOAT32 && sc_expr_size(y) == 6 && sc_expr_diff(y) && !sc_expr_diff(n));
  cr_expect_str_eq(sc_expr_name(x), "x");
  cr_expect(sc_expr_name(y) == NULL && sc_expr_const_data(y) == NULL);
  cr_expect(!sc_expr_diff(sc_input(cx, "i", SC_INT64, 0, NULL)));
  sc_expr flat = sc_vec(y);
  int32_t ptr[] = {0, 2, 6}, ind[] = {0, 2, 0, 1, 2, 3};
  sc_pattern p = {SC_CSR, 2, 4, 6, ptr, ind};
  sc_function *f =
      sc_function_create(cx, "f", SC_IN({"x", x, NULL}, {"n", n, NULL}), SC_OUT({"y", y, NULL}, {"j", flat, &p}));
  ptr[1] = ind[1] = 77; /* the function has its own */
  cr_assert(f != NULL);
  cr_expect_str_eq(sc_function_name(f), "f");
  cr_expect(sc_function_context(f) == cx && sc_function_input_count(f) == 2 && sc_function_output_count(f) == 2);
  cr_expect_str_eq(sc_function_input_name(f, 1), "n");
  cr_expect_str_eq(sc_function_output_name(f, 1), "j");
  cr_expect(sc_function_input_name(f, 2) == NULL && sc_same(sc_function_input(f, 0), x) &&
            sc_same(sc_function_output(f, 1), flat));
  cr_expect(sc_function_output_pattern(f, 0) == NULL && sc_function_output_pattern(f, 1)->outer[1] == 2 &&
            sc_function_output_pattern(f, 1)->inner[1] == 2);
  cr_expect_eq(sc_function_hint(f), SC_HINT_AUTO);
  sc_function_set_hint(f, SC_HINT_SCALAR);
  cr_expect_eq(sc_function_hint(f), SC_HINT_SCALAR);
  sc_function *g = sc_function_create(
      cx, "g", SC_IN({"x", x, NULL}),
      SC_OUT({"y", sc_sin(sc_with_hint(sc_with_hint(sc_cos(x), SC_HINT_SCALAR), SC_HINT_BLOCK)), NULL}));
  sc_function_set_hint(g, SC_HINT_SCALAR);
  cr_expect_eq(sc_function_hint(g), SC_HINT_BLOCK, "block on a node wins");
  sc_function_set_strict_nan(f, true);
  cr_expect(sc_function_strict_nan(f) && !sc_function_strict_nan(g));
  sc_expr sparse = sc_call(f, (sc_expr[]){x, n}, 2, 1);
  cr_expect(sc_expr_rank(sparse) == 1 && sc_expr_size(sparse) == 6, "a sparse output's value is its stored elements");
}

/* A node built anew on its own operands is the same node, for every operation and also under a hint. */
Test(builders, remaking) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 2, (int64_t[]){3, 4}),
          y = sc_input(cx, "y", SC_FLOAT64, 2, (int64_t[]){3, 4}), v = sc_vec(x);
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"z", sc_sin(x), NULL}));
  int64_t idx[] = {3, 1, 2};
  sc_expr three = sc_gather(v, idx, 1, (int64_t[]){3}),
          all[] = {x,
                   sc_scalar(cx, 2),
                   sc_linspace(cx, SC_FLOAT64, 0, 1, 5),
                   sc_sin(x),
                   sc_add(x, y),
                   sc_lt(x, y),
                   sc_select(sc_lt(x, y), x, y),
                   sc_cast(x, SC_INT32),
                   sc_stop_gradient(x),
                   sc_sum(x),
                   sc_max_axes(x, 1, (int[]){1}),
                   sc_min(x),
                   v,
                   sc_transpose(x),
                   sc_slice(x, 2, (sc_range[]){SC_AT(1), {3, 0, -2}}),
                   sc_broadcast(x, 3, (int64_t[]){2, 3, 4}),
                   three,
                   sc_scatter(three, idx, 2, (int64_t[]){2, 2}),
                   sc_index_add(x, three, idx),
                   sc_index_set(x, three, idx),
                   sc_stack((sc_expr[]){x, y, x, y}, 4, 1),
                   sc_concat((sc_expr[]){x, y}, 2, 0),
                   sc_matmul(x, sc_transpose(y)),
                   sc_call(f, &x, 1, 0),
                   sc_vmap_windows(f, 1, &v, 1, (int64_t[]){0}, (int64_t[]){5}, 0)};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    cr_assert(!sc_is_null(all[i]), "%zu: %s", i, sc_context_error(cx) ? sc_context_error(cx)->message : "");
    for (volatile int hint = 0; hint < 3; hint++) {
      sc_expr e = strcmp(sc_expr_op(all[i]), "input") ? sc_with_hint(all[i], (sc_hint)hint) : all[i];
      sci_frame fr;
      if (!SCI_TRY(&cx->env, &fr)) cr_assert_fail("%s", sc_context_error(cx)->message);
      sci_id args[4];
      for (uint32_t k = 0; k < sc_expr_arg_count(e); k++) args[k] = sci_arg(cx, e.id, k);
      cr_expect_eq(sci_remake(cx, e.id, args), e.id, "%s", sc_expr_op(e));
      sci_leave(&cx->env, &fr);
    }
  }
}
