/* Owns the program verifier: one walk in order of execution that applies every rule of the table. */
#include "lib/program/verify.h"

#include <stdio.h>

#include "lib/program/lanes.h"

static const char *const rule_names[SCI_RULE_COUNT] = {
#define SCI_RULE(name) #name,
    SCI_RULES(SCI_RULE)
#undef SCI_RULE
};

_Noreturn void sci_rule_fail(const sci_checker *k, sci_rule rule, const char *fmt, ...) {
  char why[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(why, sizeof why, fmt, ap);
  va_end(ap);
  const char *proc = k->proc && k->proc->name ? k->proc->name : "?";
  if (!k->proc)
    sci_fail(k->env, SC_ERR_VERIFY, "program %s: rule %s: %s", k->p->name ? k->p->name : "?", rule_names[rule], why);
  if (!k->statement) sci_fail(k->env, SC_ERR_VERIFY, "procedure %s: rule %s: %s", proc, rule_names[rule], why);
  sci_fail(k->env, SC_ERR_VERIFY, "procedure %s, statement %u: rule %s: %s", proc, k->statement, rule_names[rule], why);
}

#define REQUIRE(condition, rule, ...)                                                                                  \
  do {                                                                                                                 \
    if (!(condition)) sci_rule_fail(k, SCI_RULE_##rule, __VA_ARGS__);                                                  \
  } while (0)

static const char *hint_of(const char *hint) {
  return hint ? hint : "without a name";
}

/* ---- scopes ---- */

static void open_scope(sci_checker *k, uint32_t depth) {
  k->scope = (uint32_t)k->scopes.n;
  sci_vec_push(k->a, &k->scopes, (sci_scope){depth, true});
}

/* ---- values ---- */

static uint32_t deeper(const sci_checker *k, uint32_t a, uint32_t b) {
  return k->scopes.data[a].depth >= k->scopes.data[b].depth ? a : b;
}

static uint32_t leaf_scope(sci_checker *k, const sci_value *x) {
  if (x->kind == SCI_V_CONST) return 0;
  bool is_name = x->kind == SCI_V_NAME;
  uint32_t id = x->args[0], count = is_name ? k->s->n_names : k->s->n_vars;
  uint32_t at = id < count ? (is_name ? k->name_scope : k->var_scope)[id] : 0;
  if (at && k->scopes.data[at - 1].open) {
    sc_dtype dtype = is_name ? (sc_dtype)k->s->names[id].dtype : SC_INT64;
    REQUIRE(x->dtype == dtype, op, "name %u is %s, its value %s", id, sc_dtype_name(dtype),
            sc_dtype_name((sc_dtype)x->dtype));
    return at - 1;
  }
  const char *hint = id >= count ? NULL : is_name ? k->s->names[id].hint : k->s->vars[id].hint;
  if (is_name) sci_rule_fail(k, SCI_RULE_name_scope, "name %u (%s) is used where it is not defined", id, hint_of(hint));
  sci_rule_fail(k, SCI_RULE_var_scope, "loop variable %u (%s) is used outside its loop", id, hint_of(hint));
}

static void check_op(const sci_checker *k, const sci_value *x) {
  REQUIRE(x->op < SCI_OP_COUNT, op, "operation %u does not exist", x->op);
  const sci_op_info *info = &sci_ops[x->op];
  sc_dtype of[3] = {SC_BOOL, SC_BOOL, SC_BOOL};
  for (int i = 0; i < info->arity; i++) of[i] = (sc_dtype)sci_value_at(k->s, x->args[i])->dtype;
  int first = x->op == SCI_OP_select;
  REQUIRE(!first || of[0] == SC_BOOL, op, "the condition of a select is %s", sc_dtype_name(of[0]));
  for (int i = first; i < info->arity; i++) {
    REQUIRE(of[i] == of[first], op, "%s of %s and %s", info->name, sc_dtype_name(of[first]), sc_dtype_name(of[i]));
    REQUIRE(sci_op_accepts((sci_op)x->op, of[i]), op, "%s does not take %s", info->name, sc_dtype_name(of[i]));
  }
  sc_dtype result = x->op == SCI_OP_cast ? (sc_dtype)x->dtype : sci_op_result((sci_op)x->op, of[first]);
  REQUIRE(x->dtype == result && x->dtype < SC_DTYPE_COUNT, op, "%s of %s gives %s, not %s", info->name,
          sc_dtype_name(of[first]), sc_dtype_name(result), sc_dtype_name((sc_dtype)x->dtype));
}

/* True when v's scope is known now. A finished value whose scope has closed is checked anew, which names the culprit.
 */
static bool settled(const sci_checker *k, sci_val v) {
  uint32_t at = k->value_scope[v];
  return at && k->scopes.data[at - 1].open;
}

static void check_value(sci_checker *k, sci_val v) {
  REQUIRE(v < k->s->n_values, op, "a value does not exist");
  if (settled(k, v)) return;
  k->stack.n = 0;
  sci_vec_push(k->a, &k->stack, v);
  while (k->stack.n) {
    sci_val at = k->stack.data[k->stack.n - 1];
    const sci_value *x = sci_value_at(k->s, at);
    uint32_t scope = 0;
    size_t before = k->stack.n;
    int arity = x->kind == SCI_V_OP && x->op < SCI_OP_COUNT ? sci_ops[x->op].arity : 0;
    for (int i = 0; i < arity; i++) {
      REQUIRE(x->args[i] < at, op, "an operand does not precede its user");
      if (settled(k, x->args[i]))
        scope = deeper(k, scope, k->value_scope[x->args[i]] - 1);
      else
        sci_vec_push(k->a, &k->stack, x->args[i]);
    }
    if (k->stack.n != before) continue;
    if (x->kind == SCI_V_OP)
      check_op(k, x);
    else
      scope = leaf_scope(k, x);
    k->value_scope[at] = scope + 1;
    k->stack.n--;
  }
}

static sc_dtype dtype_of(const sci_checker *k, sci_val v) {
  return (sc_dtype)sci_value_at(k->s, v)->dtype;
}

/* ---- buffers ---- */

static const sci_buffer *check_buf(const sci_checker *k, sci_buf b) {
  REQUIRE(b < k->s->n_bufs, buffer_scope, "a buffer does not exist");
  const sci_buffer *x = &k->s->bufs[b], *owner = x;
  sci_buf root = b;
  if (x->alias_of != SCI_NIL) {
    root = x->alias_of;
    REQUIRE(root < k->s->n_bufs && k->s->bufs[root].alias_of == SCI_NIL, alias, "buffer %s is an alias of an alias",
            hint_of(x->hint));
    owner = &k->s->bufs[root];
    REQUIRE(x->dtype == owner->dtype && x->space == owner->space, alias,
            "buffer %s differs from what it is an alias of", hint_of(x->hint));
    REQUIRE(x->alias_offset >= 0 && x->size >= 0 && x->alias_offset <= owner->size - x->size, alias,
            "buffer %s (%lld elements at %lld) leaves its owner (%lld elements)", hint_of(x->hint), (long long)x->size,
            (long long)x->alias_offset, (long long)owner->size);
  }
  if (owner->space == SCI_SPACE_CONSTANT)
    REQUIRE(owner->data || !owner->size, constant, "constant %s has no elements", hint_of(x->hint));
  else
    REQUIRE(k->buf_proc[root] == k->proc_index + 1, buffer_scope, "buffer %s is not of this procedure",
            hint_of(x->hint));
  return x;
}

/* Ranges overestimate when terms depend on each other; then only a point outside is proof. */
static bool outside_somewhere(sci_checker *k, sci_val index, int64_t room) {
  sci_points pts;
  if (!sci_points_make(&k->facts, index, &pts)) return false;
  int64_t budget = 1 << 16;
  do {
    int64_t at;
    if (sci_points_eval(&k->facts, &pts, &at) && (at < 0 || at > room)) return true;
    if (!--budget) return true; /* too many points to clear it: the range stands */
  } while (sci_points_next(&k->facts, &pts, NULL, 0, INT64_MAX));
  return false;
}

static void check_bounds(sci_checker *k, sci_buf b, sci_val index, int64_t extent) {
  int64_t room = k->s->bufs[b].size - extent;
  sci_range r = sci_range_of(&k->facts, index);
  if (!r.known || (r.lo >= 0 && r.hi <= room)) return;
  if (!r.exact && !outside_somewhere(k, index, room)) return;
  const char *hint = k->s->bufs[b].hint;
  sci_rule_fail(k, SCI_RULE_bounds, "elements %lld to %lld of buffer %s (%lld elements)", (long long)r.lo,
                (long long)r.hi + extent - 1, hint ? hint : "without a name", (long long)k->s->bufs[b].size);
}

static void check_access(sci_checker *k, sci_buf b, sci_val index, int64_t extent, bool write) {
  const sci_buffer *x = check_buf(k, b);
  check_value(k, index);
  REQUIRE(dtype_of(k, index) == SC_INT64, dtype, "an index is %s", sc_dtype_name(dtype_of(k, index)));
  int64_t offset;
  sci_buf storage = sci_storage(k->s, b, &offset);
  if (k->has_lanes[storage]) sci_vec_push(k->a, &k->in_lanes, storage);
  REQUIRE(!write || x->space == SCI_SPACE_OUTPUT || x->space == SCI_SPACE_PRIVATE, readonly, "buffer %s is %s",
          hint_of(x->hint), x->space == SCI_SPACE_INPUT ? "an input" : "a constant");
  if (!k->dead) check_bounds(k, b, index, extent);
}

/* ---- statements ---- */

static void declare(sci_checker *k, const sci_stmt *st, sc_dtype of) {
  const sci_name_info *info = &k->s->names[st->name];
  REQUIRE(!k->name_scope[st->name], name_once, "name %u (%s) is declared again", st->name, hint_of(info->hint));
  REQUIRE(info->dtype == of, dtype, "name %u is %s, its value %s", st->name, sc_dtype_name((sc_dtype)info->dtype),
          sc_dtype_name(of));
  k->name_scope[st->name] = k->scope + 1;
  k->facts.name_def[st->name] = info->is_mutable ? NULL : st;
}

static void check_assign(sci_checker *k, const sci_stmt *st) {
  check_value(k, st->value);
  REQUIRE(st->name < k->s->n_names, name_once, "a name does not exist");
  sc_dtype of = dtype_of(k, st->value);
  if (st->declare) {
    declare(k, st, of);
    return;
  }
  const sci_name_info *info = &k->s->names[st->name];
  REQUIRE(info->is_mutable, name_once, "name %u (%s) is immutable and assigned again", st->name, hint_of(info->hint));
  uint32_t at = k->name_scope[st->name];
  REQUIRE(at && k->scopes.data[at - 1].open, assign, "name %u (%s) is assigned where it is not declared", st->name,
          hint_of(info->hint));
  REQUIRE(info->dtype == of, dtype, "name %u is %s, its value %s", st->name, sc_dtype_name((sc_dtype)info->dtype),
          sc_dtype_name(of));
}

static bool overlap(const sci_checker *k, const sci_view *a, int64_t na, const sci_view *b, int64_t nb) {
  int64_t shift_a, shift_b;
  sci_affine x, y;
  if (!na || !nb || sci_storage(k->s, a->buf, &shift_a) != sci_storage(k->s, b->buf, &shift_b)) return false;
  if (!sci_affine_of(k->s, a->index, &x) || !sci_affine_of(k->s, b->index, &y) || x.n != y.n) return false;
  for (uint32_t i = 0; i < x.n; i++)
    if (x.terms[i].term != y.terms[i].term || x.terms[i].coefficient != y.terms[i].coefficient) return false;
  int64_t at_a = x.constant + shift_a, at_b = y.constant + shift_b;
  return at_a < at_b + nb && at_b < at_a + na;
}

/* Outputs are few beside inputs, but a call may have thousands of either: only views of one storage are compared. */
static void check_overlaps(sci_checker *k, const sci_call *c, const sci_proc *callee) {
  sci_map last; /* storage: the latest view of it */
  sci_arena_mark here = sci_arena_here(k->a);
  uint32_t *previous = SCI_ARRAY(k->a, uint32_t, c->n);
  sci_map_init(&last, k->a);
  int budget = 1 << 16;
  for (uint32_t i = 0; i < c->n; i++) {
    int64_t shift;
    sci_buf root = sci_storage(k->s, c->views[i].buf, &shift);
    previous[i] = sci_map_get(&last, root);
    sci_map_set(&last, root, i);
    int64_t size = k->s->bufs[callee->params[i]].size;
    for (uint32_t j = previous[i]; i >= callee->n_in && j != UINT32_MAX && budget; j = previous[j], budget--)
      REQUIRE(!overlap(k, &c->views[i], size, &c->views[j], k->s->bufs[callee->params[j]].size), call_overlap,
              "views %u and %u of the call of %s overlap", j, i, callee->name);
  }
  sci_arena_release(k->a, here);
}

static void check_call(sci_checker *k, const sci_call *c) {
  REQUIRE(c->proc < k->proc_index, call_order, "procedure %u is called by procedure %u", c->proc, k->proc_index);
  const sci_proc *callee = k->p->procs[c->proc];
  REQUIRE(c->n == callee->n_in + callee->n_out, call_arity, "%s takes %u views and is given %u", callee->name,
          callee->n_in + callee->n_out, c->n);
  for (uint32_t i = 0; i < c->n; i++) {
    const sci_buffer *formal = &k->s->bufs[callee->params[i]];
    check_access(k, c->views[i].buf, c->views[i].index, formal->size, i >= callee->n_in);
    sc_dtype of = (sc_dtype)k->s->bufs[c->views[i].buf].dtype;
    REQUIRE(formal->dtype == of, call_dtype, "view %u of %s is %s, not %s", i, callee->name, sc_dtype_name(of),
            sc_dtype_name((sc_dtype)formal->dtype));
  }
  check_overlaps(k, c, callee);
}

static void check_block(sci_checker *k, sci_block b);

static void check_lanes(sci_checker *k, const sci_loop *l) {
  int64_t trips = sci_loop_trips(l);
  REQUIRE(!(l->lanes & (l->lanes - 1)) && l->lanes <= 16, lanes, "%d lanes are no power of two up to 16", l->lanes);
  REQUIRE(trips >= l->lanes, lanes, "%d lanes for %lld iterations", l->lanes, (long long)trips);
  REQUIRE(l->tail <= SCI_TAIL_ALL, lanes, "a tail of kind %u", l->tail);
  REQUIRE(l->tail != SCI_TAIL_NONE || trips % l->lanes == 0, lanes, "%lld iterations in %d lanes have a tail",
          (long long)trips, l->lanes);
  if (!k->lanes) {
    k->lanes = SCI_NEW(k->a, sci_lane_facts);
    sci_lanes_init(k->lanes, k->s, k->a);
  }
  sci_lanes_enter(k->lanes, l);
  REQUIRE(!k->lanes->problem, lanes, "%s", k->lanes->problem);
  REQUIRE(k->lanes->of == l->of, lanes, "the lanes are of %s, not %s", sc_dtype_name((sc_dtype)k->lanes->of),
          sc_dtype_name((sc_dtype)l->of));
  REQUIRE(l->tail != SCI_TAIL_OVERLAP || !k->lanes->reads_written, lanes,
          "an iteration that is computed twice reads what it writes");
  for (uint32_t i = 0; i < k->proc->n_locals; i++) {
    const sci_local *own = &k->proc->locals[i];
    REQUIRE(!sci_lane_owns(k->lanes, own->buf) || own->lanes == l->lanes, lanes,
            "buffer %s has room for %d lanes of %d", hint_of(k->s->bufs[own->buf].hint), own->lanes, l->lanes);
  }
  for (size_t i = 0; i < k->in_lanes.n; i++)
    REQUIRE(sci_lane_owns(k->lanes, k->in_lanes.data[i]), lanes, "buffer %s has lanes, and no iteration of its own",
            hint_of(k->s->bufs[k->in_lanes.data[i]].hint));
  k->in_lanes.n = 0;
}

static void check_loop(sci_checker *k, const sci_loop *l) {
  REQUIRE(l->kind <= SCI_LOOP_VECTOR, loop, "a loop of kind %u", l->kind);
  REQUIRE(l->step > 0, loop, "the step is %lld", (long long)l->step);
  REQUIRE(l->var < k->s->n_vars && !k->var_scope[l->var], loop, "loop variable %u is another loop's", l->var);
  uint32_t outer = k->scope, number = k->statement;
  open_scope(k, k->scopes.data[outer].depth + 1);
  uint32_t inner = k->scope;
  k->var_scope[l->var] = inner + 1;
  k->facts.var_loop[l->var] = l;
  bool dead = !sci_loop_trips(l);
  k->dead += dead;
  check_block(k, l->body);
  k->dead -= dead;
  uint32_t last = k->statement;
  k->statement = number;
  if ((l->kind == SCI_LOOP_INDEPENDENT || l->kind == SCI_LOOP_VECTOR) && !k->dead && !dead)
    sci_check_independent(k, l, inner);
  if (l->kind == SCI_LOOP_VECTOR && l->lanes > 1) check_lanes(k, l);
  k->statement = last;
  k->scopes.data[inner].open = false;
  k->scope = outer;
}

static void check_block(sci_checker *k, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    k->statement++;
    switch ((sci_stmt_kind)st->kind) {
    case SCI_S_LOAD:
      check_access(k, st->buf, st->index, 1, false);
      REQUIRE(st->name < k->s->n_names, name_once, "a name does not exist");
      declare(k, st, (sc_dtype)k->s->bufs[st->buf].dtype);
      break;
    case SCI_S_STORE: {
      check_access(k, st->buf, st->index, 1, true);
      check_value(k, st->value);
      sc_dtype of = (sc_dtype)k->s->bufs[st->buf].dtype;
      REQUIRE(dtype_of(k, st->value) == of, dtype, "a %s is stored into a buffer of %s",
              sc_dtype_name(dtype_of(k, st->value)), sc_dtype_name(of));
      break;
    }
    case SCI_S_ASSIGN: check_assign(k, st); break;
    case SCI_S_LOOP: check_loop(k, st->loop); break;
    case SCI_S_CALL: check_call(k, st->call); break;
    }
  }
}

/* ---- procedures ---- */

static void own_buf(sci_checker *k, sci_buf b, sci_rule rule, sci_space space) {
  if (b >= k->s->n_bufs) sci_rule_fail(k, rule, "a buffer does not exist");
  const sci_buffer *x = &k->s->bufs[b];
  if (x->alias_of != SCI_NIL) sci_rule_fail(k, rule, "buffer %s is an alias", hint_of(x->hint));
  if (x->space != space || x->size < 0)
    sci_rule_fail(k, rule, "buffer %s has the wrong space or size", hint_of(x->hint));
  if (k->buf_proc[b]) sci_rule_fail(k, rule, "buffer %s belongs to two places", hint_of(x->hint));
  k->buf_proc[b] = k->proc_index + 1;
}

static void check_packing(sci_checker *k, const sci_proc *q) {
  for (uint32_t i = 0; i < q->n_locals; i++) {
    const sci_local *l = &q->locals[i];
    const sci_buffer *b = &k->s->bufs[l->buf];
    REQUIRE(!(l->lanes & (l->lanes - 1)) && l->lanes <= 16, lanes, "buffer %s has room for %d lanes", hint_of(b->hint),
            l->lanes);
    if (l->offset < 0) continue;
    int64_t size = sci_local_unit(k->s, l), area = l->in_workspace ? q->workspace_self : q->stack_self;
    REQUIRE(l->offset % (l->in_workspace ? 64 : size) == 0, packing, "buffer %s is not aligned", hint_of(b->hint));
    REQUIRE(l->offset + size * b->size <= area, packing, "buffer %s ends at byte %lld of %lld", hint_of(b->hint),
            (long long)(l->offset + size * b->size), (long long)area);
  }
}

static void check_proc(sci_checker *k, uint32_t index) {
  const sci_proc *q = k->p->procs[index];
  k->proc = q;
  k->proc_index = index;
  k->statement = 0;
  REQUIRE(q->name && *q->name, proc_name, "procedure %u has no name", index);
  for (uint32_t i = 0; i < q->n_in + q->n_out; i++)
    own_buf(k, q->params[i], SCI_RULE_param, i < q->n_in ? SCI_SPACE_INPUT : SCI_SPACE_OUTPUT);
  for (uint32_t i = 0; i < q->n_locals; i++) {
    own_buf(k, q->locals[i].buf, SCI_RULE_local, SCI_SPACE_PRIVATE);
    k->has_lanes[q->locals[i].buf] = q->locals[i].lanes;
  }
  check_packing(k, q);
  open_scope(k, 1);
  check_block(k, q->body);
  REQUIRE(!k->in_lanes.n, lanes, "buffer %s has lanes, and no loop in lanes",
          hint_of(k->s->bufs[k->in_lanes.data[0]].hint));
  k->scopes.data[k->scope].open = false;
  k->scope = 0;
}

static void check_names(sci_checker *k) {
  sci_index seen;
  sci_index_init(&seen, k->env);
  sci_defer(k->env, (void (*)(void *))sci_index_free, &seen);
  for (uint32_t i = 0; i < k->p->n_procs; i++) {
    const char *name = k->p->procs[i]->name ? k->p->procs[i]->name : "";
    uint32_t hash = sci_hash_bytes(name, strlen(name)), id;
    sci_index_reserve(&seen);
    for (uint32_t at = hash; sci_index_at(&seen, &at, hash, &id); at++)
      REQUIRE(strcmp(k->p->procs[id]->name, name) != 0, proc_name, "two procedures are called %s", name);
    sci_index_insert(&seen, hash, i);
  }
  sci_keep(k->env, &seen);
  sci_index_free(&seen);
}

static void check_entry(sci_checker *k) {
  const sci_program *p = k->p;
  REQUIRE(p->n_procs, entry, "there is no procedure");
  const sci_proc *q = sci_entry(p);
  for (uint32_t i = 0; p->ports && i < q->n_in + q->n_out; i++) {
    const sci_port_info *port = &p->ports[i];
    int64_t size = 1;
    for (int j = 0; j < port->rank; j++) size *= port->shape[j];
    const sci_buffer *b = &p->store->bufs[q->params[i]];
    REQUIRE(port->dtype == b->dtype && size == b->size, entry, "port %s is not what its parameter is",
            hint_of(port->name));
  }
}

void sci_program_check(const sci_program *p) {
  sci_store *s = p->store;
  sci_arena *a = &s->env->scratch;
  sci_arena_mark here = sci_arena_here(a);
  sci_checker checker = {.p = p, .s = s, .env = s->env, .a = a, .budget = 1 << 22}, *k = &checker;
  k->value_scope = SCI_ZEROS(a, uint32_t, s->n_values);
  k->name_scope = SCI_ZEROS(a, uint32_t, s->n_names);
  k->var_scope = SCI_ZEROS(a, uint32_t, s->n_vars);
  k->buf_proc = SCI_ZEROS(a, uint32_t, s->n_bufs);
  k->has_lanes = SCI_ZEROS(a, uint8_t, s->n_bufs);
  k->touches = SCI_ZEROS(a, uint32_t, s->n_bufs);
  sci_facts_init(&k->facts, s, a);
  open_scope(k, 0);
  check_names(k);
  for (uint32_t i = 0; i < p->n_procs; i++) check_proc(k, i);
  k->proc = NULL;
  check_entry(k);
  sci_arena_release(a, here);
}
