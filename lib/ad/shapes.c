/* Owns the shape bookkeeping of sweeps that carry a leading seed axis. */
#include "lib/ad/ad.h"

sci_shape sci_shape_of(const sc_context *cx, sci_id id) {
  const sci_type *t = sci_type_of(cx, id);
  sci_shape s = {.rank = t->rank};
  memcpy(s.dim, t->shape, (size_t)t->rank * sizeof *s.dim);
  return s;
}

sci_shape sci_seeded(const sci_ad *ad, sci_shape s) {
  if (!ad->seeds) return s;
  if (s.rank == SC_MAX_RANK)
    sci_fail(&ad->cx->env, SC_ERR_SHAPE,
             "several derivative directions at once need one more dimension than the limit of %d", SC_MAX_RANK);
  sci_shape r = {.rank = s.rank + 1, .dim = {ad->seeds}};
  memcpy(r.dim + 1, s.dim, (size_t)s.rank * sizeof *s.dim);
  return r;
}

sci_id sci_to_shape(const sci_ad *ad, sci_id t, sci_shape s) {
  return sci_make_reshape(ad->cx, t, s.rank, s.dim);
}

sci_id sci_align(const sci_ad *ad, sci_id t, int rank) {
  if (!ad->seeds) return t; /* without an axis in front, broadcasting aligns by itself */
  sci_shape s = sci_shape_of(ad->cx, t), r = {.rank = rank + 1, .dim = {ad->seeds}};
  int own = s.rank - 1, ones = rank - own;
  if (ones <= 0) return t;
  for (int k = 0; k < ones; k++) r.dim[1 + k] = 1;
  memcpy(r.dim + 1 + ones, s.dim + 1, (size_t)own * sizeof *s.dim);
  return sci_to_shape(ad, t, r);
}

sci_id sci_spread(const sci_ad *ad, sci_id t, sci_shape out) {
  sci_shape s = sci_seeded(ad, out);
  return sci_make_broadcast(ad->cx, sci_align(ad, t, out.rank), s.rank, s.dim);
}

sci_id sci_unspread(const sci_ad *ad, sci_id t, sci_shape s) {
  int seed_axis = ad->seeds != 0;
  sci_shape wide = sci_shape_of(ad->cx, t);
  int extra = wide.rank - seed_axis - s.rank;
  uint32_t mask = 0;
  for (int k = 0; k < wide.rank - seed_axis; k++) {
    bool summed = k < extra || (s.dim[k - extra] == 1 && wide.dim[seed_axis + k] != 1);
    if (summed) mask |= 1u << (seed_axis + k);
  }
  if (mask) t = sci_make_reduce(ad->cx, SCI_X_sum, t, mask);
  return sci_to_shape(ad, t, sci_seeded(ad, s));
}

sci_id sci_zeros_like(const sci_ad *ad, sci_id value) {
  sci_shape s = sci_seeded(ad, sci_shape_of(ad->cx, value));
  return sci_make_fill(ad->cx, (sc_dtype)sci_type_of(ad->cx, value)->dtype, s.rank, s.dim, 0);
}

int32_t *sci_seeded_indices(const sci_ad *ad, const int32_t *table, int64_t n, int64_t size) {
  int64_t seeds = ad->seeds ? ad->seeds : 1;
  sci_env *env = &ad->cx->env;
  if (sci_mul_size(env, seeds, size, "derivative") > SC_MAX_ELEMENTS ||
      sci_mul_size(env, seeds, n, "derivative") > SC_MAX_ELEMENTS)
    sci_fail(env, SC_ERR_OVERFLOW, "%lld derivative directions of %lld elements exceed the largest tensor",
             (long long)seeds, (long long)size);
  int32_t *out = SCI_ARRAY(&env->scratch, int32_t, seeds * n);
  for (int64_t k = 0; k < seeds; k++)
    for (int64_t i = 0; i < n; i++) out[k * n + i] = (int32_t)(table[i] + k * size);
  return out;
}

sci_id sci_sum2(sc_context *cx, sci_id a, sci_id b) {
  if (a == SCI_NONE) return b;
  if (b == SCI_NONE) return a;
  return sci_make2(cx, SCI_OP_add, a, b);
}
