/* The compare command: one function through every way of compiling it here, timed and checked against the others. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/scaly/commands.h"
#include "tools/scaly/compilers.h"
#include "tools/scaly/measure.h"
#include "tools/scaly/model.h"
#include "tools/scaly/report.h"
#include "tools/scaly/values.h"

enum { MAX_ROWS = 1 + MAX_COMPILERS };

typedef struct row {
  const char *way, *tier; /* tier NULL: the way has none */
  const char *error;      /* NULL: it ran */
  sc_kernel *kernel;
  void **out;
  double compile_ms; /* to machine code, lowering not counted */
  double first_ms;   /* from the function to the first result */
  timing time;
  difference diff;
  bool compared; /* another row ran too */
} row;

typedef struct comparison {
  const arguments *args;
  model model;
  sc_lower_options lower;
  void **in; /* shared by all rows; NULL: not read yet */
  row rows[MAX_ROWS];
  size_t n;
  int64_t operations;
} comparison;

/* Takes the first diagnostic's message off the context. */
static const char *take_error(sc_context *cx) {
  const sc_diagnostic *d = sc_context_error(cx);
  const char *text = d ? pool_strndup(d->message, strlen(d->message)) : "out of memory";
  sc_context_clear_error(cx);
  return text;
}

static sc_kernel *compile_with(const comparison *c, const char *const *cc_argv, const char *const *flags) {
  if (!cc_argv) return model_jit(&c->model, &c->lower);
  sc_cc_options cc = {.compiler = cc_argv, .flags = flags, .lower = &c->lower};
  if (c->model.function) return sc_compile_cc(c->model.function, &cc);
  sc_program *p = model_lower(&c->model, &c->lower);
  sc_kernel *k = p ? sc_compile_cc_program(p, &cc) : NULL;
  sc_program_destroy(p);
  return k;
}

/* Compiles one row and calls it once. Of a program only a kernel tells the inputs, so the first one reads their values.
 * Returns an exit code: only wrong values end the comparison, what is missing for one row is that row's error. */
static int start_row(comparison *c, row *r, const char *const *cc_argv, const char *const *flags) {
  double start = now_ms();
  r->kernel = compile_with(c, cc_argv, flags);
  if (!r->kernel) {
    r->error = take_error(c->model.cx);
    return EXIT_OK;
  }
  double compiled = now_ms();
  int code = c->in ? EXIT_OK : read_inputs(&c->in, kernel_inputs(r->kernel), c->args, true);
  if (code != EXIT_OK) return code;
  r->out = make_outputs(r->kernel);
  double called = now_ms();
  int status = sc_kernel_call(r->kernel, (const void *const *)c->in, r->out, NULL);
  r->first_ms = compiled - start + (now_ms() - called);
  r->compile_ms = compiled - start - sc_kernel_times(r->kernel).lower;
  if (status != SC_KERNEL_SUCCESS) r->error = pool_printf("the kernel returned status %d", status);
  return EXIT_OK;
}

static int start_rows(comparison *c, const char *const *flags) {
  compiler found[MAX_COMPILERS];
  size_t n = find_compilers(found);
  for (size_t i = 0; i <= n; i++) {
    const compiler *with = i ? &found[i - 1] : NULL;
    if (with && !with->path && !strcmp(with->way, "tcc")) continue;
    row *r = &c->rows[c->n];
    *r = (row){.way = with ? with->way : "llvm", .tier = with ? NULL : "best"};
    progress("compiling: %s", r->way);
    int code = start_row(c, r, with ? with->argv : NULL, flags);
    c->n++;
    if (code != EXIT_OK) return code;
  }
  return EXIT_OK;
}

static void measure_rows(comparison *c) {
  for (size_t i = 0; i < c->n; i++) {
    row *r = &c->rows[i];
    if (r->error) continue;
    progress("measuring: %s", r->way);
    r->time = measure_calls(r->kernel, c->in, r->out);
    for (size_t j = 0; j < c->n; j++) {
      if (j == i || c->rows[j].error) continue;
      r->compared = true;
      widen_difference(&r->diff, r->kernel, r->out, c->rows[j].out);
    }
  }
  progress(NULL);
}

/* ---- output ---- */

static double gflops(const comparison *c, const row *r) {
  return r->time.ns > 0 ? (double)c->operations / r->time.ns : 0;
}

static const char *function_name(const comparison *c, const sc_kernel **any) {
  *any = NULL;
  for (size_t i = 0; i < c->n && !*any; i++) *any = c->rows[i].kernel;
  return *any ? sc_kernel_name(*any) : c->model.function ? sc_function_name(c->model.function) : "";
}

static size_t request_count(const comparison *c, const sc_kernel *any) {
  return any ? sc_kernel_output_count(any) : c->model.function ? sc_function_output_count(c->model.function) : 0;
}

static const char *request_name(const comparison *c, const sc_kernel *any, size_t i) {
  return any ? sc_kernel_output(any, i)->name : sc_function_output_name(c->model.function, i);
}

static void write_json_row(const comparison *c, const row *r) {
  printf("{\"way\": \"%s\", \"tier\": ", r->way);
  printf(r->tier ? "\"%s\"" : "null", r->tier);
  printf(", \"lanes\": 1, \"vector_libm\": \"none\"");
  const char *names[] = {"compile_ms", "first_ms", "code_bytes", "ns", "spread", "max_abs", "max_ulp", "gflops"};
  double values[8] = {r->compile_ms,  r->first_ms, 0,           r->time.ns,
                      r->time.spread, r->diff.abs, r->diff.ulp, gflops(c, r)};
  if (!r->error) values[2] = (double)sc_kernel_code_bytes(r->kernel);
  for (int i = 0; i < 8; i++) {
    printf(", \"%s\": ", names[i]);
    bool known = !r->error && (r->compared || (i != 5 && i != 6));
    if (known)
      write_json_double(values[i]);
    else
      fputs("null", stdout);
  }
  printf(", \"error\": ");
  if (r->error)
    write_json_string(r->error);
  else
    fputs("null", stdout);
  putchar('}');
}

static void write_json(const comparison *c) {
  const sc_kernel *any;
  printf("{\"function\": ");
  write_json_string(function_name(c, &any));
  printf(", \"requests\": [");
  for (size_t i = 0; i < request_count(c, any); i++) {
    if (i) fputs(", ", stdout);
    write_json_string(request_name(c, any, i));
  }
  printf("], \"rows\": [");
  for (size_t i = 0; i < c->n; i++) {
    if (i) fputs(", ", stdout);
    write_json_row(c, &c->rows[i]);
  }
  printf("]}\n");
}

static void write_table(const comparison *c) {
  const sc_kernel *any;
  printf("%s:", function_name(c, &any));
  for (size_t i = 0; i < request_count(c, any); i++) printf("%s %s", i ? "," : "", request_name(c, any, i));
  printf("; %" PRId64 " operations per call\n\n", c->operations);
  printf("%-6s %11s %10s %11s %12s %7s %9s %9s %8s\n", "way", "compile ms", "first ms", "code bytes", "ns per call",
         "spread", "max abs", "max ULP", "GFLOP/s");
  for (size_t i = 0; i < c->n; i++) {
    const row *r = &c->rows[i];
    if (r->error) {
      printf("%-6s %s\n", r->way, r->error);
      continue;
    }
    printf("%-6s %11.2f %10.2f %11zu %12.1f %6.1f%%", r->way, r->compile_ms, r->first_ms,
           sc_kernel_code_bytes(r->kernel), r->time.ns, 100 * r->time.spread);
    if (r->compared)
      printf(" %9.2g %9.3g", r->diff.abs, r->diff.ulp);
    else
      printf(" %9s %9s", "-", "-");
    printf(" %8.3f\n", gflops(c, r));
  }
}

/* ---- the command ---- */

static const char *const *compiler_flags(const arguments *args) {
  const char *level = option_value(args, "optimize"), *given = getenv("SCALY_CC_OPT");
  if (level) return split_words(pool_printf("-O%s", level));
  return given ? split_words(given) : NULL;
}

static int compare(const arguments *args) {
  static const char *const formats[] = {"table", "json", NULL}, *const levels[] = {"0", "1", "2", "3", NULL};
  int format = option_choice(args, "format", formats, 0);
  long long seed;
  if (format < 0 || option_choice(args, "optimize", levels, 0) < 0 || check_value_options(args, &seed) != EXIT_OK)
    return EXIT_USAGE;
  comparison c = {.args = args};
  sc_target target;
  if (!model_lower_options(args, &c.lower, &target)) return EXIT_USAGE;
  int code = model_open(&c.model, args);
  if (code != EXIT_OK) return code;
  if (c.model.function) code = read_inputs(&c.in, function_inputs(c.model.function), args, true);
  sc_program *p = code == EXIT_OK ? model_lower(&c.model, &c.lower) : NULL;
  if (p) {
    c.operations = sc_program_statistics(p).operations;
    sc_program_destroy(p);
    code = start_rows(&c, compiler_flags(args));
  } else if (code == EXIT_OK) {
    code = report_context(c.model.cx);
  }
  if (code == EXIT_OK) {
    measure_rows(&c);
    (format ? write_json : write_table)(&c);
    code = EXIT_ENVIRONMENT;
    for (size_t i = 0; i < c.n; i++)
      if (!c.rows[i].error) code = EXIT_OK;
    if (code != EXIT_OK) complain("no way of compiling worked");
  }
  for (size_t i = 0; i < c.n; i++) sc_kernel_release(c.rows[i].kernel);
  model_close(&c.model);
  return code;
}

static const option_spec options[] = {
    VALUES_OPTIONS,
    MODEL_OUT_OPTION,
    MODEL_VECTOR_OPTIONS,
    {"optimize", 'O', "LEVEL", "0 to 3: how the C compilers optimize. Default: SCALY_CC_OPT, else 2."},
    {"format", 0, "FORMAT", "table (default) or json."},
    {0},
};
const command_spec command_compare = {
    "compare",
    "FILE[:FUNCTION]",
    "Compiles a function in every way there is on this machine, and compares.",
    "Rows: llvm (in process), gcc, clang, tcc where there is one, and cc for another compiler that\n"
    "SCALY_CC, else CC, names. Inputs without --arg take the values of --seed (default 0).\n"
    "compile ms: from the lowered program to machine code, loading LLVM included. first ms: from the\n"
    "function to the first result. ns per call: median of calibrated repetitions; spread: their\n"
    "interquartile range by the median. max abs, max ULP: largest difference from any other row.\n",
    options,
    compare,
};
