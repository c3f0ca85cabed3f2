/* Owns schedule_scalar: scalar statements in an order that keeps few values alive, and very long straight-line code in
 * pieces.
 *
 * Loads and immutable names wait until a statement that has an effect (a store, an assignment, a call, a loop) needs
 * them, and leave operands first: this is the order of a depth-first evaluation of the effects, one after the other. A
 * load of memory that is written goes before the first write that could change it. What nothing needs goes. */
#include "lib/passes/passes.h"
#include "lib/passes/split.h"
#include "lib/program/map.h"
#include "lib/program/walk.h"

typedef SCI_VEC(sci_val) val_list;

typedef struct scheduling {
  sci_store *s;
  sci_arena *a;
  const sci_stmt **waiting; /* per name: its definition while it waits */
  uint32_t *seen;           /* per value: the block (by number) for which everything below it has left */
  uint32_t block, n_blocks;
  val_list stack;
  sci_map writable;          /* storage that may be written: place in `exposed` */
  SCI_VEC(val_list) exposed; /* names of waiting loads of one storage */
  const sci_stmt *latest;    /* in the old order, of what left this block */
  int64_t *changes;
} scheduling;

static sci_block schedule(scheduling *x, sci_block b);

static bool is_done(const scheduling *x, sci_val v) {
  return !(sci_value_at(x->s, v)->flags & SCI_VAL_NAME) || x->seen[v] == x->block;
}

static bool await(scheduling *x, sci_val v) {
  if (v == SCI_NIL || is_done(x, v)) return false;
  sci_vec_push(x->a, &x->stack, v);
  return true;
}

static void leave(scheduling *x, sci_block_builder *out, const sci_stmt *st) {
  if (st < x->latest)
    ++*x->changes;
  else
    x->latest = st;
  sci_emit(out, *st);
}

/* Everything that v reads leaves: operands first, and they from left to right. */
static void demand(scheduling *x, sci_block_builder *out, sci_val v) {
  x->stack.n = 0;
  await(x, v);
  while (x->stack.n) {
    v = x->stack.data[x->stack.n - 1];
    const sci_value *value = sci_value_at(x->s, v);
    const sci_stmt *definition = value->kind == SCI_V_NAME ? x->waiting[value->args[0]] : NULL;
    bool waits = false;
    if (x->seen[v] != x->block && definition) {
      waits |= await(x, definition->value);
      waits |= await(x, definition->index);
    }
    for (int i = value->kind == SCI_V_OP ? sci_ops[value->op].arity : 0; i-- > 0;) waits |= await(x, value->args[i]);
    if (waits) continue;
    x->stack.n--;
    x->seen[v] = x->block;
    if (!definition) continue;
    x->waiting[value->args[0]] = NULL;
    leave(x, out, definition);
  }
}

static void demand_block(scheduling *x, sci_block_builder *out, sci_block b);

static void demand_stmt(scheduling *x, sci_block_builder *out, const sci_stmt *st) {
  if (st->index != SCI_NIL) demand(x, out, st->index);
  if (st->value != SCI_NIL) demand(x, out, st->value);
  for (uint32_t i = 0; st->kind == SCI_S_CALL && i < st->call->n; i++) demand(x, out, st->call->views[i].index);
  if (st->kind == SCI_S_LOOP) demand_block(x, out, st->loop->body);
}

static void demand_block(scheduling *x, sci_block_builder *out, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) demand_stmt(x, out, &b.stmts[i]);
}

/* ---- memory that is written ---- */

static void expose(scheduling *x, const sci_stmt *load) {
  int64_t offset;
  sci_buf storage = sci_storage(x->s, load->buf, &offset);
  sci_val value = x->s->names[load->name].value;
  if (sci_is_readonly(x->s, storage) || value == SCI_NIL) return;
  uint32_t at = sci_map_get(&x->writable, storage);
  if (at == UINT32_MAX) {
    at = (uint32_t)x->exposed.n;
    sci_map_set(&x->writable, storage, at);
    sci_vec_push(x->a, &x->exposed, (val_list){0});
  }
  sci_vec_push(x->a, &x->exposed.data[at], value);
}

static void flush(scheduling *x, sci_block_builder *out, val_list *loads) {
  for (size_t i = 0; i < loads->n; i++) demand(x, out, loads->data[i]);
  loads->n = 0;
}

/* Loads that the statement could change leave before it. */
static void flush_for(scheduling *x, sci_block_builder *out, const sci_stmt *st) {
  int64_t offset;
  if (st->kind == SCI_S_LOOP || st->kind == SCI_S_CALL) {
    for (size_t i = 0; i < x->exposed.n; i++) flush(x, out, &x->exposed.data[i]);
  } else if (st->kind == SCI_S_STORE) {
    uint32_t at = sci_map_get(&x->writable, sci_storage(x->s, st->buf, &offset));
    if (at != UINT32_MAX) flush(x, out, &x->exposed.data[at]);
  }
}

/* ---- blocks ---- */

static void visit(scheduling *x, sci_block_builder *out, const sci_stmt *st) {
  if (sci_is_pure(x->s, st)) {
    x->waiting[st->name] = st;
    if (st->kind == SCI_S_LOAD) expose(x, st);
    return;
  }
  demand_stmt(x, out, st);
  flush_for(x, out, st);
  if (st->kind != SCI_S_LOOP) {
    leave(x, out, st);
    return;
  }
  uint32_t block = x->block;
  const sci_stmt *latest = x->latest;
  sci_block body = schedule(x, st->loop->body);
  if (body.n) sci_emit(out, sci_loop_with(x->s, st, body)); /* nothing in it had an effect: it goes too */
  x->block = block;
  x->latest = latest < st ? st : latest;
}

static sci_block schedule(scheduling *x, sci_block b) {
  sci_block_builder out;
  sci_block_begin(&out, x->s);
  x->block = ++x->n_blocks;
  x->latest = b.stmts;
  for (uint32_t i = 0; i < b.n; i++) visit(x, &out, &b.stmts[i]);
  for (size_t i = 0; i < x->exposed.n; i++) x->exposed.data[i].n = 0;
  *x->changes += b.n - (int64_t)out.stmts.n;
  return sci_block_or(&out, x->s, b);
}

static const sci_proc *schedule_proc(const sci_program *p, const sci_proc *q, void *user) {
  scheduling *x = user;
  (void)p;
  return sci_proc_with(x->s, q, schedule(x, q->body));
}

sci_program *sci_pass_schedule_scalar(const sci_program *p, int64_t *changes) {
  sci_arena *a = &p->store->env->scratch;
  scheduling x = {.s = p->store, .a = a, .changes = changes};
  x.waiting = SCI_ZEROS(a, const sci_stmt *, p->store->n_names);
  x.seen = SCI_ZEROS(a, uint32_t, p->store->n_values);
  sci_map_init(&x.writable, a);
  sci_program *scheduled = sci_pass_each(p, schedule_proc, &x);
  sci_program *split = sci_split_procs(scheduled ? scheduled : p, changes);
  if (!split) return scheduled;
  if (scheduled) {
    sci_keep(p->store->env, scheduled);
    sci_program_free(scheduled);
  }
  return split;
}
