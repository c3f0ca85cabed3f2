/* Owns the small functions and macros that a file may need: what C has no operator or portable routine for. Only those
 * used are printed, each behind a macro of its own, so that two modules may be included in one translation unit.
 *
 * In a text, @T is the element type, @U its unsigned companion, @s the suffix of the type. */
#include "backends/c/c.h"

typedef enum domain { FLOATS, INTEGERS } domain;

static const struct {
  sci_op op;
  domain of;
  const char *text;
} helpers[] = {
    {SCI_OP_neg, INTEGERS, "@T scaly_neg_@s(@T a) {\n  return (@T)(0 - (@U)a);"},
    {SCI_OP_add, INTEGERS, "@T scaly_add_@s(@T a, @T b) {\n  return (@T)((@U)a + (@U)b);"},
    {SCI_OP_sub, INTEGERS, "@T scaly_sub_@s(@T a, @T b) {\n  return (@T)((@U)a - (@U)b);"},
    {SCI_OP_mul, INTEGERS, "@T scaly_mul_@s(@T a, @T b) {\n  return (@T)((@U)a * (@U)b);"},
    {SCI_OP_div, INTEGERS, "@T scaly_div_@s(@T a, @T b) {\n  return b == 0 ? 0 : b == -1 ? (@T)(0 - (@U)a) : a / b;"},
    {SCI_OP_fmod, INTEGERS, "@T scaly_fmod_@s(@T a, @T b) {\n  return b == 0 ? a : b == -1 ? 0 : a % b;"},
    {SCI_OP_abs, INTEGERS, "@T scaly_abs_@s(@T a) {\n  return a < 0 ? (@T)(0 - (@U)a) : a;"},
    {SCI_OP_sign, INTEGERS, "@T scaly_sign_@s(@T a) {\n  return (a > 0) - (a < 0);"},
    {SCI_OP_sign, FLOATS, "@T scaly_sign_@s(@T a) {\n  return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;"},
    {SCI_OP_minimum, INTEGERS, "@T scaly_minimum_@s(@T a, @T b) {\n  return a < b ? a : b;"},
    {SCI_OP_maximum, INTEGERS, "@T scaly_maximum_@s(@T a, @T b) {\n  return a > b ? a : b;"},
    {SCI_OP_minimum, FLOATS, "@T scaly_minimum_@s(@T a, @T b) {\n  return (a < b || a != a) ? a : b;"},
    {SCI_OP_maximum, FLOATS, "@T scaly_maximum_@s(@T a, @T b) {\n  return (a > b || a != a) ? a : b;"},
    {SCI_OP_isfinite, FLOATS, "uint8_t scaly_isfinite_@s(@T a) {\n  return isfinite(a) != 0;"},
    {SCI_OP_isnan, FLOATS, "uint8_t scaly_isnan_@s(@T a) {\n  return a != a;"},
};

/* 2^63 and 2^31 are exact in both formats, so the comparisons are too. A NaN compares false and gives 0. */
static const char saturating[] = "#ifndef SCALY_HAS_%s_from_%s\n#define SCALY_HAS_%s_from_%s\n"
                                 "static inline %s scaly_%s_from_%s(%s a) {\n"
                                 "  if (a >= %s) return %s_MAX;\n"
                                 "  if (a <= -%s) return %s_MIN;\n"
                                 "  return a == a ? (%s)a : 0;\n"
                                 "}\n#endif\n\n";

static void put_template(sci_text *out, sci_op op, const char *text, sc_dtype dtype) {
  const char *name = sci_ops[op].name, *suffix = sci_c_suffixes[dtype];
  sci_putf(out, "#ifndef SCALY_HAS_%s_%s\n#define SCALY_HAS_%s_%s\nstatic inline ", name, suffix, name, suffix);
  for (; *text; text++) {
    if (*text != '@') {
      sci_put_char(out, *text);
      continue;
    }
    text++;
    if (*text == 'T') sci_put(out, sci_c_types[dtype]);
    if (*text == 'U') sci_putf(out, "u%s", sci_c_types[dtype]);
    if (*text == 's') sci_put(out, sci_c_suffixes[dtype]);
  }
  sci_put(out, "\n}\n#endif\n\n");
}

void sci_c_put_helpers(const c_render *r, sci_text *out) {
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
    for (int d = 0; d < SC_DTYPE_COUNT; d++) {
      bool fits = helpers[i].of == FLOATS ? sci_is_float((sc_dtype)d) : sci_is_int((sc_dtype)d);
      if (fits && r->needs.helper[helpers[i].op][d]) put_template(out, helpers[i].op, helpers[i].text, (sc_dtype)d);
    }
  for (int from = 0; from < SC_DTYPE_COUNT; from++)
    for (int to = 0; to < SC_DTYPE_COUNT; to++) {
      if (!r->needs.cast[from][to]) continue;
      bool wide = to == SC_INT64, narrow = from == SC_FLOAT32;
      const char *limit = wide ? (narrow ? "9223372036854775808.0f" : "9223372036854775808.0")
                               : (narrow ? "2147483648.0f" : "2147483648.0");
      const char *macro = wide ? "INT64" : "INT32";
      const char *a = sci_c_suffixes[to], *b = sci_c_suffixes[from];
      sci_putf(out, saturating, a, b, a, b, sci_c_types[to], a, b, sci_c_types[from], limit, macro, limit, macro,
               sci_c_types[to]);
    }
}

/* Whether the processor fuses: gcc says so for every target, clang for some. On 32-bit Arm, bit 3 of __ARM_FP is double
 * precision. */
static const struct {
  const char *condition, *function;
} fmas[] = {
    [SC_FLOAT64] = {"defined(__FP_FAST_FMA) || defined(__FMA__) || (defined(__ARM_FEATURE_FMA) && (__ARM_FP & 8))",
                    "fma"},
    [SC_FLOAT32] = {"defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)", "fmaf"},
};

void sci_c_put_fma(c_render *r, sci_text *out) {
  const char *builtin = r->o->dialect == SC_DIALECT_GNU ? "__builtin_" : "";
  bool any = false;
  for (size_t d = 0; d < sizeof fmas / sizeof *fmas; d++) {
    bool lanes = false, scalars = r->needs.fma[d];
    for (int k = 1; k < 5; k++) lanes |= d <= SC_FLOAT32 && r->needs.lanes[d][k].op[SCI_OP_fma];
    if (!lanes && !scalars) continue;
    any = true;
    const char *macro = scalars ? sci_c_fma_name(r, (sc_dtype)d, 1) : NULL;
    sci_putf(out, "#if %s\n", fmas[d].condition);
    if (lanes) sci_put(out, d == SC_FLOAT32 ? "#define SCALY_FUSES_F32\n" : "#define SCALY_FUSES_F64\n");
    if (scalars)
      sci_putf(out, "#define %s(a, b, c) %s%s(a, b, c)\n#else\n#define %s(a, b, c) ((a) * (b) + (c))\n", macro, builtin,
               fmas[d].function, macro);
    sci_put(out, "#endif\n");
  }
  if (any) sci_put_char(out, '\n');
}

/* They are short, so they end with the file. */
void sci_c_drop_fma(c_render *r, sci_text *out) {
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int k = 0; k < 5; k++)
      if (k ? r->needs.lanes[d][k].op[SCI_OP_fma] : r->needs.fma[d])
        sci_putf(out, "#undef %s\n", sci_c_fma_name(r, (sc_dtype)d, 1 << k));
}
