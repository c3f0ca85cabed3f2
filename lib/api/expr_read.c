/* Owns the public functions that read a graph back. Null and stale handles have nothing to read. */
#include "lib/api/enter.h"

static const sci_node *node_of(sc_expr a) {
  return a.cx && a.generation == a.cx->generation && a.id < a.cx->n_nodes ? sci_node_at(a.cx, a.id) : NULL;
}

static const sci_type *type_of(sc_expr a) {
  const sci_node *n = node_of(a);
  return n ? &a.cx->types[n->type] : NULL;
}

bool sc_is_null(sc_expr a) {
  return !a.cx;
}

bool sc_same(sc_expr a, sc_expr b) {
  return a.cx == b.cx && a.id == b.id && a.generation == b.generation;
}

const char *sc_expr_op(sc_expr a) {
  const sci_node *n = node_of(a);
  return n ? sci_xop_name(n->op) : NULL;
}

size_t sc_expr_arg_count(sc_expr a) {
  const sci_node *n = node_of(a);
  return n ? n->n_args : 0;
}

sc_expr sc_expr_arg(sc_expr a, size_t i) {
  const sci_node *n = node_of(a);
  return n && i < n->n_args ? sci_wrap(a.cx, sci_args(a.cx, n)[i]) : (sc_expr){0};
}

sc_dtype sc_expr_dtype(sc_expr a) {
  const sci_type *t = type_of(a);
  return t ? (sc_dtype)t->dtype : SC_FLOAT64;
}

int sc_expr_rank(sc_expr a) {
  const sci_type *t = type_of(a);
  return t ? t->rank : 0;
}

const int64_t *sc_expr_shape(sc_expr a) {
  const sci_type *t = type_of(a);
  return t ? t->shape : NULL;
}

int64_t sc_expr_size(sc_expr a) {
  const sci_type *t = type_of(a);
  return t ? t->size : 0;
}

bool sc_expr_diff(sc_expr a) {
  const sci_type *t = type_of(a);
  return t && t->diff;
}

const char *sc_expr_name(sc_expr a) {
  const sci_node *n = node_of(a);
  return n && n->op == SCI_X_input ? ((const sci_input_attr *)a.cx->blobs[n->attr].data)->name : NULL;
}

const void *sc_expr_const_data(sc_expr a) {
  const sci_node *n = node_of(a);
  return n && n->op == SCI_X_const ? a.cx->blobs[n->attr].data : NULL;
}
