/* Owns scalar values: interning, folding, and the identities that hold for every input, bit for bit. */
#include "lib/program/value.h"

#include <math.h>

/* ---- interning ---- */

/* minimum and maximum commute but for the sign of a zero. */
static bool swaps(unsigned op) {
  if (op == SCI_OP_minimum || op == SCI_OP_maximum) return false;
  return sci_ops[op].traits & SCI_COMM || op == SCI_OP_fma;
}

/* The order of commuting operands does not make two values: the first spelling stands for both. Ids must not decide an
 * order, or text would depend on what else the store holds. */
static uint32_t hash_of(const sci_value *v) {
  uint32_t a = v->args[0], b = v->args[1];
  if (v->kind == SCI_V_OP && swaps(v->op) && a > b) a = v->args[1], b = v->args[0];
  uint64_t head = (uint64_t)v->kind << 32 | (uint64_t)v->dtype << 24 | v->op;
  return sci_mix(head ^ v->bits, (uint64_t)sci_mix((uint64_t)a << 32 | b, v->args[2]) << 20 | v->dtype);
}

static bool same(const sci_value *a, const sci_value *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->op != b->op || a->bits != b->bits || a->args[2] != b->args[2])
    return false;
  if (a->args[0] == b->args[0] && a->args[1] == b->args[1]) return true;
  return a->kind == SCI_V_OP && swaps(a->op) && a->args[0] == b->args[1] && a->args[1] == b->args[0];
}

/* Most values are built on one of the last few, and an equal value can only be younger than its operands. So the
 * youngest are not in the index yet: one whose operands are that young is looked for among them alone, without a cache
 * miss in the index, and by the time values enter it their slots have been fetched. */
enum { YOUNG = 32 };

static sci_val find(const sci_store *s, const sci_value *v, sci_val youngest) {
  uint32_t id;
  bool old = youngest == SCI_NIL || youngest < s->n_indexed;
  for (uint32_t at = v->hash; old && s->n_indexed && sci_index_at(&s->value_index, &at, v->hash, &id); at++)
    if (same(&s->values[id], v)) return id;
  for (id = old ? s->n_indexed : youngest + 1; id < s->n_values; id++)
    if (s->values[id].hash == v->hash && same(&s->values[id], v)) return id;
  return SCI_NIL;
}

/* `youngest` operand; SCI_NIL: none. */
static sci_val intern(sci_store *s, sci_value v, sci_val youngest) {
  v.hash = hash_of(&v);
  sci_val id = find(s, &v, youngest);
  if (id != SCI_NIL) return id;
  for (uint32_t due = s->n_values - s->n_indexed < YOUNG ? 0 : YOUNG; due; due--, s->n_indexed++) {
    sci_index_reserve(&s->value_index);
    sci_index_insert(&s->value_index, s->values[s->n_indexed].hash, s->n_indexed);
  }
  sci_index_prefetch(&s->value_index, v.hash);
  return sci_store_add_value(s, &v);
}

sci_val sci_intern_op(sci_store *s, sci_op op, sc_dtype dtype, const sci_val *args) {
  sci_value v = {.kind = SCI_V_OP, .dtype = (uint8_t)dtype, .op = (uint16_t)op};
  bool costly = sci_ops[op].traits & SCI_LIBM || op == SCI_OP_div || op == SCI_OP_sqrt;
  v.flags = costly ? SCI_VAL_COSTLY : 0;
  sci_val youngest = args[0];
  for (int i = 0; i < sci_ops[op].arity; i++) {
    v.args[i] = args[i];
    v.flags |= s->values[args[i]].flags;
    if (args[i] > youngest) youngest = args[i];
  }
  return intern(s, v, youngest);
}

sci_val sci_val_const(sci_store *s, sc_dtype dtype, sci_scalar v) {
  return intern(s, (sci_value){.kind = SCI_V_CONST, .dtype = (uint8_t)dtype, .bits = sci_scalar_bits(dtype, v)},
                SCI_NIL);
}

sci_val sci_val_double(sci_store *s, sc_dtype dtype, double v) {
  return sci_val_const(s, dtype, sci_scalar_number(dtype, v));
}

sci_val sci_val_int(sci_store *s, int64_t v) {
  return sci_val_const(s, SC_INT64, (sci_scalar){.i64 = v});
}

sci_val sci_val_name(sci_store *s, sci_name n) {
  if (s->names[n].value != SCI_NIL) return s->names[n].value;
  uint32_t flags = SCI_VAL_NAME | (s->names[n].is_mutable ? SCI_VAL_MUTABLE : 0);
  sci_value v = {.kind = SCI_V_NAME, .dtype = s->names[n].dtype, .args = {n, 0, 0}, .flags = flags};
  return s->names[n].value = intern(s, v, SCI_NIL);
}

sci_val sci_val_var(sci_store *s, sci_var var) {
  if (s->vars[var].value != SCI_NIL) return s->vars[var].value;
  sci_value v = {.kind = SCI_V_VAR, .dtype = SC_INT64, .args = {var, 0, 0}, .flags = SCI_VAL_VAR};
  return s->vars[var].value = intern(s, v, SCI_NIL);
}

static sci_scalar scalar_of(const sci_store *s, sci_val v) {
  const sci_value *x = sci_value_at(s, v);
  return sci_scalar_from_bits((sc_dtype)x->dtype, x->bits);
}

int64_t sci_val_int_of(const sci_store *s, sci_val v) {
  sci_scalar x = scalar_of(s, v);
  switch ((sc_dtype)sci_value_at(s, v)->dtype) {
  case SC_INT64: return x.i64;
  case SC_INT32: return x.i32;
  case SC_BOOL: return x.b8;
  case SC_FLOAT64:
  case SC_FLOAT32: break;
  }
  return 0;
}

/* ---- folding ---- */

static bool is_nan(sc_dtype dtype, sci_scalar v) {
  return sci_is_float(dtype) && isnan(sci_scalar_double(dtype, v));
}

/* All operands constant. An operation that makes a NaN of numbers stays a run-time operation, but for a product. */
static bool fold(sci_store *s, sci_op op, sc_dtype dtype, const sci_val *args, sci_val *out) {
  sci_scalar x[3];
  int n = sci_ops[op].arity;
  bool nan_in = op == SCI_OP_mul || op == SCI_OP_select;
  for (int i = 0; i < n; i++) {
    if (!sci_val_is_const(s, args[i])) return false;
    x[i] = scalar_of(s, args[i]);
    nan_in |= is_nan((sc_dtype)sci_value_at(s, args[i])->dtype, x[i]);
  }
  sc_dtype of = (sc_dtype)sci_value_at(s, args[op == SCI_OP_select])->dtype;
  sci_scalar r = sci_op_eval(op, of, dtype, x);
  if (!nan_in && is_nan(dtype, r)) return false;
  *out = sci_val_const(s, dtype, r);
  return true;
}

/* ---- identities ---- */

static bool is_number(const sci_store *s, sci_val v, double number) {
  const sci_value *x = sci_value_at(s, v);
  return x->kind == SCI_V_CONST && sci_scalar_is((sc_dtype)x->dtype, scalar_of(s, v), number);
}

static bool is_op(const sci_store *s, sci_val v, sci_op op) {
  const sci_value *x = sci_value_at(s, v);
  return x->kind == SCI_V_OP && x->op == op;
}

static sci_val arg(const sci_store *s, sci_val v, int i) {
  return sci_value_at(s, v)->args[i];
}

static sci_val sum_identity(sci_store *s, sci_op op, sc_dtype dtype, sci_val a, sci_val b) {
  bool whole = !sci_is_float(dtype), minus = op == SCI_OP_sub;
  /* x - 0 and x + -0.0 keep the sign of a zero; x + 0 does not. */
  if (is_number(s, b, whole || minus ? 0.0 : -0.0)) return a;
  if (!minus && is_number(s, a, whole ? 0.0 : -0.0)) return b;
  if (minus && whole && a == b) return sci_val_double(s, dtype, 0);
  if (minus && is_number(s, a, -0.0) && !whole) return sci_val_op1(s, SCI_OP_neg, b);
  if (is_op(s, b, SCI_OP_neg)) return sci_val_op2(s, minus ? SCI_OP_add : SCI_OP_sub, a, arg(s, b, 0));
  if (!minus && is_op(s, a, SCI_OP_neg)) return sci_val_op2(s, SCI_OP_sub, b, arg(s, a, 0));
  return SCI_NIL;
}

static sci_val product_identity(sci_store *s, sc_dtype dtype, sci_val a, sci_val b) {
  if (is_number(s, a, 1)) return b;
  if (is_number(s, b, 1)) return a;
  if (is_number(s, a, -1)) return sci_val_op1(s, SCI_OP_neg, b);
  if (is_number(s, b, -1)) return sci_val_op1(s, SCI_OP_neg, a);
  if (!sci_is_float(dtype) && (is_number(s, a, 0) || is_number(s, b, 0))) return sci_val_double(s, dtype, 0);
  if (is_op(s, a, SCI_OP_neg) && is_op(s, b, SCI_OP_neg)) return sci_val_op2(s, SCI_OP_mul, arg(s, a, 0), arg(s, b, 0));
  return SCI_NIL;
}

/* The reciprocal of a power of two is exact, so the quotient and the product round the same real number. */
static sci_val quotient_identity(sci_store *s, sc_dtype dtype, sci_val a, sci_val b) {
  if (is_number(s, b, 1)) return a;
  if (is_number(s, b, -1)) return sci_val_op1(s, SCI_OP_neg, a);
  if (!sci_is_float(dtype) || !sci_val_is_const(s, b)) return SCI_NIL;
  int exponent;
  double d = sci_scalar_double(dtype, scalar_of(s, b));
  int limit = dtype == SC_FLOAT64 ? 1021 : 125;
  if (!isfinite(d) || d == 0 || fabs(frexp(d, &exponent)) != 0.5 || exponent > limit || exponent < -limit)
    return SCI_NIL;
  return sci_val_op2(s, SCI_OP_mul, a, sci_val_double(s, dtype, 1 / d));
}

static sci_val logic_identity(sci_store *s, sci_op op, sci_val a, sci_val b) {
  bool all = op == SCI_OP_and;
  if (a == b) return a;
  for (int i = 0; i < 2; i++) {
    sci_val c = i ? b : a;
    if (sci_val_is_const(s, c)) return (sci_val_int_of(s, c) != 0) == all ? (i ? a : b) : c;
  }
  return SCI_NIL;
}

static sci_val unary_identity(sci_store *s, sci_op op, sc_dtype dtype, sci_val a) {
  if (op == SCI_OP_cast) return sci_value_at(s, a)->dtype == dtype ? a : SCI_NIL;
  if ((op == SCI_OP_neg || op == SCI_OP_not) && is_op(s, a, op)) return arg(s, a, 0);
  if (op == SCI_OP_abs && is_op(s, a, SCI_OP_abs)) return a;
  if (op == SCI_OP_abs && is_op(s, a, SCI_OP_neg)) return sci_val_op1(s, SCI_OP_abs, arg(s, a, 0));
  bool rounds = op == SCI_OP_floor || op == SCI_OP_ceil || op == SCI_OP_round || op == SCI_OP_trunc;
  if (rounds && is_op(s, a, op)) return a;
  return SCI_NIL;
}

static sci_val identity(sci_store *s, sci_op op, sc_dtype dtype, const sci_val *x) {
  if (sci_ops[op].arity == 1) return unary_identity(s, op, dtype, x[0]);
  sc_dtype of = (sc_dtype)sci_value_at(s, x[0])->dtype;
  if (op == SCI_OP_add || op == SCI_OP_sub) return sum_identity(s, op, dtype, x[0], x[1]);
  if (op == SCI_OP_mul) return product_identity(s, dtype, x[0], x[1]);
  if (op == SCI_OP_div) return quotient_identity(s, dtype, x[0], x[1]);
  if (op == SCI_OP_and || op == SCI_OP_or) return logic_identity(s, op, x[0], x[1]);
  if ((op == SCI_OP_minimum || op == SCI_OP_maximum) && x[0] == x[1]) return x[0];
  if ((op == SCI_OP_eq || op == SCI_OP_ne) && x[0] == x[1] && !sci_is_float(of))
    return sci_val_const(s, SC_BOOL, (sci_scalar){.b8 = op == SCI_OP_eq});
  if (op == SCI_OP_select) {
    if (sci_val_is_const(s, x[0])) return x[sci_val_int_of(s, x[0]) ? 1 : 2];
    if (x[1] == x[2]) return x[1];
    if (is_op(s, x[0], SCI_OP_not)) return sci_val_op(s, op, dtype, (sci_val[]){arg(s, x[0], 0), x[2], x[1]});
  }
  return SCI_NIL;
}

sci_val sci_val_op(sci_store *s, sci_op op, sc_dtype dtype, const sci_val *args) {
  sci_val r;
  if (fold(s, op, dtype, args, &r)) return r;
  sci_val swapped[3];
  if (dtype == SC_INT64 && op == SCI_OP_mul && sci_val_is_const(s, args[0])) {
    swapped[0] = args[1], swapped[1] = args[0];
    args = swapped;
  }
  bool sums =
      op == SCI_OP_add || op == SCI_OP_sub || op == SCI_OP_neg || (op == SCI_OP_mul && sci_val_is_const(s, args[1]));
  if (dtype == SC_INT64 && sums && (r = sci_affine_op(s, op, args)) != SCI_NIL) return r;
  r = identity(s, op, dtype, args);
  return r != SCI_NIL ? r : sci_intern_op(s, op, dtype, args);
}

sci_val sci_val_with(sci_store *s, sci_val v, const sci_val *args) {
  const sci_value value = *sci_value_at(s, v);
  for (int i = 0; i < sci_ops[value.op].arity; i++)
    if (args[i] != value.args[i]) return sci_val_op(s, (sci_op)value.op, (sc_dtype)value.dtype, args);
  return v;
}

sci_val sci_val_op1(sci_store *s, sci_op op, sci_val a) {
  return sci_val_op(s, op, sci_op_result(op, (sc_dtype)sci_value_at(s, a)->dtype), &a);
}

sci_val sci_val_op2(sci_store *s, sci_op op, sci_val a, sci_val b) {
  return sci_val_op(s, op, sci_op_result(op, (sc_dtype)sci_value_at(s, a)->dtype), (sci_val[]){a, b});
}
