/* Owns matrix products: where their operands lie. Rows of a matrix-vector product are sums; with a matrix on the right
 * every element adds its terms in order (tiles.c). */
#include "lib/lower/matmul.h"

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

static sci_matrix as_matrix(sci_operand x, const sci_digits *d) {
  sci_matrix m = {.x = x, .offset = d->offset};
  if (d->n) m.col = d->d[d->n - 1].stride;
  if (d->n == 2) m.row = d->d[0].stride;
  return m;
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
  sci_product x = {.l = l, .m = t->rank == 2 ? t->shape[0] : 1, .k = k, .n = r->shape[1]};
  sci_digits d;
  sci_operand a = by_axes(l, left, &d);
  x.a = as_matrix(a, &d);
  sci_operand b = by_axes(l, right, &d);
  x.b = as_matrix(b, &d);
  sci_operand c = {SCI_NIL, sci_target(l, num, NULL)};
  d = sci_digits_of(c.place);
  sci_split_axes(&d, t->rank, t->shape);
  x.c = as_matrix(c, &d);
  sci_multiply(&x);
}
