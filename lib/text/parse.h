/* What both parsers share: the current token, errors with their place, name tables, lists, literals and types. */
#ifndef SCI_TEXT_PARSE_H
#define SCI_TEXT_PARSE_H

#include "lib/base/hash.h"
#include "lib/expr/expr.h"
#include "lib/text/lexer.h"
#include "lib/text/text.h"

enum {
  SCI_MAX_NESTING = 256,    /* of operations within operations, and of loops */
  SCI_MAX_PROBLEMS = 100,   /* reported in one run */
  SCI_SOURCE_COLUMNS = 1023 /* of a source line kept in a diagnostic */
};

/* Names to numbers. Its index is on the cleanup list from sci_names_init to sci_names_free. Names that are small
 * numbers, which most names of printed text are, are looked up directly. */
typedef struct sci_names {
  sci_env *env;
  sci_index index;
  SCI_VEC(uint32_t) numbered; /* entry + 1; 0: not defined */
  SCI_VEC(uint32_t) hashed;   /* entries in the order of the index */
  SCI_VEC(struct sci_names_entry) entries;
} sci_names;
struct sci_names_entry {
  const char *s;
  uint32_t n;
  uint32_t id;
};
void sci_names_init(sci_names *t, sci_env *env);
void sci_names_free(sci_names *t);
uint32_t *sci_names_find(sci_names *t, const char *s, size_t n); /* its number, or NULL */
void sci_names_add(sci_names *t, sci_arena *arena, const char *s, size_t n, uint32_t id);

typedef struct sci_literal {
  const char *s; /* the number or word, without the sign */
  uint32_t n;
  bool negative, is_word;
} sci_literal;

typedef struct sci_ints {
  size_t n;
  const int64_t *v;
} sci_ints;

typedef struct sci_parser {
  sc_context *cx;
  sci_env *env;
  sci_source source;
  sci_lexer lexer;
  sci_token tok;       /* the current one, not consumed yet */
  const char *where;   /* what a failure is blamed on */
  size_t diags_before; /* recorded when the parser started */
  char line[SCI_SOURCE_COLUMNS + 1];
} sci_parser;

/* Starts a parser: from here to sci_parser_end every failure is located. */
void sci_parser_begin(sci_parser *p, sc_context *cx, sci_source source);
void sci_parser_end(sci_parser *p);
/* After a failure: passes on what is no problem of the text, or one too many; otherwise skips to the next `word`. */
void sci_parser_recover(sci_parser *p, const char *start, const char *word);
size_t sci_parser_problems(const sci_parser *p);

static inline void sci_advance(sci_parser *p) {
  p->tok = sci_lex(&p->lexer);
}
static inline bool sci_at_punct(const sci_parser *p, char c) {
  return p->tok.kind == SCI_T_PUNCT && p->tok.punct == c;
}
static inline bool sci_at_word(const sci_parser *p, const char *word) {
  return sci_token_is(&p->tok, word);
}
bool sci_accept_punct(sci_parser *p, char c);
bool sci_accept_word(sci_parser *p, const char *word);
void sci_expect_punct(sci_parser *p, char c, const char *after); /* `after`: "after an operand" */
void sci_expect_word(sci_parser *p, const char *word);
/* At the '{' of attributes, not of a body: a word and '=' follow, or nothing at all and another '{'. */
bool sci_at_attributes(const sci_parser *p);
/* A token of this kind, consumed; `what` names it in the message: "a function's name (@f)". */
sci_token sci_expect(sci_parser *p, sci_token_kind kind, const char *what);
/* SC_ERR_PARSE at the current token: "expected <what>, found <the token>". */
_Noreturn void sci_unexpected(sci_parser *p, const char *fmt, ...) SCI_PRINTF(2, 3);
/* A failure blamed on a place of the text. */
_Noreturn void sci_fail_at(sci_parser *p, const char *where, sc_status status, const char *fmt, ...) SCI_PRINTF(4, 5);
/* A copy for a message: printable, at most about 40 characters. Scratch arena. */
const char *sci_show(sci_parser *p, const char *s, size_t n);
/* A token's string as a C string in the scratch arena. */
const char *sci_token_string(sci_parser *p, const sci_token *t);

int64_t sci_parse_int(sci_parser *p);
int64_t sci_parse_int_in(sci_parser *p, int64_t lo, int64_t hi, const char *what);
sci_ints sci_parse_ints(sci_parser *p);                      /* [1, -2]; scratch arena */
const int32_t *sci_ints_as_32(sci_parser *p, sci_ints ints); /* checked; scratch arena */
bool sci_at_literal(const sci_parser *p);
sci_literal sci_parse_literal(sci_parser *p);
sci_scalar sci_literal_value(sci_parser *p, const sci_literal *l, sc_dtype dtype);
bool sci_literal_is_bool(const sci_literal *l);
sc_dtype sci_parse_dtype(sci_parser *p);
bool sci_parse_flag(sci_parser *p);    /* true, false */
sc_hint sci_parse_hint(sci_parser *p); /* "scalar" */

typedef struct sci_stated_type {
  const char *where;
  sc_dtype dtype;
  int rank;
  int64_t shape[SC_MAX_RANK];
  int8_t diff;         /* 1: diff, -1: nodiff, 0: unsaid */
  sc_pattern *pattern; /* sparse */
} sci_stated_type;
/* tensor<..>, or sparse<..>. */
sci_stated_type sci_parse_type(sci_parser *p, bool allow_sparse);
/* The 3x4xfloat64 after '<', which must be the current token. `dense`: there are at most SC_MAX_ELEMENTS elements. */
void sci_parse_dims(sci_parser *p, sci_stated_type *t, bool dense);
int64_t sci_type_size(const sci_stated_type *t);
const char *sci_type_show(sci_parser *p, const sci_stated_type *t);

#endif
