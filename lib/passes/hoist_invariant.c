/* Owns hoist_invariant: what does not change while a loop runs is computed before it.
 *
 * Every value has a level: the number of loops around the innermost variable or name that it is made of. A load, a name
 * or a part of a value whose level is less than the number of loops around the statement moves to the block of that
 * level, before the loop there; loads only past loops that do not write their storage. Mapped procedures are in their
 * loops when this runs, so what a stage computes from broadcast arguments alone becomes a prologue of the map. Indices
 * stay where they are used, and so does everything in a loop that never runs and what reads mutable names. */
#include "lib/passes/passes.h"
#include "lib/program/map.h"
#include "lib/program/walk.h"

enum {
  MAX_LEVELS = 32,
  CROWD = 24 /* loads before one loop: with more, they would wait in memory again, so each is where it is needed */
};

typedef struct level {
  sci_block_builder out;
  sci_map hoisted; /* values named in this block: their names' values */
  sci_map memo;    /* values rewritten for this block, the innermost one */
  sci_map written; /* storage written by the loop around this block; whole loops */
  bool crowded;    /* loads stay inside the loop around this block; what is computed from them alone does not */
} level;

/* A value to be rewritten for the block of a level. */
typedef struct job {
  sci_val v;
  uint32_t depth;
} job;

typedef struct hoisting {
  const sci_program *p;
  sci_store *s;
  sci_arena *a;
  uint32_t *of_name, *of_var; /* levels */
  sci_map kept;               /* names of loads that a crowded loop keeps: the level that they are in ... */
  sci_map twins;              /* ... and the names' values that stand for them before it; UINT32_MAX: not needed yet */
  sci_map load_of;            /* ... and the load, in `loads` */
  SCI_VEC(sci_stmt) loads;
  SCI_VEC(job) jobs; /* of the rewriting under way */
  uint32_t n_names;
  sci_map same; /* names that turned out to hold what another name does: that one's value */
  sci_map of_value;
  level levels[MAX_LEVELS];
  uint32_t depth;
  int64_t *changes;
} hoisting;

/* ---- levels ---- */

static uint32_t leaf_level(const hoisting *x, const sci_value *v) {
  if (v->kind == SCI_V_NAME) return v->args[0] < x->n_names ? x->of_name[v->args[0]] : x->depth;
  return v->kind == SCI_V_VAR ? x->of_var[v->args[0]] : 0;
}

/* Operands of a level are known before their user's: values are numbered so, but deep ones must not use the C stack. */
static uint32_t level_of(hoisting *x, sci_val v) {
  SCI_VEC(sci_val) stack = {0};
  const sci_value *value = sci_value_at(x->s, v);
  if (value->kind != SCI_V_OP) return leaf_level(x, value);
  sci_vec_push(x->a, &stack, v);
  while (stack.n) {
    sci_val at = stack.data[stack.n - 1];
    const sci_value *op = sci_value_at(x->s, at);
    size_t before = stack.n;
    uint32_t most = 0;
    for (int i = 0; i < sci_ops[op->op].arity; i++) {
      const sci_value *arg = sci_value_at(x->s, op->args[i]);
      uint32_t known = arg->kind == SCI_V_OP ? sci_map_get(&x->of_value, op->args[i]) : leaf_level(x, arg);
      if (known == UINT32_MAX)
        sci_vec_push(x->a, &stack, op->args[i]);
      else if (known > most)
        most = known;
    }
    if (stack.n != before) continue;
    stack.n--;
    sci_map_set(&x->of_value, at, most);
  }
  return sci_map_get(&x->of_value, v);
}

static bool may_move(const hoisting *x, sci_val v) {
  const sci_value *value = sci_value_at(x->s, v);
  return value->kind == SCI_V_OP && value->dtype != SC_INT64 && !(value->flags & SCI_VAL_MUTABLE);
}

/* ---- rewriting values ---- */

/* Whether v is known for the block of `depth`, and as what; else it is a job. */
static bool is_known(const hoisting *x, sci_val v, uint32_t depth, sci_val *as) {
  const sci_value *value = sci_value_at(x->s, v);
  uint32_t known = v;
  if (value->kind == SCI_V_OP) {
    known = sci_map_get(&x->levels[depth].hoisted, v);
    if (known == UINT32_MAX) known = sci_map_get(&x->levels[depth].memo, v);
  } else if (value->kind == SCI_V_NAME) {
    uint32_t other = sci_map_get(&x->same, value->args[0]), kept = sci_map_get(&x->kept, value->args[0]);
    known = other != UINT32_MAX                  ? other
            : kept != UINT32_MAX && kept > depth ? sci_map_get(&x->twins, value->args[0])
                                                 : v;
  }
  *as = known;
  return known != UINT32_MAX;
}

/* The job's value, known from here on; false: others come first, and are pushed. */
static bool do_job(hoisting *x, job j, sci_val *as) {
  if (is_known(x, j.v, j.depth, as)) return true;
  const sci_value value = *sci_value_at(x->s, j.v);
  if (value.kind == SCI_V_NAME) { /* the same load before the loop that keeps it */
    sci_stmt st = x->loads.data[sci_map_get(&x->load_of, value.args[0])];
    uint32_t at = x->of_name[value.args[0]];
    if (!is_known(x, st.index, at, &st.index)) {
      sci_vec_push(x->a, &x->jobs, (job){st.index, at});
      return false;
    }
    *as = sci_emit_load(&x->levels[at].out, x->s, st.buf, st.index, x->s->names[st.name].hint);
    sci_map_set(&x->twins, value.args[0], *as);
    return true;
  }
  uint32_t at = level_of(x, j.v), args[3];
  if (at < j.depth && may_move(x, j.v)) {
    if (!is_known(x, j.v, at, as)) {
      sci_vec_push(x->a, &x->jobs, (job){j.v, at});
      return false;
    }
    if (sci_map_get(&x->levels[at].hoisted, j.v) == UINT32_MAX) {
      if (sci_value_at(x->s, *as)->kind == SCI_V_OP) *as = sci_emit_let(&x->levels[at].out, x->s, *as, NULL);
      sci_map_set(&x->levels[at].hoisted, j.v, *as);
      ++*x->changes;
    }
  } else {
    size_t before = x->jobs.n;
    for (int i = sci_ops[value.op].arity; i-- > 0;)
      if (!is_known(x, value.args[i], j.depth, &args[i])) sci_vec_push(x->a, &x->jobs, (job){value.args[i], j.depth});
    if (x->jobs.n != before) return false;
    *as = sci_val_with(x->s, j.v, args);
  }
  sci_map_set(&x->levels[j.depth].memo, j.v, *as);
  return true;
}

/* v for a statement in the block of `depth`; trees may be deep. */
static sci_val rewrite(hoisting *x, sci_val v, uint32_t depth) {
  x->jobs.n = 0;
  sci_vec_push(x->a, &x->jobs, (job){v, depth});
  while (x->jobs.n) {
    job j = x->jobs.data[x->jobs.n - 1];
    size_t n = x->jobs.n;
    if (do_job(x, j, &v)) x->jobs.n = n - 1;
  }
  return v;
}

/* ---- statements ---- */

/* How far out a load may go: not past a loop that writes its storage. */
static uint32_t load_level(hoisting *x, const sci_stmt *st) {
  int64_t offset;
  uint32_t at = level_of(x, st->index), out = x->depth;
  sci_buf storage = sci_storage(x->s, st->buf, &offset);
  if (sci_value_at(x->s, st->index)->flags & SCI_VAL_MUTABLE) return x->depth;
  while (out > at && sci_map_get(&x->levels[out].written, storage) == UINT32_MAX) out--;
  return out;
}

static void emit_at(hoisting *x, sci_stmt st, uint32_t at) {
  x->of_name[st.name] = at;
  if (at < x->depth) ++*x->changes;
  sci_emit(&x->levels[at].out, st);
}

/* A load's level is that of what is computed from it; the load itself may stay further inside. */
static void emit_load(hoisting *x, const sci_stmt *st) {
  uint32_t at = load_level(x, st), stays = at;
  for (uint32_t d = at + 1; d <= x->depth; d++)
    if (x->levels[d].crowded) stays = d;
  emit_at(x, *st, stays);
  x->of_name[st->name] = at;
  if (stays == at) return;
  sci_map_set(&x->kept, st->name, stays);
  sci_map_set(&x->load_of, st->name, (uint32_t)x->loads.n);
  sci_vec_push(x->a, &x->loads, *st);
}

/* Whether an index is made of constants and of variables of loops around the one at hand. */
static bool is_outside(const hoisting *x, sci_val index) {
  sci_affine f;
  if (sci_value_at(x->s, index)->flags & SCI_VAL_NAME || !sci_affine_of(x->s, index, &f)) return false;
  for (uint32_t i = 0; i < f.n; i++) {
    const sci_value *term = sci_value_at(x->s, f.terms[i].term);
    if (term->kind != SCI_V_VAR || !x->of_var[term->args[0]] || x->of_var[term->args[0]] >= x->depth) return false;
  }
  return true;
}

/* Loads in the loop at hand that could stand before it; up to a crowd. */
static uint32_t count_loads(hoisting *x, sci_block b, uint32_t n) {
  for (uint32_t i = 0; i < b.n && n <= CROWD; i++) {
    const sci_stmt *st = &b.stmts[i];
    int64_t offset;
    if (st->kind == SCI_S_LOOP) n = count_loads(x, st->loop->body, n);
    if (st->kind != SCI_S_LOAD || !is_outside(x, st->index)) continue;
    n += sci_map_get(&x->levels[x->depth].written, sci_storage(x->s, st->buf, &offset)) == UINT32_MAX;
  }
  return n;
}

static void visit_block(hoisting *x, sci_block b);

static void begin_level(hoisting *x) {
  level *l = &x->levels[x->depth];
  sci_block_begin(&l->out, x->s);
  sci_map_clear(&l->hoisted);
  sci_map_clear(&l->memo);
  sci_map_clear(&l->written);
}

static void note_write(void *user, sci_buf b, bool write) {
  hoisting *x = user;
  int64_t offset;
  if (write) sci_map_set(&x->levels[x->depth].written, sci_storage(x->s, b, &offset), 1);
}

static void visit_loop(hoisting *x, const sci_stmt *st) {
  if (!sci_loop_trips(st->loop) || x->depth + 1 == MAX_LEVELS) {
    sci_emit(&x->levels[x->depth].out, *st);
    return;
  }
  x->depth++;
  begin_level(x);
  sci_stmt_accesses(x->p, st, note_write, x);
  x->of_var[st->loop->var] = x->depth;
  x->levels[x->depth].crowded = count_loads(x, st->loop->body, 0) > CROWD;
  visit_block(x, st->loop->body);
  sci_block body = sci_block_or(&x->levels[x->depth].out, x->s, st->loop->body);
  x->depth--;
  sci_emit(&x->levels[x->depth].out, sci_loop_with(x->s, st, body));
}

static void visit(hoisting *x, const sci_stmt *st) {
  if (st->kind == SCI_S_LOOP) {
    visit_loop(x, st);
    return;
  }
  if (!x->depth) {
    sci_emit(&x->levels[0].out, *st); /* its name is of level 0 as it is */
    return;
  }
  if (st->kind == SCI_S_LOAD) {
    emit_load(x, st);
    return;
  }
  sci_stmt copy = *st;
  bool is_let = sci_is_let(x->s, st);
  bool is_mutable = st->kind == SCI_S_ASSIGN && sci_value_at(x->s, st->value)->flags & SCI_VAL_MUTABLE;
  uint32_t at = is_let && !is_mutable ? level_of(x, st->value) : x->depth;
  if (st->value != SCI_NIL) copy.value = rewrite(x, st->value, at);
  if (is_let && sci_value_at(x->s, copy.value)->kind == SCI_V_NAME &&
      !sci_is_int((sc_dtype)sci_value_at(x->s, copy.value)->dtype))
    sci_map_set(&x->same, st->name, copy.value); /* the name stays for what the rewriting does not reach */
  if (st->kind == SCI_S_ASSIGN)
    emit_at(x, copy, is_let ? at : x->depth);
  else
    sci_emit(&x->levels[x->depth].out, copy);
}

static void visit_block(hoisting *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) visit(x, &b.stmts[i]);
}

static const sci_proc *hoist_proc(const sci_program *p, const sci_proc *q, void *user) {
  hoisting *x = user;
  int64_t before = *x->changes;
  x->depth = 0;
  begin_level(x);
  visit_block(x, q->body);
  return *x->changes == before ? q : sci_proc_with(p->store, q, sci_block_end(&x->levels[0].out, p->store));
}

sci_program *sci_pass_hoist_invariant(const sci_program *p, int64_t *changes) {
  sci_store *s = p->store;
  hoisting *x = SCI_NEW(&s->env->scratch, hoisting);
  *x = (hoisting){.p = p, .s = s, .a = &s->env->scratch, .changes = changes};
  x->n_names = s->n_names;
  x->of_name = SCI_ZEROS(x->a, uint32_t, s->n_names);
  x->of_var = SCI_ZEROS(x->a, uint32_t, s->n_vars);
  sci_map_init(&x->of_value, x->a);
  sci_map_init(&x->same, x->a);
  sci_map_init(&x->kept, x->a);
  sci_map_init(&x->twins, x->a);
  sci_map_init(&x->load_of, x->a);
  for (int i = 0; i < MAX_LEVELS; i++) {
    sci_map_init(&x->levels[i].hoisted, x->a);
    sci_map_init(&x->levels[i].memo, x->a);
    sci_map_init(&x->levels[i].written, x->a);
  }
  return sci_pass_each(p, hoist_proc, x);
}
