/* Owns the public builders of sources and elementwise operations. */
#include "lib/api/enter.h"

static const sc_expr null_expr;

/* ---- sources ---- */

static sc_expr input(sc_context *cx, const char *name, sc_dtype dtype, bool diff, int rank, const int64_t *shape) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_id id = sci_make_input(cx, name, dtype, diff, rank, shape);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_input(sc_context *cx, const char *name, sc_dtype dtype, int rank, const int64_t *shape) {
  return input(cx, name, dtype, true, rank, shape);
}

sc_expr sc_input_nodiff(sc_context *cx, const char *name, sc_dtype dtype, int rank, const int64_t *shape) {
  return input(cx, name, dtype, false, rank, shape);
}

sc_expr sc_const(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, const void *data) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_id id = sci_make_const(cx, dtype, rank, shape, data);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_number(sc_context *cx, sc_dtype dtype, double value) {
  return sc_full(cx, dtype, 0, NULL, value);
}

sc_expr sc_scalar(sc_context *cx, double value) {
  return sc_number(cx, SC_FLOAT64, value);
}

sc_expr sc_integer(sc_context *cx, sc_dtype dtype, int64_t value) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_id id = sci_make_number(cx, SC_INT64, (sci_scalar){.i64 = value});
  id = sci_make_cast(cx, id, dtype);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_like(sc_expr a, double value) {
  if (!a.cx) return null_expr;
  sci_call_frame e;
  if (!SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id id = sci_make_double(a.cx, (sc_dtype)sci_type_of(a.cx, sci_handle(a.cx, a))->dtype, value);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_full(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, double value) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_id id = sci_make_fill(cx, dtype, rank, shape, value);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_expr sc_zeros(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape) {
  return sc_full(cx, dtype, rank, shape, 0);
}

sc_expr sc_ones(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape) {
  return sc_full(cx, dtype, rank, shape, 1);
}

/* Each half is counted from its own end, so that both ends are exact and the points symmetric. */
static void fill_linspace(double *v, double first, double last, int64_t n) {
  double span = last - first, gaps = (double)(n - 1);
  bool wide = span - span != 0; /* overflow: weigh the ends instead */
  for (int64_t i = 0; i < n; i++) {
    double from_first = (double)i, from_last = (double)(n - 1 - i);
    if (i == 0 || i == n - 1)
      v[i] = i ? last : first;
    else if (wide)
      v[i] = first * (from_last / gaps) + last * (from_first / gaps);
    else
      v[i] = from_first < from_last ? first + span * from_first / gaps : last - span * from_last / gaps;
  }
}

sc_expr sc_linspace(sc_context *cx, sc_dtype dtype, double first, double last, int64_t n) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_intern_type(cx, SC_FLOAT64, false, 1, &n);
  double *v = SCI_ARRAY(&cx->env.scratch, double, n);
  fill_linspace(v, first, last, n);
  sci_id id = sci_make_cast(cx, sci_make_const(cx, SC_FLOAT64, 1, &n, v), dtype);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

/* ---- elementwise ---- */

static sc_expr elementwise(sci_op op, uint32_t n, const sc_expr *operands) {
  for (uint32_t i = 0; i < n; i++)
    if (!operands[i].cx) return null_expr;
  sc_context *const cx = operands[0].cx;
  sci_call_frame e;
  if (!SCI_ENTER(cx, &e)) return null_expr;
  sci_id args[3];
  for (uint32_t i = 0; i < n; i++) args[i] = sci_handle(cx, operands[i]);
  sci_id id = sci_make_scalar_op(cx, op, args);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

/* clang-format off */
#define UNARY(name)                                                                                                    \
  sc_expr sc_##name(sc_expr a) { return elementwise(SCI_OP_##name, 1, &a); }
#define BINARY(name)                                                                                                   \
  sc_expr sc_##name(sc_expr a, sc_expr b) { return elementwise(SCI_OP_##name, 2, (sc_expr[]){a, b}); }

UNARY(neg)
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(pow)
BINARY(fmod)
BINARY(hypot)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(asin)
UNARY(acos)
UNARY(atan)
BINARY(atan2)
UNARY(sinh)
UNARY(cosh)
UNARY(tanh)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(exp)
UNARY(exp2)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(log1p)
UNARY(sqrt)
UNARY(cbrt)
UNARY(erf)
UNARY(erfc)
UNARY(abs)
UNARY(sign)
UNARY(floor)
UNARY(ceil)
UNARY(round)
UNARY(trunc)
BINARY(minimum)
BINARY(maximum)
BINARY(copysign)
BINARY(lt)
BINARY(le)
BINARY(eq)
BINARY(ne)
UNARY(isfinite)
UNARY(isnan)
BINARY(and)
BINARY(or)
UNARY(not)
/* clang-format on */

sc_expr sc_select(sc_expr cond, sc_expr a, sc_expr b) {
  return elementwise(SCI_OP_select, 3, (sc_expr[]){cond, a, b});
}

sc_expr sc_where(sc_expr cond, sc_expr a, sc_expr b) {
  return sc_select(cond, a, b);
}

sc_expr sc_cast(sc_expr a, sc_dtype dtype) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id id = sci_make_cast(a.cx, sci_handle(a.cx, a), dtype);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_stop_gradient(sc_expr a) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id id = sci_make_stop_gradient(a.cx, sci_handle(a.cx, a));
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}

sc_expr sc_with_hint(sc_expr a, sc_hint hint) {
  sci_call_frame e;
  if (!a.cx || !SCI_ENTER(a.cx, &e)) return null_expr;
  sci_id id = sci_make_hint(a.cx, sci_handle(a.cx, a), hint);
  sci_return(a.cx, &e);
  return sci_wrap(a.cx, id);
}
