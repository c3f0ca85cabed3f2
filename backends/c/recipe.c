/* Owns the recipe that opens source and header, and the guards that reject a build that contradicts it. */
#include "backends/c/c.h"
#include "lib/target/target.h"

const char *sci_c_file_name(const c_render *r) {
  return r->o->name ? r->o->name : r->p->name;
}

static void put_command(const c_render *r, sci_text *out, const char *compiler, const char *target_flags) {
  static const char *const flags[] = {SCI_RECIPE_FLAGS};
  sci_putf(out, " * %s -O3", compiler);
  if (*target_flags) sci_putf(out, " %s", target_flags);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) sci_putf(out, " %s", flags[i]);
  for (int op = 0; op < SCI_OP_COUNT; op++) {
    if (!r->needs.called[op] || !sci_keeps_call((sci_op)op, (sc_rounding)r->p->rounding)) continue;
    sci_putf(out, " -fno-builtin-%s -fno-builtin-%sf", sci_ops[op].name, sci_ops[op].name);
  }
  sci_putf(out, " -c %s.c\n", sci_c_file_name(r));
}

/* ---- vector math ---- */

/* Whether lanes of math functions may call the libraries at all: only loops in lanes do. */
static bool has_vector_math(const c_render *r, sci_vector_lib lib) {
  bool any = false;
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int k = 1; k < 5; k++)
      for (int op = 0; op < SCI_OP_COUNT; op++) any |= r->needs.lanes[d][k].op[op] && sci_ops[op].traits & SCI_LIBM;
  return any && (lib == SCI_VECTOR_GLIBC ? r->p->vector.glibc : r->p->vector.sleef);
}

/* The oldest glibc with what is called. */
static int glibc_needed(const c_render *r) {
  int newest = 0;
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int op = 0; op < SCI_OP_COUNT; op++) {
      bool called = false;
      for (int k = 1; k < 5; k++) called |= r->needs.lanes[d][k].op[op];
      int since = called ? sci_vector_glibc_since(op, (sc_dtype)d) : 0;
      if (since <= r->p->vector.glibc && since > newest) newest = since;
    }
  return newest;
}

static const char *vector_libm(const c_render *r) {
  bool glibc = r->p->vector.glibc, sleef = r->p->vector.sleef;
  return glibc && sleef ? "auto" : glibc ? "glibc" : sleef ? "sleef" : "none";
}

static void put_libraries(const c_render *r, sci_text *out) {
  bool glibc = has_vector_math(r, SCI_VECTOR_GLIBC), sleef = has_vector_math(r, SCI_VECTOR_SLEEF);
  int since = glibc ? glibc_needed(r) : 0;
  sci_put(out, " * Math library: scalar libm");
  if (since) sci_putf(out, ", libmvec of glibc %d.%d or newer in lanes", since / 100, since % 100);
  if (sleef) sci_put(out, ", SLEEF 3 in lanes");
  if (since || sleef) {
    char ulp[SCI_NUM_MAX];
    sci_fmt_f64(ulp, r->p->vector.accuracy);
    sci_putf(out, " (errors up to %s ULP)", ulp);
  }
  sci_put_char(out, '\n');
}

static void put_link_line(const c_render *r, sci_text *out) {
  bool glibc = has_vector_math(r, SCI_VECTOR_GLIBC), sleef = has_vector_math(r, SCI_VECTOR_SLEEF);
  sci_putf(out, " * Link with:%s%s -lm\n */\n", glibc ? " -lmvec" : "", sleef ? " -lsleef" : "");
}

/* libmvec is glibc's, for x86-64; where the preprocessor finds another processor no routine is called. */
static void put_library_guards(const c_render *r, sci_text *out) {
  if (!has_vector_math(r, SCI_VECTOR_GLIBC)) return;
  int since = glibc_needed(r);
  if (!since) return;
  sci_putf(out,
           "#if defined(__x86_64__) && !(defined(__GLIBC__) && (__GLIBC__ > %d || (__GLIBC__ == %d && __GLIBC_MINOR__ "
           ">= %d)))\n"
           "#error \"built without the libmvec of glibc %d.%d, which the recipe above asks for\"\n#endif\n",
           since / 100, since / 100, since % 100, since / 100, since % 100);
}

/* Of what the LLVM backend made: there is nothing to build. */
static void put_object_recipe(const c_render *r, sci_text *out) {
  const sc_target *t = &r->p->target;
  sci_putf(out, "/* Scaly code in %s, made by LLVM\n * CPU baseline: %s\n", r->object, t->name);
  sci_putf(out, " * vector_libm=%s, rounding=%s\n", vector_libm(r),
           r->p->rounding == SC_ROUNDING_STRICT ? "strict" : "default");
  sci_putf(out, " * Link with:%s%s -lm\n */\n", r->p->vector.glibc ? " -lmvec" : "",
           r->p->vector.sleef ? " -lsleef" : "");
}

void sci_c_put_recipe(const c_render *r, sci_text *out) {
  if (r->object) {
    put_object_recipe(r, out);
    return;
  }
  const sc_target *t = &r->p->target;
  bool gnu = r->o->dialect == SC_DIALECT_GNU;
  sci_put(out, "/* Scaly build recipe\n");
  sci_putf(out, " * CPU baseline: %s\n", strcmp(t->name, "native") == 0 ? "host-local native CPU" : t->name);
  sci_put(out, " * lanes=");
  if (r->o->lanes == SC_LANES_AUTO)
    sci_put(out, "auto");
  else
    sci_put_int(out, (int64_t)r->o->lanes);
  sci_putf(out, ", dialect=%s, vector_libm=%s, reciprocal=off, rounding=%s\n", gnu ? "gnu" : "c", vector_libm(r),
           r->p->rounding == SC_ROUNDING_STRICT ? "strict" : "default");
  put_libraries(r, out);
  put_command(r, out, "gcc", t->gcc_flags);
  put_command(r, out, "clang", t->clang_flags);
  put_link_line(r, out);
}

/* The macros that say that a processor of the recipe's kind, or better, is compiled for. */
static const char *required_macro(sc_isa isa) {
  switch (isa) {
  case SC_ISA_X86_64_V3: return "__AVX2__";
  case SC_ISA_X86_64_V4: return "__AVX512F__";
  case SC_ISA_ARMV8_A: return "__aarch64__";
  case SC_ISA_GENERIC:
  case SC_ISA_X86_64:
  case SC_ISA_ARMV7E_M: break;
  }
  return NULL;
}

static bool calls_with_errno(const c_render *r) {
  bool any = r->needs.called[SCI_OP_sqrt];
  for (int op = 0; op < SCI_OP_COUNT; op++) any |= r->needs.called[op] && sci_ops[op].traits & SCI_LIBM;
  return any;
}

void sci_c_put_guards(const c_render *r, sci_text *out) {
  sci_put(out, "#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || \\\n"
               "    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)\n"
               "#error \"built with -ffast-math or a part of it, which the recipe above rules out\"\n#endif\n");
  if (calls_with_errno(r))
    sci_put(out, "#if defined(__GNUC__) && !defined(__NO_MATH_ERRNO__)\n"
                 "#error \"built without -fno-math-errno, which the recipe above asks for\"\n#endif\n");
  const char *macro = required_macro(r->p->target.isa);
  put_library_guards(r, out);
  bool fixed = r->o->lanes > SC_LANES_1 && r->o->dialect == SC_DIALECT_GNU;
  if (fixed && macro)
    sci_putf(out,
             "#if !defined(%s)\n#error \"built for a processor without what the recipe above asks for (%s)\"\n#endif\n",
             macro, macro);
  sci_put(out, "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n"
               "#elif defined(__GNUC__)\n#pragma GCC optimize(\"fp-contract=off\")\n");
  if (r->o->dialect == SC_DIALECT_C) sci_put(out, "#elif defined(_MSC_VER)\n#pragma fp_contract(off)\n");
  sci_put(out, "#endif\n\n");
}
