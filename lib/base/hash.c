/* Owns hashing of bytes and the hash-to-id index. */
#include "lib/base/hash.h"

uint32_t sci_hash_bytes(const void *data, size_t n) {
  const unsigned char *p = data;
  uint64_t h = n, word;
  for (; n >= 8; p += 8, n -= 8) {
    memcpy(&word, p, 8);
    h = (h ^ word) * 0x9FB21C651E98DF25u;
    h ^= h >> 35;
  }
  word = 0;
  memcpy(&word, p, n);
  return sci_mix(h, word);
}

void sci_index_init(sci_index *x, sci_env *env) {
  *x = (sci_index){.env = env};
}

void sci_index_free(sci_index *x) {
  if (x->slots) sci_raw_free(x->env, x->slots, ((size_t)x->mask + 1) * sizeof *x->slots);
  sci_index_init(x, x->env);
}

void sci_index_clear(sci_index *x) {
  if (x->slots) memset(x->slots, 0, ((size_t)x->mask + 1) * sizeof *x->slots);
  x->n = 0;
}

/* Growing reinserts in order of ids, which is the order of insertion: removal relies on it. */
void sci_index_reserve(sci_index *x) {
  if (x->slots && x->n < x->mask / 2) return;
  size_t old = x->slots ? (size_t)x->mask + 1 : 0, size = old ? 2 * old : 64;
  uint64_t *grown = sci_raw(x->env, NULL, 0, size * sizeof *grown);
  memset(grown, 0, size * sizeof *grown);
  uint64_t *by_id = old ? sci_raw_try(x->env, NULL, 0, x->n * sizeof *by_id + 8) : NULL;
  if (old && !by_id) {
    sci_raw_free(x->env, grown, size * sizeof *grown);
    sci_fail(x->env, SC_ERR_MEMORY, "out of memory: a table of %zu entries", size);
  }
  uint32_t least = UINT32_MAX;
  for (size_t i = 0; i < old; i++)
    if (x->slots[i] && (uint32_t)x->slots[i] < least) least = (uint32_t)x->slots[i];
  /* Ids in one table are dense from the least one on. */
  for (size_t i = 0; i < old; i++)
    if (x->slots[i]) by_id[(uint32_t)x->slots[i] - least] = x->slots[i];
  for (uint32_t i = 0; i < x->n; i++) {
    size_t at = (uint32_t)(by_id[i] >> 32) & (size - 1);
    while (grown[at]) at = (at + 1) & (size - 1);
    grown[at] = by_id[i];
  }
  if (old) {
    sci_raw_free(x->env, by_id, x->n * sizeof *by_id + 8);
    sci_raw_free(x->env, x->slots, old * sizeof *grown);
  }
  x->slots = grown;
  x->mask = (uint32_t)(size - 1);
}

void sci_index_insert(sci_index *x, uint32_t hash, uint32_t id) {
  uint32_t at = hash & x->mask;
  while (x->slots[at]) at = (at + 1) & x->mask;
  x->slots[at] = (uint64_t)hash << 32 | (id + 1);
  x->n++;
}

void sci_index_remove(sci_index *x, uint32_t hash, uint32_t id) {
  for (uint32_t at = hash & x->mask; x->slots[at]; at = (at + 1) & x->mask) {
    if ((uint32_t)x->slots[at] != id + 1) continue;
    x->slots[at] = 0;
    x->n--;
    return;
  }
}
