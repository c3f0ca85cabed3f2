/* Tangents of several seeds as linear combinations: what multiplies a seed does not depend on the seed, so factors of
 * the chain rule are multiplied with each other first, once for all seeds, and paths from one seed to one value are
 * added up as numbers. This is the elimination of vertices of Griewank & Walther, Evaluating Derivatives (2nd ed.),
 * chapter 9, of those that never cost a product per seed: vertices with one edge in, or with one edge out. */
#ifndef SCI_AD_COMBINATION_H
#define SCI_AD_COMBINATION_H

#include "lib/ad/ad.h"

enum { SCI_MAX_MULTIPLES = 4 };

/* factor * base, or minus that. The base has the seed axis, the factor (SCI_NONE: 1) has none. */
typedef struct sci_multiple {
  sci_id base, factor;
  bool negative;
} sci_multiple;

typedef struct sci_combination {
  uint32_t n; /* 0: structurally zero */
  sci_multiple of[SCI_MAX_MULTIPLES];
} sci_combination;

sci_combination sci_combination_of(sci_id tangent); /* SCI_NONE: zero */
/* sum += factor * x, with the opposite sign if `negative`. Factor SCI_NONE: 1. */
void sci_combine(const sci_ad *ad, sci_combination *sum, const sci_combination *x, sci_id factor, bool negative);
/* The tangent itself; SCI_NONE for zero. */
sci_id sci_combined(const sci_ad *ad, const sci_combination *x);
/* The multiple where `cond` is `taken`, else 0. Base and factor are masked both: neither meets what the branch not
 * taken makes of the other. */
sci_multiple sci_masked_multiple(const sci_ad *ad, sci_multiple m, sci_id cond, bool taken);
/* Whether the products that follow at `uses` places cost no more per seed for all terms than for their sum, which is a
 * value of its own. Terms that are no products are cheaper added up. */
bool sci_stays_open(const sci_combination *x, uint32_t uses);

/* ---- forward rules of elementwise operations (lib/ad/elementwise.c) ---- */

/* Per number: uses by active nodes and as a root. */
uint32_t *sci_count_uses(sc_context *cx, const sci_order *order, const bool *active, const bool *fixed,
                         uint32_t n_roots, const sci_id *roots);

/* One direction: tangents of the operands (SCI_NONE: zero) to that of the node. */
sci_id sci_forward_scalar(const sci_ad *ad, sci_id node, const sci_id *tangents);
/* Several. Left as a combination where that costs nothing per seed. */
sci_combination sci_forward_elementwise(const sci_ad *ad, sci_id node, const sci_combination *operands, uint32_t uses);
/* Of sci_guarded_root: the tangent of what is under the root to the node's. */
sci_combination sci_forward_guarded_root(const sci_ad *ad, sci_id node, const sci_combination *s);
/* An operation that only moves elements, of a tangent that is one multiple: moves factor and base. False: not one. */
bool sci_forward_moves(const sci_ad *ad, sci_id node, const sci_combination *operand, sci_combination *out);

#endif
