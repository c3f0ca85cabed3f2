/* Symbolic execution of procedures: what scalarize uses to turn buffers into values. */
#ifndef SCI_PASSES_SYMBOLIC_H
#define SCI_PASSES_SYMBOLIC_H

#include "lib/program/program.h"

/* What is known of one element of a buffer. */
typedef struct sci_cell {
  sci_buf buf;
  sci_val index; /* element of the buffer that owns the storage */
  sci_val value;
  bool alive;
  bool pending;  /* the store has not been emitted yet */
  uint32_t next; /* in the buffer's list */
} sci_cell;

/* Elements of buffers by (buffer, index). A buffer that is written has cells of one base at a time: indices that differ
 * by constants, so that two cells are known to be different elements. */
typedef struct sci_memory {
  sci_store *s;
  SCI_VEC(sci_cell) cells;
  uint32_t *slots; /* hash: cell + 1 */
  uint32_t n_slots;
  uint32_t *head;  /* per buffer: first cell + 1 */
  sci_val *base;   /* per buffer: the base of its cells, SCI_NIL: none */
  uint32_t n_bufs; /* that the arrays cover */
  uint32_t n_pending;
} sci_memory;

void sci_memory_init(sci_memory *m, sci_store *s);
void sci_memory_cover(sci_memory *m, sci_buf buf); /* the buffer may have been made since */
/* SCI_NIL: unknown. */
sci_val sci_memory_load(const sci_memory *m, sci_buf buf, sci_val index);
void sci_memory_note(sci_memory *m, sci_buf buf, sci_val index, sci_val value, bool pending);
/* Emits the pending stores of a buffer (of all: SCI_NIL), oldest first. */
void sci_memory_flush(sci_memory *m, sci_buf buf, sci_block_builder *out);
void sci_memory_forget(sci_memory *m, sci_buf buf); /* pending stores included: of a local at the end of its life */
void sci_memory_forget_from(sci_memory *m, size_t first_cell); /* what was noted since there were `first_cell` cells */
/* index without its constant. */
sci_val sci_index_base(sci_store *s, sci_val index);

#endif
