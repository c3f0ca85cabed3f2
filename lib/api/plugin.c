/* Owns finding and opening plugins, once, on first use. */
#define _GNU_SOURCE /* dladdr */
#include "lib/api/kernel.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __APPLE__
#define PLUGIN_ENDING ".dylib"
#else
#define PLUGIN_ENDING ".so"
#endif
#define LLVM_PLUGIN "libscaly-llvm"

typedef struct places {
  sci_env *env;
  const char *file; /* without its ending */
  const char *paths[8];
  size_t n;
} places;

static void add_place(places *p, const char *dir, size_t dir_length, const char *below) {
  sci_arena *scratch = &p->env->scratch;
  p->paths[p->n++] = sci_asprintf(scratch, "%.*s%s/%s" PLUGIN_ENDING, (int)dir_length, dir, below, p->file);
}

/* Beside the file that `path` names, in a library folder beside that folder. */
static void add_places_around(places *p, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return;
  add_place(p, path, (size_t)(slash - path), "");
  add_place(p, path, (size_t)(slash - path), "/../lib");
  add_place(p, path, (size_t)(slash - path), "/../lib/scaly");
}

/* The file that holds this code: the library, or the program it was linked into, whose name may be relative to a folder
 * left since. */
static void add_own_places(places *p) {
  Dl_info info;
  char path[PATH_MAX];
  if (!dladdr((const void *)(uintptr_t)sci_llvm_plugin, &info) || !info.dli_fname) return;
  if (realpath(info.dli_fname, path)) {
    add_places_around(p, path);
    return;
  }
#ifdef __linux__
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return;
  path[n] = 0;
  add_places_around(p, path);
#endif
}

static places usual_places(sci_env *env, const char *dir, const char *file) {
  places p = {.env = env, .file = file};
  if (dir) {
    add_place(&p, dir, strlen(dir), "");
    return p;
  }
  add_own_places(&p);
#ifdef SCALY_PLUGIN_DIR
  add_place(&p, SCALY_PLUGIN_DIR, strlen(SCALY_PLUGIN_DIR), "");
#endif
  return p;
}

static void *open_plugin(sci_env *env, const char *path, const char *symbol) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) sci_fail(env, SC_ERR_UNAVAILABLE, "the plugin could not be opened: %s", dlerror());
  void *entry = dlsym(library, symbol);
  if (!entry) sci_fail(env, SC_ERR_UNAVAILABLE, "%s is no plugin of Scaly", path);
  return entry;
}

void *sci_plugin_symbol(sci_env *env, const char *dir, const char *file, const char *symbol, const char *missing) {
  places p = usual_places(env, dir, file);
  sci_text looked;
  sci_text_init(&looked, &env->scratch);
  for (size_t i = 0; i < p.n; i++) {
    if (access(p.paths[i], F_OK) == 0) return open_plugin(env, p.paths[i], symbol);
    sci_putf(&looked, "%s%s", i ? ", " : "", p.paths[i]);
  }
  sci_fail(env, SC_ERR_UNAVAILABLE, "%s; looked for %s", missing, looked.n ? looked.data : file);
}

/* The one that was opened last. */
static _Atomic(const sci_backend *) opened;

/* The threads of the background are looked after anew, behind whatever a plugin has registered. */
static void note_opened(const sci_backend *backend) {
  if (atomic_load(&opened) == backend) return;
  sci_guard_process();
  atomic_store(&opened, backend);
}

bool sci_plugin_may_be_left(void) {
  const sci_backend *backend = atomic_load(&opened);
  return backend && backend->may_be_left;
}

static const sci_backend *find_plugin(sci_env *env, const char *dir, const char *need) {
  const char *missing = "no in-process compiler";
  if (need) missing = sci_asprintf(&env->scratch, "no in-process compiler for this: without LLVM, %s", need);
  /* POSIX has functions come out of dlsym as object pointers. */
  union {
    void *object;
    sci_plugin_fn function;
  } entry = {sci_plugin_symbol(env, dir, LLVM_PLUGIN, SCI_PLUGIN_SYMBOL,
                               sci_asprintf(&env->scratch,
                                            "%s: the LLVM plugin was not found (build Scaly with LLVM 19 or newer, "
                                            "Debian: llvm-19-dev)",
                                            missing))};
  const sci_backend *backend = entry.function();
  if (!backend || backend->abi != SCI_BACKEND_ABI)
    sci_fail(env, SC_ERR_UNAVAILABLE, "the LLVM plugin belongs to another version of Scaly");
  note_opened(backend);
  return backend;
}

/* An opened plugin stays open for the life of the process, so a second dlopen of the same file only counts. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static const sci_backend *usual;

static void unlock(void *mutex) {
  pthread_mutex_unlock(mutex);
}

void sci_plugin_lock(void) {
  pthread_mutex_lock(&opening);
}

void sci_plugin_unlock(void) {
  pthread_mutex_unlock(&opening);
}

const char *sci_llvm_plugin_path(sci_env *env, const char *dir) {
  places p = usual_places(env, dir, LLVM_PLUGIN);
  for (size_t i = 0; i < p.n; i++)
    if (access(p.paths[i], F_OK) == 0) return p.paths[i];
  return NULL;
}

bool sci_llvm_plugin_exists(sci_env *env, const char *dir) {
  static atomic_bool usual_exists; /* what is missing may come */
  if (!dir && atomic_load(&usual_exists)) return true;
  bool exists = sci_llvm_plugin_path(env, dir);
  if (!dir && exists) atomic_store(&usual_exists, true);
  return exists;
}

const sci_backend *sci_llvm_plugin(sci_env *env, const char *dir, const char *need) {
  sci_plugin_lock();
  sci_defer(env, unlock, &opening);
  const sci_backend *backend = !dir && usual ? usual : find_plugin(env, dir, need);
  if (!dir) usual = backend;
  sci_keep(env, &opening);
  pthread_mutex_unlock(&opening);
  return backend;
}
