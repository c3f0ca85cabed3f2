/* Owns the derivatives of maps and calls of moved inputs: the callee's own Jacobian, built once, mapped or called. */
#include "lib/ad/jacobian.h"

#include <stdlib.h>

/* Sibling nodes: one callee on one set of operands, several outputs. */
typedef struct group {
  sci_id key;
  uint32_t n_nodes;
  const uint32_t *nodes; /* numbers, ascending */
} group;

typedef struct keyed {
  sci_id key;
  uint32_t number;
} keyed;

static int by_key(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* One site of the assembly and its callee's pattern over the outputs used and the formals that are active. */
typedef struct map_site {
  const sci_call_attr *attr;
  sc_function *f;
  bool mapped;
  int64_t length;
  uint32_t n_args;
  const sci_id *args;
  bool *active;         /* formals */
  uint32_t *node;       /* per output: number of its node, SCI_NONE: unused */
  int64_t *first_row;   /* per output: of its rows in the callee's Jacobian */
  sci_columns columns;  /* of the callee */
  const sci_rows *rows; /* callee's dependence, used outputs behind each other */
  int64_t n_rows;
} map_site;

static map_site site_of(sci_assembly *a, const group *g) {
  sc_context *cx = a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  sci_id id = a->order.ids[g->nodes[0]];
  const sci_node *n = sci_node_at(cx, id);
  map_site s = {.attr = sci_attr(cx, id), .mapped = n->op == SCI_X_vmap, .n_args = n->n_args, .args = sci_args(cx, n)};
  s.f = cx->functions[s.attr->callee];
  s.length = s.mapped ? s.attr->length : 1;
  s.active = SCI_ZEROS(scratch, bool, s.n_args);
  for (uint32_t i = 0; i < s.n_args; i++)
    s.active[i] = a->active[sci_number(&a->order, s.args[i])] && sci_type_of(cx, s.f->in[i].node)->diff;
  s.columns = sci_columns_of(cx, s.f, s.active);
  s.node = SCI_ARRAY(scratch, uint32_t, s.f->n_out);
  s.first_row = SCI_ARRAY(scratch, int64_t, s.f->n_out);
  for (uint32_t o = 0; o < s.f->n_out; o++) s.node[o] = SCI_NONE;
  for (uint32_t k = 0; k < g->n_nodes; k++)
    s.node[((const sci_call_attr *)sci_attr(cx, a->order.ids[g->nodes[k]]))->output] = g->nodes[k];
  for (uint32_t o = 0; o < s.f->n_out; o++) {
    s.first_row[o] = s.n_rows;
    if (s.node[o] != SCI_NONE) s.n_rows += sci_type_of(cx, s.f->out[o].node)->size;
  }
  return s;
}

/* The used outputs and active formals of the callee, as the roots and inputs of a Jacobian request. */
static sci_jacobian_request callee_request(sc_context *cx, const map_site *s) {
  sci_id *roots = SCI_ARRAY(&cx->env.scratch, sci_id, s->f->n_out),
         *inputs = SCI_ARRAY(&cx->env.scratch, sci_id, s->n_args);
  sci_jacobian_request q = {.roots = roots, .inputs = inputs};
  for (uint32_t o = 0; o < s->f->n_out; o++)
    if (s->node[o] != SCI_NONE) roots[q.n_roots++] = sci_root_of(cx, s->f, o);
  for (uint32_t i = 0; i < s->n_args; i++)
    if (s->active[i]) inputs[q.n_inputs++] = s->f->in[i].node;
  return q;
}

static const sci_rows *callee_rows(sc_context *cx, const sci_jacobian_request *q) {
  sci_dependence d = sci_dependence_of(cx, q->n_roots, q->roots, q->n_inputs, q->inputs, 0, NULL);
  const sci_rows **parts = SCI_ARRAY(&cx->env.scratch, const sci_rows *, q->n_roots);
  int64_t *sizes = SCI_ARRAY(&cx->env.scratch, int64_t, q->n_roots);
  for (uint32_t i = 0; i < q->n_roots; i++) {
    parts[i] = sci_dependence_rows(&d, q->roots[i]);
    sizes[i] = sci_type_of(cx, q->roots[i])->size;
  }
  return sci_rows_join(cx, q->n_roots, parts, sizes);
}

/* Column of the whole Jacobian that callee column c is in iteration `it`; -1: none. */
static int32_t global_column(const sci_assembly *a, const map_site *s, int64_t it, int32_t c) {
  uint32_t i = s->columns.formal[c];
  int64_t window = s->mapped ? s->attr->windows[i] + it * s->attr->windows[s->n_args + i] : 0;
  return a->column[sci_number(&a->order, s->args[i])][window + s->columns.element[c]];
}

/* Whether the callee's Jacobian is symmetric here: the whole one is, and row r of the callee always stands for the
 * global row that column r stands for as a column (the callee is the adjoint of a function, its results the adjoints of
 * its operands). */
static bool is_symmetric(const sci_assembly *a, const map_site *s) {
  if (!a->q->symmetric || s->n_rows != s->columns.n) return false;
  for (uint32_t o = 0; o < s->f->n_out; o++) {
    if (s->node[o] == SCI_NONE) continue;
    int64_t size = sci_type_of(a->ad->cx, s->f->out[o].node)->size;
    const sci_terms *terms = &a->terms[s->node[o]];
    for (size_t t = 0; t < terms->n; t++) {
      sci_term m = terms->data[t];
      int32_t r = (int32_t)(s->first_row[o] + m.elem % size);
      if (m.coef != 1 || global_column(a, s, m.elem / size, r) != m.row) return false;
    }
  }
  return sci_is_gradient_of_inputs(a->ad->cx, s->f, s->active, s->node);
}

/* ---- entries ---- */

typedef struct use {
  int32_t row, col, it, nonzero;
  double coef;
} use;
typedef SCI_VEC(use) use_list;

static void collect_uses(sci_assembly *a, const map_site *s, bool symmetric, const int32_t *mirror, bool *needed,
                         use_list *uses) {
  for (uint32_t o = 0; o < s->f->n_out; o++) {
    if (s->node[o] == SCI_NONE) continue;
    int64_t size = sci_type_of(a->ad->cx, s->f->out[o].node)->size;
    const sci_terms *terms = &a->terms[s->node[o]];
    for (size_t t = 0; t < terms->n; t++) {
      sci_term m = terms->data[t];
      int64_t it = m.elem / size, r = s->first_row[o] + m.elem % size;
      for (int32_t k = s->rows->ptr[r]; k < s->rows->ptr[r + 1]; k++) {
        int32_t col = global_column(a, s, it, s->rows->col[k]);
        if (!sci_keeps(a, m.row, col)) continue;
        int32_t nz = symmetric && s->rows->col[k] > r ? mirror[k] : k;
        needed[nz] = true;
        sci_vec_push(&a->ad->cx->env.scratch, uses, (use){m.row, col, (int32_t)it, nz, m.coef});
      }
    }
  }
}

/* The values of the callee's Jacobian at every iteration: (length, nonzeros), flat. */
static sci_id site_values(sci_assembly *a, const map_site *s, const sci_jacobian_request *q) {
  sc_context *cx = a->ad->cx;
  bool *used = SCI_ZEROS(&cx->env.scratch, bool, s->f->n_out);
  for (uint32_t o = 0; o < s->f->n_out; o++) used[o] = s->node[o] != SCI_NONE;
  sc_function *jac = sci_callee_jacobian(a->ad, s->f, s->active, used, q);
  if (!s->mapped) return sci_make_call(cx, jac, s->args, s->n_args, 0);
  const int64_t *windows = s->attr->windows;
  return sci_make_vmap(cx, jac, s->length, s->args, s->n_args, windows, windows + s->n_args, 0);
}

static void assemble_group(sci_assembly *a, const group *g) {
  sc_context *cx = a->ad->cx;
  map_site s = site_of(a, g);
  sci_jacobian_request q = callee_request(cx, &s);
  s.rows = callee_rows(cx, &q);
  if (!s.rows) return;
  bool symmetric = is_symmetric(a, &s);
  const int32_t *mirror = symmetric ? sci_rows_mirrors(cx, s.rows) : NULL;
  for (int32_t k = 0; symmetric && k < s.rows->ptr[s.rows->n]; k++) symmetric = mirror[k] >= 0;
  bool *needed = SCI_ZEROS(&cx->env.scratch, bool, s.rows->ptr[s.rows->n]);
  use_list uses = {0};
  collect_uses(a, &s, symmetric, mirror, needed, &uses);
  if (!uses.n) return;
  int32_t *number = SCI_ARRAY(&cx->env.scratch, int32_t, sci_rows_nnz(s.rows));
  q.only = sci_rows_filter(cx, s.rows, NULL, needed, number);
  q.symmetric = symmetric;
  sci_id values = site_values(a, &s, &q);
  int64_t period = sci_rows_nnz(q.only);
  int32_t piece = sci_add_piece(a, values, s.mapped ? period : 0);
  for (size_t u = 0; u < uses.n; u++) {
    use x = uses.data[u];
    sci_add_entry(a, x.row, x.col, piece, x.it * period + number[x.nonzero], x.coef);
  }
}

void sci_assemble_maps(sci_assembly *a) {
  sci_arena *scratch = &a->ad->cx->env.scratch;
  SCI_VEC(keyed) sites = {0};
  for (uint32_t k = 0; k < a->order.n; k++)
    if (a->kind[k] == SCI_KIND_MAP && a->terms[k].n)
      sci_vec_push(scratch, &sites, (keyed){sci_sibling_key(a->ad->cx, a->order.ids[k]), k});
  if (sites.n) qsort(sites.data, sites.n, sizeof *sites.data, by_key);
  uint32_t *numbers = SCI_ARRAY(scratch, uint32_t, sites.n);
  for (size_t i = 0; i < sites.n; i++) numbers[i] = sites.data[i].number;
  for (size_t i = 0, first = 0; i < sites.n; i++) {
    if (i + 1 < sites.n && sites.data[i + 1].key == sites.data[first].key) continue;
    assemble_group(a, &(group){sites.data[first].key, (uint32_t)(i + 1 - first), numbers + first});
    first = i + 1;
  }
}
