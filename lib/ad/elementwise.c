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

/* A select on `root == 0` that takes the root elsewhere. */
static bool shields(sc_context *cx, const sci_node *n, uint32_t operand, sci_id root) {
  if (n->op != SCI_OP_select || operand != 2 || sci_node_at(cx, root)->op != SCI_OP_sqrt) return false;
  const sci_node *test = sci_node_at(cx, sci_args(cx, n)[0]);
  return test->op == SCI_OP_eq && sci_args(cx, test)[0] == sci_arg(cx, root, 0) &&
         sci_is_const_number(cx, sci_args(cx, test)[1], 0);
}

sci_uses sci_count_uses(sc_context *cx, const sci_order *order, const bool *active, const bool *fixed, uint32_t n_roots,
                        const sci_id *roots) {
  sci_arena *scratch = &cx->env.scratch;
  sci_uses u = {SCI_ZEROS(scratch, uint32_t, order->n), SCI_ARRAY(scratch, bool, order->n)};
  for (uint32_t k = 0; k < order->n; k++) u.shielded[k] = true;
  for (uint32_t k = 0; k < order->n; k++) {
    const sci_node *n = sci_node_at(cx, order->ids[k]);
    const sci_id *args = sci_args(cx, n);
    for (uint32_t i = 0; active[k] && !fixed[k] && i < n->n_args; i++) {
      uint32_t of = sci_number(order, args[i]);
      u.n[of]++;
      if (active[of] && !shields(cx, n, i, args[i])) u.shielded[of] = false;
    }
  }
  for (uint32_t i = 0; i < n_roots; i++) {
    uint32_t k = sci_number(order, roots[i]);
    u.n[k]++;
    u.shielded[k] = false;
  }
  return u;
}

/* ---- several directions ---- */

static sci_combination settled(const sci_ad *ad, const sci_combination *x) {
  return sci_combination_of(sci_combined(ad, x));
}

/* A multiple of a masked base by a masked factor: neither meets what the branch not taken makes of the other. */
static sci_combination select_combination(const sci_ad *ad, sci_id id, const sci_combination *operands) {
  sc_context *cx = ad->cx;
  int taken = operands[1].n ? 1 : 2;
  const sci_combination *x = &operands[taken];
  if ((operands[1].n && operands[2].n) || x->n != 1 || x->of[0].factor == SCI_NONE)
    return sci_combination_of(select_of(ad, id, sci_combined(ad, &operands[1]), sci_combined(ad, &operands[2])));
  sci_multiple m = x->of[0];
  sci_id cond = sci_arg(cx, id, 0), zero = sci_make_double(cx, (sc_dtype)sci_type_of(cx, id)->dtype, 0);
  for (int k = 0; k < 2; k++) {
    sci_id *value = k ? &m.base : &m.factor;
    *value = taken == 1 ? sci_make_select(cx, cond, *value, zero) : sci_make_select(cx, cond, zero, *value);
  }
  return (sci_combination){1, {m}};
}

/* With more than one use a sum is worth a value of its own, and so it is where one of its terms is no product. */
static bool stays_open(const sci_combination *x, uint32_t uses) {
  if (x->n <= 1) return true;
  if (uses > 1 || x->n == SCI_MAX_MULTIPLES) return false;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->of[i].factor == SCI_NONE) return false;
  return true;
}

sci_combination sci_forward_elementwise(const sci_ad *ad, sci_id id, const sci_combination *operands, uint32_t uses,
                                        bool shielded) {
  sc_context *cx = ad->cx;
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  sci_op op = (sci_op)n->op;
  if (op == SCI_OP_select) return select_combination(ad, id, operands);
  sci_combination sum = {0};
  for (uint32_t i = 0; i < n->n_args; i++) {
    if (!operands[i].n) continue;
    sci_id factor;
    bool negative, open = !sci_op_is_steep(op) || (op == SCI_OP_sqrt && shielded);
    if (open && sci_factor(ad, op, i, args, id, &factor, &negative)) {
      sci_combine(ad, &sum, &operands[i], factor, negative);
    } else {
      sci_combination value = sci_combination_of(sci_partial(ad, op, i, args, id, sci_combined(ad, &operands[i])));
      sci_combine(ad, &sum, &value, SCI_NONE, false);
    }
  }
  return stays_open(&sum, uses) ? sum : settled(ad, &sum);
}

bool sci_forward_moves(const sci_ad *ad, sci_id id, const sci_combination *operand, sci_combination *out) {
  sc_context *cx = ad->cx;
  sci_id base = SCI_NONE;
  if (operand->n != 1 || operand->of[0].factor == SCI_NONE) return false;
  sci_multiple m = operand->of[0];
  switch (sci_node_at(cx, id)->op) {
  case SCI_X_reshape: base = sci_forward_reshape(ad, id, &m.base); break;
  case SCI_X_transpose: base = sci_forward_transpose(ad, id, &m.base); break;
  case SCI_X_slice: base = sci_forward_slice(ad, id, &m.base); break;
  case SCI_X_broadcast: base = sci_forward_broadcast(ad, id, &m.base); break;
  default: return false;
  }
  *out = (sci_combination){1, {{base, sci_remake(cx, id, &m.factor), m.negative}}};
  return true;
}
