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
/* D03 with something between the select and the root: a reversal, a call, a map, all three and a product. */
static sc_function *step_root(sc_context *cx, sc_expr w) {
  return sc_function_create(cx, "root", SC_IN({"w", w}), SC_OUT({"r", sc_sqrt(w)}));
}
static sc_expr masked_by(sc_expr condition, sc_expr value) {
  return sc_sum(sc_select(sc_gt(condition, sc_like(condition, 0)), value, sc_like(value, 0)));
}
static sc_function *masked_moved_root(sc_context *cx) {
  sc_expr x = vec(cx, "x", 3);
  sc_range back = {SC_NONE, SC_NONE, -1};
  return of1(cx, x, masked_by(sc_slice(x, 1, &back), sc_slice(sc_sqrt(x), 1, &back)));
}
static sc_function *masked_called_root(sc_context *cx) {
  sc_expr x = vec(cx, "x", 3);
  return of1(cx, x, masked_by(x, sc_call(step_root(cx, vec(cx, "w", 3)), &x, 1, 0)));
}
static sc_function *masked_mapped_root(sc_context *cx) {
  sc_expr x = vec(cx, "x", 3);
  return of1(
      cx, x,
      masked_by(x, sc_vmap_windows(step_root(cx, vec(cx, "w", 1)), 3, &x, 1, (int64_t[]){0}, (int64_t[]){1}, 0)));
}
static sc_function *masked_product(sc_context *cx) { /* the value not taken is NaN and a factor of y */
  sc_expr x = vec(cx, "x", 3), y = vec(cx, "y", 3), w = vec(cx, "w", 3), v = vec(cx, "v", 3);
  sc_function *g = sc_function_create(cx, "g", SC_IN({"w", w}, {"v", v}), SC_OUT({"r", sc_mul(sc_log(w), v)}));
  sc_range back = {SC_NONE, SC_NONE, -1};
  sc_expr r = sc_call(g, (sc_expr[]){x, y}, 2, 0);
  return of2(cx, x, y, masked_by(sc_slice(x, 1, &back), sc_slice(r, 1, &back)));
}
/* Infinite slopes of elements that the result does not depend on, or not here. */
static sc_function *sliced_root(sc_context *cx) {
  sc_expr x = vec(cx, "x", 2);
  return of1(cx, x, sc_sum(sc_span(sc_sqrt(x), 1, 2)));
}
static sc_function *replaced_root(sc_context *cx) {
  sc_expr x = vec(cx, "x", 2), roots = sc_sqrt(x);
  return of1(cx, x, sc_sum(sc_index_set(roots, sc_gather(x, (int64_t[]){0}, 1, (int64_t[]){1}), (int64_t[]){0})));
}
static sc_function *windowed_root(sc_context *cx) { /* no window reaches the first one, none is left of another map */
  sc_expr x = vec(cx, "x", 2), w = vec(cx, "w", 1), roots = sc_sqrt(x);
  sc_function *g = sc_function_create(cx, "g", SC_IN({"w", w}), SC_OUT({"r", sc_mul(w, w)}));
  sc_expr some = sc_vmap_windows(g, 1, &roots, 1, (int64_t[]){1}, (int64_t[]){1}, 0);
  sc_expr none = sc_vmap_windows(g, 0, &roots, 1, (int64_t[]){0}, (int64_t[]){1}, 0);
  return of1(cx, x, sc_add(sc_sum(some), sc_sum(none)));
}
static sc_function *greater_root(sc_context *cx) {
  sc_expr x = vec(cx, "x", 2);
  return of1(cx, x, sc_sum(sc_maximum(sc_sqrt(x), sc_like(x, 1))));
}
static sc_function *greatest_root(sc_context *cx) {
  sc_expr x = vec(cx, "x", 2);
  return of1(cx, x, sc_max(sc_sqrt(x)));
}
static sc_function *twice_masked_root(sc_context *cx) { /* zeros of one selection, then another one's mask */
  sc_expr x = vec(cx, "x", 2);
  sc_range back = {SC_NONE, SC_NONE, -1};
  sc_expr inner = sc_select(sc_lt(x, sc_like(x, 9)), sc_sqrt(x), x);
  return of1(cx, x, masked_by(sc_slice(x, 1, &back), sc_slice(inner, 1, &back)));
}
static sc_function *choosing_map(sc_context *cx) { /* a map makes the selection, the root is outside */
  sc_expr x = vec(cx, "x", 2), w = num(cx, "w"), c = num(cx, "c"), roots = sc_sqrt(x);
  sc_function *g = sc_function_create(cx, "g", SC_IN({"w", w}, {"c", c}),
                                      SC_OUT({"r", sc_select(sc_gt(c, sc_like(c, 0)), sc_mul(w, w), sc_like(w, 0))}));
  return of1(cx, x, sc_sum(sc_vmap_windows(g, 2, (sc_expr[]){roots, x}, 2, (int64_t[]){0, 0}, (int64_t[]){1, 1}, 0)));
}
static sc_function *
masked_quotients(sc_context *cx) { /* a mask of its own for each of two seeds, and a factor of both */
  sc_expr x = vec(cx, "x", 3), y = vec(cx, "y", 2), quotient;
  quotient = sc_div(sc_sum(sc_square(x)), sc_add(sc_sum(y), sc_scalar(cx, 1)));
  sc_expr both = sc_broadcast(sc_reshape(quotient, 1, (int64_t[]){1}), 1, (int64_t[]){2});
  return of2(cx, x, y, sc_select(sc_gt(y, sc_like(y, 0)), both, sc_like(y, 0)));
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

static sc_function *square_power(sc_context *cx) { /* D09 */
  sc_expr x = num(cx, "x");
  return of1(cx, x, sc_pow(x, sc_like(x, 2)));
}
static sc_function *gathered(sc_context *cx, int64_t n, const int64_t *index) {
  sc_expr d = vec(cx, "x", 4);
  return of1(cx, d, sc_gather(d, index, 1, &n));
}
static sc_function *repeated(sc_context *cx) { /* G01: the second row of a 2 by 2 matrix */
  return gathered(cx, 3, (int64_t[]){3, 2, 2});
}
static sc_function *often_repeated(sc_context *cx) { /* G01 */
  return gathered(cx, 5, (int64_t[]){2, 3, 3, 3, 3});
}
static sc_function *swapped(sc_context *cx) { /* G02 */
  sc_expr x = vec(cx, "x", 2);
  return of1(cx, x, sc_gather(x, (int64_t[]){1, 0}, 1, (int64_t[]){2}));
}
static sc_function *transposed_elements(sc_context *cx) { /* G05 */
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 2, (int64_t[]){2, 3}), t = sc_transpose(x);
  sc_range first[] = {SC_AT(2), SC_AT(0)}, second[] = {SC_AT(0), SC_AT(1)};
  return of1(cx, x, sc_stack((sc_expr[]){sc_slice(t, 2, first), sc_slice(t, 2, second)}, 2, 0));
}
static sc_function *nothing_chosen(sc_context *cx) { /* G06: x[0:0], rows of nothing joined, the sum of nothing */
  sc_expr x = vec(cx, "x", 3), none = sc_span(x, 0, 0), rows = sc_reshape(none, 2, (int64_t[]){0, 2});
  sc_expr both = sc_concat((sc_expr[]){rows, rows}, 2, 0), sum = sc_sum(none);
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}),
                            SC_OUT({"f", sum, NULL}, {"none", none, NULL}, {"both", both, NULL}));
}
static sc_function *empty_input(sc_context *cx) { /* G07 */
  sc_expr x = num(cx, "x"), p = sc_input(cx, "y", SC_FLOAT64, 2, (int64_t[]){1, 0});
  return of2(cx, x, p, sc_mul(x, x));
}

typedef struct edge {
  const char *id;
  sc_function *(*build)(sc_context *cx);
  const char *requests[6];
  double in[12];
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
    {"D03 moved",
     masked_moved_root,
     {"f", "grad:f:x", "adj:f:x", "hess:f:x"},
     {-3, 0, 4, 1},
     {2, 0, 0, .25, 0, 0, .25, 0, 0, 0, 0, 0, 0, 0, 0, -.03125},
     16},
    {"D03 called",
     masked_called_root,
     {"f", "grad:f:x", "adj:f:x", "hess:f:x"},
     {-3, 0, 4, 1},
     {2, 0, 0, .25, 0, 0, .25, 0, 0, 0, 0, 0, 0, 0, 0, -.03125},
     16},
    {"D03 mapped",
     masked_mapped_root,
     {"f", "grad:f:x", "adj:f:x", "hess:f:x"},
     {-3, 0, 4, 1},
     {2, 0, 0, .25, 0, 0, .25, 0, 0, 0, 0, 0, 0, 0, 0, -.03125},
     16},
    {"D03 product",
     masked_product,
     {"f", "grad:f:x", "grad:f:y", "fwd:f:y"},
     {-3, 0, 1, 5, 6, 7, 1, 1, 1},
     {0, 0, 0, 7, 0, 0, 0, 0},
     8},
    {"D03 sliced", sliced_root, {"f", "grad:f:x", "hess:f:x"}, {0, 4}, {2, 0, .25, 0, 0, 0, -.03125}, 7},
    {"D03 replaced", replaced_root, {"f", "grad:f:x", "hess:f:x"}, {0, 4}, {2, 1, .25, 0, 0, 0, -.03125}, 7},
    {"D03 windowed", windowed_root, {"f", "grad:f:x", "hess:f:x"}, {0, 4}, {4, 0, 1, 0, 0, 0, 0}, 7},
    {"D03 greater",
     greater_root,
     {"f", "grad:f:x", "jac:f:x", "hess:f:x"},
     {0, 4},
     {3, 0, .25, 0, .25, 0, 0, 0, -.03125},
     9},
    {"D03 greatest", greatest_root, {"f", "grad:f:x", "fwd:f:x"}, {0, 4, 1, 1}, {2, 0, .25, .25}, 4},
    {"D03 masked twice", twice_masked_root, {"f", "grad:f:x", "hess:f:x"}, {0, 4}, {2, 0, .25, 0, 0, 0, -.03125}, 7},
    {"D03 chosen by a map", choosing_map, {"f", "grad:f:x", "hess:f:x"}, {0, 4}, {4, 0, 1, 0, 0, 0, 0}, 7},
    {"masked quotients",
     masked_quotients,
     {"f", "jac:f:x", "jac:f:x+y"},
     {1, 2, 3, 1, -1},
     {14, 0, 2, 4, 6, 0, 0, 0, 2, 4, 6, -14, -14, 0, 0, 0, 0, 0},
     18},
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
    {"D09 power", square_power, {"f", "grad:f:x", "fwd:f:x", "hess:f:x"}, {-1, 1}, {1, -2, -2, 2}, 4},
    {"D11 tie, forward", least, {"fwd:f:x", "fwd:f:y", "adj:f:x+y"}, {1, 1, 1, 1, 1}, {.5, .5, .5, .5}, 4},
    {"D13 forward", chosen, {"fwd:f:x"}, {2, 1, 1}, {1}, 1},
    {"D13 forward, untaken", chosen, {"fwd:f:x"}, {2, 0, 1}, {0}, 1},
    {"G01", repeated, {"f", "adj:f:x"}, {1, 2, 3, 4, 1, 1, 1}, {4, 3, 3, 0, 0, 2, 1}, 7},
    {"G01 often", often_repeated, {"f", "adj:f:x"}, {1, 2, 3, 4, 1, 1, 1, 1, 1}, {3, 4, 4, 4, 4, 0, 0, 1, 4}, 9},
    {"G02", swapped, {"f", "fwd:f:x", "jac:f:x"}, {1.1, 1.3, 1, 0}, {1.3, 1.1, 0, 1, 0, 1, 1, 0}, 8},
    {"G05", transposed_elements, {"f", "jac:f:x"}, {1, 2, 3, 4, 5, 6}, {3, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0}, 14},
    {"G06",
     nothing_chosen,
     {"f", "none", "both", "grad:f:x", "jac:none:x", "adj:both:x"},
     {1, 2, 3},
     {0, 0, 0, 0, 0, 0, 0},
     7},
    {"G07",
     empty_input,
     {"fwd:f:x+y", "adj:f:y", "grad:f:x", "jac:f:x+y", "hess:f:x+y", "grad:f:y"},
     {3, 1, 1},
     {6, 6, 6, 2},
     4},
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

/* ---- patterns ---- */

static void expect_pattern(const char *id, sc_function *f, int64_t rows, int64_t cols, int64_t nnz,
                           const int32_t *row_of, const double *in, const double *values) {
  sc_sparsity *s = sc_sparsity_jacobian(f, "f", "x", SC_CSC);
  cr_assert(s, "%s", id);
  const sc_pattern *p = sc_sparsity_pattern(s);
  cr_expect(p->nrow == rows && p->ncol == cols && p->nnz == nnz, "%s: %dx%d, %d nonzeros", id, (int)p->nrow,
            (int)p->ncol, (int)p->nnz);
  for (int64_t j = 0; j < cols && p->nnz == nnz; j++) {
    cr_expect_eq(p->outer[j], j < nnz ? j : nnz, "%s: column %d", id, (int)j);
    if (j < nnz) cr_expect_eq(p->inner[j], row_of ? row_of[j] : j, "%s: column %d", id, (int)j);
  }
  double out[256] = {0};
  sc_function *g = way_derive(f, (const char *const[]){"spjac:f:x"}, 1, NULL);
  cr_assert(way_run(g, 0, in, out));
  for (int64_t k = 0; k < nnz; k++) cr_expect_eq(out[k], values[k], "%s: value %d is %g", id, (int)k, out[k]);
  sc_sparsity_destroy(s);
}

Test(edges, patterns) {
  sc_context *cx = sc_context_create(NULL);
  double in[2300], all_ps[200];
  for (int i = 0; i < 2300; i++) in[i] = 2.5;
  for (int i = 0; i < 200; i++) all_ps[i] = 2.5;
  /* S01: a scalar times a vector is diagonal, an input that nothing reads has empty columns. */
  sc_expr x = vec(cx, "x", 200), unused = vec(cx, "u", 2000), p = num(cx, "p");
  sc_function *f = sc_function_create(cx, "t", SC_IN({"x", x, NULL}, {"u", unused, NULL}, {"p", p, NULL}),
                                      SC_OUT({"f", sc_mul(x, p), NULL}));
  expect_pattern("S01", f, 200, 200, 200, NULL, in, all_ps);
  sc_sparsity *s = sc_sparsity_jacobian(f, "f", "x+u", SC_CSC);
  const sc_pattern *pattern = sc_sparsity_pattern(s);
  cr_expect(pattern->nnz == 200 && pattern->ncol == 2200 && pattern->outer[200] == 200 && pattern->outer[2200] == 200,
            "S01, both inputs");
  sc_sparsity_destroy(s);
  /* S03: the transpose of a 2 by 3 matrix, row-major, behind a sum with zeros. */
  static const int32_t commuted[] = {0, 2, 4, 1, 3, 5};
  static const double ones[] = {1, 1, 1, 1, 1, 1}, twos[] = {2, 2, 2, 2, 2, 2}, doubled[] = {5, 5, 5, 5, 5};
  sc_expr m = sc_input(cx, "x", SC_FLOAT64, 2, (int64_t[]){2, 3});
  expect_pattern("S03", of1(cx, m, sc_add(sc_transpose(m), sc_zeros(cx, SC_FLOAT64, 2, (int64_t[]){3, 2}))), 6, 6, 6,
                 commuted, in, ones);
  /* S07, S08. */
  x = vec(cx, "x", 5);
  expect_pattern("S07", of1(cx, x, sc_mul(sc_sign(x), x)), 5, 5, 5, NULL, in, ones);
  expect_pattern("S08 sum", of1(cx, x, sc_add(x, x)), 5, 5, 5, NULL, in, twos);
  expect_pattern("S08 product", of1(cx, x, sc_mul(x, x)), 5, 5, 5, NULL, in, doubled);
  /* S06: 2.5e9 elements are refused where they are asked for, as are Jacobians that wide. */
  cr_expect_null(sc_context_error(cx));
  sc_expr wide = sc_input(cx, "x", SC_FLOAT64, 2, (int64_t[]){50000, 50000});
  cr_expect(sc_is_null(wide) && sc_context_error(cx)->status == SC_ERR_OVERFLOW, "S06");
  sc_context_clear_error(cx);
  int64_t half = 1500000000;
  sc_expr a = vec(cx, "x", half), b = vec(cx, "y", half);
  f = of2(cx, a, b, sc_add(sc_at(a, half - 1), sc_at(b, half - 1)));
  cr_expect(f && !sc_function_derive(f, NULL, &SC_SPJAC("f", "x+y"), 1, NULL) &&
                sc_context_error(cx)->status == SC_ERR_OVERFLOW,
            "S06: 3e9 columns");
  sc_context_destroy(cx);
}
