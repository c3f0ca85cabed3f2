/* Owns prune_procedures: what the entry does not call, directly or not, goes. */
#include "lib/passes/passes.h"
#include "lib/program/walk.h"

static void mark_callees(sci_block b, uint32_t *number) {
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind == SCI_S_LOOP) mark_callees(b.stmts[i].loop->body, number);
    if (b.stmts[i].kind == SCI_S_CALL) number[b.stmts[i].call->proc] = 0;
  }
}

sci_program *sci_pass_prune_procedures(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  uint32_t *number =
      SCI_ARRAY(&s->env->scratch, uint32_t, p->n_procs); /* new index per old procedure; SCI_NIL: dropped */
  for (uint32_t i = 0; i < p->n_procs; i++) number[i] = i + 1 == p->n_procs ? 0 : SCI_NIL;
  uint32_t n = 0;
  for (uint32_t i = p->n_procs; i-- > 0;)
    if (number[i] != SCI_NIL) mark_callees(p->procs[i]->body, number);
  for (uint32_t i = 0; i < p->n_procs; i++)
    if (number[i] != SCI_NIL) number[i] = n++;
  *changes += p->n_procs - n;
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, n);
  bool same = n == p->n_procs;
  for (uint32_t i = 0; i < p->n_procs; i++) {
    if (number[i] == SCI_NIL) continue;
    const sci_proc *q = p->procs[i];
    procs[number[i]] = sci_proc_renumbered(s, q, number);
    same &= procs[number[i]] == q;
  }
  return same ? NULL : sci_program_with(p, n, procs);
}
