/* Owns the coloring of Jacobian and Hessian patterns.
 *
 * Columns and rows: greedy partial distance-2 coloring in natural and in largest-first order, the better one kept.
 * Both directions: the densest rows are left to reverse products when that is cheaper in total.
 * Hessians: greedy star coloring (Gebremedhin, Tarafdar, Manne and Pothen, SIAM J. Sci. Comput. 29, 2007,
 * algorithm 4.1), with the foreign hubs of a vertex kept in a list, so that a vertex of large degree costs its
 * neighbors nothing. */
#include "lib/ad/coloring.h"

#include <stdlib.h>

typedef struct degree {
  int32_t degree, vertex;
} degree;

static int by_degree(const void *a, const void *b) {
  const degree *x = a, *y = b;
  if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
  return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

static int32_t *largest_first(sc_context *cx, const sci_rows *a) {
  sci_arena *arena = &cx->env.scratch;
  degree *d = SCI_ARRAY(arena, degree, a->n);
  int32_t *order = SCI_ARRAY(arena, int32_t, a->n);
  for (int64_t v = 0; v < a->n; v++) d[v] = (degree){a->ptr[v + 1] - a->ptr[v], (int32_t)v};
  if (a->n) qsort(d, (size_t)a->n, sizeof *d, by_degree);
  for (int64_t v = 0; v < a->n; v++) order[v] = d[v].vertex;
  return order;
}

/* ---- columns (or, transposed, rows) ---- */

/* Vertices are the rows of `by_vertex`; two of them conflict when they meet in a row of `by_edge`. -1 for vertices
 * without entries. */
static sci_groups color_distance2(sc_context *cx, const sci_rows *by_vertex, const sci_rows *by_edge,
                                  const int32_t *order) {
  sci_arena *arena = &cx->env.scratch;
  sci_groups g = {0, SCI_ARRAY(arena, int32_t, by_vertex->n)};
  int32_t *forbidden = SCI_ARRAY(arena, int32_t, by_vertex->n + 1);
  for (int64_t v = 0; v < by_vertex->n; v++) g.color[v] = forbidden[v] = -1;
  forbidden[by_vertex->n] = -1;
  for (int64_t k = 0; k < by_vertex->n; k++) {
    int32_t v = order ? order[k] : (int32_t)k;
    if (by_vertex->ptr[v] == by_vertex->ptr[v + 1]) continue;
    for (int32_t e = by_vertex->ptr[v]; e < by_vertex->ptr[v + 1]; e++) {
      int32_t edge = by_vertex->col[e];
      for (int32_t w = by_edge->ptr[edge]; w < by_edge->ptr[edge + 1]; w++) {
        int32_t c = g.color[by_edge->col[w]];
        if (c >= 0) forbidden[c] = v;
      }
    }
    int32_t c = 0;
    while (forbidden[c] == v) c++;
    g.color[v] = c;
    if ((uint32_t)c >= g.n) g.n = (uint32_t)c + 1;
  }
  return g;
}

/* The work of the greedy loop: the sum of squares of the edges' sizes. A pattern past the bound has an edge so dense
 * that compression along the vertices cannot pay; then every vertex is its own group. */
static const double WORK_BOUND = 4e7;

static sci_groups color_vertices(sc_context *cx, const sci_rows *by_vertex, const sci_rows *by_edge,
                                 sc_coloring_order *order) {
  double work = 0;
  int32_t densest = 0;
  for (int64_t e = 0; e < by_edge->n; e++) {
    int32_t size = by_edge->ptr[e + 1] - by_edge->ptr[e];
    work += (double)size * size;
    if (size > densest) densest = size;
  }
  sc_coloring_order wanted = *order;
  *order = SC_ORDER_NATURAL;
  if (work > WORK_BOUND) {
    sci_groups g = {(uint32_t)by_vertex->n, SCI_ARRAY(&cx->env.scratch, int32_t, by_vertex->n)};
    for (int64_t v = 0; v < by_vertex->n; v++) g.color[v] = (int32_t)v;
    return g;
  }
  sci_groups natural = {UINT32_MAX, NULL};
  if (wanted != SC_ORDER_LARGEST_FIRST) natural = color_distance2(cx, by_vertex, by_edge, NULL);
  if (wanted == SC_ORDER_NATURAL || natural.n <= (uint32_t)densest) return natural; /* the lower bound */
  sci_groups largest = color_distance2(cx, by_vertex, by_edge, largest_first(cx, by_vertex));
  if (natural.n <= largest.n) return natural;
  *order = SC_ORDER_LARGEST_FIRST;
  return largest;
}

static sci_coloring recover(sc_context *cx, const sci_rows *rows, sci_coloring c, const bool *in_reverse) {
  sci_arena *arena = &cx->env.scratch;
  int64_t nnz = sci_rows_nnz(rows);
  int32_t *color = SCI_ARRAY(arena, int32_t, nnz), *at = SCI_ARRAY(arena, int32_t, nnz);
  bool *reversed = SCI_ARRAY(arena, bool, nnz);
  for (int64_t r = 0; r < rows->n; r++)
    for (int32_t k = rows->ptr[r]; k < rows->ptr[r + 1]; k++) {
      reversed[k] = in_reverse[r];
      color[k] = in_reverse[r] ? c.row_color[r] : c.column_color[rows->col[k]];
      at[k] = in_reverse[r] ? rows->col[k] : (int32_t)r;
    }
  c.color = color, c.at = at, c.reversed = reversed;
  return c;
}

/* The t densest rows in reverse, the rest forward. */
static sci_coloring color_both(sc_context *cx, const sci_rows *rows, int64_t n_cols, const int32_t *densest, int64_t t,
                               sc_coloring_order order) {
  sci_arena *arena = &cx->env.scratch;
  bool *in_reverse = SCI_ZEROS(arena, bool, rows->n), *in_forward = SCI_ZEROS(arena, bool, rows->n);
  for (int64_t k = 0; k < t; k++) in_reverse[densest[k]] = true;
  for (int64_t r = 0; r < rows->n; r++) in_forward[r] = !in_reverse[r];
  sci_coloring c = {.method = t == 0 ? SC_COLORING_COLUMN : t == rows->n ? SC_COLORING_ROW : SC_COLORING_BIDIRECTIONAL};
  if (t) {
    const sci_rows *dense = t < rows->n ? sci_rows_filter(cx, rows, in_reverse, NULL, NULL) : rows;
    c.order = order;
    sci_groups g = color_vertices(cx, dense, sci_rows_transpose(cx, dense, n_cols), &c.order);
    c.n_reverse = g.n, c.row_color = g.color;
  }
  if (t < rows->n) {
    const sci_rows *rest = t ? sci_rows_filter(cx, rows, in_forward, NULL, NULL) : rows;
    c.order = order;
    sci_groups g = color_vertices(cx, sci_rows_transpose(cx, rest, n_cols), rest, &c.order);
    c.n_forward = g.n, c.column_color = g.color;
  }
  return recover(cx, rows, c, in_reverse);
}

static double cost_of(const sci_coloring *c, const sc_coloring_options *o) {
  return c->n_forward + (o->reverse_weight > 0 ? o->reverse_weight : SCI_REVERSE_WEIGHT) * c->n_reverse;
}

sci_coloring sci_color_jacobian(sc_context *cx, const sci_rows *rows, int64_t n_cols, const sc_coloring_options *o) {
  int32_t *densest = largest_first(cx, rows);
  int64_t n = rows->n, first = o->method == SC_COLORING_ROW ? n : o->method == SC_COLORING_BIDIRECTIONAL && n > 1,
          last = n;
  if (o->method == SC_COLORING_COLUMN) last = 0;
  if (o->method == SC_COLORING_BIDIRECTIONAL) last = n > 1 ? n - 1 : first;
  sci_coloring best = color_both(cx, rows, n_cols, densest, first, o->order);
  for (int64_t t = first; t < last && cost_of(&best, o) > 1;) {
    t = t ? 2 * t : 1;
    if (t > last || t > 64) t = last; /* more than a few dense rows: all of them or none */
    sci_coloring c = color_both(cx, rows, n_cols, densest, t, o->order);
    if (cost_of(&c, o) < cost_of(&best, o)) best = c;
  }
  return best;
}

/* ---- Hessians ---- */

/* How many neighbors of color `color` a vertex has, and the first of them. */
typedef struct tally {
  int32_t vertex, color; /* vertex -1: a free slot */
  int32_t count, first;
} tally;

typedef struct hub {
  int32_t color, next;
} hub;

/* A vertex w lists the colors of its hubs: neighbors that have another neighbor of w's color. Whoever is colored next
 * to w must not take such a color, or a path of four vertices would have two colors. */
typedef struct star_state {
  sci_arena *arena;
  const sci_rows *a;
  int32_t *color, *forbidden, *treated;
  int32_t *first_of_color, *first_neighbor; /* per color: the vertex at work and its first neighbor of that color */
  int32_t *hubs;                            /* per vertex: head of its list, -1 */
  SCI_VEC(hub) list;
  tally *tallies;
  size_t mask;
} star_state;

static tally *tally_of(star_state *s, int32_t vertex, int32_t color) {
  for (size_t at = sci_mix((uint64_t)(uint32_t)vertex, (uint64_t)(uint32_t)color);; at++) {
    tally *t = &s->tallies[at & s->mask];
    if (t->vertex == vertex && t->color == color) return t;
    if (t->vertex >= 0) continue;
    *t = (tally){vertex, color, 0, -1};
    return t;
  }
}

static void add_hub(star_state *s, int32_t vertex, int32_t hub_color) {
  int32_t at = (int32_t)s->list.n;
  sci_vec_push(s->arena, &s->list, (hub){hub_color, s->hubs[vertex]});
  s->hubs[vertex] = at;
}

/* `center` gains the neighbor `v` of color c: from the second on, it is the hub of all of them. */
static void count_neighbor(star_state *s, int32_t center, int32_t v, int32_t c) {
  tally *t = tally_of(s, center, c);
  if (++t->count == 1)
    t->first = v;
  else {
    if (t->count == 2) add_hub(s, t->first, s->color[center]);
    add_hub(s, v, s->color[center]);
  }
}

static void forbid_neighbors(star_state *s, int32_t v, int32_t w) {
  if (s->treated[w] == v) return;
  s->treated[w] = v;
  for (int32_t k = s->a->ptr[w]; k < s->a->ptr[w + 1]; k++) {
    int32_t c = s->color[s->a->col[k]];
    if (c >= 0) s->forbidden[c] = v;
  }
}

static int32_t color_vertex(star_state *s, int32_t v) {
  for (int32_t k = s->a->ptr[v]; k < s->a->ptr[v + 1]; k++) {
    int32_t w = s->a->col[k], c = s->color[w];
    if (w == v || c < 0) continue;
    s->forbidden[c] = v;
    for (int32_t h = s->hubs[w]; h >= 0; h = s->list.data[h].next) s->forbidden[s->list.data[h].color] = v;
    if (s->first_of_color[c] == v) { /* two neighbors of one color */
      forbid_neighbors(s, v, s->first_neighbor[c]);
      forbid_neighbors(s, v, w);
    } else {
      s->first_of_color[c] = v;
      s->first_neighbor[c] = w;
    }
  }
  int32_t c = 0;
  while (s->forbidden[c] == v) c++;
  s->color[v] = c;
  for (int32_t k = s->a->ptr[v]; k < s->a->ptr[v + 1]; k++) {
    int32_t w = s->a->col[k];
    if (w == v || s->color[w] < 0) continue;
    count_neighbor(s, w, v, c);
    count_neighbor(s, v, w, s->color[w]);
  }
  return c;
}

static sci_groups color_star(sc_context *cx, const sci_rows *a, const int32_t *order) {
  sci_arena *arena = &cx->env.scratch;
  size_t n = (size_t)a->n, slots = 16;
  while (slots < 2 * (size_t)a->ptr[a->n] + 2) slots *= 2;
  star_state s = {.arena = arena, .a = a, .mask = slots - 1};
  int32_t **arrays[] = {&s.color, &s.forbidden, &s.treated, &s.first_of_color, &s.first_neighbor, &s.hubs};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    *arrays[i] = SCI_ARRAY(arena, int32_t, n + 1);
    for (size_t v = 0; v <= n; v++) (*arrays[i])[v] = -1;
  }
  s.tallies = SCI_ARRAY(arena, tally, slots);
  for (size_t i = 0; i < slots; i++) s.tallies[i].vertex = -1;
  sci_groups g = {0, s.color};
  for (size_t k = 0; k < n; k++) {
    int32_t v = order[k];
    if (a->ptr[v] == a->ptr[v + 1]) continue;
    int32_t c = color_vertex(&s, v);
    if ((uint32_t)c >= g.n) g.n = (uint32_t)c + 1;
  }
  return g;
}

/* Nonzero (r, c) is alone in row r among the columns of c's color, or alone in row c among those of r's: one of the two
 * holds, since no path of four vertices has only two colors. Where both do, it is read from the product of the later
 * column. What the other products are not asked for is not computed in straight-line code, and models list states
 * before the inputs that act on them: the later columns' derivatives are the shorter ones (quadrotor Hessian: 5,835
 * operations a stage, 6,690 the other way). */
static sci_coloring recover_star(sc_context *cx, const sci_rows *a, sci_groups g) {
  sci_arena *arena = &cx->env.scratch;
  int64_t nnz = sci_rows_nnz(a);
  int32_t *color = SCI_ARRAY(arena, int32_t, nnz), *at = SCI_ARRAY(arena, int32_t, nnz),
          *count = SCI_ZEROS(arena, int32_t, g.n + 1);
  bool *alone = SCI_ARRAY(arena, bool, nnz), *reversed = SCI_ZEROS(arena, bool, nnz);
  for (int64_t r = 0; r < a->n; r++) {
    for (int32_t k = a->ptr[r]; k < a->ptr[r + 1]; k++) count[g.color[a->col[k]]]++;
    for (int32_t k = a->ptr[r]; k < a->ptr[r + 1]; k++) alone[k] = count[g.color[a->col[k]]] == 1;
    for (int32_t k = a->ptr[r]; k < a->ptr[r + 1]; k++) count[g.color[a->col[k]]] = 0;
  }
  const int32_t *mirror = sci_rows_mirrors(cx, a);
  for (int64_t r = 0; r < a->n; r++)
    for (int32_t k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
      int32_t c = a->col[k];
      bool here = alone[k] && (!alone[mirror[k]] || c >= r);
      color[k] = here ? g.color[a->col[k]] : g.color[r];
      at[k] = here ? (int32_t)r : a->col[k];
    }
  return (sci_coloring){.method = SC_COLORING_STAR,
                        .n_forward = g.n,
                        .column_color = g.color,
                        .color = color,
                        .at = at,
                        .reversed = reversed};
}

/* In natural and in largest-first order, as asked; the better one, the natural one where they tie. */
typedef sci_groups vertex_coloring(sc_context *cx, const sci_rows *rows, const int32_t *order);

static sci_groups best_order(sc_context *cx, const sci_rows *rows, vertex_coloring *color, sc_coloring_order wanted,
                             sc_coloring_order *order) {
  sci_groups best = {UINT32_MAX, NULL};
  if (wanted != SC_ORDER_LARGEST_FIRST) {
    int32_t *natural = SCI_ARRAY(&cx->env.scratch, int32_t, rows->n);
    for (int64_t v = 0; v < rows->n; v++) natural[v] = (int32_t)v;
    best = color(cx, rows, natural);
    *order = SC_ORDER_NATURAL;
  }
  if (wanted == SC_ORDER_NATURAL || best.n <= 1) return best;
  sci_groups other = color(cx, rows, largest_first(cx, rows));
  if (other.n >= best.n) return best;
  *order = SC_ORDER_LARGEST_FIRST;
  return other;
}

/* Two colors suffice for a star, and an acyclic coloring looks at all pairs of neighbors' neighbors. */
static bool may_be_acyclic(const sci_rows *rows, sci_groups star) {
  double work = 0;
  for (int64_t r = 0; r < rows->n; r++)
    work += (double)(rows->ptr[r + 1] - rows->ptr[r]) * (rows->ptr[r + 1] - rows->ptr[r]);
  return star.n > 2 && work <= WORK_BOUND;
}

/* Each level of substitution is a pass over the values of its own. */
static const int32_t MOST_LEVELS = 8;
static const double LEAST_SAVING = 0.75;

sci_coloring sci_color_hessian(sc_context *cx, const sci_rows *rows, const sc_coloring_options *o) {
  sc_coloring_order order = SC_ORDER_NATURAL, other = SC_ORDER_NATURAL;
  sci_coloring c = {.method = SC_COLORING_ACYCLIC};
  sci_groups star = {0};
  if (o->method != SC_COLORING_ACYCLIC) {
    star = best_order(cx, rows, color_star, o->order, &order);
    c = recover_star(cx, rows, star);
    c.order = order;
    if (o->method == SC_COLORING_STAR || o->product_cost <= 0 || !may_be_acyclic(rows, star)) return c;
  }
  sci_groups g = best_order(cx, rows, sci_color_acyclic, o->order, &other);
  if (star.n && g.n >= star.n) return c;
  sci_coloring a = sci_recover_acyclic(cx, rows, g);
  a.order = other;
  double cost = g.n * o->product_cost + a.minus_ptr[rows->ptr[rows->n]];
  return !star.n || (a.n_levels <= MOST_LEVELS && cost <= LEAST_SAVING * star.n * o->product_cost) ? a : c;
}
