/* Owns the spelling of scalar values, elements and addresses.
 *
 * Values are printed from an explicit stack, since graphs may be deep. Two contexts differ for integers: an index, and
 * any value made of loop variables and constants only, is plain C arithmetic, because it never overflows; everything
 * else wraps, through helpers. */
#include "backends/c/c.h"

#include <math.h>

const char *const sci_c_types[SC_DTYPE_COUNT] = {
#define SCI_DTYPE(id, name, type, ...) [id] = #type,
#include "lib/ops/dtypes.def"
#undef SCI_DTYPE
};

const char *const sci_c_suffixes[SC_DTYPE_COUNT] = {
#define SCI_DTYPE(id, name, type, bytes, flt, sint, suffix) [id] = #suffix,
#include "lib/ops/dtypes.def"
#undef SCI_DTYPE
};

typedef enum spelling_kind { INFIX, CALL, HELPER } spelling_kind;

/* The C column of the operations. */
static const struct {
  spelling_kind kind;
  const char *text, *float_text;
} spellings[SCI_OP_COUNT] = {
#define C_OP(token) INFIX, token, token
#define C_CALL(f) CALL, #f, #f "f"
#define C_FN(f) HELPER, #f, #f
#define SCI_OP(name, arity, sig, traits, nan, fold, c, ...) [SCI_OP_##name] = {c},
#include "lib/ops/ops.def"
#undef SCI_OP
};

static void put_text(c_render *r, const char *text) {
  sci_put(r->out, text);
}

static void push_text(c_render *r, const char *text) {
  sci_vec_push(&r->env->scratch, &r->items, (c_item){.text = text});
}

static void push_value(c_render *r, sci_val v, int least, bool is_index) {
  sci_vec_push(&r->env->scratch, &r->items, (c_item){.v = v, .least = (uint8_t)least, .is_index = is_index});
}

/* ---- constants ---- */

static int format_float(char *buf, sc_dtype dtype, double v) {
  if (isnan(v)) return (int)strlen(strcpy(buf, dtype == SC_FLOAT32 ? "NAN" : "(double)NAN"));
  if (isinf(v)) {
    const char *huge = dtype == SC_FLOAT32 ? "-HUGE_VALF" : "-HUGE_VAL";
    return (int)strlen(strcpy(buf, v < 0 ? huge : huge + 1));
  }
  int n = dtype == SC_FLOAT32 ? sci_fmt_f32(buf, (float)v) : sci_fmt_f64(buf, v);
  if (!strpbrk(buf, ".e")) buf[n++] = '.', buf[n++] = '0';
  if (dtype == SC_FLOAT32) buf[n++] = 'f';
  buf[n] = 0;
  return n;
}

static int format_int(char *buf, sc_dtype dtype, int64_t v) {
  if (v == INT64_MIN) return (int)strlen(strcpy(buf, "INT64_MIN"));
  if (dtype == SC_INT32 && v == INT32_MIN) return (int)strlen(strcpy(buf, "INT32_MIN"));
  int n = sci_fmt_i64(buf, v);
  if (v > INT32_MAX || v < -INT32_MAX) buf[n++] = 'L', buf[n++] = 'L';
  buf[n] = 0;
  return n;
}

static int format_scalar(char buf[SCI_NUM_MAX], sc_dtype dtype, sci_scalar v) {
  switch (dtype) {
  case SC_FLOAT64: return format_float(buf, dtype, v.f64);
  case SC_FLOAT32: return format_float(buf, dtype, (double)v.f32);
  case SC_INT64: return format_int(buf, dtype, v.i64);
  case SC_INT32: return format_int(buf, dtype, v.i32);
  case SC_BOOL: break;
  }
  return format_int(buf, dtype, v.b8);
}

static bool needs_math(sc_dtype dtype, sci_scalar v) {
  return sci_is_float(dtype) && !isfinite(sci_scalar_double(dtype, v));
}

void sci_c_put_scalar(c_render *r, sc_dtype dtype, sci_scalar v) {
  char buf[SCI_NUM_MAX];
  r->needs.math |= needs_math(dtype, v);
  sci_put_n(r->out, buf, (size_t)format_scalar(buf, dtype, v));
}

static void open_at(c_render *r, int binds, int least) {
  if (binds >= least) return;
  sci_put_char(r->out, '(');
  push_text(r, ")");
}

static void put_literal(c_render *r, sci_val v, int least) {
  const sci_value *x = &r->s->values[v];
  bool is_negative = false;
  const char *text = sci_c_constant_name(r, v, &is_negative);
  if (text) {
    open_at(r, is_negative ? P_MINUS : P_PRIMARY, least);
    if (is_negative) sci_put_char(r->out, '-');
    put_text(r, text);
    return;
  }
  uint32_t known = sci_map_get(&r->literals, v);
  text = known == UINT32_MAX ? NULL : r->texts.data[known];
  if (!text) {
    char buf[SCI_NUM_MAX];
    sci_scalar scalar = sci_scalar_from_bits((sc_dtype)x->dtype, x->bits);
    r->needs.math |= needs_math((sc_dtype)x->dtype, scalar);
    text = sci_strndup(&r->env->scratch, buf, (size_t)format_scalar(buf, (sc_dtype)x->dtype, scalar));
    sci_map_set(&r->literals, v, (uint32_t)r->texts.n);
    sci_vec_push(&r->env->scratch, &r->texts, text);
  }
  bool wrap = (*text == '-' && least > P_MINUS) || (*text == '(' && least > P_CAST);
  if (wrap) sci_put_char(r->out, '(');
  put_text(r, text);
  if (wrap) sci_put_char(r->out, ')');
}

/* ---- operations ---- */

/* The constant factor of an index comes first: 2 * i. */
static void put_infix(c_render *r, const sci_value *x, int binds, int left, int right, int least, bool is_index) {
  open_at(r, binds, least);
  bool swap = is_index && x->op == SCI_OP_mul && sci_val_is_const(r->s, x->args[1]);
  push_value(r, x->args[!swap], right, is_index);
  push_text(r, " ");
  push_text(r, x->op == SCI_OP_fmod ? "%" : spellings[x->op].text);
  push_text(r, " ");
  push_value(r, x->args[swap], left, is_index);
}

static void put_prefix(c_render *r, const sci_value *x, int binds, int least, bool is_index) {
  open_at(r, binds, least);
  put_text(r, spellings[x->op].text);
  push_value(r, x->args[0], P_CAST, is_index);
}

static void put_call(c_render *r, const sci_value *x) {
  sci_put_char(r->out, '(');
  push_text(r, ")");
  for (int i = sci_ops[x->op].arity; i-- > 0;) {
    push_value(r, x->args[i], P_ANY, false);
    if (i) push_text(r, ", ");
  }
}

static void put_math_call(c_render *r, const sci_value *x) {
  r->needs.math = r->needs.called[x->op] = true;
  put_text(r, x->dtype == SC_FLOAT32 ? spellings[x->op].float_text : spellings[x->op].text);
  put_call(r, x);
}

static void put_helper(c_render *r, const sci_value *x) {
  unsigned dtype = r->s->values[x->args[0]].dtype;
  r->needs.helper[x->op][dtype] = true;
  put_text(r, "scaly_");
  put_text(r, sci_ops[x->op].name);
  sci_put_char(r->out, '_');
  put_text(r, sci_c_suffixes[dtype]);
  put_call(r, x);
}

static void put_fma(c_render *r, const sci_value *x) {
  r->needs.fma[x->dtype] = true;
  put_text(r, sci_c_fma_name(r, (sc_dtype)x->dtype, 1));
  put_call(r, x);
}

static void put_cast(c_render *r, const sci_value *x, int least, bool is_index) {
  unsigned from = r->s->values[x->args[0]].dtype;
  if (x->dtype == SC_BOOL) { /* a NaN is not zero */
    open_at(r, P_COMPARE, least);
    push_text(r, from == SC_FLOAT64 ? " != 0.0" : from == SC_FLOAT32 ? " != 0.0f" : " != 0");
    push_value(r, x->args[0], P_SUM, false);
  } else if (sci_is_float((sc_dtype)from) && sci_is_int((sc_dtype)x->dtype)) {
    r->needs.cast[from][x->dtype] = true;
    sci_putf(r->out, "scaly_%s_from_%s", sci_c_suffixes[x->dtype], sci_c_suffixes[from]);
    put_call(r, x);
  } else if (is_index && least == P_ANY) { /* a whole subscript may have any integer type */
    push_value(r, x->args[0], P_ANY, false);
  } else {
    open_at(r, P_CAST, least);
    sci_putf(r->out, "(%s)", sci_c_types[x->dtype]);
    push_value(r, x->args[0], P_MINUS, false);
  }
}

static void put_select(c_render *r, const sci_value *x, int least) {
  open_at(r, P_SELECT, least);
  push_value(r, x->args[2], P_SELECT, false);
  push_text(r, " : ");
  push_value(r, x->args[1], P_BITS, false);
  push_text(r, " ? ");
  push_value(r, x->args[0], P_NOT, false);
}

/* C's operators: floats, plain integers, comparisons and logic. */
static void put_operator(c_render *r, const sci_value *x, int least, bool is_index) {
  unsigned op = x->op;
  if (op == SCI_OP_neg)
    put_prefix(r, x, P_MINUS, least, is_index);
  else if (op == SCI_OP_not)
    put_prefix(r, x, P_NOT, least, false);
  else if (op == SCI_OP_add || op == SCI_OP_sub)
    put_infix(r, x, P_SUM, P_SUM, P_PRODUCT, least, is_index);
  else if (op == SCI_OP_mul || op == SCI_OP_div || op == SCI_OP_fmod)
    put_infix(r, x, P_PRODUCT, P_PRODUCT, P_MINUS, least, is_index);
  else if (op == SCI_OP_and || op == SCI_OP_or)
    put_infix(r, x, P_BITS, P_PRIMARY, P_PRIMARY, least, false);
  else
    put_infix(r, x, P_COMPARE, P_SUM, P_SUM, least, false);
}

/* ---- operations on vectors ---- */

/* An operand that must be a vector, too. */
static void push_widened(c_render *r, sci_val v) {
  bool splat = !sci_c_varies(r, v);
  if (splat) push_text(r, ")");
  push_value(r, v, P_ANY, false);
  if (splat) push_text(r, sci_c_splat(r));
}

static void put_lane_function(c_render *r, const char *name, const sci_value *x, int first) {
  put_text(r, "scaly_");
  put_text(r, name);
  sci_put_char(r->out, '_');
  put_text(r, r->vector.suffix);
  sci_put_char(r->out, '(');
  push_text(r, ")");
  for (int i = sci_ops[x->op].arity; i-- > first;) {
    push_widened(r, x->args[i]);
    if (i) push_text(r, ", ");
  }
  if (first) push_value(r, x->args[0], P_ANY, false);
}

/* A condition: a mask, or all of one when it is the same for all lanes. */
static void push_mask(c_render *r, sci_val v) {
  bool is_mask = sci_c_varies(r, v);
  push_text(r, ")");
  push_value(r, v, P_ANY, false);
  bool narrow = strncmp(r->vector.suffix, "f32", 3) == 0; /* as wide as a lane, or it is no operand of a mask */
  push_text(r, is_mask ? "(" : narrow ? "-(int32_t)(" : "-(int64_t)(");
}

static void put_logic(c_render *r, const sci_value *x, int least) {
  open_at(r, P_BITS, least);
  if (x->op == SCI_OP_not) {
    push_mask(r, x->args[0]);
    push_text(r, "~");
    return;
  }
  push_mask(r, x->args[1]);
  push_text(r, x->op == SCI_OP_and ? " & " : " | ");
  push_mask(r, x->args[0]);
}

static void put_lane_select(c_render *r, const sci_value *x, int least) {
  if (sci_c_varies(r, x->args[0])) {
    r->vector.type->helper[C_LANE_SELECT] = true;
    put_lane_function(r, "select", x, 1);
    return;
  }
  open_at(r, P_SELECT, least);
  push_widened(r, x->args[2]);
  push_text(r, " : ");
  push_widened(r, x->args[1]);
  push_text(r, " ? ");
  push_value(r, x->args[0], P_NOT, false);
}

/* A macro that widens what is the same for all lanes. */
static void put_lane_fma(c_render *r, const sci_value *x) {
  put_text(r, sci_c_fma_name(r, (sc_dtype)x->dtype, 1 << (r->vector.type - r->needs.lanes[x->dtype])));
  put_call(r, x);
}

/* 1 where the condition holds, else 0. */
static void put_lane_number(c_render *r, const sci_value *x) {
  const char *splat = sci_c_splat(r), *f = x->dtype == SC_FLOAT32 ? "f" : "";
  r->vector.type->helper[C_LANE_SELECT] = true;
  sci_putf(r->out, "scaly_select_%s(", r->vector.suffix);
  push_text(r, sci_asprintf(&r->env->scratch, ", %s1.0%s), %s0.0%s))", splat, f, splat, f));
  push_value(r, x->args[0], P_ANY, false);
}

static void put_lane_op(c_render *r, const sci_value *x, int least) {
  unsigned op = x->op;
  bool infix = op == SCI_OP_neg || op == SCI_OP_add || op == SCI_OP_sub || op == SCI_OP_mul || op == SCI_OP_div;
  bool compares = op == SCI_OP_lt || op == SCI_OP_le || op == SCI_OP_eq || op == SCI_OP_ne;
  if (infix) {
    put_operator(r, x, least, false);
  } else if (compares) {
    put_text(r, sci_c_mask(r));
    push_text(r, ")");
    put_operator(r, x, P_ANY, false);
  } else if (op == SCI_OP_select) {
    put_lane_select(r, x, least);
  } else if (op == SCI_OP_and || op == SCI_OP_or || op == SCI_OP_not) {
    put_logic(r, x, least);
  } else if (op == SCI_OP_cast) {
    put_lane_number(r, x);
  } else {
    r->vector.type->op[op] = true;
    r->needs.math |= (sci_ops[op].traits & SCI_LIBM) != 0;
    if (sci_ops[op].traits & SCI_LIBM || op == SCI_OP_sqrt) r->needs.called[op] = true;
    if (op == SCI_OP_fma)
      put_lane_fma(r, x);
    else
      put_lane_function(r, sci_ops[op].name, x, 0);
  }
}

static void put_op(c_render *r, sci_val v, int least, bool is_index) {
  const sci_value *x = &r->s->values[v];
  uint32_t temporary = sci_c_of(&r->temporary, v);
  if (temporary) {
    sci_putf(r->out, "scaly_%u", temporary - 1);
    if (!is_index && sci_c_lane_loops(r) && sci_c_varies(r, v)) sci_putf(r->out, "[%s]", sci_c_lane(r));
    return;
  }
  if (!is_index && !sci_c_lane_loops(r) && sci_c_varies(r, v)) {
    put_lane_op(r, x, least);
    return;
  }
  bool floats = sci_is_float((sc_dtype)r->s->values[x->args[0]].dtype);
  bool arithmetic = sci_ops[x->op].sig == SCI_SIG_A;
  if (x->op == SCI_OP_select) {
    put_select(r, x, least);
  } else if (x->op == SCI_OP_cast) {
    put_cast(r, x, least, is_index);
  } else if (x->op == SCI_OP_fma) {
    put_fma(r, x);
  } else if (spellings[x->op].kind == HELPER) {
    put_helper(r, x);
  } else if (arithmetic && !floats) {
    bool plain = (is_index || r->plain[v]) && (spellings[x->op].kind == INFIX || x->op == SCI_OP_fmod);
    if (plain)
      put_operator(r, x, least, true);
    else
      put_helper(r, x);
  } else if (spellings[x->op].kind == CALL) {
    put_math_call(r, x);
  } else {
    put_operator(r, x, least, false);
  }
}

/* ---- elements ---- */

static const char *number_text(c_render *r, int64_t v) {
  char buf[SCI_NUM_MAX];
  return sci_strndup(&r->env->scratch, buf, (size_t)format_int(buf, SC_INT64, v));
}

/* Pushes index + offset, with the offset merged into the index's own constant. */
static void push_index(c_render *r, sci_val index, int64_t offset, int least) {
  if (r->s->values[index].kind == SCI_V_CONST) {
    push_text(r, number_text(r, sci_val_int_of(r->s, index) + offset));
    return;
  }
  if (offset && !sci_c_of(&r->temporary, index)) index = sci_c_split_index(r, index, &offset);
  if (!offset) {
    push_value(r, index, least, true);
    return;
  }
  if (least > P_SUM) push_text(r, ")");
  push_text(r, number_text(r, offset < 0 ? -offset : offset));
  push_text(r, offset < 0 ? " - " : " + ");
  push_value(r, index, P_SUM, true);
  if (least > P_SUM) push_text(r, "(");
}

static void push_element(c_render *r, sci_buf b, sci_val index) {
  int64_t offset;
  sci_buf owner = sci_storage(r->s, b, &offset);
  const char *pointer = sci_c_pointer_to(r, owner, index, &offset);
  push_text(r, "]");
  if (pointer)
    push_text(r, number_text(r, offset));
  else
    push_index(r, index, offset, P_ANY);
  push_text(r, "[");
  push_text(r, pointer ? pointer : r->m->buf_names[owner]);
}

/* ---- values ---- */

static void put_loaded(c_render *r, const sci_stmt *load, int least) {
  if (sci_c_put_lane_load(r, load)) return;
  bool read_as_bool = r->s->bufs[load->buf].dtype == SC_BOOL && r->s->bufs[load->buf].space == SCI_SPACE_INPUT;
  if (read_as_bool) {
    open_at(r, P_COMPARE, least);
    push_text(r, " != 0");
  }
  push_element(r, load->buf, load->index);
}

/* In loops over lanes, the lane's element of what differs between them. */
static void put_name(c_render *r, sci_name n) {
  put_text(r, r->m->name_names[n]);
  if (sci_c_lane_loops(r) && sci_c_name_varies(r, n)) sci_putf(r->out, "[%s]", sci_c_lane(r));
}

/* What was pushed since there were `base` items: an item may print others through the functions below. */
static void drain(c_render *r, size_t base) {
  while (r->items.n > base) {
    c_item it = r->items.data[--r->items.n];
    if (it.text) {
      put_text(r, it.text);
      continue;
    }
    const sci_value *x = &r->s->values[it.v];
    switch ((sci_value_kind)x->kind) {
    case SCI_V_CONST: put_literal(r, it.v, it.least); break;
    case SCI_V_VAR: put_text(r, r->m->var_names[x->args[0]]); break;
    case SCI_V_OP: put_op(r, it.v, it.least, it.is_index); break;
    case SCI_V_NAME: {
      const c_name_use *use = &r->names[x->args[0]];
      if (use->proc == r->proc && use->load)
        put_loaded(r, use->load, it.least);
      else if (use->proc == r->proc && use->value != SCI_NIL)
        push_value(r, use->value, it.least, false);
      else
        put_name(r, x->args[0]);
      break;
    }
    }
  }
}

void sci_c_put_value(c_render *r, sci_val v, int least) {
  size_t base = r->items.n;
  push_value(r, v, least, false);
  drain(r, base);
}

void sci_c_put_element(c_render *r, sci_buf b, sci_val index) {
  size_t base = r->items.n;
  push_element(r, b, index);
  drain(r, base);
}

void sci_c_put_lane_element(c_render *r, sci_buf b, sci_val index, const char *lanes, const char *lane) {
  int64_t offset;
  sci_buf owner = sci_storage(r->s, b, &offset);
  const char *pointer = lanes ? NULL : sci_c_pointer_to(r, owner, index, &offset);
  bool is_first = pointer ? !offset : sci_val_is_const(r->s, index) && sci_val_int_of(r->s, index) + offset == 0;
  sci_putf(r->out, "%s[", pointer ? pointer : r->m->buf_names[owner]);
  size_t base = r->items.n;
  if (pointer)
    push_text(r, is_first ? "" : number_text(r, offset));
  else if (!is_first)
    push_index(r, index, offset, lanes ? P_PRODUCT : P_SUM);
  drain(r, base);
  if (!is_first && lanes) sci_putf(r->out, " * %s", lanes);
  sci_putf(r->out, "%s%s]", is_first ? "" : " + ", lane);
}

/* What has no elements is never declared. */
void sci_c_put_address(c_render *r, sci_buf b, sci_val index) {
  int64_t offset;
  sci_buf owner = sci_storage(r->s, b, &offset);
  if (!r->s->bufs[owner].size) {
    put_text(r, "NULL");
    return;
  }
  const char *pointer = sci_c_pointer_to(r, owner, index, &offset);
  put_text(r, pointer ? pointer : r->m->buf_names[owner]);
  bool is_first = pointer ? !offset : sci_val_is_const(r->s, index) && sci_val_int_of(r->s, index) + offset == 0;
  if (is_first) return;
  put_text(r, " + ");
  size_t base = r->items.n;
  if (pointer)
    push_text(r, number_text(r, offset));
  else
    push_index(r, index, offset, P_PRODUCT);
  drain(r, base);
}
