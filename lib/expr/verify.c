/* Owns the verifier of the expression dialect: one table of rules over every node that a function and its callees
 * reach. */
#include "lib/expr/expr.h"

typedef struct position {
  const sc_function *f;
  sci_id id;
  bool declared; /* an input of f */
} position;

typedef enum attr_kind { NONE, INLINE, BLOB } attr_kind;

static const struct {
  int arity;
  attr_kind attr;
} rows[] = {
#define SCI_XOP(name, arity, attr) {arity, attr},
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
};

#define BROKEN(cx, ...) sci_fail(&(cx)->env, SC_ERR_VERIFY, __VA_ARGS__)

static void rule_operation(sc_context *cx, const position *p) {
  unsigned op = sci_node_at(cx, p->id)->op;
  if (op >= SCI_X_END) BROKEN(cx, "operation number %u does not exist", op);
  if (op < SCI_OP_COUNT && (sci_ops[op].traits & SCI_PROGRAM)) BROKEN(cx, "%s belongs to programs", sci_xop_name(op));
}

static void rule_arity(sc_context *cx, const position *p) {
  const sci_node *n = sci_node_at(cx, p->id);
  int want = n->op < SCI_OP_COUNT ? sci_ops[n->op].arity : rows[n->op - SCI_OP_COUNT].arity;
  if (want >= 0 && n->n_args != (uint32_t)want) BROKEN(cx, "%u operands, it takes %d", n->n_args, want);
}

static void rule_order(sc_context *cx, const position *p) {
  const sci_node *n = sci_node_at(cx, p->id);
  const sci_id *args = sci_args(cx, n);
  for (uint32_t i = 0; i < n->n_args; i++)
    if (args[i] >= p->id) BROKEN(cx, "operand %u does not precede the node", i);
}

static void rule_attribute(sc_context *cx, const position *p) {
  const sci_node *n = sci_node_at(cx, p->id);
  if (n->type >= cx->n_types) BROKEN(cx, "type number %u does not exist", n->type);
  if (n->hint > SC_HINT_BLOCK) BROKEN(cx, "hint number %u does not exist", n->hint);
  attr_kind kind = n->op < SCI_OP_COUNT ? NONE : rows[n->op - SCI_OP_COUNT].attr;
  if (kind == NONE && n->attr) BROKEN(cx, "it has an attribute, the operation takes none");
  if (kind == BLOB && n->attr >= cx->n_blobs) BROKEN(cx, "attribute number %u does not exist", n->attr);
}

static void rule_callee(sc_context *cx, const position *p) {
  const sci_node *n = sci_node_at(cx, p->id);
  if (n->op != SCI_X_call && n->op != SCI_X_vmap) return;
  if (cx->blobs[n->attr].size < sizeof(sci_call_attr)) BROKEN(cx, "the attribute is too short");
  const sci_call_attr *a = cx->blobs[n->attr].data;
  if (a->callee >= p->f->id) BROKEN(cx, "the callee does not precede the function that calls it");
}

/* Shapes, data types, attributes and callee signatures: what the node is must be what its operation infers. */
static void rule_type(sc_context *cx, const position *p) {
  const sci_node n = *sci_node_at(cx, p->id);
  sci_recipe r = {.op = n.op, .n_args = n.n_args, .attr = n.attr, .args = sci_args(cx, &n), .type = n.type};
  uint32_t type = sci_infer(cx, &r);
  if (type == n.type) return;
  sci_type t = cx->types[type];
  BROKEN(cx, "it is %s, its operands give %s of shape %s%s", sci_type_text(cx, p->id), sc_dtype_name((sc_dtype)t.dtype),
         sci_shape_text(cx, t.rank, t.shape), t.diff ? " with a derivative" : "");
}

static void rule_declared(sc_context *cx, const position *p) {
  if (sci_node_at(cx, p->id)->op == SCI_X_input && !p->declared)
    BROKEN(cx, "input %s is not an input of the function", ((const sci_input_attr *)sci_attr(cx, p->id))->name);
}

static const struct {
  const char *name;
  void (*check)(sc_context *cx, const position *p);
} rules[] = {
    {"operation", rule_operation}, {"arity", rule_arity}, {"order", rule_order},       {"attribute", rule_attribute},
    {"callee", rule_callee},       {"type", rule_type},   {"declared", rule_declared},
};
enum { N_RULES = sizeof rules / sizeof *rules };

static void verify_body(sc_context *cx, const sc_function *f) {
  sci_env *env = &cx->env;
  sci_order o = sci_reach_function(cx, f);
  bool *declared = SCI_ZEROS(&env->scratch, bool, o.n);
  for (uint32_t i = 0; i < f->n_in; i++) declared[sci_number(&o, f->in[i].node)] = true;
  volatile uint32_t k = 0, rule = 0;
  const size_t base = env->n_diags;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) {
    if (env->n_diags == base || env->diags[base].status == SC_ERR_MEMORY) sci_unwind(env);
    char *reason = sci_strdup(&env->scratch, env->diags[base].message);
    sci_diags_truncate(env, base);
    sci_fail(env, SC_ERR_VERIFY, "function %s, node %%%u (%s): rule %s: %s", f->name, k,
             sci_xop_name(sci_node_at(cx, o.ids[k])->op), rules[rule].name, reason);
  }
  sci_diags_isolate(env);
  for (k = 0; k < o.n; k++) {
    sci_arena_mark mark = sci_arena_here(&env->scratch);
    position p = {.f = f, .id = o.ids[k], .declared = declared[k]};
    for (rule = 0; rule < N_RULES; rule++) rules[rule].check(cx, &p);
    sci_arena_release(&env->scratch, mark);
  }
  sci_leave(env, &fr);
}

void sci_verify(sc_context *cx, const sc_function *f) {
  sc_function **all;
  uint32_t n = sci_callees(cx, cx->functions[f->id], true, &all);
  for (uint32_t i = 0; i < n; i++) {
    sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
    verify_body(cx, all[i]);
    sci_arena_release(&cx->env.scratch, mark);
  }
}
