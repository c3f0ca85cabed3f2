/* Owns the reading of numbers, lists of numbers and types. */
#include <math.h>
#include <stdio.h>

#include "lib/base/text.h"
#include "lib/text/parse.h"
#include "lib/text/words.h"

/* ---- numbers ---- */

/* Decimal digits only. */
static bool read_digits(const char *s, size_t n, bool negative, int64_t *out) {
  int64_t v = 0;
  for (size_t i = 0; i < n; i++) {
    if (s[i] < '0' || s[i] > '9') return false;
    int digit = s[i] - '0';
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, negative ? -digit : digit, &v)) return false;
  }
  *out = v;
  return n > 0;
}

int64_t sci_parse_int(sci_parser *p) {
  return sci_parse_int_in(p, INT64_MIN, INT64_MAX, "an integer");
}

int64_t sci_parse_int_in(sci_parser *p, int64_t lo, int64_t hi, const char *what) {
  const char *where = p->tok.begin;
  bool negative = sci_accept_punct(p, '-');
  if (p->tok.kind != SCI_T_NUMBER) sci_unexpected(p, "%s", what);
  int64_t v;
  if (!read_digits(p->tok.s, p->tok.n, negative, &v)) {
    size_t digits = 0;
    while (digits < p->tok.n && p->tok.s[digits] >= '0' && p->tok.s[digits] <= '9') digits++;
    if (digits < p->tok.n) sci_unexpected(p, "%s", what);
    sci_fail_at(p, where, SC_ERR_OVERFLOW, "%s%s does not fit 64 bits", negative ? "-" : "",
                sci_show(p, p->tok.s, p->tok.n));
  }
  if (v < lo || v > hi)
    sci_fail_at(p, where, SC_ERR_OVERFLOW, "expected %s from %lld to %lld, found %lld", what, (long long)lo,
                (long long)hi, (long long)v);
  sci_advance(p);
  return v;
}

sci_ints sci_parse_ints(sci_parser *p) {
  SCI_VEC(int64_t) list = {0};
  sci_expect_punct(p, '[', "before a list of integers");
  while (!sci_at_punct(p, ']')) {
    if (list.n) sci_expect_punct(p, ',', "or ']' after an entry of a list");
    sci_vec_push(&p->env->scratch, &list, sci_parse_int(p));
  }
  sci_advance(p);
  return (sci_ints){list.n, list.data};
}

const int32_t *sci_ints_as_32(sci_parser *p, sci_ints ints) {
  int32_t *out = SCI_ARRAY(&p->env->scratch, int32_t, ints.n);
  for (size_t i = 0; i < ints.n; i++) {
    if (ints.v[i] < INT32_MIN || ints.v[i] > INT32_MAX)
      sci_fail(p->env, SC_ERR_INDEX, "entry %zu of the list, %lld, is out of range", i, (long long)ints.v[i]);
    out[i] = (int32_t)ints.v[i];
  }
  return out;
}

bool sci_at_literal(const sci_parser *p) {
  if (p->tok.kind == SCI_T_NUMBER) return true;
  if (p->tok.kind == SCI_T_PUNCT) return p->tok.punct == '-';
  return sci_at_word(p, "inf") || sci_at_word(p, "nan") || sci_at_word(p, "true") || sci_at_word(p, "false");
}

sci_literal sci_parse_literal(sci_parser *p) {
  sci_literal l = {.negative = sci_accept_punct(p, '-')};
  if (!sci_at_literal(p) || p->tok.kind == SCI_T_PUNCT) sci_unexpected(p, "a number");
  l.s = p->tok.s;
  l.n = p->tok.n;
  l.is_word = p->tok.kind == SCI_T_WORD;
  sci_advance(p);
  return l;
}

bool sci_literal_is_bool(const sci_literal *l) {
  return l->is_word && (l->s[0] == 't' || l->s[0] == 'f');
}

static _Noreturn void not_a(sci_parser *p, const sci_literal *l, sc_dtype dtype) {
  sci_fail_at(p, l->s, SC_ERR_PARSE, "%s%s is not a value of %s", l->negative ? "-" : "", sci_show(p, l->s, l->n),
              sc_dtype_name(dtype));
}

static double float_value(sci_parser *p, const sci_literal *l, sc_dtype dtype) {
  double v;
  int64_t whole;
  if (sci_literal_is_bool(l)) not_a(p, l, dtype);
  if (l->is_word)
    v = l->s[0] == 'i' ? (double)INFINITY : (double)NAN;
  else if (l->n <= 7 &&
           read_digits(l->s, l->n, false, &whole)) /* exact in both types, and most numbers are of this kind */
    v = (double)whole;
  else if (sci_parse_float(l->s, l->n, dtype == SC_FLOAT32, &v) != l->n)
    sci_fail_at(p, l->s, SC_ERR_PARSE, "%s is a malformed number", sci_show(p, l->s, l->n));
  return l->negative ? -v : v;
}

sci_scalar sci_literal_value(sci_parser *p, const sci_literal *l, sc_dtype dtype) {
  sci_scalar v = {.bits = 0};
  int64_t whole = 0;
  switch (dtype) {
  case SC_FLOAT64: v.f64 = float_value(p, l, dtype); break;
  case SC_FLOAT32: v.f32 = (float)float_value(p, l, dtype); break;
  case SC_INT64:
  case SC_INT32:
    if (l->is_word || !read_digits(l->s, l->n, l->negative, &whole)) not_a(p, l, dtype);
    if (dtype == SC_INT32 && (whole < INT32_MIN || whole > INT32_MAX)) not_a(p, l, dtype);
    if (dtype == SC_INT64)
      v.i64 = whole;
    else
      v.i32 = (int32_t)whole;
    break;
  case SC_BOOL:
    if (sci_literal_is_bool(l) && !l->negative)
      v.b8 = l->s[0] == 't';
    else if (!l->is_word && !l->negative && l->n == 1 && (l->s[0] == '0' || l->s[0] == '1'))
      v.b8 = l->s[0] == '1';
    else
      not_a(p, l, dtype);
    break;
  }
  return sci_scalar_from_bits(dtype, sci_scalar_bits(dtype, v));
}

bool sci_parse_flag(sci_parser *p) {
  if (sci_accept_word(p, "true") || sci_accept_word(p, "True")) return true;
  if (sci_accept_word(p, "false") || sci_accept_word(p, "False")) return false;
  sci_unexpected(p, "true or false");
}

sc_hint sci_parse_hint(sci_parser *p) {
  sci_token t = p->tok;
  if (t.kind == SCI_T_STRING || t.kind == SCI_T_WORD)
    for (int h = 0; h < SCI_HINT_COUNT; h++)
      if (strlen(sci_hint_words[h]) == t.n && !memcmp(sci_hint_words[h], t.s, t.n)) {
        sci_advance(p);
        return (sc_hint)h;
      }
  sci_unexpected(p, "\"auto\", \"scalar\" or \"block\"");
}

/* ---- types ---- */

static _Noreturn void unknown_dtype(sci_parser *p, const char *where, const char *s, size_t n) {
  sci_fail_at(p, where, SC_ERR_PARSE, "expected a data type (float64, float32, int64, int32, bool), found '%s'",
              sci_show(p, s, n));
}

sc_dtype sci_parse_dtype(sci_parser *p) {
  sc_dtype dtype;
  if (p->tok.kind != SCI_T_WORD && p->tok.kind != SCI_T_STRING)
    sci_unexpected(p, "a data type (float64, float32, int64, int32, bool)");
  if (!sci_dtype_find(p->tok.s, p->tok.n, &dtype)) unknown_dtype(p, p->tok.begin, p->tok.s, p->tok.n);
  sci_advance(p);
  return dtype;
}

/* Read from the characters, for "3xfloat64" is no token. */
void sci_parse_dims(sci_parser *p, sci_stated_type *t, bool dense) {
  sci_lexer *x = &p->lexer;
  int64_t size = 1;
  bool zero = false, overflow = false;
  if (!sci_at_punct(p, '<')) sci_unexpected(p, "'<' after the word of a type");
  for (;;) {
    sci_skip_blank(x);
    const char *from = x->at;
    while (x->at < x->end && *x->at >= '0' && *x->at <= '9') x->at++;
    if (x->at == from) break;
    if (t->rank == SC_MAX_RANK) sci_fail_at(p, from, SC_ERR_SHAPE, "a type of more than %d dimensions", SC_MAX_RANK);
    int64_t n;
    if (!read_digits(from, (size_t)(x->at - from), false, &n))
      sci_fail_at(p, from, SC_ERR_OVERFLOW, "a dimension of %s is too large",
                  sci_show(p, from, (size_t)(x->at - from)));
    zero |= n == 0;
    overflow |= n && __builtin_mul_overflow(size, n, &size);
    t->shape[t->rank++] = n;
    sci_skip_blank(x);
    if (x->at == x->end || *x->at != 'x') {
      sci_advance(p);
      sci_unexpected(p, "'x' and a data type after a dimension");
    }
    x->at++;
  }
  if (dense && !zero && (overflow || size > SC_MAX_ELEMENTS))
    sci_fail_at(p, t->where, SC_ERR_OVERFLOW, "a type of more than %lld elements", (long long)SC_MAX_ELEMENTS);
  sci_advance(p);
  t->dtype = sci_parse_dtype(p);
}

int64_t sci_type_size(const sci_stated_type *t) {
  int64_t size = 1;
  for (int k = 0; k < t->rank; k++)
    if (!t->shape[k]) return 0;
  for (int k = 0; k < t->rank; k++) size *= t->shape[k];
  return size;
}

static void parse_diff(sci_parser *p, sci_stated_type *t) {
  if (sci_accept_word(p, "diff"))
    t->diff = 1;
  else if (sci_accept_word(p, "nodiff"))
    t->diff = -1;
}

static const int32_t *parse_pattern_list(sci_parser *p, const char *word, size_t *n) {
  sci_expect_word(p, word);
  sci_expect_punct(p, '=', "before a list of a sparsity pattern");
  p->where = p->tok.begin;
  sci_ints ints = sci_parse_ints(p);
  *n = ints.n;
  return sci_ints_as_32(p, ints);
}

/* The lengths are checked here, for a pattern in memory has none; the entries are checked where the function is made.
 */
static void parse_pattern(sci_parser *p, sci_stated_type *t) {
  sc_pattern *pattern = SCI_NEW(&p->env->scratch, sc_pattern);
  size_t n_outer, n_inner;
  int layout = -1;
  for (int k = 0; k < SCI_LAYOUT_COUNT; k++)
    if (sci_at_word(p, sci_layouts[k].name)) layout = k;
  if (layout < 0) sci_unexpected(p, "a layout (csc, csr, coo)");
  if (t->rank != 2) sci_fail_at(p, t->where, SC_ERR_SHAPE, "a sparse type has 2 dimensions, not %d", t->rank);
  sci_advance(p);
  pattern->layout = (sc_layout)layout;
  pattern->nrow = t->shape[0];
  pattern->ncol = t->shape[1];
  pattern->outer = parse_pattern_list(p, sci_layouts[layout].outer, &n_outer);
  pattern->inner = parse_pattern_list(p, sci_layouts[layout].inner, &n_inner);
  pattern->nnz = (int64_t)n_inner;
  size_t want = layout == SC_CSC ? (size_t)pattern->ncol + 1 : layout == SC_CSR ? (size_t)pattern->nrow + 1 : n_inner;
  if (n_outer != want)
    sci_fail_at(p, t->where, SC_ERR_SHAPE, "%s has %zu entries where %zu are needed", sci_layouts[layout].outer,
                n_outer, want);
  if (layout != SC_COO && pattern->outer[want - 1] != pattern->nnz)
    sci_fail_at(p, t->where, SC_ERR_SHAPE, "%s ends with %d, but %s has %zu entries", sci_layouts[layout].outer,
                (int)pattern->outer[want - 1], sci_layouts[layout].inner, n_inner);
  t->pattern = pattern;
}

sci_stated_type sci_parse_type(sci_parser *p, bool allow_sparse) {
  sci_stated_type t = {.where = p->tok.begin};
  bool sparse = allow_sparse && sci_at_word(p, "sparse");
  if (!sparse && !sci_at_word(p, "tensor"))
    sci_unexpected(p, allow_sparse ? "a type (tensor<..> or sparse<..>)" : "a type (tensor<..>)");
  sci_advance(p);
  sci_parse_dims(p, &t, !sparse);
  parse_diff(p, &t);
  if (sparse) parse_pattern(p, &t);
  sci_expect_punct(p, '>', "at the end of a type");
  return t;
}

const char *sci_type_show(sci_parser *p, const sci_stated_type *t) {
  sci_text text;
  sci_text_init(&text, &p->env->scratch);
  sci_put(&text, t->pattern ? "sparse<" : "tensor<");
  for (int k = 0; k < t->rank; k++) {
    sci_put_int(&text, t->shape[k]);
    sci_put_char(&text, 'x');
  }
  sci_put(&text, sc_dtype_name(t->dtype));
  sci_put(&text, t->diff > 0 ? " diff>" : t->diff < 0 ? " nodiff>" : ">");
  return text.data;
}
