/* A machine that lacks something: the vector math libraries, or the plugin. What opens and looks for files is this
 * program's own, and does not find them. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "guest.h"

static const char *absent[4];

static bool is_absent(const char *path) {
  for (size_t i = 0; path && absent[i]; i++)
    if (strstr(path, absent[i])) return true;
  return false;
}

__attribute__((visibility("default"))) void *dlopen(const char *path, int mode) {
  static void *(*real)(const char *, int);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
  return real(is_absent(path) ? "/nowhere/at-all.so" : path, mode);
}

__attribute__((visibility("default"))) int access(const char *path, int mode) {
  return faccessat(AT_FDCWD, is_absent(path) ? "/nowhere/at-all" : path, mode, 0);
}

static sc_kernel *compile(sc_context *cx, sc_vector_libm libm) {
  static const char text[] = "expr.func @f(%x: tensor<64xfloat64>) -> (%y) { return add(sin(%x), exp(%x)) }";
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  CHECK_OK(cx, m);
  sc_kernel *k = sc_jit(sc_module_text_find(m, NULL),
                        &(sc_jit_options){.lower = &(sc_lower_options){.vector_libm = libm}, .tier = SC_TIER_BEST});
  sc_module_text_free(m);
  return k;
}

/* Lanes call scalar routines, with the bits of a kernel that was to have no others; a library asked for by name is
 * missed. */
static void without_vector_math(void) {
  sc_context *cx = sc_context_create(NULL);
  CHECK(!sc_vector_library_version("glibc") && !sc_vector_library_version("sleef"), "a library was found");
  sc_kernel *scalar = compile(cx, SC_VECTOR_LIBM_NONE);
  CHECK_OK(cx, scalar);
  for (int libm = SC_VECTOR_LIBM_AUTO; libm <= SC_VECTOR_LIBM_SLEEF; libm++) {
    sc_kernel *k = compile(cx, (sc_vector_libm)libm);
    if (!k) { /* asked for by name */
      CHECK(libm != SC_VECTOR_LIBM_AUTO &&
                strstr(sc_context_error(cx)->message, "a routine that this machine does not have"),
            "%s", sc_context_error(cx)->message);
      sc_context_clear_error(cx);
      continue;
    }
    buffers a = buffers_make(scalar, 3), b = buffers_make(scalar, 3);
    call(scalar, &a);
    call(k, &b);
    CHECK(buffers_equal(scalar, &a, &b), "other bits with %d", libm);
    buffers_free(&a);
    buffers_free(&b);
    sc_kernel_release(k);
  }
  sc_kernel_release(scalar);
  sc_context_destroy(cx);
}

static void expect_missing(sc_context *cx, const sc_kernel *k, const char *says) {
  const sc_diagnostic *d = sc_context_error(cx);
  CHECK(!k && d, "compiled by what is not there");
  CHECK(d->status == SC_ERR_UNAVAILABLE && strstr(d->message, "libscaly-llvm.so") && strstr(d->message, says), "%s",
        d->message);
  sc_context_clear_error(cx);
}

/* What direct code does without it, in both tiers that it is for, and what it says that it cannot. */
static void without_plugin(void *unused) {
  (void)unused;
  static const char text[] =
      "expr.func @g(%x: tensor<3xfloat32>) -> (%y) { return mul(%x, %x) } expr.func @f(%x: tensor<64xfloat64>, %i: "
      "tensor<2xint64>) -> (%y, %j) { return add(mul(%x, %x), tanh(%x)), mul(%i, %i) }";
  sc_context *cx = sc_context_create(NULL);
  expect_missing(cx, compile(cx, SC_VECTOR_LIBM_NONE), "no in-process compiler: ");
  sc_target host;
  sc_target_preset("native", &host);
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  CHECK_OK(cx, m);
  sc_function *f = sc_module_text_find(m, "f"), *g = sc_module_text_find(m, "g");
  for (sc_tier tier = SC_TIER_AUTO; tier <= SC_TIER_FAST; tier++) {
    const sc_jit_options o = {.tier = tier};
    if (host.isa != SC_ISA_X86_64_V3 && host.isa != SC_ISA_X86_64_V4) {
      expect_missing(cx, sc_jit(f, &o), "no in-process compiler for this: ");
      continue;
    }
    expect_missing(cx, sc_jit(g, &o), "float32");
    for (int threads = 0; threads < 2; threads++) {
      sc_jit_set_threads(threads);
      sc_kernel *k = sc_jit(f, &o);
      CHECK_OK(cx, k);
      CHECK(sc_kernel_wait(k) == SC_OK && sc_kernel_tier(k) == SC_TIER_FAST, "there is no other code");
      double x[64], y[64];
      int64_t i[2] = {3, -4}, j[2];
      for (int n = 0; n < 64; n++) x[n] = 0.1 * n - 3;
      CHECK(sc_kernel_call(k, (const void *[]){x, i}, (void *[]){y, j}, NULL) == 0, "call");
      CHECK(j[0] == 9 && j[1] == 16, "integers");
      for (int n = 0; n < 64; n++) CHECK(fabs(y[n] - (x[n] * x[n] + tanh(x[n]))) < 1e-14, "element %d", n);
      sc_kernel_release(k);
    }
  }
  sc_module_text_free(m);
  sc_context_destroy(cx);
}

int main(void) {
  absent[0] = "libscaly-llvm";
  in_child(without_plugin, NULL);
#ifndef SCALY_TEST_LLVM
  return 0;
#endif
  absent[0] = "libmvec";
  absent[1] = "libsleef";
  without_vector_math();
  return 0;
}
