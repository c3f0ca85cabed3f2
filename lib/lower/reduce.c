/* Owns sum, max and min over axes. */
#include "lib/lower/state.h"

/* Sorts the digits of a place by axis into those kept and those summed over. */
static bool sort_digits(sci_lowering *l, const sci_place *p, const sci_type *t, uint32_t mask, sci_sums *sums) {
  sci_digits x = sci_digits_of(p), kept = {.offset = p->offset}, *term = &sums->term[0];
  uint32_t first[SC_MAX_RANK + 1];
  if (!sci_split_shape(&x, t->rank, t->shape, first)) return false;
  *term = (sci_digits){0};
  for (int k = 0; k < t->rank; k++) {
    sci_digits *to = mask >> k & 1 ? term : &kept;
    for (uint32_t i = first[k]; i < first[k + 1]; i++) to->d[to->n++] = x.d[i];
  }
  sums->x[0].place = sci_place_like(l, p, &kept);
  return true;
}

/* A copy of the operand whose summed axes come last, seen as the operand is. */
static const sci_place *copy_sorted(sci_lowering *l, uint32_t from, uint32_t mask) {
  const sci_type *t = sci_type_at(l, from);
  int order[SC_MAX_RANK], inverse[SC_MAX_RANK], n = 0;
  int64_t shape[SC_MAX_RANK];
  for (uint32_t summed = 0; summed < 2; summed++)
    for (int k = 0; k < t->rank; k++)
      if ((mask >> k & 1) == summed) order[n++] = k;
  for (int k = 0; k < n; k++) {
    shape[k] = t->shape[order[k]];
    inverse[order[k]] = k;
  }
  sci_buf b = sci_private(l, (sc_dtype)t->dtype, t->size, NULL);
  const sci_place *p = sci_place_transpose(l, sci_place_whole(l, b, t->size), n, shape, inverse);
  sci_copy(l, sci_operand_of(l, from), p);
  return p;
}

static void reduce(sci_lowering *l, uint32_t num, sci_op op) {
  uint32_t from = sci_arg_of(l, num, 0), mask = sci_node_of(l, num)->attr;
  const sci_type *t = sci_type_at(l, from);
  int64_t size = sci_type_at(l, num)->size;
  if (!t->size) {
    l->slots[num].val = sci_zero(l, (sc_dtype)t->dtype);
    return;
  }
  sci_sums sums = {
      .op = op, .dtype = (sc_dtype)t->dtype, .n_terms = t->size / size, .n = 1, .x = {sci_operand_of(l, from)}};
  if (!sums.x[0].place) { /* equal terms: one sum serves every element */
    sums.term[0] = (sci_digits){.n = 1, .d = {{sums.n_terms, 0}}};
    sci_sums_fit(&sums, NULL);
    l->slots[num].val = sci_sum_terms(l, &sums, NULL);
    return;
  }
  const sci_place *to = size > 1 ? sci_target(l, num, NULL) : NULL, *p = sums.x[0].place;
  if (!sort_digits(l, p, t, mask, &sums) || !sci_sums_fit(&sums, to)) {
    sort_digits(l, copy_sorted(l, from, mask), t, mask, &sums);
    sci_sums_fit(&sums, to);
  }
  if (to) l->label = l->s->bufs[to->buf].hint;
  l->slots[num].val = sci_sum_terms(l, &sums, to);
}

void sci_lower_sum(sci_lowering *l, uint32_t num) {
  reduce(l, num, SCI_OP_add);
}

void sci_lower_max(sci_lowering *l, uint32_t num) {
  reduce(l, num, SCI_OP_maximum);
}

void sci_lower_min(sci_lowering *l, uint32_t num) {
  reduce(l, num, SCI_OP_minimum);
}
