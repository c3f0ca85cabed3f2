/* Owns the choice of what is differentiated element by element, and what its entries become in the assembly. */
#include "lib/ad/eliminate.h"

enum { FEW_OPERATIONS = 256, MANY_OPERATIONS = 8192, ELEMENTS = 16, MOST_CELLS = 1 << 16 };

/* Structure gives no answer for some of it. */
static bool has_opaque(const sci_assembly *a) {
  for (uint32_t k = 0; k < a->order.n; k++)
    if (a->kind[k] == SCI_KIND_OPAQUE && a->terms[k].n) return true;
  return false;
}

/* Rows or columns of the matrix as scalars: the elements of n nodes behind each other. */
static sci_id *flattened(sc_context *cx, uint32_t n, const sci_id *nodes, sci_id *const *elements, uint32_t *total) {
  *total = 0;
  for (uint32_t i = 0; i < n; i++) *total += (uint32_t)sci_type_of(cx, nodes[i])->size;
  sci_id *out = SCI_ARRAY(&cx->env.scratch, sci_id, *total), *at = out;
  for (uint32_t i = 0; i < n; i++) {
    int64_t size = sci_type_of(cx, nodes[i])->size;
    if (size) memcpy(at, elements[i], (size_t)size * sizeof *at);
    at += size;
  }
  return out;
}

static sci_id *expand(const sci_assembly *a, uint32_t n, const sci_id *nodes, uint32_t *total) {
  sc_context *cx = a->ad->cx;
  bool always = a->q->scalars == SCI_SCALARS_ALWAYS;
  int64_t operations = always ? MANY_OPERATIONS : FEW_OPERATIONS;
  sci_budget budget = {operations, operations * ELEMENTS, always};
  sci_id **elements = SCI_ARRAY(&cx->env.scratch, sci_id *, n);
  if (!sci_expand_scalars(cx, budget, n, nodes, elements)) return NULL;
  return flattened(cx, n, nodes, elements, total);
}

/* The structural nonzeros that are asked for; NULL: none. */
static bool *kept_cells(const sci_assembly *a) {
  sc_context *cx = a->ad->cx;
  const sci_jacobian_request *q = a->q;
  bool *kept = SCI_ZEROS(&cx->env.scratch, bool, a->n_rows * a->n_cols);
  sci_dependence d = sci_dependence_of(cx, q->n_roots, q->roots, q->n_inputs, q->inputs, 0, NULL);
  int32_t row = 0;
  for (uint32_t i = 0; i < q->n_roots; i++) {
    const sci_rows *rows = sci_dependence_rows(&d, q->roots[i]);
    int64_t size = sci_type_of(cx, q->roots[i])->size;
    for (int64_t r = 0; r < size; r++, row++)
      for (int32_t k = rows ? rows->ptr[r] : 0; rows && k < rows->ptr[r + 1]; k++)
        kept[row * a->n_cols + rows->col[k]] = sci_keeps(a, row, rows->col[k]);
  }
  return kept;
}

static sci_weight *weights_of(const sci_assembly *a, const bool *kept, sci_partial_graph *g) {
  const sci_jacobian_request *q = a->q;
  uint32_t n, n_seeds;
  const sci_id *roots = q->symmetric ? expand(a, q->n_of, q->of, &n) : expand(a, q->n_roots, q->roots, &n);
  const sci_id *seeds = q->symmetric && roots ? expand(a, q->n_of, q->seeds, &n_seeds) : NULL;
  if (!roots || !n || (q->symmetric && !seeds)) return NULL;
  for (uint32_t r = 1; r < n; r++)
    if (sci_type_of(a->ad->cx, roots[r])->dtype != sci_type_of(a->ad->cx, roots[0])->dtype) return NULL;
  if (!sci_partial_graph_of(a->ad, n, roots, q->n_inputs, q->inputs, q->symmetric, g)) return NULL;
  if (q->symmetric) return sci_push_edges(g, &(sci_push_request){n, roots, seeds, a->n_cols, kept});
  return sci_eliminate_vertices(g, n, roots, a->n_cols, kept);
}

/* Replaces the entries found so far. Numbers are entries of their own; the others are the elements of one piece. */
static void set_entries(sci_assembly *a, const bool *kept, const sci_partial_graph *g, const sci_weight *weights) {
  sc_context *cx = a->ad->cx;
  SCI_VEC(sci_id) values = {0};
  a->entries.n = a->pieces.n = 0;
  for (int32_t r = 0; r < a->n_rows; r++)
    for (int32_t c = 0; c < a->n_cols; c++) {
      if (!kept[r * a->n_cols + c]) continue;
      bool upper = a->q->symmetric && c > r;
      sci_weight w = weights[upper ? c * a->n_cols + r : r * a->n_cols + c];
      a->report.eliminated++;
      if (w.value == SCI_NONE && w.scale == SCI_NONE) {
        sci_add_entry(a, r, c, -1, 0, w.coef);
        continue;
      }
      sci_add_entry(a, r, c, 0, (int64_t)values.n, 1);
      sci_vec_push(&cx->env.scratch, &values, sci_weight_node(&g->weights, w));
    }
  if (values.n) sci_add_piece(a, sci_make_join(cx, SCI_X_stack, values.data, (uint32_t)values.n, 0), 0);
}

bool sci_assemble_scalars(sci_assembly *a) {
  const sci_jacobian_request *q = a->q;
  if (q->scalars == SCI_SCALARS_NEVER || a->ad->strict_nan || (q->symmetric && !q->n_of)) return false;
  if (!has_opaque(a) || a->n_rows * a->n_cols > MOST_CELLS) return false;
  bool *kept = kept_cells(a);
  sci_partial_graph g;
  const sci_weight *weights = weights_of(a, kept, &g);
  if (!weights) return false;
  set_entries(a, kept, &g, weights);
  return true;
}
