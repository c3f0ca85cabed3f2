/* Owns the enumerated test of every structural operation over ranks 0 to 4 with sizes 0, 1, odd and even, in every
 * dtype. One function per shape holds all of a shape's results, so that a compiler is started once for hundreds of
 * cases. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/diff/diff.h"

enum { MAX_OUTPUTS = 1024 };

typedef struct suite {
  sc_context *cx;
  int n_in, n_out;
  char in_names[16][16], (*out_names)[16];
  sc_named in[16], *out;
} suite;

static sc_expr input(suite *s, sc_dtype dtype, int rank, const int64_t *shape) {
  snprintf(s->in_names[s->n_in], 16, "x%d", s->n_in);
  sc_expr e = sc_input(s->cx, s->in_names[s->n_in], dtype, rank, shape);
  s->in[s->n_in] = (sc_named){s->in_names[s->n_in], e, NULL};
  s->n_in++;
  return e;
}

static void output(suite *s, sc_expr e) {
  cr_assert(!sc_is_null(e), "output %d: %s", s->n_out,
            sc_context_error(s->cx) ? sc_context_error(s->cx)->message : "null operand");
  cr_assert(s->n_out < MAX_OUTPUTS);
  snprintf(s->out_names[s->n_out], 16, "y%d", s->n_out);
  s->out[s->n_out] = (sc_named){s->out_names[s->n_out], e, NULL};
  s->n_out++;
}

/* ---- families, each for one operand ---- */

static bool is_number(sc_expr x) {
  return sc_expr_dtype(x) != SC_BOOL;
}

static void reductions(suite *s, sc_expr x) {
  int rank = sc_expr_rank(x);
  if (!is_number(x)) return;
  output(s, sc_sum(x));
  if (sc_expr_size(x)) output(s, sc_max(x)), output(s, sc_min(x));
  if (sc_expr_size(x) && (sc_expr_dtype(x) == SC_FLOAT64 ||
                          sc_expr_dtype(x) == SC_FLOAT32)) { /* zeros of both signs: which one is a matter of order */
    sc_expr zeros = sc_mul(x, sc_number(s->cx, sc_expr_dtype(x), 0));
    output(s, sc_max(zeros)), output(s, sc_min(zeros));
  }
  for (int mask = 0; mask < 1 << rank; mask++) {
    int axes[4], n = 0;
    int64_t each = 1;
    for (int k = 0; k < rank; k++)
      if (mask >> k & 1) axes[n++] = k, each *= sc_expr_shape(x)[k];
    output(s, sc_sum_axes(x, n, axes));
    if (!each) continue;
    output(s, sc_max_axes(x, n, axes));
    output(s, sc_min_axes(x, n, axes));
  }
}

static void shapes(suite *s, sc_expr x) {
  int rank = sc_expr_rank(x);
  int64_t shape[SC_MAX_RANK] = {0}, size = sc_expr_size(x);
  output(s, sc_vec(x));
  output(s, sc_reshape(x, 3, (const int64_t[]){1, size, 1}));
  for (int k = 0; k < rank; k++) shape[k] = sc_expr_shape(x)[rank - 1 - k];
  output(s, sc_reshape(x, rank, shape));
  output(s, sc_transpose(x));
  output(s, sc_transpose(sc_reshape(x, rank, shape)));
  int axes[4];
  for (int turn = 1; turn < rank; turn++) {
    for (int k = 0; k < rank; k++) axes[k] = (k + turn) % rank;
    output(s, sc_transpose_axes(x, axes));
  }
  for (int k = 0; k < rank; k++) shape[k + 1] = sc_expr_shape(x)[k];
  for (int64_t lead = 0; lead < 4; lead++) {
    shape[0] = lead;
    output(s, sc_broadcast(x, rank + 1, shape));
  }
  for (int k = 0; k < rank; k++) shape[k] = sc_expr_shape(x)[k] == 1 ? 3 : sc_expr_shape(x)[k];
  output(s, sc_broadcast(x, rank, shape));
  output(s, sc_stop_gradient(x));
}

static void slices(suite *s, sc_expr x) {
  const sc_range ranges[] = {
      SC_ALL,    {SC_NONE, SC_NONE, -1}, {SC_NONE, SC_NONE, 2}, {1, SC_NONE, 1},  {SC_NONE, -1, 1},
      {0, 0, 1}, {-1, SC_NONE, -2},      {SC_NONE, SC_NONE, 3}, {-2, SC_NONE, 1}, {5, 1, 1}};
  enum { RANGES = sizeof ranges / sizeof *ranges };
  int rank = sc_expr_rank(x);
  sc_range index[4];
  for (int i = 0; i < RANGES; i++) {
    for (int k = 0; k < rank; k++) index[k] = ranges[i];
    output(s, sc_slice(x, rank, index));
    for (int k = 0; k < rank; k++) index[k] = ranges[(i + 3 * k) % RANGES];
    output(s, sc_slice(x, rank, index));
  }
  for (int axis = 0; axis < rank; axis++) {
    if (!sc_expr_shape(x)[axis]) continue;
    for (int k = 0; k < rank; k++) index[k] = ranges[(k + axis) % 5];
    index[axis] = SC_AT(0);
    output(s, sc_slice(x, axis + 1, index));
    index[axis] = SC_AT(-1);
    output(s, sc_slice(x, rank, index));
  }
}

static void tables(suite *s, sc_expr x, rng *r) {
  int64_t size = sc_expr_size(x), at[64];
  output(s, sc_gather(x, at, 1, (const int64_t[]){0}));
  for (int kind = 0; size && kind < 4; kind++) {
    int64_t step = kind == 1 ? 1 : kind == 2 ? -1 : 2;
    for (int64_t k = 0; k < 12; k++)
      at[k] = kind == 0   ? rng_below(r, 2 * size) - size
              : kind == 3 ? (k % 3) % size
                          : ((k * step) % size + size) % size;
    output(s, sc_gather(x, at, 2, (const int64_t[]){3, 4}));
    output(s, sc_gather(x, at, 0, NULL));
  }
  if (!is_number(x) || size > 64) return;
  for (int kind = 0; kind < 4; kind++) {
    int64_t n = kind == 0 ? 5 : size + 2;
    for (int64_t k = 0; k < size; k++)
      at[k] = kind == 0 ? rng_below(r, n) : kind == 1 ? k : kind == 2 ? size - k : -1 - k;
    const int64_t flat[] = {n};
    sc_expr base = sc_cast(sc_linspace(s->cx, SC_FLOAT64, -2, 3, n), sc_expr_dtype(x));
    output(s, sc_scatter(x, at, 1, flat));
    output(s, sc_index_add(base, x, at));
    output(s, sc_index_set(base, x, at));
  }
}

static void joins(suite *s, sc_expr x, sc_expr y) {
  int rank = sc_expr_rank(x);
  const sc_expr parts[] = {x, y, sc_select(is_number(x) ? sc_lt(x, y) : x, y, x)};
  for (int axis = -1; axis <= rank; axis++) {
    output(s, sc_stack(parts, 3, axis));
    output(s, sc_stack(parts, 1, axis));
  }
  for (int axis = 0; axis < rank; axis++) {
    sc_range index[4] = {SC_ALL, SC_ALL, SC_ALL, SC_ALL};
    index[axis] = SC_SPAN(1, SC_NONE);
    const sc_expr uneven[] = {x, sc_slice(y, rank, index), x};
    output(s, sc_concat(parts, 3, axis));
    output(s, sc_concat(uneven, 3, axis - rank));
  }
}

static void mixtures(suite *s, sc_expr x, sc_expr y) {
  int rank = sc_expr_rank(x);
  if (!is_number(x)) {
    output(s, sc_and(x, sc_not(y)));
    return;
  }
  sc_range index[4] = {SC_ALL, SC_ALL, SC_ALL, SC_ALL};
  for (int axis = 0; axis < rank; axis++) {
    if (!sc_expr_shape(x)[axis]) continue;
    index[axis] = SC_SPAN(0, 1);
    output(s, sc_add(x, sc_slice(y, rank, index)));
    output(s, sc_mul(sc_slice(y, rank, index), x));
    index[axis] = SC_ALL;
  }
  output(s, sc_sub(x, sc_like(y, 1)));
  output(s, sc_sum(sc_mul(x, y)));
  output(s, sc_neg(sc_transpose(sc_add(x, y))));
}

static void products(suite *s, sc_expr x, sc_expr y) {
  int rank = sc_expr_rank(x);
  if (!is_number(x) || rank < 1 || rank > 2) return;
  int64_t inner = sc_expr_shape(x)[rank - 1];
  sc_expr flat = sc_vec(y);
  output(s, sc_matmul(x, rank == 1 ? y : sc_transpose(y)));
  if (sc_expr_size(y) >= inner) output(s, sc_matmul(x, sc_span(flat, 0, inner)));
  if (rank == 2) output(s, sc_matmul(sc_transpose(x), y));
  if (rank == 2 && sc_expr_size(y) >= sc_expr_shape(x)[0])
    output(s, sc_matmul(sc_span(flat, 0, sc_expr_shape(x)[0]), x));
  for (int64_t columns = 0; columns < 4; columns++) {
    sc_expr wide =
        sc_broadcast(sc_reshape(sc_vec(sc_span(flat, 0, 1)), 2, (const int64_t[]){sc_expr_size(y) ? 1 : 0, 1}), 2,
                     (const int64_t[]){sc_expr_size(y) ? inner : 0, columns});
    if (sc_expr_size(y)) output(s, sc_matmul(x, wide));
  }
}

static void calls(suite *s, sc_expr x, sc_expr y) {
  int rank = sc_expr_rank(x);
  const int64_t *shape = sc_expr_shape(x);
  sc_dtype dtype = sc_expr_dtype(x);
  sc_expr a = sc_input(s->cx, "a", dtype, rank, shape), b = sc_input(s->cx, "b", dtype, rank, shape);
  sc_expr first = is_number(x) ? sc_add(sc_mul(a, a), b) : sc_or(a, b),
          second = sc_transpose(is_number(x) ? sc_neg(b) : b);
  sc_function *f = sc_function_create(s->cx, "pair", SC_IN({"a", a, NULL}, {"b", b, NULL}),
                                      SC_OUT({"p", first, NULL}, {"q", second, NULL}));
  output(s, sc_call(f, (const sc_expr[]){x, y}, 2, 0));
  output(s, sc_call(f, (const sc_expr[]){x, y}, 2, 1));
  output(s, sc_call(f, (const sc_expr[]){y, y}, 2, 0));
  int64_t size = sc_expr_size(x);
  for (int64_t length = 0; length < 4; length++) {
    sc_expr rows = sc_stack((const sc_expr[]){x, y, x}, 3, 0),
            flat = sc_vec(sc_stack((const sc_expr[]){x, y, y, x}, 4, 0));
    output(s, sc_vmap(f, length, (const sc_expr[]){sc_span(rows, 0, length), y}, 2, 0));
    output(s, sc_vmap_windows(f, length, (const sc_expr[]){flat, flat}, 2, (const int64_t[]){0, size ? 1 : 0},
                              (const int64_t[]){size, size ? 1 : 0}, (size_t)(length % 2)));
    output(s, sc_vmap_windows(f, length, (const sc_expr[]){flat, flat}, 2, (const int64_t[]){size, 0},
                              (const int64_t[]){0, size}, 1));
  }
}

/* ---- one shape ---- */

static void verify(suite *s, const char *what, bool toggles) {
  diff_checks checks = {.toggles = toggles, .text = true, .optimize = "-O1"};
  for (diff_way way = 0; way < DIFF_WAYS; way++) checks.way[way] = diff_way_exists(way);
  sc_function *f = sc_function_create(s->cx, "shapes", s->in, (size_t)s->n_in, s->out, (size_t)s->n_out);
  cr_assert(f, "%s: %s", what, sc_context_error(s->cx) ? sc_context_error(s->cx)->message : "");
  char why[1024];
  cr_expect(diff_check(f, 11, &checks, why, sizeof why), "%s: %s", what, why);
}

static void check_shape(int rank, const int64_t *shape, unsigned dtypes) {
  suite s = {.cx = sc_context_create(NULL),
             .out_names = calloc(MAX_OUTPUTS, 16),
             .out = calloc(MAX_OUTPUTS, sizeof(sc_named))};
  rng r = {(uint64_t)rank + 5};
  char what[96];
  int n = snprintf(what, sizeof what, "shape (");
  for (int k = 0; k < rank; k++) n += snprintf(what + n, sizeof what - (size_t)n, "%d,", (int)shape[k]);
  snprintf(what + n, sizeof what - (size_t)n, ")");
  for (sc_dtype dtype = 0; dtype < SC_DTYPE_COUNT; dtype++) {
    if (!(dtypes >> dtype & 1)) continue;
    sc_expr x = input(&s, dtype, rank, shape), y = input(&s, dtype, rank, shape);
    reductions(&s, x);
    shapes(&s, x);
    if (rank) slices(&s, x);
    tables(&s, x, &r);
    joins(&s, x, y);
    mixtures(&s, x, y);
    products(&s, x, y);
    calls(&s, x, y);
  }
  verify(&s, what, true);
  sc_context_destroy(s.cx);
  free(s.out_names);
  free(s.out);
}

Test(structural, low_ranks, .timeout = 240) {
  static const int64_t sizes[] = {0, 1, 5, 4};
  check_shape(0, NULL, 31);
  for (int i = 0; i < 4; i++) check_shape(1, &sizes[i], 31);
  static const int64_t matrices[][2] = {{2, 3}, {0, 3}, {3, 0}, {1, 4}, {4, 1}, {5, 2}};
  for (int i = 0; i < 6; i++) check_shape(2, matrices[i], i == 0 ? 31 : 1u << i % 5);
}

Test(structural, high_ranks, .timeout = 240) {
  static const int64_t cubes[][3] = {{2, 3, 4}, {1, 1, 1}, {2, 0, 3}, {3, 1, 2}};
  for (int i = 0; i < 4; i++) check_shape(3, cubes[i], i == 0 ? 5 : 1u << i);
  static const int64_t blocks[][4] = {{2, 3, 1, 2}, {1, 0, 2, 1}, {3, 2, 2, 1}};
  for (int i = 0; i < 3; i++) check_shape(4, blocks[i], i == 0 ? 1 : 1u << (i + 1));
}

/* Sums at the lengths where their order changes, along each axis. */
Test(structural, long_sums, .timeout = 120) {
  static const int64_t lengths[] = {7,    8,    9,    11,   63,   64,   65,   95,    96,    127,
                                    4095, 4096, 4097, 4127, 4128, 8192, 8193, 12289, 20480, 20511};
  suite s = {.cx = sc_context_create(NULL),
             .out_names = calloc(MAX_OUTPUTS, 16),
             .out = calloc(MAX_OUTPUTS, sizeof(sc_named))};
  const int64_t longest = 20511 * 2;
  sc_expr x = input(&s, SC_FLOAT64, 1, &longest), y = input(&s, SC_FLOAT32, 1, &longest),
          z = input(&s, SC_INT32, 1, &longest);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const int axis[] = {0, 1};
    const int64_t tall[] = {lengths[i], 2}, wide[] = {2, lengths[i]};
    sc_expr part = sc_span(x, 0, 2 * lengths[i]);
    output(&s, sc_sum(sc_span(x, 1, 1 + lengths[i])));
    output(&s, sc_sum(sc_span(y, 0, lengths[i])));
    output(&s, sc_sum(sc_span(z, 0, lengths[i])));
    output(&s, sc_max(sc_span(x, 0, lengths[i])));
    output(&s, sc_sum_axes(sc_reshape(part, 2, tall), 1, &axis[0]));
    output(&s, sc_sum_axes(sc_reshape(part, 2, wide), 1, &axis[1]));
    output(&s, sc_matmul(sc_reshape(part, 2, wide), sc_span(x, 3, 3 + lengths[i])));
    output(&s, sc_dot(sc_span(x, 0, lengths[i]), sc_sin(sc_span(x, 5, 5 + lengths[i]))));
  }
  verify(&s, "long sums", false);
  sc_context_destroy(s.cx);
  free(s.out_names);
  free(s.out);
}

/* One place of a map's body takes many terms of memory that all iterations share: a value as deep as there are terms.
 */
Test(structural, deep_sums, .timeout = 120) {
  enum { TERMS = 189, LENGTH = 4 };
  int64_t at[TERMS];
  for (int k = 0; k < TERMS; k++) at[k] = 6;
  suite s = {.cx = sc_context_create(NULL)};
  sc_expr x = sc_input(s.cx, "x", SC_FLOAT64, 1, (int64_t[]){TERMS}),
          c = sc_input(s.cx, "c", SC_FLOAT64, 1, (int64_t[]){TERMS + 4});
  sc_function *g = sc_function_create(
      s.cx, "g", SC_IN({"x", x}), SC_OUT({"y", sc_index_add(sc_ones(s.cx, SC_FLOAT64, 1, (int64_t[]){14}), x, at)}));
  for (int64_t stride = 0; stride < 2; stride++) {
    sc_expr y = sc_vmap_windows(g, LENGTH, &c, 1, (int64_t[]){1}, &stride, 0);
    sc_function *f = sc_function_create(s.cx, "f", SC_IN({"c", c}), SC_OUT({"y", y}));
    diff_checks checks = {.toggles = true, .text = true};
    for (diff_way way = 0; way < DIFF_WAYS; way++) checks.way[way] = diff_way_exists(way);
    char why[512];
    cr_expect(diff_check(f, 7, &checks, why, sizeof why), "%s", why);
  }
  sc_context_destroy(s.cx);
}
