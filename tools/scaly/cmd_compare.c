/* The compare command: one function through every way of compiling it here, timed and checked against the others. */
#include <stdlib.h>
#include <string.h>

#include "tools/scaly/commands.h"
#include "tools/scaly/compare.h"
#include "tools/scaly/compilers.h"
#include "tools/scaly/report.h"

enum { SAMPLES = 21 };
static const double sample_ms = 1;

/* ---- compiling ---- */

/* Takes the first diagnostic's message off the context. */
static const char *take_error(sc_context *cx) {
  const sc_diagnostic *d = sc_context_error(cx);
  const char *text = d ? pool_strndup(d->message, strlen(d->message)) : "out of memory";
  sc_context_clear_error(cx);
  return text;
}

/* One of our ways: in process at a tier, or through a compiler. */
typedef struct way {
  const char *name, *tier; /* tier NULL: the way has none */
  sc_tier level;
  const char *const *compiler, *const *flags; /* NULL: in process */
} way;

static sc_kernel *compile_with(const comparison *c, const way *w) {
  sc_jit_options jit = {.lower = &c->lower, .tier = w->level};
  bool plain = w->compiler && !strcmp(w->compiler[0], "tcc"); /* has no vectors */
  sc_cc_options cc = {
      .compiler = w->compiler, .flags = w->flags, .dialect = plain ? SC_DIALECT_C : SC_DIALECT_GNU, .lower = &c->lower};
  const sc_function *f = c->model.function;
  if (f) return w->compiler ? sc_compile_cc(f, &cc) : sc_jit(f, &jit);
  sc_program *p = model_lower(&c->model, &c->lower);
  sc_kernel *k = !p ? NULL : w->compiler ? sc_compile_cc_program(p, &cc) : sc_jit_program(p, &jit);
  sc_program_destroy(p);
  return k;
}

static void call_first(row *r, double spent_ms) {
  double start = wall_ms();
  int status = r->call.entry(r->call.in, r->call.out, r->call.iw, r->call.w, 0);
  r->first_ms = spent_ms + wall_ms() - start;
  if (status != SC_KERNEL_SUCCESS) r->error = pool_printf("the kernel returned status %d", status);
}

/* Compiles one row and calls it once. Of a program only a kernel tells the inputs, so the first one reads their values.
 * Returns an exit code: only wrong values end the comparison, what is missing for one row is that row's error. */
static int start_row(comparison *c, const way *w) {
  row *r = &c->rows[c->n++];
  *r = (row){.way = w->name, .tier = w->tier};
  progress("compiling: %s", r->way);
  double start = wall_ms();
  r->kernel = compile_with(c, w);
  if (!r->kernel) {
    r->error = take_error(c->model.cx);
    return EXIT_OK;
  }
  double spent = wall_ms() - start;
  r->compile_ms = spent - sc_kernel_times(r->kernel).lower;
  r->code_bytes = sc_kernel_code_bytes(r->kernel);
  r->lanes = c->lanes;
  r->vector_libm = c->vector_libm;
  if (!c->model.function && !c->in) {
    c->name = pool_printf("%s", sc_kernel_name(r->kernel));
    c->inputs = kernel_inputs(r->kernel);
    c->outputs = kernel_outputs(r->kernel);
  }
  int code = c->in ? EXIT_OK : read_inputs(&c->in, c->inputs, c->args, true, NULL);
  if (code != EXIT_OK) return code;
  r->call = (timed_call){sc_kernel_entry(r->kernel), (const void **)c->in, make_outputs(c->outputs),
                         pool_alloc_aligned(64, sc_kernel_workspace_bytes(r->kernel)), NULL};
  call_first(r, spent);
  return EXIT_OK;
}

static int start_rows(comparison *c, const compiler *found, size_t n, const char *const *flags) {
  int code = start_row(c, &(way){"llvm", "best", SC_TIER_BEST, NULL, NULL});
  if (code == EXIT_OK) code = start_row(c, &(way){"llvm", "fast", SC_TIER_FAST, NULL, NULL});
  for (size_t i = 0; i < n && code == EXIT_OK; i++)
    if (found[i].path || strcmp(found[i].way, "tcc"))
      code = start_row(c, &(way){found[i].way, NULL, SC_TIER_AUTO, found[i].argv, flags});
  return code;
}

/* ---- foreign modules ---- */

/* NAME=PATH or NAME=PATH:SYMBOL */
typedef struct rival {
  const char *name, *path, *symbol;
} rival;

static bool read_rival(const comparison *c, const char *text, rival *out) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1]) return false;
  model_path path = model_split_path(equals + 1);
  *out = (rival){pool_strndup(text, (size_t)(equals - text)), path.file, path.function ? path.function : c->name};
  return true;
}

/* Pointers for a module that wants more of them than there are values: the rest stay null. */
static void **widen_list(void **list, size_t n, size_t wanted) {
  void **wide = pool_alloc(wanted > n ? wanted : n, sizeof *wide);
  for (size_t i = 0; i < n; i++) wide[i] = list[i];
  return wide;
}

/* A module that does not say how much it needs gets four times what any of ours does, and a MiB at least. */
static size_t workspace_of(const comparison *c, const foreign *m) {
  size_t most = 1 << 18;
  for (size_t i = 0; i < c->n; i++)
    if (c->rows[i].kernel && sc_kernel_workspace_bytes(c->rows[i].kernel) > most)
      most = sc_kernel_workspace_bytes(c->rows[i].kernel);
  return m->w_bytes ? m->w_bytes : 4 * most;
}

static void start_rival(comparison *c, row *r, const rival *from, const compiler *with, const char *const *flags) {
  char why[1024];
  foreign_source source = {from->path, from->symbol, with ? with->argv : NULL, flags, NULL};
  double start = wall_ms();
  if (!c->in) {
    r->error = "no way of ours ran that would tell the inputs";
  } else if (!foreign_open(&r->module, &source, why, sizeof why)) {
    r->error = pool_strndup(why, strlen(why));
  } else {
    const foreign *m = &r->module;
    double spent = wall_ms() - start;
    r->compile_ms = m->compile_ms;
    r->code_bytes = m->code_bytes;
    void **out = widen_list(make_outputs(c->outputs), c->outputs.n, m->n_res);
    r->call = (timed_call){m->entry, (const void **)widen_list(c->in, c->inputs.n, m->n_arg), out,
                           pool_alloc_aligned(64, workspace_of(c, m)), pool_alloc_aligned(64, m->iw_bytes)};
    if (foreign_returns(&r->call, why, sizeof why))
      call_first(r, spent);
    else
      r->error = pool_strndup(why, strlen(why));
  }
}

static bool is_object(const char *path) {
  size_t n = strlen(path);
  return n > 3 && !strcmp(path + n - 3, ".so");
}

/* Sources go through gcc and clang each, so that compilers are compared with themselves; a shared object is what it is.
 */
static void start_rivals(comparison *c, const compiler *found, size_t n, const char *const *flags) {
  for (size_t i = 0; i < c->args->n_given; i++) {
    rival from;
    if (strcmp(c->args->given[i].name, "against") || !read_rival(c, c->args->given[i].value, &from)) continue;
    size_t before = c->n;
    for (size_t k = 0; k < n && c->n < MAX_ROWS; k++) {
      bool compiles = !is_object(from.path);
      if (compiles && (!found[k].path || !strcmp(found[k].way, "tcc"))) continue;
      row *r = &c->rows[c->n++];
      *r = (row){.way = from.name, .tier = compiles ? found[k].way : NULL};
      progress("compiling: %s", r->way);
      start_rival(c, r, &from, compiles ? &found[k] : NULL, flags);
      if (!compiles) break;
    }
    if (c->n == before && c->n < MAX_ROWS)
      c->rows[c->n++] = (row){.way = from.name, .error = "neither gcc nor clang is there to compile it"};
  }
}

/* ---- measuring ---- */

/* Foreign modules of which no row of ours has the values, but for rounding. */
static void mark_differing(comparison *c) {
  for (size_t i = 0; i < c->n; i++) {
    row *r = &c->rows[i];
    if (r->error || r->kernel) continue;
    bool ours = false, same = false;
    for (size_t j = 0; j < c->n && !same; j++) {
      if (c->rows[j].error || !c->rows[j].kernel) continue;
      ours = true;
      same = same_but_rounding(c->outputs, r->call.out, c->rows[j].call.out);
    }
    r->differs = ours && !same;
  }
}

static void measure_rows(comparison *c) {
  static double samples[MAX_ROWS][SAMPLES];
  long calls[MAX_ROWS] = {0};
  timing_pin();
  for (size_t i = 0; i < c->n; i++)
    if (!c->rows[i].error) calls[i] = timing_calibrate(&c->rows[i].call, sample_ms);
  for (int s = 0; s < SAMPLES; s++) {
    progress("measuring: %d of %d", s + 1, SAMPLES);
    for (size_t i = 0; i < c->n; i++)
      if (calls[i]) samples[i][s] = timing_sample(&c->rows[i].call, calls[i]);
  }
  mark_differing(c);
  for (size_t i = 0; i < c->n; i++) {
    row *r = &c->rows[i];
    if (r->error) continue;
    r->time = timing_of(samples[i], SAMPLES);
    for (size_t j = 0; j < c->n; j++) {
      if (j == i || c->rows[j].error || (c->rows[j].differs && r->kernel)) continue;
      r->compared = true;
      widen_difference(&r->diff, c->outputs, r->call.out, c->rows[j].call.out);
    }
  }
  progress(NULL);
}

/* ---- the command ---- */

static const char *const *compiler_flags(const arguments *args) {
  const char *level = option_value(args, "optimize"), *given = getenv("SCALY_CC_OPT");
  if (level) return split_words(pool_printf("-O%s", level));
  return given ? split_words(given) : NULL;
}

/* What a foreign module is compiled with: the same level, for this processor. */
static const char *const *rival_flags(const comparison *c, const char *const *flags) {
  const char *all = "";
  for (; flags && *flags; flags++) all = pool_printf("%s %s", all, *flags);
  return split_words(pool_printf("%s %s -fno-math-errno", *all ? all : "-O2", c->target.gcc_flags));
}

/* --cpu and --lanes: the target that everything is compiled for. */
static bool choose_target(comparison *c) {
  const char *cpu = option_value(c->args, "cpu");
  long long lanes = 0;
  if (!option_integer(c->args, "lanes", 1, 8, &lanes)) return false;
  if (lanes & (lanes - 1)) {
    usage_error("compare", "--lanes is 1, 2, 4 or 8");
    return false;
  }
  if (cpu || !c->lower.target) {
    if (sc_target_preset(cpu ? cpu : "native", &c->target) != SC_OK) {
      usage_error("compare", "--cpu: there is no target \"%s\"", cpu);
      return false;
    }
    c->lower.target = &c->target;
  }
  sc_target host;
  if (sc_target_preset("native", &host) == SC_OK && c->target.lanes > host.lanes) {
    usage_error("compare", "code for %s does not run on this processor", c->target.name);
    return false;
  }
  if (lanes && lanes < c->target.lanes) c->target.lanes = (int)lanes;
  return true;
}

/* Rows are told apart by their names. */
static bool name_is_free(const arguments *args, size_t given, const char *name) {
  static const char *const ours[] = {"llvm", "gcc", "clang", "tcc", "cc"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (!strcmp(name, ours[i])) return usage_error("compare", "--against: %s is the name of another row", name), false;
  for (size_t i = 0; i < given; i++)
    if (!strcmp(args->given[i].name, "against") && !strncmp(args->given[i].value, name, strlen(name)) &&
        args->given[i].value[strlen(name)] == '=')
      return usage_error("compare", "--against %s is given twice", name), false;
  return true;
}

static bool check_rivals(const comparison *c) {
  const arguments *args = c->args;
  rival one;
  for (size_t i = 0; i < args->n_given; i++) {
    if (strcmp(args->given[i].name, "against")) continue;
    if (!read_rival(c, args->given[i].value, &one))
      return usage_error("compare", "--against takes NAME=DIR, not \"%s\"", args->given[i].value), false;
    if (!name_is_free(args, i, one.name)) return false;
  }
  return true;
}

static bool check_plot(const arguments *args) {
  const char *plot = option_value(args, "plot"), *dot = plot ? strrchr(plot, '.') : NULL;
  if (!plot || (dot && (!strcmp(dot, ".svg") || !strcmp(dot, ".html")))) return true;
  usage_error("compare", "--plot writes FILE.svg or FILE.html, not \"%s\"", plot);
  return false;
}

static int open_model(comparison *c) {
  int code = model_open(&c->model, c->args);
  if (code != EXIT_OK || !c->model.function) return code;
  c->name = sc_function_name(c->model.function);
  c->inputs = function_inputs(c->model.function);
  c->outputs = function_outputs(c->model.function);
  return read_inputs(&c->in, c->inputs, c->args, true, NULL);
}

static int run_all(comparison *c) {
  compiler found[MAX_COMPILERS];
  size_t n = find_compilers(found);
  sc_program *p = model_lower(&c->model, &c->lower);
  if (!p) return report_context(c->model.cx);
  sc_program_stats stats = sc_program_statistics(p);
  const char *libm = option_value(c->args, "vector-libm");
  c->operations = stats.operations;
  c->lanes = stats.vector_loops ? c->target.lanes : 1;
  c->vector_libm = stats.vector_loops && stats.math_calls ? libm ? libm : "auto" : "none";
  sc_program_destroy(p);
  const char *const *flags = compiler_flags(c->args);
  int code = start_rows(c, found, n, flags);
  if (code != EXIT_OK) return code;
  start_rivals(c, found, n, rival_flags(c, flags));
  measure_rows(c);
  return EXIT_OK;
}

static int show(const comparison *c, bool json) {
  const char *plot = option_value(c->args, "plot");
  (json ? write_comparison_json : write_comparison_table)(c);
  if (!fastest_row(c)) {
    complain("no way of compiling worked");
    return EXIT_ENVIRONMENT;
  }
  return plot && !write_comparison_plot(c, plot) ? EXIT_ENVIRONMENT : EXIT_OK;
}

static int compare(const arguments *args) {
  static const char *const formats[] = {"table", "json", NULL}, *const levels[] = {"0", "1", "2", "3", NULL};
  int format = option_choice(args, "format", formats, 0);
  long long seed;
  if (format < 0 || option_choice(args, "optimize", levels, 0) < 0 || check_value_options(args, &seed) != EXIT_OK)
    return EXIT_USAGE;
  comparison *c = pool_alloc(1, sizeof *c);
  c->args = args;
  c->name = "";
  if (!model_lower_options(args, &c->lower, &c->target) || !choose_target(c) || !check_rivals(c) || !check_plot(args))
    return EXIT_USAGE;
  int code = open_model(c);
  if (code == EXIT_OK) code = run_all(c);
  if (code == EXIT_OK) code = show(c, format);
  for (size_t i = 0; i < c->n; i++) {
    sc_kernel_release(c->rows[i].kernel);
    foreign_close(&c->rows[i].module);
  }
  model_close(&c->model);
  return code;
}

static const option_spec options[] = {
    VALUES_OPTIONS,
    MODEL_OUT_OPTION,
    {"against", 0, "NAME=DIR",
     "Also a foreign C module for the same function: a folder of .c files or with one .so, or\n"
     "such a file, whose entry has the pointer interface of ours and the function's name;\n"
     "NAME=DIR:SYMBOL for another entry. May be repeated."},
    {"cpu", 0, "TARGET", "A target preset, as \"scaly toolchain\" lists them. Default: native."},
    {"lanes", 0, "N", "At most so many float64 lanes: 1, 2, 4 or 8."},
    MODEL_VECTOR_OPTIONS,
    {"optimize", 'O', "LEVEL", "0 to 3: how the C compilers optimize. Default: SCALY_CC_OPT, else 2."},
    {"format", 0, "FORMAT", "table (default) or json."},
    {"plot", 0, "FILE", "Also bars of the times and sizes: FILE.svg, or FILE.html."},
    {0},
};
const command_spec command_compare = {
    "compare",
    "FILE[:FUNCTION]",
    "Compiles a function in every way there is on this machine, and compares.",
    "Rows: llvm (in process), gcc, clang, tcc where there is one, and cc for another compiler that\n"
    "SCALY_CC, else CC, names. Inputs without --arg take the values of --seed (default 0).\n"
    "compile ms: from the lowered program to machine code, loading LLVM included. first ms: from the\n"
    "function to the first result. ns per call: median of calibrated repetitions that take turns;\n"
    "spread: their interquartile range by the median; to best: by the fastest row's. max abs,\n"
    "max ULP: largest difference from any other row; a foreign module whose values are not ours but\n"
    "for rounding is said to differ, cannot be the fastest, and is left out of our rows' differences.\n",
    options,
    compare,
};
