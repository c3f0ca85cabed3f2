/* Owns the functions that expand into several operations: builders of both the C interface and the text call them.
 *
 * The smooth ones use formulas whose derivatives, taken by the rules of each operation, stay accurate to the second
 * order at both ends of the range. */
#include "lib/expr/composed.h"

#include <string.h>

static sci_id number(sc_context *cx, sci_id like, double v) {
  return sci_make_double(cx, (sc_dtype)sci_type_of(cx, like)->dtype, v);
}

static const char *shape_text(sc_context *cx, sci_id id) {
  const sci_type t = *sci_type_of(cx, id);
  return sci_shape_text(cx, t.rank, t.shape);
}

/* ---- sums of products ---- */

static sci_id dot(sc_context *cx, const sci_id *x) {
  const sci_type a = *sci_type_of(cx, x[0]), b = *sci_type_of(cx, x[1]);
  if (a.rank != b.rank || memcmp(a.shape, b.shape, a.rank * sizeof *a.shape))
    sci_fail(&cx->env, SC_ERR_SHAPE, "dot: shapes %s and %s differ", shape_text(cx, x[0]), shape_text(cx, x[1]));
  return sci_make_reduce(cx, SCI_X_sum, sci_make2(cx, SCI_OP_mul, x[0], x[1]), UINT32_MAX);
}

static sci_id sumsqr(sc_context *cx, const sci_id *x) {
  return sci_make_reduce(cx, SCI_X_sum, sci_make2(cx, SCI_OP_mul, x[0], x[0]), UINT32_MAX);
}

/* At the origin the branch that is taken is a constant, so the derivative there is 0; its square simplifies to the sum.
 */
static sci_id norm_2(sc_context *cx, const sci_id *x) {
  sci_id s = sumsqr(cx, x), zero = number(cx, s, 0);
  return sci_make_select(cx, sci_make2(cx, SCI_OP_eq, s, zero), zero, sci_make1(cx, SCI_OP_sqrt, s));
}

static sci_id outer(sc_context *cx, const sci_id *x) {
  sci_id column = sci_make_reshape(cx, x[0], 2, (int64_t[]){sci_type_of(cx, x[0])->size, 1});
  sci_id row = sci_make_reshape(cx, x[1], 2, (int64_t[]){1, sci_type_of(cx, x[1])->size});
  return sci_make2(cx, SCI_OP_mul, column, row);
}

static sci_id cross(sc_context *cx, const sci_id *x) {
  static const int32_t next[] = {1, 2, 0}, after[] = {2, 0, 1};
  const int64_t three = 3;
  for (int i = 0; i < 2; i++)
    if (sci_type_of(cx, x[i])->rank != 1 || sci_type_of(cx, x[i])->size != 3)
      sci_fail(&cx->env, SC_ERR_SHAPE, "cross: operand %d has shape %s, it takes vectors of 3", i,
               shape_text(cx, x[i]));
  sci_id a1 = sci_make_gather(cx, x[0], next, 1, &three), a2 = sci_make_gather(cx, x[0], after, 1, &three);
  sci_id b1 = sci_make_gather(cx, x[1], next, 1, &three), b2 = sci_make_gather(cx, x[1], after, 1, &three);
  return sci_make2(cx, SCI_OP_sub, sci_make2(cx, SCI_OP_mul, a1, b2), sci_make2(cx, SCI_OP_mul, a2, b1));
}

/* Axes of both operands interleave: (m, 1, n, 1) * (1, p, 1, q), merged pairwise. */
static sci_id kron(sc_context *cx, const sci_id *x) {
  const sci_type a = *sci_type_of(cx, x[0]), b = *sci_type_of(cx, x[1]);
  int rank = a.rank > b.rank ? a.rank : b.rank;
  if (2 * rank > SC_MAX_RANK)
    sci_fail(&cx->env, SC_ERR_SHAPE, "kron: shapes %s and %s have more than %d dimensions", shape_text(cx, x[0]),
             shape_text(cx, x[1]), SC_MAX_RANK / 2);
  int64_t left[SC_MAX_RANK], right[SC_MAX_RANK], merged[SC_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    int ia = i - (rank - a.rank), ib = i - (rank - b.rank);
    left[2 * i] = ia < 0 ? 1 : a.shape[ia];
    right[2 * i + 1] = ib < 0 ? 1 : b.shape[ib];
    left[2 * i + 1] = right[2 * i] = 1;
    merged[i] = sci_mul_size(&cx->env, left[2 * i], right[2 * i + 1], "kron");
  }
  sci_id l = sci_make_reshape(cx, x[0], 2 * rank, left), r = sci_make_reshape(cx, x[1], 2 * rank, right);
  return sci_make_reshape(cx, sci_make2(cx, SCI_OP_mul, l, r), rank, merged);
}

/* ---- diagonals ---- */

static const int32_t *diagonal(sc_context *cx, int64_t n) {
  sci_intern_type(cx, SC_BOOL, false, 2, (int64_t[]){n, n}); /* n * n fits */
  int32_t *idx = SCI_ARRAY(&cx->env.scratch, int32_t, n);
  for (int64_t i = 0; i < n; i++) idx[i] = (int32_t)(i * (n + 1));
  return idx;
}

static sci_id diag(sc_context *cx, const sci_id *x) {
  const sci_type t = *sci_type_of(cx, x[0]);
  int64_t n = t.shape[0];
  if (t.rank == 1) return sci_make_scatter(cx, x[0], diagonal(cx, n), 2, (int64_t[]){n, n});
  if (t.rank != 2 || t.shape[1] != n)
    sci_fail(&cx->env, SC_ERR_SHAPE, "diag: shape %s is neither a vector nor a square matrix", shape_text(cx, x[0]));
  return sci_make_gather(cx, x[0], diagonal(cx, n), 1, &n);
}

static sci_id trace(sc_context *cx, const sci_id *x) {
  const sci_type t = *sci_type_of(cx, x[0]);
  if (t.rank != 2 || t.shape[0] != t.shape[1])
    sci_fail(&cx->env, SC_ERR_SHAPE, "trace: shape %s is not a square matrix", shape_text(cx, x[0]));
  return sci_make_reduce(cx, SCI_X_sum, diag(cx, x), UINT32_MAX);
}

/* ---- scalar functions ---- */

static sci_id gt(sc_context *cx, const sci_id *x) {
  return sci_make2(cx, SCI_OP_lt, x[1], x[0]);
}

static sci_id ge(sc_context *cx, const sci_id *x) {
  return sci_make2(cx, SCI_OP_le, x[1], x[0]);
}

static sci_id square(sc_context *cx, const sci_id *x) {
  return sci_make2(cx, SCI_OP_mul, x[0], x[0]);
}

static sci_id reciprocal(sc_context *cx, const sci_id *x) {
  return sci_make2(cx, SCI_OP_div, number(cx, x[0], 1), x[0]);
}

static sci_id clip(sc_context *cx, const sci_id *x) {
  return sci_make2(cx, SCI_OP_minimum, sci_make2(cx, SCI_OP_maximum, x[0], x[1]), x[2]);
}

static sci_id relu(sc_context *cx, const sci_id *x) {
  return sci_make2(cx, SCI_OP_maximum, x[0], number(cx, x[0], 0));
}

/* exp(-|x|), which never overflows; by a choice of branch and not by abs, whose derivative at 0 is 0. */
static sci_id decaying_exp(sc_context *cx, sci_id x, sci_id negative) {
  return sci_make1(cx, SCI_OP_exp, sci_make_select(cx, negative, x, sci_make1(cx, SCI_OP_neg, x)));
}

static sci_id is_negative(sc_context *cx, sci_id x) {
  return sci_make2(cx, SCI_OP_lt, x, number(cx, x, 0));
}

/* e / (1 + e) below 0, 1 / (1 + e) above. */
static sci_id sigmoid(sc_context *cx, const sci_id *x) {
  sci_id negative = is_negative(cx, x[0]), e = decaying_exp(cx, x[0], negative), one = number(cx, x[0], 1);
  return sci_make2(cx, SCI_OP_div, sci_make_select(cx, negative, e, one), sci_make2(cx, SCI_OP_add, one, e));
}

/* log1p(e), and x more above 0. */
static sci_id softplus(sc_context *cx, const sci_id *x) {
  sci_id negative = is_negative(cx, x[0]), e = decaying_exp(cx, x[0], negative);
  return sci_make2(cx, SCI_OP_add, sci_make_select(cx, negative, number(cx, x[0], 0), x[0]),
                   sci_make1(cx, SCI_OP_log1p, e));
}

const sci_composed sci_compositions[SCI_C_COUNT] = {
#define SCI_COMPOSED(name, arity) [SCI_C_##name] = {#name, arity, name},
#include "lib/expr/composed.def"
#undef SCI_COMPOSED
};
