/* Owns the kernels of the workloads, values and derivatives: their stored text, and their numbers and patterns through
 * every way of compiling. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/data/workloads/workloads.h"
#include "tests/diff/diff.h"

#define FOLDER SCALY_TEST_SOURCE_DIR "/tests/data/workloads/"

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  cr_assert(file, "%s", path);
  char *text = calloc(1, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  text[n] = 0;
  return text;
}

static const char *error_of(sc_context *cx) {
  return sc_context_error(cx) ? sc_context_error(cx)->message : "no diagnostic";
}

/* Building again gives the stored text, and the text parses back to itself. */
Test(workloads, stored_text_is_current) {
  for (size_t i = 0; i < wl_stored_count(); i++) {
    const wl_stored *s = wl_stored_at(i);
    char name[96], path[4096];
    snprintf(path, sizeof path, FOLDER "%s", wl_stored_file(s, name));
    char *stored = read_file(path);
    cr_expect_lt(strlen(stored), 200000, "%s is %zu bytes", name, strlen(stored));
    sc_context *cx = sc_context_create(NULL), *other = sc_context_create(NULL);
    sc_function *f = wl_function(cx, &s->problem, s->kernel);
    cr_assert(f, "%s: %s", name, error_of(cx));
    char *text = sc_print_function(f);
    cr_expect(text && !strcmp(text, stored), "%s: building again gives another text", name);
    sc_module_text *m = sc_parse(other, stored, strlen(stored), name);
    cr_assert(m, "%s: %s", name, error_of(other));
    char *again = sc_print_function(sc_module_text_find(m, NULL));
    cr_expect(again && !strcmp(again, stored), "%s: parsing and printing gives another text", name);
    sc_string_free(cx, text);
    sc_string_free(other, again);
    sc_module_text_free(m);
    sc_context_destroy(cx);
    sc_context_destroy(other);
    free(stored);
  }
}

/* ---- numbers ---- */

static void fill(diff_io *io, const wl_reference *r) {
  int64_t first = 0;
  for (size_t k = 0; k < io->n_in; k++) {
    const char *name = sc_function_input_name(io->f, k);
    int64_t n = sc_expr_size(sc_function_input(io->f, k));
    first = wl_input(&r->problem, name, first, n, io->in[k]);
    wl_checksum sum = wl_checksum_of(n, io->in[k]), want = r->inputs[k].sum;
    bool seed = !strncmp(name, "lam_", 4) && !strncmp(r->inputs[k].name, "lam:", 4);
    cr_assert(!strcmp(name + 4 * seed, r->inputs[k].name + 4 * seed) && n == want.count, "%s %s: input %s", r->workload,
              r->kernel, name);
    cr_assert_float_eq(sum.weighted, want.weighted, 1e-13 * want.sumabs, "%s %s: input %s", r->workload, r->kernel,
                       name);
  }
}

/* Straight-line code of 10,000 operations and more is for timing compilers, not for testing values again. */
static bool is_value_tested(const wl_reference *r) {
  return !wl_is_derivative(r->kernel) && (strcmp(r->workload, "straight") || r->problem.size[0] <= 1000);
}

/* Derivatives at the sizes that compilers are done with in a second or so; the benchmark driver gates the others
 * (tools/bench). */
static bool is_derivative_tested(const wl_reference *r) {
  static const wl_problem largest[] = {{"race_car", {50}}, {"chain", {3, 20}}, {"npmpc", {16, 12}}, {"quadrotor", {2}},
                                       {"arm7", {64}},     {"wave", {4096}},   {"rosen", {1000}},   {"mlp", {32}}};
  if (!wl_is_derivative(r->kernel)) return false;
  for (size_t i = 0; i < sizeof largest / sizeof *largest; i++)
    if (!strcmp(largest[i].workload, r->workload))
      return r->problem.size[0] <= largest[i].size[0] && r->problem.size[1] <= largest[i].size[1];
  return false;
}

static void check_kernel(sc_context *cx, const wl_reference *r) {
  char what[128], size[64], why[512];
  snprintf(what, sizeof what, "%s %s %s", r->workload, wl_size_text(&r->problem, size), r->kernel);
  sc_function *f = wl_kernel(cx, &r->problem, r->kernel);
  cr_assert(f, "%s: %s", what, error_of(cx));
  cr_expect(wl_pattern_agrees(r, sc_function_output_pattern(f, 0), why, sizeof why), "%s: %s", what, why);
  sc_program *p = diff_lower(f, SC_ROUNDING_DEFAULT, NULL);
  cr_assert(p, "%s: %s", what, error_of(cx));
  diff_io io = diff_io_open(f);
  fill(&io, r);
  int64_t n = sc_expr_size(sc_function_output(f, 0));
  double *by_first = NULL;
  for (diff_way way = 0; way < DIFF_PLAIN; way++) {
    if (!diff_way_exists(way)) continue;
    sc_kernel *k = diff_compile(way, p, wl_is_derivative(r->kernel) ? "-O1" : NULL);
    cr_assert(k, "%s, %s: %s", what, diff_way_name(way), error_of(cx));
    diff_io_clear_outputs(&io);
    cr_assert_eq(sc_kernel_call(k, diff_in(&io), io.out, NULL), SC_KERNEL_SUCCESS, "%s", what);
    cr_expect(wl_agrees(r, n, io.out[0], wl_tolerance(r->kernel), why, sizeof why), "%s, %s: %s", what,
              diff_way_name(way), why);
    if (!by_first) {
      by_first = malloc((size_t)n * sizeof *by_first);
      memcpy(by_first, io.out[0], (size_t)n * sizeof *by_first);
    }
    int64_t at = ora_first_difference(SC_FLOAT64, n, io.out[0], by_first);
    cr_expect_lt(at, 0, "%s: value %" PRId64 " by %s has other bits than by the first compiler", what, at,
                 diff_way_name(way));
    sc_kernel_release(k);
  }
  free(by_first);
  diff_io_close(&io);
  sc_program_destroy(p);
}

static void check_workloads(size_t from, size_t to, bool is_tested(const wl_reference *r)) {
  wl_references all;
  cr_assert(wl_read_references(FOLDER "reference.txt", &all));
  int checked = 0;
  for (size_t w = from; w < to; w++) {
    for (size_t i = 0; i < all.n; i++) {
      if (!is_tested(&all.all[i]) || strcmp(all.all[i].workload, wl_name(w))) continue;
      sc_context *cx = sc_context_create(NULL);
      check_kernel(cx, &all.all[i]);
      sc_context_destroy(cx);
      checked++;
    }
  }
  cr_expect_gt(checked, 0);
  wl_free_references(&all);
}

Test(workloads, control_values, .timeout = 240) {
  check_workloads(0, 4, is_value_tested);
}

Test(workloads, other_values, .timeout = 240) {
  check_workloads(4, wl_count(), is_value_tested);
}

Test(workloads, control_derivatives, .timeout = 600) {
  check_workloads(0, 4, is_derivative_tested);
}

Test(workloads, other_derivatives, .timeout = 600) {
  check_workloads(4, wl_count(), is_derivative_tested);
}

/* The gate can fail: one value moved by a bit more than the tolerance. */
Test(workloads, gate_fails_on_a_wrong_value) {
  wl_references all;
  cr_assert(wl_read_references(FOLDER "reference.txt", &all));
  const wl_reference *r = wl_find_reference(&all, &(wl_problem){"race_car", {10}}, "eq");
  cr_assert(r && r->values);
  int64_t n = r->sum.count;
  double *v = malloc((size_t)n * sizeof *v), largest = 0;
  char why[256];
  memcpy(v, r->values, (size_t)n * sizeof *v);
  for (int64_t i = 0; i < n; i++) largest = v[i] > largest ? v[i] : -v[i] > largest ? -v[i] : largest;
  cr_expect(wl_agrees(r, n, v, 1e-12, why, sizeof why), "%s", why);
  v[n - 1] += 3e-12 * largest;
  cr_expect(!wl_agrees(r, n, v, 1e-12, why, sizeof why));
  v[n - 1] = r->values[n - 1];
  cr_expect(!wl_agrees(r, n - 1, v, 1e-12, why, sizeof why));
  free(v);

  /* A pattern with a row too far, known in full and by its sums. */
  for (int n_stages = 10; n_stages <= 200; n_stages += 190) {
    r = wl_find_reference(&all, &(wl_problem){"race_car", {n_stages}}, "spjac:eq:z");
    sc_context *cx = sc_context_create(NULL);
    sc_function *f = r ? wl_kernel(cx, &r->problem, r->kernel) : NULL;
    cr_assert(f, "%s", error_of(cx));
    sc_pattern p = *sc_function_output_pattern(f, 0);
    cr_expect(wl_pattern_agrees(r, &p, why, sizeof why), "%s", why);
    cr_expect(!wl_pattern_agrees(r, NULL, why, sizeof why));
    int32_t *inner = malloc((size_t)p.nnz * sizeof *inner);
    memcpy(inner, p.inner, (size_t)p.nnz * sizeof *inner);
    inner[p.nnz / 2]++;
    p.inner = inner;
    cr_expect(!wl_pattern_agrees(r, &p, why, sizeof why));
    free(inner);
    sc_context_destroy(cx);
  }
  wl_free_references(&all);
}
