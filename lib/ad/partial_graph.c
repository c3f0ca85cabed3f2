/* Owns the linearization of scalar graphs: for every operation its derivatives by what it depends on, as weights.
 *
 * The derivatives of an operation are built on operands of their own (stand-ins), so that no simplification mixes them
 * with what the operands are made of, and then moved to the operands' place. */
#include "lib/ad/eliminate.h"

enum { DEEPEST = 16 }; /* of the expression of a partial derivative */

typedef struct linearizer {
  sci_partial_graph *g;
  sc_context *cx;
  sci_id stand_in[SCI_MOST_OPERANDS];
  sci_id model, actual; /* the operation on stand-ins, and the node */
  sci_local local;      /* in terms of stand-ins */
  bool failed;
} linearizer;

static sci_weight product(const linearizer *z, sci_weight a, sci_weight b) {
  return sci_weight_product(&z->g->weights, a, b);
}

static sci_weight sum(const linearizer *z, sci_weight a, sci_weight b) {
  return sci_weight_sum(&z->g->weights, a, b);
}

static sci_weight negated(sci_weight a) {
  a.coef = -a.coef;
  return a;
}

/* Built on stand-ins? What the operation does not depend on is there as it is. */
static bool varies(const linearizer *z, sci_id id, int depth) {
  if (id == z->model) return true;
  for (uint32_t i = 0; i < z->local.n; i++)
    if (id == z->stand_in[i]) return true;
  if (sci_number(&z->g->order, id) != SCI_NONE) return false;
  const sci_node *n = sci_node_at(z->cx, id);
  const sci_id *args = sci_args(z->cx, n);
  for (uint32_t i = 0; depth < DEEPEST && i < n->n_args; i++)
    if (varies(z, args[i], depth + 1)) return true;
  return depth >= DEEPEST;
}

static sci_weight weight_of(const linearizer *z, sci_id factor) {
  sc_context *cx = z->cx;
  sci_weight w = SCI_UNIT_WEIGHT;
  for (;;) {
    sci_scalar v;
    const sci_node *n = sci_node_at(cx, factor);
    if (sci_const_value(cx, factor, &v)) {
      w.coef *= sci_scalar_double(z->g->weights.dtype, v);
      return w;
    }
    if (!varies(z, factor, 0)) {
      w.scale = w.scale == SCI_NONE ? factor : sci_make2(cx, SCI_OP_mul, w.scale, factor);
      return w;
    }
    const sci_id *args = sci_args(cx, n);
    uint32_t fixed = n->op != SCI_OP_mul ? 2 : !varies(z, args[0], 0) ? 0 : !varies(z, args[1], 0) ? 1 : 2;
    if (n->op == SCI_OP_neg) {
      w.coef = -w.coef, factor = args[0];
    } else if (fixed < 2) {
      w = product(z, w, weight_of(z, args[fixed]));
      factor = args[1 - fixed];
    } else {
      w.value = factor;
      return w;
    }
  }
}

/* ---- derivatives of one operation ---- */

/* By operand i; no weight where it is structurally zero. */
static sci_weight partial(linearizer *z, sci_op op, uint32_t i, const sci_id *args, sci_id result) {
  sci_id factor;
  bool negative;
  if (!sci_op_has_partials(op)) return SCI_NO_WEIGHT;
  if (sci_op_is_steep(op) || !sci_factor(z->g->ad, op, i, args, result, &factor, &negative)) {
    z->failed = true;
    return SCI_NO_WEIGHT;
  }
  sci_weight w = factor == SCI_NONE ? SCI_UNIT_WEIGHT : weight_of(z, factor);
  return negative ? negated(w) : w;
}

/* select(s == 0, 0, sqrt(s)): its slope at 0 is 0. */
static sci_weight root_slope(linearizer *z, sci_id root) {
  sci_id zero = sci_make_double(z->cx, z->g->weights.dtype, 0);
  sci_id slope = sci_make_select(z->cx, sci_arg(z->cx, root, 0), zero, sci_root_factor(z->g->ad, root));
  return (sci_weight){1, SCI_NONE, slope};
}

/* Derivative of a partial derivative by stand-in b. */
static sci_weight slope(linearizer *z, sci_id id, uint32_t b, int depth) {
  sc_context *cx = z->cx;
  if (id == z->stand_in[b]) return SCI_UNIT_WEIGHT;
  if (id == z->model) return z->local.first[b];
  if (!varies(z, id, 0)) return SCI_NO_WEIGHT;
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  for (uint32_t i = 0; i < z->local.n; i++)
    if (id == z->stand_in[i]) return SCI_NO_WEIGHT;
  if (n->op >= SCI_OP_COUNT || depth > DEEPEST) {
    z->failed = true;
    return SCI_NO_WEIGHT;
  }
  if (n->op == SCI_OP_select) {
    sci_weight x = slope(z, args[1], b, depth + 1), y = slope(z, args[2], b, depth + 1);
    if (x.coef == 0 && y.coef == 0) return x;
    const sci_weights *w = &z->g->weights;
    return (sci_weight){1, SCI_NONE, sci_make_select(cx, args[0], sci_weight_node(w, x), sci_weight_node(w, y))};
  }
  sci_weight total = SCI_NO_WEIGHT;
  for (uint32_t i = 0; i < n->n_args; i++) {
    sci_weight inner = slope(z, args[i], b, depth + 1);
    if (inner.coef != 0) total = sum(z, total, product(z, partial(z, (sci_op)n->op, i, args, id), inner));
  }
  return total;
}

static void differentiate_partials(linearizer *z) {
  for (uint32_t a = 0; a < z->local.n; a++)
    for (uint32_t b = a; b < z->local.n; b++) {
      sci_weight w = z->local.first[a], s = w.value == SCI_NONE ? SCI_NO_WEIGHT : slope(z, w.value, b, 0);
      w.value = SCI_NONE;
      z->local.second[a][b] = product(z, w, s);
    }
}

/* ---- to the operands' place ---- */

static sci_id placed(const linearizer *z, sci_id id, const sci_local *at) {
  if (id == SCI_NONE) return id;
  if (id == z->model) return z->actual;
  for (uint32_t i = 0; i < at->n; i++)
    if (id == z->stand_in[i]) return z->g->order.ids[at->operand[i]];
  if (!varies(z, id, 0)) return id;
  const sci_node *n = sci_node_at(z->cx, id);
  sci_id args[SCI_MOST_OPERANDS];
  for (uint32_t i = 0; i < n->n_args; i++) args[i] = placed(z, sci_args(z->cx, n)[i], at);
  return sci_remake(z->cx, id, args);
}

static void place(linearizer *z, sci_local *at) {
  for (uint32_t a = 0; a < at->n; a++) {
    at->first[a] = z->local.first[a];
    at->first[a].value = placed(z, at->first[a].value, at);
    for (uint32_t b = a; b < at->n; b++) {
      at->second[a][b] = z->local.second[a][b];
      at->second[a][b].value = placed(z, at->second[a][b].value, at);
    }
  }
}

/* ---- one node ---- */

/* The active operands, once each; for a guarded root what is under it. */
static void find_operands(const linearizer *z, sci_local *local) {
  const sci_partial_graph *g = z->g;
  const sci_node *n = sci_node_at(z->cx, z->actual);
  sci_id under = sci_guarded_root(z->cx, z->actual);
  const sci_id *args = under == SCI_NONE ? sci_args(z->cx, n) : &under;
  for (uint32_t i = 0; i < (under == SCI_NONE ? n->n_args : 1); i++) {
    uint32_t k = sci_number(&g->order, args[i]), a = 0;
    while (a < local->n && local->operand[a] != k) a++;
    if (a == local->n && g->active[k]) local->operand[local->n++] = k;
  }
}

/* The same operation on stand-ins; false where the builders make something else of it. */
static bool model(linearizer *z, sci_id *args) {
  const sci_node *n = sci_node_at(z->cx, z->actual);
  sci_op op = (sci_op)n->op;
  for (uint32_t i = 0; i < n->n_args; i++) {
    args[i] = sci_args(z->cx, n)[i];
    for (uint32_t a = 0; a < z->local.n; a++)
      if (sci_number(&z->g->order, args[i]) == z->local.operand[a]) args[i] = z->stand_in[a];
  }
  z->model = sci_remake(z->cx, z->actual, args);
  return sci_node_at(z->cx, z->model)->op == op && sci_node_at(z->cx, z->model)->n_args == n->n_args;
}

static void model_root(linearizer *z) {
  sc_context *cx = z->cx;
  sci_id s = z->stand_in[0], zero = sci_make_double(cx, z->g->weights.dtype, 0);
  z->model = sci_make_select(cx, sci_make2(cx, SCI_OP_eq, s, zero), zero, sci_make1(cx, SCI_OP_sqrt, s));
}

static bool linearize(linearizer *z, uint32_t k, bool second) {
  sci_partial_graph *g = z->g;
  z->actual = g->order.ids[k];
  sci_local *local = &g->local[k];
  unsigned op = sci_node_at(z->cx, z->actual)->op;
  if (op >= SCI_OP_COUNT || sci_type_of(z->cx, z->actual)->dtype != (uint8_t)g->weights.dtype) return false;
  find_operands(z, local);
  z->local = *local;
  if (sci_guarded_root(z->cx, z->actual) != SCI_NONE) {
    model_root(z);
    z->local.first[0] = root_slope(z, z->model);
  } else {
    sci_id args[SCI_MOST_OPERANDS];
    if (!model(z, args)) return false;
    for (uint32_t i = 0; i < sci_node_at(z->cx, z->model)->n_args; i++)
      for (uint32_t a = 0; a < local->n; a++)
        if (args[i] == z->stand_in[a])
          z->local.first[a] = sum(z, z->local.first[a], partial(z, (sci_op)op, i, args, z->model));
  }
  if (second) differentiate_partials(z);
  if (z->failed) return false;
  place(z, local);
  return true;
}

/* ---- the graph ---- */

static void find_columns(sci_partial_graph *g, uint32_t n_inputs, const sci_id *inputs) {
  sc_context *cx = g->ad->cx;
  int64_t n_cols = 0, c = 0;
  for (uint32_t i = 0; i < n_inputs; i++) n_cols += sci_type_of(cx, inputs[i])->size;
  g->column_number = SCI_ARRAY(&cx->env.scratch, uint32_t, n_cols);
  g->column = SCI_ARRAY(&cx->env.scratch, int32_t, g->order.n);
  for (uint32_t k = 0; k < g->order.n; k++) g->column[k] = -1;
  for (uint32_t i = 0; i < n_inputs; i++) {
    int64_t size = sci_type_of(cx, inputs[i])->size;
    const sci_id *elements = sci_elements_of(cx, inputs[i]);
    for (int64_t e = 0; e < size; e++, c++) {
      uint32_t k = g->column_number[c] = sci_number(&g->order, elements[e]);
      if (k == SCI_NONE) continue;
      g->column[k] = (int32_t)c;
      g->active[k] = true;
    }
  }
}

bool sci_partial_graph_of(const sci_ad *ad, uint32_t n_roots, const sci_id *roots, uint32_t n_inputs,
                          const sci_id *inputs, bool second, sci_partial_graph *g) {
  sc_context *cx = ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  *g = (sci_partial_graph){.ad = ad, .order = sci_reach(cx, roots, n_roots)};
  g->weights = (sci_weights){cx, (sc_dtype)sci_type_of(cx, roots[0])->dtype};
  g->active = SCI_ZEROS(scratch, bool, g->order.n);
  g->local = SCI_ZEROS(scratch, sci_local, g->order.n);
  find_columns(g, n_inputs, inputs);
  sci_mark_active(cx, &g->order, g->active, NULL);
  linearizer z = {.g = g, .cx = cx};
  for (int a = 0; a < SCI_MOST_OPERANDS; a++)
    z.stand_in[a] = sci_make_input(cx, "operand", g->weights.dtype, true, 0, NULL);
  bool *needed = SCI_ZEROS(scratch, bool, g->order.n);
  for (uint32_t r = 0; r < n_roots; r++) needed[sci_number(&g->order, roots[r])] = true;
  for (uint32_t k = g->order.n; k--;) {
    if (!needed[k] || !g->active[k] || g->column[k] >= 0) continue;
    if (!linearize(&z, k, second)) return false;
    for (uint32_t a = 0; a < g->local[k].n; a++) needed[g->local[k].operand[a]] = true;
  }
  return true;
}
