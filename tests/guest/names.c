/* Names for tools. `names crash` is run under gdb, `names spin` under perf; without an argument it runs them where they
 * are installed. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static sc_kernel *compile(sc_context *cx, const char *text, unsigned names, sc_tier tier) {
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  CHECK_OK(cx, m);
  sc_kernel *k = sc_jit(sc_module_text_find(m, NULL), &(sc_jit_options){.names = names, .tier = tier});
  CHECK_OK(cx, k);
  sc_module_text_free(m);
  return k;
}

static int crash(void) {
  sc_context *cx = sc_context_create(NULL);
  sc_kernel_release(
      compile(cx, "expr.func @gone(%x: tensor<float64>) -> (%y) { return neg(%x) }", SC_NAMES_GDB, SC_TIER_FAST));
  sc_kernel *k = compile(cx, "expr.func @nobodys_memory(%x: tensor<float64>) -> (%y) { return add(mul(%x, %x), 1.0) }",
                         SC_NAMES_GDB, SC_TIER_BEST);
  double y;
  return sc_kernel_call(k, (const void *[]){(void *)8}, (void *[]){&y}, NULL);
}

static int spin(void) {
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = compile(cx,
                         "expr.func @very_busy(%x: tensor<2000xfloat64>) -> (%y) { return sqrt(add(mul(%x, %x), "
                         "div(1.0, add(%x, 2.0)))) }",
                         SC_NAMES_PERF, SC_TIER_BEST);
  static double x[2000], y[2000];
  for (int i = 0; i < 60000; i++) sc_kernel_call(k, (const void *[]){x}, (void *[]){y}, NULL);
  printf("%ld\n", (long)getpid());
  return 0;
}

/* What a command prints has this in it. -1: there is no such tool, or it cannot work here. */
static int shows(const char *command, const char *what, const char *unless) {
  FILE *f = popen(command, "r");
  static char text[100000];
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  text[n] = 0;
  int status = f ? pclose(f) : -1;
  if (strstr(text, what)) return 1;
  if (status != 0 || strstr(text, unless)) return -1;
  fprintf(stderr, "%s\n%s\n", command, text);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "crash")) return crash();
  if (argc > 1 && !strcmp(argv[1], "spin")) return spin();
  char command[3000];
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = compile(cx, "expr.func @mapped(%x: tensor<float64>) -> (%y) { return neg(%x) }",
                         SC_NAMES_GDB | SC_NAMES_PERF, SC_TIER_AUTO);
  snprintf(command, sizeof command, "cat /tmp/perf-%ld.map; rm -f /tmp/perf-%ld.map", (long)getpid(), (long)getpid());
  sc_kernel_wait(k);
  CHECK(shows(command, " mapped\n", "?") == 1, "perf's map");
  sc_kernel_release(k);
  sc_context_destroy(cx);
  snprintf(command, sizeof command,
           "gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex bt --args %s crash 2>&1", argv[0]);
  int seen = shows(command, "nobodys_memory ()", "ptrace");
  CHECK(seen != 0, "gdb does not know the name");
  if (seen < 0) fprintf(stderr, "no gdb that works here\n");
  snprintf(command, sizeof command,
           "command -v perf >/dev/null || exit 1; "
           "perf record -q -e cpu-clock -o names.perf %s spin >names.pid 2>/dev/null && perf report --stdio -i "
           "names.perf 2>/dev/null; "
           "rm -f names.perf /tmp/perf-$(tail -n 1 names.pid).map names.pid",
           argv[0]);
  seen = shows(command, "very_busy", "ermission");
  CHECK(seen != 0, "perf does not know the name");
  if (seen < 0) fprintf(stderr, "no perf that works here\n");
  return 0;
}
