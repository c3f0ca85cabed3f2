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

static void place(uint64_t *slots, size_t mask, uint64_t slot) {
  size_t at = (uint32_t)(slot >> 32) & mask;
  while (slots[at]) at = (at + 1) & mask;
  slots[at] = slot;
}

void sci_index_reserve(sci_index *x) {
  if (x->slots && x->n < x->mask / 2) return;
  size_t old = x->slots ? (size_t)x->mask + 1 : 0, size = old ? 2 * old : 64;
  if (size > (size_t)1 << 32) sci_fail(x->env, SC_ERR_OVERFLOW, "a table of more than 2^31 entries");
  uint64_t *grown = sci_raw(x->env, NULL, 0, size * sizeof *grown);
  memset(grown, 0, size * sizeof *grown);
  for (size_t i = 0; i < old; i++)
    if (x->slots[i]) place(grown, size - 1, x->slots[i]);
  sci_raw_free(x->env, x->slots, old * sizeof *grown);
  x->slots = grown;
  x->mask = (uint32_t)(size - 1);
}

void sci_index_insert(sci_index *x, uint32_t hash, uint32_t id) {
  place(x->slots, x->mask, (uint64_t)hash << 32 | (id + 1));
  x->n++;
}

void sci_index_remove(sci_index *x, uint32_t hash, uint32_t id) {
  uint32_t gap = hash & x->mask;
  while (x->slots[gap] && (uint32_t)x->slots[gap] != id + 1) gap = (gap + 1) & x->mask;
  if (!x->slots[gap]) return;
  /* An entry behind the gap may move into it unless its home lies between the two. */
  for (uint32_t at = (gap + 1) & x->mask; x->slots[at]; at = (at + 1) & x->mask) {
    uint32_t home = (uint32_t)(x->slots[at] >> 32) & x->mask;
    if (((at - home) & x->mask) < ((at - gap) & x->mask)) continue;
    x->slots[gap] = x->slots[at];
    gap = at;
  }
  x->slots[gap] = 0;
  x->n--;
}
