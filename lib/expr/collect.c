/* Owns compaction: what no live function and no kept node reaches is dropped, the rest is interned anew in the same
 * order. */
#include "lib/expr/expr.h"

typedef struct liveness {
  sci_id *number; /* per node: SCI_NONE dead, else anything, later the new id */
  bool *function;
} liveness;

static void keep_function(const sc_context *cx, liveness *live, uint32_t id) {
  const sc_function *f = cx->functions[id];
  if (live->function[id]) return;
  live->function[id] = true;
  for (uint32_t i = 0; i < f->n_in; i++) live->number[f->in[i].node] = 0;
  for (uint32_t i = 0; i < f->n_out; i++) live->number[f->out[i].node] = 0;
  if (f->custom.jvp) keep_function(cx, live, f->custom.jvp->id);
  if (f->custom.vjp) keep_function(cx, live, f->custom.vjp->id);
}

/* Operands, and the bodies of callees, have lower ids than a node: one descending sweep. */
static liveness find_live(sc_context *cx, const sci_id *keep, size_t n) {
  liveness live = {.number = SCI_ARRAY(&cx->env.scratch, sci_id, cx->n_nodes),
                   .function = SCI_ZEROS(&cx->env.scratch, bool, cx->n_functions)};
  memset(live.number, 0xFF, cx->n_nodes * sizeof *live.number);
  for (size_t i = 0; i < n; i++)
    if (keep[i] != SCI_NONE) live.number[keep[i]] = 0;
  for (uint32_t i = 0; i < cx->n_functions; i++)
    if (cx->functions[i] && cx->functions[i]->held) keep_function(cx, &live, i);
  for (sci_id id = cx->n_nodes; id-- > 0;) {
    if (live.number[id] == SCI_NONE) continue;
    const sci_node *node = sci_node_at(cx, id);
    const sci_id *args = sci_args(cx, node);
    for (uint32_t i = 0; i < node->n_args; i++) live.number[args[i]] = 0;
    if (node->op == SCI_X_call || node->op == SCI_X_vmap)
      keep_function(cx, &live, ((const sci_call_attr *)cx->blobs[node->attr].data)->callee);
  }
  return live;
}

bool sci_attr_is_blob(unsigned op) {
  enum { NONE, INLINE, BLOB };
  static const uint8_t kinds[] = {
#define SCI_XOP(name, arity, kind) kind,
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
  };
  return op >= SCI_OP_COUNT && kinds[op - SCI_OP_COUNT] == BLOB;
}

static void copy_live(sc_context *cx, const sc_context *old, liveness *live) {
  for (sci_id id = 0; id < old->n_nodes; id++) {
    if (live->number[id] == SCI_NONE) continue;
    const sci_node *n = sci_node_at(old, id);
    const sci_type *t = &old->types[n->type];
    uint32_t type = sci_intern_type(cx, (sc_dtype)t->dtype, t->diff, t->rank, t->shape);
    uint32_t attr = n->attr;
    if (sci_attr_is_blob(n->op)) attr = sci_intern_blob(cx, old->blobs[attr].data, old->blobs[attr].size);
    sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
    const sci_id *args = sci_args(old, n);
    sci_id *moved = SCI_ARRAY(&cx->env.scratch, sci_id, n->n_args);
    for (uint32_t i = 0; i < n->n_args; i++) moved[i] = live->number[args[i]];
    live->number[id] = sci_intern_node(cx, n->op, (sc_hint)n->hint, type, attr, n->n_args, moved);
    sci_arena_release(&cx->env.scratch, mark);
  }
}

static void renumber(sc_context *cx, const liveness *live, sci_id *keep, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (keep[i] != SCI_NONE) keep[i] = live->number[keep[i]];
  for (uint32_t k = 0; k < cx->n_functions; k++) {
    sc_function *f = cx->functions[k];
    if (!f) continue;
    if (!live->function[k]) {
      sci_function_destroy(f);
      continue;
    }
    for (uint32_t i = 0; i < f->n_in; i++) f->in[i].node = live->number[f->in[i].node];
    for (uint32_t i = 0; i < f->n_out; i++) f->out[i].node = live->number[f->out[i].node];
  }
}

void sci_collect(sc_context *cx, sci_id *keep, size_t n) {
  liveness live = find_live(cx, keep, n);
  const sc_context old = *cx;
  sci_storage_init(cx);
  sci_frame fr;
  if (!SCI_TRY(&cx->env, &fr)) {
    sci_storage_free(cx);
    sci_env env = cx->env;
    *cx = old;
    cx->env = env;
    sci_unwind(&cx->env);
  }
  copy_live(cx, &old, &live);
  sci_leave(&cx->env, &fr);
  sc_context dropped = old;
  sci_storage_free(&dropped);
  renumber(cx, &live, keep, n);
  cx->generation++;
}
