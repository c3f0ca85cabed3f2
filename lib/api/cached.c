/* Owns the use of the cache when compiling: finding code in this process or the folder, and what a unit takes along to
 * be stored. */
#define _POSIX_C_SOURCE 200809L
#include "lib/api/cached.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/api/names.h"
#include "lib/api/promote.h"
#include "scaly/cache.h"

bool sc_cache_available(void) {
  return sci_digest_available();
}

/* Where something is to be seen of the compilation, it must take place. */
bool sci_cache_wanted(const sc_jit_options *o, sci_cache_use *use) {
  *use = (sci_cache_use){.dir = NULL};
  if (!o || !o->cache_dir || o->tier == SC_TIER_FAST || o->asan) return false;
  if (o->lower && (o->lower->dump_after || o->lower->dump || o->lower->verify_each)) return false;
  use->dir = o->cache_dir;
  use->rebuild = o->rebuild;
  return true;
}

/* ---- what a unit takes along ---- */

/* What is stored later goes where the folder was meant to be, wherever the host has gone meanwhile. */
static void put_folder(char *out, const char *dir, const char *here) {
  if (here) out += sprintf(out, "%s/", here);
  strcpy(out, dir);
}

sci_kept *sci_kept_make(const sci_cache_use *use, const sci_bytes *kernels, size_t n) {
  char path[PATH_MAX];
  const char *here = use->dir[0] == '/' ? NULL : getcwd(path, sizeof path);
  size_t size = sizeof(sci_kept) + n * sizeof *kernels, dir = strlen(use->dir) + 1 + (here ? strlen(here) + 1 : 0);
  size = (size + 15) & ~(size_t)15;
  size_t at = size;
  for (size_t i = 0; i < n; i++) size += (kernels[i].size + 15) & ~(size_t)15;
  char *block = calloc(1, size + dir);
  if (!block) return NULL;
  sci_kept *kept = (sci_kept *)(void *)block;
  kept->kernels = (sci_bytes *)(void *)(block + sizeof *kept);
  kept->n = n;
  for (size_t i = 0; i < n; i++) {
    kept->kernels[i] = (sci_bytes){memcpy(block + at, kernels[i].data, kernels[i].size), kernels[i].size};
    at += (kernels[i].size + 15) & ~(size_t)15;
  }
  kept->dir = block + size;
  put_folder(kept->dir, use->dir, here);
  memcpy(kept->key, use->key, sizeof kept->key);
  memcpy(kept->warning, use->warning, sizeof kept->warning);
  return kept;
}

static void file_name(const unsigned char key[SCI_DIGEST_SIZE], char out[80]) {
  for (int i = 0; i < SCI_DIGEST_SIZE; i++) snprintf(out + 2 * i, 3, "%02x", key[i]);
  memcpy(out + 2 * SCI_DIGEST_SIZE, ".jit", 5);
}

static void store(sci_kept *kept, const sci_code *code, const sci_promotion *promotion) {
  char name[80];
  size_t size;
  int folder = sci_store_open(kept->dir, true, kept->warning);
  if (folder < 0) return;
  sci_cache_entry e = {.kernels = kept->kernels,
                       .programs = promotion ? promotion->programs : NULL,
                       .fast = code->tier == SC_TIER_FAST,
                       .image = *code->image};
  memcpy(e.key, kept->key, sizeof e.key);
  void *bytes = sci_cache_encode(&e, &size);
  file_name(kept->key, name);
  if (bytes) kept->stored = sci_store_write(folder, name, bytes, size, kept->warning);
  free(bytes);
  close(folder);
}

/* Fast code that cannot be stored is nothing to tell about: the best is to come. */
void sci_kept_store(sci_kept *kept, const sci_code *code, const sci_promotion *promotion) {
  if (kept->warning[0]) return; /* there is no place for it */
  if (code->image)
    store(kept, code, promotion);
  else if (code->tier == SC_TIER_BEST)
    snprintf(kept->warning, sizeof kept->warning, "the code cannot be stored in the cache: %s", code->refusal);
}

/* ---- finding ---- */

/* Straight from the file's bytes to where the code stays. */
static bool place(const sci_cache_entry *e, sci_code *code) {
  sci_placed *p = sci_placed_open(&e->image);
  const char *missing;
  if (p && !sci_cache_unpack(e, p->room.base)) {
    sci_placed_close(p);
    return false;
  }
  if (!p || !sci_placed_seal(p, &e->image, &missing)) return false;
  *code = (sci_code){.entry = p->entries[0],
                     .entries = p->entries,
                     .handle = p,
                     .release = sci_placed_close,
                     .code_bytes = e->image.code_bytes,
                     .tier = e->fast ? SC_TIER_FAST : SC_TIER_BEST};
  return true;
}

static bool is_sound(const sci_cache_entry *e, const sci_cache_use *use, size_t n) {
  if (memcmp(e->key, use->key, sizeof e->key) || e->image.n_entries != n) return false;
  for (size_t i = 0; i < n; i++)
    if (!sci_description_sound((sci_description){e->kernels[i].data, e->kernels[i].size})) return false;
  return true;
}

/* Fast code is what was wanted, or will be, or there is nothing else. */
static bool is_good_enough(const sci_cache_entry *e, const sc_jit_options *o) {
  if (!e->fast) return true;
  return o->tier != SC_TIER_BEST && (!e->programs[0].size || sci_background_threads());
}

/* A unit on what the bytes hold; NULL: nothing that can be used here. */
static sci_unit *load(sci_env *env, const void *bytes, size_t size, const sci_cache_use *use, size_t n,
                      const sc_jit_options *o) {
  sci_cache_entry e;
  const char *why;
  sci_code code;
  if (!sci_cache_decode(bytes, size, &e, &why)) return NULL;
  sci_unit *unit = NULL;
  if (is_sound(&e, use, n) && is_good_enough(&e, o) && place(&e, &code)) {
    sci_kept *kept = sci_kept_make(use, e.kernels, n);
    if (kept) kept->stored = true;
    sci_description *d = SCI_ARRAY(&env->scratch, sci_description, n);
    for (size_t i = 0; i < n; i++) d[i] = (sci_description){e.kernels[i].data, e.kernels[i].size};
    sci_promotion *promotion = NULL;
    if (e.fast && e.programs[0].size) promotion = sci_promotion_make(e.programs, n, o->plugin_dir, false);
    unit = sci_unit_make(env, &code, n, kept, sci_names_make(o->names, d, n), promotion);
  }
  sci_cache_free(&e);
  return unit;
}

static sci_unit *find_in_folder(sci_env *env, sci_cache_use *use, size_t n, const sc_jit_options *o) {
  char why[SCI_WHY], name[80];
  size_t size = 0;
  int folder = sci_store_open(use->dir, false, why);
  if (folder < 0) {
    if (access(use->dir, F_OK) == 0) memcpy(use->warning, why, sizeof why);
    return NULL;
  }
  file_name(use->key, name);
  void *bytes = sci_store_read(folder, name, true, &size);
  close(folder);
  sci_unit *unit = bytes ? load(env, bytes, size, use, n, o) : NULL;
  free(bytes);
  return unit;
}

bool sci_cache_find(sci_env *env, sci_cache_use *use, const sc_jit_options *o, double start, size_t n,
                    sc_kernel **out) {
  if (use->rebuild) return false;
  sci_unit *unit = sci_unit_find(use->key);
  if (!unit) unit = find_in_folder(env, use, n, o);
  if (!unit) return false;
  if (o->tier == SC_TIER_BEST) sci_unit_wait(unit);
  if (o->tier == SC_TIER_BEST && sci_unit_read(unit).tier != SC_TIER_BEST) {
    sci_unit_release(unit);
    return false;
  }
  const sci_kept *kept = sci_unit_kept(unit);
  sci_defer(env, sci_unit_release_it, unit);
  for (size_t i = 0; i < n; i++) {
    sci_unit_retain(unit);
    sc_compile_times times = {.cache = sci_now_ms() - start};
    out[i] = sci_kernel_make(env, (sci_description){kept->kernels[i].data, kept->kernels[i].size}, unit, i, times);
  }
  sci_keep(env, unit);
  sci_unit_release(unit);
  return true;
}

/* ---- housekeeping ---- */

static sc_status open_folder(sci_env *env, const char *dir, int *folder) {
  char why[SCI_WHY];
  *folder = sci_store_open(dir, false, why);
  if (*folder >= 0 || access(dir, F_OK) != 0) return SC_OK;
  sci_report(env, false, (sc_diagnostic){.status = SC_ERR_IO}, "%s", why);
  return SC_ERR_IO;
}

static bool is_damaged(int folder, const char *name) {
  size_t size = 0;
  sci_cache_entry e;
  const char *why;
  void *bytes = sci_store_read(folder, name, false, &size);
  bool fine = bytes && sci_cache_decode(bytes, size, &e, &why);
  if (fine) {
    unsigned char *blob = malloc(e.image.size + 1);
    fine = blob && sci_cache_unpack(&e, blob);
    free(blob);
    sci_cache_free(&e);
  }
  free(bytes);
  return !fine;
}

typedef struct limits {
  int64_t bytes, age, leftovers_age; /* negative: none */
} limits;

static void summarize(int folder, bool verify, const limits *remove, sc_cache_summary *out) {
  size_t n;
  sci_stored *list = sci_store_list(folder, &n);
  int64_t total = 0;
  for (size_t i = 0; i < n; i++) total += list[i].temporary ? 0 : list[i].size;
  for (size_t i = 0; i < n; i++) { /* oldest first */
    const sci_stored *e = &list[i];
    bool old = remove && (e->temporary ? e->seconds > remove->leftovers_age
                                       : (remove->age >= 0 && e->seconds > remove->age) ||
                                             (remove->bytes >= 0 && total > remove->bytes));
    if (old && sci_store_remove(folder, e->name)) {
      out->removed++;
      total -= e->temporary ? 0 : e->size;
    } else if (e->temporary) {
      out->leftovers++;
    } else {
      out->entries++;
      out->bytes += e->size;
      if (verify && !strcmp(e->name + 64, ".jit")) out->damaged += is_damaged(folder, e->name);
    }
  }
  free(list);
}

static sc_status visit(sc_context *cx, const char *dir, bool verify, const limits *remove, sc_cache_summary *out) {
  if (!cx || !dir || !out) return SC_ERR_ARGUMENT;
  *out = (sc_cache_summary){0};
  int folder;
  sc_status status = open_folder(&cx->env, dir, &folder);
  if (folder < 0) return status;
  summarize(folder, verify, remove, out);
  close(folder);
  return SC_OK;
}

sc_status sc_cache_info(sc_context *cx, const char *dir, sc_cache_summary *out) {
  return visit(cx, dir, false, NULL, out);
}

sc_status sc_cache_verify(sc_context *cx, const char *dir, sc_cache_summary *out) {
  return visit(cx, dir, true, NULL, out);
}

sc_status sc_cache_prune(sc_context *cx, const char *dir, int64_t max_bytes, int64_t max_age, sc_cache_summary *out) {
  return visit(cx, dir, false, &(limits){max_bytes, max_age, 3600}, out);
}

sc_status sc_cache_clear(sc_context *cx, const char *dir, sc_cache_summary *out) {
  return visit(cx, dir, false, &(limits){0, -1, -1}, out);
}
