/* Structural dependence of graph values on inputs: which elements can depend on which, values aside.
 *
 * Exact through indexing, assembly, reductions, products, elementwise operations, calls and maps; memory grows with the
 * nonzeros. Patterns are compressed by rows: row r depends on the columns col[ptr[r]] .. col[ptr[r + 1] - 1],
 * increasing. */
#ifndef SCI_AD_SPARSITY_H
#define SCI_AD_SPARSITY_H

#include "lib/ad/ad.h"

typedef struct sci_rows {
  int64_t n;          /* rows: elements of the value, row-major */
  const int32_t *ptr; /* n + 1 */
  const int32_t *col;
} sci_rows;

typedef struct sci_dependence {
  sci_order order;
  const sci_rows **rows; /* per number; NULL: depends on nothing */
} sci_dependence;

/* The columns are the elements of `inputs`, one input after the other. `blocked` (by node id, ascending, n_blocked of
 * them) are taken as constants. In the scratch arena. */
sci_dependence sci_dependence_of(sc_context *cx, uint32_t n_roots, const sci_id *roots, uint32_t n_inputs,
                                 const sci_id *inputs, uint32_t n_blocked, const sci_id *blocked);
const sci_rows *sci_dependence_rows(const sci_dependence *d, sci_id id); /* NULL: depends on nothing */
/* The rows of several values behind each other; NULL entries are `sizes[i]` empty rows. */
const sci_rows *sci_rows_join(sc_context *cx, uint32_t n, const sci_rows *const *parts, const int64_t *sizes);
const sci_rows *sci_rows_transpose(sc_context *cx, const sci_rows *a, int64_t n_cols);
/* The rows of a pattern of any layout; (*number)[k]: the row-major number of its stored value k. */
const sci_rows *sci_rows_of_pattern(sc_context *cx, const sc_pattern *p, int32_t **number);
/* The nonzeros that the flags keep, by row and by nonzero (NULL: all). number[k] (if given) gets the new number of each
 * one kept. */
const sci_rows *sci_rows_filter(sc_context *cx, const sci_rows *a, const bool *row, const bool *nonzero,
                                int32_t *number);
int64_t sci_rows_nnz(const sci_rows *a);
/* Of a square pattern, per nonzero (r, c): the nonzero (c, r), -1 where there is none. */
const int32_t *sci_rows_mirrors(sc_context *cx, const sci_rows *rows);

/* For operations that only move elements (reshape, transpose, slice, broadcast, gather): the operand's element behind
 * each element of the result. NULL for other operations. In the scratch arena. */
const int32_t *sci_element_map(sc_context *cx, sci_id node);
/* Of a reduction: the operand's elements in the order of the result's, those that make one behind each other. Scratch.
 */
const int32_t *sci_reduction_map(sc_context *cx, const sci_node *reduction);
/* For scatter, index_add, index_set: the values written to each element of the result: first[e], then next[k] until -1.
 * Scratch. */
typedef struct sci_writers {
  int32_t *first, *next;
} sci_writers;
sci_writers sci_writers_of(sc_context *cx, sci_id node);

/* Which elements of a value any of the roots depends on. `flags` NULL: none, unless `all`. */
typedef struct sci_live {
  bool all;
  bool *flags;
  int64_t n; /* of flags */
} sci_live;
/* Per number, of active nodes, for the roots that have a seed: structural, element by element; operands of products
 * and calls count as a whole, those of maps as far as windows reach (lib/ad/live.c). Scratch. */
const sci_live *sci_find_live(sc_context *cx, const sci_order *order, const bool *active, uint32_t n_roots,
                              const sci_id *roots, const sci_id *seeds);

/* The columns of a callee's Jacobian by its active inputs: which input each is of, and which of its elements. Scratch.
 */
typedef struct sci_columns {
  int64_t n;
  uint32_t *formal;
  int64_t *element;
} sci_columns;
sci_columns sci_columns_of(sc_context *cx, const sc_function *f, const bool *active);

#endif
