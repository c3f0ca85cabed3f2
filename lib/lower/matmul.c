/* Owns matrix products: rows of a matrix-vector product are sums; with a matrix on the right every element adds its
 * terms in order. */
#include "lib/lower/state.h"

/* The operand with one digit per axis; copied when its axes are cut finer. */
static sci_operand by_axes(sci_lowering *l, uint32_t num, sci_digits *x) {
  const sci_type *t = sci_type_at(l, num);
  sci_operand a = sci_operand_of(l, num);
  *x = (sci_digits){0};
  if (!a.place) return a;
  *x = sci_digits_of(a.place);
  if (sci_split_axes(x, t->rank, t->shape)) return a;
  a.place = sci_contiguous(l, num);
  *x = sci_digits_of(a.place);
  sci_split_axes(x, t->rank, t->shape);
  return a;
}

static void multiply_by_vector(sci_lowering *l, uint32_t num) {
  uint32_t left = sci_arg_of(l, num, 0), right = sci_arg_of(l, num, 1);
  const sci_type *t = sci_type_at(l, left);
  bool is_matrix = t->rank == 2;
  int64_t rows = is_matrix ? t->shape[0] : 1, n = t->shape[t->rank - 1];
  sci_digits a, b;
  sci_sums sums = {.op = SCI_OP_add, .dtype = (sc_dtype)t->dtype, .n_terms = n, .n = 2};
  sums.x[0] = by_axes(l, left, &a);
  sums.x[1] = by_axes(l, right, &b);
  sums.term[0] = (sci_digits){.n = 1, .d = {{n, a.n ? a.d[a.n - 1].stride : 0}}};
  sums.term[1] = (sci_digits){.n = 1, .d = {{n, b.n ? b.d[0].stride : 0}}};
  sci_digits row = {.n = 1, .offset = a.offset, .d = {{rows, is_matrix && a.n ? a.d[0].stride : 0}}};
  sci_digits same = {.n = 1, .offset = b.offset, .d = {{rows, 0}}};
  if (sums.x[0].place) sums.x[0].place = sci_place_like(l, sums.x[0].place, &row);
  if (sums.x[1].place) sums.x[1].place = sci_place_like(l, sums.x[1].place, &same);
  const sci_place *to = rows > 1 ? sci_target(l, num, NULL) : NULL;
  sci_sums_fit(&sums, to);
  l->slots[num].val = sci_sum_terms(l, &sums, to);
}

/* One of the three matrices: element (i, j) is at offset + i * row + j * col. A vector is a single row. */
typedef struct matrix {
  sci_operand x;
  int64_t offset, row, col;
} matrix;

/* C = A B, (m, k) by (k, n). */
typedef struct product {
  sci_lowering *l;
  matrix a, b, c;
  int64_t m, k, n;
  sci_val row, col, term; /* the current indices */
} product;

static matrix as_matrix(sci_operand x, const sci_digits *d) {
  matrix m = {.x = x, .offset = d->offset};
  if (d->n) m.col = d->d[d->n - 1].stride;
  if (d->n == 2) m.row = d->d[0].stride;
  return m;
}

static sci_val element(product *x, const matrix *m, sci_val i, sci_val j) {
  sci_store *s = x->l->s;
  sci_val at = sci_idx_add(s, sci_val_int(s, m->offset), sci_idx_mul(s, j, m->col));
  return sci_idx_add(s, at, sci_idx_mul(s, i, m->row));
}

static sci_val read_at(product *x, sci_block_builder *out, const matrix *m, sci_val i, sci_val j) {
  return m->x.place ? sci_read(x->l, out, m->x.place, element(x, m, i, j), NULL) : m->x.val;
}

static sci_var index_var(product *x, uint32_t depth, sci_val *val) {
  sci_var v = sci_loop_var(x->l, depth);
  *val = sci_val_var(x->l->s, v);
  return v;
}

static void wrap(product *x, sci_block_builder *out, sci_loop_kind kind, sci_var var, int64_t start, int64_t stop,
                 sci_block_builder *body) {
  sci_emit(out, sci_loop_stmt(x->l->s, kind, var, start, stop, 1, sci_block_end(body, x->l->s)));
}

/* c[row, :] gets a * b[term, :], added to what is there unless it is the first term. */
static void add_row(product *x, sci_block_builder *out, bool first) {
  sci_store *s = x->l->s;
  sci_block_builder body;
  sci_val a = read_at(x, out, &x->a, x->row, x->term);
  sci_var j = index_var(x, 1, &x->col);
  sci_block_begin(&body, s);
  sci_val v = sci_val_op2(s, SCI_OP_mul, a, read_at(x, &body, &x->b, x->term, x->col));
  sci_val at = element(x, &x->c, x->row, x->col);
  if (!first) v = sci_val_op2(s, SCI_OP_add, sci_emit_load(&body, s, x->c.x.place->buf, at, NULL), v);
  sci_emit_store(&body, x->c.x.place->buf, at, v);
  wrap(x, out, SCI_LOOP_INDEPENDENT, j, 0, x->n, &body);
}

/* The innermost loop runs along rows of B and C. */
static void by_rows(product *x, sci_block_builder *out) {
  sci_store *s = x->l->s;
  sci_block_builder row, term;
  sci_var i = index_var(x, 0, &x->row);
  sci_block_begin(&row, s);
  x->term = sci_val_int(s, 0);
  add_row(x, &row, true);
  if (x->k > 1) {
    sci_var k = index_var(x, 2, &x->term);
    sci_block_begin(&term, s);
    add_row(x, &term, false);
    wrap(x, &row, SCI_LOOP_REDUCE, k, 1, x->k, &term);
  }
  wrap(x, out, SCI_LOOP_INDEPENDENT, i, 0, x->m, &row);
}

static matrix transposed(matrix m) {
  return (matrix){m.x, m.offset, m.col, m.row};
}

/* The innermost loop runs along columns of A and C: the transposed product by rows. */
static void by_columns(product *x, sci_block_builder *out) {
  product t = {.l = x->l, .a = transposed(x->b), .b = transposed(x->a), .c = transposed(x->c)};
  t.m = x->n;
  t.k = x->k;
  t.n = x->m;
  by_rows(&t, out);
}

/* Each element is summed in a name. */
static void by_elements(product *x, sci_block_builder *out) {
  sci_store *s = x->l->s;
  sci_block_builder row, col, term;
  sci_var i = index_var(x, 0, &x->row), j = index_var(x, 1, &x->col), k = index_var(x, 2, &x->term);
  sci_block_begin(&row, s);
  sci_block_begin(&col, s);
  sci_block_begin(&term, s);
  sc_dtype dtype = (sc_dtype)s->bufs[x->c.x.place->buf].dtype;
  sci_name acc = sci_emit_mutable(&col, s, sci_val_double(s, dtype, sci_is_float(dtype) ? -0.0 : 0), NULL);
  sci_val a = read_at(x, &term, &x->a, x->row, x->term);
  sci_val v = sci_val_op2(s, SCI_OP_mul, a, read_at(x, &term, &x->b, x->term, x->col));
  sci_emit_assign(&term, acc, sci_val_op2(s, SCI_OP_add, sci_val_name(s, acc), v));
  wrap(x, &col, SCI_LOOP_REDUCE, k, 0, x->k, &term);
  sci_emit_store(&col, x->c.x.place->buf, element(x, &x->c, x->row, x->col), sci_val_name(s, acc));
  wrap(x, &row, SCI_LOOP_INDEPENDENT, j, 0, x->n, &col);
  wrap(x, out, SCI_LOOP_INDEPENDENT, i, 0, x->m, &row);
}

void sci_lower_matmul(sci_lowering *l, uint32_t num) {
  uint32_t left = sci_arg_of(l, num, 0), right = sci_arg_of(l, num, 1);
  const sci_type *t = sci_type_at(l, num), *r = sci_type_at(l, right);
  int64_t k = r->shape[0];
  if (!k) {
    l->slots[num].val = sci_zero(l, (sc_dtype)t->dtype);
    return;
  }
  if (r->rank == 1) {
    multiply_by_vector(l, num);
    return;
  }
  product x = {.l = l, .m = t->rank == 2 ? t->shape[0] : 1, .k = k, .n = r->shape[1]};
  sci_digits d;
  sci_operand a = by_axes(l, left, &d);
  x.a = as_matrix(a, &d);
  sci_operand b = by_axes(l, right, &d);
  x.b = as_matrix(b, &d);
  sci_operand c = {SCI_NIL, sci_target(l, num, NULL)};
  d = sci_digits_of(c.place);
  sci_split_axes(&d, t->rank, t->shape);
  x.c = as_matrix(c, &d);
  bool rows = x.n > 1 && x.b.col == 1, columns = x.m > 1 && x.a.row == 1 && x.c.row == 1;
  if (rows || (!columns && x.n > 1 && x.b.row != 1))
    by_rows(&x, &l->top);
  else if (columns)
    by_columns(&x, &l->top);
  else
    by_elements(&x, &l->top);
}
