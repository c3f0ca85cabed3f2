/* Owns linear combinations of tangents: adding them up, and the sum as a value. */
#include "lib/ad/combination.h"

sci_combination sci_combination_of(sci_id tangent) {
  if (tangent == SCI_NONE) return (sci_combination){0};
  return (sci_combination){1, {{tangent, SCI_NONE, false}}};
}

static sci_id times(const sci_ad *ad, sci_id a, sci_id b) {
  if (a == SCI_NONE || b == SCI_NONE) return a == SCI_NONE ? b : a;
  return sci_make2(ad->cx, SCI_OP_mul, a, b);
}

/* A factor of 1 written out: of the base's shape without the seeds. */
static sci_id written(const sci_ad *ad, sci_multiple m) {
  if (m.factor != SCI_NONE) return m.factor;
  sci_type t = *sci_type_of(ad->cx, m.base);
  return sci_make_fill(ad->cx, (sc_dtype)t.dtype, t.rank - 1, t.shape + 1, 1);
}

/* Two multiples of one base together. */
static sci_multiple joined(const sci_ad *ad, sci_multiple a, sci_multiple b) {
  sc_context *cx = ad->cx;
  sci_id x = written(ad, a), y = written(ad, b);
  if (a.negative && !b.negative) return joined(ad, b, a);
  return (sci_multiple){a.base, sci_make2(cx, a.negative == b.negative ? SCI_OP_add : SCI_OP_sub, x, y), a.negative};
}

static void add(const sci_ad *ad, sci_combination *sum, sci_multiple m) {
  for (uint32_t i = 0; i < sum->n; i++)
    if (sum->of[i].base == m.base) {
      sum->of[i] = joined(ad, sum->of[i], m);
      return;
    }
  if (sum->n == SCI_MAX_MULTIPLES) *sum = sci_combination_of(sci_combined(ad, sum));
  sum->of[sum->n++] = m;
}

void sci_combine(const sci_ad *ad, sci_combination *sum, const sci_combination *x, sci_id factor, bool negative) {
  for (uint32_t i = 0; i < x->n; i++)
    add(ad, sum, (sci_multiple){x->of[i].base, times(ad, factor, x->of[i].factor), x->of[i].negative != negative});
}

/* What is no product comes first: the products behind it become fused multiply-adds. */
sci_id sci_combined(const sci_ad *ad, const sci_combination *x) {
  sc_context *cx = ad->cx;
  sci_id sum = SCI_NONE;
  bool negative = false; /* the sum so far stands for its opposite */
  for (int kind = 0; kind < 4; kind++)
    for (uint32_t i = 0; i < x->n; i++) {
      sci_multiple m = x->of[i];
      if (2 * (m.factor != SCI_NONE) + m.negative != kind) continue;
      sci_id value = times(ad, m.base, m.factor);
      if (sum == SCI_NONE) {
        sum = value, negative = m.negative;
        continue;
      }
      if (negative && !m.negative) {
        sum = sci_make2(cx, SCI_OP_sub, value, sum), negative = false;
        continue;
      }
      sum = sci_make2(cx, m.negative == negative ? SCI_OP_add : SCI_OP_sub, sum, value);
    }
  return negative ? sci_make1(cx, SCI_OP_neg, sum) : sum;
}

sci_multiple sci_masked_multiple(const sci_ad *ad, sci_multiple m, sci_id cond, bool taken) {
  sc_context *cx = ad->cx;
  sci_id zero = sci_make_double(cx, (sc_dtype)sci_type_of(cx, m.base)->dtype, 0);
  for (int k = 0; k < 2; k++) {
    sci_id *value = k ? &m.base : &m.factor;
    if (*value == SCI_NONE) continue;
    *value = taken ? sci_make_select(cx, cond, *value, zero) : sci_make_select(cx, cond, zero, *value);
  }
  return m;
}

bool sci_stays_open(const sci_combination *x, uint32_t uses) {
  if (x->n <= 1) return true;
  if (x->n == SCI_MAX_MULTIPLES || x->n * uses > x->n + uses) return false;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->of[i].factor == SCI_NONE) return false;
  return true;
}
