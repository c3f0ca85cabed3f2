/* Owns homes: which nodes are computed in the storage of an output, of a joined tensor or of the tensor that an
 * index_set completes. */
#include "lib/lower/state.h"

uint32_t sci_only_part(const sci_lowering *l, uint32_t join) {
  uint32_t only = SCI_NIL;
  for (uint32_t k = 0; k < sci_node_of(l, join)->n_args; k++) {
    uint32_t part = sci_arg_of(l, join, k);
    if (!sci_type_at(l, part)->size) continue;
    if (only != SCI_NIL) return SCI_NIL;
    only = part;
  }
  return only;
}

const sci_place *sci_part_place(sci_lowering *l, uint32_t join, uint32_t part, int64_t start, const sci_place *whole) {
  const sci_node *node = sci_node_of(l, join);
  const sci_type *t = sci_type_at(l, join);
  sci_digits x = sci_digits_of(whole);
  if (!sci_split_axes(&x, t->rank, t->shape)) return NULL;
  sci_digit *axis = &x.d[node->attr];
  x.offset += start * axis->stride;
  axis->extent = node->op == SCI_X_stack ? 1 : sci_type_at(l, part)->shape[node->attr];
  return sci_place_like(l, whole, &x);
}

bool sci_slice_digits(const sci_place *p, int64_t length, int64_t size, int64_t *step) {
  sci_digits x = sci_digits_of(p);
  if (p->table != SCI_NIL || !sci_split_axes(&x, 2, (int64_t[]){length, size})) return false;
  *step = x.d[0].stride;
  return size == 1 || x.d[1].stride == 1;
}

/* Whether the node computes elements of its own, and can put them there. */
static bool accepts(const sci_lowering *l, uint32_t num, const sci_place *p) {
  const sci_node *node = sci_node_of(l, num);
  const sci_type *t = sci_type_at(l, num);
  sci_digits x = sci_digits_of(p);
  int64_t step;
  if (sci_is_elementwise(node->op)) return t->size > 1;
  switch ((sci_xop)node->op) {
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: return t->size > 1;
  case SCI_X_matmul: return t->size > 1 && sci_split_axes(&x, t->rank, t->shape);
  case SCI_X_stack:
  case SCI_X_concat: return sci_split_axes(&x, t->rank, t->shape);
  case SCI_X_gather: return t->size > 1 && l->slots[num].uses > 1;
  case SCI_X_call:
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set: return sci_is_contiguous(p);
  case SCI_X_vmap: {
    int64_t length = ((const sci_call_attr *)sci_attr(l->cx, l->order->ids[num]))->length;
    return sci_slice_digits(p, length, t->size / length, &step);
  }
  case SCI_X_input:
  case SCI_X_const:
  case SCI_X_stop_gradient:
  case SCI_X_reshape:
  case SCI_X_transpose:
  case SCI_X_slice:
  case SCI_X_broadcast:
  case SCI_X_FIRST:
  case SCI_X_END: break;
  }
  return false;
}

/* The operand whose elements a view or a join of one part shows, and where they are when the node's are at *p. SCI_NIL:
 * not such a node. */
static uint32_t look_through(sci_lowering *l, uint32_t num, const sci_place **p) {
  unsigned op = sci_node_of(l, num)->op;
  if (op == SCI_X_reshape || op == SCI_X_stop_gradient) return sci_arg_of(l, num, 0);
  if (op == SCI_X_stack || op == SCI_X_concat) return sci_only_part(l, num);
  if (op != SCI_X_transpose) return SCI_NIL;
  int axes[SC_MAX_RANK], inverse[SC_MAX_RANK];
  const sci_type *t = sci_type_at(l, num);
  sci_transpose_axes_of(l, num, axes);
  for (int k = 0; k < t->rank; k++) inverse[axes[k]] = k;
  *p = sci_place_transpose(l, *p, t->rank, t->shape, inverse);
  return *p ? sci_arg_of(l, num, 0) : SCI_NIL;
}

static uint32_t base_of(const sci_lowering *l, uint32_t num) {
  return sci_arg_of(l, num, 0);
}

/* When the node's elements are computed: siblings are called with the first of them. */
static uint32_t time_of(const sci_lowering *l, uint32_t num) {
  unsigned op = sci_node_of(l, num)->op;
  return op == SCI_X_call || op == SCI_X_vmap ? l->siblings[num].first : num;
}

static void give(sci_lowering *l, uint32_t num, sci_home home) {
  const sci_place *p = home.place;
  while (p) {
    const sci_slot *slot = &l->slots[num];
    if (slot->home || (slot->uses > 1 && (home.exclusive || !sci_is_contiguous(p)))) return;
    if (home.after != SCI_NIL && time_of(l, num) <= base_of(l, home.after)) return;
    uint32_t inner = look_through(l, num, &p);
    if (inner == SCI_NIL) break;
    num = inner;
  }
  if (!p || !accepts(l, num, p)) return;
  sci_home *h = SCI_NEW(l->scratch, sci_home);
  *h = home;
  h->place = p;
  l->slots[num].home = h;
}

/* Single elements are stored by the join itself, unless a call writes them. */
static bool may_move(const sci_lowering *l, uint32_t part) {
  unsigned op = sci_node_of(l, part)->op;
  int64_t size = sci_type_at(l, part)->size;
  return size > 1 || (size == 1 && (op == SCI_X_call || op == SCI_X_vmap));
}

static void propagate(sci_lowering *l, uint32_t num) {
  const sci_node *node = sci_node_of(l, num);
  sci_home home = *l->slots[num].home;
  const sci_place *whole = home.place;
  if (node->op == SCI_X_stack || node->op == SCI_X_concat) {
    int64_t start = 0;
    for (uint32_t k = 0; k < node->n_args; k++) {
      uint32_t part = sci_arg_of(l, num, k);
      if (may_move(l, part)) {
        home.place = sci_part_place(l, num, part, start, whole);
        give(l, part, home);
      }
      start += node->op == SCI_X_stack ? 1 : sci_type_at(l, part)->shape[node->attr];
    }
  } else if (node->op == SCI_X_index_add || node->op == SCI_X_index_set) {
    give(l, base_of(l, num), (sci_home){whole, true, home.after});
    sci_digits x;
    if (node->op == SCI_X_index_add || home.after != SCI_NIL || !sci_index_digits(l, num, &x)) return;
    x.offset += whole->offset;
    give(l, sci_arg_of(l, num, 1), (sci_home){sci_place_new(l, whole->buf, &x), home.exclusive, num});
  }
}

static bool joins(const sci_lowering *l, uint32_t num) {
  unsigned op = sci_node_of(l, num)->op;
  if (op == SCI_X_stack || op == SCI_X_concat) return sci_only_part(l, num) == SCI_NIL;
  return op == SCI_X_index_add || op == SCI_X_index_set;
}

/* Outputs first: what can be computed in one is never computed in a temporary because another join comes later. */
void sci_assign_homes(sci_lowering *l, uint32_t n, const uint32_t *roots, const sci_place *const *places) {
  for (uint32_t i = 0; i < n; i++) give(l, roots[i], (sci_home){places[i], false, SCI_NIL});
  for (uint32_t num = l->order->n; num-- > 0;)
    if (l->slots[num].home) propagate(l, num);
  for (uint32_t num = l->order->n; num-- > 0;) {
    if (!sci_is_live(l, num)) continue;
    int64_t size = sci_type_at(l, num)->size;
    if (!l->slots[num].home && joins(l, num))
      give(l, num,
           (sci_home){sci_place_whole(l, sci_private(l, sci_dtype_at(l, num), size, NULL), size), false, SCI_NIL});
    if (l->slots[num].home) propagate(l, num);
  }
}
