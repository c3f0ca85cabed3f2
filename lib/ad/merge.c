/* Owns the merging of entries into stored values: one place per (row, column), written from as few reads as possible.
 */
#include "lib/ad/jacobian.h"

#include <stdlib.h>

/* ---- places ---- */

typedef struct sort_key {
  int32_t major, minor, entry;
} sort_key;

static int by_place(const void *a, const void *b) {
  const sort_key *x = a, *y = b;
  if (x->major != y->major) return x->major < y->major ? -1 : 1;
  if (x->minor != y->minor) return x->minor < y->minor ? -1 : 1;
  return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* Rows are short, and mostly in order already. */
static void sort_keys(sort_key *keys, int64_t n) {
  if (n > 32) {
    qsort(keys, (size_t)n, sizeof *keys, by_place);
    return;
  }
  for (int64_t i = 1; i < n; i++) {
    sort_key moving = keys[i];
    int64_t k = i;
    for (; k > 0 && by_place(&keys[k - 1], &moving) > 0; k--) keys[k] = keys[k - 1];
    keys[k] = moving;
  }
}

/* Bucketed by row (column), then sorted within. */
static int32_t *place_entries(sci_assembly *a, sci_sparse *out) {
  sci_arena *scratch = &a->ad->cx->env.scratch;
  int64_t n = (int64_t)a->entries.n, n_major = a->q->by_columns ? a->n_cols : a->n_rows;
  int32_t *ptr = SCI_ZEROS(scratch, int32_t, n_major + 1), *place = SCI_ARRAY(scratch, int32_t, n);
  sort_key *keys = SCI_ARRAY(scratch, sort_key, n);
  for (int64_t i = 0; i < n; i++) ptr[(a->q->by_columns ? a->entries.data[i].col : a->entries.data[i].row) + 1]++;
  for (int64_t m = 0; m < n_major; m++) ptr[m + 1] += ptr[m];
  for (int64_t i = 0; i < n; i++) {
    const sci_nonzero *e = &a->entries.data[i];
    int32_t major = a->q->by_columns ? e->col : e->row, minor = a->q->by_columns ? e->row : e->col;
    keys[ptr[major]++] = (sort_key){major, minor, (int32_t)i};
  }
  for (int64_t m = 0, lo = 0; m < n_major; lo = ptr[m++]) sort_keys(keys + lo, ptr[m] - lo);
  int32_t *row = SCI_ARRAY(scratch, int32_t, n), *col = SCI_ARRAY(scratch, int32_t, n);
  int64_t nnz = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!i || keys[i].major != keys[i - 1].major || keys[i].minor != keys[i - 1].minor) {
      row[nnz] = a->q->by_columns ? keys[i].minor : keys[i].major;
      col[nnz++] = a->q->by_columns ? keys[i].major : keys[i].minor;
    }
    place[keys[i].entry] = (int32_t)nnz - 1;
  }
  *out = (sci_sparse){.n_rows = a->n_rows, .n_cols = a->n_cols, .nnz = nnz, .row = row, .col = col, .values = SCI_NONE};
  return place;
}

/* ---- constants ---- */

/* Entries without a piece, or of constant pieces, are summed here. */
static bool constant_value(const sci_assembly *a, const sci_nonzero *e, double *v) {
  sc_context *cx = a->ad->cx;
  if (e->piece < 0) {
    *v = e->coef;
    return true;
  }
  sci_id id = a->pieces.data[e->piece].value;
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, id)->dtype;
  sci_scalar s;
  if (!sci_const_value(cx, id, &s)) {
    if (sci_node_at(cx, id)->op != SCI_X_const) return false;
    s = sci_scalar_load(dtype, sci_attr(cx, id), (size_t)e->at);
  }
  *v = e->coef * sci_scalar_double(dtype, s);
  return true;
}

/* ---- sums over iterations ---- */

/* A map's value that lands in one place in every iteration (a broadcast operand) is summed over the iterations first,
 * so that neither code nor scatters grow with the length. */
static void reduce_maps(sci_assembly *a, sci_placed_list *list) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  size_t n_pieces = a->pieces.n;
  for (size_t p = 0; p < n_pieces; p++) {
    int64_t period = a->pieces.data[p].period, length = period ? a->pieces.data[p].size / period : 0;
    if (length < 2) continue;
    int32_t *place = SCI_ARRAY(scratch, int32_t, period);
    int64_t *count = SCI_ZEROS(scratch, int64_t, period);
    double *coef = SCI_ARRAY(scratch, double, period);
    bool *spread = SCI_ZEROS(scratch, bool, period), *seen = SCI_ZEROS(scratch, bool, a->pieces.data[p].size);
    for (size_t i = 0; i < list->n; i++) {
      const sci_placed *e = &list->data[i];
      if (e->piece != (int32_t)p) continue;
      int64_t k = e->at % period;
      if (seen[e->at]) spread[k] = true; /* one iteration twice, not two iterations */
      seen[e->at] = true;
      if (!count[k]++)
        place[k] = e->place, coef[k] = e->coef;
      else
        spread[k] |= place[k] != e->place || coef[k] != e->coef;
    }
    SCI_VEC(int32_t) reduced = {0};
    int32_t *number = SCI_ARRAY(scratch, int32_t, period);
    for (int64_t k = 0; k < period; k++) {
      number[k] = -1;
      if (count[k] != length || spread[k]) continue;
      number[k] = (int32_t)reduced.n;
      sci_vec_push(scratch, &reduced, (int32_t)k);
    }
    if (!reduced.n) continue;
    sci_id table = sci_make_reshape(cx, a->pieces.data[p].value, 2, (int64_t[]){length, period});
    if ((int64_t)reduced.n < period) {
      int32_t *pick = SCI_ARRAY(scratch, int32_t, (size_t)length * reduced.n);
      for (int64_t it = 0; it < length; it++)
        for (size_t k = 0; k < reduced.n; k++)
          pick[(size_t)it * reduced.n + k] = (int32_t)(it * period + reduced.data[k]);
      table = sci_make_gather(cx, table, pick, 2, (int64_t[]){length, (int64_t)reduced.n});
    }
    int32_t sums = sci_add_piece(a, sci_make_reduce(cx, SCI_X_sum, table, 1u), 0);
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
      sci_placed e = list->data[i];
      int32_t k = e.piece == (int32_t)p ? number[e.at % period] : -1;
      if (k >= 0 && e.at >= period) continue; /* the first iteration's entry stands for all */
      if (k >= 0) e.piece = sums, e.at = k;
      list->data[kept++] = e;
    }
    list->n = kept;
  }
}

/* ---- values ---- */

/* The pieces that `list` uses behind each other, in the order of the first place each is read for; entries' `at`
 * becomes the position there. */
static sci_id join_pieces(sci_assembly *a, sci_placed_list *list) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  int64_t *start = SCI_ARRAY(scratch, int64_t, a->pieces.n), at = 0;
  SCI_VEC(sci_id) parts = {0};
  for (size_t p = 0; p < a->pieces.n; p++) start[p] = -1;
  for (size_t i = 0; i < list->n; i++) {
    sci_placed *e = &list->data[i];
    sci_piece *p = &a->pieces.data[e->piece];
    if (start[e->piece] < 0) {
      start[e->piece] = at;
      at = sci_add_size(&cx->env, at, p->size, "Jacobian");
      sci_vec_push(scratch, &parts, sci_make_reshape(cx, p->value, 1, &p->size));
    }
    e->at = (int32_t)(start[e->piece] + e->at);
  }
  return parts.n == 1 ? parts.data[0] : sci_make_join(cx, SCI_X_concat, parts.data, (uint32_t)parts.n, 0);
}

/* Stable, by counting: places are dense. Where each place's entries begin. */
static int32_t *sort_by_place(sci_assembly *a, sci_placed_list *list, int64_t nnz) {
  sci_arena *scratch = &a->ad->cx->env.scratch;
  int32_t *at = SCI_ZEROS(scratch, int32_t, nnz + 2) + 1;
  sci_placed *sorted = SCI_ARRAY(scratch, sci_placed, list->n);
  for (size_t i = 0; i < list->n; i++) at[list->data[i].place + 1]++;
  for (int64_t k = 0; k < nnz; k++) at[k + 1] += at[k];
  for (size_t i = 0; i < list->n; i++) sorted[at[list->data[i].place]++] = list->data[i];
  list->data = sorted;
  return at - 1;
}

sci_id sci_make_numbers(sc_context *cx, sc_dtype dtype, int64_t n, const double *v) {
  if (dtype == SC_FLOAT64) return sci_make_const(cx, dtype, 1, &n, v);
  void *data = sci_alloc_array(&cx->env.scratch, (size_t)n, sc_dtype_size(dtype));
  for (int64_t k = 0; k < n; k++) sci_scalar_store(dtype, data, (size_t)k, sci_scalar_number(dtype, v[k]));
  return sci_make_const(cx, dtype, 1, &n, data);
}

/* Element list->at of `joined` times the coefficient, one per entry. */
static sci_id read_values(sci_assembly *a, sc_dtype dtype, sci_id joined, const sci_placed *list, int64_t n) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  int32_t *index = SCI_ARRAY(scratch, int32_t, n);
  bool same = n == sci_type_of(cx, joined)->size, unit = true;
  for (int64_t i = 0; i < n; i++) {
    index[i] = list[i].at;
    same &= index[i] == i;
    unit &= list[i].coef == 1;
  }
  sci_id values = same ? joined : sci_make_gather(cx, joined, index, 1, &n);
  if (unit) return values;
  double *coef = SCI_ARRAY(scratch, double, n);
  for (int64_t i = 0; i < n; i++) coef[i] = list[i].coef;
  return sci_make2(cx, SCI_OP_mul, values, sci_make_numbers(cx, dtype, n, coef));
}

static sci_id write_values(sci_assembly *a, sci_xop op, sci_id base, sci_id values, const sci_placed *list, int64_t n) {
  int32_t *index = SCI_ARRAY(&a->ad->cx->env.scratch, int32_t, n);
  for (int64_t i = 0; i < n; i++) index[i] = list[i].place;
  return sci_make_index(a->ad->cx, op, base, values, index);
}

/* First entries of untouched places are set, the others added. */
static sci_id combine(sci_assembly *a, sc_dtype dtype, int64_t nnz, const double *constant, const bool *touched,
                      sci_placed_list *list) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  if (!list->n) return sci_make_numbers(cx, dtype, nnz, constant);
  sci_id joined = join_pieces(a, list);
  sci_placed_list set = {0}, added = {0};
  int64_t last = -1;
  for (size_t i = 0; i < list->n; i++) {
    sci_placed e = list->data[i];
    if (touched[e.place] || e.place == last)
      sci_vec_push(scratch, &added, e);
    else
      sci_vec_push(scratch, &set, e);
    last = e.place;
  }
  bool all_set = (int64_t)set.n == nnz;
  sci_id base = all_set ? read_values(a, dtype, joined, set.data, nnz) : sci_make_numbers(cx, dtype, nnz, constant);
  if (set.n && !all_set)
    base = write_values(a, SCI_X_index_set, base, read_values(a, dtype, joined, set.data, (int64_t)set.n), set.data,
                        (int64_t)set.n);
  if (added.n)
    base = write_values(a, SCI_X_index_add, base, read_values(a, dtype, joined, added.data, (int64_t)added.n),
                        added.data, (int64_t)added.n);
  return base;
}

/* Both triangles from the lower one, row by row: counted, so that no sorting is needed. Which value each stored one is.
 */
static int32_t *mirror_lower(sci_arena *scratch, sci_sparse *s) {
  int32_t *ptr = SCI_ZEROS(scratch, int32_t, s->n_rows + 1);
  for (int64_t k = 0; k < s->nnz; k++) {
    ptr[s->row[k] + 1]++;
    if (s->row[k] != s->col[k]) ptr[s->col[k] + 1]++;
  }
  for (int64_t m = 0; m < s->n_rows; m++) ptr[m + 1] += ptr[m];
  int64_t n = ptr[s->n_rows];
  int32_t *row = SCI_ARRAY(scratch, int32_t, n), *col = SCI_ARRAY(scratch, int32_t, n),
          *from = SCI_ARRAY(scratch, int32_t, n);
  /* Row i: its lower entries in order of columns, then the mirrored ones in order of their rows: both come in order of
   * k. */
  for (int pass = 0; pass < 2; pass++)
    for (int64_t k = 0; k < s->nnz; k++) {
      int32_t i = pass ? s->col[k] : s->row[k], j = pass ? s->row[k] : s->col[k];
      if (pass && i == j) continue;
      int32_t at = ptr[i]++;
      row[at] = i, col[at] = j, from[at] = (int32_t)k;
    }
  s->row = row, s->col = col, s->nnz = n;
  return from;
}

sci_sparse sci_merge_entries(sci_assembly *a) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  sci_sparse out;
  const int32_t *place = place_entries(a, &out), *from = NULL;
  const int64_t n = out.nnz;
  double *constant = SCI_ZEROS(scratch, double, n);
  bool *touched = SCI_ZEROS(scratch, bool, n);
  sci_placed_list list = {0};
  for (size_t i = 0; i < a->entries.n; i++) {
    const sci_nonzero *e = &a->entries.data[i];
    double v;
    if (constant_value(a, e, &v))
      constant[place[i]] += v, touched[place[i]] = true;
    else
      sci_vec_push(scratch, &list, (sci_placed){place[i], e->piece, e->at, e->coef});
  }
  reduce_maps(a, &list);
  sci_hold_once(a, &list);
  sci_add_in_maps(a, &list, n, touched, constant);
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, a->q->roots[0])->dtype;
  const int32_t *first = sort_by_place(a, &list, n);
  if (a->q->mirror) from = mirror_lower(scratch, &out);
  sci_sources sources = {out.nnz, from, touched, constant, first, list.data};
  out.report = a->report;
  out.values = sci_band_values(cx, dtype, a->pieces.data, &sources);
  if (out.values != SCI_NONE) return out;
  out.values = combine(a, dtype, n, constant, touched, &list);
  if (from) out.values = sci_make_gather(cx, out.values, from, 1, &out.nnz);
  return out;
}
