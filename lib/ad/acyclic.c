/* Owns acyclic colorings of Hessian patterns: the greedy coloring, and the order in which substitution recovers the
 * nonzeros.
 *
 * Any two colors span a forest (Gebremedhin, Tarafdar, Manne and Pothen 2007, algorithm 3.1, whose trees are sets of
 * edges). So in the products of two colors there is always an entry whose other summands are known: the edge of a leaf.
 */
#include "lib/ad/coloring.h"

/* ---- coloring ---- */

typedef struct visit {
  int32_t vertex, neighbor;
} visit;

typedef struct forest {
  const sci_rows *a;
  const int32_t *mirror;
  int32_t *color, *forbidden;
  int32_t *parent; /* per nonzero: the edge's set, by the lower of its two numbers */
  visit *of_tree;  /* per set: who came first to this tree, over which neighbor */
  visit *of_color; /* per color: the vertex at work and its first neighbor of this color, by nonzero */
} forest;

static int32_t edge_of(const forest *f, int32_t k) {
  return k < f->mirror[k] ? k : f->mirror[k];
}

static int32_t find(const forest *f, int32_t edge) {
  while (f->parent[edge] != edge) edge = f->parent[edge] = f->parent[f->parent[edge]];
  return edge;
}

static void unite(const forest *f, int32_t a, int32_t b) {
  a = find(f, edge_of(f, a)), b = find(f, edge_of(f, b));
  if (a != b) f->parent[a > b ? a : b] = a < b ? a : b;
}

/* v next to w may not take the color of a neighbor x of w when it already touches the tree of the edge (w, x)
 * elsewhere: that would close a cycle of two colors. */
static void forbid_cycles(forest *f, int32_t v, int32_t w) {
  for (int32_t k = f->a->ptr[w]; k < f->a->ptr[w + 1]; k++) {
    int32_t x = f->a->col[k], c = f->color[x];
    if (x == v || x == w || c < 0 || f->forbidden[c] == v) continue;
    visit *first = &f->of_tree[find(f, edge_of(f, k))];
    if (first->vertex != v)
      *first = (visit){v, w};
    else if (first->neighbor != w)
      f->forbidden[c] = v;
  }
}

/* The edges of v join the trees they touch. */
static void grow(forest *f, int32_t v) {
  for (int32_t k = f->a->ptr[v]; k < f->a->ptr[v + 1]; k++) {
    int32_t w = f->a->col[k], c = f->color[w];
    if (w == v || c < 0) continue;
    if (f->of_color[c].vertex == v)
      unite(f, f->of_color[c].neighbor, k);
    else
      f->of_color[c] = (visit){v, k};
    for (int32_t e = f->a->ptr[w]; e < f->a->ptr[w + 1]; e++) {
      int32_t x = f->a->col[e];
      if (x != v && x != w && f->color[x] == f->color[v]) unite(f, k, e);
    }
  }
}

sci_groups sci_color_acyclic(sc_context *cx, const sci_rows *a, const int32_t *order) {
  sci_arena *arena = &cx->env.scratch;
  int64_t n = a->n, nnz = a->ptr[n];
  forest f = {.a = a,
              .mirror = sci_rows_mirrors(cx, a),
              .color = SCI_ARRAY(arena, int32_t, n),
              .forbidden = SCI_ARRAY(arena, int32_t, n + 1)};
  f.parent = SCI_ARRAY(arena, int32_t, nnz), f.of_tree = SCI_ARRAY(arena, visit, nnz),
  f.of_color = SCI_ARRAY(arena, visit, n + 1);
  for (int64_t k = 0; k < nnz; k++) f.parent[k] = (int32_t)k, f.of_tree[k].vertex = -1;
  for (int64_t v = 0; v <= n; v++) f.forbidden[v] = f.of_color[v].vertex = -1;
  for (int64_t v = 0; v < n; v++) f.color[v] = -1;
  sci_groups g = {0, f.color};
  for (int64_t i = 0; i < n; i++) {
    int32_t v = order[i], c = 0;
    if (a->ptr[v] == a->ptr[v + 1]) continue;
    for (int32_t k = a->ptr[v]; k < a->ptr[v + 1]; k++)
      if (a->col[k] != v && f.color[a->col[k]] >= 0) f.forbidden[f.color[a->col[k]]] = v;
    for (int32_t k = a->ptr[v]; k < a->ptr[v + 1]; k++)
      if (a->col[k] != v && f.color[a->col[k]] >= 0) forbid_cycles(&f, v, a->col[k]);
    while (f.forbidden[c] == v) c++;
    f.color[v] = c;
    if ((uint32_t)c >= g.n) g.n = (uint32_t)c + 1;
    grow(&f, v);
  }
  return g;
}

/* ---- recovery ---- */

/* A slot is an element of a product: the sum of one row's nonzeros whose columns have one color. */
typedef struct slots {
  int32_t *of;           /* per nonzero */
  int32_t *ptr, *member; /* nonzeros by slot */
  int32_t *left;         /* per slot: nonzeros not recovered yet */
  int32_t n;
} slots;

static slots find_slots(sc_context *cx, const sci_rows *a, sci_groups g) {
  sci_arena *arena = &cx->env.scratch;
  int32_t nnz = a->ptr[a->n], *last = SCI_ARRAY(arena, int32_t, g.n);
  slots s = {.of = SCI_ARRAY(arena, int32_t, nnz),
             .ptr = SCI_ZEROS(arena, int32_t, nnz + 2),
             .member = SCI_ARRAY(arena, int32_t, nnz)};
  for (uint32_t c = 0; c < g.n; c++) last[c] = -1;
  for (int64_t r = 0; r < a->n; r++) {
    int32_t first = s.n;
    for (int32_t k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
      int32_t c = g.color[a->col[k]];
      if (last[c] < first) last[c] = s.n++;
      s.ptr[(s.of[k] = last[c]) + 2]++;
    }
  }
  for (int32_t i = 2; i < s.n + 2; i++) s.ptr[i] += s.ptr[i - 1];
  for (int32_t k = 0; k < nnz; k++) s.member[s.ptr[s.of[k] + 1]++] = k;
  s.left = SCI_ARRAY(arena, int32_t, s.n);
  for (int32_t i = 0; i < s.n; i++) s.left[i] = s.ptr[i + 1] - s.ptr[i];
  return s;
}

/* Slot by slot as they come down to one unknown; `read[k]`: the nonzero (k or its mirror) through whose slot nonzero k
 * is read. */
static int32_t substitute(sc_context *cx, const slots *s, const int32_t *mirror, int32_t nnz, int32_t *read,
                          int32_t *level) {
  int32_t *queue = SCI_ARRAY(&cx->env.scratch, int32_t, s->n + nnz), head = 0, tail = 0, n_levels = 0;
  for (int32_t k = 0; k < nnz; k++) read[k] = -1, level[k] = 0;
  for (int32_t i = s->n; i-- > 0;) /* the later column's product where both will do */
    if (s->left[i] == 1) queue[tail++] = i;
  while (head < tail) {
    int32_t slot = queue[head++], k = -1, deep = 0;
    if (!s->left[slot]) continue;
    for (int32_t m = s->ptr[slot]; m < s->ptr[slot + 1]; m++) {
      int32_t other = s->member[m];
      if (read[other] < 0)
        k = other;
      else if (level[other] >= deep)
        deep = level[other] + 1;
    }
    read[k] = read[mirror[k]] = k;
    level[k] = level[mirror[k]] = deep;
    if (deep >= n_levels) n_levels = deep + 1;
    s->left[slot]--;
    int32_t opposite = s->of[mirror[k]];
    if (mirror[k] != k && --s->left[opposite] == 1) queue[tail++] = opposite;
  }
  return n_levels;
}

sci_coloring sci_recover_acyclic(sc_context *cx, const sci_rows *a, sci_groups g) {
  sci_arena *arena = &cx->env.scratch;
  int32_t nnz = a->ptr[a->n], *read = SCI_ARRAY(arena, int32_t, nnz), *level = SCI_ARRAY(arena, int32_t, nnz),
          *row = SCI_ARRAY(arena, int32_t, nnz);
  int32_t *color = SCI_ARRAY(arena, int32_t, nnz), *at = SCI_ARRAY(arena, int32_t, nnz),
          *ptr = SCI_ARRAY(arena, int32_t, nnz + 1);
  slots s = find_slots(cx, a, g);
  int32_t n_levels = substitute(cx, &s, sci_rows_mirrors(cx, a), nnz, read, level);
  SCI_VEC(int32_t) minus = {0};
  for (int64_t r = 0; r < a->n; r++)
    for (int32_t k = a->ptr[r]; k < a->ptr[r + 1]; k++) row[k] = (int32_t)r;
  ptr[0] = 0;
  for (int32_t k = 0; k < nnz; k++) {
    int32_t slot = s.of[read[k]];
    color[k] = g.color[a->col[read[k]]];
    at[k] = row[read[k]];
    for (int32_t m = s.ptr[slot]; m < s.ptr[slot + 1]; m++)
      if (s.member[m] != read[k]) sci_vec_push(arena, &minus, s.member[m]);
    ptr[k + 1] = (int32_t)minus.n;
  }
  return (sci_coloring){.method = SC_COLORING_ACYCLIC,
                        .n_forward = g.n,
                        .column_color = g.color,
                        .color = color,
                        .at = at,
                        .reversed = SCI_ZEROS(arena, bool, nnz),
                        .minus_ptr = ptr,
                        .minus = minus.data,
                        .level = level,
                        .n_levels = n_levels};
}
