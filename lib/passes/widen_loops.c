/* Owns widen_loops: an independent loop becomes chunks of W iterations, one in each lane.
 *
 * Of loops within one another one has lanes, the one that gains most. What the body calls is expanded into it first,
 * when that makes lanes possible; private memory that each iteration has to itself gets room for the lanes. The loop
 * then carries its plan (lib/program/lanes.h); the statements stay those of one iteration, W is chosen by who spells
 * them, up to the cap. */
#include "lib/passes/passes.h"
#include "lib/passes/widen.h"

typedef struct widening {
  const sci_program *p;
  sci_store *s;
  uint32_t *calls; /* per procedure: from how many places it is called */
  sci_lane_facts facts;
  sci_reach *reach;
  bool has_facts, inlined;
  SCI_VEC(sci_local) locals; /* of the procedure at work */
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
  if (stale) {
    sci_lanes_init(&w->facts, w->s, &w->s->env->scratch);
    w->reach = sci_reach_new(w->s);
  }
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

/* Memory that the loop's iterations have to themselves gets room for the lanes. */
static void give_room(widening *w, const sci_expansion *x, int lanes) {
  for (size_t i = 0; i < w->locals.n; i++)
    if (sci_lane_owns(&w->facts, w->locals.data[i].buf)) w->locals.data[i].lanes = (uint8_t)lanes;
  for (size_t i = 0; i < x->locals.n; i++) {
    sci_buf b = x->locals.data[i];
    bool owns = sci_lane_owns(&w->facts, b);
    sci_vec_push(&w->s->env->scratch, &w->locals,
                 ((sci_local){.buf = b, .lanes = owns ? (uint8_t)lanes : 0, .offset = -1}));
  }
}

static void widen_loop(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  widening *w = r->user;
  const sci_loop *l = st->loop;
  if (l->kind == SCI_LOOP_INDEPENDENT && sci_loop_trips(l) >= SCI_LANE_TRIPS && !has_lanes(l->body)) {
    sci_expansion x = {.p = w->p, .calls = w->calls};
    sci_loop whole = *l;
    whole.body = sci_expand_calls(&x, l->body);
    sci_lane_facts *k = facts_of(w);
    sci_lane_plan plan = sci_lane_plan_of(k, w->reach, &whole, w->p);
    if (plan.lanes > 1) {
      w->inlined |= whole.body.stmts != l->body.stmts;
      ++*w->changes;
      give_room(w, &x, plan.lanes);
      sci_emit(out, sci_vector_stmt(w->s, l, whole.body, plan.lanes, (sc_dtype)k->of, plan.tail));
      return;
    }
  }
  sci_emit(out, sci_loop_with(w->s, st, sci_rewrite_block(r, l->body)));
}

static void widen_stmt(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  if (st->kind == SCI_S_LOOP)
    widen_loop(r, out, st);
  else
    sci_emit(out, *st);
}

static const sci_proc *widen_proc(sci_rewriter *r, const sci_proc *q) {
  widening *w = r->user;
  w->locals.n = 0;
  for (uint32_t i = 0; i < q->n_locals; i++) sci_vec_push(&w->s->env->scratch, &w->locals, q->locals[i]);
  sci_block body = sci_rewrite_block(r, q->body);
  if (body.stmts == q->body.stmts) return q;
  return sci_proc_with_locals(w->s, q, body, w->locals.data, w->locals.n);
}

/* Of the program at hand, in its place. */
static void give_masks(sci_program *p) {
  const sci_proc **procs = SCI_ARRAY(&p->store->arena, const sci_proc *, p->n_procs);
  for (uint32_t i = 0; i < p->n_procs; i++) procs[i] = sci_widen_masks(p->store, p->procs[i]);
  p->procs = procs;
}

sci_program *sci_pass_widen_loops(const sci_program *given, int64_t *changes) {
  sci_store *s = given->store;
  sci_program with_masks = *given;
  const sci_program *p = &with_masks;
  give_masks(&with_masks);
  widening w = {.p = p, .s = s, .changes = changes};
  w.calls = SCI_ZEROS(&s->env->scratch, uint32_t, p->n_procs);
  for (uint32_t i = 0; i < p->n_procs; i++) count_calls(p->procs[i]->body, w.calls);
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, p->n_procs);
  sci_rewriter r = {s, widen_stmt, &w};
  /* From the entry down: a callee expanded into a caller's loop is expanded as it was. */
  for (uint32_t i = p->n_procs; i-- > 0;) {
    procs[i] = widen_proc(&r, p->procs[i]);
    if (procs[i] == p->procs[i]) procs[i] = given->procs[i];
  }
  if (!*changes) return NULL;
  sci_program *made = sci_program_with(p, p->n_procs, procs);
  int64_t dropped = 0;
  sci_program *pruned = w.inlined ? sci_pass_prune_procedures(made, &dropped) : NULL;
  if (!pruned) return made;
  sci_keep(s->env, made);
  sci_program_free(made);
  return pruned;
}
