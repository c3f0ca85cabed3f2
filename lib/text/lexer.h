/* Tokens of the text. A lexer never fails: what it cannot read is a token too, with the reason in it. */
#ifndef SCI_TEXT_LEXER_H
#define SCI_TEXT_LEXER_H

#include "lib/base/env.h"

typedef enum sci_token_kind {
  SCI_T_END,
  SCI_T_WORD,   /* add, expr.add, tensor */
  SCI_T_NUMBER, /* without a sign */
  SCI_T_VALUE,  /* %x */
  SCI_T_SYMBOL, /* @f */
  SCI_T_STRING,
  SCI_T_ARROW, /* -> */
  SCI_T_PUNCT, /* one character, in `punct` */
  SCI_T_BAD,   /* `s` says why */
} sci_token_kind;

typedef struct sci_token {
  uint8_t kind;
  char punct;
  uint32_t n;    /* length of `s` */
  const char *s; /* the word or number; the name or string without sigil and quotes, escapes resolved; not terminated */
  const char *begin; /* where the token starts in the text */
} sci_token;

typedef struct sci_lexer {
  sci_env *env; /* strings with escapes are in its scratch arena */
  const char *at, *end;
} sci_lexer;

sci_token sci_lex(sci_lexer *x);
void sci_skip_blank(sci_lexer *x); /* white space and comments */

static inline bool sci_token_is(const sci_token *t, const char *word) {
  return t->kind == SCI_T_WORD && t->n == strlen(word) && !memcmp(t->s, word, t->n);
}

#endif
