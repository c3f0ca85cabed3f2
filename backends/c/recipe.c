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

/* Of what the LLVM backend made: there is nothing to build. */
static void put_object_recipe(const c_render *r, sci_text *out) {
  const sc_target *t = &r->p->target;
  sci_putf(out, "/* Scaly code in %s, made by LLVM\n * CPU baseline: %s\n", r->object, t->name);
  sci_putf(out, " * rounding=%s\n * Link with: -lm\n */\n", r->p->rounding == SC_ROUNDING_STRICT ? "strict" : "default");
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
  sci_putf(out, ", dialect=%s, vector_libm=none, reciprocal=off, rounding=%s\n", gnu ? "gnu" : "c",
           r->p->rounding == SC_ROUNDING_STRICT ? "strict" : "default");
  sci_put(out, " * Math library: scalar libm\n");
  put_command(r, out, "gcc", t->gcc_flags);
  put_command(r, out, "clang", t->clang_flags);
  sci_put(out, " * Link with: -lm\n */\n");
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
  sci_put(out, "#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)\n"
               "#error \"built with -ffast-math, which the recipe above rules out\"\n#endif\n");
  if (calls_with_errno(r))
    sci_put(out, "#if defined(__GNUC__) && !defined(__NO_MATH_ERRNO__)\n"
                 "#error \"built without -fno-math-errno, which the recipe above asks for\"\n#endif\n");
  const char *macro = required_macro(r->p->target.isa);
  bool fixed = r->o->lanes > SC_LANES_1 && r->o->dialect == SC_DIALECT_GNU;
  if (fixed && macro)
    sci_putf(out, "#if !defined(%s)\n#error \"built for a processor without what the recipe above asks for (%s)\"\n#endif\n", macro, macro);
  sci_put(out, "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n"
               "#elif defined(__GNUC__)\n#pragma GCC optimize(\"fp-contract=off\")\n");
  if (r->o->dialect == SC_DIALECT_C) sci_put(out, "#elif defined(_MSC_VER)\n#pragma fp_contract(off)\n");
  sci_put(out, "#endif\n\n");
}
