/* Owns the forward rules of elementwise operations: one direction at a time, and several as combinations. */
#include "lib/ad/combination.h"

/* ---- one direction ---- */

/* One selection of two tangents, not a sum of two masked ones. */
static sci_id select_of(const sci_ad *ad, sci_id id, sci_id a, sci_id b) {
  sci_id zero = sci_zeros_like(ad, id);
  return sci_make_select(ad->cx, sci_arg(ad->cx, id, 0), a == SCI_NONE ? zero : a, b == SCI_NONE ? zero : b);
}

sci_id sci_forward_scalar(const sci_ad *ad, sci_id id, const sci_id *tangents) {
  sc_context *cx = ad->cx;
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  sci_op op = (sci_op)n->op;
  if (op == SCI_OP_select) return select_of(ad, id, tangents[1], tangents[2]);
  if (op == SCI_OP_mul && args[0] == args[1]) return sci_square_partial(ad, args[0], tangents[0]);
  sci_id sum = SCI_NONE;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (tangents[i] != SCI_NONE) sum = sci_sum2(cx, sum, sci_partial(ad, op, i, args, id, tangents[i]));
  return sum;
}

/* ---- uses ---- */

uint32_t *sci_count_uses(sc_context *cx, const sci_order *order, const bool *active, const bool *fixed,
                         uint32_t n_roots, const sci_id *roots) {
  uint32_t *uses = SCI_ZEROS(&cx->env.scratch, uint32_t, order->n);
  for (uint32_t k = 0; k < order->n; k++) {
    const sci_node *n = sci_node_at(cx, order->ids[k]);
    const sci_id *args = sci_args(cx, n);
    for (uint32_t i = 0; active[k] && !fixed[k] && i < n->n_args; i++) uses[sci_number(order, args[i])]++;
  }
  for (uint32_t i = 0; i < n_roots; i++) uses[sci_number(order, roots[i])]++;
  return uses;
}

/* ---- several directions ---- */

static sci_combination settled(const sci_ad *ad, const sci_combination *x) {
  return sci_combination_of(sci_combined(ad, x));
}

static sci_combination select_combination(const sci_ad *ad, sci_id id, const sci_combination *operands) {
  bool taken = operands[1].n;
  const sci_combination *x = &operands[taken ? 1 : 2];
  if ((taken && operands[2].n) || x->n != 1)
    return sci_combination_of(select_of(ad, id, sci_combined(ad, &operands[1]), sci_combined(ad, &operands[2])));
  return (sci_combination){1, {sci_masked_multiple(ad, x->of[0], sci_arg(ad->cx, id, 0), taken)}};
}

/* select(s == 0, 0, sqrt(s)), as one operation: its slope is 0 at 0 and never infinite. */
sci_combination sci_forward_guarded_root(const sci_ad *ad, sci_id id, const sci_combination *s) {
  sc_context *cx = ad->cx;
  sci_combination x = sci_combination_of(sci_combined(ad, s)), out = {0};
  if (!x.n) return x;
  sci_combine(ad, &out, &x, sci_root_factor(ad, id), false);
  out.of[0] = sci_masked_multiple(ad, out.of[0], sci_arg(cx, id, 0), false);
  return out;
}

sci_combination sci_forward_elementwise(const sci_ad *ad, sci_id id, const sci_combination *operands, uint32_t uses) {
  sc_context *cx = ad->cx;
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  sci_op op = (sci_op)n->op;
  if (op == SCI_OP_select) return select_combination(ad, id, operands);
  sci_combination sum = {0};
  for (uint32_t i = 0; i < n->n_args; i++) {
    if (!operands[i].n) continue;
    sci_id factor;
    bool negative;
    if (!sci_op_is_steep(op) && sci_factor(ad, op, i, args, id, &factor, &negative)) {
      sci_combine(ad, &sum, &operands[i], factor, negative);
    } else {
      sci_combination value = sci_combination_of(sci_partial(ad, op, i, args, id, sci_combined(ad, &operands[i])));
      sci_combine(ad, &sum, &value, SCI_NONE, false);
    }
  }
  return sci_stays_open(&sum, uses) ? sum : settled(ad, &sum);
}

bool sci_forward_moves(const sci_ad *ad, sci_id id, const sci_combination *operand, sci_combination *out) {
  sc_context *cx = ad->cx;
  sci_id base = SCI_NONE;
  if (operand->n != 1) return false;
  sci_multiple m = operand->of[0];
  switch (sci_node_at(cx, id)->op) {
  case SCI_X_reshape: base = sci_forward_reshape(ad, id, &m.base); break;
  case SCI_X_transpose: base = sci_forward_transpose(ad, id, &m.base); break;
  case SCI_X_slice: base = sci_forward_slice(ad, id, &m.base); break;
  case SCI_X_broadcast: base = sci_forward_broadcast(ad, id, &m.base); break;
  default: return false;
  }
  *out = (sci_combination){1, {{base, m.factor == SCI_NONE ? SCI_NONE : sci_remake(cx, id, &m.factor), m.negative}}};
  return true;
}
