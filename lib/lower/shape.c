/* Owns sources and views: inputs, constants, and the operations that only look at their operand differently. */
#include "lib/lower/state.h"

void sci_lower_input(sci_lowering *l, uint32_t num) {
  (void)l; /* its place is the parameter's, set before the first statement */
  (void)num;
}

void sci_lower_const(sci_lowering *l, uint32_t num) {
  const sci_type *t = sci_type_at(l, num);
  const void *data = sci_attr(l->cx, l->order->ids[num]);
  sc_dtype dtype = (sc_dtype)t->dtype;
  if (t->size == 1)
    l->slots[num].val = sci_val_const(l->s, dtype, sci_scalar_load(dtype, data, 0));
  else
    l->slots[num].place = sci_place_whole(l, sci_const_table(l->s, dtype, t->size, data, NULL), t->size);
}

static void same_elements(sci_lowering *l, uint32_t num) {
  const sci_slot *from = &l->slots[sci_arg_of(l, num, 0)];
  l->slots[num].val = from->val;
  l->slots[num].place = from->place;
  if (from->uses == 1) l->slots[num].cuts = from->cuts;
}

void sci_lower_stop_gradient(sci_lowering *l, uint32_t num) {
  same_elements(l, num);
}

void sci_lower_reshape(sci_lowering *l, uint32_t num) {
  same_elements(l, num);
}

void sci_transpose_axes_of(const sci_lowering *l, uint32_t num, int axes[SC_MAX_RANK]) {
  for (int k = 0; k < SC_MAX_RANK; k++) axes[k] = (int)(sci_node_of(l, num)->attr >> (4 * k) & 15);
}

void sci_lower_transpose(sci_lowering *l, uint32_t num) {
  uint32_t from = sci_arg_of(l, num, 0);
  sci_operand x = sci_operand_of(l, from);
  l->slots[num].val = x.val;
  if (!x.place) return;
  int axes[SC_MAX_RANK];
  sci_transpose_axes_of(l, num, axes);
  const sci_type *t = sci_type_at(l, from);
  const sci_place *p = sci_place_transpose(l, x.place, t->rank, t->shape, axes);
  l->slots[num].place = p ? p : sci_place_transpose(l, sci_contiguous(l, from), t->rank, t->shape, axes);
}

void sci_lower_slice(sci_lowering *l, uint32_t num) {
  uint32_t from = sci_arg_of(l, num, 0);
  const sci_slot *slot = &l->slots[from];
  l->slots[num].val = slot->val;
  if (slot->val != SCI_NIL) return;
  const sci_slice_axis *axes = sci_attr(l->cx, l->order->ids[num]);
  const sci_type *t = sci_type_at(l, from);
  const sci_place *p = sci_place_slice(l, slot->place, t->rank, t->shape, axes);
  l->slots[num].place = p ? p : sci_place_slice(l, sci_contiguous(l, from), t->rank, t->shape, axes);
}

/* Axes are aligned at the right; an operand's axis of extent 1, or none, repeats: stride 0. */
static bool broadcast_digits(sci_digits *x, const sci_type *from, const sci_type *to) {
  uint32_t first[SC_MAX_RANK + 1];
  if (!sci_split_shape(x, from->rank, from->shape, first)) return false;
  sci_digits out = {.offset = x->offset};
  for (int k = 0; k < to->rank; k++) {
    int axis = k - (to->rank - from->rank);
    bool repeats = axis < 0 || (from->shape[axis] == 1 && to->shape[k] > 1);
    uint32_t n = repeats ? 1 : first[axis + 1] - first[axis];
    if (out.n + n > SCI_MAX_DIGITS) return false;
    if (repeats)
      out.d[out.n] = (sci_digit){to->shape[k], 0};
    else
      memcpy(&out.d[out.n], &x->d[first[axis]], n * sizeof *x->d);
    out.n += n;
  }
  *x = out;
  return true;
}

void sci_lower_broadcast(sci_lowering *l, uint32_t num) {
  uint32_t from = sci_arg_of(l, num, 0);
  sci_operand x = sci_operand_of(l, from);
  l->slots[num].val = x.val;
  if (!x.place) return;
  const sci_type *t = sci_type_at(l, from);
  sci_digits d = sci_digits_of(x.place);
  if (!broadcast_digits(&d, t, sci_type_at(l, num))) {
    x.place = sci_contiguous(l, from);
    d = sci_digits_of(x.place);
    broadcast_digits(&d, t, sci_type_at(l, num));
  }
  l->slots[num].place = sci_place_like(l, x.place, &d);
}
