/* The parser of the program dialect, in two files: modules, procedures and statements; scalar values. */
#ifndef SCI_TEXT_PROG_TEXT_H
#define SCI_TEXT_PROG_TEXT_H

#include "lib/program/value.h"
#include "lib/text/parse.h"

/* What a name stands for in a procedure (%x), or in the module (@t: a table). */
typedef enum sci_thing_kind { SCI_THING_BUF, SCI_THING_NAME, SCI_THING_VAR, SCI_THING_VALUE } sci_thing_kind;
typedef struct sci_thing {
  uint8_t kind;
  bool gone;   /* its loop has ended: it can be defined anew, and only a value (an abbreviation) can still be used */
  uint32_t id; /* buffer, scalar name, or value (of loop variables and abbreviations) */
} sci_thing;

typedef struct sci_value_operand {
  sci_val v; /* SCI_NIL: the literal */
  sci_literal literal;
} sci_value_operand;

typedef struct sci_value_pending { /* what waits for operands */
  const char *where;
  bool is_load; /* of `buf`; else the operation `op` */
  unsigned op;
  sci_buf buf;
  size_t first;
} sci_value_pending;

typedef struct sci_prog_parser {
  sci_parser p;
  sci_store *s;
  sci_arena keep; /* what outlives a procedure */
  sci_names ops, procs_by_name, tables;
  SCI_VEC(const sci_proc *) procs; /* NULL: had problems */
  /* of the procedure being read, in the scratch arena of its frame */
  sci_names names;
  SCI_VEC(sci_thing) things;
  SCI_VEC(sci_value_operand) operands;
  SCI_VEC(sci_value_pending) stack;
  sci_block_builder *block; /* the innermost: loads within values are put here, before the statement being read */
} sci_prog_parser;

/* Reads a value; a literal becomes one of `dtype`. */
sci_val sci_parse_scalar(sci_prog_parser *e, sc_dtype dtype);
/* %x[index] of a buffer or @t[index] of a table. */
void sci_parse_view(sci_prog_parser *e, sci_buf *buf, sci_val *index);
/* %x or @t that is a buffer. */
sci_buf sci_parse_buf(sci_prog_parser *e);
/* The hint of a name: none when it is a number. */
const char *sci_hint_of(sci_parser *p, const sci_token *name);

#endif
