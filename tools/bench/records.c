/* Owns the list of measurements, and the ratios between ways. */
#include "tools/bench/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void copy(char *to, size_t size, const char *from) {
  snprintf(to, size, "%s", from ? from : "");
}

void add_record(records *r, const measurement *m, const wl_problem *p) {
  if (r->n == r->room) {
    size_t room = r->room ? 2 * r->room : 64;
    record *grown = realloc(r->all, room * sizeof *grown);
    if (!grown) return;
    r->all = grown;
    r->room = room;
  }
  record *to = &r->all[r->n++];
  *to = (record){.graph_ms = m->graph_ms,
                 .lower_ms = m->lower_ms,
                 .compile_ms = m->compile_ms,
                 .first_ms = m->first_ms,
                 .ns = m->ns,
                 .spread = m->spread,
                 .code_bytes = m->code_bytes,
                 .ops = m->ops,
                 .math_calls = m->math_calls,
                 .accesses = m->accesses};
  memcpy(to->sizes, p->size, sizeof to->sizes);
  copy(to->workload, sizeof to->workload, m->workload);
  copy(to->size, sizeof to->size, m->size);
  copy(to->kernel, sizeof to->kernel, m->kernel);
  copy(to->way, sizeof to->way, m->way);
  copy(to->tier, sizeof to->tier, m->tier);
  copy(to->gate, sizeof to->gate, m->gate);
}

void free_records(records *r) {
  free(r->all);
  *r = (records){0};
}

bool same_kernel(const record *a, const record *b) {
  return !strcmp(a->workload, b->workload) && !strcmp(a->size, b->size) && !strcmp(a->kernel, b->kernel);
}

const record *best_of(const records *r, const record *like, const char *way, const char *other) {
  const record *best = NULL;
  for (size_t i = 0; i < r->n; i++) {
    const record *one = &r->all[i];
    bool asked = !strcmp(one->way, way) || (other && !strcmp(one->way, other));
    if (asked && one->ns > 0 && same_kernel(one, like) && (!best || one->ns < best->ns)) best = one;
  }
  return best;
}

void for_each_kernel(const records *r, void (*each)(const records *r, const record *first, void *user), void *user) {
  for (size_t i = 0; i < r->n; i++) {
    bool seen = false;
    for (size_t k = 0; k < i && !seen; k++) seen = same_kernel(&r->all[k], &r->all[i]);
    if (!seen) each(r, &r->all[i], user);
  }
}

/* ---- ratios ---- */

typedef struct mean {
  double logs, worst;
  int n;
  char worst_name[128];
} mean;

typedef struct ratios {
  FILE *to;
  mean hand, process;
} ratios;

static double take(mean *m, const record *r, double over, double under) {
  double ratio = over / under;
  m->logs += log(ratio);
  m->n++;
  if (ratio > m->worst) {
    m->worst = ratio;
    snprintf(m->worst_name, sizeof m->worst_name, "%s %s %s", r->workload, r->size, r->kernel);
  }
  return ratio;
}

static void ratio_line(const records *r, const record *k, void *user) {
  ratios *t = user;
  const record *llvm = best_of(r, k, "llvm", NULL), *c = best_of(r, k, "gcc", "clang"),
               *hand = best_of(r, k, "hand", "openblas");
  if (!c || (!llvm && !hand)) return;
  fprintf(t->to, "%-10s %-12s %-17s", k->workload, k->size, k->kernel);
  if (llvm)
    fprintf(t->to, " %12.3f", take(&t->process, k, llvm->ns, c->ns));
  else
    fprintf(t->to, " %12s", "-");
  if (hand) fprintf(t->to, " %12.3f  %s %s", take(&t->hand, k, c->ns, hand->ns), hand->way, hand->tier);
  fputc('\n', t->to);
}

static void mean_line(FILE *to, const char *what, const mean *m) {
  if (m->n)
    fprintf(to, "%s: %.3f in the geometric mean of %d, at most %.3f (%s)\n", what, exp(m->logs / m->n), m->n, m->worst,
            m->worst_name);
}

void print_ratios(const records *r, FILE *to) {
  if (!r->n) return;
  ratios t = {.to = to};
  fprintf(to, "\n%-10s %-12s %-17s %12s %12s\n", "workload", "size", "kernel", "llvm / C", "C / hand");
  for_each_kernel(r, ratio_line, &t);
  mean_line(to, "in process / our C (the faster of gcc and clang)", &t.process);
  mean_line(to, "our C / the fastest by hand", &t.hand);
}

/* ---- passes ---- */

typedef struct pass_sum {
  const char *name;
  mean with;
  double least;
  char least_name[128];
} pass_sum;

enum { MAX_PASSES = 64 };
typedef struct pass_table {
  size_t n;
  pass_sum all[MAX_PASSES];
} pass_table;

static pass_sum *sum_of(pass_table *t, const char *name) {
  for (size_t i = 0; i < t->n; i++)
    if (!strcmp(t->all[i].name, name)) return &t->all[i];
  if (t->n == MAX_PASSES) return NULL;
  t->all[t->n] = (pass_sum){.name = name, .least = INFINITY};
  return &t->all[t->n++];
}

void print_passes(const records *r, FILE *to) {
  pass_table t = {0};
  for (size_t i = 0; i < r->n; i++) {
    const record *without = &r->all[i], *with = NULL;
    const char *name = strstr(without->tier, " -");
    if (strcmp(without->way, "llvm") || !name || without->ns <= 0) continue;
    for (size_t k = 0; k < r->n && !with; k++)
      if (same_kernel(&r->all[k], without) && !strcmp(r->all[k].way, "llvm") && !strchr(r->all[k].tier, ' '))
        with = &r->all[k];
    pass_sum *sum = sum_of(&t, name + 2);
    if (!with || with->ns <= 0 || !sum) continue;
    double ratio = take(&sum->with, without, without->ns, with->ns);
    if (ratio >= sum->least) continue;
    sum->least = ratio;
    snprintf(sum->least_name, sizeof sum->least_name, "%s %s %s, spread %.3f", without->workload, without->size,
             without->kernel, without->spread + with->spread);
  }
  if (!t.n) return;
  fprintf(to,
          "\nTime without a pass by the time with all (below 1: the pass slows that kernel)\n%-26s %8s %8s  %-44s %8s  "
          "%s\n",
          "pass", "mean", "most", "kernel", "least", "kernel");
  for (size_t i = 0; i < t.n; i++)
    fprintf(to, "%-26s %8.3f %8.3f  %-44s %8.3f  %s\n", t.all[i].name, exp(t.all[i].with.logs / t.all[i].with.n),
            t.all[i].with.worst, t.all[i].with.worst_name, t.all[i].least, t.all[i].least_name);
}
