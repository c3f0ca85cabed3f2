/* Owns conditions in private memory: lanes hold them as floats, 0 or 1, which vectors move like all others.
 *
 * What nobody outside sees may have any form. A private buffer of bools becomes one of floats of the type that is
 * compared where it is stored; a condition is stored as select(c, 1, 0) and loaded as ne(v, 0), which is exact. */
#include "lib/passes/widen.h"

typedef struct masks {
  sci_store *s;
  sci_map to;    /* per private buffer of bools, none of them seen by a call: the one of floats */
  sci_map value; /* per name: what it is assigned */
  sc_dtype usual;
} masks;

static sci_buf storage_of(const masks *x, sci_buf b) {
  int64_t offset;
  return sci_storage(x->s, b, &offset);
}

/* The type that a condition compares; `usual` where that is not seen. */
static sc_dtype compared(const masks *x, sci_val v) {
  enum { FAR = 16 };
  for (int i = 0; i < FAR; i++) {
    const sci_value *at = sci_value_at(x->s, v);
    if (sci_is_float((sc_dtype)at->dtype)) return (sc_dtype)at->dtype;
    if (at->kind == SCI_V_NAME)
      v = sci_map_get(&x->value, at->args[0]);
    else if (at->kind == SCI_V_OP)
      v = at->args[0];
    else
      break;
    if (v == SCI_NIL) break;
  }
  return x->usual;
}

static void forget_viewed(masks *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP) forget_viewed(x, st->loop->body);
    if (st->kind != SCI_S_CALL) continue;
    for (uint32_t k = 0; k < st->call->n; k++) {
      sci_buf storage = storage_of(x, st->call->views[k].buf);
      if (sci_map_get(&x->to, storage) != UINT32_MAX) sci_map_set(&x->to, storage, UINT32_MAX);
    }
  }
}

/* Until a store tells the type, a buffer stands for itself. */
static void find_types(masks *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP) find_types(x, st->loop->body);
    if (st->kind == SCI_S_ASSIGN && st->declare) sci_map_set(&x->value, st->name, st->value);
    if (st->kind != SCI_S_STORE) continue;
    sci_buf storage = storage_of(x, st->buf);
    if (sci_map_get(&x->to, storage) != storage) continue;
    const sci_buffer old = x->s->bufs[storage];
    sci_map_set(&x->to, storage, sci_new_buf(x->s, compared(x, st->value), SCI_SPACE_PRIVATE, old.size, old.hint));
  }
}

static sci_buf replaced(const masks *x, const sci_stmt *st, int64_t *offset) {
  sci_buf storage = sci_storage(x->s, st->buf, offset);
  sci_buf to = sci_map_get(&x->to, storage);
  return to == storage ? UINT32_MAX : to;
}

static void visit(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  masks *x = r->user;
  int64_t offset;
  bool access = st->kind == SCI_S_LOAD || st->kind == SCI_S_STORE;
  sci_buf to = access ? replaced(x, st, &offset) : SCI_NIL;
  if (to == SCI_NIL) {
    sci_rewrite_default(r, out, st);
    return;
  }
  sc_dtype of = (sc_dtype)x->s->bufs[to].dtype;
  sci_val index = sci_idx_add(x->s, st->index, sci_val_int(x->s, offset));
  if (st->kind == SCI_S_STORE) {
    sci_val args[] = {st->value, sci_val_double(x->s, of, 1), sci_val_double(x->s, of, 0)};
    sci_emit_store(out, to, index, sci_val_op(x->s, SCI_OP_select, of, args));
    return;
  }
  sci_val v = sci_emit_load(out, x->s, to, index, NULL), zero = sci_val_double(x->s, of, 0);
  sci_emit(out, (sci_stmt){.kind = SCI_S_ASSIGN,
                           .declare = 1,
                           .name = st->name,
                           .buf = SCI_NIL,
                           .index = SCI_NIL,
                           .value = sci_val_op2(x->s, SCI_OP_ne, v, zero)});
}

static bool has_loops(sci_block b) {
  for (uint32_t i = 0; i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_LOOP) return true;
  return false;
}

const sci_proc *sci_widen_masks(sci_store *s, const sci_proc *q) {
  masks x = {.s = s, .usual = SC_FLOAT64};
  sci_map_init(&x.to, &s->env->scratch);
  sci_map_init(&x.value, &s->env->scratch);
  bool any = false;
  for (uint32_t i = 0; i < q->n_locals; i++) {
    sci_buf b = q->locals[i].buf;
    if (s->bufs[b].dtype != SC_BOOL || q->locals[i].lanes) continue;
    sci_map_set(&x.to, b, b);
    any = true;
  }
  if (!any || !has_loops(q->body)) return q;
  for (uint32_t i = 0; i < q->n_in + q->n_out; i++)
    if (sci_is_float((sc_dtype)s->bufs[q->params[i]].dtype)) x.usual = (sc_dtype)s->bufs[q->params[i]].dtype;
  forget_viewed(&x, q->body);
  find_types(&x, q->body);
  sci_rewriter r = {s, visit, &x};
  sci_block body = sci_rewrite_block(&r, q->body);
  if (body.stmts == q->body.stmts) return q;
  sci_proc *made = SCI_NEW(&s->arena, sci_proc);
  sci_local *locals = SCI_ARRAY(&s->arena, sci_local, q->n_locals);
  *made = *q;
  made->body = body;
  for (uint32_t i = 0; i < q->n_locals; i++) {
    sci_buf to = sci_map_get(&x.to, q->locals[i].buf);
    locals[i] = q->locals[i];
    if (to != SCI_NIL) locals[i].buf = to;
  }
  made->locals = locals;
  return made;
}
