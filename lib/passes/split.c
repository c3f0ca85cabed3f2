/* Owns the splitting of long straight-line code into procedures called one after the other.
 *
 * A name defined in one piece and used in another travels through an element of a private buffer of its dtype. Elements
 * are numbered in order of definition, so what a piece exports is one range of the buffer and what it may import lies
 * before that: two views that do not overlap. Loads of inputs and tables are repeated instead. */
#include "lib/passes/split.h"

#include <stdio.h>

#include "lib/program/map.h"
#include "lib/program/walk.h"

static const uint32_t CALLER = UINT32_MAX - 1; /* the piece of names defined outside the run */

typedef struct splitting {
  sci_store *s;
  sci_arena *a;
  uint32_t *piece_of;       /* per name, + 1: the piece that defines it; 0: not defined in this block */
  const sci_stmt **repeats; /* per name: the load of an input or table that defines it, if one does */
  uint32_t *slot;           /* per name, + 1: its element in the buffer of its dtype; 0: it does not travel */
  sci_buf spill[SC_DTYPE_COUNT];
  uint32_t n_slots[SC_DTYPE_COUNT];
  SCI_VEC(const sci_proc *) procs;
  SCI_VEC(sci_local) locals;
  const sci_proc *from;
  const char *stem;  /* of pieces' names */
  uint32_t n_pieces; /* of `from` so far */
  int64_t *changes;
} splitting;

typedef struct piece {
  uint32_t number;
  sci_buf in[SC_DTYPE_COUNT], out[SC_DTYPE_COUNT]; /* parts of the buffers of travelling names; SCI_NIL: none */
  uint32_t first[SC_DTYPE_COUNT];                  /* its exports' first element */
  sci_map fetched;
  sci_block_builder body;
} piece;

typedef struct span {
  uint32_t begin, end;
} span;

/* ---- values: trees of bounded depth ---- */

typedef void (*name_fn)(splitting *x, sci_name n, piece *w);

static void names_in(splitting *x, sci_val v, name_fn fn, piece *w) {
  const sci_value value = *sci_value_at(x->s, v); /* fn makes some, and then they move */
  if (value.kind == SCI_V_NAME) fn(x, value.args[0], w);
  int arity = value.kind == SCI_V_OP && (value.flags & SCI_VAL_NAME) ? sci_ops[value.op].arity : 0;
  for (int i = 0; i < arity; i++) names_in(x, value.args[i], fn, w);
}

static void names_of(splitting *x, const sci_stmt *st, name_fn fn, piece *w) {
  if (st->index != SCI_NIL) names_in(x, st->index, fn, w);
  if (st->value != SCI_NIL) names_in(x, st->value, fn, w);
  for (uint32_t i = 0; st->kind == SCI_S_CALL && i < st->call->n; i++) names_in(x, st->call->views[i].index, fn, w);
  for (uint32_t i = 0; st->kind == SCI_S_LOOP && i < st->loop->body.n; i++)
    names_of(x, &st->loop->body.stmts[i], fn, w);
}

static int64_t operations(const sci_store *s, sci_val v) {
  const sci_value *value = sci_value_at(s, v);
  if (value->kind != SCI_V_OP) return 0;
  int64_t n = 1;
  for (int i = 0; i < sci_ops[value->op].arity; i++) n += operations(s, value->args[i]);
  return n;
}

static int64_t weight(const sci_store *s, const sci_stmt *st) {
  return st->value == SCI_NIL ? 1 : operations(s, st->value) + 1;
}

/* ---- what travels ---- */

static void note_use(splitting *x, sci_name n, piece *w) {
  if (x->piece_of[n] && x->piece_of[n] - 1 != w->number && !x->repeats[n]) x->slot[n] = UINT32_MAX; /* numbered below */
}

static bool defines(const sci_stmt *st) {
  return st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && st->declare);
}

static void define(splitting *x, const sci_stmt *st, uint32_t number) {
  if (!defines(st)) return;
  x->piece_of[st->name] = number + 1;
  x->slot[st->name] = 0;
  if (st->kind == SCI_S_LOAD && sci_is_pure(x->s, st) && sci_is_readonly(x->s, st->buf)) x->repeats[st->name] = st;
}

/* Elements in order of definition. */
static void number_names(splitting *x, sci_block b, uint32_t end) {
  memset(x->n_slots, 0, sizeof x->n_slots);
  for (uint32_t i = 0; i < end; i++) {
    sci_name n = b.stmts[i].name;
    if (defines(&b.stmts[i]) && x->slot[n] == UINT32_MAX) x->slot[n] = ++x->n_slots[x->s->names[n].dtype];
  }
  for (int d = 0; d < SC_DTYPE_COUNT; d++) {
    if (!x->n_slots[d]) continue;
    x->spill[d] = sci_new_buf(x->s, (sc_dtype)d, SCI_SPACE_PRIVATE, x->n_slots[d], "shared");
    sci_vec_push(x->a, &x->locals, (sci_local){.buf = x->spill[d], .offset = -1});
  }
}

/* The name, defined in another piece, gets its value in this one. */
static void fetch(splitting *x, sci_name n, piece *w) {
  if (!x->piece_of[n] || x->piece_of[n] - 1 == w->number || sci_map_get(&w->fetched, n) != UINT32_MAX) return;
  sci_map_set(&w->fetched, n, 1);
  if (x->repeats[n]) {
    names_of(x, x->repeats[n], fetch, w);
    sci_emit(&w->body, *x->repeats[n]);
    return;
  }
  uint8_t d = x->s->names[n].dtype;
  if (w->in[d] == SCI_NIL) w->in[d] = sci_new_alias(x->s, x->spill[d], 0, w->first[d], "shared");
  sci_val index = sci_val_int(x->s, x->slot[n] - 1);
  sci_emit(&w->body,
           (sci_stmt){.kind = SCI_S_LOAD, .declare = 1, .name = n, .buf = w->in[d], .index = index, .value = SCI_NIL});
}

/* The name just defined leaves the piece. */
static void export(splitting *x, sci_name n, piece *w) {
  uint8_t d = x->s->names[n].dtype;
  if (w->out[d] == SCI_NIL) w->out[d] = sci_new_alias(x->s, x->spill[d], w->first[d], 1, "shared");
  int64_t at = x->slot[n] - 1 - w->first[d];
  x->s->bufs[w->out[d]].size = at + 1;
  sci_emit_store(&w->body, w->out[d], sci_val_int(x->s, at), sci_val_name(x->s, n));
}

static piece begin_piece(splitting *x, uint32_t number, const uint32_t *first) {
  piece w = {.number = number};
  memset(w.in, 0xFF, sizeof w.in);
  memset(w.out, 0xFF, sizeof w.out);
  memcpy(w.first, first, sizeof w.first);
  sci_map_init(&w.fetched, x->a);
  sci_block_begin(&w.body, x->s);
  return w;
}

/* ---- a piece as a procedure ---- */

typedef struct signature {
  SCI_VEC(sci_buf) bufs; /* of the caller */
  SCI_VEC(bool) written;
  sci_map at;
} signature;

static void touch(splitting *x, const piece *w, signature *g, const sci_stmt *st) {
  int64_t offset;
  if (st->buf == SCI_NIL) return;
  uint8_t d = x->s->bufs[st->buf].dtype;
  sci_buf b = st->buf == w->in[d] || st->buf == w->out[d] ? st->buf : sci_storage(x->s, st->buf, &offset);
  if (x->s->bufs[b].space == SCI_SPACE_CONSTANT) return;
  uint32_t at = sci_map_get(&g->at, b);
  if (at == UINT32_MAX) {
    at = (uint32_t)g->bufs.n;
    sci_map_set(&g->at, b, at);
    sci_vec_push(x->a, &g->bufs, b);
    sci_vec_push(x->a, &g->written, false);
  }
  g->written.data[at] |= st->kind == SCI_S_STORE;
}

static void call_piece(splitting *x, piece *w, sci_block_builder *out) {
  sci_store *s = x->s;
  sci_block body = sci_block_end(&w->body, s);
  signature g = {0};
  sci_map_init(&g.at, x->a);
  for (uint32_t i = 0; i < body.n; i++) touch(x, w, &g, &body.stmts[i]);
  sci_proc *q = SCI_NEW(&s->arena, sci_proc);
  *q = (sci_proc){.hint = x->from->hint};
  sci_buf *params = SCI_ARRAY(&s->arena, sci_buf, g.bufs.n);
  sci_view *views = SCI_ARRAY(x->a, sci_view, g.bufs.n);
  sci_subst *m = sci_subst_new(s);
  sci_val zero = sci_val_int(s, 0);
  uint32_t n = 0;
  for (int written = 0; written < 2; written++) {
    for (size_t i = 0; i < g.bufs.n; i++) {
      if (g.written.data[i] != written) continue;
      sci_buffer b = s->bufs[g.bufs.data[i]];
      params[n] = sci_new_buf(s, (sc_dtype)b.dtype, written ? SCI_SPACE_OUTPUT : SCI_SPACE_INPUT, b.size, b.hint);
      views[n] = (sci_view){g.bufs.data[i], zero};
      sci_subst_buf(m, g.bufs.data[i], params[n++], zero);
    }
    if (!written) q->n_in = n;
  }
  q->n_out = n - q->n_in;
  q->params = params;
  size_t room = strlen(x->stem) + 16;
  char *name = SCI_ARRAY(&s->arena, char, room);
  snprintf(name, room, "%s%u", x->stem, x->n_pieces++);
  q->name = name;
  q->body = sci_subst_block(m, body);
  sci_emit_call(out, s, (uint32_t)x->procs.n, n, views);
  sci_vec_push(x->a, &x->procs, q);
}

/* ---- runs ---- */

/* Which piece each statement of the run is of, and what travels between pieces. */
static void divide(splitting *x, sci_block b, span run, uint32_t *piece_at) {
  piece w = {.number = CALLER};
  int64_t room = SCI_SPLIT_PIECE;
  for (uint32_t i = 0; i < run.begin; i++) define(x, &b.stmts[i], CALLER);
  w.number = 0;
  for (uint32_t i = run.begin; i < run.end; i++) {
    int64_t needed = weight(x->s, &b.stmts[i]);
    if (room < needed && room < SCI_SPLIT_PIECE) w.number++, room = SCI_SPLIT_PIECE;
    room -= needed;
    piece_at[i - run.begin] = w.number;
    define(x, &b.stmts[i], w.number);
    names_of(x, &b.stmts[i], note_use, &w);
  }
  w.number = CALLER;
  for (uint32_t i = run.end; i < b.n; i++) names_of(x, &b.stmts[i], note_use, &w);
  number_names(x, b, run.end);
}

static void put(splitting *x, const sci_stmt *st, piece *w) {
  names_of(x, st, fetch, w);
  sci_emit(&w->body, *st);
  if (defines(st) && x->slot[st->name]) export(x, st->name, w);
}

static void append(sci_block_builder *out, const sci_block_builder *from) {
  for (size_t i = 0; i < from->stmts.n; i++) sci_emit(out, from->stmts.data[i]);
}

/* How many elements are taken when the next piece begins. */
static void advance(const splitting *x, const sci_stmt *st, uint32_t first[SC_DTYPE_COUNT]) {
  if (defines(st) && x->slot[st->name]) first[x->s->names[st->name].dtype] = x->slot[st->name];
}

/* What stood before the run is in `out` already. */
static void split_run(splitting *x, sci_block b, span run, sci_block_builder *out) {
  uint32_t first[SC_DTYPE_COUNT] = {0};
  uint32_t *piece_at = SCI_ARRAY(x->a, uint32_t, run.end - run.begin);
  divide(x, b, run, piece_at);
  piece w = begin_piece(x, CALLER, first);
  for (uint32_t i = 0; i < run.begin; i++) {
    if (defines(&b.stmts[i]) && x->slot[b.stmts[i].name]) export(x, b.stmts[i].name, &w);
    advance(x, &b.stmts[i], first);
  }
  append(out, &w.body);
  for (uint32_t i = run.begin; i < run.end;) {
    uint32_t number = piece_at[i - run.begin];
    w = begin_piece(x, number, first);
    for (; i < run.end && piece_at[i - run.begin] == number; i++) {
      put(x, &b.stmts[i], &w);
      advance(x, &b.stmts[i], first);
    }
    call_piece(x, &w, out);
    ++*x->changes;
  }
  w = begin_piece(x, CALLER, first);
  for (uint32_t i = run.end; i < b.n; i++) names_of(x, &b.stmts[i], fetch, &w);
  append(out, &w.body);
}

static bool is_straight(const splitting *x, const sci_stmt *st) {
  if (st->kind != SCI_S_STORE) return sci_is_pure(x->s, st);
  return !((sci_value_at(x->s, st->index)->flags | sci_value_at(x->s, st->value)->flags) & SCI_VAL_MUTABLE);
}

/* The run that starts at `begin`, empty when the statement there is none, and what it weighs. */
static span run_at(const splitting *x, sci_block b, uint32_t begin, int64_t *total) {
  span run = {begin, begin};
  for (*total = 0; run.end < b.n && is_straight(x, &b.stmts[run.end]); run.end++)
    *total += weight(x->s, &b.stmts[run.end]);
  return run;
}

static sci_block split_block(splitting *x, sci_block b) {
  sci_block_builder out;
  sci_block_begin(&out, x->s);
  for (uint32_t i = 0; i < b.n;) {
    int64_t total;
    span run = run_at(x, b, i, &total);
    if (total > SCI_SPLIT_FROM)
      split_run(x, b, run, &out);
    else if (run.end == i)
      run.end++;
    for (; i < run.end; i++)
      if (total <= SCI_SPLIT_FROM) sci_emit(&out, b.stmts[i]);
  }
  return sci_block_or(&out, x->s, b);
}

/* A stem that no procedure's name begins with. */
static const char *stem_of(const splitting *x, const sci_program *p, const char *name) {
  size_t room = strlen(name) + 16;
  char *stem = SCI_ARRAY(x->a, char, room);
  for (uint32_t n = 0, taken = 1; taken; n++) {
    if (n)
      snprintf(stem, room, "%s_part%u_", name, n);
    else
      snprintf(stem, room, "%s_part", name);
    taken = 0;
    for (uint32_t i = 0; i < p->n_procs; i++) taken += !strncmp(p->procs[i]->name, stem, strlen(stem));
  }
  return stem;
}

static void split_proc(splitting *x, const sci_program *p, const sci_proc *q) {
  x->from = q;
  x->stem = stem_of(x, p, q->name);
  x->n_pieces = 0;
  x->locals.n = 0;
  for (uint32_t i = 0; i < q->n_locals; i++) sci_vec_push(x->a, &x->locals, q->locals[i]);
  sci_block body = split_block(x, q->body);
  sci_vec_push(x->a, &x->procs, sci_proc_with_locals(x->s, q, body, x->locals.data, x->locals.n));
}

static bool is_long(const splitting *x, sci_block b) {
  for (uint32_t i = 0; i < b.n;) {
    int64_t total;
    span run = run_at(x, b, i, &total);
    if (total > SCI_SPLIT_FROM) return true;
    i = run.end + 1;
  }
  return false;
}

static void mark_repeated(sci_block b, bool in_loop, bool *repeated) {
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind == SCI_S_LOOP) mark_repeated(b.stmts[i].loop->body, true, repeated);
    if (b.stmts[i].kind == SCI_S_CALL && in_loop) repeated[b.stmts[i].call->proc] = true;
  }
}

/* Per procedure, whether to split it: those that loops call stay whole, for lanes to take their bodies into the loop.
 */
static bool *long_procs(const splitting *x, const sci_program *p) {
  bool *is = SCI_ZEROS(x->a, bool, p->n_procs), *repeated = SCI_ZEROS(x->a, bool, p->n_procs), any = false;
  for (uint32_t i = p->n_procs; i-- > 0;) {
    mark_repeated(p->procs[i]->body, repeated[i], repeated);
    is[i] = !repeated[i] && is_long(x, p->procs[i]->body);
    any |= is[i];
  }
  return any ? is : NULL;
}

sci_program *sci_split_procs(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  splitting x = {.s = s, .a = &s->env->scratch, .changes = changes};
  const bool *is = long_procs(&x, p);
  if (!is) return NULL;
  x.piece_of = SCI_ZEROS(x.a, uint32_t, s->n_names);
  x.slot = SCI_ZEROS(x.a, uint32_t, s->n_names);
  x.repeats = SCI_ZEROS(x.a, const sci_stmt *, s->n_names);
  uint32_t *moved = SCI_ARRAY(x.a, uint32_t, p->n_procs);
  for (uint32_t i = 0; i < p->n_procs; i++) {
    const sci_proc *q = sci_proc_renumbered(s, p->procs[i], moved);
    if (is[i])
      split_proc(&x, p, q);
    else
      sci_vec_push(x.a, &x.procs, q);
    moved[i] = (uint32_t)x.procs.n - 1;
  }
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, x.procs.n);
  memcpy(procs, x.procs.data, x.procs.n * sizeof *procs);
  return sci_program_with(p, (uint32_t)x.procs.n, procs);
}
