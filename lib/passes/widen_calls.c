/* Owns the expansion of calls in the body of a loop that is to run in lanes: what a mapped procedure does becomes part
 * of the loop, so that its scalars become vectors over the iterations. */
#include "lib/passes/widen.h"

enum { MAX_COPY = 1024 }; /* statements of a procedure that other places call too */

static uint32_t count(sci_block b) {
  uint32_t n = b.n;
  for (uint32_t i = 0; i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_LOOP) n += count(b.stmts[i].loop->body);
  return n;
}

static bool expands(const sci_expansion *x, uint32_t proc) {
  return x->calls[proc] < 2 || count(x->p->procs[proc]->body) <= MAX_COPY;
}

static bool all_expand(const sci_expansion *x, sci_block b, bool *any) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP && !all_expand(x, st->loop->body, any)) return false;
    if (st->kind != SCI_S_CALL) continue;
    *any = true;
    if (!expands(x, st->call->proc) || !all_expand(x, x->p->procs[st->call->proc]->body, any)) return false;
  }
  return true;
}

static void put_block(sci_expansion *x, sci_block b, sci_block_builder *out);

static sci_buf local_for(sci_expansion *x, sci_buf b) {
  sci_store *s = x->p->store;
  sci_buf made = sci_new_buf(s, (sc_dtype)s->bufs[b].dtype, SCI_SPACE_PRIVATE, s->bufs[b].size, s->bufs[b].hint);
  sci_vec_push(&s->env->scratch, &x->locals, made);
  return made;
}

static sci_block expanded_call(sci_expansion *x, const sci_call *c) {
  sci_store *s = x->p->store;
  const sci_proc *q = x->p->procs[c->proc];
  sci_subst *m = sci_subst_new(s);
  for (uint32_t i = 0; i < c->n; i++) sci_subst_buf(m, q->params[i], c->views[i].buf, c->views[i].index);
  for (uint32_t i = 0; i < q->n_locals; i++)
    sci_subst_buf(m, q->locals[i].buf, local_for(x, q->locals[i].buf), sci_val_int(s, 0));
  return sci_subst_block(m, q->body);
}

static void put_stmt(sci_expansion *x, const sci_stmt *st, sci_block_builder *out) {
  if (st->kind == SCI_S_CALL) {
    put_block(x, expanded_call(x, st->call), out);
  } else if (st->kind == SCI_S_LOOP) {
    sci_block_builder body;
    sci_block_begin(&body, x->p->store);
    put_block(x, st->loop->body, &body);
    sci_loop *copy = SCI_NEW(&x->p->store->arena, sci_loop);
    *copy = *st->loop;
    copy->body = sci_block_end(&body, x->p->store);
    sci_stmt made = *st;
    made.loop = copy;
    sci_emit(out, made);
  } else {
    sci_emit(out, *st);
  }
}

static void put_block(sci_expansion *x, sci_block b, sci_block_builder *out) {
  for (uint32_t i = 0; i < b.n; i++) put_stmt(x, &b.stmts[i], out);
}

sci_block sci_expand_calls(sci_expansion *x, sci_block body) {
  bool any = false;
  if (!all_expand(x, body, &any) || !any) return body;
  sci_block_builder out;
  sci_block_begin(&out, x->p->store);
  put_block(x, body, &out);
  return sci_block_end(&out, x->p->store);
}
