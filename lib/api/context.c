/* Owns the public functions of scaly/context.h: life of a context, its diagnostics, collection. */
#include "lib/api/enter.h"
#include "lib/base/text.h"

#include <stdlib.h>

const char *sc_status_name(sc_status status) {
  static const char *const names[] = {"ok",    "shape", "dtype",  "name", "index",  "overflow",    "argument",
                                      "stale", "parse", "verify", "io",   "memory", "unavailable", "backend"};
  return (unsigned)status < sizeof names / sizeof *names ? names[status] : "?";
}

sc_context *sc_context_create(const sc_allocator *allocator) {
  sc_context *cx = allocator ? allocator->reallocate(allocator->user, NULL, 0, sizeof *cx) : malloc(sizeof *cx);
  if (!cx) return NULL;
  if (sci_context_init(cx, allocator)) return cx;
  if (allocator)
    allocator->reallocate(allocator->user, cx, sizeof *cx, 0);
  else
    free(cx);
  return NULL;
}

void sc_context_destroy(sc_context *cx) {
  if (!cx) return;
  sc_allocator alloc = cx->env.alloc;
  sci_context_free(cx);
  alloc.reallocate(alloc.user, cx, sizeof *cx, 0);
}

/* ---- diagnostics ---- */

const sc_diagnostic *sc_context_error(const sc_context *cx) {
  return cx && cx->env.n_diags ? &cx->env.diags[0] : NULL;
}

size_t sc_context_diagnostic_count(const sc_context *cx) {
  return cx ? cx->env.n_diags : 0;
}

const sc_diagnostic *sc_context_diagnostic(const sc_context *cx, size_t i) {
  return cx && i < cx->env.n_diags ? &cx->env.diags[i] : NULL;
}

void sc_context_clear_error(sc_context *cx) {
  if (cx) sci_diags_clear(&cx->env);
}

/* ---- collection ---- */

sc_status sc_context_collect(sc_context *cx, sc_expr *keep, size_t n) {
  if (!cx) return SC_ERR_ARGUMENT;
  sci_frame fr;
  size_t before = cx->env.n_diags;
  if (!SCI_TRY(&cx->env, &fr)) return before < cx->env.n_diags ? cx->env.diags[before].status : SC_ERR_MEMORY;
  sci_expect_array(cx, "collect", keep, n);
  sci_id *ids = SCI_ARRAY(&cx->env.scratch, sci_id, n);
  for (size_t i = 0; i < n; i++) ids[i] = sc_is_null(keep[i]) ? SCI_NONE : sci_handle(cx, keep[i]);
  sci_collect(cx, ids, n);
  for (size_t i = 0; i < n; i++)
    if (ids[i] != SCI_NONE) keep[i] = sci_wrap(cx, ids[i]);
  sci_leave(&cx->env, &fr);
  return SC_OK;
}

size_t sc_context_node_count(const sc_context *cx) {
  return cx ? cx->n_nodes : 0;
}

size_t sc_context_memory(const sc_context *cx) {
  return cx ? cx->env.held + sizeof *cx : 0;
}

void sc_string_free(sc_context *cx, char *text) {
  if (cx) sci_bytes_free(&cx->env, text);
}
