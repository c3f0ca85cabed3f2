/* Owns the result types of sources, elementwise operations, reductions, matmul and of operations on shapes. */
#include "lib/expr/expr.h"

#define TYPE(i) (&cx->types[sci_node_at(cx, r->args[i])->type])

static const char *shape_text(sc_context *cx, sci_id id) {
  sci_type t = *sci_type_of(cx, id);
  return sci_shape_text(cx, t.rank, t.shape);
}

static uint32_t like(sc_context *cx, const sci_recipe *r, int rank, const int64_t *shape) {
  const sci_type *t = TYPE(0);
  return sci_intern_type(cx, (sc_dtype)t->dtype, t->diff, rank, shape);
}

static bool same_shape(const sci_type *a, const sci_type *b) {
  return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* The first size bytes of a blob attribute are there, and no more. */
static const void *blob_of(sc_context *cx, const sci_recipe *r, size_t size) {
  if (r->attr >= cx->n_blobs || cx->blobs[r->attr].size != size)
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: the attribute does not have the %zu bytes that the shapes ask for",
             sci_xop_name(r->op), size);
  return cx->blobs[r->attr].data;
}

/* ---- sources ---- */

uint32_t sci_infer_input(sc_context *cx, const sci_recipe *r) {
  const sci_blob *b = r->attr < cx->n_blobs ? &cx->blobs[r->attr] : NULL;
  if (!b || b->size <= sizeof(sci_input_attr) || ((const char *)b->data)[b->size - 1])
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "input: the attribute is not a name");
  sci_check_name(cx, "input", ((const sci_input_attr *)b->data)->name, true);
  return r->type;
}

uint32_t sci_infer_const(sc_context *cx, const sci_recipe *r) {
  const sci_type *t = &cx->types[r->type];
  blob_of(cx, r, (size_t)t->size * sc_dtype_size((sc_dtype)t->dtype));
  if (t->diff) sci_fail(&cx->env, SC_ERR_DTYPE, "const: a constant carries no derivative");
  return r->type;
}

/* ---- elementwise ---- */

static void check_dtypes(sc_context *cx, const sci_recipe *r) {
  const char *name = sci_xop_name(r->op);
  uint32_t first = r->op == SCI_OP_select;
  if (first && TYPE(0)->dtype != SC_BOOL)
    sci_fail(&cx->env, SC_ERR_DTYPE, "select: the condition is %s, it must be bool",
             sc_dtype_name((sc_dtype)TYPE(0)->dtype));
  sc_dtype d = (sc_dtype)TYPE(first)->dtype;
  for (uint32_t i = first + 1; i < r->n_args; i++)
    if (TYPE(i)->dtype != d)
      sci_fail(&cx->env, SC_ERR_DTYPE,
               "%s: operands are %s and %s; data types are not mixed silently, cast one of them", name,
               sc_dtype_name(d), sc_dtype_name((sc_dtype)TYPE(i)->dtype));
  if (sci_op_accepts((sci_op)r->op, d)) return;
  sci_sig sig = (sci_sig)sci_ops[r->op].sig;
  bool floats = sig == SCI_SIG_F || sig == SCI_SIG_FP;
  sci_fail(&cx->env, SC_ERR_DTYPE, "%s: %s operands are not supported; cast to %s first", name, sc_dtype_name(d),
           floats             ? "a float type"
           : sig == SCI_SIG_B ? "bool"
                              : "a number type");
}

static bool carries_diff(sc_context *cx, const sci_recipe *r) {
  if (r->op < SCI_OP_COUNT && (sci_ops[r->op].traits & SCI_STEP)) return false;
  for (uint32_t i = 0; i < r->n_args; i++)
    if (TYPE(i)->diff) return true;
  return false;
}

uint32_t sci_infer_scalar(sc_context *cx, const sci_recipe *r) {
  check_dtypes(cx, r);
  const sci_type *t = TYPE(0);
  for (uint32_t i = 1; i < r->n_args; i++)
    if (!same_shape(t, TYPE(i)))
      sci_fail(&cx->env, SC_ERR_SHAPE, "%s: operands have shapes %s and %s, they must be equal", sci_xop_name(r->op),
               shape_text(cx, r->args[0]), shape_text(cx, r->args[i]));
  bool diff = carries_diff(cx, r);
  sc_dtype to;
  if (r->op == SCI_OP_cast) {
    const sci_type *c = &cx->types[r->type];
    to = (sc_dtype)c->dtype;
    if (!same_shape(t, c)) sci_fail(&cx->env, SC_ERR_SHAPE, "cast: the result has another shape than the operand");
  } else
    to = sci_op_result((sci_op)r->op, (sc_dtype)TYPE(r->op == SCI_OP_select)->dtype);
  if (to == (sc_dtype)t->dtype && (diff && sci_is_float(to)) == t->diff) return sci_node_at(cx, r->args[0])->type;
  sci_type copy = *t;
  return sci_intern_type(cx, to, diff, copy.rank, copy.shape);
}

uint32_t sci_infer_stop_gradient(sc_context *cx, const sci_recipe *r) {
  sci_type t = *TYPE(0);
  return sci_intern_type(cx, (sc_dtype)t.dtype, false, t.rank, t.shape);
}

/* ---- reductions ---- */

static uint32_t infer_reduce(sc_context *cx, const sci_recipe *r) {
  sci_type t = *TYPE(0);
  const char *name = sci_xop_name(r->op);
  if (t.dtype == SC_BOOL)
    sci_fail(&cx->env, SC_ERR_DTYPE, "%s: bool operands are not supported; cast to a number type first", name);
  if (r->attr >> t.rank)
    sci_fail(&cx->env, SC_ERR_INDEX, "%s: an axis is out of range for shape %s", name, shape_text(cx, r->args[0]));
  int64_t shape[SC_MAX_RANK], terms = 1;
  int rank = 0;
  for (int i = 0; i < t.rank; i++) {
    if (r->attr >> i & 1)
      terms *= t.shape[i];
    else
      shape[rank++] = t.shape[i];
  }
  if (!terms && r->op != SCI_X_sum)
    sci_fail(&cx->env, SC_ERR_SHAPE, "%s: shape %s leaves nothing to reduce over", name, shape_text(cx, r->args[0]));
  return like(cx, r, rank, shape);
}

uint32_t sci_infer_sum(sc_context *cx, const sci_recipe *r) {
  return infer_reduce(cx, r);
}
uint32_t sci_infer_max(sc_context *cx, const sci_recipe *r) {
  return infer_reduce(cx, r);
}
uint32_t sci_infer_min(sc_context *cx, const sci_recipe *r) {
  return infer_reduce(cx, r);
}

/* ---- shape ---- */

static void check_same_elements(sc_context *cx, const sci_recipe *r) {
  const sci_type *t = TYPE(0), *y = &cx->types[r->type];
  if (t->dtype != y->dtype || t->diff != y->diff)
    sci_fail(&cx->env, SC_ERR_DTYPE, "%s: the result has another data type than the operand", sci_xop_name(r->op));
}

uint32_t sci_infer_reshape(sc_context *cx, const sci_recipe *r) {
  check_same_elements(cx, r);
  const sci_type y = cx->types[r->type];
  if (y.size != TYPE(0)->size)
    sci_fail(&cx->env, SC_ERR_SHAPE, "reshape: shape %s has %lld elements, the operand of shape %s has %lld",
             sci_shape_text(cx, y.rank, y.shape), (long long)y.size, shape_text(cx, r->args[0]),
             (long long)TYPE(0)->size);
  return r->type;
}

uint32_t sci_infer_broadcast(sc_context *cx, const sci_recipe *r) {
  check_same_elements(cx, r);
  const sci_type y = cx->types[r->type], *t = TYPE(0);
  bool fits = t->rank <= y.rank;
  for (int i = 0; fits && i < t->rank; i++) fits = t->shape[i] == 1 || t->shape[i] == y.shape[y.rank - t->rank + i];
  if (!fits)
    sci_fail(&cx->env, SC_ERR_SHAPE, "broadcast: shape %s does not broadcast to %s", shape_text(cx, r->args[0]),
             sci_shape_text(cx, y.rank, y.shape));
  return r->type;
}

uint32_t sci_infer_transpose(sc_context *cx, const sci_recipe *r) {
  sci_type t = *TYPE(0);
  int64_t shape[SC_MAX_RANK];
  unsigned seen = 0;
  for (int k = 0; k < t.rank; k++) {
    unsigned axis = r->attr >> 4 * k & 15;
    if (axis >= t.rank || (seen >> axis & 1))
      sci_fail(&cx->env, SC_ERR_INDEX, "transpose: the axes are not a permutation of 0 to %d", t.rank - 1);
    seen |= 1u << axis;
    shape[k] = t.shape[axis];
  }
  return like(cx, r, t.rank, shape);
}

uint32_t sci_infer_slice(sc_context *cx, const sci_recipe *r) {
  sci_type t = *TYPE(0);
  const sci_slice_axis *axes = blob_of(cx, r, t.rank * sizeof *axes);
  int64_t shape[SC_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < t.rank; i++) {
    sci_slice_axis x = axes[i];
    bool fits = x.count >= 0 && x.count <= t.shape[i] && x.step != 0;
    if (fits && x.count) {
      int64_t last;
      fits = !__builtin_mul_overflow(x.count - 1, x.step, &last) && !__builtin_add_overflow(last, x.start, &last) &&
             x.start >= 0 && x.start < t.shape[i] && last >= 0 && last < t.shape[i];
    }
    if (!fits || (x.drop && x.count != 1))
      sci_fail(&cx->env, SC_ERR_INDEX, "slice: %lld elements from %lld by %lld leave axis %d of shape %s",
               (long long)x.count, (long long)x.start, (long long)x.step, i, shape_text(cx, r->args[0]));
    if (!x.drop) shape[rank++] = x.count;
  }
  return like(cx, r, rank, shape);
}

/* ---- assembly ---- */

static uint32_t infer_join(sc_context *cx, const sci_recipe *r) {
  const char *name = sci_xop_name(r->op);
  bool stack = r->op == SCI_X_stack;
  if (!r->n_args) sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: there are no parts", name);
  sci_type t = *TYPE(0);
  if (r->attr >= (uint32_t)t.rank + stack)
    sci_fail(&cx->env, SC_ERR_INDEX, "%s: axis %u is out of range for parts of shape %s", name, r->attr,
             shape_text(cx, r->args[0]));
  int64_t along = 0;
  for (uint32_t k = 0; k < r->n_args; k++) {
    const sci_type *p = TYPE(k);
    if (p->dtype != t.dtype)
      sci_fail(&cx->env, SC_ERR_DTYPE,
               "%s: part 0 is %s and part %u is %s; data types are not mixed silently, cast one of them", name,
               sc_dtype_name((sc_dtype)t.dtype), k, sc_dtype_name((sc_dtype)p->dtype));
    bool fits = p->rank == t.rank;
    for (int i = 0; fits && i < t.rank; i++) fits = p->shape[i] == t.shape[i] || (!stack && i == (int)r->attr);
    if (!fits)
      sci_fail(&cx->env, SC_ERR_SHAPE,
               "%s: part 0 has shape %s and part %u has shape %s, they do not fit along axis %u", name,
               shape_text(cx, r->args[0]), k, shape_text(cx, r->args[k]), r->attr);
    along = stack ? along + 1 : sci_add_size(&cx->env, along, p->shape[r->attr], name);
  }
  int64_t shape[SC_MAX_RANK + 1];
  int rank = 0;
  for (int i = 0; i < t.rank + stack; i++) {
    if (i == (int)r->attr)
      shape[rank++] = along;
    else
      shape[rank++] = t.shape[i - (stack && i > (int)r->attr)];
  }
  return sci_intern_type(cx, (sc_dtype)t.dtype, carries_diff(cx, r), rank, shape);
}

uint32_t sci_infer_stack(sc_context *cx, const sci_recipe *r) {
  return infer_join(cx, r);
}
uint32_t sci_infer_concat(sc_context *cx, const sci_recipe *r) {
  return infer_join(cx, r);
}

/* ---- linear algebra ---- */

uint32_t sci_infer_matmul(sc_context *cx, const sci_recipe *r) {
  sci_type a = *TYPE(0), b = *TYPE(1);
  if (a.dtype != b.dtype)
    sci_fail(&cx->env, SC_ERR_DTYPE,
             "matmul: operands are %s and %s; data types are not mixed silently, cast one of them",
             sc_dtype_name((sc_dtype)a.dtype), sc_dtype_name((sc_dtype)b.dtype));
  if (a.dtype == SC_BOOL)
    sci_fail(&cx->env, SC_ERR_DTYPE, "matmul: bool operands are not supported; cast to a number type first");
  if (a.rank < 1 || a.rank > 2 || b.rank < 1 || b.rank > 2 || a.shape[a.rank - 1] != b.shape[0])
    sci_fail(&cx->env, SC_ERR_SHAPE,
             "matmul: shapes %s and %s do not fit (vectors and matrices only, equal inner dimension)",
             shape_text(cx, r->args[0]), shape_text(cx, r->args[1]));
  int64_t shape[2];
  int rank = 0;
  if (a.rank == 2) shape[rank++] = a.shape[0];
  if (b.rank == 2) shape[rank++] = b.shape[1];
  return sci_intern_type(cx, (sc_dtype)a.dtype, a.diff || b.diff, rank, shape);
}

/* ---- dispatch ---- */

uint32_t sci_infer(sc_context *cx, const sci_recipe *r) {
  if (r->op < SCI_OP_COUNT) return sci_infer_scalar(cx, r);
  static uint32_t (*const infer[])(sc_context *, const sci_recipe *) = {
#define SCI_XOP(name, ...) sci_infer_##name,
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
  };
  return infer[r->op - SCI_OP_COUNT](cx, r);
}
