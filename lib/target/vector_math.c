/* Owns the choice of vector math routines from the table. */
#include "lib/target/vector_math.h"

#include <stdio.h>

#include "lib/target/target.h"

/* The kinds of routine that a library has: one per register width and instruction set. */
typedef enum kind {
  GLIBC_B,
  GLIBC_D,
  GLIBC_E,
  SLEEF_SSE2,
  SLEEF_AVX2128,
  SLEEF_AVX2,
  SLEEF_AVX512F,
  SLEEF_ADVSIMD,
  KINDS
} kind;

static const struct {
  sci_vector_lib lib;
  sc_isa isa; /* needed; x86-64 levels include the ones below */
  int bytes;  /* of a register */
  const char *mark;
} kinds[KINDS] = {
    [GLIBC_B] = {SCI_VECTOR_GLIBC, SC_ISA_X86_64, 16, "b"},
    [GLIBC_D] = {SCI_VECTOR_GLIBC, SC_ISA_X86_64_V3, 32, "d"},
    [GLIBC_E] = {SCI_VECTOR_GLIBC, SC_ISA_X86_64_V4, 64, "e"},
    [SLEEF_SSE2] = {SCI_VECTOR_SLEEF, SC_ISA_X86_64, 16, "sse2"},
    [SLEEF_AVX2128] = {SCI_VECTOR_SLEEF, SC_ISA_X86_64_V3, 16, "avx2128"},
    [SLEEF_AVX2] = {SCI_VECTOR_SLEEF, SC_ISA_X86_64_V3, 32, "avx2"},
    [SLEEF_AVX512F] = {SCI_VECTOR_SLEEF, SC_ISA_X86_64_V4, 64, "avx512f"},
    [SLEEF_ADVSIMD] = {SCI_VECTOR_SLEEF, SC_ISA_ARMV8_A, 16, "advsimd"},
};

typedef struct row {
  uint8_t op, dtype;
  int16_t since;
  const char *suite; /* SLEEF: what follows the number of lanes */
  struct {
    double ulp, ns; /* ns 0: not of this library */
  } of[KINDS];
} row;

enum { SLEEF_SINCE = 304 }; /* the first release with these names for all of them */

#define SCI_OP_sincos SCI_VECTOR_SINCOS
#define V(ulp, ns)                                                                                                     \
  { ulp, ns }
static const row rows[] = {
#define SCI_GLIBC(op, dtype, since, b, d, e)                                                                           \
  {SCI_OP_##op, SC_##dtype, since, NULL, {[GLIBC_B] = b, [GLIBC_D] = d, [GLIBC_E] = e}},
#define SCI_SLEEF(op, dtype, suite, b, c, d, e, n)                                                                     \
  {SCI_OP_##op,                                                                                                        \
   SC_##dtype,                                                                                                         \
   SLEEF_SINCE,                                                                                                        \
   suite,                                                                                                              \
   {[SLEEF_SSE2] = b, [SLEEF_AVX2128] = c, [SLEEF_AVX2] = d, [SLEEF_AVX512F] = e, [SLEEF_ADVSIMD] = n}},
#include "lib/target/vector_math.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *const stems[SCI_VECTOR_OPS][SCI_VECTOR_LIBS] = {
#define SCI_OP(name, arity, sig, traits, nan, fold, c, llvm, glibc, sleef, ...) [SCI_OP_##name] = {#glibc, #sleef},
#include "lib/ops/ops.def"
#undef SCI_OP
    [SCI_VECTOR_SINCOS] = {"sincos", "sincos"},
};

/* glibc: the vector function ABI of x86-64 ("Vector Function Application Binary Interface", 2.6). */
static void describe(const row *r, kind k, sci_vector_routine *out) {
  bool is_float = r->dtype == SC_FLOAT32;
  int lanes = kinds[k].bytes / (is_float ? 4 : 8);
  *out = (sci_vector_routine){
      .lib = (uint8_t)kinds[k].lib, .lanes = (uint8_t)lanes, .isa = (uint8_t)kinds[k].isa, .since = r->since};
  out->ulp = r->of[k].ulp;
  out->ns = r->of[k].ns;
  const char *stem = stems[r->op][kinds[k].lib];
  if (kinds[k].lib == SCI_VECTOR_SLEEF) {
    snprintf(out->name, sizeof out->name, "Sleef_%s%c%d%s%s", stem, is_float ? 'f' : 'd', lanes, r->suite,
             kinds[k].mark);
  } else {
    snprintf(out->name, sizeof out->name, "_ZGV%sN%d%s_%s%s", kinds[k].mark, lanes,
             sci_ops[r->op].arity == 2 ? "vv" : "v", stem, is_float ? "f" : "");
  }
}

int sci_vector_glibc_since(int op, sc_dtype dtype) {
  for (size_t r = 0; r < ROWS; r++)
    if (rows[r].op == op && rows[r].dtype == dtype && !rows[r].suite) return rows[r].since;
  return 0;
}

bool sci_vector_routine_at(size_t i, int *op, sc_dtype *dtype, sci_vector_routine *out) {
  for (size_t r = 0; r < ROWS; r++)
    for (int k = 0; k < KINDS; k++) {
      if (rows[r].of[k].ns == 0 || i--) continue;
      *op = rows[r].op;
      *dtype = (sc_dtype)rows[r].dtype;
      describe(&rows[r], (kind)k, out);
      return true;
    }
  return false;
}

static bool find(const sci_vector_math *m, sc_isa isa, int op, sc_dtype dtype, int lanes, sci_vector_routine *out) {
  const int16_t version[SCI_VECTOR_LIBS] = {m->glibc, m->sleef};
  const row *best = NULL;
  kind at = KINDS;
  for (; lanes > 1 && !best; lanes /= 2)
    for (size_t r = 0; r < ROWS; r++)
      for (int k = 0; k < KINDS && rows[r].op == op && rows[r].dtype == dtype; k++) {
        bool there = rows[r].of[k].ns > 0 && rows[r].since <= version[kinds[k].lib] && rows[r].of[k].ulp <= m->accuracy;
        if (!there || kinds[k].bytes != lanes * (int)sc_dtype_size(dtype) || !sci_isa_runs(isa, kinds[k].isa)) continue;
        if (best && best->of[at].ns <= rows[r].of[k].ns) continue;
        best = &rows[r];
        at = (kind)k;
      }
  if (best) describe(best, at, out);
  return best != NULL;
}

bool sci_vector_routine_find(const sci_vector_math *m, sc_isa isa, int op, sc_dtype dtype, int lanes,
                             sci_vector_routine *out) {
  if (!find(m, isa, op, dtype, lanes, out)) return false;
  if (op != SCI_VECTOR_SINCOS) return true;
  sci_vector_routine sine, cosine;
  bool apart = find(m, isa, SCI_OP_sin, dtype, lanes, &sine) && find(m, isa, SCI_OP_cos, dtype, lanes, &cosine);
  return !apart || out->lanes > sine.lanes || out->ns < sine.ns + cosine.ns;
}

sci_vector_math sci_vector_math_choose(sc_vector_libm choice, double accuracy, bool native) {
  enum { ANY_GLIBC = 235 };
  sci_vector_math m = {.accuracy = accuracy > 0 ? accuracy : 4.0};
  int glibc = native && choice == SC_VECTOR_LIBM_AUTO ? sci_vector_library(SCI_VECTOR_GLIBC) : 0;
  int sleef = native && choice == SC_VECTOR_LIBM_AUTO ? sci_vector_library(SCI_VECTOR_SLEEF) : 0;
  switch (choice) {
  case SC_VECTOR_LIBM_NONE: break;
  case SC_VECTOR_LIBM_GLIBC: m.glibc = ANY_GLIBC; break;
  case SC_VECTOR_LIBM_SLEEF: m.sleef = SLEEF_SINCE; break;
  case SC_VECTOR_LIBM_AUTO:
    m.glibc = (int16_t)(glibc < ANY_GLIBC ? glibc : ANY_GLIBC);
    m.sleef = (int16_t)(sleef < SLEEF_SINCE ? sleef : SLEEF_SINCE);
    break;
  }
  if (!m.glibc && !m.sleef) m.accuracy = 0;
  return m;
}
