/* Derivatives of straight-line code, element by element: the graph is taken apart into operations on scalars, and the
 * chain rule is applied to its edges instead of to directions.
 *
 * Jacobians: elimination of vertices (Griewank & Walther, Evaluating Derivatives, 2nd ed., chapters 9 and 10) in the
 * order that costs least. Hessians of weighted sums: edge pushing (Gower & Mello, A new framework for the computation
 * of Hessians, Optimization Methods and Software 27(2), 2012), which computes every pair of variables once. */
#ifndef SCI_AD_ELIMINATE_H
#define SCI_AD_ELIMINATE_H

#include "lib/ad/jacobian.h"

/* ---- from tensors to scalars (lib/ad/scalars.c) ---- */

/* What an expansion may take. */
typedef struct sci_budget {
  int64_t operations; /* on scalars */
  int64_t elements;   /* of all tensors passed on the way */
  bool loops;         /* maps are expanded too */
} sci_budget;

/* One scalar node per element of each root: out[i][e]. False where the budget does not suffice, or an operation is not
 * expanded (extrema over axes; functions with their own derivative). In the scratch arena. */
bool sci_expand_scalars(sc_context *cx, sci_budget budget, uint32_t n, const sci_id *roots, sci_id **out);
/* The elements of a node as scalar nodes. */
sci_id *sci_elements_of(sc_context *cx, sci_id node);

/* ---- weights (lib/ad/weight.c) ---- */

/* coef * scale * value. `scale` does not depend on what is differentiated by, so products of scales are apart from
 * those of values: they are shared by all edges, and by all iterations of a map. SCI_NONE: 1. */
typedef struct sci_weight {
  double coef; /* 0: no weight */
  sci_id scale, value;
} sci_weight;

typedef struct sci_weights {
  sc_context *cx;
  sc_dtype dtype;
} sci_weights;

#define SCI_NO_WEIGHT ((sci_weight){0, SCI_NONE, SCI_NONE})
#define SCI_UNIT_WEIGHT ((sci_weight){1, SCI_NONE, SCI_NONE})
sci_weight sci_weight_product(const sci_weights *w, sci_weight a, sci_weight b);
/* Sums are made once all their terms are there, in an order that the terms alone decide and without the sign of the
 * first: equal sums are one node, wherever they come from. */
typedef SCI_VEC(sci_weight) sci_weight_list;
void sci_weight_add(const sci_weights *w, sci_weight_list *sum, sci_weight term);
sci_weight sci_weight_total(const sci_weights *w, sci_weight_list *sum); /* which becomes one term */
sci_weight sci_weight_sum(const sci_weights *w, sci_weight a, sci_weight b);
sci_id sci_weight_node(const sci_weights *w, sci_weight a);

/* ---- the scalar graph and its partial derivatives (lib/ad/partial_graph.c) ---- */

enum { SCI_MOST_OPERANDS = 3 };

/* What one operation depends on, each active operand once, and its derivatives by them. */
typedef struct sci_local {
  uint32_t n;
  uint32_t operand[SCI_MOST_OPERANDS]; /* numbers */
  sci_weight first[SCI_MOST_OPERANDS];
  sci_weight second[SCI_MOST_OPERANDS][SCI_MOST_OPERANDS]; /* [a][b] for a <= b */
} sci_local;

typedef struct sci_partial_graph {
  const sci_ad *ad;
  sci_weights weights;
  sci_order order;
  bool *active;
  uint32_t *column_number; /* per column: number of the input's element, SCI_NONE: not reached */
  int32_t *column;         /* per number; -1: no input's element */
  sci_local *local;        /* per number: of active operations */
} sci_partial_graph;

/* False where an operation has no partial derivative as a factor of finite size: choices, conversions, and slopes that
 * are infinite at points where the value is finite. */
bool sci_partial_graph_of(const sci_ad *ad, uint32_t n_roots, const sci_id *roots, uint32_t n_inputs,
                          const sci_id *inputs, bool second, sci_partial_graph *g);

/* Operations that the values of weights take, those on what does not vary aside; a product that is added counts once.
 */
int64_t sci_weights_cost(const sci_partial_graph *g, const sci_weight *weights, int64_t n);

/* ---- the two algorithms ---- */

/* weight[r * n_cols + c]: of root r (a scalar) by column c, where it is kept. */
sci_weight *sci_eliminate_vertices(const sci_partial_graph *g, uint32_t n_roots, const sci_id *roots, int64_t n_cols,
                                   const bool *kept);
/* A vertex that is taken into those that use it leaves their derivatives by its operands instead of by it: no vertex;
 * those of one operand and one user; all of one operand. */
typedef enum sci_taking_in { SCI_KEEP_ALL, SCI_TAKE_CHAINS, SCI_TAKE_UNARY, SCI_TAKING_END } sci_taking_in;
/* lib/ad/take_in.c. The graph with other locals, second derivatives too. */
sci_partial_graph sci_take_in(const sci_partial_graph *g, uint32_t n_roots, const sci_id *roots, sci_taking_in how);

typedef struct sci_push_request {
  uint32_t n_roots; /* scalars */
  const sci_id *roots, *seeds;
  int64_t n_cols;
  const bool *kept; /* [r * n_cols + c]; of two mirrored entries either will do */
} sci_push_request;

/* weight[c * n_cols + d] for c >= d, where it is kept: second derivative of the sum of the roots, each multiplied by
 * its seed. The cheapest that taking in gives. */
sci_weight *sci_push_edges(const sci_partial_graph *g, const sci_push_request *q);

/* Finds all entries of the assembly that way. False, and nothing done, where that is not possible or no gain. */
bool sci_assemble_scalars(sci_assembly *a);

#endif
