/* Owns the test that every simplification rule fires, keeps its class's promise, and obeys strict_nan. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "lib/expr/simplify.h"
#include "tests/oracle/oracle.h"

/* A function of x, y (float64) and the conditions p, q to which the rule applies. */
static const struct {
  sci_rule rule;
  const char *body;
} cases[] = {
    {SCI_RULE_neg_const_product, "neg(mul(%x, 3))"},
    {SCI_RULE_neg_const_product_left, "neg(mul(3, %x))"},
    {SCI_RULE_neg_difference, "neg(sub(%x, %y))"},
    {SCI_RULE_add_minus_zero, "add(%x, -0)"},
    {SCI_RULE_add_minus_zero_left, "add(-0, %x)"},
    {SCI_RULE_add_zero, "add(%x, 0)"},
    {SCI_RULE_add_zero_left, "add(0, %x)"},
    {SCI_RULE_add_negated, "add(%x, neg(%y))"},
    {SCI_RULE_add_negated_left, "add(neg(%x), %y)"},
    {SCI_RULE_sub_negated, "sub(%x, neg(%y))"},
    {SCI_RULE_sub_minus_zero, "sub(%x, -0)"},
    {SCI_RULE_sub_from_zero, "sub(0, %x)"},
    {SCI_RULE_sub_from_minus_zero, "sub(-0, %x)"},
    {SCI_RULE_sub_self, "sub(%x, %x)"},
    {SCI_RULE_mul_zero, "mul(%x, 0)"},
    {SCI_RULE_mul_zero_left, "mul(-0, %x)"},
    {SCI_RULE_mul_minus_one, "mul(%x, -1)"},
    {SCI_RULE_mul_minus_one_left, "mul(-1, %x)"},
    {SCI_RULE_mul_negated_both, "mul(neg(%x), neg(%y))"},
    {SCI_RULE_mul_negated_const, "mul(neg(%x), 3)"},
    {SCI_RULE_mul_const_negated, "mul(3, neg(%x))"},
    {SCI_RULE_mul_negated, "mul(neg(%x), %y)"},
    {SCI_RULE_mul_negated_right, "mul(%x, neg(%y))"},
    {SCI_RULE_div_from_zero, "div(0, %x)"},
    {SCI_RULE_div_minus_one, "div(%x, -1)"},
    {SCI_RULE_div_negated_both, "div(neg(%x), neg(%y))"},
    {SCI_RULE_div_negated, "div(neg(%x), %y)"},
    {SCI_RULE_div_by_negated, "div(%x, neg(%y))"},
    {SCI_RULE_abs_negated, "abs(neg(%x))"},
    {SCI_RULE_abs_abs, "abs(abs(%x))"},
    {SCI_RULE_select_negated, "select(not(%p), %x, %y)"},
    {SCI_RULE_select_again, "select(%p, select(%p, %x, %y), 5)"},
    {SCI_RULE_select_again_right, "select(%p, 5, select(%p, %x, %y))"},
    {SCI_RULE_not_not, "select(not(not(%p)), %x, %y)"},
    {SCI_RULE_and_self, "select(and(%p, %p), %x, %y)"},
    {SCI_RULE_or_self, "select(or(%p, %p), %x, %y)"},
    {SCI_RULE_guarded_norm,
     "select(eq(sum(mul(stack(%x, %y), stack(%x, %y))), 0), 0, sqrt(sum(mul(stack(%x, %y), stack(%x, %y)))))"},
};

static const double edges[] = {0.0, -0.0, 1, -1, 2.5, -3e-310, 1e300, INFINITY, -INFINITY, NAN};
enum { N_CASES = sizeof cases / sizeof *cases, N_EDGES = sizeof edges / sizeof *edges };

static sc_function *parse(sc_context *cx, const char *body) {
  char text[512];
  snprintf(text, sizeof text,
           "expr.func @f(%%x: tensor<float64>, %%y: tensor<float64>, %%p: tensor<bool>) -> (%%r) { return %s }", body);
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  cr_assert(m, "%s: %s", body, m ? "" : sc_context_error(cx)->message);
  sc_function *f = sc_module_text_function(m, 0);
  sc_module_text_free(m);
  return f;
}

static uint64_t value_of(const sc_function *f, double x, double y, uint8_t p) {
  double r;
  ora_eval_function(f, (const void *[]){&x, &y, &p}, (void *[]){&r});
  return sci_scalar_bits(SC_FLOAT64, (sci_scalar){.f64 = r});
}

static void check_case(int i, bool *seen) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = parse(cx, cases[i].body);
  sci_frame fr;
  cr_assert(SCI_TRY(&cx->env, &fr));
  uint32_t counts[SCI_RULE_COUNT] = {0};
  sc_function *g = sci_simplify(cx, f, true, counts);
  cr_expect(counts[cases[i].rule] > 0, "%s does not fire on %s", sci_rule_name(cases[i].rule), cases[i].body);
  seen[cases[i].rule] = true;
  cr_expect_eq(sc_verify(g), SC_OK);
  /* With strict_nan whatever still fires is exact, everywhere. */
  sc_function_set_strict_nan(f, true);
  sc_function *exact = sci_simplify(cx, f, true, NULL);
  for (int k = 0; k < N_EDGES * N_EDGES * 2; k++) {
    double x = edges[k % N_EDGES], y = edges[k / N_EDGES % N_EDGES];
    uint8_t p = k / (N_EDGES * N_EDGES) != 0;
    cr_expect_eq(value_of(f, x, y, p), value_of(exact, x, y, p), "%s changes %s at %g, %g",
                 sci_rule_name(cases[i].rule), cases[i].body, x, y);
  }
  /* Away from the edges no rule changes anything. */
  uint64_t before = value_of(f, 1.75, -0.3, 1), after = value_of(g, 1.75, -0.3, 1);
  cr_expect(before == after || (before << 1 == 0 && after << 1 == 0), "%s",
            cases[i].body); /* zeros may lose their sign */
  sci_leave(&cx->env, &fr);
  sc_context_destroy(cx);
}

Test(rules, every_rule_fires_and_keeps_its_promise) {
  bool seen[SCI_RULE_COUNT] = {false};
  for (int i = 0; i < N_CASES; i++) check_case(i, seen);
  for (int r = 0; r < SCI_RULE_COUNT; r++) cr_expect(seen[r], "no case for the rule %s", sci_rule_name((sci_rule)r));
}

Test(rules, strict_functions_keep_unsafe_operations) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = parse(cx, "add(mul(%x, 0), sub(%y, %y))");
  sci_frame fr;
  cr_assert(SCI_TRY(&cx->env, &fr));
  sc_function_set_strict_nan(f, true);
  cr_expect_eq(sci_simplify(cx, f, true, NULL), f);
  sc_function_set_strict_nan(f, false);
  sc_function *g = sci_simplify(cx, f, true, NULL);
  cr_expect_str_eq(sc_expr_op(sc_function_output(g, 0)), "const");
  sci_leave(&cx->env, &fr);
  sc_context_destroy(cx);
}
