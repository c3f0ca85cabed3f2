/* What the two levels of the program parser tell each other: a procedure's parameters as the text has them. */
#ifndef SCI_TEXT_PROG_MODULE_H
#define SCI_TEXT_PROG_MODULE_H

#include "lib/text/prog_text.h"

typedef enum sci_role { SCI_ROLE_UNSAID, SCI_ROLE_INPUT, SCI_ROLE_OUTPUT } sci_role;

typedef struct sci_text_param {
  const char *name, *where;
  sci_stated_type type;
  sci_role role;
  bool written;
  sci_buf buf;
} sci_text_param;

typedef struct sci_text_proc {
  SCI_VEC(sci_text_param) params;
} sci_text_proc;

/* Notes that a parameter, or the one that an alias is part of, is written. */
void sci_text_proc_wrote(sci_text_proc *proc, const sci_store *s, sci_buf b);
/* A procedure read before; fails when there is none, and silently when it had problems. */
uint32_t sci_find_callee(sci_prog_parser *e, const sci_token *name);
/* From behind the procedure's name to its closing brace. */
const sci_proc *sci_parse_proc_body(sci_prog_parser *e, const sci_token *name, sci_text_proc *out);

#endif
