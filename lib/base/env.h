/* The environment every internal function works in: allocator, arenas, unwinding and diagnostics.
 *
 * A failure inside lib/ never travels as a return value. sci_fail() records the first diagnostic and unwinds to the
 * innermost frame, which lib/api (or a backend's entry function) opened:
 *
 *   sci_frame fr;
 *   if (!SCI_TRY(env, &fr)) return NULL;      // a failure below lands here, everything undone
 *   ... work that may fail ...
 *   sci_leave(env, &fr);
 *
 * Opening a frame marks the scratch arena; leaving it, either way, releases what was allocated there since. Things that
 * outlive a frame but are not yet owned by anybody are put on the cleanup list with sci_defer() and taken off with
 * sci_keep(). Code between SCI_TRY and sci_leave must not return. Locals changed after SCI_TRY and read in the
 * failure path must be volatile. */
#ifndef SCI_BASE_ENV_H
#define SCI_BASE_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "scaly/context.h"

#if defined(__GNUC__)
#define SCI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define SCI_LIKELY(x) __builtin_expect(!!(x), 1)
#define SCI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define SCI_PRINTF(f, a)
#define SCI_LIKELY(x) (x)
#define SCI_UNLIKELY(x) (x)
#endif

typedef struct sci_env sci_env;

/* ---- arenas: bump allocation in chunks, released back to a mark or all at once ---- */

typedef struct sci_chunk {
  struct sci_chunk *prev;
  size_t size; /* of data */
  max_align_t data[];
} sci_chunk;

typedef struct sci_arena {
  sci_env *env;
  sci_chunk *chunk;
  sci_chunk *spare; /* of scratch memory: the largest chunk that was given back since the outermost frame began */
  char *at, *end;
  size_t held;      /* bytes taken from the allocator */
  size_t next_size; /* of the next regular chunk */
} sci_arena;

typedef struct sci_arena_mark {
  sci_chunk *chunk;
  char *at;
} sci_arena_mark;

void sci_arena_init(sci_arena *a, sci_env *env);
void sci_arena_free(sci_arena *a);
sci_arena_mark sci_arena_here(const sci_arena *a);
void sci_arena_release(sci_arena *a, sci_arena_mark mark);
void *sci_arena_slow(sci_arena *a, size_t size);

/* Uninitialized memory, aligned to 16 bytes. Fails (unwinds) when the allocator does. */
static inline void *sci_alloc(sci_arena *a, size_t size) {
  size_t rounded = (size + 15) & ~(size_t)15;
  if (SCI_LIKELY(rounded >= size && rounded <= (size_t)(a->end - a->at))) {
    void *p = a->at;
    a->at += rounded;
    return p;
  }
  return sci_arena_slow(a, size);
}

void *sci_alloc_array(sci_arena *a, size_t n, size_t size); /* checked n * size */
void *sci_alloc_zero(sci_arena *a, size_t n, size_t size);
/* Grows a block that this arena handed out; in place when it is the last one. */
void *sci_regrow(sci_arena *a, void *p, size_t old_size, size_t new_size);
char *sci_strdup(sci_arena *a, const char *s);
char *sci_strndup(sci_arena *a, const char *s, size_t n);
char *sci_asprintf(sci_arena *a, const char *fmt, ...) SCI_PRINTF(2, 3);

#define SCI_NEW(arena, type) ((type *)sci_alloc_zero((arena), 1, sizeof(type)))
#define SCI_ARRAY(arena, type, n) ((type *)sci_alloc_array((arena), (size_t)(n), sizeof(type)))
#define SCI_ZEROS(arena, type, n) ((type *)sci_alloc_zero((arena), (size_t)(n), sizeof(type)))

/* ---- vectors in an arena ---- */

#define SCI_VEC(type)                                                                                                  \
  struct {                                                                                                             \
    type *data;                                                                                                        \
    size_t n, cap;                                                                                                     \
  }
#define sci_vec_push(arena, v, ...)                                                                                    \
  ((v)->n == (v)->cap ? (void)((v)->data = sci_vec_grow((arena), (v)->data, &(v)->cap, sizeof *(v)->data)) : (void)0,  \
   (v)->data[(v)->n++] = (__VA_ARGS__))
void *sci_vec_grow(sci_arena *a, void *data, size_t *cap, size_t size);

/* ---- environment ---- */

typedef struct sci_frame {
  jmp_buf jump;
  struct sci_frame *outer;
  sci_arena_mark scratch;
  struct sci_cleanup *cleanups; /* the list's head when the frame was opened */
  size_t diag_base;
} sci_frame;

typedef struct sci_cleanup {
  struct sci_cleanup *next;
  void (*run)(void *);
  void *what;
} sci_cleanup;

struct sci_env {
  sc_allocator alloc;
  size_t held; /* bytes held from the allocator */
  sci_frame *frame;
  sci_cleanup *cleanups;
  sci_arena scratch;   /* released when the frame that allocated is left */
  sci_arena diag_text; /* the diagnostics' strings */
  sc_diagnostic *diags;
  size_t n_diags, cap_diags;
  /* Set while a parser works: gives a diagnostic its place in the text; every failure is then recorded, not only the
   * first. */
  void (*locate)(void *user, sc_diagnostic *d);
  void *locate_user;
  size_t diag_base; /* a failure is recorded when there are no more than these */
};

bool sci_env_init(sci_env *env, const sc_allocator *alloc); /* false: no memory */
void sci_env_free(sci_env *env);

/* Raw memory from the context's allocator. sci_raw_try returns NULL on failure, sci_raw unwinds. */
void *sci_raw_try(sci_env *env, void *p, size_t old_size, size_t new_size);
void *sci_raw(sci_env *env, void *p, size_t old_size, size_t new_size);
void sci_raw_free(sci_env *env, void *p, size_t size);

void sci_frame_open(sci_env *env, sci_frame *fr);
#define SCI_TRY(env, fr) (sci_frame_open((env), (fr)), setjmp((fr)->jump) == 0)
void sci_leave(sci_env *env, sci_frame *fr);

/* Runs `run(what)` if the innermost frame fails before sci_keep(what). */
void sci_defer(sci_env *env, void (*run)(void *), void *what);
void sci_keep(sci_env *env, const void *what);

_Noreturn void sci_fail(sci_env *env, sc_status status, const char *fmt, ...) SCI_PRINTF(3, 4);
_Noreturn void sci_unwind(sci_env *env); /* after a diagnostic has been recorded */
/* Records a diagnostic without unwinding. `always`: also when there is one already (parsers report several). */
void sci_report(sci_env *env, bool always, sc_diagnostic d, const char *fmt, ...) SCI_PRINTF(4, 5);
void sci_vreport(sci_env *env, bool always, sc_diagnostic d, const char *fmt, va_list ap);
void sci_diags_clear(sci_env *env);
/* For a try whose failure is not an error yet: until the innermost frame is left, either way, the first failure is
 * recorded behind the diagnostics there are already. size_t base = env->n_diags; if (!SCI_TRY(env, &fr)) { ...
 * env->diags[base] says why; sci_diags_truncate(env, base) forgets it ... } sci_diags_isolate(env); ... sci_leave(env,
 * &fr); */
void sci_diags_isolate(sci_env *env);
void sci_diags_truncate(sci_env *env, size_t n);

/* Multiplication and addition of sizes that fail with SC_ERR_OVERFLOW naming `what`. */
int64_t sci_mul_size(sci_env *env, int64_t a, int64_t b, const char *what);
int64_t sci_add_size(sci_env *env, int64_t a, int64_t b, const char *what);

#endif
