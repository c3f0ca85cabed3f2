/* Owns prune_procedures: what the entry does not call, directly or not, goes, and so do private buffers that nothing touches. */
#include "lib/passes/passes.h"
#include "lib/program/walk.h"

typedef struct prune {
  const sci_program *p;
  uint32_t *number; /* new index per old procedure; SCI_NIL: dropped */
  bool *touched;    /* per buffer */
} prune;

static void mark_callees(sci_block b, uint32_t *number) {
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind == SCI_S_LOOP) mark_callees(b.stmts[i].loop->body, number);
    if (b.stmts[i].kind == SCI_S_CALL) number[b.stmts[i].call->proc] = 0;
  }
}

static void renumber(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  const prune *x = r->user;
  uint32_t proc = st->kind == SCI_S_CALL ? x->number[st->call->proc] : 0;
  if (st->kind != SCI_S_CALL || proc == st->call->proc) {
    sci_rewrite_default(r, out, st);
    return;
  }
  sci_call *c = SCI_NEW(&r->s->arena, sci_call);
  *c = (sci_call){proc, st->call->n, st->call->views};
  sci_stmt copy = *st;
  copy.call = c;
  sci_emit(out, copy);
}

static void touch(void *user, sci_buf b, bool write) {
  prune *x = user;
  int64_t offset;
  (void)write;
  x->touched[sci_storage(x->p->store, b, &offset)] = true;
}

static const sci_proc *drop_locals(prune *x, const sci_proc *q, int64_t *changes) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < q->body.n; i++) sci_stmt_accesses(x->p, &q->body.stmts[i], touch, x);
  for (uint32_t i = 0; i < q->n_locals; i++) n += x->touched[q->locals[i].buf];
  if (n == q->n_locals) return q;
  *changes += q->n_locals - n;
  sci_proc *copy = SCI_NEW(&x->p->store->arena, sci_proc);
  sci_local *locals = SCI_ARRAY(&x->p->store->arena, sci_local, n);
  *copy = *q;
  copy->n_locals = 0;
  copy->locals = locals;
  for (uint32_t i = 0; i < q->n_locals; i++)
    if (x->touched[q->locals[i].buf]) locals[copy->n_locals++] = q->locals[i];
  return copy;
}

sci_program *sci_pass_prune_procedures(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  sci_arena *a = &s->env->scratch;
  prune x = {p, SCI_ARRAY(a, uint32_t, p->n_procs), SCI_ZEROS(a, bool, s->n_bufs)};
  for (uint32_t i = 0; i < p->n_procs; i++) x.number[i] = i + 1 == p->n_procs ? 0 : SCI_NIL;
  uint32_t n = 0;
  for (uint32_t i = p->n_procs; i-- > 0;)
    if (x.number[i] != SCI_NIL) mark_callees(p->procs[i]->body, x.number);
  for (uint32_t i = 0; i < p->n_procs; i++)
    if (x.number[i] != SCI_NIL) x.number[i] = n++;
  *changes += p->n_procs - n;
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, n);
  sci_rewriter r = {s, renumber, &x};
  bool same = n == p->n_procs;
  for (uint32_t i = 0; i < p->n_procs; i++) {
    if (x.number[i] == SCI_NIL) continue;
    const sci_proc *q = drop_locals(&x, p->procs[i], changes);
    procs[x.number[i]] = sci_proc_with(s, q, sci_rewrite_block(&r, q->body));
    same &= procs[x.number[i]] == p->procs[i];
  }
  return same ? NULL : sci_program_with(p, n, procs);
}
