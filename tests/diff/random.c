/* Runs random functions through every evaluator and compiler: random [--seed S] [--count N] [--compilers K] [--toggles
 * K]
 * [--replay FILE [--function NAME]] [--save FOLDER]. Every K-th function also goes through gcc and clang, several in
 * one module, or through the pipeline with each pass left out. A failure is shrunk, printed with the command that
 * replays it, and written to a file of the current folder. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/diff/diff.h"

enum { BATCH = 12, MOST_PORTS = 12 };

typedef struct settings {
  uint64_t seed;
  int64_t count;
  int64_t compilers, toggles; /* one in how many; 0: none */
  bool no_shrink;
  const char *replay, *function, *program, *save;
} settings;

typedef struct attempt {
  uint64_t seed;
  diff_checks checks;
  bool isolate; /* it crashes: check in a child */
  char why[1024];
} attempt;

/* Runs body(user) in a child; true when that ends with status 0. */
static bool child_succeeds(int (*body)(void *), void *user) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int status = body(user);
    fflush(NULL);
    _exit(status);
  }
  int status;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

typedef struct candidate {
  const sc_function *f;
  const attempt *a;
} candidate;

static int check_candidate(void *user) {
  const candidate *c = user;
  char why[1024];
  return !diff_check(c->f, c->a->seed, &c->a->checks, why, sizeof why);
}

static bool fails(const sc_function *f, void *user) {
  candidate c = {f, user};
  return c.a->isolate ? !child_succeeds(check_candidate, &c) : check_candidate(&c) != 0;
}

static void report(const settings *s, sc_function *f, attempt *a) {
  sc_context *cx = sc_function_context(f);
  char path[64];
  printf("seed %" PRIu64 ": %s\n", a->seed, a->why);
  if (!s->no_shrink) f = diff_shrink(f, fails, a);
  if (!a->isolate) diff_check(f, a->seed, &a->checks, a->why, sizeof a->why);
  char *text = sc_print_function(f);
  snprintf(path, sizeof path, "diff-%" PRIu64 ".scaly", a->seed);
  FILE *file = text ? fopen(path, "wb") : NULL;
  if (file) {
    fputs(text, file);
    fclose(file);
  }
  printf("shrunk: %s\n%sreplay: %s --replay %s --seed %" PRIu64 "%s\n", a->why, text ? text : "(cannot be printed)\n",
         s->program, path, a->seed, a->checks.way[DIFF_GCC] ? " --compilers 1" : "");
  if (text) sc_string_free(cx, text);
  fflush(stdout);
}

/* One in four is a derivative. */
static sc_function *function_of(sc_context *cx, uint64_t seed) {
  return seed % 4 ? diff_random_function(cx, seed, "f") : diff_random_derivative(cx, seed, "f");
}

static diff_checks checks_of(const settings *s, uint64_t i) {
  diff_checks c = {.text = true, .optimize = "-O1"};
  c.way[DIFF_JIT] = diff_way_exists(DIFF_JIT);
  c.way[DIFF_FAST] = true; /* what it knows without LLVM, if there is none */
  c.toggles = s->toggles && i % (uint64_t)s->toggles == 0;
  return c;
}

/* One function calling all of a batch, so that a compiler is started once for many. */
static sc_function *joined(sc_context *cx, sc_function *const *all, int n) {
  static char names[2 * BATCH * MOST_PORTS][48];
  sc_named in[BATCH * MOST_PORTS], out[BATCH * MOST_PORTS];
  size_t n_in = 0, n_out = 0;
  for (int i = 0; i < n; i++) {
    sc_expr args[MOST_PORTS];
    for (size_t k = 0; k < sc_function_input_count(all[i]); k++) {
      sc_expr formal = sc_function_input(all[i], k);
      char *name = names[n_in];
      snprintf(name, sizeof names[0], "f%d_x%zu", i, k);
      args[k] = sc_input(cx, name, sc_expr_dtype(formal), sc_expr_rank(formal), sc_expr_shape(formal));
      in[n_in++] = (sc_named){name, args[k], NULL};
    }
    for (size_t k = 0; k < sc_function_output_count(all[i]); k++) {
      char *name = names[BATCH * MOST_PORTS + n_out];
      snprintf(name, sizeof names[0], "f%d_y%zu", i, k);
      out[n_out++] = (sc_named){name, sc_call(all[i], args, sc_function_input_count(all[i]), k), NULL};
    }
  }
  return sc_function_create(cx, "all", in, n_in, out, n_out);
}

static int compile_batch(const settings *s, sc_context *cx, sc_function *const *all, const uint64_t *seeds, int n) {
  attempt a = {.seed = seeds[0], .checks = {.optimize = "-O1"}};
  a.checks.way[DIFF_GCC] = diff_way_exists(DIFF_GCC);
  a.checks.way[DIFF_CLANG] = diff_way_exists(DIFF_CLANG);
  a.checks.way[DIFF_JIT] = diff_way_exists(DIFF_JIT);
  a.checks.way[DIFF_FAST] = true;
  sc_function *f = joined(cx, all, n);
  if (!f) {
    printf("joining functions: %s\n", sc_context_error(cx)->message);
    return 1;
  }
  if (diff_check(f, a.seed, &a.checks, a.why, sizeof a.why)) return 0;
  /* One of them alone is easier to shrink than all together. */
  for (int i = 0; i < n; i++) {
    attempt one = a;
    one.seed = seeds[i];
    if (diff_check(all[i], one.seed, &one.checks, one.why, sizeof one.why)) continue;
    report(s, all[i], &one);
    return 1;
  }
  report(s, f, &a);
  return 1;
}

/* What a run has come to, in memory shared with the parent, which goes on after a crash. */
typedef struct progress {
  const settings *s;
  uint64_t done; /* functions */
  int failures;
} progress;

/* The function being checked when the run crashed, again and in children. */
static void report_crash(const settings *s, uint64_t i) {
  sc_context *cx = sc_context_create(NULL);
  attempt a = {.seed = s->seed + i, .checks = checks_of(s, i), .isolate = true, .why = "crash"};
  sc_function *f = function_of(cx, a.seed);
  if (f && fails(f, &a))
    report(s, f, &a);
  else
    printf("seed %" PRIu64 ": crash that does not repeat, or in a batch that ends here\n", a.seed);
  sc_context_destroy(cx);
}

static int run_random(void *user) {
  progress *state = user;
  const settings *s = state->s;
  int n = 0;
  sc_function *batch[BATCH];
  uint64_t seeds[BATCH];
  sc_context *cx = sc_context_create(NULL);
  for (uint64_t i = state->done; i < (uint64_t)s->count; i++) {
    attempt a = {.seed = s->seed + i, .checks = checks_of(s, i)};
    bool compile = s->compilers && i % (uint64_t)s->compilers == 0;
    if (n == 0) {
      sc_context_destroy(cx);
      cx = sc_context_create(NULL);
    }
    state->done = i;
    sc_function *f = function_of(cx, a.seed);
    if (!f) {
      const sc_diagnostic *d = sc_context_error(cx);
      printf("seed %" PRIu64 ": building: %s\n", a.seed, d ? d->message : "no diagnostic");
      sc_context_clear_error(cx);
      state->failures++;
    } else if (!diff_check(f, a.seed, &a.checks, a.why, sizeof a.why)) {
      report(s, f, &a);
      state->failures++;
    } else if (compile) {
      seeds[n] = a.seed;
      batch[n++] = f;
    }
    if (n == BATCH || (n && i + 1 == (uint64_t)s->count)) {
      state->failures += compile_batch(s, cx, batch, seeds, n);
      n = 0;
    }
  }
  sc_context_destroy(cx);
  return 0;
}

/* Nothing is checked: the functions, as diff-SEED.scaly, for what checks them elsewhere. */
static int save_all(const settings *s) {
  int failures = 0;
  for (uint64_t i = 0; i < (uint64_t)s->count; i++) {
    char path[4096];
    sc_context *cx = sc_context_create(NULL);
    sc_function *f = function_of(cx, s->seed + i);
    char *text = f ? sc_print_function(f) : NULL;
    snprintf(path, sizeof path, "%s/diff-%" PRIu64 ".scaly", s->save, s->seed + i);
    FILE *file = text ? fopen(path, "wb") : NULL;
    failures += !file || fputs(text, file) < 0;
    if (file) fclose(file);
    if (text) sc_string_free(cx, text);
    sc_context_destroy(cx);
  }
  return failures != 0;
}

static int run_all(const settings *s) {
  progress *state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (state == MAP_FAILED) return 1;
  *state = (progress){.s = s};
  while (!child_succeeds(run_random, state)) {
    report_crash(s, state->done++);
    state->failures++;
  }
  printf("%" PRId64 " functions from seed %" PRIu64 ", %d failures\n", s->count, s->seed, state->failures);
  return state->failures != 0;
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = file ? malloc(1 << 24) : NULL;
  if (text) text[ *size = fread(text, 1, (1 << 24) - 1, file)] = 0;
  if (file) fclose(file);
  return text;
}

static int run_replay(const settings *s) {
  size_t size = 0;
  char *text = read_file(s->replay, &size);
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *m = text ? sc_parse(cx, text, size, s->replay) : NULL;
  sc_function *f = m ? sc_module_text_find(m, s->function) : NULL;
  int failed = 1;
  if (!f) {
    printf("%s: %s\n", s->replay, sc_context_error(cx) ? sc_context_error(cx)->message : "cannot be read");
  } else {
    attempt a = {.seed = s->seed, .checks = checks_of(s, 0)};
    a.checks.way[DIFF_GCC] = s->compilers && diff_way_exists(DIFF_GCC);
    a.checks.way[DIFF_CLANG] = s->compilers && diff_way_exists(DIFF_CLANG);
    failed = !diff_check(f, a.seed, &a.checks, a.why, sizeof a.why);
    printf("%s\n", failed ? a.why : "all agree");
  }
  if (m) sc_module_text_free(m);
  sc_context_destroy(cx);
  free(text);
  return failed;
}

int main(int argc, char **argv) {
  settings s = {.seed = 1, .count = 500, .compilers = 4, .toggles = 5, .program = argv[0]};
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(argv[i], "--no-shrink")) {
      s.no_shrink = true;
      continue;
    }
    if (!value) {
      fprintf(stderr, "%s: unknown option or missing value\n", argv[i]);
      return 2;
    }
    if (!strcmp(argv[i], "--seed"))
      s.seed = strtoull(value, NULL, 10);
    else if (!strcmp(argv[i], "--count"))
      s.count = strtoll(value, NULL, 10);
    else if (!strcmp(argv[i], "--compilers"))
      s.compilers = strtoll(value, NULL, 10);
    else if (!strcmp(argv[i], "--toggles"))
      s.toggles = strtoll(value, NULL, 10);
    else if (!strcmp(argv[i], "--replay"))
      s.replay = value;
    else if (!strcmp(argv[i], "--function"))
      s.function = value;
    else if (!strcmp(argv[i], "--save"))
      s.save = value;
    else {
      fprintf(stderr, "%s: unknown option\n", argv[i]);
      return 2;
    }
    i++;
  }
  return s.save ? save_all(&s) : s.replay ? run_replay(&s) : run_all(&s);
}
