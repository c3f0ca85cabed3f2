/* Owns the reading of operations' attributes. */
#include "lib/base/text.h"
#include "lib/text/expr_text.h"

typedef enum form { F_STRING, F_INT, F_INTS, F_RANGES, F_VALUE, F_DTYPE, F_HINT } form;

static const struct {
  const char *key;
  form form;
} keys[SCI_A_COUNT] = {
    [SCI_A_NAME] = {"name", F_STRING},     [SCI_A_VALUE] = {"value", F_VALUE},
    [SCI_A_SHAPE] = {"shape", F_INTS},     [SCI_A_AXES] = {"axes", F_INTS},
    [SCI_A_INDEX] = {"index", F_RANGES},   [SCI_A_INDICES] = {"indices", F_INTS},
    [SCI_A_AXIS] = {"axis", F_INT},        [SCI_A_DTYPE] = {"dtype", F_DTYPE},
    [SCI_A_CALLEE] = {"callee", F_STRING}, [SCI_A_OUTPUT] = {"output", F_INT},
    [SCI_A_LENGTH] = {"length", F_INT},    [SCI_A_STARTS] = {"starts", F_INTS},
    [SCI_A_STRIDES] = {"strides", F_INTS}, [SCI_A_LOWERING] = {"lowering", F_HINT},
};

#define BIT(name) (1u << SCI_A_##name)

/* Which attributes an operation takes beside `lowering`, which all take. */
static uint32_t allowed(unsigned op) {
  switch ((int)op) {
  case SCI_X_input: return BIT(NAME);
  case SCI_X_const: return BIT(VALUE);
  case SCI_OP_cast: return BIT(DTYPE);
  case SCI_X_sum:
  case SCI_X_max:
  case SCI_X_min:
  case SCI_X_transpose: return BIT(AXES);
  case SCI_X_reshape:
  case SCI_X_broadcast: return BIT(SHAPE);
  case SCI_X_slice: return BIT(INDEX);
  case SCI_X_gather:
  case SCI_X_scatter: return BIT(INDICES) | BIT(SHAPE);
  case SCI_X_index_add:
  case SCI_X_index_set: return BIT(INDICES);
  case SCI_X_stack:
  case SCI_X_concat: return BIT(AXIS);
  case SCI_X_call: return BIT(CALLEE) | BIT(OUTPUT);
  case SCI_X_vmap: return BIT(CALLEE) | BIT(OUTPUT) | BIT(LENGTH) | BIT(STARTS) | BIT(STRIDES);
  }
  return 0;
}

static _Noreturn void unknown_key(sci_parser *p, unsigned op, uint32_t mask) {
  sci_text list;
  sci_text_init(&list, &p->env->scratch);
  for (int k = 0; k < SCI_A_COUNT; k++)
    if (mask >> k & 1) sci_putf(&list, "%s%s", list.n ? ", " : "", keys[k].key);
  sci_unexpected(p, "an attribute of expr.%s (%s)", sci_text_op_name(op), list.data);
}

static sci_attr_key parse_key(sci_parser *p, unsigned op) {
  uint32_t mask = allowed(op) | BIT(LOWERING);
  if (p->tok.kind == SCI_T_WORD)
    for (int k = 0; k < SCI_A_COUNT; k++)
      if (mask >> k & 1 && sci_at_word(p, keys[k].key)) return (sci_attr_key)k;
  unknown_key(p, op, mask);
}

/* ---- values of single forms ---- */

static sc_range parse_range(sci_parser *p) {
  sc_range r = {SC_NONE, SC_NONE, 1};
  bool bound = !sci_at_punct(p, ':');
  if (bound) r.start = sci_parse_int_in(p, INT64_MIN + 1, INT64_MAX, "an index, a range (a:b:c) or ']'");
  if (!sci_accept_punct(p, ':')) {
    r.step = 0;
    return r;
  }
  bool ends = sci_at_punct(p, ',') || sci_at_punct(p, ']');
  if (!ends && !sci_at_punct(p, ':')) r.stop = sci_parse_int_in(p, INT64_MIN + 1, INT64_MAX, "the end of a range");
  if (!sci_accept_punct(p, ':')) return r;
  const char *where = p->tok.begin;
  if (sci_at_punct(p, ',') || sci_at_punct(p, ']')) return r;
  r.step = sci_parse_int_in(p, INT64_MIN + 1, INT64_MAX, "the step of a range");
  if (!r.step) sci_fail_at(p, where, SC_ERR_INDEX, "the step of a range is 0");
  return r;
}

int sci_parse_ranges(sci_parser *p, sc_range ranges[SC_MAX_RANK]) {
  int n = 0;
  while (!sci_at_punct(p, ']')) {
    if (n) sci_expect_punct(p, ',', "or ']' after an entry of an index");
    if (n == SC_MAX_RANK) sci_fail_at(p, p->tok.begin, SC_ERR_INDEX, "an index of more than %d entries", SC_MAX_RANK);
    ranges[n++] = parse_range(p);
  }
  sci_advance(p);
  return n;
}

/* Brackets closed: the length of this level must be the same everywhere. */
static void close_level(sci_parser *p, sci_value_text *v, bool *known, int level, int64_t count) {
  if (known[level] && v->shape[level] != count)
    sci_fail_at(p, p->tok.begin, SC_ERR_SHAPE, "a row of %lld entries where the rows before have %lld",
                (long long)count, (long long)v->shape[level]);
  known[level] = true;
  v->shape[level] = count;
}

static void parse_value(sci_parser *p, sci_value_text *v) {
  int64_t counts[SC_MAX_RANK] = {0};
  bool known[SC_MAX_RANK] = {0};
  int depth = 0, leaf = -1;
  do {
    if (depth && sci_at_punct(p, ']')) {
      if (depth > v->rank) v->rank = depth;
      close_level(p, v, known, depth - 1, counts[depth - 1]);
      depth--;
      sci_advance(p);
      continue;
    }
    if (depth && counts[depth - 1]) sci_expect_punct(p, ',', "or ']' after an entry of a value");
    if (depth) counts[depth - 1]++;
    if (sci_at_punct(p, '[')) {
      if (depth == SC_MAX_RANK) sci_fail_at(p, p->tok.begin, SC_ERR_SHAPE, "a value nests deeper than %d", SC_MAX_RANK);
      if (leaf >= 0 && depth >= leaf) sci_fail_at(p, p->tok.begin, SC_ERR_SHAPE, "a list where numbers stood before");
      counts[depth++] = 0;
      sci_advance(p);
      continue;
    }
    if (leaf >= 0 && depth != leaf) sci_fail_at(p, p->tok.begin, SC_ERR_SHAPE, "a number where lists stood before");
    leaf = depth;
    sci_vec_push(&p->env->scratch, &v->literals, sci_parse_literal(p));
  } while (depth);
}

static void parse_form(sci_parser *p, sci_attr_key key, sci_attrs *out) {
  sci_attr_value *v = &out->of[key];
  sci_token t;
  out->given |= 1u << key;
  *v = (sci_attr_value){.where = p->tok.begin};
  switch (keys[key].form) {
  case F_STRING:
    t = sci_expect(p, SCI_T_STRING, "a string in double quotes");
    v->string = sci_token_string(p, &t);
    return;
  case F_INT: v->number = sci_parse_int(p); return;
  case F_INTS: v->ints = sci_parse_ints(p); return;
  case F_RANGES:
    sci_expect_punct(p, '[', "before the entries of an index");
    out->n_ranges = sci_parse_ranges(p, out->ranges);
    return;
  case F_VALUE:
    out->value = (sci_value_text){0};
    parse_value(p, &out->value);
    return;
  case F_DTYPE: v->number = sci_parse_dtype(p); return;
  case F_HINT: v->number = sci_parse_hint(p); return;
  }
}

void sci_parse_attrs(sci_parser *p, unsigned op, sci_attrs *out) {
  out->given = 0;
  if (!sci_accept_punct(p, '{')) return;
  bool first = true;
  while (!sci_at_punct(p, '}')) {
    if (!first) sci_expect_punct(p, ',', "or '}' after an attribute");
    first = false;
    sci_attr_key key = parse_key(p, op);
    if (sci_given(out, key))
      sci_fail_at(p, p->tok.begin, SC_ERR_PARSE, "the attribute %s is given twice", keys[key].key);
    sci_advance(p);
    sci_expect_punct(p, '=', "after the name of an attribute");
    parse_form(p, key, out);
  }
  sci_advance(p);
}
