/* Owns the cost side of widen_loops: whether lanes pay, how many at most, and how the last chunk is completed.
 *
 * Costs are per iteration in units of one cheap operation. A loop around loops that could have lanes has them itself
 * when that saves more than theirs would. The cap depends on the program alone, not on the width of the processor at
 * hand: what one program says serves every processor a module may be compiled for. */
#include "lib/passes/widen.h"

enum {
  WIDEST = 8,         /* float64 lanes */
  LONG_BODY = 100,    /* operations */
  COSTLY = 6,         /* a division or square root */
  ROUTINE = 20,       /* a call of the math library */
  VECTOR_ROUTINE = 5, /* one for all lanes, for each of them */
};

typedef struct costs {
  sci_lane_facts *k;
  sci_reach *reach;
  double scalar, vector;   /* per iteration; `vector` at four lanes */
  int64_t operations, own; /* bytes of memory that an iteration has to itself */
  double times;
  sci_map counted; /* of that, storages */
  const sci_program *p;
  int8_t has_routine[SCI_OP_COUNT]; /* 0: not asked yet, 1: there is a vector routine, -1: there is none */
} costs;

static const double lanes_assumed = 4;
static const double clearly = 0.9; /* better than lanes of the loops inside */

static bool has_routine(costs *c, unsigned op) {
  sci_vector_routine r;
  int8_t *known = &c->has_routine[op];
  if (!*known) {
    sc_isa isa = c->p->target.isa == SC_ISA_GENERIC ? SC_ISA_X86_64_V3
                                                    : c->p->target.isa; /* what a compiler of the module may find */
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
  sci_access access = sci_access_of(c->k, st->buf, st->index);
  int64_t offset;
  sci_buf storage = sci_storage(c->k->s, st->buf, &offset);
  c->scalar += c->times;
  if (access.kind == SCI_ACCESS_OWN) {
    c->vector += c->times / lanes_assumed;
    if (sci_map_get(&c->counted, storage) == UINT32_MAX)
      c->own += c->k->s->bufs[storage].size * (int64_t)sc_dtype_size((sc_dtype)c->k->s->bufs[storage].dtype);
    sci_map_set(&c->counted, storage, 1);
  }
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

static bool could_widen(const sci_loop *l) {
  return l->kind == SCI_LOOP_INDEPENDENT && sci_loop_trips(l) >= SCI_LANE_TRIPS;
}

/* Of the loop in lanes. False: it has none. */
static bool costs_of(costs *c, sci_lane_facts *k, sci_reach *reach, const sci_loop *l, const sci_program *p) {
  *c = (costs){.k = k, .reach = reach, .times = 1, .p = p};
  sci_lanes_enter(k, l);
  if (k->problem) return false;
  sci_reach_clear(reach);
  sci_map_init(&c->counted, k->a);
  cost_block(c, l->body);
  return c->vector <= 0.85 * c->scalar;
}

/* Per iteration, with the last chunk only partly filled. */
static double in_lanes(const costs *c, int64_t trips) {
  double chunks = (double)((trips + (int64_t)lanes_assumed - 1) / (int64_t)lanes_assumed);
  return c->vector * chunks * lanes_assumed / (double)trips;
}

/* What the loops in a block save by lanes of their own. */
static double saved_inside(sci_lane_facts *k, sci_reach *reach, sci_block b, const sci_program *p) {
  double total = 0;
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind != SCI_S_LOOP) continue;
    const sci_loop *l = b.stmts[i].loop;
    double trips = (double)sci_loop_trips(l), saved = trips * saved_inside(k, reach, l->body, p);
    costs c;
    if (could_widen(l) && costs_of(&c, k, reach, l, p)) {
      double here = trips * (c.scalar - in_lanes(&c, sci_loop_trips(l)));
      if (here > saved) saved = here;
    }
    total += saved;
  }
  return total;
}

sci_lane_plan sci_lane_plan_of(sci_lane_facts *k, sci_reach *reach, const sci_loop *l, const sci_program *p) {
  sci_lane_plan plan = {.lanes = 1};
  int64_t trips = sci_loop_trips(l);
  if (!could_widen(l)) return plan;
  double inside = saved_inside(k, reach, l->body, p);
  costs c;
  if (!costs_of(&c, k, reach, l, p) || in_lanes(&c, trips) > clearly * (c.scalar - inside)) return plan;
  int lanes = k->of == SC_FLOAT32 ? 2 * WIDEST : WIDEST;
  while (lanes > trips) lanes /= 2;
  /* A body's values that do not fit the level-2 cache, let alone registers, stream through it in lanes. */
  int64_t bytes = (int64_t)sc_dtype_size((sc_dtype)k->of) * c.operations / 4 + c.own, room = p->target.l2_bytes / 2;
  while (room && lanes > 2 && bytes * lanes > room) lanes /= 2;
  plan.lanes = lanes;
  plan.tail = is_multiple(trips, lanes)   ? SCI_TAIL_NONE
              : !k->reads_written         ? SCI_TAIL_OVERLAP
              : c.operations <= LONG_BODY ? SCI_TAIL_MASKED
                                          : SCI_TAIL_ALL;
  return plan;
}
