/* Simplification of whole functions by the rules of rules.def; what builders do by themselves is not repeated there. */
#ifndef SCI_EXPR_SIMPLIFY_H
#define SCI_EXPR_SIMPLIFY_H

#include "lib/expr/expr.h"

typedef enum sci_rule {
#define SCI_RULE(name, ...) SCI_RULE_##name,
#include "lib/expr/rules.def"
#undef SCI_RULE
  SCI_RULE_COUNT
} sci_rule;

/* The function itself when no rule applies to it or its callees, else one of the same name, inputs, outputs, hints and
 * patterns that is not held. `lowering`: also the rules that must not precede differentiation. `counts` (SCI_RULE_COUNT
 * of them, or NULL) is added to. */
sc_function *sci_simplify(sc_context *cx, sc_function *f, bool lowering, uint32_t *counts);
const char *sci_rule_name(sci_rule rule);

#endif
