/* Sparse Jacobians of graphs: structure first, compression only where structure gives no answer.
 *
 * The roots are taken apart from above. Linear operations only route and scale; below them every root is a combination
 * of
 *   - elements of the inputs themselves: constant entries;
 *   - maps and calls whose active operands are windows of inputs: the callee's own small Jacobian, built once, is
 * mapped (or called), so neither work nor code depends on the length;
 *   - cones: elementwise expressions of moved inputs, whose derivative with respect to each is elementwise;
 *   - anything else: compressed by coloring (lib/ad/compress.c).
 * The entries of all of these are merged into the stored values. */
#ifndef SCI_AD_JACOBIAN_H
#define SCI_AD_JACOBIAN_H

#include "lib/ad/coloring.h"

/* Whether a function is differentiated element by element (lib/ad/eliminate.h): where it asks to be lowered as scalars;
 * a stage of others where it is small; otherwise its tensors stay what they are. */
typedef enum sci_scalars { SCI_SCALARS_NEVER, SCI_SCALARS_IF_FEW, SCI_SCALARS_ALWAYS } sci_scalars;

typedef struct sci_jacobian_request {
  uint32_t n_roots;
  const sci_id *roots; /* rows: the elements of the roots, one root after the other */
  uint32_t n_inputs;
  const sci_id *inputs; /* columns: the elements of the inputs, likewise */
  sc_triangle triangle; /* entries to keep */
  bool symmetric;       /* a Hessian: the roots are the gradient with respect to the inputs, in their order */
  bool by_columns;      /* order of the values: column by column (csc), else row by row */
  bool mirror;          /* of the lower triangle's entries, row by row, both triangles */
  const sci_rows *only; /* NULL, or entries to keep */
  sci_scalars scalars;
  uint32_t n_of; /* of a Hessian, where they are known: what the gradient is of, and what each is multiplied by */
  const sci_id *of, *seeds;
} sci_jacobian_request;

typedef struct sci_sparse {
  int64_t n_rows, n_cols, nnz;
  const int32_t *row, *col; /* per stored value, in the requested order */
  sci_id values;            /* (nnz) */
  sc_matrix_report report;  /* how its entries were found; sizes and names are not filled in */
} sci_sparse;

/* Scratch. `ad->seeds` must be 0. */
sci_sparse sci_sparse_jacobian(const sci_ad *ad, const sci_jacobian_request *q);

/* ---- shared by the parts of the assembly ---- */

/* coefficient * element `elem` of a node belongs to row `row`. */
typedef struct sci_term {
  int32_t row, elem;
  double coef;
} sci_term;
typedef SCI_VEC(sci_term) sci_terms;

/* coefficient * element `at` of piece `piece` is part of (row, col); piece -1: the coefficient itself. */
typedef struct sci_nonzero {
  int32_t row, col, piece, at;
  double coef;
} sci_nonzero;

/* Values that entries refer to. `period` > 0: a map's, `period` values per iteration. */
typedef struct sci_piece {
  sci_id value; /* any shape, taken flat */
  int64_t size, period;
} sci_piece;

typedef struct sci_assembly {
  const sci_ad *ad;
  const sci_jacobian_request *q;
  sci_order order;
  bool *active;
  const int32_t **column; /* per number: the input column behind each element (-1: none) of values that only move
                             inputs, else NULL */
  uint8_t *kind;          /* sci_node_kind */
  sci_terms *terms;       /* per number */
  int64_t n_rows, n_cols;
  sc_matrix_report report;
  SCI_VEC(sci_nonzero) entries;
  SCI_VEC(sci_piece) pieces;
} sci_assembly;

typedef enum sci_node_kind {
  SCI_KIND_PASSIVE,
  SCI_KIND_DIRECT,
  SCI_KIND_LINEAR,
  SCI_KIND_CONE,
  SCI_KIND_MAP,
  SCI_KIND_OPAQUE
} sci_node_kind;

/* An entry that is part of stored value `place`. */
typedef struct sci_placed {
  int32_t place, piece, at;
  double coef;
} sci_placed;
typedef SCI_VEC(sci_placed) sci_placed_list;

/* Stored value k is the sum of the sources of from[k] (NULL: k): a constant if `touched`, then entries first[k] to
 * first[k + 1] - 1. */
typedef struct sci_sources {
  int64_t n;
  const int32_t *from;
  const bool *touched;
  const double *constant;
  const int32_t *first;
  const sci_placed *entries;
} sci_sources;

bool sci_keeps(const sci_assembly *a, int32_t row, int32_t col);
void sci_add_entry(sci_assembly *a, int32_t row, int32_t col, int32_t piece, int64_t at, double coef);
int32_t sci_add_piece(sci_assembly *a, sci_id value, int64_t period);
void sci_classify(sci_assembly *a);            /* lib/ad/classify.c */
void sci_route(sci_assembly *a, uint32_t k);   /* hands the terms of linear node k to its operands */
void sci_assemble_cones(sci_assembly *a);      /* lib/ad/cones.c */
void sci_assemble_maps(sci_assembly *a);       /* lib/ad/maps.c */
void sci_assemble_opaque(sci_assembly *a);     /* lib/ad/compress.c */
sci_sparse sci_merge_entries(sci_assembly *a); /* lib/ad/merge.c */
sci_id sci_make_numbers(sc_context *cx, sc_dtype dtype, int64_t n, const double *v); /* a vector of constants */
/* lib/ad/uniform.c: pieces of which all elements, or all iterations, are one, hold it once. */
void sci_hold_once(sci_assembly *a, sci_placed_list *list);
/* lib/ad/addends.c: entries and constants at places of maps' values become part of these, where they move evenly. */
void sci_add_in_maps(sci_assembly *a, sci_placed_list *list, int64_t n_places, bool *touched, double *constant);
/* lib/ad/bands.c: the stored values, in order; SCI_NONE: too few of them, or too little order. */
sci_id sci_band_values(sc_context *cx, sc_dtype dtype, const sci_piece *pieces, const sci_sources *s);

/* The Jacobian of f's used outputs with respect to its active inputs (the roots and inputs of q, in f's order), the
 * entries of q->only row by row as one output. Cached; never NULL. */
sc_function *sci_callee_jacobian(const sci_ad *ad, sc_function *f, const bool *active, const bool *used,
                                 const sci_jacobian_request *q);
/* Whether f is a derivative made by sci_callee_reverse whose used outputs (node[o] != SCI_NONE) are the adjoints of
 * just its active inputs, in order. */
bool sci_is_gradient_of_inputs(sc_context *cx, const sc_function *f, const bool *active, const uint32_t *node);

/* `wanted`, with underscores appended until none of the inputs has that name. */
const char *sci_fresh_name(sci_arena *scratch, const sc_named *in, size_t n, const char *wanted);
/* A derivative lives as long as something calls it, and is lowered as its source f is. */
void sci_lower_as(const sci_ad *ad, sc_function *derived, const sc_function *f);

/* Identity of a call's or map's siblings: the same callee on the same operands. */
sci_id sci_sibling_key(sc_context *cx, sci_id id);

#endif
