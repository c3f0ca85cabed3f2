/* The assembly text of both dialects: canonical printing and lenient parsing. */
#ifndef SCALY_TEXT_H
#define SCALY_TEXT_H

#include "scaly/function.h"

SC_BEGIN_DECLS

/* The canonical text of f and its callees (callees first). NULL on failure; free with sc_string_free. */
SC_API char *sc_print_function(const sc_function *f);

/* Parses a text of one or more expression functions into `cx`. `file` names the text in diagnostics (NULL: "<text>").
 * Reports every function's problems; on any problem returns NULL and leaves no function behind.
 * Otherwise returns a module of the functions in the order of the text. */
typedef struct sc_module_text sc_module_text;
SC_API sc_module_text *sc_parse(sc_context *cx, const char *text, size_t length, const char *file);
SC_API size_t sc_module_text_count(const sc_module_text *m);
SC_API sc_function *sc_module_text_function(const sc_module_text *m, size_t i);
/* By name; NULL name: the last function. NULL with a diagnostic listing the names when there is none. */
SC_API sc_function *sc_module_text_find(const sc_module_text *m, const char *name);
SC_API void sc_module_text_free(sc_module_text *m); /* the functions stay in the context */

SC_END_DECLS

#endif
