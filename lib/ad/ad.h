/* Differentiation of expression graphs: shared state of the forward and reverse sweeps.
 *
 * Seeds: a sweep carries one direction (seeds == 0) or several at once in a leading axis (seeds == K: a tangent or
 * adjoint of a value of shape S has shape (K, S)), so that factors of the chain rule are computed once for all
 * directions. */
#ifndef SCI_AD_AD_H
#define SCI_AD_AD_H

#include "lib/expr/expr.h"
#include "scaly/derive.h"

/* What zeros of an adjoint may stand for: the slope 0 of a norm at the origin, or what a selection leaves out. Of
 * these, only the latter are told the callers of a derivative. */
enum { SCI_GUARDED_ORIGIN = 1, SCI_GUARDED_CHOICE = 2 };

typedef struct sci_ad {
  sc_context *cx;
  int64_t seeds; /* 0: one direction without an axis */
  sc_nonsmooth nonsmooth;
  bool strict_nan;
  uint8_t guarded; /* reverse: the zeros among the seeds, SCI_GUARDED_... */
} sci_ad;

/* Contribution of `seed` (a tangent of operand i, or the adjoint of the result) through operand i of a scalar
 * operation, aligned to broadcast with the result. Linear in the seed. SCI_NONE: structurally zero. */
sci_id sci_partial(const sci_ad *ad, sci_op op, uint32_t i, const sci_id *args, sci_id result, sci_id seed);
/* The same as a factor of the seed and a sign: factor SCI_NONE is 1. False where it is no factor (a choice, a
 * conversion) or structurally zero. Quotients and roots share the reciprocal of what they divide by, which makes their
 * factors right to a few units in the last place, infinite for a subnormal divisor. */
bool sci_factor(const sci_ad *ad, sci_op op, uint32_t i, const sci_id *args, sci_id result, sci_id *factor,
                bool *negative);
/* The derivative of a root by its square: for the value `root` of sci_guarded_root, to be masked. */
sci_id sci_root_partial(const sci_ad *ad, sci_id root, sci_id seed);
sci_id sci_root_factor(const sci_ad *ad, sci_id root); /* the same as a factor */
/* The derivative of x * x: seed times x + x, one product instead of two. */
sci_id sci_square_partial(const sci_ad *ad, sci_id x, sci_id seed);
/* Shares of the tied extrema of a max or min reduction, in the operand's shape: they multiply the derivative. */
sci_id sci_extremum_shares(const sci_ad *ad, sci_xop op, sci_id arg, sci_id result, uint32_t mask);
bool sci_op_has_partials(sci_op op);
bool sci_op_is_steep(sci_op op); /* its slope is infinite at points where its value is finite */
bool sci_op_is_wild(sci_op op);  /* it, or a partial of it, may be infinite or NaN at finite operands */

/* ---- shapes with a seed axis (lib/ad/shapes.c) ---- */

typedef struct sci_shape {
  int rank;
  int64_t dim[SC_MAX_RANK + 1];
} sci_shape;

sci_shape sci_shape_of(const sc_context *cx, sci_id id);
sci_shape sci_seeded(const sci_ad *ad, sci_shape s);          /* (K, s), or s; fails past the largest rank */
sci_id sci_align(const sci_ad *ad, sci_id t, int rank);       /* (K, s) -> (K, 1.., s) of rank + 1 dimensions */
sci_id sci_spread(const sci_ad *ad, sci_id t, sci_shape out); /* (K, s) broadcast to (K, out) */
sci_id sci_unspread(const sci_ad *ad, sci_id t, sci_shape s); /* (K, wider) summed to (K, s): the adjoint of spread */
sci_id sci_to_shape(const sci_ad *ad, sci_id t, sci_shape s); /* reshape to s as it is */
sci_id sci_zeros_like(const sci_ad *ad, sci_id value);        /* (K, shape of value) */
/* An index table into a flattened value of `size` elements, repeated for every seed: K * n entries. Scratch. */
int32_t *sci_seeded_indices(const sci_ad *ad, const int32_t *table, int64_t n, int64_t size);
sci_id sci_sum2(sc_context *cx, sci_id a, sci_id b); /* either may be SCI_NONE */

/* ---- activity ---- */

/* Per number of `order`: depends on one of the nodes marked on input (by number) through differentiable operations.
 * `fixed` nodes (NULL: none) stay as they are: the sweeps' inputs, which may depend on each other and are
 * differentiated by as if they did not. */
void sci_mark_active(sc_context *cx, const sci_order *order, bool *active, const bool *fixed);

/* ---- sweeps ---- */

/* Tangents of `n` roots. The inputs are any nodes, taken as independent of each other. `inputs` and `tangents` give the
 * seeds: tangents[i] of shape (K, shape of inputs[i]), SCI_NONE for zero. out[i] is SCI_NONE where structurally zero.
 */
void sci_forward(const sci_ad *ad, uint32_t n_inputs, const sci_id *inputs, const sci_id *tangents, uint32_t n,
                 const sci_id *roots, sci_id *out);

/* Adjoints of `n` inputs for roots with the adjoints `seeds` (shape (K, shape of root), SCI_NONE for zero). out[i]
 * SCI_NONE: zero. guarded[i] (NULL: not asked): zeros of out[i] may stand for what a selection leaves out. */
void sci_reverse(const sci_ad *ad, uint32_t n_roots, const sci_id *roots, const sci_id *seeds, uint32_t n,
                 const sci_id *inputs, sci_id *out, bool *guarded);

/* One rule per row of expr_ops.def; the tables in forward.c and reverse.c make a missing one a link error.
 * forward: tangents of the operands (SCI_NONE: zero; at least one is not) to the tangent of the node, SCI_NONE for
 * zero. reverse: hands the node's adjoint to its active operands through sci_contribute. */
typedef struct sci_sweep sci_sweep;
#define SCI_XOP(name, ...)                                                                                             \
  sci_id sci_forward_##name(const sci_ad *ad, sci_id node, const sci_id *tangents);                                    \
  void sci_reverse_##name(sci_sweep *sweep, sci_id node, sci_id adjoint);
#include "lib/expr/expr_ops.def"
#undef SCI_XOP

struct sci_sweep {
  const sci_ad *ad;
  sci_order order;
  const bool *active;
  const bool *wild;                /* per number: may be infinite or NaN where its operands are not */
  const struct sci_live *live;     /* per number */
  struct sci_contribution **parts; /* per number, latest first */
  uint8_t guarded;                 /* the zeros of the adjoint being handed on */
};
bool sci_wants(const sci_sweep *sweep, sci_id operand); /* active: an adjoint is needed */
/* Adds `value` (shape (K, shape of operand)) to the operand's adjoint. */
void sci_contribute(sci_sweep *sweep, sci_id operand, sci_id value);
/* The adjoint of a reduction (with the seeds of `ad` or without), spread over the reduced axes. */
sci_id sci_spread_sum(const sci_ad *ad, sci_id node, sci_id adjoint);
/* Adds the elements of `value` ((K, n)) to the elements `indices` of the flattened operand. */
void sci_contribute_at(sci_sweep *sweep, sci_id operand, sci_id value, const int32_t *indices, int64_t n);
/* The adjoints of the sibling calls or maps of one callee on one set of operands: by output, SCI_NONE for zero. */
void sci_reverse_siblings(sci_sweep *sweep, sci_id node, const sci_id *by_output);

/* ---- derivatives of callees (lib/ad/callee.c), cached per context ---- */

typedef struct sci_derived {
  sc_function *f;
  uint32_t n; /* outputs of f; output k belongs to the original output (forward) or input (reverse) of[k] */
  const uint32_t *of;
  const uint32_t *guarded; /* reverse: whether zeros of output k may stand for what a selection leaves out */
} sci_derived;

/* f's inputs, then a tangent fwd_<input> for every input marked active; outputs: the tangents that are not structurally
 * zero. With several seeds, tangents are (K, shape), or (shape, K) for a mapped callee, whose windows are contiguous.
 */
sci_derived sci_callee_forward(const sci_ad *ad, sc_function *f, const bool *active, bool trailing);
/* f's inputs, then an adjoint lam_<output> for every output marked seeded; outputs: the adjoints of the inputs marked
 * active that are not structurally zero. */
sci_derived sci_callee_reverse(const sci_ad *ad, sc_function *f, const bool *active, const bool *seeded, bool trailing);
/* The sweeps through one function that brings its own derivative along (lib/ad/custom.c): tangents by input to tangents
 * by output, adjoints by output to adjoints by input; SCI_NONE: zero, or (active NULL or false) not wanted. */
void sci_custom_forward(const sci_ad *ad, sc_function *f, const sci_id *tangents, sci_id *out);
void sci_custom_reverse(const sci_ad *ad, sc_function *f, const sci_id *adjoints, const bool *active, sci_id *out);
/* Output o of f as something to differentiate: its node, or for a function with its own derivative a call of f on its
 * inputs. */
sci_id sci_root_of(sc_context *cx, sc_function *f, uint32_t o);

/* (K, shape) <-> (shape, K) */
sci_id sci_seeds_last(const sci_ad *ad, sci_id t);
sci_id sci_seeds_first(const sci_ad *ad, sci_id t);

#endif
