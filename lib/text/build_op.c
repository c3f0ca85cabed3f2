/* Owns the step from an operation's text to its node: operands, attributes and the stated type meet the builders. */
#include "lib/text/expr_text.h"

static const int8_t arities[SCI_X_END] = {
#define SCI_OP(name, arity, ...) [SCI_OP_##name] = arity,
#include "lib/ops/ops.def"
#undef SCI_OP
#define SCI_XOP(name, arity, ...) [SCI_X_##name] = arity,
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
};

const char *sci_text_op_name(unsigned op) {
  return op < SCI_X_END ? sci_xop_name(op) : sci_compositions[op - SCI_X_END].name;
}

static sci_type type_of(const sci_parser *p, sci_id id) {
  return *sci_type_of(p->cx, id);
}

static const sci_attr_value *need(sci_parser *p, const sci_op_text *t, sci_attr_key key, const char *name) {
  const sci_attr_value *v = sci_given(t->attrs, key);
  if (!v) sci_fail_at(p, t->where, SC_ERR_PARSE, "expr.%s needs the attribute %s", sci_text_op_name(t->op), name);
  return v;
}

/* ---- operands ---- */

sci_id sci_build_literal(sci_parser *p, const sci_literal *l, sc_dtype dtype) {
  return sci_make_number(p->cx, dtype, sci_literal_value(p, l, dtype));
}

/* Numbers take the type of the first operand that has one. A select's condition has no part in this: it is a bool. */
static sci_id *resolve(sci_parser *p, const sci_op_text *t) {
  uint32_t from = t->op == SCI_OP_select ? 1 : 0;
  sc_dtype dtype = SC_FLOAT64;
  if (t->op == SCI_OP_and || t->op == SCI_OP_or || t->op == SCI_OP_not) dtype = SC_BOOL;
  for (uint32_t i = from; i < t->n; i++)
    if (t->operands[i].id != SCI_NONE) {
      dtype = (sc_dtype)type_of(p, t->operands[i].id).dtype;
      break;
    }
  sci_id *ids = SCI_ARRAY(&p->env->scratch, sci_id, t->n);
  for (uint32_t i = 0; i < t->n; i++) {
    ids[i] = t->operands[i].id;
    if (ids[i] == SCI_NONE) ids[i] = sci_build_literal(p, &t->operands[i].literal, i < from ? SC_BOOL : dtype);
  }
  return ids;
}

static sci_id *resolve_for_callee(sci_parser *p, const sci_op_text *t, const sc_function *f) {
  if (t->n != f->n_in)
    sci_fail_at(p, t->where, SC_ERR_ARGUMENT, "@%s takes %u operand%s, found %u", f->name, f->n_in,
                f->n_in == 1 ? "" : "s", t->n);
  sci_id *ids = SCI_ARRAY(&p->env->scratch, sci_id, t->n);
  for (uint32_t i = 0; i < t->n; i++) {
    ids[i] = t->operands[i].id;
    if (ids[i] == SCI_NONE)
      ids[i] = sci_build_literal(p, &t->operands[i].literal, (sc_dtype)type_of(p, f->in[i].node).dtype);
  }
  return ids;
}

static void check_count(sci_parser *p, const sci_op_text *t) {
  int arity = t->op < SCI_X_END ? arities[t->op] : sci_compositions[t->op - SCI_X_END].arity;
  if (arity < 0 || (uint32_t)arity == t->n) return;
  sci_fail_at(p, t->where, SC_ERR_PARSE, "expr.%s takes %d operand%s, found %u", sci_text_op_name(t->op), arity,
              arity == 1 ? "" : "s", t->n);
}

/* ---- attributes ---- */

/* Indices into `size` elements, negative ones from their end. */
static const int32_t *table(sci_parser *p, const sci_attr_value *v, int64_t count, int64_t size) {
  if ((int64_t)v->ints.n != count)
    sci_fail_at(p, v->where, SC_ERR_SHAPE, "%zu indices where %lld are needed", v->ints.n, (long long)count);
  int32_t *out = SCI_ARRAY(&p->env->scratch, int32_t, v->ints.n);
  for (size_t i = 0; i < v->ints.n; i++) {
    int64_t at = v->ints.v[i] < 0 ? v->ints.v[i] + size : v->ints.v[i];
    if (at < 0 || at >= size)
      sci_fail_at(p, v->where, SC_ERR_INDEX, "index %lld (entry %zu) is out of range for %lld elements",
                  (long long)v->ints.v[i], i, (long long)size);
    out[i] = (int32_t)at;
  }
  return out;
}

static int shape_rank(sci_parser *p, const sci_attr_value *v) {
  if (v->ints.n > SC_MAX_RANK)
    sci_fail_at(p, v->where, SC_ERR_SHAPE, "a shape of more than %d dimensions", SC_MAX_RANK);
  return (int)v->ints.n;
}

static int64_t checked_size(sci_parser *p, const sci_attr_value *v) {
  uint32_t type = sci_intern_type(p->cx, SC_FLOAT64, false, shape_rank(p, v), v->ints.v); /* may move the types */
  return p->cx->types[type].size;
}

static uint32_t mask_of(sci_parser *p, const sci_op_text *t, int rank) {
  const sci_attr_value *v = sci_given(t->attrs, SCI_A_AXES);
  if (!v) return UINT32_MAX;
  uint32_t mask = 0;
  for (size_t i = 0; i < v->ints.n; i++) {
    int64_t axis = v->ints.v[i] < 0 ? v->ints.v[i] + rank : v->ints.v[i];
    if (axis < 0 || axis >= rank)
      sci_fail_at(p, v->where, SC_ERR_INDEX, "axis %lld is out of range for rank %d", (long long)v->ints.v[i], rank);
    if (mask >> axis & 1) sci_fail_at(p, v->where, SC_ERR_INDEX, "axis %lld is listed twice", (long long)v->ints.v[i]);
    mask |= 1u << axis;
  }
  return mask;
}

static sci_id transpose(sci_parser *p, const sci_op_text *t, sci_id a) {
  const sci_attr_value *v = sci_given(t->attrs, SCI_A_AXES);
  int axes[SC_MAX_RANK], rank = type_of(p, a).rank;
  if (v && v->ints.n != (size_t)rank)
    sci_fail_at(p, v->where, SC_ERR_SHAPE, "%zu axes for an operand of rank %d", v->ints.n, rank);
  for (int k = 0; k < rank; k++) {
    int64_t axis = v ? v->ints.v[k] : rank - 1 - k;
    if (axis < -rank || axis >= rank)
      sci_fail_at(p, v->where, SC_ERR_INDEX, "axis %lld is out of range for rank %d", (long long)axis, rank);
    axes[k] = (int)axis;
  }
  return sci_make_transpose(p->cx, a, axes);
}

static int axis_of(sci_parser *p, const sci_op_text *t) {
  const sci_attr_value *v = sci_given(t->attrs, SCI_A_AXIS);
  if (!v) return 0;
  if (v->number < -SC_MAX_RANK - 1 || v->number > SC_MAX_RANK)
    sci_fail_at(p, v->where, SC_ERR_INDEX, "axis %lld is out of range", (long long)v->number);
  return (int)v->number;
}

/* ---- constants ---- */

static sci_id constant(sci_parser *p, const sci_op_text *t) {
  const char *where = need(p, t, SCI_A_VALUE, "value")->where;
  const sci_value_text *v = &t->attrs->value;
  sc_dtype dtype = v->literals.n && sci_literal_is_bool(&v->literals.data[0]) ? SC_BOOL : SC_FLOAT64;
  int rank = v->rank;
  const int64_t *shape = v->shape;
  if (t->stated) {
    dtype = t->stated->dtype;
    bool flat = v->rank == 1 && sci_type_size(t->stated) == (int64_t)v->literals.n;
    bool same = v->rank == t->stated->rank && !memcmp(v->shape, t->stated->shape, (size_t)v->rank * sizeof *v->shape);
    if (!flat && !same) {
      sci_stated_type found = {.dtype = dtype, .rank = v->rank};
      memcpy(found.shape, v->shape, sizeof found.shape);
      sci_fail_at(p, where, SC_ERR_SHAPE, "a value of %s where %s is stated", sci_type_show(p, &found),
                  sci_type_show(p, t->stated));
    }
    rank = t->stated->rank;
    shape = t->stated->shape;
  }
  size_t size = sc_dtype_size(dtype);
  char *data = sci_alloc_array(&p->env->scratch, v->literals.n, size);
  for (size_t i = 0; i < v->literals.n; i++)
    sci_scalar_store(dtype, data, i, sci_literal_value(p, &v->literals.data[i], dtype));
  p->where = t->where;
  return sci_make_const(p->cx, dtype, rank, shape, data);
}

/* ---- calls ---- */

static _Noreturn void unknown_callee(sci_parser *p, sci_known_functions *known, const char *where, const char *name) {
  sci_lexer x = p->lexer;
  for (sci_token t = sci_lex(&x); t.kind != SCI_T_END; t = sci_lex(&x)) {
    if (!sci_token_is(&t, "expr.func")) continue;
    t = sci_lex(&x);
    if (t.kind == SCI_T_SYMBOL && t.n == strlen(name) && !memcmp(t.s, name, t.n))
      sci_fail_at(
          p, where, SC_ERR_NAME,
          "@%s is defined later: functions come before their callers, so that none can call itself through others",
          sci_show(p, name, t.n));
  }
  sci_text list;
  sci_text_init(&list, &p->env->scratch);
  for (size_t i = 0; i < known->names.entries.n && i < 16; i++)
    sci_putf(&list, "%s@%s", i ? ", " : "",
             sci_show(p, known->names.entries.data[i].s, known->names.entries.data[i].n));
  if (known->names.entries.n > 16) sci_put(&list, ", ...");
  sci_fail_at(p, where, SC_ERR_NAME, "there is no function @%s (there are: %s)", sci_show(p, name, strlen(name)),
              list.n ? list.data : "none");
}

static sc_function *find_function(sci_parser *p, sci_known_functions *known, const char *where, const char *name) {
  const uint32_t *at = sci_names_find(&known->names, name, strlen(name));
  if (!at) unknown_callee(p, known, where, name);
  if (*at == known->list.n)
    sci_fail_at(p, where, SC_ERR_NAME, "@%s calls itself: recursion is not possible", sci_show(p, name, strlen(name)));
  sc_function *f = known->list.data[*at];
  if (!f) sci_unwind(p->env); /* its own problem has been reported */
  return f;
}

sc_function *sci_parse_known_function(sci_parser *p, sci_known_functions *known) {
  sci_token name = sci_expect(p, SCI_T_STRING, "the name of a function, in quotes");
  return find_function(p, known, name.begin, sci_token_string(p, &name));
}

static sc_function *find_callee(sci_parser *p, sci_known_functions *known, const sci_op_text *t) {
  const sci_attr_value *v = need(p, t, SCI_A_CALLEE, "callee");
  sc_function *f = find_function(p, known, v->where, v->string);
  const sci_attr_value *out = sci_given(t->attrs, SCI_A_OUTPUT);
  if (out && (out->number < 0 || out->number >= f->n_out))
    sci_fail_at(p, out->where, SC_ERR_INDEX, "@%s has no output number %lld: the last one is %u", f->name,
                (long long)out->number, f->n_out - 1);
  return f;
}

static const int64_t *windows(sci_parser *p, const sci_op_text *t, sci_attr_key key, const char *name) {
  const sci_attr_value *v = need(p, t, key, name);
  if (v->ints.n != t->n) sci_fail_at(p, v->where, SC_ERR_SHAPE, "%zu %s for %u operands", v->ints.n, name, t->n);
  return v->ints.v;
}

static sci_id call(sci_parser *p, sci_known_functions *known, const sci_op_text *t) {
  sc_function *f = find_callee(p, known, t);
  const sci_id *ids = resolve_for_callee(p, t, f);
  const sci_attr_value *given = sci_given(t->attrs, SCI_A_OUTPUT);
  uint32_t output = given ? (uint32_t)given->number : 0;
  if (t->op == SCI_X_call) return sci_make_call(p->cx, f, ids, t->n, output);
  const sci_attr_value *length = need(p, t, SCI_A_LENGTH, "length");
  const int64_t *starts = windows(p, t, SCI_A_STARTS, "starts"), *strides = windows(p, t, SCI_A_STRIDES, "strides");
  p->where = t->where;
  return sci_make_vmap(p->cx, f, length->number, ids, t->n, starts, strides, output);
}

/* ---- all operations ---- */

static sci_id build(sci_parser *p, const sci_op_text *t, const sci_id *a) {
  sc_context *cx = p->cx;
  const sci_attr_value *v;
  if (t->op == SCI_OP_cast) return sci_make_cast(cx, a[0], (sc_dtype)need(p, t, SCI_A_DTYPE, "dtype")->number);
  if (t->op < SCI_OP_COUNT) return sci_make_scalar_op(cx, (sci_op)t->op, a);
  if (t->op >= SCI_X_END) return sci_compositions[t->op - SCI_X_END].build(cx, a);
  switch ((sci_xop)t->op) {
  case SCI_X_stop_gradient: return sci_make_stop_gradient(cx, a[0]);
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min: return sci_make_reduce(cx, (sci_xop)t->op, a[0], mask_of(p, t, type_of(p, a[0]).rank));
  case SCI_X_reshape:
    v = need(p, t, SCI_A_SHAPE, "shape");
    return sci_make_reshape(cx, a[0], shape_rank(p, v), v->ints.v);
  case SCI_X_broadcast:
    v = need(p, t, SCI_A_SHAPE, "shape");
    return sci_make_broadcast(cx, a[0], shape_rank(p, v), v->ints.v);
  case SCI_X_transpose: return transpose(p, t, a[0]);
  case SCI_X_slice:
    need(p, t, SCI_A_INDEX, "index");
    return sci_make_slice(cx, a[0], t->attrs->n_ranges, t->attrs->ranges);
  case SCI_X_gather: {
    v = need(p, t, SCI_A_SHAPE, "shape");
    const int32_t *indices = table(p, need(p, t, SCI_A_INDICES, "indices"), checked_size(p, v), type_of(p, a[0]).size);
    return sci_make_gather(cx, a[0], indices, (int)v->ints.n, v->ints.v);
  }
  case SCI_X_scatter: {
    v = need(p, t, SCI_A_SHAPE, "shape");
    const int32_t *indices = table(p, need(p, t, SCI_A_INDICES, "indices"), type_of(p, a[0]).size, checked_size(p, v));
    return sci_make_scatter(cx, a[0], indices, (int)v->ints.n, v->ints.v);
  }
  case SCI_X_index_add:
  case SCI_X_index_set: {
    const int32_t *indices =
        table(p, need(p, t, SCI_A_INDICES, "indices"), type_of(p, a[1]).size, type_of(p, a[0]).size);
    return sci_make_index(cx, (sci_xop)t->op, a[0], a[1], indices);
  }
  case SCI_X_stack:
  case SCI_X_concat: return sci_make_join(cx, (sci_xop)t->op, a, t->n, axis_of(p, t));
  case SCI_X_matmul: return sci_make_matmul(cx, a[0], a[1]);
  case SCI_X_input:
  case SCI_X_const:
  case SCI_X_call:
  case SCI_X_vmap:
  case SCI_X_FIRST:
  case SCI_X_END: break;
  }
  return SCI_NONE;
}

static bool is_application(const sci_parser *p, sci_id id, unsigned op, uint32_t n, const sci_id *args) {
  const sci_node *node = sci_node_at(p->cx, id);
  return node->op == op && node->n_args == n && (!n || !memcmp(sci_args(p->cx, node), args, n * sizeof *args));
}

/* What carries a hint is built as it stands: where the builder simplified, the operation is built on stand-ins that
 * nothing is known of, and then moved to its operands. */
static sci_id build_hinted(sci_parser *p, const sci_op_text *t, const sci_id *a, sc_hint hint) {
  sci_id plain = build(p, t, a);
  if (is_application(p, plain, t->op, t->n, a)) return sci_make_hint(p->cx, plain, hint);
  sci_id *stand_ins = SCI_ARRAY(&p->env->scratch, sci_id, t->n);
  for (uint32_t i = 0; i < t->n; i++) {
    sci_type type = type_of(p, a[i]);
    stand_ins[i] = sci_make_input(p->cx, "x", (sc_dtype)type.dtype, type.diff, type.rank, type.shape);
  }
  sci_id pattern = build(p, t, stand_ins);
  if (!is_application(p, pattern, t->op, t->n, stand_ins)) return sci_make_hint(p->cx, plain, hint);
  return sci_remake(p->cx, sci_make_hint(p->cx, pattern, hint), a);
}

sci_id sci_build_op(sci_parser *p, sci_known_functions *known, const sci_op_text *t) {
  const sci_attr_value *lowering = sci_given(t->attrs, SCI_A_LOWERING);
  sc_hint hint = lowering ? (sc_hint)lowering->number : SC_HINT_AUTO;
  sci_arena_mark mark = sci_arena_here(&p->env->scratch);
  sci_id id;
  p->where = t->where;
  check_count(p, t);
  if (t->op == SCI_X_const || t->op == SCI_X_call || t->op == SCI_X_vmap) {
    id = t->op == SCI_X_const ? constant(p, t) : call(p, known, t);
    p->where = t->where;
    id = sci_make_hint(p->cx, id, hint);
  } else {
    const sci_id *a = resolve(p, t);
    p->where = t->where;
    id = hint ? build_hinted(p, t, a, hint) : build(p, t, a);
  }
  if (t->stated) sci_check_stated(p, id, t->stated);
  sci_arena_release(&p->env->scratch, mark);
  return id;
}

void sci_check_stated(sci_parser *p, sci_id id, const sci_stated_type *t) {
  sci_type have = type_of(p, id);
  bool same = have.dtype == t->dtype && have.rank == t->rank &&
              !memcmp(have.shape, t->shape, (size_t)t->rank * sizeof *t->shape);
  if (same && (!t->diff || (t->diff > 0) == have.diff)) return;
  sci_fail_at(p, t->where,
              same                     ? SC_ERR_PARSE
              : have.dtype == t->dtype ? SC_ERR_SHAPE
                                       : SC_ERR_DTYPE,
              "%s is stated, but the value is %s", sci_type_show(p, t), sci_type_text(p->cx, id));
}
