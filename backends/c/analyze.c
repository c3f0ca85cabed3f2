/* Owns what the renderer must know of a procedure before it prints it: which statements print nothing, which loads are
 * spelled where they are used, and which parts of a statement need a temporary because the statement uses them more
 * than once.
 *
 * A procedure is walked backwards, so that every use is seen before its definition. None of this changes what is
 * computed: a load moves to its only use when nothing in between can write what it reads. */
#include "backends/c/c.h"
#include "lib/program/walk.h"

#include <stdlib.h>

/* ---- the values of one statement ---- */

static bool is_leaf(const c_render *r, sci_val v) {
  return r->s->values[v].kind != SCI_V_OP;
}

/* Small enough to be repeated instead of getting a name: one cheap operation on leaves. */
static bool repeats(const c_render *r, const sci_value *x) {
  if (!(sci_ops[x->op].traits & SCI_CHEAP)) return false;
  for (int i = 0; i < sci_ops[x->op].arity; i++)
    if (!is_leaf(r, x->args[i])) return false;
  return true;
}

static c_name_use *use_of(c_render *r, sci_name n) {
  c_name_use *use = &r->names[n];
  if (use->proc != r->proc) *use = (c_name_use){.proc = r->proc, .value = SCI_NIL};
  return use;
}

static void count_name(c_render *r, sci_name n, c_place place) {
  c_name_use *use = use_of(r, n);
  use->uses++;
  use->last = place;
}

static void push_operands(c_render *r, sci_val v) {
  const sci_value *x = &r->s->values[v];
  for (int i = sci_ops[x->op].arity; i-- > 0;) sci_vec_push(&r->env->scratch, &r->walk, x->args[i]);
}

/* In loops over lanes: the sides of a selection, and what calls the math library, within something else. */
static void share_for_lanes(c_render *r, const sci_value *x) {
  for (int i = 0; i < sci_ops[x->op].arity; i++) {
    const sci_value *part = &r->s->values[x->args[i]];
    bool apart = part->kind == SCI_V_OP && ((x->op == SCI_OP_select && i) || sci_ops[part->op].traits & SCI_LIBM);
    if (apart) sci_vec_push(&r->env->scratch, &r->shared, x->args[i]);
  }
}

/* Visits every part that is printed, once. Parts used again go to r->shared. `place` NULL: uses are not counted. */
static void walk_value(c_render *r, sci_val root, const c_place *place) {
  sci_vec_push(&r->env->scratch, &r->walk, root);
  while (r->walk.n) {
    sci_val v = r->walk.data[--r->walk.n];
    const sci_value *x = &r->s->values[v];
    if (x->kind == SCI_V_NAME && place) count_name(r, x->args[0], *place);
    if (x->kind == SCI_V_NAME && place && use_of(r, x->args[0])->value != SCI_NIL)
      push_operands(r, use_of(r, x->args[0])->value);
    if (x->kind == SCI_V_CONST && place) sci_c_note_constant(r, v);
    if (x->kind != SCI_V_OP) continue;
    if (r->seen[v] == r->epoch && !repeats(r, x)) {
      sci_vec_push(&r->env->scratch, &r->shared, v);
      continue;
    }
    r->seen[v] = r->epoch;
    if (r->in_each) share_for_lanes(r, x);
    push_operands(r, v);
  }
}

static void walk_stmt(c_render *r, const sci_stmt *st, const c_place *place) {
  r->epoch++;
  r->shared.n = 0;
  switch ((sci_stmt_kind)st->kind) {
  case SCI_S_LOAD: walk_value(r, st->index, place); break;
  case SCI_S_STORE:
    walk_value(r, st->index, place);
    walk_value(r, st->value, place);
    break;
  case SCI_S_ASSIGN: walk_value(r, st->value, place); break;
  case SCI_S_LOOP: break;
  case SCI_S_CALL:
    for (uint32_t i = 0; i < st->call->n; i++) walk_value(r, st->call->views[i].index, place);
    break;
  }
}

static int by_id(const void *a, const void *b) {
  sci_val x = *(const sci_val *)a, y = *(const sci_val *)b;
  return (x > y) - (x < y);
}

void sci_c_find_shared(c_render *r, const sci_stmt *st) {
  walk_stmt(r, st, NULL);
  if (!r->shared.n) return;
  /* Operands precede users, so ascending ids are an order of evaluation. */
  qsort(r->shared.data, r->shared.n, sizeof *r->shared.data, by_id);
  size_t kept = 1;
  for (size_t i = 1; i < r->shared.n; i++)
    if (r->shared.data[i] != r->shared.data[kept - 1]) r->shared.data[kept++] = r->shared.data[i];
  r->shared.n = kept;
}

/* ---- buffers ---- */

static sci_buf owner_of(const c_render *r, sci_buf b) {
  int64_t offset;
  return sci_storage(r->s, b, &offset);
}

static void note_write(c_render *r, sci_buf b, uint32_t at) {
  sci_buf owner = owner_of(r, b);
  r->bufs[owner].written = r->proc;
  r->bufs[owner].write_at = at;
  if (r->s->bufs[owner].space == SCI_SPACE_PRIVATE) r->private_at = at;
}

/* A load may move to its only use, in its own block, when nothing between them writes what it reads. Inputs and tables
 * are never written and an output overlaps nothing else; private buffers may share their storage, so a write to any of
 * them counts. */
static bool may_move(c_render *r, const sci_stmt *load, c_place here) {
  const c_name_use *use = use_of(r, load->name);
  if (r->in_each) return false;
  if (use->uses != 1 || use->last.block != here.block || r->s->names[load->name].is_mutable) return false;
  if (r->s->values[load->index].flags & SCI_VAL_MUTABLE) return false; /* it may mean another element by then */
  sci_buf owner = owner_of(r, load->buf);
  switch ((sci_space)r->s->bufs[owner].space) {
  case SCI_SPACE_INPUT:
  case SCI_SPACE_CONSTANT: return true;
  /* Places count from the end: a write that does not come before the use has at most its place. */
  case SCI_SPACE_OUTPUT: return r->bufs[owner].written != r->proc || r->bufs[owner].write_at <= use->last.at;
  case SCI_SPACE_PRIVATE: return r->private_at <= use->last.at;
  }
  return false;
}

/* ---- statements, last one first ---- */

static bool analyze_block(c_render *r, sci_block block);

static uint8_t analyze_loop(c_render *r, const sci_loop *l) {
  if (!sci_loop_trips(l)) return C_DEAD;
  bool outer = r->in_each;
  r->in_each |= sci_c_has_lanes(r, l) && sci_c_lane_loops(r);
  sci_c_enter_nest(r, l);
  bool live = analyze_block(r, l->body);
  sci_c_leave_nest(r);
  r->in_each = outer;
  return live ? 0 : C_DEAD;
}

static uint8_t analyze_load(c_render *r, const sci_stmt *st, c_place here) {
  c_name_use *use = use_of(r, st->name);
  if (!use->uses) return C_DEAD;
  bool moves = may_move(r, st, here);
  sci_c_note_element(r, st->buf, st->index);
  r->bufs[owner_of(r, st->buf)].read = r->proc;
  walk_stmt(r, st, moves ? &use->last : &here);
  if (r->shared.n) return C_SHARES;
  if (!moves) return 0;
  use->load = st;
  return C_INLINED;
}

static uint8_t analyze_call(c_render *r, const sci_stmt *st, c_place here) {
  const sci_proc *callee = r->p->procs[st->call->proc];
  walk_stmt(r, st, &here);
  for (uint32_t i = 0; i < st->call->n; i++) {
    sci_buf b = st->call->views[i].buf;
    sci_c_note_element(r, b, st->call->views[i].index);
    r->bufs[owner_of(r, b)].read = r->proc; /* handing an output to somebody is a use of it */
    if (i >= callee->n_in) note_write(r, b, here.at);
  }
  r->calls_with_w |= callee->workspace_total != 0;
  return r->shared.n ? C_SHARES : 0;
}

static uint8_t analyze_stmt(c_render *r, const sci_stmt *st, c_place here) {
  switch ((sci_stmt_kind)st->kind) {
  case SCI_S_LOAD: return analyze_load(r, st, here);
  case SCI_S_STORE:
    walk_stmt(r, st, &here);
    sci_c_note_element(r, st->buf, st->index);
    note_write(r, st->buf, here.at);
    return r->shared.n ? C_SHARES : 0;
  case SCI_S_ASSIGN:
    if (use_of(r, st->name)->value != SCI_NIL) return C_DEAD;
    /* A mutable name may be read by an earlier statement of a loop around this one. */
    if (!use_of(r, st->name)->uses && !r->s->names[st->name].is_mutable) return C_DEAD;
    walk_stmt(r, st, &here);
    return r->shared.n ? C_SHARES : 0;
  case SCI_S_CALL: return analyze_call(r, st, here);
  case SCI_S_LOOP: return analyze_loop(r, st->loop);
  }
  return 0;
}

/* Recursion follows loop nesting only. Returns whether anything is printed. */
static bool analyze_block(c_render *r, sci_block block) {
  uint32_t id = ++r->n_blocks;
  bool live = false;
  for (uint32_t i = block.n; i-- > 0;) {
    uint8_t flags = analyze_stmt(r, &block.stmts[i], (c_place){id, ++r->place});
    sci_vec_push(&r->env->scratch, &r->flags, flags);
    live |= !(flags & (C_DEAD | C_INLINED));
  }
  return live;
}

/* ---- names that are not worth a line ---- */

typedef struct counting {
  c_render *r;
  uint32_t block;
} counting;

static void count_written(void *user, sci_val v, bool is_index) {
  counting *c = user;
  c_render *r = c->r;
  (void)is_index;
  sci_vec_push(&r->env->scratch, &r->walk, v);
  while (r->walk.n) {
    v = r->walk.data[--r->walk.n];
    const sci_value *x = &r->s->values[v];
    if (x->kind == SCI_V_OP) push_operands(r, v);
    if (x->kind != SCI_V_NAME) continue;
    c_name_use *use = use_of(r, x->args[0]);
    use->written++;
    use->is_spread |= use->home != c->block;
  }
}

static void count_block(c_render *r, sci_block block) {
  counting c = {r, ++r->n_blocks};
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    sci_stmt_values(st, count_written, &c);
    if (st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && st->declare)) use_of(r, st->name)->home = c.block;
    if (st->kind == SCI_S_LOAD) use_of(r, st->name)->is_load = 1;
    if (st->kind == SCI_S_LOOP) count_block(r, st->loop->body);
  }
}

/* A constant, or a name that means the same everywhere and has a line in any case. */
static bool stays(c_render *r, sci_val v) {
  const sci_value *x = &r->s->values[v];
  if (x->kind == SCI_V_CONST) return true;
  if (x->kind != SCI_V_NAME || r->s->names[x->args[0]].is_mutable) return false;
  const c_name_use *use = use_of(r, x->args[0]);
  return use->value == SCI_NIL && (!use->is_load || use->written > 1);
}

/* The negative of a name, and a sum, difference or product of two names that is used twice, nearby. */
static bool is_short(c_render *r, const sci_stmt *st) {
  if (!sci_is_let(r->s, st) || st->kind != SCI_S_ASSIGN) return false;
  const sci_value *x = &r->s->values[st->value];
  if (x->kind != SCI_V_OP || !sci_is_float((sc_dtype)x->dtype)) return false;
  const c_name_use *use = use_of(r, st->name);
  if (x->op == SCI_OP_neg) return r->s->values[x->args[0]].kind == SCI_V_NAME && stays(r, x->args[0]);
  bool simple = x->op == SCI_OP_add || x->op == SCI_OP_sub || x->op == SCI_OP_mul;
  return simple && use->written == 2 && !use->is_spread && stays(r, x->args[0]) && stays(r, x->args[1]);
}

static void find_short(c_render *r, sci_block block) {
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    if (is_short(r, st)) use_of(r, st->name)->value = st->value;
    if (st->kind == SCI_S_LOOP) find_short(r, st->loop->body);
  }
}

void sci_c_analyze(c_render *r, const sci_proc *proc) {
  r->flags.n = 0;
  r->n_blocks = r->place = r->private_at = 0;
  r->n_temporaries = 0;
  r->vector.n_blocks = 0;
  r->calls_with_w = false;
  r->pointers.n = r->loop_pointers.n = r->active.n = 0;
  count_block(r, proc->body);
  find_short(r, proc->body);
  r->n_blocks = 0;
  analyze_block(r, proc->body);
}
