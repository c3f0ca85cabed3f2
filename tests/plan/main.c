/* Compares, for each file, the plan of its last function's program with those recovered from both backends' texts; then
 * damages the texts and expects the comparison to notice.
 *
 *   plan FILE... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/program/program.h"
#include "tests/plan/plan.h"

typedef struct job {
  const char *file;
  sc_context *cx;
  sc_program *p;
  char *expected, *llvm;
  sc_module *c;
  bool fma;
  int failures;
} job;

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 24);
  if (!f || !text || !fread(text, 1, (1 << 24) - 1, f)) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  fclose(f);
  return text;
}

static const char *why(const job *j) {
  const sc_diagnostic *d = sc_context_error(j->cx);
  return d ? d->message : "no reason given";
}

/* Whether the recovered plan is the program's; `expect_same` tells which answer is right. */
static void check(job *j, const char *what, plan *p, bool parsed, bool expect_same) {
  char *text = plan_text(p);
  bool same = parsed && !strcmp(text, j->expected);
  if (same != expect_same) {
    printf("%s: %s: %s\n", j->file, what,
           expect_same ? "another plan than the program's" : "the damage went unnoticed");
    if (expect_same) printf("---- program\n%s---- %s\n%s", j->expected, what, text);
    j->failures++;
  }
  free(text);
  plan_free(p);
}

static void check_c(job *j, const char *source, const char *what, bool expect_same) {
  plan p = {.fma = j->fma};
  bool parsed = plan_of_c(&p, source, sc_module_header(j->c), sc_module_name(j->c), &j->p->target);
  check(j, what, &p, parsed, expect_same);
}

static void check_llvm(job *j, const char *text, const char *what, bool expect_same) {
  plan p = {.fma = j->fma};
  bool parsed = plan_of_llvm(&p, text);
  check(j, what, &p, parsed, expect_same);
}

/* A copy with the first `from` at or behind `after` replaced. */
static char *damaged(job *j, const char *text, const char *after, const char *from, const char *to) {
  const char *start = strstr(text, after), *at = start ? strstr(start, from) : NULL;
  if (!at) {
    printf("%s: no \"%s\" to damage\n", j->file, from);
    j->failures++;
    return NULL;
  }
  char *copy = malloc(strlen(text) + strlen(to) + 1);
  if (!copy) abort();
  sprintf(copy, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return copy;
}

static void check_damage(job *j) {
  static const struct {
    const char *after, *from, *to;
  } c[] = {{"int ", "; ++i", "; i += 2, i"},
           {"for (", " = 0; ", " = 1; "},
           {"int ", " sin(", " fabs("},
           {"int ", "tanh(", "sinh("},
           {"\nint ", "cos(", "sin("}},
    llvm[] = {{"define", "phi i64 [ 0,", "phi i64 [ 1,"},
              {"define", "add nuw nsw i64 %i_eq, 1", "add nuw nsw i64 %i_eq, 2"},
              {"define", "@sin(", "@fabs("},
              {"define", "@tanh(", "@sinh("},
              {"define", "fmul double", "fmul <4 x double>"}};
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    char *text = damaged(j, sc_module_source(j->c), c[i].after, c[i].from, c[i].to);
    if (text) check_c(j, text, c[i].to, false);
    free(text);
  }
  for (size_t i = 0; j->llvm && i < sizeof llvm / sizeof *llvm; i++) {
    char *text = damaged(j, j->llvm, llvm[i].after, llvm[i].from, llvm[i].to);
    if (text) check_llvm(j, text, llvm[i].to, false);
    free(text);
  }
}

static bool make(job *j) {
  char *text = read_file(j->file);
  sc_module_text *m = sc_parse(j->cx, text, strlen(text), j->file);
  sc_function *f = m ? sc_module_text_find(m, NULL) : NULL;
  sc_module_text_free(m);
  free(text);
  sc_target target;
  sc_target_preset("native", &target);
  target.lanes = 1;
  j->p = f ? sc_lower(f, &(sc_lower_options){.target = &target}) : NULL;
  j->c = j->p ? sc_render_c_program(j->p, &(sc_c_options){.lanes = SC_LANES_1}) : NULL;
  if (!j->c) return false;
  j->fma = j->p->target.fast_fma;
#ifdef SCALY_TEST_LLVM
  j->llvm = sc_emit_llvm(j->p, SC_EMIT_LLVM, &(sc_jit_options){.plugin_dir = SCALY_TEST_PLUGIN_DIR}, NULL);
  if (!j->llvm) return false;
#endif
  plan p = {.fma = j->fma};
  plan_of_program(&p, j->p);
  j->expected = plan_text(&p);
  plan_free(&p);
  return true;
}

/* ---- lanes ---- */

/* The loops by several iterations that hold no other, in order: one line each. A single chunk is no loop everywhere, so
 * it is left out. */
static char *leaves_of(plan *p) {
  size_t cap = 128 * (size_t)(p->n + 1), n = 0;
  char *text = calloc(1, cap);
  for (int i = 0; text && i < p->n; i++) {
    const plan_node *node = &p->nodes[i];
    bool leaf =
        node->parent >= 0 && node->trips > 1 && node->step > 1 && (i + 1 == p->n || p->nodes[i + 1].parent != i);
    if (leaf)
      n += (size_t)snprintf(text + n, cap - n, "from %lld step %lld trips %lld lanes %d\n", (long long)node->start,
                            (long long)node->step, (long long)node->trips, node->lanes);
  }
  plan_free(p);
  return text;
}

static int compare_leaves(const char *file, const char *what, const char *expected, char *found, bool expect_same) {
  bool same = expected && found && !strcmp(expected, found);
  if (same != expect_same)
    printf("%s: lanes in %s: %s\n---- program\n%s---- found\n%s", file, what, expect_same ? "differ" : "unnoticed",
           expected, found);
  free(found);
  return same != expect_same;
}

/* The same loops in four lanes, in both backends; and one of them without. */
static int run_lanes(const char *file) {
  sc_context *cx = sc_context_create(NULL);
  char *text = read_file(file);
  sc_module_text *m = sc_parse(cx, text, strlen(text), file);
  sc_function *f = m ? sc_module_text_find(m, NULL) : NULL;
  free(text);
  sc_target target;
  sc_target_preset("native", &target);
  target.lanes = 4;
  sc_program *p = f ? sc_lower(f, &(sc_lower_options){.target = &target}) : NULL;
  int failures = p == NULL;
  plan expected = {0};
  if (p) plan_of_program(&expected, p);
  char *leaves = leaves_of(&expected);
  for (int scalar = 0; p && scalar < 2; scalar++) {
    sc_module *c = sc_render_c_program(p, &(sc_c_options){.lanes = scalar ? SC_LANES_1 : SC_LANES_4});
    plan found = {0};
    bool parsed = plan_of_c(&found, sc_module_source(c), sc_module_header(c), sc_module_name(c), &target);
    failures += !parsed + compare_leaves(file, "C", leaves, leaves_of(&found), !scalar || !strstr(leaves, "lanes 4"));
    sc_module_destroy(c);
  }
#ifdef SCALY_TEST_LLVM
  char *llvm = p ? sc_emit_llvm(p, SC_EMIT_LLVM, &(sc_jit_options){.plugin_dir = SCALY_TEST_PLUGIN_DIR}, NULL) : NULL;
  plan found = {0};
  if (llvm) failures += !plan_of_llvm(&found, llvm) + compare_leaves(file, "LLVM", leaves, leaves_of(&found), true);
  sc_string_free(cx, llvm);
#endif
  free(leaves);
  sc_program_destroy(p);
  sc_module_text_free(m);
  sc_context_destroy(cx);
  return failures;
}

static int run(const char *file, bool damage) {
  job j = {.file = file, .cx = sc_context_create(NULL)};
  if (make(&j)) {
    check_c(&j, sc_module_source(j.c), "C", true);
    if (j.llvm) check_llvm(&j, j.llvm, "LLVM", true);
    if (damage) check_damage(&j);
  } else {
    printf("%s: %s\n", file, why(&j));
    j.failures++;
  }
  free(j.expected);
  sc_string_free(j.cx, j.llvm);
  sc_module_destroy(j.c);
  sc_program_destroy(j.p);
  sc_context_destroy(j.cx);
  return j.failures;
}

int main(int argc, char **argv) {
  int failures = 0;
  for (int i = 1; i < argc; i++) failures += run(argv[i], i == 1) + run_lanes(argv[i]);
  printf("%d files, %d failures\n", argc - 1, failures);
  return failures || argc < 2;
}
