/* Owns the growth of maps of ids. */
#include "lib/program/map.h"

enum { FEW = 1024, SPARSE = 8 };

static void grow_dense(sci_map *m, uint32_t key) {
  uint32_t grown = key < UINT32_MAX / 2 ? 2 * key + 64 : UINT32_MAX;
  m->dense = sci_regrow(m->arena, m->dense, m->n_dense * sizeof *m->dense, grown * sizeof *m->dense);
  memset(m->dense + m->n_dense, 0xFF, (grown - m->n_dense) * sizeof *m->dense);
  m->n_dense = grown;
}

static void become_dense(sci_map *m, uint32_t most) {
  sci_map slots = *m;
  grow_dense(m, most);
  for (size_t i = 0; i <= slots.mask; i++)
    if (slots.slots[i]) m->dense[(uint32_t)(slots.slots[i] >> 32) - 1] = (uint32_t)slots.slots[i];
}

void sci_map_grow(sci_map *m, uint32_t key) {
  if (m->dense) {
    grow_dense(m, key);
    return;
  }
  uint32_t most = key;
  for (size_t i = 0; m->slots && i <= m->mask; i++)
    if ((uint32_t)(m->slots[i] >> 32) > most + 1) most = (uint32_t)(m->slots[i] >> 32) - 1;
  if (m->n >= FEW && most / SPARSE < m->n) {
    become_dense(m, most);
    return;
  }
  sci_map grown = {.arena = m->arena, .mask = m->slots ? 2 * m->mask + 1 : 15, .n = m->n};
  grown.slots = SCI_ZEROS(m->arena, uint64_t, (size_t)grown.mask + 1);
  for (size_t i = 0; m->slots && i <= m->mask; i++)
    if (m->slots[i]) grown.slots[sci_map_slot(&grown, (uint32_t)(m->slots[i] >> 32) - 1)] = m->slots[i];
  *m = grown;
}
