/* Owns the driver: which functions become procedures with which parameters, the order of nodes, and the program. */
#include <stdlib.h>

#include "lib/lower/state.h"

/* ---- plans: what of each function is needed ---- */

static void collect_order(sc_context *cx, sci_plan *p) {
  const sc_function *f = p->f;
  sci_id *roots = SCI_ARRAY(&cx->env.scratch, sci_id, f->n_out);
  uint32_t n = 0;
  for (uint32_t o = 0; o < f->n_out; o++)
    if (p->used_out[o] && sci_type_of(cx, f->out[o].node)->size) roots[n++] = f->out[o].node;
  p->order = sci_reach(cx, roots, n);
}

/* Callers come after callees in id order, so one descending sweep knows every use before it meets the function. */
static sci_plan *make_plans(sc_context *cx, const sc_function *f, uint32_t *n) {
  sci_arena *scratch = &cx->env.scratch;
  sc_function **functions;
  *n = sci_callees(cx, (sc_function *)(uintptr_t)f, false, &functions);
  sci_plan *plans = SCI_ZEROS(scratch, sci_plan, *n);
  for (uint32_t i = 0; i < *n; i++) {
    const sc_function *g = functions[i];
    plans[i] = (sci_plan){.f = g, .proc = SCI_NIL, .used_out = SCI_ZEROS(scratch, bool, g->n_out)};
    plans[i].kept_in = SCI_ZEROS(scratch, bool, g->n_in);
    plans[i].kept_out = SCI_ZEROS(scratch, bool, g->n_out);
  }
  memset(plans[*n - 1].used_out, true, f->n_out * sizeof(bool));
  for (uint32_t i = *n; i-- > 0;) {
    collect_order(cx, &plans[i]);
    for (uint32_t k = 0; k < plans[i].order.n; k++) {
      sci_id id = plans[i].order.ids[k];
      unsigned op = sci_node_at(cx, id)->op;
      if ((op != SCI_X_call && op != SCI_X_vmap) || !sci_type_of(cx, id)->size) continue;
      const sci_call_attr *a = sci_attr(cx, id);
      sci_plan_of(plans, *n, a->callee)->used_out[a->output] = true;
    }
  }
  return plans;
}

/* ---- one function ---- */

static bool arg_is_needed(const sci_lowering *l, uint32_t num, uint32_t k) {
  unsigned op = sci_node_of(l, num)->op;
  if (op != SCI_X_call && op != SCI_X_vmap) return true;
  const sci_call_attr *a = sci_attr(l->cx, l->order->ids[num]);
  return sci_plan_of(l->plans, l->n_plans, a->callee)->kept_in[k];
}

static void count_uses(sci_lowering *l) {
  for (uint32_t num = l->order->n; num-- > 0;) {
    if (!sci_is_live(l, num)) continue;
    for (uint32_t k = 0; k < sci_node_of(l, num)->n_args; k++)
      if (arg_is_needed(l, num, k)) l->slots[sci_arg_of(l, num, k)].uses++;
  }
}

/* Outputs in the order in which their nodes are reached, then as declared. */
typedef struct out_at {
  uint32_t num, output;
  const sci_place *place;
} out_at;

static int by_number(const void *a, const void *b) {
  const out_at *x = a, *y = b;
  if (x->num != y->num) return x->num < y->num ? -1 : 1;
  return x->output < y->output ? -1 : x->output > y->output;
}

static sci_buf parameter(sci_lowering *l, const sci_formal *formal, sci_space space) {
  const sci_type *t = sci_type_of(l->cx, formal->node);
  return sci_new_buf(l->s, (sc_dtype)t->dtype, space, t->size, formal->name);
}

/* Parameters; the places of the inputs that are read; the outputs to be written. */
static out_at *make_parameters(sci_lowering *l, sci_plan *plan, sci_proc *proc, uint32_t *n_outs) {
  const sc_function *f = plan->f;
  bool is_entry = plan == &l->plans[l->n_plans - 1];
  sci_buf *params = SCI_ARRAY(&l->s->arena, sci_buf, f->n_in + f->n_out);
  out_at *outs = SCI_ARRAY(l->scratch, out_at, f->n_out);
  uint32_t n = 0;
  for (uint32_t k = 0; k < f->n_in; k++) {
    uint32_t num = sci_number(l->order, f->in[k].node);
    bool is_read = num != SCI_NONE && sci_is_live(l, num);
    plan->kept_in[k] = is_entry || is_read;
    if (!plan->kept_in[k]) continue;
    params[n++] = parameter(l, &f->in[k], SCI_SPACE_INPUT);
    if (is_read) l->slots[num].place = sci_place_whole(l, params[n - 1], sci_type_at(l, num)->size);
  }
  proc->n_in = n;
  *n_outs = 0;
  for (uint32_t o = 0; o < f->n_out; o++) {
    int64_t size = sci_type_of(l->cx, f->out[o].node)->size;
    plan->kept_out[o] = is_entry || (plan->used_out[o] && size);
    if (!plan->kept_out[o]) continue;
    params[n++] = parameter(l, &f->out[o], SCI_SPACE_OUTPUT);
    if (size)
      outs[(*n_outs)++] = (out_at){sci_number(l->order, f->out[o].node), o, sci_place_whole(l, params[n - 1], size)};
  }
  proc->n_out = n - proc->n_in;
  proc->params = params;
  qsort(outs, *n_outs, sizeof *outs, by_number);
  return outs;
}

static void lower_node(sci_lowering *l, uint32_t num) {
  unsigned op = sci_node_of(l, num)->op;
  if (sci_is_elementwise(op)) {
    sci_lower_elementwise(l, num);
    return;
  }
  switch ((sci_xop)op) {
#define SCI_XOP(name, ...)                                                                                             \
  case SCI_X_##name:                                                                                                   \
    sci_lower_##name(l, num);                                                                                          \
    break;
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
  case SCI_X_FIRST:
  case SCI_X_END: break;
  }
}

static void deliver(sci_lowering *l, const out_at *out) {
  const sci_slot *slot = &l->slots[out->num];
  if (slot->val == SCI_NIL && sci_place_is(slot->place, out->place)) return;
  sci_copy(l, sci_operand_of(l, out->num), out->place);
}

static void lower_nodes(sci_lowering *l, uint32_t n_outs, const out_at *outs) {
  for (uint32_t num = 0, next = 0; num < l->order->n; num++) {
    if (sci_is_live(l, num)) lower_node(l, num);
    for (; next < n_outs && outs[next].num == num; next++) deliver(l, &outs[next]);
  }
}

static const sci_proc *lower_function(sci_lowering *l, sci_plan *plan, const char *name) {
  sci_proc *proc = SCI_NEW(&l->s->arena, sci_proc);
  l->order = &plan->order;
  l->slots = SCI_ZEROS(l->scratch, sci_slot, l->order->n);
  l->siblings = NULL;
  l->label = NULL;
  l->locals.data = NULL;
  l->locals.n = l->locals.cap = 0;
  for (uint32_t num = 0; num < l->order->n; num++) l->slots[num].val = SCI_NIL;
  for (uint32_t o = 0; o < plan->f->n_out; o++) {
    if (!plan->used_out[o] || !sci_type_of(l->cx, plan->f->out[o].node)->size) continue;
    l->slots[sci_number(l->order, plan->f->out[o].node)].uses++;
  }
  count_uses(l);
  uint32_t n_outs;
  out_at *outs = make_parameters(l, plan, proc, &n_outs);
  uint32_t *roots = SCI_ARRAY(l->scratch, uint32_t, n_outs);
  const sci_place **places = SCI_ARRAY(l->scratch, const sci_place *, n_outs);
  for (uint32_t i = 0; i < n_outs; i++) {
    roots[i] = outs[i].num;
    places[i] = outs[i].place;
  }
  sci_group_calls(l);
  sci_assign_homes(l, n_outs, roots, places);
  sci_block_begin(&l->top, l->s);
  lower_nodes(l, n_outs, outs);
  proc->name = name;
  proc->hint = plan->f->hint;
  proc->body = sci_block_end(&l->top, l->s);
  sci_local *locals = SCI_ARRAY(&l->s->arena, sci_local, l->locals.n);
  if (l->locals.n) memcpy(locals, l->locals.data, l->locals.n * sizeof *locals);
  proc->locals = locals;
  proc->n_locals = (uint32_t)l->locals.n;
  return proc;
}

/* ---- the program ---- */

/* The names given so far, open addressing, each with the number that the next procedure of that name tries. */
typedef struct names {
  uint32_t mask;
  struct {
    const char *name;
    uint32_t next;
  } * slots;
} names;

static uint32_t find_name(const names *x, const char *name) {
  uint32_t at = sci_hash_bytes(name, strlen(name)) & x->mask;
  while (x->slots[at].name && strcmp(x->slots[at].name, name)) at = (at + 1) & x->mask;
  return at;
}

static const char *identifier(sci_arena *a, const char *name) {
  char *id = sci_asprintf(a, "%s%s", name[0] >= '0' && name[0] <= '9' ? "_" : "", name);
  for (char *c = id; *c; c++) {
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    if (!letter && !(*c >= '0' && *c <= '9')) *c = '_';
  }
  return id;
}

/* Procedures of one name are told apart by a number. */
static const char *unique_name(names *x, sci_arena *a, const char *wanted) {
  const char *base = identifier(a, wanted), *name = base;
  uint32_t first = find_name(x, base), at = first;
  while (x->slots[at].name) {
    name = sci_asprintf(a, "%s_%u", base, ++x->slots[first].next);
    at = find_name(x, name);
  }
  x->slots[at].name = name;
  x->slots[at].next = 0;
  return name;
}

static names *no_names(sci_arena *a, uint32_t n) {
  names *x = SCI_NEW(a, names);
  for (x->mask = 15; x->mask < 2 * n;) x->mask = 2 * x->mask + 1;
  x->slots = sci_alloc_zero(a, (size_t)x->mask + 1, sizeof *x->slots);
  return x;
}

static sci_port_info port(const sc_context *cx, sci_arena *a, const sci_formal *formal) {
  const sci_type *t = sci_type_of(cx, formal->node);
  sci_port_info p = {.name = sci_strdup(a, formal->name), .dtype = t->dtype, .rank = t->rank};
  memcpy(p.shape, t->shape, sizeof p.shape);
  return p;
}

static const sc_pattern *copy_pattern(sci_arena *a, const sc_pattern *p) {
  if (!p) return NULL;
  size_t outer = (size_t)(p->layout == SC_COO ? p->nnz : p->layout == SC_CSC ? p->ncol + 1 : p->nrow + 1);
  sc_pattern *q = SCI_NEW(a, sc_pattern);
  int32_t *tables = SCI_ARRAY(a, int32_t, outer + (size_t)p->nnz);
  memcpy(tables, p->outer, outer * sizeof *tables);
  if (p->nnz) memcpy(tables + outer, p->inner, (size_t)p->nnz * sizeof *tables);
  *q = *p;
  q->outer = tables;
  q->inner = tables + outer;
  return q;
}

static const sci_port_info *make_ports(sc_context *cx, sci_arena *a, const sc_function *f) {
  sci_port_info *ports = SCI_ARRAY(a, sci_port_info, f->n_in + f->n_out);
  for (uint32_t k = 0; k < f->n_in; k++) ports[k] = port(cx, a, &f->in[k]);
  for (uint32_t o = 0; o < f->n_out; o++) {
    ports[f->n_in + o] = port(cx, a, &f->out[o]);
    ports[f->n_in + o].pattern = copy_pattern(a, f->out[o].pattern);
  }
  return ports;
}

sci_program *sci_lower(sc_context *cx, const sc_function *f, const sc_lower_options *options) {
  sci_store *s = sci_store_create(&cx->env);
  sci_program *program = sci_program_create(cx, s);
  if (options && options->target) program->target = *options->target;
  sci_lowering l = {.cx = cx, .target = &program->target, .s = s, .scratch = &cx->env.scratch};
  sci_plan *plans = make_plans(cx, f, &l.n_plans);
  l.plans = plans;
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, l.n_plans);
  names *taken = no_names(l.scratch, l.n_plans);
  const char *entry = unique_name(taken, &s->arena, f->name); /* the entry keeps its name */
  uint32_t n = 0;
  for (uint32_t i = 0; i < l.n_plans; i++) {
    bool is_entry = i == l.n_plans - 1, is_used = is_entry;
    for (uint32_t o = 0; o < plans[i].f->n_out; o++) is_used = is_used || plans[i].used_out[o];
    if (!is_used) continue;
    const char *name = is_entry ? entry : unique_name(taken, &s->arena, plans[i].f->name);
    sci_arena_mark mark = sci_arena_here(l.scratch);
    procs[n] = lower_function(&l, &plans[i], name);
    sci_arena_release(l.scratch, mark);
    plans[i].proc = n++;
  }
  program->name = sci_strdup(&s->arena, f->name);
  program->n_procs = n;
  program->procs = procs;
  program->ports = make_ports(cx, &s->arena, f);
  program->rounding = options ? (uint8_t)options->rounding : (uint8_t)SC_ROUNDING_DEFAULT;
  sci_program_check(program);
  return program;
}
