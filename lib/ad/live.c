/* Owns which elements of the values of a graph matter to its roots: slices, gathers and overwritten elements leave some
 * out, whose adjoint is 0 whatever the slopes there are. */
#include "lib/ad/sparsity.h"

typedef struct liveness {
  sc_context *cx;
  const sci_order *order;
  const bool *active;
  sci_live *of; /* per number */
} liveness;

/* The operand's record; NULL: it is of no interest, or all of it is live already. */
static sci_live *open_record(liveness *l, sci_id id) {
  uint32_t k = sci_number(l->order, id);
  return l->active[k] && !l->of[k].all ? &l->of[k] : NULL;
}

static void mark_all(liveness *l, sci_id id) {
  sci_live *to = open_record(l, id);
  if (to && sci_type_of(l->cx, id)->size) *to = (sci_live){.all = true};
}

static void mark(liveness *l, sci_live *to, sci_id id, int64_t e) {
  int64_t size = sci_type_of(l->cx, id)->size;
  if (to->all) return;
  if (!to->flags) to->flags = SCI_ZEROS(&l->cx->env.scratch, bool, size);
  to->n += !to->flags[e];
  to->flags[e] = true;
  if (to->n == size) *to = (sci_live){.all = true};
}

static bool is_live(const sci_live *x, int64_t e) {
  return x->all || (x->flags && x->flags[e]);
}

/* Elements of the operand by the element of the result that each belongs to. */
static void mark_same(liveness *l, const sci_live *x, sci_id id) {
  sci_live *to = open_record(l, id);
  int64_t size = sci_type_of(l->cx, id)->size;
  if (to && x->all) mark_all(l, id);
  for (int64_t e = 0; to && !x->all && e < size; e++)
    if (is_live(x, e)) mark(l, to, id, e);
}

static void mark_moved(liveness *l, sci_id node, const sci_live *x, sci_id id) {
  sci_live *to = open_record(l, id);
  if (!to) return;
  const int32_t *map = sci_element_map(l->cx, node);
  int64_t size = sci_type_of(l->cx, node)->size;
  for (int64_t e = 0; e < size; e++)
    if (is_live(x, e)) mark(l, to, id, map[e]);
}

static void mark_reduced(liveness *l, const sci_node *n, const sci_live *x, sci_id id) {
  sci_live *to = open_record(l, id);
  if (!to) return;
  if (x->all) {
    mark_all(l, id);
    return;
  }
  sci_shape s = sci_shape_of(l->cx, id);
  int64_t size = sci_type_of(l->cx, id)->size;
  for (int64_t e = 0; e < size; e++) {
    int64_t rest = e, result = 0, step = 1;
    for (int k = s.rank; k-- > 0; rest /= s.dim[k])
      if (!(n->attr >> k & 1)) result += rest % s.dim[k] * step, step *= s.dim[k];
    if (is_live(x, result)) mark(l, to, id, e);
  }
}

static void mark_joined(liveness *l, sci_id node, const sci_node *n, const sci_id *args, const sci_live *x) {
  sci_shape s = sci_shape_of(l->cx, node);
  int axis = (int)n->attr;
  int64_t outer = 1, inner = 1, whole = 0, start = 0;
  for (int k = 0; k < axis; k++) outer *= s.dim[k];
  for (int k = axis + 1; k < s.rank; k++) inner *= s.dim[k];
  whole = s.dim[axis] * inner;
  for (uint32_t i = 0; i < n->n_args; i++) {
    int64_t own = (n->op == SCI_X_stack ? 1 : sci_type_of(l->cx, args[i])->shape[axis]) * inner;
    sci_live *to = open_record(l, args[i]);
    if (to && x->all) mark_all(l, args[i]);
    for (int64_t o = 0; to && !x->all && o < outer; o++)
      for (int64_t k = 0; k < own; k++)
        if (is_live(x, o * whole + start + k)) mark(l, to, args[i], o * own + k);
    start += own;
  }
}

static void mark_indexed(liveness *l, sci_id node, const sci_node *n, const sci_id *args, const sci_live *x) {
  bool scatter = n->op == SCI_X_scatter, set = n->op == SCI_X_index_set;
  sci_id values = args[scatter ? 0 : 1];
  sci_live *base = scatter ? NULL : open_record(l, args[0]), *to = open_record(l, values);
  sci_writers w = sci_writers_of(l->cx, node);
  int64_t size = sci_type_of(l->cx, node)->size;
  for (int64_t e = 0; e < size; e++) {
    if (!is_live(x, e)) continue;
    if (base && (!set || w.first[e] < 0)) mark(l, base, args[0], e);
    for (int32_t k = w.first[e]; to && k >= 0; k = w.next[k])
      if (!set || w.next[k] < 0) mark(l, to, values, k);
  }
}

/* The elements that the windows of a map reach, whatever it makes of them. */
static void mark_windows(liveness *l, sci_id node, const sci_node *n, const sci_id *args) {
  const sci_call_attr *attr = sci_attr(l->cx, node);
  const sc_function *f = l->cx->functions[attr->callee];
  for (uint32_t i = 0; i < n->n_args; i++) {
    sci_live *to = open_record(l, args[i]);
    int64_t size = sci_type_of(l->cx, f->in[i].node)->size;
    for (int64_t it = 0; to && it < attr->length; it++)
      for (int64_t e = 0; e < size; e++) mark(l, to, args[i], attr->windows[i] + it * attr->windows[n->n_args + i] + e);
  }
}

static void pass_on(liveness *l, uint32_t k) {
  sc_context *cx = l->cx;
  sci_id id = l->order->ids[k];
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  const sci_live *x = &l->of[k];
  int64_t size = sci_type_of(cx, id)->size;
  bool elementwise = n->op < SCI_OP_COUNT;
  for (uint32_t i = 0; elementwise && i < n->n_args; i++)
    if (sci_type_of(cx, args[i])->size == size)
      mark_same(l, x, args[i]);
    else
      mark_all(l, args[i]);
  if (elementwise) return;
  switch ((int)n->op) {
  case SCI_X_reshape: mark_same(l, x, args[0]); return;
  case SCI_X_transpose:
  case SCI_X_broadcast:
    if (x->all)
      mark_all(l, args[0]);
    else
      mark_moved(l, id, x, args[0]);
    return;
  case SCI_X_slice:
  case SCI_X_gather: mark_moved(l, id, x, args[0]); return;
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: mark_reduced(l, n, x, args[0]); return;
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set: mark_indexed(l, id, n, args, x); return;
  case SCI_X_stack:
  case SCI_X_concat: mark_joined(l, id, n, args, x); return;
  case SCI_X_vmap: mark_windows(l, id, n, args); return;
  default:
    for (uint32_t i = 0; i < n->n_args; i++) mark_all(l, args[i]);
  }
}

const sci_live *sci_find_live(sc_context *cx, const sci_order *order, const bool *active, uint32_t n_roots,
                              const sci_id *roots, const sci_id *seeds) {
  liveness l = {cx, order, active, SCI_ZEROS(&cx->env.scratch, sci_live, order->n)};
  for (uint32_t i = 0; i < n_roots; i++)
    if (seeds[i] != SCI_NONE) mark_all(&l, roots[i]);
  for (uint32_t k = order->n; k--;)
    if (active[k] && (l.of[k].all || l.of[k].flags)) pass_on(&l, k);
  return l.of;
}
