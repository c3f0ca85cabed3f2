/* Owns the builders of sources and elementwise operations, with what they simplify as they build. */
#include "lib/expr/build.h"

#include <math.h>

sci_id sci_finish(sc_context *cx, const sci_recipe *r) {
  uint32_t type = sci_infer(cx, r);
  if (r->n_args && sci_is_constant(cx, r->args[0])) {
    sci_id folded = sci_fold(cx, r, type);
    if (folded != SCI_NONE) return folded;
  }
  return sci_intern_node(cx, r->op, SC_HINT_AUTO, type, r->attr, r->n_args, r->args);
}

/* ---- sources ---- */

sci_id sci_make_input(sc_context *cx, const char *name, sc_dtype dtype, bool diff, int rank, const int64_t *shape) {
  sci_check_name(cx, "input", name, true);
  uint32_t type = sci_intern_type(cx, dtype, diff, rank, shape);
  struct {
    uint32_t serial;
    char name[SCI_NAME_MAX + 1];
  } attr;
  size_t n = strlen(name) + 1;
  attr.serial = cx->next_serial++;
  memcpy(attr.name, name, n);
  uint32_t blob = sci_intern_blob(cx, &attr, sizeof(sci_input_attr) + n);
  return sci_intern_node(cx, SCI_X_input, SC_HINT_AUTO, type, blob, 0, NULL);
}

sci_id sci_make_const(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, const void *data) {
  uint32_t type = sci_intern_type(cx, dtype, false, rank, shape);
  int64_t n = cx->types[type].size;
  size_t bytes = (size_t)n * sc_dtype_size(dtype);
  if (n && !data) sci_fail(&cx->env, SC_ERR_ARGUMENT, "const: %lld elements are to be read from NULL", (long long)n);
  sci_arena_mark mark = sci_arena_here(&cx->env.scratch);
  void *canonical = sci_alloc(&cx->env.scratch, bytes);
  bool equal = rank > 0 && n > 0;
  uint64_t first = 0;
  for (int64_t i = 0; i < n; i++) {
    sci_scalar v = sci_scalar_load(dtype, data, (size_t)i);
    uint64_t bits = sci_scalar_bits(dtype, v);
    if (!i) first = bits;
    equal = equal && bits == first;
    sci_scalar_store(dtype, canonical, (size_t)i, v);
  }
  sci_id id;
  if (equal)
    id = sci_make_broadcast(cx, sci_make_number(cx, dtype, sci_scalar_from_bits(dtype, first)), rank, shape);
  else
    id = sci_intern_node(cx, SCI_X_const, SC_HINT_AUTO, type, sci_intern_blob(cx, canonical, bytes), 0, NULL);
  sci_arena_release(&cx->env.scratch, mark);
  return id;
}

sci_id sci_make_number(sc_context *cx, sc_dtype dtype, sci_scalar v) {
  uint32_t type = sci_intern_type(cx, dtype, false, 0, NULL);
  uint64_t data = 0;
  sci_scalar_store(dtype, &data, 0, v);
  return sci_intern_node(cx, SCI_X_const, SC_HINT_AUTO, type, sci_intern_blob(cx, &data, sc_dtype_size(dtype)), 0,
                         NULL);
}

sci_id sci_make_double(sc_context *cx, sc_dtype dtype, double v) {
  if ((unsigned)dtype >= SC_DTYPE_COUNT)
    sci_fail(&cx->env, SC_ERR_DTYPE, "data type number %d does not exist", (int)dtype);
  return sci_make_number(cx, dtype, sci_scalar_number(dtype, v));
}

sci_id sci_make_fill(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, double v) {
  return sci_make_broadcast(cx, sci_make_double(cx, dtype, v), rank, shape);
}

/* ---- broadcasting ---- */

static void broadcast_fail(sc_context *cx, unsigned op, const sci_id *args, uint32_t n) {
  const char *text[3] = {"", "", ""};
  for (uint32_t i = 0; i < n; i++) {
    sci_type t = *sci_type_of(cx, args[i]);
    text[i] = sci_shape_text(cx, t.rank, t.shape);
  }
  sci_fail(&cx->env, SC_ERR_SHAPE,
           n == 3 ? "%s: shapes %s, %s and %s do not broadcast" : "%s: shapes %s and %s do not broadcast",
           sci_xop_name(op), text[0], text[1], text[2]);
}

/* Gives all operands one shape, NumPy's: aligned at the last axis, a size of 1 repeats. */
static void broadcast_operands(sc_context *cx, unsigned op, sci_id *args, uint32_t n) {
  bool equal = true;
  for (uint32_t i = 1; i < n; i++)
    equal = equal && (sci_node_at(cx, args[i])->type == sci_node_at(cx, args[0])->type ||
                      sci_same_shape(sci_type_of(cx, args[i]), sci_type_of(cx, args[0])));
  if (equal) return;
  int rank = 0;
  int64_t shape[SC_MAX_RANK];
  for (uint32_t i = 0; i < n; i++)
    if (sci_type_of(cx, args[i])->rank > rank) rank = sci_type_of(cx, args[i])->rank;
  for (int k = 0; k < rank; k++) shape[k] = 1;
  for (uint32_t i = 0; i < n; i++) {
    const sci_type *t = sci_type_of(cx, args[i]);
    for (int k = 0; k < t->rank; k++) {
      int64_t *at = &shape[rank - t->rank + k];
      if (*at == 1) *at = t->shape[k];
      if (t->shape[k] != 1 && t->shape[k] != *at) broadcast_fail(cx, op, args, n);
    }
  }
  for (uint32_t i = 0; i < n; i++) args[i] = sci_make_broadcast(cx, args[i], rank, shape);
}

/* ---- simplification; SCI_NONE: no rule applies ---- */

static sci_id ones_like(sc_context *cx, sci_id a) {
  sci_type t = *sci_type_of(cx, a);
  return sci_make_fill(cx, (sc_dtype)t.dtype, t.rank, t.shape, 1);
}

/* a to the n-th, n >= 1, by squaring. */
static sci_id power(sc_context *cx, sci_id a, unsigned n) {
  sci_id result = SCI_NONE;
  for (;;) {
    if (n & 1) result = result == SCI_NONE ? a : sci_make2(cx, SCI_OP_mul, result, a);
    if (!(n >>= 1)) return result;
    a = sci_make2(cx, SCI_OP_mul, a, a);
  }
}

static const double largest_power = 32;

static sci_id simplify_pow(sc_context *cx, sci_id a, sci_id b) {
  sci_scalar v;
  if (!sci_is_constant(cx, b) || !sci_const_value(cx, b, &v)) return SCI_NONE;
  double e = sci_scalar_double((sc_dtype)sci_type_of(cx, b)->dtype, v);
  if (e == 0.5) return sci_make1(cx, SCI_OP_sqrt, a);
  if (e == -0.5) return sci_make2(cx, SCI_OP_div, ones_like(cx, a), sci_make1(cx, SCI_OP_sqrt, a));
  if (e == 0) return ones_like(cx, a);
  if (e != floor(e) || fabs(e) > largest_power) return SCI_NONE;
  sci_id p = power(cx, a, (unsigned)fabs(e));
  return e > 0 ? p : sci_make2(cx, SCI_OP_div, ones_like(cx, a), p);
}

static bool is_number(const sc_context *cx, sci_id id, double v) {
  return sci_is_constant(cx, id) && sci_is_const_number(cx, id, v);
}

sci_id sci_guarded_root(const sc_context *cx, sci_id a) {
  if (!sci_plain(cx, a, SCI_OP_select)) return SCI_NONE;
  sci_id test = sci_arg(cx, a, 0), root = sci_arg(cx, a, 2);
  if (!sci_plain(cx, root, SCI_OP_sqrt) || !sci_plain(cx, test, SCI_OP_eq) || !is_number(cx, sci_arg(cx, a, 1), 0))
    return SCI_NONE;
  sci_id s = sci_arg(cx, root, 0), x = sci_arg(cx, test, 0), y = sci_arg(cx, test, 1);
  return (x == s && is_number(cx, y, 0)) || (y == s && is_number(cx, x, 0)) ? s : SCI_NONE;
}

/* s where a is a root of s: a * a is then s, smooth at zero. */
static sci_id under_root(const sc_context *cx, sci_id a) {
  return sci_plain(cx, a, SCI_OP_sqrt) ? sci_arg(cx, a, 0) : sci_guarded_root(cx, a);
}

static sci_id simplify(sc_context *cx, sci_op op, const sci_id *a) {
  switch ((int)op) {
  case SCI_OP_neg: return sci_plain(cx, a[0], SCI_OP_neg) ? sci_arg(cx, a[0], 0) : SCI_NONE;
  case SCI_OP_sub: return is_number(cx, a[1], 0) ? a[0] : SCI_NONE;
  case SCI_OP_div: return is_number(cx, a[1], 1) ? a[0] : SCI_NONE;
  case SCI_OP_mul:
    if (a[0] == a[1]) return under_root(cx, a[0]);
    return is_number(cx, a[1], 1) ? a[0] : is_number(cx, a[0], 1) ? a[1] : SCI_NONE;
  case SCI_OP_pow: return simplify_pow(cx, a[0], a[1]);
  case SCI_OP_select: {
    sci_scalar v;
    if (a[1] == a[2]) return a[1];
    if (!sci_is_constant(cx, a[0]) || !sci_const_value(cx, a[0], &v)) return SCI_NONE;
    return v.b8 ? a[1] : a[2];
  }
  }
  return SCI_NONE;
}

/* ---- elementwise ---- */

sci_id sci_make_scalar_op(sc_context *cx, sci_op op, const sci_id *given) {
  uint32_t n = sci_ops[op].arity;
  sci_id args[3];
  for (uint32_t i = 0; i < n; i++) args[i] = given[i];
  if (n > 1) broadcast_operands(cx, op, args, n);
  sci_recipe r = {.op = op, .n_args = n, .args = args, .type = SCI_NONE};
  uint32_t type = sci_infer_scalar(cx, &r);
  sci_id simple = simplify(cx, op, args);
  if (simple != SCI_NONE) return simple;
  if (sci_is_constant(cx, args[0]) && (simple = sci_fold(cx, &r, type)) != SCI_NONE) return simple;
  return sci_intern_node(cx, op, SC_HINT_AUTO, type, 0, n, args);
}

sci_id sci_make1(sc_context *cx, sci_op op, sci_id a) {
  return sci_make_scalar_op(cx, op, &a);
}

sci_id sci_make2(sc_context *cx, sci_op op, sci_id a, sci_id b) {
  return sci_make_scalar_op(cx, op, (sci_id[]){a, b});
}

sci_id sci_make_select(sc_context *cx, sci_id cond, sci_id a, sci_id b) {
  return sci_make_scalar_op(cx, SCI_OP_select, (sci_id[]){cond, a, b});
}

sci_id sci_make_cast(sc_context *cx, sci_id a, sc_dtype dtype) {
  sci_type t = *sci_type_of(cx, a);
  if (t.dtype == dtype) return a;
  uint32_t type = sci_intern_type(cx, dtype, t.diff, t.rank, t.shape);
  return sci_finish1(cx, SCI_OP_cast, 0, type, a);
}

sci_id sci_make_stop_gradient(sc_context *cx, sci_id a) {
  return sci_type_of(cx, a)->diff ? sci_finish1(cx, SCI_X_stop_gradient, 0, SCI_NONE, a) : a;
}
