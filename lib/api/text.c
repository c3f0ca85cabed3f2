/* Owns the public functions that print and parse the text of both dialects. */
#include "lib/text/text.h"

#include "scaly/text.h"

char *sc_print_function(const sc_function *f) {
  if (!f) return NULL;
  sc_context *cx = f->cx;
  sci_frame fr;
  if (!SCI_TRY(&cx->env, &fr)) return NULL;
  sci_text text;
  sci_text_init(&text, &cx->env.scratch);
  sci_print_function(&text, cx, f);
  char *out = sci_text_dup(&cx->env, &text);
  sci_leave(&cx->env, &fr);
  return out;
}

char *sc_expr_attributes(sc_expr a) {
  if (!sc_expr_op(a)) return NULL;
  sci_frame fr;
  if (!SCI_TRY(&a.cx->env, &fr)) return NULL;
  sci_text text;
  sci_text_init(&text, &a.cx->env.scratch);
  sci_print_attributes(&text, a.cx, a.id);
  char *out = sci_text_dup(&a.cx->env, &text);
  sci_leave(&a.cx->env, &fr);
  return out;
}

char *sc_print_program(const sc_program *p) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  sci_text text;
  sci_text_init(&text, &env->scratch);
  sci_print_program(&text, p);
  char *out = sci_text_dup(env, &text);
  sci_leave(env, &fr);
  return out;
}
