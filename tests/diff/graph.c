/* Owns the random functions: chains biased toward structural operations, with calls and maps of smaller random
 * functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/diff/diff.h"

enum { MAX_POOL = 96, MAX_CALLEES = 3, MAX_ELEMENTS = 700, MAX_AXES = 4 };

typedef struct builder {
  sc_context *cx;
  rng r;
  sc_expr pool[MAX_POOL];
  int n;
  sc_function *callees[MAX_CALLEES];
  int n_callees;
  bool strict; /* no rule that is wrong for NaN, infinities or signed zeros; else none of the operations that tell zeros
                  apart */
  bool smooth; /* float64, but for inputs that carry no derivative */
  bool stuck;  /* a builder failed */
} builder;

static void keep(builder *b, sc_expr e) {
  if (sc_is_null(e))
    b->stuck = true;
  else if (b->n < MAX_POOL && sc_expr_size(e) <= MAX_ELEMENTS * 20)
    b->pool[b->n++] = e;
}

/* Mostly one of the newest: chains are what finds bugs. */
static sc_expr pick(builder *b) {
  int64_t back = rng_chance(&b->r, 65) ? rng_below(&b->r, b->n < 4 ? b->n : 4) : rng_below(&b->r, b->n);
  return b->pool[b->n - 1 - back];
}

static bool is_float(sc_expr e) {
  return sc_expr_dtype(e) == SC_FLOAT64 || sc_expr_dtype(e) == SC_FLOAT32;
}

static int64_t some_size(rng *r) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9};
  return rng_chance(r, 4) ? 0 : sizes[rng_below(r, 8)];
}

static int some_shape(rng *r, int64_t shape[MAX_AXES]) {
  static const int ranks[] = {0, 1, 1, 1, 2, 2, 2, 3, 3, 4};
  int rank = ranks[rng_below(r, 10)];
  int64_t size = 1;
  for (int k = 0; k < rank; k++) {
    shape[k] = some_size(r);
    if (size * shape[k] > 300) shape[k] = 2;
    size *= shape[k];
  }
  if (rank == 1 && rng_chance(r, 10)) shape[0] = 60 + rng_below(r, 90);
  if (rank == 1 && rng_chance(r, 1)) shape[0] = 4090 + rng_below(r, 60);
  return rank;
}

static sc_dtype some_dtype(rng *r) {
  static const sc_dtype dtypes[] = {SC_FLOAT64, SC_FLOAT64, SC_FLOAT64, SC_FLOAT64, SC_FLOAT64,
                                    SC_FLOAT32, SC_FLOAT32, SC_INT64,   SC_INT32,   SC_BOOL};
  return dtypes[rng_below(r, 10)];
}

/* Indices into n elements: affine, periodic or without pattern, as lowering tells them apart. */
static int64_t *some_indices(builder *b, int64_t count, int64_t n) {
  int64_t *at = calloc((size_t)count + 1, sizeof *at);
  if (!at) abort();
  int64_t start = rng_below(&b->r, n), step = rng_below(&b->r, 5) - 2, period = 1 + rng_below(&b->r, 6);
  int kind = (int)rng_below(&b->r, 4);
  for (int64_t k = 0; k < count; k++) {
    if (kind == 0) at[k] = rng_below(&b->r, n);
    if (kind == 1) at[k] = start + k * step;
    if (kind == 2) at[k] = start + k % period * step;
    if (kind == 3) at[k] = start + k / period * step;
    at[k] = ((at[k] % n) + n) % n;
    if (rng_chance(&b->r, 3)) at[k] -= n; /* from the end */
  }
  return at;
}

static sc_expr gather(builder *b, sc_expr a, int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int k = 0; k < rank; k++) count *= shape[k];
  int64_t *at = some_indices(b, count, sc_expr_size(a) ? sc_expr_size(a) : 1);
  sc_expr r = sc_gather(a, at, rank, shape);
  free(at);
  return r;
}

/* Something of the pool made to have a dtype and shape. */
static sc_expr fitted(builder *b, sc_dtype dtype, int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int k = 0; k < rank; k++) count *= shape[k];
  sc_expr a = pick(b);
  for (int tries = 0; tries < 8 && (sc_expr_dtype(a) != dtype || sc_expr_size(a) != count); tries++) a = pick(b);
  a = sc_cast(a, dtype);
  if (sc_expr_size(a) == count) return sc_reshape(a, rank, shape);
  if (!sc_expr_size(a)) return sc_full(b->cx, dtype, rank, shape, 0.25);
  if (rng_chance(&b->r, 30)) return sc_broadcast(sc_reshape(gather(b, a, 0, NULL), 0, NULL), rank, shape);
  return gather(b, a, rank, shape);
}

/* An operand that broadcasts against a. */
static sc_expr partner(builder *b, sc_expr a) {
  int64_t shape[SC_MAX_RANK];
  int rank = sc_expr_rank(a), drop = rng_chance(&b->r, 25) ? (int)rng_below(&b->r, rank + 1) : 0;
  if (rng_chance(&b->r, 15)) return sc_like(a, (double)rng_below(&b->r, 9) / 4 - 1);
  for (int k = drop; k < rank; k++) shape[k - drop] = rng_chance(&b->r, 12) ? 1 : sc_expr_shape(a)[k];
  return fitted(b, sc_expr_dtype(a), rank - drop, shape);
}

/* ---- families ---- */

static sc_expr elementwise1(builder *b, sc_expr a) {
  typedef sc_expr (*unary)(sc_expr);
  static const unary floats[] = {sc_neg,   sc_sin,     sc_cos,  sc_tanh,  sc_abs,   sc_sign,  sc_floor,   sc_ceil,
                                 sc_round, sc_atan,    sc_cbrt, sc_trunc, sc_erf,   sc_asinh, sc_square,  sc_neg,
                                 sc_abs,   sc_sigmoid, sc_sqrt, sc_exp,   sc_log1p, sc_isnan, sc_isfinite};
  static const unary integers[] = {sc_neg, sc_abs, sc_sign, sc_square};
  if (sc_expr_dtype(a) == SC_BOOL) return sc_not(a);
  if (is_float(a)) return floats[rng_below(&b->r, (int64_t)(sizeof floats / sizeof *floats))](a);
  return integers[rng_below(&b->r, 4)](a);
}

static sc_expr elementwise2(builder *b, sc_expr a) {
  typedef sc_expr (*binary)(sc_expr, sc_expr);
  static const binary floats[] = {sc_add, sc_sub, sc_mul, sc_add, sc_sub,   sc_mul,  sc_div, sc_minimum, sc_maximum,
                                  sc_lt,  sc_le,  sc_eq,  sc_ne,  sc_hypot, sc_fmod, sc_pow, sc_atan2,   sc_copysign};
  static const binary integers[] = {sc_add, sc_sub, sc_mul, sc_div, sc_fmod, sc_minimum, sc_maximum, sc_lt, sc_eq};
  static const binary bools[] = {sc_and, sc_or, sc_eq, sc_ne};
  sc_expr other = partner(b, a);
  if (rng_chance(&b->r, 50)) {
    sc_expr swap = a;
    a = other;
    other = swap;
  }
  if (sc_expr_dtype(a) == SC_BOOL) return bools[rng_below(&b->r, 4)](a, other);
  int64_t n = (int64_t)(sizeof floats / sizeof *floats) - (b->strict ? 0 : 2), which = rng_below(&b->r, n);
  /* Signs of NaN are nobody's business. */
  if (is_float(a) && floats[which] == sc_copysign) other = sc_select(sc_isnan(other), sc_like(other, 1), other);
  if (is_float(a)) return floats[which](a, other);
  return integers[rng_below(&b->r, 9)](a, other);
}

static sc_expr elementwise(builder *b, sc_expr a) {
  switch (rng_below(&b->r, 10)) {
  case 0: return b->smooth ? elementwise2(b, a) : sc_cast(a, some_dtype(&b->r));
  case 1: {
    sc_expr cond = fitted(b, SC_BOOL, sc_expr_rank(a), sc_expr_shape(a));
    return sc_select(cond, a, partner(b, a));
  }
  case 2:
  case 3:
  case 4: return elementwise1(b, a);
  }
  return elementwise2(b, a);
}

static sc_expr reduction(builder *b, sc_expr a) {
  int axes[SC_MAX_RANK], n = 0;
  int64_t each = 1;
  for (int k = 0; k < sc_expr_rank(a); k++) {
    if (!rng_chance(&b->r, 60)) continue;
    axes[n++] = rng_chance(&b->r, 20) ? k - sc_expr_rank(a) : k;
    each *= sc_expr_shape(a)[k];
  }
  if (sc_expr_dtype(a) == SC_BOOL) a = sc_cast(a, SC_INT32);
  int64_t which = each && sc_expr_size(a) ? rng_below(&b->r, 4) : 0;
  if (n == sc_expr_rank(a) && rng_chance(&b->r, 50)) return which == 1 ? sc_max(a) : which == 2 ? sc_min(a) : sc_sum(a);
  return which == 1 ? sc_max_axes(a, n, axes) : which == 2 ? sc_min_axes(a, n, axes) : sc_sum_axes(a, n, axes);
}

static sc_expr reshaped(builder *b, sc_expr a) {
  int64_t shape[MAX_AXES], rest = sc_expr_size(a);
  int rank = 1 + (int)rng_below(&b->r, MAX_AXES);
  if (rest == 1 && rng_chance(&b->r, 30)) return sc_reshape(a, 0, NULL);
  for (int k = 0; k < rank; k++) {
    static const int64_t factors[] = {1, 2, 3, 4, 5, 6, 7, 8};
    int64_t f = factors[rng_below(&b->r, 8)];
    shape[k] = k == rank - 1 ? rest : rest && rest % f == 0 ? f : 1;
    rest = rest ? rest / shape[k] : 0;
  }
  if (rank > 1 && rng_chance(&b->r, 50)) {
    int64_t swap = shape[0];
    shape[0] = shape[rank - 1];
    shape[rank - 1] = swap;
  }
  if (sc_expr_size(a) && rng_chance(&b->r, 20)) shape[rng_below(&b->r, rank)] = -1;
  return sc_reshape(a, rank, shape);
}

static sc_expr transposed(builder *b, sc_expr a) {
  int axes[SC_MAX_RANK], rank = sc_expr_rank(a);
  for (int k = 0; k < rank; k++) axes[k] = k;
  for (int k = rank - 1; k > 0; k--) {
    int other = (int)rng_below(&b->r, k + 1), swap = axes[k];
    axes[k] = axes[other];
    axes[other] = swap;
  }
  return rng_chance(&b->r, 20) ? sc_transpose(a) : sc_transpose_axes(a, axes);
}

static sc_expr sliced(builder *b, sc_expr a) {
  sc_range index[SC_MAX_RANK];
  int rank = sc_expr_rank(a), n = 0;
  for (; n < rank; n++) {
    int64_t size = sc_expr_shape(a)[n], from = rng_below(&b->r, size), to = from + 1 + rng_below(&b->r, size - from);
    switch (rng_below(&b->r, 8)) {
    case 0: index[n] = size ? SC_AT(from) : SC_ALL; break;
    case 1: index[n] = size ? SC_AT(from - size) : SC_ALL; break;
    case 2: index[n] = SC_SPAN(from, to); break;
    case 3: index[n] = (sc_range){SC_NONE, SC_NONE, -1}; break;
    case 4: index[n] = (sc_range){from, SC_NONE, 1 + rng_below(&b->r, 3)}; break;
    case 5: index[n] = (sc_range){SC_NONE, from ? from - size : SC_NONE, 2}; break;
    case 6: index[n] = (sc_range){to, rng_chance(&b->r, 50) ? SC_NONE : 0, -1 - rng_below(&b->r, 2)}; break;
    default: index[n] = SC_ALL;
    }
    if (rng_chance(&b->r, 10)) break;
  }
  return sc_slice(a, n, index);
}

static sc_expr spread(builder *b, sc_expr a) {
  int64_t shape[SC_MAX_RANK], size = 1;
  int rank = sc_expr_rank(a), more = rank < MAX_AXES ? (int)rng_below(&b->r, MAX_AXES - rank + 1) : 0;
  for (int k = 0; k < more; k++) shape[k] = some_size(&b->r);
  for (int k = 0; k < rank; k++) {
    int64_t old = sc_expr_shape(a)[k];
    shape[more + k] = old == 1 && rng_chance(&b->r, 70) ? some_size(&b->r) : old;
  }
  for (int k = 0; k < more + rank; k++) size *= shape[k];
  return size > MAX_ELEMENTS ? a : sc_broadcast(a, more + rank, shape);
}

static sc_expr tables(builder *b, sc_expr a) {
  int64_t shape[MAX_AXES], n = 1;
  int rank = some_shape(&b->r, shape);
  for (int k = 0; k < rank; k++) n *= shape[k];
  if (rng_chance(&b->r, 40)) return sc_expr_size(a) || !n ? gather(b, a, rank, shape) : a;
  if (sc_expr_dtype(a) == SC_BOOL) a = sc_cast(a, SC_FLOAT64);
  if (!n) return a;
  int64_t *at = some_indices(b, sc_expr_size(a), n);
  sc_expr r;
  if (rng_chance(&b->r, 40)) {
    r = sc_scatter(a, at, rank, shape);
  } else {
    sc_expr base = fitted(b, sc_expr_dtype(a), rank, shape);
    r = rng_chance(&b->r, 50) ? sc_index_add(base, a, at) : sc_index_set(base, a, at);
  }
  free(at);
  return r;
}

static sc_expr joined(builder *b, sc_expr a) {
  sc_expr parts[5];
  int n = 1 + (int)rng_below(&b->r, 5), rank = sc_expr_rank(a);
  if (rank == 0 || rank == MAX_AXES || rng_chance(&b->r, 40)) {
    int axis = rank == MAX_AXES ? 0 : (int)rng_below(&b->r, rank + 1);
    for (int k = 0; k < n; k++) parts[k] = k == 0 ? a : fitted(b, sc_expr_dtype(a), rank, sc_expr_shape(a));
    return rank == MAX_AXES ? sc_concat(parts, (size_t)n, 0) : sc_stack(parts, (size_t)n, axis);
  }
  int axis = (int)rng_below(&b->r, rank);
  for (int k = 0; k < n; k++) {
    int64_t shape[SC_MAX_RANK];
    memcpy(shape, sc_expr_shape(a), (size_t)rank * sizeof *shape);
    shape[axis] = some_size(&b->r);
    parts[k] = k == n / 2 ? a : fitted(b, sc_expr_dtype(a), rank, shape);
  }
  return sc_concat(parts, (size_t)n, rng_chance(&b->r, 20) ? axis - rank : axis);
}

static sc_expr product(builder *b, sc_expr a) {
  if (sc_expr_dtype(a) == SC_BOOL) a = sc_cast(a, SC_FLOAT64);
  int64_t size = sc_expr_size(a), rows = size % 4 == 0 ? 4 : size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
  if (sc_expr_rank(a) == 0 || sc_expr_rank(a) > 2) a = sc_reshape(a, 2, (const int64_t[]){rows, size / rows});
  int64_t inner = sc_expr_shape(a)[sc_expr_rank(a) - 1];
  int rank = 1 + (int)rng_below(&b->r, 2);
  sc_expr other = fitted(b, sc_expr_dtype(a), rank, (const int64_t[]){inner, some_size(&b->r)});
  return sc_matmul(a, other);
}

/* What is only defined on one side of a condition; the other side is often NaN or infinite where it is not taken. */
static sc_expr guarded(builder *b, sc_expr a) {
  if (!is_float(a)) return elementwise(b, a);
  sc_expr zero = sc_like(a, 0), other = rng_chance(&b->r, 50) ? zero : partner(b, a), one = sc_like(a, 1), value = a;
  sc_expr bound = rng_chance(&b->r, 70) ? zero : sc_like(a, 0.75);
  switch (rng_below(&b->r, 11)) {
  case 0: value = sc_sqrt(a); break;
  case 1: value = sc_log(a); break;
  case 2: value = sc_div(partner(b, a), a); break;
  case 3: value = sc_pow(a, sc_like(a, 0.3)); break;
  case 4: value = sc_pow(a, partner(b, a)); break;
  case 5: value = sc_cbrt(a); break;
  case 8: value = sc_exp(sc_square(a)); break;
  case 9: value = sc_sin(sc_div(one, a)); break;
  case 10: value = sc_tanh(partner(b, a)); break;
  case 6:
    value = sc_log1p(sc_neg(a));
    bound = one;
    break;
  case 7:
    value = sc_sqrt(sc_sub(sc_square(a), one));
    bound = one;
    break;
  }
  switch (rng_below(&b->r, 4)) {
  case 0: return sc_select(sc_le(a, bound), other, value);
  case 1: return sc_select(sc_not(sc_lt(bound, a)), other, value);
  case 2:
    return sc_select(sc_and(sc_lt(bound, a), fitted(b, SC_BOOL, sc_expr_rank(a), sc_expr_shape(a))), value, other);
  }
  return sc_select(sc_lt(bound, a), value, other);
}

/* Neighbours of a long vector, which derivatives make bands of. */
static sc_expr stencil(builder *b, sc_expr a) {
  int64_t n = rng_chance(&b->r, 50) ? 8 + rng_below(&b->r, 60) : 4 + rng_below(&b->r, 12), shape[] = {n};
  int64_t step = 1 + rng_below(&b->r, 3), reach = 1 + rng_below(&b->r, 3), count = (n - reach + step - 1) / step;
  if (!is_float(a)) return elementwise(b, a);
  sc_expr v = fitted(b, sc_expr_dtype(a), 1, shape);
  sc_expr sum = sc_slice(v, 1, (const sc_range[]){{0, n - reach, step}});
  for (int k = 0; k < 3; k++) {
    int64_t from = rng_below(&b->r, reach + 1);
    sc_expr other = sc_slice(v, 1, (const sc_range[]){{from, n - reach + from, step}});
    switch (rng_below(&b->r, 5)) {
    case 0: sum = sc_mul(sum, other); break;
    case 1: sum = sc_add(sum, sc_sin(other)); break;
    case 2: sum = sc_sub(sc_mul(sum, sc_like(sum, 0.5)), other); break;
    case 3: sum = sc_add(sum, sc_square(other)); break;
    case 4: sum = sc_add(sum, other); break;
    }
  }
  if (rng_chance(&b->r, 30)) sum = sc_slice(sum, 1, (const sc_range[]){{SC_NONE, SC_NONE, -1}});
  if (count < 1 || rng_chance(&b->r, 50)) return sum;
  sc_expr ends[] = {sc_slice(v, 1, (const sc_range[]){SC_SPAN(0, 2)}), sum,
                    sc_slice(v, 1, (const sc_range[]){{-1, SC_NONE, 1}})};
  return sc_concat(ends, 3, 0);
}

/* A vector long enough for lanes of every type, and what loops in lanes do to one element: conversions, conditions,
 * math functions under them. */
static sc_expr in_lanes(builder *b) {
  static const sc_dtype dtypes[] = {SC_FLOAT64, SC_FLOAT32, SC_FLOAT32, SC_INT64, SC_INT32, SC_BOOL};
  int64_t n = 15 + rng_below(&b->r, 50), steps = 2 + rng_below(&b->r, 4);
  sc_expr v = fitted(b, b->smooth ? SC_FLOAT64 : dtypes[rng_below(&b->r, 6)], 1, &n);
  for (int64_t k = 0; k < steps; k++) {
    if (rng_chance(&b->r, 30))
      v = guarded(b, v);
    else if (!b->smooth && rng_chance(&b->r, 30))
      v = sc_cast(v, dtypes[rng_below(&b->r, 6)]);
    else
      v = elementwise(b, v);
    if (sc_expr_rank(v) != 1 || sc_expr_size(v) != n) break;
  }
  return v;
}

static sc_expr norm(builder *b, sc_expr a) {
  return is_float(a) && sc_expr_size(a) ? sc_norm_2(rng_chance(&b->r, 30) ? sc_mul(a, sc_like(a, 0)) : a) : a;
}

static sc_expr called(builder *b) {
  sc_function *f = b->callees[rng_below(&b->r, b->n_callees)];
  size_t n = sc_function_input_count(f), output = (size_t)rng_below(&b->r, (int64_t)sc_function_output_count(f));
  sc_expr args[8];
  for (size_t k = 0; k < n; k++) {
    sc_expr formal = sc_function_input(f, k);
    args[k] = fitted(b, sc_expr_dtype(formal), sc_expr_rank(formal), sc_expr_shape(formal));
  }
  sc_expr r = sc_call(f, args, n, output);
  /* A sibling: another output of the same call. */
  if (rng_chance(&b->r, 40)) keep(b, sc_call(f, args, n, (output + 1) % sc_function_output_count(f)));
  return r;
}

static sc_expr mapped(builder *b) {
  sc_function *f = b->callees[rng_below(&b->r, b->n_callees)];
  size_t n = sc_function_input_count(f), output = (size_t)rng_below(&b->r, (int64_t)sc_function_output_count(f));
  int64_t length = rng_chance(&b->r, 5) ? 0 : 1 + rng_below(&b->r, rng_chance(&b->r, 30) ? 40 : 9), starts[8],
          strides[8];
  while (length > 1 && sc_expr_size(sc_function_output(f, output)) * length > MAX_ELEMENTS) length /= 2;
  sc_expr args[8];
  for (size_t k = 0; k < n; k++) {
    sc_expr formal = sc_function_input(f, k);
    int64_t size = sc_expr_size(formal), choices[] = {0, 1, size, size + 1, size, 2};
    starts[k] = rng_below(&b->r, 4);
    strides[k] = choices[rng_below(&b->r, 6)];
    int64_t reach = starts[k] + (length ? (length - 1) * strides[k] : 0) + size + rng_below(&b->r, 3);
    if (length && rng_chance(&b->r, 15)) starts[k] += (length - 1) * strides[k], strides[k] = -strides[k];
    args[k] = fitted(b, sc_expr_dtype(formal), 1, &reach);
  }
  sc_expr r = sc_vmap_windows(f, length, args, n, starts, strides, output);
  if (rng_chance(&b->r, 40))
    keep(b, sc_vmap_windows(f, length, args, n, starts, strides, (output + 1) % sc_function_output_count(f)));
  return r;
}

static sc_expr grown(builder *b) {
  sc_expr a = pick(b);
  if (b->smooth && rng_chance(&b->r, 30)) return elementwise(b, a);
  int64_t what = rng_below(&b->r, 100);
  if (what < 4) return guarded(b, a);
  if (what < 7) return stencil(b, a);
  if (what < 8) return norm(b, a);
  if (what < 12) return in_lanes(b);
  if (what < 24) return elementwise(b, a);
  if (what < 32) return reshaped(b, a);
  if (what < 40) return transposed(b, a);
  if (what < 52) return sliced(b, a);
  if (what < 58) return spread(b, a);
  if (what < 70) return tables(b, a);
  if (what < 80) return joined(b, a);
  if (what < 86) return reduction(b, a);
  if (what < 90) return product(b, a);
  if (what < 91) return sc_stop_gradient(a);
  if (what < 92 && !sc_expr_name(a)) return sc_with_hint(a, rng_chance(&b->r, 50) ? SC_HINT_BLOCK : SC_HINT_SCALAR);
  if (!b->n_callees) return elementwise(b, a);
  return what < 95 ? called(b) : mapped(b);
}

/* ---- functions ---- */

/* Mostly what derivatives are taken by; in smooth functions an integer or a bool, or a float without derivative, now
 * and then. */
static sc_expr some_input(builder *b, const char *name) {
  int64_t shape[MAX_AXES];
  int rank = some_shape(&b->r, shape);
  sc_dtype dtype = some_dtype(&b->r);
  if (!b->smooth) return sc_input(b->cx, name, dtype, rank, shape);
  if (rng_chance(&b->r, 94)) return sc_input(b->cx, name, SC_FLOAT64, rank, shape);
  return sc_input_nodiff(b->cx, name, dtype == SC_FLOAT32 ? SC_FLOAT64 : dtype, rank, shape);
}

/* One that brings its own derivative along: what the library makes of it. */
static sc_function *customized(builder *b, sc_function *g) {
  sc_request requests[8];
  char inputs[64] = "";
  size_t n = 0, n_in = sc_function_input_count(g), n_out = sc_function_output_count(g);
  for (size_t k = 0; k < n_in; k++)
    if (sc_expr_diff(sc_function_input(g, k)))
      snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s%s", n++ ? "+" : "",
               sc_function_input_name(g, k));
  if (!n) return g;
  n = 0;
  bool vjp = n_out == 1 && rng_chance(&b->r, 50);
  for (size_t k = 0; k < n_out; k++)
    if (!is_float(sc_function_output(g, k))) return g;
  for (size_t k = 0; k < n_in && vjp; k++)
    if (sc_expr_diff(sc_function_input(g, k)))
      requests[n++] = SC_ADJ(sc_function_output_name(g, 0), sc_function_input_name(g, k));
  for (size_t k = 0; k < n_out && !vjp; k++) requests[n++] = SC_FWD(sc_function_output_name(g, k), inputs);
  char name[32];
  snprintf(name, sizeof name, "d_%s", sc_function_name(g));
  sc_function *d = sc_function_derive(g, name, requests, n, NULL);
  sc_function *made = d ? sc_custom_derivative(g, vjp ? NULL : d, vjp ? d : NULL, NULL) : NULL;
  b->stuck |= !made;
  return made;
}

static sc_function *grow_function(builder *b, const char *name, int n_in, int steps) {
  static const char *const in_names[] = {"x0", "x1", "x2", "x3"}, *const out_names[] = {"y0", "y1", "y2", "y3"};
  sc_named in[4], out[4];
  b->n = 0;
  for (int k = 0; k < n_in; k++) {
    in[k] = (sc_named){in_names[k], some_input(b, in_names[k]), NULL};
    keep(b, in[k].expr);
  }
  for (int k = 0; k < steps && !b->stuck && b->n < MAX_POOL - 2; k++) keep(b, grown(b));
  if (b->stuck) return NULL;
  int n_out = 1 + (int)rng_below(&b->r, 4);
  for (int k = 0; k < n_out; k++) out[k] = (sc_named){out_names[k], k == 0 ? b->pool[b->n - 1] : pick(b), NULL};
  sc_function *f = sc_function_create(b->cx, name, in, (size_t)n_in, out, (size_t)n_out);
  if (f) sc_function_set_strict_nan(f, b->strict);
  return f;
}

static sc_function *grow_all(sc_context *cx, uint64_t seed, const char *name, bool smooth) {
  builder b = {.cx = cx, .r = {seed * 7919 + 17}, .smooth = smooth};
  int callees = (int)rng_below(&b.r, MAX_CALLEES + 1);
  b.strict = rng_chance(&b.r, 70);
  for (int k = 0; k < callees && !b.stuck; k++) {
    char callee[16];
    snprintf(callee, sizeof callee, "g%d", k);
    sc_function *g = grow_function(&b, callee, 1 + (int)rng_below(&b.r, 3), 1 + (int)rng_below(&b.r, 8));
    if (g && smooth && rng_chance(&b.r, 15)) g = customized(&b, g);
    if (!g) return NULL;
    b.callees[b.n_callees++] = g;
  }
  return grow_function(&b, name, 1 + (int)rng_below(&b.r, 4), 3 + (int)rng_below(&b.r, 30));
}

sc_function *diff_random_function(sc_context *cx, uint64_t seed, const char *name) {
  return grow_all(cx, seed, name, false);
}

sc_function *diff_random_smooth(sc_context *cx, uint64_t seed, const char *name) {
  return grow_all(cx, seed, name, true);
}

/* A few derivatives of a smooth function as one function: programs that may round differently, and the tables, windows
 * and repeated seeds that only derivatives have. */
sc_function *diff_random_derivative(sc_context *cx, uint64_t seed, const char *name) {
  sc_function *f = grow_all(cx, seed, "source", true);
  rng r = {seed * 31 + 7};
  char wrt[64] = "";
  int64_t columns = 0;
  for (size_t k = 0; f && k < sc_function_input_count(f); k++) {
    sc_expr x = sc_function_input(f, k);
    if (!sc_expr_diff(x) || sc_expr_dtype(x) != SC_FLOAT64 || (*wrt && rng_chance(&r, 40))) continue;
    snprintf(wrt + strlen(wrt), sizeof wrt - strlen(wrt), "%s%s", *wrt ? "+" : "", sc_function_input_name(f, k));
    columns += sc_expr_size(x);
  }
  sc_request requests[4];
  size_t n = 0;
  bool second = rng_chance(&r, 40) && columns < 60;
  for (size_t o = 0; f && *wrt && o < sc_function_output_count(f) && n < 3; o++) {
    const char *of = sc_function_output_name(f, o);
    if (sc_expr_dtype(sc_function_output(f, o)) != SC_FLOAT64) continue;
    bool small = sc_expr_size(sc_function_output(f, o)) * columns < 4000;
    switch (rng_below(&r, small ? 5 : 2)) {
    case 0: requests[n++] = SC_FWD(of, wrt); break;
    case 1: requests[n++] = SC_ADJ(of, wrt); break;
    case 2: requests[n++] = SC_JAC(of, wrt); break;
    default: requests[n++] = SC_SPJAC(of, wrt); requests[n - 1].layout = (sc_layout)rng_below(&r, 3);
    }
  }
  if (!n) return f;
  if (second) {
    requests[n++] = rng_chance(&r, 30) ? SC_LAGHESS(wrt) : SC_SPLAGHESS(wrt, (sc_triangle)rng_below(&r, 3));
    requests[n - 1].layout = (sc_layout)rng_below(&r, 3);
  }
  return sc_function_derive(f, name, requests, n, NULL);
}
