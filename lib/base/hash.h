/* Hash mixing and an index from hashes to 32-bit ids, the core of every intern table. */
#ifndef SCI_BASE_HASH_H
#define SCI_BASE_HASH_H

#include "lib/base/env.h"

static inline uint32_t sci_mix(uint64_t a, uint64_t b) {
  __extension__ unsigned __int128 p = (unsigned __int128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
  uint64_t r = (uint64_t)p ^ (uint64_t)(p >> 64);
  return (uint32_t)(r ^ (r >> 32));
}
uint32_t sci_hash_bytes(const void *data, size_t n);

/* Open addressing with linear probing; a slot holds hash and id + 1 (0 is empty). Removal closes the gap it leaves, so
 * there are no tombstones. Nothing iterates the table. Memory comes from the environment's allocator. */
typedef struct sci_index {
  sci_env *env;
  uint64_t *slots;
  uint32_t mask, n;
} sci_index;

void sci_index_init(sci_index *x, sci_env *env);
void sci_index_free(sci_index *x);
void sci_index_clear(sci_index *x);
void sci_index_reserve(sci_index *x); /* room for one more; may unwind */
/* Usage: sci_index_reserve; then
 *   for (uint32_t at = hash;; at++) { uint32_t id; if (!sci_index_at(x, &at, hash, &id)) break; if (equal(id)) return
 * id; } sci_index_insert(x, hash, new_id); */
static inline bool sci_index_at(const sci_index *x, uint32_t *at, uint32_t hash, uint32_t *id) {
  for (;; ++*at) {
    uint64_t slot = x->slots[*at & x->mask];
    if (!slot) return false;
    if ((uint32_t)(slot >> 32) == hash) {
      *id = (uint32_t)slot - 1;
      return true;
    }
  }
}
static inline void sci_index_prefetch(const sci_index *x, uint32_t hash) {
#if defined(__GNUC__)
  if (x->slots) __builtin_prefetch(&x->slots[hash & x->mask], 1);
#endif
}
void sci_index_insert(sci_index *x, uint32_t hash, uint32_t id);
void sci_index_remove(sci_index *x, uint32_t hash, uint32_t id);

#endif
