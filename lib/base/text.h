/* Text building and locale-free number text. */
#ifndef SCI_BASE_TEXT_H
#define SCI_BASE_TEXT_H

#include "lib/base/env.h"

/* A growing string; `data` is always terminated once anything was put. It lives in an arena, or, to be handed out
 * without a copy, in the allocator's own memory. */
typedef struct sci_text {
  sci_arena *arena;
  sci_env *out;
  char *data;
  size_t n, cap;
} sci_text;

void sci_text_init(sci_text *t, sci_arena *arena);
/* Text for the user: on the cleanup list until sci_text_take, which hands it out as sci_bytes_dup does. The struct must
 * stay in place. */
void sci_text_init_out(sci_text *t, sci_env *env);
char *sci_text_take(sci_text *t);
void sci_text_reserve(sci_text *t, size_t more);

static inline void sci_put_n(sci_text *t, const char *s, size_t n) {
  if (SCI_UNLIKELY(t->cap - t->n <= n)) sci_text_reserve(t, n);
  if (n) memcpy(t->data + t->n, s, n); /* an empty text has no bytes to point to */
  t->n += n;
  t->data[t->n] = 0;
}
static inline void sci_put(sci_text *t, const char *s) {
  sci_put_n(t, s, strlen(s));
}
static inline void sci_put_char(sci_text *t, char c) {
  sci_put_n(t, &c, 1);
}
void sci_put_int(sci_text *t, int64_t v);
void sci_putf(sci_text *t, const char *fmt, ...) SCI_PRINTF(2, 3); /* no floating-point conversions: locale */
/* Copies from the context's allocator for handing out to the user, who frees them with sc_string_free: they remember
 * their size. A zero is put behind them. Unwind on failure. */
char *sci_text_dup(sci_env *env, const sci_text *t);
char *sci_bytes_dup(sci_env *env, const void *data, size_t n);
void sci_bytes_free(sci_env *env, char *p);

enum { SCI_NUM_MAX = 40 };
/* The shortest decimal that reads back to the same bits: "1", "0.1", "1e+300", "-0", "inf", "-inf", "nan". Returns the
 * length. */
int sci_fmt_f64(char buf[SCI_NUM_MAX], double v);
int sci_fmt_f32(char buf[SCI_NUM_MAX], float v);
/* Exactly `digits` significant digits (17 for float64, 9 for float32 make every value exact), trailing zeros dropped,
 * always with a dot or an exponent. Finite values only. */
int sci_fmt_digits(char buf[SCI_NUM_MAX], double v, int digits);
int sci_fmt_i64(char buf[SCI_NUM_MAX], int64_t v);
/* Reads a decimal or hexadecimal floating-point number (no sign, no inf/nan) at s, whatever the locale. Returns the
 * number of characters read, 0 when there is none. Overflow gives infinity. `as_float` rounds once, to float. */
size_t sci_parse_float(const char *s, size_t n, bool as_float, double *out);

#endif
