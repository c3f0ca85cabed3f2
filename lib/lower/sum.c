/* Owns the order of sums, maxima and minima, as lower.h states it.
 *
 * A sum over terms whose digits have several strides keeps the outer digits as loops; the innermost digit is cut by the
 * number of partial sums. 32 partial sums are names of an independent loop over a few of them, which lanes fill, and
 * what they leave goes through a small buffer; the loop around is then serial, for all sums share that buffer. Where
 * the kept index moves along memory and the terms do not, lanes are for the loop around, and all 32 are names of its
 * body. */
#include "lib/lower/state.h"

#include <math.h>

enum { FEW = 8, SOME = 64, QUARTERS = 4, PARTIALS = 32, BLOCK = 4096 };

/* One sum being emitted: where the kept index leads, and the term digits' values. */
typedef struct sum_at {
  sci_lowering *l;
  const sci_sums *sums;
  bool by_kept; /* the loop around has the lanes */
  sci_val base[2];
  sci_val digit[SCI_MAX_DIGITS];
} sum_at;

/* Merges term digits where both operands allow it. */
static void merge_terms(sci_sums *sums) {
  sci_digits *a = &sums->term[0], *b = &sums->term[sums->n - 1];
  uint32_t n = 0;
  for (uint32_t i = 0; i < a->n; i++) {
    sci_digit x = a->d[i], y = b->d[i];
    if (x.extent == 1) continue;
    bool merges = n && a->d[n - 1].stride == x.stride * x.extent && b->d[n - 1].stride == y.stride * y.extent;
    if (!merges) n++;
    int64_t extent = merges ? a->d[n - 1].extent * x.extent : x.extent;
    a->d[n - 1] = (sci_digit){extent, x.stride};
    b->d[n - 1] = (sci_digit){extent, y.stride};
  }
  a->n = b->n = n;
}

bool sci_sums_fit(sci_sums *sums, const sci_place *to) {
  const sci_place *places[] = {to, sums->x[0].place, sums->n > 1 ? sums->x[1].place : NULL};
  sci_nest nest;
  if (sci_nest_fit(&nest, 3, places) != SCI_NIL) return false;
  merge_terms(sums);
  const sci_digits *t = &sums->term[0];
  if (t->n <= 1 || sums->n_terms < FEW) return true;
  int64_t inner = t->d[t->n - 1].extent;
  return sums->n_terms < SOME ? inner % QUARTERS == 0 : sums->n_terms <= BLOCK && inner % PARTIALS == 0;
}

static sci_val identity(const sum_at *s) {
  sc_dtype dtype = s->sums->dtype;
  bool wide = dtype == SC_INT64, lowest = s->sums->op == SCI_OP_maximum;
  if (s->sums->op == SCI_OP_add) return sci_val_double(s->l->s, dtype, sci_is_float(dtype) ? -0.0 : 0);
  if (sci_is_float(dtype)) return sci_val_double(s->l->s, dtype, lowest ? -INFINITY : INFINITY);
  int64_t v = lowest ? (wide ? INT64_MIN : INT32_MIN) : wide ? INT64_MAX : INT32_MAX;
  return sci_val_const(s->l->s, dtype, wide ? (sci_scalar){.i64 = v} : (sci_scalar){.i32 = (int32_t)v});
}

static sci_val combine(const sum_at *s, sci_val a, sci_val b) {
  return sci_val_op2(s->l->s, s->sums->op, a, b);
}

static sci_val times(const sum_at *s, sci_val v, int64_t k, sci_val plus) {
  return sci_idx_add(s->l->s, sci_idx_mul(s->l->s, v, k), plus);
}

static sci_val number(const sum_at *s, int64_t v) {
  return sci_val_int(s->l->s, v);
}

/* The term at the current digits. */
static sci_val term(const sum_at *s, sci_block_builder *b) {
  sci_val v[2];
  for (uint32_t x = 0; x < s->sums->n; x++) {
    const sci_digits *t = &s->sums->term[x];
    v[x] = s->sums->x[x].val;
    if (v[x] != SCI_NIL) continue;
    sci_val at = s->base[x];
    for (uint32_t i = 0; i < t->n; i++) at = times(s, s->digit[i], t->d[i].stride, at);
    v[x] = sci_read(s->l, b, s->sums->x[x].place, at, NULL);
  }
  return s->sums->n == 1 ? v[0] : sci_val_op2(s->l->s, SCI_OP_mul, v[0], v[1]);
}

static void loop(const sum_at *s, sci_block_builder *out, sci_loop_kind kind, sci_var var, int64_t n,
                 sci_block_builder *body) {
  sci_emit_loop(out, s->l->s, kind, var, n, sci_block_end(body, s->l->s));
}

/* Opens loops over the first n term digits; close_outer puts them around what is in the innermost builder. */
typedef struct outer_loops {
  uint32_t n;
  sci_var vars[SCI_MAX_DIGITS];
  sci_block_builder level[SCI_MAX_DIGITS];
} outer_loops;

static sci_block_builder *open_outer(sum_at *s, outer_loops *o, uint32_t n, sci_block_builder *b) {
  o->n = n;
  for (uint32_t i = 0; i < n; i++) {
    o->vars[i] = sci_new_var(s->l->s, "k");
    s->digit[i] = sci_val_var(s->l->s, o->vars[i]);
    sci_block_begin(&o->level[i], s->l->s);
  }
  return n ? &o->level[n - 1] : b;
}

static void close_outer(sum_at *s, outer_loops *o, sci_block_builder *b) {
  for (uint32_t i = o->n; i--;)
    loop(s, i ? &o->level[i - 1] : b, SCI_LOOP_REDUCE, o->vars[i], s->sums->term[0].d[i].extent, &o->level[i]);
}

static sci_val sum_in_order(sum_at *s, sci_block_builder *b) {
  uint32_t n = s->sums->term[0].n;
  if (!n) return term(s, b);
  sci_name acc = sci_emit_mutable(b, s->l->s, identity(s), NULL);
  outer_loops o;
  sci_block_builder *inner = open_outer(s, &o, n, b);
  sci_emit_assign(inner, acc, combine(s, sci_val_name(s->l->s, acc), term(s, inner)));
  close_outer(s, &o, b);
  return sci_val_name(s->l->s, acc);
}

static void add_to_name(sum_at *s, sci_block_builder *b, sci_name p, uint32_t last, sci_val digit) {
  s->digit[last] = digit;
  sci_emit_assign(b, p, combine(s, sci_val_name(s->l->s, p), term(s, b)));
}

static sci_val sum_in_quarters(sum_at *s, sci_block_builder *b) {
  sci_store *st = s->l->s;
  uint32_t last = s->sums->term[0].n - 1;
  int64_t extent = s->sums->term[0].d[last].extent;
  sci_name p[QUARTERS];
  for (int j = 0; j < QUARTERS; j++) p[j] = sci_emit_mutable(b, st, identity(s), NULL);
  outer_loops o;
  sci_block_builder body, *around = open_outer(s, &o, last, b);
  sci_var k = sci_new_var(st, "k");
  sci_block_begin(&body, st);
  for (int j = 0; j < QUARTERS; j++)
    add_to_name(s, &body, p[j], last, times(s, sci_val_var(st, k), QUARTERS, number(s, j)));
  loop(s, around, SCI_LOOP_REDUCE, k, extent / QUARTERS, &body);
  close_outer(s, &o, b);
  for (int64_t j = 0; j < extent % QUARTERS; j++)
    add_to_name(s, b, p[j], last, number(s, extent - extent % QUARTERS + j));
  sci_val v[QUARTERS];
  for (int j = 0; j < QUARTERS; j++) v[j] = sci_val_name(st, p[j]);
  return combine(s, combine(s, v[0], v[1]), combine(s, v[2], v[3]));
}

/* 32 partial sums as `n` names for `width` iterations each: partial i * width + j is name i of iteration j. */
typedef struct streams {
  int64_t n, width;
  sci_name p[PARTIALS];
} streams;

/* As many iterations as the target has lanes, for one load per name and lane; not fewer than lanes are worth. */
static streams streams_for(const sum_at *s) {
  enum { FEWEST = 4, MOST = 16 };
  if (s->by_kept) return (streams){.n = PARTIALS, .width = 1};
  const sc_target *t = s->l->target;
  int64_t lanes = (t->isa == SC_ISA_GENERIC ? FEWEST : t->lanes) * (s->sums->dtype == SC_FLOAT32 ? 2 : 1);
  int64_t width = lanes < FEWEST ? FEWEST : lanes > MOST ? MOST : lanes;
  return (streams){.n = PARTIALS / width, .width = width};
}

/* Name i gets the term at `start` + i * width + j. */
static void add_to_streams(sum_at *s, sci_block_builder *b, const streams *u, int64_t n, sci_val start, sci_val j) {
  uint32_t last = s->sums->term[0].n - 1;
  for (int64_t i = 0; i < n; i++)
    add_to_name(s, b, u->p[i], last, sci_idx_add(s->l->s, sci_idx_add(s->l->s, start, j), number(s, i * u->width)));
}

/* part[i] is combined with the term at `start` + i, for `n` of them from `from` on. */
static void add_rest(sum_at *s, sci_block_builder *b, sci_buf part, int64_t from, int64_t n, sci_val start) {
  sci_store *st = s->l->s;
  sci_block_builder body;
  sci_var j = sci_new_var(st, "j");
  sci_val at = sci_idx_add(st, sci_val_var(st, j), number(s, from));
  sci_block_begin(&body, st);
  sci_val p = sci_emit_load(&body, st, part, at, NULL);
  s->digit[s->sums->term[0].n - 1] = sci_idx_add(st, start, at);
  sci_emit_store(&body, part, at, combine(s, p, term(s, &body)));
  loop(s, b, SCI_LOOP_INDEPENDENT, j, n, &body);
}

/* Halves until one is left: first with loops, the last few at once. */
static sci_val halve(sum_at *s, sci_block_builder *b, sci_buf part, int64_t n) {
  enum { AT_ONCE = 8 };
  sci_store *st = s->l->s;
  for (; n > AT_ONCE; n /= 2) {
    sci_block_builder body;
    sci_var j = sci_new_var(st, "j");
    sci_val at = sci_val_var(st, j);
    sci_block_begin(&body, st);
    sci_val p = sci_emit_load(&body, st, part, at, NULL);
    sci_emit_store(&body, part, at,
                   combine(s, p, sci_emit_load(&body, st, part, sci_idx_add(st, at, number(s, n / 2)), NULL)));
    loop(s, b, SCI_LOOP_INDEPENDENT, j, n / 2, &body);
  }
  sci_val v[AT_ONCE];
  for (int64_t i = 0; i < n; i++) v[i] = sci_emit_load(b, st, part, number(s, i), NULL);
  for (; n > 1; n /= 2)
    for (int64_t i = 0; i < n / 2; i++) v[i] = combine(s, v[i], v[i + n / 2]);
  return v[0];
}

/* The sum of `n` terms per outer digit from `start` on, in 32 partial sums. The loop over those in lanes is outside:
 * its partial sums are names. What is left over goes to them too as far as it fills iterations, and they are halved
 * while that combines names. */
static sci_val sum_block(sum_at *s, sci_block_builder *b, sci_buf part, sci_val start, int64_t n) {
  sci_store *st = s->l->s;
  streams u = streams_for(s);
  int64_t whole = n / PARTIALS, rest = n % PARTIALS;
  sci_val end = sci_idx_add(st, start, number(s, whole * PARTIALS));
  sci_block_builder lanes, *each = s->by_kept ? b : &lanes;
  sci_var j = s->by_kept ? SCI_NIL : sci_new_var(st, "j");
  sci_val at = s->by_kept ? number(s, 0) : sci_val_var(st, j);
  sci_block_begin(&lanes, st);
  for (int64_t i = 0; i < u.n; i++) u.p[i] = sci_emit_mutable(each, st, identity(s), NULL);
  if (whole) {
    outer_loops o;
    sci_block_builder body, *around = open_outer(s, &o, s->sums->term[0].n - 1, each);
    sci_var k = sci_new_var(st, "k");
    sci_block_begin(&body, st);
    add_to_streams(s, &body, &u, u.n, times(s, sci_val_var(st, k), PARTIALS, start), at);
    loop(s, around, SCI_LOOP_REDUCE, k, whole, &body);
    close_outer(s, &o, each);
  }
  add_to_streams(s, each, &u, rest / u.width, end, at);
  int64_t left = rest % u.width ? u.n : 1;
  sci_val p[PARTIALS];
  for (int64_t i = 0; i < u.n; i++) p[i] = sci_val_name(st, u.p[i]);
  for (int64_t h = u.n / 2; h >= left; h /= 2)
    for (int64_t i = 0; i < h; i++) p[i] = combine(s, p[i], p[i + h]);
  if (s->by_kept) return p[0];
  for (int64_t i = 0; i < left; i++) sci_emit_store(each, part, sci_idx_add(st, at, number(s, i * u.width)), p[i]);
  loop(s, b, SCI_LOOP_INDEPENDENT, j, u.width, each);
  if (rest % u.width) add_rest(s, b, part, rest - rest % u.width, rest % u.width, end);
  return halve(s, b, part, left * u.width);
}

/* Neighbours combine until one is left; in place, so in order. */
static void sum_pairs(sum_at *s, sci_block_builder *b, sci_buf sums, int64_t n) {
  sci_store *st = s->l->s;
  for (; n > 1; n = (n + 1) / 2) {
    sci_block_builder body;
    sci_var i = sci_new_var(st, "i");
    sci_val at = sci_val_var(st, i);
    sci_block_begin(&body, st);
    sci_val left = sci_emit_load(&body, st, sums, sci_idx_mul(st, at, 2), NULL);
    sci_val right = sci_emit_load(&body, st, sums, times(s, at, 2, number(s, 1)), NULL);
    sci_emit_store(&body, sums, at, combine(s, left, right));
    loop(s, b, SCI_LOOP_SERIAL, i, n / 2, &body);
    if (n % 2) sci_emit_store(b, sums, number(s, n / 2), sci_emit_load(b, st, sums, number(s, n - 1), NULL));
  }
}

static sci_val sum_in_blocks(sum_at *s, sci_block_builder *b, sci_buf part, sci_buf sums) {
  sci_store *st = s->l->s;
  int64_t n = s->sums->n_terms, blocks = n / BLOCK;
  sci_block_builder body;
  sci_var i = sci_new_var(st, "block");
  sci_val at = sci_val_var(st, i);
  sci_block_begin(&body, st);
  sci_emit_store(&body, sums, at, sum_block(s, &body, part, sci_idx_mul(st, at, BLOCK), BLOCK));
  loop(s, b, SCI_LOOP_SERIAL, i, blocks, &body);
  if (n % BLOCK)
    sci_emit_store(b, sums, number(s, blocks), sum_block(s, b, part, number(s, blocks * BLOCK), n % BLOCK));
  sum_pairs(s, b, sums, blocks + (n % BLOCK != 0));
  return sci_emit_load(b, st, sums, number(s, 0), NULL);
}

/* Whether neighbours along the innermost kept loop are neighbours in memory, of the result and the first operand, and
 * successive terms are not. */
static bool moves_along(const sci_nest *nest, const sci_sums *sums) {
  enum { FEWEST = 4 };
  uint32_t last = nest->n - 1;
  const sci_digits *t = &sums->term[0];
  return nest->n && sums->x[0].place && nest->extent[last] >= FEWEST && nest->stride[0][last] == 1 &&
         nest->stride[1][last] == 1 && t->n && t->d[t->n - 1].stride != 1;
}

sci_val sci_sum_terms(sci_lowering *l, sci_sums *sums, const sci_place *to) {
  const sci_place *places[] = {to, sums->x[0].place, sums->n > 1 ? sums->x[1].place : NULL};
  sci_nest nest;
  sci_nest_fit(&nest, 3, places);
  int64_t n = sums->n_terms, blocks = (n + BLOCK - 1) / BLOCK;
  sci_buf part = SCI_NIL, block_sums = SCI_NIL;
  bool by_kept = to && n >= SOME && n <= BLOCK && moves_along(&nest, sums);
  if (n >= SOME && !by_kept) part = sci_private(l, sums->dtype, PARTIALS, "part");
  if (n > BLOCK) block_sums = sci_private(l, sums->dtype, blocks, "block_sums");
  sci_nest_begin(l, &nest, &l->top);
  sum_at s = {.l = l, .sums = sums, .by_kept = by_kept};
  for (uint32_t x = 0; x < sums->n; x++)
    if (places[x + 1]) s.base[x] = sci_nest_index(l, &nest, x + 1);
  sci_block_builder *b = sci_nest_body(&nest);
  sci_val v = n < FEW     ? sum_in_order(&s, b)
              : n < SOME  ? sum_in_quarters(&s, b)
              : n > BLOCK ? sum_in_blocks(&s, b, part, block_sums)
                          : sum_block(&s, b, part, number(&s, 0), sums->term[0].d[sums->term[0].n - 1].extent);
  if (!to) return sci_value_at(l->s, v)->kind == SCI_V_NAME ? v : sci_emit_let(b, l->s, v, NULL);
  sci_write(l, b, to, sci_nest_index(l, &nest, 0), v);
  sci_nest_end(l, &nest, n < SOME || by_kept ? SCI_LOOP_INDEPENDENT : SCI_LOOP_SERIAL);
  return SCI_NIL;
}
