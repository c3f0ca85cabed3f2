/* Owns group_math: calls of one math routine that do not wait for each other become a loop, which runs in lanes.
 *
 * In straight-line code of the entry, calls are counted level by level: a call's level is the number of calls that its
 * argument waits for. Four and more of one operation (a sine counts as a cosine, too) and one level have different
 * arguments; these go into a buffer, if they are not evenly spaced in an input, a loop of the calls follows, and the
 * results come from where it left them. The loops of a stretch between two loops or calls stand before the stretch, in
 * the order of their levels, with what they need; only what is not written there may move. Without vector math, nothing
 * changes. */
#include "lib/passes/passes.h"
#include "lib/passes/widen.h"
#include "lib/program/walk.h"

#include <stdlib.h>

enum {
  MAX_LEVELS = 64,
  FIXED = UINT8_MAX, /* as a level: stays where it is */
};

/* Of a value of the stretch. */
typedef struct value_info {
  uint8_t level;  /* calls below it, or FIXED */
  bool is_needed; /* what it reads has been emitted or noted */
  uint32_t group; /* of a call that is in one, + 1 */
  sci_val to;     /* what it becomes */
} value_info;

typedef struct call_site {
  sci_val v, args[2];
  uint8_t op, family, level, dtype;
} call_site;

/* Calls first to first + n - 1; places in their loop by arguments. */
typedef struct group {
  size_t first, n;
  uint8_t level;
} group;

typedef struct grouping {
  const sci_program *p;
  sci_store *s;
  sci_arena *a;
  sci_reach *reach; /* of the stretch, operands and definitions first */
  SCI_VEC(value_info) info;
  SCI_VEC(call_site) calls;
  SCI_VEC(group) groups;
  SCI_VEC(sci_local) locals;
  uint8_t *name_level; /* per name */
  uint32_t *defined;   /* per name: statement of the stretch + 1 */
  bool *stored;        /* per buffer: in the stretch, so far */
  bool *emitted;       /* per statement of the stretch */
  const sci_stmt *stmts;
  uint32_t n;
  int8_t has_routine[SCI_OP_COUNT][2]; /* float64, float32; 0: not asked yet */
  int64_t *changes;
} grouping;

static bool has_routine(grouping *x, unsigned op, sc_dtype dtype) {
  int8_t *known = &x->has_routine[op][dtype == SC_FLOAT32];
  sci_vector_routine r;
  if (!*known) {
    sc_isa isa = x->p->target.isa == SC_ISA_GENERIC ? SC_ISA_X86_64_V3 : x->p->target.isa;
    *known = sci_vector_routine_find(&x->p->vector, isa, (int)op, dtype, SCI_LANE_TRIPS, &r) ? 1 : -1;
  }
  return *known > 0;
}

static value_info *info_of(grouping *x, sci_val v) {
  return &x->info.data[sci_reach_at(x->reach, v)];
}

/* ---- levels ---- */

static bool is_call(grouping *x, const sci_value *v) {
  return sci_ops[v->op].traits & SCI_LIBM && sci_ops[v->op].arity <= 2 && has_routine(x, v->op, (sc_dtype)v->dtype);
}

static void survey_value(grouping *x, sci_val id) {
  const sci_value *v = sci_value_at(x->s, id);
  value_info info = {.to = id};
  if (v->kind == SCI_V_NAME) info.level = x->s->names[v->args[0]].is_mutable ? FIXED : x->name_level[v->args[0]];
  for (int i = 0; v->kind == SCI_V_OP && i < sci_ops[v->op].arity; i++) {
    uint8_t below = info_of(x, v->args[i])->level;
    if (below > info.level) info.level = below;
  }
  if (v->kind == SCI_V_OP && info.level != FIXED && is_call(x, v)) {
    uint8_t family = v->op == SCI_OP_cos ? SCI_OP_sin : (uint8_t)v->op;
    call_site c = {id, {v->args[0], v->args[sci_ops[v->op].arity - 1]}, (uint8_t)v->op, family, info.level, v->dtype};
    sci_vec_push(x->a, &x->calls, c);
    if (++info.level == MAX_LEVELS) info.level = FIXED;
  }
  sci_vec_push(x->a, &x->info, info);
}

static int ascending(const void *a, const void *b) {
  sci_val x = *(const sci_val *)a, y = *(const sci_val *)b;
  return x < y ? -1 : x > y;
}

static void survey_root(grouping *x, sci_val v) {
  size_t before = x->reach->list.n;
  if (v == SCI_NIL) return;
  sci_reach_add(x->reach, v);
  size_t n = x->reach->list.n;
  if (n > before) qsort(x->reach->list.data + before, n - before, sizeof *x->reach->list.data, ascending);
  for (size_t i = before; i < n; i++) x->reach->number[x->reach->list.data[i]] = (uint32_t)i + 1;
  for (size_t i = before; i < n; i++) survey_value(x, x->reach->list.data[i]);
}

static void survey_stmt(grouping *x, uint32_t at) {
  const sci_stmt *st = &x->stmts[at];
  int64_t offset;
  survey_root(x, st->index);
  survey_root(x, st->value);
  if (st->kind == SCI_S_STORE) x->stored[sci_storage(x->s, st->buf, &offset)] = true;
  if (st->name == SCI_NIL || !sci_is_pure(x->s, st)) return;
  bool moves = st->kind == SCI_S_ASSIGN || !x->stored[sci_storage(x->s, st->buf, &offset)];
  x->name_level[st->name] = moves ? info_of(x, st->kind == SCI_S_LOAD ? st->index : st->value)->level : FIXED;
  x->defined[st->name] = at + 1;
}

/* ---- groups ---- */

static int by_group(const void *a, const void *b) {
  const call_site *x = a, *y = b;
  if (x->level != y->level) return x->level < y->level ? -1 : 1;
  if (x->family != y->family) return x->family < y->family ? -1 : 1;
  if (x->dtype != y->dtype) return x->dtype < y->dtype ? -1 : 1;
  for (int i = 0; i < 2; i++)
    if (x->args[i] != y->args[i]) return x->args[i] < y->args[i] ? -1 : 1;
  return x->op < y->op ? -1 : x->op > y->op;
}

static bool is_same_kind(const call_site *x, const call_site *y) {
  return x->level == y->level && x->family == y->family && x->dtype == y->dtype;
}

static bool is_same_place(const call_site *x, const call_site *y) {
  return x->args[0] == y->args[0] && x->args[1] == y->args[1];
}

static void form_groups(grouping *x) {
  if (x->calls.n) qsort(x->calls.data, x->calls.n, sizeof *x->calls.data, by_group);
  for (size_t i = 0, j; i < x->calls.n; i = j) {
    const call_site *c = x->calls.data;
    int64_t places = 0;
    for (j = i; j < x->calls.n && is_same_kind(&c[i], &c[j]); j++) places += j == i || !is_same_place(&c[j - 1], &c[j]);
    if (places < SCI_LANE_TRIPS) continue;
    sci_vec_push(x->a, &x->groups, (group){i, j - i, c[i].level});
    for (size_t k = i; k < j; k++) info_of(x, c[k].v)->group = (uint32_t)x->groups.n;
  }
}

/* The results get names: those that the code has for them already, where it has. */
static void name_results(grouping *x) {
  for (uint32_t i = 0; i < x->n; i++) {
    const sci_stmt *st = &x->stmts[i];
    value_info *info = sci_is_let(x->s, st) ? info_of(x, st->value) : NULL;
    if (!info || !info->group || info->to != st->value) continue;
    info->to = sci_val_name(x->s, st->name);
    x->emitted[i] = true;
  }
  for (size_t i = 0; i < x->reach->list.n; i++) {
    sci_val v = x->reach->list.data[i];
    const sci_value value = *sci_value_at(x->s, v);
    value_info *info = &x->info.data[i];
    if (info->group && info->to == v)
      info->to = sci_val_name(x->s, sci_new_name(x->s, (sc_dtype)value.dtype, false, NULL));
    if (info->group || value.kind != SCI_V_OP) continue;
    sci_val args[3];
    for (int k = 0; k < sci_ops[value.op].arity; k++) args[k] = info_of(x, value.args[k])->to;
    info->to = sci_val_with(x->s, v, args);
  }
}

/* ---- what a group needs ---- */

static void put(grouping *x, sci_block_builder *out, uint32_t at) {
  sci_stmt st = x->stmts[at];
  if (x->emitted[at]) return;
  x->emitted[at] = true;
  if (st.value != SCI_NIL) st.value = info_of(x, st.value)->to;
  if (st.index != SCI_NIL) st.index = info_of(x, st.index)->to;
  sci_emit(out, st);
}

typedef SCI_VEC(uint32_t) numbers;

/* The statements behind v that have not been emitted. Groups of lower levels have been. */
static void note_needed(grouping *x, sci_val v, numbers *found) {
  SCI_VEC(sci_val) stack = {0};
  sci_vec_push(x->a, &stack, v);
  while (stack.n) {
    v = stack.data[--stack.n];
    value_info *info = info_of(x, v);
    if (info->is_needed || info->group) continue;
    info->is_needed = true;
    const sci_value *value = sci_value_at(x->s, v);
    for (int i = 0; value->kind == SCI_V_OP && i < sci_ops[value->op].arity; i++)
      sci_vec_push(x->a, &stack, value->args[i]);
    uint32_t at = value->kind == SCI_V_NAME ? x->defined[value->args[0]] : 0;
    if (!at || x->emitted[at - 1]) continue;
    sci_vec_push(x->a, found, at - 1);
    const sci_stmt *st = &x->stmts[at - 1];
    sci_vec_push(x->a, &stack, st->kind == SCI_S_LOAD ? st->index : st->value);
  }
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static void put_needed(grouping *x, sci_block_builder *out, const group *g) {
  numbers found = {0};
  for (size_t i = 0; i < g->n; i++)
    for (int k = 0; k < 2; k++) note_needed(x, x->calls.data[g->first + i].args[k], &found);
  if (found.n) qsort(found.data, found.n, sizeof *found.data, by_number);
  for (size_t i = 0; i < found.n; i++) put(x, out, found.data[i]);
}

/* ---- the loop ---- */

/* Where an operand is, one per place of the loop. */
typedef struct operand {
  sci_val same; /* SCI_NIL, or for all places */
  sci_buf buf;
  int64_t first, step;
} operand;

static sci_buf private(grouping *x, uint8_t dtype, int64_t size) {
  sci_buf b = sci_new_buf(x->s, (sc_dtype)dtype, SCI_SPACE_PRIVATE, size, NULL);
  sci_vec_push(x->a, &x->locals, (sci_local){.buf = b, .offset = -1});
  return b;
}

/* The load of an element of an input, at a known place, that v stands for. */
static const sci_stmt *element_of(const grouping *x, sci_val v) {
  const sci_value *value = sci_value_at(x->s, v);
  uint32_t at = value->kind == SCI_V_NAME ? x->defined[value->args[0]] : 0;
  const sci_stmt *st = at ? &x->stmts[at - 1] : NULL;
  return st && st->kind == SCI_S_LOAD && sci_is_readonly(x->s, st->buf) && sci_val_is_const(x->s, st->index) ? st
                                                                                                             : NULL;
}

static bool is_spaced(const grouping *x, const call_site *const *places, int64_t n, int k, operand *o) {
  for (int64_t i = 0; i < n; i++) {
    const sci_stmt *st = element_of(x, places[i]->args[k]);
    if (!st || (i && st->buf != o->buf)) return false;
    int64_t at = sci_val_int_of(x->s, st->index);
    if (!i) *o = (operand){SCI_NIL, st->buf, at, 0};
    if (i == 1) o->step = at - o->first;
    if (at != o->first + i * o->step) return false;
  }
  return true;
}

static operand operand_at(grouping *x, sci_block_builder *out, const call_site *const *places, int64_t n, int k) {
  operand o;
  bool same = true;
  for (int64_t i = 1; i < n; i++) same &= places[i]->args[k] == places[0]->args[k];
  if (same) return (operand){.same = info_of(x, places[0]->args[k])->to};
  if (is_spaced(x, places, n, k, &o)) return o;
  o = (operand){SCI_NIL, private(x, places[0]->dtype, n), 0, 1};
  for (int64_t i = 0; i < n; i++) sci_emit_store(out, o.buf, sci_val_int(x->s, i), info_of(x, places[i]->args[k])->to);
  return o;
}

/* Elements of inputs in their order, so that they may be found evenly spaced; then what is computed, as it comes. */
typedef struct place {
  const call_site *c;
  sci_buf buf;
  int64_t at;
} place;

static int by_element(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->buf != y->buf) return x->buf < y->buf ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static const call_site **places_of(grouping *x, const group *g, int64_t *n) {
  const call_site *calls = x->calls.data + g->first, **places = SCI_ARRAY(x->a, const call_site *, g->n);
  place *order = SCI_ARRAY(x->a, place, g->n);
  *n = 0;
  for (size_t i = 0; i < g->n; i++) {
    if (i && is_same_place(&calls[i - 1], &calls[i])) continue;
    const sci_stmt *st = element_of(x, calls[i].args[0]);
    order[(*n)++] = st ? (place){&calls[i], st->buf, sci_val_int_of(x->s, st->index)}
                       : (place){&calls[i], SCI_NIL, sci_reach_at(x->reach, calls[i].v)};
  }
  qsort(order, (size_t)*n, sizeof *order, by_element);
  for (int64_t i = 0; i < *n; i++) places[i] = order[i].c;
  return places;
}

static void put_group(grouping *x, sci_block_builder *out, const group *g) {
  sci_store *s = x->s;
  const call_site *calls = x->calls.data + g->first;
  int64_t n;
  const call_site **places = places_of(x, g, &n);
  sci_buf results[SCI_OP_COUNT];
  sci_val args[2];
  operand o[2];
  int arity = sci_ops[calls->op].arity;
  put_needed(x, out, g);
  for (int k = 0; k < arity; k++) o[k] = operand_at(x, out, places, n, k);
  sci_block_builder body;
  sci_block_begin(&body, s);
  sci_var var = sci_new_var(s, NULL);
  for (int k = 0; k < arity; k++) {
    sci_val at = sci_idx_add(s, sci_idx_mul(s, sci_val_var(s, var), o[k].step), sci_val_int(s, o[k].first));
    args[k] = o[k].same != SCI_NIL ? o[k].same : sci_emit_load(&body, s, o[k].buf, at, NULL);
  }
  bool has[SCI_OP_COUNT] = {false};
  for (size_t i = 0; i < g->n; i++) {
    uint8_t op = calls[i].op;
    if (has[op]) continue;
    has[op] = true;
    results[op] = private(x, calls->dtype, n);
    sci_emit_store(&body, results[op], sci_val_var(s, var), sci_val_op(s, (sci_op)op, (sc_dtype)calls->dtype, args));
  }
  sci_emit_loop(out, s, SCI_LOOP_INDEPENDENT, var, n, sci_block_end(&body, s));
  for (int64_t i = 0; i < n; i++)
    for (const call_site *c = places[i]; c < calls + g->n && is_same_place(c, places[i]); c++) {
      sci_name name = sci_value_at(s, info_of(x, c->v)->to)->args[0];
      sci_emit(out, (sci_stmt){.kind = SCI_S_LOAD,
                               .declare = 1,
                               .name = name,
                               .buf = results[c->op],
                               .index = sci_val_int(s, i),
                               .value = SCI_NIL});
    }
  *x->changes += (int64_t)g->n;
}

/* ---- stretches ---- */

static void group_stretch(grouping *x, const sci_stmt *stmts, uint32_t n, sci_block_builder *out) {
  sci_reach_clear(x->reach);
  x->info.n = x->calls.n = x->groups.n = 0;
  x->stmts = stmts;
  x->n = n;
  for (uint32_t i = 0; i < n; i++) survey_stmt(x, i);
  form_groups(x);
  x->emitted = SCI_ZEROS(x->a, bool, n);
  if (x->groups.n) name_results(x);
  for (size_t i = 0; i < x->groups.n; i++) put_group(x, out, &x->groups.data[i]);
  for (uint32_t i = 0; i < n; i++) put(x, out, i);
  for (uint32_t i = 0; i < n; i++) {
    int64_t offset;
    if (stmts[i].kind == SCI_S_STORE) x->stored[sci_storage(x->s, stmts[i].buf, &offset)] = false;
    if (stmts[i].name != SCI_NIL) x->defined[stmts[i].name] = 0, x->name_level[stmts[i].name] = 0;
  }
}

static const sci_proc *group_proc(grouping *x, const sci_proc *q) {
  sci_block b = q->body;
  sci_block_builder out;
  sci_block_begin(&out, x->s);
  for (uint32_t i = 0; i < q->n_locals; i++) sci_vec_push(x->a, &x->locals, q->locals[i]);
  for (uint32_t i = 0, j; i < b.n; i = j) {
    for (j = i; j < b.n && b.stmts[j].kind != SCI_S_LOOP && b.stmts[j].kind != SCI_S_CALL;) j++;
    if (j > i) group_stretch(x, b.stmts + i, j - i, &out);
    if (j < b.n) sci_emit(&out, b.stmts[j++]);
  }
  if (!*x->changes) return q;
  return sci_proc_with_locals(x->s, q, sci_block_end(&out, x->s), x->locals.data, x->locals.n);
}

sci_program *sci_pass_group_math(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  sci_arena *a = &s->env->scratch;
  if ((!p->vector.glibc && !p->vector.sleef) || p->target.lanes < 2) return NULL;
  grouping x = {.p = p, .s = s, .a = a, .reach = sci_reach_new(s), .changes = changes};
  x.name_level = SCI_ZEROS(a, uint8_t, s->n_names);
  x.defined = SCI_ZEROS(a, uint32_t, s->n_names);
  x.stored = SCI_ZEROS(a, bool, s->n_bufs);
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, p->n_procs);
  memcpy(procs, p->procs, p->n_procs * sizeof *procs);
  procs[p->n_procs - 1] = group_proc(&x, procs[p->n_procs - 1]);
  return *changes ? sci_program_with(p, p->n_procs, procs) : NULL;
}
