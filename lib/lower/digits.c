/* Owns the arithmetic of places: mixed-radix digits of flat indices, split, merged, sliced and permuted. */
#include "lib/lower/state.h"

static bool insert_digit(sci_digits *x, uint32_t at, sci_digit d) {
  if (x->n == SCI_MAX_DIGITS) return false;
  memmove(&x->d[at + 1], &x->d[at], (x->n - at) * sizeof d);
  x->d[at] = d;
  x->n++;
  return true;
}

bool sci_split(sci_digits *x, int64_t cut) {
  int64_t below = 1; /* elements that the digits after i enumerate */
  for (uint32_t i = x->n; i-- && below < cut;) {
    int64_t up = below * x->d[i].extent;
    if (up > cut) {
      if (cut % below || up % cut) return false;
      sci_digit low = {cut / below, x->d[i].stride};
      x->d[i] = (sci_digit){up / cut, low.stride * low.extent};
      return insert_digit(x, i + 1, low);
    }
    below = up;
  }
  return below == cut;
}

bool sci_split_shape(sci_digits *x, int rank, const int64_t *shape, uint32_t first[SC_MAX_RANK + 1]) {
  int64_t cut = 1;
  for (int k = rank; k-- > 0;) {
    if (!sci_split(x, cut)) return false;
    cut *= shape[k];
  }
  uint32_t i = x->n;
  first[rank] = i;
  for (int k = rank; k-- > 0; first[k] = i)
    for (int64_t e = 1; e < shape[k];) e *= x->d[--i].extent;
  return true;
}

static sci_digits run_of(const sci_digits *x, uint32_t from, uint32_t to) {
  sci_digits run = {.n = to - from};
  memcpy(run.d, &x->d[from], run.n * sizeof *run.d);
  sci_coalesce(&run);
  return run;
}

bool sci_split_axes(sci_digits *x, int rank, const int64_t *shape) {
  uint32_t first[SC_MAX_RANK + 1];
  if (!sci_split_shape(x, rank, shape, first)) return false;
  sci_digits out = {.n = (uint32_t)rank, .offset = x->offset};
  for (int k = 0; k < rank; k++) {
    sci_digits axis = run_of(x, first[k], first[k + 1]);
    if (axis.n > 1) return false;
    out.d[k] = axis.n ? axis.d[0] : (sci_digit){1, 0};
  }
  *x = out;
  return true;
}

void sci_coalesce(sci_digits *x) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < x->n; i++) {
    sci_digit d = x->d[i];
    if (d.extent == 1) continue;
    if (n && x->d[n - 1].stride == d.stride * d.extent)
      x->d[n - 1] = (sci_digit){x->d[n - 1].extent * d.extent, d.stride};
    else
      x->d[n++] = d;
  }
  x->n = n;
}

int64_t sci_digits_at(const sci_digits *x, int64_t flat) {
  int64_t at = x->offset;
  for (uint32_t i = x->n; i--; flat /= x->d[i].extent) at += flat % x->d[i].extent * x->d[i].stride;
  return at;
}

/* Greedy from the least significant end: the longest run of equal steps is a whole number of any digits that describe
 * the table. */
bool sci_digits_of_table(sci_digits *x, const int64_t *table, int64_t n) {
  enum { LEVELS = 4 };
  *x = (sci_digits){.offset = table[0]};
  int64_t block = 1;
  while (block < n) {
    int64_t step = table[block] - table[0], items = n / block, run = 2;
    while (run < items && table[run * block] - table[(run - 1) * block] == step) run++;
    if (items % run || x->n == LEVELS) return false;
    insert_digit(x, 0, (sci_digit){run, step});
    block *= run;
  }
  for (int64_t k = 0; k < n; k++)
    if (sci_digits_at(x, k) != table[k]) return false;
  return true;
}

sci_digits sci_digits_of(const sci_place *p) {
  sci_digits x = {.n = p->n, .offset = p->offset};
  if (p->n) memcpy(x.d, p->d, p->n * sizeof *p->d);
  return x;
}

static const sci_place *new_place(sci_lowering *l, sci_place head, const sci_digits *digits) {
  sci_digits x = *digits;
  sci_coalesce(&x);
  sci_place *p = sci_alloc(l->scratch, sizeof *p + x.n * sizeof *p->d);
  *p = head;
  p->n = x.n;
  p->offset = x.offset;
  if (x.n) memcpy(p->d, x.d, x.n * sizeof *x.d);
  return p;
}

const sci_place *sci_place_new(sci_lowering *l, sci_buf buf, const sci_digits *x) {
  return new_place(l, (sci_place){.buf = buf, .table = SCI_NIL}, x);
}

const sci_place *sci_place_like(sci_lowering *l, const sci_place *p, const sci_digits *x) {
  return new_place(l, (sci_place){.buf = p->buf, .table = p->table, .base = p->base}, x);
}

const sci_place *sci_place_whole(sci_lowering *l, sci_buf buf, int64_t size) {
  return sci_place_new(l, buf, &(sci_digits){.n = 1, .d = {{size, 1}}});
}

bool sci_place_is(const sci_place *p, const sci_place *q) {
  return p->buf == q->buf && p->table == q->table && p->base == q->base && p->offset == q->offset && p->n == q->n &&
         (!p->n || !memcmp(p->d, q->d, p->n * sizeof *p->d));
}

bool sci_is_contiguous(const sci_place *p) {
  return p->table == SCI_NIL && (!p->n || (p->n == 1 && p->d[0].stride == 1));
}

static void append(sci_digits *x, const sci_digits *run) {
  memcpy(&x->d[x->n], run->d, run->n * sizeof *run->d);
  x->n += run->n;
}

static bool slice_axis(sci_digits *out, const sci_digits *axis, int64_t extent, const sci_slice_axis *a) {
  out->offset += sci_digits_at(axis, a->start);
  if (a->count == 1) return true;
  sci_digits kept = *axis;
  bool whole = a->count == extent && (a->step == 1 || a->step == -1);
  if (axis->n > 1 && !whole) return false;
  if (axis->n == 1) kept.d[0].extent = a->count;
  for (uint32_t i = 0; i < kept.n; i++) kept.d[i].stride *= a->step;
  append(out, &kept);
  return true;
}

const sci_place *sci_place_slice(sci_lowering *l, const sci_place *p, int rank, const int64_t *shape,
                                 const sci_slice_axis *axes) {
  sci_digits x = sci_digits_of(p), out = {.offset = p->offset};
  uint32_t first[SC_MAX_RANK + 1];
  if (!sci_split_shape(&x, rank, shape, first)) return NULL;
  for (int k = 0; k < rank; k++) {
    sci_digits axis = run_of(&x, first[k], first[k + 1]);
    if (!slice_axis(&out, &axis, shape[k], &axes[k])) return NULL;
  }
  return sci_place_like(l, p, &out);
}

const sci_place *sci_place_transpose(sci_lowering *l, const sci_place *p, int rank, const int64_t *shape,
                                     const int *axes) {
  sci_digits x = sci_digits_of(p), out = {.offset = p->offset};
  uint32_t first[SC_MAX_RANK + 1];
  if (!sci_split_shape(&x, rank, shape, first)) return NULL;
  for (int k = 0; k < rank; k++) {
    sci_digits axis = run_of(&x, first[axes[k]], first[axes[k] + 1]);
    append(&out, &axis);
  }
  return sci_place_like(l, p, &out);
}
