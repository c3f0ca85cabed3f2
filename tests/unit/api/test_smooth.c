/* Owns the tests of the composite builders' derivatives: accurate to the second order, at both ends of the range and at
 * kinks. */
#include <criterion/criterion.h>
#include <math.h>

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

TestSuite(smooth, .init = begin, .fini = end);

/* Element i of output 0 of f at the elements v of its one input, by folding; NaN where an operation is left to run
 * time. */
static double evaluate(const sc_function *f, const double *v, int64_t i) {
  sci_frame fr;
  volatile double result = NAN;
  if (!SCI_TRY(&cx->env, &fr)) cr_assert_fail("%s", sc_context_error(cx)->message);
  sci_id out = f->out[0].node, args[16];
  sci_order o = sci_reach_function(cx, f);
  sci_id *value_of = SCI_ARRAY(&cx->env.scratch, sci_id, o.n);
  for (uint32_t k = 0; k < o.n; k++) {
    const sci_node n = *sci_node_at(cx, o.ids[k]);
    const sci_type t = cx->types[n.type];
    cr_assert_leq(n.n_args, 16);
    for (uint32_t a = 0; a < n.n_args; a++) args[a] = value_of[sci_number(&o, sci_arg(cx, o.ids[k], a))];
    value_of[k] =
        n.op == SCI_X_input ? sci_make_const(cx, SC_FLOAT64, t.rank, t.shape, v) : sci_remake(cx, o.ids[k], args);
  }
  out = value_of[sci_number(&o, out)];
  sci_scalar s;
  if (sci_const_value(cx, out, &s))
    result = s.f64;
  else if (sci_node_at(cx, out)->op == SCI_X_const)
    result = sci_scalar_load(SC_FLOAT64, sci_attr(cx, out), (size_t)i).f64;
  sci_leave(&cx->env, &fr);
  return result;
}

typedef struct orders {
  const sc_function *f, *first, *second;
} orders;

static orders differentiate(sc_expr x, sc_expr y) {
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  orders r = {f, sc_gradient(f, "y", "x", NULL), sc_hessian(f, "y", "x", NULL)};
  cr_assert(r.f && r.first && r.second, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
  return r;
}

static void near(double got, long double want, long double scale, const char *what, double x) {
  cr_expect(fabsl(got - want) <= 16 * 0x1p-53L * scale + 0x1p-1074L, "%s at %g: %.17g, not %.17Lg", what, x, got, want);
}

Test(smooth, sigmoid_and_softplus) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL);
  orders sigmoid = differentiate(x, sc_sigmoid(x)), softplus = differentiate(x, sc_softplus(x));
  for (int k = -2800; k <= 2800; k++) {
    double v = k * 0.25;
    long double e = expl(-fabsl((long double)v)), one = 1, s = v < 0 ? e / (one + e) : one / (one + e),
                d = e / ((one + e) * (one + e));
    long double dd = d * (v < 0 ? one - e : e - one) / (one + e);
    near(evaluate(sigmoid.f, &v, 0), s, s, "sigmoid", v);
    near(evaluate(sigmoid.first, &v, 0), d, d, "sigmoid'", v);
    near(evaluate(sigmoid.second, &v, 0), dd, d, "sigmoid''", v);
    near(evaluate(softplus.f, &v, 0), (v > 0 ? (long double)v : 0) + log1pl(e), fmaxl(v, e), "softplus", v);
    near(evaluate(softplus.first, &v, 0), s, s, "softplus'", v);
    near(evaluate(softplus.second, &v, 0), d, d, "softplus''", v);
  }
  const double ends[] = {INFINITY, -INFINITY, 1e4, -1e4};
  for (int i = 0; i < 4; i++) {
    cr_expect_eq(evaluate(sigmoid.first, &ends[i], 0), 0);
    cr_expect_eq(evaluate(sigmoid.second, &ends[i], 0), 0);
    cr_expect_eq(evaluate(softplus.first, &ends[i], 0), i % 2 ? 0 : 1);
    cr_expect_eq(evaluate(softplus.second, &ends[i], 0), 0);
  }
}

Test(smooth, norm_2) {
  int64_t three = 3;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &three), n = sc_norm_2(x);
  orders norm = differentiate(x, n), half_square = differentiate(x, sc_mul(sc_scalar(cx, 0.5), sc_square(n)));
  const double origin[2][3] = {{0, 0, 0}, {0, -0.0, 0}}, v[] = {2, -3, 6};
  for (int64_t i = 0; i < 3; i++) {
    for (int k = 0; k < 2; k++) {
      cr_expect_eq(evaluate(norm.f, origin[k], 0), 0);
      cr_expect_eq(evaluate(norm.first, origin[k], i), 0, "the subgradient of least norm");
      cr_expect(!isnan(evaluate(norm.second, origin[k], 4 * i)));
      cr_expect_eq(evaluate(half_square.f, origin[k], 0), 0);
      cr_expect_eq(evaluate(half_square.first, origin[k], i), 0);
    }
    for (int64_t j = 0; j < 3; j++) {
      cr_expect_eq(evaluate(half_square.second, origin[0], 3 * i + j), i == j);
      near(evaluate(norm.second, v, 3 * i + j), ((i == j) - v[i] * v[j] / 49) / 7.0L, 1, "norm''", (double)(3 * i + j));
    }
    near(evaluate(norm.first, v, i), v[i] / 7.0L, 1, "norm'", v[i]);
  }
}

Test(smooth, the_rest) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL);
  orders relu = differentiate(x, sc_relu(x)), poly = differentiate(x, sc_polyval((double[]){2, -3, 0, 5}, 4, x));
  orders inverse = differentiate(x, sc_reciprocal(x)),
         clip = differentiate(x, sc_clip(x, sc_scalar(cx, -1), sc_scalar(cx, 1)));
  const double at[] = {-2, 0, 2};
  for (int i = 0; i < 3; i++) {
    double v = at[i];
    cr_expect_eq(evaluate(relu.first, &v, 0), i * 0.5, "ties share");
    cr_expect_eq(evaluate(clip.first, &v, 0), i == 1);
    cr_expect_eq(evaluate(poly.first, &v, 0), 6 * v * v - 6 * v);
    cr_expect_eq(evaluate(poly.second, &v, 0), 12 * v - 6);
    if (v != 0) cr_expect_eq(evaluate(inverse.second, &v, 0), 2 / (v * v * v));
  }
}
