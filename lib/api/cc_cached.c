/* Owns cached libraries: KEY.so is what the compiler made of KEY.c, and KEY.cc, an entry like any other, says what it
 * must be. */
#define _POSIX_C_SOURCE 200809L
#include "lib/api/cc_cached.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What the entry has instead of code. */
typedef struct seal {
  unsigned char digest[SCI_DIGEST_SIZE]; /* of the library */
  uint64_t size, code_bytes;
} seal;

static void name_of(const unsigned char key[SCI_DIGEST_SIZE], const char *ending, char out[80]) {
  for (int i = 0; i < SCI_DIGEST_SIZE; i++) snprintf(out + 2 * i, 3, "%02x", key[i]);
  snprintf(out + 2 * SCI_DIGEST_SIZE, 80 - 2 * SCI_DIGEST_SIZE, "%s", ending);
}

static void digest_of(const void *data, size_t n, unsigned char out[SCI_DIGEST_SIZE]) {
  sci_digest d;
  sci_digest_init(&d);
  sci_digest_put(&d, data, n);
  sci_digest_end(&d, out);
}

void sci_cc_store(sci_cache_use *use, sci_description d, const sci_code *code) {
  if (use->warning[0] || !code->library.data) return;
  char name[80];
  int folder = sci_store_open(use->dir, true, use->warning);
  if (folder < 0) return;
  seal s = {.size = code->library.size, .code_bytes = code->code_bytes};
  digest_of(code->library.data, code->library.size, s.digest);
  sci_bytes kernel = {d.bytes, d.size};
  sci_cache_entry e = {.kernels = &kernel,
                       .image = {.blob = (const unsigned char *)&s,
                                 .size = sizeof s,
                                 .slots = sizeof s,
                                 .code_bytes = 1,
                                 .n_entries = 1,
                                 .entries = &(uint32_t){0}}};
  memcpy(e.key, use->key, sizeof e.key);
  size_t size;
  void *bytes = sci_cache_encode(&e, &size);
  bool fine = bytes;
  name_of(use->key, ".c", name);
  fine = fine && sci_store_write(folder, name, code->source.data, code->source.size, use->warning);
  name_of(use->key, ".so", name);
  fine = fine && sci_store_write(folder, name, code->library.data, code->library.size, use->warning);
  name_of(use->key, ".cc", name);
  if (fine) sci_store_write(folder, name, bytes, size, use->warning);
  free(bytes);
  close(folder);
}

static void close_library(void *library) {
  dlclose(library);
}

static bool open_library(sci_env *env, const sci_cache_use *use, const seal *s, sci_code *code) {
  char name[80];
  name_of(use->key, ".so", name);
  void *library = dlopen(sci_asprintf(&env->scratch, "%s/%s", use->dir, name), RTLD_NOW | RTLD_LOCAL);
  union {
    void *object;
    sc_entry function;
  } entry = {library ? dlsym(library, "kernel") : NULL};
  if (library && !entry.object) dlclose(library);
  *code = (sci_code){.entry = entry.function,
                     .handle = library,
                     .release = close_library,
                     .code_bytes = s->code_bytes,
                     .tier = SC_TIER_BEST};
  return entry.object;
}

static bool is_library(int folder, const sci_cache_use *use, const seal *s) {
  char name[80];
  size_t size = 0;
  unsigned char digest[SCI_DIGEST_SIZE];
  name_of(use->key, ".so", name);
  void *bytes = sci_store_read(folder, name, true, &size);
  if (bytes) digest_of(bytes, size, digest);
  bool same = bytes && size == s->size && !memcmp(digest, s->digest, sizeof digest);
  free(bytes);
  return same;
}

static sci_unit *load(sci_env *env, int folder, const sci_cache_use *use, const void *bytes, size_t size) {
  sci_cache_entry e;
  const char *why;
  seal s;
  sci_code code;
  if (!sci_cache_decode(bytes, size, &e, &why)) return NULL;
  sci_unit *unit = NULL;
  bool sound = !memcmp(e.key, use->key, sizeof e.key) && e.image.n_entries == 1 && e.image.size == sizeof s &&
               sci_description_sound((sci_description){e.kernels[0].data, e.kernels[0].size}) &&
               sci_cache_unpack(&e, (unsigned char *)&s);
  if (sound && is_library(folder, use, &s) && open_library(env, use, &s, &code)) {
    sci_kept *kept = sci_kept_make(use, e.kernels, 1);
    if (kept) kept->stored = true;
    unit = kept ? sci_unit_make(env, &code, 1, kept, NULL, NULL) : NULL;
  }
  sci_cache_free(&e);
  return unit;
}

static sci_unit *find_in_folder(sci_env *env, sci_cache_use *use) {
  char why[SCI_WHY], name[80];
  size_t size = 0;
  int folder = sci_store_open(use->dir, false, why);
  if (folder < 0) {
    if (access(use->dir, F_OK) == 0) memcpy(use->warning, why, sizeof why);
    return NULL;
  }
  name_of(use->key, ".cc", name);
  void *bytes = sci_store_read(folder, name, true, &size);
  sci_unit *unit = bytes ? load(env, folder, use, bytes, size) : NULL;
  free(bytes);
  close(folder);
  return unit;
}

sc_kernel *sci_cc_find(sci_env *env, sci_cache_use *use, double start) {
  sci_unit *unit = sci_unit_find(use->key);
  if (!unit) unit = find_in_folder(env, use);
  if (!unit) return NULL;
  const sci_kept *kept = sci_unit_kept(unit);
  return sci_kernel_make(env, (sci_description){kept->kernels[0].data, kept->kernels[0].size}, unit, 0,
                         (sc_compile_times){.cache = sci_now_ms() - start});
}
