/* What the golden runner's two halves share: jobs, results and the table of commands. */
#ifndef TESTS_GOLDEN_GOLDEN_H
#define TESTS_GOLDEN_GOLDEN_H

#include <stddef.h>

#include "scaly/scaly.h"

enum { GOLDEN_MAX_WORDS = 16 };

typedef struct golden_text {
  char *data;
  size_t n, cap;
} golden_text;
void golden_put_n(golden_text *t, const char *s, size_t n);
void golden_put(golden_text *t, const char *s);

typedef enum golden_result {
  GOLDEN_OK,
  GOLDEN_FAILED,        /* the context has the diagnostics, which are the case's text */
  GOLDEN_SKIPPED,       /* this build has not what the command needs */
  GOLDEN_NO_ROUND_TRIP, /* print -> parse -> print changed the text; `out` has both */
  GOLDEN_MISUSED,
} golden_result;

typedef struct golden_job {
  sc_context *cx;
  const char *words[GOLDEN_MAX_WORDS]; /* the command, then its options */
  int n_words;
  const char *input;
  size_t input_size;
  golden_text *out;
} golden_job;

typedef struct golden_command {
  const char *name;
  golden_result (*run)(golden_job *job);
} golden_command;
const golden_command *golden_find(const char *name);

#endif
