/* Owns the evaluation of operations whose operands are all constant.
 *
 * An operation that makes a NaN out of numbers stays a run-time operation (0/0, sqrt(-1)), so that it shows where it
 * happens; only a known inf*0 folds. Results and operands beyond FOLD_LIMIT elements stay too, unless every element is
 * the same. */
#include "lib/expr/build.h"

#include <math.h>

enum { FOLD_LIMIT = 1 << 14, SUM_LIMIT = 4096 };

typedef struct operand {
  sci_type type;
  const void *data;
} operand;

static sci_scalar at(const operand *x, int64_t i) {
  return sci_scalar_load((sc_dtype)x->type.dtype, x->data, (size_t)i);
}

static bool is_nan(sc_dtype d, sci_scalar v) {
  return (d == SC_FLOAT64 && isnan(v.f64)) || (d == SC_FLOAT32 && isnan(v.f32));
}

static void strides_of(const sci_type *t, int64_t *strides) {
  int64_t s = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    strides[i] = s;
    s *= t->shape[i];
  }
}

/* Row-major walk over `shape`: out[k] = base + sum of index * stride. */
static void walk(int rank, const int64_t *shape, const int64_t *strides, int64_t base, int64_t n, int64_t *out) {
  int64_t index[SC_MAX_RANK] = {0}, offset = base;
  for (int64_t k = 0; k < n; k++) {
    out[k] = offset;
    for (int i = rank - 1; i >= 0; i--) {
      offset += strides[i];
      if (++index[i] < shape[i]) break;
      offset -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
}

static void *elements_for(sc_context *cx, const sci_type *t) {
  return sci_alloc(&cx->env.scratch, (size_t)t->size * sc_dtype_size((sc_dtype)t->dtype));
}

static void permute(const operand *x, const int64_t *from, int64_t n, void *out) {
  for (int64_t k = 0; k < n; k++) sci_scalar_store((sc_dtype)x->type.dtype, out, (size_t)k, at(x, from[k]));
}

/* A constant's elements, those of a broadcast one spread out. */
static operand load(sc_context *cx, sci_id id) {
  const sci_node *n = sci_node_at(cx, id);
  operand x = {.type = cx->types[n->type]};
  if (n->op == SCI_X_const) {
    x.data = cx->blobs[n->attr].data;
    return x;
  }
  const sci_node *c = sci_node_at(cx, n->args[0]);
  operand source = {.type = cx->types[c->type], .data = cx->blobs[c->attr].data};
  int64_t own[SC_MAX_RANK], strides[SC_MAX_RANK];
  strides_of(&source.type, own);
  int lead = x.type.rank - source.type.rank;
  for (int i = 0; i < x.type.rank; i++) strides[i] = i < lead || source.type.shape[i - lead] == 1 ? 0 : own[i - lead];
  int64_t *from = SCI_ARRAY(&cx->env.scratch, int64_t, x.type.size);
  walk(x.type.rank, x.type.shape, strides, 0, x.type.size, from);
  void *data = elements_for(cx, &x.type);
  permute(&source, from, x.type.size, data);
  x.data = data;
  return x;
}

/* ---- elementwise ---- */

/* False: a NaN appears that no operand had. */
static bool eval(unsigned op, sc_dtype from, sc_dtype to, const sci_scalar *a, uint32_t n_args, sci_scalar *out) {
  *out = sci_op_eval((sci_op)op, from, to, a);
  if (!is_nan(to, *out) || op == SCI_OP_mul || op == SCI_OP_select) return true;
  for (uint32_t i = 0; i < n_args; i++)
    if (is_nan(from, a[i])) return true;
  return false;
}

static sc_dtype operand_dtype(sc_context *cx, const sci_recipe *r) {
  return (sc_dtype)sci_type_of(cx, r->args[r->op == SCI_OP_select])->dtype;
}

static sci_id fold_splat(sc_context *cx, const sci_recipe *r, uint32_t type) {
  sci_scalar a[3], y;
  for (uint32_t i = 0; i < r->n_args; i++)
    if (!sci_const_value(cx, r->args[i], &a[i])) return SCI_NONE;
  const sci_type t = cx->types[type];
  if (!eval(r->op, operand_dtype(cx, r), (sc_dtype)t.dtype, a, r->n_args, &y)) return SCI_NONE;
  return sci_make_broadcast(cx, sci_make_number(cx, (sc_dtype)t.dtype, y), t.rank, t.shape);
}

static bool fold_elementwise(const sci_recipe *r, sc_dtype from, const operand *x, const sci_type *t, void *out) {
  for (int64_t k = 0; k < t->size; k++) {
    sci_scalar a[3], y;
    for (uint32_t i = 0; i < r->n_args; i++) a[i] = at(&x[i], k);
    if (!eval(r->op, from, (sc_dtype)t->dtype, a, r->n_args, &y)) return false;
    sci_scalar_store((sc_dtype)t->dtype, out, (size_t)k, y);
  }
  return true;
}

/* ---- reductions: the order that program-dialect.md documents ---- */

static sci_scalar combine(sci_op op, sc_dtype d, sci_scalar a, sci_scalar b) {
  return sci_op_eval(op, d, d, (sci_scalar[]){a, b});
}

static sci_scalar sum_in_order(sc_dtype d, const sci_scalar *terms, int64_t n) {
  sci_scalar p[32];
  int64_t width = n < 8 ? 1 : n < 64 ? 4 : 32;
  for (int64_t k = 0; k < n; k++) p[k % width] = k < width ? terms[k] : combine(SCI_OP_add, d, p[k % width], terms[k]);
  if (width == 4) return combine(SCI_OP_add, d, combine(SCI_OP_add, d, p[0], p[1]), combine(SCI_OP_add, d, p[2], p[3]));
  for (int64_t half = width / 2; half; half /= 2)
    for (int64_t i = 0; i < half; i++) p[i] = combine(SCI_OP_add, d, p[i], p[i + half]);
  return n ? p[0] : (sci_scalar){.bits = 0};
}

static bool fold_reduce(sc_context *cx, const sci_recipe *r, const operand *x, const sci_type *t, void *out) {
  int64_t all[SC_MAX_RANK], shape[2][SC_MAX_RANK], strides[2][SC_MAX_RANK], n_terms = 1;
  int rank[2] = {0, 0};
  strides_of(&x->type, all);
  for (int i = 0; i < x->type.rank; i++) {
    int reduced = r->attr >> i & 1;
    shape[reduced][rank[reduced]] = x->type.shape[i];
    strides[reduced][rank[reduced]++] = all[i];
    if (reduced) n_terms *= x->type.shape[i];
  }
  if (n_terms > SUM_LIMIT) return false;
  sc_dtype d = (sc_dtype)t->dtype;
  int64_t *starts = SCI_ARRAY(&cx->env.scratch, int64_t, t->size),
          *offsets = SCI_ARRAY(&cx->env.scratch, int64_t, n_terms);
  sci_scalar *terms = SCI_ARRAY(&cx->env.scratch, sci_scalar, n_terms);
  walk(rank[0], shape[0], strides[0], 0, t->size, starts);
  walk(rank[1], shape[1], strides[1], 0, n_terms, offsets);
  for (int64_t k = 0; k < t->size; k++) {
    for (int64_t i = 0; i < n_terms; i++) terms[i] = at(x, starts[k] + offsets[i]);
    sci_scalar y = terms[0];
    if (r->op == SCI_X_sum)
      y = sum_in_order(d, terms, n_terms);
    else
      for (int64_t i = 1; i < n_terms; i++)
        y = combine(r->op == SCI_X_max ? SCI_OP_maximum : SCI_OP_minimum, d, y, terms[i]);
    sci_scalar_store(d, out, (size_t)k, y);
  }
  return true;
}

static bool fold_matmul(sc_context *cx, const operand *x, const sci_type *t, void *out) {
  const sci_type *a = &x[0].type, *b = &x[1].type;
  int64_t n_terms = b->shape[0], columns = b->rank == 2 ? b->shape[1] : 1;
  if (n_terms > SUM_LIMIT || n_terms * t->size > 16 * FOLD_LIMIT) return false;
  sc_dtype d = (sc_dtype)a->dtype;
  sci_scalar *terms = SCI_ARRAY(&cx->env.scratch, sci_scalar, n_terms);
  for (int64_t k = 0; k < t->size; k++) {
    int64_t row = k / columns, column = k % columns;
    for (int64_t i = 0; i < n_terms; i++)
      terms[i] = combine(SCI_OP_mul, d, at(&x[0], row * n_terms + i), at(&x[1], i * columns + column));
    sci_scalar y = b->rank == 1 || !n_terms ? sum_in_order(d, terms, n_terms) : terms[0];
    for (int64_t i = 1; b->rank == 2 && i < n_terms; i++) y = combine(SCI_OP_add, d, y, terms[i]);
    sci_scalar_store(d, out, (size_t)k, y);
  }
  return true;
}

/* ---- moving elements ---- */

static void fold_transpose(sc_context *cx, const sci_recipe *r, const operand *x, const sci_type *t, void *out) {
  int64_t all[SC_MAX_RANK], strides[SC_MAX_RANK], *from = SCI_ARRAY(&cx->env.scratch, int64_t, t->size);
  strides_of(&x->type, all);
  for (int k = 0; k < t->rank; k++) strides[k] = all[r->attr >> 4 * k & 15];
  walk(t->rank, t->shape, strides, 0, t->size, from);
  permute(x, from, t->size, out);
}

static void fold_slice(sc_context *cx, const sci_recipe *r, const operand *x, const sci_type *t, void *out) {
  int64_t all[SC_MAX_RANK], strides[SC_MAX_RANK], base = 0, *from = SCI_ARRAY(&cx->env.scratch, int64_t, t->size);
  const sci_slice_axis *axes = cx->blobs[r->attr].data;
  strides_of(&x->type, all);
  int rank = 0;
  for (int i = 0; i < x->type.rank; i++) {
    base += axes[i].start * all[i];
    if (!axes[i].drop) strides[rank++] = axes[i].step * all[i];
  }
  walk(rank, t->shape, strides, base, t->size, from);
  permute(x, from, t->size, out);
}

static void fold_indices(sc_context *cx, const sci_recipe *r, const operand *x, const sci_type *t, void *out) {
  const int32_t *idx = cx->blobs[r->attr].data;
  sc_dtype d = (sc_dtype)t->dtype;
  size_t bytes = (size_t)t->size * sc_dtype_size(d);
  const operand *values = &x[r->n_args - 1], target = {.type = *t, .data = out};
  if (r->op == SCI_X_gather) {
    for (int64_t k = 0; k < t->size; k++) sci_scalar_store(d, out, (size_t)k, at(x, idx[k]));
    return;
  }
  if (r->op == SCI_X_scatter)
    memset(out, 0, bytes);
  else
    memcpy(out, x[0].data, bytes);
  for (int64_t k = 0; k < values->type.size; k++) {
    sci_scalar v = at(values, k);
    if (r->op != SCI_X_index_set) v = combine(SCI_OP_add, d, at(&target, idx[k]), v);
    sci_scalar_store(d, out, (size_t)idx[k], v);
  }
}

static void fold_join(const sci_recipe *r, const operand *x, const sci_type *t, void *out) {
  int64_t inner = 1, outer = 1, at_row = 0, row = 0;
  size_t size = sc_dtype_size((sc_dtype)t->dtype);
  for (int i = 0; i < t->rank; i++) *(i < (int)r->attr ? &outer : &inner) *= t->shape[i];
  row = inner;
  for (uint32_t p = 0; p < r->n_args; p++) {
    int64_t mine = outer ? x[p].type.size / outer : 0;
    for (int64_t k = 0; mine && k < outer; k++)
      memcpy((char *)out + (size_t)(k * row + at_row) * size, (const char *)x[p].data + (size_t)(k * mine) * size,
             (size_t)mine * size);
    at_row += mine;
  }
}

static bool fold_structural(sc_context *cx, const sci_recipe *r, const operand *x, const sci_type *t, void *out) {
  switch ((sci_xop)r->op) {
  case SCI_X_reshape:
    if (t->size) memcpy(out, x->data, (size_t)t->size * sc_dtype_size((sc_dtype)t->dtype));
    return true;
  case SCI_X_transpose: fold_transpose(cx, r, x, t, out); return true;
  case SCI_X_slice: fold_slice(cx, r, x, t, out); return true;
  case SCI_X_gather:
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set: fold_indices(cx, r, x, t, out); return true;
  case SCI_X_stack:
  case SCI_X_concat: fold_join(r, x, t, out); return true;
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: return fold_reduce(cx, r, x, t, out);
  case SCI_X_matmul: return fold_matmul(cx, x, t, out);
  case SCI_X_input:
  case SCI_X_const:
  case SCI_X_stop_gradient:
  case SCI_X_broadcast:
  case SCI_X_call:
  case SCI_X_vmap:
  case SCI_X_FIRST:
  case SCI_X_END: return false;
  }
  return false;
}

/* ---- all of it ---- */

static bool keeps_elements(unsigned op) {
  return op == SCI_X_reshape || op == SCI_X_transpose || op == SCI_X_slice || op == SCI_X_gather;
}

sci_id sci_fold(sc_context *cx, const sci_recipe *r, uint32_t type) {
  if (!r->n_args || r->op == SCI_X_broadcast || r->op == SCI_X_call || r->op == SCI_X_vmap) return SCI_NONE;
  for (uint32_t i = 0; i < r->n_args; i++)
    if (!sci_is_constant(cx, r->args[i])) return SCI_NONE;
  const sci_type t = cx->types[type];
  sci_scalar v;
  if (sci_is_elementwise(r->op)) {
    sci_id splat = fold_splat(cx, r, type);
    if (splat != SCI_NONE) return splat;
  } else if (keeps_elements(r->op) && sci_const_value(cx, r->args[0], &v))
    return sci_make_broadcast(cx, sci_make_number(cx, (sc_dtype)t.dtype, v), t.rank, t.shape);
  int64_t total = t.size;
  for (uint32_t i = 0; i < r->n_args; i++) total += sci_type_of(cx, r->args[i])->size;
  if (total > FOLD_LIMIT || r->n_args > FOLD_LIMIT) return SCI_NONE;

  sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
  operand *x = SCI_ARRAY(&cx->env.scratch, operand, r->n_args);
  for (uint32_t i = 0; i < r->n_args; i++) x[i] = load(cx, r->args[i]);
  void *out = elements_for(cx, &t);
  bool done = sci_is_elementwise(r->op) ? fold_elementwise(r, operand_dtype(cx, r), x, &t, out)
                                        : fold_structural(cx, r, x, &t, out);
  sci_id id = done ? sci_make_const(cx, (sc_dtype)t.dtype, t.rank, t.shape, out) : SCI_NONE;
  sci_arena_release(&cx->env.scratch, mark);
  return id;
}
