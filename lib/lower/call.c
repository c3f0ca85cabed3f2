/* Owns calls and mapped calls: sibling nodes become one call, a mapped one stands in one independent loop. */
#include "lib/lower/state.h"

static const sci_call_attr *attr_of(const sci_lowering *l, uint32_t num) {
  return sci_attr(l->cx, l->order->ids[num]);
}

static bool is_call(const sci_lowering *l, uint32_t num) {
  unsigned op = sci_node_of(l, num)->op;
  return (op == SCI_X_call || op == SCI_X_vmap) && sci_is_live(l, num);
}

/* What makes siblings: everything but the output. */
static size_t window_bytes(const sci_lowering *l, uint32_t num) {
  return sci_attr_size(l->cx, l->order->ids[num]) - offsetof(sci_call_attr, length);
}

static uint32_t hash_call(const sci_lowering *l, uint32_t num) {
  const sci_node *node = sci_node_of(l, num);
  const sci_call_attr *a = attr_of(l, num);
  uint32_t h = sci_mix(sci_hash_bytes(sci_args(l->cx, node), node->n_args * sizeof(sci_id)), a->callee);
  return sci_mix(h, sci_mix(sci_hash_bytes(&a->length, window_bytes(l, num)), node->op));
}

static bool are_siblings(const sci_lowering *l, uint32_t p, uint32_t q) {
  const sci_node *a = sci_node_of(l, p), *b = sci_node_of(l, q);
  const sci_call_attr *x = attr_of(l, p), *y = attr_of(l, q);
  return a->op == b->op && a->n_args == b->n_args && x->callee == y->callee &&
         !memcmp(sci_args(l->cx, a), sci_args(l->cx, b), a->n_args * sizeof(sci_id)) &&
         window_bytes(l, p) == window_bytes(l, q) && !memcmp(&x->length, &y->length, window_bytes(l, p));
}

/* Whether a group already has what num gives: they differ in a hint only, and are two calls. */
static bool has_output(const sci_lowering *l, uint32_t first, uint32_t num) {
  for (uint32_t m = first; m != num && m != SCI_NIL; m = l->siblings[m].next)
    if (attr_of(l, m)->output == attr_of(l, num)->output) return true;
  return false;
}

void sci_group_calls(sci_lowering *l) {
  uint32_t n = 0, size = 16;
  for (uint32_t num = 0; num < l->order->n; num++) n += is_call(l, num);
  if (!n) return;
  while (size < 2 * n) size *= 2;
  l->siblings = SCI_ARRAY(l->scratch, sci_sibling, l->order->n);
  uint32_t *table = SCI_ARRAY(l->scratch, uint32_t, size);
  memset(table, 0xff, size * sizeof *table);
  for (uint32_t num = 0; num < l->order->n; num++) {
    if (!is_call(l, num)) continue;
    uint32_t at = hash_call(l, num) & (size - 1);
    while (table[at] != SCI_NIL && !are_siblings(l, table[at], num)) at = (at + 1) & (size - 1);
    if (table[at] == SCI_NIL) table[at] = num;
    uint32_t first = has_output(l, table[at], num) ? num : table[at];
    l->siblings[num] = (sci_sibling){first, first == num ? SCI_NIL : l->siblings[first].next};
    if (first != num) l->siblings[first].next = num;
  }
}

const sci_plan *sci_plan_of(const sci_plan *plans, uint32_t n, uint32_t function) {
  uint32_t lo = 0, hi = n;
  while (hi - lo > 1) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (plans[mid].f->id <= function)
      lo = mid;
    else
      hi = mid;
  }
  return &plans[lo];
}

/* Where window i of an operand starts: base + step * i, if windows are contiguous and evenly spaced. */
static bool windows_at(const sci_place *p, int64_t start, int64_t stride, int64_t size, int64_t *base, int64_t *step) {
  if (p->table != SCI_NIL || p->n > 2) return false;
  sci_digit inner = p->n ? p->d[p->n - 1] : (sci_digit){1, 1};
  if (size > 1 && inner.stride != 1) return false;
  sci_digits x = sci_digits_of(p);
  *base = sci_digits_at(&x, start);
  *step = stride * inner.stride;
  if (p->n < 2) return true;
  if (stride % inner.extent || start % inner.extent + size > inner.extent) return false;
  *step = stride / inner.extent * p->d[0].stride;
  return true;
}

static sci_view input_view(sci_lowering *l, uint32_t num, uint32_t k, int64_t size, sci_val i) {
  uint32_t from = sci_arg_of(l, num, k), n = sci_node_of(l, num)->n_args;
  const sci_call_attr *a = attr_of(l, num);
  bool is_vmap = sci_node_of(l, num)->op == SCI_X_vmap;
  int64_t start = is_vmap ? a->windows[k] : 0, stride = is_vmap ? a->windows[n + k] : 0, base, step;
  const sci_slot *slot = &l->slots[from];
  const sci_place *p = is_vmap && slot->val == SCI_NIL ? slot->place : NULL;
  if (!p || !windows_at(p, start, stride, size, &base, &step)) {
    p = sci_contiguous(l, from);
    windows_at(p, start, stride, size, &base, &step);
  }
  if (a->length == 1) step = 0;
  sci_val at = sci_val_int(l->s, base);
  return (sci_view){p->buf, step ? sci_idx_add(l->s, at, sci_idx_mul(l->s, i, step)) : at};
}

/* Where output `member` (SCI_NIL: nobody uses this one) goes, `size` elements per iteration. */
static const sci_place *output_place(sci_lowering *l, uint32_t member, const sci_formal *formal, int64_t length,
                                     int64_t size) {
  if (member != SCI_NIL) return sci_target(l, member, formal->name);
  sc_dtype dtype = (sc_dtype)sci_type_of(l->cx, formal->node)->dtype;
  return sci_place_whole(l, sci_private(l, dtype, length * size, formal->name), length * size);
}

static sci_view output_view(sci_lowering *l, const sci_place *p, int64_t length, int64_t size, sci_val i) {
  int64_t step;
  sci_slice_digits(p, length, size, &step);
  sci_val at = sci_val_int(l->s, p->offset);
  return (sci_view){p->buf, length > 1 ? sci_idx_add(l->s, at, sci_idx_mul(l->s, i, step)) : at};
}

/* Places come first, for they may need copies, which stand before the loop. */
static void emit(sci_lowering *l, uint32_t num) {
  const sci_call_attr *a = attr_of(l, num);
  const sci_plan *callee = sci_plan_of(l->plans, l->n_plans, a->callee);
  const sc_function *f = callee->f;
  int64_t length = sci_node_of(l, num)->op == SCI_X_vmap ? a->length : 1;
  sci_view *views = SCI_ARRAY(l->scratch, sci_view, f->n_in + f->n_out);
  const sci_place **places = SCI_ARRAY(l->scratch, const sci_place *, f->n_out);
  uint32_t n = 0, *members = SCI_ARRAY(l->scratch, uint32_t, f->n_out);
  for (uint32_t o = 0; o < f->n_out; o++) members[o] = SCI_NIL;
  for (uint32_t m = num; m != SCI_NIL; m = l->siblings[m].next) members[attr_of(l, m)->output] = m;
  for (uint32_t o = f->n_out; o-- > 0;)
    if (callee->kept_out[o])
      places[o] = output_place(l, members[o], &f->out[o], length, sci_type_of(l->cx, f->out[o].node)->size);
  sci_block_builder body;
  sci_block_begin(&body, l->s);
  sci_var var = length > 1 ? sci_loop_var(l, 0) : SCI_NIL;
  sci_val i = length > 1 ? sci_val_var(l->s, var) : SCI_NIL;
  for (uint32_t k = 0; k < f->n_in; k++)
    if (callee->kept_in[k]) views[n++] = input_view(l, num, k, sci_type_of(l->cx, f->in[k].node)->size, i);
  for (uint32_t o = 0; o < f->n_out; o++)
    if (callee->kept_out[o])
      views[n++] = output_view(l, places[o], length, sci_type_of(l->cx, f->out[o].node)->size, i);
  sci_emit_call(length > 1 ? &body : &l->top, l->s, callee->proc, n, views);
  if (length > 1) sci_emit_loop(&l->top, l->s, SCI_LOOP_INDEPENDENT, var, length, sci_block_end(&body, l->s));
}

void sci_lower_call(sci_lowering *l, uint32_t num) {
  if (l->siblings[num].first == num) emit(l, num);
}

void sci_lower_vmap(sci_lowering *l, uint32_t num) {
  sci_lower_call(l, num);
}
