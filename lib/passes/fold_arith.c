/* Owns fold_arith: values are simplified again with what is known of their names, and names and stores that nothing
 * needs go.
 *
 * A name that stands for a constant, a variable or another name is replaced by it, and so is one whose uses all share
 * its block: what is computed once and what is written out is bound_depth's choice, and until then operations see
 * through such names. Values over mutable names stay where they are. */
#include "lib/passes/passes.h"
#include "lib/program/walk.h"

typedef struct folding {
  sci_store *s;
  sci_arena *a;
  sci_subst *subst;
  uint32_t *seen; /* per value: the block that used it + 1; UINT32_MAX: several */
  uint32_t *home; /* per name: its block + 1 */
  bool *spread;   /* per name: used outside its own block */
  bool *read;     /* per storage: loaded from, or handed to a callee */
  SCI_VEC(sci_val) stack;
  sci_reach *reach;
  uint32_t block, n_blocks;
  int64_t *changes;
} folding;

/* ---- which names are used in their own block only ---- */

/* A value is walked for its first block and once more when another one uses it, so the work is linear. */
static void note_uses(void *user, sci_val v, bool is_index) {
  folding *x = user;
  (void)is_index;
  x->stack.n = 0;
  sci_vec_push(x->a, &x->stack, v);
  while (x->stack.n) {
    v = x->stack.data[--x->stack.n];
    if (x->seen[v] == UINT32_MAX || x->seen[v] == x->block + 1) continue;
    x->seen[v] = x->seen[v] ? UINT32_MAX : x->block + 1;
    const sci_value *value = sci_value_at(x->s, v);
    if (value->kind == SCI_V_NAME) x->spread[value->args[0]] |= x->seen[v] != x->home[value->args[0]];
    for (int i = 0; value->kind == SCI_V_OP && i < sci_ops[value->op].arity; i++)
      sci_vec_push(x->a, &x->stack, value->args[i]);
  }
}

static void note_block(folding *x, sci_block b) {
  uint32_t block = x->n_blocks++;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    x->block = block;
    sci_stmt_values(st, note_uses, x);
    if (st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && st->declare)) x->home[st->name] = block + 1;
    if (st->kind == SCI_S_LOOP) note_block(x, st->loop->body);
  }
}

/* ---- replacing ---- */

static bool replaces(const folding *x, const sci_stmt *st, sci_val value) {
  const sci_value *v = sci_value_at(x->s, value);
  if (st->kind != SCI_S_ASSIGN || x->s->names[st->name].is_mutable || v->flags & SCI_VAL_MUTABLE) return false;
  return v->kind != SCI_V_OP || !x->spread[st->name];
}

static void simplify(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  folding *x = r->user;
  if (st->kind == SCI_S_LOOP) {
    sci_rewrite_default(r, out, st);
    return;
  }
  sci_stmt copy = sci_subst_stmt(x->subst, st);
  if (replaces(x, st, copy.value)) {
    sci_subst_name(x->subst, st->name, copy.value);
    ++*x->changes;
    return;
  }
  *x->changes +=
      copy.index != st->index || copy.value != st->value || (st->kind == SCI_S_CALL && copy.call != st->call);
  sci_emit(out, copy);
}

/* ---- what nothing needs ---- */

static void need(void *user, sci_val v, bool is_index) {
  (void)is_index;
  sci_reach_add(user, v);
}

static void note_read(folding *x, sci_buf b) {
  int64_t offset;
  x->read[sci_storage(x->s, b, &offset)] = true;
}

static void note_reads(folding *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOAD) note_read(x, st->buf);
    if (st->kind == SCI_S_LOOP) note_reads(x, st->loop->body);
    for (uint32_t k = 0; st->kind == SCI_S_CALL && k < st->call->n; k++) note_read(x, st->call->views[k].buf);
  }
}

static bool is_live(const folding *x, const sci_stmt *st) {
  if (st->kind == SCI_S_STORE) {
    int64_t offset;
    sci_buf storage = sci_storage(x->s, st->buf, &offset);
    return x->read[storage] || x->s->bufs[storage].space != SCI_SPACE_PRIVATE;
  }
  bool defines = st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && !x->s->names[st->name].is_mutable);
  if (!defines) return true;
  sci_val self = sci_val_name(x->s, st->name);
  return self < x->reach->n_values && sci_reach_at(x->reach, self) != UINT32_MAX;
}

/* Backwards, so that what a dead name needed may be dead too. */
static void mark(folding *x, sci_block b) {
  for (uint32_t i = b.n; i-- > 0;) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP)
      mark(x, st->loop->body);
    else if (is_live(x, st))
      sci_stmt_values(st, need, x->reach);
  }
}

static void sweep(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  folding *x = r->user;
  if (st->kind == SCI_S_LOOP) {
    sci_stmt loop = sci_loop_with(r->s, st, sci_rewrite_block(r, st->loop->body));
    if (loop.loop->body.n) sci_emit(out, loop);
    return;
  }
  if (is_live(x, st))
    sci_emit(out, *st);
  else
    ++*x->changes;
}

static const sci_proc *simplify_proc(const sci_program *p, const sci_proc *q, void *user) {
  folding *x = user;
  (void)p;
  sci_rewriter r = {x->s, simplify, x};
  note_block(x, q->body);
  return sci_proc_with(x->s, q, sci_rewrite_block(&r, q->body));
}

static const sci_proc *sweep_proc(const sci_program *p, const sci_proc *q, void *user) {
  folding *x = user;
  (void)p;
  sci_rewriter r = {x->s, sweep, x};
  note_reads(x, q->body);
  mark(x, q->body);
  return sci_proc_with(x->s, q, sci_rewrite_block(&r, q->body));
}

sci_program *sci_pass_fold_arith(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  sci_arena *a = &s->env->scratch;
  folding x = {.s = s, .a = a, .subst = sci_subst_new(s), .changes = changes};
  x.seen = SCI_ZEROS(a, uint32_t, s->n_values);
  x.home = SCI_ZEROS(a, uint32_t, s->n_names);
  x.spread = SCI_ZEROS(a, bool, s->n_names);
  x.read = SCI_ZEROS(a, bool, s->n_bufs);
  sci_program *simplified = sci_pass_each(p, simplify_proc, &x);
  x.reach = sci_reach_new(s);
  sci_program *swept = sci_pass_each(simplified ? simplified : p, sweep_proc, &x);
  if (!swept) return simplified;
  if (simplified) {
    sci_keep(s->env, simplified);
    sci_program_free(simplified);
  }
  return swept;
}
