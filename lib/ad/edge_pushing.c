/* Owns Hessians by edge pushing: backward over the operations, a symmetric matrix over the variables that are still to
 * come takes in what each operation does to the pairs it is in, and the curvature of its own. */
#include "lib/ad/eliminate.h"

typedef struct pair {
  uint32_t with; /* what the sweep comes to later, or the same */
  sci_weight_list weight;
} pair;
typedef SCI_VEC(pair) pair_list;

typedef struct pushing {
  const sci_partial_graph *g;
  sci_arena *scratch;
  sci_weight_list *adjoint; /* per number */
  pair_list *pairs;         /* per number */
} pushing;

static sci_weight product(const pushing *p, sci_weight a, sci_weight b) {
  return sci_weight_product(&p->g->weights, a, b);
}

static sci_weight total(const pushing *p, sci_weight_list *w) {
  return sci_weight_total(&p->g->weights, w);
}

/* Whether the sweep comes to a before b. It comes to inputs last, whatever their numbers are. */
static bool precedes(const pushing *p, uint32_t a, uint32_t b) {
  bool input = p->g->column[a] >= 0, other = p->g->column[b] >= 0;
  return input == other ? a > b : other;
}

static void add(pushing *p, uint32_t a, uint32_t b, sci_weight w) {
  uint32_t at = precedes(p, a, b) ? a : b, with = at == a ? b : a;
  pair_list *pairs = &p->pairs[at];
  size_t i = 0;
  if (w.coef == 0) return;
  while (i < pairs->n && pairs->data[i].with != with) i++;
  if (i == pairs->n) sci_vec_push(p->scratch, pairs, (pair){with, {0}});
  sci_weight_add(&p->g->weights, &pairs->data[i].weight, w);
}

/* What the pair (k, with) becomes when k is replaced by its operands. */
static void push(pushing *p, uint32_t k, uint32_t with, sci_weight h) {
  const sci_local *l = &p->g->local[k];
  for (uint32_t a = 0; a < l->n; a++) {
    sci_weight w = product(p, h, l->first[a]);
    if (with != k) {
      if (l->operand[a] == with) w.coef *= 2;
      add(p, l->operand[a], with, w);
      continue;
    }
    for (uint32_t b = a; b < l->n; b++) add(p, l->operand[a], l->operand[b], product(p, w, l->first[b]));
  }
}

static void step(pushing *p, uint32_t k) {
  const sci_local *l = &p->g->local[k];
  sci_weight adjoint = total(p, &p->adjoint[k]);
  for (size_t i = 0; i < p->pairs[k].n; i++)
    push(p, k, p->pairs[k].data[i].with, total(p, &p->pairs[k].data[i].weight));
  for (uint32_t a = 0; a < l->n; a++) {
    sci_weight_add(&p->g->weights, &p->adjoint[l->operand[a]], product(p, adjoint, l->first[a]));
    for (uint32_t b = a; b < l->n; b++) add(p, l->operand[a], l->operand[b], product(p, adjoint, l->second[a][b]));
  }
}

static sci_weight *push_all(const sci_partial_graph *g, const sci_push_request *q) {
  pushing p = {.g = g, .scratch = &g->ad->cx->env.scratch};
  p.adjoint = SCI_ZEROS(p.scratch, sci_weight_list, g->order.n);
  p.pairs = SCI_ZEROS(p.scratch, pair_list, g->order.n);
  for (uint32_t r = 0; r < q->n_roots; r++)
    sci_weight_add(&g->weights, &p.adjoint[sci_number(&g->order, q->roots[r])], (sci_weight){1, SCI_NONE, q->seeds[r]});
  for (uint32_t k = g->order.n; k--;)
    if (g->local[k].n) step(&p, k);
  sci_weight *out = SCI_ZEROS(p.scratch, sci_weight, q->n_cols * q->n_cols);
  for (uint32_t k = 0; k < g->order.n; k++)
    for (size_t i = 0; g->column[k] >= 0 && i < p.pairs[k].n; i++) {
      int64_t c = g->column[k], d = g->column[p.pairs[k].data[i].with], low = c < d ? c : d, high = c < d ? d : c;
      if (q->kept[high * q->n_cols + low] || q->kept[low * q->n_cols + high])
        out[high * q->n_cols + low] = total(&p, &p.pairs[k].data[i].weight);
    }
  return out;
}

sci_weight *sci_push_edges(const sci_partial_graph *g, const sci_push_request *q) {
  sc_context *cx = g->ad->cx;
  sci_taking_in best = SCI_KEEP_ALL;
  int64_t least = INT64_MAX;
  for (sci_taking_in how = SCI_KEEP_ALL; how < SCI_TAKING_END; how++) {
    sci_context_mark mark = sci_context_here(cx);
    sci_arena_mark scratch = sci_arena_here(&cx->env.scratch);
    sci_partial_graph other = sci_take_in(g, q->n_roots, q->roots, how);
    int64_t cost = sci_weights_cost(g, push_all(&other, q), q->n_cols * q->n_cols);
    if (cost < least) least = cost, best = how;
    sci_context_rollback(cx, mark);
    sci_arena_release(&cx->env.scratch, scratch);
  }
  sci_partial_graph other = sci_take_in(g, q->n_roots, q->roots, best);
  return push_all(&other, q);
}
