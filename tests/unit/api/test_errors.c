/* Owns the tests of the public builders' diagnostics: each failure gives a null handle, one clear message, and leaves
 * nothing behind. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "scaly/scaly.h"
#include "tests/support/fault_alloc.h"

static fault_alloc allocated;
static sc_context *cx;
static sc_expr s, v3, v5, m34, i3, b3, f3, empty; /* scalar, vectors, matrix, int32, bool, float32, 0x3 */
static sc_function *fn;                           /* (a: 3, n: 3 of int32) -> (y: 3, z: scalar) */

static sc_expr input(const char *name, sc_dtype dtype, int rank, int64_t a, int64_t b) {
  return sc_input(cx, name, dtype, rank, (int64_t[]){a, b});
}

static void begin(void) {
  allocated = (fault_alloc){0};
  cx = sc_context_create(&(sc_allocator){.reallocate = fault_reallocate, .user = &allocated});
  s = input("s", SC_FLOAT64, 0, 0, 0);
  v3 = input("v3", SC_FLOAT64, 1, 3, 0);
  v5 = input("v5", SC_FLOAT64, 1, 5, 0);
  m34 = input("m34", SC_FLOAT64, 2, 3, 4);
  i3 = input("i3", SC_INT32, 1, 3, 0);
  b3 = input("b3", SC_BOOL, 1, 3, 0);
  f3 = input("f3", SC_FLOAT32, 1, 3, 0);
  empty = input("empty", SC_FLOAT64, 2, 0, 3);
  fn = sc_function_create(cx, "fn", SC_IN({"a", v3, NULL}, {"n", i3, NULL}),
                          SC_OUT({"y", sc_sin(v3), NULL}, {"z", sc_sum(v3), NULL}));
}

static void end(void) {
  sc_context_destroy(cx);
  cr_expect_eq(allocated.bytes, 0, "%zu bytes leak", allocated.bytes);
}

TestSuite(errors, .init = begin, .fini = end);

/* The expression fails with this status and a message that starts like this; the context then has as many nodes as
 * before. */
#define FAILS(what, wanted, text)                                                                                      \
  do {                                                                                                                 \
    size_t nodes_ = sc_context_node_count(cx);                                                                         \
    sc_expr e_ = (what);                                                                                               \
    const sc_diagnostic *d_ = sc_context_error(cx);                                                                    \
    cr_expect(sc_is_null(e_), "%s gives a null handle", #what);                                                        \
    cr_expect(d_ && d_->status == wanted, "%s: %s", #what, d_ ? sc_status_name(d_->status) : "no error");              \
    cr_expect(d_ && !strncmp(d_->message, text, strlen(text)), "%s: %s", #what, d_ ? d_->message : "");                \
    cr_expect_eq(sc_context_node_count(cx), nodes_, "%s leaves nodes behind", #what);                                  \
    sc_context_clear_error(cx);                                                                                        \
  } while (0)

#define DIMS(...)                                                                                                      \
  (int64_t[]) {                                                                                                        \
    __VA_ARGS__                                                                                                        \
  }
#define MIX "data types are not mixed silently, cast one of them"

Test(errors, elementwise) {
  FAILS(sc_add(m34, v5), SC_ERR_SHAPE, "add: shapes 3x4 and 5 do not broadcast");
  FAILS(sc_select(b3, v5, v3), SC_ERR_SHAPE, "select: shapes 3, 5 and 3 do not broadcast");
  FAILS(sc_mul(v3, i3), SC_ERR_DTYPE, "mul: operands are float64 and int32; " MIX);
  FAILS(sc_add(f3, v3), SC_ERR_DTYPE, "add: operands are float32 and float64; " MIX);
  FAILS(sc_select(v3, v3, v3), SC_ERR_DTYPE, "select: the condition is float64, it must be bool");
  FAILS(sc_select(b3, v3, f3), SC_ERR_DTYPE, "select: operands are float64 and float32; " MIX);
  FAILS(sc_sin(i3), SC_ERR_DTYPE, "sin: int32 operands are not supported; cast to a float type first");
  FAILS(sc_pow(i3, i3), SC_ERR_DTYPE, "pow: int32 operands are not supported; cast to a float type first");
  FAILS(sc_isnan(i3), SC_ERR_DTYPE, "isnan: int32 operands are not supported; cast to a float type first");
  FAILS(sc_add(b3, b3), SC_ERR_DTYPE, "add: bool operands are not supported; cast to a number type first");
  FAILS(sc_lt(b3, b3), SC_ERR_DTYPE, "lt: bool operands are not supported; cast to a number type first");
  FAILS(sc_and(v3, v3), SC_ERR_DTYPE, "and: float64 operands are not supported; cast to bool first");
  FAILS(sc_cast(v3, (sc_dtype)9), SC_ERR_DTYPE, "data type number 9 does not exist");
  FAILS(sc_number(cx, (sc_dtype)-1, 0), SC_ERR_DTYPE, "data type number -1 does not exist");
  FAILS(sc_with_hint(v3, SC_HINT_BLOCK), SC_ERR_ARGUMENT, "an input carries no hint");
  FAILS(sc_with_hint(sc_sin(v3), (sc_hint)5), SC_ERR_ARGUMENT, "hint number 5 does not exist");
}

Test(errors, shapes) {
  FAILS(sc_sum_axes(m34, 1, (int[]){2}), SC_ERR_INDEX, "sum: axis 2 is out of range for shape 3x4");
  FAILS(sc_sum_axes(m34, 2, (int[]){1, -1}), SC_ERR_INDEX, "sum: axis -1 is given twice");
  FAILS(sc_max(empty), SC_ERR_SHAPE, "max: shape 0x3 leaves nothing to reduce over");
  FAILS(sc_min_axes(empty, 1, (int[]){0}), SC_ERR_SHAPE, "min: shape 0x3 leaves nothing to reduce over");
  FAILS(sc_sum(b3), SC_ERR_DTYPE, "sum: bool operands are not supported");
  FAILS(sc_reshape(m34, 2, DIMS(5, 3)), SC_ERR_SHAPE,
        "reshape: shape 5x3 has 15 elements, the operand of shape 3x4 has 12");
  FAILS(sc_reshape(m34, 2, DIMS(5, -1)), SC_ERR_SHAPE,
        "reshape: no size of dimension 1 gives the 12 elements of shape 3x4");
  FAILS(sc_reshape(empty, 2, DIMS(0, -1)), SC_ERR_SHAPE,
        "reshape: no size of dimension 1 gives the 0 elements of shape 0x3");
  FAILS(sc_reshape(m34, 2, DIMS(-1, -1)), SC_ERR_SHAPE, "reshape: only one dimension may be -1");
  FAILS(sc_reshape(m34, 1, DIMS(-12)), SC_ERR_SHAPE, "dimension 0 of shape -12 is negative");
  FAILS(sc_reshape(m34, 9, DIMS(1, 1, 1, 1, 1, 1, 1, 3, 4)), SC_ERR_SHAPE, "reshape: rank 9 is out of range");
  FAILS(sc_transpose_axes(m34, (int[]){0, 0}), SC_ERR_INDEX, "transpose: the axes are not a permutation of 0 to 1");
  FAILS(sc_transpose_axes(m34, (int[]){0, 2}), SC_ERR_INDEX, "transpose: axis 2 is out of range for rank 2");
  FAILS(sc_broadcast(m34, 1, DIMS(4)), SC_ERR_SHAPE, "broadcast: shape 3x4 does not broadcast to 4");
  FAILS(sc_broadcast(m34, 2, DIMS(3, 8)), SC_ERR_SHAPE, "broadcast: shape 3x4 does not broadcast to 3x8");
  FAILS(sc_at(m34, 3), SC_ERR_INDEX, "slice: index 3 is out of range for axis 0 of shape 3x4");
  FAILS(sc_at(m34, INT64_MIN + 1), SC_ERR_INDEX,
        "slice: index -9223372036854775807 is out of range for axis 0 of shape 3x4");
  FAILS(sc_at(s, 0), SC_ERR_INDEX, "slice: 1 index entries for shape scalar");
  FAILS(sc_slice(m34, 3, (sc_range[]){SC_ALL, SC_ALL, SC_ALL}), SC_ERR_INDEX, "slice: 3 index entries for shape 3x4");
  FAILS(sc_gather(v3, DIMS(0, 3), 1, DIMS(2)), SC_ERR_INDEX,
        "gather: index 3 at position 1 is out of range for 3 elements");
  FAILS(sc_gather(empty, DIMS(0), 0, NULL), SC_ERR_INDEX,
        "gather: index 0 at position 0 is out of range for 0 elements");
  FAILS(sc_scatter(v3, DIMS(0, -5, 0), 1, DIMS(4)), SC_ERR_INDEX,
        "scatter: index -5 at position 1 is out of range for 4 elements");
  FAILS(sc_scatter(b3, DIMS(0, 1, 2), 1, DIMS(4)), SC_ERR_DTYPE, "scatter: bool operands are not supported");
  FAILS(sc_index_add(v5, f3, DIMS(0, 1, 2)), SC_ERR_DTYPE, "index_add: operands are float64 and float32; " MIX);
  FAILS(sc_index_set(v5, v3, DIMS(0, 1, INT64_MAX)), SC_ERR_INDEX,
        "index_set: index 9223372036854775807 at position 2");
  FAILS(sc_stack((sc_expr[]){v3, v5}, 2, 0), SC_ERR_SHAPE,
        "stack: part 0 has shape 3 and part 1 has shape 5, they do not fit along axis 0");
  FAILS(sc_stack((sc_expr[]){v3, f3}, 2, 0), SC_ERR_DTYPE, "stack: part 0 is float64 and part 1 is float32; " MIX);
  FAILS(sc_concat((sc_expr[]){m34, v3}, 2, 1), SC_ERR_SHAPE, "concat: part 0 has shape 3x4 and part 1 has shape 3");
  FAILS(sc_concat((sc_expr[]){v3, v3}, 2, 1), SC_ERR_INDEX, "concat: axis 1 is out of range for parts of shape 3");
  FAILS(sc_concat((sc_expr[]){s, s}, 2, 0), SC_ERR_INDEX, "concat: axis 0 is out of range for parts of shape scalar");
  FAILS(sc_matmul(m34, v3), SC_ERR_SHAPE, "matmul: shapes 3x4 and 3 do not fit");
  FAILS(sc_matmul(s, v3), SC_ERR_SHAPE, "matmul: shapes scalar and 3 do not fit");
  FAILS(sc_matmul(f3, v3), SC_ERR_DTYPE, "matmul: operands are float32 and float64; " MIX);
  FAILS(sc_dot(m34, v3), SC_ERR_SHAPE, "dot: shapes 3x4 and 3 differ");
  FAILS(sc_cross(v3, v5), SC_ERR_SHAPE, "cross: operand 1 has shape 5, it takes vectors of 3");
  FAILS(sc_trace(m34), SC_ERR_SHAPE, "trace: shape 3x4 is not a square matrix");
  FAILS(sc_diag(m34), SC_ERR_SHAPE, "diag: shape 3x4 is neither a vector nor a square matrix");
  FAILS(sc_diag(s), SC_ERR_SHAPE, "diag: shape scalar is neither");
  FAILS(sc_sigmoid(i3), SC_ERR_DTYPE, "exp: int32 operands are not supported; cast to a float type first");
}

Test(errors, sizes) {
  const int64_t max = SC_MAX_ELEMENTS;
  cr_expect(!sc_is_null(sc_input(cx, "x", SC_FLOAT64, 1, &max)));
  cr_expect(!sc_is_null(sc_zeros(cx, SC_FLOAT64, 2, DIMS(1, max))));
  FAILS(sc_input(cx, "x", SC_FLOAT64, 1, DIMS(max + 1)), SC_ERR_OVERFLOW,
        "shape 2147483648 is too large: a tensor has at most 2147483647 elements");
  FAILS(sc_input(cx, "x", SC_FLOAT64, 2, DIMS(65536, 32768)), SC_ERR_OVERFLOW, "shape 65536x32768 is too large");
  FAILS(sc_input(cx, "x", SC_FLOAT64, 3, DIMS(max, max, 0)), SC_ERR_OVERFLOW,
        "shape 2147483647x2147483647x0 is too large");
  FAILS(sc_input(cx, "x", SC_FLOAT64, 2, DIMS(INT64_MAX, INT64_MAX)), SC_ERR_OVERFLOW, "shape 9223372036854775807x");
  FAILS(sc_input(cx, "x", SC_FLOAT64, 1, DIMS(-1)), SC_ERR_SHAPE, "dimension 0 of shape -1 is negative");
  FAILS(sc_input(cx, "x", SC_FLOAT64, 9, (int64_t[9]){0}), SC_ERR_SHAPE,
        "rank 9 is out of range: a tensor has 0 to 8 dimensions");
  FAILS(sc_input(cx, "x", SC_FLOAT64, -1, NULL), SC_ERR_SHAPE, "rank -1 is out of range");
  FAILS(sc_input(cx, "x", SC_FLOAT64, 2, NULL), SC_ERR_ARGUMENT, "rank 2 is given without a shape");
  FAILS(sc_const(cx, SC_FLOAT64, 1, DIMS(3), NULL), SC_ERR_ARGUMENT, "const: 3 elements are to be read from NULL");
  FAILS(sc_gather(v3, NULL, 1, DIMS(2)), SC_ERR_ARGUMENT, "gather: 2 indices are to be read from NULL");
  sc_expr big = sc_zeros(cx, SC_FLOAT64, 1, &max), wide = input("w", SC_FLOAT64, 2, 1, 65536),
          tall = input("t", SC_FLOAT64, 2, 65536, 1);
  FAILS(sc_concat((sc_expr[]){big, v3}, 2, 0), SC_ERR_OVERFLOW, "shape 2147483650 is too large");
  FAILS(sc_add(wide, tall), SC_ERR_OVERFLOW, "shape 65536x65536 is too large");
  FAILS(sc_matmul(tall, wide), SC_ERR_OVERFLOW, "shape 65536x65536 is too large");
  sc_expr flat = sc_vec(wide);
  FAILS(sc_outer(flat, tall), SC_ERR_OVERFLOW, "shape 65536x65536 is too large");
  FAILS(sc_kron(big, big), SC_ERR_OVERFLOW, "shape 2147483647x2147483647 is too large");
  FAILS(sc_eye(cx, SC_FLOAT64, 65536), SC_ERR_OVERFLOW, "shape 65536x65536 is too large");
  FAILS(sc_linspace(cx, SC_FLOAT64, 0, 1, -1), SC_ERR_SHAPE, "dimension 0 of shape -1 is negative");
  FAILS(sc_linspace(cx, SC_FLOAT64, 0, 1, INT64_MAX), SC_ERR_OVERFLOW, "shape 9223372036854775807 is too large");
  FAILS(sc_repmat(v3, INT64_MAX, 1), SC_ERR_OVERFLOW, "shape 9223372036854775807x3x1x1 is too large");
  FAILS(sc_reshape(v3, 2, DIMS(INT64_MAX, INT64_MAX)), SC_ERR_OVERFLOW, "reshape: the size overflows");
  sc_expr wrap = sc_slice(big, 1, &(sc_range){SC_NONE, SC_NONE, INT64_MAX});
  cr_expect_eq(sc_expr_size(wrap), 1);
  cr_expect(sc_context_error(cx) == NULL);
}

static sc_function *make(const char *name, const char *in, const char *out) {
  return sc_function_create(cx, name, SC_IN({in, v3, NULL}), SC_OUT({out, sc_sin(v3), NULL}));
}

/* As FAILS, for functions. */
static void refused(sc_function *f, sc_status status, const char *text) {
  const sc_diagnostic *d = sc_context_error(cx);
  cr_expect(f == NULL && d, "%s", text);
  cr_expect(d && d->status == status && !strncmp(d->message, text, strlen(text)), "%s: %s", text, d ? d->message : "");
  sc_context_clear_error(cx);
}

Test(errors, names) {
  static char longest[256], longer[257], huge[10001];
  memset(longest, 'n', 255);
  memset(longer, 'n', 256);
  memset(huge, 'n', 10000);
  cr_expect(make("f", "a_1", "_b") != NULL);
  cr_expect(make(longest, "x", "y") != NULL);
  cr_expect(make("f", "lam:f", "y") != NULL, "the names of derivative seeds");
  refused(make("", "x", "y"), SC_ERR_NAME, "function: the name is empty");
  refused(make(NULL, "x", "y"), SC_ERR_NAME, "function: the name is empty");
  refused(make("1f", "x", "y"), SC_ERR_NAME, "function: the name \"1f\" is not an identifier");
  refused(make("f:g", "x", "y"), SC_ERR_NAME, "function: the name \"f:g\" is not an identifier");
  refused(make("f g", "x", "y"), SC_ERR_NAME, "function: the name \"f g\" is not an identifier");
  refused(make("größe", "x", "y"), SC_ERR_NAME, "function: the name \"größe\" is not an identifier");
  refused(make("f", "", "y"), SC_ERR_NAME, "input 0 of function f: the name is empty");
  refused(make("f", "x", "y-"), SC_ERR_NAME, "output 0 of function f: the name \"y-\" is not an identifier");
  refused(make(longer, "x", "y"), SC_ERR_NAME,
          "function: the name nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn... has 256 characters, at most 255");
  refused(make(huge, "x", "y"), SC_ERR_NAME,
          "function: the name nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn... has 10000 characters");
  refused(make("f", huge, "y"), SC_ERR_NAME,
          "input 0 of function f: the name nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn... has 10000");
  refused(make("f", "x", "x"), SC_ERR_NAME, "function f: the name x is used twice among its inputs and outputs");
  refused(make("f", "lam:f", "lam_f"), SC_ERR_NAME, "function f: the name lam");
  FAILS(sc_input(cx, "", SC_FLOAT64, 0, NULL), SC_ERR_NAME, "input: the name is empty");
  FAILS(sc_input(cx, NULL, SC_FLOAT64, 0, NULL), SC_ERR_NAME, "input: the name is empty");
  FAILS(sc_input(cx, huge, SC_FLOAT64, 0, NULL), SC_ERR_NAME, "input: the name nnn");
  FAILS(sc_input(cx, "\xff", SC_FLOAT64, 0, NULL), SC_ERR_NAME, "input: the name \"\xff\" is not an identifier");
}

Test(errors, functions) {
  sc_expr sum = sc_add(sc_add(v3, s), sc_sum(v5));
  refused(sc_function_create(cx, "f", SC_IN({"x", v3, NULL}), SC_OUT({"y", sum, NULL})), SC_ERR_NAME,
          "function f: its outputs depend on s, v5, which it does not declare (declared: x)");
  refused(sc_function_create(cx, "f", NULL, 0, SC_OUT({"y", sum, NULL})), SC_ERR_NAME,
          "function f: its outputs depend on s, v3, v5, which it does not declare (declared: none)");
  refused(sc_function_create(cx, "f", SC_IN({"x", sc_sin(v3), NULL}), SC_OUT({"y", v3, NULL})), SC_ERR_ARGUMENT,
          "function f: input x is not an input expression but the result of sin");
  refused(sc_function_create(cx, "f", SC_IN({"x", v3, NULL}, {"z", v3, NULL}), SC_OUT({"y", v3, NULL})),
          SC_ERR_ARGUMENT, "function f: input z is declared twice");
  refused(sc_function_create(cx, "f", SC_IN({"x", v3, NULL}), NULL, 0), SC_ERR_ARGUMENT,
          "function f: it has no outputs");
  refused(sc_function_create(cx, "f", SC_IN({"x", {0}, NULL}), SC_OUT({"y", v3, NULL})), SC_ERR_ARGUMENT,
          "function f: input x is a null expression");
  int32_t rows[] = {0, 2, 1}, three[] = {0, 1, 2}, ptr[] = {0, 1, 2, 3};
  sc_pattern coo = {SC_COO, 3, 3, 3, three, rows}, csc = {SC_CSC, 3, 3, 3, ptr, rows},
             bad = {SC_COO, 3, 3, 3, rows, three}, few = {SC_COO, 3, 3, 2, three, three},
             out = {SC_CSR, 3, 2, 3, ptr, three}, odd = {SC_CSC, 2, 3, 3, (int32_t[]){0, 3, 2, 3}, three};
  cr_expect(sc_function_create(cx, "f", SC_IN({"x", v3, NULL}), SC_OUT({"y", v3, &coo}, {"z", v3, &csc})) != NULL);
  const sc_pattern *wrong[] = {&bad, &out, &odd};
  for (int i = 0; i < 3; i++)
    refused(sc_function_create(cx, "f", SC_IN({"x", v3, NULL}), SC_OUT({"y", v3, wrong[i]})), SC_ERR_INDEX,
            "function f: the pattern of sparse output y is not ordered, or leaves the");
  refused(sc_function_create(cx, "f", SC_IN({"x", v3, NULL}), SC_OUT({"y", v3, &few})), SC_ERR_SHAPE,
          "function f: sparse output y has a pattern of 2 stored values of a 3x3 matrix and values of shape 3");
  cr_expect_eq(sc_function_find_input(fn, "n"), 1);
  cr_expect_eq(sc_function_find_output(fn, "q"), -1);
  cr_expect_str_eq(sc_context_error(cx)->message, "function fn has no output \"q\" (there are: y, z)");
}

Test(errors, calls) {
  sc_expr one[] = {v3}, swapped[] = {v3, v3}, wide[] = {v5, i3}, good[] = {v3, i3};
  FAILS(sc_call(fn, one, 1, 0), SC_ERR_ARGUMENT, "call of fn: 1 arguments given, it takes 2");
  FAILS(sc_call(fn, swapped, 2, 0), SC_ERR_DTYPE, "call of fn: argument 1 is float64, input n is int32");
  FAILS(sc_call(fn, wide, 2, 0), SC_ERR_SHAPE, "call of fn: argument 0 has shape 5, input a has 3");
  FAILS(sc_call(fn, good, 2, 2), SC_ERR_INDEX, "call of fn: output 2 does not exist, it has 2");
  FAILS(sc_call(fn, good, 2, SIZE_MAX), SC_ERR_INDEX, "call of fn: output");
  sc_expr x = input("x", SC_FLOAT64, 1, 11, 0), n = input("n", SC_INT32, 1, 3, 0), args[] = {x, n};
  cr_expect(!sc_is_null(sc_vmap_windows(fn, 5, args, 2, DIMS(0, 0), DIMS(2, 0), 0)));
  cr_expect(!sc_is_null(sc_vmap_windows(fn, 5, args, 2, DIMS(8, 0), DIMS(-2, 0), 0)));
  cr_expect(!sc_is_null(sc_vmap_windows(fn, 0, args, 2, DIMS(-7, 99), DIMS(1, 1), 0)),
            "without iterations nothing is read");
  FAILS(sc_vmap_windows(fn, 6, args, 2, DIMS(0, 0), DIMS(2, 0), 0), SC_ERR_INDEX,
        "vmap of fn: 6 windows of 3 elements from 0 by 2 leave the 11 elements of argument 0 (input a)");
  FAILS(sc_vmap_windows(fn, 5, args, 2, DIMS(7, 0), DIMS(-2, 0), 0), SC_ERR_INDEX,
        "vmap of fn: 5 windows of 3 elements from 7 by -2 leave");
  FAILS(sc_vmap_windows(fn, 1, args, 2, DIMS(-1, 0), DIMS(0, 0), 0), SC_ERR_INDEX,
        "vmap of fn: 1 windows of 3 elements from -1 by 0 leave");
  FAILS(sc_vmap_windows(fn, 3, args, 2, DIMS(0, 0), DIMS(INT64_MAX, 0), 0), SC_ERR_INDEX,
        "vmap of fn: 3 windows of 3 elements");
  FAILS(sc_vmap_windows(fn, INT64_MAX, args, 2, DIMS(0, 0), DIMS(0, 0), 0), SC_ERR_OVERFLOW,
        "vmap: the size overflows");
  FAILS(sc_vmap_windows(fn, -1, args, 2, DIMS(0, 0), DIMS(0, 0), 0), SC_ERR_ARGUMENT,
        "vmap of fn: length -1 is negative");
  sc_expr matrix[] = {m34, i3};
  FAILS(sc_vmap_windows(fn, 1, matrix, 2, DIMS(0, 0), DIMS(0, 0), 0), SC_ERR_SHAPE,
        "vmap of fn: argument 0 has shape 3x4, windows need rank 1");
  FAILS(sc_vmap(fn, 4, matrix, 2, 0), SC_ERR_SHAPE,
        "vmap of fn: argument 0 has shape 3x4, input a takes 3 or 4 rows of that");
  sc_expr rows[] = {sc_transpose(m34), i3}, mapped = sc_vmap(fn, 4, rows, 2, 0);
  cr_expect(sc_expr_rank(mapped) == 2 && sc_expr_shape(mapped)[0] == 4 && sc_expr_shape(mapped)[1] == 3);
  cr_expect_eq(sc_expr_rank(sc_vmap(fn, 4, rows, 2, 1)), 1);
  cr_expect(sc_expr_diff(mapped) && !sc_expr_diff(sc_vmap(fn, 4, (sc_expr[]){sc_stop_gradient(rows[0]), i3}, 2, 0)));
}

Test(errors, handles) {
  sc_expr null = {0};
  /* Null handles propagate silently. */
  cr_expect(sc_is_null(sc_add(null, v3)) && sc_is_null(sc_sin(null)) && sc_is_null(sc_select(b3, v3, null)));
  cr_expect(sc_is_null(sc_stack((sc_expr[]){v3, null}, 2, 0)) && sc_is_null(sc_norm_2(null)) &&
            sc_is_null(sc_transpose(null)));
  cr_expect(sc_is_null(sc_call(fn, (sc_expr[]){null, i3}, 2, 0)) && sc_is_null(sc_index_add(v3, null, NULL)) &&
            sc_is_null(sc_matmul(v3, null)));
  cr_expect(sc_is_null(sc_stack(NULL, 0, 0)) && sc_is_null(sc_polyval(NULL, 0, null)));
  cr_expect(sc_expr_op(null) == NULL && sc_expr_rank(null) == 0 && sc_expr_shape(null) == NULL &&
            sc_is_null(sc_expr_arg(null, 0)));
  cr_expect(sc_context_error(cx) == NULL);
  /* The first diagnostic sticks, later good work goes on. */
  sc_expr first = sc_sin(sc_add(m34, v5)), bad = sc_add(first, sc_mul(v3, i3));
  cr_expect(sc_is_null(bad) && sc_context_diagnostic_count(cx) == 1);
  cr_expect_str_eq(sc_context_error(cx)->message, "add: shapes 3x4 and 5 do not broadcast");
  cr_expect(!sc_is_null(sc_sin(v3)));
  cr_expect_eq(sc_context_error(cx)->status, SC_ERR_SHAPE);
  sc_context_clear_error(cx);
  sc_context *other = sc_context_create(NULL);
  sc_expr foreign = sc_input(other, "x", SC_FLOAT64, 1, DIMS(3));
  FAILS(sc_add(v3, foreign), SC_ERR_STALE, "an expression belongs to another context");
  FAILS(sc_concat((sc_expr[]){v3, foreign}, 2, 0), SC_ERR_STALE, "an expression belongs to another context");
  FAILS(sc_call(fn, (sc_expr[]){foreign, i3}, 2, 0), SC_ERR_STALE, "an expression belongs to another context");
  refused(sc_function_create(cx, "f", SC_IN({"x", foreign, NULL}), SC_OUT({"y", v3, NULL})), SC_ERR_STALE,
          "an expression belongs to another");
  cr_expect_eq(sc_context_collect(cx, &foreign, 1), SC_ERR_STALE);
  sc_context_clear_error(cx);
  sc_context_destroy(other);
  sc_expr keep = v5, lost = sc_tan(v5);
  cr_expect_eq(sc_context_collect(cx, &keep, 1), SC_OK);
  FAILS(sc_sin(lost), SC_ERR_STALE, "an expression was made before the last sc_context_collect");
  FAILS(sc_add(keep, v5), SC_ERR_STALE, "an expression was made before the last sc_context_collect");
  cr_expect_eq(sc_context_collect(cx, &lost, 1), SC_ERR_STALE);
  cr_expect_eq(sc_verify(fn), SC_OK);
  sc_context_clear_error(cx);
  cr_expect(sc_context_error(NULL) == NULL);
  for (int k = SC_OK; k <= SC_ERR_BACKEND; k++) cr_expect_str_neq(sc_status_name((sc_status)k), "?");
  cr_expect_str_eq(sc_status_name(SC_ERR_PARSE), "parse");
  cr_expect_str_eq(sc_status_name((sc_status)99), "?");
}

/* NULL where entries are promised is a mistake like any other. */
Test(errors, missing_arrays) {
  const int64_t zero = 0;
  FAILS(sc_reshape(v3, 1, NULL), SC_ERR_ARGUMENT, "reshape: 1 entries are to be read from NULL");
  FAILS(sc_transpose_axes(m34, NULL), SC_ERR_ARGUMENT, "transpose: 2 entries are to be read from NULL");
  FAILS(sc_slice(m34, 2, NULL), SC_ERR_ARGUMENT, "slice: 2 entries are to be read from NULL");
  FAILS(sc_polyval(NULL, 4, v3), SC_ERR_ARGUMENT, "polyval: 4 entries are to be read from NULL");
  FAILS(sc_call(fn, NULL, 2, 0), SC_ERR_ARGUMENT, "call: 2 entries are to be read from NULL");
  sc_expr args[] = {v3, i3};
  FAILS(sc_vmap_windows(fn, 1, args, 2, NULL, NULL, 0), SC_ERR_ARGUMENT,
        "vmap: starts: 2 entries are to be read from NULL");
  FAILS(sc_vmap_windows(fn, 1, args, 2, (int64_t[]){zero, zero}, NULL, 0), SC_ERR_ARGUMENT,
        "vmap: strides: 2 entries are to be read from NULL");
  cr_expect(sc_is_null(sc_stack(NULL, 3, 0)) && sc_is_null(sc_vertcat(NULL, 3)));
  refused(sc_function_create(cx, "f", NULL, 1, NULL, 1), SC_ERR_ARGUMENT,
          "function: inputs: 1 entries are to be read from NULL");
  refused(sc_function_create(cx, "f", NULL, 0, NULL, 1), SC_ERR_ARGUMENT,
          "function: outputs: 1 entries are to be read from NULL");
  refused(sc_function_derive(fn, NULL, NULL, 3, NULL), SC_ERR_ARGUMENT,
          "derive: requests: 3 entries are to be read from NULL");
  cr_expect_null(sc_jit(fn, &(sc_jit_options){.n_requests = 3, .cache_dir = "."}));
  sc_context_clear_error(cx);
  cr_expect_eq(sc_context_collect(cx, NULL, 3), SC_ERR_ARGUMENT);
  sc_context_clear_error(cx);
  for (int layout = 0; layout < 3; layout++)
    cr_expect_null(sc_coloring_jacobian(cx, &(sc_pattern){(sc_layout)layout, 3, 3, 3, NULL, NULL}, NULL));
  sc_context_clear_error(cx);
  sc_module *m = sc_render_c(fn, NULL);
  cr_expect_eq(sc_module_write(m, NULL), SC_ERR_ARGUMENT);
  cr_expect_str_eq(sc_module_error(m), "no folder is given");
  cr_expect_eq(sc_module_write(m, ""), SC_ERR_ARGUMENT); /* not the root */
  sc_module_destroy(m);
}
