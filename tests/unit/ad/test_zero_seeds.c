/* Owns the test that an infinite slope stays where it belongs when several directions are carried at once: in calls
 * and maps too, forward and reverse. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/ad/ways.h"

enum { DIRECT, CALLED, MAPPED, N_USES };

static sc_expr asin_of(sc_expr u) {
  return sc_asin(sc_add(u, sc_like(u, 1)));
}
static sc_expr acos_of(sc_expr u) {
  return sc_acos(sc_add(u, sc_like(u, 1)));
}
static sc_expr acosh_of(sc_expr u) {
  return sc_acosh(sc_add(u, sc_like(u, 1)));
}
static sc_expr power_of(sc_expr u) { /* a computed exponent stays a power */
  return sc_pow(u, sc_mul(sc_cos(u), sc_like(u, 0.75)));
}

/* Finite at 0 with an infinite slope there. */
static const struct {
  const char *name;
  sc_expr (*of)(sc_expr u);
  double slope; /* at 0: its sign times infinity */
} steep[] = {{"sqrt", sc_sqrt, INFINITY}, {"cbrt", sc_cbrt, INFINITY},  {"pow", power_of, INFINITY},
             {"asin", asin_of, INFINITY}, {"acos", acos_of, -INFINITY}, {"acosh", acosh_of, INFINITY}};

/* The steep function of every element of u, which is computed so that nothing is taken apart by structure. */
static sc_expr apply(sc_context *cx, int which, int how, sc_expr u) {
  if (how == DIRECT) return steep[which].of(u);
  int64_t n = sc_expr_size(u), one = 1;
  sc_expr w = sc_input(cx, "w", SC_FLOAT64, 1, how == CALLED ? &n : &one);
  sc_function *g = sc_function_create(cx, "g", SC_IN({"w", w, NULL}), SC_OUT({"r", steep[which].of(w), NULL}));
  return how == CALLED ? sc_call(g, &u, 1, 0) : sc_vmap_windows(g, n, &u, 1, (int64_t[]){0}, (int64_t[]){1}, 0);
}

static double weight(int64_t i, int64_t j) {
  return 1 + (double)((i * 5 + j * 3) % 7);
}

/* y = C s(u), u = expm1(x): as many columns as rows, or (wide) z squared with z = C x + s(u) at the first two. */
static sc_function *function_of(sc_context *cx, int which, int how, bool wide) {
  int64_t n = wide ? 8 : 3, m = wide ? 2 : 3;
  double c[16];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) c[i * n + j] = weight(i, j);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &n), matrix = sc_const(cx, SC_FLOAT64, 2, (int64_t[]){m, n}, c), y;
  sc_expr s = apply(cx, which, how, sc_expm1(wide ? sc_span(x, 0, 2) : x));
  if (wide) {
    sc_expr z = sc_add(sc_matmul(matrix, x), s);
    y = sc_mul(z, z);
  } else {
    y = sc_matmul(matrix, s);
  }
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
}

/* At x = 0 everywhere else than in entry `at`: the column of every other element is infinite, that of `at` is not. */
static void check(int which, int how, bool wide, int way) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = function_of(cx, which, how, wide);
  cr_assert(f, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
  sc_function *g = way_derive(f, (const char *const[]){"y", "spjac:y:x"}, 2, NULL);
  sc_matrix_report report[4];
  size_t n_reports = sc_function_matrices(g, report, 4);
  cr_expect_eq(report[n_reports - 1].method, wide ? SC_COLORING_ROW : SC_COLORING_COLUMN);
  double in[8] = {0}, out[32] = {0};
  double at = which == 4 ? -0.25 : 0.25; /* inside the domain */
  if (which == 3) at = -0.25;
  in[1] = at;
  for (int k = 2; wide && k < 8; k++) in[k] = 0.5;
  if (!way_run(g, way, in, out)) {
    sc_context_destroy(cx);
    return;
  }
  int64_t n = wide ? 8 : 3, m = wide ? 2 : 3;
  const sc_pattern *p = sc_function_output_pattern(g, 1);
  for (int64_t j = 0; j < n; j++)
    for (int32_t k = p->outer[j]; k < p->outer[j + 1]; k++) {
      int64_t i = p->inner[k];
      double v = out[m + k];
      bool steep_here = wide ? i == 0 && j == 0 : j != 1;
      if (steep_here)
        cr_expect_eq(v, steep[which].slope, "%s, use %d, wide %d, %s: entry %d, %d is %g", steep[which].name, how, wide,
                     way_names[way], (int)i, (int)j, v);
      else
        cr_expect(isfinite(v) && v != 0, "%s, use %d, wide %d, %s: entry %d, %d is %g", steep[which].name, how, wide,
                  way_names[way], (int)i, (int)j, v);
      if (wide && !steep_here && j != 1)
        cr_expect(fabs(v - 2 * sqrt(out[i]) * weight(i, j)) < 1e-12 * fabs(v), "%s: entry %d, %d is %g",
                  steep[which].name, (int)i, (int)j, v);
    }
  sc_context_destroy(cx);
}

Test(zero_seeds, infinite_slopes_stay_where_they_belong) {
  for (int which = 0; which < (int)(sizeof steep / sizeof *steep); which++)
    for (int how = 0; how < N_USES; how++)
      for (int wide = 0; wide < 2; wide++)
        for (int way = 0; way < (which == how ? N_WAYS : 1); way++) check(which, how, wide, way);
}
