/* Owns the tests of the C renderer that need more than a golden text: options, determinism, size, and writing of files.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <criterion/criterion.h>
#include <dirent.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/expr/expr.h"
#include "lib/program/program.h"
#include "scaly/scaly.h"
#include "tests/support/fault_alloc.h"

static sc_function *parse(sc_context *cx, const char *text) {
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  cr_assert(m, "%s", sc_context_error(cx)->message);
  sc_function *f = sc_module_text_find(m, NULL);
  sc_module_text_free(m);
  return f;
}

static const char model[] = "expr.func @f(%x: tensor<6xfloat64>, %b: tensor<bool>) -> (%y) {\n"
                            "  return add(mul(%x, 0.1), select(%b, pow(%x, sum(%x)), sin(%x)))\n}";

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *s = text; (s = strstr(s, what)); s++) n++;
  return n;
}

Test(c, options) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = parse(cx, model);
  sc_module *m = sc_render_c(f, NULL);
  cr_assert(m, "%s", sc_context_error(cx)->message);
  const char *c = sc_module_source(m), *h = sc_module_header(m);
  cr_expect_str_eq(sc_module_name(m), "f");
  cr_expect_eq(strncmp(c, h, (size_t)(strstr(c, "*/") - c)), 0, "the same recipe opens both");
  cr_expect(strstr(
      c, " * CPU baseline: generic\n * lanes=auto, dialect=gnu, vector_libm=none, reciprocal=off, rounding=default\n"));
  cr_expect(strstr(c, " * gcc -O3 -fno-math-errno -ffp-contract=off -fno-builtin-pow -fno-builtin-powf -c f.c\n"));
  cr_expect(strstr(c, " * Link with: -lm\n"));
  cr_expect(strstr(c, "#include \"f.h\"") && strstr(c, ", 0.1, "));
  cr_expect(strstr(h, "int f(const void** arg, void** res, int* iw, void* w, int mem);") && strstr(h, "f_call(") &&
            strstr(h, "f_SZ_W"));
  sc_module_destroy(m);

  m = sc_render_c(f, &(sc_c_options){.name = "g",
                                     .prefix = "lib_",
                                     .cpu = "x86-64-v3",
                                     .lanes = SC_LANES_4,
                                     .rounding = SC_ROUNDING_STRICT,
                                     .untyped = true,
                                     .dialect = SC_DIALECT_C});
  cr_assert(m, "%s", sc_context_error(cx)->message);
  c = sc_module_source(m), h = sc_module_header(m);
  cr_expect_str_eq(sc_module_name(m), "g");
  cr_expect(strstr(c, "lanes=4, dialect=c") && strstr(c, "rounding=strict") && strstr(c, "-march=x86-64-v3"));
  cr_expect(strstr(c, "-fno-builtin-sin"), "the strict recipe keeps every call");
  cr_expect(!strstr(c, "FMA(") && !strstr(c, "__restrict ") && strstr(c, "SCALY_RESTRICT y"));
  cr_expect(strstr(h, "int lib_g(") && strstr(h, "lib_g_SZ_W") && !strstr(h, "_call(") && !strstr(h, "typedef"));
  sc_module_destroy(m);

  cr_expect_null(sc_render_c(f, &(sc_c_options){.cpu = "z80"}));
  cr_expect_eq(sc_context_error(cx)->status, SC_ERR_NAME);
  cr_expect(strstr(sc_context_error(cx)->message, "cortex-m7"), "the known ones are listed");
  sc_context_clear_error(cx);
  cr_expect_null(sc_render_c(f, &(sc_c_options){.name = "log"}));
  cr_expect_eq(sc_context_error(cx)->status, SC_ERR_NAME);
  cr_expect_null(sc_render_c(NULL, NULL));
  cr_expect_null(sc_render_c_program(NULL, NULL));
  sc_module_destroy(NULL);
  sc_context_destroy(cx);
}

/* Every preset's recipe is one that the compilers of its architecture can read; the same input gives the same bytes in
 * any locale. */
Test(c, presets_and_determinism) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = parse(cx, model);
  for (size_t i = 0; i < sc_target_preset_count(); i++) {
    sc_module *a = sc_render_c(f, &(sc_c_options){.cpu = sc_target_preset_name(i)});
    setlocale(LC_ALL, "de_DE.UTF-8");
    sc_module *b = sc_render_c(f, &(sc_c_options){.cpu = sc_target_preset_name(i)});
    setlocale(LC_ALL, "C");
    cr_assert(a && b);
    cr_expect_str_eq(sc_module_source(a), sc_module_source(b));
    cr_expect_str_eq(sc_module_header(a), sc_module_header(b));
    cr_expect_eq(count(sc_module_source(a), "\n * gcc -O3"), 1);
    cr_expect_eq(count(sc_module_source(a), "\n * clang -O3"), 1);
    sc_module_destroy(a);
    sc_module_destroy(b);
  }
  sc_context_destroy(cx);
}

/* A chain too deep for any recursion, without the pass that would bound it, and one with every value used twice. */
Test(c, deep_and_shared) {
#ifdef __SANITIZE_ADDRESS__
  enum { N = 5000 };
#else
  enum { N = 100000 };
#endif
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), y = x, z = x;
  for (int i = 0; i < N; i++) y = sc_mul(sc_add(y, x), sc_scalar(cx, 1 + i % 7));
  for (int i = 0; i < 200; i++) z = sc_sub(sc_mul(z, z), sc_sin(z));
  sc_function *deep = sc_function_create(cx, "deep", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  sc_function *wide = sc_function_create(cx, "wide", SC_IN({"x", x, NULL}), SC_OUT({"z", z, NULL}));
  const char *const passes[] = {NULL, "none"};
  for (int i = 0; i < 2; i++) {
    sc_lower_options lower = {.passes = passes[i]};
    sc_module *m = sc_render_c(deep, &(sc_c_options){.lower = &lower});
    cr_assert(m, "%s", sc_context_error(cx)->message);
    cr_expect(strlen(sc_module_source(m)) > N);
    sc_module_destroy(m);
    m = sc_render_c(wide, &(sc_c_options){.lower = &lower});
    cr_assert(m, "%s", sc_context_error(cx)->message);
    cr_expect(strlen(sc_module_source(m)) < 100000, "each shared value is printed once");
    cr_expect_eq(count(sc_module_source(m), "sin("), 200);
    sc_module_destroy(m);
  }
  sc_context_destroy(cx);
}

/* ---- writing ---- */

static int files_in(const char *folder) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
  if (d) closedir(d);
  return n;
}

static char *slurp(const char *folder, const char *name) {
  static char text[1 << 16];
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "rb");
  cr_assert(f, "%s", path);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return text;
}

Test(c, writing) {
  char folder[] = "/tmp/scaly-test-XXXXXX", inner[64];
  cr_assert(mkdtemp(folder));
  sc_context *cx = sc_context_create(NULL);
  sc_module *m = sc_render_c(parse(cx, model), NULL);
  sc_context_destroy(cx); /* the module outlives it */
  cr_assert_eq(sc_module_write(m, folder), SC_OK);
  cr_assert_null(sc_module_error(m));
  cr_assert_eq(files_in(folder), 2);
  cr_assert_str_eq(slurp(folder, "f.c"), sc_module_source(m));
  cr_assert_str_eq(slurp(folder, "f.h"), sc_module_header(m));
  cr_assert_eq(sc_module_write(m, folder), SC_OK, "over existing files");
  cr_assert_eq(files_in(folder), 2);

  snprintf(inner, sizeof inner, "%s/missing", folder);
  cr_assert_eq(sc_module_write(m, inner), SC_ERR_IO);
  cr_assert(strstr(sc_module_error(m), "missing"), "%s", sc_module_error(m));
  cr_assert_eq(sc_module_write(m, NULL), SC_ERR_ARGUMENT);

  /* A folder where a file should go: nothing of the other file appears either. */
  cr_assert_eq(mkdir(inner, 0777), 0);
  char taken[96];
  snprintf(taken, sizeof taken, "%s/f.c", inner);
  cr_assert_eq(mkdir(taken, 0777), 0);
  cr_assert_eq(sc_module_write(m, inner), SC_ERR_IO);
  cr_assert_eq(files_in(inner), 1);
  rmdir(taken);

  /* A disk that fills up, as far as this process can tell. */
  struct rlimit small = {64, 64};
  signal(SIGXFSZ, SIG_IGN);
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  sc_status status = sc_module_write(m, inner);
  cr_assert_eq(status, SC_ERR_IO);
  cr_assert(sc_module_error(m));
  cr_assert_eq(files_in(inner), 0);
  sc_module_destroy(m);
  rmdir(inner);
  snprintf(taken, sizeof taken, "%s/f.c", folder);
  unlink(taken);
  snprintf(taken, sizeof taken, "%s/f.h", folder);
  unlink(taken);
  rmdir(folder);
}

/* Without memory at any point: no crash, nothing held, a diagnostic or at least no result. */
Test(c, allocation_failure) {
  for (long at = 1;; at++) {
    fault_alloc fault = {0};
    sc_allocator alloc = fault_allocator(&fault);
    sc_context *cx = sc_context_create(&alloc);
    cr_assert(cx);
    sc_function *f = parse(cx, model);
    sc_program *p = sc_lower(f, NULL);
    long before = fault.blocks;
    fault.fail_at = fault.allocations + at;
    sc_module *m = sc_render_c_program(p, NULL);
    bool failed = fault.failures > 0;
    cr_assert_eq(m == NULL, failed);
    if (failed) cr_assert_eq(sc_context_error(cx)->status, SC_ERR_MEMORY);
    fault.fail_at = 0;
    sc_module_destroy(m);
    if (!failed) cr_assert_eq(fault.blocks, before, "rendering keeps nothing");
    sc_program_destroy(p);
    sc_context_destroy(cx);
    cr_assert_eq(fault.blocks, 0, "at %ld", at);
    cr_assert_eq(fault.bytes, 0);
    if (!failed) break;
    cr_assert(at < 1000);
  }
}
