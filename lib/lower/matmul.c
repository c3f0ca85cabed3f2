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

/* C = A B: values and strides of the operands, by row and column. */
typedef struct product {
  sci_lowering *l;
  sci_operand a, b, c;
  int64_t m, k, n;
  sci_digits da, db, dc;
  sci_val row, col, term; /* the current indices */
} product;

/* Element (i, j) of digits by axes; a vector is a single row. */
static sci_val element(product *x, const sci_digits *d, sci_val i, sci_val j) {
  sci_store *s = x->l->s;
  sci_val at = sci_idx_add(s, sci_val_int(s, d->offset), sci_idx_mul(s, j, d->d[d->n - 1].stride));
  return d->n == 1 ? at : sci_idx_add(s, at, sci_idx_mul(s, i, d->d[0].stride));
}

static sci_val read_at(product *x, sci_block_builder *out, const sci_operand *from, const sci_digits *d, sci_val i,
                       sci_val j) {
  if (!from->place) return from->val;
  return sci_read(x->l, out, from->place, element(x, d, i, j), NULL);
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
  sci_val a = read_at(x, out, &x->a, &x->da, x->row, x->term);
  sci_var j = index_var(x, 1, &x->col);
  sci_block_begin(&body, s);
  sci_val v = sci_val_op2(s, SCI_OP_mul, a, read_at(x, &body, &x->b, &x->db, x->term, x->col));
  sci_val at = element(x, &x->dc, x->row, x->col);
  if (!first) v = sci_val_op2(s, SCI_OP_add, sci_emit_load(&body, s, x->c.place->buf, at, NULL), v);
  sci_emit_store(&body, x->c.place->buf, at, v);
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

/* Each element is summed in a name: for columns of B that are contiguous, or a single column. */
static void by_elements(product *x, sci_block_builder *out) {
  sci_store *s = x->l->s;
  sci_block_builder row, col, term;
  sci_var i = index_var(x, 0, &x->row), j = index_var(x, 1, &x->col), k = index_var(x, 2, &x->term);
  sci_block_begin(&row, s);
  sci_block_begin(&col, s);
  sci_block_begin(&term, s);
  sc_dtype dtype = (sc_dtype)s->bufs[x->c.place->buf].dtype;
  sci_name acc = sci_emit_mutable(&col, s, sci_val_double(s, dtype, sci_is_float(dtype) ? -0.0 : 0), NULL);
  sci_val a = read_at(x, &term, &x->a, &x->da, x->row, x->term);
  sci_val v = sci_val_op2(s, SCI_OP_mul, a, read_at(x, &term, &x->b, &x->db, x->term, x->col));
  sci_emit_assign(&term, acc, sci_val_op2(s, SCI_OP_add, sci_val_name(s, acc), v));
  wrap(x, &col, SCI_LOOP_REDUCE, k, 0, x->k, &term);
  sci_emit_store(&col, x->c.place->buf, element(x, &x->dc, x->row, x->col), sci_val_name(s, acc));
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
  x.a = by_axes(l, left, &x.da);
  x.b = by_axes(l, right, &x.db);
  x.c = (sci_operand){SCI_NIL, sci_target(l, num, NULL)};
  x.dc = sci_digits_of(x.c.place);
  sci_split_axes(&x.dc, t->rank, t->shape);
  if (x.n > 1 && (!x.b.place || x.db.d[1].stride == 1 || x.db.d[0].stride != 1))
    by_rows(&x, &l->top);
  else
    by_elements(&x, &l->top);
}
