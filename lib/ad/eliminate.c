/* Owns Jacobians by elimination of vertices: a vertex goes by joining every edge into it with every edge out of it,
 * until only edges from inputs to roots are left. */
#include "lib/ad/eliminate.h"

typedef struct edge {
  uint32_t from;
  sci_weight_list weight;
} edge;

/* Vertices are numbered as the graph's nodes are; the roots follow, since a root may be on the way to another. */
typedef struct vertex {
  SCI_VEC(edge) in;
  SCI_VEC(uint32_t) out;
} vertex;

typedef struct elimination {
  const sci_partial_graph *g;
  sci_arena *scratch;
  uint32_t n; /* of the graph */
  vertex *v;
  uint32_t *left; /* to be eliminated, ascending */
  uint32_t n_left;
} elimination;

typedef uint32_t next_vertex(const elimination *e); /* a place in `left` */

/* Neither a number nor a scale. */
static bool is_value(const sci_weight_list *w) {
  return w->n > 1 || (w->n && w->data[0].value != SCI_NONE);
}

static edge *edge_of(vertex *to, uint32_t from) {
  for (size_t i = 0; i < to->in.n; i++)
    if (to->in.data[i].from == from) return &to->in.data[i];
  return NULL;
}

static void connect(elimination *e, uint32_t from, uint32_t to, sci_weight w) {
  edge *known = edge_of(&e->v[to], from);
  if (!known) {
    sci_vec_push(e->scratch, &e->v[to].in, (edge){.from = from});
    sci_vec_push(e->scratch, &e->v[from].out, to);
    known = &e->v[to].in.data[e->v[to].in.n - 1];
  }
  sci_weight_add(&e->g->weights, &known->weight, w);
}

static void forget(vertex *from, uint32_t to) {
  for (size_t i = 0; i < from->out.n; i++)
    if (from->out.data[i] == to) {
      from->out.data[i] = from->out.data[--from->out.n];
      return;
    }
}

static void eliminate(elimination *e, uint32_t k) {
  vertex *v = &e->v[k];
  const sci_weights *weights = &e->g->weights;
  for (size_t o = 0; o < v->out.n; o++) {
    vertex *to = &e->v[v->out.data[o]];
    edge *through = edge_of(to, k);
    sci_weight w = sci_weight_total(weights, &through->weight);
    *through = to->in.data[--to->in.n];
    for (size_t i = 0; i < v->in.n; i++)
      connect(e, v->in.data[i].from, v->out.data[o],
              sci_weight_product(weights, sci_weight_total(weights, &v->in.data[i].weight), w));
  }
  for (size_t i = 0; i < v->in.n; i++) forget(&e->v[v->in.data[i].from], k);
}

static elimination begin(const sci_partial_graph *g, uint32_t n_roots, const sci_id *roots) {
  elimination e = {.g = g, .scratch = &g->ad->cx->env.scratch, .n = g->order.n};
  e.v = SCI_ZEROS(e.scratch, vertex, e.n + n_roots);
  e.left = SCI_ARRAY(e.scratch, uint32_t, e.n);
  for (uint32_t k = 0; k < e.n; k++) {
    const sci_local *l = &g->local[k];
    for (uint32_t a = 0; a < l->n; a++) connect(&e, l->operand[a], k, l->first[a]);
    if (l->n) e.left[e.n_left++] = k;
  }
  for (uint32_t r = 0; r < n_roots; r++) {
    uint32_t k = sci_number(&g->order, roots[r]);
    if (g->active[k]) connect(&e, k, e.n + r, SCI_UNIT_WEIGHT);
  }
  return e;
}

/* ---- orders ---- */

static uint32_t first(const elimination *e) {
  (void)e;
  return 0;
}

static uint32_t last(const elimination *e) {
  return e->n_left - 1;
}

/* Markowitz: the fewest products, of values above all. Of several the last, which is nearest to the roots. */
static uint32_t cheapest(const elimination *e) {
  uint32_t best = 0;
  int64_t least = INT64_MAX;
  for (uint32_t i = e->n_left; i--;) {
    const vertex *v = &e->v[e->left[i]];
    int64_t in = 0, out = 0, pairs = (int64_t)(v->in.n * v->out.n);
    if (pairs > least) continue;
    for (size_t k = 0; k < v->in.n; k++) in += is_value(&v->in.data[k].weight);
    for (size_t k = 0; k < v->out.n; k++) out += is_value(&edge_of(&e->v[v->out.data[k]], e->left[i])->weight);
    int64_t cost = 2 * in * out + pairs;
    if (cost < least) least = cost, best = i;
  }
  return best;
}

static sci_weight *eliminate_all(const sci_partial_graph *g, next_vertex *next, uint32_t n_roots, const sci_id *roots,
                                 int64_t n_cols, const bool *kept) {
  elimination e = begin(g, n_roots, roots);
  while (e.n_left) {
    uint32_t at = next(&e);
    eliminate(&e, e.left[at]);
    memmove(e.left + at, e.left + at + 1, (--e.n_left - at) * sizeof *e.left);
  }
  sci_weight *out = SCI_ZEROS(e.scratch, sci_weight, n_roots * n_cols);
  for (uint32_t r = 0; r < n_roots; r++)
    for (size_t i = 0; i < e.v[e.n + r].in.n; i++) {
      edge *in = &e.v[e.n + r].in.data[i];
      int64_t at = r * n_cols + g->column[in->from];
      if (kept[at]) out[at] = sci_weight_total(&g->weights, &in->weight);
    }
  return out;
}

sci_weight *sci_eliminate_vertices(const sci_partial_graph *g, uint32_t n_roots, const sci_id *roots, int64_t n_cols,
                                   const bool *kept) {
  static next_vertex *const orders[] = {cheapest, last, first};
  sc_context *cx = g->ad->cx;
  int best = 0;
  int64_t least = INT64_MAX;
  for (int i = 0; i < 3; i++) {
    sci_context_mark mark = sci_context_here(cx);
    sci_arena_mark scratch = sci_arena_here(&cx->env.scratch);
    int64_t cost = sci_weights_cost(g, eliminate_all(g, orders[i], n_roots, roots, n_cols, kept), n_roots * n_cols);
    if (cost < least) least = cost, best = i;
    sci_context_rollback(cx, mark);
    sci_arena_release(&cx->env.scratch, scratch);
  }
  return eliminate_all(g, orders[best], n_roots, roots, n_cols, kept);
}
