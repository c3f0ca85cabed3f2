/* A machine that lacks something: the vector math libraries, or the plugin. What opens and looks for files is this
 * program's own, and does not find them. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <fcntl.h>
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

static void without_plugin(void) {
  sc_context *cx = sc_context_create(NULL);
  CHECK(!compile(cx, SC_VECTOR_LIBM_NONE), "compiled by what is not there");
  CHECK(sc_context_error(cx)->status == SC_ERR_UNAVAILABLE && strstr(sc_context_error(cx)->message, "libscaly-llvm.so"),
        "%s", sc_context_error(cx)->message);
  sc_context_destroy(cx);
}

int main(void) {
  absent[0] = "libscaly-llvm";
  without_plugin();
  absent[0] = "libmvec";
  absent[1] = "libsleef";
  without_vector_math();
  return 0;
}
