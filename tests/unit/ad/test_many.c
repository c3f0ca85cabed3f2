/* Owns the test of several directions carried at once: the same derivatives as one at a time, however the paths from a
 * seed to a value join and part, with every factor computed once; and edges where a factor leaves the finite numbers.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/ad/ways.h"

enum { N = 4 };

/* Functions of u (N elements, all of them functions of all inputs). */
static sc_expr paths(sc_expr u) { /* two paths from one seed join, one of them negated, then cancel in part */
  sc_expr s = sc_sin(u), t = sc_sub(sc_mul(s, sc_like(u, 3)), sc_mul(s, s));
  return sc_add(sc_mul(t, sc_exp(sc_neg(s))), sc_sub(sc_add(s, s), sc_mul(t, sc_cos(t))));
}
static sc_expr quotients(sc_expr u) {
  sc_expr d = sc_add(sc_mul(u, u), sc_like(u, 1));
  return sc_sub(sc_div(u, d), sc_add(sc_div(sc_sin(u), d), sc_div(sc_like(u, 2), sc_sqrt(d))));
}
static sc_expr wide_sum(sc_expr u) { /* more terms than a combination holds, over values used once and twice */
  sc_expr at[N], sum = sc_mul(sc_at(u, 0), sc_at(u, 1));
  for (int i = 0; i < N; i++) at[i] = sc_tanh(sc_at(u, i));
  for (int i = 0; i < N; i++)
    for (int j = i + 1; j < N; j++) sum = sc_sub(sc_mul(at[i], at[j]), sc_mul(sum, sc_like(sum, 0.5)));
  return sc_mul(sc_stack((sc_expr[]){sum, at[0], sc_neg(sum), at[3]}, N, 0), u);
}
static sc_expr norms(sc_expr u) {
  return sc_mul(sc_div(u, sc_broadcast(sc_norm_2(u), 1, (int64_t[]){N})), sc_log1p(sc_mul(u, u)));
}
static sc_expr moved(sc_expr u) { /* factors go through shapes with their seeds */
  sc_expr s = sc_exp(sc_mul(u, u)), m = sc_transpose(sc_reshape(s, 2, (int64_t[]){2, 2}));
  sc_expr back = sc_slice(sc_reshape(m, 1, (int64_t[]){N}), 1, &(sc_range){SC_NONE, SC_NONE, -1});
  return sc_mul(sc_add(back, sc_broadcast(sc_at(s, 1), 1, (int64_t[]){N})), sc_cbrt(sc_add(u, sc_like(u, 5))));
}
static sc_expr chosen(sc_expr u) {
  sc_expr root = sc_sqrt(sc_mul(u, sc_like(u, 2)));
  sc_expr one = sc_select(sc_gt(u, sc_like(u, 0)), sc_mul(root, sc_exp(u)), sc_like(u, 0));
  return sc_add(one, sc_select(sc_gt(u, sc_like(u, 0.5)), u, sc_maximum(sc_mul(u, u), sc_sin(u))));
}
static const struct {
  const char *name;
  sc_expr (*of)(sc_expr u);
  int divisions; /* in the sparse Jacobian with the value; -1: not counted */
} cases[] = {{"paths", paths, 0}, {"quotients", quotients, 5}, {"wide sum", wide_sum, 0},
             {"norms", norms, 4}, {"moved", moved, 1},         {"chosen", chosen, 1}};

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)); at++) n++;
  return n;
}

/* y = f(M x), with M dense: N columns at once. */
static sc_function *function_of(sc_context *cx, int which) {
  double m[N * N];
  for (int i = 0; i < N * N; i++) m[i] = 0.125 * (double)((i * 7 + 3) % 11) - 0.5;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){N});
  sc_expr u = sc_matmul(sc_const(cx, SC_FLOAT64, 2, (int64_t[]){N, N}, m), x);
  sc_expr y = cases[which].of(u);
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}),
                            SC_OUT({"y", y, NULL}, {"s", sc_sum(sc_mul(y, sc_sin(y))), NULL}));
}

static void check(int which, int way) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = function_of(cx, which);
  cr_assert(f, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
  sc_function *many = way_derive(f, (const char *const[]){"y", "jac:y:x", "hess:s:x"}, 3, NULL);
  sc_function *gradient = way_derive(f, (const char *const[]){"grad:s:x"}, 1, NULL);
  sc_function *one = way_derive(f, (const char *const[]){"fwd:y:x"}, 1, NULL);
  sc_function *two = way_derive(gradient, (const char *const[]){"fwd:grad_s_x:x"}, 1, NULL);
  if (cases[which].divisions >= 0) {
    char *text = sc_print_function(way_derive(f, (const char *const[]){"y", "jac:y:x"}, 2, NULL));
    cr_expect_eq(count(text, "expr.div("), cases[which].divisions, "%s: %d divisions", cases[which].name,
                 count(text, "expr.div("));
    sc_string_free(cx, text);
  }
  double in[2 * N] = {0.7, 0.9, -0.3, 0.4}, out[N + 2 * N * N], column[N];
  bool ran = way_run(many, way, in, out);
  for (int j = 0; ran && j < N; j++) {
    for (int i = 0; i < N; i++) in[N + i] = i == j;
    for (int order = 1; order <= 2; order++) {
      cr_assert(way_run(order == 1 ? one : two, 0, in, column));
      for (int i = 0; i < N; i++) {
        double v = out[N + (order == 2 ? N * N : 0) + i * N + j];
        cr_expect(fabs(v - column[i]) <= 1e-13 * (10 + fabs(column[i])),
                  "%s, %s, order %d: entry %d, %d is %.17g, not %.17g", cases[which].name, way_names[way], order, i, j,
                  v, column[i]);
      }
    }
  }
  sc_context_destroy(cx);
}

Test(many_directions, agree_with_one_at_a_time) {
  for (int which = 0; which < (int)(sizeof cases / sizeof *cases); which++)
    for (int way = 0; way < (which == 1 ? N_WAYS : 2); way++) check(which, way);
}

/* The same backwards: y = C f(M x) with more inputs than outputs, against adjoint products of one seed each. */
static void check_rows(int which, int way) {
  enum { WIDE = 3 * N, ROWS = 3 };
  sc_context *cx = sc_context_create(NULL);
  double m[N * WIDE], c[ROWS * N];
  for (int i = 0; i < N * WIDE; i++) m[i] = 0.125 * (double)((i * 7 + 3) % 11) - 0.5;
  for (int i = 0; i < ROWS * N; i++) c[i] = (double)((i * 5 + 1) % 7) - 2;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){WIDE});
  sc_expr u = sc_matmul(sc_const(cx, SC_FLOAT64, 2, (int64_t[]){N, WIDE}, m), x);
  sc_expr y = sc_matmul(sc_const(cx, SC_FLOAT64, 2, (int64_t[]){ROWS, N}, c), cases[which].of(u));
  sc_function *f = sc_function_create(cx, "t", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  sc_function *many = way_derive(f, (const char *const[]){"jac:y:x"}, 1, NULL);
  sc_function *one = way_derive(f, (const char *const[]){"adj:y:x"}, 1, NULL);
  sc_matrix_report report;
  cr_assert_eq(sc_function_matrices(many, &report, 1), 1);
  cr_expect_eq(report.method, SC_COLORING_ROW, "%s", cases[which].name);
  double in[WIDE + ROWS], out[ROWS * WIDE], row[WIDE];
  for (int i = 0; i < WIDE; i++) in[i] = 0.1 * (double)(i % 5) + 0.05;
  bool ran = way_run(many, way, in, out);
  for (int i = 0; ran && i < ROWS; i++) {
    for (int j = 0; j < ROWS; j++) in[WIDE + j] = i == j;
    cr_assert(way_run(one, 0, in, row));
    for (int j = 0; j < WIDE; j++)
      cr_expect(fabs(out[i * WIDE + j] - row[j]) <= 1e-13 * (10 + fabs(row[j])),
                "%s, %s: entry %d, %d is %.17g, not %.17g", cases[which].name, way_names[way], i, j, out[i * WIDE + j],
                row[j]);
  }
  sc_context_destroy(cx);
}

Test(many_directions, rows_agree_with_one_at_a_time) {
  for (int which = 0; which < (int)(sizeof cases / sizeof *cases); which++)
    for (int way = 0; way < (which == 3 ? N_WAYS : 2); way++) check_rows(which, way);
}

/* Where a branch is not taken, neither its factors nor what they multiply matter, be they infinite or NaN. */
Test(many_directions, factors_not_taken) {
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){2}), zero = sc_like(x, 0);
  double m[] = {1, 0, 0, 1};
  sc_expr u = sc_matmul(sc_const(cx, SC_FLOAT64, 2, (int64_t[]){2, 2}, m), x), positive = sc_gt(u, zero);
  sc_expr y[] = {sc_select(positive, sc_mul(sc_sqrt(u), sc_like(u, 3)), zero), /* infinite base */
                 sc_select(positive, sc_div(sc_exp(u), u), zero),              /* infinite factors, merged */
                 sc_select(positive, sc_mul(sc_log(u), sc_log(u)), zero),      /* NaN factor */
                 sc_div(u, sc_add(sc_broadcast(sc_norm_2(u), 1, (int64_t[]){2}), sc_like(u, 1)))}; /* the root of 0 */
  sc_function *f = sc_function_create(cx, "t", SC_IN({"x", x, NULL}), SC_OUT({"y", sc_concat(y, 4, 0), NULL}));
  sc_function *g = way_derive(f, (const char *const[]){"jac:y:x"}, 1, NULL);
  double in[] = {0, -0.0}, out[16];
  for (int way = 0; way < N_WAYS; way++) {
    if (!way_run(g, way, in, out)) continue;
    for (int i = 0; i < 16; i++)
      cr_expect_eq(out[i], i == 12 || i == 15, "%s: value %d is %g", way_names[way], i, out[i]);
  }
  sc_context_destroy(cx);
}

/* A divisor of any size that has a reciprocal, infinity included. */
Test(many_directions, divisors) {
  static const double divisor[] = {1e-300, -0x1p-1023, 1e300, 0x1.fffffffffffffp1023, INFINITY, 3, -0.1};
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){2});
  sc_expr d = sc_input(cx, "d", SC_FLOAT64, 0, NULL), two = sc_broadcast(d, 1, (int64_t[]){2});
  double m[] = {1e-290, 2, 1e-30, -1};
  sc_expr u = sc_matmul(sc_const(cx, SC_FLOAT64, 2, (int64_t[]){2, 2}, m), x);
  sc_function *f = sc_function_create(cx, "t", SC_IN({"x", x, NULL}, {"d", d, NULL}),
                                      SC_OUT({"y", sc_div(sc_select(sc_gt(d, sc_like(d, 9)), u, u), two), NULL}));
  sc_function *g = way_derive(f, (const char *const[]){"jac:y:x"}, 1, NULL);
  for (size_t k = 0; k < sizeof divisor / sizeof *divisor; k++) {
    double in[] = {1, 1, divisor[k]}, out[4];
    for (int way = 0; way < N_WAYS; way++) {
      if (!way_run(g, way, in, out)) continue;
      for (int i = 0; i < 4; i++) {
        double want = m[i] / divisor[k];
        cr_expect(out[i] == want || fabs(out[i] - want) <= 0x1p-50 * fabs(want) + 0x1p-1074,
                  "%s: %g / %g is %.17g, not %.17g", way_names[way], m[i], divisor[k], out[i], want);
      }
    }
  }
  sc_context_destroy(cx);
}
