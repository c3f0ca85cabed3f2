/* The toolchain command: what this build and machine can compile with, and what would bring what is missing. */
#include <stdio.h>
#include <string.h>

#include "tools/scaly/commands.h"
#include "tools/scaly/compilers.h"
#include "tools/scaly/model.h"
#include "tools/scaly/report.h"

static void print_target(void) {
  static const char *const isas[] = {"generic", "x86-64", "x86-64-v3", "x86-64-v4", "armv8-a", "armv7e-m"};
  sc_target t;
  if (sc_target_preset("native", &t) != SC_OK) {
    printf("%-8s could not be probed\n", "target");
    return;
  }
  printf("%-8s %s: %s, %d float64 lane%s, %d vector registers\n", "target", t.name, isas[t.isa], t.lanes,
         t.lanes == 1 ? "" : "s", t.vector_registers);
  printf("%-8s %s fused multiply-add (%d unit%s, latency %d), gathers %s, caches %d KiB and %d KiB\n", "",
         t.fast_fma ? "fast" : "no fast", t.fma_units, t.fma_units == 1 ? "" : "s", t.fma_latency,
         t.gathers_pay ? "pay" : "do not pay", t.l1_bytes / 1024, t.l2_bytes / 1024);
  printf("%-8s gcc %s, clang %s\n", "", *t.gcc_flags ? t.gcc_flags : "(no flags)",
         *t.clang_flags ? t.clang_flags : "(no flags)");
  printf("%-8s", "presets");
  for (size_t i = 0; i < sc_target_preset_count(); i++) printf("%s %s", i ? "," : "", sc_target_preset_name(i));
  putchar('\n');
}

/* The widest lanes of a type that this machine runs. */
static int widest(sc_dtype dtype) {
  sc_vector_routine r;
  int most = 0;
  for (size_t i = 0; sc_vector_routine_at(i, &r); i++)
    if (r.dtype == dtype && r.runs && r.installed && r.lanes > most) most = r.lanes;
  return most;
}

/* One line per operation and type: the routines of the widest lanes, and how far each may be off. */
static void print_routines(sc_dtype dtype) {
  int lanes = widest(dtype);
  sc_vector_routine first, r;
  for (size_t i = 0; sc_vector_routine_at(i, &first); i++) {
    bool is_first = first.dtype == dtype;
    for (size_t k = 0; is_first && k < i && sc_vector_routine_at(k, &r); k++)
      if (r.dtype == dtype && !strcmp(r.op, first.op)) is_first = false;
    if (!is_first) continue;
    printf("  %-7s %-8s %2d lanes: ", first.op, sc_dtype_name(dtype), lanes);
    int n = 0;
    for (size_t k = i; sc_vector_routine_at(k, &r); k++)
      if (r.dtype == dtype && r.lanes == lanes && r.installed && r.runs && !strcmp(r.op, first.op))
        printf("%s%s %g ULP", n++ ? ", " : "", r.name, r.max_ulp);
    printf("%s\n", n ? "" : "none");
  }
}

static void print_vector_math(void) {
  static const char *const libraries[][2] = {{"glibc", "no libmvec"}, {"sleef", "Debian: libsleef3"}};
  bool any = false;
  for (int i = 0; i < 2; i++) {
    const char *version = sc_vector_library_version(libraries[i][0]);
    if (version)
      printf("%-8s vector math, version %s\n", libraries[i][0], version);
    else
      printf("%-8s vector math missing (%s)\n", libraries[i][0], libraries[i][1]);
    any |= version != NULL;
  }
  if (!any || !widest(SC_FLOAT64)) return;
  printf("vector math, largest error over all arguments\n");
  print_routines(SC_FLOAT64);
  print_routines(SC_FLOAT32);
}

static int toolchain(const arguments *args) {
  (void)args;
  sc_context *cx = sc_context_create(NULL);
  if (!cx) {
    complain("out of memory");
    return EXIT_ENVIRONMENT;
  }
  const char *version = NULL;
  printf("%-8s %d.%d.%d\n", "scaly", SC_VERSION_MAJOR, SC_VERSION_MINOR, SC_VERSION_PATCH);
  if (sc_llvm_available(cx, NULL, &version))
    printf("%-8s %s, in process\n", "llvm", version ? version : "");
  else
    printf("%-8s missing: libscaly-llvm.so was not built or cannot be loaded (Debian: llvm-19-dev, then build again)\n",
           "llvm");
  sc_context_destroy(cx);
  compiler found[MAX_COMPILERS];
  size_t n = find_compilers(found);
  for (size_t i = 0; i < n; i++) {
    const compiler *c = &found[i];
    const char *says = c->path ? compiler_version(c) : NULL;
    if (c->path)
      printf("%-8s %s: %s\n", c->way, c->path, says ? says : "does not tell its version");
    else if (c->package)
      printf("%-8s missing (Debian: %s)\n", c->way, c->package);
    else
      printf("%-8s missing: %s, named by the environment, was not found\n", c->way, c->argv[0]);
  }
  print_target();
  print_vector_math();
  return EXIT_OK;
}

static const option_spec options[] = {{0}};
const command_spec command_toolchain = {
    "toolchain", NULL, "Tells what this machine can compile with, and what is missing.", NULL, options, toolchain,
};
