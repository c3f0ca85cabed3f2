/* Owns the running of the pipeline: switches, bisection, dumps, verification, counts and times. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "lib/passes/passes.h"
#include "lib/text/text.h"

typedef struct pass {
  const char *name;
  bool needed, rounding;
  sci_program *(*run)(const sci_program *p, int64_t *changes);
} pass;

static const pass pipeline[] = {
#define SCI_PASS(name, needed, rounding) {#name, needed, rounding, sci_pass_##name},
#include "lib/passes/passes.def"
#undef SCI_PASS
};
enum { N_PASSES = sizeof pipeline / sizeof *pipeline };

#ifdef NDEBUG
enum { VERIFY_ALWAYS = 0 };
#else
enum { VERIFY_ALWAYS = 1 };
#endif

static int find(const char *name, size_t n) {
  for (int i = 0; i < N_PASSES; i++)
    if (strlen(pipeline[i].name) == n && !memcmp(pipeline[i].name, name, n)) return i;
  return -1;
}

static const char *pass_list(sci_env *env) {
  sci_text t;
  sci_text_init(&t, &env->scratch);
  for (int i = 0; i < N_PASSES; i++) {
    if (i) sci_put(&t, ", ");
    sci_put(&t, pipeline[i].name);
  }
  return t.data;
}

/* Fills off[] from "-name,-name" or "none". */
static void read_switches(sci_env *env, const char *text, bool off[N_PASSES]) {
  bool none = text && !strcmp(text, "none");
  for (int i = 0; i < N_PASSES; i++) off[i] = none;
  if (!text || none) return;
  while (*text) {
    size_t n = strcspn(text, ",");
    if (n) {
      int at = text[0] == '-' ? find(text + 1, n - 1) : -1;
      if (at < 0)
        sci_fail(env, SC_ERR_NAME, "passes: '%.*s' is no switch; a pass is switched off by -name, name one of: %s",
                 (int)n, text, pass_list(env));
      if (pipeline[at].needed)
        sci_fail(env, SC_ERR_NAME, "passes: %s cannot be switched off, backends rely on it", pipeline[at].name);
      off[at] = true;
    }
    text += n + (text[n] == ',');
  }
}

static void check_dump(sci_env *env, const char *name) {
  if (!name || !strcmp(name, "all") || !strcmp(name, "lower") || find(name, strlen(name)) >= 0) return;
  sci_fail(env, SC_ERR_NAME, "dump_after: there is no pass '%s'; there are: all, lower, %s", name, pass_list(env));
}

void sci_dump_stage(const sci_program *p, const sc_lower_options *options, const char *stage) {
  if (!options || !options->dump || !options->dump_after) return;
  if (strcmp(options->dump_after, "all") && strcmp(options->dump_after, stage)) return;
  sci_env *env = p->store->env;
  sci_arena_mark here = sci_arena_here(&env->scratch);
  sci_text text;
  sci_text_init(&text, &env->scratch);
  sci_print_program(&text, p);
  options->dump(options->dump_user, stage, text.data);
  sci_arena_release(&env->scratch, here);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void drop(sci_program *p) {
  sci_keep(p->store->env, p);
  sci_program_free(p);
}

/* Runs one pass on *p, which it replaces, and reports. */
static void run(const pass *x, sci_program **p, bool verify, sc_pass_report *report) {
  sci_env *env = (*p)->store->env;
  sci_arena_mark here = sci_arena_here(&env->scratch);
  int64_t changes = 0;
  double start = now_ms();
  sci_program *next = x->run(*p, &changes);
  *report = (sc_pass_report){x->name, changes, now_ms() - start};
  sci_arena_release(&env->scratch, here);
  if (next) {
    drop(*p);
    *p = next;
  }
  if (next && verify) sci_program_check(next);
}

sci_program *sci_run_passes(const sci_program *given, const sc_lower_options *options) {
  static const sc_lower_options defaults = {0};
  const sc_lower_options *o = options ? options : &defaults;
  sci_env *env = given->store->env;
  bool off[N_PASSES];
  read_switches(env, o->passes, off);
  check_dump(env, o->dump_after);
  sci_program *p = sci_program_with(given, given->n_procs, given->procs);
  sc_pass_report *reports = SCI_ARRAY(&p->store->arena, sc_pass_report, N_PASSES);
  size_t n = 0;
  int64_t left = o->bisect > 0 ? o->bisect : o->bisect < 0 ? 0 : INT64_MAX;
  for (int i = 0; i < N_PASSES; i++) {
    const pass *x = &pipeline[i];
    if (!x->needed && (off[i] || !left || (x->rounding && p->rounding == SC_ROUNDING_STRICT))) continue;
    if (left) left--;
    run(x, &p, o->verify_each || VERIFY_ALWAYS, &reports[n++]);
    sci_dump_stage(p, o, x->name);
  }
  p->reports = reports;
  p->n_reports = n;
  return p;
}

sci_program *sci_finish_program(const sci_program *given) {
  sci_program *p = sci_program_with(given, given->n_procs, given->procs);
  p->reports = given->reports;
  p->n_reports = given->n_reports;
  for (int i = 0; i < N_PASSES; i++) {
    sc_pass_report report;
    const sc_pass_report *reports = p->reports;
    size_t n = p->n_reports;
    if (pipeline[i].needed) run(&pipeline[i], &p, VERIFY_ALWAYS, &report);
    p->reports = reports;
    p->n_reports = n;
  }
  return p;
}

sci_program *sci_pass_each(const sci_program *p, sci_proc_fn fn, void *user) {
  sci_env *env = p->store->env;
  const sci_proc **procs = SCI_ARRAY(&env->scratch, const sci_proc *, p->n_procs);
  bool same = true;
  for (uint32_t i = 0; i < p->n_procs; i++) {
    procs[i] = fn(p, p->procs[i], user);
    same &= procs[i] == p->procs[i];
  }
  if (same) return NULL;
  const sci_proc **kept = SCI_ARRAY(&p->store->arena, const sci_proc *, p->n_procs);
  memcpy(kept, procs, p->n_procs * sizeof *procs);
  return sci_program_with(p, p->n_procs, kept);
}
