/* Owns the edge cases of derivatives: small functions on which numerical compilers have gone wrong, each with its
 * neighbours, every way. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/ad/ways.h"

/* ---- the functions; every one has the output f ---- */

static sc_expr vec(sc_context *cx, const char *name, int64_t n) {
  return sc_input(cx, name, SC_FLOAT64, 1, &n);
}
static sc_expr num(sc_context *cx, const char *name) {
  return sc_input(cx, name, SC_FLOAT64, 0, NULL);
}
static sc_function *of1(sc_context *cx, sc_expr x, sc_expr f) {
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}), SC_OUT({"f", f, NULL}));
}
static sc_function *of2(sc_context *cx, sc_expr x, sc_expr y, sc_expr f) {
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}, {"y", y, NULL}), SC_OUT({"f", f, NULL}));
}

static sc_function *half_square_norm(sc_context *cx) { /* D01 */
  sc_expr x = vec(cx, "x", 3), r = vec(cx, "y", 3), n = sc_norm_2(sc_sub(x, r));
  return of2(cx, x, r, sc_mul(sc_scalar(cx, 0.5), sc_mul(n, n)));
}
static sc_function *norm(sc_context *cx) { /* D02 */
  sc_expr x = vec(cx, "x", 2);
  return of1(cx, x, sc_norm_2(x));
}
static sc_function *untaken_sqrt(sc_context *cx) { /* D03 */
  sc_expr x = num(cx, "x");
  return of1(cx, x, sc_select(sc_gt(x, sc_like(x, 0)), sc_sqrt(x), sc_like(x, 0)));
}
static sc_function *two_untaken_sqrts(sc_context *cx) { /* both uses of one root masked, by different conditions */
  sc_expr x = num(cx, "x"), zero = sc_like(x, 0), root = sc_sqrt(x);
  return of1(
      cx, x,
      sc_add(sc_select(sc_gt(x, zero), root, zero), sc_select(sc_gt(x, sc_like(x, 1)), sc_mul(root, root), zero)));
}
static sc_function *masked_division(sc_context *cx) { /* D05 */
  sc_expr a = num(cx, "x"), b = num(cx, "y");
  return of2(cx, a, b, sc_select(sc_gt(b, sc_like(b, 1)), sc_div(a, b), sc_like(a, 0)));
}
static sc_function *masked_log(sc_context *cx) {
  sc_expr x = vec(cx, "x", 3), zero = sc_like(x, 0);
  return of1(cx, x, sc_sum(sc_select(sc_gt(x, zero), sc_log(x), sc_mul(x, x))));
}
static sc_function *clamped_sqrt(sc_context *cx) { /* D07 */
  sc_expr x = num(cx, "x"), z = num(cx, "y");
  return of2(cx, x, z, sc_sqrt(sc_maximum(sc_like(x, 0), sc_sub(sc_mul(x, x), sc_mul(z, z)))));
}
static sc_function *constant_power(sc_context *cx) { /* D08 */
  sc_expr x = num(cx, "x");
  return of1(cx, x, sc_pow(x, sc_like(x, 1.875)));
}
static sc_function *power_polynomial(sc_context *cx) { /* D08 */
  sc_expr x = num(cx, "x"), sum = sc_mul(sc_like(x, 7), sc_pow(x, sc_like(x, 0)));
  sum = sc_add(sum, sc_mul(sc_like(x, 3), sc_pow(x, sc_like(x, 1))));
  return of1(cx, x, sc_add(sum, sc_mul(sc_like(x, 5), sc_pow(x, sc_like(x, 2)))));
}
static sc_function *negative_square(sc_context *cx) { /* D09 */
  sc_expr x = num(cx, "x");
  return of1(cx, x, sc_pow(sc_sub(x, sc_mul(sc_like(x, 2), x)), sc_like(x, 2)));
}
static sc_function *power(sc_context *cx) { /* D10 */
  sc_expr x = num(cx, "x"), y = num(cx, "y");
  return of2(cx, x, y, sc_pow(x, y));
}
static sc_function *absolute(sc_context *cx) { /* D11 */
  sc_expr x = num(cx, "x");
  return of1(cx, x, sc_abs(x));
}
static sc_function *least(sc_context *cx) { /* D11 */
  sc_expr x = num(cx, "x"), y = num(cx, "y");
  return of2(cx, x, y, sc_minimum(x, y));
}
static sc_function *most_of_all(sc_context *cx) {
  sc_expr x = vec(cx, "x", 4);
  return of1(cx, x, sc_max(x));
}
static sc_function *hyperbolic(sc_context *cx) { /* D12 */
  sc_expr x = num(cx, "x");
  return of1(cx, x, sc_cosh(x));
}
static sc_function *chosen(sc_context *cx) { /* D13 */
  sc_expr x = num(cx, "x"), c = num(cx, "y");
  return of2(cx, x, c, sc_select(sc_ne(c, sc_like(c, 0)), x, sc_like(x, 0)));
}
static sc_function *step_factor(sc_context *cx) { /* S07, summed */
  sc_expr x = vec(cx, "x", 5);
  return of1(cx, x, sc_sum(sc_mul(sc_sign(x), x)));
}
static sc_function *used_twice(sc_context *cx) { /* S08 */
  sc_expr x = vec(cx, "x", 5);
  return of1(cx, x, sc_sum(sc_add(sc_add(x, x), sc_mul(x, x))));
}
static sc_function *inside_outside(sc_context *cx) { /* H02 */
  sc_expr v = vec(cx, "x", 2), a = sc_at(v, 0), b = sc_at(v, 1);
  return of1(cx, v, sc_mul(sc_exp(sc_sub(a, b)), b));
}
static sc_function *angle(sc_context *cx) {
  sc_expr y = num(cx, "x"), x = num(cx, "y");
  return of2(cx, y, x, sc_atan2(y, x));
}
static sc_function *distance(sc_context *cx) {
  sc_expr x = num(cx, "x"), y = num(cx, "y");
  return of2(cx, x, y, sc_hypot(x, y));
}
static sc_function *root(sc_context *cx) {
  sc_expr x = num(cx, "x");
  return of1(cx, x, sc_sqrt(x));
}
static sc_function *root_times(sc_context *cx) { /* the root's infinite slope must not reach the other direction */
  sc_expr x = num(cx, "x"), y = num(cx, "y");
  return of2(cx, x, y, sc_mul(sc_sqrt(x), y));
}
static sc_function *smooth_bend(sc_context *cx) {
  sc_expr x = vec(cx, "x", 4);
  return of1(cx, x, sc_sum(sc_softplus(x)));
}
static sc_function *logistic(sc_context *cx) {
  sc_expr x = vec(cx, "x", 4);
  return of1(cx, x, sc_sum(sc_sigmoid(x)));
}

typedef struct edge {
  const char *id;
  sc_function *(*build)(sc_context *cx);
  const char *requests[6];
  double in[8];
  double expected[24];
  int n;
} edge;

#define INF INFINITY
static const edge edges[] = {
    {"D01",
     half_square_norm,
     {"f", "grad:f:x", "hess:f:x"},
     {.3, -1.2, 5, .3, -1.2, 5},
     {0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1},
     13},
    {"D01 away",
     half_square_norm,
     {"f", "grad:f:x", "hess:f:x"},
     {1, 2, 2, 0, 0, 0},
     {4.5, 1, 2, 2, 1, 0, 0, 0, 1, 0, 0, 0, 1},
     13},
    {"D02", norm, {"f", "grad:f:x"}, {0, 0}, {0, 0, 0}, 3},
    {"D02 negative zero", norm, {"f", "grad:f:x", "jac:f:x"}, {0, -0.0}, {0, 0, 0, 0, 0}, 5},
    {"D02 away", norm, {"f", "grad:f:x"}, {3, 4}, {5, .6, .8}, 3},
    {"D03 untaken", untaken_sqrt, {"f", "grad:f:x", "hess:f:x"}, {-3}, {0, 0, 0}, 3},
    {"D03 at the corner", untaken_sqrt, {"f", "grad:f:x", "hess:f:x"}, {0}, {0, 0, 0}, 3},
    {"D03 taken", untaken_sqrt, {"f", "grad:f:x", "hess:f:x"}, {4}, {2, .25, -.03125}, 3},
    {"D03 two masks", two_untaken_sqrts, {"f", "grad:f:x", "hess:f:x"}, {0}, {0, 0, 0}, 3},
    {"D03 two masks, one taken", two_untaken_sqrts, {"f", "grad:f:x"}, {.25}, {.5, 1}, 2},
    {"D05 untaken", masked_division, {"f", "grad:f:x+y", "hess:f:x+y"}, {1, 0}, {0, 0, 0, 0, 0, 0, 0}, 7},
    {"D05 taken", masked_division, {"f", "grad:f:x+y", "hess:f:x+y"}, {3, 2}, {1.5, .5, -.75, 0, -.25, -.25, .75}, 7},
    {"masked log",
     masked_log,
     {"f", "grad:f:x", "hess:f:x"},
     {0, -2, 2},
     {4 + 0.6931471805599453, 0, -4, .5, 2, 0, 0, 0, 2, 0, 0, 0, -.25},
     13},
    {"D07 clamped", clamped_sqrt, {"f", "grad:f:x+y"}, {1, 2}, {0, 0, 0}, 3},
    {"D07 open", clamped_sqrt, {"f", "grad:f:x+y"}, {5, 3}, {4, 1.25, -.75}, 3},
    {"D08 power", constant_power, {"f", "grad:f:x"}, {0}, {0, 0}, 2},
    {"D08 polynomial", power_polynomial, {"f", "grad:f:x", "hess:f:x"}, {0}, {7, 3, 10}, 3},
    {"D09", negative_square, {"f", "grad:f:x"}, {1}, {1, 2}, 2},
    {"D10", power, {"f", "grad:f:x", "grad:f:y"}, {0, 2.5}, {0, 0, 0}, 3},
    {"D10 constant exponent", power, {"f", "grad:f:x"}, {0, 2}, {0, 0}, 2},
    {"D10 away", power, {"f", "grad:f:x", "grad:f:y"}, {2, 3}, {8, 12, 8 * 0.6931471805599453}, 3},
    {"D11 abs", absolute, {"f", "grad:f:x", "jac:f:x"}, {0}, {0, 0, 0}, 3},
    {"D11 tie", least, {"f", "grad:f:x", "grad:f:y", "jac:f:x"}, {1, 1}, {1, .5, .5, .5}, 4},
    {"D11 no tie", least, {"f", "grad:f:x", "grad:f:y"}, {1, 2}, {1, 1, 0}, 3},
    {"max with ties", most_of_all, {"f", "grad:f:x"}, {3, 1, 3, 2}, {3, .5, 0, .5, 0}, 5},
    {"D12",
     hyperbolic,
     {"f", "grad:f:x", "hess:f:x"},
     {1},
     {1.5430806348152437, 1.1752011936438014, 1.5430806348152437},
     3},
    {"D13 taken", chosen, {"f", "grad:f:x", "jac:f:x"}, {2, 1}, {2, 1, 1}, 3},
    {"D13 untaken", chosen, {"f", "grad:f:x", "jac:f:x"}, {2, 0}, {0, 0, 0}, 3},
    {"S07", step_factor, {"f", "grad:f:x"}, {.1, .2, .3, .4, .5}, {1.5, 1, 1, 1, 1, 1}, 6},
    {"S08", used_twice, {"f", "grad:f:x"}, {1, 2, 3, 4, 5}, {85, 4, 6, 8, 10, 12}, 6},
    {"H02",
     inside_outside,
     {"hess:f:x"},
     {-.7, 2.3},
     {0.11451025724608706, -0.06472318887822312, -0.06472318887822312, 0.014936120510359183},
     4},
    {"atan2 at the origin", angle, {"f", "grad:f:x", "grad:f:y"}, {0, 0}, {0, 0, 0}, 3},
    {"atan2 far out", angle, {"grad:f:x", "grad:f:y"}, {1e200, 1e200}, {5e-201, -5e-201}, 2},
    {"hypot at the origin", distance, {"f", "grad:f:x", "grad:f:y"}, {0, 0}, {0, 0, 0}, 3},
    {"hypot far out", distance, {"grad:f:x", "grad:f:y"}, {3e200, 4e200}, {.6, .8}, 2},
    {"sqrt at zero", root, {"grad:f:x"}, {0}, {INF}, 1},
    {"infinite slope, other direction", root_times, {"f", "grad:f:y", "jac:f:x+y"}, {0, 3}, {0, 0, INF, 0}, 4},
    {"softplus at both ends",
     smooth_bend,
     {"f", "grad:f:x"},
     {-800, -40, 40, 800},
     {840, 0, 4.248354255291589e-18, 1, 1},
     5},
    {"sigmoid at both ends",
     logistic,
     {"grad:f:x"},
     {-800, -40, 40, 800},
     {0, 4.248354255291589e-18, 4.248354255291589e-18, 0},
     4},
};

static bool close_to(double got, double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  return got == want || fabs(got - want) <= 1e-12 * fabs(want);
}

static void check_edge(const edge *e, int way) {
  sc_context *cx = sc_context_create(NULL);
  int n = 0;
  while (n < 6 && e->requests[n]) n++;
  sc_function *g = way_derive(e->build(cx), e->requests, n, NULL);
  double out[64];
  memset(out, 0xFF, sizeof out);
  if (way_run(g, way, e->in, out))
    for (int i = 0; i < e->n; i++)
      cr_expect(close_to(out[i], e->expected[i]), "%s, %s: value %d is %.17g, not %.17g", e->id, way_names[way], i,
                out[i], e->expected[i]);
  sc_context_destroy(cx);
}

Test(edges, evaluator) {
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_edge(&edges[i], 0);
}
Test(edges, llvm) {
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_edge(&edges[i], 1);
}
Test(edges, gcc) {
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_edge(&edges[i], 2);
}
Test(edges, clang) {
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_edge(&edges[i], 3);
}
