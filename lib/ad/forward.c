/* Owns forward accumulation: one sweep in topological order, tangents only for active nodes. */
#include "lib/ad/combination.h"

typedef sci_id forward_rule(const sci_ad *ad, sci_id node, const sci_id *tangents);
static forward_rule *const rules[] = {
#define SCI_XOP(name, ...) sci_forward_##name,
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
};

void sci_mark_active(sc_context *cx, const sci_order *order, bool *active, const bool *fixed) {
  for (uint32_t k = 0; k < order->n; k++) {
    const sci_node *n = sci_node_at(cx, order->ids[k]);
    const sci_id *args = sci_args(cx, n);
    if (active[k] || (fixed && fixed[k]) || !cx->types[n->type].diff) continue;
    if (n->op < SCI_OP_COUNT && !sci_op_has_partials((sci_op)n->op)) continue;
    for (uint32_t i = 0; i < n->n_args && !active[k]; i++) active[k] = active[sci_number(order, args[i])];
  }
}

/* What the sweep knows of every node, by number. */
typedef struct forward_sweep {
  const sci_ad *ad;
  sci_order order;
  bool *active, *fixed;
  sci_combination *tangent;
  uint32_t *uses;
} forward_sweep;

/* The tangents of the operands as values; false: all are zero. */
static bool values_of(const forward_sweep *s, uint32_t n, const sci_id *args, sci_id *values) {
  bool any = false;
  for (uint32_t i = 0; i < n; i++) {
    values[i] = sci_combined(s->ad, &s->tangent[sci_number(&s->order, args[i])]);
    any |= values[i] != SCI_NONE;
  }
  return any;
}

static void step(forward_sweep *s, uint32_t k) {
  const sci_ad *ad = s->ad;
  sci_arena *scratch = &ad->cx->env.scratch;
  sci_id id = s->order.ids[k];
  const sci_node *node = sci_node_at(ad->cx, id);
  const sci_id *args = sci_args(ad->cx, node);
  unsigned op = node->op;
  uint32_t n = node->n_args;
  sci_id under = ad->seeds ? sci_guarded_root(ad->cx, id) : SCI_NONE;
  if (under != SCI_NONE) {
    s->tangent[k] = sci_forward_guarded_root(ad, id, &s->tangent[sci_number(&s->order, under)]);
    return;
  }
  if (op < SCI_OP_COUNT && ad->seeds) {
    sci_combination operands[3];
    for (uint32_t i = 0; i < n; i++) operands[i] = s->tangent[sci_number(&s->order, args[i])];
    s->tangent[k] = sci_forward_elementwise(ad, id, operands, s->uses[k]);
    return;
  }
  if (ad->seeds && sci_forward_moves(ad, id, &s->tangent[sci_number(&s->order, n ? args[0] : id)], &s->tangent[k]))
    return;
  sci_id *values = SCI_ARRAY(scratch, sci_id, n);
  if (!values_of(s, n, args, values)) return;
  sci_id t = op < SCI_OP_COUNT ? sci_forward_scalar(ad, id, values) : rules[op - SCI_X_FIRST - 1](ad, id, values);
  s->tangent[k] = sci_combination_of(t);
}

void sci_forward(const sci_ad *ad, uint32_t n_inputs, const sci_id *inputs, const sci_id *tangents, uint32_t n,
                 const sci_id *roots, sci_id *out) {
  sci_arena *scratch = &ad->cx->env.scratch;
  forward_sweep s = {.ad = ad, .order = sci_reach(ad->cx, roots, n)};
  s.tangent = SCI_ZEROS(scratch, sci_combination, s.order.n);
  s.active = SCI_ZEROS(scratch, bool, s.order.n), s.fixed = SCI_ZEROS(scratch, bool, s.order.n);
  for (uint32_t i = 0; i < n_inputs; i++) {
    uint32_t k = sci_number(&s.order, inputs[i]);
    if (k == SCI_NONE) continue;
    s.fixed[k] = true;
    s.active[k] = tangents[i] != SCI_NONE;
    s.tangent[k] = sci_combination_of(tangents[i]);
  }
  sci_mark_active(ad->cx, &s.order, s.active, s.fixed);
  if (ad->seeds) s.uses = sci_count_uses(ad->cx, &s.order, s.active, s.fixed, n, roots);
  for (uint32_t k = 0; k < s.order.n; k++)
    if (s.active[k] && !s.fixed[k]) step(&s, k);
  for (uint32_t i = 0; i < n; i++) {
    sci_combination *t = &s.tangent[sci_number(&s.order, roots[i])];
    *t = sci_combination_of(sci_combined(ad, t));
    out[i] = t->n ? t->of[0].base : SCI_NONE;
  }
}

/* ---- rules of structural operations ---- */

/* Sources have no operands, so no sweep asks for their tangent. */
sci_id sci_forward_input(const sci_ad *ad, sci_id node, const sci_id *t) {
  (void)ad, (void)node, (void)t;
  return SCI_NONE;
}

sci_id sci_forward_const(const sci_ad *ad, sci_id node, const sci_id *t) {
  return sci_forward_input(ad, node, t);
}

sci_id sci_forward_stop_gradient(const sci_ad *ad, sci_id node, const sci_id *t) {
  return sci_forward_input(ad, node, t);
}

static uint32_t seeded_mask(const sci_ad *ad, uint32_t mask) {
  return ad->seeds ? mask << 1 : mask;
}

sci_id sci_forward_sum(const sci_ad *ad, sci_id node, const sci_id *t) {
  return sci_make_reduce(ad->cx, SCI_X_sum, t[0], seeded_mask(ad, sci_node_at(ad->cx, node)->attr));
}

static sci_id forward_extremum(const sci_ad *ad, sci_id node, const sci_id *t, sci_xop op) {
  sc_context *cx = ad->cx;
  uint32_t mask = sci_node_at(cx, node)->attr;
  sci_id shares = sci_extremum_shares(ad, op, sci_arg(cx, node, 0), node, mask);
  /* A slope that is infinite elsewhere is none of the extremum's. */
  sci_id zero = sci_make_double(cx, (sc_dtype)sci_type_of(cx, node)->dtype, 0);
  sci_id moved = sci_make2(cx, SCI_OP_mul, shares, t[0]);
  moved = sci_make_select(cx, sci_make2(cx, SCI_OP_ne, shares, zero), moved, zero);
  return sci_make_reduce(cx, SCI_X_sum, moved, seeded_mask(ad, mask));
}

sci_id sci_forward_max(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_extremum(ad, node, t, SCI_X_max);
}

sci_id sci_forward_min(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_extremum(ad, node, t, SCI_X_min);
}

sci_id sci_forward_reshape(const sci_ad *ad, sci_id node, const sci_id *t) {
  return sci_to_shape(ad, t[0], sci_seeded(ad, sci_shape_of(ad->cx, node)));
}

sci_id sci_forward_transpose(const sci_ad *ad, sci_id node, const sci_id *t) {
  const sci_node *n = sci_node_at(ad->cx, node);
  int rank = ad->cx->types[n->type].rank, first = ad->seeds != 0, axes[SC_MAX_RANK + 1] = {0};
  uint32_t packed = n->attr;
  for (int k = 0; k < rank; k++) axes[first + k] = (int)(packed >> 4 * k & 15) + first;
  return sci_make_transpose(ad->cx, t[0], axes);
}

sci_id sci_forward_slice(const sci_ad *ad, sci_id node, const sci_id *t) {
  sc_context *cx = ad->cx;
  int rank = sci_type_of(cx, sci_arg(cx, node, 0))->rank, first = ad->seeds != 0;
  sci_slice_axis axes[SC_MAX_RANK + 1] = {{0, ad->seeds, 1, 0}};
  memcpy(axes + first, sci_attr(cx, node), (size_t)rank * sizeof *axes);
  return sci_make_slice_axes(cx, t[0], axes);
}

sci_id sci_forward_broadcast(const sci_ad *ad, sci_id node, const sci_id *t) {
  return sci_spread(ad, t[0], sci_shape_of(ad->cx, node));
}

/* Gather and scatter see the seeds as K copies of the operand behind each other. */
sci_id sci_forward_gather(const sci_ad *ad, sci_id node, const sci_id *t) {
  sc_context *cx = ad->cx;
  const int32_t *table = sci_attr(cx, node);
  sci_shape s = sci_seeded(ad, sci_shape_of(cx, node));
  int64_t n = sci_type_of(cx, node)->size, size = sci_type_of(cx, sci_arg(cx, node, 0))->size;
  return sci_make_gather(cx, t[0], sci_seeded_indices(ad, table, n, size), s.rank, s.dim);
}

sci_id sci_forward_scatter(const sci_ad *ad, sci_id node, const sci_id *t) {
  sc_context *cx = ad->cx;
  const int32_t *table = sci_attr(cx, node);
  sci_shape s = sci_seeded(ad, sci_shape_of(cx, node));
  int64_t n = sci_type_of(cx, sci_arg(cx, node, 0))->size, size = sci_type_of(cx, node)->size;
  return sci_make_scatter(cx, t[0], sci_seeded_indices(ad, table, n, size), s.rank, s.dim);
}

static sci_id forward_index(const sci_ad *ad, sci_id node, const sci_id *t, sci_xop op) {
  sc_context *cx = ad->cx;
  const int32_t *table = sci_attr(cx, node);
  sci_id base = sci_arg(cx, node, 0), values = sci_arg(cx, node, 1);
  int64_t n = sci_type_of(cx, values)->size, size = sci_type_of(cx, base)->size;
  sci_id tb = t[0] == SCI_NONE ? sci_zeros_like(ad, base) : t[0];
  sci_id tv = t[1] == SCI_NONE ? sci_zeros_like(ad, values) : t[1];
  return sci_make_index(cx, op, tb, tv, sci_seeded_indices(ad, table, n, size));
}

sci_id sci_forward_index_add(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_index(ad, node, t, SCI_X_index_add);
}

sci_id sci_forward_index_set(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_index(ad, node, t, SCI_X_index_set);
}

static sci_id forward_join(const sci_ad *ad, sci_id node, const sci_id *t, sci_xop op) {
  sc_context *cx = ad->cx;
  const sci_node *n = sci_node_at(cx, node);
  sci_id *parts = SCI_ARRAY(&cx->env.scratch, sci_id, n->n_args);
  for (uint32_t i = 0; i < n->n_args; i++)
    parts[i] = t[i] == SCI_NONE ? sci_zeros_like(ad, sci_arg(cx, node, i)) : t[i];
  return sci_make_join(cx, op, parts, n->n_args, (int)n->attr + (ad->seeds != 0));
}

sci_id sci_forward_stack(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_join(ad, node, t, SCI_X_stack);
}

sci_id sci_forward_concat(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_join(ad, node, t, SCI_X_concat);
}
