/* Owns the command's messages, exit codes, memory and the reading of files. */
#include "tools/scaly/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- messages ---- */

static bool colored(void) {
  const char *no_color = getenv("NO_COLOR");
  return !(no_color && *no_color) && isatty(STDERR_FILENO);
}

static void put_error_word(void) {
  fputs(colored() ? "\033[1;31merror:\033[0m " : "error: ", stderr);
}

void complain(const char *fmt, ...) {
  progress(NULL);
  va_list ap;
  va_start(ap, fmt);
  fputs("scaly: ", stderr);
  put_error_word();
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
}

/* A line may be megabytes long or hold anything: shows the part around the column, control characters as blanks. */
static void put_source_line(const char *line, size_t n, size_t at) {
  enum { BEFORE = 70, SHOWN = 110 };
  size_t first = at > BEFORE ? at - BEFORE : 0;
  while (first && ((unsigned char)line[first] & 0xC0) == 0x80) first--;
  size_t last = n - first > SHOWN ? first + SHOWN : n;
  const char *more = first ? "..." : "";
  fprintf(stderr, "  %s", more);
  for (size_t i = first; i < last; i++) fputc((unsigned char)line[i] < 32 || line[i] == 127 ? ' ' : line[i], stderr);
  fprintf(stderr, "%s\n  %*s", last < n ? "..." : "", (int)strlen(more), "");
  for (size_t i = first; i < at && i < last; i++)
    if (((unsigned char)line[i] & 0xC0) != 0x80) fputc(' ', stderr);
  fputs(colored() ? "\033[1;32m^\033[0m\n" : "^\n", stderr);
}

void complain_at(const char *file, const char *text, size_t size, size_t offset, const char *fmt, ...) {
  size_t start = 0, line = 1;
  if (offset > size) offset = size;
  for (size_t i = 0; i < offset; i++)
    if (text[i] == '\n') start = i + 1, line++;
  const char *end = memchr(text + start, '\n', size - start);
  va_list ap;
  va_start(ap, fmt);
  fprintf(stderr, "%s:%zu:%zu: ", file, line, offset - start + 1);
  put_error_word();
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  put_source_line(text + start, (end ? (size_t)(end - text) : size) - start, offset - start);
}

int exit_code_of(sc_status status) {
  switch (status) {
  case SC_OK: return EXIT_OK;
  case SC_ERR_SHAPE:
  case SC_ERR_DTYPE:
  case SC_ERR_NAME:
  case SC_ERR_INDEX:
  case SC_ERR_OVERFLOW:
  case SC_ERR_ARGUMENT:
  case SC_ERR_STALE:
  case SC_ERR_PARSE:
  case SC_ERR_VERIFY: return EXIT_INPUT;
  case SC_ERR_IO:
  case SC_ERR_MEMORY:
  case SC_ERR_UNAVAILABLE:
  case SC_ERR_BACKEND: return EXIT_ENVIRONMENT;
  }
  return EXIT_ENVIRONMENT;
}

int report_context(sc_context *cx) {
  size_t n = sc_context_diagnostic_count(cx);
  if (!n) {
    complain("out of memory"); /* the only failure too poor for a diagnostic */
    return EXIT_ENVIRONMENT;
  }
  progress(NULL);
  int code = exit_code_of(sc_context_error(cx)->status);
  for (size_t i = 0; i < n; i++) {
    const sc_diagnostic *d = sc_context_diagnostic(cx, i);
    if (d->line) {
      fprintf(stderr, "%s:%d:%d: ", d->file ? d->file : "<text>", d->line, d->column);
      put_error_word();
      fprintf(stderr, "%s\n", d->message);
      if (d->source) put_source_line(d->source, strlen(d->source), d->column > 0 ? (size_t)d->column - 1 : 0);
    } else if (d->file) {
      fprintf(stderr, "%s: ", d->file);
      put_error_word();
      fprintf(stderr, "%s\n", d->message);
    } else {
      complain("%s", d->message);
    }
  }
  sc_context_clear_error(cx);
  return code;
}

int finish_output(int code) {
  bool failed = ferror(stdout);
  errno = 0;
  failed |= fflush(stdout) != 0;
  if (!failed) return code;
  complain("standard output: %s", errno ? strerror(errno) : "not everything could be written");
  return EXIT_ENVIRONMENT;
}

void progress(const char *fmt, ...) {
  static bool shown;
  static double start;
  if (start == 0) start = now_ms();
  if (!fmt) {
    if (shown) fputs("\r\033[K", stderr);
    shown = false;
    return;
  }
  if (now_ms() - start < 1000 || !isatty(STDERR_FILENO)) return;
  va_list ap;
  va_start(ap, fmt);
  fputs("\r\033[K", stderr);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fflush(stderr);
  shown = true;
}

/* ---- memory ---- */

typedef struct block {
  struct block *next;
} block;
static block *pool;

static _Noreturn void no_memory(size_t size) {
  complain("out of memory: %zu bytes could not be allocated", size);
  exit(EXIT_ENVIRONMENT);
}

void *pool_alloc_aligned(size_t align, size_t size) {
  size_t head = align > sizeof(max_align_t) ? align : sizeof(max_align_t);
  block *b = size > SIZE_MAX / 2 ? NULL : aligned_alloc(head, (head + size + head - 1) / head * head);
  if (!b) no_memory(size);
  b->next = pool;
  pool = b;
  return memset((char *)b + head, 0, size);
}

void *pool_alloc(size_t n, size_t size) {
  if (size && n > SIZE_MAX / 2 / size) no_memory(SIZE_MAX);
  return pool_alloc_aligned(sizeof(max_align_t), n * size);
}

char *pool_strndup(const char *s, size_t n) {
  return memcpy(pool_alloc(n + 1, 1), s, n);
}

char *pool_printf(const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  size_t n = (size_t)vsnprintf(NULL, 0, fmt, ap);
  char *s = pool_alloc(n + 1, 1);
  vsnprintf(s, n + 1, fmt, again);
  va_end(ap);
  va_end(again);
  return s;
}

void pool_free(void) {
  while (pool) {
    block *b = pool;
    pool = b->next;
    free(b);
  }
}

/* ---- files ---- */

char *read_file(const char *path, size_t *size) {
  bool standard = strcmp(path, "-") == 0;
  FILE *f = standard ? stdin : fopen(path, "rb");
  if (!f) {
    complain("%s: %s", path, strerror(errno));
    return NULL;
  }
  size_t cap = 1 << 16, n = 0;
  char *text = malloc(cap);
  while (text) {
    n += fread(text + n, 1, cap - n - 1, f);
    if (n < cap - 1) break;
    char *grown = cap < SIZE_MAX / 4 ? realloc(text, cap *= 2) : NULL;
    if (!grown) free(text);
    text = grown;
  }
  int problem = ferror(f) ? errno : 0;
  if (!standard) fclose(f);
  if (!text) no_memory(cap);
  size_t mark = n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0; /* of UTF-8: it belongs to no text */
  char *kept = problem ? NULL : pool_strndup(text + mark, n -= mark);
  free(text);
  if (problem) complain("%s: %s", standard ? "standard input" : path, strerror(problem));
  *size = n;
  return kept;
}

double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
