/* Owns the differential tests of matrix products and long reductions: every form of their loops, through the oracles
 * and all ways of compiling. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/diff/diff.h"

enum { MOST = 64 };

typedef struct builder {
  sc_context *cx;
  sc_named in[MOST], out[MOST];
  size_t n_in, n_out;
  char names[2 * MOST][16];
} builder;

static sc_expr input(builder *b, sc_dtype dtype, int rank, const int64_t *shape) {
  char *name = b->names[b->n_in];
  snprintf(name, sizeof *b->names, "x%zu", b->n_in);
  sc_expr e = sc_input(b->cx, name, dtype, rank, shape);
  b->in[b->n_in++] = (sc_named){.name = name, .expr = e};
  return e;
}

static void output(builder *b, sc_expr e) {
  cr_assert(!sc_is_null(e), "%s", sc_context_error(b->cx)->message);
  char *name = b->names[MOST + b->n_out];
  snprintf(name, sizeof *b->names, "y%zu", b->n_out);
  b->out[b->n_out++] = (sc_named){.name = name, .expr = e};
}

static void check(builder *b, const char *name, bool spawns) {
  char why[512] = "";
  sc_function *f = sc_function_create(b->cx, name, b->in, b->n_in, b->out, b->n_out);
  cr_assert(f, "%s", sc_context_error(b->cx)->message);
  diff_checks checks = {.way = {diff_way_exists(DIFF_JIT), diff_way_exists(DIFF_FAST),
                                spawns && diff_way_exists(DIFF_GCC), spawns && diff_way_exists(DIFF_CLANG)}};
  cr_expect(diff_check(f, 7, &checks, why, sizeof why), "%s: %s", name, why);
  sc_context_destroy(b->cx);
}

/* (m, k) by (k, n); either operand may be stored transposed, and so may the result. */
static void product(builder *b, sc_dtype dtype, int64_t m, int64_t k, int64_t n, int transposed) {
  bool of_a = transposed & 1, of_b = transposed & 2, of_c = transposed & 4;
  sc_expr x = input(b, dtype, 2, of_a ? (int64_t[]){k, m} : (int64_t[]){m, k});
  sc_expr y = input(b, dtype, 2, of_b ? (int64_t[]){n, k} : (int64_t[]){k, n});
  sc_expr c = sc_matmul(of_a ? sc_transpose(x) : x, of_b ? sc_transpose(y) : y);
  output(b, of_c ? sc_transpose(c) : c);
}

/* Sizes around lanes, tiles and stretches of columns. */
Test(products, small, .timeout = 240) {
  static const int64_t sizes[][3] = {{1, 1, 1},  {1, 9, 5},   {2, 17, 8}, {3, 5, 21},  {4, 4, 4},   {5, 7, 3},
                                     {7, 3, 2},  {13, 2, 1},  {8, 8, 8},  {12, 5, 16}, {13, 6, 15}, {25, 3, 32},
                                     {6, 1, 33}, {1, 16, 64}, {3, 33, 9}, {40, 9, 3}};
  for (int transposed = 0; transposed < 8; transposed++) {
    builder b = {.cx = sc_context_create(NULL)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      product(&b, i % 5 == 3 ? SC_FLOAT32 : SC_FLOAT64, sizes[i][0], sizes[i][1], sizes[i][2], transposed);
    check(&b, "small", transposed == 0 || transposed == 3);
  }
}

/* Past the level-1 cache: panels, the wider last one, odd columns, more than one block of terms, single rows and
 * columns left over. */
Test(products, packed, .timeout = 240) {
  static const int64_t sizes[][3] = {{26, 66, 34}, {27, 70, 49}, {29, 300, 32}};
  for (int transposed = 0; transposed < 4; transposed++) {
    builder b = {.cx = sc_context_create(NULL)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      product(&b, SC_FLOAT64, sizes[i][0], sizes[i][1], sizes[i][2], transposed);
    product(&b, SC_FLOAT32, 25, 129, 65, transposed);
    check(&b, "packed", transposed == 1);
  }
}

/* Integers wrap, and have no lanes. */
Test(products, integers) {
  builder b = {.cx = sc_context_create(NULL)};
  product(&b, SC_INT64, 5, 3, 9, 0);
  product(&b, SC_INT32, 2, 11, 12, 2);
  check(&b, "integers", false);
}

/* An operand of equal elements has no memory; a product inside a larger tensor is stored where it belongs. */
Test(products, operands) {
  builder b = {.cx = sc_context_create(NULL)};
  sc_expr x = input(&b, SC_FLOAT64, 2, (int64_t[]){30, 70}), s = input(&b, SC_FLOAT64, 0, NULL);
  sc_expr same = sc_broadcast(s, 2, (int64_t[]){70, 40});
  output(&b, sc_matmul(x, same));
  output(&b, sc_matmul(sc_broadcast(s, 2, (int64_t[]){40, 30}), x));
  output(&b, sc_concat((sc_expr[]){sc_matmul(x, sc_transpose(x)), sc_exp(x)}, 2, 1));
  output(&b, sc_matmul(sc_exp(x), sc_transpose(sc_sin(x))));
  check(&b, "operands", false);
}

/* Sums, maxima and products by vectors whose lengths are around the partial sums and blocks, along memory and across.
 */
Test(products, reductions, .timeout = 240) {
  static const int64_t lengths[] = {63, 64, 65, 95, 96, 100, 127, 1000, 4096, 4097, 8200};
  for (sc_dtype dtype = SC_FLOAT64; dtype <= SC_FLOAT32; dtype++) {
    builder b = {.cx = sc_context_create(NULL)};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      int64_t n = lengths[i];
      sc_expr x = input(&b, dtype, 1, &n), y = input(&b, dtype, 1, &n);
      output(&b, sc_sum(x));
      output(&b, sc_matmul(x, y));
      output(&b, sc_max(sc_mul(x, y)));
    }
    check(&b, "reductions", dtype == SC_FLOAT64);
  }
}

Test(products, axes, .timeout = 240) {
  builder b = {.cx = sc_context_create(NULL)};
  for (int64_t n = 64; n <= 100; n += 36) {
    sc_expr x = input(&b, SC_FLOAT64, 2, (int64_t[]){n, 9}), y = input(&b, SC_FLOAT64, 2, (int64_t[]){3, n}),
            v = input(&b, SC_FLOAT64, 1, &n);
    sc_expr z = input(&b, SC_FLOAT32, 3, (int64_t[]){4, 32, 11});
    output(&b, sc_sum_axes(x, 1, (int[]){0}));
    output(&b, sc_sum_axes(y, 1, (int[]){1}));
    output(&b, sc_min_axes(sc_exp(x), 1, (int[]){0}));
    output(&b, sc_matmul(sc_transpose(x), v));
    output(&b, sc_matmul(y, v));
    output(&b, sc_sum_axes(z, 2, (int[]){0, 1}));
    output(&b, sc_sum_axes(z, 2, (int[]){1, 2}));
  }
  check(&b, "axes", true);
}
