/* Owns what both parsers share: errors with their place, recovery, name tables. */
#include "lib/text/parse.h"

#include <stdio.h>

/* ---- name tables ---- */

static void free_names(void *what) {
  sci_index_free(&((sci_names *)what)->index);
}

void sci_names_init(sci_names *t, sci_env *env) {
  *t = (sci_names){.env = env};
  sci_index_init(&t->index, env);
  sci_defer(env, free_names, t);
}

void sci_names_free(sci_names *t) {
  sci_keep(t->env, t);
  free_names(t);
}

/* The value of a name that is a number written as numbers are (no leading zero), below `limit`; else `limit`. */
static size_t small_number(const char *s, size_t n, size_t limit) {
  size_t v = 0;
  if (!n || n > 9 || (n > 1 && s[0] == '0')) return limit;
  for (size_t i = 0; i < n; i++) {
    if (s[i] < '0' || s[i] > '9') return limit;
    v = 10 * v + (size_t)(s[i] - '0');
  }
  return v < limit ? v : limit;
}

uint32_t *sci_names_find(sci_names *t, const char *s, size_t n) {
  size_t number = small_number(s, n, t->numbered.n);
  if (number < t->numbered.n && t->numbered.data[number]) return &t->entries.data[t->numbered.data[number] - 1].id;
  if (!t->index.n) return NULL;
  uint32_t hash = sci_hash_bytes(s, n), id;
  for (uint32_t at = hash; sci_index_at(&t->index, &at, hash, &id); at++) {
    struct sci_names_entry *e = &t->entries.data[t->hashed.data[id]];
    if (e->n == n && !memcmp(e->s, s, n)) return &e->id;
  }
  return NULL;
}

void sci_names_add(sci_names *t, sci_arena *arena, const char *s, size_t n, uint32_t id) {
  uint32_t entry = (uint32_t)t->entries.n;
  sci_vec_push(arena, &t->entries, (struct sci_names_entry){s, (uint32_t)n, id});
  size_t limit = 2 * t->entries.n + 64, number = small_number(s, n, limit);
  if (number < limit) {
    while (t->numbered.n <= number) sci_vec_push(arena, &t->numbered, 0);
    t->numbered.data[number] = entry + 1;
    return;
  }
  sci_index_reserve(&t->index);
  sci_vec_push(arena, &t->hashed, entry);
  sci_index_insert(&t->index, sci_hash_bytes(s, n), (uint32_t)t->hashed.n - 1);
}

/* ---- places ---- */

/* A line is shown up to 80 characters past the column, and not at all when the column is too far out to show. */
static void locate(void *user, sc_diagnostic *d) {
  sci_parser *p = user;
  d->file = p->source.file;
  const char *text = p->source.text, *start = text, *end = text + p->source.size;
  const char *where = p->where < text || p->where > end ? text : p->where;
  d->line = 1;
  for (const char *s; start < where && (s = memchr(start, '\n', (size_t)(where - start))) != NULL; start = s + 1)
    if (d->line < INT32_MAX) d->line++;
  ptrdiff_t column = where - start;
  d->column = column < INT32_MAX ? (int)column + 1 : INT32_MAX;
  const char *newline = memchr(start, '\n', (size_t)(end - start));
  ptrdiff_t length = (newline ? newline : end) - start;
  if (length > column + 80) length = column + 80;
  if (length > 0 && start[length - 1] == '\r') length--;
  if (length > SCI_SOURCE_COLUMNS) return;
  for (ptrdiff_t i = 0; i < length; i++) p->line[i] = start[i] ? start[i] : ' ';
  p->line[length] = 0;
  d->source = p->line;
}

static void stop_locating(void *env) {
  ((sci_env *)env)->locate = NULL;
}

void sci_parser_begin(sci_parser *p, sc_context *cx, sci_source source) {
  *p = (sci_parser){.cx = cx, .env = &cx->env, .source = source, .where = source.text, .diags_before = cx->env.n_diags};
  p->lexer = (sci_lexer){&cx->env, source.text, source.text + source.size};
  sci_defer(p->env, stop_locating, p->env);
  p->env->locate_user = p;
  p->env->locate = locate;
  sci_advance(p);
}

void sci_parser_end(sci_parser *p) {
  sci_keep(p->env, p->env);
  stop_locating(p->env);
}

size_t sci_parser_problems(const sci_parser *p) {
  return p->env->n_diags - p->diags_before;
}

void sci_parser_recover(sci_parser *p, const char *start, const char *word) {
  size_t n = sci_parser_problems(p);
  if (!p->env->locate || !n || p->env->diags[p->env->n_diags - 1].status == SC_ERR_MEMORY) sci_unwind(p->env);
  if (n >= SCI_MAX_PROBLEMS) {
    p->where = p->tok.begin;
    sci_fail(p->env, SC_ERR_PARSE, "too many problems: the rest of the text was not read");
  }
  /* What was read inside the failed frame may be gone: the token is read again. */
  p->lexer.at = p->tok.begin > start ? p->tok.begin : start;
  sci_advance(p);
  if (p->tok.begin == start) sci_advance(p);
  while (p->tok.kind != SCI_T_END && !sci_at_word(p, word)) sci_advance(p);
}

/* ---- errors ---- */

void sci_fail_at(sci_parser *p, const char *where, sc_status status, const char *fmt, ...) {
  va_list ap;
  p->where = where;
  va_start(ap, fmt);
  sci_vreport(p->env, true, (sc_diagnostic){.status = status}, fmt, ap);
  va_end(ap);
  sci_unwind(p->env);
}

const char *sci_show(sci_parser *p, const char *s, size_t n) {
  enum { MOST = 40 };
  char *out = sci_alloc(&p->env->scratch, MOST + 4);
  size_t len = n < MOST ? n : MOST;
  for (size_t i = 0; i < len; i++) out[i] = s[i] >= 0x20 && s[i] < 0x7F ? s[i] : '?';
  strcpy(out + len, n > MOST ? "..." : "");
  return out;
}

static const char *describe(sci_parser *p) {
  const sci_token *t = &p->tok;
  sci_arena *a = &p->env->scratch;
  switch ((sci_token_kind)t->kind) {
  case SCI_T_END: return "the end of the text";
  case SCI_T_WORD: return sci_asprintf(a, "'%s'", sci_show(p, t->s, t->n));
  case SCI_T_NUMBER: return sci_asprintf(a, "the number %s", sci_show(p, t->s, t->n));
  case SCI_T_VALUE: return sci_asprintf(a, "%%%s", sci_show(p, t->s, t->n));
  case SCI_T_SYMBOL: return sci_asprintf(a, "@%s", sci_show(p, t->s, t->n));
  case SCI_T_STRING: return sci_asprintf(a, "the string \"%s\"", sci_show(p, t->s, t->n));
  case SCI_T_ARROW: return "'->'";
  case SCI_T_BAD: return t->s;
  case SCI_T_PUNCT:
    if (t->punct >= 0x20 && t->punct < 0x7F) return sci_asprintf(a, "'%c'", t->punct);
    return sci_asprintf(a, "the byte 0x%02x", (unsigned)(unsigned char)t->punct);
  }
  return "?";
}

void sci_unexpected(sci_parser *p, const char *fmt, ...) {
  va_list ap;
  char what[256];
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  const char *where = p->tok.begin;
  if (p->tok.kind == SCI_T_END) /* shown behind the last word, not on the empty line that follows */
    while (where > p->source.text && (where[-1] == ' ' || where[-1] == '\n' || where[-1] == '\r' || where[-1] == '\t'))
      where--;
  sci_fail_at(p, where, SC_ERR_PARSE, "expected %s, found %s", what, describe(p));
}

/* ---- tokens ---- */

bool sci_accept_punct(sci_parser *p, char c) {
  if (!sci_at_punct(p, c)) return false;
  sci_advance(p);
  return true;
}

bool sci_accept_word(sci_parser *p, const char *word) {
  if (!sci_at_word(p, word)) return false;
  sci_advance(p);
  return true;
}

void sci_expect_punct(sci_parser *p, char c, const char *after) {
  if (!sci_accept_punct(p, c)) sci_unexpected(p, "'%c' %s", c, after);
}

void sci_expect_word(sci_parser *p, const char *word) {
  if (!sci_accept_word(p, word)) sci_unexpected(p, "'%s'", word);
}

bool sci_at_attributes(const sci_parser *p) {
  if (!sci_at_punct(p, '{')) return false;
  sci_lexer x = p->lexer;
  sci_token first = sci_lex(&x), second = sci_lex(&x);
  if (first.kind == SCI_T_PUNCT && first.punct == '}') return second.kind == SCI_T_PUNCT && second.punct == '{';
  return first.kind == SCI_T_WORD && second.kind == SCI_T_PUNCT && second.punct == '=';
}

sci_token sci_expect(sci_parser *p, sci_token_kind kind, const char *what) {
  if (p->tok.kind != kind) sci_unexpected(p, "%s", what);
  sci_token t = p->tok;
  sci_advance(p);
  return t;
}

const char *sci_token_string(sci_parser *p, const sci_token *t) {
  return sci_strndup(&p->env->scratch, t->s, t->n);
}
