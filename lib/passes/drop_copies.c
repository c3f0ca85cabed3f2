/* Owns drop_copies: a name that only stands for another one goes, and that one is used instead.
 *
 * A copy of an immutable name always may. One of a mutable name may when every use comes before the name changes: up to
 * the next statement of its block that assigns it, whose own value still sees the old one, or before a loop there that
 * does. Passes that read carried names once at the top of a body, or name what has a name already, leave such copies.
 */
#include "lib/passes/passes.h"
#include "lib/program/walk.h"

/* Statements are numbered in order, those of a loop behind the loop's own. */
typedef struct copy {
  sci_name of;
  uint32_t depth; /* of loops around it */
  uint32_t limit; /* the last statement that may use it */
} copy;

typedef struct dropping {
  sci_store *s;
  sci_arena *a;
  sci_subst *subst;
  uint32_t *copy_of; /* per name: the copy that it is, plus one; 0: none, or none that may go */
  uint32_t *seen;    /* per value: the statement that walked it last, plus one */
  uint32_t n_values; /* when the pass began */
  SCI_VEC(copy) copies;
  SCI_VEC(uint32_t) loops; /* numbers of the loops around */
  SCI_VEC(uint32_t) open;  /* copies of mutable names in the blocks around */
  SCI_VEC(sci_val) stack;
  uint32_t statement;
  int64_t *changes;
} dropping;

static bool is_copy(const sci_store *s, const sci_stmt *st) {
  if (st->kind != SCI_S_ASSIGN || !st->declare || s->names[st->name].is_mutable) return false;
  return sci_value_at(s, st->value)->kind == SCI_V_NAME;
}

/* ---- how long each may be replaced ---- */

static void note_copy(dropping *x, const sci_stmt *st) {
  copy c = {.of = sci_value_at(x->s, st->value)->args[0], .depth = (uint32_t)x->loops.n, .limit = UINT32_MAX};
  sci_vec_push(x->a, &x->copies, c);
  x->copy_of[st->name] = (uint32_t)x->copies.n;
  if (x->s->names[c.of].is_mutable) sci_vec_push(x->a, &x->open, (uint32_t)x->copies.n - 1);
}

static void note_change(dropping *x, sci_name n) {
  for (size_t i = 0; i < x->open.n; i++) {
    copy *c = &x->copies.data[x->open.data[i]];
    if (c->of != n) continue;
    uint32_t last = c->depth < x->loops.n ? x->loops.data[c->depth] - 1 : x->statement;
    if (last < c->limit) c->limit = last;
  }
}

static void find_copies(dropping *x, sci_block b) {
  size_t open = x->open.n;
  for (uint32_t i = 0; i < b.n; i++, x->statement++) {
    const sci_stmt *st = &b.stmts[i];
    if (is_copy(x->s, st))
      note_copy(x, st);
    else if (st->kind == SCI_S_ASSIGN && !st->declare)
      note_change(x, st->name);
    if (st->kind != SCI_S_LOOP) continue;
    sci_vec_push(x->a, &x->loops, x->statement++);
    find_copies(x, st->loop->body);
    x->loops.n--;
    x->statement--;
  }
  x->open.n = open;
}

/* ---- which are used longer ---- */

/* A use of a copy of a copy is one of both. */
static void check_use(dropping *x, sci_name n) {
  while (x->copy_of[n]) {
    const copy *c = &x->copies.data[x->copy_of[n] - 1];
    if (x->statement > c->limit) x->copy_of[n] = 0;
    n = c->of;
  }
}

static void check_value(void *user, sci_val v, bool is_index) {
  dropping *x = user;
  (void)is_index;
  sci_vec_push(x->a, &x->stack, v);
  while (x->stack.n) {
    v = x->stack.data[--x->stack.n];
    if (x->seen[v] == x->statement + 1) continue;
    x->seen[v] = x->statement + 1;
    const sci_value *value = sci_value_at(x->s, v);
    if (value->kind == SCI_V_NAME) check_use(x, value->args[0]);
    for (int i = 0; value->kind == SCI_V_OP && i < sci_ops[value->op].arity; i++)
      sci_vec_push(x->a, &x->stack, value->args[i]);
  }
}

static void check_uses(dropping *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    sci_stmt_values(st, check_value, x);
    x->statement++;
    if (st->kind == SCI_S_LOOP) check_uses(x, st->loop->body);
  }
}

/* ---- dropping ---- */

static void drop(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  dropping *x = r->user;
  if (st->kind == SCI_S_LOOP) {
    sci_rewrite_default(r, out, st);
    return;
  }
  sci_stmt now = sci_subst_stmt(x->subst, st);
  if (is_copy(x->s, st) && x->copy_of[st->name]) {
    sci_subst_name(x->subst, st->name, now.value);
    ++*x->changes;
    return;
  }
  sci_emit(out, now);
}

static const sci_proc *drop_in(const sci_program *p, const sci_proc *q, void *user) {
  dropping *x = user;
  (void)p;
  x->copies.n = 0;
  x->statement = 0;
  find_copies(x, q->body);
  if (!x->copies.n) return q;
  memset(x->seen, 0, x->n_values * sizeof *x->seen);
  x->statement = 0;
  check_uses(x, q->body);
  sci_rewriter r = {x->s, drop, x};
  return sci_proc_with(x->s, q, sci_rewrite_block(&r, q->body));
}

sci_program *sci_pass_drop_copies(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  sci_arena *a = &s->env->scratch;
  dropping x = {.s = s, .a = a, .subst = sci_subst_new(s), .n_values = s->n_values, .changes = changes};
  x.copy_of = SCI_ZEROS(a, uint32_t, s->n_names);
  x.seen = SCI_ZEROS(a, uint32_t, s->n_values);
  return sci_pass_each(p, drop_in, &x);
}
