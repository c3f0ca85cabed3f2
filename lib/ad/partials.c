/* Owns the partial derivatives: expands the last column of ops.def over a small vocabulary of builders. */
#include "lib/ad/ad.h"

typedef struct rule {
  const sci_ad *ad;
  sc_context *cx;
  sc_dtype dtype;
  uint32_t operand;
} rule;

static sci_id number(const rule *r, double v) {
  return sci_make_double(r->cx, r->dtype, v);
}

static sci_id make1(const rule *r, sci_op op, sci_id a) {
  return sci_make1(r->cx, op, a);
}

static sci_id make2(const rule *r, sci_op op, sci_id a, sci_id b) {
  return sci_make2(r->cx, op, a, b);
}

static sci_id select_zero(const rule *r, sci_id cond, sci_id otherwise) {
  return sci_make_select(r->cx, cond, number(r, 0), otherwise);
}

/* y x^(y-1), which is 0 for y = 0 also where x^(y-1) is infinite. */
static sci_id pow_base(const rule *r, sci_id s, sci_id x, sci_id y) {
  sci_id power = make2(r, SCI_OP_pow, x, make2(r, SCI_OP_sub, y, number(r, 1)));
  sci_id slope = select_zero(r, make2(r, SCI_OP_eq, y, number(r, 0)), make2(r, SCI_OP_mul, y, power));
  return make2(r, SCI_OP_mul, s, slope);
}

/* x^y log x, whose limit at a zero base with a positive exponent is 0. */
static sci_id pow_exponent(const rule *r, sci_id s, sci_id x, sci_id y, sci_id f) {
  sci_id zero = number(r, 0);
  sci_id limit = make2(r, SCI_OP_and, make2(r, SCI_OP_eq, x, zero), make2(r, SCI_OP_lt, zero, y));
  return make2(r, SCI_OP_mul, s, select_zero(r, limit, make2(r, SCI_OP_mul, f, make1(r, SCI_OP_log, x))));
}

/* x / hypot(x, y), 0 at the origin. */
static sci_id hypot_part(const rule *r, sci_id s, sci_id x, sci_id f) {
  return make2(r, SCI_OP_mul, s, select_zero(r, make2(r, SCI_OP_eq, f, number(r, 0)), make2(r, SCI_OP_div, x, f)));
}

/* d atan2(y, x) = (x dy - y dx) / (x^2 + y^2), 0 at the origin; hypot keeps the square from overflowing or vanishing.
 */
static sci_id atan2_part(const rule *r, sci_id s, sci_id y, sci_id x, sci_id other) {
  sci_id h = make2(r, SCI_OP_hypot, x, y);
  sci_id slope = make2(r, SCI_OP_div, make2(r, SCI_OP_div, other, h), h);
  return make2(r, SCI_OP_mul, s, select_zero(r, make2(r, SCI_OP_eq, h, number(r, 0)), slope));
}

static void refuse_nonsmooth(const rule *r, const char *op) {
  if (r->ad->nonsmooth == SC_NONSMOOTH_ERROR)
    sci_fail(&r->cx->env, SC_ERR_ARGUMENT,
             "%s is not differentiable where its operands tie, and nonsmooth derivatives are refused", op);
}

/* The operand x wins strictly: all of it; a tie: half, or all for the first operand. */
static sci_id minmax_part(const rule *r, sci_id s, sci_id x, sci_id y, bool less) {
  refuse_nonsmooth(r, less ? "minimum" : "maximum");
  bool first = r->ad->nonsmooth == SC_NONSMOOTH_FIRST;
  sci_id zero = number(r, 0), tie = make2(r, SCI_OP_eq, x, y);
  sci_id wins = less ? make2(r, SCI_OP_lt, x, y) : make2(r, SCI_OP_lt, y, x);
  sci_id at_tie = !first ? make2(r, SCI_OP_mul, s, number(r, 0.5)) : r->operand == 0 ? s : zero;
  return sci_make_select(r->cx, wins, s, sci_make_select(r->cx, tie, at_tie, zero));
}

/* The partials of a quotient and of a root by the reciprocal that they, and the quotients around them, have in common.
 */
static sci_id shared_factor(const rule *r, sci_op op, const sci_id *args, sci_id result, bool *negative) {
  if (op == SCI_OP_sqrt) return make2(r, SCI_OP_mul, number(r, 0.5), make2(r, SCI_OP_div, number(r, 1), result));
  sci_id reciprocal = make2(r, SCI_OP_div, number(r, 1), args[1]);
  *negative = r->operand == 1;
  return r->operand == 0 ? reciprocal : make2(r, SCI_OP_mul, result, reciprocal);
}

#define neg(a) make1(r, SCI_OP_neg, a)
#define sin(a) make1(r, SCI_OP_sin, a)
#define cos(a) make1(r, SCI_OP_cos, a)
#define sinh(a) make1(r, SCI_OP_sinh, a)
#define cosh(a) make1(r, SCI_OP_cosh, a)
#define exp(a) make1(r, SCI_OP_exp, a)
#define sqrt(a) make1(r, SCI_OP_sqrt, a)
#define sign(a) make1(r, SCI_OP_sign, a)
#define trunc(a) make1(r, SCI_OP_trunc, a)
#define add(a, b) make2(r, SCI_OP_add, a, b)
#define sub(a, b) make2(r, SCI_OP_sub, a, b)
#define mul(a, b) make2(r, SCI_OP_mul, a, b)
#define div(a, b) make2(r, SCI_OP_div, a, b)
#define hypot(a, b) make2(r, SCI_OP_hypot, a, b)
#define copysign(a, b) make2(r, SCI_OP_copysign, a, b)
#define number(v) number(r, v)
#define one number(1)
#define zero SCI_NONE
#define pow_base(s, x, y, f) pow_base(r, s, x, y)
#define pow_exponent(s, x, y, f) pow_exponent(r, s, x, y, f)
#define hypot_part(s, x, f) hypot_part(r, s, x, f)
#define atan2_y(s, y, x) atan2_part(r, s, y, x, x)
#define atan2_x(s, y, x) neg(atan2_part(r, s, y, x, y))
#define minmax_part(s, x, y, order) minmax_part(r, s, x, y, order)
#define lt true
#define gt false
#define X args[0]
#define Y args[1]
#define F result
#define S seed

#define NOD return SCI_NONE
#define D1(p) return p
#define D2(p, q) return r->operand == 0 ? (p) : (q)
#define SCI_OP(name, arity, sig, traits, nan, fold, c, llvm, glibc, sleef, partials)                                   \
  case SCI_OP_##name: partials;

static sci_id expand(const rule *r, sci_op op, const sci_id *args, sci_id result, sci_id seed) {
  switch (op) {
#include "lib/ops/ops.def"
  }
  return SCI_NONE;
}
#undef SCI_OP
#undef one
#undef zero
#undef lt

/* Whose slope is infinite at points where the value is finite. */
bool sci_op_is_steep(sci_op op) {
  return op == SCI_OP_sqrt || op == SCI_OP_cbrt || op == SCI_OP_pow || op == SCI_OP_asin || op == SCI_OP_acos ||
         op == SCI_OP_acosh;
}

bool sci_op_is_wild(sci_op op) {
  switch ((int)op) {
  case SCI_OP_div:
  case SCI_OP_fmod:
  case SCI_OP_log:
  case SCI_OP_log2:
  case SCI_OP_log10:
  case SCI_OP_log1p:
  case SCI_OP_atanh:
  case SCI_OP_exp:
  case SCI_OP_exp2:
  case SCI_OP_expm1:
  case SCI_OP_sinh:
  case SCI_OP_cosh: return true;
  default: return sci_op_is_steep(op);
  }
}

/* With several seeds at once most of them are 0 at most elements, and stay exactly 0 on their way, into callees too.
 * They must not become NaN at an infinite partial: the sums below would carry that into entries that have nothing to do
 * with it. */
static sci_id guard(const sci_ad *ad, sci_op op, sci_id seed, sci_id value) {
  if (!ad->seeds || value == SCI_NONE || !sci_op_is_steep(op)) return value;
  sci_id zero = sci_make_double(ad->cx, (sc_dtype)sci_type_of(ad->cx, value)->dtype, 0);
  return sci_make_select(ad->cx, sci_make2(ad->cx, SCI_OP_ne, seed, zero), value, zero);
}

bool sci_factor(const sci_ad *ad, sci_op op, uint32_t i, const sci_id *args, sci_id result, sci_id *factor,
                bool *negative) {
  sc_context *cx = ad->cx;
  rule r = {.ad = ad, .cx = cx, .dtype = (sc_dtype)sci_type_of(cx, result)->dtype, .operand = i};
  *factor = SCI_NONE;
  *negative = op == SCI_OP_sub && i == 1;
  switch ((int)op) {
  case SCI_OP_select:
  case SCI_OP_cast:
  case SCI_OP_minimum:
  case SCI_OP_maximum: return false; /* they choose or round */
  case SCI_OP_neg: *negative = true; return true;
  case SCI_OP_add:
  case SCI_OP_sub: return true;
  case SCI_OP_sqrt:
  case SCI_OP_div: *factor = shared_factor(&r, op, args, result, negative); return true;
  case SCI_OP_abs: refuse_nonsmooth(&r, "abs"); break;
  default: break;
  }
  sci_type t = *sci_type_of(cx, result);
  *factor = expand(&r, op, args, result, sci_make_fill(cx, r.dtype, t.rank, t.shape, 1));
  if (*factor == SCI_NONE) return false;
  while (sci_node_at(cx, *factor)->op == SCI_OP_neg) {
    *factor = sci_arg(cx, *factor, 0);
    *negative = !*negative;
  }
  return true;
}

sci_id sci_partial(const sci_ad *ad, sci_op op, uint32_t i, const sci_id *args, sci_id result, sci_id seed) {
  sc_context *cx = ad->cx;
  rule r = {.ad = ad, .cx = cx, .dtype = (sc_dtype)sci_type_of(cx, result)->dtype, .operand = i};
  if (op == SCI_OP_select) {
    if (i == 0) return SCI_NONE;
    sci_id none = sci_make_double(cx, r.dtype, 0);
    return i == 1 ? sci_make_select(cx, args[0], seed, none) : sci_make_select(cx, args[0], none, seed);
  }
  if (op == SCI_OP_cast) return sci_make_cast(cx, seed, r.dtype);
  if (op == SCI_OP_abs) refuse_nonsmooth(&r, "abs");
  sci_id factor;
  bool negative;
  if (ad->seeds && (op == SCI_OP_div || op == SCI_OP_sqrt) && sci_factor(ad, op, i, args, result, &factor, &negative)) {
    sci_id value = sci_make2(cx, SCI_OP_mul, seed, factor);
    return guard(ad, op, seed, negative ? sci_make1(cx, SCI_OP_neg, value) : value);
  }
  return guard(ad, op, seed, expand(&r, op, args, result, seed));
}

sci_id sci_root_partial(const sci_ad *ad, sci_id root, sci_id seed) {
  rule r = {.ad = ad, .cx = ad->cx, .dtype = (sc_dtype)sci_type_of(ad->cx, root)->dtype};
  return expand(&r, SCI_OP_sqrt, NULL, root, seed);
}

sci_id sci_root_factor(const sci_ad *ad, sci_id root) {
  rule r = {.ad = ad, .cx = ad->cx, .dtype = (sc_dtype)sci_type_of(ad->cx, root)->dtype};
  bool negative;
  return shared_factor(&r, SCI_OP_sqrt, NULL, root, &negative);
}

sci_id sci_square_partial(const sci_ad *ad, sci_id x, sci_id seed) {
  return sci_make2(ad->cx, SCI_OP_mul, seed, sci_make2(ad->cx, SCI_OP_add, x, x));
}

/* Integers of a select's condition aside, what the last column has to say. */
bool sci_op_has_partials(sci_op op) {
  return sci_ops[op].traits & (SCI_SMOOTH | SCI_PIECE);
}

/* 1 at the first tie of each reduced set, row by row: the one of the least position. */
static sci_id first_tie(const rule *r, sci_id tie, sci_shape full, sci_shape kept, uint32_t mask) {
  sc_context *cx = r->cx;
  int64_t size = sci_type_of(cx, tie)->size;
  if (!size) return sci_make_cast(cx, tie, r->dtype);
  int32_t *number = SCI_ARRAY(&cx->env.scratch, int32_t, size);
  for (int64_t i = 0; i < size; i++) number[i] = (int32_t)i;
  sci_id position = sci_make_const(cx, SC_INT32, full.rank, full.dim, number);
  sci_id none = sci_make_double(cx, SC_INT32, (double)size);
  sci_id least = sci_make_reduce(cx, SCI_X_min, sci_make_select(cx, tie, position, none), mask);
  least = sci_make_broadcast(cx, sci_make_reshape(cx, least, kept.rank, kept.dim), full.rank, full.dim);
  return sci_make_cast(cx, sci_make2(cx, SCI_OP_eq, position, least), r->dtype);
}

sci_id sci_extremum_shares(const sci_ad *ad, sci_xop op, sci_id arg, sci_id result, uint32_t mask) {
  sc_context *cx = ad->cx;
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, arg)->dtype;
  rule r = {.ad = ad, .cx = cx, .dtype = dtype};
  refuse_nonsmooth(&r, op == SCI_X_max ? "max" : "min");
  sci_shape full = sci_shape_of(cx, arg), kept = full;
  for (int k = 0; k < full.rank; k++)
    if (mask >> k & 1) kept.dim[k] = 1;
  sci_id peak = sci_make_broadcast(cx, sci_make_reshape(cx, result, kept.rank, kept.dim), full.rank, full.dim);
  sci_id tie = sci_make2(cx, SCI_OP_eq, arg, peak);
  if (ad->nonsmooth == SC_NONSMOOTH_FIRST) return first_tie(&r, tie, full, kept, mask);
  sci_id ties = sci_make_cast(cx, tie, dtype);
  sci_id count = sci_make_reduce(cx, SCI_X_sum, ties, mask);
  count = sci_make_reshape(cx, count, kept.rank, kept.dim);
  return sci_make2(cx, SCI_OP_div, ties, count);
}
