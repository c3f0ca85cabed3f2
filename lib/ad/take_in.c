/* Owns the first step of edge pushing: fewer variables, where that makes fewer pairs of them. */
#include "lib/ad/eliminate.h"

typedef SCI_VEC(uint32_t) number_list;

typedef struct taking {
  sci_partial_graph *g;
  sci_arena *scratch;
  number_list *users; /* per number */
  const bool *is_root;
} taking;

static sci_weight product(const taking *t, sci_weight a, sci_weight b) {
  return sci_weight_product(&t->g->weights, a, b);
}

static uint32_t place_of(const sci_local *l, uint32_t operand) {
  uint32_t a = 0;
  while (a < l->n && l->operand[a] != operand) a++;
  return a;
}

static sci_weight second_of(const sci_local *l, uint32_t a, uint32_t b) {
  if (a >= l->n || b >= l->n) return SCI_NO_WEIGHT;
  return a < b ? l->second[a][b] : l->second[b][a];
}

static sci_weight first_of(const sci_local *l, uint32_t a) {
  return a < l->n ? l->first[a] : SCI_NO_WEIGHT;
}

static void remove_user(number_list *list, uint32_t user) {
  for (size_t i = 0; i < list->n; i++)
    if (list->data[i] == user) list->data[i--] = list->data[--list->n];
}

/* w(..., v(...)) by the chain rule. */
static void take(const taking *t, sci_local *w, uint32_t at, const sci_local *v) {
  const sci_weights *weights = &t->g->weights;
  sci_local out = {0};
  for (uint32_t a = 0; a < w->n; a++)
    if (a != at) out.operand[out.n++] = w->operand[a];
  for (uint32_t a = 0; a < v->n; a++)
    if (place_of(&out, v->operand[a]) == out.n) out.operand[out.n++] = v->operand[a];
  for (uint32_t a = 0; a < out.n; a++) {
    uint32_t wa = place_of(w, out.operand[a]), va = place_of(v, out.operand[a]);
    out.first[a] = sci_weight_sum(weights, first_of(w, wa), product(t, w->first[at], first_of(v, va)));
    for (uint32_t b = a; b < out.n; b++) {
      uint32_t wb = place_of(w, out.operand[b]), vb = place_of(v, out.operand[b]);
      sci_weight terms[] = {product(t, second_of(w, wa, at), first_of(v, vb)),
                            product(t, second_of(w, wb, at), first_of(v, va)),
                            product(t, product(t, w->second[at][at], first_of(v, va)), first_of(v, vb)),
                            product(t, w->first[at], second_of(v, va, vb))};
      out.second[a][b] = second_of(w, wa, wb);
      for (int k = 0; k < 4; k++) out.second[a][b] = sci_weight_sum(weights, out.second[a][b], terms[k]);
    }
  }
  *w = out;
}

static bool wanted(const taking *t, uint32_t k, sci_taking_in how) {
  if (t->g->local[k].n != 1 || t->is_root[k] || !t->users[k].n) return false;
  return how == SCI_TAKE_UNARY || t->users[k].n == 1;
}

static void take_in(taking *t, uint32_t k) {
  sci_local *v = &t->g->local[k];
  for (uint32_t a = 0; a < v->n; a++) remove_user(&t->users[v->operand[a]], k);
  for (size_t i = 0; i < t->users[k].n; i++) {
    uint32_t user = t->users[k].data[i];
    sci_local *w = &t->g->local[user];
    for (uint32_t a = 0; a < v->n; a++)
      if (place_of(w, v->operand[a]) == w->n) sci_vec_push(t->scratch, &t->users[v->operand[a]], user);
    take(t, w, place_of(w, k), v);
  }
  *v = (sci_local){0};
}

sci_partial_graph sci_take_in(const sci_partial_graph *from, uint32_t n_roots, const sci_id *roots, sci_taking_in how) {
  sci_partial_graph g = *from;
  sci_arena *scratch = &g.ad->cx->env.scratch;
  uint32_t n = g.order.n;
  bool *is_root = SCI_ZEROS(scratch, bool, n);
  taking t = {&g, scratch, sci_alloc_zero(scratch, n, sizeof(number_list)), is_root};
  if (how == SCI_KEEP_ALL) return g;
  g.local = SCI_ARRAY(scratch, sci_local, n);
  memcpy(g.local, from->local, n * sizeof *g.local);
  for (uint32_t r = 0; r < n_roots; r++) is_root[sci_number(&g.order, roots[r])] = true;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t a = 0; a < g.local[k].n; a++) sci_vec_push(scratch, &t.users[g.local[k].operand[a]], k);
  for (uint32_t k = 0; k < n; k++)
    if (wanted(&t, k, how)) take_in(&t, k);
  return g;
}
