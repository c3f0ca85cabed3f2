/* Owns place_stores: what a loop only copies to its place is stored there when it is computed.
 *
 * Sparse derivatives are computed block by block and then put in the order of their layout, by tables. Here such a copy
 * (each iteration loads one element of a private buffer and stores it) is followed back: a store of the buffer whose
 * elements all go to places that are an affine function of the storing loop's variable goes there itself. What cannot
 * be placed is copied as before, by tables that hold only that. A buffer that something else reads too keeps its
 * stores.
 *
 * Between the store and the copy nothing else may touch the places; indices are evaluated point by point, so tables of
 * any shape will do. Only the outermost block and loops in it without inner loops and calls are looked at. */
#include "lib/passes/passes.h"
#include "lib/program/ranges.h"
#include "lib/program/walk.h"

enum {
  MAX_ELEMENTS = 1 << 24,
  FEW = 16,          /* elements that are copied one by one */
  MAX_SEGMENTS = 64, /* that are copied by loops of their own */
};

/* Element k of the copy goes from src[k] to dst[k]; buffers own their storage. */
typedef struct copying {
  uint32_t at; /* statement */
  sci_buf from, to;
  int64_t n, *src, *dst;
  bool *placed;
  int64_t n_placed, n_direct; /* copied by segments or placed; of these, without a copy */
  int32_t *taker;    /* per element of `from`: the copy's element that takes it, + 1; 0: none, or not to be placed */
  uint8_t *is_place; /* per element of `to`: 1 where the copy stores */
  uint8_t *needed;   /* per element of `from`: 1 where something else may load it */
} copying;

/* A store and its index in `to`. */
typedef struct placement {
  const sci_stmt *store;
  sci_val index;
  bool stays; /* something else loads what it stores */
} placement;

/* A part of what a store stores that is copied by a loop without tables, or for a constant just stored. */
typedef struct segment {
  const sci_loop *l;
  int64_t start, n; /* iterations of l */
  int64_t src, src_move, dst, dst_move;
  sci_val constant; /* SCI_NIL: copied */
} segment;

typedef struct placing {
  const sci_program *p;
  sci_store *s;
  sci_arena *a;
  sci_facts facts;
  sci_block b;
  SCI_VEC(placement) placements;
  SCI_VEC(segment) segments;
} placing;

/* ---- indices at all iterations ---- */

/* The index in the storage at each iteration of l (NULL: none, one point). NULL: it depends on something else. */
static int64_t *points(placing *x, const sci_loop *l, sci_buf buf, sci_val index) {
  sci_points pts;
  int64_t shift, n = l ? sci_loop_trips(l) : 1;
  sci_storage(x->s, buf, &shift);
  if (n > MAX_ELEMENTS || !sci_points_make(&x->facts, index, &pts)) return NULL;
  if (pts.n_vars > 1 || (pts.n_vars && (!l || pts.vars[0] != l->var))) return NULL;
  int64_t *at = SCI_ARRAY(x->a, int64_t, n);
  for (int64_t k = 0; k < n; k++) {
    pts.trip[0] = k;
    if (!sci_points_eval(&x->facts, &pts, &at[k])) return NULL;
    at[k] += shift;
  }
  return at;
}

static bool is_simple(const sci_stmt *st) {
  if (st->kind != SCI_S_LOOP) return st->kind == SCI_S_STORE || st->kind == SCI_S_LOAD || st->kind == SCI_S_ASSIGN;
  for (uint32_t i = 0; i < st->loop->body.n; i++)
    if (st->loop->body.stmts[i].kind == SCI_S_LOOP || st->loop->body.stmts[i].kind == SCI_S_CALL) return false;
  return true;
}

/* A simple statement as a block, with its loop if it has one. */
static sci_block parts(const sci_stmt *st, const sci_loop **l) {
  *l = st->kind == SCI_S_LOOP ? st->loop : NULL;
  return *l ? (*l)->body : (sci_block){1, st};
}

static sci_buf storage_of(const placing *x, const sci_stmt *st) {
  int64_t shift;
  return st->kind == SCI_S_LOAD || st->kind == SCI_S_STORE ? sci_storage(x->s, st->buf, &shift) : SCI_NIL;
}

/* ---- the copy ---- */

static bool is_copy(placing *x, uint32_t at, copying *c) {
  const sci_stmt *st = &x->b.stmts[at], *store = NULL;
  if (st->kind != SCI_S_LOOP || !is_simple(st)) return false;
  if (st->loop->kind != SCI_LOOP_INDEPENDENT && st->loop->kind != SCI_LOOP_VECTOR) return false;
  sci_block body = st->loop->body;
  for (uint32_t i = 0; i < body.n; i++) {
    if (body.stmts[i].kind == SCI_S_ASSIGN || (body.stmts[i].kind == SCI_S_STORE && store)) return false;
    if (body.stmts[i].kind == SCI_S_STORE) store = &body.stmts[i];
  }
  const sci_value *value = store ? sci_value_at(x->s, store->value) : NULL;
  if (!value || value->kind != SCI_V_NAME) return false;
  const sci_stmt *load = x->facts.name_def[value->args[0]];
  if (!load || load->kind != SCI_S_LOAD) return false;
  *c = (copying){.at = at, .from = storage_of(x, load), .to = storage_of(x, store), .n = sci_loop_trips(st->loop)};
  if (x->s->bufs[c->from].space != SCI_SPACE_PRIVATE || c->from == c->to || !c->n) return false;
  if (x->s->bufs[c->from].size > MAX_ELEMENTS || x->s->bufs[c->to].size > MAX_ELEMENTS) return false;
  c->src = points(x, st->loop, load->buf, load->index);
  c->dst = c->src ? points(x, st->loop, store->buf, store->index) : NULL;
  return c->dst;
}

/* False: a place is stored twice. An element that two take is not to be placed. */
static bool index_copy(placing *x, copying *c) {
  c->placed = SCI_ZEROS(x->a, bool, c->n);
  c->taker = SCI_ZEROS(x->a, int32_t, x->s->bufs[c->from].size);
  c->is_place = SCI_ZEROS(x->a, uint8_t, x->s->bufs[c->to].size);
  c->needed = SCI_ZEROS(x->a, uint8_t, x->s->bufs[c->from].size);
  for (int64_t k = 0; k < c->n; k++) {
    if (c->is_place[c->dst[k]]) return false;
    c->is_place[c->dst[k]] = 1;
    int32_t *taker = &c->taker[c->src[k]];
    *taker = *taker ? -1 : (int32_t)k + 1;
  }
  return true;
}

/* ---- who else touches the two buffers ---- */

typedef struct toucher {
  placing *x;
  copying *c;
  bool reads_from, writes_from, touches_to;
} toucher;

static void note(void *user, sci_buf b, bool write) {
  toucher *t = user;
  int64_t shift;
  sci_buf storage = sci_storage(t->x->s, b, &shift);
  t->reads_from |= storage == t->c->from && !write;
  t->writes_from |= storage == t->c->from && write;
  t->touches_to |= storage == t->c->to;
}

static toucher touches(placing *x, copying *c, const sci_stmt *st) {
  toucher t = {.x = x, .c = c};
  sci_stmt_accesses(x->p, st, note, &t);
  return t;
}

/* The elements of `from` that an access may load; all of them when that cannot be told. */
static void need(placing *x, copying *c, sci_buf buf, const sci_val *index) {
  sci_points pts;
  int64_t shift, at, budget = MAX_ELEMENTS;
  if (sci_storage(x->s, buf, &shift) != c->from) return;
  bool known = index && sci_points_make(&x->facts, *index, &pts);
  while (known) {
    known = --budget && sci_points_eval(&x->facts, &pts, &at);
    if (known) c->needed[at + shift] = 1;
    if (known && !sci_points_next(&x->facts, &pts, NULL, 0, INT64_MAX)) return;
  }
  memset(c->needed, 1, (size_t)x->s->bufs[c->from].size);
}

static void note_loads(placing *x, copying *c, const sci_stmt *st) {
  for (uint32_t i = 0; st->kind == SCI_S_LOOP && i < st->loop->body.n; i++) note_loads(x, c, &st->loop->body.stmts[i]);
  if (st->kind == SCI_S_LOAD) need(x, c, st->buf, &st->index);
  for (uint32_t i = 0; st->kind == SCI_S_CALL && i < st->call->n; i++) need(x, c, st->call->views[i].buf, NULL);
}

/* Whether a simple statement's stores to `to` stay off the copy's places, and it loads nothing there. */
static bool keeps_off(placing *x, const copying *c, const sci_stmt *st) {
  const sci_loop *l;
  sci_block body = parts(st, &l);
  for (uint32_t i = 0; i < body.n; i++) {
    if (storage_of(x, &body.stmts[i]) != c->to) continue;
    if (body.stmts[i].kind == SCI_S_LOAD) return false;
    const int64_t *at = points(x, l, body.stmts[i].buf, body.stmts[i].index);
    if (!at) return false;
    for (int64_t k = 0; k < (l ? sci_loop_trips(l) : 1); k++)
      if (c->is_place[at[k]]) return false;
  }
  return true;
}

/* Elements stored twice are not to be placed. `stored`: per element of `from`. */
static bool note_stores(placing *x, copying *c, const sci_stmt *st, uint8_t *stored) {
  const sci_loop *l;
  sci_block body = parts(st, &l);
  for (uint32_t i = 0; i < body.n; i++) {
    if (body.stmts[i].kind != SCI_S_STORE || storage_of(x, &body.stmts[i]) != c->from) continue;
    const int64_t *at = points(x, l, body.stmts[i].buf, body.stmts[i].index);
    if (!at) return false;
    for (int64_t k = 0; k < (l ? sci_loop_trips(l) : 1); k++) {
      if (stored[at[k]]) c->taker[at[k]] = -1;
      stored[at[k]] = 1;
    }
  }
  return true;
}

/* Whether stores of `from` may become stores of `to`, and where the first is. */
static bool survey(placing *x, copying *c) {
  uint8_t *stored = SCI_ZEROS(x->a, uint8_t, x->s->bufs[c->from].size);
  bool any = false;
  for (uint32_t i = 0; i < x->b.n; i++) {
    const sci_stmt *st = &x->b.stmts[i];
    if (i == c->at) continue;
    toucher t = touches(x, c, st);
    if (t.reads_from) note_loads(x, c, st);
    if (t.writes_from && (i > c->at || !is_simple(st) || !note_stores(x, c, st, stored))) return false;
    any |= t.writes_from;
    if (any && i < c->at && t.touches_to && (!is_simple(st) || !keeps_off(x, c, st))) return false;
  }
  return any;
}

/* ---- placing ---- */

static void take(copying *c, const int64_t *at, int64_t n) {
  for (int64_t k = 0; k < n; k++) c->placed[c->taker[at[k]] - 1] = true;
  c->n_placed += n;
}

/* Where the store's elements go, as an index of `to`; SCI_NIL: not all of them to places that are affine. */
static sci_val place_of(placing *x, copying *c, const sci_loop *l, const sci_stmt *store, bool *needed) {
  int64_t n = l ? sci_loop_trips(l) : 1, first = 0, move = 0;
  const int64_t *at = points(x, l, store->buf, store->index);
  for (int64_t k = 0; k < n; k++) {
    int32_t taker = c->taker[at[k]];
    if (taker <= 0) return SCI_NIL;
    *needed |= c->needed[at[k]];
    int64_t to = c->dst[taker - 1];
    if (!k) first = to;
    if (k == 1) move = to - first;
    if (to != first + k * move) return SCI_NIL;
  }
  if (n > 1 && move % l->step) return SCI_NIL;
  take(c, at, n);
  c->n_direct += n;
  if (n < 2) return sci_val_int(x->s, first);
  int64_t c_var = move / l->step;
  return sci_idx_add(x->s, sci_idx_mul(x->s, sci_val_var(x->s, l->var), c_var),
                     sci_val_int(x->s, first - c_var * l->start));
}

/* The longest part from iteration k on whose elements move by equal steps, there and here. */
static segment segment_at(const copying *c, const sci_loop *l, const int64_t *at, int64_t k, int64_t n) {
  segment g = {.l = l, .start = k, .n = 1, .src = at[k], .dst = c->dst[c->taker[at[k]] - 1], .constant = SCI_NIL};
  for (int64_t i = k + 1; i < n && c->taker[at[i]] > 0; i++, g.n++) {
    int64_t to = c->dst[c->taker[at[i]] - 1];
    if (i == k + 1) g.src_move = at[i] - g.src, g.dst_move = to - g.dst;
    if (at[i] != g.src + (i - k) * g.src_move || to != g.dst + (i - k) * g.dst_move) break;
  }
  return g;
}

/* Segments of a store that could not be placed. It goes when they are all of it and need no copy. */
static void cut(placing *x, copying *c, const sci_loop *l, const sci_stmt *store, placement *made) {
  int64_t n = l ? sci_loop_trips(l) : 1;
  const int64_t *at = points(x, l, store->buf, store->index);
  bool constant = sci_val_is_const(x->s, store->value);
  made->stays = !constant;
  for (int64_t k = 0; k < n; k++) {
    made->stays |= c->needed[at[k]] || c->taker[at[k]] < 0;
    if (c->taker[at[k]] <= 0) continue;
    segment g = segment_at(c, l, at, k, n);
    bool fits = x->segments.n < MAX_SEGMENTS && (g.n >= FEW / 4 || n - k <= FEW / 4 || k < FEW / 4);
    made->stays |= !fits;
    if (constant) g.constant = store->value;
    if (fits) sci_vec_push(x->a, &x->segments, g);
    if (fits) take(c, at + k, g.n);
    if (fits && constant) c->n_direct += g.n;
    k += g.n - 1;
  }
}

static void place(placing *x, copying *c) {
  for (uint32_t i = 0; i < c->at; i++) {
    if (!is_simple(&x->b.stmts[i])) continue;
    const sci_loop *l;
    sci_block body = parts(&x->b.stmts[i], &l);
    if (l && l->kind != SCI_LOOP_INDEPENDENT && l->kind != SCI_LOOP_VECTOR) continue;
    for (uint32_t j = 0; j < body.n; j++) {
      const sci_stmt *st = &body.stmts[j];
      if (st->kind != SCI_S_STORE || storage_of(x, st) != c->from) continue;
      placement made = {.store = st};
      made.index = place_of(x, c, l, st, &made.stays);
      if (made.index == SCI_NIL) cut(x, c, l, st, &made);
      if (made.index != SCI_NIL || !made.stays) sci_vec_push(x->a, &x->placements, made);
    }
  }
}

/* ---- rewriting ---- */

static void copy_element(placing *x, const copying *c, const segment *g, sci_val var, sci_block_builder *out) {
  sci_store *s = x->s;
  sci_val from = sci_val_int(s, g->src), to = sci_val_int(s, g->dst);
  if (var != SCI_NIL) from = sci_idx_add(s, sci_idx_mul(s, var, g->src_move), from);
  if (var != SCI_NIL) to = sci_idx_add(s, sci_idx_mul(s, var, g->dst_move), to);
  sci_emit_store(out, c->to, to, g->constant == SCI_NIL ? sci_emit_load(out, s, c->from, from, NULL) : g->constant);
}

/* Segments of the same iterations share a loop. */
static void copy_segments(placing *x, const copying *c, sci_block_builder *out) {
  for (size_t i = 0; i < x->segments.n; i++) {
    segment *first = &x->segments.data[i];
    int64_t n = first->n;
    if (n == 1) copy_element(x, c, first, SCI_NIL, out);
    if (n <= 1) continue;
    sci_block_builder body;
    sci_block_begin(&body, x->s);
    sci_var v = sci_new_var(x->s, x->s->vars[x->b.stmts[c->at].loop->var].hint);
    for (size_t j = i; j < x->segments.n; j++) {
      segment *g = &x->segments.data[j];
      if (g->l != first->l || g->start != first->start || g->n != n) continue;
      copy_element(x, c, g, sci_val_var(x->s, v), &body);
      if (j != i) g->n = 0;
    }
    sci_emit_loop(out, x->s, SCI_LOOP_INDEPENDENT, v, n, sci_block_end(&body, x->s));
  }
}

static void copy_left(placing *x, const copying *c, sci_block_builder *out) {
  sci_store *s = x->s;
  int64_t n = c->n - c->n_placed, filled = 0;
  if (!n) return;
  int32_t *src = SCI_ARRAY(x->a, int32_t, n), *dst = SCI_ARRAY(x->a, int32_t, n);
  for (int64_t k = 0; k < c->n; k++) {
    if (c->placed[k]) continue;
    src[filled] = (int32_t)c->src[k];
    dst[filled++] = (int32_t)c->dst[k];
  }
  for (int64_t k = 0; n <= FEW && k < n; k++)
    sci_emit_store(out, c->to, sci_val_int(s, dst[k]), sci_emit_load(out, s, c->from, sci_val_int(s, src[k]), NULL));
  if (n <= FEW) return;
  sci_block_builder body;
  sci_var v = sci_new_var(s, s->vars[x->b.stmts[c->at].loop->var].hint);
  sci_val var = sci_val_var(s, v);
  sci_block_begin(&body, s);
  sci_val to = sci_emit_load(&body, s, sci_const_table(s, SC_INT32, n, dst, NULL), var, NULL);
  sci_val from = sci_emit_load(&body, s, sci_const_table(s, SC_INT32, n, src, NULL), var, NULL);
  sci_val value = sci_emit_load(&body, s, c->from, sci_val_op(s, SCI_OP_cast, SC_INT64, &from), NULL);
  sci_emit_store(&body, c->to, sci_val_op(s, SCI_OP_cast, SC_INT64, &to), value);
  sci_emit_loop(out, s, SCI_LOOP_INDEPENDENT, v, n, sci_block_end(&body, s));
}

static size_t put_stores(placing *x, const copying *c, sci_block body, size_t next, sci_block_builder *out) {
  for (uint32_t i = 0; i < body.n; i++) {
    const sci_stmt *st = &body.stmts[i];
    bool placed = next < x->placements.n && x->placements.data[next].store == st;
    if (!placed || x->placements.data[next].stays) sci_emit(out, *st);
    sci_val index = placed ? x->placements.data[next++].index : SCI_NIL;
    if (index != SCI_NIL) sci_emit_store(out, c->to, index, st->value);
  }
  return next;
}

static bool has_effect(const sci_block_builder *b) {
  for (size_t i = 0; i < b->stmts.n; i++)
    if (b->stmts.data[i].kind == SCI_S_STORE || (b->stmts.data[i].kind == SCI_S_ASSIGN && !b->stmts.data[i].declare))
      return true;
  return false;
}

/* Placements are in the order of the text. */
static sci_block rewritten(placing *x, const copying *c) {
  sci_block_builder out;
  size_t next = 0;
  sci_block_begin(&out, x->s);
  for (uint32_t i = 0; i < x->b.n; i++) {
    const sci_stmt *st = &x->b.stmts[i];
    const sci_loop *l;
    if (i == c->at) {
      copy_segments(x, c, &out);
      copy_left(x, c, &out);
    } else if (i < c->at && is_simple(st) && st->kind == SCI_S_LOOP) {
      sci_block_builder body;
      sci_block_begin(&body, x->s);
      next = put_stores(x, c, parts(st, &l), next, &body);
      if (has_effect(&body)) sci_emit(&out, sci_loop_with(x->s, st, sci_block_or(&body, x->s, st->loop->body)));
    } else {
      next = put_stores(x, c, (sci_block){1, st}, next, &out);
    }
  }
  return sci_block_end(&out, x->s);
}

/* Follows one copy back; those of which less than half can be spared stay. */
static bool place_one(placing *x, int64_t *changes) {
  for (uint32_t i = 0; i < x->b.n; i++) {
    copying c;
    if (!is_copy(x, i, &c) || !index_copy(x, &c) || !survey(x, &c)) continue;
    x->placements.n = x->segments.n = 0;
    place(x, &c);
    if (2 * c.n_direct < c.n) continue;
    *changes += (int64_t)x->placements.n;
    x->b = rewritten(x, &c);
    return true;
  }
  return false;
}

static const sci_proc *place_proc(const sci_program *p, const sci_proc *q, void *user) {
  enum { ROUNDS = 8 };
  sci_arena *a = &p->store->env->scratch;
  sci_arena_mark here = sci_arena_here(a);
  placing x = {.p = p, .s = p->store, .a = a, .b = q->body};
  for (int round = 0; round < ROUNDS; round++) {
    sci_facts_init(&x.facts, x.s, a);
    sci_facts_block(&x.facts, x.b);
    if (!place_one(&x, user)) break;
  }
  sci_arena_release(a, here);
  return sci_proc_with(p->store, q, x.b);
}

sci_program *sci_pass_place_stores(const sci_program *p, int64_t *changes) {
  return sci_pass_each(p, place_proc, changes);
}
