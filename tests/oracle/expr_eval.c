/* Owns the evaluation of expression functions: each node once, operands first, whole tensors of 8-byte scalars. */
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "tests/oracle/oracle.h"

/* What one function's evaluation needs: the nodes that it reaches and where their values lie in a block of scalars. */
typedef struct plan {
  const sc_function *f;
  uint32_t n;
  sci_id *ids;     /* ascending, so operands come first */
  int64_t *place;  /* by position in ids */
  uint32_t *index; /* by node id: position in ids */
  int64_t total;
} plan;

typedef struct evaluator {
  const sc_context *cx;
  plan *plans; /* by function id; n == 0 && !ids: not made yet */
  bool finite; /* every value so far */
} evaluator;

static void *grab(size_t n, size_t size) {
  void *p = calloc(n ? n : 1, size);
  if (!p) abort();
  return p;
}

static plan *plan_of(evaluator *e, const sc_function *f) {
  plan *p = &e->plans[f->id];
  if (p->ids) return p;
  const sc_context *cx = e->cx;
  uint8_t *reached = grab(cx->n_nodes, 1);
  for (uint32_t i = 0; i < f->n_out; i++) reached[f->out[i].node] = 1;
  for (uint32_t id = cx->n_nodes; id-- > 0;) {
    if (!reached[id]) continue;
    p->n++;
    const sci_node *node = sci_node_at(cx, id);
    for (uint32_t k = 0; k < node->n_args; k++) reached[sci_args(cx, node)[k]] = 1;
  }
  p->f = f;
  p->ids = grab(p->n, sizeof *p->ids);
  p->place = grab(p->n, sizeof *p->place);
  p->index = grab(cx->n_nodes, sizeof *p->index);
  uint32_t at = 0;
  for (uint32_t id = 0; id < cx->n_nodes; id++) {
    if (!reached[id]) continue;
    p->index[id] = at;
    p->ids[at] = id;
    p->place[at++] = p->total;
    p->total += sci_type_of(cx, id)->size;
  }
  free(reached);
  return p;
}

typedef struct frame {
  evaluator *e;
  const plan *p;
  sci_scalar *block;
  sci_scalar *const *in;
} frame;

static sci_scalar *value_of(const frame *fr, sci_id id) {
  return fr->block + fr->p->place[fr->p->index[id]];
}

static const sci_type *type_of(const frame *fr, sci_id id) {
  return sci_type_of(fr->e->cx, id);
}

/* ---- index arithmetic ---- */

static void unravel(const sci_type *t, int64_t element, int64_t at[SC_MAX_RANK]) {
  for (int k = t->rank; k-- > 0;) {
    at[k] = element % t->shape[k];
    element /= t->shape[k];
  }
}

static int64_t ravel(const sci_type *t, const int64_t *at) {
  int64_t element = 0;
  for (int k = 0; k < t->rank; k++) element = element * t->shape[k] + at[k];
  return element;
}

/* The element of an operand that broadcasts to element `e` of a result: axes align from the right, size 1 repeats. */
static int64_t broadcast_source(const sci_type *result, const sci_type *operand, int64_t e) {
  int64_t at[SC_MAX_RANK], from[SC_MAX_RANK];
  unravel(result, e, at);
  int missing = result->rank - operand->rank;
  for (int k = 0; k < operand->rank; k++) from[k] = operand->shape[k] == 1 ? 0 : at[k + missing];
  return ravel(operand, from);
}

/* ---- families of operations ---- */

static void eval_elementwise(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  const sci_id *args = sci_args(fr->e->cx, node);
  const sci_type *t = type_of(fr, id);
  sc_dtype operand = type_of(fr, args[node->op == SCI_OP_select ? 1 : 0])->dtype;
  for (int64_t e = 0; e < t->size; e++) {
    sci_scalar x[3] = {{.bits = 0}, {.bits = 0}, {.bits = 0}};
    for (uint32_t k = 0; k < node->n_args; k++) x[k] = value_of(fr, args[k])[e];
    out[e] = ora_scalar((sci_op)node->op, operand, t->dtype, x);
  }
}

static void eval_reduce(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  sci_id a = node->args[0];
  const sci_type *from = type_of(fr, a), *t = type_of(fr, id);
  sci_scalar *terms = grab((size_t)from->size, sizeof *terms);
  int64_t *count = grab((size_t)t->size, sizeof *count);
  int64_t each = t->size ? from->size / t->size : 0;
  sci_op op = node->op == SCI_X_sum ? SCI_OP_add : node->op == SCI_X_max ? SCI_OP_maximum : SCI_OP_minimum;
  /* Row-major order of the operand is the order of the terms of every result element. */
  for (int64_t e = 0; e < from->size; e++) {
    int64_t at[SC_MAX_RANK], to = 0;
    unravel(from, e, at);
    for (int k = 0; k < from->rank; k++)
      if (!(node->attr >> k & 1)) to = to * from->shape[k] + at[k];
    terms[to * each + count[to]++] = value_of(fr, a)[e];
  }
  for (int64_t r = 0; r < t->size; r++) {
    sci_scalar *part = terms + r * each;
    out[r] = ora_ordered(t->dtype, op, each, part);
  }
  free(count);
  free(terms);
}

static void eval_moves(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  sci_id a = node->args[0];
  const sci_type *from = type_of(fr, a), *t = type_of(fr, id);
  const sci_scalar *value = value_of(fr, a);
  for (int64_t e = 0; e < t->size; e++) {
    int64_t at[SC_MAX_RANK], source[SC_MAX_RANK];
    unravel(t, e, at);
    if (node->op == SCI_X_transpose) {
      for (int k = 0; k < t->rank; k++) source[node->attr >> 4 * k & 15] = at[k];
      out[e] = value[ravel(from, source)];
    } else if (node->op == SCI_X_slice) {
      const sci_slice_axis *axes = sci_attr(fr->e->cx, id);
      for (int k = 0, r = 0; k < from->rank; k++)
        source[k] = axes[k].start + (axes[k].drop ? 0 : axes[k].step * at[r++]);
      out[e] = value[ravel(from, source)];
    } else {
      out[e] = value[broadcast_source(t, from, e)];
    }
  }
}

static void eval_tables(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  const int32_t *table = sci_attr(fr->e->cx, id);
  const sci_type *t = type_of(fr, id);
  const sci_scalar *first = value_of(fr, node->args[0]);
  if (node->op == SCI_X_gather) {
    for (int64_t e = 0; e < t->size; e++) out[e] = first[table[e]];
    return;
  }
  sci_id values = node->op == SCI_X_scatter ? node->args[0] : node->args[1];
  memset(out, 0, (size_t)t->size * sizeof *out);
  if (node->op != SCI_X_scatter) memcpy(out, first, (size_t)t->size * sizeof *out);
  for (int64_t k = 0; k < type_of(fr, values)->size; k++) {
    sci_scalar *to = &out[table[k]], v = value_of(fr, values)[k];
    *to = node->op == SCI_X_index_set ? v : ora_scalar2(SCI_OP_add, t->dtype, *to, v);
  }
}

/* stack and concat: the parts' blocks of trailing axes, interleaved over the leading ones. */
static void eval_join(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  const sci_type *t = type_of(fr, id);
  const sci_id *args = sci_args(fr->e->cx, node);
  int64_t outer = 1;
  for (uint32_t k = 0; k < node->attr; k++) outer *= t->shape[k];
  for (int64_t o = 0; o < outer; o++) {
    for (uint32_t k = 0; k < node->n_args; k++) {
      int64_t n = type_of(fr, args[k])->size / outer;
      if (n) memcpy(out, value_of(fr, args[k]) + o * n, (size_t)n * sizeof *out);
      out += n;
    }
  }
}

static void eval_matmul(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  const sci_type *a = type_of(fr, node->args[0]), *b = type_of(fr, node->args[1]), *t = type_of(fr, id);
  int64_t inner = a->shape[a->rank - 1], rows = a->rank == 2 ? a->shape[0] : 1,
          columns = b->rank == 2 ? b->shape[1] : 1;
  const sci_scalar *x = value_of(fr, node->args[0]), *y = value_of(fr, node->args[1]);
  sci_scalar *terms = grab((size_t)inner, sizeof *terms);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < columns; c++) {
      for (int64_t k = 0; k < inner; k++)
        terms[k] = ora_scalar2(SCI_OP_mul, t->dtype, x[r * inner + k], y[k * columns + c]);
      sci_scalar sum = {.bits = 0};
      if (b->rank == 1) {
        sum = ora_ordered(t->dtype, SCI_OP_add, inner, terms);
      } else {
        for (int64_t k = 0; k < inner; k++) sum = k ? ora_scalar2(SCI_OP_add, t->dtype, sum, terms[k]) : terms[k];
      }
      out[r * columns + c] = sum;
    }
  }
  free(terms);
}

static void eval_plan(evaluator *e, const plan *p, sci_scalar *block, sci_scalar *const *in);

static void eval_call(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  const sc_context *cx = fr->e->cx;
  const sci_call_attr *attr = sci_attr(cx, id);
  const sc_function *callee = cx->functions[attr->callee];
  const plan *p = plan_of(fr->e, callee);
  const sci_id *args = sci_args(cx, node);
  sci_scalar *block = grab((size_t)p->total, sizeof *block);
  sci_scalar **in = grab(node->n_args, sizeof *in);
  sci_id result = callee->out[attr->output].node;
  int64_t n = sci_type_of(cx, result)->size, trips = node->op == SCI_X_vmap ? attr->length : 1;
  for (int64_t i = 0; i < trips; i++) {
    for (uint32_t k = 0; k < node->n_args; k++) {
      int64_t start = node->op == SCI_X_vmap ? attr->windows[k] + i * attr->windows[node->n_args + k] : 0;
      in[k] = value_of(fr, args[k]) + start;
    }
    eval_plan(fr->e, p, block, in);
    if (n) memcpy(out + i * n, block + p->place[p->index[result]], (size_t)n * sizeof *out);
  }
  free(in);
  free(block);
}

static void eval_source(const frame *fr, sci_id id, const sci_node *node, sci_scalar *out) {
  const sci_type *t = type_of(fr, id);
  if (node->op == SCI_X_const) {
    for (int64_t e = 0; e < t->size; e++) out[e] = ora_load(t->dtype, sci_attr(fr->e->cx, id), e);
    return;
  }
  const sc_function *f = fr->p->f;
  for (uint32_t k = 0; k < f->n_in; k++)
    if (f->in[k].node == id && t->size) memcpy(out, fr->in[k], (size_t)t->size * sizeof *out);
}

static void eval_node(const frame *fr, sci_id id) {
  const sci_node *node = sci_node_at(fr->e->cx, id);
  sci_scalar *out = value_of(fr, id);
  if (node->op < SCI_OP_COUNT) {
    eval_elementwise(fr, id, node, out);
    return;
  }
  switch ((sci_xop)node->op) {
  case SCI_X_input:
  case SCI_X_const: eval_source(fr, id, node, out); break;
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: eval_reduce(fr, id, node, out); break;
  case SCI_X_stop_gradient:
  case SCI_X_reshape:
    if (type_of(fr, id)->size) memcpy(out, value_of(fr, node->args[0]), (size_t)type_of(fr, id)->size * sizeof *out);
    break;
  case SCI_X_transpose:
  case SCI_X_slice:
  case SCI_X_broadcast: eval_moves(fr, id, node, out); break;
  case SCI_X_gather:
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set: eval_tables(fr, id, node, out); break;
  case SCI_X_stack:
  case SCI_X_concat: eval_join(fr, id, node, out); break;
  case SCI_X_matmul: eval_matmul(fr, id, node, out); break;
  case SCI_X_call:
  case SCI_X_vmap: eval_call(fr, id, node, out); break;
  case SCI_X_FIRST:
  case SCI_X_END: abort();
  }
}

static void eval_plan(evaluator *e, const plan *p, sci_scalar *block, sci_scalar *const *in) {
  frame fr = {e, p, block, in};
  for (uint32_t i = 0; i < p->n; i++) {
    const sci_type *t = sci_type_of(e->cx, p->ids[i]);
    if (!t->size) continue;
    eval_node(&fr, p->ids[i]);
    const sci_scalar *v = block + p->place[i];
    for (int64_t k = 0; sci_is_float((sc_dtype)t->dtype) && k < t->size; k++)
      e->finite &= ora_scalar((sci_op)SCI_OP_isfinite, (sc_dtype)t->dtype, SC_BOOL, (sci_scalar[3]){v[k]}).b8;
  }
}

void ora_eval_function(const sc_function *f, const void *const *in, void *const *out) {
  ora_eval_finite(f, in, out);
}

bool ora_eval_finite(const sc_function *f, const void *const *in, void *const *out) {
  const sc_context *cx = f->cx;
  evaluator e = {cx, grab(cx->n_functions, sizeof *e.plans), true};
  const plan *p = plan_of(&e, f);
  sci_scalar *block = grab((size_t)p->total, sizeof *block), **inputs = grab(f->n_in, sizeof *inputs);
  for (uint32_t k = 0; k < f->n_in; k++) {
    const sci_type *t = sci_type_of(cx, f->in[k].node);
    inputs[k] = grab((size_t)t->size, sizeof **inputs);
    for (int64_t i = 0; i < t->size; i++) inputs[k][i] = ora_load(t->dtype, in[k], i);
  }
  eval_plan(&e, p, block, inputs);
  for (uint32_t k = 0; k < f->n_out; k++) {
    const sci_type *t = sci_type_of(cx, f->out[k].node);
    for (int64_t i = 0; i < t->size; i++) ora_store(t->dtype, out[k], i, block[p->place[p->index[f->out[k].node]] + i]);
  }
  for (uint32_t k = 0; k < f->n_in; k++) free(inputs[k]);
  for (uint32_t i = 0; i < cx->n_functions; i++) {
    free(e.plans[i].ids);
    free(e.plans[i].place);
    free(e.plans[i].index);
  }
  free(e.plans);
  free(inputs);
  free(block);
  return e.finite;
}
