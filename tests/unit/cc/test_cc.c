/* Owns the tests of the spawned compiler: kernels that work, and everything that can be missing or fail. */
#define _GNU_SOURCE /* mkdtemp */
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scaly/scaly.h"

static const char model[] = "expr.func @log(%x: tensor<3xfloat64>) -> (%y) { return sum(add(sin(%x), mul(%x, %x))) }";

static sc_function *parse(sc_context *cx) {
  sc_module_text *m = sc_parse(cx, model, strlen(model), NULL);
  cr_assert(m, "%s", sc_context_error(cx)->message);
  sc_function *f = sc_module_text_find(m, NULL);
  sc_module_text_free(m);
  return f;
}

static int files_in(const char *folder) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
  if (d) closedir(d);
  return n;
}

Test(cc, compiles) {
  char folder[] = "/tmp/scaly-test-XXXXXX";
  cr_assert(mkdtemp(folder));
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = parse(cx);
  double x[3] = {1, 2, 3}, y = 0;
  static const char *const compilers[][2] = {{"cc", NULL}, {"gcc", NULL}, {"clang", NULL}, {"tcc", NULL}};
  static const char *const flags[] = {"-O1", "-g0", NULL};
  for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
    sc_cc_options o = {.compiler = compilers[i],
                       .flags = i % 2 ? flags : NULL,
                       .temp_dir = folder,
                       .dialect = i == 3 ? SC_DIALECT_C : SC_DIALECT_GNU};
    sc_kernel *k = sc_compile_cc(f, &o);
    if (!k && sc_context_error(cx)->status == SC_ERR_UNAVAILABLE && i) {
      sc_context_clear_error(cx); /* that compiler is not installed here */
      continue;
    }
    cr_assert(k, "%s", sc_context_error(cx)->message);
    cr_expect_eq(files_in(folder), 0, "nothing stays in the temporary folder");
    cr_expect_eq(sc_kernel_call(k, (const void *[]){x}, (void *[]){&y}, NULL), SC_KERNEL_SUCCESS);
    cr_expect_float_eq(y, 14 + sin(1) + sin(2) + sin(3), 1e-12);
    cr_expect_str_eq(sc_kernel_name(k), "log", "a name that C has already is no obstacle");
    sc_compile_times t = sc_kernel_times(k);
    cr_expect(t.lower > 0 && t.emit > 0 && t.codegen > 0 && t.link > 0 && t.plugin == 0);
    cr_expect(sc_kernel_code_bytes(k) > 20 && sc_kernel_code_bytes(k) < 100000);
    sc_kernel_release(k);
  }
  cr_expect_null(sc_compile_cc(NULL, NULL));
  sc_context_destroy(cx);
  rmdir(folder);
}

Test(cc, failures) {
  char folder[] = "/tmp/scaly-test-XXXXXX";
  cr_assert(mkdtemp(folder));
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = parse(cx);
  static const char *const missing[] = {"no-such-compiler", NULL}, *const path[] = {"/nonexistent/cc", "-x", NULL},
                           *const folder_as_cc[] = {"/tmp", NULL}, *const bad_flag[] = {"-fno-such-flag-exists", NULL},
                           *const no_object[] = {"true", NULL}, *const cc[] = {"cc", NULL},
                           *const loud[] = {"sh", "-c", "echo the complaint >&2; echo and more; exit 3", NULL},
                           *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
  const struct {
    const char *const *compiler, *const *flags;
    const char *temp_dir;
    sc_status status;
    const char *says;
  } rows[] = {
      {missing, NULL, folder, SC_ERR_UNAVAILABLE, "no-such-compiler"},
      {path, NULL, folder, SC_ERR_UNAVAILABLE, "/nonexistent/cc"},
      {folder_as_cc, NULL, folder, SC_ERR_UNAVAILABLE, "/tmp"},
      {cc, bad_flag, folder, SC_ERR_BACKEND, "no-such-flag"},
      {no_object, NULL, folder, SC_ERR_BACKEND, "could not be opened"},
      {loud, NULL, folder, SC_ERR_BACKEND, "exit code 3: the complaint\nand more"},
      {killed, NULL, folder, SC_ERR_BACKEND, "signal 9"},
      {cc, NULL, "/nonexistent/folder", SC_ERR_IO, "/nonexistent/folder"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sc_cc_options o = {.compiler = rows[i].compiler, .flags = rows[i].flags, .temp_dir = rows[i].temp_dir};
    sc_context_clear_error(cx);
    cr_assert_null(sc_compile_cc(f, &o), "%zu", i);
    cr_assert(sc_context_error(cx), "%zu", i);
    cr_expect_eq(sc_context_error(cx)->status, rows[i].status, "%zu: %s", i, sc_context_error(cx)->message);
    cr_expect(strstr(sc_context_error(cx)->message, rows[i].says), "%zu: %s", i, sc_context_error(cx)->message);
    cr_expect_eq(files_in(folder), 0, "%zu", i);
  }
  sc_context_destroy(cx);
  rmdir(folder);
}
