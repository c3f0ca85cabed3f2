/* The parser of the expression dialect, in three files: functions and statements, attributes, operations. */
#ifndef SCI_TEXT_EXPR_TEXT_H
#define SCI_TEXT_EXPR_TEXT_H

#include "lib/expr/composed.h"
#include "lib/text/parse.h"

/* The text's operations: those of nodes, and behind them (from SCI_X_END on) what expands into several. */
const char *sci_text_op_name(unsigned op);

typedef enum sci_attr_key {
  SCI_A_NAME,
  SCI_A_VALUE,
  SCI_A_SHAPE,
  SCI_A_AXES,
  SCI_A_INDEX,
  SCI_A_INDICES,
  SCI_A_AXIS,
  SCI_A_DTYPE,
  SCI_A_CALLEE,
  SCI_A_OUTPUT,
  SCI_A_LENGTH,
  SCI_A_STARTS,
  SCI_A_STRIDES,
  SCI_A_LOWERING,
  SCI_A_COUNT
} sci_attr_key;

/* The nested list of a constant: its literals in order, and the shape that the brackets tell. */
typedef struct sci_value_text {
  SCI_VEC(sci_literal) literals;
  int rank;
  int64_t shape[SC_MAX_RANK];
} sci_value_text;

typedef struct sci_attr_value {
  const char *where;
  int64_t number; /* axis, output, length; dtype, lowering as their enums */
  sci_ints ints;
  const char *string;
} sci_attr_value;

typedef struct sci_attrs {
  uint32_t given; /* bits of keys; nothing else is set without one */
  sci_attr_value of[SCI_A_COUNT];
  int n_ranges;
  sc_range ranges[SC_MAX_RANK]; /* index */
  sci_value_text value;
} sci_attrs;

/* NULL: not given. */
static inline const sci_attr_value *sci_given(const sci_attrs *attrs, sci_attr_key key) {
  return attrs->given >> key & 1 ? &attrs->of[key] : NULL;
}

/* `{...}` of an operation, if it is there. */
void sci_parse_attrs(sci_parser *p, unsigned op, sci_attrs *out);
/* The entries of a slice up to the closing bracket; the current token follows the opening one. */
int sci_parse_ranges(sci_parser *p, sc_range ranges[SC_MAX_RANK]);

typedef struct sci_operand {
  const char *where;
  sci_id id; /* SCI_NONE: the literal */
  sci_literal literal;
} sci_operand;

/* Functions of the text so far; a NULL one had problems. */
typedef struct sci_known_functions {
  sci_names names;
  SCI_VEC(sc_function *) list;
} sci_known_functions;

/* What stands behind an operation's name: operands, attributes, and the type stated behind the colon (NULL: none). */
typedef struct sci_op_text {
  const char *where;
  unsigned op;
  const sci_operand *operands;
  uint32_t n;
  const sci_attrs *attrs;
  const sci_stated_type *stated;
} sci_op_text;

sci_id sci_build_op(sci_parser *p, sci_known_functions *known, const sci_op_text *t);
/* "f": a function that came before. */
sc_function *sci_parse_known_function(sci_parser *p, sci_known_functions *known);
/* A literal that stands alone: of the stated type if there is one, else of `dtype`. */
sci_id sci_build_literal(sci_parser *p, const sci_literal *l, sc_dtype dtype);
/* Fails unless the node has the stated shape and data type, and `diff` where it says so. */
void sci_check_stated(sci_parser *p, sci_id id, const sci_stated_type *t);

#endif
