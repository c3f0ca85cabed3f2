/* Owns the tests of number text: every value reads back bit for bit, whatever the locale. */
#define _GNU_SOURCE /* mkdtemp, setenv */
#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/text.h"

static uint64_t rng = 0x9E3779B97F4A7C15u;

static uint64_t next(void) {
  rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
  return rng;
}

static double parse(const char *s, bool as_float) {
  double v = -1;
  size_t sign = s[0] == '-', n = strlen(s) - sign;
  cr_assert_eq(sci_parse_float(s + sign, n, as_float, &v), n, "%s is read whole", s);
  return sign ? -v : v;
}

static void check_f64(double v) {
  char buf[SCI_NUM_MAX], exact[SCI_NUM_MAX];
  int n = sci_fmt_f64(buf, v);
  cr_assert_eq((size_t)n, strlen(buf));
  cr_assert(strchr(buf, ',') == NULL);
  double back = parse(buf, false);
  cr_assert(!memcmp(&back, &v, 8), "%s is not %a", buf, v);
  sci_fmt_digits(exact, v, 17);
  back = parse(exact, false);
  cr_assert(!memcmp(&back, &v, 8), "%s is not %a", exact, v);
  cr_assert(strpbrk(exact, ".e") != NULL, "%s is marked as floating point", exact);
}

static void check_f32(float v) {
  char buf[SCI_NUM_MAX];
  sci_fmt_f32(buf, v);
  float back = (float)parse(buf, true);
  cr_assert(!memcmp(&back, &v, 4), "%s is not %a", buf, (double)v);
  sci_fmt_digits(buf, (double)v, 9);
  back = (float)parse(buf, true);
  cr_assert(!memcmp(&back, &v, 4), "%s is not %a", buf, (double)v);
}

static void round_trips(int n) {
  static const double edges[] = {0.0,
                                 0.1,
                                 1e15,
                                 1e16,
                                 1e17,
                                 123456789012345678.0,
                                 5e-324,
                                 2.2250738585072014e-308,
                                 1.7976931348623157e308,
                                 0x1p53,
                                 0x1p63,
                                 1e22,
                                 1e23,
                                 0.3,
                                 2.0 / 3};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_f64(edges[i]), check_f64(-edges[i]);
  for (int i = 0; i < n; i++) {
    uint64_t bits = next();
    double d;
    memcpy(&d, &bits, 8);
    if (isfinite(d)) check_f64(d);
    check_f64((double)(int64_t)(bits >> 40) * 0.001);
    bits &= 0x800FFFFFFFFFFFFFu; /* subnormal */
    memcpy(&d, &bits, 8);
    check_f64(d);
    uint32_t low = (uint32_t)next();
    float f;
    memcpy(&f, &low, 4);
    if (isfinite(f)) check_f32(f);
    low &= 0x807FFFFFu;
    memcpy(&f, &low, 4);
    check_f32(f);
  }
}

Test(base, numbers_round_trip) {
  round_trips(5000);
}

/* The shortest form: no decimal with fewer digits reads back. */
/* The digits of a text up to its exponent, without zeros at either end. */
static void significant(const char *text, char out[64]) {
  int n = 0;
  for (; *text && *text != 'e'; text++)
    if (*text >= '0' && *text <= '9' && (n || *text != '0')) out[n++] = *text;
  while (n && out[n - 1] == '0') n--;
  out[n] = 0;
}

/* As printf rounds, ties to even included, on both sides of where values stop being of everyday size. */
static void check_digits(double v) {
  for (int precision = 1; precision <= 17; precision++) {
    char buf[SCI_NUM_MAX], want[64], got[64], digits[64];
    sci_fmt_digits(buf, v, precision);
    snprintf(want, sizeof want, "%.*e", precision - 1, v);
    significant(want, digits);
    significant(buf, got);
    cr_assert_str_eq(got, digits, "%a with %d digits: %s, not %s", v, precision, buf, want);
    double a = parse(buf, false), b = strtod(want, NULL);
    cr_assert(a == b, "%a with %d digits: %s, not %s", v, precision, buf, want);
  }
}

Test(base, digits_round_as_printf) {
  static const double edges[] = {1e-5,
                                 9.9999999999999991e-06,
                                 1.0000000000000001e-05,
                                 0.5,
                                 1.5,
                                 2.5,
                                 0.125,
                                 0.375,
                                 1e15,
                                 1e16,
                                 9999999999999998.0,
                                 9.5,
                                 99.5,
                                 999999.5,
                                 0.99999999999999989,
                                 9007199254740993.0,
                                 1234567.25,
                                 0.00001525878906250};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_digits(edges[i]);
  for (int i = 0; i < 2000; i++) {
    check_digits(ldexp((double)(next() >> 11), -(int)(next() % 75)));
    check_digits((double)(next() % 4096) / (double)(UINT64_C(1) << next() % 20) + 1e-4);
  }
}

Test(base, numbers_are_short) {
  static const struct {
    double v;
    const char *text;
  } cases[] = {{1, "1"},          {-1, "-1"},          {0.1, "0.1"},
               {1e300, "1e+300"}, {-0.0, "-0"},        {0.0, "0"},
               {1e-7, "1e-07"},   {100000, "100000"},  {0.00001, "0.00001"},
               {1.5, "1.5"},      {5e-324, "5e-324"},  {0x1p53, "9007199254740992"},
               {INFINITY, "inf"}, {-INFINITY, "-inf"}, {NAN, "nan"}};
  char buf[SCI_NUM_MAX];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sci_fmt_f64(buf, cases[i].v);
    cr_expect_str_eq(buf, cases[i].text);
  }
  sci_fmt_f32(buf, 0.1f);
  cr_expect_str_eq(buf, "0.1");
  for (int i = 0; i < 20000; i++) {
    char text[40];
    int digits = 1 + (int)(next() % 15), exponent = (int)(next() % 600) - 300;
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)(next() % (uint64_t)pow(10, digits)), exponent);
    double v = parse(text, false);
    sci_fmt_f64(buf, v);
    int used = 0, zeros = 0;
    for (const char *s = buf; *s && *s != 'e'; s++)
      if (*s >= '0' && *s <= '9' && (used || *s != '0')) used++, zeros = *s == '0' ? zeros + 1 : 0;
    cr_assert_leq(used - zeros, digits, "%s printed as %s", text, buf);
  }
  static const struct {
    int64_t v;
    const char *text;
  } integers[] = {{0, "0"}, {-1, "-1"}, {INT64_MAX, "9223372036854775807"}, {INT64_MIN, "-9223372036854775808"}};
  for (size_t i = 0; i < 4; i++) {
    sci_fmt_i64(buf, integers[i].v);
    cr_expect_str_eq(buf, integers[i].text);
  }
}

Test(base, reading_numbers) {
  static const struct {
    const char *text;
    size_t used;
    double v;
  } cases[] = {
      {"1.5e3x", 5, 1500},
      {"1e", 1, 1},
      {"1e+", 1, 1},
      {".5", 2, 0.5},
      {"5.", 2, 5},
      {".", 0, 0},
      {"e5", 0, 0},
      {"", 0, 0},
      {"0x", 1, 0},
      {"0x1p-3", 6, 0.125},
      {"0X.8", 4, 0.5},
      {"0x1.8p1z", 7, 3},
      {"0xg", 1, 0},
      {"1.2.3", 3, 1.2},
      {"1e99999999999999999999", 22, INFINITY},
      {"1e-99999999999999999999", 23, 0},
      {"0e99999999999999999999", 22, 0},
      {"9007199254740993", 16, 9007199254740992.0},
      {"1,5", 1, 1},
      {"1'000", 1, 1},
      {"inf", 0, 0},
      {"-1", 0, 0},
      {"00012", 5, 12},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double v = 0;
    size_t used = sci_parse_float(cases[i].text, strlen(cases[i].text), false, &v);
    cr_expect_eq(used, cases[i].used, "%s: %zu characters", cases[i].text, used);
    if (used) cr_expect_eq(v, cases[i].v, "%s: %a", cases[i].text, v);
  }
  /* Very long digit strings: the exponent is not lost, and the last digit decides a tie. */
  static char text[6000];
  size_t n = (size_t)snprintf(text, sizeof text, "0.");
  memset(text + n, '0', 3000);
  strcpy(text + n + 3000, "12e3001");
  cr_expect_eq(parse(text, false), 1.2);
  memset(text, '0', 3000);
  strcpy(text + 3000, "7");
  cr_expect_eq(parse(text, false), 7);
  text[0] = '1';
  memset(text + 1, '0', 2000);
  strcpy(text + 2001, "e-2000");
  cr_expect_eq(parse(text, false), 1);
  /* 1 + 2^-53 is a tie that goes to 1; one more digit far behind tips it. */
  n = (size_t)snprintf(text, sizeof text, "1.00000000000000011102230246251565404236316680908203125");
  cr_expect_eq(parse(text, false), 1);
  memset(text + n, '0', 2000);
  strcpy(text + n + 2000, "1");
  cr_expect_eq(parse(text, false), 0x1.0000000000001p0);
  /* float32 is rounded once: this is just above a float tie, and rounds to it in double. */
  cr_expect_eq(parse("1.00000005960464477540", true), 0x1.000002p0);
  cr_expect_eq(parse("1.000000059604644775390625", true), 1);
}

Test(base, text_grows) {
  sci_env env;
  cr_assert(sci_env_init(&env, NULL));
  sci_frame fr;
  if (!SCI_TRY(&env, &fr)) cr_assert_fail("%s", env.diags[0].message);
  sci_text t;
  sci_text_init(&t, &env.scratch);
  for (int i = 0; i < 5000; i++) sci_putf(&t, "%d,", i % 10), sci_put_int(&t, i % 10), sci_put_char(&t, ';');
  cr_assert_eq(t.n, 20000);
  cr_assert_eq(strlen(t.data), t.n);
  sci_putf(&t, "%0500d", 7);
  cr_assert_eq(strlen(t.data), 20500);
  char *copy = sci_text_dup(&env, &t);
  cr_assert_str_eq(copy, t.data);
  sci_bytes_free(&env, copy);
  sci_leave(&env, &fr);
  sci_env_free(&env);
  cr_assert_eq(env.held, 0);
}

/* A locale with a decimal comma and grouped thousands, compiled into a folder of its own: no system needs to have one.
 */
Test(base, numbers_in_a_comma_locale) {
  char folder[] = "/tmp/scaly-locale-XXXXXX", command[512];
  cr_assert(mkdtemp(folder) != NULL);
  snprintf(command, sizeof command,
           "cd %s && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND "
           "LC_NUMERIC\nLC_CTYPE\ncopy \"POSIX\"\n"
           "END LC_CTYPE\n' >comma.src && localedef -c -i comma.src -f ANSI_X3.4-1968 ./comma >/dev/null 2>&1",
           folder);
  int made = system(command);
  setenv("LOCPATH", folder, 1);
  bool comma = made != -1 && setlocale(LC_ALL, "comma") != NULL;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command)) cr_log_warn("%s was not removed", folder);
  if (!comma) cr_skip_test("localedef could not make a locale with a decimal comma");
  char text[16];
  snprintf(text, sizeof text, "%.1f", 1.5);
  cr_assert_str_eq(text, "1,5", "the locale is in force");
  round_trips(1000);
  cr_assert_eq(parse("1.5", false), 1.5);
  cr_assert_eq(parse("0x1.8p0", false), 1.5);
}
