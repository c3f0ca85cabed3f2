/* Owns both derivatives of the matrix product; seeds become extra rows or columns, never a loop of products. */
#include "lib/ad/ad.h"

/* A product seen as matrices: (m, k) by (k, n); vectors have m or n of 1. */
typedef struct product {
  sci_id a, b;
  int64_t m, k, n;
} product;

static product product_of(const sc_context *cx, sci_id node) {
  product p = {.a = sci_arg(cx, node, 0), .b = sci_arg(cx, node, 1)};
  const sci_type *a = sci_type_of(cx, p.a), *b = sci_type_of(cx, p.b);
  p.m = a->rank == 2 ? a->shape[0] : 1;
  p.k = b->shape[0];
  p.n = b->rank == 2 ? b->shape[1] : 1;
  return p;
}

static sci_id as2(const sci_ad *ad, sci_id t, int64_t rows, int64_t cols) {
  return sci_make_reshape(ad->cx, t, 2, (int64_t[]){rows, cols});
}

static sci_id as3(const sci_ad *ad, sci_id t, int64_t x, int64_t y, int64_t z) {
  return sci_make_reshape(ad->cx, t, 3, (int64_t[]){x, y, z});
}

static sci_id swap01(const sci_ad *ad, sci_id t) {
  return sci_make_transpose(ad->cx, t, (int[]){1, 0, 2});
}

static sci_id flip(const sci_ad *ad, sci_id t) {
  return sci_make_transpose(ad->cx, t, (int[]){1, 0});
}

static int64_t seeds(const sci_ad *ad) {
  return ad->seeds ? ad->seeds : 1;
}

/* x (K, r, s) times the matrix y (s, c): (K, r, c) as one product of K r rows. */
static sci_id times_right(const sci_ad *ad, sci_id x, int64_t r, int64_t s, sci_id y) {
  return sci_make_matmul(ad->cx, as2(ad, x, seeds(ad) * r, s), y);
}

/* The matrix y (r, s) times x (K, s, c): the seeds join the columns. */
static sci_id times_left(const sci_ad *ad, sci_id y, int64_t r, sci_id x, int64_t s, int64_t c) {
  if (!ad->seeds) return sci_make_matmul(ad->cx, y, as2(ad, x, s, c));
  sci_id wide = as2(ad, swap01(ad, as3(ad, x, ad->seeds, s, c)), s, ad->seeds * c);
  return swap01(ad, as3(ad, sci_make_matmul(ad->cx, y, wide), r, ad->seeds, c));
}

sci_id sci_forward_matmul(const sci_ad *ad, sci_id node, const sci_id *t) {
  sc_context *cx = ad->cx;
  product p = product_of(cx, node);
  sci_shape out = sci_seeded(ad, sci_shape_of(cx, node));
  sci_id sum = SCI_NONE;
  if (t[0] != SCI_NONE) sum = sci_to_shape(ad, times_right(ad, t[0], p.m, p.k, as2(ad, p.b, p.k, p.n)), out);
  if (t[1] != SCI_NONE) {
    sci_id right = times_left(ad, as2(ad, p.a, p.m, p.k), p.m, t[1], p.k, p.n);
    sum = sci_sum2(cx, sum, sci_to_shape(ad, right, out));
  }
  return sum;
}

void sci_reverse_matmul(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  const sci_ad *ad = sweep->ad;
  product p = product_of(ad->cx, node);
  if (sci_wants(sweep, p.a)) {
    sci_id value = times_right(ad, adjoint, p.m, p.n, flip(ad, as2(ad, p.b, p.k, p.n)));
    sci_contribute(sweep, p.a, sci_to_shape(ad, value, sci_seeded(ad, sci_shape_of(ad->cx, p.a))));
  }
  if (sci_wants(sweep, p.b)) {
    sci_id value = times_left(ad, flip(ad, as2(ad, p.a, p.m, p.k)), p.k, adjoint, p.m, p.n);
    sci_contribute(sweep, p.b, sci_to_shape(ad, value, sci_seeded(ad, sci_shape_of(ad->cx, p.b))));
  }
}
