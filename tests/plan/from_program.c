/* Owns reading the plan off a program: what the backends are told. */
#include <stdlib.h>

#include "lib/program/lanes.h"
#include "tests/plan/plan.h"

typedef struct reader {
  plan *out;
  const sc_program *p;
  const sci_store *s;
  bool *seen; /* values met in the statement at hand: each is evaluated once */
  SCI_VEC(sci_val) stack, met;
} reader;

static void push(reader *r, sci_val v) {
  sci_vec_push(&r->s->env->scratch, &r->stack, v);
}

static void count_value(reader *r, int node, sci_val root) {
  if (root == SCI_NIL) return;
  push(r, root);
  while (r->stack.n) {
    sci_val v = r->stack.data[--r->stack.n];
    const sci_value *x = sci_value_at(r->s, v);
    if (x->kind != SCI_V_OP || r->seen[v]) continue;
    r->seen[v] = true;
    sci_vec_push(&r->s->env->scratch, &r->met, v);
    bool counts =
        x->op == SCI_OP_fma ? r->out->fma : (sci_ops[x->op].traits & SCI_LIBM) && sci_is_float((sc_dtype)x->dtype);
    if (counts) r->out->nodes[node].calls[x->op]++;
    for (int i = 0; i < sci_ops[x->op].arity; i++) push(r, x->args[i]);
  }
}

static void read_block(reader *r, int node, sci_block b);

static void read_stmt(reader *r, int node, const sci_stmt *st) {
  if (st->kind == SCI_S_LOOP) {
    const sci_loop *l = st->loop;
    int inner = plan_open(r->out, node);
    plan_node *n = &r->out->nodes[inner];
    n->lanes = sci_loop_lanes(l, r->p->target.lanes);
    int64_t trips = sci_loop_trips(l), chunks = trips / n->lanes;
    bool rest = trips % n->lanes && (l->tail == SCI_TAIL_OVERLAP || l->tail == SCI_TAIL_ALL); /* in the same loop */
    n->start = l->start, n->step = l->step * n->lanes, n->trips = chunks + rest;
    read_block(r, inner, l->body);
    return;
  }
  count_value(r, node, st->index);
  count_value(r, node, st->value);
  if (st->kind == SCI_S_CALL) {
    r->out->nodes[node].procs++;
    for (uint32_t i = 0; i < st->call->n; i++) count_value(r, node, st->call->views[i].index);
  }
  for (size_t i = 0; i < r->met.n; i++) r->seen[r->met.data[i]] = false;
  r->met.n = 0;
}

static void read_block(reader *r, int node, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) read_stmt(r, node, &b.stmts[i]);
}

void plan_of_program(plan *out, const sc_program *p) {
  sci_env *env = p->store->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) abort();
  reader r = {.out = out, .p = p, .s = p->store};
  r.seen = SCI_ZEROS(&env->scratch, bool, p->store->n_values);
  for (uint32_t i = 0; i < p->n_procs; i++) read_block(&r, plan_open(out, -1), p->procs[i]->body);
  sci_leave(env, &fr);
}
