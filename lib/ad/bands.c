/* Owns values whose sources move evenly, those of a sparse matrix or of an adjoint: bands of rows of places are tensors
 * side by side, without tables.
 *
 * A band is R rows of P places. Place j of row r is the sum of what place j of row 0 is the sum of, each element moved
 * by r times a step of its own: a column of the band is a sum of slices, and the band is its columns, stacked. Matrices
 * of problems in one dimension (differences, windows that overlap) are a few bands and what is left at the ends. Maps
 * are none of this: their values are stored where they are computed (place_stores). */
#include "lib/ad/jacobian.h"

enum {
  MIN_PLACES = 12,
  MAX_PERIOD = 32,
  MIN_ROWS = 4,
  MAX_LOOSE = 32, /* places outside of bands */
  MAX_PARTS = 64,
};

typedef struct banding {
  sc_context *cx;
  const sci_piece *pieces;
  sc_dtype dtype;
  const sci_sources *s;
  sci_id parts[MAX_PARTS];
  uint32_t n_parts;
  int64_t n_loose;
} banding;

static int32_t source_of(const banding *b, int64_t place) {
  return b->s->from ? b->s->from[place] : (int32_t)place;
}

/* Whether place `to`, in row r, is what `of`, in row 0, becomes; `next` is the same place of row 1. */
static bool continues(const banding *b, int64_t of, int64_t next, int64_t to, int64_t r) {
  const sci_sources *s = b->s;
  int32_t p = source_of(b, of), q = source_of(b, next), t = source_of(b, to);
  int32_t n = s->first[p + 1] - s->first[p];
  if (s->first[q + 1] - s->first[q] != n || s->first[t + 1] - s->first[t] != n) return false;
  if (s->touched[p] != s->touched[t] || memcmp(&s->constant[p], &s->constant[t], sizeof(double)) != 0) return false;
  for (int32_t i = 0; i < n; i++) {
    const sci_placed *x = &s->entries[s->first[p] + i], *y = &s->entries[s->first[q] + i],
                     *z = &s->entries[s->first[t] + i];
    if (z->piece != x->piece || z->coef != x->coef || b->pieces[x->piece].period) return false;
    int64_t step = (int64_t)y->at - x->at;
    if (step < 0 || z->at != x->at + r * step) return false;
  }
  return true;
}

/* Rows of a band of that period from `start` on. */
static int64_t rows_at(const banding *b, int64_t start, int64_t period) {
  int64_t r = 1;
  for (;; r++)
    for (int64_t j = 0; j < period; j++) {
      int64_t to = start + r * period + j;
      if (to >= b->s->n || !continues(b, start + j, start + period + j, to, r)) return r;
    }
}

/* ---- values ---- */

static sci_id number(const banding *b, double v, int64_t n) {
  return sci_make_fill(b->cx, b->dtype, 1, &n, v);
}

/* Elements first, first + step, ... of a piece, the same one n times for no step. */
static sci_id elements(const banding *b, int32_t piece, int64_t first, int64_t n, int64_t step) {
  const sci_piece *p = &b->pieces[piece];
  sci_id flat = sci_make_reshape(b->cx, p->value, 1, &p->size);
  if (step) return sci_make_slice_axes(b->cx, flat, &(sci_slice_axis){.start = first, .count = n, .step = step});
  sci_id one = sci_make_slice_axes(b->cx, flat, &(sci_slice_axis){.start = first, .count = 1, .step = 1});
  return sci_make_broadcast(b->cx, one, 1, &n);
}

/* What a place is in n rows, `period` places apart. */
static sci_id column(const banding *b, int64_t place, int64_t n, int64_t period) {
  const sci_sources *s = b->s;
  int32_t p = source_of(b, place), next = n > 1 ? source_of(b, place + period) : p;
  sci_id sum = s->touched[p] ? number(b, s->constant[p], n) : SCI_NONE;
  for (int32_t i = 0; i < s->first[p + 1] - s->first[p]; i++) {
    const sci_placed *e = &s->entries[s->first[p] + i];
    int64_t step = n > 1 ? s->entries[s->first[next] + i].at - e->at : 1;
    sci_id v = elements(b, e->piece, e->at, n, step);
    if (e->coef != 1) v = sci_make2(b->cx, SCI_OP_mul, v, number(b, e->coef, n));
    sum = sum == SCI_NONE ? v : sci_make2(b->cx, SCI_OP_add, sum, v);
  }
  return sum;
}

static bool add_part(banding *b, int64_t start, int64_t n, int64_t period) {
  sci_id columns[MAX_PERIOD];
  if (b->n_parts == MAX_PARTS) return false;
  for (int64_t j = 0; j < period; j++) columns[j] = column(b, start + j, n, period);
  sci_id part = period == 1 ? columns[0] : sci_make_join(b->cx, SCI_X_stack, columns, (uint32_t)period, 1);
  b->parts[b->n_parts++] = sci_make_reshape(b->cx, part, 1, (int64_t[]){n * period});
  return true;
}

sci_id sci_band_values(sc_context *cx, sc_dtype dtype, const sci_piece *pieces, const sci_sources *s) {
  banding b = {.cx = cx, .pieces = pieces, .dtype = dtype, .s = s};
  if (s->n < MIN_PLACES) return SCI_NONE;
  for (int64_t k = 0; k < s->n;) {
    int64_t period = 1, rows = 1;
    for (int64_t p = 1; p <= MAX_PERIOD && k + p * MIN_ROWS <= s->n && rows == 1; p++) {
      int64_t r = rows_at(&b, k, p);
      if (r >= MIN_ROWS) period = p, rows = r;
    }
    if (rows == 1 && b.n_loose++ == MAX_LOOSE) return SCI_NONE;
    if (!add_part(&b, k, rows, period)) return SCI_NONE;
    k += rows * period;
  }
  if (4 * b.n_loose > s->n) return SCI_NONE;
  return sci_make_join(b.cx, SCI_X_concat, b.parts, b.n_parts, 0);
}
