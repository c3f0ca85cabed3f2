/* Owns bound_depth: names for values used more than once and for what nests deeper than 32, so that backends print
 * trees.
 *
 * A named value is computed once, in the innermost block that holds all its uses, before the first statement there that
 * needs it. Sums of int64 values short enough to be affine, and int32 made int64, are free: indices stay written out
 * where they are used, unless they nest too deep. A value over mutable names means something else after an assignment,
 * so its uses are gathered per block and between assignments only (a group); everything else is one group per
 * procedure. Groups are numbered operands first. */
#include "lib/passes/passes.h"
#include "lib/program/walk.h"

enum { MAX_DEPTH = 32 };

typedef struct block_info {
  uint32_t parent, depth; /* of loops */
  uint32_t at;            /* the loop's own statement number, in the parent */
} block_info;

typedef struct group {
  sci_val v;
  uint32_t args[3]; /* groups; SCI_NIL: constants, names and variables, which have none */
  uint32_t uses;    /* how often it is written out, 2 standing for more */
  uint32_t block;   /* innermost that holds the uses */
  uint32_t first;   /* statement number of the first use */
  uint32_t version; /* of mutable names, when it was opened */
  uint32_t depth;
  uint32_t next; /* named groups that go before the same statement */
  sci_val name;  /* SCI_NIL: not named */
  sci_val value; /* rewritten, for its uses */
  uint8_t is_mutable, is_free;
} group;

typedef struct bound {
  sci_store *s;
  sci_arena *a;
  uint32_t *current; /* per value of the store: its latest group + 1 */
  SCI_VEC(group) groups;
  SCI_VEC(block_info) blocks;
  SCI_VEC(uint32_t) roots; /* groups of statements' values, in order of the walk */
  SCI_VEC(sci_val) stack;
  uint32_t *before; /* per statement: first named group to put before it, SCI_NIL */
  uint32_t statement, block, version;
  size_t root;
  int64_t *changes;
} bound;

/* ---- gathering uses ---- */

static bool is_free(const sci_store *s, const sci_value *x, sci_val v) {
  if (x->dtype != SC_INT64) return false;
  if (x->op == SCI_OP_cast) return sci_value_at(s, x->args[0])->dtype == SC_INT32;
  bool product = x->op == SCI_OP_mul && sci_val_is_const(s, x->args[1]);
  sci_affine f;
  return (product || x->op == SCI_OP_add || x->op == SCI_OP_sub || x->op == SCI_OP_neg) && sci_affine_of(s, v, &f);
}

/* Whether v has a group that serves here, or needs none. */
static bool open_for_use(const bound *x, sci_val v) {
  if (!x->current[v]) return sci_value_at(x->s, v)->kind != SCI_V_OP;
  const group *g = &x->groups.data[x->current[v] - 1];
  return !g->is_mutable || (g->block == x->block && g->version == x->version);
}

/* The group of v at this statement, opened with its operands' when there is none. */
static uint32_t group_of(bound *x, sci_val v) {
  x->stack.n = 0;
  if (!open_for_use(x, v)) sci_vec_push(x->a, &x->stack, v);
  while (x->stack.n) {
    sci_val at = x->stack.data[x->stack.n - 1];
    const sci_value *value = sci_value_at(x->s, at);
    size_t before = x->stack.n;
    int arity = sci_ops[value->op].arity;
    for (int i = 0; i < arity; i++)
      if (!open_for_use(x, value->args[i])) sci_vec_push(x->a, &x->stack, value->args[i]);
    if (x->stack.n != before) continue;
    x->stack.n--;
    if (open_for_use(x, at)) continue;
    group g = {.v = at, .block = x->block, .first = x->statement, .version = x->version};
    g.name = g.next = g.args[0] = g.args[1] = g.args[2] = SCI_NIL;
    g.is_free = is_free(x->s, value, at);
    g.is_mutable = (value->flags & SCI_VAL_MUTABLE) != 0;
    for (int i = 0; i < arity; i++) g.args[i] = x->current[value->args[i]] - 1;
    sci_vec_push(x->a, &x->groups, g);
    x->current[at] = (uint32_t)x->groups.n;
  }
  return x->current[v] - 1;
}

static uint32_t common_block(const bound *x, uint32_t a, uint32_t b) {
  const block_info *blocks = x->blocks.data;
  while (a != b) {
    if (blocks[a].depth >= blocks[b].depth)
      a = blocks[a].parent;
    else
      b = blocks[b].parent;
  }
  return a;
}

static void use(bound *x, uint32_t at, uint32_t times, uint32_t block, uint32_t first) {
  if (at == SCI_NIL) return;
  group *g = &x->groups.data[at];
  g->uses = g->uses + times > 2 ? 2 : g->uses + times;
  g->block = common_block(x, g->block, block);
  if (first < g->first) g->first = first;
}

static void gather_value(void *user, sci_val v, bool is_index) {
  bound *x = user;
  (void)is_index;
  uint32_t g = group_of(x, v);
  use(x, g, 1, x->block, x->statement);
  sci_vec_push(x->a, &x->roots, g);
}

static void gather(bound *x, sci_block b) {
  uint32_t block = x->block;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    uint32_t number = x->statement;
    sci_stmt_values(st, gather_value, x);
    x->statement++;
    if (st->kind == SCI_S_ASSIGN && x->s->names[st->name].is_mutable) x->version++;
    if (st->kind != SCI_S_LOOP) continue;
    x->block = (uint32_t)x->blocks.n;
    sci_vec_push(x->a, &x->blocks, (block_info){block, x->blocks.data[block].depth + 1, number});
    gather(x, st->loop->body);
    x->block = block;
  }
}

/* ---- deciding ---- */

/* Users before operands: what a group is written out, its operands are, unless a name stands for it. */
static void name_shared(bound *x) {
  for (size_t i = x->groups.n; i-- > 0;) {
    group *g = &x->groups.data[i];
    if (!g->is_free && g->uses > 1) g->name = g->v; /* stands for: to be named */
    for (int j = 0; j < 3; j++) use(x, g->args[j], g->name == SCI_NIL ? g->uses : 1, g->block, g->first);
  }
}

/* An operand at the limit gets a name, so that its user starts a tree of its own. */
static void name_deep(bound *x) {
  for (size_t i = 0; i < x->groups.n; i++) {
    group *g = &x->groups.data[i];
    g->depth = 1;
    for (int j = 0; j < 3; j++) {
      if (g->args[j] == SCI_NIL) continue;
      group *operand = &x->groups.data[g->args[j]];
      if (operand->depth >= MAX_DEPTH) operand->name = operand->v;
      uint32_t below = operand->name == SCI_NIL ? operand->depth : 0;
      if (below >= g->depth) g->depth = below + 1;
    }
  }
}

/* The statement of the group's block that is, or contains, its first use. */
static uint32_t statement_of(const bound *x, const group *g, const uint32_t *block_of) {
  uint32_t at = g->first, block = block_of[at];
  while (block != g->block) {
    at = x->blocks.data[block].at;
    block = x->blocks.data[block].parent;
  }
  return at;
}

static void number_blocks(bound *x, sci_block b, uint32_t block, uint32_t *block_of, uint32_t *next_block,
                          uint32_t *number) {
  for (uint32_t i = 0; i < b.n; i++) {
    block_of[(*number)++] = block;
    if (b.stmts[i].kind != SCI_S_LOOP) continue;
    uint32_t inner = ++*next_block;
    number_blocks(x, b.stmts[i].loop->body, inner, block_of, next_block, number);
  }
}

static void place_names(bound *x, sci_block body) {
  uint32_t *block_of = SCI_ARRAY(x->a, uint32_t, x->statement), next_block = 0, number = 0;
  number_blocks(x, body, 0, block_of, &next_block, &number);
  x->before = SCI_ARRAY(x->a, uint32_t, x->statement);
  memset(x->before, 0xFF, x->statement * sizeof *x->before);
  for (size_t i = x->groups.n; i-- > 0;) {
    group *g = &x->groups.data[i];
    if (g->name == SCI_NIL) continue;
    uint32_t at = statement_of(x, g, block_of);
    g->next = x->before[at];
    x->before[at] = (uint32_t)i;
  }
}

/* ---- rewriting ---- */

static sci_val rebuilt(const bound *x, const group *g) {
  sci_value v = *sci_value_at(x->s, g->v);
  sci_val args[3];
  for (int i = 0; i < sci_ops[v.op].arity; i++)
    args[i] = g->args[i] == SCI_NIL ? v.args[i] : x->groups.data[g->args[i]].value;
  return sci_val_with(x->s, g->v, args);
}

/* Names and rewritten values of all groups, operands first. */
static void settle(bound *x) {
  for (size_t i = 0; i < x->groups.n; i++) {
    group *g = &x->groups.data[i];
    g->value = rebuilt(x, g);
    if (g->name == SCI_NIL) continue;
    sci_val value = g->value;
    sci_name n = sci_new_name(x->s, (sc_dtype)sci_value_at(x->s, g->v)->dtype, false, NULL);
    g->name = value; /* from here on: what the name is assigned */
    g->value = sci_val_name(x->s, n);
    ++*x->changes;
  }
}

static sci_val next_root(bound *x, sci_val v) {
  uint32_t g = v == SCI_NIL ? SCI_NIL : x->roots.data[x->root++];
  return g == SCI_NIL ? v : x->groups.data[g].value;
}

static sci_stmt rewritten(bound *x, const sci_stmt *st) {
  sci_stmt copy = *st;
  if (st->kind == SCI_S_CALL) {
    sci_view *views = SCI_ARRAY(x->a, sci_view, st->call->n);
    bool same = true;
    for (uint32_t i = 0; i < st->call->n; i++) {
      views[i] = (sci_view){st->call->views[i].buf, next_root(x, st->call->views[i].index)};
      same &= views[i].index == st->call->views[i].index;
    }
    return same ? copy : sci_call_stmt(x->s, st->call->proc, st->call->n, views);
  }
  copy.index = next_root(x, st->index);
  copy.value = next_root(x, st->value);
  return copy;
}

static void visit(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  bound *x = r->user;
  for (uint32_t at = x->before[x->statement++]; at != SCI_NIL; at = x->groups.data[at].next) {
    const group *g = &x->groups.data[at];
    sci_name n = sci_value_at(x->s, g->value)->args[0];
    sci_emit(
        out,
        (sci_stmt){.kind = SCI_S_ASSIGN, .declare = 1, .name = n, .buf = SCI_NIL, .index = SCI_NIL, .value = g->name});
  }
  if (st->kind == SCI_S_LOOP) {
    sci_emit(out, sci_loop_with(r->s, st, sci_rewrite_block(r, st->loop->body)));
    return;
  }
  sci_emit(out, rewritten(x, st));
}

static const sci_proc *bound_proc(const sci_program *p, const sci_proc *q, void *user) {
  bound *x = user;
  (void)p;
  int64_t before = *x->changes;
  sci_arena_mark here = sci_arena_here(x->a);
  x->blocks.data = NULL, x->groups.data = NULL, x->roots.data = NULL, x->stack.data = NULL;
  x->blocks.n = x->blocks.cap = x->groups.n = x->groups.cap = x->roots.n = x->roots.cap = x->stack.n = x->stack.cap = 0;
  x->statement = x->block = x->version = 0;
  x->root = 0;
  sci_vec_push(x->a, &x->blocks, (block_info){0, 0, 0});
  /* As many as there are values at most, but for mutable ones: memory that is not touched costs nothing. */
  x->groups.cap = x->s->n_values;
  x->groups.data = SCI_ARRAY(x->a, group, x->groups.cap);
  gather(x, q->body);
  for (size_t i = 0; i < x->groups.n; i++) x->current[x->groups.data[i].v] = 0;
  name_shared(x);
  name_deep(x);
  place_names(x, q->body);
  settle(x);
  x->statement = 0;
  const sci_proc *result = q;
  if (*x->changes != before) {
    sci_rewriter r = {x->s, visit, x};
    result = sci_proc_with(x->s, q, sci_rewrite_block(&r, q->body));
  }
  sci_arena_release(x->a, here);
  return result;
}

sci_program *sci_pass_bound_depth(const sci_program *p, int64_t *changes) {
  sci_arena *a = &p->store->env->scratch;
  bound x = {.s = p->store, .a = a, .changes = changes};
  x.current = SCI_ZEROS(a, uint32_t, p->store->n_values);
  return sci_pass_each(p, bound_proc, &x);
}
