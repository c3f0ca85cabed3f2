/* The show command: a function at any stage of compilation, as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/scaly/commands.h"
#include "tools/scaly/graph.h"
#include "tools/scaly/model.h"
#include "tools/scaly/report.h"
#include "tools/scaly/spy.h"

enum { STAGE_EXPR, STAGE_LOWERED, STAGE_PROGRAM, STAGE_C, STAGE_LLVM, STAGE_ASM };
static const char *const stages[] = {"expr", "lowered", "program", "c", "llvm", "asm", NULL};

static void dump(void *user, const char *pass, const char *text) {
  (void)user;
  printf("// after %s\n%s\n", pass, text);
}

/* Prints and frees a text of the library; false when there is none. */
static bool put_text(sc_context *cx, char *text) {
  if (!text) return false;
  fputs(text, stdout);
  size_t n = strlen(text);
  if (n && text[n - 1] != '\n') putchar('\n');
  sc_string_free(cx, text);
  return true;
}

static void print_statistics(const sc_program *p) {
  sc_program_stats s = sc_program_statistics(p);
  const char *names[] = {"operations", "statements", "loops",           "vector loops", "procedures", "math calls",
                         "loads",      "stores",     "workspace bytes", "stack bytes",  "table bytes"};
  const int64_t values[] = {s.operations, s.statements, s.loops,           s.vector_loops, s.procedures, s.math_calls,
                            s.loads,      s.stores,     s.workspace_bytes, s.stack_bytes,  s.table_bytes};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) printf("%-20s %12" PRId64 "\n", names[i], values[i]);
  size_t n = sc_program_report_count(p);
  if (n) printf("\n%-20s %12s %10s\n", "pass", "changes", "ms");
  for (size_t i = 0; i < n; i++) {
    sc_pass_report r = sc_program_report(p, i);
    printf("%-20s %12" PRId64 " %10.3f\n", r.pass, r.changes, r.ms);
  }
}

/* How the derivative matrices of a function were found: one line each, those of mapped stages first. */
static void print_matrices(const sc_function *f) {
  enum { MOST = 100 };
  sc_matrix_report all[MOST];
  size_t n = sc_function_matrices(f, all, MOST);
  if (n)
    printf("\n%-28s %10s %10s %10s  %-13s %7s  %s\n", "matrix", "nonzeros", "eliminated", "compressed", "coloring",
           "colors", "order");
  for (size_t i = 0; i < n && i < MOST; i++) {
    const sc_matrix_report *r = &all[i];
    bool colored = r->method != SC_COLORING_AUTO;
    char name[600];
    snprintf(name, sizeof name, "%s.%s", r->function, r->output);
    printf("%-28s %10" PRId64 " %10" PRId64 " %10" PRId64 "  %-13s %7d  %s\n", name, r->nnz, r->eliminated,
           r->compressed, colored ? sc_coloring_method_name(r->method) : "none", r->column_colors + r->row_colors,
           colored ? sc_coloring_order_name(r->order) : "-");
  }
  if (n > MOST) printf("... and %zu more\n", n - MOST);
}

static bool show_c(const model *m, const sc_program *p, const sc_lower_options *lower) {
  sc_c_options c = {.lower = lower};
  sc_module *module = p ? sc_render_c_program(p, &c) : sc_render_c(m->function, &c);
  if (module) fputs(sc_module_source(module), stdout);
  sc_module_destroy(module);
  return module;
}

static bool show_llvm(const model *m, const sc_program *p, sc_emit kind) {
  size_t size;
  return put_text(m->cx, sc_emit_llvm(p, kind, NULL, &size));
}

/* A stage after the expression dialect, or the statistics of the program. */
static bool show_program(const model *m, const arguments *args, int stage, const sc_lower_options *lower) {
  /* A module for shipping is lowered for its own target, not for this machine. */
  if (stage == STAGE_C && m->function && !option_given(args, "stats")) return show_c(m, NULL, lower);
  sc_program *p = model_lower(m, lower);
  if (!p) return false;
  bool ok = true;
  if (option_given(args, "stats"))
    print_statistics(p), print_matrices(m->function);
  else if (option_given(args, "after"))
    ok = true; /* the dumps are the output */
  else if (stage == STAGE_C)
    ok = show_c(m, p, lower);
  else if (stage == STAGE_LLVM || stage == STAGE_ASM)
    ok = show_llvm(m, p, stage == STAGE_LLVM ? SC_EMIT_LLVM : SC_EMIT_ASM);
  else
    ok = put_text(m->cx, sc_print_program(p));
  sc_program_destroy(p);
  return ok;
}

/* Which picture is wanted instead of a stage. False after a complaint that one excludes the other. */
static bool choose_picture(const arguments *args, const char **out) {
  static const char *const pictures[] = {"dot", "svg", "spy"};
  *out = NULL;
  for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
    if (!option_given(args, pictures[i])) continue;
    if (*out) return usage_error(args->command, "--%s and --%s exclude each other", *out, pictures[i]), false;
    *out = pictures[i];
  }
  return true;
}

static bool draw(const sc_function *f, const char *picture, int *code) {
  if (!strcmp(picture, "spy")) return *code = write_spy(f), true;
  return strcmp(picture, "svg") ? write_dot(f) : write_svg(f);
}

static int show(const arguments *args) {
  int stage = option_choice(args, "stage", stages, STAGE_PROGRAM);
  const char *drawn;
  if (stage < 0 || !choose_picture(args, &drawn)) return EXIT_USAGE;
  sc_lower_options lower;
  sc_target target;
  if (!model_lower_options(args, &lower, &target)) return EXIT_USAGE;
  if (stage == STAGE_LOWERED) lower.passes = "none";
  lower.dump_after = option_value(args, "after");
  lower.dump = dump;
  model m;
  int code = model_open(&m, args);
  if (code != EXIT_OK) return code;
  bool of_graph = drawn || (stage == STAGE_EXPR && !option_given(args, "stats") && !lower.dump_after);
  if (of_graph && !m.function) {
    complain("%s holds a program: it has no expression graph to show", m.file);
    code = EXIT_INPUT;
  } else {
    bool ok = drawn      ? draw(m.function, drawn, &code)
              : of_graph ? put_text(m.cx, sc_print_function(m.function))
                         : show_program(&m, args, stage, &lower);
    if (!ok) code = report_context(m.cx);
  }
  model_close(&m);
  return code;
}

static const option_spec options[] = {
    {"stage", 0, "STAGE", "expr, lowered (before the passes), program (default, after them), c, llvm or asm."},
    {"after", 0, "PASS", "The program after each run of this pass, or of \"all\" of them."},
    {"passes", 0, "LIST", "-NAME,-NAME... switches passes off; none: no passes at all."},
    {"bisect", 0, "N", "Stops after the first N pass runs."},
    {"stats", 0, NULL,
     "Operations, loops, math calls, memory, time per pass, and how sparse derivatives were found, instead of text."},
    {"dot", 0, NULL, "The expression graph in the dot language of Graphviz."},
    {"svg", 0, NULL, "The expression graph as a picture, operands above what uses them."},
    {"spy", 0, NULL,
     "The pattern of every sparse output, a character per entry (* stored, . not), or per\nsquare of entries where the "
     "matrix is large (+: some of them are stored)."},
    MODEL_OUT_OPTION,
    MODEL_VECTOR_OPTIONS,
    {0},
};
const command_spec command_show = {
    "show", "FILE[:FUNCTION]", "Prints a function at any stage of compilation.", NULL, options, show,
};
