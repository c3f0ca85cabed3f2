/* Owns the public functions that print and parse the text of both dialects. */
#include "scaly/text.h"

#include "lib/api/enter.h"
#include "lib/text/text.h"

struct sc_module_text {
  sc_context *cx;
  uint32_t n;
  sc_function *functions[];
};

/* ---- printing ---- */

char *sc_print_function(const sc_function *f) {
  if (!f) return NULL;
  sc_context *cx = f->cx;
  sci_call_frame e;
  if (!SCI_ENTER(cx, &e)) return NULL;
  sci_text text;
  sci_text_init_out(&text, &cx->env);
  sci_print_function(&text, cx, f);
  char *out = sci_text_take(&text);
  sci_return(cx, &e);
  return out;
}

char *sc_expr_attributes(sc_expr a) {
  if (!a.cx) return NULL;
  sci_call_frame e;
  if (!SCI_ENTER(a.cx, &e)) return NULL;
  sci_text text;
  sci_text_init_out(&text, &a.cx->env);
  sci_print_attributes(&text, a.cx, sci_handle(a.cx, a));
  char *out = sci_text_take(&text);
  sci_return(a.cx, &e);
  return out;
}

char *sc_print_program(const sc_program *p) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  sci_text text;
  sci_text_init_out(&text, env);
  sci_print_program(&text, p);
  char *out = sci_text_take(&text);
  sci_leave(env, &fr);
  return out;
}

/* ---- parsing ---- */

static sci_source source_of(sc_context *cx, const char *text, size_t length, const char *file) {
  if (!text && length) sci_fail(&cx->env, SC_ERR_ARGUMENT, "there is no text");
  const char *begin = text ? text : "";
  size_t mark = length >= 3 && !memcmp(begin, "\xEF\xBB\xBF", 3) ? 3 : 0; /* what some editors put before UTF-8 */
  return (sci_source){begin + mark, length - mark, file ? file : "<text>"};
}

sc_module_text *sc_parse(sc_context *cx, const char *text, size_t length, const char *file) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return NULL;
  sc_function **functions;
  uint32_t n = sci_parse_functions(cx, source_of(cx, text, length, file), &functions);
  sc_module_text *m = sci_raw(&cx->env, NULL, 0, sizeof *m + n * sizeof *functions);
  m->cx = cx;
  m->n = n;
  memcpy(m->functions, functions, n * sizeof *functions);
  sci_return(cx, &e);
  return m;
}

sc_program *sc_parse_program(sc_context *cx, const char *text, size_t length, const char *file) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return NULL;
  sci_program *p = sci_parse_program(cx, source_of(cx, text, length, file));
  sci_keep(&cx->env, p);
  sci_return(cx, &e);
  return p;
}

size_t sc_module_text_count(const sc_module_text *m) {
  return m ? m->n : 0;
}

sc_function *sc_module_text_function(const sc_module_text *m, size_t i) {
  return m && i < m->n ? m->functions[i] : NULL;
}

static sc_function *find(const sc_module_text *m, const char *name) {
  sci_env *env = &m->cx->env;
  sci_text known;
  sci_text_init(&known, &env->scratch);
  for (uint32_t i = 0; i < m->n; i++) {
    if (!strcmp(m->functions[i]->name, name)) return m->functions[i];
    sci_putf(&known, "%s%s", i ? ", " : "", m->functions[i]->name);
  }
  sci_fail(env, SC_ERR_NAME, "the text has no function \"%.64s\" (there are: %s)", name, known.data);
}

sc_function *sc_module_text_find(const sc_module_text *m, const char *name) {
  if (!m) return NULL;
  if (!name) return m->functions[m->n - 1];
  sci_call_frame e;
  if (!SCI_ENTER(m->cx, &e)) return NULL;
  sc_function *f = find(m, name);
  sci_return(m->cx, &e);
  return f;
}

void sc_module_text_free(sc_module_text *m) {
  if (m) sci_raw_free(&m->cx->env, m, sizeof *m + m->n * sizeof *m->functions);
}
