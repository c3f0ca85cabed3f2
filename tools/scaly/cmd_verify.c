/* The verify command: checks a text file and reports every problem. */
#include <stdio.h>
#include <string.h>

#include "tools/scaly/commands.h"
#include "tools/scaly/model.h"
#include "tools/scaly/report.h"

/* Functions of the text, or -1 with diagnostics in the context. */
static long verify_functions(sc_context *cx, const char *text, size_t size, const char *file) {
  sc_module_text *module = sc_parse(cx, text, size, file);
  if (!module) return -1;
  bool ok = true;
  size_t n = sc_module_text_count(module);
  for (size_t i = 0; i < n; i++) ok &= sc_verify(sc_module_text_function(module, i)) == SC_OK;
  sc_module_text_free(module);
  return ok ? (long)n : -1;
}

static int verify(const arguments *args) {
  const char *file = strcmp(args->operand, "-") ? args->operand : "<stdin>";
  size_t size;
  char *text = read_file(args->operand, &size);
  if (!text) return EXIT_INPUT;
  sc_context *cx = sc_context_create(NULL);
  if (!cx) {
    complain("out of memory");
    return EXIT_ENVIRONMENT;
  }
  int code = EXIT_OK;
  if (model_is_program(text, size)) {
    sc_program *p = sc_parse_program(cx, text, size, file);
    if (p)
      printf("%s: a program, no problems\n", file);
    else
      code = report_context(cx);
    sc_program_destroy(p);
  } else {
    long n = verify_functions(cx, text, size, file);
    if (n >= 0)
      printf("%s: %ld function%s, no problems\n", file, n, n == 1 ? "" : "s");
    else
      code = report_context(cx);
  }
  sc_context_destroy(cx);
  return code;
}

static const option_spec options[] = {{0}};
const command_spec command_verify = {
    "verify", "FILE", "Checks a text file of either dialect and reports every problem.", NULL, options, verify,
};
