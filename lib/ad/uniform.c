/* Owns values that are the same all over: pieces of a Jacobian that repeat one value, or one iteration's, hold it once.
 *
 * Second derivatives of quadratic costs are like that: constants times a weight, for all stages the same. */
#include "lib/ad/jacobian.h"

enum { DEEPEST = 8, FEW = 64 /* nodes of a body that takes the place of its call */ };

/* The scalar that every element of `id` is; SCI_NONE: there may be several. */
static sci_id repeated(sc_context *cx, sci_id id, int depth) {
  const sci_node n = *sci_node_at(cx, id);
  if (!cx->types[n.type].size || depth > DEEPEST) return SCI_NONE;
  if (cx->types[n.type].size == 1) return sci_make_reshape(cx, id, 0, NULL);
  sci_scalar v;
  if (sci_const_value(cx, id, &v)) return sci_make_number(cx, (sc_dtype)cx->types[n.type].dtype, v);
  sci_id args[3];
  switch (n.op) {
  case SCI_X_broadcast:
  case SCI_X_reshape:
  case SCI_X_transpose:
  case SCI_X_slice:
  case SCI_X_gather: return repeated(cx, sci_arg(cx, id, 0), depth + 1);
  default:
    if (!sci_is_elementwise(n.op) || n.op == SCI_OP_cast) return SCI_NONE;
    for (uint32_t i = 0; i < n.n_args; i++)
      if ((args[i] = repeated(cx, sci_arg(cx, id, i), depth + 1)) == SCI_NONE) return SCI_NONE;
    return sci_make_scalar_op(cx, (sci_op)n.op, args);
  }
}

/* What the map hands to formal i, if it is the same in every iteration or does not matter; else SCI_NONE. */
static sci_id same_window(sc_context *cx, sci_id map, uint32_t i, bool matters) {
  const sci_call_attr *attr = sci_attr(cx, map);
  const sc_function *f = cx->functions[attr->callee];
  sci_id arg = sci_arg(cx, map, i), value = repeated(cx, arg, 0);
  sci_shape s = sci_shape_of(cx, f->in[i].node);
  if (value != SCI_NONE) return sci_make_broadcast(cx, value, s.rank, s.dim);
  uint32_t n_args = sci_node_at(cx, map)->n_args;
  if (matters && attr->windows[n_args + i]) return SCI_NONE;
  int64_t total = sci_type_of(cx, arg)->size, size = sci_type_of(cx, f->in[i].node)->size;
  sci_id flat = sci_make_reshape(cx, arg, 1, &total);
  flat = sci_make_slice_axes(cx, flat, &(sci_slice_axis){.start = attr->windows[i], .count = size, .step = 1});
  return sci_make_reshape(cx, flat, s.rank, s.dim);
}

/* The last node of `order`, what f's output depends on, with operands in the place of inputs. */
static sci_id body(sc_context *cx, const sc_function *f, const sci_order *order, const sci_id *args) {
  sci_id *to = SCI_ARRAY(&cx->env.scratch, sci_id, order->n);
  for (uint32_t k = 0; k < order->n; k++) {
    const sci_node *n = sci_node_at(cx, order->ids[k]);
    sci_id *of = SCI_ARRAY(&cx->env.scratch, sci_id, n->n_args);
    for (uint32_t i = 0; i < n->n_args; i++) of[i] = to[sci_number(order, sci_args(cx, n)[i])];
    to[k] = n->n_args ? sci_remake(cx, order->ids[k], of) : order->ids[k];
    for (uint32_t i = 0; i < f->n_in; i++)
      if (order->ids[k] == f->in[i].node) to[k] = args[i];
  }
  return to[order->n - 1];
}

/* One iteration of a map of which all are the same, else SCI_NONE. */
static sci_id one_iteration(sc_context *cx, sci_id map) {
  const sci_call_attr *attr = sci_attr(cx, map);
  sc_function *f = cx->functions[attr->callee];
  sci_order used = sci_reach(cx, &f->out[attr->output].node, 1);
  sci_id *args = SCI_ARRAY(&cx->env.scratch, sci_id, f->n_in);
  for (uint32_t i = 0; i < f->n_in; i++) {
    args[i] = same_window(cx, map, i, sci_number(&used, f->in[i].node) != SCI_NONE);
    if (args[i] == SCI_NONE) return SCI_NONE;
  }
  return used.n <= FEW ? body(cx, f, &used, args) : sci_make_call(cx, f, args, f->n_in, attr->output);
}

void sci_hold_once(sci_assembly *a, sci_placed_list *list) {
  sc_context *cx = a->ad->cx;
  int64_t *period = SCI_ZEROS(&cx->env.scratch, int64_t, a->pieces.n);
  for (size_t k = 0; k < a->pieces.n; k++) {
    sci_piece *p = &a->pieces.data[k];
    sci_id once = SCI_NONE;
    if (p->period && p->size >= 2 * p->period && sci_node_at(cx, p->value)->op == SCI_X_vmap)
      once = one_iteration(cx, p->value);
    else if (p->size > 1)
      once = repeated(cx, p->value, 0);
    if (once == SCI_NONE) continue;
    period[k] = p->period ? p->period : 1;
    *p = (sci_piece){once, period[k], 0};
  }
  for (size_t i = 0; i < list->n; i++)
    if (period[list->data[i].piece]) list->data[i].at %= (int32_t)period[list->data[i].piece];
}
