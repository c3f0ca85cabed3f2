/* Owns program statistics. */
#include "lib/program/stats.h"

#include "lib/program/walk.h"

typedef struct counting {
  const sci_program *p;
  sci_store *s;
  sci_reach *reach;
  sc_program_stats *totals; /* per procedure: of one call */
  int64_t *stack;           /* per procedure: bytes, with the deepest callee */
  sc_program_stats now;
  int64_t times, callee_stack;
  bool *is_counted; /* per buffer: constants */
} counting;

static int64_t times(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static void add(int64_t *to, int64_t v) {
  if (__builtin_add_overflow(*to, v, to)) *to = INT64_MAX;
}

static bool is_negation(const sci_store *s, sci_val v) {
  return sci_value_at(s, v)->kind == SCI_V_OP && sci_value_at(s, v)->op == SCI_OP_neg;
}

static void count_value(void *user, sci_val v, bool is_index) {
  counting *x = user;
  if (is_index) return;
  size_t before = x->reach->list.n;
  sci_reach_add(x->reach, v);
  for (size_t i = before; i < x->reach->list.n; i++) {
    const sci_value *value = sci_value_at(x->s, x->reach->list.data[i]);
    if (value->kind != SCI_V_OP) continue;
    add(&x->now.operations, x->times);
    for (int k = 0; value->op == SCI_OP_fma && k < 3; k++)
      if (is_negation(x->s, value->args[k])) add(&x->now.operations, -x->times); /* part of the instruction */
    if (sci_ops[value->op].traits & SCI_LIBM) add(&x->now.math_calls, x->times);
  }
  /* Over mutable names the next evaluation is another one: forget such values, so that the next statement counts them
   * again. */
  size_t kept = before;
  for (size_t i = before; i < x->reach->list.n; i++) {
    sci_val at = x->reach->list.data[i];
    if (sci_value_at(x->s, at)->flags & SCI_VAL_MUTABLE)
      x->reach->number[at] = 0;
    else
      x->reach->list.data[kept++] = at;
  }
  x->reach->list.n = kept;
}

static void count_buffer(void *user, sci_buf b, bool write) {
  counting *x = user;
  int64_t offset;
  sci_buf root = sci_storage(x->s, b, &offset);
  const sci_buffer *info = &x->s->bufs[root];
  (void)write;
  if (info->space != SCI_SPACE_CONSTANT || x->is_counted[root]) return;
  x->is_counted[root] = true;
  add(&x->now.table_bytes, times(info->size, (int64_t)sc_dtype_size((sc_dtype)info->dtype)));
}

static void count_call(counting *x, const sci_call *c) {
  const sc_program_stats *t = &x->totals[c->proc];
  add(&x->now.operations, times(t->operations, x->times));
  add(&x->now.math_calls, times(t->math_calls, x->times));
  add(&x->now.loads, times(t->loads, x->times));
  add(&x->now.stores, times(t->stores, x->times));
  if (x->stack[c->proc] > x->callee_stack) x->callee_stack = x->stack[c->proc];
}

static void count_block(counting *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    x->now.statements++;
    sci_stmt_values(st, count_value, x);
    if (st->kind == SCI_S_LOAD) add(&x->now.loads, x->times);
    if (st->kind == SCI_S_STORE) add(&x->now.stores, x->times);
    if (st->kind == SCI_S_CALL) count_call(x, st->call);
    if (st->kind != SCI_S_LOOP) continue;
    int64_t outer = x->times;
    x->now.loops++;
    x->now.vector_loops += st->loop->kind == SCI_LOOP_VECTOR && st->loop->lanes > 1;
    x->times = times(outer, sci_loop_trips(st->loop));
    count_block(x, st->loop->body);
    x->times = outer;
  }
}

sc_program_stats sci_program_count(const sci_program *p) {
  sci_arena *a = &p->store->env->scratch;
  sci_arena_mark here = sci_arena_here(a);
  counting x = {.p = p, .s = p->store, .reach = sci_reach_new(p->store)};
  x.totals = SCI_ZEROS(a, sc_program_stats, p->n_procs);
  x.stack = SCI_ZEROS(a, int64_t, p->n_procs);
  x.is_counted = SCI_ZEROS(a, bool, p->store->n_bufs);
  sc_program_stats all = {.procedures = p->n_procs};
  for (uint32_t i = 0; i < p->n_procs; i++) {
    const sci_proc *q = p->procs[i];
    x.now = (sc_program_stats){0};
    x.times = 1;
    x.callee_stack = 0;
    sci_reach_clear(x.reach);
    count_block(&x, q->body);
    for (uint32_t j = 0; j < q->body.n; j++) sci_stmt_accesses(p, &q->body.stmts[j], count_buffer, &x);
    x.totals[i] = x.now;
    x.stack[i] = q->stack_self + x.callee_stack;
    add(&all.statements, x.now.statements);
    add(&all.loops, x.now.loops);
    add(&all.vector_loops, x.now.vector_loops);
    add(&all.table_bytes, x.now.table_bytes);
  }
  if (p->n_procs) {
    const sc_program_stats *entry = &x.totals[p->n_procs - 1];
    all.operations = entry->operations;
    all.math_calls = entry->math_calls;
    all.loads = entry->loads;
    all.stores = entry->stores;
    all.workspace_bytes = sci_entry(p)->workspace_total;
    all.stack_bytes = x.stack[p->n_procs - 1];
  }
  sci_arena_release(a, here);
  return all;
}
