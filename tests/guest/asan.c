/* Checked addresses: with the option, AddressSanitizer stops compiled code that leaves the buffers it was given. `asan
 * WHAT` is the program that does something; without an argument it runs all of them and looks at what is reported.
 * Built with -fsanitize=address and nothing of the tests' own. */
#define _GNU_SOURCE /* popen */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"

static const char text[] = "expr.func @lanes(%x: tensor<37xfloat64>) -> (%y) { return add(mul(%x, %x), 1.0) }\n"
                           "expr.func @last(%x: tensor<37xfloat64>) -> (%y) { return add(%x[36], sum(%x[0:3])) }\n";

static sc_kernel *compile(sc_context *cx, const char *name, sc_tier tier) {
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  sc_kernel *k = m ? sc_jit(sc_module_text_find(m, name),
                            &(sc_jit_options){.asan = true, .tier = tier, .plugin_dir = SCALY_TEST_PLUGIN_DIR})
                   : NULL;
  if (!k) {
    fprintf(stderr, "%s\n", sc_context_error(cx)->message);
    exit(3);
  }
  sc_module_text_free(m);
  return k;
}

/* What is named; "gone": the input was freed. */
static int act(const char *what, sc_tier tier) {
  sc_context *cx = sc_context_create(NULL);
  size_t n_in = 37, n_out = 37;
  if (!strcmp(what, "input") || !strcmp(what, "last")) n_in = 36;
  if (!strcmp(what, "output")) n_out = 35;
  double *x = calloc(n_in, sizeof *x), *y = calloc(n_out, sizeof *y);
  sc_kernel *k = compile(cx, strcmp(what, "last") ? "lanes" : "last", tier);
  sc_kernel_wait(k);
  if (!strcmp(what, "gone")) free(x);
  /* Not sc_kernel_call, which is the host's own code. */
  int status = sc_kernel_entry(k)((const void *[]){x}, (void *[]){y}, NULL, NULL, 0);
  if (status || y[0] != 1) {
    fprintf(stderr, "wrong: %d, %g\n", status, y[0]);
    return 3;
  }
  puts("right");
  return 0;
}

static int failures;

static void expect(const char *self, const char *what, int tier, const char *report, const char *access) {
  char command[2000];
  static char said[100000];
  snprintf(command, sizeof command, "ASAN_OPTIONS=detect_leaks=0 %s %s %d 2>&1", self, what, tier);
  FILE *f = popen(command, "r");
  size_t n = f ? fread(said, 1, sizeof said - 1, f) : 0;
  said[n] = 0;
  if (f) pclose(f);
  if (strstr(said, report) && strstr(said, access)) return;
  fprintf(stderr, "%s, tier %d: wanted %s, %s:\n%s\n", what, tier, report, access, said);
  failures++;
}

int main(int argc, char **argv) {
  if (argc > 2) return act(argv[1], (sc_tier)atoi(argv[2]));
  for (int tier = SC_TIER_AUTO; tier <= SC_TIER_BEST; tier++) {
    expect(argv[0], "nothing", tier, "right", "");
    expect(argv[0], "input", tier, "heap-buffer-overflow", "READ of size");
    expect(argv[0], "output", tier, "heap-buffer-overflow", "WRITE of size");
    expect(argv[0], "last", tier, "heap-buffer-overflow", "READ of size 8");
    expect(argv[0], "gone", tier, "heap-use-after-free", "READ of size");
  }
  return failures != 0;
}
