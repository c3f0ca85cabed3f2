/* What the files that build nodes share: the last step of every builder, and folding. */
#ifndef SCI_EXPR_BUILD_H
#define SCI_EXPR_BUILD_H

#include "lib/expr/expr.h"

/* Infers, folds when every operand is constant, interns. */
sci_id sci_finish(sc_context *cx, const sci_recipe *r);
/* The constant that a node with only constant operands is, or SCI_NONE: too large, or to be left to run time. */
sci_id sci_fold(sc_context *cx, const sci_recipe *r, uint32_t type);

/* Simplification looks through nodes of this operation only when they carry no hint: a hint must not get lost. */
static inline bool sci_plain(const sc_context *cx, sci_id id, unsigned op) {
  const sci_node *n = sci_node_at(cx, id);
  return n->op == op && n->hint == SC_HINT_AUTO;
}
static inline bool sci_is_constant(const sc_context *cx, sci_id id) {
  return sci_plain(cx, id, SCI_X_const) ||
         (sci_plain(cx, id, SCI_X_broadcast) && sci_plain(cx, sci_arg(cx, id, 0), SCI_X_const));
}
static inline bool sci_same_shape(const sci_type *a, const sci_type *b) {
  return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}
static inline sci_id sci_finish1(sc_context *cx, unsigned op, uint32_t attr, uint32_t type, sci_id a) {
  return sci_finish(cx, &(sci_recipe){.op = op, .n_args = 1, .attr = attr, .args = &a, .type = type});
}

#endif
