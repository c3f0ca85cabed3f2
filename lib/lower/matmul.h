/* A product of two matrices where they lie, between its analysis (matmul.c) and its loops (tiles.c). */
#ifndef SCI_LOWER_MATMUL_H
#define SCI_LOWER_MATMUL_H

#include "lib/lower/state.h"

/* Element (i, j) is at offset + i * row + j * col. A vector is a single row. An operand that is the same everywhere has
 * no place. */
typedef struct sci_matrix {
  sci_operand x;
  int64_t offset, row, col;
} sci_matrix;

/* C = A B, (m, k) by (k, n). */
typedef struct sci_product {
  sci_lowering *l;
  sci_matrix a, b, c;
  int64_t m, k, n;
} sci_product;

/* k > 0. Every element of C adds its terms in order of k. */
void sci_multiply(sci_product *x);

#endif
