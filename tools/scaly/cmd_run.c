/* The run command: compiles in process, calls once (or once per row of a batch), prints the outputs. */
#include <stdio.h>

#include "tools/scaly/batch.h"
#include "tools/scaly/cache_root.h"
#include "tools/scaly/commands.h"
#include "tools/scaly/model.h"
#include "tools/scaly/report.h"
#include "tools/scaly/values.h"

static void print_times(const sc_kernel *k) {
  sc_compile_times t = sc_kernel_times(k);
  const char *names[] = {"cache", "lower", "plugin", "target", "emit", "codegen", "link", "best"};
  const double ms[] = {t.cache, t.lower, t.plugin, t.target, t.emit, t.codegen, t.link, t.best};
  fputs("milliseconds:", stderr);
  for (int i = 0; i < 8; i++) fprintf(stderr, " %s %.3f", names[i], ms[i]);
  fputc('\n', stderr);
}

static int call_and_write(sc_kernel *k, void **in, const batch *rows, value_format format) {
  if (rows) {
    port_list ports;
    void **all;
    int code = batch_call(k, rows, in, &ports, &all);
    return code == EXIT_OK ? write_outputs(sc_kernel_name(k), ports, all, format) : code;
  }
  void **out = make_outputs(kernel_outputs(k));
  int status = sc_kernel_call(k, (const void *const *)in, out, NULL);
  if (status != SC_KERNEL_SUCCESS) {
    complain("the kernel returned status %d", status);
    return EXIT_ENVIRONMENT;
  }
  return write_outputs(sc_kernel_name(k), kernel_outputs(k), out, format);
}

/* What --tier, --rebuild and the environment say. */
static bool read_jit_options(const arguments *args, sc_jit_options *out) {
  static const char *const tiers[] = {"auto", "fast", "best", NULL};
  int tier = option_choice(args, "tier", tiers, SC_TIER_AUTO);
  *out = (sc_jit_options){.tier = (sc_tier)tier,
                          .cache_dir = sc_cache_available() ? cache_root() : NULL,
                          .rebuild = option_given(args, "rebuild")};
  return tier >= 0;
}

/* Values are read before compiling where the inputs are known by then, so that a mistake in them costs nothing. */
static int evaluate(const model *m, const arguments *args, const sc_lower_options *lower, const sc_jit_options *jit,
                    value_format format) {
  void **in = NULL;
  batch storage, *rows = option_given(args, "batch") ? &storage : NULL;
  int code =
      m->function && !m->n_requests ? read_inputs(&in, function_inputs(m->function), args, false, rows) : EXIT_OK;
  if (code != EXIT_OK) return code;
  sc_kernel *k = model_jit(m, lower, jit);
  if (!k) return report_context(m->cx);
  if (sc_kernel_warning(k)) fprintf(stderr, "scaly: warning: %s\n", sc_kernel_warning(k));
  if (!in) code = read_inputs(&in, kernel_inputs(k), args, false, rows);
  if (code == EXIT_OK) code = call_and_write(k, in, rows, format);
  if (option_given(args, "time")) print_times(k);
  sc_kernel_release(k);
  return code;
}

static int run(const arguments *args) {
  static const char *const formats[] = {"table", "json", "npy", NULL};
  int format = option_choice(args, "format", formats, FORMAT_TABLE);
  long long seed;
  if (format < 0 || check_value_options(args, &seed) != EXIT_OK) return EXIT_USAGE;
  sc_lower_options lower;
  sc_jit_options jit;
  sc_target target;
  if (!read_jit_options(args, &jit)) return EXIT_USAGE;
  if (!model_lower_options(args, &lower, &target)) return EXIT_USAGE;
  model m;
  int code = model_open_underived(&m, args);
  if (code != EXIT_OK) return code;
  code = evaluate(&m, args, &lower, &jit, (value_format)format);
  model_close(&m);
  return code;
}

static const option_spec options[] = {
    VALUES_OPTIONS,
    {"batch", 0, NULL,
     "Evaluates once per row of the inputs whose file has a leading axis: .npy with one more\ndimension, .csv with the "
     "values of a call in a line. The other inputs are the same in\nall calls; outputs get the leading axis too."},
    MODEL_OUT_OPTION,
    MODEL_VECTOR_OPTIONS,
    {"format", 0, "FORMAT", "table (default), json, or npy (one dense output)."},
    {"tier", 0, "TIER", "auto (default: best, or fast first where best takes long), fast, or best."},
    {"rebuild", 0, NULL, "Compile even if the cache has the code, and replace that."},
    {"time", 0, NULL, "Also print, on standard error, where the time to machine code went."},
    {0},
};
const command_spec command_run = {
    "run", "FILE[:FUNCTION]", "Compiles a function in process and evaluates it.", NULL, options, run,
};
