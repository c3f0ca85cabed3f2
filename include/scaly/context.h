/* The context: owner of every expression and function, its allocator and its diagnostics. */
#ifndef SCALY_CONTEXT_H
#define SCALY_CONTEXT_H

#include "scaly/base.h"

SC_BEGIN_DECLS

typedef struct sc_context sc_context;

/* A value of the expression dialect: a small handle, copied freely. `id` names the node, `generation` the
 * state of the context it belongs to (sc_context_collect starts a new one). The null handle (all zero) is what
 * a failed builder returns; every builder given a null handle returns the null handle. */
typedef struct sc_expr {
  sc_context *cx;
  uint32_t id;
  uint32_t generation;
} sc_expr;

/* realloc-style allocator. `ptr` NULL and `old_size` 0 allocate, `new_size` 0 frees and returns NULL.
 * Memory must be aligned for any scalar type. Returning NULL for a nonzero `new_size` reports failure. */
typedef struct sc_allocator {
  void *(*reallocate)(void *user, void *ptr, size_t old_size, size_t new_size);
  void *user;
} sc_allocator;

/* NULL: the C library's allocator. Returns NULL when memory for the context itself is missing. A context may be used by
 * one thread at a time; contexts are independent of each other. */
SC_API sc_context *sc_context_create(const sc_allocator *allocator);

/* Frees the context with all its expressions and functions. Kernels and modules made from them stay valid. */
SC_API void sc_context_destroy(sc_context *cx);

/* One problem. `line` and `column` are 1-based and 0 when there is no source text; `source` is the offending
 * line (NULL without text) and `file` the name given to the parser. Strings live until the diagnostics are cleared. */
typedef struct sc_diagnostic {
  sc_status status;
  const char *message;
  const char *file;
  int line;
  int column;
  const char *source;
} sc_diagnostic;

/* The first problem since the last clear, or NULL. Later failures do not replace it. */
SC_API const sc_diagnostic *sc_context_error(const sc_context *cx);

/* All recorded problems (a parser run may report several). */
SC_API size_t sc_context_diagnostic_count(const sc_context *cx);
SC_API const sc_diagnostic *sc_context_diagnostic(const sc_context *cx, size_t i);
SC_API void sc_context_clear_error(sc_context *cx);

/* Drops every node that no live function and none of the `n` kept handles reaches, compacts the arena and
 * rewrites the kept handles in place (null handles stay null). All other handles become stale: using one is reported as
 * SC_ERR_STALE. */
SC_API sc_status sc_context_collect(sc_context *cx, sc_expr *keep, size_t n);

SC_API size_t sc_context_node_count(const sc_context *cx); /* nodes alive */
SC_API size_t sc_context_memory(const sc_context *cx);     /* bytes held from the allocator */

SC_END_DECLS

#endif
