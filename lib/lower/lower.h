/* Lowering: a function of the expression dialect becomes a program, once, never back.
 *
 * The order of every sum is fixed here and nowhere else, so that evaluators can reproduce it bit for bit. A sum (max,
 * min alike) of n terms t_0, t_1, ... in row-major order of the reduced axes, from the left when not said otherwise:
 *
 *   n = 0        0
 *   n < 8        ((t_0 + t_1) + t_2) + ...
 *   n < 64       p_j = t_j + t_{j+4} + ...  for j < 4, then (p_0 + p_1) + (p_2 + p_3)
 *   n <= 4096    p_j = t_j + t_{j+32} + ... for j < 32, then halving: p_j += p_{j+h} for j < h, h = 16, 8, 4, 2, 1
 *   above        the blocks of 4096 terms and the shorter last one each by the rule for its length of 32 partial sums
 * (a partial sum without terms is -0.0), then pairwise: neighbours s_{2i} + s_{2i+1}, an odd last one moving up, until
 * one is left
 *
 * Products of rank 2 by rank 1 and of rank 1 by rank 1 follow this order; those whose right operand has rank 2 add in
 * order of k. A sum starts with its first term (equally: with -0.0), so a sum of negative zeros is a negative zero.
 * Scattered terms are added to 0 in the order of their table. */
#ifndef SCI_LOWER_LOWER_H
#define SCI_LOWER_LOWER_H

#include "lib/expr/expr.h"
#include "lib/program/program.h"

/* The verified program of f, before any pass, owned as sci_program_create says. `options` NULL: defaults; its `target`
 * NULL leaves the program's target zero: lib/api resolves the host. Unwinds on failure. */
sci_program *sci_lower(sc_context *cx, const sc_function *f, const sc_lower_options *options);

#endif
