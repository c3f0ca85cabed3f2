/* Owns the public builders that expand into several operations.
 *
 * They are whole when they fail: one entry, one rollback. */
#include "lib/api/enter.h"
#include "lib/expr/composed.h"

static const sc_expr null_expr;

static sc_expr expand(sci_composition c, const sc_expr *operands) {
  int n = sci_compositions[c].arity;
  for (int i = 0; i < n; i++)
    if (!operands[i].cx) return null_expr;
  sc_context *const cx = operands[0].cx;
  sci_call_frame e;
  if (!SCI_ENTER(cx, &e)) return null_expr;
  sci_id x[SCI_COMPOSED_ARITY];
  for (int i = 0; i < n; i++) x[i] = sci_handle(cx, operands[i]);
  sci_id id = sci_compositions[c].build(cx, x);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

/* clang-format off */
#define UNARY(name) sc_expr sc_##name(sc_expr a) { return expand(SCI_C_##name, &a); }
#define BINARY(name) sc_expr sc_##name(sc_expr a, sc_expr b) { return expand(SCI_C_##name, (sc_expr[]){a, b}); }
BINARY(gt)
BINARY(ge)
BINARY(dot)
UNARY(sumsqr)
UNARY(norm_2)
UNARY(trace)
UNARY(diag)
BINARY(outer)
BINARY(cross)
BINARY(kron)
UNARY(square)
UNARY(reciprocal)
UNARY(sigmoid)
UNARY(softplus)
UNARY(relu)
/* clang-format on */

sc_expr sc_clip(sc_expr a, sc_expr lo, sc_expr hi) {
  return expand(SCI_C_clip, (sc_expr[]){a, lo, hi});
}

sc_expr sc_eye(sc_context *cx, sc_dtype dtype, int64_t n) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_intern_type(cx, dtype, false, 2, (int64_t[]){n, n});
  sci_id number_one = sci_make_fill(cx, dtype == SC_BOOL ? SC_INT32 : dtype, 1, &n, 1);
  sci_id id = sci_make_cast(cx, sci_compositions[SCI_C_diag].build(cx, &number_one), dtype);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

static sci_id number(sc_context *cx, sci_id like, double v) {
  return sci_make_double(cx, (sc_dtype)sci_type_of(cx, like)->dtype, v);
}

sc_expr sc_polyval(const double *coefficients, size_t n, sc_expr x) {
  sc_context *const cx = x.cx;
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return null_expr;
  sci_id at = sci_handle(cx, x);
  sci_expect_array(cx, "polyval", coefficients, n);
  const sci_type t = *sci_type_of(cx, at);
  sci_id value = sci_make_fill(cx, (sc_dtype)t.dtype, t.rank, t.shape, n ? coefficients[0] : 0);
  for (size_t i = 1; i < n; i++)
    value = sci_make2(cx, SCI_OP_add, sci_make2(cx, SCI_OP_mul, value, at), number(cx, at, coefficients[i]));
  sci_return(cx, &e);
  return sci_wrap(cx, value);
}
