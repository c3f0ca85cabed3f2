/* Owns the tables of a run as a README shows them. */
#include <inttypes.h>
#include <string.h>

#include "tools/bench/records.h"

static const record *of_tier(const records *r, const record *like, const char *way, const char *tier) {
  for (size_t i = 0; i < r->n; i++)
    if (same_kernel(&r->all[i], like) && !strcmp(r->all[i].way, way) && !strcmp(r->all[i].tier, tier))
      return &r->all[i];
  return NULL;
}

/* Three digits, thousands apart. */
static void number(FILE *to, double v) {
  char digits[32];
  if (v < 100) {
    fprintf(to, " %.3g |", v);
    return;
  }
  int n = snprintf(digits, sizeof digits, "%.0f", v);
  fputc(' ', to);
  for (int i = 0; i < n; i++) {
    if (i && (n - i) % 3 == 0) fputc(',', to);
    fputc(i < 3 ? digits[i] : '0', to);
  }
  fputs(" |", to);
}

static void time_of(FILE *to, const record *r) {
  if (r && r->ns > 0)
    number(to, r->ns);
  else
    fputs(" |", to);
}

static void first_of(FILE *to, const record *a, const record *b) {
  double ms = a && a->first_ms > 0 ? a->first_ms : -1;
  if (b && b->first_ms > 0 && (ms < 0 || b->first_ms < ms)) ms = b->first_ms;
  if (ms > 0)
    number(to, ms);
  else
    fputs(" |", to);
}

static void row(const records *r, const record *k, void *user) {
  FILE *to = user;
  const record *best = of_tier(r, k, "llvm", "best");
  fprintf(to, "| %s%s%s `%s` |", k->workload, *k->size ? " " : "", k->size, k->kernel);
  time_of(to, best);
  time_of(to, of_tier(r, k, "gcc", "-O3"));
  time_of(to, of_tier(r, k, "clang", "-O3"));
  time_of(to, best_of(r, k, "hand", "openblas"));
  first_of(to, best, of_tier(r, k, "llvm", "fast"));
  first_of(to, of_tier(r, k, "gcc", "-O3"), NULL);
  if (best && best->code_bytes > 0)
    fprintf(to, " %" PRId64 " |\n", best->code_bytes);
  else
    fputs(" |\n", to);
}

void print_markdown(const settings *s, const records *r, FILE *to) {
  fprintf(to, "%s; %s; commit %s\n\n", s->machine, s->versions, s->commit);
  fputs("| kernel | in process, ns | gcc -O3, ns | clang -O3, ns | by hand, ns | first result in process, ms | through "
        "gcc -O3, ms | code "
        "in process, bytes |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n",
        to);
  for_each_kernel(r, row, to);
}

static void ratio(FILE *to, const record *a, const record *b) {
  if (a && b && a->ns > 0 && b->ns > 0)
    fprintf(to, " %.2f |", a->ns / b->ns);
  else
    fputs(" |", to);
}

/* Operations are those of one lane: what a nanosecond does tells lanes from scalars, and calls or memory from both. */
static void profile(const records *r, const record *k, void *user) {
  FILE *to = user;
  const record *best = of_tier(r, k, "llvm", "best"), *gcc = of_tier(r, k, "gcc", "-O3");
  const record *clang = of_tier(r, k, "clang", "-O3"), *ours = gcc;
  if (clang && (!ours || ours->ns <= 0 || (clang->ns > 0 && clang->ns < ours->ns))) ours = clang;
  if (!best || best->ns <= 0) return;
  fprintf(to, "| %s%s%s `%s` |", k->workload, *k->size ? " " : "", k->size, k->kernel);
  number(to, best->ns);
  ratio(to, best, ours);
  ratio(to, ours, best_of(r, k, "hand", "openblas"));
  number(to, (double)best->ops);
  number(to, (double)best->math_calls);
  number(to, (double)best->accesses);
  fprintf(to, " %.1f |\n", (double)best->ops / best->ns);
}

void print_profile(const settings *s, const records *r, FILE *to) {
  fprintf(to, "%s; %s; commit %s\n\n", s->machine, s->versions, s->commit);
  fputs("| kernel | in process, ns | / our C | our C / by hand | operations | math calls | loads and stores | "
        "operations per ns |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n",
        to);
  for_each_kernel(r, profile, to);
}
