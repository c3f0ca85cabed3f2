/* Owns the order of work of a sparse Jacobian: classify, route, assemble each kind of piece, merge. */
#include "lib/ad/eliminate.h"

bool sci_keeps(const sci_assembly *a, int32_t row, int32_t col) {
  const sci_jacobian_request *q = a->q;
  if (col < 0 || (q->triangle == SC_TRIANGLE_LOWER && row < col) || (q->triangle == SC_TRIANGLE_UPPER && row > col))
    return false;
  if (!q->only) return true;
  int32_t lo = q->only->ptr[row], hi = q->only->ptr[row + 1];
  while (lo < hi) {
    int32_t mid = lo + (hi - lo) / 2;
    if (q->only->col[mid] < col)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < q->only->ptr[row + 1] && q->only->col[lo] == col;
}

void sci_add_entry(sci_assembly *a, int32_t row, int32_t col, int32_t piece, int64_t at, double coef) {
  sci_vec_push(&a->ad->cx->env.scratch, &a->entries, (sci_nonzero){row, col, piece, (int32_t)at, coef});
}

int32_t sci_add_piece(sci_assembly *a, sci_id value, int64_t period) {
  sci_piece p = {value, sci_type_of(a->ad->cx, value)->size, period};
  sci_vec_push(&a->ad->cx->env.scratch, &a->pieces, p);
  return (int32_t)a->pieces.n - 1;
}

/* Elements of all nodes: rows or columns of a Jacobian. */
static int64_t total_size(sc_context *cx, uint32_t n, const sci_id *nodes) {
  int64_t total = 0;
  for (uint32_t i = 0; i < n; i++) total = sci_add_size(&cx->env, total, sci_type_of(cx, nodes[i])->size, "Jacobian");
  return total;
}

static void begin(sci_assembly *a) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  const sci_jacobian_request *q = a->q;
  a->n_rows = total_size(cx, q->n_roots, q->roots), a->n_cols = total_size(cx, q->n_inputs, q->inputs);
  if (a->n_cols > SC_MAX_ELEMENTS || a->n_rows > SC_MAX_ELEMENTS)
    sci_fail(&cx->env, SC_ERR_OVERFLOW, "a Jacobian of %lld by %lld exceeds the largest size", (long long)a->n_rows,
             (long long)a->n_cols);
  a->order = sci_reach(cx, q->roots, q->n_roots);
  a->active = SCI_ZEROS(scratch, bool, a->order.n);
  a->column = SCI_ZEROS(scratch, const int32_t *, a->order.n);
  a->kind = SCI_ZEROS(scratch, uint8_t, a->order.n);
  a->terms = SCI_ZEROS(scratch, sci_terms, a->order.n);
  for (int64_t i = 0, first = 0; i < q->n_inputs; i++) {
    int64_t size = sci_type_of(cx, q->inputs[i])->size;
    uint32_t k = sci_number(&a->order, q->inputs[i]);
    if (k != SCI_NONE) {
      int32_t *column = SCI_ARRAY(scratch, int32_t, size);
      for (int64_t e = 0; e < size; e++) column[e] = (int32_t)(first + e);
      a->column[k] = column;
      a->active[k] = true;
    }
    first += size;
  }
  sci_mark_active(cx, &a->order, a->active, NULL);
}

static void seed_roots(sci_assembly *a) {
  sc_context *cx = a->ad->cx;
  int64_t row = 0;
  for (uint32_t i = 0; i < a->q->n_roots; i++) {
    uint32_t k = sci_number(&a->order, a->q->roots[i]);
    int64_t size = sci_type_of(cx, a->q->roots[i])->size;
    for (int64_t e = 0; a->active[k] && e < size; e++)
      sci_vec_push(&cx->env.scratch, &a->terms[k], (sci_term){(int32_t)(row + e), (int32_t)e, 1});
    row += size;
  }
}

sci_sparse sci_sparse_jacobian(const sci_ad *ad, const sci_jacobian_request *q) {
  sci_assembly a = {.ad = ad, .q = q};
  begin(&a);
  sci_classify(&a);
  seed_roots(&a);
  for (uint32_t k = a.order.n; k--;) {
    if (!a.terms[k].n) continue;
    if (a.kind[k] == SCI_KIND_LINEAR) sci_route(&a, k);
    if (a.kind[k] != SCI_KIND_DIRECT) continue;
    for (size_t t = 0; t < a.terms[k].n; t++) {
      sci_term m = a.terms[k].data[t];
      int32_t col = a.column[k][m.elem];
      if (sci_keeps(&a, m.row, col)) sci_add_entry(&a, m.row, col, -1, 0, m.coef);
    }
  }
  if (!sci_assemble_scalars(&a)) {
    sci_assemble_maps(&a); /* first: what comes first to a place can be stored there when it is computed */
    sci_assemble_cones(&a);
    sci_assemble_opaque(&a);
  }
  return sci_merge_entries(&a);
}
