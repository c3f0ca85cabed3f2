/* Builders and readers of the expression dialect: whole tensors, fixed shapes, no loops, no memory.
 *
 * Every builder returns the null handle on failure and leaves the reason in sc_context_error(). Equal
 * expressions are the same node, so handles can be compared with sc_same(). An array may be NULL only when it has no
 * entries. What is given is copied: nothing needs to outlive the call. Elementwise builders broadcast as
 * NumPy does; data types are never mixed silently (sc_cast is explicit). */
#ifndef SCALY_EXPR_H
#define SCALY_EXPR_H

#include <stdbool.h>

#include "scaly/context.h"

SC_BEGIN_DECLS

/* ---- sources ---- */

/* A named input of the given shape (row-major). Two inputs of one name are two different nodes. */
SC_API sc_expr sc_input(sc_context *cx, const char *name, sc_dtype dtype, int rank, const int64_t *shape);
/* The same, but never carrying a derivative. Integer and bool inputs never do. */
SC_API sc_expr sc_input_nodiff(sc_context *cx, const char *name, sc_dtype dtype, int rank, const int64_t *shape);

/* A constant tensor; `data` holds its elements row-major in the C type of `dtype` (bool: uint8_t). */
SC_API sc_expr sc_const(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, const void *data);
SC_API sc_expr sc_scalar(sc_context *cx, double value); /* float64 scalar */
SC_API sc_expr sc_number(sc_context *cx, sc_dtype dtype,
                         double value); /* scalar of any dtype, converted as sc_cast does */
SC_API sc_expr sc_integer(sc_context *cx, sc_dtype dtype, int64_t value); /* exact for int64 */
SC_API sc_expr sc_like(sc_expr a, double value); /* scalar of a's dtype: sc_add(x, sc_like(x, 1)) */
SC_API sc_expr sc_full(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, double value);
SC_API sc_expr sc_zeros(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape);
SC_API sc_expr sc_ones(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape);
SC_API sc_expr sc_eye(sc_context *cx, sc_dtype dtype, int64_t n);
SC_API sc_expr sc_linspace(sc_context *cx, sc_dtype dtype, double first, double last, int64_t n);

/* ---- elementwise ---- */

SC_API sc_expr sc_neg(sc_expr a);
SC_API sc_expr sc_add(sc_expr a, sc_expr b);
SC_API sc_expr sc_sub(sc_expr a, sc_expr b);
SC_API sc_expr sc_mul(sc_expr a, sc_expr b);
/* Integers: truncates toward zero; x / 0 is 0. */
SC_API sc_expr sc_div(sc_expr a, sc_expr b);
/* A constant exponent of small magnitude becomes multiplications, divisions or square roots. */
SC_API sc_expr sc_pow(sc_expr a, sc_expr b);
SC_API sc_expr sc_fmod(sc_expr a,
                       sc_expr b); /* remainder of the truncated quotient, sign of a; integers: x fmod 0 is x */
SC_API sc_expr sc_hypot(sc_expr a, sc_expr b);
SC_API sc_expr sc_sin(sc_expr a);
SC_API sc_expr sc_cos(sc_expr a);
SC_API sc_expr sc_tan(sc_expr a);
SC_API sc_expr sc_asin(sc_expr a);
SC_API sc_expr sc_acos(sc_expr a);
SC_API sc_expr sc_atan(sc_expr a);
SC_API sc_expr sc_atan2(sc_expr y, sc_expr x);
SC_API sc_expr sc_sinh(sc_expr a);
SC_API sc_expr sc_cosh(sc_expr a);
SC_API sc_expr sc_tanh(sc_expr a);
SC_API sc_expr sc_asinh(sc_expr a);
SC_API sc_expr sc_acosh(sc_expr a);
SC_API sc_expr sc_atanh(sc_expr a);
SC_API sc_expr sc_exp(sc_expr a);
SC_API sc_expr sc_exp2(sc_expr a);
SC_API sc_expr sc_expm1(sc_expr a);
SC_API sc_expr sc_log(sc_expr a);
SC_API sc_expr sc_log2(sc_expr a);
SC_API sc_expr sc_log10(sc_expr a);
SC_API sc_expr sc_log1p(sc_expr a);
SC_API sc_expr sc_sqrt(sc_expr a);
SC_API sc_expr sc_cbrt(sc_expr a);
SC_API sc_expr sc_erf(sc_expr a);
SC_API sc_expr sc_erfc(sc_expr a);
SC_API sc_expr sc_abs(sc_expr a);
SC_API sc_expr sc_sign(sc_expr a); /* -1, 0, 1; NaN stays NaN */
SC_API sc_expr sc_floor(sc_expr a);
SC_API sc_expr sc_ceil(sc_expr a);
SC_API sc_expr sc_round(sc_expr a); /* halves away from zero, as C's round */
SC_API sc_expr sc_trunc(sc_expr a);
SC_API sc_expr sc_minimum(sc_expr a, sc_expr b); /* NaN if either is NaN */
SC_API sc_expr sc_maximum(sc_expr a, sc_expr b);
SC_API sc_expr sc_copysign(sc_expr a, sc_expr b);
SC_API sc_expr sc_lt(sc_expr a, sc_expr b); /* predicates give bool */
SC_API sc_expr sc_le(sc_expr a, sc_expr b);
SC_API sc_expr sc_gt(sc_expr a, sc_expr b);
SC_API sc_expr sc_ge(sc_expr a, sc_expr b);
SC_API sc_expr sc_eq(sc_expr a, sc_expr b);
SC_API sc_expr sc_ne(sc_expr a, sc_expr b);
SC_API sc_expr sc_isfinite(sc_expr a);
SC_API sc_expr sc_isnan(sc_expr a);
SC_API sc_expr sc_and(sc_expr a, sc_expr b); /* bool operands */
SC_API sc_expr sc_or(sc_expr a, sc_expr b);
SC_API sc_expr sc_not(sc_expr a);
SC_API sc_expr sc_select(sc_expr cond, sc_expr a, sc_expr b); /* cond ? a : b, cond bool */
SC_API sc_expr sc_where(sc_expr cond, sc_expr a, sc_expr b);  /* another name of sc_select */
SC_API sc_expr sc_cast(sc_expr a, sc_dtype dtype); /* float to integer saturates, NaN gives 0; to bool: != 0 */
SC_API sc_expr sc_stop_gradient(sc_expr a);

/* ---- reductions; axes NULL: over all elements. Axes may be negative (from the end) and must be distinct.
 * The order is fixed, the same on every target, and so are the bits (of an extremum: which of two zeros): fewer than 8
 * terms, row-major, one after another; fewer than 64 in 4 partial results, term k in partial k mod 4, combined
 * (p0 p1) (p2 p3); from 64 on in 32 over blocks of 4,096 terms, combined by halving, the blocks pairwise. ---- */

SC_API sc_expr sc_sum(sc_expr a);
SC_API sc_expr sc_max(sc_expr a); /* refused when nothing is reduced over (an empty maximum) */
SC_API sc_expr sc_min(sc_expr a);
SC_API sc_expr sc_sum_axes(sc_expr a, int n_axes, const int *axes);
SC_API sc_expr sc_max_axes(sc_expr a, int n_axes, const int *axes);
SC_API sc_expr sc_min_axes(sc_expr a, int n_axes, const int *axes);

/* ---- shape ---- */

/* Any bounds of a range may be SC_NONE, meaning what Python's omitted bound means. */
#define SC_NONE INT64_MIN
typedef struct sc_range {
  int64_t start, stop, step; /* step 0: the entry is a single index `start` and its axis is dropped */
} sc_range;
#define SC_AT(i) ((sc_range){(i), 0, 0})
#define SC_SPAN(a, b) ((sc_range){(a), (b), 1})
#define SC_ALL ((sc_range){SC_NONE, SC_NONE, 1})

SC_API sc_expr sc_reshape(sc_expr a, int rank, const int64_t *shape); /* one entry may be -1 */
SC_API sc_expr sc_vec(sc_expr a);                                     /* rank 1 */
SC_API sc_expr sc_transpose(sc_expr a);                               /* reverses the axes */
SC_API sc_expr sc_transpose_axes(sc_expr a, const int *axes);         /* a permutation of all axes */
SC_API sc_expr sc_slice(sc_expr a, int n, const sc_range *index);     /* missing trailing entries mean whole axes */
SC_API sc_expr sc_at(sc_expr a, int64_t i);                           /* a[i] along the first axis */
SC_API sc_expr sc_span(sc_expr a, int64_t start, int64_t stop);       /* a[start:stop] along the first axis */
SC_API sc_expr sc_broadcast(sc_expr a, int rank, const int64_t *shape);

/* ---- fixed index tables; indices address the row-major flattened operand, negatives count from its end ---- */

SC_API sc_expr sc_gather(sc_expr a, const int64_t *indices, int rank, const int64_t *shape);
/* A zero tensor of `shape` into which element k of `a` is added at indices[k]. */
SC_API sc_expr sc_scatter(sc_expr a, const int64_t *indices, int rank, const int64_t *shape);
SC_API sc_expr sc_index_add(sc_expr base, sc_expr values, const int64_t *indices);
SC_API sc_expr sc_index_set(sc_expr base, sc_expr values, const int64_t *indices); /* repeated: the last value stays */

/* ---- assembly ---- */

SC_API sc_expr sc_stack(const sc_expr *parts, size_t n, int axis);  /* equal shapes, a new axis */
SC_API sc_expr sc_concat(const sc_expr *parts, size_t n, int axis); /* along an existing axis */
SC_API sc_expr sc_horzcat(const sc_expr *parts, size_t n);          /* matrices (rank 1: columns) side by side */
SC_API sc_expr sc_vertcat(const sc_expr *parts, size_t n);          /* along axis 0 */
SC_API sc_expr sc_repmat(sc_expr a, int64_t rows, int64_t cols);

/* ---- linear algebra ---- */

SC_API sc_expr sc_matmul(sc_expr a, sc_expr b); /* rank 1 and 2, NumPy's rules */
SC_API sc_expr sc_dot(sc_expr a, sc_expr b);    /* sum(a * b) of equal shapes */
SC_API sc_expr sc_sumsqr(sc_expr a);
SC_API sc_expr sc_norm_2(sc_expr a); /* sqrt(sumsqr); derivative 0 at the origin */
SC_API sc_expr sc_trace(sc_expr a);
SC_API sc_expr sc_diag(sc_expr a); /* vector to diagonal matrix, square matrix to its diagonal */
SC_API sc_expr sc_outer(sc_expr a, sc_expr b);
SC_API sc_expr sc_cross(sc_expr a, sc_expr b); /* vectors of 3 */
SC_API sc_expr sc_kron(sc_expr a, sc_expr b);

/* ---- scalar functions built from the above ---- */

SC_API sc_expr sc_square(sc_expr a);
SC_API sc_expr sc_reciprocal(sc_expr a);
SC_API sc_expr sc_clip(sc_expr a, sc_expr lo, sc_expr hi);
SC_API sc_expr sc_sigmoid(sc_expr a);
SC_API sc_expr sc_softplus(sc_expr a);
SC_API sc_expr sc_relu(sc_expr a);
SC_API sc_expr sc_polyval(const double *coefficients, size_t n, sc_expr x); /* highest power first, Horner */

/* ---- reading a graph back ---- */

SC_API bool sc_is_null(sc_expr a);
SC_API bool sc_same(sc_expr a, sc_expr b);
SC_API const char *sc_expr_op(sc_expr a); /* "add", "input", ...; NULL for a null or stale handle */
SC_API size_t sc_expr_arg_count(sc_expr a);
SC_API sc_expr sc_expr_arg(sc_expr a, size_t i);
SC_API sc_dtype sc_expr_dtype(sc_expr a);
SC_API int sc_expr_rank(sc_expr a);
SC_API const int64_t *sc_expr_shape(sc_expr a); /* rank entries, owned by the context until the next collect */
SC_API int64_t sc_expr_size(sc_expr a);         /* number of elements */
SC_API bool sc_expr_diff(sc_expr a);
SC_API const char *sc_expr_name(sc_expr a);       /* an input's name, else NULL */
SC_API const void *sc_expr_const_data(sc_expr a); /* a constant's elements, else NULL */
/* The attributes of a node as the assembly text has them ("{axes=[0]}"); "" when it has none. NULL on failure; free
 * with sc_string_free. */
SC_API char *sc_expr_attributes(sc_expr a);
SC_API void sc_string_free(sc_context *cx, char *text);

/* A copy of the node carrying a lowering hint; the hint belongs to the function that comes to contain it. */
typedef enum sc_hint { SC_HINT_AUTO = 0, SC_HINT_SCALAR, SC_HINT_BLOCK } sc_hint;
SC_API sc_expr sc_with_hint(sc_expr a, sc_hint hint);

SC_END_DECLS

#endif
