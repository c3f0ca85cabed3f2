/* Coloring of sparsity patterns for compressed derivatives (Gebremedhin, Manne and Pothen, SIAM Review 47, 2005). */
#ifndef SCI_AD_COLORING_H
#define SCI_AD_COLORING_H

#include "lib/ad/sparsity.h"

/* How nonzero k (row-major) of a Jacobian is read from the compressed products. */
typedef enum sci_color_method {
  SCI_COLOR_COLUMN, /* products with column groups, forward */
  SCI_COLOR_ROW,    /* products with row groups, reverse */
  SCI_COLOR_BOTH,   /* dense rows in reverse, the rest forward */
  SCI_COLOR_STAR,   /* symmetric: column groups, each nonzero read from one of its two places */
} sci_color_method;

typedef struct sci_coloring {
  sci_color_method method;
  uint32_t n_forward, n_reverse; /* colors */
  const int32_t *column_color;   /* -1: the column is in no group */
  const int32_t *row_color;      /* -1: the row is in no group */
  /* Per nonzero: read from forward product `color[k]` at row `at[k]`, or (reversed[k]) from reverse product `color[k]` at column `at[k]`. */
  const int32_t *color, *at;
  const bool *reversed;
} sci_coloring;

/* The cheapest direct coloring; a reverse product counts `reverse_weight` times a forward one. */
sci_coloring sci_color_jacobian(sc_context *cx, const sci_rows *rows, int64_t n_cols, double reverse_weight);
/* Of a symmetric pattern, both triangles present: star coloring in natural or largest-first order, whichever needs fewer colors. */
sci_coloring sci_color_hessian(sc_context *cx, const sci_rows *rows);

#endif
