/* Owns the public builders of reductions, shape operations, index tables, assembly and matmul. */
#include "lib/api/enter.h"

static const sc_expr null_expr;

/* ---- reductions ---- */

static sc_expr reduce(sci_xop op, sc_expr a, int n_axes, const int *axes) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id x = sci_handle(a.cx, a);
  int rank = sci_type_of(a.cx, x)->rank;
  uint32_t mask = axes ? 0 : UINT32_MAX;
  for (int i = 0; axes && i < n_axes; i++) {
    int axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank)
      sci_fail(&a.cx->env, SC_ERR_INDEX, "%s: axis %d is out of range for shape %s", sci_xop_name(op), axes[i],
               sci_shape_text(a.cx, rank, sci_type_of(a.cx, x)->shape));
    if (mask >> axis & 1) sci_fail(&a.cx->env, SC_ERR_INDEX, "%s: axis %d is given twice", sci_xop_name(op), axes[i]);
    mask |= 1u << axis;
  }
  sci_id id = sci_make_reduce(a.cx, op, x, mask);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_sum(sc_expr a) {
  return reduce(SCI_X_sum, a, 0, NULL);
}

sc_expr sc_max(sc_expr a) {
  return reduce(SCI_X_max, a, 0, NULL);
}

sc_expr sc_min(sc_expr a) {
  return reduce(SCI_X_min, a, 0, NULL);
}

sc_expr sc_sum_axes(sc_expr a, int n_axes, const int *axes) {
  return reduce(SCI_X_sum, a, n_axes, axes);
}

sc_expr sc_max_axes(sc_expr a, int n_axes, const int *axes) {
  return reduce(SCI_X_max, a, n_axes, axes);
}

sc_expr sc_min_axes(sc_expr a, int n_axes, const int *axes) {
  return reduce(SCI_X_min, a, n_axes, axes);
}

/* ---- shape ---- */

sc_expr sc_reshape(sc_expr a, int rank, const int64_t *shape) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_expect_array(a.cx, "reshape", shape, rank > 0 ? (size_t)rank : 0);
  sci_id id = sci_make_reshape(a.cx, sci_handle(a.cx, a), rank, shape);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_vec(sc_expr a) {
  return sc_reshape(a, 1, (int64_t[]){-1});
}

sc_expr sc_transpose(sc_expr a) {
  int axes[SC_MAX_RANK];
  int rank = sc_expr_rank(a);
  for (int k = 0; k < rank; k++) axes[k] = rank - 1 - k;
  return sc_transpose_axes(a, axes);
}

sc_expr sc_transpose_axes(sc_expr a, const int *axes) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id x = sci_handle(a.cx, a);
  sci_expect_array(a.cx, "transpose", axes, sci_type_of(a.cx, x)->rank);
  sci_id id = sci_make_transpose(a.cx, x, axes);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_slice(sc_expr a, int n, const sc_range *index) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_expect_array(a.cx, "slice", index, n > 0 ? (size_t)n : 0);
  sci_id id = sci_make_slice(a.cx, sci_handle(a.cx, a), n, index);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_at(sc_expr a, int64_t i) {
  return sc_slice(a, 1, &SC_AT(i));
}

sc_expr sc_span(sc_expr a, int64_t start, int64_t stop) {
  return sc_slice(a, 1, &SC_SPAN(start, stop));
}

sc_expr sc_broadcast(sc_expr a, int rank, const int64_t *shape) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id id = sci_make_broadcast(a.cx, sci_handle(a.cx, a), rank, shape);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

/* ---- index tables ---- */

/* Indices into `limit` elements, negatives counted from the end. In the scratch arena. */
static const int32_t *resolve(sc_context *cx, const char *op, const int64_t *indices, int64_t n, int64_t limit) {
  int32_t *out = SCI_ARRAY(&cx->env.scratch, int32_t, n);
  if (n && !indices) sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: %lld indices are to be read from NULL", op, (long long)n);
  for (int64_t k = 0; k < n; k++) {
    int64_t i = indices[k] < 0 ? indices[k] + limit : indices[k];
    if (i < 0 || i >= limit)
      sci_fail(&cx->env, SC_ERR_INDEX, "%s: index %lld at position %lld is out of range for %lld elements", op,
               (long long)indices[k], (long long)k, (long long)limit);
    out[k] = (int32_t)i;
  }
  return out;
}

static int64_t size_of_shape(sc_context *cx, int rank, const int64_t *shape) {
  uint32_t type = sci_intern_type(cx, SC_BOOL, false, rank, shape); /* checks it, too; may move the types */
  return cx->types[type].size;
}

sc_expr sc_gather(sc_expr a, const int64_t *indices, int rank, const int64_t *shape) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id x = sci_handle(a.cx, a);
  const int32_t *idx = resolve(a.cx, "gather", indices, size_of_shape(a.cx, rank, shape), sci_type_of(a.cx, x)->size);
  sci_id id = sci_make_gather(a.cx, x, idx, rank, shape);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_scatter(sc_expr a, const int64_t *indices, int rank, const int64_t *shape) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id x = sci_handle(a.cx, a);
  const int32_t *idx = resolve(a.cx, "scatter", indices, sci_type_of(a.cx, x)->size, size_of_shape(a.cx, rank, shape));
  sci_id id = sci_make_scatter(a.cx, x, idx, rank, shape);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

static sc_expr index_op(sci_xop op, sc_expr base, sc_expr values, const int64_t *indices) {
  sc_context *const cx = base.cx;
  sci_call_frame e;
  if (!cx || !values.cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_id b = sci_handle(cx, base), v = sci_handle(cx, values);
  const int32_t *idx = resolve(cx, sci_xop_name(op), indices, sci_type_of(cx, v)->size, sci_type_of(cx, b)->size);
  sci_id id = sci_make_index(cx, op, b, v, idx);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_index_add(sc_expr base, sc_expr values, const int64_t *indices) {
  return index_op(SCI_X_index_add, base, values, indices);
}

sc_expr sc_index_set(sc_expr base, sc_expr values, const int64_t *indices) {
  return index_op(SCI_X_index_set, base, values, indices);
}

/* ---- assembly ---- */

static bool any_null(const sc_expr *parts, size_t n) {
  for (size_t i = 0; parts && i < n; i++)
    if (!parts[i].cx) return true;
  return !parts || !n; /* without parts there is no context to report to */
}

static sci_id *part_ids(sc_context *cx, const sc_expr *parts, size_t n) {
  if (n > SC_MAX_ELEMENTS) sci_fail(&cx->env, SC_ERR_OVERFLOW, "%zu parts are too many", n);
  sci_id *ids = SCI_ARRAY(&cx->env.scratch, sci_id, n);
  for (size_t i = 0; i < n; i++) ids[i] = sci_handle(cx, parts[i]);
  return ids;
}

static sc_expr join(sci_xop op, const sc_expr *parts, size_t n, int axis) {
  sc_context *const cx = parts[0].cx;
  sci_call_frame e;
  if (!SCI_ENTER(cx, &e)) return null_expr;
  sci_id id = sci_make_join(cx, op, part_ids(cx, parts, n), (uint32_t)n, axis);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_stack(const sc_expr *parts, size_t n, int axis) {
  return any_null(parts, n) ? null_expr : join(SCI_X_stack, parts, n, axis);
}

sc_expr sc_concat(const sc_expr *parts, size_t n, int axis) {
  return any_null(parts, n) ? null_expr : join(SCI_X_concat, parts, n, axis);
}

/* A matrix: of one column when a vector, of one element when a scalar. */
static sci_id as_matrix(sc_context *cx, sci_id a) {
  const sci_type t = *sci_type_of(cx, a);
  return t.rank < 2 ? sci_make_reshape(cx, a, 2, (int64_t[]){t.size, 1}) : a;
}

/* Side by side, or when one part is a matrix, all become matrices; else all become vectors. */
static void lift_parts(sc_context *cx, sci_id *ids, size_t n, int axis) {
  bool matrices = axis == 1;
  for (size_t i = 0; i < n; i++) matrices = matrices || sci_type_of(cx, ids[i])->rank > 1;
  for (size_t i = 0; i < n; i++)
    ids[i] = matrices ? as_matrix(cx, ids[i]) : sci_make_reshape(cx, ids[i], 1, (int64_t[]){-1});
}

static sc_expr join_matrices(const sc_expr *parts, size_t n, int axis) {
  sc_context *const cx = parts[0].cx;
  sci_call_frame e;
  if (!SCI_ENTER(cx, &e)) return null_expr;
  sci_id *ids = part_ids(cx, parts, n);
  lift_parts(cx, ids, n, axis);
  sci_id id = sci_make_join(cx, SCI_X_concat, ids, (uint32_t)n, axis);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_horzcat(const sc_expr *parts, size_t n) {
  return any_null(parts, n) ? null_expr : join_matrices(parts, n, 1);
}

sc_expr sc_vertcat(const sc_expr *parts, size_t n) {
  return any_null(parts, n) ? null_expr : join_matrices(parts, n, 0);
}

sc_expr sc_repmat(sc_expr a, int64_t rows, int64_t cols) {
  sc_context *const cx = a.cx;
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_id x = as_matrix(cx, sci_handle(cx, a));
  const sci_type t = *sci_type_of(cx, x);
  if (t.rank > 2)
    sci_fail(&cx->env, SC_ERR_SHAPE, "repmat: shape %s is not a scalar, vector or matrix",
             sci_shape_text(cx, t.rank, t.shape));
  int64_t m = t.shape[0], n = t.shape[1];
  sci_intern_type(cx, (sc_dtype)t.dtype, false, 4, (int64_t[]){rows, m, cols, n});
  sci_id id = sci_make_reshape(cx, x, 4, (int64_t[]){1, m, 1, n});
  id = sci_make_broadcast(cx, id, 4, (int64_t[]){rows, m, cols, n});
  id = sci_make_reshape(cx, id, 2, (int64_t[]){rows * m, cols * n});
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_matmul(sc_expr a, sc_expr b) {
  sci_call_frame e;
  if (!a.cx || !b.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id x = sci_handle(a.cx, a), id = sci_make_matmul(a.cx, x, sci_handle(a.cx, b));
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}
