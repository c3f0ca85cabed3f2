/* Owns gather_factors: in programs that compute derivatives, products and quotients by what does not change meet.
 *
 * A factor is steady when it is a constant or, in a procedure with loops, made of what is known before any loop: names
 * from outside and elements of inputs at constant places. In one that a loop calls it is so when every call hands on
 * the same operand. (x * s) * t becomes x * (s * t) where nothing else needs
 * x * s, and x / s becomes x * (1 / s): hoist_invariant then computes s * t and 1 / s once. Seeds and adjoints go
 * through many such factors, the integrator's steps and the masses of a model. A quotient may so be off by one unit in
 * the last place and a half, and is infinite for a divisor below 2^-1024, which has no reciprocal. */
#include "lib/passes/passes.h"
#include "lib/program/map.h"
#include "lib/program/walk.h"

#include <math.h>

typedef struct gathering {
  sci_store *s;
  sci_reach *reach;
  uint32_t *uses; /* per reached value */
  sci_val *to;    /* rewritten */
  bool *outside;  /* per name: known before any loop */
  bool *steady;   /* per reached value */
  sci_map made;   /* of values made here: 1 steady, 0 not */
  bool loops;     /* it has some, or is what one calls */
  bool body;      /* the latter, without any of its own */
  sci_map calls;  /* procedures called in loops: their number */
  bool *fixed;    /* per buffer: an operand that is the same in all of those calls */
  int64_t *changes;
} gathering;

/* ---- what is steady ---- */

/* Of a procedure without loops of its own that is called in one, operands that are the same in all calls are fixed. */
static bool is_fixed_load(const gathering *x, const sci_stmt *st) {
  if (st->kind != SCI_S_LOAD || !sci_val_is_const(x->s, st->index)) return false;
  int64_t offset;
  sci_buf from = sci_storage(x->s, st->buf, &offset);
  sci_space space = (sci_space)x->s->bufs[from].space;
  return space == SCI_SPACE_CONSTANT || (space == SCI_SPACE_INPUT && (!x->body || x->fixed[from]));
}

/* What calls in loops hand on: an operand is fixed as long as every call gives it a constant place of fixed memory. */
static void note_calls(gathering *x, const sci_program *p, uint32_t proc, sci_block b, bool inside) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP) note_calls(x, p, proc, st->loop->body, true);
    if (st->kind != SCI_S_CALL) continue;
    const sci_proc *callee = p->procs[st->call->proc];
    bool known = sci_map_get(&x->calls, st->call->proc) != UINT32_MAX;
    sci_map_set(&x->calls, st->call->proc, inside || (known && sci_map_get(&x->calls, st->call->proc)));
    for (uint32_t k = 0; k < callee->n_in; k++) {
      int64_t offset;
      sci_buf from = sci_storage(x->s, st->call->views[k].buf, &offset);
      bool same = sci_val_is_const(x->s, st->call->views[k].index) &&
                  (x->s->bufs[from].space == SCI_SPACE_CONSTANT ||
                   (x->s->bufs[from].space == SCI_SPACE_INPUT && (proc + 1 == p->n_procs || x->fixed[from])));
      x->fixed[callee->params[k]] = same && (!known || x->fixed[callee->params[k]]);
    }
  }
}

static bool has_loops(sci_block b) {
  for (uint32_t i = 0; i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_LOOP) return true;
  return false;
}

static void note_names(gathering *x, sci_block b, bool inside) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP) note_names(x, st->loop->body, true);
    if (st->kind != SCI_S_LOAD && st->kind != SCI_S_ASSIGN) continue;
    x->outside[st->name] = !x->s->names[st->name].is_mutable && ((!inside && !x->body) || is_fixed_load(x, st));
  }
}

static bool is_steady(gathering *x, sci_val v);

static bool all_steady(gathering *x, const sci_value *value) {
  if (value->kind == SCI_V_CONST) return true;
  if (!x->loops || value->kind == SCI_V_VAR) return false;
  if (value->kind == SCI_V_NAME) return x->outside[value->args[0]];
  bool all = true;
  for (int i = 0; i < sci_ops[value->op].arity; i++) all = is_steady(x, value->args[i]) && all;
  return all;
}

/* Reached values are decided operands first, so only what is made here is looked into, one or two operations deep. */
static bool is_steady(gathering *x, sci_val v) {
  uint32_t at = v < x->reach->n_values ? sci_reach_at(x->reach, v) : UINT32_MAX;
  if (at != UINT32_MAX) return x->steady[at];
  uint32_t known = sci_map_get(&x->made, v);
  if (known != UINT32_MAX) return known;
  bool all = all_steady(x, sci_value_at(x->s, v));
  sci_map_set(&x->made, v, all);
  return all;
}

/* ---- rewriting ---- */

/* A constant made here is no factor when it is out of range: the operations one by one may stay within. */
static bool is_sound(const gathering *x, sci_val made) {
  const sci_value *value = sci_value_at(x->s, made);
  sc_dtype dtype = (sc_dtype)value->dtype;
  if (value->kind != SCI_V_CONST) return true;
  double d = fabs(sci_scalar_double(dtype, sci_scalar_from_bits(dtype, value->bits)));
  return isfinite(d) && d > (dtype == SC_FLOAT64 ? 0x1p-1021 : 0x1p-125);
}

/* SCI_NIL: it has none. */
static sci_val reciprocal(gathering *x, sci_val s) {
  sci_val one = sci_val_double(x->s, (sc_dtype)sci_value_at(x->s, s)->dtype, 1);
  sci_val r = sci_val_op2(x->s, SCI_OP_div, one, s);
  return is_sound(x, r) ? r : SCI_NIL;
}

/* v as a product with a steady factor, operands already rewritten. */
static bool has_steady_factor(gathering *x, sci_val v, sci_val *rest, sci_val *factor) {
  const sci_value value = *sci_value_at(x->s, v);
  if (value.kind != SCI_V_OP || value.op != SCI_OP_mul || !sci_is_float((sc_dtype)value.dtype)) return false;
  for (int i = 1; i >= 0; i--)
    if (is_steady(x, value.args[i]) && !is_steady(x, value.args[!i])) {
      *factor = value.args[i], *rest = value.args[!i];
      return true;
    }
  return false;
}

/* x * factor, where nothing else needs x: with its own steady factor in that. */
static sci_val times(gathering *x, sci_val old, sci_val v, sci_val factor) {
  sci_val rest, inner;
  if (x->uses[sci_reach_at(x->reach, old)] == 1 && has_steady_factor(x, v, &rest, &inner)) {
    sci_val both = sci_val_op2(x->s, SCI_OP_mul, inner, factor);
    if (is_sound(x, both)) {
      ++*x->changes;
      v = rest;
      factor = both;
    }
  }
  return sci_val_op2(x->s, SCI_OP_mul, v, factor);
}

static sci_val rewritten(gathering *x, sci_val v) {
  const sci_value value = *sci_value_at(x->s, v);
  if (value.kind != SCI_V_OP) return v;
  sci_val args[3];
  for (int i = 0; i < sci_ops[value.op].arity; i++) args[i] = x->to[sci_reach_at(x->reach, value.args[i])];
  bool product = value.op == SCI_OP_mul, quotient = value.op == SCI_OP_div;
  if (sci_is_float((sc_dtype)value.dtype) && (product || quotient))
    for (int i = 1; i >= quotient; i--) {
      if (!is_steady(x, args[i]) || is_steady(x, args[!i])) continue;
      sci_val factor = quotient ? reciprocal(x, args[i]) : args[i];
      if (factor == SCI_NIL) break;
      *x->changes += quotient;
      return times(x, value.args[!i], args[!i], factor);
    }
  return sci_val_with(x->s, v, args);
}

static const sci_proc *gather_proc(const sci_program *p, const sci_proc *q, void *user) {
  gathering *x = user;
  sci_arena *a = &p->store->env->scratch;
  int64_t before = *x->changes;
  sci_reach_clear(x->reach);
  sci_reach_block(x->reach, q->body);
  sci_reach_sort(x->reach);
  size_t n = x->reach->list.n;
  sci_arena_mark here = sci_arena_here(a);
  x->uses = sci_reach_uses(x->reach, q->body);
  x->to = SCI_ARRAY(a, sci_val, n);
  x->outside = SCI_ZEROS(a, bool, x->s->n_names);
  uint32_t number = 0;
  while (p->procs[number] != q) number++;
  bool called = sci_map_get(&x->calls, number) == 1;
  x->body = called && !has_loops(q->body);
  x->loops = x->body || has_loops(q->body);
  x->steady = SCI_ZEROS(a, bool, n);
  sci_map_init(&x->made, a);
  note_names(x, q->body, false);
  for (size_t i = 0; i < n; i++) x->steady[i] = all_steady(x, sci_value_at(x->s, x->reach->list.data[i]));
  for (size_t i = 0; i < n; i++) x->to[i] = rewritten(x, x->reach->list.data[i]);
  if (*x->changes != before) q = sci_proc_with(x->s, q, sci_reach_replace(x->reach, x->s, x->to, q->body));
  sci_arena_release(a, here);
  return q;
}

sci_program *sci_pass_gather_factors(const sci_program *p, int64_t *changes) {
  if (!p->derived) return NULL;
  gathering x = {.s = p->store, .reach = sci_reach_new(p->store), .changes = changes};
  x.fixed = SCI_ZEROS(&p->store->env->scratch, bool, p->store->n_bufs);
  sci_map_init(&x.calls, &p->store->env->scratch);
  for (uint32_t i = p->n_procs; i-- > 0;) note_calls(&x, p, i, p->procs[i]->body, sci_map_get(&x.calls, i) == 1);
  return sci_pass_each(p, gather_proc, &x);
}
