/* Owns what is known about index values: ranges by interval arithmetic, and values at single points of the loops. */
#include "lib/program/ranges.h"

void sci_facts_init(sci_facts *k, const sci_store *s, sci_arena *a) {
  *k = (sci_facts){.s = s, .a = a, .n_vars = s->n_vars, .n_names = s->n_names};
  k->var_loop = SCI_ZEROS(a, const sci_loop *, s->n_vars);
  k->name_def = SCI_ZEROS(a, const sci_stmt *, s->n_names);
  sci_map_init(&k->table_at, a);
}

void sci_facts_block(sci_facts *k, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    if (st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && !k->s->names[st->name].is_mutable))
      k->name_def[st->name] = st;
    if (st->kind != SCI_S_LOOP) continue;
    k->var_loop[st->loop->var] = st->loop;
    sci_facts_block(k, st->loop->body);
  }
}

void sci_facts_name(sci_facts *k, sci_name n, const sci_stmt *st) {
  if (n >= k->n_names) {
    uint32_t grown = 2 * n + 16;
    k->name_def = sci_regrow(k->a, k->name_def, k->n_names * sizeof *k->name_def, grown * sizeof *k->name_def);
    memset(k->name_def + k->n_names, 0, (grown - k->n_names) * sizeof *k->name_def);
    k->n_names = grown;
  }
  k->name_def[n] = st;
}

static const sci_loop *loop_of(const sci_facts *k, sci_var v) {
  return v < k->n_vars ? k->var_loop[v] : NULL;
}

static const sci_stmt *def_of(const sci_facts *k, sci_name n) {
  return n < k->n_names ? k->name_def[n] : NULL;
}

static const sci_range unknown = {INT64_MIN, INT64_MAX, false, false};

static bool scaled(sci_range r, int64_t k, sci_range *out) {
  int64_t a, b;
  if (!r.known || __builtin_mul_overflow(r.lo, k, &a) || __builtin_mul_overflow(r.hi, k, &b)) return false;
  *out = (sci_range){k < 0 ? b : a, k < 0 ? a : b, true, r.exact};
  return true;
}

static int64_t element(const sci_buffer *b, const void *data, int64_t i) {
  sci_scalar v = sci_scalar_load((sc_dtype)b->dtype, data, (size_t)i);
  return b->dtype == SC_INT32 ? v.i32 : v.i64;
}

/* A load of a constant: the element, or the extremes of the table, which are found once. */
static sci_range table_range(sci_facts *k, const sci_stmt *load) {
  const sci_buffer *b = &k->s->bufs[load->buf];
  int64_t offset;
  const sci_buffer *owner = &k->s->bufs[sci_storage(k->s, load->buf, &offset)];
  if (owner->space != SCI_SPACE_CONSTANT || !sci_is_int((sc_dtype)b->dtype) || !b->size) return unknown;
  if (sci_val_is_const(k->s, load->index)) {
    int64_t at = sci_val_int_of(k->s, load->index);
    if (at < 0 || at >= b->size) return unknown;
    int64_t e = element(b, owner->data, offset + at);
    return (sci_range){e, e, true, false};
  }
  uint32_t cached = sci_map_get(&k->table_at, load->buf);
  if (cached != UINT32_MAX) return k->tables.data[cached];
  sci_range r = {INT64_MAX, INT64_MIN, true, false};
  for (int64_t i = 0; i < b->size; i++) {
    int64_t e = element(b, owner->data, offset + i);
    if (e < r.lo) r.lo = e;
    if (e > r.hi) r.hi = e;
  }
  sci_map_set(&k->table_at, load->buf, (uint32_t)k->tables.n);
  sci_vec_push(k->a, &k->tables, r);
  return r;
}

static sci_range range_at(sci_facts *k, sci_val v, int depth);

static sci_range term_range(sci_facts *k, sci_val v, int depth);

static sci_range op_range(sci_facts *k, const sci_value *x, int depth) {
  if (x->op == SCI_OP_cast)
    return sci_is_int((sc_dtype)sci_value_at(k->s, x->args[0])->dtype) ? term_range(k, x->args[0], depth) : unknown;
  sci_range a = range_at(k, x->args[x->op == SCI_OP_select], depth);
  if (!a.known) return unknown;
  a.exact = false;
  bool divides = x->op == SCI_OP_div || x->op == SCI_OP_fmod;
  if (divides) {
    if (!sci_val_is_const(k->s, x->args[1])) return unknown;
    int64_t d = sci_val_int_of(k->s, x->args[1]);
    if (d <= 0) return unknown;
    if (x->op == SCI_OP_div) return (sci_range){a.lo / d, a.hi / d, true, false};
    if (a.lo >= 0 && a.hi < d) return a;
    return (sci_range){a.lo < 0 ? 1 - d : 0, a.hi > 0 ? d - 1 : 0, true, false};
  }
  bool least = x->op == SCI_OP_minimum, most = x->op == SCI_OP_maximum;
  if (!least && !most && x->op != SCI_OP_select) return unknown;
  sci_range b = range_at(k, x->args[x->op == SCI_OP_select ? 2 : 1], depth);
  if (!b.known) return unknown;
  bool lo_b = most ? b.lo > a.lo : b.lo < a.lo, hi_b = least ? b.hi < a.hi : b.hi > a.hi;
  return (sci_range){lo_b ? b.lo : a.lo, hi_b ? b.hi : a.hi, true, false};
}

static sci_range term_range(sci_facts *k, sci_val v, int depth) {
  const sci_value *x = sci_value_at(k->s, v);
  if (x->kind == SCI_V_VAR) {
    const sci_loop *l = loop_of(k, x->args[0]);
    if (!l || !sci_loop_trips(l)) return unknown;
    return (sci_range){l->start, l->start + (sci_loop_trips(l) - 1) * l->step, true, true};
  }
  if (x->kind == SCI_V_NAME) {
    const sci_stmt *def = def_of(k, x->args[0]);
    if (!def) return unknown;
    sci_range r = def->kind == SCI_S_LOAD ? table_range(k, def) : range_at(k, def->value, depth);
    r.exact = false;
    return r;
  }
  return x->kind == SCI_V_OP && x->dtype == SC_INT64 ? op_range(k, x, depth) : unknown;
}

/* The depth bounds the work; deeper indices count as unknown. */
static sci_range range_at(sci_facts *k, sci_val v, int depth) {
  sci_affine f;
  if (!depth || sci_value_at(k->s, v)->dtype != SC_INT64 || !sci_affine_of(k->s, v, &f)) return unknown;
  sci_range sum = {f.constant, f.constant, true, true};
  for (uint32_t i = 0; i < f.n; i++) {
    sci_range t;
    if (!scaled(term_range(k, f.terms[i].term, depth - 1), f.terms[i].coefficient, &t)) return unknown;
    if (__builtin_add_overflow(sum.lo, t.lo, &sum.lo) || __builtin_add_overflow(sum.hi, t.hi, &sum.hi)) return unknown;
    sum.exact &= t.exact;
  }
  return sum;
}

sci_range sci_range_of(sci_facts *k, sci_val index) {
  return range_at(k, index, 6);
}

/* ---- points ---- */

static bool find_node(const sci_points *pts, sci_val v, uint16_t *at) {
  for (uint32_t i = 0; i < pts->n; i++)
    if (pts->nodes[i] == v) {
      *at = (uint16_t)i;
      return true;
    }
  return false;
}

/* What v is computed from; false: from something that is not known. */
static bool sources(const sci_facts *k, sci_val v, sci_val from[3], int *n) {
  const sci_value *x = sci_value_at(k->s, v);
  *n = 0;
  if (x->kind == SCI_V_OP) {
    *n = sci_ops[x->op].arity;
    for (int i = 0; i < *n; i++) from[i] = x->args[i];
  } else if (x->kind == SCI_V_NAME) {
    const sci_stmt *def = def_of(k, x->args[0]);
    if (!def) return false;
    int64_t offset;
    if (def->kind == SCI_S_LOAD && k->s->bufs[sci_storage(k->s, def->buf, &offset)].space != SCI_SPACE_CONSTANT)
      return false;
    from[(*n)++] = def->kind == SCI_S_LOAD ? def->index : def->value;
  }
  return true;
}

static bool add_var(sci_points *pts, sci_var v) {
  for (uint32_t i = 0; i < pts->n_vars; i++)
    if (pts->vars[i] == v) return true;
  if (pts->n_vars == SCI_POINT_VARS) return false;
  pts->vars[pts->n_vars++] = v;
  return true;
}

bool sci_points_make(const sci_facts *k, sci_val index, sci_points *pts) {
  sci_val stack[2 * SCI_POINT_NODES];
  uint32_t depth = 0;
  *pts = (sci_points){0};
  stack[depth++] = index;
  while (depth) {
    sci_val v = stack[depth - 1], from[3];
    uint16_t at;
    int n;
    if (find_node(pts, v, &at)) {
      depth--;
      continue;
    }
    if (!sources(k, v, from, &n)) return false;
    bool waits = false;
    for (int i = 0; i < n; i++) {
      if (find_node(pts, from[i], &at)) continue;
      if (depth == 2 * SCI_POINT_NODES) return false;
      stack[depth++] = from[i];
      waits = true;
    }
    if (waits) continue;
    if (pts->n == SCI_POINT_NODES) return false;
    const sci_value *x = sci_value_at(k->s, v);
    if (x->kind == SCI_V_VAR && (!loop_of(k, x->args[0]) || !add_var(pts, x->args[0]))) return false;
    for (int i = 0; i < n; i++) find_node(pts, from[i], &pts->args[pts->n][i]);
    pts->nodes[pts->n++] = v;
    depth--;
  }
  return true;
}

static int64_t var_at(const sci_facts *k, const sci_points *pts, sci_var v) {
  for (uint32_t i = 0; i < pts->n_vars; i++)
    if (pts->vars[i] == v) return k->var_loop[v]->start + pts->trip[i] * k->var_loop[v]->step;
  return 0;
}

static bool name_at(const sci_facts *k, const sci_stmt *def, sci_scalar from, sci_scalar *out) {
  if (def->kind == SCI_S_ASSIGN) {
    *out = from;
    return true;
  }
  const sci_buffer *b = &k->s->bufs[def->buf];
  int64_t offset;
  const void *data = k->s->bufs[sci_storage(k->s, def->buf, &offset)].data;
  if (from.i64 < 0 || from.i64 >= b->size) return false;
  *out = sci_scalar_load((sc_dtype)b->dtype, data, (size_t)(offset + from.i64));
  return true;
}

bool sci_points_eval(const sci_facts *k, sci_points *pts, int64_t *out) {
  for (uint32_t i = 0; i < pts->n; i++) {
    const sci_value *x = sci_value_at(k->s, pts->nodes[i]);
    sci_scalar args[3] = {{.bits = 0}, {.bits = 0}, {.bits = 0}};
    for (int j = 0; j < 3; j++) args[j] = pts->result[pts->args[i][j]];
    switch ((sci_value_kind)x->kind) {
    case SCI_V_CONST: pts->result[i] = sci_scalar_from_bits((sc_dtype)x->dtype, x->bits); break;
    case SCI_V_VAR: pts->result[i].i64 = var_at(k, pts, x->args[0]); break;
    case SCI_V_NAME:
      if (!name_at(k, k->name_def[x->args[0]], args[0], &pts->result[i])) return false;
      break;
    case SCI_V_OP: {
      sc_dtype of = (sc_dtype)sci_value_at(k->s, x->args[x->op == SCI_OP_select])->dtype;
      pts->result[i] = sci_op_eval((sci_op)x->op, of, (sc_dtype)x->dtype, args);
      break;
    }
    }
  }
  *out = pts->result[pts->n - 1].i64;
  return true;
}

bool sci_points_next(const sci_facts *k, sci_points *pts, const uint32_t *scope, uint32_t inner, int64_t cap) {
  for (uint32_t i = 0; i < pts->n_vars; i++) {
    if (scope && scope[pts->vars[i]] <= inner) continue;
    int64_t trips = sci_loop_trips(k->var_loop[pts->vars[i]]);
    if (++pts->trip[i] < (trips < cap ? trips : cap)) return true;
    pts->trip[i] = 0;
  }
  return false;
}
