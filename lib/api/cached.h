/* How compilation uses the cache. */
#ifndef SCI_API_CACHED_H
#define SCI_API_CACHED_H

#include "lib/api/kernel.h"
#include "lib/cache/entry.h"
#include "lib/cache/store.h"
#include "lib/expr/expr.h"

/* One compilation's use of the cache. */
typedef struct sci_cache_use {
  const char *dir; /* NULL: none */
  bool rebuild;
  unsigned char key[SCI_DIGEST_SIZE];
  char warning[SCI_WHY];
} sci_cache_use;

/* ---- key.c ---- */

/* What decides the code of a function, in terms of what is there before anything is derived or lowered. False: without
 * the plugin, or a way to tell this build from another, there is no key. */
bool sci_key_function(sci_env *env, const sc_function *f, const sc_jit_options *o, unsigned char key[SCI_DIGEST_SIZE]);
bool sci_key_functions(sci_env *env, const sc_function *const *fs, size_t n, const sc_jit_options *o,
                       unsigned char key[SCI_DIGEST_SIZE]);
bool sci_key_program(sci_env *env, const sc_program *p, const sc_jit_options *o, unsigned char key[SCI_DIGEST_SIZE]);

/* The same for the compiler at `tool`, of a function or a program. */
bool sci_key_cc(sci_env *env, const sc_function *f, const sc_program *p, const sc_cc_options *o, const char *tool,
                unsigned char key[SCI_DIGEST_SIZE]);

/* ---- cached.c ---- */

/* Whether these options ask for the cache; `use` is then to be given a key. */
bool sci_cache_wanted(const sc_jit_options *o, sci_cache_use *use);
/* Kernels for the key from this process or the folder, or false. Unwinds when there is no memory. */
bool sci_cache_find(sci_env *env, sci_cache_use *use, const sc_jit_options *o, double start, size_t n, sc_kernel **out);

/* What a unit takes along for the cache: the key, the folder, and its kernels' descriptions. */
struct sci_kept {
  unsigned char key[SCI_DIGEST_SIZE];
  char *dir;
  size_t n;
  sci_bytes *kernels;
  char warning[SCI_WHY];
  sci_unit *next; /* of the table */
  bool listed, stored;
};
/* NULL: no memory. One block, to be freed with free(). */
sci_kept *sci_kept_make(const sci_cache_use *use, const sci_bytes *kernels, size_t n);
/* Writes the image into the folder; a problem is the warning. Without the lock. Fast code goes with what makes it
 * better. */
void sci_kept_store(sci_kept *kept, const sci_code *code, const sci_promotion *promotion);

#endif
