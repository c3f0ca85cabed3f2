/* Owns the test that every scalar operation compiles to what the table says, at the edges of every data type and on
 * several processors. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "rig.h"

static const double floats[] = {0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                0.5,
                                -0.5,
                                1.5,
                                -1.5,
                                2.5,
                                3.0,
                                0.49999999999999994,
                                1e-300,
                                -1e-300,
                                0x1p-1074,
                                1e300,
                                -1e300,
                                0x1p31,
                                -0x1p31,
                                0x1.fffffffcp30,
                                0x1p63,
                                -0x1p63,
                                0x1p62,
                                4503599627370497.0,
                                2251799813685249.5,
                                0x1p53,
                                0.1,
                                710.0,
                                -745.2,
                                7.25,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                16777217.0,
                                8388609.5,
                                1e38,
                                -3.75};
static const int64_t integers[] = {
    0,   1, -1, 2, -2, 3, 7, -7, 10, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MIN + 1, 1LL << 40, -(1LL << 40),
    100, 6};
enum { N_FLOATS = sizeof floats / sizeof *floats, N_INTEGERS = sizeof integers / sizeof *integers };

static int edges(sc_dtype dtype, void *out) {
  int n = sci_is_float(dtype) ? N_FLOATS : dtype == SC_BOOL ? 3 : N_INTEGERS;
  for (int i = 0; i < n; i++) {
    if (dtype == SC_FLOAT64) ((double *)out)[i] = floats[i];
    if (dtype == SC_FLOAT32) ((float *)out)[i] = (float)floats[i];
    if (dtype == SC_INT64) ((int64_t *)out)[i] = integers[i];
    if (dtype == SC_INT32) ((int32_t *)out)[i] = (int32_t)(uint32_t)(uint64_t)integers[i];
    if (dtype == SC_BOOL) ((uint8_t *)out)[i] = (uint8_t[]){0, 1, 7}[i]; /* any byte but 0 is true */
  }
  return n;
}

enum { MOST = N_FLOATS };
static double operands[3][MOST * MOST * MOST], result[MOST * MOST * MOST]; /* room for elements of any type */

/* All combinations of edges as operands; the number of combinations. */
static int fill(unsigned arity, const sc_dtype *dtypes) {
  double edge[3][MOST];
  int n[3] = {1, 1, 1}, total = 1;
  for (unsigned i = 0; i < arity; i++) total *= n[i] = edges(dtypes[i], edge[i]);
  for (int k = 0; k < total; k++) {
    int at[3] = {k % n[0], k / n[0] % n[1], k / n[0] / n[1]};
    for (unsigned i = 0; i < arity; i++) {
      size_t size = sc_dtype_size(dtypes[i]);
      memcpy((char *)operands[i] + (size_t)k * size, (char *)edge[i] + (size_t)at[i] * size, size);
    }
  }
  return total;
}

static sci_scalar expected(sci_op op, sc_dtype from, sc_dtype to, const sci_scalar *x, bool fast_fma) {
  if (op != SCI_OP_fma || fast_fma) return sci_op_eval(op, from, to, x);
  sci_scalar p = sci_op_eval(SCI_OP_mul, from, from, x);
  return sci_op_eval(SCI_OP_add, from, from, (sci_scalar[]){p, x[2]});
}

static void check_way(sci_op op, sc_dtype from, sc_dtype to, const char *target, unsigned way) {
  unsigned arity = sci_ops[op].arity;
  sc_dtype dtypes[3] = {op == SCI_OP_select ? SC_BOOL : from, from, from};
  int n = fill(arity, dtypes);
  rig r;
  rig_begin(&r, target);
  sci_buf in[3], out;
  for (unsigned i = 0; i < arity; i++) in[i] = rig_in(&r, dtypes[i], n);
  out = rig_out(&r, to, n);
  sci_var v = sci_new_var(r.s, "i");
  sci_block_builder outer = r.b;
  sci_block_begin(&r.b, r.s);
  sci_val args[3];
  for (unsigned i = 0; i < arity; i++) args[i] = rig_load(&r, in[i], sci_val_var(r.s, v));
  sci_emit_store(&r.b, out, sci_val_var(r.s, v), sci_val_op(r.s, op, to, args));
  sci_block body = sci_block_end(&r.b, r.s);
  r.b = outer;
  sci_emit_loop(&r.b, r.s, SCI_LOOP_INDEPENDENT, v, n, body);
  rig_proc(&r, "f");
  rig_ready(&r);
  sci_code c = rig_compile_way(&r, way);
  bool fast_fma = r.p->target.fast_fma;
  const void *arg[3] = {operands[0], operands[1], operands[2]};
  cr_assert_eq(rig_call(&c, arg, (void *[]){result}, NULL), 0);
  for (int k = 0; k < n; k++) {
    sci_scalar x[3] = {{.bits = 0}};
    for (unsigned i = 0; i < arity; i++) x[i] = sci_scalar_load(dtypes[i], operands[i], (size_t)k);
    uint64_t want = sci_scalar_bits(to, expected(op, from, to, x, fast_fma));
    uint64_t got = sci_scalar_bits(to, sci_scalar_load(to, result, (size_t)k));
    cr_expect_eq(got, want, "%s, way %u: %s(%s: %g %g %g) = %016llx, want %016llx", target, way, sci_ops[op].name,
                 sc_dtype_name(from), sci_scalar_double(dtypes[0], x[0]), sci_scalar_double(dtypes[1], x[1]),
                 sci_scalar_double(dtypes[2], x[2]), (unsigned long long)got, (unsigned long long)want);
    if (to == SC_BOOL) cr_expect_leq(((uint8_t *)result)[k], 1);
  }
  c.release(c.handle);
  rig_end(&r);
}

static void check(sci_op op, sc_dtype from, sc_dtype to, const char *target) {
  check_way(op, from, to, target, 0);
  check_way(op, from, to, target, RIG_FAST);
  check_way(op, from, to, target, RIG_FAST | RIG_LINKED);
}

Test(llvm, every_operation, .timeout = 300) {
  static const char *const targets[] = {"native", "generic"};
  for (int t = 0; t < 2; t++)
    for (int op = 0; op < SCI_OP_COUNT; op++)
      for (int from = 0; from < SC_DTYPE_COUNT; from++) {
        if (!sci_op_accepts((sci_op)op, (sc_dtype)from)) continue;
        if (op != SCI_OP_cast) {
          check((sci_op)op, (sc_dtype)from, sci_op_result((sci_op)op, (sc_dtype)from), targets[t]);
          continue;
        }
        for (int to = 0; to < SC_DTYPE_COUNT; to++) check(SCI_OP_cast, (sc_dtype)from, (sc_dtype)to, targets[t]);
      }
  NO_LEAKS();
}
