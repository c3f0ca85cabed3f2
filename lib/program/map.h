/* A map from 32-bit ids to 32-bit ids in an arena. Nothing iterates it. */
#ifndef SCI_PROGRAM_MAP_H
#define SCI_PROGRAM_MAP_H

#include "lib/base/hash.h"

/* Open addressing while it holds few of many ids; an array by id once it holds many of them. */
typedef struct sci_map {
  sci_arena *arena;
  uint64_t *slots; /* key + 1 above, value below; 0: empty */
  uint32_t mask, n;
  uint32_t *dense; /* NULL: slots; else values by key, UINT32_MAX: none */
  uint32_t n_dense;
} sci_map;

static inline void sci_map_init(sci_map *m, sci_arena *arena) {
  *m = (sci_map){.arena = arena};
}

/* Costs what the map holds: one that was large once starts small again. */
static inline void sci_map_clear(sci_map *m) {
  uint32_t room = m->dense ? m->n_dense : m->mask;
  if (m->n < room / 64)
    sci_map_init(m, m->arena);
  else if (m->dense)
    memset(m->dense, 0xFF, m->n_dense * sizeof *m->dense);
  else if (m->n)
    memset(m->slots, 0, ((size_t)m->mask + 1) * sizeof *m->slots);
  m->n = 0;
}

static inline uint32_t sci_map_slot(const sci_map *m, uint32_t key) {
  uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 32) & m->mask;
  while (m->slots[at] && (uint32_t)(m->slots[at] >> 32) != key + 1) at = (at + 1) & m->mask;
  return at;
}

/* The value, or UINT32_MAX without one. Keys are less than UINT32_MAX. */
static inline uint32_t sci_map_get(const sci_map *m, uint32_t key) {
  if (m->dense) return key < m->n_dense ? m->dense[key] : UINT32_MAX;
  if (!m->n) return UINT32_MAX;
  uint32_t at = sci_map_slot(m, key);
  return m->slots[at] ? (uint32_t)m->slots[at] : UINT32_MAX;
}

void sci_map_grow(sci_map *m, uint32_t key); /* makes room for key */

static inline void sci_map_set(sci_map *m, uint32_t key, uint32_t value) {
  if (m->dense ? key >= m->n_dense : !m->slots || m->n > m->mask / 2) sci_map_grow(m, key);
  if (m->dense) {
    m->n += m->dense[key] == UINT32_MAX;
    m->dense[key] = value;
    return;
  }
  uint32_t at = sci_map_slot(m, key);
  m->n += !m->slots[at];
  m->slots[at] = (uint64_t)(key + 1) << 32 | value;
}

#endif
