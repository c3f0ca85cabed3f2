/* Owns straight-line calls of math functions that run in lanes: every function, around every number of lanes, at edges;
 * against the same calls one by one, and the ways of compiling bit for bit. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/diff/diff.h"

enum { MAX_CALLS = 9, MAX_TEXT = 1 << 16, MAX_RESULTS = 1024 };

/* y: every routine of the operation table at x[0], ..., x[n - 1], and with a second operand x[n], one for all, and
 * another one for each. */
static sc_function *calls(sc_context *cx, int n, const char *dtype) {
  static char text[MAX_TEXT];
  size_t at = 0;
  int results = 0;
  at += (size_t)snprintf(text, sizeof text, "expr.func @f(%%x: tensor<%dx%s>) -> (%%y) { return stack(", n + 1, dtype);
  for (int op = 0; op < SCI_OP_COUNT; op++) {
    if (!(sci_ops[op].traits & SCI_LIBM) || sci_ops[op].arity > 2) continue;
    for (int k = 0; k < n; k++)
      for (int form = 0; form < (sci_ops[op].arity == 2 ? 2 : 1); form++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s(%%x[%d]", results++ ? ", " : "", sci_ops[op].name, k);
        if (sci_ops[op].arity == 2)
          at += (size_t)snprintf(text + at, sizeof text - at, ", %%x[%d]", form ? (k + 1) % n : n);
        at += (size_t)snprintf(text + at, sizeof text - at, ")");
      }
  }
  at += (size_t)snprintf(text + at, sizeof text - at, ") }");
  cr_assert(at < sizeof text && results <= MAX_RESULTS);
  sc_module_text *m = sc_parse(cx, text, at, NULL);
  cr_assert(m, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
  return sc_module_text_find(m, NULL);
}

static int run(diff_way way, const sc_program *p, const void *in, void *out) {
  sc_kernel *k = diff_compile(way, p, NULL);
  cr_assert(k);
  int status = sc_kernel_call(k, (const void *[]){in}, (void *[]){out}, NULL);
  cr_expect_eq(status, SC_KERNEL_SUCCESS);
  sc_kernel_release(k);
  return status;
}

static void compare(sc_dtype dtype, int64_t n, const void *got, const void *want, int64_t ulps, const char *what) {
  for (int64_t i = 0; i < n; i++) {
    char a[48], b[48];
    sci_scalar x = ora_load(dtype, got, i), y = ora_load(dtype, want, i);
    cr_expect(ora_ulps(dtype, x, y) <= ulps, "%s, result %d: %s, not %s", what, (int)i, ora_text(dtype, x, a),
              ora_text(dtype, y, b));
  }
}

static void check(int n, sc_dtype dtype, const double *edges) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = calls(cx, n, dtype == SC_FLOAT64 ? "float64" : "float32");
  int64_t size = sc_expr_size(sc_function_output(f, 0));
  double in[MAX_CALLS + 1], one[MAX_RESULTS], lanes[MAX_RESULTS], other[MAX_RESULTS];
  for (int k = 0; k <= n; k++) {
    sci_scalar v = dtype == SC_FLOAT64 ? (sci_scalar){.f64 = edges[k]} : (sci_scalar){.f32 = (float)edges[k]};
    ora_store(dtype, in, k, v);
  }
  sc_program *apart = sc_lower(f, &(sc_lower_options){.passes = "-group_math"}), *p = sc_lower(f, NULL);
  cr_assert(apart && p);
  for (diff_way way = 0, first = DIFF_WAYS; way < DIFF_WAYS; way++) {
    if (!diff_way_exists(way)) continue;
    run(way, p, in, first == DIFF_WAYS ? lanes : other);
    if (first == DIFF_WAYS) {
      run(way, apart, in, one);
      compare(dtype, size, lanes, one, 6, diff_way_name(way));
      first = way;
    } else {
      compare(dtype, size, other, lanes, way == DIFF_PLAIN ? 6 : 0,
              diff_way_name(way)); /* which has scalar routines only */
    }
  }
  sc_program_destroy(apart), sc_program_destroy(p);
  sc_context_destroy(cx);
}

Test(groups, straight_line_calls) {
  static const double plain[] = {0.5, -0.25, 2.5, 0.75, 1.25, -3, 0.1, 11, 0.3, 1.5},
                      edges[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1, -1, 1e30, -1e-30, 3};
  for (int n = 3; n <= MAX_CALLS; n++) check(n, SC_FLOAT64, plain);
  check(5, SC_FLOAT32, plain);
  check(MAX_CALLS, SC_FLOAT64, edges);
  check(MAX_CALLS, SC_FLOAT32, edges);
}
