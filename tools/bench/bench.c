/* The benchmark driver. Measures building, the long chain and the workloads; every timing of a kernel is taken only
 * after its result agrees with the right one. */
#include "tools/bench/bench.h"

#include "tools/bench/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const measurement no_measurement = {.lanes = -1,
                                    .graph_ms = -1,
                                    .lower_ms = -1,
                                    .compile_ms = -1,
                                    .first_ms = -1,
                                    .ns = -1,
                                    .spread = -1,
                                    .code_bytes = -1,
                                    .workspace = -1,
                                    .ops = -1,
                                    .math_calls = -1,
                                    .accesses = -1,
                                    .peak_kb = -1};

int64_t peak_kb(void) {
  struct rusage own, spawned;
  if (getrusage(RUSAGE_SELF, &own) || getrusage(RUSAGE_CHILDREN, &spawned)) return -1;
  return own.ru_maxrss > spawned.ru_maxrss ? own.ru_maxrss : spawned.ru_maxrss;
}

bool in_child(void (*body)(void *), void *user) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    body(user);
    fflush(NULL);
    _exit(0);
  }
  int status;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- printing ---- */

bool wanted(const settings *s, const char *workload, const char *size, const char *kernel) {
  char name[256];
  snprintf(name, sizeof name, "%s %s %s", workload, size, kernel);
  return !s->only || strstr(name, s->only);
}

static void json_text(const char *name, const char *v) {
  printf(", \"%s\": ", name);
  if (!v) {
    printf("null");
    return;
  }
  putchar('"');
  for (; *v; v++) {
    if (*v == '"' || *v == '\\') putchar('\\');
    putchar((unsigned char)*v < ' ' ? ' ' : *v);
  }
  putchar('"');
}

static void json_number(const char *name, double v) {
  if (v < 0)
    printf(", \"%s\": null", name);
  else
    printf(", \"%s\": %.6g", name, v);
}

static void json_integer(const char *name, int64_t v) {
  if (v < 0)
    printf(", \"%s\": null", name);
  else
    printf(", \"%s\": %" PRId64, name, v);
}

static void print_json(const settings *s, const measurement *m) {
  printf("{\"workload\": \"%s\"", m->workload);
  json_text("size", m->size);
  json_text("kernel", m->kernel);
  json_text("way", m->way);
  json_text("tier", m->tier);
  json_integer("lanes", m->lanes);
  json_text("vector_libm", m->vector_libm);
  json_text("gate", m->gate);
  json_number("graph_ms", m->graph_ms);
  json_number("lower_ms", m->lower_ms);
  json_number("compile_ms", m->compile_ms);
  json_number("first_ms", m->first_ms);
  json_number("ns", m->ns);
  json_number("spread", m->spread);
  json_integer("code_bytes", m->code_bytes);
  json_integer("workspace", m->workspace);
  json_integer("ops", m->ops);
  json_integer("math_calls", m->math_calls);
  json_integer("accesses", m->accesses);
  json_integer("peak_kb", m->peak_kb);
  json_text("machine", s->machine);
  json_text("versions", s->versions);
  json_text("commit", s->commit);
  printf("}\n");
}

static void cell(double v, int width, int digits) {
  if (v < 0)
    printf(" %*s", width, "-");
  else
    printf(" %*.*f", width, digits, v);
}

void print_header(const settings *s) {
  if (s->json || s->markdown) return;
  printf("%s; %s; commit %s\n", s->machine, s->versions, s->commit);
  printf("%-10s %-12s %-17s %-17s %9s %9s %10s %10s %13s %7s %9s %9s %10s %8s  %s\n", "workload", "size", "kernel",
         "way", "graph ms", "lower ms", "compile ms", "first ms", "ns per call", "spread", "code", "workspace", "ops",
         "peak MB", "gate");
}

void print_measurement(const settings *s, const measurement *m) {
  if (s->markdown) return;
  if (s->json) {
    print_json(s, m);
    return;
  }
  char way[64];
  snprintf(way, sizeof way, "%s %s", m->way ? m->way : "", m->tier ? m->tier : "");
  printf("%-10s %-12s %-17s %-17s", m->workload, m->size ? m->size : "", m->kernel, way);
  cell(m->graph_ms, 9, 3);
  cell(m->lower_ms, 9, 3);
  cell(m->compile_ms, 10, 2);
  cell(m->first_ms, 10, 2);
  cell(m->ns, 13, 1);
  cell(m->spread, 7, 3);
  cell((double)m->code_bytes, 9, 0);
  cell((double)m->workspace, 9, 0);
  cell((double)m->ops, 10, 0);
  cell(m->peak_kb < 0 ? -1 : (double)m->peak_kb / 1024, 8, 1);
  printf("  %s\n", m->gate ? m->gate : "");
}

/* ---- what measurements are taken with ---- */

/* The first line of a command's output, or "?". */
static const char *line_of(const char *command, char *line, size_t size) {
  FILE *p = popen(command, "r");
  if (!p || !fgets(line, (int)size, p)) snprintf(line, size, "?");
  if (p) pclose(p);
  line[strcspn(line, "\n")] = 0;
  return line;
}

/* In a child: the driver itself never loads LLVM, so that every worker starts small. */
static void describe_llvm(void *to) {
  const char *llvm = NULL;
  sc_context *cx = sc_context_create(NULL);
  if (!cx || !sc_llvm_available(cx, SCALY_TEST_PLUGIN_DIR, &llvm)) llvm = "none";
  dprintf(*(int *)to, "%s", llvm);
}

static void describe(settings *s) {
  static char machine[128], versions[256], commit[64];
  char gcc[64], clang[64], llvm[64] = "?";
  int ends[2];
  if (!pipe(ends)) {
    in_child(describe_llvm, &ends[1]);
    close(ends[1]);
    ssize_t n = read(ends[0], llvm, sizeof llvm - 1);
    llvm[n > 0 ? n : 0] = 0;
    close(ends[0]);
  }
  snprintf(versions, sizeof versions, "llvm %s, gcc %s, clang %s", llvm,
           line_of(SCALY_BENCH_GCC " -dumpfullversion 2>/dev/null", gcc, sizeof gcc),
           line_of(SCALY_BENCH_CLANG " -dumpversion 2>/dev/null", clang, sizeof clang));
  line_of("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo", machine, sizeof machine);
  line_of("git -C " SCALY_TEST_SOURCE_DIR " rev-parse --short HEAD 2>/dev/null", commit, sizeof commit);
  s->machine = machine;
  s->versions = versions;
  s->commit = commit;
}

/* ---- the command line ---- */

static const char usage[] =
    "Usage: scaly_bench [options]\n\n"
    "Measures building, derivatives, compiling and running on the workloads of tests/data. "
    "Exit code 1: a gate failed.\n\n"
    "  --format FORMAT       table (default); json: one line per measurement; markdown: one row per kernel;\n"
    "                        profile: one row per kernel, with what it does in a call.\n"
    "  --quick               One or two sizes per workload and short samples; under a minute.\n"
    "  --only TEXT           What has TEXT in its \"workload size kernel\".\n"
    "  --way NAME            One way: llvm, gcc, clang, hand or openblas.\n"
    "  --limit SECONDS       Gives a way up that has no result after that time. Default: 60.\n"
    "  --cpu-time            Graph, lowering and compiling by processor time, spawned "
    "compilers included: for busy machines.\n"
    "                        Times per call always are.\n"
    "  --passes              In process only, with each pass switched off in turn.\n"
    "  --compare FILE        With the lines that --format json wrote earlier: which kernels "
    "became slower by more than the\n"
    "                        noise of both runs. Exit code 1 when one did.\n"
    "  --report FILE.html    The whole run with plots.\n";

typedef struct files {
  const char *earlier, *report; /* NULL: not asked for */
} files;

static bool take_option(settings *s, files *f, const char *name, const char *value) {
  if (!strcmp(name, "--format") &&
      (!strcmp(value, "json") || !strcmp(value, "table") || !strcmp(value, "markdown") || !strcmp(value, "profile"))) {
    s->json = value[0] == 'j';
    s->profile = value[0] == 'p';
    s->markdown = value[0] == 'm' || s->profile;
  } else if (!strcmp(name, "--only"))
    s->only = value;
  else if (!strcmp(name, "--way"))
    s->way = value;
  else if (!strcmp(name, "--limit") && atof(value) > 0)
    s->limit_s = atof(value);
  else if (!strcmp(name, "--compare"))
    f->earlier = value;
  else if (!strcmp(name, "--report"))
    f->report = value;
  else
    return false;
  return true;
}

/* What there is to say when everything is measured. The exit code. */
static int conclude(const settings *s, const files *f) {
  int code = 0;
  FILE *to = s->json ? stderr : stdout;
  if (s->profile) {
    print_profile(s, s->records, to);
  } else if (s->markdown) {
    print_markdown(s, s->records, to);
  } else if (!s->json) {
    if (s->passes) {
      print_passes(s->records, to);
    } else {
      print_ratios(s->records, to);
      print_bar(s->records, to);
    }
  }
  if (f->earlier) {
    int slower = compare_with_earlier(s->records, f->earlier, to);
    if (slower < 0) fprintf(stderr, "scaly_bench: %s holds no measurements\n", f->earlier);
    if (slower) code = 1;
  }
  if (f->report && !write_report(s, s->records, f->report)) code = 1;
  return code;
}

int main(int argc, char **argv) {
  records kept = {0};
  settings s = {.limit_s = 60, .records = &kept};
  files f = {0};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--help")) {
      fputs(usage, stdout);
      return 0;
    }
    if (!strcmp(argv[i], "--quick")) {
      s.quick = true;
    } else if (!strcmp(argv[i], "--cpu-time")) {
      s.cpu_time = true;
    } else if (!strcmp(argv[i], "--passes")) {
      s.passes = true;
    } else if (i + 1 < argc && take_option(&s, &f, argv[i], argv[i + 1])) {
      i++;
    } else {
      fprintf(stderr, "scaly_bench: %s: no such option, or a value it does not take\n%s", argv[i], usage);
      return 2;
    }
  }
  describe(&s);
  print_header(&s);
  if (!s.passes && !s.way && !s.markdown) {
    bench_core(&s);
    bench_process(&s);
  }
  bool fine = bench_kernels(&s);
  int code = conclude(&s, &f);
  free_records(&kept);
  return fine ? code : 1;
}
