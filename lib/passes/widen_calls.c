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

/* Private memory of a procedure would have to be one for each lane. */
static bool expands(const sci_program *p, uint32_t proc, const uint32_t *calls) {
  const sci_proc *q = p->procs[proc];
  return !q->n_locals && (calls[proc] < 2 || count(q->body) <= MAX_COPY);
}

static bool all_expand(const sci_program *p, sci_block b, const uint32_t *calls, bool *any) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP && !all_expand(p, st->loop->body, calls, any)) return false;
    if (st->kind != SCI_S_CALL) continue;
    *any = true;
    if (!expands(p, st->call->proc, calls) || !all_expand(p, p->procs[st->call->proc]->body, calls, any)) return false;
  }
  return true;
}

static void put_block(const sci_program *p, sci_block b, sci_block_builder *out);

static sci_block expanded_call(const sci_program *p, const sci_call *c) {
  const sci_proc *q = p->procs[c->proc];
  sci_subst *m = sci_subst_new(p->store);
  for (uint32_t i = 0; i < c->n; i++) sci_subst_buf(m, q->params[i], c->views[i].buf, c->views[i].index);
  return sci_subst_block(m, q->body);
}

static void put_stmt(const sci_program *p, const sci_stmt *st, sci_block_builder *out) {
  if (st->kind == SCI_S_CALL) {
    put_block(p, expanded_call(p, st->call), out);
  } else if (st->kind == SCI_S_LOOP) {
    sci_block_builder body;
    sci_block_begin(&body, p->store);
    put_block(p, st->loop->body, &body);
    sci_loop *copy = SCI_NEW(&p->store->arena, sci_loop);
    *copy = *st->loop;
    copy->body = sci_block_end(&body, p->store);
    sci_stmt made = *st;
    made.loop = copy;
    sci_emit(out, made);
  } else {
    sci_emit(out, *st);
  }
}

static void put_block(const sci_program *p, sci_block b, sci_block_builder *out) {
  for (uint32_t i = 0; i < b.n; i++) put_stmt(p, &b.stmts[i], out);
}

sci_block sci_expand_calls(const sci_program *p, sci_block body, const uint32_t *calls) {
  bool any = false;
  if (!all_expand(p, body, calls, &any) || !any) return body;
  sci_block_builder out;
  sci_block_begin(&out, p->store);
  put_block(p, body, &out);
  return sci_block_end(&out, p->store);
}
