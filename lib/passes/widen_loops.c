/* Owns widen_loops: an independent loop becomes chunks of W iterations, one in each lane.
 *
 * Loops are looked at from the inside: where one within has lanes, those around it have none. What the body calls is
 * expanded into it first, when that makes lanes possible. The loop then carries its plan (lib/program/lanes.h); the
 * statements stay those of one iteration, W is chosen by who spells them, up to the cap. */
#include "lib/passes/passes.h"
#include "lib/passes/widen.h"
#include "lib/program/walk.h"

typedef struct widening {
  const sci_program *p;
  sci_store *s;
  uint32_t *calls; /* per procedure: from how many places it is called */
  sci_lane_facts facts;
  bool has_facts, inlined;
  int64_t *changes;
} widening;

static void count_calls(sci_block b, uint32_t *calls) {
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind == SCI_S_CALL) calls[b.stmts[i].call->proc]++;
    if (b.stmts[i].kind == SCI_S_LOOP) count_calls(b.stmts[i].loop->body, calls);
  }
}

/* Facts cover the store as it was when they were made. */
static sci_lane_facts *facts_of(widening *w) {
  bool stale = !w->has_facts || w->facts.n_values < w->s->n_values || w->facts.n_names < w->s->n_names;
  if (stale) sci_lanes_init(&w->facts, w->s, &w->s->env->scratch);
  w->has_facts = true;
  return &w->facts;
}

static bool has_lanes(sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind != SCI_S_LOOP) continue;
    const sci_loop *l = b.stmts[i].loop;
    if ((l->kind == SCI_LOOP_VECTOR && l->lanes > 1) || has_lanes(l->body)) return true;
  }
  return false;
}

static void widen_loop(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  widening *w = r->user;
  const sci_loop *l = st->loop;
  sci_block body = sci_rewrite_block(r, l->body);
  bool candidate = l->kind == SCI_LOOP_INDEPENDENT && sci_loop_trips(l) >= SCI_LANE_TRIPS && !has_lanes(body);
  if (candidate) {
    sci_block expanded = sci_expand_calls(w->p, body, w->calls);
    sci_loop whole = *l;
    whole.body = expanded;
    sci_lane_facts *k = facts_of(w);
    sci_lanes_enter(k, &whole);
    sci_lane_plan plan = k->problem ? (sci_lane_plan){.lanes = 1} : sci_lane_plan_of(k, &whole, w->p);
    if (plan.lanes > 1) {
      w->inlined |= expanded.stmts != body.stmts;
      ++*w->changes;
      sci_emit(out, sci_vector_stmt(w->s, l, expanded, plan.lanes, (sc_dtype)k->of, plan.tail));
      return;
    }
  }
  sci_emit(out, sci_loop_with(w->s, st, body));
}

static void widen_stmt(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  if (st->kind == SCI_S_LOOP)
    widen_loop(r, out, st);
  else
    sci_emit(out, *st);
}

sci_program *sci_pass_widen_loops(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  widening w = {.p = p, .s = s, .changes = changes};
  w.calls = SCI_ZEROS(&s->env->scratch, uint32_t, p->n_procs);
  for (uint32_t i = 0; i < p->n_procs; i++) count_calls(p->procs[i]->body, w.calls);
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, p->n_procs);
  sci_rewriter r = {s, widen_stmt, &w};
  /* From the entry down: a callee expanded into a caller's loop is expanded as it was. */
  for (uint32_t i = p->n_procs; i-- > 0;)
    procs[i] = sci_proc_with(s, p->procs[i], sci_rewrite_block(&r, p->procs[i]->body));
  if (!*changes) return NULL;
  sci_program *made = sci_program_with(p, p->n_procs, procs);
  int64_t dropped = 0;
  sci_program *pruned = w.inlined ? sci_pass_prune_procedures(made, &dropped) : NULL;
  if (!pruned) return made;
  sci_keep(s->env, made);
  sci_program_free(made);
  return pruned;
}
