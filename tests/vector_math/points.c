/* Owns the arguments at which vector routines are checked. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/vector_math/rig.h"

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next(uint64_t *s) {
  uint64_t z = *s += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static double unit(uint64_t *s) {
  return (double)(next(s) >> 11) * 0x1p-53;
}

static double between(uint64_t *s, double lo, double hi) {
  return lo + (hi - lo) * unit(s);
}

static double sign(uint64_t *s, double v) {
  return next(s) & 1 ? -v : v;
}

static double random_bits(uint64_t *s, bool is_float) {
  uint64_t bits = next(s);
  if (is_float) {
    float f;
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    return (double)f;
  }
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

/* Where a function of one operand does something, for float64 and float32, and a point near which it is hard. */
typedef struct range {
  double lo, hi, lo_float, hi_float, hard;
} range;

static range range_of(int op) {
  switch (op) {
  case SCI_OP_sin:
  case SCI_OP_cos:
  case SCI_OP_tan:
  case SCI_VECTOR_SINCOS: return (range){-30, 30, -30, 30, 0};
  case SCI_OP_asin:
  case SCI_OP_acos:
  case SCI_OP_atanh: return (range){-1, 1, -1, 1, 1};
  case SCI_OP_atan:
  case SCI_OP_asinh: return (range){-20, 20, -20, 20, 1};
  case SCI_OP_acosh: return (range){1, 20, 1, 20, 1};
  case SCI_OP_sinh:
  case SCI_OP_cosh: return (range){-711, 711, -90, 90, 710.4};
  case SCI_OP_tanh: return (range){-25, 25, -12, 12, 0.5};
  case SCI_OP_exp: return (range){-746, 710, -104, 89, 709.7};
  case SCI_OP_exp2: return (range){-1076, 1025, -151, 129, 1024};
  case SCI_OP_expm1: return (range){-40, 710, -20, 89, 709.7};
  case SCI_OP_log:
  case SCI_OP_log2:
  case SCI_OP_log10: return (range){0, 5, 0, 5, 1};
  case SCI_OP_log1p: return (range){-1, 5, -1, 5, -1};
  case SCI_OP_cbrt: return (range){-30, 30, -30, 30, 1};
  case SCI_OP_erf: return (range){-7, 7, -5, 5, 1};
  case SCI_OP_erfc: return (range){-7, 28, -5, 11, 26.5};
  default: return (range){-10, 10, -10, 10, 1};
  }
}

static bool is_trigonometric(int op) {
  return op == SCI_OP_sin || op == SCI_OP_cos || op == SCI_OP_tan || op == SCI_VECTOR_SINCOS;
}

static double one_argument(int op, bool is_float, uint64_t *s, size_t i) {
  range r = range_of(op);
  double lo = is_float ? r.lo_float : r.lo, hi = is_float ? r.hi_float : r.hi;
  switch (i % 4) {
  case 0: return random_bits(s, is_float);
  case 1: return sign(s, exp2(between(s, -40, 20)));
  case 2: return between(s, lo, hi);
  default:
    if (is_trigonometric(op))
      return sign(s, (floor(exp2(between(s, 0, 30))) + (double)(next(s) & 1)) * 1.57079632679489661923 *
                         (1 + exp2(between(s, -60, -10))));
    return sign(s, r.hard + sign(s, exp2(between(s, -56, 0))));
  }
}

/* Powers whose result is a finite number, mostly. */
static void two_for_pow(bool is_float, uint64_t *s, size_t i, double *x, double *y) {
  double most = is_float ? 150 : 1080;
  switch (i % 4) {
  case 0: *x = fabs(random_bits(s, is_float)); break;
  case 1: *x = 1 + sign(s, exp2(between(s, -50, -1))); break;
  case 2: *x = exp2(between(s, -10, 10)); break;
  default: *x = sign(s, floor(between(s, 1, 40)) / 2); break;
  }
  double log2x = log2(fabs(*x));
  *y = i % 8 == 4 ? random_bits(s, is_float)
                  : between(s, -most, most) / (log2x == 0 || isnan(log2x) || isinf(log2x) ? 1 : log2x);
  if (i % 4 == 3) *y = floor(*y);
}

static void two_arguments(int op, bool is_float, uint64_t *s, size_t i, double *x, double *y) {
  if (op == SCI_OP_pow) {
    two_for_pow(is_float, s, i, x, y);
    return;
  }
  *x = i % 4 == 0 ? random_bits(s, is_float) : sign(s, exp2(between(s, -20, 20)));
  switch (i % 4) {
  case 0: *y = random_bits(s, is_float); break;
  case 1: *y = sign(s, exp2(between(s, -20, 20))); break;
  case 2: *y = sign(s, *x * exp2(between(s, -2, 2))); break;
  default:
    *x = sign(s, exp2(between(s, is_float ? -149 : -1074, is_float ? 127 : 1023))), *y = *x * exp2(between(s, -60, 60));
    break;
  }
}

static const double edges[] = {0.0,   -0.0,   1.0,   -1.0,   0.5,    -0.5, 2.0,     -2.0,     3.0,       -3.0,
                               1e300, -1e300, 710.0, -745.0, 1e-300, 4e18, 1e9 + 1, INFINITY, -INFINITY, NAN};

static double largest(bool is_float, int i) {
  static const double of_double[] = {0x1.fffffffffffffp1023,  0x1p-1074,   0x1p-1022,
                                     0x1.ffffffffffffep-1023, 1 + 0x1p-52, 1 - 0x1p-53};
  static const double of_float[] = {0x1.fffffep127, 0x1p-149, 0x1p-126, 0x1.fffffcp-127, 1 + 0x1p-23, 1 - 0x1p-24};
  return is_float ? of_float[i] : of_double[i];
}

static double edge(bool is_float, size_t i) {
  enum { PLAIN = sizeof edges / sizeof *edges };
  if (i < PLAIN) return edges[i];
  i -= PLAIN;
  return i % 2 ? -largest(is_float, (int)i / 2) : largest(is_float, (int)i / 2);
}

void make_points(int op, sc_dtype dtype, size_t n, double *x, double *y) {
  enum { EDGES = sizeof edges / sizeof *edges + 12 };
  bool is_float = dtype == SC_FLOAT32, two = y != NULL;
  uint64_t s = (uint64_t)op * 2 + is_float;
  size_t n_edges = two ? EDGES * EDGES : EDGES;
  for (size_t i = 0; i < n; i++) {
    if (i < n_edges) {
      x[i] = edge(is_float, i % EDGES);
      if (two) y[i] = edge(is_float, i / EDGES);
    } else if (two) {
      two_arguments(op, is_float, &s, i, &x[i], &y[i]);
    } else {
      x[i] = one_argument(op, is_float, &s, i);
    }
    if (!is_float) continue;
    x[i] = (double)(float)x[i];
    if (two) y[i] = (double)(float)y[i];
  }
}
