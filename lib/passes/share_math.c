/* Owns share_math: a sine and a cosine of the same argument in one block become neighbouring names, which a backend may
 * spell as one call (sci_is_sincos).
 *
 * The pair stands before the first statement that needs one of the two. Loops in lanes keep theirs apart: the vector
 * routines of either cost less than one that returns both through memory. */
#include "lib/passes/passes.h"
#include "lib/program/map.h"
#include "lib/program/walk.h"

typedef struct pair {
  sci_val of[2];  /* sine, cosine; SCI_NIL: not met */
  uint32_t first; /* statement */
  sci_name name[2];
} pair;

typedef struct sharing {
  sci_store *s;
  sci_arena *a;
  sci_map at; /* argument: place in `pairs` */
  SCI_VEC(pair) pairs;
  uint32_t statement;
  int64_t *changes;
} sharing;

/* Values are trees of bounded depth here. */
static void find(sharing *x, sci_val v) {
  const sci_value *value = sci_value_at(x->s, v);
  if (value->kind != SCI_V_OP || sci_is_int((sc_dtype)value->dtype)) return;
  if (value->op == SCI_OP_sin || value->op == SCI_OP_cos) {
    uint32_t at = sci_map_get(&x->at, value->args[0]);
    if (at == UINT32_MAX) {
      at = (uint32_t)x->pairs.n;
      sci_map_set(&x->at, value->args[0], at);
      sci_vec_push(x->a, &x->pairs, (pair){{SCI_NIL, SCI_NIL}, x->statement, {SCI_NIL, SCI_NIL}});
    }
    x->pairs.data[at].of[value->op == SCI_OP_cos] = v;
  }
  for (int i = 0; i < sci_ops[value->op].arity; i++) find(x, value->args[i]);
}

static pair *pair_of(const sharing *x, sci_val v, int *which) {
  const sci_value *value = sci_value_at(x->s, v);
  *which = value->kind == SCI_V_OP && value->op == SCI_OP_cos;
  if (value->kind != SCI_V_OP || (value->op != SCI_OP_sin && value->op != SCI_OP_cos)) return NULL;
  uint32_t at = sci_map_get(&x->at, value->args[0]);
  pair *p = at == UINT32_MAX ? NULL : &x->pairs.data[at];
  return p && p->of[0] != SCI_NIL && p->of[1] != SCI_NIL ? p : NULL;
}

static sci_val replaced(sharing *x, sci_val v) {
  sci_value value = *sci_value_at(x->s, v);
  int which;
  if (value.kind != SCI_V_OP) return v;
  const pair *p = pair_of(x, v, &which);
  if (p) return sci_val_name(x->s, p->name[which]);
  for (int i = 0; i < sci_ops[value.op].arity; i++) value.args[i] = replaced(x, value.args[i]);
  return sci_val_with(x->s, v, value.args);
}

/* Names that stand for one of a pair already stay its names. */
static void take_names(sharing *x, sci_block b) {
  int which;
  for (uint32_t i = 0; i < b.n; i++) {
    pair *p = sci_is_let(x->s, &b.stmts[i]) ? pair_of(x, b.stmts[i].value, &which) : NULL;
    if (p) p->name[which] = b.stmts[i].name;
  }
}

static void put_pair(sharing *x, pair *p, sci_block_builder *out) {
  sc_dtype dtype = (sc_dtype)sci_value_at(x->s, p->of[0])->dtype;
  sci_val argument = replaced(x, sci_value_at(x->s, p->of[0])->args[0]);
  for (int k = 0; k < 2; k++) {
    if (p->name[k] == SCI_NIL) p->name[k] = sci_new_name(x->s, dtype, false, NULL);
    sci_val value = sci_val_op1(x->s, k ? SCI_OP_cos : SCI_OP_sin, argument);
    sci_emit(
        out,
        (sci_stmt){
            .kind = SCI_S_ASSIGN, .declare = 1, .name = p->name[k], .buf = SCI_NIL, .index = SCI_NIL, .value = value});
  }
  ++*x->changes;
}

/* Pairs whose first use is the statement, inner ones first: they were found after those around them. */
static void put_pairs(sharing *x, uint32_t statement, size_t *next, sci_block_builder *out) {
  size_t end = *next;
  while (end < x->pairs.n && x->pairs.data[end].first == statement) end++;
  for (size_t i = end; i-- > *next;) {
    pair *p = &x->pairs.data[i];
    if (p->of[0] != SCI_NIL && p->of[1] != SCI_NIL) put_pair(x, p, out);
  }
  *next = end;
}

static sci_block share_block(sharing *x, sci_block b);

static void put(sharing *x, const sci_stmt *st, sci_block_builder *out) {
  sci_stmt copy = *st;
  int which;
  if (sci_is_let(x->s, st) && pair_of(x, st->value, &which)) return; /* it is part of the pair */
  if (st->kind == SCI_S_STORE || st->kind == SCI_S_ASSIGN) copy.value = replaced(x, st->value);
  sci_emit(out, copy);
}

static sci_block share_block(sharing *x, sci_block b) {
  sci_block_builder loops, out;
  size_t next = 0;
  sci_block_begin(&loops, x->s);
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    bool enters = st->kind == SCI_S_LOOP && !(st->loop->kind == SCI_LOOP_VECTOR && st->loop->lanes > 1);
    sci_emit(&loops, enters ? sci_loop_with(x->s, st, share_block(x, st->loop->body)) : *st);
  }
  b = sci_block_or(&loops, x->s, b);
  sci_map_clear(&x->at);
  x->pairs.n = 0;
  for (x->statement = 0; x->statement < b.n; x->statement++) {
    const sci_stmt *st = &b.stmts[x->statement];
    bool fixed = st->value != SCI_NIL && !(sci_value_at(x->s, st->value)->flags & SCI_VAL_MUTABLE);
    if (fixed && (st->kind == SCI_S_STORE || st->kind == SCI_S_ASSIGN)) find(x, st->value);
  }
  int64_t before = *x->changes;
  take_names(x, b);
  sci_block_begin(&out, x->s);
  for (uint32_t i = 0; i < b.n; i++) {
    put_pairs(x, i, &next, &out);
    put(x, &b.stmts[i], &out);
  }
  return *x->changes == before ? b : sci_block_or(&out, x->s, b);
}

static const sci_proc *share_proc(const sci_program *p, const sci_proc *q, void *user) {
  return sci_proc_with(p->store, q, share_block(user, q->body));
}

sci_program *sci_pass_share_math(const sci_program *p, int64_t *changes) {
  sharing x = {.s = p->store, .a = &p->store->env->scratch, .changes = changes};
  sci_map_init(&x.at, x.a);
  return sci_pass_each(p, share_proc, &x);
}
