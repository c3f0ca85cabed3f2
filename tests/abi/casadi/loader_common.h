/* What loaders of either integer width share: complaints, and what a module is expected to say and compute. */
#ifndef SCALY_TESTS_CASADI_LOADER_COMMON_H
#define SCALY_TESTS_CASADI_LOADER_COMMON_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"

void check(bool holds, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void *room(size_t bytes);
/* `target` is the address of a function pointer. */
void find_symbol(void *library, const char *name, const char *ending, void *target);

typedef struct sparsity {
  long long nrow, ncol, nnz, *row, *col;
} sparsity;

typedef struct described {
  const char *name;
  size_t n_in, n_out;
  struct {
    const char *name;
    sparsity s;
  } * ports; /* inputs, then outputs */
} described;

typedef struct vectors {
  double **in, **out;
} vectors;

/* Of the source function: everything by columns, sparse outputs with their zeros. */
typedef struct expectation expectation;

void check_ports(const described *d, int kind, const expectation *x);
vectors make_vectors(const described *d, int kind, const expectation *x);
void check_results(const described *d, int kind, const expectation *x, const vectors *v);
void check_same(const described *d, const vectors *a, const vectors *b, size_t but);
void free_vectors(const described *d, vectors *v);
void free_described(described *d);

#endif
