/* Owns coalesce_stores: in scalar code, stores to neighbouring elements are put side by side, in ascending order, so
 * that a backend may write several at once.
 *
 * A store waits until something could tell: a load of its buffer's storage, another store there that may meet it, a
 * call, a loop, or for values over mutable names an assignment. Waiting stores of one storage leave together, in order
 * of their elements, and a group that fills vectors leaves at once: the values of many stores that wait for each other
 * are all alive. */
#include <stdlib.h>

#include "lib/passes/passes.h"
#include "lib/program/map.h"
#include "lib/program/walk.h"

enum { GROUP = 8 }; /* elements that leave at once, the first one's number being a multiple */

typedef struct waiting {
  sci_stmt st;
  bool gone;
  int64_t element; /* the constant of the index, in the storage */
  uint32_t order;
} waiting;

typedef struct lane {
  sci_val base; /* of waiting stores: the index without its constant */
  SCI_VEC(waiting) list;
  sci_map elements; /* place in the list; GONE: it left */
} lane;

typedef struct coalescing {
  sci_store *s;
  sci_arena *a;
  sci_map lane_of; /* per storage */
  SCI_VEC(lane) lanes;
  SCI_VEC(uint32_t) busy; /* lanes with waiting stores, some maybe flushed since */
  uint32_t order, left;   /* stores met; the latest that left */
  bool over_mutable;      /* some waiting store's value or index is */
  int64_t *changes;
} coalescing;

static int by_element(const void *p, const void *q) {
  const waiting *x = p, *y = q;
  if (x->element != y->element) return x->element < y->element ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

static void let_go(coalescing *x, waiting *w, sci_block_builder *out) {
  if (w->gone) return;
  sci_emit(out, w->st);
  *x->changes += w->order < x->left;
  x->left = w->order;
  w->gone = true;
}

static const uint32_t GONE = UINT32_MAX - 1;

static bool waits(const lane *l, int64_t element) {
  return sci_map_get(&l->elements, (uint32_t)element) < GONE;
}

/* The group that a store has just completed. */
static void flush_group(coalescing *x, lane *l, int64_t element, sci_block_builder *out) {
  int64_t first = element - element % GROUP;
  for (int64_t i = first; i < first + GROUP; i++)
    if (!waits(l, i)) return;
  for (int64_t i = first; i < first + GROUP; i++) {
    let_go(x, &l->list.data[sci_map_get(&l->elements, (uint32_t)i)], out);
    sci_map_set(&l->elements, (uint32_t)i, GONE);
  }
}

static void flush(coalescing *x, lane *l, sci_block_builder *out) {
  bool sorted = true;
  for (size_t i = 1; i < l->list.n; i++) sorted &= l->list.data[i - 1].element < l->list.data[i].element;
  if (!sorted) qsort(l->list.data, l->list.n, sizeof *l->list.data, by_element);
  for (size_t i = 0; i < l->list.n; i++) let_go(x, &l->list.data[i], out);
  l->list.n = 0;
  sci_map_clear(&l->elements);
}

static void flush_all(coalescing *x, sci_block_builder *out) {
  for (size_t i = 0; i < x->busy.n; i++) flush(x, &x->lanes.data[x->busy.data[i]], out);
  x->busy.n = 0;
  x->over_mutable = false;
}

static lane *lane_at(coalescing *x, sci_buf storage) {
  uint32_t at = sci_map_get(&x->lane_of, storage);
  if (at == UINT32_MAX) {
    at = (uint32_t)x->lanes.n;
    lane l = {.base = SCI_NIL};
    sci_map_init(&l.elements, x->a);
    sci_vec_push(x->a, &x->lanes, l);
    sci_map_set(&x->lane_of, storage, at);
  }
  return &x->lanes.data[at];
}

static void hold(coalescing *x, sci_block_builder *out, const sci_stmt *st) {
  int64_t offset;
  sci_affine f;
  sci_buf storage = sci_storage(x->s, st->buf, &offset);
  lane *l = lane_at(x, storage);
  int64_t constant = sci_affine_of(x->s, st->index, &f) ? f.constant : 0;
  sci_val base = sci_idx_add(x->s, st->index, sci_val_int(x->s, -constant));
  waiting w = {*st, false, constant + offset, x->order++};
  bool fits = w.element >= 0 && w.element < GONE - GROUP;
  if (l->list.n && (l->base != base || !fits || waits(l, w.element))) flush(x, l, out);
  if (!fits) {
    sci_emit(out, *st);
    return;
  }
  if (!l->list.n) sci_vec_push(x->a, &x->busy, (uint32_t)(l - x->lanes.data));
  l->base = base;
  sci_map_set(&l->elements, (uint32_t)w.element, (uint32_t)l->list.n);
  sci_vec_push(x->a, &l->list, w);
  x->over_mutable |=
      ((sci_value_at(x->s, st->value)->flags | sci_value_at(x->s, st->index)->flags) & SCI_VAL_MUTABLE) != 0;
  flush_group(x, l, w.element, out);
}

static sci_block coalesce(coalescing *x, sci_block b);

static void visit(coalescing *x, sci_block_builder *out, const sci_stmt *st) {
  int64_t offset;
  uint32_t at;
  switch ((sci_stmt_kind)st->kind) {
  case SCI_S_STORE: hold(x, out, st); return;
  case SCI_S_LOAD:
    at = sci_map_get(&x->lane_of, sci_storage(x->s, st->buf, &offset));
    if (at != UINT32_MAX) flush(x, &x->lanes.data[at], out);
    break;
  case SCI_S_ASSIGN:
    if (x->over_mutable && x->s->names[st->name].is_mutable) flush_all(x, out);
    break;
  case SCI_S_LOOP:
    flush_all(x, out);
    sci_emit(out, sci_loop_with(x->s, st, coalesce(x, st->loop->body)));
    return;
  case SCI_S_CALL: flush_all(x, out); break;
  }
  sci_emit(out, *st);
}

/* Blocks in which no store moves stay the old ones' own. */
static sci_block coalesce(coalescing *x, sci_block b) {
  sci_block_builder out;
  sci_block_begin(&out, x->s);
  for (uint32_t i = 0; i < b.n; i++) visit(x, &out, &b.stmts[i]);
  flush_all(x, &out);
  return sci_block_or(&out, x->s, b);
}

static const sci_proc *coalesce_proc(const sci_program *p, const sci_proc *q, void *user) {
  coalescing *x = user;
  (void)p;
  return sci_proc_with(x->s, q, coalesce(x, q->body));
}

sci_program *sci_pass_coalesce_stores(const sci_program *p, int64_t *changes) {
  sci_arena *a = &p->store->env->scratch;
  coalescing x = {.s = p->store, .a = a, .changes = changes};
  sci_map_init(&x.lane_of, a);
  return sci_pass_each(p, coalesce_proc, &x);
}
