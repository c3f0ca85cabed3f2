/* Owns compressed derivatives: a coloring's seeds pushed through the graph, and the places its products are read from.
 */
#include "lib/ad/jacobian.h"

/* ---- seeds ---- */

/* The 0/1 tensor (K, shape) that has a 1 where element e (numbered from `first`) has the color k. */
static sci_id seed_of(const sci_ad *ad, sci_id value, const int32_t *color, int64_t first) {
  sc_context *cx = ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, value)->dtype;
  int64_t size = sci_type_of(cx, value)->size, seeds = ad->seeds ? ad->seeds : 1;
  sci_shape s = sci_seeded(ad, sci_shape_of(cx, value));
  sci_mul_size(&cx->env, seeds, size, "seeds of a compressed derivative");
  if (seeds * size > SC_MAX_ELEMENTS)
    sci_fail(&cx->env, SC_ERR_OVERFLOW, "%lld derivative directions of %lld elements exceed the largest tensor",
             (long long)seeds, (long long)size);
  char *data = sci_alloc_zero(scratch, (size_t)(seeds * size), sc_dtype_size(dtype));
  for (int64_t e = 0; e < size; e++)
    if (color[first + e] >= 0)
      sci_scalar_store(dtype, data, (size_t)(color[first + e] * size + e), sci_scalar_number(dtype, 1));
  return sci_make_const(cx, dtype, s.rank, s.dim, data);
}

/* One row of products per color, the values of several nodes behind each other: (K, total). */
static sci_id join_products(const sci_ad *ad, uint32_t n, const sci_id *nodes, const sci_id *values) {
  sc_context *cx = ad->cx;
  sci_id *parts = SCI_ARRAY(&cx->env.scratch, sci_id, n);
  int64_t seeds = ad->seeds ? ad->seeds : 1;
  for (uint32_t i = 0; i < n; i++) {
    sci_id v = values[i] == SCI_NONE ? sci_zeros_like(ad, nodes[i]) : values[i];
    parts[i] = sci_make_reshape(cx, v, 2, (int64_t[]){seeds, sci_type_of(cx, nodes[i])->size});
  }
  return n == 1 ? parts[0] : sci_make_join(cx, SCI_X_concat, parts, n, 1);
}

typedef struct products {
  sci_id forward, reverse; /* (colors, rows), (colors, columns) */
} products;

static products multiply(const sci_ad *outer, uint32_t n_roots, const sci_id *roots, uint32_t n_inputs,
                         const sci_id *inputs, const sci_coloring *c) {
  sc_context *cx = outer->cx;
  sci_arena *scratch = &cx->env.scratch;
  products p = {SCI_NONE, SCI_NONE};
  uint32_t most = n_roots > n_inputs ? n_roots : n_inputs;
  sci_id *seeds = SCI_ARRAY(scratch, sci_id, most), *out = SCI_ARRAY(scratch, sci_id, most);
  sci_ad ad = *outer;
  if (c->n_forward) {
    ad.seeds = c->n_forward > 1 ? c->n_forward : 0;
    for (int64_t i = 0, first = 0; i < n_inputs; first += sci_type_of(cx, inputs[i])->size, i++)
      seeds[i] = seed_of(&ad, inputs[i], c->column_color, first);
    sci_forward(&ad, n_inputs, inputs, seeds, n_roots, roots, out);
    p.forward = join_products(&ad, n_roots, roots, out);
  }
  if (c->n_reverse) {
    ad.seeds = c->n_reverse > 1 ? c->n_reverse : 0;
    for (int64_t i = 0, first = 0; i < n_roots; first += sci_type_of(cx, roots[i])->size, i++)
      seeds[i] = seed_of(&ad, roots[i], c->row_color, first);
    sci_reverse(&ad, n_roots, roots, seeds, n_inputs, inputs, out, NULL);
    p.reverse = join_products(&ad, n_inputs, inputs, out);
  }
  return p;
}

/* ---- assembly ---- */

/* The opaque nodes that rows rest on, and the rows of their joined elements that are asked for. */
typedef struct opaque {
  uint32_t n;
  sci_id *nodes;
  int64_t n_rows;
  const sci_rows *rows;
} opaque;

static opaque find_opaque(sci_assembly *a) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  SCI_VEC(sci_id) nodes = {0};
  for (uint32_t k = 0; k < a->order.n; k++)
    if (a->kind[k] == SCI_KIND_OPAQUE && a->terms[k].n) sci_vec_push(scratch, &nodes, a->order.ids[k]);
  opaque o = {.n = (uint32_t)nodes.n, .nodes = nodes.data};
  if (!o.n) return o;
  /* The gradient's own order, where the nodes are the roots of a Hessian: star coloring wants rows and columns to
   * correspond. */
  if (o.n == a->q->n_roots) {
    bool same = true;
    for (uint32_t i = 0; i < o.n; i++) {
      uint32_t k = sci_number(&a->order, a->q->roots[i]);
      same &= a->kind[k] == SCI_KIND_OPAQUE && a->terms[k].n == (size_t)sci_type_of(cx, a->q->roots[i])->size;
    }
    if (same) memcpy(nodes.data, a->q->roots, o.n * sizeof *nodes.data);
  }
  sci_dependence d = sci_dependence_of(cx, o.n, o.nodes, a->q->n_inputs, a->q->inputs, 0, NULL);
  const sci_rows **parts = SCI_ARRAY(scratch, const sci_rows *, o.n);
  int64_t *sizes = SCI_ARRAY(scratch, int64_t, o.n);
  for (uint32_t i = 0; i < o.n; i++) {
    parts[i] = sci_dependence_rows(&d, o.nodes[i]);
    o.n_rows += sizes[i] = sci_type_of(cx, o.nodes[i])->size;
  }
  o.rows = sci_rows_join(cx, o.n, parts, sizes);
  return o;
}

static bool is_whole_hessian(const sci_assembly *a, const opaque *o) {
  sc_context *cx = a->ad->cx;
  if (!a->q->symmetric || o->n != a->q->n_roots || o->n_rows != a->n_cols || o->n_rows != a->n_rows) return false;
  for (uint32_t i = 0; i < o->n; i++) {
    if (o->nodes[i] != a->q->roots[i]) return false;
    const sci_terms *terms = &a->terms[sci_number(&a->order, o->nodes[i])];
    if (terms->n != (size_t)sci_type_of(cx, o->nodes[i])->size) return false;
  }
  /* Structurally symmetric too: simplification may have dropped one of two mirrored dependences. */
  const sci_rows *t = sci_rows_transpose(cx, o->rows, a->n_cols);
  return !memcmp(t->ptr, o->rows->ptr, (size_t)(t->n + 1) * sizeof *t->ptr) &&
         !memcmp(t->col, o->rows->col, (size_t)t->ptr[t->n] * sizeof *t->col);
}

/* All nonzeros of an acyclic coloring, level by level: what is read from the products less the sums of what is known by
 * then. */
static sci_id substitute(sci_assembly *a, const sci_coloring *c, int64_t nnz, int64_t width, sci_id forward) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  int32_t *from = SCI_ARRAY(scratch, int32_t, nnz), *to = SCI_ARRAY(scratch, int32_t, c->minus_ptr[nnz]),
          *known = SCI_ARRAY(scratch, int32_t, c->minus_ptr[nnz]);
  for (int64_t k = 0; k < nnz; k++) from[k] = (int32_t)(c->color[k] * width + c->at[k]);
  sci_id values = sci_make_gather(cx, forward, from, 1, &nnz);
  for (int32_t level = 1; level < c->n_levels; level++) {
    int64_t n = 0;
    for (int64_t k = 0; k < nnz; k++)
      for (int32_t m = c->minus_ptr[k]; c->level[k] == level && m < c->minus_ptr[k + 1]; m++)
        to[n] = (int32_t)k, known[n++] = c->minus[m];
    sci_id less = sci_make1(cx, SCI_OP_neg, sci_make_gather(cx, values, known, 1, &n));
    values = sci_make_index(cx, SCI_X_index_add, values, less, to);
  }
  return values;
}

static void add_opaque_entries(sci_assembly *a, const opaque *o, const sci_coloring *c, const sci_rows *colored,
                               products p) {
  sc_context *cx = a->ad->cx;
  int64_t width[2] = {o->n_rows, a->n_cols}, first = 0;
  sci_id values = c->minus_ptr ? substitute(a, c, sci_rows_nnz(colored), width[0], p.forward) : p.forward;
  int32_t piece[2] = {values == SCI_NONE ? -1 : sci_add_piece(a, values, 0),
                      p.reverse == SCI_NONE ? -1 : sci_add_piece(a, p.reverse, 0)};
  a->report.method = c->method, a->report.order = c->order;
  a->report.column_colors = (int32_t)c->n_forward, a->report.row_colors = (int32_t)c->n_reverse;
  for (uint32_t i = 0; i < o->n; i++) {
    const sci_terms *terms = &a->terms[sci_number(&a->order, o->nodes[i])];
    for (size_t t = 0; t < terms->n; t++) {
      sci_term m = terms->data[t];
      int64_t r = first + m.elem;
      for (int32_t k = colored->ptr[r]; k < colored->ptr[r + 1]; k++) {
        if (!sci_keeps(a, m.row, colored->col[k])) continue;
        int64_t at = c->minus_ptr ? k : c->color[k] * width[c->reversed[k]] + c->at[k];
        sci_add_entry(a, m.row, colored->col[k], piece[c->reversed[k]], at, m.coef);
        a->report.compressed++;
      }
    }
    first += sci_type_of(cx, o->nodes[i])->size;
  }
}

/* Elements that a product computes, in about as many operations. 0, which rules out substitution: where they are few,
 * since straight-line code drops what nobody asks of a product, and where NaN matters, since substitution spreads it.
 */
static double product_cost(const sci_assembly *a) {
  static const double FEW = 4096;
  if (a->ad->strict_nan) return 0;
  double cost = 0;
  for (uint32_t k = 0; k < a->order.n; k++)
    if (a->active[k] && sci_node_at(a->ad->cx, a->order.ids[k])->op < SCI_OP_COUNT)
      cost += (double)sci_type_of(a->ad->cx, a->order.ids[k])->size;
  return cost <= FEW ? 0 : cost;
}

void sci_assemble_opaque(sci_assembly *a) {
  sc_context *cx = a->ad->cx;
  opaque o = find_opaque(a);
  if (!o.rows) return;
  if (is_whole_hessian(a, &o)) {
    sci_coloring c = sci_color_hessian(cx, o.rows, &(sc_coloring_options){.product_cost = product_cost(a)});
    add_opaque_entries(a, &o, &c, o.rows, multiply(a->ad, o.n, o.nodes, a->q->n_inputs, a->q->inputs, &c));
    return;
  }
  /* Only the rows that an entry needs something of. A product mixes whole rows, so these stay whole. */
  bool *needed = SCI_ZEROS(&cx->env.scratch, bool, o.n_rows);
  int64_t first = 0;
  for (uint32_t i = 0; i < o.n; i++) {
    const sci_terms *terms = &a->terms[sci_number(&a->order, o.nodes[i])];
    for (size_t t = 0; t < terms->n; t++)
      for (int64_t r = first + terms->data[t].elem, k = o.rows->ptr[r]; k < o.rows->ptr[r + 1]; k++)
        if (sci_keeps(a, terms->data[t].row, o.rows->col[k])) needed[r] = true;
    first += sci_type_of(cx, o.nodes[i])->size;
  }
  const sci_rows *rows = sci_rows_filter(cx, o.rows, needed, NULL, NULL);
  if (!rows->ptr[rows->n]) return;
  sci_coloring c = sci_color_jacobian(cx, rows, a->n_cols, &(sc_coloring_options){0});
  add_opaque_entries(a, &o, &c, rows, multiply(a->ad, o.n, o.nodes, a->q->n_inputs, a->q->inputs, &c));
}
