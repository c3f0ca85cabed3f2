/* Owns the measurement of whole processes: the command's first result, beside a program that does nothing. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/bench.h"

extern char **environ;

enum { TURNS = 21, QUICK_TURNS = 7, NOTHING = 0, EMPTY, FILLED, KINDS };
static const char *const kind_names[KINDS] = {"nothing", "empty cache", "filled cache"};

static const char function_text[] =
    "expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(add(sin(%x), mul(%x, %x))) }\n";

typedef struct place {
  char folder[256], function[300], cache[320];
} place;

/* Milliseconds to the end of the process; negative when it failed. */
static double run(char *const *argv) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid;
  int status = 1;
  double start = wall_ms();
  int error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
  if (!error) waitpid(pid, &status, 0);
  double ms = wall_ms() - start;
  posix_spawn_file_actions_destroy(&actions);
  return error || !WIFEXITED(status) || WEXITSTATUS(status) ? -1 : ms;
}

static double run_kind(place *p, int kind, int turn) {
  char *nothing[] = {"/bin/true", NULL},
       *command[] = {SCALY_BENCH_COMMAND, "run", p->function, "--arg", "x=1,2,3", NULL};
  snprintf(p->cache, sizeof p->cache, "%s/%d", p->folder, kind == EMPTY ? turn : -1);
  setenv("SCALY_CACHE_DIR", p->cache, 1);
  return run(kind == NOTHING ? nothing : command);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *where) {
  (void)s;
  (void)type;
  (void)where;
  return remove(path);
}

static bool prepare(place *p) {
  const char *temporary = getenv("TMPDIR");
  snprintf(p->folder, sizeof p->folder, "%.200s/scaly-bench-XXXXXX", temporary && *temporary ? temporary : "/tmp");
  if (!mkdtemp(p->folder)) return false;
  snprintf(p->function, sizeof p->function, "%s/f.scaly", p->folder);
  FILE *f = fopen(p->function, "w");
  return f && fputs(function_text, f) >= 0 && !fclose(f);
}

static void measure(void *user) {
  const settings *s = user;
  static double ms[KINDS][TURNS];
  int turns = s->quick ? QUICK_TURNS : TURNS;
  bool failed[KINDS] = {false};
  place p;
  if (!prepare(&p)) return;
  run_kind(&p, FILLED, 0); /* fills it */
  for (int t = 0; t < turns; t++)
    for (int k = 0; k < KINDS; k++) failed[k] |= (ms[k][t] = run_kind(&p, k, t)) < 0;
  nftw(p.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  for (int k = 0; k < KINDS; k++) {
    timing t = timing_of(ms[k], (size_t)turns);
    measurement m = no_measurement;
    m.workload = "process";
    m.size = "";
    m.kernel = kind_names[k];
    m.way = k == NOTHING ? "/bin/true" : "scaly run";
    m.first_ms = failed[k] ? -1 : t.ns;
    m.spread = t.spread;
    m.gate = failed[k] ? "failed" : "ok";
    print_measurement(s, &m);
  }
}

void bench_process(const settings *s) {
  settings copy = *s;
  if (wanted(s, "process", "", "first result")) in_child(measure, &copy);
}
