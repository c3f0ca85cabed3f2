/* A map from 32-bit ids to 32-bit ids in an arena, for side facts about few of many ids. Nothing iterates it. */
#ifndef SCI_PROGRAM_MAP_H
#define SCI_PROGRAM_MAP_H

#include "lib/base/hash.h"

typedef struct sci_map {
  sci_arena *arena;
  uint64_t *slots; /* key + 1 above, value below; 0: empty */
  uint32_t mask, n;
} sci_map;

static inline void sci_map_init(sci_map *m, sci_arena *arena) {
  *m = (sci_map){.arena = arena};
}

static inline void sci_map_clear(sci_map *m) {
  if (m->n) memset(m->slots, 0, ((size_t)m->mask + 1) * sizeof *m->slots);
  m->n = 0;
}

static inline uint32_t sci_map_slot(const sci_map *m, uint32_t key) {
  uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 32) & m->mask;
  while (m->slots[at] && (uint32_t)(m->slots[at] >> 32) != key + 1) at = (at + 1) & m->mask;
  return at;
}

/* The value, or UINT32_MAX without one. Keys are less than UINT32_MAX. */
static inline uint32_t sci_map_get(const sci_map *m, uint32_t key) {
  if (!m->n) return UINT32_MAX;
  uint32_t at = sci_map_slot(m, key);
  return m->slots[at] ? (uint32_t)m->slots[at] : UINT32_MAX;
}

static inline void sci_map_set(sci_map *m, uint32_t key, uint32_t value) {
  if (!m->slots || m->n > m->mask / 2) {
    sci_map grown = {.arena = m->arena, .mask = m->slots ? 2 * m->mask + 1 : 15, .n = m->n};
    grown.slots = SCI_ZEROS(m->arena, uint64_t, (size_t)grown.mask + 1);
    for (size_t i = 0; m->slots && i <= m->mask; i++)
      if (m->slots[i]) grown.slots[sci_map_slot(&grown, (uint32_t)(m->slots[i] >> 32) - 1)] = m->slots[i];
    *m = grown;
  }
  uint32_t at = sci_map_slot(m, key);
  m->n += !m->slots[at];
  m->slots[at] = (uint64_t)(key + 1) << 32 | value;
}

#endif
