/* Coloring of sparsity patterns for compressed derivatives; scaly/sparsity.h has the methods, their sources and what
 * the numbers mean. */
#ifndef SCI_AD_COLORING_H
#define SCI_AD_COLORING_H

#include "lib/ad/sparsity.h"
#include "scaly/sparsity.h"

/* Nonzeros are numbered row by row. */
typedef struct sci_coloring {
  sc_coloring_method method;
  sc_coloring_order order;
  uint32_t n_forward, n_reverse; /* colors */
  const int32_t *column_color;   /* NULL: no forward products */
  const int32_t *row_color;      /* NULL: no reverse products */
  /* Per nonzero: element at[k] of the forward (or, reversed[k], reverse) product color[k]. */
  const int32_t *color, *at;
  const bool *reversed;
  /* Acyclic: less the nonzeros minus[minus_ptr[k]] ..., which are of lower levels than level[k] < n_levels. NULL:
   * nothing is subtracted. */
  const int32_t *minus_ptr, *minus, *level;
  int32_t n_levels;
} sci_coloring;

/* A reverse product keeps adjoints of every intermediate: that makes it dearer than a forward one by about this much.
 */
#define SCI_REVERSE_WEIGHT 1.5

sci_coloring sci_color_jacobian(sc_context *cx, const sci_rows *rows, int64_t n_cols,
                                const sc_coloring_options *options);
/* Of a symmetric pattern, both triangles present. */
sci_coloring sci_color_hessian(sc_context *cx, const sci_rows *rows, const sc_coloring_options *options);

/* ---- shared by the two files ---- */

typedef struct sci_groups {
  uint32_t n;
  int32_t *color; /* per vertex; -1 for one without entries */
} sci_groups;

sci_groups sci_color_acyclic(sc_context *cx, const sci_rows *rows, const int32_t *order); /* lib/ad/acyclic.c */
/* Reads every nonzero of an acyclic (or star) coloring by substitution; of two ways at the same level the later
 * column's. */
sci_coloring sci_recover_acyclic(sc_context *cx, const sci_rows *rows, sci_groups g);

#endif
