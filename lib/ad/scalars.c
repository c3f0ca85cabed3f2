/* Owns the expansion of graphs into operations on scalars. */
#include "lib/ad/eliminate.h"

enum { MOST_CALLS = 32 }; /* nested */

typedef struct expansion {
  sc_context *cx;
  sci_budget left;
  int calls;
  bool exact; /* quotients are divided */
} expansion;

static bool expand(expansion *x, uint32_t n_bound, const sci_id *bound, sci_id *const *with, uint32_t n,
                   const sci_id *roots, sci_id **out);

sci_id *sci_elements_of(sc_context *cx, sci_id node) {
  sci_shape s = sci_shape_of(cx, node);
  int64_t size = sci_type_of(cx, node)->size, at[SC_MAX_RANK] = {0};
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, size);
  for (int64_t e = 0; e < size; e++) {
    sci_slice_axis axes[SC_MAX_RANK];
    for (int k = 0; k < s.rank; k++) axes[k] = (sci_slice_axis){at[k], 1, 1, 1};
    out[e] = s.rank ? sci_make_slice_axes(cx, node, axes) : node;
    for (int k = s.rank; k-- && ++at[k] == s.dim[k];) at[k] = 0;
  }
  return out;
}

static sci_id *constants(sc_context *cx, sci_id id, int64_t size) {
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, size);
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, id)->dtype;
  for (int64_t e = 0; e < size; e++)
    out[e] = sci_make_number(cx, dtype, sci_scalar_load(dtype, sci_attr(cx, id), (size_t)e));
  return out;
}

/* Derivatives of a quotient are products with the divisor's reciprocal: so is the quotient, and one division is all. */
static sci_id scalar_op(const expansion *x, sci_op op, const sci_id *of) {
  sc_context *cx = x->cx;
  sci_scalar v;
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, of[0])->dtype;
  bool divided = x->exact || op != SCI_OP_div || !sci_is_float(dtype) || sci_const_value(cx, of[1], &v);
  if (divided) return sci_make_scalar_op(cx, op, of);
  return sci_make2(cx, SCI_OP_mul, of[0], sci_make2(cx, SCI_OP_div, sci_make_double(cx, dtype, 1), of[1]));
}

static sci_id *elementwise(expansion *x, const sci_node *n, sci_id **args, int64_t size) {
  sc_context *cx = x->cx;
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, size);
  if ((x->left.operations -= size) < 0) return NULL;
  for (int64_t e = 0; e < size; e++) {
    sci_id of[SCI_MOST_OPERANDS];
    for (uint32_t i = 0; i < n->n_args; i++) of[i] = args[i][e];
    out[e] = n->op == SCI_OP_cast ? sci_make_cast(cx, of[0], (sc_dtype)cx->types[n->type].dtype)
                                  : scalar_op(x, (sci_op)n->op, of);
  }
  return out;
}

static sci_id *moved(expansion *x, sci_id id, const sci_id *from, int64_t size) {
  const int32_t *map = sci_element_map(x->cx, id);
  sci_id *out = SCI_ARRAY(&x->cx->env.scratch, sci_id, size);
  for (int64_t e = 0; e < size; e++) out[e] = from[map[e]];
  return out;
}

static sci_id *joined(expansion *x, sci_id id, const sci_node *n, sci_id **args, int64_t size) {
  sc_context *cx = x->cx;
  sci_shape s = sci_shape_of(cx, id);
  int64_t outer = 1, inner = 1, at = 0;
  for (int k = 0; k < (int)n->attr; k++) outer *= s.dim[k];
  for (int k = (int)n->attr + 1; k < s.rank; k++) inner *= s.dim[k];
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, size);
  for (int64_t o = 0; o < outer; o++)
    for (uint32_t i = 0; i < n->n_args; i++) {
      int64_t own = n->op == SCI_X_stack ? inner : sci_type_of(cx, sci_args(cx, n)[i])->shape[n->attr] * inner;
      for (int64_t k = 0; k < own; k++) out[at++] = args[i][o * own + k];
    }
  return out;
}

static sci_id *summed(expansion *x, const sci_node *n, const sci_id *from, int64_t size) {
  sc_context *cx = x->cx;
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, size);
  sc_dtype dtype = (sc_dtype)cx->types[n->type].dtype;
  int64_t total = sci_type_of(cx, n->args[0])->size, terms = size ? total / size : 0;
  const int32_t *map = sci_reduction_map(cx, n);
  if ((x->left.operations -= total) < 0) return NULL;
  for (int64_t e = 0; e < size; e++) {
    out[e] = terms ? from[map[e * terms]] : sci_make_double(cx, dtype, 0);
    for (int64_t k = 1; k < terms; k++) out[e] = sci_make2(cx, SCI_OP_add, out[e], from[map[e * terms + k]]);
  }
  return out;
}

static sci_id *indexed(expansion *x, sci_id id, const sci_node *n, sci_id **args, int64_t size) {
  sc_context *cx = x->cx;
  bool scatter = n->op == SCI_X_scatter, set = n->op == SCI_X_index_set;
  const sci_id *values = args[scatter ? 0 : 1];
  sci_writers w = sci_writers_of(cx, id);
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, size);
  sc_dtype dtype = (sc_dtype)cx->types[n->type].dtype;
  for (int64_t e = 0; e < size; e++) {
    sci_id sum = scatter ? SCI_NONE : args[0][e];
    for (int32_t k = w.first[e]; k >= 0; k = w.next[k]) sum = set ? values[k] : sci_sum2(cx, sum, values[k]);
    out[e] = sum == SCI_NONE ? sci_make_double(cx, dtype, 0) : sum;
  }
  return out;
}

static sci_id *multiplied(expansion *x, const sci_node *n, sci_id **args, int64_t size) {
  sc_context *cx = x->cx;
  sci_shape a = sci_shape_of(cx, n->args[0]), b = sci_shape_of(cx, n->args[1]);
  int64_t rows = a.rank == 2 ? a.dim[0] : 1, depth = b.dim[0], cols = b.rank == 2 ? b.dim[1] : 1;
  if ((x->left.operations -= 2 * rows * depth * cols) < 0) return NULL;
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, size);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      sci_id sum = SCI_NONE;
      for (int64_t k = 0; k < depth; k++)
        sum = sci_sum2(cx, sum, sci_make2(cx, SCI_OP_mul, args[0][i * depth + k], args[1][k * cols + j]));
      out[i * cols + j] = sum == SCI_NONE ? sci_make_double(cx, (sc_dtype)cx->types[n->type].dtype, 0) : sum;
    }
  return out;
}

static sci_id *stopped(expansion *x, const sci_id *from, int64_t size) {
  sci_id *out = SCI_ARRAY(&x->cx->env.scratch, sci_id, size);
  for (int64_t e = 0; e < size; e++) out[e] = sci_make_stop_gradient(x->cx, from[e]);
  return out;
}

/* Iteration `it` of a map, or a call: the callee's body on the elements of the operands' windows. */
static sci_id *called(expansion *x, const sci_node *n, const sci_call_attr *attr, sci_id **args, int64_t it) {
  sc_context *cx = x->cx;
  sc_function *f = cx->functions[attr->callee];
  if (sci_is_custom(f) || x->calls == MOST_CALLS) return NULL;
  sci_id *formal = SCI_ARRAY(&cx->env.scratch, sci_id, f->n_in), *out = NULL;
  sci_id **with = SCI_ARRAY(&cx->env.scratch, sci_id *, f->n_in);
  for (uint32_t i = 0; i < f->n_in; i++) {
    formal[i] = f->in[i].node;
    with[i] = args[i] + (n->op == SCI_X_vmap ? attr->windows[i] + it * attr->windows[n->n_args + i] : 0);
    const sci_type *t = sci_type_of(cx, formal[i]);
    if (!t->diff && sci_is_float((sc_dtype)t->dtype)) with[i] = stopped(x, with[i], t->size);
  }
  x->calls++;
  bool done = expand(x, f->n_in, formal, with, 1, &f->out[attr->output].node, &out);
  x->calls--;
  return done ? out : NULL;
}

static sci_id *mapped(expansion *x, sci_id id, const sci_node *n, sci_id **args, int64_t size) {
  const sci_call_attr *attr = sci_attr(x->cx, id);
  sci_id *out = SCI_ARRAY(&x->cx->env.scratch, sci_id, size);
  if (!x->left.loops) return NULL;
  for (int64_t it = 0; it < attr->length; it++) {
    const sci_id *one = called(x, n, attr, args, it);
    if (!one) return NULL;
    memcpy(out + it * (size / attr->length), one, (size_t)(size / attr->length) * sizeof *out);
  }
  return out;
}

static sci_id *expand_node(expansion *x, sci_id id, sci_id **args) {
  sc_context *cx = x->cx;
  const sci_node *n = sci_node_at(cx, id);
  int64_t size = cx->types[n->type].size;
  if ((x->left.elements -= size) < 0) return NULL;
  if (n->op < SCI_OP_COUNT) return elementwise(x, n, args, size);
  switch ((sci_xop)n->op) {
  case SCI_X_input: return sci_elements_of(cx, id);
  case SCI_X_const: return constants(cx, id, size);
  case SCI_X_stop_gradient: return stopped(x, args[0], size);
  case SCI_X_reshape:
  case SCI_X_transpose:
  case SCI_X_slice:
  case SCI_X_broadcast:
  case SCI_X_gather: return moved(x, id, args[0], size);
  case SCI_X_sum: return summed(x, n, args[0], size);
  case SCI_X_stack:
  case SCI_X_concat: return joined(x, id, n, args, size);
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set: return indexed(x, id, n, args, size);
  case SCI_X_matmul: return multiplied(x, n, args, size);
  case SCI_X_call: return called(x, n, sci_attr(cx, id), args, 0);
  case SCI_X_vmap: return mapped(x, id, n, args, size);
  case SCI_X_max:
  case SCI_X_min:
  case SCI_X_FIRST:
  case SCI_X_END: break;
  }
  return NULL;
}

static bool expand(expansion *x, uint32_t n_bound, const sci_id *bound, sci_id *const *with, uint32_t n,
                   const sci_id *roots, sci_id **out) {
  sc_context *cx = x->cx;
  sci_order order = sci_reach(cx, roots, n);
  sci_id **values = SCI_ZEROS(&cx->env.scratch, sci_id *, order.n);
  for (uint32_t i = 0; i < n_bound; i++) {
    uint32_t k = sci_number(&order, bound[i]);
    if (k != SCI_NONE) values[k] = with[i];
  }
  for (uint32_t k = 0; k < order.n; k++) {
    if (values[k]) continue;
    const sci_node *node = sci_node_at(cx, order.ids[k]);
    const sci_id *args = sci_args(cx, node);
    sci_id **of = SCI_ARRAY(&cx->env.scratch, sci_id *, node->n_args);
    for (uint32_t i = 0; i < node->n_args; i++) of[i] = values[sci_number(&order, args[i])];
    if (!(values[k] = expand_node(x, order.ids[k], of))) return false;
  }
  for (uint32_t i = 0; i < n; i++) out[i] = values[sci_number(&order, roots[i])];
  return true;
}

/* ---- quotients that decide ---- */

/* Whether the last bit of an inexact operand counts: a jump, a kink, the end of a domain. Of a condition it is not the
 * comparison but what chooses by it; roots and norms are continuous at 0. */
static bool decides(sc_context *cx, sci_id id, bool inexact_condition) {
  const sci_node *n = sci_node_at(cx, id);
  if (n->op >= SCI_OP_COUNT || n->op == SCI_OP_sqrt || cx->types[n->type].dtype == SC_BOOL) return false;
  if (n->op == SCI_OP_select) return inexact_condition && sci_guarded_root(cx, id) == SCI_NONE;
  sci_op op = (sci_op)n->op;
  return !(sci_ops[op].traits & SCI_SMOOTH) || op == SCI_OP_cast || op == SCI_OP_atanh || sci_op_is_steep(op);
}

/* Whether something decides by a reciprocal. 49 * (1/49) is less than 1: its floor is 0. */
static bool reciprocal_decides(sc_context *cx, uint32_t n, const sci_id *roots, sci_id *const *elements) {
  SCI_VEC(sci_id) all = {0};
  for (uint32_t i = 0; i < n; i++)
    for (int64_t e = 0; e < sci_type_of(cx, roots[i])->size; e++) sci_vec_push(&cx->env.scratch, &all, elements[i][e]);
  sci_order order = sci_reach(cx, all.data, (uint32_t)all.n);
  bool *inexact = SCI_ZEROS(&cx->env.scratch, bool, order.n);
  for (uint32_t k = 0; k < order.n; k++) {
    const sci_node *node = sci_node_at(cx, order.ids[k]);
    const sci_id *args = sci_args(cx, node);
    for (uint32_t i = 0; i < node->n_args; i++) inexact[k] |= inexact[sci_number(&order, args[i])];
    if (inexact[k] && decides(cx, order.ids[k], inexact[sci_number(&order, args[0])])) return true;
    inexact[k] |= node->op == SCI_OP_div && sci_is_float((sc_dtype)cx->types[node->type].dtype);
  }
  return false;
}

bool sci_expand_scalars(sc_context *cx, sci_budget budget, uint32_t n, const sci_id *roots, sci_id **out) {
  if (!expand(&(expansion){.cx = cx, .left = budget}, 0, NULL, NULL, n, roots, out)) return false;
  return !reciprocal_decides(cx, n, roots, out) ||
         expand(&(expansion){.cx = cx, .left = budget, .exact = true}, 0, NULL, NULL, n, roots, out);
}
