/* Owns the builders of operations with index tables, of calls and hints, and rebuilding a node on other operands. */
#include "lib/expr/build.h"

/* ---- index tables ---- */

static uint32_t retyped(sc_context *cx, sci_id a, int rank, const int64_t *shape) {
  const sci_type *t = sci_type_of(cx, a);
  return sci_intern_type(cx, (sc_dtype)t->dtype, t->diff, rank, shape);
}

static uint32_t table(sc_context *cx, const int32_t *indices, int64_t n) {
  return sci_intern_blob(cx, indices, (size_t)n * sizeof *indices);
}

sci_id sci_make_gather(sc_context *cx, sci_id a, const int32_t *indices, int rank, const int64_t *shape) {
  uint32_t type = retyped(cx, a, rank, shape);
  int64_t n = cx->types[type].size;
  uint32_t attr = table(cx, indices, n);
  if (!sci_plain(cx, a, SCI_X_gather)) return sci_finish1(cx, SCI_X_gather, attr, type, a);
  sci_infer_gather(cx, &(sci_recipe){.op = SCI_X_gather, .n_args = 1, .attr = attr, .args = &a, .type = type});
  const int32_t *first = sci_attr(cx, a);
  sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
  int32_t *both = SCI_ARRAY(&cx->env.scratch, int32_t, n);
  for (int64_t i = 0; i < n; i++) both[i] = first[indices[i]];
  sci_id id = sci_make_gather(cx, sci_arg(cx, a, 0), both, rank, shape);
  sci_arena_release(&cx->env.scratch, mark);
  return id;
}

sci_id sci_make_scatter(sc_context *cx, sci_id a, const int32_t *indices, int rank, const int64_t *shape) {
  uint32_t type = retyped(cx, a, rank, shape);
  return sci_finish1(cx, SCI_X_scatter, table(cx, indices, sci_type_of(cx, a)->size), type, a);
}

sci_id sci_make_index(sc_context *cx, sci_xop op, sci_id base, sci_id values, const int32_t *indices) {
  uint32_t attr = table(cx, indices, sci_type_of(cx, values)->size);
  return sci_finish(
      cx, &(sci_recipe){.op = op, .n_args = 2, .attr = attr, .args = (sci_id[]){base, values}, .type = SCI_NONE});
}

/* ---- calls ---- */

sci_id sci_make_call(sc_context *cx, sc_function *f, const sci_id *args, uint32_t n_args, uint32_t output) {
  sci_call_attr attr = {.callee = f->id, .output = output};
  uint32_t blob = sci_intern_blob(cx, &attr, sizeof attr);
  return sci_finish(cx,
                    &(sci_recipe){.op = SCI_X_call, .n_args = n_args, .attr = blob, .args = args, .type = SCI_NONE});
}

sci_id sci_make_vmap(sc_context *cx, sc_function *f, int64_t length, const sci_id *args, uint32_t n_args,
                     const int64_t *starts, const int64_t *strides, uint32_t output) {
  size_t size = sizeof(sci_call_attr) + 2 * (size_t)n_args * sizeof(int64_t);
  sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
  sci_call_attr *attr = sci_alloc(&cx->env.scratch, size);
  *attr = (sci_call_attr){.callee = f->id, .output = output, .length = length};
  for (uint32_t i = 0; i < n_args; i++) {
    attr->windows[i] = starts[i];
    attr->windows[n_args + i] = strides[i];
  }
  uint32_t blob = sci_intern_blob(cx, attr, size);
  sci_arena_release(&cx->env.scratch, mark);
  return sci_finish(cx,
                    &(sci_recipe){.op = SCI_X_vmap, .n_args = n_args, .attr = blob, .args = args, .type = SCI_NONE});
}

/* ---- hints and rebuilding ---- */

sci_id sci_make_hint(sc_context *cx, sci_id a, sc_hint hint) {
  const sci_node n = *sci_node_at(cx, a);
  if ((unsigned)hint > SC_HINT_BLOCK) sci_fail(&cx->env, SC_ERR_ARGUMENT, "hint number %d does not exist", (int)hint);
  if (n.hint == hint) return a;
  if (n.op == SCI_X_input)
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "an input carries no hint: put it on an operation, or on the function");
  sci_id args[3];
  memcpy(args, n.args, sizeof args);
  return sci_intern_node(cx, n.op, hint, n.type, n.attr, n.n_args, n.n_args > 3 ? sci_args(cx, &n) : args);
}

static sci_id remake_plain(sc_context *cx, sci_id id, const sci_id *args) {
  const sci_node n = *sci_node_at(cx, id);
  const sci_type t = cx->types[n.type];
  const void *attr = cx->blobs ? cx->blobs[n.attr < cx->n_blobs ? n.attr : 0].data : NULL;
  if (n.op < SCI_OP_COUNT)
    return n.op == SCI_OP_cast ? sci_make_cast(cx, args[0], (sc_dtype)t.dtype)
                               : sci_make_scalar_op(cx, (sci_op)n.op, args);
  switch ((sci_xop)n.op) {
  case SCI_X_input:
  case SCI_X_const: return id;
  case SCI_X_stop_gradient: return sci_make_stop_gradient(cx, args[0]);
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: return sci_make_reduce(cx, (sci_xop)n.op, args[0], n.attr);
  case SCI_X_reshape: return sci_make_reshape(cx, args[0], t.rank, t.shape);
  case SCI_X_broadcast: return sci_make_broadcast(cx, args[0], t.rank, t.shape);
  case SCI_X_transpose: {
    int axes[SC_MAX_RANK];
    for (int k = 0; k < t.rank; k++) axes[k] = (int)(n.attr >> 4 * k & 15);
    return sci_make_transpose(cx, args[0], axes);
  }
  case SCI_X_slice: return sci_make_slice_axes(cx, args[0], attr);
  case SCI_X_gather: return sci_make_gather(cx, args[0], attr, t.rank, t.shape);
  case SCI_X_scatter: return sci_make_scatter(cx, args[0], attr, t.rank, t.shape);
  case SCI_X_index_add:
  case SCI_X_index_set: return sci_make_index(cx, (sci_xop)n.op, args[0], args[1], attr);
  case SCI_X_stack:
  case SCI_X_concat: return sci_make_join(cx, (sci_xop)n.op, args, n.n_args, (int)n.attr);
  case SCI_X_matmul: return sci_make_matmul(cx, args[0], args[1]);
  case SCI_X_call:
  case SCI_X_vmap:
    return sci_finish(cx,
                      &(sci_recipe){.op = n.op, .n_args = n.n_args, .attr = n.attr, .args = args, .type = SCI_NONE});
  case SCI_X_FIRST:
  case SCI_X_END: break;
  }
  return SCI_NONE;
}

/* A node with a hint is rebuilt as it is: simplification would lose the hint. */
sci_id sci_remake(sc_context *cx, sci_id id, const sci_id *args) {
  const sci_node n = *sci_node_at(cx, id);
  if (n.hint == SC_HINT_AUTO || !n.n_args) return remake_plain(cx, id, args);
  uint32_t given = SCI_NONE;
  if (n.op == SCI_OP_cast || n.op == SCI_X_reshape || n.op == SCI_X_broadcast || n.op == SCI_X_gather ||
      n.op == SCI_X_scatter) {
    const sci_type t = cx->types[n.type];
    given = sci_intern_type(cx, (sc_dtype)t.dtype, sci_type_of(cx, args[0])->diff, t.rank, t.shape);
  }
  sci_recipe r = {.op = n.op, .n_args = n.n_args, .attr = n.attr, .args = args, .type = given};
  return sci_intern_node(cx, n.op, (sc_hint)n.hint, sci_infer(cx, &r), n.attr, n.n_args, args);
}
