/* Owns the lexer. */
#include "lib/text/lexer.h"

enum { LETTER = 1, DIGIT = 2, SPACE = 4, HEX = 8 };

static const uint8_t classes[256] = {
    ['\t'] = SPACE,       ['\n'] = SPACE,       ['\r'] = SPACE,       [' '] = SPACE,        ['0'] = DIGIT | HEX,
    ['1'] = DIGIT | HEX,  ['2'] = DIGIT | HEX,  ['3'] = DIGIT | HEX,  ['4'] = DIGIT | HEX,  ['5'] = DIGIT | HEX,
    ['6'] = DIGIT | HEX,  ['7'] = DIGIT | HEX,  ['8'] = DIGIT | HEX,  ['9'] = DIGIT | HEX,  ['a'] = LETTER | HEX,
    ['b'] = LETTER | HEX, ['c'] = LETTER | HEX, ['d'] = LETTER | HEX, ['e'] = LETTER | HEX, ['f'] = LETTER | HEX,
    ['A'] = LETTER | HEX, ['B'] = LETTER | HEX, ['C'] = LETTER | HEX, ['D'] = LETTER | HEX, ['E'] = LETTER | HEX,
    ['F'] = LETTER | HEX, ['g'] = LETTER,       ['h'] = LETTER,       ['i'] = LETTER,       ['j'] = LETTER,
    ['k'] = LETTER,       ['l'] = LETTER,       ['m'] = LETTER,       ['n'] = LETTER,       ['o'] = LETTER,
    ['p'] = LETTER,       ['q'] = LETTER,       ['r'] = LETTER,       ['s'] = LETTER,       ['t'] = LETTER,
    ['u'] = LETTER,       ['v'] = LETTER,       ['w'] = LETTER,       ['x'] = LETTER,       ['y'] = LETTER,
    ['z'] = LETTER,       ['G'] = LETTER,       ['H'] = LETTER,       ['I'] = LETTER,       ['J'] = LETTER,
    ['K'] = LETTER,       ['L'] = LETTER,       ['M'] = LETTER,       ['N'] = LETTER,       ['O'] = LETTER,
    ['P'] = LETTER,       ['Q'] = LETTER,       ['R'] = LETTER,       ['S'] = LETTER,       ['T'] = LETTER,
    ['U'] = LETTER,       ['V'] = LETTER,       ['W'] = LETTER,       ['X'] = LETTER,       ['Y'] = LETTER,
    ['Z'] = LETTER,       ['_'] = LETTER,
};

static bool is(const sci_lexer *x, const char *s, unsigned mask) {
  return s < x->end && classes[(unsigned char)*s] & mask;
}

void sci_skip_blank(sci_lexer *x) {
  for (;;) {
    while (is(x, x->at, SPACE)) x->at++;
    if (x->end - x->at < 2 || x->at[0] != '/' || x->at[1] != '/') return;
    const char *newline = memchr(x->at, '\n', (size_t)(x->end - x->at));
    x->at = newline ? newline : x->end;
  }
}

static sci_token bad(sci_token t, const char *why) {
  t.kind = SCI_T_BAD;
  t.s = why;
  t.n = (uint32_t)strlen(why);
  return t;
}

static sci_token span(sci_token t, sci_token_kind kind, const char *from, const char *to) {
  if (to - from > INT32_MAX) return bad(t, "a token longer than 2 GiB");
  t.kind = (uint8_t)kind;
  t.s = from;
  t.n = (uint32_t)(to - from);
  return t;
}

/* Resolves \" \\ \n \t \xNN of a string that has been delimited; zero bytes are refused, for names are C strings. */
static sci_token unescape(sci_lexer *x, sci_token t) {
  char *out = sci_alloc(&x->env->scratch, t.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < t.n; i++) {
    char c = t.s[i];
    if (c == '\\') {
      c = t.s[++i]; /* the closing quote was found beyond, so there is one */
      if (c == 'n')
        c = '\n';
      else if (c == 't')
        c = '\t';
      else if (c == 'x') {
        unsigned v = 0;
        for (int k = 0; k < 2; k++) {
          if (++i >= t.n || !(classes[(unsigned char)t.s[i]] & HEX))
            return bad(t, "a string with a malformed \\x escape");
          char h = t.s[i];
          v = 16 * v + (unsigned)(h <= '9' ? h - '0' : (h | 32) - 'a' + 10);
        }
        c = (char)(unsigned char)v;
      } else if (c != '"' && c != '\\')
        return bad(t, "a string with an unknown escape");
    }
    if (!c) return bad(t, "a string with a zero byte");
    out[n++] = c;
  }
  t.s = out;
  t.n = n;
  return t;
}

static sci_token lex_string(sci_lexer *x, sci_token t, sci_token_kind kind) {
  const char *from = ++x->at;
  bool escapes = false;
  while (x->at < x->end && *x->at != '"' && *x->at != '\n') {
    if (!*x->at) return bad(t, "a string with a zero byte");
    if (*x->at == '\\') {
      escapes = true;
      if (x->at + 1 == x->end || x->at[1] == '\n') break;
      x->at++;
    }
    x->at++;
  }
  if (x->at == x->end || *x->at != '"') return bad(t, "a string without its closing quote");
  t = span(t, kind, from, x->at++);
  return escapes && t.kind == kind ? unescape(x, t) : t;
}

static sci_token lex_name(sci_lexer *x, sci_token t, sci_token_kind kind) {
  const char *from = ++x->at;
  if (is(x, from, LETTER | DIGIT)) {
    while (is(x, x->at, LETTER | DIGIT)) x->at++;
    return span(t, kind, from, x->at);
  }
  if (x->at < x->end && *x->at == '"') return lex_string(x, t, kind);
  return bad(t, kind == SCI_T_VALUE ? "a '%' without a name" : "a '@' without a name");
}

/* A dot belongs to a word when a letter follows: expr.add. */
static sci_token lex_word(sci_lexer *x, sci_token t) {
  while (is(x, x->at, LETTER | DIGIT) || (x->at < x->end && *x->at == '.' && is(x, x->at + 1, LETTER))) x->at++;
  return span(t, SCI_T_WORD, t.begin, x->at);
}

static sci_token lex_number(sci_lexer *x, sci_token t) {
  bool hex = x->end - x->at > 2 && x->at[0] == '0' && (x->at[1] | 32) == 'x';
  if (hex) x->at += 2;
  for (; x->at < x->end; x->at++) {
    char c = *x->at;
    if (is(x, x->at, hex ? HEX : DIGIT) || c == '.') continue;
    if ((c | 32) != (hex ? 'p' : 'e')) break;
    if (x->end - x->at > 1 && (x->at[1] == '+' || x->at[1] == '-')) x->at++;
  }
  if (is(x, x->at, LETTER)) {
    while (is(x, x->at, LETTER | DIGIT)) x->at++;
    return bad(t, "a malformed number");
  }
  return span(t, SCI_T_NUMBER, t.begin, x->at);
}

sci_token sci_lex(sci_lexer *x) {
  sci_skip_blank(x);
  sci_token t = {.begin = x->at, .s = x->at};
  if (x->at == x->end) return t;
  char c = *x->at;
  if (c == '%') return lex_name(x, t, SCI_T_VALUE);
  if (is(x, x->at, LETTER)) return lex_word(x, t);
  if (is(x, x->at, DIGIT) || (c == '.' && is(x, x->at + 1, DIGIT))) return lex_number(x, t);
  if (c == '@') return lex_name(x, t, SCI_T_SYMBOL);
  if (c == '"') return lex_string(x, t, SCI_T_STRING);
  if (c == '-' && x->end - x->at > 1 && x->at[1] == '>') {
    x->at += 2;
    return span(t, SCI_T_ARROW, t.begin, x->at);
  }
  x->at++;
  t = span(t, SCI_T_PUNCT, t.begin, x->at);
  t.punct = c;
  return t;
}
