/* Owns combine_scatter_sums: a sum of zero-filled scatters becomes one zero-fill and one accumulation per term.
 *
 * What is looked for is, in the outermost block, t[..] = 0 and additions to elements of t, the same for u, and a loop
 * y[i] = t[i] + u[i] over all of both, which nothing else touches. Then t's statements work on y itself, and u's follow
 * without their zero-fill. That is exact when u's additions meet each element once: (0 + a) + (0 + b) is (0 + a) + b,
 * signed zeros included, because a sum that starts from +0 is never -0. */
#include "lib/passes/passes.h"
#include "lib/program/map.h"
#include "lib/program/walk.h"

/* The zero-fill and the additions of one term, by statement. */
typedef struct term {
  sci_buf buf;
  uint32_t fill, first, last, n; /* additions: the first and the last of n */
  bool once;                     /* each element is added to once */
} term;

typedef struct combining {
  const sci_program *p;
  sci_store *s;
  sci_arena *a;
  int64_t *changes;
  uint32_t *first, *last; /* per storage: the statements of the block that touch it */
} combining;

static bool is_any_order(const sci_loop *l) {
  return l->kind == SCI_LOOP_INDEPENDENT || l->kind == SCI_LOOP_VECTOR;
}

/* Whether index is the loop's variable: elements 0 to n - 1 in order. */
static bool covers(const combining *x, const sci_loop *l, const sci_stmt *st) {
  const sci_buffer *b = &x->s->bufs[st->buf];
  const sci_value *index = sci_value_at(x->s, st->index);
  return b->alias_of == SCI_NIL && l->start == 0 && l->step == 1 && l->stop == b->size && index->kind == SCI_V_VAR &&
         index->args[0] == l->var;
}

static const sci_stmt *definition(const combining *x, sci_block b, sci_val v) {
  const sci_value *value = sci_value_at(x->s, v);
  for (uint32_t i = 0; value->kind == SCI_V_NAME && i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_LOAD && b.stmts[i].name == value->args[0]) return &b.stmts[i];
  return NULL;
}

/* ---- recognizing ---- */

/* y[i] = t[i] + u[i] and nothing else. */
static bool is_sum(const combining *x, const sci_stmt *st, sci_buf terms[2], sci_buf *to) {
  if (st->kind != SCI_S_LOOP || !is_any_order(st->loop) || st->loop->body.n != 3) return false;
  sci_block b = st->loop->body;
  const sci_stmt *store = &b.stmts[2];
  if (store->kind != SCI_S_STORE || !covers(x, st->loop, store)) return false;
  const sci_value *sum = sci_value_at(x->s, store->value);
  if (sum->kind != SCI_V_OP || sum->op != SCI_OP_add) return false;
  for (int i = 0; i < 2; i++) {
    const sci_stmt *load = definition(x, b, sum->args[i]);
    if (!load || !covers(x, st->loop, load) || x->s->bufs[load->buf].space != SCI_SPACE_PRIVATE) return false;
    terms[i] = load->buf;
  }
  *to = store->buf;
  return terms[0] != terms[1] && terms[0] != *to && terms[1] != *to;
}

static bool is_fill(const combining *x, const sci_stmt *st, sci_buf t) {
  if (st->kind != SCI_S_LOOP || !is_any_order(st->loop) || st->loop->body.n != 1) return false;
  const sci_stmt *store = &st->loop->body.stmts[0];
  if (store->kind != SCI_S_STORE || store->buf != t || !covers(x, st->loop, store)) return false;
  return sci_val_is_const(x->s, store->value) && !sci_value_at(x->s, store->value)->bits;
}

/* Every access of t in the block is t[e] = t[e] + something. */
static bool only_adds(const combining *x, sci_block b, sci_buf t, bool *once) {
  int64_t offset;
  const sci_stmt *load = NULL;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_CALL) return false;
    if (st->kind == SCI_S_LOOP) *once &= is_any_order(st->loop);
    if (st->kind == SCI_S_LOOP && !only_adds(x, st->loop->body, t, once)) return false;
    if ((st->kind != SCI_S_LOAD && st->kind != SCI_S_STORE) || sci_storage(x->s, st->buf, &offset) != t) continue;
    if (st->buf != t) return false;
    if (st->kind == SCI_S_LOAD) {
      if (load) return false;
      load = st;
      continue;
    }
    const sci_value *sum = sci_value_at(x->s, st->value);
    if (!load || st->index != load->index || sum->kind != SCI_V_OP || sum->op != SCI_OP_add) return false;
    if (definition(x, b, sum->args[0]) != load && definition(x, b, sum->args[1]) != load) return false;
    load = NULL;
  }
  return !load;
}

typedef struct touching {
  const combining *x;
  sci_buf buf;
  bool is;
} touching;

static void note(void *user, sci_buf b, bool write) {
  touching *t = user;
  int64_t offset;
  (void)write;
  t->is |= sci_storage(t->x->s, b, &offset) == t->buf;
}

static bool touches(const combining *x, const sci_stmt *st, sci_buf b) {
  touching t = {x, b, false};
  sci_stmt_accesses(x->p, st, note, &t);
  return t.is;
}

static bool find_term(const combining *x, sci_block b, uint32_t sum, sci_buf buf, term *t) {
  *t = (term){.buf = buf, .fill = UINT32_MAX, .once = true};
  if (x->last[buf] > sum) return false;
  for (uint32_t i = x->first[buf]; i < sum; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (!touches(x, st, buf)) continue;
    if (t->fill == UINT32_MAX) {
      if (!is_fill(x, st, buf)) return false;
      t->fill = i;
      continue;
    }
    if (st->kind != SCI_S_LOOP || !only_adds(x, (sci_block){1, st}, buf, &t->once)) return false;
    if (!t->n++) t->first = i;
    t->last = i;
  }
  t->once &= t->n == 1;
  return t->fill != UINT32_MAX && t->n;
}

/* ---- combining ---- */

/* Whether u's addition may follow t's statements in y: t is complete before it, and y untouched until the sum. */
static bool may_follow(const combining *x, sci_block b, uint32_t sum, const term *t, const term *u, sci_buf y) {
  if (!u->once || u->first <= t->last) return false;
  for (uint32_t i = t->fill; i < sum; i++)
    if (touches(x, &b.stmts[i], y)) return false;
  return true;
}

static sci_block combined(const combining *x, sci_block b, uint32_t sum, const term *t, const term *u, sci_buf y) {
  sci_block_builder out;
  sci_subst *m = sci_subst_new(x->s);
  sci_val zero = sci_val_int(x->s, 0);
  sci_subst_buf(m, t->buf, y, zero);
  sci_subst_buf(m, u->buf, y, zero);
  sci_block_begin(&out, x->s);
  for (uint32_t i = 0; i < b.n; i++) {
    if (i == sum || i == u->fill) continue;
    bool moves = i < sum && (touches(x, &b.stmts[i], t->buf) || touches(x, &b.stmts[i], u->buf));
    sci_emit(&out, moves ? sci_subst_block(m, (sci_block){1, &b.stmts[i]}).stmts[0] : b.stmts[i]);
  }
  ++*x->changes;
  return sci_block_end(&out, x->s);
}

static bool combine_at(const combining *x, sci_block *b, uint32_t sum) {
  sci_buf bufs[2], y;
  term t[2];
  if (!is_sum(x, &b->stmts[sum], bufs, &y)) return false;
  for (int i = 0; i < 2; i++)
    if (!find_term(x, *b, sum, bufs[i], &t[i])) return false;
  for (int i = 0; i < 2; i++) {
    if (!may_follow(x, *b, sum, &t[i], &t[!i], y)) continue;
    *b = combined(x, *b, sum, &t[i], &t[!i], y);
    return true;
  }
  return false;
}

typedef struct seeing {
  combining *x;
  uint32_t at;
} seeing;

static void see_anew(void *user, sci_buf b, bool write) {
  combining *x = user;
  int64_t offset;
  (void)write;
  x->first[sci_storage(x->s, b, &offset)] = UINT32_MAX;
}

static void see(void *user, sci_buf b, bool write) {
  seeing *k = user;
  int64_t offset;
  sci_buf storage = sci_storage(k->x->s, b, &offset);
  (void)write;
  if (k->x->first[storage] > k->at) k->x->first[storage] = k->at;
  k->x->last[storage] = k->at;
}

/* Where each storage is touched first and last: so that looking for terms does not take in the whole block. */
static void survey(combining *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) sci_stmt_accesses(x->p, &b.stmts[i], see_anew, x);
  for (uint32_t i = 0; i < b.n; i++) sci_stmt_accesses(x->p, &b.stmts[i], see, &(seeing){x, i});
}

/* A sum of sums is combined from the inside: what is left of the inner one is a term again. */
static const sci_proc *combine_proc(const sci_program *p, const sci_proc *q, void *user) {
  combining *x = user;
  sci_block b = q->body;
  survey(x, b);
  for (uint32_t i = 0; i < b.n;) {
    uint32_t before = b.n;
    if (!combine_at(x, &b, i)) {
      i++;
    } else {
      i -= before - b.n - 1; /* the statement behind the sum */
      survey(x, b);
    }
  }
  return sci_proc_with(p->store, q, b);
}

sci_program *sci_pass_combine_scatter_sums(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  combining x = {.p = p, .s = s, .a = &s->env->scratch, .changes = changes};
  x.first = SCI_ARRAY(x.a, uint32_t, s->n_bufs);
  x.last = SCI_ARRAY(x.a, uint32_t, s->n_bufs);
  return sci_pass_each(p, combine_proc, &x);
}
