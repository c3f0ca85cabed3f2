/* The export command: writes a function as a C module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/scaly/commands.h"
#include "tools/scaly/model.h"
#include "tools/scaly/overwrite.h"
#include "tools/scaly/report.h"

/* A triple stands for the processor that every machine of its kind is; one of --cpu must be of that kind. */
static bool apply_triple(const arguments *args, bool emits, const char **cpu) {
  static const struct {
    const char *begins;
    sc_isa first, last;
    const char *least;
  } kinds[] = {{"x86_64", SC_ISA_X86_64, SC_ISA_X86_64_V4, "x86-64"},
               {"aarch64", SC_ISA_ARMV8_A, SC_ISA_ARMV8_A, "armv8-a"}};
  const char *triple = option_value(args, "triple");
  if (!triple) return true;
  if (!emits) return usage_error(args->command, "--triple goes with --emit"), false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strncmp(triple, kinds[i].begins, strlen(kinds[i].begins)) != 0 || !strstr(triple, "linux")) continue;
    sc_target t;
    if (!*cpu) *cpu = kinds[i].least;
    if (sc_target_preset(*cpu, &t) != SC_OK || (t.isa >= kinds[i].first && t.isa <= kinds[i].last)) return true;
    return usage_error(args->command, "--cpu %s is no processor of %s", *cpu, triple), false;
  }
  return usage_error(args->command, "--triple is x86_64-linux-gnu or aarch64-linux-gnu, not \"%s\"", triple), false;
}

static int export(const arguments *args) {
  static const char *const lanes[] = {"auto", "1", "2", "4", "8", NULL}, *const dialects[] = {"gnu", "c", NULL},
                           *const roundings[] = {"default", "strict", NULL}, *const langs[] = {"c", "cpp", NULL},
                           *const casadis[] = {"off", "on", "derivatives", NULL}, *const emits[] = {"c",   "obj",
                                                                                                    "asm", "llvm",
                                                                                                    "bc",  NULL};
  static const sc_emit emit_values[] = {SC_EMIT_OBJ, SC_EMIT_OBJ, SC_EMIT_ASM, SC_EMIT_LLVM, SC_EMIT_BITCODE};
  static const sc_lanes lane_values[] = {SC_LANES_AUTO, SC_LANES_1, SC_LANES_2, SC_LANES_4, SC_LANES_8};
  int lane = option_choice(args, "lanes", lanes, 0);
  int dialect = lane < 0 ? -1 : option_choice(args, "dialect", dialects, SC_DIALECT_GNU);
  int rounding = dialect < 0 ? -1 : option_choice(args, "rounding", roundings, SC_ROUNDING_DEFAULT);
  int lang = rounding < 0 ? -1 : option_choice(args, "lang", langs, SC_LANG_C);
  int casadi = lang < 0 ? -1 : option_choice(args, "casadi", casadis, SC_CASADI_OFF);
  int emit = casadi < 0 ? -1 : option_choice(args, "emit", emits, 0);
  if (emit < 0) return EXIT_USAGE;
  sc_c_options c = {
      .name = option_value(args, "name"),
      .cpu = option_value(args, "cpu"),
      .lanes = lane_values[lane],
      .dialect = (sc_dialect)dialect,
      .rounding = (sc_rounding)rounding,
      .lang = (sc_lang)lang,
      .casadi = (sc_casadi)casadi,
      .untyped = option_given(args, "untyped"),
      .prefix = option_value(args, "prefix"),
  };
  if (!apply_triple(args, emit != 0, &c.cpu)) return EXIT_USAGE;
  if (!model_vector_options(args, &c.vector_libm, &c.vector_accuracy)) return EXIT_USAGE;
  const char *folder = option_value(args, "output");
  if (!folder) folder = ".";
  model m;
  int code = model_open(&m, args);
  if (code != EXIT_OK) return code;
  sc_module *module;
  if (emit)
    module = m.program ? sc_render_llvm_program(m.program, &c, emit_values[emit], NULL)
                       : sc_render_llvm(m.function, &c, emit_values[emit], NULL);
  else
    module = m.program ? sc_render_c_program(m.program, &c) : sc_render_c(m.function, &c);
  /* What a whole function has may change when its text does: only a selection is compared. */
  if (module && !c.name && option_given(args, "out") && export_would_clash(module, folder, c.prefix))
    code = EXIT_ENVIRONMENT;
  else if (module && sc_module_write(module, folder) == SC_OK) {
    printf("%s/%s\n%s/%s\n", folder, sc_module_source_name(module), folder, sc_module_header_name(module));
  } else if (module) {
    complain("%s", sc_module_error(module));
    code = EXIT_ENVIRONMENT;
  } else {
    code = report_context(m.cx);
  }
  sc_module_destroy(module);
  model_close(&m);
  return code;
}

static const option_spec options[] = {
    {"output", 'o', "DIR", "An existing folder for the two files. Default: the current one."},
    MODEL_OUT_OPTION,
    {"name", 0, "NAME",
     "Name of the entry and the files. Default: the function's, which then\ndoes not replace an export of other "
     "outputs."},
    {"cpu", 0, "CPU", "Processor the module is for. Default: generic, any."},
    {"lanes", 0, "N", "1, 2, 4, 8, or auto (default): what the compiler's target offers."},
    {"dialect", 0, "DIALECT", "gnu (default: vector extensions of gcc and clang) or c (any C99 compiler)."},
    {"rounding", 0, "ROUNDING",
     "default (same bits from every compiler on one target) or strict\n(no fused multiply-add: same bits on every "
     "target)."},
    {"lang", 0, "LANG", "Language of the header: c (default) or cpp (C++17). The source is C either way."},
    VECTOR_LIBM_OPTION("none, as a module depends on libm only unless told otherwise"),
    VECTOR_ACCURACY_OPTION,
    {"emit", 0, "KIND", "c (default), or through LLVM, with the same header: obj, asm, llvm, bc."},
    {"triple", 0, "TRIPLE",
     "With --emit: the machine, x86_64-linux-gnu or aarch64-linux-gnu. Default: that\nof --cpu, else this one."},
    {"casadi", 0, "MODE",
     "off (default), on (the queries of CasADi external functions; matrices\ncolumn-major) or derivatives (with jac_F, "
     "fwd1_F "
     "and adj1_F)."},
    {"prefix", 0, "PREFIX", "Put before every external symbol and macro."},
    {"untyped", 0, NULL, "Leave the typed buffers and the _call helper out of the header."},
    {0},
};
const command_spec command_export = {
    "export", "FILE[:FUNCTION]", "Writes a function as a C module: one source file and one header.",
    NULL,     options,           export,
};
