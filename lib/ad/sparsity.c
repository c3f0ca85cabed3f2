/* Owns structural dependence: one sweep over the graph, a union of rows per element. */
#include "lib/ad/sparsity.h"

#include <stdlib.h>

/* ---- building rows ---- */

typedef struct rows_builder {
  sc_context *cx;
  sci_arena *arena;
  int32_t *ptr;
  int64_t n;
  SCI_VEC(int32_t) col;
  size_t begin; /* of the row being built */
  uint32_t parts;
} rows_builder;

static rows_builder rows_begin(sc_context *cx, int64_t n) {
  rows_builder b = {.cx = cx, .arena = &cx->env.scratch};
  b.ptr = SCI_ARRAY(b.arena, int32_t, n + 1);
  b.ptr[0] = 0;
  return b;
}

static void row_add(rows_builder *b, const sci_rows *from, int64_t row) {
  if (!from) return;
  int32_t lo = from->ptr[row], hi = from->ptr[row + 1];
  if (lo == hi) return;
  size_t count = (size_t)(hi - lo), need = b->col.n + count;
  if (need > (size_t)SC_MAX_ELEMENTS)
    sci_fail(&b->cx->env, SC_ERR_OVERFLOW, "sparsity: more than %lld structural nonzeros", (long long)SC_MAX_ELEMENTS);
  while (b->col.cap < need) b->col.data = sci_vec_grow(b->arena, b->col.data, &b->col.cap, sizeof(int32_t));
  memcpy(b->col.data + b->col.n, from->col + lo, count * sizeof(int32_t));
  b->col.n = need;
  b->parts++;
}

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

static void row_end(rows_builder *b) {
  int32_t *row = b->col.data + b->begin;
  size_t n = b->col.n - b->begin;
  if (b->parts > 1) {
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) sorted = row[i - 1] < row[i];
    if (!sorted) {
      qsort(row, n, sizeof *row, by_value);
      size_t kept = 1;
      for (size_t i = 1; i < n; i++)
        if (row[i] != row[kept - 1]) row[kept++] = row[i];
      b->col.n = b->begin + kept;
    }
  }
  b->ptr[++b->n] = (int32_t)b->col.n;
  b->begin = b->col.n;
  b->parts = 0;
}

static const sci_rows *rows_finish(rows_builder *b) {
  if (!b->col.n) return NULL;
  sci_rows *r = SCI_NEW(b->arena, sci_rows);
  *r = (sci_rows){b->n, b->ptr, b->col.data};
  return r;
}

int64_t sci_rows_nnz(const sci_rows *a) {
  return a ? a->ptr[a->n] : 0;
}

const sci_rows *sci_rows_join(sc_context *cx, uint32_t n, const sci_rows *const *parts, const int64_t *sizes) {
  int64_t total = 0;
  for (uint32_t i = 0; i < n; i++) total += sizes[i];
  rows_builder b = rows_begin(cx, total);
  for (uint32_t i = 0; i < n; i++)
    for (int64_t r = 0; r < sizes[i]; r++) row_add(&b, parts[i], r), row_end(&b);
  return rows_finish(&b);
}

const sci_rows *sci_rows_transpose(sc_context *cx, const sci_rows *a, int64_t n_cols) {
  if (!a) return NULL;
  sci_arena *arena = &cx->env.scratch;
  int32_t *ptr = SCI_ZEROS(arena, int32_t, n_cols + 1), *col = SCI_ARRAY(arena, int32_t, a->ptr[a->n]);
  for (int32_t k = 0; k < a->ptr[a->n]; k++) ptr[a->col[k] + 1]++;
  for (int64_t c = 0; c < n_cols; c++) ptr[c + 1] += ptr[c];
  int32_t *at = SCI_ARRAY(arena, int32_t, n_cols);
  memcpy(at, ptr, (size_t)n_cols * sizeof *at);
  for (int64_t r = 0; r < a->n; r++)
    for (int32_t k = a->ptr[r]; k < a->ptr[r + 1]; k++) col[at[a->col[k]]++] = (int32_t)r;
  sci_rows *t = SCI_NEW(arena, sci_rows);
  *t = (sci_rows){n_cols, ptr, col};
  return t;
}

const sci_rows *sci_rows_filter(sc_context *cx, const sci_rows *a, const bool *row, const bool *nonzero,
                                int32_t *number) {
  sci_arena *scratch = &cx->env.scratch;
  int32_t *ptr = SCI_ARRAY(scratch, int32_t, a->n + 1), *col = SCI_ARRAY(scratch, int32_t, a->ptr[a->n]), n = 0;
  ptr[0] = 0;
  for (int64_t r = 0; r < a->n; r++) {
    for (int32_t k = a->ptr[r]; (!row || row[r]) && k < a->ptr[r + 1]; k++) {
      if (nonzero && !nonzero[k]) continue;
      if (number) number[k] = n;
      col[n++] = a->col[k];
    }
    ptr[r + 1] = n;
  }
  sci_rows *out = SCI_NEW(scratch, sci_rows);
  *out = (sci_rows){a->n, ptr, col};
  return out;
}

const sci_rows *sci_rows_of_pattern(sc_context *cx, const sc_pattern *p, int32_t **number) {
  sci_arena *scratch = &cx->env.scratch;
  sci_rows *rows = SCI_NEW(scratch, sci_rows);
  *number = SCI_ARRAY(scratch, int32_t, p->nnz);
  for (int64_t k = 0; k < p->nnz; k++) (*number)[k] = (int32_t)k;
  if (p->layout == SC_CSR) {
    *rows = (sci_rows){p->nrow, p->outer, p->inner};
    return rows;
  }
  int32_t *ptr = SCI_ZEROS(scratch, int32_t, p->nrow + 2), *col = SCI_ARRAY(scratch, int32_t, p->nnz);
  const int32_t *row = p->layout == SC_CSC ? p->inner : p->outer;
  for (int64_t k = 0; k < p->nnz; k++) ptr[row[k] + 2]++;
  for (int64_t r = 0; r < p->nrow; r++) ptr[r + 2] += ptr[r + 1];
  for (int64_t k = 0, c = 0; k < p->nnz; k++) {
    while (p->layout == SC_CSC && k == p->outer[c + 1]) c++;
    int32_t at = ptr[row[k] + 1]++;
    col[at] = p->layout == SC_CSC ? (int32_t)c : p->inner[k];
    (*number)[k] = at;
  }
  *rows = (sci_rows){p->nrow, ptr, col};
  return rows;
}

const int32_t *sci_rows_mirrors(sc_context *cx, const sci_rows *rows) {
  int32_t nnz = rows->ptr[rows->n], *mirror = SCI_ARRAY(&cx->env.scratch, int32_t, nnz);
  int32_t *at = SCI_ARRAY(&cx->env.scratch, int32_t, rows->n);
  for (int64_t r = 0; r < rows->n; r++) at[r] = rows->ptr[r];
  for (int64_t r = 0; r < rows->n; r++)
    for (int32_t k = rows->ptr[r]; k < rows->ptr[r + 1]; k++) {
      int32_t c = rows->col[k];
      bool found = at[c] < rows->ptr[c + 1] && rows->col[at[c]] == r;
      mirror[k] = found ? at[c]++ : -1;
    }
  return mirror;
}

/* ---- operations that only move elements ---- */

/* Walks the result's elements row-major while following strides in the operand. */
static int32_t *strided_map(sc_context *cx, int rank, const int64_t *count, int64_t start, const int64_t *stride) {
  int64_t n = 1, at[SC_MAX_RANK] = {0};
  for (int k = 0; k < rank; k++) n *= count[k];
  int32_t *map = SCI_ARRAY(&cx->env.scratch, int32_t, n);
  for (int64_t i = 0; i < n; i++) {
    map[i] = (int32_t)start;
    for (int k = rank - 1; k >= 0; k--) {
      start += stride[k];
      if (++at[k] < count[k]) break;
      start -= stride[k] * count[k];
      at[k] = 0;
    }
  }
  return map;
}

const int32_t *sci_element_map(sc_context *cx, sci_id node) {
  const sci_node *n = sci_node_at(cx, node);
  if (n->n_args != 1) return NULL;
  sci_shape out = sci_shape_of(cx, node), in = sci_shape_of(cx, n->args[0]);
  int64_t in_stride[SC_MAX_RANK], stride[SC_MAX_RANK] = {0}, count[SC_MAX_RANK] = {0}, start = 0, step = 1;
  for (int k = in.rank - 1; k >= 0; step *= in.dim[k], k--) in_stride[k] = step;
  switch ((int)n->op) {
  case SCI_X_reshape: step = 1; return strided_map(cx, 1, &cx->types[n->type].size, 0, &step);
  case SCI_X_gather: return sci_attr(cx, node);
  case SCI_X_transpose:
    for (int k = 0; k < out.rank; k++) stride[k] = in_stride[n->attr >> 4 * k & 15];
    return strided_map(cx, out.rank, out.dim, 0, stride);
  case SCI_X_broadcast:
    for (int k = 0; k < in.rank; k++) stride[out.rank - in.rank + k] = in.dim[k] == 1 ? 0 : in_stride[k];
    return strided_map(cx, out.rank, out.dim, 0, stride);
  case SCI_X_slice: {
    const sci_slice_axis *axes = sci_attr(cx, node);
    for (int k = 0; k < in.rank; k++) {
      start += axes[k].start * in_stride[k];
      stride[k] = axes[k].step * in_stride[k];
      count[k] = axes[k].count;
    }
    return strided_map(cx, in.rank, count, start, stride);
  }
  default: return NULL;
  }
}

const int32_t *sci_reduction_map(sc_context *cx, const sci_node *n) {
  sci_shape s = sci_shape_of(cx, n->args[0]);
  int64_t in_stride[SC_MAX_RANK], count[SC_MAX_RANK], stride[SC_MAX_RANK], step = 1;
  for (int k = s.rank - 1; k >= 0; step *= s.dim[k], k--) in_stride[k] = step;
  int rank = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < s.rank; k++)
      if ((int)(n->attr >> k & 1) == pass) count[rank] = s.dim[k], stride[rank++] = in_stride[k];
  return strided_map(cx, rank, count, 0, stride);
}

sci_writers sci_writers_of(sc_context *cx, sci_id node) {
  const sci_node *n = sci_node_at(cx, node);
  const int32_t *table = sci_attr(cx, node);
  int64_t size = sci_type_of(cx, node)->size, count = sci_type_of(cx, n->args[n->op == SCI_X_scatter ? 0 : 1])->size;
  sci_writers w = {SCI_ARRAY(&cx->env.scratch, int32_t, size), SCI_ARRAY(&cx->env.scratch, int32_t, count)};
  for (int64_t e = 0; e < size; e++) w.first[e] = -1;
  for (int64_t k = count; k--;) w.next[k] = w.first[table[k]], w.first[table[k]] = (int32_t)k;
  return w;
}

sci_columns sci_columns_of(sc_context *cx, const sc_function *f, const bool *active) {
  sci_columns c = {0};
  for (uint32_t i = 0; i < f->n_in; i++) c.n += active[i] ? sci_type_of(cx, f->in[i].node)->size : 0;
  c.formal = SCI_ARRAY(&cx->env.scratch, uint32_t, c.n);
  c.element = SCI_ARRAY(&cx->env.scratch, int64_t, c.n);
  int64_t at = 0;
  for (uint32_t i = 0; i < f->n_in; i++)
    for (int64_t e = 0; active[i] && e < sci_type_of(cx, f->in[i].node)->size; e++)
      c.formal[at] = i, c.element[at++] = e;
  return c;
}

/* ---- one rule per family ---- */

typedef struct callee_rows {
  uint32_t key; /* blob: callee, active flags */
  const sci_rows **by_output;
} callee_rows;

typedef struct analysis {
  sc_context *cx;
  sci_order order;
  const sci_rows **rows;
  void *callees; /* a callee_list, shared with the analyses of callees */
} analysis;

typedef SCI_VEC(callee_rows) callee_list;

static const sci_rows *arg_rows(const analysis *a, const sci_id *args, uint32_t i) {
  return a->rows[sci_number(&a->order, args[i])];
}

static const sci_rows *elementwise_rows(analysis *a, sci_id node, const sci_node *n, const sci_id *args) {
  const sci_rows *distinct[3];
  uint32_t count = 0, from = n->op == SCI_OP_select;
  for (uint32_t i = from; i < n->n_args; i++) {
    const sci_rows *r = arg_rows(a, args, i);
    bool known = !r;
    for (uint32_t k = 0; k < count; k++) known |= distinct[k] == r;
    if (!known) distinct[count++] = r;
  }
  if (count <= 1) return count ? distinct[0] : NULL;
  int64_t size = sci_type_of(a->cx, node)->size;
  rows_builder b = rows_begin(a->cx, size);
  for (int64_t r = 0; r < size; r++) {
    for (uint32_t k = 0; k < count; k++) row_add(&b, distinct[k], r);
    row_end(&b);
  }
  return rows_finish(&b);
}

static const sci_rows *moved_rows(analysis *a, sci_id node, const sci_rows *from) {
  if (!from) return NULL;
  const int32_t *map = sci_element_map(a->cx, node);
  int64_t size = sci_type_of(a->cx, node)->size;
  rows_builder b = rows_begin(a->cx, size);
  for (int64_t r = 0; r < size; r++) row_add(&b, from, map[r]), row_end(&b);
  return rows_finish(&b);
}

static const sci_rows *reduced_rows(analysis *a, sci_id node, const sci_node *n, const sci_rows *from) {
  if (!from) return NULL;
  const int32_t *map = sci_reduction_map(a->cx, n);
  int64_t size = sci_type_of(a->cx, node)->size, total = sci_type_of(a->cx, n->args[0])->size,
          terms = size ? total / size : 0;
  rows_builder b = rows_begin(a->cx, size);
  for (int64_t r = 0; r < size; r++) {
    for (int64_t k = 0; k < terms; k++) row_add(&b, from, map[r * terms + k]);
    row_end(&b);
  }
  return rows_finish(&b);
}

static const sci_rows *joined_rows(analysis *a, sci_id node, const sci_node *n, const sci_id *args) {
  sci_shape s = sci_shape_of(a->cx, node);
  int axis = (int)n->attr;
  int64_t outer = 1, inner = 1;
  for (int k = 0; k < axis; k++) outer *= s.dim[k];
  for (int k = axis + 1; k < s.rank; k++) inner *= s.dim[k];
  rows_builder b = rows_begin(a->cx, sci_type_of(a->cx, node)->size);
  for (int64_t o = 0; o < outer; o++)
    for (uint32_t i = 0; i < n->n_args; i++) {
      int64_t own = (n->op == SCI_X_stack ? 1 : sci_type_of(a->cx, args[i])->shape[axis]) * inner;
      for (int64_t k = 0; k < own; k++) row_add(&b, arg_rows(a, args, i), o * own + k), row_end(&b);
    }
  return rows_finish(&b);
}

/* scatter, index_add, index_set: who writes each element, in order (index_set: the last one only). */
static const sci_rows *indexed_rows(analysis *a, sci_id node, const sci_node *n, const sci_id *args) {
  bool scatter = n->op == SCI_X_scatter, set = n->op == SCI_X_index_set;
  const sci_rows *base = scatter ? NULL : arg_rows(a, args, 0), *values = arg_rows(a, args, scatter ? 0 : 1);
  int64_t size = sci_type_of(a->cx, node)->size;
  sci_writers w = sci_writers_of(a->cx, node);
  rows_builder b = rows_begin(a->cx, size);
  for (int64_t r = 0; r < size; r++) {
    if (!set || w.first[r] < 0) row_add(&b, base, r);
    for (int32_t k = w.first[r]; k >= 0; k = w.next[k])
      if (!set || w.next[k] < 0) row_add(&b, values, k);
    row_end(&b);
  }
  return rows_finish(&b);
}

static const sci_rows *matmul_rows(analysis *a, sci_id node, const sci_id *args) {
  const sci_rows *x = arg_rows(a, args, 0), *y = arg_rows(a, args, 1);
  const sci_type *ta = sci_type_of(a->cx, args[0]), *tb = sci_type_of(a->cx, args[1]);
  int64_t m = ta->rank == 2 ? ta->shape[0] : 1, depth = tb->shape[0], n = tb->rank == 2 ? tb->shape[1] : 1;
  rows_builder b = rows_begin(a->cx, sci_type_of(a->cx, node)->size);
  /* The union of a row of x, and of a column of y, serves every element they meet in. */
  rows_builder left = rows_begin(a->cx, m), right = rows_begin(a->cx, n);
  for (int64_t i = 0; i < m; i++, row_end(&left))
    for (int64_t k = 0; k < depth; k++) row_add(&left, x, i * depth + k);
  for (int64_t j = 0; j < n; j++, row_end(&right))
    for (int64_t k = 0; k < depth; k++) row_add(&right, y, k * n + j);
  const sci_rows *l = rows_finish(&left), *r = rows_finish(&right);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) row_add(&b, l, i), row_add(&b, r, j), row_end(&b);
  return rows_finish(&b);
}

static const sci_rows **function_rows(sc_context *cx, sc_function *f, const bool *active, void *callees);

/* Rows of one output of a callee, its columns replaced by what the operands' elements depend on. */
static const sci_rows *call_rows(analysis *a, sci_id node, const sci_node *n, const sci_id *args) {
  sc_context *cx = a->cx;
  sci_arena *arena = &cx->env.scratch;
  const sci_call_attr *attr = sci_attr(cx, node);
  sc_function *f = cx->functions[attr->callee];
  bool *active = SCI_ZEROS(arena, bool, n->n_args), map = n->op == SCI_X_vmap;
  for (uint32_t i = 0; i < n->n_args; i++) active[i] = arg_rows(a, args, i) && sci_type_of(cx, f->in[i].node)->diff;
  const sci_rows *own = function_rows(cx, f, active, a->callees)[attr->output];
  if (!own) return NULL;
  sci_columns columns = sci_columns_of(cx, f, active);
  int64_t length = map ? attr->length : 1;
  rows_builder b = rows_begin(cx, sci_type_of(cx, node)->size);
  for (int64_t it = 0; it < length; it++)
    for (int64_t r = 0; r < own->n; r++) {
      for (int32_t k = own->ptr[r]; k < own->ptr[r + 1]; k++) {
        uint32_t i = columns.formal[own->col[k]];
        int64_t window = map ? attr->windows[i] + it * attr->windows[n->n_args + i] : 0;
        row_add(&b, arg_rows(a, args, i), window + columns.element[own->col[k]]);
      }
      row_end(&b);
    }
  return rows_finish(&b);
}

static const sci_rows *node_rows(analysis *a, sci_id id, const sci_node *n, const sci_id *args) {
  switch ((int)n->op) {
  case SCI_X_reshape: return arg_rows(a, args, 0);
  case SCI_X_transpose:
  case SCI_X_slice:
  case SCI_X_broadcast:
  case SCI_X_gather: return moved_rows(a, id, arg_rows(a, args, 0));
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: return reduced_rows(a, id, n, arg_rows(a, args, 0));
  case SCI_X_scatter:
  case SCI_X_index_add:
  case SCI_X_index_set: return indexed_rows(a, id, n, args);
  case SCI_X_stack:
  case SCI_X_concat: return joined_rows(a, id, n, args);
  case SCI_X_matmul: return matmul_rows(a, id, args);
  case SCI_X_call:
  case SCI_X_vmap: return call_rows(a, id, n, args);
  default: return elementwise_rows(a, id, n, args);
  }
}

/* ---- the sweep ---- */

static void sweep(analysis *a, uint32_t n_inputs, const sci_id *inputs, uint32_t n_blocked, const sci_id *blocked) {
  sc_context *cx = a->cx;
  sci_arena *arena = &cx->env.scratch;
  bool *active = SCI_ZEROS(arena, bool, a->order.n), *stop = SCI_ZEROS(arena, bool, a->order.n);
  a->rows = SCI_ZEROS(arena, const sci_rows *, a->order.n);
  int64_t column = 0;
  for (uint32_t i = 0; i < n_inputs; i++) {
    int64_t size = sci_type_of(cx, inputs[i])->size;
    uint32_t k = sci_number(&a->order, inputs[i]);
    if (k != SCI_NONE) {
      rows_builder b = rows_begin(cx, size);
      int32_t one_row[] = {0, 1}, col;
      for (int64_t r = 0; r < size; r++) {
        col = (int32_t)(column + r);
        sci_rows single = {1, one_row, &col};
        row_add(&b, &single, 0), row_end(&b);
      }
      a->rows[k] = rows_finish(&b);
      active[k] = true;
    }
    column += size;
    if (column > SC_MAX_ELEMENTS)
      sci_fail(&cx->env, SC_ERR_OVERFLOW, "sparsity: more than %lld columns", (long long)SC_MAX_ELEMENTS);
  }
  for (uint32_t i = 0; i < n_blocked; i++) {
    uint32_t k = sci_number(&a->order, blocked[i]);
    if (k != SCI_NONE) stop[k] = true;
  }
  for (uint32_t k = 0; k < a->order.n; k++) {
    sci_id id = a->order.ids[k];
    const sci_node *n = sci_node_at(cx, id);
    if (!n->n_args || stop[k] || active[k] || !cx->types[n->type].diff) continue;
    if (n->op < SCI_OP_COUNT && !sci_op_has_partials((sci_op)n->op)) continue;
    a->rows[k] = node_rows(a, id, n, sci_args(cx, n));
  }
}

static const sci_rows **custom_rows(sc_context *cx, sc_function *f, const bool *active, void *callees);

static const sci_rows **function_rows(sc_context *cx, sc_function *f, const bool *active, void *callees) {
  sci_arena *arena = &cx->env.scratch;
  callee_list *list = callees;
  struct {
    uint32_t callee;
    bool active[];
  } *key = sci_alloc_zero(arena, 1, sizeof *key + f->n_in);
  key->callee = f->id;
  memcpy(key->active, active, f->n_in);
  uint32_t blob = sci_intern_blob(cx, key, sizeof *key + f->n_in);
  for (size_t i = 0; i < list->n; i++)
    if (list->data[i].key == blob) return list->data[i].by_output;
  if (sci_is_custom(f)) {
    const sci_rows **rows = custom_rows(cx, f, active, callees);
    sci_vec_push(arena, list, (callee_rows){blob, rows});
    return rows;
  }
  sci_id *roots = SCI_ARRAY(arena, sci_id, f->n_out), *inputs = SCI_ARRAY(arena, sci_id, f->n_in);
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->n_out; i++) roots[i] = f->out[i].node;
  for (uint32_t i = 0; i < f->n_in; i++)
    if (active[i]) inputs[n++] = f->in[i].node;
  analysis a = {.cx = cx, .order = sci_reach(cx, roots, f->n_out), .callees = callees};
  sweep(&a, n, inputs, 0, NULL);
  const sci_rows **by_output = SCI_ARRAY(arena, const sci_rows *, f->n_out);
  for (uint32_t i = 0; i < f->n_out; i++) by_output[i] = a.rows[sci_number(&a.order, roots[i])];
  sci_vec_push(arena, list, (callee_rows){blob, by_output});
  return by_output;
}

/* The Jacobian of all float outputs by all differentiable inputs, as the function's own derivative has it: as stated,
 * or by what the products depend on. */
static const sci_rows *custom_jacobian(sc_context *cx, sc_function *f, const uint32_t *out, uint32_t n_out,
                                       void *callees) {
  sci_arena *arena = &cx->env.scratch;
  if (f->custom.pattern) {
    int32_t *number;
    return sci_rows_of_pattern(cx, f->custom.pattern, &number);
  }
  sc_function *g = f->custom.jvp ? f->custom.jvp : f->custom.vjp;
  bool *seeds = SCI_ZEROS(arena, bool, g->n_in);
  for (uint32_t i = f->n_in; i < g->n_in; i++) seeds[i] = true;
  const sci_rows **rows = function_rows(cx, g, seeds, callees);
  int64_t *sizes = SCI_ARRAY(arena, int64_t, g->n_out), n_rows = 0;
  for (uint32_t i = 0; i < g->n_out; i++) sizes[i] = sci_type_of(cx, g->out[i].node)->size;
  for (uint32_t i = 0; i < n_out; i++) n_rows += sci_type_of(cx, f->out[out[i]].node)->size;
  const sci_rows *all = sci_rows_join(cx, g->n_out, rows, sizes);
  return f->custom.jvp ? all : sci_rows_transpose(cx, all, n_rows);
}

/* Of that Jacobian: the columns of the active inputs, by output. */
static const sci_rows **custom_rows(sc_context *cx, sc_function *f, const bool *active, void *callees) {
  sci_arena *arena = &cx->env.scratch;
  uint32_t *in = SCI_ARRAY(arena, uint32_t, f->n_in), *out = SCI_ARRAY(arena, uint32_t, f->n_out);
  uint32_t n_in = sci_tangent_inputs(f, in), n_out = sci_tangent_outputs(f, out);
  const sci_rows *all = custom_jacobian(cx, f, out, n_out, callees);
  const sci_rows **by_output = SCI_ZEROS(arena, const sci_rows *, f->n_out);
  if (!all) return by_output;
  int64_t n_cols = 0, row = 0;
  for (uint32_t i = 0; i < n_in; i++) n_cols += sci_type_of(cx, f->in[in[i]].node)->size;
  int32_t *column = SCI_ARRAY(arena, int32_t, n_cols), next = 0;
  for (int64_t i = 0, c = 0; i < n_in; i++)
    for (int64_t e = 0; e < sci_type_of(cx, f->in[in[i]].node)->size; e++) column[c++] = active[in[i]] ? next++ : -1;
  int32_t one_row[] = {0, 1};
  for (uint32_t i = 0; i < n_out; i++) {
    int64_t size = sci_type_of(cx, f->out[out[i]].node)->size;
    rows_builder b = rows_begin(cx, size);
    for (int64_t r = 0; r < size; r++, row++) {
      for (int32_t k = all->ptr[row]; k < all->ptr[row + 1]; k++)
        if (column[all->col[k]] >= 0) row_add(&b, &(sci_rows){1, one_row, &column[all->col[k]]}, 0);
      row_end(&b);
    }
    by_output[out[i]] = rows_finish(&b);
  }
  return by_output;
}

sci_dependence sci_dependence_of(sc_context *cx, uint32_t n_roots, const sci_id *roots, uint32_t n_inputs,
                                 const sci_id *inputs, uint32_t n_blocked, const sci_id *blocked) {
  callee_list callees = {0};
  analysis a = {.cx = cx, .order = sci_reach(cx, roots, n_roots), .callees = &callees};
  sweep(&a, n_inputs, inputs, n_blocked, blocked);
  return (sci_dependence){a.order, a.rows};
}

const sci_rows *sci_dependence_rows(const sci_dependence *d, sci_id id) {
  uint32_t k = sci_number(&d->order, id);
  return k == SCI_NONE ? NULL : d->rows[k];
}
