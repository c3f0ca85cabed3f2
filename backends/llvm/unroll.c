/* Owns how often a loop's body is spelled: LLVM's code generation unrolls nothing, and a short body costs as much in
 * counting as in arithmetic. */
#include "backends/llvm/llvm.h"

enum {
  WHOLE = 64,      /* operations and accesses of a loop that goes, */
  STEP = 32,       /* of the copies in one trip, */
  MOST_COPIES = 4, /* and how many of them pay; */
  DEAR = 16,       /* what a math routine counts: nobody sees the counting beside it; */
  BUDGET = 768     /* and what all copies of a module may add to it, for the sake of its compile time */
};

typedef struct weigher {
  const sci_store *store;
  uint32_t n, limit;
} weigher;

/* Index arithmetic goes into addresses. */
static void weigh_value(weigher *w, sci_val v) {
  if (v == SCI_NIL || w->n > w->limit) return;
  const sci_value *x = sci_value_at(w->store, v);
  if (x->kind != SCI_V_OP) return;
  w->n += sci_ops[x->op].traits & SCI_LIBM ? DEAR : sci_is_float((sc_dtype)x->dtype);
  for (unsigned i = 0; i < sci_ops[x->op].arity; i++) weigh_value(w, x->args[i]);
}

static void weigh_block(weigher *w, sci_block b) {
  for (uint32_t i = 0; i < b.n && w->n <= w->limit; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_CALL) w->n = w->limit + 1;
    if (st->kind == SCI_S_LOAD || st->kind == SCI_S_STORE) w->n++;
    if (st->kind == SCI_S_STORE || st->kind == SCI_S_ASSIGN) weigh_value(w, st->value);
    if (st->kind != SCI_S_LOOP) continue;
    weigher inner = {w->store, 0, w->limit};
    weigh_block(&inner, st->loop->body);
    int64_t trips = sci_loop_trips(st->loop);
    w->n = trips > w->limit || inner.n * trips > w->limit ? w->limit + 1 : w->n + inner.n * (uint32_t)trips;
  }
}

uint32_t sci_llvm_copies(sci_llvm_emitter *e, const sci_loop *l, int64_t trips) {
  weigher w = {e->store, 0, WHOLE};
  if (e->asan || e->names_shown || trips < 2) return 1; /* text to be read shows the loops of the program */
  weigh_block(&w, l->body);
  if (!w.n) w.n = 1;
  uint32_t copies = 1;
  if (w.n <= WHOLE && trips <= WHOLE / w.n)
    copies = (uint32_t)trips;
  else
    while (copies < MOST_COPIES && 2 * copies * w.n <= STEP && 2 * copies <= trips) copies *= 2;
  uint32_t more = (copies + (copies < trips ? (uint32_t)(trips % copies) : 0) - 1) * w.n;
  if (e->unrolled + more > BUDGET) return 1;
  e->unrolled += more;
  return copies;
}
