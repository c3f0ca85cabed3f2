/* Owns the tests of derivatives element by element: the same values as the tensors' own derivatives give, every entry
 * found that way where it can be, and the other way where it cannot. */
#include <criterion/criterion.h>
#include <math.h>

#include "tests/unit/ad/ways.h"

enum { N = 4 };

typedef struct scene {
  sc_context *cx;
  sc_expr x, p; /* N variables, and N numbers that nothing is differentiated by */
} scene;

static sc_expr smooth(scene *s) {
  sc_expr a = sc_mul(sc_sin(s->x), sc_exp(sc_mul(s->p, s->x))), b = sc_tanh(sc_sub(a, s->x));
  return sc_div(sc_add(a, sc_log1p(sc_mul(b, b))), sc_add(sc_mul(s->x, a), sc_like(a, 3)));
}
static sc_expr squares(scene *s) { /* one operand twice, sums that cancel, the same value times two scales */
  sc_expr a = sc_mul(s->x, s->x), b = sc_sub(sc_mul(a, s->p), sc_mul(sc_like(a, 0.5), a));
  return sc_add(sc_mul(b, a), sc_sub(sc_sum(sc_mul(a, b)), a));
}
static sc_expr moved(scene *s) {
  int64_t pick[] = {3, 0, 0, 2, 1, 3}, to[] = {0, 2, 2, 1, 3, 0};
  sc_expr six = sc_sin(sc_gather(s->x, pick, 1, (int64_t[]){6}));
  sc_expr m = sc_transpose(sc_reshape(six, 2, (int64_t[]){2, 3}));
  sc_expr back = sc_slice(sc_reshape(m, 1, (int64_t[]){6}), 1, &(sc_range){SC_NONE, SC_NONE, -1});
  sc_expr added = sc_index_add(sc_mul(s->x, s->p), sc_mul(back, six), to);
  sc_expr set = sc_index_set(added, sc_cos(sc_slice(six, 1, &(sc_range){0, 2, 1})), (int64_t[]){1, 3});
  sc_expr spread = sc_scatter(sc_slice(set, 1, &(sc_range){0, 3, 1}), (int64_t[]){2, 2, 0}, 1, (int64_t[]){N});
  sc_expr joined =
      sc_concat((sc_expr[]){sc_slice(spread, 1, &(sc_range){1, 3, 1}), sc_slice(set, 1, &(sc_range){2, 4, 1})}, 2, 0);
  return sc_mul(joined, sc_exp(set));
}
static sc_expr products(scene *s) {
  sc_expr m = sc_reshape(sc_sin(s->x), 2, (int64_t[]){2, 2}), q = sc_reshape(s->p, 2, (int64_t[]){2, 2});
  sc_expr r = sc_matmul(sc_matmul(m, q), m), v = sc_matmul(r, sc_slice(s->x, 1, &(sc_range){0, 2, 1}));
  return sc_mul(sc_reshape(r, 1, (int64_t[]){N}), sc_broadcast(sc_sum(v), 1, (int64_t[]){N}));
}
static sc_expr norms(scene *s) {
  sc_expr n = sc_norm_2(sc_sub(s->x, s->p));
  return sc_div(sc_mul(s->x, s->x), sc_broadcast(sc_add(n, sc_like(n, 0.25)), 1, (int64_t[]){N}));
}
static sc_function *pair_of(scene *s) { /* of a pair and a number: the number is not differentiated by */
  sc_expr w = sc_input(s->cx, "w", SC_FLOAT64, 1, (int64_t[]){2}), k = sc_input_nodiff(s->cx, "k", SC_FLOAT64, 0, NULL);
  sc_expr a = sc_at(w, 0), b = sc_at(w, 1);
  sc_expr r = sc_mul(sc_sin(sc_mul(a, b)), sc_add(k, sc_stop_gradient(a)));
  return sc_function_create(s->cx, "pair", SC_IN({"w", w}, {"k", k}), SC_OUT({"r", r}, {"t", sc_mul(sc_sub(a, k), b)}));
}
static sc_expr called(scene *s) {
  sc_function *g = pair_of(s);
  sc_expr r = sc_vmap_windows(g, 3, (sc_expr[]){s->x, s->x}, 2, (int64_t[]){0, 3}, (int64_t[]){1, -1}, 0);
  sc_expr t = sc_call(g, (sc_expr[]){sc_slice(r, 1, &(sc_range){1, 3, 1}), sc_at(s->x, 0)}, 2, 1);
  return sc_mul(sc_concat((sc_expr[]){r, sc_reshape(t, 1, (int64_t[]){1})}, 2, 0), sc_add(s->x, s->p));
}
static sc_expr chosen(scene *s) { /* a choice is no factor */
  return sc_mul(sc_select(sc_gt(s->x, s->p), sc_mul(s->x, sc_at(s->x, 1)), sc_sin(s->x)), sc_exp(s->x));
}
static sc_expr steep(scene *s) { /* infinite slopes are left to the sweeps, which keep them from zeros */
  sc_expr u = sc_mul(s->x, sc_at(s->x, 0));
  return sc_mul(sc_sqrt(sc_add(sc_mul(u, u), sc_like(u, 0.5))), sc_at(u, 2));
}
static sc_expr extreme(scene *s) {
  return sc_mul(sc_broadcast(sc_max(sc_mul(s->x, s->p)), 1, (int64_t[]){N}), sc_sin(sc_mul(s->x, sc_at(s->x, 3))));
}
static sc_expr jumps(scene *s) { /* 49 / 49 is 1, and 49 * (1 / 49) is less */
  sc_expr a = sc_mul(sc_like(s->x, 24.5), sc_at(s->p, 3)),
          b = sc_sub(sc_mul(sc_like(s->x, 98), sc_at(s->p, 3)), sc_like(a, 147));
  sc_expr q = sc_div(a, b), one = sc_like(a, 1);
  sc_expr chosen = sc_select(sc_ge(q, one), sc_like(a, 2), sc_like(a, 5));
  sc_expr kept = sc_add(sc_add(sc_floor(q), chosen), sc_add(sc_fmod(q, one), sc_acos(q)));
  return sc_mul(sc_mul(s->x, sc_at(s->x, 0)), kept);
}
static sc_expr far_apart(scene *s) { /* the ratio of the coefficients is no number */
  sc_expr a = sc_sin(sc_mul(s->x, sc_at(s->x, 0))), b = sc_sin(sc_mul(s->x, sc_at(s->x, 1)));
  return sc_add(sc_mul(sc_like(a, 0x1p-1022), a), sc_mul(sc_like(a, 4), b));
}
static const struct {
  const char *name;
  sc_expr (*of)(scene *s);
  bool eliminated;
} cases[] = {{"smooth", smooth, true},     {"squares", squares, true},     {"moved", moved, true},
             {"products", products, true}, {"norms", norms, true},         {"called", called, true},
             {"jumps", jumps, true},       {"far_apart", far_apart, true}, {"chosen", chosen, false},
             {"steep", steep, false},      {"extreme", extreme, false}};

/* y = of(u), u = (x + sin(C x)) / 2: every element depends on every variable. */
static sc_function *function_of(sc_context *cx, int which, sc_hint hint) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){N}), p = sc_input(cx, "p", SC_FLOAT64, 1, (int64_t[]){N});
  double c[N * N];
  for (int i = 0; i < N * N; i++) c[i] = 0.125 * (double)((i * 7 + 3) % 11) - 0.5;
  sc_expr u = sc_add(x, sc_sin(sc_matmul(sc_const(cx, SC_FLOAT64, 2, (int64_t[]){N, N}, c), x)));
  scene s = {cx, sc_mul(u, sc_like(u, 0.5)), p};
  sc_expr y = cases[which].of(&s);
  sc_function *f = sc_function_create(cx, "t", SC_IN({"x", x, NULL}, {"p", p, NULL}),
                                      SC_OUT({"y", y, NULL}, {"s", sc_sum(sc_mul(y, sc_sin(y))), NULL}));
  cr_assert(f, "%s: %s", cases[which].name, sc_context_error(cx) ? sc_context_error(cx)->message : "");
  sc_function_set_hint(f, hint);
  return f;
}

enum { VALUES = N + 2 * N * N };

static bool values_of(sc_context *cx, int which, sc_hint hint, int way, const double *in, double *out,
                      bool *eliminated) {
  sc_function *g = way_derive(function_of(cx, which, hint), (const char *const[]){"y", "jac:y:x", "hess:s:x"}, 3, NULL);
  sc_matrix_report reports[2];
  cr_assert_eq(sc_function_matrices(g, reports, 2), 2);
  *eliminated = reports[0].eliminated == N * N && reports[1].eliminated > 0;
  cr_expect(*eliminated || (!reports[0].eliminated && !reports[1].eliminated), "%s", cases[which].name);
  return way_run(g, way, in, out);
}

static bool same(double a, double b) {
  return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-13 * (10 + fabs(b));
}

Test(scalars, agree_with_tensors) {
  static const double in[] = {0.7, 0.9, -0.3, 0.4, 1.25, -0.5, 0.75, 2};
  for (int which = 0; which < (int)(sizeof cases / sizeof *cases); which++)
    for (int way = 0; way < 2; way++) {
      sc_context *cx = sc_context_create(NULL);
      double tensors[VALUES], scalars[VALUES];
      bool eliminated;
      cr_assert(values_of(cx, which, SC_HINT_AUTO, 0, in, tensors, &eliminated));
      cr_expect(!eliminated, "%s", cases[which].name);
      bool ran = values_of(cx, which, SC_HINT_SCALAR, way, in, scalars, &eliminated);
      cr_expect_eq(eliminated, cases[which].eliminated, "%s", cases[which].name);
      for (int i = 0; ran && i < VALUES; i++)
        cr_expect(same(scalars[i], tensors[i]), "%s, %s: value %d is %.17g, not %.17g", cases[which].name,
                  way_names[way], i, scalars[i], tensors[i]);
      sc_context_destroy(cx);
    }
}

/* What is mapped and small goes element by element without being asked, what asks for blocks never does. */
Test(scalars, stages) {
  static const struct {
    sc_hint hint;
    int64_t eliminated;
  } stages[] = {{SC_HINT_AUTO, 4}, {SC_HINT_SCALAR, 4}, {SC_HINT_BLOCK, 0}};
  for (int k = 0; k < 3; k++) {
    sc_context *cx = sc_context_create(NULL);
    sc_expr w = sc_input(cx, "w", SC_FLOAT64, 1, (int64_t[]){2}), z = sc_input(cx, "z", SC_FLOAT64, 1, (int64_t[]){9});
    sc_expr a = sc_sum(sc_mul(w, sc_sin(w)));
    sc_expr r = sc_stack((sc_expr[]){sc_sin(a), sc_mul(a, sc_exp(a))}, 2, 0);
    sc_function *stage = sc_function_create(cx, "stage", SC_IN({"w", w, NULL}), SC_OUT({"r", r, NULL}));
    sc_function_set_hint(stage, stages[k].hint);
    sc_expr y = sc_vmap_windows(stage, 8, &z, 1, (int64_t[]){0}, (int64_t[]){1}, 0);
    sc_function *f = sc_function_create(cx, "f", SC_IN({"z", z, NULL}), SC_OUT({"y", y, NULL}));
    sc_matrix_report reports[2];
    cr_assert_eq(sc_function_matrices(way_derive(f, (const char *const[]){"spjac:y:z"}, 1, NULL), reports, 2), 2);
    cr_expect_eq(reports[0].eliminated, stages[k].eliminated, "%d: %d", k, (int)reports[0].eliminated);
    sc_context_destroy(cx);
  }
}

/* The Jacobian at `in`, of which all entries are found element by element. */
static void run_eliminated(sc_function *f, const char *request, int64_t entries, const double *in, double *out) {
  sc_matrix_report report;
  sc_function *g = way_derive(f, &request, 1, NULL);
  cr_assert_eq(sc_function_matrices(g, &report, 1), 1);
  cr_expect_eq(report.eliminated, entries);
  cr_assert(way_run(g, 0, in, out));
}

/* A norm has slope 0 at 0, and curvature 0 under the root that is left out there: no entry is NaN. */
Test(scalars, norm_at_zero) {
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){3});
  sc_function *f =
      sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"n", sc_mul(sc_norm_2(x), sc_at(x, 0)), NULL}));
  sc_function_set_hint(f, SC_HINT_SCALAR);
  double out[3];
  run_eliminated(f, "jac:n:x", 3, (const double[]){0, 0, 0}, out);
  for (int i = 0; i < 3; i++) cr_expect_eq(out[i], 0, "%d: %g", i, out[i]);
  sc_context_destroy(cx);
}

/* Sums of infinite coefficients are infinite: inf * a + inf * b, not inf * (a + inf / inf * b). */
Test(scalars, infinite_coefficients) {
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){2});
  sc_expr v = sc_matmul(sc_const(cx, SC_FLOAT64, 2, (int64_t[]){2, 2}, (double[]){1, 2, 3, 4}), x);
  sc_expr a = sc_at(v, 0), b = sc_at(v, 1), inf = sc_like(a, INFINITY);
  sc_expr top = sc_add(sc_mul(inf, sc_exp(sc_mul(a, b))), sc_mul(inf, sc_exp(a)));
  sc_expr y = sc_stack((sc_expr[]){top, sc_mul(a, sc_exp(b))}, 2, 0);
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  sc_function_set_hint(f, SC_HINT_SCALAR);
  double out[4];
  run_eliminated(f, "jac:y:x", 4, (const double[]){0.5, 0.25}, out);
  for (int i = 0; i < 4; i++) cr_expect(i < 2 ? out[i] == INFINITY : isfinite(out[i]), "%d: %g", i, out[i]);
  sc_context_destroy(cx);
}
