/* Owns allocation, unwinding and diagnostics of one environment. */
#include "lib/base/env.h"

#include <stdio.h>
#include <stdlib.h>

static void *libc_reallocate(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (new_size) return realloc(ptr, new_size);
  free(ptr);
  return NULL;
}

void *sci_raw_try(sci_env *env, void *p, size_t old_size, size_t new_size) {
  void *q = env->alloc.reallocate(env->alloc.user, p, old_size, new_size);
  if (q || !new_size) env->held += new_size - old_size;
  return q;
}

void *sci_raw(sci_env *env, void *p, size_t old_size, size_t new_size) {
  void *q = sci_raw_try(env, p, old_size, new_size);
  if (!q && new_size) sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", new_size);
  return q;
}

void sci_raw_free(sci_env *env, void *p, size_t size) {
  if (p) sci_raw_try(env, p, size, 0);
}

bool sci_env_init(sci_env *env, const sc_allocator *alloc) {
  *env = (sci_env){0};
  env->alloc = alloc ? *alloc : (sc_allocator){libc_reallocate, NULL};
  sci_arena_init(&env->scratch, env);
  sci_arena_init(&env->diag_text, env);
  env->cap_diags = 4; /* taken now, so that a lack of memory can still be reported later */
  env->diags = sci_raw_try(env, NULL, 0, env->cap_diags * sizeof *env->diags);
  if (!env->diags) return false;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) {
    sci_env_free(env);
    return false;
  }
  sci_alloc(&env->scratch, 1); /* a chunk taken before any frame's mark stays: most frames then never allocate */
  env->scratch.at = (char *)env->scratch.chunk->data;
  env->frame = NULL;
  return true;
}

void sci_env_free(sci_env *env) {
  sci_arena_free(&env->scratch);
  sci_arena_free(&env->diag_text);
  sci_raw_free(env, env->diags, env->cap_diags * sizeof *env->diags);
}

/* ---- arenas ---- */

enum { FIRST_CHUNK = 16 << 10, LAST_CHUNK = 4 << 20 };

void sci_arena_init(sci_arena *a, sci_env *env) {
  *a = (sci_arena){.env = env, .next_size = FIRST_CHUNK};
}

static void free_chunk(sci_arena *a, sci_chunk *c) {
  if (c) sci_raw_free(a->env, c, sizeof *c + c->size);
}

/* What is given back at the end of a chunk is often asked for again at once, a million times over. Returns the chunk to
 * free. */
static sci_chunk *keep_spare(sci_arena *a, sci_chunk *c) {
  sci_chunk *spare = a->spare;
  if (a != &a->env->scratch || (spare && spare->size >= c->size)) return c;
  a->spare = c;
  return spare;
}

static void drop_spare(sci_arena *a) {
  free_chunk(a, a->spare);
  a->spare = NULL;
}

void sci_arena_release(sci_arena *a, sci_arena_mark mark) {
  while (a->chunk != mark.chunk) {
    sci_chunk *c = a->chunk;
    a->chunk = c->prev;
    a->held -= sizeof *c + c->size;
    if (c->size < a->next_size) a->next_size = c->size; /* growth is undone, too */
    free_chunk(a, keep_spare(a, c));
  }
  a->at = mark.at;
  a->end = a->chunk ? (char *)a->chunk->data + a->chunk->size : NULL;
}

void sci_arena_free(sci_arena *a) {
  sci_arena_release(a, (sci_arena_mark){NULL, NULL});
  drop_spare(a);
  a->next_size = FIRST_CHUNK;
}

sci_arena_mark sci_arena_here(const sci_arena *a) {
  return (sci_arena_mark){a->chunk, a->at};
}

void *sci_arena_slow(sci_arena *a, size_t size) {
  if (size > SIZE_MAX / 2) sci_fail(a->env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", size);
  size_t rounded = (size + 15) & ~(size_t)15;
  size_t want = rounded > a->next_size ? rounded : a->next_size;
  sci_chunk *c = a->spare;
  if (c && c->size >= want) {
    a->spare = NULL;
    want = c->size;
  } else {
    c = sci_raw(a->env, NULL, 0, sizeof *c + want);
  }
  *c = (sci_chunk){.prev = a->chunk, .size = want};
  a->held += sizeof *c + want;
  a->chunk = c;
  a->at = (char *)c->data + rounded;
  a->end = (char *)c->data + want;
  if (a->next_size < LAST_CHUNK) a->next_size *= 2;
  return c->data;
}

void *sci_alloc_array(sci_arena *a, size_t n, size_t size) {
  if (size && n > SIZE_MAX / 2 / size)
    sci_fail(a->env, SC_ERR_MEMORY, "out of memory: %zu elements of %zu bytes could not be allocated", n, size);
  return sci_alloc(a, n * size);
}

void *sci_alloc_zero(sci_arena *a, size_t n, size_t size) {
  void *p = sci_alloc_array(a, n, size);
  return memset(p, 0, n * size);
}

void *sci_regrow(sci_arena *a, void *p, size_t old_size, size_t new_size) {
  size_t old_rounded = (old_size + 15) & ~(size_t)15, new_rounded = (new_size + 15) & ~(size_t)15;
  if (p && new_rounded >= new_size && (char *)p + old_rounded == a->at &&
      new_rounded - old_rounded <= (size_t)(a->end - a->at)) {
    a->at = (char *)p + new_rounded;
    return p;
  }
  void *q = sci_alloc(a, new_size);
  if (old_size) memcpy(q, p, old_size);
  return q;
}

void *sci_vec_grow(sci_arena *a, void *data, size_t *cap, size_t size) {
  size_t grown = *cap ? *cap * 2 : 8;
  if (grown > SIZE_MAX / 2 / size) sci_fail(a->env, SC_ERR_MEMORY, "out of memory: a list of %zu elements", grown);
  void *p = sci_regrow(a, data, *cap * size, grown * size);
  *cap = grown;
  return p;
}

char *sci_strndup(sci_arena *a, const char *s, size_t n) {
  char *p = sci_alloc(a, n + 1);
  memcpy(p, s, n);
  p[n] = 0;
  return p;
}

char *sci_strdup(sci_arena *a, const char *s) {
  return sci_strndup(a, s, strlen(s));
}

char *sci_asprintf(sci_arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *p = sci_alloc(a, (size_t)n + 1);
  vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

/* ---- frames ---- */

void sci_frame_open(sci_env *env, sci_frame *fr) {
  fr->outer = env->frame;
  fr->scratch = sci_arena_here(&env->scratch);
  fr->cleanups = env->cleanups;
  fr->diag_base = env->diag_base;
  env->frame = fr;
}

void sci_leave(sci_env *env, sci_frame *fr) {
  env->frame = fr->outer;
  env->diag_base = fr->diag_base;
  sci_arena_release(&env->scratch, fr->scratch);
  if (!env->frame) drop_spare(&env->scratch);
}

void sci_unwind(sci_env *env) {
  sci_frame *fr = env->frame;
  if (!fr) abort(); /* an internal function was called outside every frame: a programming error */
  while (env->cleanups != fr->cleanups) {
    sci_cleanup *c = env->cleanups;
    env->cleanups = c->next;
    if (c->what) c->run(c->what);
    sci_raw_free(env, c, sizeof *c);
  }
  sci_leave(env, fr);
  longjmp(fr->jump, 1);
}

void sci_defer(sci_env *env, void (*run)(void *), void *what) {
  sci_cleanup *c = sci_raw_try(env, NULL, 0, sizeof *c);
  if (!c) {
    run(what);
    sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", sizeof *c);
  }
  *c = (sci_cleanup){env->cleanups, run, what};
  env->cleanups = c;
}

void sci_keep(sci_env *env, const void *what) {
  for (sci_cleanup **at = &env->cleanups; *at; at = &(*at)->next) {
    if ((*at)->what != what) continue;
    sci_cleanup *c = *at;
    *at = c->next;
    sci_raw_free(env, c, sizeof *c);
    return;
  }
}

/* ---- diagnostics ---- */

static bool room_for_diagnostic(sci_env *env) {
  if (env->n_diags < env->cap_diags) return true;
  size_t cap = 2 * env->cap_diags;
  sc_diagnostic *grown = sci_raw_try(env, env->diags, env->cap_diags * sizeof *grown, cap * sizeof *grown);
  if (!grown) return false; /* earlier diagnostics tell enough */
  env->diags = grown;
  env->cap_diags = cap;
  return true;
}

static void record(sci_env *env, bool always, sc_diagnostic d, const char *fmt, va_list ap) {
  if ((env->n_diags > env->diag_base && !always) || !room_for_diagnostic(env)) return;
  char text[1024];
  int len = vsnprintf(text, sizeof text, fmt, ap);
  if (len >= (int)sizeof text) memcpy(text + sizeof text - 4, "...", 4);
  /* The slot is taken first, by what stays there when the strings find no memory; the failure then finds it and adds
   * nothing. */
  size_t slot = env->n_diags++;
  env->diags[slot] = (sc_diagnostic){.status = SC_ERR_MEMORY, .message = "out of memory"};
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return;
  d.message = sci_strdup(&env->diag_text, text);
  if (d.file) d.file = sci_strdup(&env->diag_text, d.file);
  if (d.source) d.source = sci_strdup(&env->diag_text, d.source);
  env->diags[slot] = d;
  sci_leave(env, &fr);
}

/* What fails while a diagnostic is being recorded is not located: it must find the list occupied and add nothing. */
void sci_vreport(sci_env *env, bool always, sc_diagnostic d, const char *fmt, va_list ap) {
  void (*locate)(void *, sc_diagnostic *) = env->locate;
  if (locate && !d.line) locate(env->locate_user, &d);
  env->locate = NULL;
  record(env, always || locate, d, fmt, ap);
  env->locate = locate;
}

void sci_report(sci_env *env, bool always, sc_diagnostic d, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  sci_vreport(env, always, d, fmt, ap);
  va_end(ap);
}

void sci_fail(sci_env *env, sc_status status, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  sci_vreport(env, false, (sc_diagnostic){.status = status}, fmt, ap);
  va_end(ap);
  sci_unwind(env);
}

void sci_diags_clear(sci_env *env) {
  env->n_diags = 0;
  sci_arena_free(&env->diag_text);
}

void sci_diags_isolate(sci_env *env) {
  env->diag_base = env->n_diags;
}

void sci_diags_truncate(sci_env *env, size_t n) {
  if (n < env->n_diags) env->n_diags = n;
}

int64_t sci_mul_size(sci_env *env, int64_t a, int64_t b, const char *what) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) sci_fail(env, SC_ERR_OVERFLOW, "%s: the size overflows", what);
  return r;
}

int64_t sci_add_size(sci_env *env, int64_t a, int64_t b, const char *what) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) sci_fail(env, SC_ERR_OVERFLOW, "%s: the size overflows", what);
  return r;
}
