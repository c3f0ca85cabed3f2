/* Runs golden files: each case has a RUN line, an input and the text that the command must give for it. tests/README.md
 * has the format. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden/golden.h"

enum { SKIPPED = 77 };

typedef struct golden_case {
  const char *start; /* the RUN line */
  char run[256];     /* the words behind "RUN: " */
  const char *input;
  size_t input_size;
  const char *expected; /* with what is behind it in the file up to the next case */
  size_t expected_size;
} golden_case;

/* ---- text ---- */

void golden_put_n(golden_text *t, const char *s, size_t n) {
  if (t->cap - t->n <= n) {
    t->cap = 2 * (t->cap + n) + 64;
    t->data = realloc(t->data, t->cap);
    if (!t->data) exit(2);
  }
  memcpy(t->data + t->n, s, n);
  t->n += n;
  t->data[t->n] = 0;
}

void golden_put(golden_text *t, const char *s) {
  golden_put_n(t, s, strlen(s));
}

static bool read_file(const char *path, golden_text *out) {
  char buf[1 << 16];
  size_t n;
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  golden_put(out, "");
  while ((n = fread(buf, 1, sizeof buf, f)) > 0) golden_put_n(out, buf, n);
  return !fclose(f);
}

static size_t trimmed(const char *s, size_t n) {
  while (n && (s[n - 1] == '\n' || s[n - 1] == ' ')) n--;
  return n;
}

/* ---- cases ---- */

static const char *next_line(const char *s) {
  const char *end = strchr(s, '\n');
  return end ? end + 1 : s + strlen(s);
}

static bool starts(const char *s, const char *prefix) {
  return !strncmp(s, prefix, strlen(prefix));
}

/* Cuts the next case off `*at`; false when nothing is left, or the file is malformed (`*at` then is not at its end). */
static bool next_case(const char **at, golden_case *c) {
  const char *s = *at;
  if (!starts(s, "RUN: ")) return false;
  const char *line = next_line(s);
  *c = (golden_case){.start = s, .input = line};
  snprintf(c->run, sizeof c->run, "%.*s", (int)trimmed(s + 5, (size_t)(line - s - 5)), s + 5);
  for (s = line; *s && !starts(s, "----\n"); s = next_line(s))
    if (starts(s, "RUN: ")) break;
  if (!starts(s, "----\n")) return false;
  c->input_size = (size_t)(s - c->input);
  c->expected = next_line(s);
  for (s = c->expected; *s && !starts(s, "RUN: "); s = next_line(s)) {
  }
  c->expected_size = (size_t)(s - c->expected);
  *at = s;
  return true;
}

/* ---- running ---- */

static void put_diagnostics(sc_context *cx, golden_text *out) {
  for (size_t i = 0; i < sc_context_diagnostic_count(cx); i++) {
    const sc_diagnostic *d = sc_context_diagnostic(cx, i);
    char place[64];
    snprintf(place, sizeof place, "%d:%d: ", d->line, d->column);
    if (d->line) golden_put(out, place);
    golden_put(out, sc_status_name(d->status));
    golden_put(out, ": ");
    golden_put(out, d->message);
    golden_put(out, "\n");
    if (!d->source) continue;
    golden_put(out, "  ");
    golden_put(out, d->source);
    golden_put(out, "\n  ");
    for (int k = 1; k < d->column; k++) golden_put(out, d->source[k - 1] == '\t' ? "\t" : " ");
    golden_put(out, "^\n");
  }
}

/* Words of the RUN line; the first is the command. */
static int split_words(char *run, const char *words[GOLDEN_MAX_WORDS]) {
  int n = 0;
  for (char *w = strtok(run, " "); w && n < GOLDEN_MAX_WORDS; w = strtok(NULL, " ")) words[n++] = w;
  return n;
}

/* NULL when the case has run, with its text in `out`; else what is wrong with it. */
static const char *run_case(const golden_case *c, golden_text *out, bool *skipped) {
  golden_job job = {.input = c->input, .input_size = c->input_size, .out = out};
  char run[sizeof c->run];
  strcpy(run, c->run);
  int first = 0, n = split_words(run, job.words);
  bool must_fail = n && !strcmp(job.words[0], "fail");
  if (must_fail) first = 1;
  const golden_command *command = n > first ? golden_find(job.words[first]) : NULL;
  job.n_words = n - first;
  memmove(job.words, job.words + first, (size_t)job.n_words * sizeof *job.words);
  const char *wrong = NULL;
  if (!command) {
    wrong = "the RUN line names no command";
  } else {
    job.cx = sc_context_create(NULL);
    golden_result result = command->run(&job);
    *skipped = result == GOLDEN_SKIPPED;
    if (result == GOLDEN_FAILED) put_diagnostics(job.cx, out);
    if (result == GOLDEN_FAILED && !sc_context_error(job.cx)) wrong = "it failed without a diagnostic";
    if (result == GOLDEN_NO_ROUND_TRIP) wrong = "what was printed does not parse back to itself";
    if (result == GOLDEN_MISUSED) wrong = "the words behind the command are not what it takes";
    if (result == GOLDEN_OK && must_fail) wrong = "it was expected to fail";
    if (result == GOLDEN_FAILED && !must_fail) wrong = "it failed";
    sc_context_destroy(job.cx);
  }
  return wrong;
}

static void show(const char *what, const char *s, size_t n) {
  printf("---- %s\n%.*s\n", what, (int)trimmed(s, n), s);
}

/* Runs all cases of a file and puts the file as it should be into `blessed`. Returns the exit status. */
static int run_file(const char *path, const golden_text *file, golden_text *blessed) {
  const char *at = file->data;
  golden_case c;
  int number = 0, status = 0;
  while (next_case(&at, &c)) {
    golden_text out = {0};
    bool skipped = false;
    number++;
    golden_put(&out, "");
    const char *wrong = run_case(&c, &out, &skipped);
    size_t n = trimmed(c.expected, c.expected_size), m = trimmed(out.data, out.n);
    bool same = n == m && !memcmp(out.data, c.expected, n);
    if (wrong || (!same && !skipped)) {
      printf("%s, case %d: RUN: %s: %s\n", path, number, c.run, wrong ? wrong : "the text differs");
      if (!same) show("expected", c.expected, c.expected_size);
      show("found", out.data, out.n);
      if (wrong || !status || status == SKIPPED) status = wrong ? 2 : 1;
    }
    golden_put_n(blessed, c.start, (size_t)(c.input + c.input_size - c.start));
    golden_put(blessed, "----\n");
    golden_put_n(blessed, skipped ? c.expected : out.data, skipped ? n : m);
    golden_put(blessed, *at ? "\n\n" : "\n");
    if (skipped && !status) status = SKIPPED;
    free(out.data);
  }
  if (!*at && number) return status;
  printf(
      "%s: malformed behind case %d: a case is a line \"RUN: ...\", an input, a line \"----\" and the expected text\n",
      path, number);
  return 2;
}

/* A text that differs is accepted; a case that went wrong in another way is not. */
static int bless(const char *path, const golden_text *file, const golden_text *blessed, int status) {
  if (status > 1 && status != SKIPPED) return status;
  if (file->n == blessed->n && !memcmp(file->data, blessed->data, file->n)) return 0;
  FILE *f = fopen(path, "wb");
  bool written = f && fwrite(blessed->data, 1, blessed->n, f) == blessed->n;
  if (f && fclose(f)) written = false;
  printf(written ? "%s: blessed\n" : "%s: could not be written\n", path);
  return written ? 0 : 2;
}

int main(int argc, char **argv) {
  const char *env = getenv("SC_BLESS");
  bool blessing = env && !strcmp(env, "1");
  int status = 0;
  for (int i = 1; i < argc; i++) {
    golden_text file = {0}, blessed = {0};
    int one = 2;
    golden_put(&blessed, "");
    if (!read_file(argv[i], &file))
      printf("%s: could not be read\n", argv[i]);
    else
      one = run_file(argv[i], &file, &blessed);
    if (blessing) one = bless(argv[i], &file, &blessed, one);
    if (one && (!status || status == SKIPPED)) status = one;
    free(file.data);
    free(blessed.data);
  }
  return status;
}
