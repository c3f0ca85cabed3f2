/* Owns the arithmetic of weights: products of factors, and sums of these that share what they can. */
#include "lib/ad/eliminate.h"

#include <math.h>
#include <stdlib.h>

/* Of coefficients in one sum. A value times this overflows only from 2^64 in float32, from 2^960 in float64. */
#define LARGEST_RATIO 0x1p64

static sci_id number(const sci_weights *w, double v) {
  return sci_make_double(w->cx, w->dtype, v);
}

static sci_id product(const sci_weights *w, sci_id a, sci_id b) {
  if (a == SCI_NONE) return b;
  return b == SCI_NONE ? a : sci_make2(w->cx, SCI_OP_mul, a, b);
}

/* coef * node */
static sci_id multiple(const sci_weights *w, double coef, sci_id node) {
  if (node == SCI_NONE) return number(w, coef);
  if (coef == 1) return node;
  return coef == -1 ? sci_make1(w->cx, SCI_OP_neg, node) : sci_make2(w->cx, SCI_OP_mul, number(w, coef), node);
}

/* a + coef * b */
static sci_id sum(const sci_weights *w, sci_id a, double coef, sci_id b) {
  bool minus = coef < 0;
  return sci_make2(w->cx, minus ? SCI_OP_sub : SCI_OP_add, a, multiple(w, minus ? -coef : coef, b));
}

sci_weight sci_weight_product(const sci_weights *w, sci_weight a, sci_weight b) {
  if (a.coef == 0 || b.coef == 0) return SCI_NO_WEIGHT;
  return (sci_weight){a.coef * b.coef, product(w, a.scale, b.scale), product(w, a.value, b.value)};
}

sci_id sci_weight_node(const sci_weights *w, sci_weight a) {
  if (a.coef == 0) return number(w, 0);
  if (a.scale == SCI_NONE) return multiple(w, a.coef, a.value);
  return product(w, multiple(w, a.coef, a.scale), a.value);
}

/* ---- sums ---- */

static int by_factors(const void *a, const void *b) {
  const sci_weight *x = a, *y = b;
  if (x->scale != y->scale) return x->scale < y->scale ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static int by_size(const void *a, const void *b) {
  const sci_weight *x = a, *y = b;
  double s = fabs(x->coef), t = fabs(y->coef);
  bool ordered = !isnan(s) || !isnan(t);
  if (x->scale == y->scale && s != t && ordered) return s < t || isnan(t) ? -1 : 1;
  return by_factors(a, b);
}

void sci_weight_add(const sci_weights *w, sci_weight_list *sum, sci_weight term) {
  if (term.coef != 0) sci_vec_push(&w->cx->env.scratch, sum, term);
}

/* Terms of equal factors as one. */
static size_t merged(sci_weight *terms, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (kept && !by_factors(&terms[kept - 1], &terms[i]))
      terms[kept - 1].coef += terms[i].coef;
    else
      terms[kept++] = terms[i];
    if (terms[kept - 1].coef == 0) kept--;
  }
  return kept;
}

/* sum + coef * value, where sum->coef stays in front of both. Not where that would overflow, or make NaN of infinite
 * coefficients: then every value gets its own. */
static void add_value(const sci_weights *w, sci_weight *sum_of, double coef, sci_id value) {
  double ratio = coef / sum_of->coef;
  if (sum_of->value == SCI_NONE) sum_of->value = number(w, 1);
  if (!(fabs(ratio) <= LARGEST_RATIO)) {
    sum_of->value = multiple(w, sum_of->coef, sum_of->value);
    sum_of->coef = 1, ratio = coef;
  }
  sum_of->value = sum(w, sum_of->value, ratio, value);
}

/* Terms of one scale, those of one coefficient first: products are added, not multiples of products. */
static sci_weight sum_of_values(const sci_weights *w, sci_weight *terms, size_t n) {
  size_t groups = 0;
  for (size_t i = 0, next; i < n; i = next) {
    sci_weight group = terms[i];
    double size = fabs(group.coef);
    for (next = i + 1; next < n && fabs(terms[next].coef) == size; next++)
      add_value(w, &group, terms[next].coef, terms[next].value);
    terms[groups++] = group;
  }
  sci_weight out = terms[0];
  for (size_t i = 1; i < groups; i++) add_value(w, &out, terms[i].coef, terms[i].value);
  return out;
}

static sci_weight sum_of_scales(const sci_weights *w, const sci_weight *terms, size_t n) {
  sci_weight out = {1, multiple(w, terms[0].coef, terms[0].scale), terms[0].value};
  for (size_t i = 1; i < n; i++) out.scale = sum(w, out.scale, terms[i].coef, terms[i].scale);
  return out;
}

sci_weight sci_weight_total(const sci_weights *w, sci_weight_list *terms) {
  sci_weight *t = terms->data;
  if (terms->n > 1) {
    qsort(t, terms->n, sizeof *t, by_factors);
    terms->n = merged(t, terms->n);
    qsort(t, terms->n, sizeof *t, by_size);
  }
  if (!terms->n) return SCI_NO_WEIGHT;
  size_t n = 0;
  bool one_value = true;
  for (size_t i = 0, next; i < terms->n; i = next) {
    for (next = i + 1; next < terms->n && t[next].scale == t[i].scale;) next++;
    t[n++] = sum_of_values(w, t + i, next - i);
    one_value &= t[n - 1].value == t[0].value;
  }
  terms->n = 1;
  if (n == 1) return t[0];
  if (one_value) return t[0] = sum_of_scales(w, t, n);
  sci_weight out = {t[0].coef < 0 ? -1 : 1, SCI_NONE, SCI_NONE};
  t[0].coef *= out.coef;
  out.value = sci_weight_node(w, t[0]);
  for (size_t i = 1; i < n; i++)
    out.value = sum(w, out.value, t[i].coef * out.coef, product(w, t[i].scale, t[i].value));
  return t[0] = out;
}

sci_weight sci_weight_sum(const sci_weights *w, sci_weight a, sci_weight b) {
  sci_weight_list sum = {0};
  sci_weight_add(w, &sum, a);
  sci_weight_add(w, &sum, b);
  return sci_weight_total(w, &sum);
}

/* ---- cost ---- */

static int64_t cost_of(sc_context *cx, const sci_order *order, const sci_node *n, const uint32_t *uses) {
  const sci_id *args = sci_args(cx, n);
  if (n->op >= SCI_OP_COUNT || n->op == SCI_OP_neg) return 0;
  if (n->op != SCI_OP_add && n->op != SCI_OP_sub) return n->op == SCI_OP_mul ? 1 : 8;
  for (uint32_t i = 0; i < 2; i++)
    if (sci_node_at(cx, args[i])->op == SCI_OP_mul && uses[sci_number(order, args[i])] == 1) return 0;
  return 1;
}

int64_t sci_weights_cost(const sci_partial_graph *g, const sci_weight *weights, int64_t n) {
  sc_context *cx = g->ad->cx;
  sci_id *roots = SCI_ARRAY(&cx->env.scratch, sci_id, n);
  uint32_t n_roots = 0;
  for (int64_t i = 0; i < n; i++)
    if (weights[i].coef != 0) roots[n_roots++] = sci_weight_node(&g->weights, weights[i]);
  sci_order order = sci_reach(cx, roots, n_roots);
  bool *varies = SCI_ZEROS(&cx->env.scratch, bool, order.n);
  uint32_t *uses = SCI_ZEROS(&cx->env.scratch, uint32_t, order.n);
  int64_t cost = 0;
  for (uint32_t k = 0; k < order.n; k++) {
    const sci_node *node = sci_node_at(cx, order.ids[k]);
    uint32_t known = sci_number(&g->order, order.ids[k]);
    varies[k] = known != SCI_NONE && g->active[known];
    for (uint32_t i = 0; i < node->n_args; i++) {
      uint32_t arg = sci_number(&order, sci_args(cx, node)[i]);
      varies[k] |= varies[arg];
      uses[arg]++;
    }
  }
  for (uint32_t k = 0; k < order.n; k++)
    if (varies[k]) cost += cost_of(cx, &order, sci_node_at(cx, order.ids[k]), uses);
  return cost;
}
