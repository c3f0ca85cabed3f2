/* Functions: the unit of composition, differentiation and compilation. */
#ifndef SCALY_FUNCTION_H
#define SCALY_FUNCTION_H

#include "scaly/expr.h"

SC_BEGIN_DECLS

typedef struct sc_function sc_function;

typedef enum sc_layout { SC_CSC = 0, SC_CSR, SC_COO } sc_layout;

/* A sparsity pattern of an nrow by ncol matrix. csc: outer = colptr (ncol + 1), inner = rowind (nnz), rows increasing
 * within a column. csr: outer = rowptr (nrow + 1), inner = colind. coo: outer = rows (nnz), inner = cols (nnz),
 * row-major order. */
typedef struct sc_pattern {
  sc_layout layout;
  int64_t nrow, ncol, nnz;
  const int32_t *outer;
  const int32_t *inner;
} sc_pattern;

typedef struct sc_named {
  const char *name;
  sc_expr expr;              /* an input node, or the value of an output */
  const sc_pattern *pattern; /* outputs only: `expr` is the rank-1 vector of stored values. NULL: dense */
} sc_named;

/* Array and count in one argument pair, in C: sc_function_create(cx, "f", SC_IN({"x", x}), SC_OUT({"y", y})). (C++ has
 * scaly.hpp.) Leaving the pattern out is no cause for a warning: gcc gives none in an array with a designator, clang
 * can be told. */
#if defined(__clang__)
#define SC_NAMED_LIST(...)                                                                                             \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")(               \
      const sc_named[]){__VA_ARGS__} _Pragma("clang diagnostic pop")
#elif defined(__GNUC__) && !defined(__cplusplus)
#define SC_NAMED_LIST(...)                                                                                             \
  (const sc_named[]) {                                                                                                 \
    [0] = __VA_ARGS__                                                                                                  \
  }
#else
#define SC_NAMED_LIST(...)                                                                                             \
  (const sc_named[]) {                                                                                                 \
    __VA_ARGS__                                                                                                        \
  }
#endif
#define SC_IN(...) SC_NAMED_LIST(__VA_ARGS__), sizeof(SC_NAMED_LIST(__VA_ARGS__)) / sizeof(sc_named)
#define SC_OUT(...) SC_IN(__VA_ARGS__)

/* Checks that every reachable input is declared, that names are unique identifiers, that patterns fit.
 * Copies names and patterns. NULL on failure. The function lives until sc_function_release, or the context's end. */
SC_API sc_function *sc_function_create(sc_context *cx, const char *name, const sc_named *inputs, size_t n_inputs,
                                       const sc_named *outputs, size_t n_outputs);

/* Gives up the caller's interest: sc_context_collect may then drop the function, unless a live one calls it. */
SC_API void sc_function_release(sc_function *f);

SC_API sc_context *sc_function_context(const sc_function *f);
SC_API const char *sc_function_name(const sc_function *f);
SC_API size_t sc_function_input_count(const sc_function *f);
SC_API size_t sc_function_output_count(const sc_function *f);
SC_API const char *sc_function_input_name(const sc_function *f, size_t i);
SC_API const char *sc_function_output_name(const sc_function *f, size_t i);
SC_API sc_expr sc_function_input(const sc_function *f, size_t i);
SC_API sc_expr sc_function_output(const sc_function *f, size_t i);                   /* sparse: the stored values */
SC_API const sc_pattern *sc_function_output_pattern(const sc_function *f, size_t i); /* NULL: dense */
/* Index of a name, or -1 (and a diagnostic that lists the names there are). */
SC_API int sc_function_find_input(const sc_function *f, const char *name);
SC_API int sc_function_find_output(const sc_function *f, const char *name);

/* The effective hint: `block` on any node of the function makes it block, else `scalar` on any makes it scalar. */
SC_API sc_hint sc_function_hint(const sc_function *f);
SC_API void sc_function_set_hint(sc_function *f, sc_hint hint);

/* Whether simplification may use rules that are wrong for NaN, infinities or signed zeros (default: it may). */
SC_API void sc_function_set_strict_nan(sc_function *f, bool strict);
SC_API bool sc_function_strict_nan(const sc_function *f);

/* A symbolic call: output `output` of f applied to args (shapes and dtypes as the inputs'). A sparse output gives its
 * stored values. */
SC_API sc_expr sc_call(sc_function *f, const sc_expr *args, size_t n_args, size_t output);

/* f mapped over `length` iterations. Iteration i reads starts[k] + i * strides[k] of the rank-1 operand k, as many
 * elements as the formal holds; stride 0 broadcasts; windows may overlap. The value is the flat concatenation of the
 * iterations' outputs. */
SC_API sc_expr sc_vmap_windows(sc_function *f, int64_t length, const sc_expr *args, size_t n_args,
                               const int64_t *starts, const int64_t *strides, size_t output);

/* The same with operands whose leading axis is the length (their rows are the formals) or that have a formal's own
 * shape (broadcast); the result has shape (length, ...output shape). */
SC_API sc_expr sc_vmap(sc_function *f, int64_t length, const sc_expr *args, size_t n_args, size_t output);

/* Checks the whole graph of f, callees included, against the dialect's rule table. */
SC_API sc_status sc_verify(const sc_function *f);

SC_END_DECLS

#endif
