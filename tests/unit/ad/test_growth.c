/* Owns the tests of what derivatives may not depend on: their size on depth beyond linear, their code on a map's
 * length. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/ad/ways.h"

/* ---- depth ---- */

/* z <- (z * z + z) / 2, `depth` times; as operations, or each step a call of the one before nested in it. */
static sc_function *squared(sc_context *cx, int depth, bool calls) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), z = x;
  sc_function *f = NULL;
  for (int k = 0; k < depth; k++) {
    if (calls && f) z = sc_call(f, &x, 1, 0);
    z = sc_mul(sc_add(sc_mul(z, z), z), sc_scalar(cx, 0.5));
    if (calls) f = sc_function_create(cx, "step", SC_IN({"x", x}), SC_OUT({"f", z}));
  }
  return calls ? f : sc_function_create(cx, "t", SC_IN({"x", x}), SC_OUT({"f", z}));
}

/* Nodes that the derivative adds to the context, and its value against the recurrence. */
static size_t nodes_of(int depth, bool calls, const char *request, double want[3]) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = squared(cx, depth, calls);
  size_t before = sc_context_node_count(cx);
  sc_function *g = way_derive(f, &request, 1, NULL);
  size_t nodes = sc_context_node_count(cx) - before;
  double x = 0.9, v = x, d = 1, h = 0, out;
  for (int k = 0; k < depth; k++) {
    h = ((2 * v + 1) * h + 2 * d * d) / 2;
    d = (2 * v + 1) * d / 2;
    v = (v * v + v) / 2;
  }
  want[0] = v, want[1] = d, want[2] = h;
  cr_assert(way_run(g, 0, &x, &out));
  double expected = want[request[0] == 'f' ? 0 : request[0] == 'g' ? 1 : 2];
  cr_expect(fabs(out - expected) <= 1e-12 * fabs(expected), "%s at depth %d: %.17g, not %.17g", request, depth, out,
            expected);
  sc_context_destroy(cx);
  return nodes;
}

Test(growth, nested_squares_are_linear_in_depth) {
  static const char *const requests[] = {"f", "grad:f:x", "hess:f:x", "sphess:f:x:lower"};
  double want[3];
  for (int calls = 0; calls < 2; calls++)
    for (int r = 0; r < 4; r++) {
      size_t at10 = nodes_of(10, calls, requests[r], want), at20 = nodes_of(20, calls, requests[r], want),
             at40 = nodes_of(40, calls, requests[r], want);
      cr_expect_leq(at40, 2 * at20 - at10 + (at20 - at10) + 8, "%s: %zu, %zu, %zu nodes at depths 10, 20 and 40",
                    requests[r], at10, at20, at40);
      cr_expect_leq(at40, 40 * 40, "%s: %zu nodes at depth 40", requests[r], at40);
    }
}

/* The most that is held at once. */
typedef struct peak {
  size_t held, most;
} peak;

static void *count_peak(void *user, void *ptr, size_t old_size, size_t new_size) {
  peak *p = user;
  p->held = p->held - (ptr ? old_size : 0) + new_size;
  if (p->held > p->most) p->most = p->held;
  if (new_size) return realloc(ptr, new_size);
  free(ptr);
  return NULL;
}

/* Functions that call each other share their input's node, which lies far below their own: what a walk of one needs
 * follows what it reaches, not how far apart that is. */
Test(growth, nested_calls_take_memory_for_what_they_reach) {
  peak p = {0};
  sc_context *cx = sc_context_create(&(sc_allocator){count_peak, &p});
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), z = sc_sin(sc_mul(x, x));
  sc_function *f = sc_function_create(cx, "step", SC_IN({"x", x}), SC_OUT({"f", z}));
  for (int k = 0; k < 500; k++) {
    z = sc_mul(sc_call(f, &x, 1, 0), sc_scalar(cx, 1.0001));
    f = sc_function_create(cx, "step", SC_IN({"x", x}), SC_OUT({"f", z}));
  }
  cr_assert_not_null(way_derive(f, (const char *[]){"hess:f:x"}, 1, NULL));
  cr_expect_lt(p.most, 256u << 20, "%zu bytes", p.most);
  sc_context_destroy(cx);
  cr_expect_eq(p.held, 0u);
}

/* ---- length ---- */

/* y = map of a nonlinear stage over windows of x that overlap, with the parameters c shared by all; f = sum of squares.
 */
static sc_function *mapped(sc_context *cx, int64_t length, bool computed) {
  int64_t three = 3, two = 2, n = 2 * length + 1;
  sc_expr w = sc_input(cx, "w", SC_FLOAT64, 1, &three), c = sc_input(cx, "c", SC_FLOAT64, 1, &two);
  sc_expr a = sc_at(w, 0), b = sc_at(w, 1), d = sc_at(w, 2);
  sc_expr r =
      sc_stack((sc_expr[]){sc_mul(sc_sin(sc_mul(a, b)), sc_at(c, 0)), sc_mul(sc_exp(sc_mul(d, sc_at(c, 1))), b)}, 2, 0);
  sc_function *stage = sc_function_create(cx, "stage", SC_IN({"w", w}, {"c", c}), SC_OUT({"r", r}));
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &n), p = sc_input(cx, "p", SC_FLOAT64, 1, &two),
          args[] = {computed ? sc_tanh(x) : x, p};
  sc_expr y = sc_vmap_windows(stage, length, args, 2, (int64_t[]){0, 0}, (int64_t[]){2, 0}, 0);
  return sc_function_create(cx, "t", SC_IN({"x", x}, {"p", p}), SC_OUT({"y", y}, {"f", sc_sumsqr(y)}));
}

static size_t statements_of(int64_t length, bool computed, const char *request, size_t *bytes) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *g = way_derive(mapped(cx, length, computed), &request, 1, NULL);
  sc_program *p = sc_lower(g, &(sc_lower_options){.verify_each = true});
  cr_assert(p);
  size_t statements = (size_t)sc_program_statistics(p).statements;
  *bytes = 0;
  sc_kernel *k = NULL;
#ifdef SCALY_TEST_LLVM
  k = sc_jit(g, &(sc_jit_options){.tier = SC_TIER_FAST, .plugin_dir = SCALY_TEST_PLUGIN_DIR});
  cr_assert(k);
  *bytes = sc_kernel_code_bytes(k);
#endif
  sc_kernel_release(k);
  sc_program_destroy(p);
  sc_context_destroy(cx);
  return statements;
}

/* Tails and ways of summing differ by some statements, however long the map. A broadcast formal that is differentiated
 * by (p) among them: its rows and columns are dense, its code is not. */
Test(growth, code_of_mapped_derivatives_does_not_follow_the_length) {
  static const char *const requests[] = {
      "y",         "grad:f:x",    "grad:f:p",     "adj:y:x+p",        "fwd:y:x+p",          "spjac:y:x",
      "spjac:y:p", "spjac:y:x+p", "sphess:f:x+p", "sphess:f:x:lower", "splaghess:x+p:lower"};
  for (int computed = 0; computed < 2; computed++)
    for (size_t r = 0; r < sizeof requests / sizeof *requests; r++) {
      if (computed && strncmp(requests[r], "sp", 2) == 0) continue; /* products: their number follows the pattern */
      size_t short_bytes, long_bytes, shorter = statements_of(100, computed, requests[r], &short_bytes),
                                      longer = statements_of(1600, computed, requests[r], &long_bytes);
      cr_expect_leq(longer, shorter + shorter / 4 + 16, "%s, computed %d: %zu statements at 100, %zu at 1600",
                    requests[r], computed, shorter, longer);
      cr_expect_leq(long_bytes, short_bytes + short_bytes / 2 + 256, "%s, computed %d: %zu bytes at 100, %zu at 1600",
                    requests[r], computed, short_bytes, long_bytes);
    }
}
