/* What the kernels written by hand share: vectors of W float64 lanes, blocks of consecutive stages, vector math.
 *
 * Each kernel file is one translation unit with the entry of an exported module. Lane l of a vector is stage k + l: a
 * chunk of W stages is computed at once, its inputs are loaded as they lie and transposed in registers, and so are its
 * results. W follows the compiler's target: 8 with AVX-512, 4 with AVX2, 2 otherwise. Needs glibc's libmvec.
 * -DHAND_LANES=n sets W on any target, at any speed: mathematics goes lane by lane. */
#ifndef SCALY_HAND_H
#define SCALY_HAND_H

#include <string.h>

#ifdef HAND_LANES
#define W HAND_LANES
#define VECTOR_MATH(name) by_lanes_##name
#elif defined __AVX512F__
#define W 8
#define VECTOR_MATH(name) _ZGVeN8v_##name
#elif defined __AVX2__
#define W 4
#define VECTOR_MATH(name) _ZGVdN4v_##name
#else
#define W 2
#define VECTOR_MATH(name) _ZGVbN2v_##name
#endif
#define INLINE static inline __attribute__((always_inline))

typedef double vec __attribute__((vector_size(8 * W)));
typedef double loose __attribute__((vector_size(8 * W), aligned(8), may_alias)); /* in memory, at any element */

#ifdef HAND_LANES
#define ROUTINE(name)                                                                                                  \
  static inline vec by_lanes_##name(vec x) {                                                                           \
    for (int l = 0; l < W; l++) x[l] = __builtin_##name(x[l]);                                                         \
    return x;                                                                                                          \
  }
#else
#define ROUTINE(name) vec VECTOR_MATH(name)(vec);
#endif
ROUTINE(sin)
ROUTINE(cos)
ROUTINE(tanh)
ROUTINE(exp)
#undef ROUTINE

INLINE vec load(const double *p) {
  return *(const loose *)p;
}

INLINE void store(double *p, vec v) {
  *(loose *)p = v;
}

INLINE vec splat(double x) {
  return x - (vec){0};
}

/* The square of vectors, rows and columns exchanged. */
INLINE void transpose(vec m[W]) {
#if W == 2
  vec a = m[0], b = m[1];
  m[0] = __builtin_shufflevector(a, b, 0, 2);
  m[1] = __builtin_shufflevector(a, b, 1, 3);
#elif W == 4
  vec t[4];
  for (int i = 0; i < 4; i += 2) {
    t[i] = __builtin_shufflevector(m[i], m[i + 1], 0, 4, 2, 6);
    t[i + 1] = __builtin_shufflevector(m[i], m[i + 1], 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; i++) {
    m[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
    m[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
  }
#else
  vec t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(m[i], m[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    t[i + 1] = __builtin_shufflevector(m[i], m[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i++) {
    int j = i & ~2;
    u[i] = i & 2 ? __builtin_shufflevector(t[j], t[j + 2], 2, 3, 10, 11, 6, 7, 14, 15)
                 : __builtin_shufflevector(t[j], t[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
  }
  for (int i = 0; i < 4; i++) {
    m[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    m[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#endif
}

/* x[e], lane l: p[l * stride + e], e < n. The last group overlaps the one before; fewer than W values are picked one by
 * one. */
INLINE void load_block(const double *p, long stride, int n, vec *x) {
  if (n < W) {
    for (int e = 0; e < n; e++)
      for (int l = 0; l < W; l++) x[e][l] = p[l * stride + e];
    return;
  }
#pragma GCC unroll 32
  for (int g = 0; g < n; g += W) {
    int e = g + W > n ? n - W : g;
    vec m[W];
    for (int l = 0; l < W; l++) m[l] = load(p + l * stride + e);
    transpose(m);
    for (int i = 0; i < W; i++) x[e + i] = m[i];
  }
}

/* p[l * stride + e] = x[e], lane l. */
INLINE void store_block(double *p, long stride, int n, const vec *x) {
  for (int g = 0; g < n; g += W) {
    int e = g + W > n ? n - W : g;
    vec m[W];
    for (int i = 0; i < W; i++) m[i] = x[e + i];
    transpose(m);
    for (int l = 0; l < W; l++) store(p + l * stride + e, m[l]);
  }
}

/* Runs a kernel's `chunk` over a horizon of n stages. Stage k reads z + k * z_stride and lam + k * lam_stride (the last
 * stage to the end of the next one's state) and fills `width` values from out + k * width. The last chunk overlaps the
 * one before; horizons below W go through padded copies. */
typedef void chunk_function(const double *z, const double *lam, const double *p, double lam_f, double *out);

INLINE void over_horizon(chunk_function *chunk, long n, const double *z, long z_stride, long z_more, const double *lam,
                         long lam_stride, const double *p, double lam_f, double *out, long width) {
  if (n >= W) {
    for (long k = 0; k < n; k += W) {
      long at = k + W > n ? n - W : k;
      chunk(z + at * z_stride, lam ? lam + at * lam_stride : lam, p, lam_f, out + at * width);
    }
    return;
  }
  double some_z[W * z_stride + z_more], some_lam[W * lam_stride + 1], some_out[W * width];
  memset(some_z, 0, sizeof some_z);
  memset(some_lam, 0, sizeof some_lam);
  for (long k = 0; k < W; k++) {
    long from = k < n ? k : n - 1;
    memcpy(some_z + k * z_stride, z + from * z_stride, (size_t)(z_stride < z_more ? z_more : z_stride) * sizeof *z);
    if (lam) memcpy(some_lam + k * lam_stride, lam + from * lam_stride, (size_t)lam_stride * sizeof *lam);
  }
  chunk(some_z, some_lam, p, lam_f, some_out);
  memcpy(out, some_out, (size_t)(n * width) * sizeof *out);
}

#endif
