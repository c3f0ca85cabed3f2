/* Owns the tests of patterns, colorings and recovery maps as callers see them: every matrix must come back from its
 * products. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/ad/ways.h"

static uint64_t state;
static uint64_t next(void) {
  state += 0x9E3779B97F4A7C15u;
  uint64_t z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* A matrix in full and its pattern in some layout. Values are small integers: products and substitution are exact. */
typedef struct matrix {
  int64_t m, n;
  double *full;
  sc_pattern p;
  int32_t *outer, *inner;
} matrix;

static void compress(matrix *a, sc_layout layout) {
  a->outer = calloc((size_t)(a->m * a->n + a->m + a->n) + 1, sizeof *a->outer);
  a->inner = calloc((size_t)(a->m * a->n) + 1, sizeof *a->inner);
  int64_t nnz = 0, by_column = layout == SC_CSC, outer = by_column ? a->n : a->m, inner = by_column ? a->m : a->n;
  for (int64_t i = 0; i < outer; i++) {
    for (int64_t j = 0; j < inner; j++) {
      if (a->full[by_column ? j * a->n + i : i * a->n + j] == 0) continue;
      if (layout == SC_COO) a->outer[nnz] = (int32_t)i;
      a->inner[nnz++] = (int32_t)j;
    }
    if (layout != SC_COO) a->outer[i + 1] = (int32_t)nnz;
  }
  a->p = (sc_pattern){layout, a->m, a->n, nnz, a->outer, a->inner};
}

static matrix random_matrix(int64_t m, int64_t n, int percent, bool symmetric, sc_layout layout) {
  matrix a = {m, n, calloc((size_t)(m * n) + 1, sizeof(double)), {0}, NULL, NULL};
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      if (next() % 100 < (uint64_t)percent) {
        double v = (double)(next() % 19) - 9.5;
        a.full[i * n + j] = v;
        if (symmetric) a.full[j * n + i] = v;
      }
  if (n == 1 && m > 2) a.full[m - 1] = 2.5;
  compress(&a, layout);
  return a;
}

static void free_matrix(matrix *a) {
  free(a->full), free(a->outer), free(a->inner);
}

static void position(const sc_pattern *p, int64_t k, int64_t *row, int64_t *col) {
  int64_t outer = p->layout == SC_COO ? p->outer[k] : 0;
  while (p->layout != SC_COO && p->outer[outer + 1] <= k) outer++;
  *row = p->layout == SC_CSC ? p->inner[k] : outer;
  *col = p->layout == SC_CSC ? outer : p->inner[k];
}

/* Products of the groups, then every nonzero by the map. */
static void check_recovery(const matrix *a, const sc_coloring *c, const char *what) {
  cr_assert(c, "%s", what);
  cr_assert(c->nrow == a->m && c->ncol == a->n && c->nnz == a->p.nnz);
  double *forward = calloc((size_t)(c->column_colors * a->m) + 1, sizeof *forward),
         *reverse = calloc((size_t)(c->row_colors * a->n) + 1, sizeof *reverse),
         *value = calloc((size_t)c->nnz + 1, sizeof *value);
  for (int64_t i = 0; i < a->m; i++)
    for (int64_t j = 0; j < a->n; j++) {
      double v = a->full[i * a->n + j];
      if (c->column_color && c->column_color[j] >= 0) forward[c->column_color[j] * a->m + i] += v;
      if (c->row_color && c->row_color[i] >= 0) reverse[c->row_color[i] * a->n + j] += v;
    }
  for (int64_t s = 0; s < c->nnz; s++) {
    int64_t k = c->sequence ? c->sequence[s] : s, row, col;
    value[k] = c->reverse[k] ? reverse[c->product[k] * a->n + c->at[k]] : forward[c->product[k] * a->m + c->at[k]];
    for (int32_t t = c->subtract_ptr ? c->subtract_ptr[k] : 0; c->subtract_ptr && t < c->subtract_ptr[k + 1]; t++)
      value[k] -= value[c->subtract[t]];
    position(&a->p, k, &row, &col);
    cr_expect_eq(value[k], a->full[row * a->n + col], "%s, %s: entry %d, %d of %d by %d", what,
                 sc_coloring_method_name(c->method), (int)row, (int)col, (int)a->m, (int)a->n);
  }
  free(forward), free(reverse), free(value);
}

Test(coloring, every_matrix_comes_back) {
  sc_context *cx = sc_context_create(NULL);
  static const sc_layout layouts[] = {SC_CSC, SC_CSR, SC_COO};
  static const int64_t sizes[] = {0, 1, 2, 5, 17, 64, 65};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int trial = 0; trial < 12; trial++) {
      int64_t n = sizes[s], m = trial % 2 ? n : n / 2 + 1;
      int percent = trial < 4 ? 3 : trial < 8 ? 12 : 60;
      matrix a = random_matrix(m, n, percent, false, layouts[trial % 3]);
      for (sc_coloring_method method = SC_COLORING_AUTO; method <= SC_COLORING_BIDIRECTIONAL; method++)
        for (sc_coloring_order order = SC_ORDER_AUTO; order <= SC_ORDER_LARGEST_FIRST; order++) {
          const sc_coloring *c =
              sc_coloring_jacobian(cx, &a.p, &(sc_coloring_options){.method = method, .order = order});
          check_recovery(&a, c, "Jacobian");
          if (m && (method == SC_COLORING_COLUMN || method == SC_COLORING_ROW)) cr_expect_eq(c->method, method);
          sc_coloring_destroy(c);
        }
      free_matrix(&a);
      matrix h = random_matrix(n, n, percent, true, layouts[trial % 3]);
      int32_t colors[2] = {0, 0};
      for (sc_coloring_method method = SC_COLORING_STAR; method <= SC_COLORING_ACYCLIC; method++)
        for (sc_coloring_order order = SC_ORDER_AUTO; order <= SC_ORDER_LARGEST_FIRST; order++) {
          const sc_coloring *c =
              sc_coloring_hessian(cx, &h.p, &(sc_coloring_options){.method = method, .order = order});
          check_recovery(&h, c, "Hessian");
          cr_expect(c->method == method && c->row_colors == 0);
          cr_expect(order == SC_ORDER_AUTO || c->order == order);
          if (order == SC_ORDER_AUTO) colors[method - SC_COLORING_STAR] = c->column_colors;
          sc_coloring_destroy(c);
        }
      cr_expect_leq(colors[1], colors[0], "acyclic %d, star %d", (int)colors[1], (int)colors[0]);
      free_matrix(&h);
    }
  cr_expect_null(sc_context_error(cx));
  sc_context_destroy(cx);
}

/* A band of width b needs 2 b + 1 star colors, b + 1 acyclic ones; a dense row is one reverse product. */
Test(coloring, known_numbers) {
  sc_context *cx = sc_context_create(NULL);
  matrix h = {40, 40, calloc(1600, sizeof(double)), {0}, NULL, NULL};
  for (int64_t i = 0; i < 40; i++)
    for (int64_t j = i > 2 ? i - 2 : 0; j < 40 && j <= i + 2; j++) h.full[i * 40 + j] = (double)(i + j + 1);
  compress(&h, SC_CSC);
  for (int cost = 0; cost < 3; cost++) { /* levels of substitution run along the band: too many for AUTO */
    const sc_coloring *c =
        sc_coloring_hessian(cx, &h.p,
                            &(sc_coloring_options){.product_cost = cost == 1 ? 1e6 : 0,
                                                   .method = cost == 2 ? SC_COLORING_ACYCLIC : SC_COLORING_AUTO});
    check_recovery(&h, c, "band");
    cr_expect_eq(c->method, cost == 2 ? SC_COLORING_ACYCLIC : SC_COLORING_STAR);
    cr_expect_eq(c->column_colors, cost == 2 ? 3 : 5, "%d colors", (int)c->column_colors);
    sc_coloring_destroy(c);
  }
  free_matrix(&h);
  matrix blocks = {80, 80, calloc(6400, sizeof(double)), {0}, NULL, NULL}; /* paths of four */
  for (int64_t i = 0; i < 80; i++) {
    blocks.full[i * 80 + i] = 3;
    if (i % 4) blocks.full[i * 80 + i - 1] = blocks.full[(i - 1) * 80 + i] = (double)i;
  }
  compress(&blocks, SC_CSR);
  const sc_coloring *c = sc_coloring_hessian(cx, &blocks.p, &(sc_coloring_options){.product_cost = 1e4});
  check_recovery(&blocks, c, "paths");
  cr_expect(c->method == SC_COLORING_ACYCLIC && c->column_colors == 2);
  sc_coloring_destroy(c);
  free_matrix(&blocks);
  matrix arrow = {30, 30, calloc(900, sizeof(double)), {0}, NULL, NULL};
  for (int64_t i = 0; i < 30; i++) arrow.full[i] = arrow.full[i * 30 + i] = (double)i + 1;
  compress(&arrow, SC_COO);
  c = sc_coloring_jacobian(cx, &arrow.p, NULL);
  check_recovery(&arrow, c, "row and diagonal");
  cr_expect(c->method == SC_COLORING_BIDIRECTIONAL && c->column_colors == 1 && c->row_colors == 1);
  sc_coloring_destroy(c);
  free_matrix(&arrow);
  sc_context_destroy(cx);
}

/* Dense first row, column and diagonal: two star colors, in time that does not grow with the square of the degree. */
Test(coloring, large_arrow) {
  enum { N = 100000 };
  int32_t *ptr = malloc((N + 1) * sizeof *ptr), *row = malloc(3 * N * sizeof *row), nnz = 0;
  for (int32_t j = 0; j < N; j++) {
    ptr[j] = nnz;
    for (int32_t i = 0; i < (j ? 1 : N); i++) row[nnz++] = i;
    if (j) row[nnz++] = j;
  }
  ptr[N] = nnz;
  sc_context *cx = sc_context_create(NULL);
  for (int cost = 0; cost < 2; cost++) {
    const sc_coloring *c = sc_coloring_hessian(cx, &(sc_pattern){SC_CSC, N, N, nnz, ptr, row},
                                               &(sc_coloring_options){.product_cost = cost * 1e6});
    cr_assert(c && c->method == SC_COLORING_STAR);
    cr_expect_eq(c->column_colors, 2);
    sc_coloring_destroy(c);
  }
  sc_context_destroy(cx);
  free(ptr), free(row);
}

Test(coloring, refusals) {
  sc_context *cx = sc_context_create(NULL);
  int32_t ptr[] = {0, 1, 2}, ind[] = {0, 1}, off[] = {1, 1}, wrong[] = {0, 5};
  sc_pattern diagonal = {SC_CSC, 2, 2, 2, ptr, ind}, uneven = {SC_CSC, 2, 2, 2, ptr, off},
             outside = {SC_CSC, 2, 2, 2, ptr, wrong};
  static const struct {
    bool hessian;
    int pattern;
    sc_coloring_options options;
    const char *says;
  } cases[] = {
      {true, 1, {0}, "not symmetric"},
      {true, 2, {0}, "leaves its matrix"},
      {false, 2, {0}, "leaves its matrix"},
      {false, 3, {0}, "missing"},
      {true, 0, {.method = SC_COLORING_ROW}, "row is for Jacobians"},
      {false, 0, {.method = SC_COLORING_STAR}, "star is for Hessians"},
      {false, 0, {.method = (sc_coloring_method)9}, "unknown"},
      {false, 0, {.reverse_weight = -1}, "negative"},
  };
  const sc_pattern *patterns[] = {&diagonal, &uneven, &outside, NULL};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const sc_pattern *p = patterns[cases[i].pattern];
    cr_expect_null(cases[i].hessian ? sc_coloring_hessian(cx, p, &cases[i].options)
                                    : sc_coloring_jacobian(cx, p, &cases[i].options));
    const sc_diagnostic *e = sc_context_error(cx);
    cr_expect(e && strstr(e->message, cases[i].says), "case %d: %s", (int)i, e ? e->message : "accepted");
    sc_context_clear_error(cx);
  }
  sc_coloring_destroy(NULL);
  sc_sparsity_destroy(NULL);
  sc_context_destroy(cx);
}

/* ---- of functions ---- */

static bool same_pattern(const sc_pattern *a, const sc_pattern *b) {
  int64_t outer = a->layout == SC_CSC ? a->ncol + 1 : a->layout == SC_CSR ? a->nrow + 1 : a->nnz;
  return a->layout == b->layout && a->nrow == b->nrow && a->ncol == b->ncol && a->nnz == b->nnz &&
         !memcmp(a->outer, b->outer, (size_t)outer * sizeof *a->outer) &&
         !memcmp(a->inner, b->inner, (size_t)a->nnz * sizeof *a->inner);
}

/* n paths of four, coupled within (elements i and i + 1 of each), behind an operation that hides the structure. */
static sc_function *paths(sc_context *cx, int64_t n) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 2, (int64_t[]){n, 4}), s = sc_sin(x), sum = sc_scalar(cx, 0);
  for (int64_t k = 0; k < 3; k++) {
    sc_range left[] = {{0, n, 1}, {k, k + 1, 1}}, right[] = {{0, n, 1}, {k + 1, k + 2, 1}};
    sum = sc_add(sum, sc_sum(sc_exp(sc_mul(sc_slice(s, 2, left), sc_slice(s, 2, right)))));
  }
  return sc_function_create(cx, "paths", SC_IN({"x", x, NULL}), SC_OUT({"f", sum, NULL}, {"s", s, NULL}));
}

Test(coloring, patterns_and_reports_of_functions) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = paths(cx, 3);
  size_t nodes = sc_context_node_count(cx);
  static const sc_layout layouts[] = {SC_CSC, SC_CSR, SC_COO};
  for (int k = 0; k < 3; k++) {
    sc_sparsity *s[] = {sc_sparsity_jacobian(f, "s", "x", layouts[k]),
                        sc_sparsity_hessian(f, "f", "x", SC_TRIANGLE_FULL, layouts[k]),
                        sc_sparsity_hessian(f, NULL, "x", SC_TRIANGLE_LOWER, layouts[k])};
    cr_expect_eq(sc_context_node_count(cx), nodes, "patterns leave nodes behind");
    sc_request r[] = {SC_SPJAC("s", "x"), SC_SPHESS("f", "x", SC_TRIANGLE_FULL), SC_SPLAGHESS("x", SC_TRIANGLE_LOWER)};
    for (int i = 0; i < 3; i++) {
      r[i].layout = layouts[k];
      sc_function *g = sc_function_derive(f, NULL, &r[i], 1, NULL);
      cr_assert(s[i] && g);
      cr_expect(same_pattern(sc_sparsity_pattern(s[i]), sc_function_output_pattern(g, 0)), "pattern %d, layout %d", i,
                k);
      sc_matrix_report report;
      cr_expect_eq(sc_function_matrices(g, &report, 1), 1);
      cr_expect_eq(report.nnz, sc_sparsity_pattern(s[i])->nnz);
      cr_expect_str_eq(report.output, sc_function_output_name(g, 0));
      sc_sparsity_destroy(s[i]);
      nodes = sc_context_node_count(cx);
    }
  }
  cr_expect_null(sc_sparsity_jacobian(f, "nothing", "x", SC_CSC));
  cr_expect(strstr(sc_context_error(cx)->message, "no output 'nothing'"));
  sc_context_destroy(cx);
}

/* Where products are long, their number decides; where they are short, or NaN matters, every entry stands alone. */
Test(coloring, hessians_by_cost) {
  static const struct {
    int64_t n;
    bool strict;
    sc_coloring_method method;
    int32_t colors;
  } cases[] = {{4, false, SC_COLORING_STAR, 3}, {700, false, SC_COLORING_ACYCLIC, 2}, {700, true, SC_COLORING_STAR, 3}};
  double *value[3] = {NULL};
  for (int i = 0; i < 3; i++) {
    sc_context *cx = sc_context_create(NULL);
    sc_function *g = way_derive(paths(cx, cases[i].n), (const char *const[]){"sphess:f:x"}, 1,
                                &(sc_options){.strict_nan = cases[i].strict});
    sc_matrix_report report;
    cr_assert_eq(sc_function_matrices(g, &report, 1), 1);
    cr_expect(report.method == cases[i].method && report.column_colors == cases[i].colors, "case %d: %s, %d colors", i,
              sc_coloring_method_name(report.method), (int)report.column_colors);
    double *in = calloc((size_t)cases[i].n * 4, sizeof *in);
    for (int64_t k = 0; k < cases[i].n * 4; k++) in[k] = 0.3 + fmod((double)k * 0.6180339887498949, 1.0);
    value[i] = calloc((size_t)report.nnz, sizeof(double));
    cr_assert(way_run(g, 0, in, value[i]));
    free(in);
    sc_context_destroy(cx);
  }
  for (int64_t k = 0; k < 700 * 10; k++)
    cr_expect(fabs(value[1][k] - value[2][k]) < 1e-13 && (k >= 40 || fabs(value[0][k] - value[2][k]) < 1e-14),
              "value %d: %g, %g", (int)k, value[1][k], value[2][k]);
  for (int i = 0; i < 3; i++) free(value[i]);
}
