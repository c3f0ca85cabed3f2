/* Owns the simplification pass: one sweep in topological order, the rules of rules.def applied until none does. */
#include "lib/expr/simplify.h"

typedef struct simplifier {
  sc_context *cx;
  bool strict, lowering;
  uint32_t *counts;
  sc_function **moved; /* per function id: its simplified version */
} simplifier;

typedef enum rule_class { EXACT, IEEE_UNSAFE, LOWERING } rule_class;

static sci_id rewrite(simplifier *s, sci_id id);

/* ---- the vocabulary of rules.def ---- */

static bool has_op(const simplifier *s, sci_id id, unsigned op) {
  const sci_node *n = sci_node_at(s->cx, id);
  return n->op == op && n->hint == SC_HINT_AUTO;
}

static bool is_const(const simplifier *s, sci_id id) {
  sci_scalar v;
  return sci_const_value(s->cx, id, &v);
}

static sci_id negated(simplifier *s, sci_id id) {
  return sci_make1(s->cx, SCI_OP_neg, id); /* folds */
}

static sci_id zero_like(simplifier *s, sci_id id) {
  const sci_type t = *sci_type_of(s->cx, id);
  return sci_make_fill(s->cx, (sc_dtype)t.dtype, t.rank, t.shape, 0);
}

static sci_id make1(simplifier *s, sci_op op, sci_id a) {
  return rewrite(s, sci_make1(s->cx, op, a));
}

static sci_id make2(simplifier *s, sci_op op, sci_id a, sci_id b) {
  return rewrite(s, sci_make2(s->cx, op, a, b));
}

static sci_id make_select(simplifier *s, sci_id c, sci_id a, sci_id b) {
  return rewrite(s, sci_make_select(s->cx, c, a, b));
}

/* select(q == 0, 0, sqrt(q)) for a sum of squares q, which is never -0: the root alone has the same value. */
static bool guarded_norm(const simplifier *s, sci_id cond, sci_id a, sci_id b) {
  sc_context *cx = s->cx;
  if (!has_op(s, cond, SCI_OP_eq) || !has_op(s, b, SCI_OP_sqrt) || !sci_is_const_number(cx, a, 0)) return false;
  sci_id q = sci_arg(cx, b, 0);
  if (sci_arg(cx, cond, 0) != q || !sci_is_const_number(cx, sci_arg(cx, cond, 1), 0) || !has_op(s, q, SCI_X_sum))
    return false;
  sci_id square = sci_arg(cx, q, 0);
  return has_op(s, square, SCI_OP_mul) && sci_arg(cx, square, 0) == sci_arg(cx, square, 1);
}

#define A args[0]
#define B args[1]
#define C args[2]
#define IS(x, op) has_op(s, x, SCI_OP_##op)
#define ARG(x, i) sci_arg(s->cx, x, i)
#define NUM(x, v) sci_is_const_number(s->cx, x, v)
#define CONST(x) is_const(s, x)
#define NEGATED(x) negated(s, x)
#define ZERO zero_like(s, id)
#define MAKE1(op, a) make1(s, SCI_OP_##op, a)
#define MAKE2(op, a, b) make2(s, SCI_OP_##op, a, b)
#define SELECT(c, a, b) make_select(s, c, a, b)
#define GUARDED_NORM(c, a, b) guarded_norm(s, c, a, b)

#define SCI_RULE(name, class, op, condition, replacement)                                                              \
  static sci_id rule_##name(simplifier *s, sci_id id, const sci_id *args) {                                            \
    (void)s, (void)id;                                                                                                 \
    return (condition) ? (replacement) : SCI_NONE;                                                                     \
  }
#include "lib/expr/rules.def"
#undef SCI_RULE

static const struct {
  const char *name;
  sci_id (*apply)(simplifier *s, sci_id id, const sci_id *args);
  uint16_t op;
  uint8_t class;
} rules[] = {
#define SCI_RULE(name, class, op, ...) {#name, rule_##name, SCI_OP_##op, class},
#include "lib/expr/rules.def"
#undef SCI_RULE
};

const char *sci_rule_name(sci_rule rule) {
  return rules[rule].name;
}

/* ---- one node ---- */

/* Integers wrap: negation does not commute with their division, so they keep what was written. */
static bool takes_rules(const simplifier *s, sci_id id) {
  const sci_node *n = sci_node_at(s->cx, id);
  if (n->op >= SCI_OP_COUNT || n->hint != SC_HINT_AUTO) return false;
  return n->op == SCI_OP_select || !sci_is_int((sc_dtype)s->cx->types[n->type].dtype);
}

static sci_id apply_one(simplifier *s, sci_id id) {
  const sci_node *n = sci_node_at(s->cx, id);
  for (uint32_t r = 0; r < SCI_RULE_COUNT; r++) {
    if (rules[r].op != n->op || (rules[r].class == IEEE_UNSAFE && s->strict) ||
        (rules[r].class == LOWERING && !s->lowering))
      continue;
    sci_id other = rules[r].apply(s, id, sci_args(s->cx, n));
    if (other == SCI_NONE) continue;
    if (s->counts) s->counts[r]++;
    return other;
  }
  return SCI_NONE;
}

static sci_id rewrite(simplifier *s, sci_id id) {
  while (takes_rules(s, id)) {
    sci_id other = apply_one(s, id);
    if (other == SCI_NONE) break;
    id = other;
  }
  return id;
}

/* A call of the simplified callee. */
static sci_id remake_call(simplifier *s, sci_id id, const sci_id *args) {
  sc_context *cx = s->cx;
  const sci_node n = *sci_node_at(cx, id);
  const sci_call_attr *attr = sci_attr(cx, id);
  sc_function *callee = s->moved[attr->callee];
  sci_id made = n.op == SCI_X_call ? sci_make_call(cx, callee, args, n.n_args, attr->output)
                                   : sci_make_vmap(cx, callee, attr->length, args, n.n_args, attr->windows,
                                                   attr->windows + n.n_args, attr->output);
  return n.hint == SC_HINT_AUTO ? made : sci_make_hint(cx, made, (sc_hint)n.hint);
}

static sci_id simplify_node(simplifier *s, const sci_order *order, const sci_id *done, sci_id id) {
  sc_context *cx = s->cx;
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
  sci_id *now = SCI_ARRAY(&cx->env.scratch, sci_id, n->n_args), made = id;
  bool changed = false;
  for (uint32_t i = 0; i < n->n_args; i++) {
    now[i] = done[sci_number(order, args[i])];
    changed |= now[i] != args[i];
  }
  bool call = n->op == SCI_X_call || n->op == SCI_X_vmap;
  if (call && (changed || s->moved[((const sci_call_attr *)sci_attr(cx, id))->callee]->id !=
                              ((const sci_call_attr *)sci_attr(cx, id))->callee))
    made = remake_call(s, id, now);
  else if (changed)
    made = sci_remake(cx, id, now);
  made = rewrite(s, made);
  sci_arena_release(&cx->env.scratch, mark);
  return made;
}

/* ---- functions ---- */

static sc_function *simplify_function(simplifier *s, sc_function *f) {
  sc_context *cx = s->cx;
  sci_arena *scratch = &cx->env.scratch;
  s->strict = f->strict_nan;
  sci_order order = sci_reach_function(cx, f);
  sci_id *done = SCI_ARRAY(scratch, sci_id, order.n);
  for (uint32_t k = 0; k < order.n; k++) done[k] = simplify_node(s, &order, done, order.ids[k]);
  bool changed = false;
  sc_named *in = SCI_ARRAY(scratch, sc_named, f->n_in), *out = SCI_ARRAY(scratch, sc_named, f->n_out);
  for (uint32_t i = 0; i < f->n_in; i++) in[i] = (sc_named){f->in[i].name, sci_wrap(cx, f->in[i].node), NULL};
  for (uint32_t i = 0; i < f->n_out; i++) {
    sci_id node = done[sci_number(&order, f->out[i].node)];
    changed |= node != f->out[i].node;
    out[i] = (sc_named){f->out[i].name, sci_wrap(cx, node), f->out[i].pattern};
  }
  if (!changed) return f;
  sc_function *g = sci_make_function(cx, f->name, in, f->n_in, out, f->n_out);
  g->held = false;
  sci_inherit(g, f);
  return g;
}

sc_function *sci_simplify(sc_context *cx, sc_function *f, bool lowering, uint32_t *counts) {
  sc_function **callees;
  uint32_t n = sci_callees(cx, f, false, &callees);
  simplifier s = {.cx = cx,
                  .lowering = lowering,
                  .counts = counts,
                  .moved = SCI_ZEROS(&cx->env.scratch, sc_function *, cx->n_functions)};
  for (uint32_t i = 0; i < n; i++) {
    uint32_t id = callees[i]->id;
    s.moved[id] = simplify_function(&s, callees[i]);
  }
  return s.moved[f->id];
}
