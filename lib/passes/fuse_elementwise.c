/* Owns fuse_elementwise: a producer is computed where it is used, and its buffer goes.
 *
 * The plan (fuse_plan.c) says which writers go. Here a load of what such a writer would have stored becomes the
 * writer's value at the trips that write that element: its loads and names come out in front of the load, with fresh
 * names, loads of other such writers in turn (on a stack of their own: producers may chain a million deep). A store
 * outside loops hands its value on, by name where an inner block needs it. The same element needed twice in a block is
 * computed once. */
#include "lib/passes/fuse_plan.h"
#include "lib/program/walk.h"

/* One writer being inlined. */
typedef struct frame {
  fuse_writer *w;
  sci_val index, *solved, *values; /* of the body's statements done so far */
  uint32_t done;
} frame;

typedef struct fusion {
  fuse_plan plan;
  sci_subst *subst; /* names of loads that went */
  SCI_VEC(frame) frames;
  uint32_t number, block;
} fusion;

static bool is_leaf(const sci_store *s, sci_val v) {
  return sci_value_at(s, v)->kind != SCI_V_OP;
}

/* ---- values of an inlined body ---- */

static sci_val body_leaf(fusion *x, const frame *f, const sci_value *v, sci_val self) {
  fuse_plan *plan = &x->plan;
  uint32_t writer = (uint32_t)(f->w - plan->writers.data) + 1;
  if (v->kind == SCI_V_NAME) {
    sci_name n = v->args[0];
    bool own = f->w->n_body && plan->blocks.data[plan->home[n]].writer == writer && plan->slot[n];
    return own ? f->values[plan->slot[n] - 1] : sci_subst_val(x->subst, self);
  }
  if (v->kind != SCI_V_VAR) return self;
  for (uint32_t i = 0; i < f->w->n_loops; i++)
    if (f->w->digits[i].loop->var == v->args[0]) return f->solved[i];
  const sci_loop *l = plan->facts->var_loop[v->args[0]];
  return sci_loop_trips(l) == 1 ? sci_val_int(plan->s, l->start) : self;
}

static sci_val body_value(fusion *x, const frame *f, sci_val v) {
  sci_store *s = x->plan.s;
  sci_arena *a = x->plan.a;
  if (is_leaf(s, v))
    return body_leaf(x, f, &(sci_value){.kind = sci_value_at(s, v)->kind, .args = {sci_value_at(s, v)->args[0]}}, v);
  sci_arena_mark here = sci_arena_here(a);
  sci_map done;
  SCI_VEC(sci_val) stack = {0};
  sci_map_init(&done, a);
  sci_vec_push(a, &stack, v);
  while (stack.n) {
    sci_val at = stack.data[stack.n - 1], args[3];
    const sci_value value = *sci_value_at(s, at);
    bool waits = false;
    for (int i = 0; value.kind == SCI_V_OP && i < sci_ops[value.op].arity; i++) {
      args[i] = sci_map_get(&done, value.args[i]);
      if (args[i] != SCI_NIL) continue;
      sci_vec_push(a, &stack, value.args[i]);
      waits = true;
    }
    if (waits) continue;
    stack.n--;
    sci_val to = value.kind != SCI_V_OP ? body_leaf(x, f, &value, at) : sci_val_with(s, at, args);
    sci_map_set(&done, at, to);
  }
  sci_val result = sci_map_get(&done, v);
  sci_arena_release(a, here);
  return result;
}

/* ---- inlining ---- */

static sci_val in_storage(const fusion *x, sci_buf b, sci_val index) {
  int64_t offset;
  sci_storage(x->plan.s, b, &offset);
  return sci_idx_add(x->plan.s, index, sci_val_int(x->plan.s, offset));
}

/* What was computed in this block; a leaf also serves the blocks inside. */
static sci_val known(const fusion *x, const fuse_writer *w, sci_val index) {
  for (const fuse_instance *i = w->computed; i; i = i->next) {
    bool here = i->block == x->block || (x->plan.blocks.data[i->block].open && is_leaf(x->plan.s, i->value));
    if (i->index == index && here) return i->value;
  }
  return SCI_NIL;
}

static void remember(fusion *x, fuse_writer *w, sci_val index, sci_val value) {
  fuse_instance *i = SCI_NEW(x->plan.a, fuse_instance);
  *i = (fuse_instance){.block = x->block, .index = index, .value = value, .next = w->computed};
  w->computed = i;
}

static void enter(fusion *x, fuse_writer *w, sci_val index) {
  sci_arena *a = x->plan.a;
  frame f = {
      .w = w, .index = index, .values = SCI_ARRAY(a, sci_val, w->n_body), .solved = SCI_ARRAY(a, sci_val, w->n_loops)};
  sci_val solved[FUSE_MAX_LOOPS];
  sci_fuse_solve(&x->plan, w, index, false, solved);
  memcpy(f.solved, solved, w->n_loops * sizeof *solved);
  sci_vec_push(a, &x->frames, f);
}

static sci_val emit_load(fusion *x, sci_block_builder *out, const sci_stmt *st, sci_val index) {
  sci_val v = sci_emit_load(out, x->plan.s, st->buf, index, NULL);
  sci_name n = sci_value_at(x->plan.s, v)->args[0];
  sci_stmt *copy = SCI_NEW(x->plan.a, sci_stmt);
  *copy = out->stmts.data[out->stmts.n - 1];
  x->plan.s->names[n].hint = x->plan.s->names[st->name].hint;
  sci_facts_name(x->plan.facts, n, copy);
  return v;
}

static bool is_plain(const fuse_writer *w) {
  return w->unit == w->number;
}

/* The next statement of the innermost frame's body, unless it opens another frame. */
static void advance(fusion *x, sci_block_builder *out) {
  size_t at = x->frames.n - 1;
  const frame f = x->frames.data[at];
  const fuse_stmt *site = &x->plan.stmts.data[f.w->body[f.done]];
  const sci_stmt *st = site->st;
  sci_val value;
  if (st->kind == SCI_S_ASSIGN) {
    value = body_value(x, &f, st->value);
  } else {
    sci_val index = body_value(x, &f, st->index);
    fuse_writer *w =
        site->site && x->plan.writers.data[site->site - 1].fused ? &x->plan.writers.data[site->site - 1] : NULL;
    if (!w) {
      value = emit_load(x, out, st, index);
    } else if (is_plain(w)) {
      value = w->result;
    } else {
      index = in_storage(x, st->buf, index);
      value = known(x, w, index);
      if (value == SCI_NIL) {
        enter(x, w, index);
        return;
      }
    }
  }
  x->frames.data[at].values[f.done] = value;
  x->frames.data[at].done++;
}

static sci_val inlined(fusion *x, sci_block_builder *out, fuse_writer *w, sci_val index) {
  sci_val value = known(x, w, index);
  if (value != SCI_NIL) return value;
  enter(x, w, index);
  while (x->frames.n) {
    const frame f = x->frames.data[x->frames.n - 1];
    if (f.done < f.w->n_body) {
      advance(x, out);
      continue;
    }
    value = body_value(x, &f, x->plan.stmts.data[f.w->number].st->value);
    x->frames.n--;
    if (!x->frames.n) break;
    remember(x, f.w, f.index, value);
    frame *user = &x->frames.data[x->frames.n - 1];
    user->values[user->done++] = value;
  }
  /* A block with loops may use it in there: once is enough. */
  if (x->plan.blocks.data[x->block].has_loops && !is_leaf(x->plan.s, value))
    value = sci_emit_let(out, x->plan.s, value, NULL);
  remember(x, w, index, value);
  return value;
}

/* ---- rewriting ---- */

static void visit_load(fusion *x, sci_block_builder *out, const fuse_stmt *at) {
  const sci_stmt *st = at->st;
  fuse_writer *w = at->site && x->plan.writers.data[at->site - 1].fused ? &x->plan.writers.data[at->site - 1] : NULL;
  if (!w) {
    sci_emit(out, sci_subst_stmt(x->subst, st));
    return;
  }
  sci_val value = w->result;
  if (!is_plain(w)) value = inlined(x, out, w, in_storage(x, st->buf, sci_subst_val(x->subst, st->index)));
  sci_subst_name(x->subst, st->name, value);
}

static void hand_on(fusion *x, sci_block_builder *out, fuse_writer *w, const sci_stmt *st) {
  sci_val value = sci_subst_val(x->subst, st->value);
  bool moves = sci_value_at(x->plan.s, value)->flags & SCI_VAL_MUTABLE || !is_leaf(x->plan.s, value);
  if (w->needs_name && w->n_instances && moves) value = sci_emit_let(out, x->plan.s, value, NULL);
  w->result = value;
}

static void visit(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  fusion *x = r->user;
  const fuse_stmt *at = &x->plan.stmts.data[x->number++];
  fuse_writer *w =
      at->writer && x->plan.writers.data[at->writer - 1].fused ? &x->plan.writers.data[at->writer - 1] : NULL;
  if (st->kind == SCI_S_LOAD) {
    visit_load(x, out, at);
  } else if (st->kind == SCI_S_STORE && w) {
    hand_on(x, out, w, st);
  } else if (st->kind == SCI_S_LOOP && w) {
    x->number = at->end + 1;
  } else if (st->kind == SCI_S_LOOP) {
    uint32_t outer = x->block;
    x->block = at->body;
    x->plan.blocks.data[x->block].open = true;
    sci_emit(out, sci_loop_with(r->s, st, sci_rewrite_block(r, st->loop->body)));
    x->plan.blocks.data[x->block].open = false;
    x->block = outer;
  } else {
    sci_emit(out, sci_subst_stmt(x->subst, st));
  }
}

static const sci_proc *fuse_proc(const sci_program *p, const sci_proc *q, void *user) {
  fusion *shared = user, x = {.plan = shared->plan, .subst = shared->subst};
  if (!q->n_locals) return q;
  x.plan.fused = 0;
  sci_facts_block(x.plan.facts, q->body);
  sci_fuse_plan(&x.plan, q);
  shared->plan.fused += x.plan.fused;
  if (!x.plan.fused) return q;
  x.plan.blocks.data[0].open = true;
  sci_rewriter r = {p->store, visit, &x};
  return sci_proc_with(p->store, q, sci_rewrite_block(&r, q->body));
}

sci_program *sci_pass_fuse_elementwise(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  sci_arena *a = &s->env->scratch;
  sci_facts facts;
  sci_facts_init(&facts, s, a);
  fusion x = {.plan = {.p = p, .s = s, .a = a, .facts = &facts}, .subst = sci_subst_new(s)};
  x.plan.slot = SCI_ZEROS(a, uint32_t, s->n_names);
  x.plan.home = SCI_ZEROS(a, uint32_t, s->n_names);
  sci_program *q = sci_pass_each(p, fuse_proc, &x);
  *changes = x.plan.fused;
  return q;
}
