/* Owns walking: which nodes and which functions are reached, in topological order. */
#include "lib/expr/expr.h"

/* Visited nodes as bits, in pages of one node chunk each, so that the cost follows what is reached. Operands have lower
 * ids than their users: one sweep from the highest id down sees every user of a node before the node, and needs no
 * stack. */
enum { PAGE_WORDS = SCI_NODE_CHUNK / 64 };

typedef struct visit {
  sc_context *cx;
  uint64_t **pages;
  uint32_t n_pages, n_reached;
} visit;

static void visit_node(visit *v, sci_id id) {
  uint64_t **page = &v->pages[id >> SCI_NODE_CHUNK_BITS];
  if (!*page) *page = SCI_ZEROS(&v->cx->env.scratch, uint64_t, PAGE_WORDS);
  (*page)[id / 64 % PAGE_WORDS] |= (uint64_t)1 << id % 64;
}

/* The nodes of one word, whose operands are often in it, too: so it is kept out of memory meanwhile. */
static void sweep_word(visit *v, uint64_t *word, uint32_t number) {
  uint64_t all = *word;
  for (uint64_t left = all; left;) {
    uint32_t bit = 63 - (uint32_t)__builtin_clzll(left);
    left &= ~((uint64_t)1 << bit);
    const sci_node *n = sci_node_at(v->cx, number << 6 | bit);
    const sci_id *args = sci_args(v->cx, n);
    for (uint32_t i = 0; i < n->n_args; i++) {
      if (args[i] >> 6 != number) {
        visit_node(v, args[i]);
        continue;
      }
      uint64_t operand = (uint64_t)1 << args[i] % 64;
      left |= operand & ~all;
      all |= operand;
    }
  }
  *word = all;
  v->n_reached += (uint32_t)__builtin_popcountll(all);
}

static void sweep(visit *v) {
  for (uint32_t p = v->n_pages; p-- > 0;)
    for (uint32_t w = PAGE_WORDS; v->pages[p] && w-- > 0;)
      if (v->pages[p][w]) sweep_word(v, &v->pages[p][w], p << (SCI_NODE_CHUNK_BITS - 6) | w);
}

static sci_order collect(const visit *v) {
  sci_arena *scratch = &v->cx->env.scratch;
  sci_order o = {.ids = SCI_ARRAY(scratch, sci_id, v->n_reached)};
  for (uint32_t p = 0; p < v->n_pages; p++)
    for (uint32_t w = 0; v->pages[p] && w < PAGE_WORDS; w++)
      for (uint64_t word = v->pages[p][w]; word; word &= word - 1)
        o.ids[o.n++] = p << SCI_NODE_CHUNK_BITS | w << 6 | (uint32_t)__builtin_ctzll(word);
  if (!o.n) return o;
  o.base = o.ids[0];
  uint64_t range = (uint64_t)o.ids[o.n - 1] - o.base + 1;
  if (range > 64 * (uint64_t)o.n) return o;
  o.number_of = SCI_ARRAY(scratch, uint32_t, range);
  memset(o.number_of, 0xFF, range * sizeof *o.number_of);
  for (uint32_t i = 0; i < o.n; i++) o.number_of[o.ids[i] - o.base] = i;
  return o;
}

static visit visit_begin(sc_context *cx) {
  uint32_t n = cx->n_chunks;
  return (visit){.cx = cx, .n_pages = n, .pages = SCI_ZEROS(&cx->env.scratch, uint64_t *, n)};
}

sci_order sci_reach(sc_context *cx, const sci_id *roots, uint32_t n) {
  visit v = visit_begin(cx);
  for (uint32_t i = 0; i < n; i++) visit_node(&v, roots[i]);
  sweep(&v);
  return collect(&v);
}

sci_order sci_reach_function(sc_context *cx, const sc_function *f) {
  visit v = visit_begin(cx);
  for (uint32_t i = 0; i < f->n_in; i++) visit_node(&v, f->in[i].node);
  for (uint32_t i = 0; i < f->n_out; i++) visit_node(&v, f->out[i].node);
  sweep(&v);
  return collect(&v);
}

uint32_t sci_number(const sci_order *o, sci_id id) {
  if (!o->n || id < o->base || id > o->ids[o->n - 1]) return SCI_NONE;
  if (o->number_of) return o->number_of[id - o->base];
  uint32_t lo = 0, hi = o->n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (o->ids[mid] < id)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < o->n && o->ids[lo] == id ? lo : SCI_NONE;
}

static void call_function(uint64_t *called, uint32_t id) {
  called[id / 64] |= (uint64_t)1 << id % 64;
}

static void call_callees(sc_context *cx, uint64_t *called, const sc_function *f, bool rules) {
  if (rules && f->custom.jvp) call_function(called, f->custom.jvp->id);
  if (rules && f->custom.vjp) call_function(called, f->custom.vjp->id);
  sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
  sci_order o = sci_reach_function(cx, f);
  for (uint32_t i = 0; i < o.n; i++) {
    unsigned op = sci_node_at(cx, o.ids[i])->op;
    if (op == SCI_X_call || op == SCI_X_vmap)
      call_function(called, ((const sci_call_attr *)sci_attr(cx, o.ids[i]))->callee);
  }
  sci_arena_release(&cx->env.scratch, mark);
}

/* A function is made after those it calls, so ids order callees before callers, and one descending sweep finds them
 * all: over words of bits, since a context may have very many functions and most call none. */
uint32_t sci_callees(sc_context *cx, sc_function *f, bool rules, sc_function ***out) {
  uint32_t words = f->id / 64 + 1, n = 0;
  uint64_t *called = SCI_ZEROS(&cx->env.scratch, uint64_t, words);
  call_function(called, f->id);
  for (uint32_t w = words; w-- > 0;)
    for (uint64_t below = UINT64_MAX; called[w] & below; n++) {
      uint32_t bit = 63 - (uint32_t)__builtin_clzll(called[w] & below);
      below = ((uint64_t)1 << bit) - 1;
      call_callees(cx, called, cx->functions[w * 64 + bit], rules);
    }
  *out = SCI_ARRAY(&cx->env.scratch, sc_function *, n);
  uint32_t k = 0;
  for (uint32_t w = 0; w < words; w++)
    for (uint64_t left = called[w]; left; left &= left - 1)
      (*out)[k++] = cx->functions[w * 64 + (uint32_t)__builtin_ctzll(left)];
  return n;
}
