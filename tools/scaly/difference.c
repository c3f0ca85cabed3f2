/* Owns the comparison of results. */
#include "tools/scaly/difference.h"

#include <math.h>
#include <string.h>

/* Integers in the order of the floating-point numbers: neighbors differ by one, both zeros are 0. */
static int64_t ordered64(double v) {
  int64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits < 0 ? INT64_MIN - bits : bits;
}

static int32_t ordered32(float v) {
  int32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits < 0 ? INT32_MIN - bits : bits;
}

static double gap64(int64_t a, int64_t b) {
  return a > b ? (double)((uint64_t)a - (uint64_t)b) : (double)((uint64_t)b - (uint64_t)a);
}

static difference float_distance(double a, double b, double ulp) {
  if (isnan(a) && isnan(b)) return (difference){0, 0};
  if (isnan(a) || isnan(b)) return (difference){INFINITY, INFINITY};
  return (difference){a == b ? 0 : fabs(a - b), ulp};
}

static difference element_distance(sc_dtype dtype, const void *a, const void *b, size_t i) {
  double gap = 0;
  switch (dtype) {
  case SC_FLOAT64: {
    double x = ((const double *)a)[i], y = ((const double *)b)[i];
    return float_distance(x, y, gap64(ordered64(x), ordered64(y)));
  }
  case SC_FLOAT32: {
    float x = ((const float *)a)[i], y = ((const float *)b)[i];
    return float_distance((double)x, (double)y, gap64(ordered32(x), ordered32(y)));
  }
  case SC_INT64: gap = gap64(((const int64_t *)a)[i], ((const int64_t *)b)[i]); break;
  case SC_INT32: gap = gap64(((const int32_t *)a)[i], ((const int32_t *)b)[i]); break;
  case SC_BOOL: gap = gap64(((const uint8_t *)a)[i], ((const uint8_t *)b)[i]); break;
  }
  return (difference){gap, gap};
}

void widen_difference(difference *d, port_list outputs, void *const *a, void *const *b) {
  for (size_t i = 0; i < outputs.n; i++) {
    const sc_port *port = &outputs.ports[i];
    for (size_t e = 0; e < (size_t)port->count; e++) {
      difference one = element_distance(port->dtype, a[i], b[i], e);
      if (one.abs > d->abs) d->abs = one.abs;
      if (one.ulp > d->ulp) d->ulp = one.ulp;
    }
  }
}

static double float_at(const sc_port *port, const void *v, size_t i) {
  return port->dtype == SC_FLOAT32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

static bool same_floats(const sc_port *port, const void *a, const void *b) {
  double most = 0, tolerance = port->dtype == SC_FLOAT32 ? 1e-3 : 1e-6;
  for (size_t i = 0; i < (size_t)port->count; i++) {
    double v = fabs(float_at(port, b, i));
    if (isfinite(v) && v > most) most = v;
  }
  for (size_t i = 0; i < (size_t)port->count; i++) {
    double x = float_at(port, a, i), y = float_at(port, b, i);
    if (x == y || (isnan(x) && isnan(y))) continue;
    if (!isfinite(x) || !isfinite(y) || fabs(x - y) > tolerance * most) return false;
  }
  return true;
}

bool same_but_rounding(port_list outputs, void *const *a, void *const *b) {
  for (size_t i = 0; i < outputs.n; i++) {
    const sc_port *port = &outputs.ports[i];
    bool floats = port->dtype == SC_FLOAT64 || port->dtype == SC_FLOAT32;
    if (floats ? !same_floats(port, a[i], b[i])
               : memcmp(a[i], b[i], (size_t)port->count * sc_dtype_size(port->dtype)) != 0)
      return false;
  }
  return true;
}
