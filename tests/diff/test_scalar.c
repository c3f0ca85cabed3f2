/* Owns the table-driven test of every scalar operation at the edges of every dtype, through folding, oracle and
 * compiled code. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ops/ops.h"
#include "tests/diff/diff.h"

typedef sc_expr (*build1)(sc_expr);
typedef sc_expr (*build2)(sc_expr, sc_expr);

static const struct builder1 {
  const char *name;
  build1 build;
} unary[] = {
#define U(name)                                                                                                        \
  { #name, sc_##name }
    U(neg),   U(sin),   U(cos), U(tan),  U(asin),  U(acos), U(atan),  U(sinh),  U(cosh),     U(tanh),  U(asinh),
    U(acosh), U(atanh), U(exp), U(exp2), U(expm1), U(log),  U(log2),  U(log10), U(log1p),    U(sqrt),  U(cbrt),
    U(erf),   U(erfc),  U(abs), U(sign), U(floor), U(ceil), U(round), U(trunc), U(isfinite), U(isnan), U(not ),
};

static const struct builder2 {
  const char *name;
  build2 build;
} binary[] = {
#define B(name)                                                                                                        \
  { #name, sc_##name }
    B(add),     B(sub),      B(mul), B(div), B(pow), B(fmod), B(hypot), B(atan2), B(minimum),
    B(maximum), B(copysign), B(lt),  B(le),  B(eq),  B(ne),   B(and),   B(or),
};

enum { UNARY = sizeof unary / sizeof *unary, BINARY = sizeof binary / sizeof *binary, MAX_EDGES = 64 };

/* ---- edge values ---- */

static const double float_edges[] = {
    0,
    0x1p-1074,
    0x1p-149,
    0x1p-140,
    0x1p-1030,
    0x1p-1022,
    0x1.fffffep-127,
    0x1p-126,
    1e-300,
    1e-30,
    1e-8,
    0.25,
    0.5,
    0x1.fffffffffffffp-2,
    0x1.fffffep-2,
    0.75,
    0x1.fffffffffffffp-1,
    1,
    0x1.0000000000001p0,
    0x1.000002p0,
    1.5,
    2,
    2.5,
    3,
    1.5707963267948966,
    3.141592653589793,
    7,
    10,
    88.5,
    104,
    128,
    710,
    745.5,
    1024,
    65537,
    0x1p23,
    8388609.5,
    0x1p31,
    2147483647.5,
    0x1p52,
    0x1p53,
    4503599627370497.5,
    0x1p63,
    0x1.fffffep62,
    1e19,
    1e38,
    0x1.fffffep127,
    1e40,
    1e155,
    1e300,
    0x1.fffffffffffffp1023,
    INFINITY,
};
static const int64_t integer_edges[] = {0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        10,
                                        255,
                                        256,
                                        46340,
                                        46341,
                                        65536,
                                        INT32_MAX - 1,
                                        INT32_MAX,
                                        INT64_C(1) << 31,
                                        (INT64_C(1) << 53) + 1,
                                        INT64_C(3037000500),
                                        INT64_MAX - 1,
                                        INT64_MAX,
                                        INT64_MIN,
                                        INT64_MIN + 1,
                                        INT32_MIN,
                                        INT32_MIN + 1};

static int edges_of(sc_dtype dtype, sci_scalar out[2 * MAX_EDGES]) {
  int n = 0;
  if (sci_is_float(dtype)) {
    sci_scalar nan = {.bits = 0};
    if (dtype == SC_FLOAT64)
      nan.f64 = NAN;
    else
      nan.f32 = NAN;
    out[n++] = nan;
    for (size_t i = 0; i < sizeof float_edges / sizeof *float_edges; i++) {
      for (int sign = 1; sign >= -1; sign -= 2) {
        sci_scalar v = {.bits = 0};
        if (dtype == SC_FLOAT64)
          v.f64 = sign * float_edges[i];
        else
          v.f32 = (float)(sign * float_edges[i]);
        out[n++] = v;
      }
    }
    return n;
  }
  if (dtype == SC_BOOL) {
    for (int v = 0; v < 2; v++) out[n++] = (sci_scalar){.bits = (uint64_t)v};
    return n;
  }
  for (size_t i = 0; i < sizeof integer_edges / sizeof *integer_edges; i++) {
    for (int sign = 1; sign >= -1; sign -= 2) {
      int64_t v = sign < 0 && integer_edges[i] != INT64_MIN ? -integer_edges[i] : integer_edges[i];
      sci_scalar s = {.bits = 0};
      if (dtype == SC_INT64)
        s.i64 = v;
      else
        s.i32 = (int32_t)(uint32_t)(uint64_t)v;
      out[n++] = s;
    }
  }
  return n;
}

/* ---- one function per dtype with every operation on all pairs of edges ---- */

typedef struct suite {
  sc_context *cx;
  sc_dtype dtype;
  int edges, outputs;
  int64_t pairs;
  sc_function *f;
  char names[2 * (UNARY + BINARY) + 16][24];
  sc_named out[2 * (UNARY + BINARY) + 16];
} suite;

static void add_output(suite *s, const char *name, sc_expr e) {
  cr_assert(!sc_is_null(e), "%s of %s: %s", name, sc_dtype_name(s->dtype),
            sc_context_error(s->cx) ? sc_context_error(s->cx)->message : "");
  snprintf(s->names[s->outputs], sizeof s->names[0], "r_%s", name);
  s->out[s->outputs] = (sc_named){s->names[s->outputs], e, NULL};
  s->outputs++;
}

static sci_op op_of(const char *name) {
  int op = sci_op_find(name, strlen(name));
  cr_assert(op >= 0, "%s is not in ops.def", name);
  return (sci_op)op;
}

static void build(suite *s, sc_dtype dtype) {
  sci_scalar edges[2 * MAX_EDGES];
  *s = (suite){.cx = sc_context_create(NULL), .dtype = dtype, .edges = edges_of(dtype, edges)};
  s->pairs = (int64_t)s->edges * s->edges;
  sc_expr a = sc_input(s->cx, "a", dtype, 1, &s->pairs), b = sc_input(s->cx, "b", dtype, 1, &s->pairs);
  sc_expr c = sc_input(s->cx, "c", SC_BOOL, 1, &s->pairs);
  for (int i = 0; i < UNARY; i++)
    if (sci_op_accepts(op_of(unary[i].name), dtype)) add_output(s, unary[i].name, unary[i].build(a));
  for (int i = 0; i < BINARY; i++)
    if (sci_op_accepts(op_of(binary[i].name), dtype)) add_output(s, binary[i].name, binary[i].build(a, b));
  add_output(s, "select", sc_select(c, a, b));
  for (sc_dtype to = 0; to < SC_DTYPE_COUNT; to++) add_output(s, sc_dtype_name(to), sc_cast(a, to));
  s->f = sc_function_create(s->cx, "edges", SC_IN({"a", a, NULL}, {"b", b, NULL}, {"c", c, NULL}), s->out,
                            (size_t)s->outputs);
  cr_assert(s->f, "%s", sc_context_error(s->cx) ? sc_context_error(s->cx)->message : "");
}

static diff_io filled(const suite *s) {
  sci_scalar edges[2 * MAX_EDGES];
  edges_of(s->dtype, edges);
  diff_io io = diff_io_open(s->f);
  for (int64_t i = 0; i < s->pairs; i++) {
    ora_store(s->dtype, io.in[0], i, edges[i / s->edges]);
    ora_store(s->dtype, io.in[1], i, edges[i % s->edges]);
    ((uint8_t *)io.in[2])[i] = (uint8_t)(i % 3 ? i % 251 : 0); /* any nonzero byte is true */
  }
  return io;
}

static void compare(const suite *s, const diff_io *got, const diff_io *want, const char *way) {
  for (size_t k = 0; k < got->n_out; k++) {
    sc_dtype dtype = sc_expr_dtype(sc_function_output(s->f, k));
    int64_t at = ora_first_difference(dtype, s->pairs, got->out[k], want->out[k]);
    if (at < 0) continue;
    char a[48], b[48], x[48], y[48];
    cr_expect(false, "%s: %s.%s(%s, %s) is %s instead of %s", way, sc_dtype_name(s->dtype), s->names[k],
              ora_text(s->dtype, ora_load(s->dtype, got->in[0], at), a),
              ora_text(s->dtype, ora_load(s->dtype, got->in[1], at), b),
              ora_text(dtype, ora_load(dtype, got->out[k], at), x),
              ora_text(dtype, ora_load(dtype, want->out[k], at), y));
  }
}

static void check_way(const suite *s, diff_way way, const sc_program *p, const diff_io *want) {
  if (!diff_way_exists(way)) return;
  sc_kernel *k = diff_compile(way, p, NULL);
  cr_assert(k, "%s: %s", diff_way_name(way), sc_context_error(s->cx) ? sc_context_error(s->cx)->message : "");
  diff_io io = filled(s);
  cr_expect_eq(sc_kernel_call(k, diff_in(&io), io.out, NULL), SC_KERNEL_SUCCESS);
  compare(s, &io, want, diff_way_name(way));
  diff_io_close(&io);
  sc_kernel_release(k);
}

Test(scalar, every_operation_at_the_edges) {
  for (sc_dtype dtype = 0; dtype < SC_DTYPE_COUNT; dtype++) {
    suite s;
    build(&s, dtype);
    diff_io want = filled(&s), got = filled(&s);
    ora_eval_function(s.f, diff_in(&want), want.out);
    const char *pipelines[] = {"none", NULL};
    for (int i = 0; i < 2; i++) {
      char why[512];
      sc_program *p = diff_lower(s.f, SC_ROUNDING_DEFAULT, pipelines[i]);
      cr_assert(p, "%s", sc_context_error(s.cx) ? sc_context_error(s.cx)->message : "");
      cr_assert(ora_run_program(p, diff_in(&got), got.out, NULL, why, sizeof why), "%s", why);
      compare(&s, &got, &want, "program");
      for (diff_way way = 0; i == 1 && way < DIFF_WAYS; way++) check_way(&s, way, p, &want);
      sc_program_destroy(p);
    }
    diff_io_close(&got);
    diff_io_close(&want);
    sc_context_destroy(s.cx);
  }
}

/* ---- folding ---- */

static void check_fold(sci_op op, sc_dtype dtype, sc_dtype to, const sci_scalar x[3]) {
  sci_scalar want = ora_scalar(op, dtype, to, x), got = sci_op_eval(op, dtype, to, x);
  sc_dtype result = op == SCI_OP_cast ? to : sci_op_result(op, dtype);
  char a[48], b[48], g[48], w[48];
  cr_expect(ora_first_difference(result, 1, &got, &want) < 0, "folding %s.%s(%s, %s) gives %s instead of %s",
            sc_dtype_name(dtype), sci_ops[op].name, ora_text(dtype, x[0], a), ora_text(dtype, x[1], b),
            ora_text(result, got, g), ora_text(result, want, w));
}

/* The compiled function above has an output for every operation of ops.def, and folding gives what the oracle gives. */
Test(scalar, folding_and_completeness) {
  for (int op = 0; op < SCI_OP_COUNT; op++) {
    bool known = op == SCI_OP_select || op == SCI_OP_cast || (sci_ops[op].traits & SCI_PROGRAM);
    for (int i = 0; i < UNARY; i++) known |= !strcmp(unary[i].name, sci_ops[op].name);
    for (int i = 0; i < BINARY; i++) known |= !strcmp(binary[i].name, sci_ops[op].name);
    cr_expect(known, "operation %s has no row here", sci_ops[op].name);
  }
  for (sc_dtype dtype = 0; dtype < SC_DTYPE_COUNT; dtype++) {
    sci_scalar edges[2 * MAX_EDGES];
    int n = edges_of(dtype, edges);
    for (int op = 0; op < SCI_OP_COUNT; op++) {
      if (op == SCI_OP_select || op == SCI_OP_cast || !sci_op_accepts((sci_op)op, dtype)) continue;
      for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
          check_fold((sci_op)op, dtype, dtype, (sci_scalar[3]){edges[i], edges[k], edges[(i + k) % n]});
    }
    for (int i = 0; i < n; i++)
      for (sc_dtype to = 0; to < SC_DTYPE_COUNT; to++)
        check_fold(SCI_OP_cast, dtype, to, (sci_scalar[3]){edges[i], edges[i], edges[i]});
  }
}
