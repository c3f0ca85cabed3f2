/* The arithmetic of places against counting: views of views of a buffer lead to the elements that indexing by hand
 * finds. */
#include <criterion/criterion.h>

#include "lib/lower/state.h"

enum { SIZE_MAX_ = 2000 };

static uint64_t state = 1;
static int64_t below(int64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((state >> 33) % (uint64_t)n);
}

/* A tensor: its shape, the place under test and the element each index should lead to. */
typedef struct view {
  int rank;
  int64_t shape[SC_MAX_RANK], size, element[SIZE_MAX_];
  const sci_place *place;
} view;

static void unravel(const view *v, int64_t flat, int64_t *at) {
  for (int k = v->rank; k-- > 0; flat /= v->shape[k]) at[k] = flat % v->shape[k];
}
static int64_t ravel(const view *v, const int64_t *at) {
  int64_t flat = 0;
  for (int k = 0; k < v->rank; k++) flat = flat * v->shape[k] + at[k];
  return flat;
}

static bool reshape(view *v) {
  int64_t left = v->size;
  v->rank = 0;
  for (int tries = 0; tries < 5; tries++) {
    int64_t f = 2 + below(4);
    if (left % f == 0) left /= v->shape[v->rank++] = f;
  }
  v->shape[v->rank++] = left;
  return true;
}

static bool transpose(sci_lowering *l, view *v) {
  int axes[SC_MAX_RANK];
  view r = *v;
  for (int k = 0; k < v->rank; k++) axes[k] = k;
  for (int k = v->rank; k > 1; k--) {
    int j = (int)below(k), t = axes[j];
    axes[j] = axes[k - 1];
    axes[k - 1] = t;
  }
  for (int k = 0; k < v->rank; k++) r.shape[k] = v->shape[axes[k]];
  for (int64_t e = 0; e < r.size; e++) {
    int64_t at[SC_MAX_RANK], from[SC_MAX_RANK];
    unravel(&r, e, at);
    for (int k = 0; k < v->rank; k++) from[axes[k]] = at[k];
    r.element[e] = v->element[ravel(v, from)];
  }
  r.place = sci_place_transpose(l, v->place, v->rank, v->shape, axes);
  if (!r.place) return false;
  *v = r;
  return true;
}

static bool slice(sci_lowering *l, view *v) {
  sci_slice_axis axes[SC_MAX_RANK];
  view r = *v;
  r.rank = 0;
  r.size = 1;
  for (int k = 0; k < v->rank; k++) {
    int64_t n = v->shape[k], kind = below(4), start = below(n);
    axes[k] = kind == 0   ? (sci_slice_axis){start, 1, 1, 1}
              : kind == 1 ? (sci_slice_axis){n - 1, n, -1, 0}
              : kind == 2 ? (sci_slice_axis){start, (n - start + 1) / 2, 2, 0}
                          : (sci_slice_axis){0, n, 1, 0};
    if (!axes[k].drop) r.size *= r.shape[r.rank++] = axes[k].count;
  }
  for (int64_t e = 0; e < r.size; e++) {
    int64_t at[SC_MAX_RANK], from[SC_MAX_RANK];
    unravel(&r, e, at);
    for (int k = 0, d = 0; k < v->rank; k++) from[k] = axes[k].start + (axes[k].drop ? 0 : axes[k].step * at[d++]);
    r.element[e] = v->element[ravel(v, from)];
  }
  r.place = sci_place_slice(l, v->place, v->rank, v->shape, axes);
  if (!r.place) return false;
  *v = r;
  return true;
}

static void check(const view *v) {
  sci_digits x = sci_digits_of(v->place), again;
  int64_t extent = 1;
  for (uint32_t i = 0; i < x.n; i++) extent *= x.d[i].extent;
  cr_assert_eq(extent, v->size);
  for (int64_t e = 0; e < v->size; e++) cr_assert_eq(sci_digits_at(&x, e), v->element[e]);
  if (sci_digits_of_table(&again, v->element, v->size))
    for (int64_t e = 0; e < v->size; e++) cr_assert_eq(sci_digits_at(&again, e), v->element[e]);
  else
    cr_assert_gt(x.n, 2, "two digits are always found");
}

Test(digits, views) {
  sc_context *cx = sc_context_create(NULL);
  sci_frame fr;
  cr_assert(SCI_TRY(&cx->env, &fr));
  sci_lowering l = {.cx = cx, .scratch = &cx->env.scratch};
  int done = 0;
  for (int round = 0; round < 2000; round++) {
    view v = {.rank = 1, .size = (int64_t[]){1, 7, 64, 360, 1024, 1800}[below(6)]};
    v.shape[0] = v.size;
    for (int64_t e = 0; e < v.size; e++) v.element[e] = e;
    v.place = sci_place_whole(&l, 0, v.size);
    for (int step = 0; step < 8; step++) {
      int64_t kind = below(5);
      done += kind < 2 ? reshape(&v) : kind < 4 ? transpose(&l, &v) : slice(&l, &v);
      check(&v);
    }
  }
  cr_expect_gt(done, 12000, "most views have digits: %d", done);
  sci_leave(&cx->env, &fr);
  sc_context_destroy(cx);
}

/* Loops over several places visit every element of each at the same time. */
Test(digits, nests) {
  sc_context *cx = sc_context_create(NULL);
  sci_frame fr;
  cr_assert(SCI_TRY(&cx->env, &fr));
  sci_lowering l = {.cx = cx, .scratch = &cx->env.scratch};
  int fits = 0;
  for (int round = 0; round < 2000; round++) {
    const sci_place *places[3];
    int64_t size = (int64_t[]){12, 64, 360, 1800}[below(4)];
    for (int p = 0; p < 3; p++) {
      view v = {.rank = 1, .size = size, .shape = {size}, .place = sci_place_whole(&l, 0, size)};
      if (reshape(&v)) transpose(&l, &v);
      places[p] = below(3) ? v.place : sci_place_whole(&l, 0, size);
    }
    sci_nest nest;
    if (sci_nest_fit(&nest, 3, places) != SCI_NIL) continue;
    fits++;
    for (uint32_t p = 0; p < 3; p++) {
      sci_digits x = {.n = nest.n, .offset = places[p]->offset}, y = sci_digits_of(places[p]);
      for (uint32_t i = 0; i < nest.n; i++) x.d[i] = (sci_digit){nest.extent[i], nest.stride[p][i]};
      for (int64_t e = 0; e < size; e++) cr_assert_eq(sci_digits_at(&x, e), sci_digits_at(&y, e));
    }
  }
  cr_expect_gt(fits, 500, "%d", fits);
  sci_leave(&cx->env, &fr);
  sc_context_destroy(cx);
}
