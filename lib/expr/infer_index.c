/* Owns the result types of operations with index tables and of calls. */
#include "lib/expr/expr.h"

#define TYPE(i) (&cx->types[sci_node_at(cx, r->args[i])->type])

static const char *shape_text(sc_context *cx, sci_id id) {
  sci_type t = *sci_type_of(cx, id);
  return sci_shape_text(cx, t.rank, t.shape);
}

static void check_indices(sc_context *cx, const sci_recipe *r, int64_t n, int64_t limit) {
  const sci_blob *b = r->attr < cx->n_blobs ? &cx->blobs[r->attr] : NULL;
  if (!b || b->size != (size_t)n * sizeof(int32_t))
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: the index table does not have the %lld entries that the shapes ask for",
             sci_xop_name(r->op), (long long)n);
  const int32_t *idx = b->data;
  for (int64_t k = 0; k < n; k++)
    if (idx[k] < 0 || idx[k] >= limit)
      sci_fail(&cx->env, SC_ERR_INDEX, "%s: index %d at position %lld is out of range for %lld elements",
               sci_xop_name(r->op), idx[k], (long long)k, (long long)limit);
}

static void check_type_given(sc_context *cx, const sci_recipe *r) {
  const sci_type *t = TYPE(0), *y = &cx->types[r->type];
  if (t->dtype != y->dtype || t->diff != y->diff)
    sci_fail(&cx->env, SC_ERR_DTYPE, "%s: the result has another data type than the operand", sci_xop_name(r->op));
}

uint32_t sci_infer_gather(sc_context *cx, const sci_recipe *r) {
  check_type_given(cx, r);
  check_indices(cx, r, cx->types[r->type].size, TYPE(0)->size);
  return r->type;
}

uint32_t sci_infer_scatter(sc_context *cx, const sci_recipe *r) {
  check_type_given(cx, r);
  if (TYPE(0)->dtype == SC_BOOL)
    sci_fail(&cx->env, SC_ERR_DTYPE, "scatter: bool operands are not supported; cast to a number type first");
  check_indices(cx, r, TYPE(0)->size, cx->types[r->type].size);
  return r->type;
}

static uint32_t infer_index(sc_context *cx, const sci_recipe *r) {
  const char *name = sci_xop_name(r->op);
  sci_type base = *TYPE(0), values = *TYPE(1);
  if (base.dtype != values.dtype)
    sci_fail(&cx->env, SC_ERR_DTYPE, "%s: operands are %s and %s; data types are not mixed silently, cast one of them",
             name, sc_dtype_name((sc_dtype)base.dtype), sc_dtype_name((sc_dtype)values.dtype));
  if (base.dtype == SC_BOOL && r->op == SCI_X_index_add)
    sci_fail(&cx->env, SC_ERR_DTYPE, "index_add: bool operands are not supported; cast to a number type first");
  check_indices(cx, r, values.size, base.size);
  return sci_intern_type(cx, (sc_dtype)base.dtype, base.diff || values.diff, base.rank, base.shape);
}

uint32_t sci_infer_index_add(sc_context *cx, const sci_recipe *r) {
  return infer_index(cx, r);
}
uint32_t sci_infer_index_set(sc_context *cx, const sci_recipe *r) {
  return infer_index(cx, r);
}

/* ---- calls ---- */

static const sci_call_attr *call_attr(sc_context *cx, const sci_recipe *r, bool windows, const sc_function **callee) {
  const char *name = sci_xop_name(r->op);
  const sci_blob *b = r->attr < cx->n_blobs ? &cx->blobs[r->attr] : NULL;
  size_t want = sizeof(sci_call_attr) + (windows ? 2 * (size_t)r->n_args * sizeof(int64_t) : 0);
  if (!b || b->size != want) sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: the attribute does not fit the operands", name);
  const sci_call_attr *a = b->data;
  *callee = a->callee < cx->n_functions ? cx->functions[a->callee] : NULL;
  if (!*callee) sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: the callee does not exist", name);
  const sc_function *f = *callee;
  if (r->n_args != f->n_in)
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s of %s: %u arguments given, it takes %u", name, f->name, r->n_args, f->n_in);
  if (a->output >= f->n_out)
    sci_fail(&cx->env, SC_ERR_INDEX, "%s of %s: output %u does not exist, it has %u", name, f->name, a->output,
             f->n_out);
  for (uint32_t i = 0; i < f->n_in; i++)
    if (TYPE(i)->dtype != sci_type_of(cx, f->in[i].node)->dtype)
      sci_fail(&cx->env, SC_ERR_DTYPE, "%s of %s: argument %u is %s, input %s is %s", name, f->name, i,
               sc_dtype_name((sc_dtype)TYPE(i)->dtype), f->in[i].name,
               sc_dtype_name((sc_dtype)sci_type_of(cx, f->in[i].node)->dtype));
  return a;
}

/* An output carries a derivative when it does in the callee (by the callee's own derivative, every float one does) and
 * an argument brings one to a formal that takes it. */
static bool call_diff(sc_context *cx, const sci_recipe *r, const sc_function *f, uint32_t output) {
  const sci_type *t = sci_type_of(cx, f->out[output].node);
  if (!t->diff && !(sci_is_custom(f) && sci_is_float((sc_dtype)t->dtype))) return false;
  for (uint32_t i = 0; i < f->n_in; i++)
    if (TYPE(i)->diff && sci_type_of(cx, f->in[i].node)->diff) return true;
  return false;
}

uint32_t sci_infer_call(sc_context *cx, const sci_recipe *r) {
  const sc_function *f;
  const sci_call_attr *a = call_attr(cx, r, false, &f);
  for (uint32_t i = 0; i < f->n_in; i++) {
    const sci_type *t = TYPE(i), *want = sci_type_of(cx, f->in[i].node);
    if (t->rank != want->rank || memcmp(t->shape, want->shape, t->rank * sizeof *t->shape))
      sci_fail(&cx->env, SC_ERR_SHAPE, "call of %s: argument %u has shape %s, input %s has %s", f->name, i,
               shape_text(cx, r->args[i]), f->in[i].name, shape_text(cx, f->in[i].node));
  }
  sci_type y = *sci_type_of(cx, f->out[a->output].node);
  return sci_intern_type(cx, (sc_dtype)y.dtype, call_diff(cx, r, f, a->output), y.rank, y.shape);
}

static void check_window(sc_context *cx, const sc_function *f, uint32_t i, const sci_call_attr *a, int64_t have) {
  int64_t start = a->windows[i], stride = a->windows[f->n_in + i], last = start;
  int64_t room = have - sci_type_of(cx, f->in[i].node)->size; /* the largest offset at which a window ends inside */
  bool fits = start >= 0 && start <= room;
  if (fits && a->length > 1)
    fits = !__builtin_mul_overflow(a->length - 1, stride, &last) && !__builtin_add_overflow(last, start, &last) &&
           last >= 0 && last <= room;
  if (!fits)
    sci_fail(
        &cx->env, SC_ERR_INDEX,
        "vmap of %s: %lld windows of %lld elements from %lld by %lld leave the %lld elements of argument %u (input %s)",
        f->name, (long long)a->length, (long long)(have - room), (long long)start, (long long)stride, (long long)have,
        i, f->in[i].name);
}

uint32_t sci_infer_vmap(sc_context *cx, const sci_recipe *r) {
  const sc_function *f;
  const sci_call_attr *a = call_attr(cx, r, true, &f);
  if (a->length < 0)
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "vmap of %s: length %lld is negative", f->name, (long long)a->length);
  for (uint32_t i = 0; i < f->n_in; i++) {
    if (TYPE(i)->rank != 1)
      sci_fail(&cx->env, SC_ERR_SHAPE, "vmap of %s: argument %u has shape %s, windows need rank 1", f->name, i,
               shape_text(cx, r->args[i]));
    if (a->length) check_window(cx, f, i, a, TYPE(i)->size);
  }
  sci_type y = *sci_type_of(cx, f->out[a->output].node);
  int64_t size = sci_mul_size(&cx->env, a->length, y.size, "vmap");
  return sci_intern_type(cx, (sc_dtype)y.dtype, call_diff(cx, r, f, a->output), 1, &size);
}
