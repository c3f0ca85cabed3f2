/* Owns scalarize: procedures become straight-line scalar code where that is small, by executing them symbolically.
 *
 * Constant indices are resolved, callees expanded, values shared (they are interned) and folded; a buffer all of whose
 * indices resolve is never touched. Reductions keep their order, since each step is executed as written.
 *
 * - Loops whose trips could become lanes (independent, four trips or more) stay in procedures that do not themselves
 * run inside such a loop; their bodies are executed symbolically on their own.
 * - In procedures that do run inside such a loop, lanes come from outside, and everything is expanded; elsewhere only
 * loops whose expansion stays small.
 * - Hints: `block` procedures are left alone and called; `scalar` ones have no budget and keep no loop. For the others
 * an expansion past the budget is given up: first one that keeps the larger loops is tried, then the procedure is left
 * as it was. So it is when an expansion of more than a thousand operations saves less than a quarter of them. */
#include "lib/passes/passes.h"
#include "lib/passes/symbolic.h"
#include "lib/program/walk.h"

enum { LANE_TRIPS = 4, MAX_OPERATIONS = 4096, MAX_WORK = 65536, SMALL_LOOP = 64 };
static const double few_operations = 1024;

typedef struct symbolic {
  const sci_program *p;
  sci_store *s;
  const sci_proc *const *done; /* procedures before the one at work, as this pass made them */
  sci_memory memory;
  sci_val *name, *var; /* per id: the value it stands for, SCI_NIL: itself */
  uint32_t n_names, n_vars;
  sci_buf *buf;    /* per id, of parameters and locals of expanded callees: the buffer of the procedure at work ... */
  sci_val *offset; /* ... and where in it */
  uint32_t n_bufs;
  sci_val *changed; /* per value, within one statement: its substitution; SCI_NIL unknown */
  uint32_t n_changed;
  SCI_VEC(sci_val) stack, touched;
  SCI_VEC(sci_buf) locals; /* standing in for those of expanded callees: a buffer belongs to one procedure */
  bool inside;             /* runs inside a loop that will have lanes */
  bool keep_large;         /* second try: loops past SMALL_LOOP stay */
  bool over;               /* budget exceeded: unwinding */
  int64_t work, limit;
} symbolic;

/* ---- values ---- */

/* Identities that hold but for NaN, infinities and the sign of zero: derivative seeds are constants 0 and 1, and
 * expansion is where they meet their factors. */
static sci_val fold_unsafe(symbolic *x, const sci_value *v, const sci_val *a) {
  sci_store *s = x->s;
  if (x->p->strict_nan || !sci_is_float((sc_dtype)v->dtype)) return SCI_NIL;
  sc_dtype dtype = (sc_dtype)v->dtype;
  bool zero[2] = {false, false};
  for (int i = 0; i < 2 && i < sci_ops[v->op].arity; i++) {
    const sci_value *arg = sci_value_at(s, a[i]);
    zero[i] = arg->kind == SCI_V_CONST &&
              sci_scalar_double((sc_dtype)arg->dtype, sci_scalar_from_bits((sc_dtype)arg->dtype, arg->bits)) == 0;
  }
  switch ((int)v->op) {
  case SCI_OP_mul: return zero[0] || zero[1] ? sci_val_double(s, dtype, 0) : SCI_NIL;
  case SCI_OP_add: return zero[0] ? a[1] : zero[1] ? a[0] : SCI_NIL;
  case SCI_OP_sub:
    return zero[1]        ? a[0]
           : zero[0]      ? sci_val_op1(s, SCI_OP_neg, a[1])
           : a[0] == a[1] ? sci_val_double(s, dtype, 0)
                          : SCI_NIL;
  case SCI_OP_div: return zero[0] ? sci_val_double(s, dtype, 0) : SCI_NIL;
  default: return SCI_NIL;
  }
}

static bool is_negated(const sci_store *s, sci_val v) {
  return s->values[v].kind == SCI_V_OP && s->values[v].op == SCI_OP_neg;
}

/* Exact movements of a negation that let products of derivatives meet: a + -b is a - b, a - -b is a + b, a product's
 * sign goes outside. */
static sci_val fold_sign(symbolic *x, const sci_value *v, const sci_val *a) {
  sci_store *s = x->s;
  if (!sci_is_float((sc_dtype)v->dtype) || sci_ops[v->op].arity != 2) return SCI_NIL;
  bool n0 = is_negated(s, a[0]), n1 = is_negated(s, a[1]);
  if (!n0 && !n1) return SCI_NIL;
  sci_val b0 = n0 ? s->values[a[0]].args[0] : a[0], b1 = n1 ? s->values[a[1]].args[0] : a[1];
  switch ((int)v->op) {
  case SCI_OP_add: return n1 ? sci_val_op2(s, SCI_OP_sub, a[0], b1) : sci_val_op2(s, SCI_OP_sub, a[1], b0);
  case SCI_OP_sub: return n1 ? sci_val_op2(s, SCI_OP_add, a[0], b1) : SCI_NIL;
  case SCI_OP_mul: {
    sci_val product = sci_val_op2(s, SCI_OP_mul, b0, b1);
    return n0 != n1 ? sci_val_op1(s, SCI_OP_neg, product) : product;
  }
  default: return SCI_NIL;
  }
}

static sci_val build(symbolic *x, sci_value v, const sci_val *a) {
  sci_val folded = fold_unsafe(x, &v, a);
  if (folded == SCI_NIL) folded = fold_sign(x, &v, a);
  return folded != SCI_NIL ? folded : sci_val_op(x->s, (sci_op)v.op, (sc_dtype)v.dtype, a);
}

static sci_val leaf(const symbolic *x, sci_val v, const sci_value *at) {
  if (at->kind == SCI_V_NAME && at->args[0] < x->n_names && x->name[at->args[0]] != SCI_NIL)
    return x->name[at->args[0]];
  if (at->kind == SCI_V_VAR && at->args[0] < x->n_vars && x->var[at->args[0]] != SCI_NIL) return x->var[at->args[0]];
  return v;
}

static void remember(symbolic *x, sci_val v, sci_val to) {
  x->changed[v] = to;
  sci_vec_push(&x->s->env->scratch, &x->touched, v);
}

/* v with names, variables and their consequences replaced. Iterative: values nest without bound. */
static sci_val subst(symbolic *x, sci_val root) {
  sci_arena *scratch = &x->s->env->scratch;
  if (root >= x->n_changed) return root; /* made here, by substitution */
  sci_vec_push(scratch, &x->stack, root);
  while (x->stack.n) {
    sci_val v = x->stack.data[x->stack.n - 1];
    sci_value at = *sci_value_at(x->s, v); /* building may move the table */
    if (x->changed[v] != SCI_NIL || at.kind != SCI_V_OP) {
      if (x->changed[v] == SCI_NIL) remember(x, v, leaf(x, v, &at));
      x->stack.n--;
      continue;
    }
    size_t before = x->stack.n;
    sci_val args[3] = {0};
    for (int i = 0; i < sci_ops[at.op].arity; i++) {
      if (x->changed[at.args[i]] == SCI_NIL) sci_vec_push(scratch, &x->stack, at.args[i]);
      args[i] = x->changed[at.args[i]];
    }
    if (x->stack.n > before) continue;
    x->work++;
    remember(x, v, build(x, at, args));
    x->stack.n--;
  }
  return x->changed[root];
}

/* Between statements the meaning of names changes: what was substituted is forgotten. */
static void forget_values(symbolic *x) {
  while (x->touched.n) x->changed[x->touched.data[--x->touched.n]] = SCI_NIL;
}

/* ---- accesses ---- */

typedef struct element {
  sci_buf buf;
  sci_val index;
} element;

static element locate(symbolic *x, sci_buf b, sci_val index) {
  int64_t constant;
  sci_buf storage = sci_storage(x->s, b, &constant);
  sci_val at = subst(x, index);
  if (constant) at = sci_idx_add(x->s, at, sci_val_int(x->s, constant));
  if (storage >= x->n_bufs || x->buf[storage] == SCI_NIL) return (element){storage, at};
  at = sci_idx_add(x->s, at, x->offset[storage]);
  sci_buf target = sci_storage(x->s, x->buf[storage], &constant);
  return (element){target, constant ? sci_idx_add(x->s, at, sci_val_int(x->s, constant)) : at};
}

/* A written buffer is tracked under one base: when another comes, its stores are made and what was known is forgotten.
 */
static void rebase(symbolic *x, element e, sci_block_builder *out) {
  if (sci_is_readonly(x->s, e.buf)) return;
  sci_val base = sci_index_base(x->s, e.index);
  sci_memory_cover(&x->memory, e.buf);
  if (x->memory.base[e.buf] == base) return;
  if (x->memory.base[e.buf] != SCI_NIL) {
    sci_memory_flush(&x->memory, e.buf, out);
    sci_memory_forget(&x->memory, e.buf);
  }
  x->memory.base[e.buf] = base;
}

static void exec_load(symbolic *x, const sci_stmt *st, sci_block_builder *out) {
  sci_store *s = x->s;
  element e = locate(x, st->buf, st->index);
  const sci_buffer *b = &s->bufs[e.buf];
  if (b->space == SCI_SPACE_CONSTANT && sci_val_is_const(s, e.index)) {
    sci_scalar v = sci_scalar_load((sc_dtype)b->dtype, b->data, (size_t)sci_val_int_of(s, e.index));
    x->name[st->name] = sci_val_const(s, (sc_dtype)b->dtype, v);
    return;
  }
  rebase(x, e, out);
  sci_val known = sci_memory_load(&x->memory, e.buf, e.index);
  if (known == SCI_NIL) {
    known = sci_emit_load(out, s, e.buf, e.index, s->names[st->name].hint);
    sci_memory_note(&x->memory, e.buf, e.index, known, false);
  }
  x->name[st->name] = known;
}

static void exec_store(symbolic *x, const sci_stmt *st, sci_block_builder *out) {
  element e = locate(x, st->buf, st->index);
  sci_val value = subst(x, st->value);
  rebase(x, e, out);
  sci_memory_note(&x->memory, e.buf, e.index, value, true);
}

/* ---- loops ---- */

static void exec_block(symbolic *x, sci_block b, sci_block_builder *out);

static int64_t block_cost(const symbolic *x, sci_block b) {
  int64_t cost = 0;
  for (uint32_t i = 0; i < b.n && cost < MAX_WORK; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP)
      cost += sci_loop_trips(st->loop) < MAX_WORK ? sci_loop_trips(st->loop) * block_cost(x, st->loop->body) : MAX_WORK;
    else if (st->kind == SCI_S_CALL)
      cost += block_cost(x, x->done[st->call->proc]->body);
    else
      cost++;
  }
  return cost;
}

static bool expands(const symbolic *x, const sci_loop *l) {
  int64_t trips = sci_loop_trips(l);
  if (trips < 2) return true;
  if (l->kind == SCI_LOOP_VECTOR) return false; /* has its plan already, and memory for its lanes */
  if (x->limit == INT64_MAX) return true;
  if (trips > MAX_WORK) return false;
  bool lanes = l->kind == SCI_LOOP_INDEPENDENT && trips >= LANE_TRIPS;
  if (lanes && !x->inside) return false;
  return (x->inside && !x->keep_large) || trips * block_cost(x, l->body) <= SMALL_LOOP;
}

/* Names of outer blocks that the loop assigns: carried from trip to trip. */
typedef SCI_VEC(sci_name) name_list;

static void find_carried(symbolic *x, sci_block b, name_list *declared, name_list *carried) {
  sci_arena *scratch = &x->s->env->scratch;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP) find_carried(x, st->loop->body, declared, carried);
    if (st->kind != SCI_S_ASSIGN) continue;
    if (st->declare) {
      sci_vec_push(scratch, declared, st->name);
      continue;
    }
    bool known = false;
    for (size_t k = 0; k < declared->n; k++) known |= declared->data[k] == st->name;
    for (size_t k = 0; k < carried->n; k++) known |= carried->data[k] == st->name;
    if (!known) sci_vec_push(scratch, carried, st->name);
  }
}

static void forget_written(void *user, sci_buf b, bool write) {
  symbolic *x = user;
  if (!write) return;
  int64_t offset;
  sci_buf storage = sci_storage(x->s, b, &offset);
  if (storage < x->n_bufs && x->buf[storage] != SCI_NIL) storage = sci_storage(x->s, x->buf[storage], &offset);
  sci_memory_forget(&x->memory, storage);
}

static sci_stmt assignment(sci_name name, sci_val value, bool declare) {
  return (sci_stmt){
      .kind = SCI_S_ASSIGN, .declare = declare, .name = name, .buf = SCI_NIL, .index = SCI_NIL, .value = value};
}

/* A loop that stays: its body is executed on its own, knowing what nothing in it changes. Carried names are read once
 * at the top of the body and assigned once at its end, so that no value made in between depends on when it is
 * evaluated. */
static void exec_kept(symbolic *x, const sci_stmt *st, sci_block_builder *out) {
  sci_store *s = x->s;
  const sci_loop *l = st->loop;
  name_list declared = {0}, carried = {0};
  find_carried(x, l->body, &declared, &carried);
  sci_memory_flush(&x->memory, SCI_NIL, out);
  sci_stmt_accesses(x->p, st, forget_written, x);
  size_t known = x->memory.cells.n;
  sci_name *held = SCI_ARRAY(&s->env->scratch, sci_name, carried.n);
  sci_block_builder body;
  sci_block_begin(&body, s);
  for (size_t k = 0; k < carried.n; k++) {
    sci_name n = carried.data[k];
    held[k] = sci_new_name(s, (sc_dtype)s->names[n].dtype, true, s->names[n].hint);
    sci_emit(out, assignment(held[k], x->name[n], true));
    x->name[n] = sci_emit_let(&body, s, sci_val_name(s, held[k]), s->names[n].hint);
  }
  sci_var var = sci_new_var(s, s->vars[l->var].hint);
  x->var[l->var] = sci_val_var(s, var);
  exec_block(x, l->body, &body);
  sci_memory_flush(&x->memory, SCI_NIL, &body);
  for (size_t k = 0; k < carried.n; k++) {
    sci_emit(&body, assignment(held[k], x->name[carried.data[k]], false));
    x->name[carried.data[k]] = sci_val_name(s, held[k]);
  }
  sci_memory_forget_from(&x->memory, known);
  sci_stmt_accesses(x->p, st, forget_written, x);
  sci_loop *made = SCI_NEW(&s->arena, sci_loop);
  *made = *l;
  made->var = var;
  made->body = sci_block_end(&body, s);
  sci_stmt kept = *st;
  kept.loop = made;
  sci_emit(out, kept);
}

static void exec_loop(symbolic *x, const sci_stmt *st, sci_block_builder *out) {
  const sci_loop *l = st->loop;
  if (!expands(x, l)) {
    exec_kept(x, st, out);
    return;
  }
  for (int64_t i = l->start; i < l->stop && !x->over; i += l->step) {
    x->var[l->var] = sci_val_int(x->s, i);
    exec_block(x, l->body, out);
  }
}

/* ---- calls ---- */

static bool is_expandable(const sci_proc *q) {
  return q->hint != SC_HINT_BLOCK;
}

/* A buffer of its own for every expansion: it stays private to the iteration that the expansion is part of. */
static void enter_local(symbolic *x, sci_buf b) {
  sci_store *s = x->s;
  x->buf[b] = sci_new_buf(s, (sc_dtype)s->bufs[b].dtype, SCI_SPACE_PRIVATE, s->bufs[b].size, s->bufs[b].hint);
  sci_vec_push(&s->env->scratch, &x->locals, x->buf[b]);
  x->offset[b] = sci_val_int(s, 0);
}

static void exec_call(symbolic *x, const sci_stmt *st, sci_block_builder *out) {
  sci_store *s = x->s;
  const sci_call *c = st->call;
  const sci_proc *q = x->done[c->proc];
  sci_view *views = SCI_ARRAY(is_expandable(q) ? &s->env->scratch : &s->arena, sci_view, c->n);
  for (uint32_t i = 0; i < c->n; i++) {
    element e = locate(x, c->views[i].buf, c->views[i].index);
    views[i] = (sci_view){e.buf, e.index};
  }
  if (!is_expandable(q)) {
    for (uint32_t i = 0; i < c->n; i++) sci_memory_flush(&x->memory, views[i].buf, out);
    for (uint32_t i = q->n_in; i < c->n; i++) sci_memory_forget(&x->memory, views[i].buf);
    sci_emit_call(out, s, c->proc, c->n, views);
    return;
  }
  forget_values(x);
  for (uint32_t i = 0; i < c->n; i++) x->buf[q->params[i]] = views[i].buf, x->offset[q->params[i]] = views[i].index;
  for (uint32_t i = 0; i < q->n_locals; i++) enter_local(x, q->locals[i].buf);
  exec_block(x, q->body, out);
  for (uint32_t i = 0; i < q->n_locals; i++) {
    sci_memory_forget(&x->memory, x->buf[q->locals[i].buf]);
    x->buf[q->locals[i].buf] = SCI_NIL;
  }
  for (uint32_t i = 0; i < c->n; i++) x->buf[q->params[i]] = SCI_NIL;
}

/* ---- blocks ---- */

static void exec_block(symbolic *x, sci_block b, sci_block_builder *out) {
  for (uint32_t i = 0; i < b.n && !x->over; i++) {
    const sci_stmt *st = &b.stmts[i];
    x->work++;
    if (x->work > x->limit) x->over = true;
    switch ((sci_stmt_kind)st->kind) {
    case SCI_S_LOAD: exec_load(x, st, out); break;
    case SCI_S_STORE: exec_store(x, st, out); break;
    case SCI_S_ASSIGN: x->name[st->name] = subst(x, st->value); break;
    case SCI_S_LOOP: exec_loop(x, st, out); break;
    case SCI_S_CALL: exec_call(x, st, out); break;
    }
    forget_values(x);
  }
}

/* ---- procedures ---- */

static symbolic begin(const sci_program *p, const sci_proc *const *done, const sci_proc *q, bool inside,
                      bool keep_large) {
  sci_store *s = p->store;
  sci_arena *scratch = &s->env->scratch;
  symbolic x = {.p = p, .s = s, .done = done, .inside = inside, .keep_large = keep_large};
  x.limit = q->hint == SC_HINT_SCALAR ? INT64_MAX : MAX_WORK;
  sci_memory_init(&x.memory, s);
  x.n_names = s->n_names, x.n_vars = s->n_vars, x.n_changed = s->n_values;
  x.name = SCI_ARRAY(scratch, sci_val, x.n_names);
  x.var = SCI_ARRAY(scratch, sci_val, x.n_vars);
  x.n_bufs = s->n_bufs;
  x.buf = SCI_ARRAY(scratch, sci_buf, s->n_bufs);
  x.offset = SCI_ARRAY(scratch, sci_val, s->n_bufs);
  x.changed = SCI_ARRAY(scratch, sci_val, x.n_changed);
  memset(x.name, 0xFF, x.n_names * sizeof *x.name);
  memset(x.var, 0xFF, x.n_vars * sizeof *x.var);
  memset(x.buf, 0xFF, s->n_bufs * sizeof *x.buf);
  memset(x.changed, 0xFF, x.n_changed * sizeof *x.changed);
  return x;
}

static void mark_touched(void *user, sci_buf b, bool write) {
  (void)write;
  int64_t offset;
  const symbolic *x = ((void **)user)[0];
  ((bool *)((void **)user)[1])[sci_storage(x->s, b, &offset)] = true;
}

/* The procedure's own locals and its expanded callees', those that the body still touches. */
static void set_locals(symbolic *x, sci_proc *made, const sci_proc *q) {
  sci_store *s = x->s;
  bool *touched = SCI_ZEROS(&s->env->scratch, bool, s->n_bufs);
  for (uint32_t i = 0; i < made->body.n; i++)
    sci_stmt_accesses(x->p, &made->body.stmts[i], mark_touched, (void *[]){x, touched});
  sci_local *locals = SCI_ARRAY(&s->arena, sci_local, q->n_locals + x->locals.n);
  uint32_t n = 0;
  for (size_t i = 0; i < q->n_locals + x->locals.n; i++) {
    sci_buf b = i < q->n_locals ? q->locals[i].buf : x->locals.data[i - q->n_locals];
    uint8_t lanes = i < q->n_locals ? q->locals[i].lanes : 0;
    if (touched[b]) locals[n++] = (sci_local){.buf = b, .lanes = lanes, .offset = -1};
  }
  made->locals = locals;
  made->n_locals = n;
}

static int64_t count_operations(sci_store *s, sci_block b) {
  sci_reach *r = sci_reach_new(s);
  sci_reach_block(r, b);
  int64_t n = 0;
  for (size_t i = 0; i < r->list.n; i++)
    n += s->values[r->list.data[i]].kind == SCI_V_OP && s->values[r->list.data[i]].dtype != SC_INT64;
  return n;
}

/* Operations that one call executes. */
static double executed(sci_reach *r, const sci_proc *const *done, sci_block b) {
  double n = 0;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOOP) n += (double)sci_loop_trips(st->loop) * executed(r, done, st->loop->body);
    if (st->kind == SCI_S_CALL) n += executed(r, done, done[st->call->proc]->body);
  }
  sci_reach_clear(r);
  for (uint32_t i = 0; i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_STORE || b.stmts[i].kind == SCI_S_ASSIGN) sci_reach_add(r, b.stmts[i].value);
  for (size_t i = 0; i < r->list.n; i++) n += sci_value_at(r->s, r->list.data[i])->kind == SCI_V_OP;
  return n;
}

/* Straight-line code that does not fit the processor's memory of instructions must save operations to be worth that: by
 * zeros of seeds that meet their factors, say. `loops` is the procedure as it was. */
static bool pays(sci_store *s, const sci_proc *const *done, const sci_proc *made, const sci_proc *loops) {
  sci_reach *r = sci_reach_new(s);
  double n = executed(r, done, made->body);
  return n <= few_operations || n <= 0.75 * executed(r, done, loops->body);
}

static const sci_proc *expand(const sci_program *p, const sci_proc *const *done, const sci_proc *q, bool inside,
                              bool keep_large) {
  sci_store *s = p->store;
  sci_arena_mark mark = sci_arena_here(&s->env->scratch);
  symbolic x = begin(p, done, q, inside, keep_large);
  sci_block_builder out;
  sci_block_begin(&out, s);
  exec_block(&x, q->body, &out);
  const sci_proc *result = NULL;
  if (!x.over) {
    for (uint32_t i = 0; i < q->n_locals; i++) sci_memory_forget(&x.memory, q->locals[i].buf);
    sci_memory_flush(&x.memory, SCI_NIL, &out);
    sci_proc *made = SCI_NEW(&s->arena, sci_proc);
    *made = *q;
    made->body = sci_block_end(&out, s);
    set_locals(&x, made, q);
    if (q->hint == SC_HINT_SCALAR || count_operations(s, made->body) <= MAX_OPERATIONS) result = made;
  }
  sci_arena_release(&s->env->scratch, mark);
  return result;
}

/* ---- the program ---- */

static void mark_inside(const sci_program *p, sci_block b, bool in_lanes, bool *inside) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_CALL && in_lanes) inside[st->call->proc] = true;
    if (st->kind != SCI_S_LOOP) continue;
    bool lanes = st->loop->kind == SCI_LOOP_INDEPENDENT && sci_loop_trips(st->loop) >= LANE_TRIPS;
    mark_inside(p, st->loop->body, in_lanes || lanes, inside);
  }
}

sci_program *sci_pass_scalarize(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  bool *inside = SCI_ZEROS(&s->env->scratch, bool, p->n_procs);
  for (uint32_t i = p->n_procs; i-- > 0;) mark_inside(p, p->procs[i]->body, inside[i], inside);
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, p->n_procs);
  for (uint32_t i = 0; i < p->n_procs; i++) {
    const sci_proc *q = p->procs[i], *made = NULL;
    procs[i] = q;
    if (q->hint == SC_HINT_BLOCK) continue;
    for (int keep_large = 0; keep_large < 2 && !made; keep_large++) made = expand(p, procs, q, inside[i], keep_large);
    if (!made || (q->hint != SC_HINT_SCALAR && !pays(s, procs, made, q))) continue;
    procs[i] = made;
    ++*changes;
  }
  return *changes ? sci_program_with(p, p->n_procs, procs) : NULL;
}
