/* Owns the derivatives of elementwise expressions of moved inputs: one elementwise value per cone and leaf. */
#include "lib/ad/jacobian.h"

#include <stdlib.h>

typedef struct cones {
  uint32_t n_roots, n_leaves;
  sci_id *roots, *leaves;
  sci_id *value; /* root by leaf; SCI_NONE: zero */
} cones;

static int by_id(const void *a, const void *b) {
  sci_id x = *(const sci_id *)a, y = *(const sci_id *)b;
  return x < y ? -1 : x > y;
}

/* The direct values that the cones rest on, in ascending order. */
static void find_leaves(sci_assembly *a, cones *c) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  bool *inside = SCI_ZEROS(scratch, bool, a->order.n), *leaf = SCI_ZEROS(scratch, bool, a->order.n);
  for (uint32_t i = 0; i < c->n_roots; i++) inside[sci_number(&a->order, c->roots[i])] = true;
  for (uint32_t k = a->order.n; k--;) {
    if (!inside[k]) continue;
    const sci_node *n = sci_node_at(cx, a->order.ids[k]);
    const sci_id *args = sci_args(cx, n);
    for (uint32_t i = 0; i < n->n_args; i++) {
      uint32_t j = sci_number(&a->order, args[i]);
      if (!a->active[j]) continue;
      if (a->kind[j] == SCI_KIND_DIRECT)
        leaf[j] = true;
      else
        inside[j] = true;
    }
  }
  SCI_VEC(sci_id) leaves = {0};
  for (uint32_t k = 0; k < a->order.n; k++)
    if (leaf[k]) sci_vec_push(scratch, &leaves, a->order.ids[k]);
  c->n_leaves = (uint32_t)leaves.n;
  c->leaves = leaves.data;
}

static sci_id ones_like(sc_context *cx, sci_id id) {
  sci_shape s = sci_shape_of(cx, id);
  return sci_make_fill(cx, (sc_dtype)sci_type_of(cx, id)->dtype, s.rank, s.dim, 1);
}

/* One forward sweep per leaf, for all roots. */
static sci_id *forward_values(const sci_ad *ad, const cones *c) {
  sci_arena *scratch = &ad->cx->env.scratch;
  sci_id *value = SCI_ARRAY(scratch, sci_id, (size_t)c->n_roots * c->n_leaves),
         *out = SCI_ARRAY(scratch, sci_id, c->n_roots);
  sci_id *seeds = SCI_ARRAY(scratch, sci_id, c->n_leaves);
  for (uint32_t l = 0; l < c->n_leaves; l++) seeds[l] = SCI_NONE;
  for (uint32_t l = 0; l < c->n_leaves; l++) {
    seeds[l] = ones_like(ad->cx, c->leaves[l]);
    sci_forward(ad, c->n_leaves, c->leaves, seeds, c->n_roots, c->roots, out);
    seeds[l] = SCI_NONE;
    for (uint32_t r = 0; r < c->n_roots; r++) value[(size_t)r * c->n_leaves + l] = out[r];
  }
  return value;
}

/* One reverse sweep per root, for all leaves: the adjoint of an elementwise expression is elementwise too. */
static sci_id *reverse_values(const sci_ad *ad, const cones *c) {
  sci_id *value = SCI_ARRAY(&ad->cx->env.scratch, sci_id, (size_t)c->n_roots * c->n_leaves);
  for (uint32_t r = 0; r < c->n_roots; r++) {
    sci_id seed = ones_like(ad->cx, c->roots[r]);
    sci_reverse(ad, 1, &c->roots[r], &seed, c->n_leaves, c->leaves, value + (size_t)r * c->n_leaves, NULL);
  }
  return value;
}

/* Elements computed by the nodes that the wanted values reach and the roots do not. */
static double cost_of(const sci_assembly *a, const cones *c, const sci_id *value, const bool *wanted) {
  sc_context *cx = a->ad->cx;
  SCI_VEC(sci_id) needed = {0};
  for (size_t i = 0; i < (size_t)c->n_roots * c->n_leaves; i++)
    if (wanted[i] && value[i] != SCI_NONE) sci_vec_push(&cx->env.scratch, &needed, value[i]);
  sci_order order = sci_reach(cx, needed.data, (uint32_t)needed.n);
  double cost = 0;
  for (uint32_t k = 0; k < order.n; k++) {
    unsigned op = sci_node_at(cx, order.ids[k])->op;
    if (op < SCI_OP_COUNT && sci_number(&a->order, order.ids[k]) == SCI_NONE)
      cost += (double)sci_type_of(cx, order.ids[k])->size;
  }
  return cost;
}

/* Trying both directions costs building both: only worth it, and only needed, below this many sweeps times nodes. */
static const double TRY_BOTH = 2e6;

static void choose(sci_assembly *a, cones *c, const bool *wanted) {
  double nodes = a->order.n, forward = nodes * c->n_leaves, reverse = nodes * c->n_roots;
  if (forward + reverse > TRY_BOTH) {
    c->value = forward <= reverse ? forward_values(a->ad, c) : reverse_values(a->ad, c);
    return;
  }
  sci_id *f = forward_values(a->ad, c), *r = reverse_values(a->ad, c);
  c->value = cost_of(a, c, f, wanted) <= cost_of(a, c, r, wanted) ? f : r;
}

/* Marks the pairs of root and leaf with an entry that is kept. */
static bool *wanted_pairs(const sci_assembly *a, const cones *c) {
  bool *wanted = SCI_ZEROS(&a->ad->cx->env.scratch, bool, (size_t)c->n_roots * c->n_leaves);
  for (uint32_t r = 0; r < c->n_roots; r++) {
    const sci_terms *terms = &a->terms[sci_number(&a->order, c->roots[r])];
    for (uint32_t l = 0; l < c->n_leaves; l++) {
      const int32_t *column = a->column[sci_number(&a->order, c->leaves[l])];
      for (size_t t = 0; t < terms->n && !wanted[(size_t)r * c->n_leaves + l]; t++)
        if (sci_type_of(a->ad->cx, c->leaves[l])->size > terms->data[t].elem)
          wanted[(size_t)r * c->n_leaves + l] = sci_keeps(a, terms->data[t].row, column[terms->data[t].elem]);
    }
  }
  return wanted;
}

static void add_cone_entries(sci_assembly *a, const cones *c) {
  for (uint32_t r = 0; r < c->n_roots; r++) {
    const sci_terms *terms = &a->terms[sci_number(&a->order, c->roots[r])];
    for (uint32_t l = 0; l < c->n_leaves; l++) {
      sci_id value = c->value[(size_t)r * c->n_leaves + l];
      const int32_t *column = a->column[sci_number(&a->order, c->leaves[l])];
      if (value == SCI_NONE) continue;
      int32_t piece = -1;
      for (size_t t = 0; t < terms->n; t++) {
        sci_term m = terms->data[t];
        if (!sci_keeps(a, m.row, column[m.elem])) continue;
        if (piece < 0) piece = sci_add_piece(a, value, 0);
        sci_add_entry(a, m.row, column[m.elem], piece, m.elem, m.coef);
      }
    }
  }
}

void sci_assemble_cones(sci_assembly *a) {
  sc_context *cx = a->ad->cx;
  SCI_VEC(sci_id) roots = {0};
  for (uint32_t k = 0; k < a->order.n; k++)
    if (a->kind[k] == SCI_KIND_CONE && a->terms[k].n) sci_vec_push(&cx->env.scratch, &roots, a->order.ids[k]);
  if (!roots.n) return;
  qsort(roots.data, roots.n, sizeof *roots.data, by_id);
  cones c = {.n_roots = (uint32_t)roots.n, .roots = roots.data};
  find_leaves(a, &c);
  if (!c.n_leaves) return;
  choose(a, &c, wanted_pairs(a, &c));
  add_cone_entries(a, &c);
}
