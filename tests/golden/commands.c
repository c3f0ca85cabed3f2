/* The commands of golden files: each turns a case's input into text, or fails with diagnostics. */
#include <string.h>

#include "tests/golden/golden.h"

/* ---- round trips: whatever is printed must parse back to itself ---- */

static golden_result differs(golden_job *job, const char *first, const char *second) {
  golden_put(job->out, first);
  golden_put(job->out, "---- parsed and printed again\n");
  golden_put(job->out, second);
  return GOLDEN_NO_ROUND_TRIP;
}

/* Puts the text of f; in a context of its own, the text must give the same function. */
static golden_result put_function(golden_job *job, const sc_function *f) {
  char *text = sc_print_function(f), *again = NULL;
  if (!text) return GOLDEN_FAILED;
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *m = sc_parse(cx, text, strlen(text), "printed");
  if (m) again = sc_print_function(sc_module_text_find(m, NULL));
  golden_result result = GOLDEN_OK;
  if (again && !strcmp(text, again))
    golden_put(job->out, text);
  else
    result = differs(job, text, again ? again : sc_context_error(cx)->message);
  sc_string_free(cx, again);
  sc_module_text_free(m);
  sc_context_destroy(cx);
  sc_string_free(job->cx, text);
  return result;
}

static golden_result put_program(golden_job *job, const sc_program *p) {
  char *text = sc_print_program(p), *again = NULL;
  if (!text) return GOLDEN_FAILED;
  sc_context *cx = sc_context_create(NULL);
  sc_program *q = sc_parse_program(cx, text, strlen(text), "printed");
  if (q) again = sc_print_program(q);
  golden_result result = GOLDEN_OK;
  if (again && !strcmp(text, again))
    golden_put(job->out, text);
  else
    result = differs(job, text, again ? again : sc_context_error(cx)->message);
  sc_string_free(cx, again);
  sc_program_destroy(q);
  sc_context_destroy(cx);
  sc_string_free(job->cx, text);
  return result;
}

/* ---- input ---- */

static sc_function *parse_function(golden_job *job, const char *name) {
  sc_module_text *m = sc_parse(job->cx, job->input, job->input_size, "input");
  sc_function *f = m ? sc_module_text_find(m, name) : NULL;
  sc_module_text_free(m);
  return f;
}

static sc_program *parse_program(golden_job *job) {
  return sc_parse_program(job->cx, job->input, job->input_size, "input");
}

/* The value of an option "key=value", or NULL. */
static const char *option(const golden_job *job, const char *key) {
  size_t n = strlen(key);
  for (int i = 1; i < job->n_words; i++)
    if (!strncmp(job->words[i], key, n) && job->words[i][n] == '=') return job->words[i] + n + 1;
  return NULL;
}

/* ---- commands ---- */

/* print [f=NAME] */
static golden_result run_print(golden_job *job) {
  sc_function *f = parse_function(job, option(job, "f"));
  return f ? put_function(job, f) : GOLDEN_FAILED;
}

/* verify [f=NAME] */
static golden_result run_verify(golden_job *job) {
  sc_function *f = parse_function(job, option(job, "f"));
  if (!f || sc_verify(f)) return GOLDEN_FAILED;
  golden_put(job->out, "ok\n");
  return GOLDEN_OK;
}

/* program */
static golden_result run_program(golden_job *job) {
  sc_program *p = parse_program(job);
  golden_result result = p ? put_program(job, p) : GOLDEN_FAILED;
  sc_program_destroy(p);
  return result;
}

static const golden_command commands[] = {
    {"print", run_print},
    {"verify", run_verify},
    {"program", run_program},
};

const golden_command *golden_find(const char *name) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(commands[i].name, name)) return &commands[i];
  return NULL;
}
