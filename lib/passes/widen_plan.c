/* Owns the cost side of widen_loops: whether lanes pay, how many at most, and how the last chunk is completed.
 *
 * Costs are per iteration in units of one cheap operation. The cap depends on the program alone, not on the width of
 * the processor at hand: what one program says serves every processor a module may be compiled for. */
#include "lib/passes/widen.h"
#include "lib/program/walk.h"

enum {
  WIDEST = 8,      /* float64 lanes */
  LONG_BODY = 100, /* operations */
  COSTLY = 6,      /* a division or square root */
  ROUTINE = 20,    /* a call of the math library */
  VECTOR_ROUTINE = 5, /* one for all lanes, for each of them */
};

typedef struct costs {
  sci_lane_facts *k;
  sci_reach *reach;
  double scalar, vector; /* per iteration; `vector` at four lanes */
  int64_t operations;
  double times;
  const sci_program *p;
  int8_t has_routine[SCI_OP_COUNT]; /* 0: not asked yet, 1: there is a vector routine, -1: there is none */
} costs;

static const double lanes_assumed = 4;

static bool has_routine(costs *c, unsigned op) {
  sci_vector_routine r;
  int8_t *known = &c->has_routine[op];
  if (!*known) {
    sc_isa isa = c->p->target.isa == SC_ISA_GENERIC ? SC_ISA_X86_64_V3 : c->p->target.isa; /* what a compiler of the module may find */
    bool found = sci_vector_routine_find(&c->p->vector, isa, (int)op, (sc_dtype)c->k->of, (int)lanes_assumed, &r);
    *known = found ? 1 : -1;
  }
  return *known > 0;
}

static void cost_value(void *user, sci_val v, bool is_index) {
  costs *c = user;
  if (is_index) return;
  size_t before = c->reach->list.n;
  sci_reach_add(c->reach, v);
  for (size_t i = before; i < c->reach->list.n; i++) {
    const sci_value *x = sci_value_at(c->k->s, c->reach->list.data[i]);
    if (x->kind != SCI_V_OP || !sci_varies(c->k, c->reach->list.data[i])) continue;
    bool routine = sci_ops[x->op].traits & SCI_LIBM, costly = x->op == SCI_OP_div || x->op == SCI_OP_sqrt;
    double cost = routine ? ROUTINE : costly ? COSTLY : 1;
    c->scalar += c->times * cost;
    c->vector += c->times * (!routine ? cost / lanes_assumed : has_routine(c, x->op) ? VECTOR_ROUTINE : ROUTINE);
    c->operations++;
  }
}

/* Lone elements are put together one by one; a block is transposed. */
static void cost_access(costs *c, const sci_stmt *st, bool in_run) {
  sci_access access = sci_access_of(c->k, st->index);
  c->scalar += c->times;
  if (access.kind == SCI_ACCESS_CONTIGUOUS) c->vector += c->times / lanes_assumed;
  if (access.kind == SCI_ACCESS_STRIDED) c->vector += c->times * (!in_run ? 1.5 : st->kind == SCI_S_STORE ? 0.6 : 0.9);
}

static void cost_block(costs *c, sci_block b) {
  sci_runs runs = sci_lane_runs(c->k, b);
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    sci_stmt_values(st, cost_value, c);
    if (st->kind == SCI_S_LOAD || st->kind == SCI_S_STORE) {
      uint32_t run = runs.of[i];
      cost_access(c, st, run && runs.list.data[run - 1].n >= lanes_assumed);
    }
    if (st->kind != SCI_S_LOOP) continue;
    double outer = c->times;
    c->times *= (double)sci_loop_trips(st->loop);
    cost_block(c, st->loop->body);
    c->times = outer;
  }
}

static bool is_multiple(int64_t trips, int lanes) {
  return trips % lanes == 0;
}

sci_lane_plan sci_lane_plan_of(sci_lane_facts *k, const sci_loop *l, const sci_program *p) {
  sci_lane_plan plan = {.lanes = 1};
  int64_t trips = sci_loop_trips(l);
  if (trips < SCI_LANE_TRIPS) return plan;
  costs c = {.k = k, .times = 1, .p = p};
  c.reach = sci_reach_new((sci_store *)(uintptr_t)k->s);
  cost_block(&c, l->body);
  if (c.vector > 0.85 * c.scalar) return plan;
  int lanes = k->of == SC_FLOAT32 ? 2 * WIDEST : WIDEST;
  while (lanes > trips) lanes /= 2;
  /* A body's values that do not fit the level-2 cache, let alone registers, stream through it in lanes. */
  int64_t bytes = (int64_t)sc_dtype_size((sc_dtype)k->of) * c.operations / 4, room = p->target.l2_bytes / 2;
  while (room && lanes > 2 && bytes * lanes > room) lanes /= 2;
  plan.lanes = lanes;
  plan.tail = is_multiple(trips, lanes)   ? SCI_TAIL_NONE
              : !k->reads_written         ? SCI_TAIL_OVERLAP
              : c.operations <= LONG_BODY ? SCI_TAIL_MASKED
                                          : SCI_TAIL_ALL;
  return plan;
}
