/* Owns the types and small functions that loops in lanes are spelled with. Only those used are printed.
 *
 * In a text, @V is the vector type, @T that of an element, @M that of a mask, @I its element, @W how many lanes there
 * are, @G that there are several, where there may be one, @s the suffix of the type, and @a, @b, @c are lane i of the
 * operands. */
#include <stdio.h>

#include "backends/c/c.h"

typedef struct naming {
  char suffix[8], count[16], scalar[8];
  const char *element, *integer;
  bool is_auto;
  int lanes; /* at most */
  sc_dtype dtype;
} naming;

static void put_template(sci_text *out, const naming *n, const char *text) {
  for (; *text; text++) {
    size_t plain = strcspn(text, "@");
    sci_put_n(out, text, plain);
    text += plain;
    if (!*text) return;
    text++;
    if (*text == 'V') sci_put(out, "scaly_"), sci_put(out, n->suffix);
    if (*text == 'M') sci_put(out, "scaly_m"), sci_put(out, n->suffix + 1);
    if (*text == 'T') sci_put(out, n->element);
    if (*text == 'I') sci_put(out, n->integer);
    if (*text == 'W') sci_put(out, n->count);
    if (*text == 'G' && n->is_auto) sci_put(out, " && "), sci_put(out, n->count), sci_put(out, " > 1");
    if (*text == 's') sci_put(out, n->suffix);
    if (*text == 'f') sci_put(out, n->dtype == SC_FLOAT32 ? "f" : "");
    if (*text == 'a' || *text == 'b' || *text == 'c')
      sci_put(out, "SCALY_AT("), sci_put_char(out, *text), sci_put(out, ", i)");
  }
}

/* ---- moving vectors ---- */

static const char *const moves[C_LANE_HELPERS] = {
    [C_LANE_LOAD] = "@V scaly_load_@s(const @T* p) {\n  return *(const @V_u*)p;\n}\n",
    [C_LANE_STORE] = "void scaly_store_@s(@T* p, @V a) {\n  *(@V_u*)p = a;\n}\n",
    [C_LANE_LOAD_STRIDED] = "@V scaly_load_strided_@s(const @T* p, long long stride) {\n  @V a = {0};\n"
                            "  for (int i = 0; i < @W; i++) @a = p[i * stride];\n  return a;\n}\n",
    /* The lanes that are left over repeat the last: what they compute is as harmless as what that one does. */
    [C_LANE_LOAD_PART] = "@V scaly_load_part_@s(const @T* p, long long stride, int live) {\n  @V a = {0};\n"
                         "  if (stride == 1 && live == @W) return *(const @V_u*)p;\n"
                         "  for (int i = 0; i < @W; i++) @a = p[(i < live ? i : live - 1) * stride];\n  return a;\n}\n",
    [C_LANE_STORE_PART] = "void scaly_store_part_@s(@T* p, long long stride, int live, @V a) {\n"
                          "  if (stride == 1 && live == @W) *(@V_u*)p = a;\n"
                          "  else\n    for (int i = 0; i < @W; i++)\n      if (i < live) p[i * stride] = @a;\n}\n",
    [C_LANE_SPLAT] = "@V scaly_splat_@s(@T a) {\n  @V zero = {0};\n  return a - zero; /* -0 stays -0 */\n}\n",
};

static void put_function(sci_text *out, const naming *n, const char *name, const char *text) {
  sci_putf(out, "#ifndef SCALY_HAS_%s_%s\n#define SCALY_HAS_%s_%s\nstatic SCALY_INLINE ", name, n->suffix, name,
           n->suffix);
  put_template(out, n, text);
  sci_put(out, "#endif\n\n");
}

/* One by one: in a loop, clang computes the last operation behind `a` once for each element. */
static void put_store_strided(sci_text *out, const naming *n) {
  char text[2048];
  int at = snprintf(text, sizeof text, "void scaly_store_strided_@s(@T* p, long long stride, @V a) {\n");
  for (int i = 0; i < n->lanes; i++) {
    if (n->is_auto && i) at += snprintf(text + at, sizeof text - (size_t)at, "  if (@W > %d) ", i);
    at += snprintf(text + at, sizeof text - (size_t)at, "%sp[%d * stride] = SCALY_AT(a, %d%s);\n",
                   n->is_auto && i ? "" : "  ", i, i, n->is_auto && i ? " % @W" : "");
  }
  snprintf(text + at, sizeof text - (size_t)at, "}\n");
  put_function(out, n, "store_strided", text);
}

static void put_select(sci_text *out, const naming *n) {
  put_function(out, n, "select",
               n->is_auto ? "@V scaly_select_@s(@M m, @V a, @V b) {\n#if SCALY_LANES == 1\n  return m ? a : b;\n#else\n"
                            "  return (@V)(((@M)a & m) | ((@M)b & ~m));\n#endif\n}\n"
                          : "@V scaly_select_@s(@M m, @V a, @V b) {\n  return (@V)(((@M)a & m) | ((@M)b & ~m));\n}\n");
}

/* ---- blocks ---- */

/* "(a, b, 0, 4, 2, 6)": the arguments of a shuffle. */
static void put_indices(sci_text *out, int width, int stage, bool high) {
  sci_put(out, ", (a, b");
  for (int p = 0; p < width; p++) {
    sci_put(out, ", ");
    sci_put_int(out, (p & stage ? width + p - stage : p) + (high ? stage : 0));
  }
  sci_put(out, ")");
}

/* Swaps row and column numbers bit by bit, in each stretch of `n` elements on its own. */
static void put_transposition(sci_text *out, const naming *n, int width) {
  put_template(out, n, "static SCALY_INLINE void scaly_transpose_@s(@V* v, int n) {\n");
  for (int stage = 1; stage < width; stage *= 2) {
    if (stage > 1) sci_putf(out, "  if (n > %d)\n  ", stage);
    sci_putf(out, "  SCALY_SWAP(v, n, %d", stage);
    put_indices(out, width, stage, false);
    put_indices(out, width, stage, true);
    sci_put(out, ")\n");
  }
  sci_put(out, "}\n");
}

/* What lanes first + j, first + tile + j, ... have side by side, `groups` of them. */
static void put_joined(sci_text *out, int tile, int first, int groups) {
  if (groups == 1) {
    sci_putf(out, "*(const part*)(p + (%d + j) * stride)", first);
    return;
  }
  sci_put(out, "__builtin_shufflevector(");
  put_joined(out, tile, first, groups / 2);
  sci_put(out, ", ");
  put_joined(out, tile, first + tile * groups / 2, groups / 2);
  for (int i = 0; i < tile * groups; i++) sci_putf(out, ", %d", i);
  sci_put(out, ")");
}

static void put_part(sci_text *out, const naming *n, int tile) {
  sci_putf(out, "  typedef %s part __attribute__((vector_size(%d", n->element, tile);
  put_template(out, n, " * sizeof(@T)), aligned(sizeof(@T)), may_alias));\n");
}

static void put_load_tile(sci_text *out, const naming *n, int width, int tile) {
  put_template(out, n, "static SCALY_INLINE void scaly_load_tile_@s_");
  sci_putf(out, "%d", tile);
  put_template(out, n, "(const @T* p, long long stride, @V* t) {\n");
  put_part(out, n, tile);
  sci_putf(out, "  SCALY_EACH(j, %d) t[j] = ", tile);
  put_joined(out, tile, 0, width / tile);
  put_template(out, n, ";\n  scaly_transpose_@s(t, ");
  sci_putf(out, "%d);\n}\n", tile);
}

static void put_store_tile(sci_text *out, const naming *n, int tile) {
  put_template(out, n, "static SCALY_INLINE void scaly_store_tile_@s_");
  sci_putf(out, "%d", tile);
  put_template(out, n, "(@T* p, long long stride, const @V* v) {\n");
  put_part(out, n, tile);
  put_template(out, n, "  @V t[");
  sci_putf(out, "%d];\n  SCALY_EACH(i, %d) t[i] = v[i];\n", tile, tile);
  put_template(out, n, "  scaly_transpose_@s(t, ");
  sci_putf(out, "%d);\n", tile);
  put_template(out, n, "  SCALY_EACH(i, @W) *(part*)(p + i * stride) = ");
  sci_putf(out, "((part*)(t + i %% %d))[i / %d];\n}\n", tile, tile);
}

static const char load_whole[] = "static SCALY_INLINE void scaly_load_tile_@s(const @T* p, long long stride, @V* t) {\n"
                                 "  SCALY_EACH(i, @W) t[i] = *(const @V_u*)(p + i * stride);\n"
                                 "  scaly_transpose_@s(t, @W);\n}\n";
static const char store_whole[] =
    "static SCALY_INLINE void scaly_store_tile_@s(@T* p, long long stride, const @V* v) {\n"
    "  @V t[@W];\n  SCALY_EACH(i, @W) t[i] = v[i];\n  scaly_transpose_@s(t, @W);\n"
    "  SCALY_EACH(i, @W) *(@V_u*)(p + i * stride) = t[i];\n}\n";

/* For every width that the type may turn out to have, and for every part of it of two lanes or more. */
static void put_tiles(sci_text *out, const naming *n, bool loads, bool stores) {
  int narrowest = n->is_auto ? 2 : n->lanes;
  put_template(out, n,
               "#if defined(SCALY_SHUFFLES)@G\n#ifndef SCALY_HAS_tiles_@s\n#define SCALY_HAS_tiles_@s\n"
               "/* Element j of each lane's is t[j]. */\n");
  for (int width = narrowest; width <= n->lanes; width *= 2) {
    if (n->is_auto) put_template(out, n, width == narrowest ? "#if @W == " : "#elif @W == ");
    if (n->is_auto) sci_putf(out, "%d\n", width);
    put_transposition(out, n, width);
    for (int tile = width / 2; loads && tile >= 2; tile /= 2) put_load_tile(out, n, width, tile);
  }
  if (n->is_auto) sci_put(out, "#endif\n");
  if (loads) put_template(out, n, load_whole);
  if (stores) put_template(out, n, store_whole);
  for (int tile = n->lanes / 2; stores && tile >= 2; tile /= 2) {
    if (n->is_auto) sci_putf(out, "#if %s > %d\n", n->count, tile);
    put_store_tile(out, n, tile);
    if (n->is_auto) sci_put(out, "#endif\n");
  }
  sci_put(out, "#endif\n#endif\n\n");
}

/* The widest tiles that fit; the last may begin among what the one before has. */
static void put_block(sci_text *out, const naming *n, bool loads) {
  const char *name = loads ? "load" : "store";
  put_template(out, n,
               loads ? "#ifndef SCALY_HAS_load_block_@s\n#define SCALY_HAS_load_block_@s\n"
                       "/* v[k] gets element k of each lane's n; they lie side by side, from p + i * stride on "
                       "for lane i. */\n"
                       "static SCALY_INLINE void scaly_load_block_@s(const @T* p, long long stride, int n, "
                       "@V* v) {\n#if defined(SCALY_SHUFFLES)@G\n"
                     : "#ifndef SCALY_HAS_store_block_@s\n#define SCALY_HAS_store_block_@s\n"
                       "/* The other way round. */\n"
                       "static SCALY_INLINE void scaly_store_block_@s(@T* p, long long stride, int n, "
                       "const @V* v) {\n#if defined(SCALY_SHUFFLES)@G\n");
  sci_putf(out, "  SCALY_TILES(%s, scaly_%s_tile_%s)\n", n->count, name, n->suffix);
  for (int tile = n->lanes / 2; tile >= 2; tile /= 2) {
    if (n->is_auto) sci_putf(out, "#if %s > %d\n", n->count, tile);
    sci_putf(out, "  SCALY_TILES(%d, scaly_%s_tile_%s_%d)\n", tile, name, n->suffix, tile);
    if (n->is_auto) sci_put(out, "#endif\n");
  }
  put_template(out, n,
               loads ? "#endif\n  SCALY_EACH(k, n) {\n    @V a = {0};\n"
                       "    SCALY_EACH(i, @W) @a = p[k + i * stride];\n    v[k] = a;\n  }\n}\n#endif\n\n"
                     : "#endif\n  SCALY_EACH(k, n) {\n"
                       "    SCALY_EACH(i, @W) p[k + i * stride] = SCALY_AT(v[k], i);\n  }\n}\n#endif\n\n");
}

/* ---- operations ---- */

/* What is one expression on vectors. */
static const struct {
  sci_op op;
  const char *text;
} whole[] = {
    {SCI_OP_minimum, "@V scaly_minimum_@s(@V a, @V b) {\n  return scaly_select_@s(SCALY_MASK(@M, a < b) | "
                     "SCALY_MASK(@M, a != a), a, b);\n}\n"},
    {SCI_OP_maximum, "@V scaly_maximum_@s(@V a, @V b) {\n  return scaly_select_@s(SCALY_MASK(@M, a > b) | "
                     "SCALY_MASK(@M, a != a), a, b);\n}\n"},
    {SCI_OP_sign, "@V scaly_sign_@s(@V a) {\n  @V zero = {0}, r = scaly_select_@s(SCALY_MASK(@M, a == 0), zero, a);\n"
                  "  r = scaly_select_@s(SCALY_MASK(@M, a > 0), zero + 1, r);\n"
                  "  return scaly_select_@s(SCALY_MASK(@M, a < 0), zero - 1, r);\n}\n"},
    {SCI_OP_isnan, "@M scaly_isnan_@s(@V a) {\n  return SCALY_MASK(@M, a != a);\n}\n"},
    {SCI_OP_isfinite, "@M scaly_isfinite_@s(@V a) {\n  return SCALY_MASK(@M, a - a == 0);\n}\n"},
};

static const struct {
  sci_op op;
  const char *name; /* of the builtins; clang has one for whole vectors */
} lanewise[] = {{SCI_OP_sqrt, "sqrt"}, {SCI_OP_floor, "floor"}, {SCI_OP_ceil, "ceil"},        {SCI_OP_trunc, "trunc"},
                {SCI_OP_abs, "abs"},   {SCI_OP_round, "round"}, {SCI_OP_copysign, "copysign"}};

static void put_lanewise(sci_text *out, const naming *n, const char *op, const char *builtin) {
  bool two = !strcmp(builtin, "copysign"), is_abs = !strcmp(builtin, "abs");
  char text[640];
  snprintf(text, sizeof text,
           "@V scaly_%s_@s(%s) {\n#ifdef SCALY_ELEMENTWISE\n  return __builtin_elementwise_%s(%s);\n#else\n"
           "  @V r = a;\n  for (int i = 0; i < @W; i++) SCALY_AT(r, i) = __builtin_%s@f(%s);\n  return r;\n#endif\n}\n",
           op, two ? "@V a, @V b" : "@V a", builtin, two ? "a, b" : "a", is_abs ? "fabs" : builtin,
           two ? "@a, @b" : "@a");
  put_function(out, n, op, text);
}

/* gcc, and clang before its elementwise builtins, see many loops over lanes as one instruction, but not all. */
static void put_fma_builtins(sci_text *out, const naming *n) {
  int size = (int)sc_dtype_size(n->dtype);
  bool f32 = n->dtype == SC_FLOAT32;
  const char *const arguments[] = {"(a, b, c)", "256(a, b, c)",
                                   f32 ? "512_mask(a, b, c, 0xffff, 4)" : "512_mask(a, b, c, 0xff, 4)"};
  for (int k = 0; k < 3; k++) {
    int bytes = 16 << k;
    if (n->is_auto ? bytes > n->lanes * size : bytes != n->lanes * size) continue;
    sci_putf(out, "#elif defined(__GNUC__) && defined(%s)", bytes == 64 ? "__AVX512F__" : "__FMA__");
    if (n->is_auto) sci_putf(out, " && %s == %d", n->count, bytes / size);
    sci_putf(out, "\n  return __builtin_ia32_vfmaddp%s%s;\n", f32 ? "s" : "d", arguments[k]);
  }
}

static void put_fma(sci_text *out, const naming *n, const char *macro) {
  put_template(
      out, n,
      "#ifndef SCALY_HAS_fma_@s\n#define SCALY_HAS_fma_@s\nstatic SCALY_INLINE @V scaly_fma_@s(@V a, @V b, @V c) {\n");
  sci_putf(out, "#ifndef SCALY_FUSES_%s\n  return a * b + c;\n", n->dtype == SC_FLOAT32 ? "F32" : "F64");
  sci_put(out, "#elif defined(SCALY_ELEMENTWISE)\n  return __builtin_elementwise_fma(a, b, c);\n");
  put_fma_builtins(out, n);
  put_template(
      out, n,
      "#else\n  @V r = a;\n  for (int i = 0; i < @W; i++) SCALY_AT(r, i) = __builtin_fma@f(@a, @b, @c);\n  return r;\n"
      "#endif\n}\nstatic const @V scaly_zero_@s = {0};\n#endif\n");
  sci_putf(out, "/* Any of the three may be the same for all lanes; x - 0 is x. */\n#define %s(a, b, c) ", macro);
  put_template(out, n, "scaly_fma_@s((a) - scaly_zero_@s, (b) - scaly_zero_@s, (c) - scaly_zero_@s)\n\n");
}

/* ---- math routines ---- */

/* A routine for `width` lanes or parts of them. */
static void put_calls(sci_text *out, const naming *n, const sci_vector_routine *v, int op, int width) {
  bool two = sci_ops[op].arity == 2;
  if (v->lanes == width) {
    sci_putf(out, "  return %s(%s);\n", v->name, two ? "a, b" : "a");
    return;
  }
  put_template(out, n, "  @V r;\n");
  sci_putf(out, "  for (int i = 0; i < %d; i += %d) {\n", width, v->lanes);
  sci_putf(out, "    scaly_%s_%s x, y;\n", v->name, n->scalar);
  sci_putf(out, "    __builtin_memcpy(&x, (const %s*)&a + i, sizeof x);\n", n->element);
  if (two) sci_putf(out, "    __builtin_memcpy(&y, (const %s*)&b + i, sizeof y);\n", n->element);
  sci_putf(out, "    y = %s(%s);\n", v->name, two ? "x, y" : "x");
  sci_putf(out, "    __builtin_memcpy((%s*)&r + i, &y, sizeof y);\n  }\n  return r;\n", n->element);
}

static void put_prototype(sci_text *out, const naming *n, const sci_vector_routine *v, int op) {
  sci_putf(out, "#ifndef SCALY_HAS_%s\n#define SCALY_HAS_%s\n", v->name, v->name);
  sci_putf(out, "typedef %s scaly_%s_%s __attribute__((vector_size(%d)));\n", n->element, v->name, n->scalar,
           v->lanes * (int)sc_dtype_size(n->dtype));
  sci_putf(out, "scaly_%s_%s %s(scaly_%s_%s", v->name, n->scalar, v->name, v->name, n->scalar);
  if (sci_ops[op].arity == 2) sci_putf(out, ", scaly_%s_%s", v->name, n->scalar);
  sci_put(out, ");\n#endif\n");
}

static const char *isa_macro(unsigned isa) {
  switch ((sc_isa)isa) {
  case SC_ISA_X86_64: return "__SSE2__";
  case SC_ISA_X86_64_V3: return "__AVX2__";
  case SC_ISA_X86_64_V4: return "__AVX512F__";
  case SC_ISA_ARMV8_A: return "__aarch64__";
  case SC_ISA_GENERIC:
  case SC_ISA_ARMV7E_M: break;
  }
  return "__STDC__";
}

/* The instruction sets that a file may be compiled for, the richest first: the program's, or any where it names none.
 */
static const sc_isa any_isa[] = {SC_ISA_X86_64_V4, SC_ISA_X86_64_V3, SC_ISA_X86_64, SC_ISA_ARMV8_A};
enum { ISAS = sizeof any_isa / sizeof *any_isa };

/* The routines for a width, each with the least that it needs: later ones are for builds that lack what earlier ones
 * need. */
static int routines_for(const c_render *r, const naming *n, int op, int width, sci_vector_routine found[ISAS]) {
  bool generic = r->p->target.isa == SC_ISA_GENERIC;
  int many = 0;
  for (int i = 0; i < (generic ? ISAS : 1); i++) {
    sci_vector_routine *v = &found[many];
    if (!sci_vector_routine_find(&r->p->vector, generic ? any_isa[i] : r->p->target.isa, op, n->dtype, width, v))
      continue;
    many += !many || strcmp(v->name, found[many - 1].name) != 0;
  }
  return many;
}

static void put_condition(sci_text *out, const naming *n, const char *directive, int width, unsigned isa) {
  sci_put(out, directive);
  if (n->is_auto) sci_putf(out, "%s == %d && ", n->count, width);
  sci_putf(out, "defined(%s)\n", isa_macro(isa));
}

static void put_math(const c_render *r, sci_text *out, const naming *n, int op) {
  const char *name = sci_ops[op].name;
  bool two = sci_ops[op].arity == 2;
  sci_vector_routine v[ISAS];
  int narrowest = n->is_auto ? 2 : n->lanes;
  for (int width = narrowest; width <= n->lanes; width *= 2) {
    int many = routines_for(r, n, op, width, v);
    for (int i = 0; i < many; i++) {
      put_condition(out, n, "#if ", width, v[i].isa);
      put_prototype(out, n, &v[i], op);
      sci_put(out, "#endif\n");
    }
  }
  sci_putf(out, "#ifndef SCALY_HAS_%s_%s\n#define SCALY_HAS_%s_%s\nstatic SCALY_INLINE ", name, n->suffix, name,
           n->suffix);
  put_template(out, n, "@V scaly_");
  sci_putf(out, "%s_%s(", name, n->suffix);
  put_template(out, n, two ? "@V a, @V b) {\n" : "@V a) {\n");
  bool any = false;
  for (int width = narrowest; width <= n->lanes; width *= 2) {
    int many = routines_for(r, n, op, width, v);
    for (int i = 0; i < many; i++, any = true) {
      put_condition(out, n, any ? "#elif " : "#if ", width, v[i].isa);
      put_calls(out, n, &v[i], op, width);
    }
  }
  if (any) sci_put(out, "#else\n");
  put_template(out, n, "  @V r = a;\n  for (int i = 0; i < @W; i++) SCALY_AT(r, i) = ");
  sci_put(out, name);
  put_template(out, n, two ? "@f(@a, @b);\n  return r;\n" : "@f(@a);\n  return r;\n");
  sci_put(out, any ? "#endif\n}\n#endif\n\n" : "}\n#endif\n\n");
}

/* ---- one type ---- */

static void put_type(sci_text *out, const naming *n) {
  put_template(out, n, "#ifndef SCALY_HAS_@s\n#define SCALY_HAS_@s\n");
  if (n->is_auto) {
    int factor = n->dtype == SC_FLOAT32 ? 2 : 1;
    put_template(out, n,
                 "#if SCALY_LANES == 1\n#define @W 1\ntypedef @T @V;\ntypedef @I @M;\n"
                 "typedef @T @V_u __attribute__((may_alias));\n#else\n");
    sci_putf(out, "#if %sSCALY_LANES < %d\n#define %s (%sSCALY_LANES)\n#else\n#define %s %d\n#endif\n",
             factor == 2 ? "2 * " : "", n->lanes, n->count, factor == 2 ? "2 * " : "", n->count, n->lanes);
  }
  put_template(out, n,
               "typedef @T @V __attribute__((vector_size(@W * sizeof(@T))));\n"
               "typedef @T @V_u __attribute__((vector_size(@W * sizeof(@T)), aligned(sizeof(@T)), may_alias));\n"
               "typedef @I @M __attribute__((vector_size(@W * sizeof(@T))));\n");
  sci_put(out, n->is_auto ? "#endif\n#endif\n\n" : "#endif\n\n");
}

static void put_operations(c_render *r, sci_text *out, const naming *n, const c_lane_type *t) {
  bool selects = t->helper[C_LANE_SELECT] || t->op[SCI_OP_minimum] || t->op[SCI_OP_maximum] || t->op[SCI_OP_sign];
  if (selects) put_select(out, n);
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (t->op[whole[i].op]) put_function(out, n, sci_ops[whole[i].op].name, whole[i].text);
  for (size_t i = 0; i < sizeof lanewise / sizeof *lanewise; i++)
    if (t->op[lanewise[i].op]) put_lanewise(out, n, sci_ops[lanewise[i].op].name, lanewise[i].name);
  if (t->op[SCI_OP_fma]) put_fma(out, n, sci_c_fma_name(r, n->dtype, n->lanes));
  for (int op = 0; op < SCI_OP_COUNT; op++)
    if (t->op[op] && sci_ops[op].traits & SCI_LIBM) put_math(r, out, n, op);
}

static void put_lane_type(c_render *r, sci_text *out, sc_dtype dtype, int lanes, const c_lane_type *t) {
  naming n = {.is_auto = r->o->lanes == SC_LANES_AUTO, .lanes = lanes, .dtype = dtype};
  int size = dtype == SC_FLOAT32 ? 32 : 64;
  n.element = dtype == SC_FLOAT32 ? "float" : "double";
  n.integer = dtype == SC_FLOAT32 ? "int32_t" : "int64_t";
  snprintf(n.suffix, sizeof n.suffix, "f%d%c%d", size, n.is_auto ? 'w' : 'x', lanes);
  snprintf(n.scalar, sizeof n.scalar, "v");
  if (n.is_auto)
    snprintf(n.count, sizeof n.count, "SCALY_F%dW%d", size, lanes);
  else
    snprintf(n.count, sizeof n.count, "%d", lanes);
  put_type(out, &n);
  static const char *const names[C_LANE_HELPERS] = {"load", "store", "load_strided", "", "load_part", "store_part",
                                                    "",     "",      "splat",        ""};
  for (int h = 0; h < C_LANE_HELPERS; h++)
    if (t->helper[h] && moves[h]) put_function(out, &n, names[h], moves[h]);
  if (t->helper[C_LANE_STORE_STRIDED]) put_store_strided(out, &n);
  bool loads = t->helper[C_LANE_LOAD_BLOCK], stores = t->helper[C_LANE_STORE_BLOCK];
  if (loads || stores) put_tiles(out, &n, loads, stores);
  if (loads) put_block(out, &n, true);
  if (stores) put_block(out, &n, false);
  put_operations(r, out, &n, t);
}

/* ---- what all types share ---- */

static const char swap[] =
    "#ifndef SCALY_SWAP /* v[j] and v[j + s] exchange halves of every 2 s elements, for all such pairs of n */\n"
    "#define SCALY_SWAP(v, n, s, low, high) \\\n"
    "  SCALY_EACH(j, n) { \\\n"
    "    if (j & s) continue; \\\n"
    "    __typeof__(*v) a = v[j], b = v[j + s]; \\\n"
    "    v[j] = __builtin_shufflevector low; \\\n"
    "    v[j + s] = __builtin_shufflevector high; \\\n"
    "  }\n"
    "#define SCALY_TILES(w, tile) \\\n"
    "  if (n >= w) { \\\n"
    "    SCALY_UNROLL \\\n"
    "    for (int k = 0; k < n; k += w) { \\\n"
    "      int from = k + w <= n ? k : n - w; \\\n"
    "      tile(p + from, stride, v + from); \\\n"
    "    } \\\n"
    "    return; \\\n"
    "  }\n"
    "#endif\n\n";

void sci_c_put_width(const c_render *r, sci_text *out) {
  if (r->o->lanes == SC_LANES_AUTO)
    sci_put(
        out,
        "/* Lanes of float64, by what is compiled for; -DSCALY_LANES=1, 2, 4 or 8 overrides. */\n#ifndef SCALY_LANES\n"
        "#if defined(__AVX512F__)\n#define SCALY_LANES 8\n#elif defined(__AVX2__)\n#define SCALY_LANES 4\n"
        "#elif defined(__SSE2__) || defined(__aarch64__)\n#define SCALY_LANES 2\n#else\n#define SCALY_LANES "
        "1\n#endif\n#endif\n"
        "#if SCALY_LANES != 1 && SCALY_LANES != 2 && SCALY_LANES != 4 && SCALY_LANES != 8\n"
        "#error \"SCALY_LANES is not 1, 2, 4 or 8\"\n#endif\n");
}

static void put_element(const c_render *r, sci_text *out) {
  if (r->o->lanes == SC_LANES_AUTO)
    sci_put(out, "#if SCALY_LANES == 1\n#define SCALY_AT(v, i) (v)\n#define SCALY_MASK(type, condition) "
                 "((type)-(type)(condition))\n"
                 "#else\n");
  sci_put(out, "#define SCALY_AT(v, i) (v)[i]\n#define SCALY_MASK(type, condition) ((type)(condition))\n");
  if (r->o->lanes == SC_LANES_AUTO) sci_put(out, "#endif\n");
}

void sci_c_put_lane_helpers(c_render *r, sci_text *out) {
  bool any = false;
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int k = 1; k < 5; k++) any |= r->needs.lanes[d][k].used;
  if (!any) return;
  sci_c_put_width(r, out);
  put_element(r, out);
  bool transposes = false;
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int k = 1; k < 5; k++)
      transposes |= r->needs.lanes[d][k].helper[C_LANE_LOAD_BLOCK] || r->needs.lanes[d][k].helper[C_LANE_STORE_BLOCK];
  sci_put(out,
          "#ifndef SCALY_INLINE\n#define SCALY_INLINE inline __attribute__((always_inline))\n"
          "#if defined(__clang__)\n#define SCALY_UNROLL _Pragma(\"unroll\")\n#else\n#define SCALY_UNROLL _Pragma(\"GCC "
          "unroll 16\")\n#endif\n"
          "#define SCALY_EACH(i, n) SCALY_UNROLL for (int i = 0; i < n; i++)\n"
          "#ifdef __has_builtin\n#if __has_builtin(__builtin_shufflevector)\n#define SCALY_SHUFFLES\n#endif\n"
          "#if __has_builtin(__builtin_elementwise_fma)\n#define SCALY_ELEMENTWISE\n#endif\n#endif\n"
          "#pragma GCC diagnostic ignored \"-Wpsabi\" /* nothing below is called from another file */\n#endif\n\n");
  if (transposes) sci_put(out, swap);
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int k = 1; k < 5; k++)
      if (r->needs.lanes[d][k].used) put_lane_type(r, out, (sc_dtype)d, 1 << k, &r->needs.lanes[d][k]);
}
