/* Owns the chain of 1,000,000 operations: no stage may need a deep stack. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"

#ifdef __SANITIZE_ADDRESS__
enum { LENGTH = 50000, STACK = 1024 * 1024 }; /* frames and time are several times larger */
#else
enum { LENGTH = 1000000, STACK = 256 * 1024 };
#endif

static sc_function *chain(sc_context *cx) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), c = sc_scalar(cx, 0.25), y = x;
  for (int k = 0; k < LENGTH; k++) y = k % 3 == 0 ? sc_mul(y, x) : k % 3 == 1 ? sc_add(y, c) : sc_neg(y);
  return sc_function_create(cx, "chain", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
}

static const char *pipeline(sc_context *cx) {
  const char *failed = NULL;
  sc_function *f = chain(cx);
  if (!f) return "building";
  if (sc_verify(f) != SC_OK) return "verifying";
  char *text = sc_print_function(f);
  if (!text) return "printing";
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  sc_function *g = m ? sc_module_text_find(m, NULL) : NULL;
  sc_program *p = g ? sc_lower(g, NULL) : NULL;
  sc_module *c = p ? sc_render_c_program(p, NULL) : NULL;
  if (!g)
    failed = "parsing";
  else if (!p)
    failed = "lowering";
  else if (!c)
    failed = "rendering";
  else if (strlen(sc_module_source(c)) < LENGTH)
    failed = "rendering everything";
  if (c) sc_module_destroy(c);
  if (p) sc_program_destroy(p);
  if (m) sc_module_text_free(m);
  sc_string_free(cx, text);
  return failed;
}

static void *run(void *failed) {
  sc_context *cx = sc_context_create(NULL);
  *(const char **)failed = pipeline(cx);
  if (*(const char **)failed && sc_context_error(cx)) fprintf(stderr, "%s\n", sc_context_error(cx)->message);
  sc_context_destroy(cx);
  return NULL;
}

Test(chain, a_million_operations_on_a_small_stack, .timeout = 120) {
  pthread_attr_t attr;
  pthread_t thread;
  const char *failed = "starting";
  cr_assert_eq(pthread_attr_init(&attr), 0);
  cr_assert_eq(pthread_attr_setstacksize(&attr, STACK), 0);
  cr_assert_eq(pthread_create(&thread, &attr, run, &failed), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attr);
  cr_expect_null(failed, "%s fails", failed);
}
