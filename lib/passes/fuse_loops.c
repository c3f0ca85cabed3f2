/* Owns fuse_loops: neighbouring independent loops over the same range become one, so that what both load and compute is
 * there once.
 *
 * Iteration i of the second loop then runs before iteration i + 1 of the first. That changes nothing when, in every
 * storage that one of them writes and both touch, each iteration keeps to a window of its own: all indices move by the
 * same c per iteration, and all of them at one iteration span no more than c. Loads of inputs and tables and names that
 * stand between the two go before both. Only bodies without loops and calls are joined: they are the ones that share
 * values, and that lanes are for. */
#include "lib/passes/passes.h"
#include "lib/program/ranges.h"
#include "lib/program/walk.h"

enum { MAX_STATEMENTS = 4096 }; /* of a joined body: beyond, too many values are alive at once */

/* What some loops do to one storage. */
typedef struct window {
  sci_buf storage;
  bool written, known; /* known: all indices are base + c * variable + [lo, hi] */
  int64_t c, lo, hi;
  sci_val base; /* what does not change while the loops run */
} window;

typedef struct window_set {
  sci_map at; /* storage: place in the list */
  SCI_VEC(window) list;
} window_set;

typedef struct fusing {
  sci_store *s;
  sci_arena *a;
  sci_stmt loop; /* that waits for others to join it: of kind SCI_S_LOOP; `joined` of them so far */
  uint32_t joined;
  sci_block_builder body; /* of all of them */
  window_set all, next;   /* of all of them; of the one that may join */
  int64_t *changes;
} fusing;

static bool is_straight(sci_block b) {
  for (uint32_t i = 0; i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_LOOP || b.stmts[i].kind == SCI_S_CALL) return false;
  return true;
}

/* The index without the loop's variable and the constant, which are given apart. False: it depends on the loop
 * otherwise. */
static bool split_index(const fusing *x, const sci_loop *l, sci_val index, window *w) {
  sci_affine f, fixed;
  if (!sci_affine_of(x->s, index, &f)) return false;
  fixed = f;
  fixed.n = 0;
  fixed.constant = 0;
  w->c = 0;
  for (uint32_t i = 0; i < f.n; i++) {
    const sci_value *term = sci_value_at(x->s, f.terms[i].term);
    if (term->kind == SCI_V_VAR && term->args[0] == l->var)
      w->c = f.terms[i].coefficient;
    else if (term->kind == SCI_V_VAR)
      fixed.terms[fixed.n++] = f.terms[i];
    else
      return false; /* a name: what it holds may differ from iteration to iteration */
  }
  w->lo = w->hi = f.constant;
  w->base = sci_affine_value(x->s, &fixed);
  return true;
}

static void clear(window_set *set) {
  sci_map_clear(&set->at);
  set->list.n = 0;
}

static void merge(fusing *x, window_set *set, const window *one) {
  uint32_t at = sci_map_get(&set->at, one->storage);
  if (at == UINT32_MAX) {
    sci_map_set(&set->at, one->storage, (uint32_t)set->list.n);
    sci_vec_push(x->a, &set->list, *one);
    return;
  }
  window *w = &set->list.data[at];
  w->written |= one->written;
  w->known &= one->known && w->c == one->c && w->base == one->base;
  if (one->lo < w->lo) w->lo = one->lo;
  if (one->hi > w->hi) w->hi = one->hi;
}

/* What the body touches, beyond inputs and tables. */
static void survey(fusing *x, const sci_loop *l, window_set *set) {
  clear(set);
  for (uint32_t i = 0; i < l->body.n; i++) {
    const sci_stmt *st = &l->body.stmts[i];
    if (st->kind != SCI_S_LOAD && st->kind != SCI_S_STORE) continue;
    int64_t shift;
    window one = {.storage = sci_storage(x->s, st->buf, &shift), .written = st->kind == SCI_S_STORE};
    if (sci_is_readonly(x->s, one.storage)) continue;
    one.known = split_index(x, l, st->index, &one);
    one.lo += shift;
    one.hi += shift;
    merge(x, set, &one);
  }
}

static bool apart(const window_set *all, const window *one, int64_t step) {
  uint32_t at = sci_map_get(&all->at, one->storage);
  if (at == UINT32_MAX) return true;
  const window *w = &all->list.data[at];
  if (!w->written && !one->written) return true;
  int64_t lo = one->lo < w->lo ? one->lo : w->lo, hi = one->hi > w->hi ? one->hi : w->hi, move = w->c * step;
  return w->known && one->known && w->c == one->c && w->base == one->base && hi - lo < (move < 0 ? -move : move);
}

/* ---- joining ---- */

static bool may_wait(const sci_loop *l) {
  return l->kind == SCI_LOOP_INDEPENDENT && is_straight(l->body);
}

/* `next` is what l touches. */
static bool may_join(const fusing *x, const sci_loop *l) {
  const sci_loop *first = x->loop.loop;
  if (!x->joined || first->start != l->start || first->stop != l->stop || first->step != l->step) return false;
  if (x->body.stmts.n + l->body.n > MAX_STATEMENTS) return false;
  for (size_t i = 0; i < x->next.list.n; i++)
    if (!apart(&x->all, &x->next.list.data[i], l->step)) return false;
  return true;
}

static void leave(fusing *x, sci_block_builder *out) {
  if (!x->joined) return;
  sci_block body = x->joined > 1 ? sci_block_end(&x->body, x->s) : x->loop.loop->body;
  sci_emit(out, sci_loop_with(x->s, &x->loop, body));
  *x->changes += x->joined - 1;
  x->joined = 0;
}

static void join(fusing *x, const sci_stmt *st) {
  sci_subst *m = sci_subst_new(x->s);
  if (!x->joined++) {
    x->loop = *st;
    clear(&x->all);
    sci_block_begin(&x->body, x->s);
  }
  sci_subst_var(m, st->loop->var, sci_val_var(x->s, x->loop.loop->var));
  for (uint32_t i = 0; i < st->loop->body.n; i++) sci_emit(&x->body, sci_subst_stmt(m, &st->loop->body.stmts[i]));
  for (size_t i = 0; i < x->next.list.n; i++) merge(x, &x->all, &x->next.list.data[i]);
}

/* It may go before the loop that it stands behind. */
static bool may_move(const fusing *x, const sci_stmt *st) {
  return sci_is_pure(x->s, st) && (st->kind != SCI_S_LOAD || sci_is_readonly(x->s, st->buf));
}

static sci_block fuse_block(fusing *x, sci_block b);

static void visit_loop(fusing *x, sci_block_builder *out, const sci_stmt *st) {
  if (!may_wait(st->loop)) {
    leave(x, out);
    sci_emit(out, sci_loop_with(x->s, st, fuse_block(x, st->loop->body)));
    return;
  }
  survey(x, st->loop, &x->next);
  if (!may_join(x, st->loop)) leave(x, out);
  join(x, st);
}

static sci_block fuse_block(fusing *x, sci_block b) {
  sci_block_builder out;
  sci_block_begin(&out, x->s);
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind == SCI_S_LOOP) {
      visit_loop(x, &out, &b.stmts[i]);
      continue;
    }
    if (!may_move(x, &b.stmts[i])) leave(x, &out);
    sci_emit(&out, b.stmts[i]);
  }
  leave(x, &out);
  return sci_block_or(&out, x->s, b);
}

static const sci_proc *fuse_proc(const sci_program *p, const sci_proc *q, void *user) {
  fusing *x = user;
  int64_t before = *x->changes;
  sci_block body = fuse_block(x, q->body);
  return *x->changes == before ? q : sci_proc_with(p->store, q, body);
}

sci_program *sci_pass_fuse_loops(const sci_program *p, int64_t *changes) {
  fusing x = {.s = p->store, .a = &p->store->env->scratch, .changes = changes};
  sci_map_init(&x.all.at, x.a);
  sci_map_init(&x.next.at, x.a);
  return sci_pass_each(p, fuse_proc, &x);
}
