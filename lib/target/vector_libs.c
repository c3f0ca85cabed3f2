/* Owns the opening of this process's vector math libraries: by name, for the purpose, nothing else searched. */
#define _GNU_SOURCE /* gnu_get_libc_version, dladdr */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lib/target/vector_math.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

static const char *const sonames[SCI_VECTOR_LIBS] = {
    [SCI_VECTOR_GLIBC] = "libmvec.so.1", [SCI_VECTOR_SLEEF] = "libsleef.so.3"};

static pthread_once_t opening[SCI_VECTOR_LIBS] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
static void *handles[SCI_VECTOR_LIBS]; /* kept until the process ends: compiled code may call into them */

static void open_glibc(void) {
  handles[SCI_VECTOR_GLIBC] = dlopen(sonames[SCI_VECTOR_GLIBC], RTLD_NOW | RTLD_LOCAL);
}

static void open_sleef(void) {
  handles[SCI_VECTOR_SLEEF] = dlopen(sonames[SCI_VECTOR_SLEEF], RTLD_NOW | RTLD_LOCAL);
}

static void *handle(sci_vector_lib lib) {
  pthread_once(&opening[lib], lib == SCI_VECTOR_GLIBC ? open_glibc : open_sleef);
  return handles[lib];
}

/* Opening a library takes a tenth of a millisecond, most code calls neither, and they are usually where libm is: seeing
 * the file is enough to say that there is one. */
static bool is_there(sci_vector_lib lib) {
  Dl_info libm;
  char path[400];
  double (*sine)(double) = sin;
  const char *slash =
      dladdr((const void *)(uintptr_t)sine, &libm) && libm.dli_fname ? strrchr(libm.dli_fname, '/') : NULL;
  size_t folder = slash ? (size_t)(slash - libm.dli_fname) + 1 : 0, n = strlen(sonames[lib]);
  if (folder && folder + n < sizeof path) {
    memcpy(path, libm.dli_fname, folder);
    memcpy(path + folder, sonames[lib], n + 1);
    if (access(path, R_OK) == 0) return true;
  }
  return handle(lib);
}

void (*sci_vector_routine_address(sci_vector_lib lib, const char *name))(void) {
  void (*address)(void) = NULL;
  void *found = handle(lib) ? dlsym(handle(lib), name) : NULL;
  memcpy(&address, &found, sizeof address);
  return address;
}

const char *sci_vector_library_version(sci_vector_lib lib) {
  if (!is_there(lib)) return NULL;
#ifdef __GLIBC__
  if (lib == SCI_VECTOR_GLIBC) return gnu_get_libc_version();
#endif
  return "3"; /* SLEEF tells no more than its soname does */
}

/* "2.36" is 236. */
int sci_vector_library(sci_vector_lib lib) {
  enum { SLEEF = 304 }; /* the first release with that soname that Scaly knows the routines of */
  const char *s = sci_vector_library_version(lib);
  if (!s || lib == SCI_VECTOR_SLEEF) return s ? SLEEF : 0;
  int major = 0, minor = 0;
  for (; *s >= '0' && *s <= '9'; s++) major = 10 * major + (*s - '0');
  if (*s == '.') s++;
  for (; *s >= '0' && *s <= '9'; s++) minor = 10 * minor + (*s - '0');
  return 100 * major + minor;
}
