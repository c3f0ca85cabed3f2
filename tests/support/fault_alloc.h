/* An allocator that counts what it hands out and fails at one chosen allocation. */
#ifndef SCALY_TESTS_FAULT_ALLOC_H
#define SCALY_TESTS_FAULT_ALLOC_H

#include <stdlib.h>

#include "scaly/context.h"

typedef struct fault_alloc {
  long allocations; /* so far: calls that ask for memory */
  long fail_at;     /* the allocation that fails, counted from 1; 0: none */
  long fail_after;  /* from this one on all fail; 0: none */
  long failures;
  size_t bytes; /* held */
  long blocks;
} fault_alloc;

static void *fault_reallocate(void *user, void *p, size_t old_size, size_t new_size) {
  fault_alloc *f = user;
  if (!new_size) {
    f->bytes -= old_size;
    f->blocks -= p != NULL;
    free(p);
    return NULL;
  }
  f->allocations++;
  if (f->allocations == f->fail_at || (f->fail_after && f->allocations >= f->fail_after)) {
    f->failures++;
    return NULL;
  }
  void *q = malloc(new_size);
  if (!q) return NULL;
  for (size_t i = 0; i < new_size && i < old_size; i++) ((char *)q)[i] = ((char *)p)[i];
  free(p);
  f->blocks += p == NULL;
  f->bytes += new_size - old_size;
  return q;
}

static inline sc_allocator fault_allocator(fault_alloc *f) {
  return (sc_allocator){.reallocate = fault_reallocate, .user = f};
}

#endif
