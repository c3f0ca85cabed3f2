/* Sparsity patterns of derivatives, their colorings, and how derived functions used both: for callers that compress
 * products by themselves, with solvers or finite differences of their own.
 *
 * Methods: Gebremedhin, Manne and Pothen, What Color Is Your Jacobian?, SIAM Review 47 (2005): distance-2 coloring of
 * columns or rows (section 3), both at once for matrices with a few dense rows (section 5). Gebremedhin, Tarafdar,
 * Manne and Pothen, New Acyclic and Star Coloring Algorithms with Application to Computing Hessians, SIAM J. Sci.
 * Comput. 29 (2007): algorithms 3.1 (acyclic) and 4.1 (star). */
#ifndef SCALY_SPARSITY_H
#define SCALY_SPARSITY_H

#include "scaly/derive.h"

SC_BEGIN_DECLS

/* ---- patterns ---- */

/* A pattern that the caller owns, until sc_sparsity_destroy. It holds memory of the context and must not outlive it. */
typedef struct sc_sparsity sc_sparsity;

/* Structural pattern of d OF / d WRT: rows are the elements of the output (row-major), columns those of the inputs
 * ("x+u": behind each other). It is the pattern that SC_SPJAC gives; nothing is left in the context. NULL on failure.
 */
SC_API sc_sparsity *sc_sparsity_jacobian(sc_function *f, const char *of, const char *wrt, sc_layout layout);

/* The same of a Hessian: of the one-element output OF, or (OF NULL) of the Lagrangian, the sum over all outputs of
 * <lam_OUT, OUT>. */
SC_API sc_sparsity *sc_sparsity_hessian(sc_function *f, const char *of, const char *wrt, sc_triangle triangle,
                                        sc_layout layout);

SC_API const sc_pattern *sc_sparsity_pattern(const sc_sparsity *s);
SC_API void sc_sparsity_destroy(sc_sparsity *s);

/* ---- colorings ---- */

typedef enum sc_coloring_method {
  SC_COLORING_AUTO = 0,      /* the cheapest; in a report: nothing was compressed */
  SC_COLORING_COLUMN,        /* Jacobians: forward products with groups of columns */
  SC_COLORING_ROW,           /* Jacobians: reverse products with groups of rows */
  SC_COLORING_BIDIRECTIONAL, /* Jacobians: the densest rows in reverse products, the others forward */
  SC_COLORING_STAR,          /* Hessians: every entry stands alone in a product */
  SC_COLORING_ACYCLIC,       /* Hessians: fewer products, entries by substitution */
} sc_coloring_method;

/* The order in which the greedy algorithms take the vertices. */
typedef enum sc_coloring_order { SC_ORDER_AUTO = 0, SC_ORDER_NATURAL, SC_ORDER_LARGEST_FIRST } sc_coloring_order;

/* "column", "natural", ... */
SC_API const char *sc_coloring_method_name(sc_coloring_method method);
SC_API const char *sc_coloring_order_name(sc_coloring_order order);

typedef struct sc_coloring_options {
  sc_coloring_method method; /* AUTO: by cost */
  sc_coloring_order order;   /* AUTO: whichever needs fewer colors */
  double reverse_weight;     /* cost of a reverse product, in forward ones; 0: 1.5 */
  /* Cost of a product, in subtractions. AUTO colors a Hessian acyclically when that saves a quarter of the whole cost
   * at least; 0: never. */
  double product_cost;
} sc_coloring_options;

/* Groups of columns and rows, and the recovery map.
 *
 * Forward product c is J S_c, where S_c holds 1 at the columns of color c (a vector of nrow values); reverse product c
 * is J' R_c, where R_c holds 1 at the rows of color c (ncol values). Nonzero k, in the order of the pattern's stored
 * values, is element at[k] of product product[k], a reverse one where reverse[k], less the nonzeros
 * subtract[subtract_ptr[k]] ... subtract[subtract_ptr[k + 1] - 1] (acyclic only). Those come before k in `sequence`. */
typedef struct sc_coloring {
  sc_coloring_method method;
  sc_coloring_order order;
  int64_t nrow, ncol, nnz;
  int32_t column_colors, row_colors; /* forward and reverse products */
  const int32_t *column_color;       /* ncol; -1: in no group */
  const int32_t *row_color;          /* nrow; -1: in no group */
  const int32_t *product, *at;       /* nnz */
  const uint8_t *reverse;            /* nnz */
  const int32_t *subtract_ptr;       /* nnz + 1; NULL: nothing is subtracted */
  const int32_t *subtract;
  const int32_t *sequence; /* nnz, a permutation; NULL: any order will do */
} sc_coloring;

/* Of any pattern. Column, row and bidirectional. The caller owns the result; NULL on failure. `options` may be NULL. */
SC_API const sc_coloring *sc_coloring_jacobian(sc_context *cx, const sc_pattern *pattern,
                                               const sc_coloring_options *options);

/* Of a square, symmetric pattern with both triangles. Star and acyclic; only forward products. */
SC_API const sc_coloring *sc_coloring_hessian(sc_context *cx, const sc_pattern *pattern,
                                              const sc_coloring_options *options);

SC_API void sc_coloring_destroy(const sc_coloring *c);

/* ---- what derived functions did ---- */

/* One derivative matrix, of a derived function or of a function it calls (a stage whose own Jacobian is mapped). */
typedef struct sc_matrix_report {
  const char *function, *output; /* live as long as the function */
  int64_t nrow, ncol, nnz;
  int64_t compressed; /* nonzeros read from products; the others come from the structure: constants, maps, elementwise
                         cones, */
  int64_t eliminated; /* or, all of them, from elimination on the graph of scalars */
  sc_coloring_method method;
  sc_coloring_order order;
  int32_t column_colors, row_colors;
} sc_matrix_report;

/* Fills in up to `capacity` reports, callees first; returns how many there are. None after parsing: text does not hold
 * them. */
SC_API size_t sc_function_matrices(const sc_function *f, sc_matrix_report *reports, size_t capacity);

SC_END_DECLS

#endif
