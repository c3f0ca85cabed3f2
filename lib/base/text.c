/* Owns text building and the conversion of numbers to and from text without regard to the locale. */
#include "lib/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void sci_text_init(sci_text *t, sci_arena *arena) {
  *t = (sci_text){.arena = arena};
}

typedef struct handed_out {
  size_t size; /* of everything */
  max_align_t data[];
} handed_out;

static handed_out *header_of(char *p) {
  return p ? (handed_out *)(void *)(p - offsetof(handed_out, data)) : NULL;
}

static void free_out(void *what) {
  sci_text *t = what;
  sci_bytes_free(t->out, t->data);
}

void sci_text_init_out(sci_text *t, sci_env *env) {
  *t = (sci_text){.out = env};
  sci_defer(env, free_out, t);
}

static void resize_out(sci_text *t, size_t cap) {
  handed_out *old = header_of(t->data);
  size_t size = sizeof(handed_out) + cap;
  handed_out *h = sci_raw(t->out, old, old ? old->size : 0, size);
  h->size = size;
  t->data = (char *)h->data;
  t->cap = cap;
}

void sci_text_reserve(sci_text *t, size_t more) {
  if (t->cap - t->n > more) return;
  sci_env *env = t->out ? t->out : t->arena->env;
  if (more > SIZE_MAX / 4) sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", more);
  size_t cap = t->cap ? 2 * t->cap : 256;
  while (cap - t->n <= more) cap *= 2;
  if (t->out) {
    resize_out(t, cap);
    return;
  }
  t->data = sci_regrow(t->arena, t->data, t->cap, cap);
  t->cap = cap;
}

char *sci_text_take(sci_text *t) {
  sci_put_n(t, "", 0);
  resize_out(t, t->n + 1);
  sci_keep(t->out, t);
  return t->data;
}

void sci_put_int(sci_text *t, int64_t v) {
  char buf[SCI_NUM_MAX];
  sci_put_n(t, buf, (size_t)sci_fmt_i64(buf, v));
}

void sci_putf(sci_text *t, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  char small[256];
  int n = vsnprintf(small, sizeof small, fmt, ap);
  va_end(ap);
  sci_text_reserve(t, (size_t)n);
  if (n < (int)sizeof small)
    memcpy(t->data + t->n, small, (size_t)n + 1);
  else
    vsnprintf(t->data + t->n, (size_t)n + 1, fmt, again);
  va_end(again);
  t->n += (size_t)n;
}

char *sci_bytes_dup(sci_env *env, const void *data, size_t n) {
  if (n > SIZE_MAX / 2) sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", n);
  size_t size = sizeof(handed_out) + n + 1;
  handed_out *h = sci_raw(env, NULL, 0, size);
  h->size = size;
  char *p = (char *)h->data;
  if (n) memcpy(p, data, n);
  p[n] = 0;
  return p;
}

char *sci_text_dup(sci_env *env, const sci_text *t) {
  return sci_bytes_dup(env, t->data, t->n);
}

void sci_bytes_free(sci_env *env, char *p) {
  if (!p) return;
  handed_out *h = header_of(p);
  sci_raw_free(env, h, h->size);
}

int sci_fmt_i64(char buf[SCI_NUM_MAX], int64_t v) {
  char tmp[24];
  int n = 0, len = 0;
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  do tmp[n++] = (char)('0' + u % 10);
  while (u /= 10);
  if (v < 0) buf[len++] = '-';
  while (n) buf[len++] = tmp[--n];
  buf[len] = 0;
  return len;
}

/* For values of everyday size, from the exact integer value * 10^k: 128 bits hold it. Rounds to nearest, ties to even,
 * as printf does. Returns 0 for other values. */
static int quick_digits(double v, int precision, char digits[24], int *exponent) {
  static const uint64_t tens[] = {1,
                                  10,
                                  100,
                                  1000,
                                  10000,
                                  100000,
                                  1000000,
                                  10000000,
                                  100000000,
                                  1000000000,
                                  10000000000,
                                  100000000000,
                                  1000000000000,
                                  10000000000000,
                                  100000000000000,
                                  1000000000000000,
                                  10000000000000000,
                                  100000000000000000};
  __extension__ typedef unsigned __int128 wide;
  if (precision > 17 || !(v >= 1e-5 && v < 1e16)) return 0;
  int binary;
  uint64_t mantissa = (uint64_t)ldexp(frexp(v, &binary), 53);
  int d = (int)floor((binary - 1) * 0.30102999566398120), shift = 53 - binary;
  for (;; d++) { /* at most one too small */
    int p = precision - 1 - d;
    if (p < 0 || p > 22) return 0;
    wide product = (wide)mantissa * tens[p > 11 ? 11 : p] * tens[p > 11 ? p - 11 : 0];
    wide whole = shift > 0 ? product >> shift : product << -shift;
    if (whole >= tens[precision]) continue;
    if (shift > 0) {
      wide rest = product - (whole << shift), half = (wide)1 << (shift - 1);
      whole += rest > half || (rest == half && (whole & 1));
    }
    uint64_t number = (uint64_t)whole;
    if (number == tens[precision]) number /= 10, d++;
    for (int i = precision; i-- > 0; number /= 10) digits[i] = (char)('0' + number % 10);
    *exponent = d;
    return precision;
  }
}

/* Significant digits and decimal exponent of a finite positive value. The separator that "%e" prints depends on the
 * locale, so only the digits and the exponent are read back. */
static int digits_of(double v, int precision, char digits[24], int *exponent) {
  int n = quick_digits(v, precision, digits, exponent);
  if (!n) {
    char text[64];
    snprintf(text, sizeof text, "%.*e", precision - 1, v);
    const char *s = text;
    for (; *s && *s != 'e'; s++)
      if (*s >= '0' && *s <= '9') digits[n++] = *s;
    *exponent = *s ? atoi(s + 1) : 0;
  }
  while (n > 1 && digits[n - 1] == '0') n--;
  return n;
}

/* Lays digits out as a plain decimal when that is short, else in scientific form. */
static int layout(char *buf, bool negative, const char *digits, int n, int exponent, bool mark_float) {
  int len = 0;
  if (negative) buf[len++] = '-';
  if (exponent >= 0 && exponent < 17) {
    for (int i = 0; i <= exponent || i < n; i++) {
      if (i == exponent + 1) buf[len++] = '.';
      buf[len++] = i < n ? digits[i] : '0';
    }
    if (n <= exponent + 1 && mark_float) buf[len++] = '.', buf[len++] = '0';
  } else if (exponent < 0 && exponent >= -5) {
    buf[len++] = '0', buf[len++] = '.';
    for (int i = -1; i > exponent; i--) buf[len++] = '0';
    for (int i = 0; i < n; i++) buf[len++] = digits[i];
  } else {
    buf[len++] = digits[0];
    if (n > 1) buf[len++] = '.';
    for (int i = 1; i < n; i++) buf[len++] = digits[i];
    len += snprintf(buf + len, 8, "e%+03d", exponent);
  }
  buf[len] = 0;
  return len;
}

static int special(char *buf, double v) {
  if (isnan(v)) return (int)strlen(strcpy(buf, "nan"));
  if (isinf(v)) return (int)strlen(strcpy(buf, v < 0 ? "-inf" : "inf"));
  if (v == 0) return (int)strlen(strcpy(buf, signbit(v) ? "-0" : "0"));
  return 0;
}

static double digits_value(const char *digits, int n, int exponent, bool as_float) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  char text[48];
  int len = 0, power = exponent - (n - 1);
  /* Both integer and power of ten are exact, so one operation rounds once (Clinger, How to read floating point numbers
   * accurately). */
  if (!as_float && n <= 15 && power >= -22 && power <= 22) {
    uint64_t integer = 0;
    for (int i = 0; i < n; i++) integer = 10 * integer + (uint64_t)(digits[i] - '0');
    return power < 0 ? (double)integer / tens[-power] : (double)integer * tens[power];
  }
  for (int i = 0; i < n; i++) text[len++] = digits[i];
  len += snprintf(text + len, 16, "e%d", power);
  double back;
  sci_parse_float(text, (size_t)len, as_float, &back);
  return back;
}

static int shortest(char *buf, double v, int lo, int hi, bool as_float) {
  int len = special(buf, v);
  if (len) return len;
  char digits[24];
  int exponent, n;
  double a = fabs(v);
  if (a < 1e15 && a == floor(a)) { /* integers need no search */
    n = digits_of(a, 16, digits, &exponent);
    if (digits_value(digits, n, exponent, as_float) == a && n <= lo)
      return layout(buf, v < 0, digits, n, exponent, false);
  }
  for (int p = lo;; p++) {
    n = digits_of(a, p, digits, &exponent);
    if (p == hi || digits_value(digits, n, exponent, as_float) == a)
      return layout(buf, v < 0, digits, n, exponent, false);
  }
}

/* Every decimal of 15 (6) significant digits survives float64 (float32), so a shorter one that reads back is found
 * there too, trailing zeros dropped; 17 (9) always suffice. Subnormals have fewer digits, so the search starts at one.
 */
int sci_fmt_f64(char buf[SCI_NUM_MAX], double v) {
  return shortest(buf, v, fabs(v) < 2.3e-308 ? 1 : 15, 17, false);
}

int sci_fmt_f32(char buf[SCI_NUM_MAX], float v) {
  return shortest(buf, (double)v, fabsf(v) < 1.2e-38f ? 1 : 6, 9, true);
}

int sci_fmt_digits(char buf[SCI_NUM_MAX], double v, int precision) {
  char digits[24];
  int exponent = 0, n = 1;
  digits[0] = '0';
  if (v != 0) n = digits_of(fabs(v), precision, digits, &exponent);
  return layout(buf, signbit(v) != 0, digits, n, exponent, true);
}

/* ---- reading ---- */

/* A number as an integer times a power of its base: written that way no locale's decimal separator matters. Digits
 * beyond what decides a rounding (768 decimal ones for a double, in the worst case) only leave a trace. */
enum { MAX_DIGITS = 800 };

typedef struct scan {
  char digits[MAX_DIGITS + 1];
  int n;
  int64_t exponent; /* of the last digit kept */
  bool any;
} scan;

static int digit_value(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : 99;
}

static void keep_digit(scan *x, char c, int step, bool behind_point) {
  if (behind_point) x->exponent -= step;
  if (x->n < MAX_DIGITS) {
    if (c != '0' || x->n) x->digits[x->n++] = c;
    return;
  }
  x->exponent += step;
  if (c != '0') x->digits[MAX_DIGITS - 1] = '1'; /* the trace: not zero */
}

/* [eEpP][+-]digits, 0 characters when it is not complete. */
static size_t scan_exponent(const char *s, size_t n, int64_t *out) {
  size_t i = 1;
  bool negative = false;
  if (i < n && (s[i] == '+' || s[i] == '-')) negative = s[i++] == '-';
  if (i >= n || s[i] < '0' || s[i] > '9') return 0;
  int64_t e = 0;
  for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
    if (e < INT64_C(1000000000000000)) e = 10 * e + (s[i] - '0');
  *out = negative ? -e : e;
  return i;
}

static size_t scan_number(const char *s, size_t n, bool hex, scan *x) {
  size_t i = hex ? 2 : 0;
  bool point = false;
  for (; i < n; i++) {
    if (s[i] == '.' && !point)
      point = true;
    else if (digit_value(s[i]) < (hex ? 16 : 10)) {
      x->any = true;
      keep_digit(x, s[i], hex ? 4 : 1, point);
    } else
      break;
  }
  int64_t exponent = 0;
  if (x->any && i < n && (hex ? s[i] == 'p' || s[i] == 'P' : s[i] == 'e' || s[i] == 'E'))
    i += scan_exponent(s + i, n - i, &exponent);
  x->exponent += exponent;
  return i;
}

size_t sci_parse_float(const char *s, size_t n, bool as_float, double *out) {
  scan x = {.n = 0};
  bool hex = n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
  size_t used = scan_number(s, n, hex, &x);
  if (hex && !x.any) { /* "0x" and no digit: the zero alone */
    hex = false;
    used = scan_number(s, 1, false, &x);
  }
  if (!x.any) return 0;
  char text[MAX_DIGITS + 32];
  int64_t e = x.exponent < -100000 ? -100000 : x.exponent > 100000 ? 100000 : x.exponent;
  x.digits[x.n] = 0;
  snprintf(text, sizeof text, "%s%s%c%lld", hex ? "0x" : "", x.n ? x.digits : "0", hex ? 'p' : 'e', (long long)e);
  *out = as_float ? (double)strtof(text, NULL) : strtod(text, NULL);
  return used;
}
