/* Owns nests: the coarsest common loops over the digits of several places, and the statements at each depth. */
#include "lib/lower/state.h"

/* Splits x at every boundary that lies between digits of y. */
static bool split_like(sci_digits *x, const sci_digits *y) {
  int64_t cut = 1;
  for (uint32_t i = y->n; i--; cut *= y->d[i].extent)
    if (cut > 1 && !sci_split(x, cut)) return false;
  return true;
}

/* Loops merge where that makes one step of every place's walk out of two. */
static void merge_loops(sci_nest *nest) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < nest->n; i++) {
    bool merges = n > 0;
    for (uint32_t p = 0; p < nest->n_places; p++)
      merges = merges && nest->stride[p][n - 1] == nest->stride[p][i] * nest->extent[i];
    if (!merges) n++;
    nest->extent[n - 1] = merges ? nest->extent[n - 1] * nest->extent[i] : nest->extent[i];
    for (uint32_t p = 0; p < nest->n_places; p++) nest->stride[p][n - 1] = nest->stride[p][i];
  }
  nest->n = n;
}

uint32_t sci_nest_fit(sci_nest *nest, uint32_t n, const sci_place *const *places) {
  sci_digits x[SCI_MAX_PLACES];
  uint32_t last = SCI_NIL; /* the latest place there is: it has every boundary */
  for (uint32_t p = 0; p < n; p++) {
    nest->places[p] = places[p];
    if (!places[p]) continue;
    x[p] = sci_digits_of(places[p]);
    if (last != SCI_NIL && !split_like(&x[p], &x[last])) return p;
    for (uint32_t q = 0; q < p; q++)
      if (places[q] && !split_like(&x[q], &x[p])) return p;
    last = p;
  }
  nest->n_places = n;
  nest->n = last == SCI_NIL ? 0 : x[last].n;
  for (uint32_t i = 0; i < nest->n; i++) {
    nest->extent[i] = x[last].d[i].extent;
    for (uint32_t p = 0; p < n; p++) nest->stride[p][i] = places[p] ? x[p].d[i].stride : 0;
  }
  merge_loops(nest);
  return SCI_NIL;
}

static void split_loop(sci_nest *nest, int64_t cut) {
  int64_t below = 1;
  uint32_t i = nest->n;
  while (i && below * nest->extent[i - 1] <= cut) below *= nest->extent[--i];
  if (!i-- || below == cut || cut % below || below * nest->extent[i] % cut || nest->n == SCI_MAX_DIGITS) return;
  int64_t low = cut / below;
  memmove(&nest->extent[i + 1], &nest->extent[i], (nest->n - i) * sizeof *nest->extent);
  nest->extent[i] /= low;
  nest->extent[i + 1] = low;
  for (uint32_t p = 0; p < nest->n_places; p++) {
    memmove(&nest->stride[p][i + 1], &nest->stride[p][i], (nest->n - i) * sizeof *nest->stride[p]);
    nest->stride[p][i] *= low;
  }
  nest->n++;
}

void sci_nest_split(sci_nest *nest, const sci_cuts *cuts) {
  for (uint32_t i = 0; cuts && i < cuts->n; i++) split_loop(nest, cuts->at[i]);
}

const sci_cuts *sci_nest_cuts(sci_lowering *l, const sci_nest *nest) {
  if (nest->n < 2) return NULL;
  sci_cuts *cuts = sci_alloc(l->scratch, sizeof *cuts + (nest->n - 1) * sizeof *cuts->at);
  int64_t below = 1;
  cuts->n = nest->n - 1;
  for (uint32_t i = 0; i < cuts->n; i++) cuts->at[i] = below *= nest->extent[nest->n - 1 - i];
  return cuts;
}

sci_var sci_loop_var(sci_lowering *l, uint32_t depth) {
  const char *letters = "ijklmnpq";
  char letter = letters[depth < 8 ? depth : 7];
  return sci_new_var(l->s, l->label ? sci_asprintf(l->scratch, "%c_%s", letter, l->label) : (char[]){letter, 0});
}

void sci_nest_begin(sci_lowering *l, sci_nest *nest, sci_block_builder *out) {
  nest->out = out;
  for (uint32_t i = 0; i < nest->n; i++) {
    nest->vars[i] = sci_loop_var(l, i);
    sci_block_begin(&nest->level[i], l->s);
  }
}

sci_block_builder *sci_nest_body(sci_nest *nest) {
  return nest->n ? &nest->level[nest->n - 1] : nest->out;
}

sci_val sci_nest_index(sci_lowering *l, const sci_nest *nest, uint32_t place) {
  sci_val at = sci_val_int(l->s, nest->places[place]->offset);
  for (uint32_t i = 0; i < nest->n; i++)
    at = sci_idx_add(l->s, at, sci_idx_mul(l->s, sci_val_var(l->s, nest->vars[i]), nest->stride[place][i]));
  return at;
}

/* The load stands in the innermost loop that its index varies with. */
sci_val sci_nest_read(sci_lowering *l, sci_nest *nest, uint32_t place) {
  uint32_t depth = nest->n;
  while (depth && !nest->stride[place][depth - 1]) depth--;
  sci_block_builder *b = depth ? &nest->level[depth - 1] : nest->out;
  return sci_read(l, b, nest->places[place], sci_nest_index(l, nest, place), NULL);
}

void sci_nest_end(sci_lowering *l, sci_nest *nest, sci_loop_kind kind) {
  for (uint32_t i = nest->n; i--;) {
    sci_block body = sci_block_end(&nest->level[i], l->s);
    sci_emit_loop(i ? &nest->level[i - 1] : nest->out, l->s, kind, nest->vars[i], nest->extent[i], body);
  }
}
