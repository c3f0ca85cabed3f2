/* Owns the canonical text of expression functions. */
#include "lib/text/print.h"
#include "lib/text/text.h"
#include "lib/text/words.h"

static void put_type(sci_text *out, const sci_type *t) {
  sci_put(out, "tensor<");
  sci_put_dims(out, (sc_dtype)t->dtype, t->rank, t->shape);
  sci_put(out, t->diff ? " diff>" : ">");
}

/* ---- attributes ---- */

static void put_mask(sci_text *out, uint32_t mask) {
  int64_t axes[SC_MAX_RANK];
  size_t n = 0;
  for (int k = 0; k < SC_MAX_RANK; k++)
    if (mask >> k & 1) axes[n++] = k;
  sci_put_ints(out, n, axes);
}

static void put_axes(sci_text *out, uint32_t packed, int rank) {
  int64_t axes[SC_MAX_RANK];
  for (int k = 0; k < rank; k++) axes[k] = packed >> 4 * k & 15;
  sci_put_ints(out, (size_t)rank, axes);
}

/* One entry of a slice over an axis of n elements in Python's notation, bounds left out where they say nothing. */
static void put_range(sci_text *out, const sci_slice_axis *a, int64_t n) {
  if (a->drop) {
    sci_put_int(out, a->start);
    return;
  }
  bool up = a->step > 0;
  int64_t first = up ? 0 : n - 1, room = up ? n - a->start : a->start + 1, stride = up ? a->step : -a->step;
  bool to_end = a->count && a->count == (room + stride - 1) / stride;
  bool whole = !a->count && !n;
  if (a->start != first || (!a->count && !whole)) sci_put_int(out, a->start);
  sci_put_char(out, ':');
  if (!a->count && !whole)
    sci_put_int(out, a->start);
  else if (!to_end && !whole)
    sci_put_int(out, a->start + (a->count - 1) * a->step + (up ? 1 : -1));
  if (a->step == 1) return;
  sci_put_char(out, ':');
  sci_put_int(out, a->step);
}

static void put_slice(sci_text *out, const sci_type *operand, const sci_slice_axis *axes) {
  sci_put_char(out, '[');
  for (int k = 0; k < operand->rank; k++) {
    if (k) sci_put_n(out, ", ", 2);
    put_range(out, &axes[k], operand->shape[k]);
  }
  sci_put_char(out, ']');
}

/* The elements in brackets nested as the shape is; a tensor without elements is []. */
static void put_value(sci_text *out, const sci_type *t, const void *data) {
  if (!t->size) {
    sci_put(out, "[]");
    return;
  }
  int64_t block[SC_MAX_RANK]; /* elements of one entry of axis k, with all that it holds */
  for (int k = t->rank - 1; k >= 0; k--) block[k] = t->shape[k] * (k == t->rank - 1 ? 1 : block[k + 1]);
  for (int64_t i = 0; i < t->size; i++) {
    if (i) sci_put_n(out, ", ", 2);
    for (int k = 0; k < t->rank; k++)
      if (i % block[k] == 0) sci_put_char(out, '[');
    sci_put_scalar(out, (sc_dtype)t->dtype, sci_scalar_load((sc_dtype)t->dtype, data, (size_t)i));
    for (int k = 0; k < t->rank; k++)
      if ((i + 1) % block[k] == 0) sci_put_char(out, ']');
  }
}

static void put_call(sci_text *out, bool *open, const sci_call_attr *call, uint32_t n_args, bool mapped,
                     const char *callee) {
  sci_put_key(out, open, "callee");
  sci_put_string(out, callee);
  if (mapped) {
    sci_put_key(out, open, "length");
    sci_put_int(out, call->length);
    sci_put_key(out, open, "starts");
    sci_put_ints(out, n_args, call->windows);
    sci_put_key(out, open, "strides");
    sci_put_ints(out, n_args, call->windows + n_args);
  }
  sci_put_key(out, open, "output");
  sci_put_int(out, call->output);
}

static void put_indices(sci_text *out, bool *open, const sc_context *cx, sci_id id) {
  sci_put_key(out, open, "indices");
  sci_put_ints32(out, sci_attr_size(cx, id) / sizeof(int32_t), sci_attr(cx, id));
}

static void put_shape(sci_text *out, bool *open, const sci_type *t) {
  sci_put_key(out, open, "shape");
  sci_put_ints(out, t->rank, t->shape);
}

/* `names`: of the functions of this text, by id. */
static void put_attributes(sci_text *out, const sc_context *cx, sci_id id, const char *const *names) {
  const sci_node *n = sci_node_at(cx, id);
  const sci_type *t = &cx->types[n->type];
  const sci_type *operand = n->n_args ? sci_type_of(cx, sci_args(cx, n)[0]) : NULL;
  bool open = false;
  switch ((int)n->op) {
  case SCI_X_input:
    sci_put_key(out, &open, "name");
    sci_put_string(out, ((const sci_input_attr *)sci_attr(cx, id))->name);
    break;
  case SCI_X_const:
    sci_put_key(out, &open, "value");
    put_value(out, t, sci_attr(cx, id));
    break;
  case SCI_OP_cast:
    sci_put_key(out, &open, "dtype");
    sci_put(out, sc_dtype_name((sc_dtype)t->dtype));
    break;
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min:
    if (n->attr == (1u << operand->rank) - 1) break;
    sci_put_key(out, &open, "axes");
    put_mask(out, n->attr);
    break;
  case SCI_X_reshape:
  case SCI_X_broadcast: put_shape(out, &open, t); break;
  case SCI_X_transpose:
    sci_put_key(out, &open, "axes");
    put_axes(out, n->attr, t->rank);
    break;
  case SCI_X_slice:
    sci_put_key(out, &open, "index");
    put_slice(out, operand, sci_attr(cx, id));
    break;
  case SCI_X_gather:
  case SCI_X_scatter:
    put_indices(out, &open, cx, id);
    put_shape(out, &open, t);
    break;
  case SCI_X_index_add:
  case SCI_X_index_set: put_indices(out, &open, cx, id); break;
  case SCI_X_stack:
  case SCI_X_concat:
    sci_put_key(out, &open, "axis");
    sci_put_int(out, n->attr);
    break;
  case SCI_X_call:
  case SCI_X_vmap: {
    const sci_call_attr *call = sci_attr(cx, id);
    const char *callee = names ? names[call->callee] : cx->functions[call->callee]->name;
    put_call(out, &open, call, n->n_args, n->op == SCI_X_vmap, callee);
    break;
  }
  }
  if (n->hint) {
    sci_put_key(out, &open, "lowering");
    sci_put_string(out, sci_hint_words[n->hint]);
  }
  if (open) sci_put_char(out, '}');
}

void sci_print_attributes(sci_text *out, sc_context *cx, sci_id id) {
  put_attributes(out, cx, id, NULL);
}

/* ---- functions ---- */

typedef struct printer {
  sci_text *out;
  sc_context *cx;
  const char *const *names; /* of functions, by id */
  const char *indent;
  sci_order order;
  uint32_t *label; /* by number in `order`; SCI_NONE: not printed yet */
  uint32_t n_labels;
} printer;

static void put_node(printer *p, sci_id id) {
  sc_context *cx = p->cx;
  sci_text *out = p->out;
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  sci_put(out, p->indent);
  sci_put_n(out, "  ", 2);
  uint32_t *label = &p->label[sci_number(&p->order, id)];
  *label = p->n_labels++;
  sci_put_number_name(out, '%', *label);
  sci_put(out, " = expr.");
  sci_put(out, sci_xop_name(n->op));
  if (n->n_args || (n->op != SCI_X_input && n->op != SCI_X_const)) {
    sci_put_char(out, '(');
    for (uint32_t i = 0; i < n->n_args; i++) {
      if (i) sci_put_n(out, ", ", 2);
      sci_put_number_name(out, '%', p->label[sci_number(&p->order, args[i])]);
    }
    sci_put_char(out, ')');
  }
  size_t before = out->n;
  sci_put_char(out, ' ');
  put_attributes(out, cx, id, p->names);
  if (out->n == before + 1) out->n = before;
  sci_put_n(out, " : ", 3);
  put_type(out, &cx->types[n->type]);
  sci_put_char(out, '\n');
}

/* Prints what `root` needs, operands before users and left to right: an order that depends on the graph alone, not on
 * the history of the context. Nodes finish when all their operands have been printed, so the stack holds each node once
 * per use at most. */
static void put_nodes(printer *p, sci_id root) {
  typedef struct step {
    sci_id id;
    uint32_t next;
  } step;
  SCI_VEC(step) stack = {0};
  sci_arena *scratch = &p->cx->env.scratch;
  sci_vec_push(scratch, &stack, (step){root, 0});
  while (stack.n) {
    step *top = &stack.data[stack.n - 1];
    if (p->label[sci_number(&p->order, top->id)] != SCI_NONE) {
      stack.n--;
      continue;
    }
    const sci_node *n = sci_node_at(p->cx, top->id);
    if (top->next == n->n_args) {
      stack.n--;
      put_node(p, top->id);
      continue;
    }
    sci_id arg = sci_args(p->cx, n)[top->next++];
    sci_vec_push(scratch, &stack, (step){arg, 0});
  }
}

static void put_custom(printer *p, const sc_function *f, bool *open) {
  const sc_function *rules[] = {f->custom.jvp, f->custom.vjp};
  for (int k = 0; k < 2; k++) {
    if (!rules[k]) continue;
    sci_put_key(p->out, open, k ? "vjp" : "jvp");
    sci_put_string(p->out, p->names[rules[k]->id]);
  }
  if (!f->custom.pattern) return;
  sci_put_key(p->out, open, "jacobian");
  sci_put_sparse(p->out, SC_FLOAT64, f->custom.pattern);
}

static void put_signature(printer *p, const sc_function *f) {
  sci_text *out = p->out;
  sci_put(out, "expr.func ");
  sci_put_name(out, '@', p->names[f->id]);
  sci_put_char(out, '(');
  for (uint32_t i = 0; i < f->n_in; i++) {
    const sci_type *t = sci_type_of(p->cx, f->in[i].node);
    if (i) sci_put_n(out, ", ", 2);
    sci_put_name(out, '%', f->in[i].name);
    sci_put_n(out, ": ", 2);
    put_type(out, t);
    if (t->diff || !sci_is_float((sc_dtype)t->dtype)) continue;
    out->n--; /* without a word a float input would carry derivatives */
    sci_put(out, " nodiff>");
  }
  sci_put(out, ") -> (");
  for (uint32_t i = 0; i < f->n_out; i++) {
    const sci_type *t = sci_type_of(p->cx, f->out[i].node);
    if (i) sci_put_n(out, ", ", 2);
    sci_put_name(out, '%', f->out[i].name);
    sci_put_n(out, ": ", 2);
    if (f->out[i].pattern)
      sci_put_sparse(out, (sc_dtype)t->dtype, f->out[i].pattern);
    else
      put_type(out, t);
  }
  sci_put_char(out, ')');
  bool open = false;
  size_t before = out->n;
  sci_put_char(out, ' ');
  if (f->hint) {
    sci_put_key(out, &open, "lowering");
    sci_put_string(out, sci_hint_words[f->hint]);
  }
  if (f->strict_nan) {
    sci_put_key(out, &open, "strict_nan");
    sci_put(out, "true");
  }
  if (f->derived) {
    sci_put_key(out, &open, "derived");
    sci_put(out, "true");
  }
  put_custom(p, f, &open);
  if (open)
    sci_put_char(out, '}');
  else
    out->n = before;
}

static void put_function(printer *p, const sc_function *f) {
  sci_text *out = p->out;
  sci_arena *scratch = &p->cx->env.scratch;
  p->order = sci_reach_function(p->cx, f);
  p->label = SCI_ARRAY(scratch, uint32_t, p->order.n);
  memset(p->label, 0xFF, p->order.n * sizeof *p->label);
  p->n_labels = 0;
  sci_put(out, p->indent);
  put_signature(p, f);
  sci_put(out, " {\n");
  for (uint32_t i = 0; i < f->n_in; i++) put_nodes(p, f->in[i].node);
  for (uint32_t i = 0; i < f->n_out; i++) put_nodes(p, f->out[i].node);
  sci_put(out, p->indent);
  sci_put(out, "  expr.return");
  for (uint32_t i = 0; i < f->n_out; i++) {
    sci_put(out, i ? ", " : " ");
    sci_put_number_name(out, '%', p->label[sci_number(&p->order, f->out[i].node)]);
  }
  sci_putf(out, "\n%s}\n", p->indent);
}

void sci_print_function(sci_text *out, sc_context *cx, const sc_function *f) {
  sc_function **all;
  uint32_t n = sci_callees(cx, cx->functions[f->id], true, &all);
  const char **names = SCI_ZEROS(&cx->env.scratch, const char *, cx->n_functions);
  sci_unique *unique = sci_unique_begin(&cx->env);
  names[f->id] = sci_unique_name(unique, f->name); /* the function asked for keeps its name */
  for (uint32_t i = 0; i + 1 < n; i++) names[all[i]->id] = sci_unique_name(unique, all[i]->name);
  sci_unique_end(unique);
  printer p = {.out = out, .cx = cx, .names = names, .indent = n > 1 ? "  " : ""};
  if (n > 1) sci_put(out, "expr.module {\n");
  for (uint32_t i = 0; i < n; i++) put_function(&p, all[i]);
  if (n > 1) sci_put(out, "}\n");
}
