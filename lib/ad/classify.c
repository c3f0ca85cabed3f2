/* Owns the first half of sparse Jacobians: what each node is to them, and the routing of rows through linear
 * operations. */
#include "lib/ad/jacobian.h"

static uint32_t number(const sci_assembly *a, const sci_id *args, uint32_t i) {
  return sci_number(&a->order, args[i]);
}

/* ---- values that only move inputs ---- */

static int64_t size_of(const sci_assembly *a, sci_id id) {
  return sci_type_of(a->ad->cx, id)->size;
}

/* For stack and concat: calls back for every element of the result with its part and the part's element. */
typedef void joined_element(void *user, int64_t element, uint32_t part, int64_t part_element);
static void for_joined(const sci_assembly *a, sci_id node, joined_element *each, void *user) {
  sc_context *cx = a->ad->cx;
  const sci_node *n = sci_node_at(cx, node);
  const sci_id *args = sci_args(cx, n);
  sci_shape s = sci_shape_of(cx, node);
  int axis = (int)n->attr;
  int64_t outer = 1, inner = 1, element = 0;
  for (int k = 0; k < axis; k++) outer *= s.dim[k];
  for (int k = axis + 1; k < s.rank; k++) inner *= s.dim[k];
  for (int64_t o = 0; o < outer; o++)
    for (uint32_t i = 0; i < n->n_args; i++) {
      int64_t own = (n->op == SCI_X_stack ? 1 : sci_type_of(cx, args[i])->shape[axis]) * inner;
      for (int64_t k = 0; k < own; k++) each(user, element++, i, o * own + k);
    }
}

typedef struct join_columns {
  const int32_t **parts;
  int32_t *out;
} join_columns;

static void join_column(void *user, int64_t element, uint32_t part, int64_t part_element) {
  join_columns *j = user;
  j->out[element] = j->parts[part] ? j->parts[part][part_element] : -1;
}

static bool moves(unsigned op) {
  return op == SCI_X_reshape || op == SCI_X_transpose || op == SCI_X_slice || op == SCI_X_broadcast ||
         op == SCI_X_gather;
}

static bool joins(unsigned op) {
  return op == SCI_X_stack || op == SCI_X_concat;
}

static const int32_t *direct_columns(sci_assembly *a, sci_id id, const sci_node *n, const sci_id *args) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  if (!moves(n->op) && !joins(n->op)) return NULL;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (a->active[number(a, args, i)] && !a->column[number(a, args, i)]) return NULL;
  if (n->op == SCI_X_reshape) return a->column[number(a, args, 0)];
  int64_t size = size_of(a, id);
  int32_t *out = SCI_ARRAY(scratch, int32_t, size);
  if (joins(n->op)) {
    const int32_t **parts = SCI_ARRAY(scratch, const int32_t *, n->n_args);
    for (uint32_t i = 0; i < n->n_args; i++)
      parts[i] = a->active[number(a, args, i)] ? a->column[number(a, args, i)] : NULL;
    for_joined(a, id, join_column, &(join_columns){parts, out});
    return out;
  }
  const int32_t *map = sci_element_map(cx, id), *from = a->column[number(a, args, 0)];
  for (int64_t i = 0; i < size; i++) out[i] = from[map[i]];
  return out;
}

/* ---- kinds ---- */

static bool is_constant(sc_context *cx, sci_id id) {
  sci_scalar v;
  return sci_node_at(cx, id)->op == SCI_X_const || sci_const_value(cx, id, &v);
}

/* Whether the node is linear in its active operands, with constant coefficients. */
static bool is_linear(const sci_assembly *a, const sci_node *n, const sci_id *args) {
  sc_context *cx = a->ad->cx;
  switch ((int)n->op) {
  case SCI_OP_neg:
  case SCI_OP_add:
  case SCI_OP_sub:
  case SCI_OP_cast:
  case SCI_X_sum:
  case SCI_X_reshape:
  case SCI_X_transpose:
  case SCI_X_slice:
  case SCI_X_broadcast:
  case SCI_X_gather:
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set:
  case SCI_X_stack:
  case SCI_X_concat: return true;
  case SCI_OP_mul: return is_constant(cx, args[0]) || is_constant(cx, args[1]);
  case SCI_OP_div: return is_constant(cx, args[1]);
  default: (void)a; return false;
  }
}

/* A map or call is taken apart when its active operands only move inputs. A function with its own derivative has a
 * Jacobian by its products only, so that a call of one stays whole; a map of one is taken apart, into products of the
 * one. */
static bool is_map(const sci_assembly *a, sci_id id, const sci_node *n, const sci_id *args) {
  if (n->op != SCI_X_call && n->op != SCI_X_vmap) return false;
  sc_context *cx = a->ad->cx;
  if (n->op == SCI_X_call && sci_is_custom(cx->functions[((const sci_call_attr *)sci_attr(cx, id))->callee]))
    return false;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (a->active[number(a, args, i)] && !a->column[number(a, args, i)]) return false;
  return true;
}

/* Below `cone[k]`, everything active is elementwise down to moved inputs; `affine[k]`: linear down to inputs;
 * `whole[k]`: nothing opaque below; `part[k]`: something that is not opaque below. */
typedef struct facts {
  bool cone, affine, whole, part;
} facts;

static void classify(sci_assembly *a, facts *f, uint32_t k) {
  sc_context *cx = a->ad->cx;
  sci_id id = a->order.ids[k];
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  if (!a->column[k]) a->column[k] = direct_columns(a, id, n, args);
  if (a->column[k]) {
    a->kind[k] = SCI_KIND_DIRECT;
    f[k] = (facts){true, true, true, true};
    return;
  }
  if (is_map(a, id, n, args)) {
    a->kind[k] = SCI_KIND_MAP;
    f[k] = (facts){false, false, true, true};
    return;
  }
  bool linear = is_linear(a, n, args), scalar = n->op < SCI_OP_COUNT;
  facts all = {scalar, linear, linear, false};
  for (uint32_t i = 0; i < n->n_args; i++) {
    uint32_t j = number(a, args, i);
    if (!a->active[j]) continue;
    all.cone &= f[j].cone, all.affine &= f[j].affine, all.whole &= f[j].whole, all.part |= f[j].part;
  }
  if (all.cone && !all.affine) {
    a->kind[k] = SCI_KIND_CONE;
    all.whole = all.part = true;
  } else if (linear && all.part && (all.whole || n->op != SCI_X_sum)) {
    a->kind[k] = SCI_KIND_LINEAR;
  } else {
    a->kind[k] = SCI_KIND_OPAQUE;
    all.part = all.whole = false;
  }
  f[k] = all;
}

void sci_classify(sci_assembly *a) {
  facts *f = SCI_ZEROS(&a->ad->cx->env.scratch, facts, a->order.n);
  for (uint32_t k = 0; k < a->order.n; k++)
    if (a->active[k]) classify(a, f, k);
}

/* ---- routing ---- */

static double constant_element(sc_context *cx, sci_id id, int64_t i) {
  sci_scalar v;
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, id)->dtype;
  if (!sci_const_value(cx, id, &v)) v = sci_scalar_load(dtype, sci_attr(cx, id), (size_t)i);
  return sci_scalar_double(dtype, v);
}

static void hand(sci_assembly *a, uint32_t to, sci_term t) {
  if (a->active[to]) sci_vec_push(&a->ad->cx->env.scratch, &a->terms[to], t);
}

/* Of each element of a joined value: where it comes from. */
typedef struct origin {
  uint32_t part;
  int32_t element;
} origin;

static void note_origin(void *user, int64_t element, uint32_t part, int64_t part_element) {
  ((origin *)user)[element] = (origin){part, (int32_t)part_element};
}

static void route_scalar(sci_assembly *a, const sci_node *n, const sci_id *args, const sci_terms *terms) {
  sc_context *cx = a->ad->cx;
  bool scaled = n->op == SCI_OP_mul || n->op == SCI_OP_div, second = scaled && is_constant(cx, args[1]);
  for (uint32_t i = 0; i < n->n_args; i++) {
    uint32_t to = number(a, args, i);
    if (!a->active[to]) continue;
    bool minus = n->op == SCI_OP_neg || (n->op == SCI_OP_sub && i == 1);
    for (size_t t = 0; t < terms->n; t++) {
      sci_term moved = terms->data[t];
      if (scaled) {
        double c = constant_element(cx, args[second], moved.elem);
        moved.coef = n->op == SCI_OP_mul ? moved.coef * c : moved.coef / c;
      }
      if (minus) moved.coef = -moved.coef;
      hand(a, to, moved);
    }
  }
}

/* Every element of the operand that is summed into element `elem` of the result. */
static void route_sum(sci_assembly *a, const sci_node *n, const sci_id *args, const sci_terms *terms) {
  sc_context *cx = a->ad->cx;
  sci_shape s = sci_shape_of(cx, args[0]);
  int64_t stride[SC_MAX_RANK], step = 1;
  for (int k = s.rank - 1; k >= 0; step *= s.dim[k], k--) stride[k] = step;
  for (size_t t = 0; t < terms->n; t++) {
    int64_t rest = terms->data[t].elem, base = 0, at[SC_MAX_RANK] = {0};
    for (int k = s.rank - 1; k >= 0; k--)
      if (!(n->attr >> k & 1)) base += rest % s.dim[k] * stride[k], rest /= s.dim[k];
    for (bool more = size_of(a, args[0]) > 0; more;) {
      sci_term moved = terms->data[t];
      moved.elem = (int32_t)base;
      hand(a, number(a, args, 0), moved);
      more = false;
      for (int k = s.rank - 1; k >= 0 && !more; k--) {
        if (!(n->attr >> k & 1)) continue;
        base += stride[k];
        if (++at[k] < s.dim[k])
          more = true;
        else
          base -= stride[k] * s.dim[k], at[k] = 0;
      }
    }
  }
}

static void route_indexed(sci_assembly *a, sci_id id, const sci_node *n, const sci_id *args, const sci_terms *terms) {
  bool scatter = n->op == SCI_X_scatter, set = n->op == SCI_X_index_set;
  uint32_t base = scatter ? SCI_NONE : number(a, args, 0), values = number(a, args, scatter ? 0 : 1);
  sci_writers w = sci_writers_of(a->ad->cx, id);
  for (size_t t = 0; t < terms->n; t++) {
    sci_term moved = terms->data[t];
    int32_t k = w.first[moved.elem];
    if (!scatter && (!set || k < 0)) hand(a, base, moved);
    for (; k >= 0; k = w.next[k]) {
      moved.elem = k;
      if (!set || w.next[k] < 0) hand(a, values, moved);
    }
  }
}

void sci_route(sci_assembly *a, uint32_t k) {
  sc_context *cx = a->ad->cx;
  sci_id id = a->order.ids[k];
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  const sci_terms *terms = &a->terms[k];
  if (n->op < SCI_OP_COUNT) {
    route_scalar(a, n, args, terms);
  } else if (n->op == SCI_X_sum) {
    route_sum(a, n, args, terms);
  } else if (moves(n->op)) {
    const int32_t *map = sci_element_map(cx, id);
    for (size_t t = 0; t < terms->n; t++) {
      sci_term moved = terms->data[t];
      moved.elem = map[moved.elem];
      hand(a, number(a, args, 0), moved);
    }
  } else if (joins(n->op)) {
    origin *from = SCI_ARRAY(&cx->env.scratch, origin, size_of(a, id));
    for_joined(a, id, note_origin, from);
    for (size_t t = 0; t < terms->n; t++) {
      sci_term moved = terms->data[t];
      origin o = from[moved.elem];
      moved.elem = o.element;
      hand(a, number(a, args, o.part), moved);
    }
  } else {
    route_indexed(a, id, n, args, terms);
  }
}
