/* Owns the reverse rules of structural operations other than products and calls. */
#include "lib/ad/sparsity.h"

/* Sources end the sweep. */
void sci_reverse_input(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  (void)sweep, (void)node, (void)adjoint;
}

void sci_reverse_const(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sci_reverse_input(sweep, node, adjoint);
}

void sci_reverse_stop_gradient(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sci_reverse_input(sweep, node, adjoint);
}

/* The adjoint of a reduction, spread over the reduced axes. */
sci_id sci_spread_sum(const sci_ad *ad, sci_id node, sci_id adjoint) {
  sc_context *cx = ad->cx;
  sci_shape full = sci_shape_of(cx, sci_arg(cx, node, 0)), kept = full;
  uint32_t mask = sci_node_at(cx, node)->attr;
  for (int k = 0; k < full.rank; k++)
    if (mask >> k & 1) kept.dim[k] = 1;
  sci_shape wide = sci_seeded(ad, full);
  return sci_make_broadcast(cx, sci_to_shape(ad, adjoint, sci_seeded(ad, kept)), wide.rank, wide.dim);
}

void sci_reverse_sum(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sci_contribute(sweep, sci_arg(sweep->ad->cx, node, 0), sci_spread_sum(sweep->ad, node, adjoint));
}

static void reverse_extremum(sci_sweep *sweep, sci_id node, sci_id adjoint, sci_xop op) {
  sc_context *cx = sweep->ad->cx;
  sci_id arg = sci_arg(cx, node, 0);
  sci_id shares = sci_extremum_shares(sweep->ad, op, arg, node, sci_node_at(cx, node)->attr);
  sweep->guarded |= SCI_GUARDED_CHOICE;
  sci_contribute(sweep, arg, sci_make2(cx, SCI_OP_mul, sci_spread_sum(sweep->ad, node, adjoint), shares));
}

void sci_reverse_max(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  reverse_extremum(sweep, node, adjoint, SCI_X_max);
}

void sci_reverse_min(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  reverse_extremum(sweep, node, adjoint, SCI_X_min);
}

void sci_reverse_reshape(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  const sci_ad *ad = sweep->ad;
  sci_id arg = sci_arg(ad->cx, node, 0);
  sci_contribute(sweep, arg, sci_to_shape(ad, adjoint, sci_seeded(ad, sci_shape_of(ad->cx, arg))));
}

void sci_reverse_transpose(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  const sci_ad *ad = sweep->ad;
  const sci_node *n = sci_node_at(ad->cx, node);
  int rank = ad->cx->types[n->type].rank, first = ad->seeds != 0, axes[SC_MAX_RANK + 1] = {0};
  uint32_t packed = n->attr;
  for (int k = 0; k < rank; k++) axes[first + (int)(packed >> 4 * k & 15)] = k + first;
  sci_contribute(sweep, sci_arg(ad->cx, node, 0), sci_make_transpose(ad->cx, adjoint, axes));
}

void sci_reverse_slice(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sc_context *cx = sweep->ad->cx;
  sci_contribute_at(sweep, sci_arg(cx, node, 0), adjoint, sci_element_map(cx, node), sci_type_of(cx, node)->size);
}

void sci_reverse_broadcast(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sci_id arg = sci_arg(sweep->ad->cx, node, 0);
  sci_contribute(sweep, arg, sci_unspread(sweep->ad, adjoint, sci_shape_of(sweep->ad->cx, arg)));
}

void sci_reverse_gather(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sc_context *cx = sweep->ad->cx;
  sci_contribute_at(sweep, sci_arg(cx, node, 0), adjoint, sci_attr(cx, node), sci_type_of(cx, node)->size);
}

/* Elements `table` of the adjoint (of `size` elements), in the operand's shape. */
static sci_id pick(const sci_ad *ad, sci_id adjoint, const int32_t *table, int64_t size, sci_id operand) {
  sc_context *cx = ad->cx;
  sci_shape s = sci_seeded(ad, sci_shape_of(cx, operand));
  return sci_make_gather(cx, adjoint, sci_seeded_indices(ad, table, sci_type_of(cx, operand)->size, size), s.rank,
                         s.dim);
}

void sci_reverse_scatter(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sc_context *cx = sweep->ad->cx;
  sci_id arg = sci_arg(cx, node, 0);
  sci_contribute(sweep, arg, pick(sweep->ad, adjoint, sci_attr(cx, node), sci_type_of(cx, node)->size, arg));
}

void sci_reverse_index_add(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sc_context *cx = sweep->ad->cx;
  sci_id base = sci_arg(cx, node, 0), values = sci_arg(cx, node, 1);
  if (sci_wants(sweep, base)) sci_contribute(sweep, base, adjoint);
  if (sci_wants(sweep, values))
    sci_contribute(sweep, values, pick(sweep->ad, adjoint, sci_attr(cx, node), sci_type_of(cx, node)->size, values));
}

/* 1 for the value that stays at its index, 0 for one that a later value of the same index replaces; NULL when all stay.
 */
static uint8_t *surviving(sc_context *cx, const int32_t *table, int64_t n, int64_t size) {
  uint8_t *taken = SCI_ZEROS(&cx->env.scratch, uint8_t, size), *keep = SCI_ZEROS(&cx->env.scratch, uint8_t, n);
  bool all = true;
  for (int64_t i = n; i--;) {
    keep[i] = !taken[table[i]];
    taken[table[i]] = 1;
    all &= keep[i];
  }
  return all ? NULL : keep;
}

void sci_reverse_index_set(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  const sci_ad *ad = sweep->ad;
  sc_context *cx = ad->cx;
  sci_id base = sci_arg(cx, node, 0), values = sci_arg(cx, node, 1);
  const int32_t *table = sci_attr(cx, node);
  int64_t n = sci_type_of(cx, values)->size, size = sci_type_of(cx, base)->size;
  if (sci_wants(sweep, base)) {
    sci_id zeros = sci_zeros_like(ad, values);
    sci_contribute(sweep, base,
                   sci_make_index(cx, SCI_X_index_set, adjoint, zeros, sci_seeded_indices(ad, table, n, size)));
  }
  if (!sci_wants(sweep, values)) return;
  sci_id value = pick(ad, adjoint, table, size, values);
  const uint8_t *keep = surviving(cx, table, n, size);
  if (keep) {
    sci_shape s = sci_shape_of(cx, values);
    value = sci_make_select(cx, sci_make_const(cx, SC_BOOL, s.rank, s.dim, keep), value, sci_zeros_like(ad, values));
  }
  sci_contribute(sweep, values, value);
}

/* The part of a joined adjoint that belongs to operand i: `count` entries of the axis from `start`; `drop`: one,
 * without the axis. */
static sci_id part(const sci_ad *ad, sci_id adjoint, int axis, int64_t start, int64_t count, bool drop) {
  sci_shape s = sci_shape_of(ad->cx, adjoint);
  sci_slice_axis axes[SC_MAX_RANK + 1];
  for (int k = 0; k < s.rank; k++) axes[k] = (sci_slice_axis){0, s.dim[k], 1, 0};
  axes[axis] = (sci_slice_axis){start, count, 1, drop};
  return sci_make_slice_axes(ad->cx, adjoint, axes);
}

void sci_reverse_stack(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sc_context *cx = sweep->ad->cx;
  const sci_node *n = sci_node_at(cx, node);
  int axis = (int)n->attr + (sweep->ad->seeds != 0);
  for (uint32_t i = 0; i < n->n_args; i++)
    if (sci_wants(sweep, sci_arg(cx, node, i)))
      sci_contribute(sweep, sci_arg(cx, node, i), part(sweep->ad, adjoint, axis, i, 1, true));
}

void sci_reverse_concat(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  sc_context *cx = sweep->ad->cx;
  const sci_node *n = sci_node_at(cx, node);
  int own = (int)n->attr, axis = own + (sweep->ad->seeds != 0);
  int64_t start = 0;
  for (uint32_t i = 0; i < n->n_args; i++) {
    sci_id arg = sci_arg(cx, node, i);
    int64_t count = sci_type_of(cx, arg)->shape[own];
    if (sci_wants(sweep, arg)) sci_contribute(sweep, arg, part(sweep->ad, adjoint, axis, start, count, false));
    start += count;
  }
}
