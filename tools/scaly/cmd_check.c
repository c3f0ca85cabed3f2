/* The check command: an exported module against what it declares, with libclang. */
#include <stdio.h>

#include "tools/scaly/commands.h"
#include "tools/scaly/model.h"
#include "tools/scaly/report.h"

static int check(const arguments *args) {
  sc_context *cx = sc_context_create(NULL);
  if (!cx) {
    complain("out of memory");
    return EXIT_ENVIRONMENT;
  }
  size_t entries = 0;
  int code = EXIT_OK;
  if (sc_check_module(cx, args->operand, NULL, &entries) == SC_OK)
    printf("%s: %zu entr%s, no problems\n", args->operand, entries, entries == 1 ? "y" : "ies");
  else
    code = report_context(cx);
  sc_context_destroy(cx);
  return code;
}

static const option_spec options[] = {{0}};
const command_spec command_check = {
    "check", "FILE.c", "Checks an exported module: compiles cleanly, and source and header agree.",
    NULL,    options,  check,
};
