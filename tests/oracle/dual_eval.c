/* Owns the evaluation of expression functions over hyper-dual numbers: values with exact first and second directional
 * derivatives, independent of the library's differentiation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "tests/oracle/hyperdual.h"
#include "tests/oracle/oracle.h"

typedef struct dual_frame {
  const sc_context *cx;
  const sc_function *f;
  hyperdual **value; /* by node id; NULL: not reached */
  const hyperdual *const *in;
} dual_frame;

static const double MODERATE = 1e4;

static void *grab(int64_t n, size_t size) {
  void *p = calloc(n ? (size_t)n : 1, size);
  if (!p) abort();
  return p;
}

/* No number to compare: not finite, too large, or where conventions decide. What depends on it is none either; what a
 * selection leaves out is of no account. */
static hyperdual bad(double v) {
  return (hyperdual){v, NAN, NAN, NAN};
}

static hyperdual combine(hyperdual a, hyperdual b, double p, double q) {
  return (hyperdual){p * a.v + q * b.v, p * a.d1 + q * b.d1, p * a.d2 + q * b.d2, p * a.d12 + q * b.d12};
}

static sci_scalar packed(sc_dtype dtype, double v) {
  return sci_scalar_number(dtype, v);
}

/* ---- index arithmetic ---- */

static int64_t element_at(const sci_type *t, const int64_t *at) {
  int64_t e = 0;
  for (int k = 0; k < t->rank; k++) e = e * t->shape[k] + at[k];
  return e;
}

static void position(const sci_type *t, int64_t e, int64_t *at) {
  for (int k = t->rank; k-- > 0; e /= t->shape[k]) at[k] = e % t->shape[k];
}

/* The operand's element that moves to element e. */
static int64_t moved_from(const dual_frame *fr, sci_id id, const sci_node *n, int64_t e) {
  const sci_type *t = sci_type_of(fr->cx, id), *from = sci_type_of(fr->cx, n->args[0]);
  int64_t at[SC_MAX_RANK], source[SC_MAX_RANK] = {0};
  position(t, e, at);
  switch ((int)n->op) {
  case SCI_X_transpose:
    for (int k = 0; k < t->rank; k++) source[n->attr >> 4 * k & 15] = at[k];
    break;
  case SCI_X_slice: {
    const sci_slice_axis *axes = sci_attr(fr->cx, id);
    for (int k = 0, r = 0; k < from->rank; k++) source[k] = axes[k].start + (axes[k].drop ? 0 : axes[k].step * at[r++]);
    break;
  }
  case SCI_X_broadcast:
    for (int k = 0; k < from->rank; k++) source[k] = from->shape[k] == 1 ? 0 : at[k + t->rank - from->rank];
    break;
  case SCI_X_gather: return ((const int32_t *)sci_attr(fr->cx, id))[e];
  default: return e;
  }
  return element_at(from, source);
}

/* ---- families ---- */

/* Where the library has a convention, or the derivative jumps. */
static bool apply(sci_op op, const hyperdual *x, hyperdual *out) {
  if ((op == SCI_OP_minimum || op == SCI_OP_maximum) && x[0].v == x[1].v) {
    *out = combine(x[0], x[1], 0.5, 0.5);
    return true;
  }
  if ((op == SCI_OP_minimum || op == SCI_OP_maximum) && (isnan(x[0].v) || isnan(x[1].v))) {
    *out = bad(NAN);
    return true;
  }
  if (op == SCI_OP_abs && x[0].v == 0) {
    *out = isfinite(x[0].d1) && isfinite(x[0].d2) && isfinite(x[0].d12) ? (hyperdual){0} : bad(0);
    return true;
  }
  if (!hd_apply(op, x, out)) return false;
  if (op == SCI_OP_copysign && (x[0].v == 0 || x[1].v == 0)) *out = bad(out->v);
  return true;
}

static void elementwise(dual_frame *fr, sci_id id, const sci_node *n, hyperdual *out) {
  const sci_id *args = sci_args(fr->cx, n);
  const sci_type *t = sci_type_of(fr->cx, id);
  sc_dtype operand = (sc_dtype)sci_type_of(fr->cx, args[n->op == SCI_OP_select])->dtype;
  for (int64_t e = 0; e < t->size; e++) {
    hyperdual x[3];
    sci_scalar s[3] = {{.bits = 0}, {.bits = 0}, {.bits = 0}};
    for (uint32_t k = 0; k < n->n_args; k++) {
      x[k] = fr->value[args[k]][e];
      s[k] = packed((sc_dtype)sci_type_of(fr->cx, args[k])->dtype, x[k].v);
    }
    bool floats = operand == SC_FLOAT64 && t->dtype == SC_FLOAT64;
    if (n->op == SCI_OP_select)
      out[e] = x[0].v != 0 ? x[1] : x[2];
    else if (n->op == SCI_OP_cast && floats)
      out[e] = x[0];
    else if (!floats || !apply((sci_op)n->op, x, &out[e]))
      out[e] = (hyperdual){
          .v = sci_scalar_double((sc_dtype)t->dtype, ora_scalar((sci_op)n->op, operand, (sc_dtype)t->dtype, s))};
  }
}

static void reduce(dual_frame *fr, sci_id id, const sci_node *n, hyperdual *out) {
  const sci_type *from = sci_type_of(fr->cx, n->args[0]), *t = sci_type_of(fr->cx, id);
  const hyperdual *x = fr->value[n->args[0]];
  double *best = grab(t->size, sizeof *best), sign = n->op == SCI_X_min ? -1 : 1;
  int64_t *ties = grab(t->size, sizeof *ties);
  bool *nan = grab(t->size, sizeof *nan);
  for (int64_t r = 0; r < t->size; r++) best[r] = -INFINITY;
  for (int pass = n->op == SCI_X_sum; pass < 2; pass++)
    for (int64_t e = 0; e < from->size; e++) {
      int64_t at[SC_MAX_RANK], to = 0;
      position(from, e, at);
      for (int k = 0; k < from->rank; k++)
        if (!(n->attr >> k & 1)) to = to * from->shape[k] + at[k];
      nan[to] |= isnan(x[e].v);
      if (!pass && sign * x[e].v > best[to]) best[to] = sign * x[e].v;
      if (!pass || (n->op != SCI_X_sum && sign * x[e].v != best[to])) continue;
      out[to] = combine(out[to], x[e], 1, 1);
      ties[to]++;
    }
  for (int64_t r = 0; n->op != SCI_X_sum && r < t->size; r++)
    out[r] = nan[r] ? bad(NAN) : combine(out[r], out[r], 1.0 / (double)ties[r], 0);
  free(best), free(ties), free(nan);
}

static void indexed(dual_frame *fr, sci_id id, const sci_node *n, hyperdual *out) {
  const int32_t *table = sci_attr(fr->cx, id);
  sci_id values = n->args[n->op == SCI_X_scatter ? 0 : 1];
  if (n->op != SCI_X_scatter) memcpy(out, fr->value[n->args[0]], (size_t)sci_type_of(fr->cx, id)->size * sizeof *out);
  for (int64_t k = 0; k < sci_type_of(fr->cx, values)->size; k++)
    out[table[k]] = combine(out[table[k]], fr->value[values][k], n->op != SCI_X_index_set, 1);
}

static void join(dual_frame *fr, sci_id id, const sci_node *n, hyperdual *out) {
  const sci_type *t = sci_type_of(fr->cx, id);
  const sci_id *args = sci_args(fr->cx, n);
  int64_t outer = 1;
  for (uint32_t k = 0; k < n->attr; k++) outer *= t->shape[k];
  for (int64_t o = 0; o < outer; o++)
    for (uint32_t k = 0; k < n->n_args; k++) {
      int64_t own = sci_type_of(fr->cx, args[k])->size / outer;
      if (own) memcpy(out, fr->value[args[k]] + o * own, (size_t)own * sizeof *out);
      out += own;
    }
}

static void matmul(dual_frame *fr, const sci_node *n, hyperdual *out) {
  const sci_type *a = sci_type_of(fr->cx, n->args[0]), *b = sci_type_of(fr->cx, n->args[1]);
  int64_t depth = b->shape[0], rows = a->rank == 2 ? a->shape[0] : 1, cols = b->rank == 2 ? b->shape[1] : 1;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++)
      for (int64_t k = 0; k < depth; k++) {
        hyperdual x[] = {fr->value[n->args[0]][r * depth + k], fr->value[n->args[1]][k * cols + c]}, p;
        hd_apply(SCI_OP_mul, x, &p);
        out[r * cols + c] = combine(out[r * cols + c], p, 1, 1);
      }
}

static void evaluate(const sc_function *f, const hyperdual *const *in, uint32_t output, hyperdual *out);

/* The values alone, for a formal that takes no derivatives; NULL: it does. */
static hyperdual *passive_copy(const dual_frame *fr, sci_id id, bool diff) {
  if (diff) return NULL;
  int64_t n = sci_type_of(fr->cx, id)->size;
  hyperdual *copy = grab(n, sizeof *copy);
  for (int64_t e = 0; e < n; e++) copy[e].v = fr->value[id][e].v;
  return copy;
}

static void call(dual_frame *fr, sci_id id, const sci_node *n, hyperdual *out) {
  const sci_call_attr *attr = sci_attr(fr->cx, id);
  const sc_function *g = fr->cx->functions[attr->callee];
  const sci_id *args = sci_args(fr->cx, n);
  const hyperdual **in = grab(n->n_args, sizeof *in);
  int64_t trips = n->op == SCI_X_vmap ? attr->length : 1, size = sci_type_of(fr->cx, g->out[attr->output].node)->size;
  hyperdual **plain = grab(n->n_args, sizeof *plain);
  for (uint32_t k = 0; k < n->n_args; k++)
    plain[k] = passive_copy(fr, args[k], sci_type_of(fr->cx, g->in[k].node)->diff);
  for (int64_t i = 0; i < trips; i++) {
    for (uint32_t k = 0; k < n->n_args; k++)
      in[k] = (plain[k] ? plain[k] : fr->value[args[k]]) +
              (n->op == SCI_X_vmap ? attr->windows[k] + i * attr->windows[n->n_args + k] : 0);
    evaluate(g, in, attr->output, out + i * size);
  }
  for (uint32_t k = 0; k < n->n_args; k++) free(plain[k]);
  free(plain), free(in);
}

static void source(dual_frame *fr, sci_id id, const sci_node *n, hyperdual *out) {
  const sci_type *t = sci_type_of(fr->cx, id);
  for (int64_t e = 0; n->op == SCI_X_const && e < t->size; e++)
    out[e].v = sci_scalar_double((sc_dtype)t->dtype, ora_load((sc_dtype)t->dtype, sci_attr(fr->cx, id), e));
  for (uint32_t k = 0; n->op == SCI_X_input && k < fr->f->n_in; k++)
    if (fr->f->in[k].node == id && t->size) memcpy(out, fr->in[k], (size_t)t->size * sizeof *out);
}

static void eval_node(dual_frame *fr, sci_id id, hyperdual *out) {
  const sci_node *n = sci_node_at(fr->cx, id);
  int64_t size = sci_type_of(fr->cx, id)->size;
  if (n->op < SCI_OP_COUNT) {
    elementwise(fr, id, n, out);
    return;
  }
  switch ((sci_xop)n->op) {
  case SCI_X_input:
  case SCI_X_const: source(fr, id, n, out); return;
  case SCI_X_stop_gradient:
    for (int64_t e = 0; e < size; e++) out[e] = (hyperdual){.v = fr->value[n->args[0]][e].v};
    return;
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: reduce(fr, id, n, out); return;
  case SCI_X_reshape:
  case SCI_X_transpose:
  case SCI_X_slice:
  case SCI_X_broadcast:
  case SCI_X_gather:
    for (int64_t e = 0; e < size; e++) out[e] = fr->value[n->args[0]][moved_from(fr, id, n, e)];
    return;
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set: indexed(fr, id, n, out); return;
  case SCI_X_stack:
  case SCI_X_concat: join(fr, id, n, out); return;
  case SCI_X_matmul: matmul(fr, n, out); return;
  case SCI_X_call:
  case SCI_X_vmap: call(fr, id, n, out); return;
  case SCI_X_FIRST:
  case SCI_X_END: abort();
  }
}

static bool moderate(hyperdual x) {
  return fabs(x.v) < MODERATE && fabs(x.d1) < MODERATE && fabs(x.d2) < MODERATE && fabs(x.d12) < MODERATE;
}

static void evaluate(const sc_function *f, const hyperdual *const *in, uint32_t output, hyperdual *out) {
  const sc_context *cx = f->cx;
  sci_id root = f->out[output].node;
  dual_frame fr = {cx, f, grab((int64_t)root + 1, sizeof *fr.value), in};
  uint8_t *reached = grab((int64_t)root + 1, 1);
  reached[root] = 1;
  for (sci_id id = root + 1; id-- > 0;)
    for (uint32_t k = 0; reached[id] && k < sci_node_at(cx, id)->n_args; k++) reached[sci_arg(cx, id, k)] = 1;
  for (sci_id id = 0; id <= root; id++) {
    if (!reached[id]) continue;
    int64_t size = sci_type_of(cx, id)->size;
    fr.value[id] = grab(size, sizeof **fr.value);
    if (size) eval_node(&fr, id, fr.value[id]);
    for (int64_t e = 0; e < size; e++)
      if (!moderate(fr.value[id][e])) fr.value[id][e] = bad(fr.value[id][e].v);
  }
  if (sci_type_of(cx, root)->size) memcpy(out, fr.value[root], (size_t)sci_type_of(cx, root)->size * sizeof *out);
  for (sci_id id = 0; id <= root; id++) free(fr.value[id]);
  free(fr.value), free(reached);
}

bool ora_eval_dual(const sc_function *f, const hyperdual *const *in, uint32_t output, hyperdual *out) {
  bool good = true;
  evaluate(f, in, output, out);
  for (int64_t e = 0; e < sci_type_of(f->cx, f->out[output].node)->size; e++) good &= moderate(out[e]);
  return good;
}
