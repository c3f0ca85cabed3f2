/* Owns the check of independent loops: no iteration touches what another one writes.
 *
 * An index of the body is c * v + inner + fixed: v the loop's variable, `inner` over variables of loops inside, `fixed`
 * what does not change while the loop runs. Per written buffer all accesses together are clear when they share c and
 * `fixed` and the rest spans less than c. Otherwise pairs are looked at: by ranges, by a mixed-radix argument, and at
 * last point by point, where only two iterations found at one element count as a violation: what cannot be told is
 * accepted. Private storage that only the loop touches is each iteration's own, its contents undefined where an
 * iteration starts. */
#include <stdlib.h>

#include "lib/program/verify.h"

enum { MAX_PAIRS = 4096, MAX_POINTS = 4096 };

typedef struct access {
  sci_buf storage;
  sci_val index;
  int64_t shift; /* of the alias, in the storage */
  int64_t extent;
  uint32_t order;
  bool write;
} access;

/* An access seen from the loop. */
typedef struct shape {
  bool affine;           /* in loop variables and fixed terms, and without overflow */
  int64_t c;             /* of the loop's variable, times its step */
  int64_t lo, hi;        /* of inner + constant; hi includes the extent */
  int64_t small, stride; /* span of the inner terms smaller than c, and the common divisor of the others (0: none) */
  int64_t base;          /* constant and starts of the variables */
  uint32_t fixed_hash;
  sci_affine form;
} shape;

typedef struct promise {
  sci_checker *k;
  const sci_loop *loop;
  uint32_t scope;
  int64_t trips;
  SCI_VEC(access) list;
} promise;

static void add(void *user, sci_buf b, sci_val index, int64_t extent, bool write) {
  promise *p = user;
  access a = {.index = index, .extent = extent, .order = (uint32_t)p->list.n, .write = write};
  a.storage = sci_storage(p->k->s, b, &a.shift);
  if (p->k->s->bufs[a.storage].space == SCI_SPACE_CONSTANT || p->k->s->bufs[a.storage].space == SCI_SPACE_INPUT) return;
  sci_vec_push(p->k->a, &p->list, a);
}

static void count(void *user, sci_buf b, sci_val index, int64_t extent, bool write) {
  sci_checker *k = user;
  (void)index, (void)extent, (void)write;
  if (b >= k->s->n_bufs) return; /* statements to come are not checked yet */
  sci_buf owner = k->s->bufs[b].alias_of;
  if (owner == SCI_NIL)
    k->touches[b]++;
  else if (owner < k->s->n_bufs)
    k->touches[owner]++;
}

/* What runs and touches an element: calls' views by the callee's parameters, loops without trips not at all. */
static void each_access(const sci_checker *k, sci_block b, void (*fn)(void *, sci_buf, sci_val, int64_t, bool),
                        void *user) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOAD || st->kind == SCI_S_STORE) fn(user, st->buf, st->index, 1, st->kind == SCI_S_STORE);
    if (st->kind == SCI_S_LOOP && sci_loop_trips(st->loop)) each_access(k, st->loop->body, fn, user);
    if (st->kind != SCI_S_CALL || st->call->proc >= k->proc_index) continue;
    const sci_proc *callee = k->p->procs[st->call->proc];
    for (uint32_t j = 0; j < st->call->n && j < callee->n_in + callee->n_out; j++) {
      int64_t extent = k->s->bufs[callee->params[j]].size;
      if (extent) fn(user, st->call->views[j].buf, st->call->views[j].index, extent, j >= callee->n_in);
    }
  }
}

/* Whether nothing outside the loop touches a private storage that it touches n times: each iteration has one of its own
 * then. */
static bool is_own(sci_checker *k, sci_buf storage, size_t n) {
  if (k->s->bufs[storage].space != SCI_SPACE_PRIVATE) return false;
  if (k->counted != k->proc_index + 1) each_access(k, k->proc->body, count, k);
  k->counted = k->proc_index + 1;
  return k->touches[storage] == n;
}

/* Names that outlive an iteration and change in it. */
static void check_names(const promise *p, sci_block b) {
  const sci_checker *k = p->k;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP) check_names(p, st->loop->body);
    if (st->kind == SCI_S_ASSIGN && !st->declare && k->name_scope[st->name] - 1 < p->scope)
      sci_rule_fail(k, SCI_RULE_independent, "an iteration changes name %u, which outlives it", st->name);
  }
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

/* Index values do not overflow, but what a range analysis adds up might. */
enum { LIMIT_BITS = 40 };
static bool large(int64_t v) {
  return v > (INT64_C(1) << LIMIT_BITS) || v < -(INT64_C(1) << LIMIT_BITS);
}

static bool add_inner(const promise *p, shape *h, sci_var v, int64_t coefficient) {
  const sci_loop *l = p->k->facts.var_loop[v];
  int64_t trips = sci_loop_trips(l), span;
  if (large(l->start) || large(coefficient) || __builtin_mul_overflow((trips - 1) * l->step, coefficient, &span) ||
      large(span))
    return false;
  int64_t first;
  if (__builtin_mul_overflow(l->start, coefficient, &first) || large(first)) return false;
  h->base += first;
  h->lo += first + (span < 0 ? span : 0);
  h->hi += first + (span > 0 ? span : 0);
  if (trips < 2) return true;
  int64_t move = coefficient * l->step;
  if (llabs(move) < llabs(h->c))
    h->small += llabs(span);
  else
    h->stride = gcd(h->stride, move);
  return true;
}

static shape shape_of(const promise *p, const access *a) {
  const sci_checker *k = p->k;
  shape h = {.affine = true};
  if (!sci_affine_of(k->s, a->index, &h.form)) return (shape){0};
  for (uint32_t i = 0; i < h.form.n; i++) {
    const sci_value *x = sci_value_at(k->s, h.form.terms[i].term);
    if (x->kind == SCI_V_VAR && x->args[0] == p->loop->var) h.c = h.form.terms[i].coefficient;
  }
  if (large(h.c) || large(p->loop->step) || large(p->loop->start) || large(h.form.constant)) return (shape){0};
  if (__builtin_mul_overflow(h.c, p->loop->start, &h.base) || large(h.base)) return (shape){0};
  if (__builtin_mul_overflow(h.c, p->loop->step, &h.c) || large(h.c)) return (shape){0};
  h.base += h.form.constant + a->shift;
  h.lo = h.base;
  h.hi = h.base + a->extent;
  for (uint32_t i = 0; i < h.form.n; i++) {
    sci_val term = h.form.terms[i].term;
    const sci_value *x = sci_value_at(k->s, term);
    bool fixed = k->value_scope[term] - 1 < p->scope;
    if (x->kind == SCI_V_VAR && x->args[0] == p->loop->var) continue;
    if (fixed)
      h.fixed_hash += sci_mix((uint64_t)term + 1, (uint64_t)h.form.terms[i].coefficient);
    else if (x->kind != SCI_V_VAR || !add_inner(p, &h, x->args[0], h.form.terms[i].coefficient))
      return (shape){0};
  }
  return h;
}

/* All accesses of a buffer at once: each iteration keeps to a window of its own. */
static bool windows(const promise *p, const access *list, size_t n) {
  int64_t lo = INT64_MAX, hi = INT64_MIN, c = 0;
  uint32_t fixed = 0;
  for (size_t i = 0; i < n; i++) {
    shape h = shape_of(p, &list[i]);
    if (!h.affine || (i && (h.c != c || h.fixed_hash != fixed))) return false;
    c = h.c;
    fixed = h.fixed_hash;
    if (h.lo < lo) lo = h.lo;
    if (h.hi > hi) hi = h.hi;
  }
  return llabs(c) >= hi - lo;
}

/* Two iterations d apart meet when c * d + (inner difference) + (base difference) is less than an extent in magnitude.
 * With the inner terms smaller than c spanning little and the larger ones all multiples of one stride, that needs d =
 * 0. */
static bool apart(const promise *p, const access *w, const access *a) {
  shape x = shape_of(p, w), y = shape_of(p, a);
  if (!x.affine || !y.affine || x.fixed_hash != y.fixed_hash) return false;
  int64_t whole_x = x.c * (p->trips - 1), whole_y = y.c * (p->trips - 1);
  int64_t x_lo = x.lo + (whole_x < 0 ? whole_x : 0), x_hi = x.hi + (whole_x > 0 ? whole_x : 0);
  int64_t y_lo = y.lo + (whole_y < 0 ? whole_y : 0), y_hi = y.hi + (whole_y > 0 ? whole_y : 0);
  if (x_hi <= y_lo || y_hi <= x_lo) return true;
  if (x.c != y.c || !x.c) return false;
  int64_t stride = gcd(x.stride, y.stride), shift = llabs(x.base - y.base);
  if (stride) {
    shift %= stride;
    if (shift > stride - shift) shift = stride - shift;
  }
  int64_t spread = x.small + y.small + shift + (w->extent > a->extent ? w->extent : a->extent);
  return llabs(x.c) >= spread && (!stride || llabs(whole_x) + spread <= stride);
}

static int64_t iteration_of(const promise *p, const sci_points *pts) {
  for (uint32_t i = 0; i < pts->n_vars; i++)
    if (pts->vars[i] == p->loop->var) return pts->trip[i];
  return -1;
}

/* Marks (w) or looks up (a) elements; true: an element another iteration has marked. An access that does not depend on
 * the loop's variable happens in every iteration. */
static bool meets(promise *p, sci_map *marks, const access *x, bool mark) {
  sci_points pts;
  int64_t at, points = MAX_POINTS, per_loop = 16;
  if (!sci_points_make(&p->k->facts, x->index, &pts)) return false;
  do {
    if (!--points || --p->k->budget < 0) return false;
    if (!sci_points_eval(&p->k->facts, &pts, &at)) return false;
    int64_t iteration = iteration_of(p, &pts);
    for (int64_t e = 0; e < x->extent && e < 64; e++) {
      if (at < 0 || at > INT32_MAX) return false;
      uint32_t element = (uint32_t)(at + x->shift + e), marked = sci_map_get(marks, element);
      if (marked != UINT32_MAX && (int64_t)marked != iteration) return true;
      if (mark && iteration < 0) return true;
      if (mark) sci_map_set(marks, element, (uint32_t)iteration);
    }
  } while (sci_points_next(&p->k->facts, &pts, p->k->var_scope, p->scope, pts.n_vars > 2 ? per_loop : MAX_POINTS));
  return false;
}

static int by_storage(const void *x, const void *y) {
  const access *a = x, *b = y;
  if (a->storage != b->storage) return a->storage < b->storage ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static void check_buffer(promise *p, const access *list, size_t n) {
  sci_checker *k = p->k;
  if (windows(p, list, n) || is_own(k, list->storage, n)) return;
  int64_t pairs = MAX_PAIRS;
  for (size_t i = 0; i < n; i++) {
    if (!list[i].write) continue;
    sci_map marks;
    sci_map_init(&marks, k->a);
    sci_arena_mark here = sci_arena_here(k->a);
    bool marked = false, conflict = false;
    for (size_t j = 0; j < n && !conflict; j++) {
      if (list[j].write && j < i) continue;
      if (!--pairs) return;
      if (apart(p, &list[i], &list[j])) continue;
      if (!marked) conflict = meets(p, &marks, &list[i], true);
      marked = true;
      if (!conflict && j != i) conflict = meets(p, &marks, &list[j], false);
    }
    sci_arena_release(k->a, here);
    if (!conflict) continue;
    const char *hint = k->s->bufs[list[i].storage].hint;
    sci_rule_fail(k, SCI_RULE_independent, "two iterations meet at an element of buffer %s that one of them writes",
                  hint ? hint : "without a name");
  }
}

void sci_check_independent(sci_checker *k, const sci_loop *l, uint32_t scope) {
  promise p = {.k = k, .loop = l, .scope = scope, .trips = sci_loop_trips(l)};
  sci_arena_mark here = sci_arena_here(k->a);
  check_names(&p, l->body);
  each_access(k, l->body, add, &p);
  if (p.trips > 1 && p.list.n) {
    qsort(p.list.data, p.list.n, sizeof *p.list.data, by_storage);
    for (size_t i = 0, j; i < p.list.n; i = j) {
      bool written = false;
      for (j = i; j < p.list.n && p.list.data[j].storage == p.list.data[i].storage; j++)
        written |= p.list.data[j].write;
      if (written) check_buffer(&p, p.list.data + i, j - i);
    }
  }
  sci_arena_release(k->a, here);
}
