/* Owns the builders of reductions, of operations on shapes and of assembly, with what they simplify as they build. */
#include "lib/expr/build.h"

sci_id sci_make_reduce(sc_context *cx, sci_xop op, sci_id a, uint32_t mask) {
  int rank = sci_type_of(cx, a)->rank;
  if (mask == UINT32_MAX) mask = (1u << rank) - 1;
  if (mask) return sci_finish1(cx, op, mask, SCI_NONE, a);
  sci_infer(cx, &(sci_recipe){.op = op, .n_args = 1, .args = &a, .type = SCI_NONE});
  return a;
}

/* ---- reshape, broadcast ---- */

static uint32_t retyped(sc_context *cx, sci_id a, int rank, const int64_t *shape) {
  const sci_type *t = sci_type_of(cx, a);
  return sci_intern_type(cx, (sc_dtype)t->dtype, t->diff, rank, shape);
}

/* Replaces the one -1 of a shape by what makes the sizes agree. */
static void complete_shape(sc_context *cx, sci_id a, int rank, const int64_t *shape, int64_t *out) {
  int open = -1;
  int64_t known = 1;
  if (rank < 0 || rank > SC_MAX_RANK)
    sci_fail(&cx->env, SC_ERR_SHAPE, "reshape: rank %d is out of range, a tensor has 0 to %d dimensions", rank,
             SC_MAX_RANK);
  for (int i = 0; i < rank; i++) {
    out[i] = shape[i];
    if (shape[i] == -1 && open >= 0) sci_fail(&cx->env, SC_ERR_SHAPE, "reshape: only one dimension may be -1");
    if (shape[i] == -1)
      open = i;
    else
      known = sci_mul_size(&cx->env, known, shape[i], "reshape");
  }
  if (open < 0) return;
  sci_type t = *sci_type_of(cx, a);
  if (known <= 0 || t.size % known)
    sci_fail(&cx->env, SC_ERR_SHAPE, "reshape: no size of dimension %d gives the %lld elements of shape %s", open,
             (long long)t.size, sci_shape_text(cx, t.rank, t.shape));
  out[open] = t.size / known;
}

sci_id sci_make_reshape(sc_context *cx, sci_id a, int rank, const int64_t *wanted) {
  int64_t shape[SC_MAX_RANK];
  complete_shape(cx, a, rank, wanted, shape);
  uint32_t type = retyped(cx, a, rank, shape);
  if (type == sci_node_at(cx, a)->type) return a;
  if (!sci_plain(cx, a, SCI_X_reshape)) return sci_finish1(cx, SCI_X_reshape, 0, type, a);
  sci_infer_reshape(cx, &(sci_recipe){.op = SCI_X_reshape, .n_args = 1, .args = &a, .type = type});
  return sci_make_reshape(cx, sci_arg(cx, a, 0), rank, shape);
}

sci_id sci_make_broadcast(sc_context *cx, sci_id a, int rank, const int64_t *shape) {
  uint32_t type = retyped(cx, a, rank, shape);
  if (type == sci_node_at(cx, a)->type) return a;
  sci_infer_broadcast(cx, &(sci_recipe){.op = SCI_X_broadcast, .n_args = 1, .args = &a, .type = type});
  if (sci_plain(cx, a, SCI_X_broadcast)) return sci_make_broadcast(cx, sci_arg(cx, a, 0), rank, shape);
  if (!cx->types[type].size && sci_plain(cx, a, SCI_X_const)) /* one form for constants without elements */
    return sci_make_const(cx, (sc_dtype)cx->types[type].dtype, rank, shape, NULL);
  return sci_intern_node(cx, SCI_X_broadcast, SC_HINT_AUTO, type, 0, 1, &a);
}

/* ---- transpose ---- */

sci_id sci_make_transpose(sc_context *cx, sci_id a, const int *axes) {
  int rank = sci_type_of(cx, a)->rank;
  uint32_t attr = 0, identity = 0;
  for (int k = 0; k < rank; k++) {
    int axis = axes[k] < 0 ? axes[k] + rank : axes[k];
    if (axis < 0 || axis >= rank)
      sci_fail(&cx->env, SC_ERR_INDEX, "transpose: axis %d is out of range for rank %d", axes[k], rank);
    attr |= (uint32_t)axis << 4 * k;
    identity |= (uint32_t)k << 4 * k;
  }
  sci_infer_transpose(cx,
                      &(sci_recipe){.op = SCI_X_transpose, .n_args = 1, .attr = attr, .args = &a, .type = SCI_NONE});
  if (attr == identity) return a;
  if (!sci_plain(cx, a, SCI_X_transpose)) return sci_finish1(cx, SCI_X_transpose, attr, SCI_NONE, a);
  int inner[SC_MAX_RANK];
  uint32_t first = sci_node_at(cx, a)->attr;
  for (int k = 0; k < rank; k++) inner[k] = (int)(first >> 4 * (attr >> 4 * k & 15) & 15);
  return sci_make_transpose(cx, sci_arg(cx, a, 0), inner);
}

/* ---- slice ---- */

static sci_slice_axis whole(int64_t size) {
  return (sci_slice_axis){.start = 0, .count = size, .step = 1};
}

static bool is_whole(sci_slice_axis x, int64_t size) {
  return !x.drop && x.start == 0 && x.count == size && (x.step == 1 || size <= 1);
}

/* One form per set of elements: the interned attribute is the identity of the slice. */
static sci_slice_axis canonical(sci_slice_axis x) {
  if (x.count <= 1) x.step = 1;
  if (x.count == 0) x.start = 0;
  return x;
}

static sci_id slice_of_slice(sc_context *cx, sci_id a, const sci_slice_axis *outer) {
  sci_id base = sci_arg(cx, a, 0);
  const sci_slice_axis *inner = sci_attr(cx, a);
  sci_slice_axis both[SC_MAX_RANK];
  int rank = sci_type_of(cx, base)->rank;
  for (int i = 0, k = 0; i < rank; i++) {
    both[i] = inner[i];
    if (inner[i].drop) continue;
    sci_slice_axis o = outer[k++];
    both[i] = (sci_slice_axis){.start = inner[i].start + (o.count ? o.start * inner[i].step : 0),
                               .count = o.count,
                               .step = o.count > 1 ? inner[i].step * o.step : 1,
                               .drop = o.drop};
  }
  return sci_make_slice_axes(cx, base, both);
}

static sci_id slice_of_stack(sc_context *cx, sci_id a, const sci_slice_axis *axes) {
  int axis = (int)sci_node_at(cx, a)->attr, rank = sci_type_of(cx, a)->rank;
  sci_slice_axis x = axes[axis], rest[SC_MAX_RANK];
  for (int i = 0, k = 0; i < rank; i++)
    if (i != axis || !x.drop) rest[k++] = i == axis ? whole(x.count) : axes[i];
  if (x.drop) return sci_make_slice_axes(cx, sci_arg(cx, a, (uint32_t)x.start), rest);
  if (!x.count || is_whole(x, sci_type_of(cx, a)->shape[axis])) return SCI_NONE;
  sci_id *parts = SCI_ARRAY(&cx->env.scratch, sci_id, x.count);
  for (int64_t i = 0; i < x.count; i++) parts[i] = sci_arg(cx, a, (uint32_t)(x.start + i * x.step));
  return sci_make_slice_axes(cx, sci_make_join(cx, SCI_X_stack, parts, (uint32_t)x.count, axis), rest);
}

/* Drops the parts before the first and behind the last element that the slice takes. */
static sci_id slice_of_concat(sc_context *cx, sci_id a, const sci_slice_axis *axes) {
  int axis = (int)sci_node_at(cx, a)->attr, rank = sci_type_of(cx, a)->rank;
  sci_slice_axis x = axes[axis], moved[SC_MAX_RANK];
  uint32_t n = sci_node_at(cx, a)->n_args, from = 0, to = 0;
  if (!x.count) return SCI_NONE;
  int64_t last = x.start + (x.count - 1) * x.step, lo = last < x.start ? last : x.start,
          hi = last < x.start ? x.start : last;
  int64_t offset = 0, shift = 0;
  for (uint32_t i = 0; i < n; i++) {
    int64_t size = sci_type_of(cx, sci_arg(cx, a, i))->shape[axis];
    if (offset + size <= lo) from = i + 1, shift = offset + size;
    if (offset <= hi) to = i + 1;
    offset += size;
  }
  if (from == 0 && to == n) return SCI_NONE;
  for (int i = 0; i < rank; i++) moved[i] = axes[i];
  moved[axis].start -= shift;
  sci_id *parts = SCI_ARRAY(&cx->env.scratch, sci_id, to - from);
  for (uint32_t i = from; i < to; i++) parts[i - from] = sci_arg(cx, a, i);
  return sci_make_slice_axes(cx, sci_make_join(cx, SCI_X_concat, parts, to - from, axis), moved);
}

sci_id sci_make_slice_axes(sc_context *cx, sci_id a, const sci_slice_axis *given) {
  sci_slice_axis axes[SC_MAX_RANK];
  const sci_type *t = sci_type_of(cx, a);
  int rank = t->rank;
  bool identity = true;
  for (int i = 0; i < rank; i++) {
    axes[i] = canonical(given[i]);
    identity = identity && is_whole(axes[i], t->shape[i]);
  }
  if (identity) return a;
  uint32_t attr = sci_intern_blob(cx, axes, (size_t)rank * sizeof *axes);
  sci_infer_slice(cx, &(sci_recipe){.op = SCI_X_slice, .n_args = 1, .attr = attr, .args = &a, .type = SCI_NONE});
  sci_id simple = SCI_NONE;
  if (sci_plain(cx, a, SCI_X_slice)) simple = slice_of_slice(cx, a, axes);
  if (sci_plain(cx, a, SCI_X_stack)) simple = slice_of_stack(cx, a, axes);
  if (sci_plain(cx, a, SCI_X_concat)) simple = slice_of_concat(cx, a, axes);
  return simple != SCI_NONE ? simple : sci_finish1(cx, SCI_X_slice, attr, SCI_NONE, a);
}

static int64_t clamp(int64_t i, int64_t size, int64_t lo, int64_t hi) {
  if (i < 0) i = i < -size ? lo : i + size;
  return i < lo ? lo : i > hi ? hi : i;
}

/* Python's slice.indices: bounds are clamped, a negative step runs from the end. */
static sci_slice_axis resolve_range(sc_range r, int64_t size) {
  int64_t step = r.step == SC_NONE ? 1 : r.step;
  sci_slice_axis x = {.step = step};
  if (step > 0) {
    x.start = r.start == SC_NONE ? 0 : clamp(r.start, size, 0, size);
    int64_t stop = r.stop == SC_NONE ? size : clamp(r.stop, size, 0, size);
    x.count = x.start < stop ? (stop - x.start - 1) / step + 1 : 0;
  } else {
    x.start = r.start == SC_NONE ? size - 1 : clamp(r.start, size, -1, size - 1);
    int64_t stop = r.stop == SC_NONE ? -1 : clamp(r.stop, size, -1, size - 1);
    x.count = x.start > stop ? (x.start - stop - 1) / -step + 1 : 0;
  }
  return x;
}

sci_id sci_make_slice(sc_context *cx, sci_id a, int n, const sc_range *index) {
  sci_type t = *sci_type_of(cx, a);
  if (n < 0 || n > t.rank)
    sci_fail(&cx->env, SC_ERR_INDEX, "slice: %d index entries for shape %s", n, sci_shape_text(cx, t.rank, t.shape));
  sci_slice_axis axes[SC_MAX_RANK];
  for (int i = 0; i < t.rank; i++) {
    if (i >= n) {
      axes[i] = whole(t.shape[i]);
    } else if (index[i].step) {
      axes[i] = resolve_range(index[i], t.shape[i]);
    } else {
      int64_t at = index[i].start < 0 ? index[i].start + t.shape[i] : index[i].start;
      if (at < 0 || at >= t.shape[i])
        sci_fail(&cx->env, SC_ERR_INDEX, "slice: index %lld is out of range for axis %d of shape %s",
                 (long long)index[i].start, i, sci_shape_text(cx, t.rank, t.shape));
      axes[i] = (sci_slice_axis){.start = at, .count = 1, .step = 1, .drop = 1};
    }
  }
  return sci_make_slice_axes(cx, a, axes);
}

/* ---- assembly ---- */

sci_id sci_make_join(sc_context *cx, sci_xop op, const sci_id *parts, uint32_t n, int axis) {
  int ranks = n ? sci_type_of(cx, parts[0])->rank + (op == SCI_X_stack) : 0;
  int at = axis < 0 ? axis + ranks : axis;
  if (n && (at < 0 || at >= ranks)) {
    sci_type t = *sci_type_of(cx, parts[0]);
    sci_fail(&cx->env, SC_ERR_INDEX, "%s: axis %d is out of range for parts of shape %s", sci_xop_name(op), axis,
             sci_shape_text(cx, t.rank, t.shape));
  }
  if (op == SCI_X_concat && n == 1) return parts[0];
  return sci_finish(cx, &(sci_recipe){.op = op, .n_args = n, .attr = (uint32_t)at, .args = parts, .type = SCI_NONE});
}

sci_id sci_make_matmul(sc_context *cx, sci_id a, sci_id b) {
  return sci_finish(cx, &(sci_recipe){.op = SCI_X_matmul, .n_args = 2, .args = (sci_id[]){a, b}, .type = SCI_NONE});
}
