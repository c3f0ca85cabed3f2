/* The assembly text of both dialects: canonical printers and lenient parsers. lib/README.md ("Text") has the grammar.
 */
#ifndef SCI_TEXT_TEXT_H
#define SCI_TEXT_TEXT_H

#include "lib/base/text.h"
#include "lib/expr/expr.h"
#include "lib/program/program.h"

/* ---- printing ---- */

/* f; with its callees before it, as an expr.module, when it calls any. */
void sci_print_function(sci_text *out, sc_context *cx, const sc_function *f);
/* The attributes and hint of a node in braces, nothing when it has none. */
void sci_print_attributes(sci_text *out, sc_context *cx, sci_id id);
void sci_print_program(sci_text *out, const sci_program *p);

/* ---- parsing: every problem is recorded with its place in the text, then the parser unwinds ---- */

typedef struct sci_source {
  const char *text;
  size_t size;
  const char *file; /* of diagnostics */
} sci_source;

/* The functions of a text in its order, in the scratch arena. Undoing what a failed parse made is the caller's business
 * (sci_context_rollback). */
uint32_t sci_parse_functions(sc_context *cx, sci_source source, sc_function ***out);
/* A verified program, deferred for cleanup as sci_program_create has it. */
sci_program *sci_parse_program(sc_context *cx, sci_source source);

#endif
