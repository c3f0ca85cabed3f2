/* Owns the failing allocator: the pipeline from builders to rendered C, and derivatives, survive the failure of each of
 * their allocations.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"

/* Counts down to one failing allocation, and accounts for every byte. */
typedef struct failing {
  int64_t left;
  size_t held;
  int64_t calls;
} failing;

static void *reallocate(void *user, void *ptr, size_t old_size, size_t new_size) {
  failing *a = user;
  if (new_size == 0) {
    free(ptr);
    a->held -= old_size;
    return NULL;
  }
  a->calls++;
  if (a->left-- == 0) return NULL;
  void *p = realloc(ptr, new_size);
  if (p) a->held += new_size - old_size;
  return p;
}

static sc_expr stage_of(sc_context *cx, sc_expr z) {
  const int64_t three = 3;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &three);
  sc_expr y = sc_stack((const sc_expr[]){sc_sin(sc_at(x, 0)), sc_mul(sc_at(x, 1), sc_at(x, 2))}, 2, 0);
  sc_function *f = sc_function_create(cx, "stage", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  return f ? sc_vmap_windows(f, 10, &z, 1, (const int64_t[]){0}, (const int64_t[]){2}, 0) : (sc_expr){0};
}

static sc_function *build(sc_context *cx) {
  const int64_t n = 40;
  const int64_t at[] = {3, 1, 4, 1, 5, 9, 2, 6};
  sc_expr z = sc_input(cx, "z", SC_FLOAT64, 1, &n), m = sc_reshape(z, 2, (const int64_t[]){5, 8});
  sc_expr p = sc_matmul(m, sc_transpose(m)), mapped = stage_of(cx, z);
  sc_expr g = sc_index_add(sc_span(z, 0, 12), sc_gather(p, at, 1, (const int64_t[]){8}), at);
  sc_expr s = sc_sum(sc_select(sc_lt(z, sc_like(z, 0.5)), sc_exp(z), sc_const(cx, SC_FLOAT64, 0, NULL, &(double){2})));
  return sc_function_create(cx, "f", SC_IN({"z", z, NULL}),
                            SC_OUT({"p", p, NULL}, {"mapped", mapped, NULL}, {"g", g, NULL}, {"s", s, NULL}));
}

/* Everything up to the C text. False when something failed. */
static bool after_building(sc_context *cx, sc_function *f) {
  bool fine = false;
  char *text = sc_print_function(f);
  sc_module_text *m = text ? sc_parse(cx, text, strlen(text), NULL) : NULL;
  sc_function *parsed = m ? sc_module_text_find(m, NULL) : NULL;
  sc_program *p =
      parsed && sc_verify(parsed) == SC_OK ? sc_lower(parsed, &(sc_lower_options){.verify_each = true}) : NULL;
  char *listing = p ? sc_print_program(p) : NULL;
  sc_program *q = listing ? sc_parse_program(cx, listing, strlen(listing), NULL) : NULL;
  sc_module *c = q ? sc_render_c(parsed, NULL) : NULL;
  sc_expr kept = c ? sc_function_output(f, 0) : (sc_expr){0};
  if (c && sc_context_collect(cx, &kept, 1) == SC_OK) fine = true;
  if (c) sc_module_destroy(c);
  if (q) sc_program_destroy(q);
  if (listing) sc_string_free(cx, listing);
  if (p) sc_program_destroy(p);
  if (m) sc_module_text_free(m);
  if (text) sc_string_free(cx, text);
  return fine;
}

static bool to_c(sc_context *cx) {
  sc_function *f = build(cx);
  return f && after_building(cx, f);
}

/* Derivatives with one that is brought along, patterns and colorings. */
static bool derivatives(sc_context *cx) {
  const int64_t two = 2, n = 6;
  sc_expr w = sc_input(cx, "w", SC_FLOAT64, 1, &two), v = sc_input(cx, "v", SC_FLOAT64, 1, &two);
  sc_function *plain = sc_function_create(cx, "g", SC_IN({"w", w}), SC_OUT({"r", sc_mul(w, sc_sin(w))}));
  sc_function *jvp = sc_function_create(cx, "g_jvp", SC_IN({"w", w}, {"v", v}), SC_OUT({"r", sc_mul(v, sc_cos(w))}));
  sc_function *g = plain && jvp ? sc_custom_derivative(plain, jvp, NULL, NULL) : NULL;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &n),
          y = g ? sc_vmap_windows(g, 5, &x, 1, (const int64_t[]){0}, (const int64_t[]){1}, 0) : x;
  sc_function *f =
      g ? sc_function_create(cx, "f", SC_IN({"x", x}), SC_OUT({"y", y}, {"s", sc_exp(sc_sumsqr(y))})) : NULL;
  sc_request r[] = {SC_ADJ("y", "x"), SC_SPJAC("y", "x"), SC_SPHESS("s", "x", SC_TRIANGLE_FULL)};
  sc_function *d = f ? sc_function_derive(f, NULL, r, 3, NULL) : NULL;
  sc_sparsity *s = d ? sc_sparsity_hessian(f, "s", "x", SC_TRIANGLE_FULL, SC_CSR) : NULL;
  const sc_coloring *c =
      s ? sc_coloring_hessian(cx, sc_sparsity_pattern(s), &(sc_coloring_options){.method = SC_COLORING_ACYCLIC}) : NULL;
  const sc_coloring *j = c ? sc_coloring_jacobian(cx, sc_function_output_pattern(d, 1), NULL) : NULL;
  sc_matrix_report reports[4];
  bool fine = j && sc_function_matrices(d, reports, 4) > 0;
  sc_coloring_destroy(j);
  sc_coloring_destroy(c);
  sc_sparsity_destroy(s);
  return fine;
}

static bool attempt(failing *a, int64_t fail_at, bool body(sc_context *cx), sc_status *status) {
  *a = (failing){.left = fail_at};
  sc_allocator allocator = {reallocate, a};
  sc_context *cx = sc_context_create(&allocator);
  *status = SC_ERR_MEMORY;
  if (!cx) return false;
  bool fine = body(cx);
  if (!fine) *status = sc_context_error(cx) ? sc_context_error(cx)->status : SC_OK;
  sc_context_destroy(cx);
  return fine;
}

static void fail_each(bool body(sc_context *cx)) {
  failing a;
  sc_status status;
  cr_assert(attempt(&a, -1, body, &status));
  cr_expect_eq(a.held, 0);
  int64_t total = a.calls;
  cr_expect_gt(total, 20);
  for (int64_t k = 0; k < total; k++) {
    bool fine = attempt(&a, k, body, &status);
    cr_expect(a.held == 0, "allocation %d: %zu bytes are not freed", (int)k, a.held);
    cr_expect(!fine, "allocation %d failed unnoticed", (int)k);
    cr_expect_eq(status, SC_ERR_MEMORY, "allocation %d: the diagnostic says %s", (int)k, sc_status_name(status));
  }
}

Test(memory, each_allocation_fails_once, .timeout = 240) {
  fail_each(to_c);
}

Test(memory, each_allocation_of_derivatives_fails_once, .timeout = 240) {
  fail_each(derivatives);
}
