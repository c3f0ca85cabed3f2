/* Owns the tests of values, index arithmetic and substitution. */
#include <criterion/criterion.h>
#include <math.h>

#include "lib/program/program.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define NO_LEAKS() cr_assert(!__lsan_do_recoverable_leak_check())
#else
#define NO_LEAKS() (void)0
#endif

static sci_env env;
static sci_store *s;

static void begin(void) {
  sci_env_init(&env, NULL);
}

static void end(void) {
  sci_keep(&env, s);
  sci_store_release(s);
  sci_env_free(&env);
  cr_assert_eq(env.held, 0);
}

static sci_val input(sc_dtype dtype) {
  return sci_val_name(s, sci_new_name(s, dtype, false, NULL));
}

static sci_val num(double v) {
  return sci_val_double(s, SC_FLOAT64, v);
}

static void identities(void) {
  sci_val x = input(SC_FLOAT64), y = input(SC_FLOAT64), b = input(SC_BOOL), k = input(SC_INT32);
#define SAME(a, b) cr_expect_eq(a, b)
#define OP2(op, a, b) sci_val_op2(s, SCI_OP_##op, a, b)
#define OP1(op, a) sci_val_op1(s, SCI_OP_##op, a)
  SAME(OP2(add, x, y), OP2(add, y, x));
  cr_expect_neq(OP2(minimum, x, y), OP2(minimum, y, x));
  cr_expect_neq(OP2(sub, x, y), OP2(sub, y, x));
  SAME(OP2(mul, x, num(1)), x);
  SAME(OP2(mul, num(-1), x), OP1(neg, x));
  SAME(OP2(sub, x, num(0)), x);
  SAME(OP2(add, x, num(-0.0)), x);
  cr_expect_neq(OP2(add, x, num(0)), x);
  cr_expect_neq(OP2(sub, x, num(-0.0)), x);
  cr_expect_neq(OP2(mul, x, num(0)), num(0));
  cr_expect_neq(OP2(sub, x, x), num(0));
  cr_expect_neq(OP2(div, x, x), num(1));
  SAME(OP2(sub, num(-0.0), x), OP1(neg, x));
  SAME(OP1(neg, OP1(neg, x)), x);
  SAME(OP2(add, x, OP1(neg, y)), OP2(sub, x, y));
  SAME(OP2(sub, x, OP1(neg, y)), OP2(add, x, y));
  SAME(OP2(div, x, num(8)), OP2(mul, x, num(0.125)));
  cr_expect_neq(OP2(div, x, num(3)), OP2(mul, x, num(1.0 / 3)));
  cr_expect_neq(OP2(div, x, num(0x1p-1074)), OP2(mul, x, num(INFINITY)));
  SAME(OP2(sub, k, k), sci_val_double(s, SC_INT32, 0));
  SAME(OP1(abs, OP1(neg, x)), OP1(abs, x));
  SAME(OP2(and, b, b), b);
  SAME(OP1(not, OP1(not, b)), b);
  sci_val one = sci_val_const(s, SC_BOOL, (sci_scalar){.b8 = 1});
  SAME(OP2(and, b, one), b);
  SAME(OP2(or, b, one), one);
  sci_val args[] = {OP1(not, b), x, y}, swapped[] = {b, y, x};
  SAME(sci_val_op(s, SCI_OP_select, SC_FLOAT64, args), sci_val_op(s, SCI_OP_select, SC_FLOAT64, swapped));
  /* folding: a NaN of numbers stays an operation, but for a product */
  cr_expect(sci_val_is_const(s, OP1(sin, num(1))));
  cr_expect_not(sci_val_is_const(s, OP1(sqrt, num(-1))));
  cr_expect_not(sci_val_is_const(s, OP2(div, num(0), num(0))));
  cr_expect(sci_val_is_const(s, OP2(mul, num(0), num(INFINITY))));
  cr_expect_neq(num(0), num(-0.0));
  SAME(num(NAN), num(-NAN));
}

static void indices(void) {
  sci_val i = sci_val_var(s, sci_new_var(s, "i")), j = sci_val_var(s, sci_new_var(s, "j")), q = input(SC_INT64);
  sci_val a = sci_idx_add(s, sci_idx_mul(s, i, 12), sci_idx_add(s, sci_idx_mul(s, j, 4), sci_val_int(s, 5)));
  sci_val b = sci_idx_add(s, sci_idx_mul(s, sci_idx_add(s, sci_idx_mul(s, i, 3), j), 4), sci_val_int(s, 5));
  SAME(a, b);
  SAME(sci_val_op2(s, SCI_OP_sub, a, sci_val_int(s, 5)), sci_idx_mul(s, sci_idx_add(s, j, sci_idx_mul(s, i, 3)), 4));
  SAME(sci_val_op2(s, SCI_OP_sub, a, a), sci_val_int(s, 0));
  SAME(sci_idx_div(s, a, 4), sci_idx_add(s, sci_idx_add(s, sci_idx_mul(s, i, 3), j), sci_val_int(s, 1)));
  SAME(sci_idx_mod(s, a, 4), sci_val_int(s, 1));
  SAME(sci_idx_mod(s, sci_idx_add(s, sci_idx_mul(s, i, 4), sci_val_int(s, -1)), 4), sci_val_int(s, 3));
  sci_affine f;
  cr_assert(
      sci_affine_of(s, sci_val_op2(s, SCI_OP_sub, sci_idx_mul(s, q, -2), sci_idx_add(s, i, sci_val_int(s, 7))), &f));
  cr_expect_eq(f.n, 2);
  cr_expect_eq(f.constant, -7);
  cr_expect_eq(f.terms[0].coefficient, -2);
  cr_expect_eq(f.terms[1].coefficient, -1);
  /* every coefficient reads back, the most negative too; a long sum stops being affine but stays right */
  int64_t ks[] = {INT64_MIN, INT64_MAX, -1, 1, 2, -7};
  for (size_t n = 0; n < sizeof ks / sizeof *ks; n++)
    for (size_t m = 0; m < sizeof ks / sizeof *ks; m++) {
      sci_val v =
          sci_idx_add(s, sci_idx_mul(s, i, ks[n]), sci_idx_add(s, sci_idx_mul(s, j, ks[m]), sci_val_int(s, ks[n])));
      cr_assert(sci_affine_of(s, v, &f));
      cr_expect_eq(f.constant, ks[n]);
      for (uint32_t t = 0; t < f.n; t++) cr_expect_eq(f.terms[t].coefficient, f.terms[t].term == i ? ks[n] : ks[m]);
    }
  sci_val sum = i;
  for (int n = 0; n < 100; n++) sum = sci_idx_add(s, sum, input(SC_INT64));
  cr_expect_not(sci_affine_of(s, sum, &f));
  cr_expect_eq(sci_idx_add(s, sum, sci_val_int(s, 0)), sum);
}

static void substitution(void) {
  sci_var iv = sci_new_var(s, "i"), jv = sci_new_var(s, "j");
  sci_val i = sci_val_var(s, iv), x = input(SC_FLOAT64), deep = x;
  for (int n = 0; n < 50000; n++) deep = OP1(sin, OP2(add, deep, num(n + 1)));
  sci_subst *m = sci_subst_new(s);
  cr_expect_eq(sci_subst_val(m, deep), deep);
  m = sci_subst_new(s);
  sci_subst_name(m, sci_value_at(s, x)->args[0], num(2));
  sci_val folded = sci_subst_val(m, deep);
  cr_expect(sci_val_is_const(s, folded));
  sci_subst_name(m, sci_value_at(s, x)->args[0], num(3));
  cr_expect_neq(sci_subst_val(m, OP2(add, x, num(1))), num(3));
  sci_subst_var(m, iv, sci_val_int(s, 3));
  SAME(sci_subst_val(m, sci_idx_add(s, sci_idx_mul(s, i, 4), sci_val_int(s, 1))), sci_val_int(s, 13));

  sci_buf in = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_INPUT, 8, "in"), window = sci_new_alias(s, in, 4, 4, "window");
  sci_buf table = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_INPUT, 80, "outer"),
          out = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_OUTPUT, 80, "out");
  sci_block_builder b, body;
  sci_block_begin(&b, s);
  sci_block_begin(&body, s);
  sci_name sum = sci_emit_mutable(&b, s, num(0), "sum");
  sci_val jval = sci_val_var(s, jv), v = sci_emit_load(&body, s, window, jval, "v");
  sci_emit_assign(&body, sum, OP2(add, sci_val_name(s, sum), v));
  sci_emit_loop(&b, s, SCI_LOOP_REDUCE, jv, 4, sci_block_end(&body, s));
  sci_emit_store(&b, out, i, sci_val_name(s, sum));
  sci_block original = sci_block_end(&b, s);
  sci_subst_buf(m, in, table, sci_idx_mul(s, i, 8));
  sci_block copy = sci_subst_block(m, original);
  cr_assert_eq(copy.n, 3);
  cr_expect_neq(copy.stmts[0].name, sum);
  const sci_loop *l = copy.stmts[1].loop;
  cr_expect_neq(l->var, jv);
  cr_expect_eq(l->body.stmts[0].buf, table);
  SAME(l->body.stmts[0].index,
       sci_idx_add(s, sci_val_var(s, l->var), sci_idx_add(s, sci_idx_mul(s, i, 8), sci_val_int(s, 4))));
  cr_expect_eq(l->body.stmts[1].name, copy.stmts[0].name);
  SAME(copy.stmts[2].index, sci_val_int(s, 3));
  SAME(copy.stmts[2].value, sci_val_name(s, copy.stmts[0].name));
  sci_block again = sci_subst_block(m, original);
  cr_expect_neq(again.stmts[0].name, copy.stmts[0].name);
  SAME(again.stmts[2].value, sci_val_name(s, again.stmts[0].name));
}

static void tables(void) {
  double a[] = {1, 2, 3}, b[] = {1, 2, 4};
  sci_buf first = sci_const_table(s, SC_FLOAT64, 3, a, "a");
  cr_expect_eq(sci_const_table(s, SC_FLOAT64, 3, a, "b"), first);
  cr_expect_neq(sci_const_table(s, SC_FLOAT64, 3, b, "b"), first);
  cr_expect_neq(sci_const_table(s, SC_INT64, 3, a, "b"), first);
  for (int64_t n = 0; n < 1000; n++) sci_const_table(s, SC_INT64, 1, &n, NULL);
  cr_expect_eq(sci_const_table(s, SC_FLOAT64, 0, NULL, NULL), sci_const_table(s, SC_FLOAT64, 0, NULL, "empty"));
  cr_expect_eq(sci_const_table(s, SC_FLOAT64, 3, a, "b"), first);
  int64_t offset;
  sci_buf alias = sci_new_alias(s, sci_new_alias(s, first, 1, 2, NULL), 1, 1, NULL);
  cr_expect_eq(sci_storage(s, alias, &offset), first);
  cr_expect_eq(offset, 2);
}

Test(program, values) {
  begin();
  sci_frame fr;
  cr_assert(SCI_TRY(&env, &fr));
  s = sci_store_create(&env);
  identities();
  indices();
  substitution();
  tables();
  sci_leave(&env, &fr);
  end();
  NO_LEAKS();
}
