/* Owns the symbolic memory of scalarize: which element of which buffer holds which value, and which stores are still to
 * be emitted. */
#include "lib/passes/symbolic.h"

void sci_memory_init(sci_memory *m, sci_store *s) {
  *m = (sci_memory){.s = s, .n_slots = 64};
  m->slots = SCI_ZEROS(&s->env->scratch, uint32_t, m->n_slots);
}

void sci_memory_cover(sci_memory *m, sci_buf buf) {
  if (buf < m->n_bufs) return;
  sci_arena *scratch = &m->s->env->scratch;
  uint32_t n = m->s->n_bufs > 2 * m->n_bufs ? m->s->n_bufs : 2 * m->n_bufs;
  uint32_t *head = SCI_ZEROS(scratch, uint32_t, n);
  sci_val *base = SCI_ARRAY(scratch, sci_val, n);
  memset(base, 0xFF, n * sizeof *base);
  if (m->n_bufs) {
    memcpy(head, m->head, m->n_bufs * sizeof *head);
    memcpy(base, m->base, m->n_bufs * sizeof *base);
  }
  m->head = head, m->base = base, m->n_bufs = n;
}

static uint32_t slot_of(const sci_memory *m, sci_buf buf, sci_val index) {
  uint32_t at = sci_mix(buf, index) & (m->n_slots - 1);
  for (; m->slots[at]; at = (at + 1) & (m->n_slots - 1)) {
    const sci_cell *c = &m->cells.data[m->slots[at] - 1];
    if (c->buf == buf && c->index == index) break;
  }
  return at;
}

static void grow(sci_memory *m) {
  m->n_slots *= 2;
  m->slots = SCI_ZEROS(&m->s->env->scratch, uint32_t, m->n_slots);
  for (size_t i = 0; i < m->cells.n; i++) /* later cells of the same element replace earlier ones */
    m->slots[slot_of(m, m->cells.data[i].buf, m->cells.data[i].index)] = (uint32_t)i + 1;
}

sci_val sci_memory_load(const sci_memory *m, sci_buf buf, sci_val index) {
  uint32_t cell = m->slots[slot_of(m, buf, index)];
  return cell && m->cells.data[cell - 1].alive ? m->cells.data[cell - 1].value : SCI_NIL;
}

void sci_memory_note(sci_memory *m, sci_buf buf, sci_val index, sci_val value, bool pending) {
  sci_memory_cover(m, buf);
  if (2 * (m->cells.n + 1) > m->n_slots) grow(m);
  uint32_t at = slot_of(m, buf, index);
  if (m->slots[at]) { /* an overwritten store is never emitted */
    sci_cell *old = &m->cells.data[m->slots[at] - 1];
    if (old->alive && old->pending) m->n_pending--;
    old->alive = false;
  }
  sci_vec_push(&m->s->env->scratch, &m->cells, (sci_cell){buf, index, value, true, pending, m->head[buf]});
  m->head[buf] = (uint32_t)m->cells.n;
  m->slots[at] = (uint32_t)m->cells.n;
  m->n_pending += pending;
}

static void emit_cell(sci_memory *m, sci_cell *c, sci_block_builder *out) {
  sci_emit_store(out, c->buf, c->index, c->value);
  c->pending = false;
  m->n_pending--;
}

void sci_memory_flush(sci_memory *m, sci_buf buf, sci_block_builder *out) {
  if (!m->n_pending) return;
  if (buf == SCI_NIL) {
    for (size_t i = 0; i < m->cells.n; i++)
      if (m->cells.data[i].alive && m->cells.data[i].pending) emit_cell(m, &m->cells.data[i], out);
    return;
  }
  if (buf >= m->n_bufs) return;
  SCI_VEC(uint32_t) found = {0};
  for (uint32_t c = m->head[buf]; c; c = m->cells.data[c - 1].next)
    if (m->cells.data[c - 1].alive && m->cells.data[c - 1].pending) sci_vec_push(&m->s->env->scratch, &found, c - 1);
  while (found.n) emit_cell(m, &m->cells.data[found.data[--found.n]], out);
}

void sci_memory_forget(sci_memory *m, sci_buf buf) {
  if (buf >= m->n_bufs) return;
  for (uint32_t c = m->head[buf]; c; c = m->cells.data[c - 1].next) {
    sci_cell *cell = &m->cells.data[c - 1];
    if (cell->alive && cell->pending) m->n_pending--;
    cell->alive = false;
  }
  m->head[buf] = 0;
  m->base[buf] = SCI_NIL;
}

void sci_memory_forget_from(sci_memory *m, size_t first_cell) {
  for (size_t i = first_cell; i < m->cells.n; i++) {
    sci_cell *c = &m->cells.data[i];
    if (c->alive && c->pending) m->n_pending--;
    c->alive = false;
  }
}

sci_val sci_index_base(sci_store *s, sci_val index) {
  sci_affine f;
  if (!sci_affine_of(s, index, &f)) return index;
  return f.constant ? sci_idx_add(s, index, sci_val_int(s, -f.constant)) : index;
}
