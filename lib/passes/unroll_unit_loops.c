/* Owns unroll_unit_loops: loops that never run and loops without statements go, a single trip becomes its body. */
#include "lib/passes/passes.h"
#include "lib/program/walk.h"

typedef struct unroll {
  sci_subst *subst;
  uint32_t inlined; /* loops around this point that became their bodies */
  int64_t *changes;
} unroll;

static void visit(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  unroll *x = r->user;
  if (st->kind != SCI_S_LOOP) {
    sci_emit(out, x->inlined ? sci_subst_stmt(x->subst, st) : *st);
    return;
  }
  const sci_loop *l = st->loop;
  int64_t trips = sci_loop_trips(l);
  if (trips == 1) {
    sci_subst_var(x->subst, l->var, sci_val_int(r->s, l->start));
    x->inlined++;
    for (uint32_t i = 0; i < l->body.n; i++) visit(r, out, &l->body.stmts[i]);
    x->inlined--;
    ++*x->changes;
    return;
  }
  sci_block body = trips ? sci_rewrite_block(r, l->body) : (sci_block){0, NULL};
  if (body.n)
    sci_emit(out, sci_loop_with(r->s, st, body));
  else
    ++*x->changes;
}

static bool has_loops(sci_block b) {
  for (uint32_t i = 0; i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_LOOP) return true;
  return false;
}

static const sci_proc *unroll_proc(const sci_program *p, const sci_proc *q, void *user) {
  if (!has_loops(q->body)) return q;
  unroll x = {sci_subst_new(p->store), 0, user};
  sci_rewriter r = {p->store, visit, &x};
  return sci_proc_with(p->store, q, sci_rewrite_block(&r, q->body));
}

sci_program *sci_pass_unroll_unit_loops(const sci_program *p, int64_t *changes) {
  return sci_pass_each(p, unroll_proc, changes);
}
