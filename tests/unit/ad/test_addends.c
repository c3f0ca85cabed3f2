/* Owns the tests of addends of maps: where they move evenly, the mapped function adds them; elsewhere, and in any case,
 * the values are those of the dense derivative. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/ad/ways.h"

enum { LENGTH = 5, STEP = 2, N = LENGTH * STEP + 2, VALUES = N * N + 4 * N };

/* A stage of three variables, over windows that share one. */
static sc_expr staged(sc_context *cx, sc_expr x, const char *name, int64_t length) {
  sc_expr w = sc_input(cx, "w", SC_FLOAT64, 1, (int64_t[]){3});
  sc_expr r = sc_mul(sc_sin(sc_mul(sc_at(w, 0), sc_at(w, 1))), sc_exp(sc_mul(sc_at(w, 1), sc_at(w, 2))));
  sc_function *stage = sc_function_create(cx, name, SC_IN({"w", w, NULL}), SC_OUT({"r", r, NULL}));
  return sc_sum(sc_vmap_windows(stage, length, &x, 1, (int64_t[]){0}, (int64_t[]){STEP}, 0));
}

static sc_expr own(sc_context *cx, sc_expr x, int64_t length) { /* a map of windows that share nothing */
  sc_expr addend = sc_input(cx, "addend", SC_FLOAT64, 1, (int64_t[]){2});
  sc_function *cost =
      sc_function_create(cx, "cost", SC_IN({"addend", addend, NULL}), SC_OUT({"c", sc_sum(sc_exp(addend)), NULL}));
  return sc_sum(sc_vmap_windows(cost, length, &x, 1, (int64_t[]){0}, (int64_t[]){STEP}, 0));
}

static sc_expr elementwise(sc_expr x) {
  return sc_mul(sc_sum(sc_sin(sc_mul(x, sc_like(x, 2)))), sc_like(sc_at(x, 0), -2.5));
}
static sc_expr none(sc_context *cx, sc_expr x) {
  (void)cx;
  return sc_sum(sc_exp(sc_slice(x, 1, &(sc_range){N - 1, N, 1})));
}
static sc_expr moving(sc_context *cx, sc_expr x) {
  (void)cx;
  return elementwise(x);
}
static sc_expr constants(sc_context *cx, sc_expr x) {
  (void)cx;
  return sc_sum(sc_mul(x, sc_mul(x, sc_like(x, 3))));
}
static sc_expr both(sc_context *cx, sc_expr x) {
  return sc_add(moving(cx, x), constants(cx, x));
}
static sc_expr same_length(sc_context *cx, sc_expr x) {
  return own(cx, x, LENGTH);
}
static sc_expr longer(sc_context *cx, sc_expr x) {
  return sc_add(own(cx, x, LENGTH + 1), moving(cx, x));
}
static sc_expr another(sc_context *cx, sc_expr x) { /* the same places twice, one of another's */
  return sc_add(staged(cx, sc_mul(x, sc_like(x, 0.5)), "more", LENGTH), own(cx, x, LENGTH));
}
static sc_expr uneven(sc_context *cx, sc_expr x) { /* not in every iteration, and not evenly */
  (void)cx;
  int64_t pick[] = {0, 2, 6, 8}, shuffled[] = {4, 2, 0, 6, 8, 10, 1};
  sc_expr a = sc_sum(sc_exp(sc_gather(x, pick, 1, (int64_t[]){4})));
  sc_expr v = sc_gather(x, shuffled, 1, (int64_t[]){7}),
          c = sc_const(x.cx, SC_FLOAT64, 1, (int64_t[]){7}, (double[]){1, 2, 3, 4, 5, 6, 7});
  return sc_add(a, sc_sum(sc_mul(c, sc_mul(v, v))));
}

static const struct {
  const char *name;
  sc_expr (*of)(sc_context *cx, sc_expr x);
  bool added; /* by the mapped function */
} cases[] = {{"none", none, false},      {"moving", moving, true},           {"constants", constants, true},
             {"both", both, true},       {"same length", same_length, true}, {"longer", longer, true},
             {"another", another, true}, {"uneven", uneven, false}};

static sc_function *function_of(sc_context *cx, int which) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){N});
  sc_expr v = sc_add(staged(cx, x, "stage", LENGTH), cases[which].of(cx, x));
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"v", v, NULL}));
  cr_assert(f, "%s: %s", cases[which].name, sc_context_error(cx) ? sc_context_error(cx)->message : "");
  return f;
}

static void check_way(sc_context *cx, int which, int way, const double *in) {
  double dense[VALUES] = {0}, sparse[VALUES] = {0};
  way_run(way_derive(function_of(cx, which), (const char *const[]){"hess:v:x"}, 1, NULL), 0, in, dense);
  sc_function *g = way_derive(function_of(cx, which), (const char *const[]){"sphess:v:x"}, 1, NULL);
  char *text = sc_print_function(g);
  cr_expect_eq(strstr(text, "stage_sum\"") != NULL, cases[which].added, "%s: %s", cases[which].name, text);
  sc_string_free(cx, text);
  if (!way_run(g, way, in, sparse)) return;
  const sc_pattern *p = sc_function_output_pattern(g, 0);
  int at = 0;
  for (int col = 0; col < N; col++)
    for (int row = 0; row < N; row++) {
      bool stored = at < p->outer[col + 1] && p->inner[at] == row;
      double v = stored ? sparse[at] : 0, right = dense[row * N + col];
      at += stored;
      cr_expect(fabs(v - right) <= 1e-13 * (10 + fabs(right)), "%s, %s: (%d, %d) is %.17g, not %.17g",
                cases[which].name, way_names[way], row, col, v, right);
    }
}

Test(addends, agree_with_dense) {
  double in[N];
  for (int i = 0; i < N; i++) in[i] = 0.25 * ((i * 5 + 1) % 7) - 0.5;
  for (int which = 0; which < (int)(sizeof cases / sizeof *cases); which++)
    for (int way = 0; way < N_WAYS; way++) {
      sc_context *cx = sc_context_create(NULL);
      check_way(cx, which, way, in);
      sc_context_destroy(cx);
    }
}
