/* Owns the tests of derivatives that functions bring along, and of the options of differentiation. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/ad/ways.h"

static sc_function *parse(sc_context *cx, const char *text, const char *name) {
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  if (!m) return NULL;
  sc_function *f = sc_module_text_find(m, name);
  sc_module_text_free(m);
  return f;
}

/* y = (x0 exp(x1), sin(x2) p), s = x0 x2; and its derivatives, each right, or `wrong` times what is right. */
static const char pieces[] =
    "expr.func @f(%x: tensor<3xfloat64>, %p: tensor<float64>, %n: tensor<int64>) -> (%y, %s) {"
    "  return stack(mul(%x[0], exp(%x[1])), mul(sin(%x[2]), %p)), mul(%x[0], %x[2]) }"
    "expr.func @j(%x: tensor<3xfloat64>, %p: tensor<float64>, %n: tensor<int64>, %v: tensor<3xfloat64>, %q: "
    "tensor<float64>) -> (%y, %s) {"
    "  %e = exp(%x[1])"
    "  return stack(mul(SCALE, add(mul(%v[0], %e), mul(mul(%x[0], %e), %v[1]))), mul(SCALE, add(mul(mul(cos(%x[2]), "
    "%v[2]), %p), mul(sin(%x[2]), %q)))),"
    "         mul(SCALE, add(mul(%v[0], %x[2]), mul(%x[0], %v[2]))) }"
    "expr.func @v(%x: tensor<3xfloat64>, %p: tensor<float64>, %n: tensor<int64>, %a: tensor<2xfloat64>, %b: "
    "tensor<float64>) -> (%x1, %p1) {"
    "  %e = exp(%x[1])"
    "  return stack(mul(SCALE, add(mul(%a[0], %e), mul(%b, %x[2]))), mul(SCALE, mul(%a[0], mul(%x[0], %e))), "
    "         mul(SCALE, add(mul(mul(%a[1], cos(%x[2])), %p), mul(%b, %x[0])))), mul(SCALE, mul(%a[1], sin(%x[2]))) }";

static sc_function *custom(sc_context *cx, const char *scale, bool jvp, bool vjp) {
  char text[4096] = {0}, *to = text;
  for (const char *s = pieces; *s; s++) {
    if (!strncmp(s, "SCALE", 5))
      *to++ = *scale, s += 4;
    else
      *to++ = *s;
  }
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  cr_assert(m, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
  sc_function *f = sc_module_text_find(m, "f");
  if (jvp || vjp)
    f = sc_custom_derivative(f, jvp ? sc_module_text_find(m, "j") : NULL, vjp ? sc_module_text_find(m, "v") : NULL,
                             NULL);
  cr_assert(f, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
  sc_module_text_free(m);
  return f;
}

/* The function itself; called; called twice in a row; mapped over three windows that overlap, p and n shared. */
enum { ITSELF, CALLED, TWICE, MAPPED, N_USES };

static sc_function *use(sc_context *cx, sc_function *f, int how) {
  if (how == ITSELF) return f;
  sc_expr p = sc_input(cx, "p", SC_FLOAT64, 0, NULL), n = sc_input(cx, "n", SC_INT64, 0, NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){how == MAPPED ? 5 : 3}), args[] = {sc_sin(x), p, n}, y, s;
  if (how == MAPPED) {
    args[0] = x;
    args[1] = sc_reshape(p, 1, (int64_t[]){1}), args[2] = sc_reshape(n, 1, (int64_t[]){1});
    y = sc_vmap_windows(f, 3, args, 3, (int64_t[]){0, 0, 0}, (int64_t[]){1, 0, 0}, 0);
    s = sc_sum(sc_mul(y, y));
  } else {
    y = sc_call(f, args, 3, 0), s = sc_call(f, args, 3, 1);
    if (how == TWICE) {
      args[0] = sc_concat((sc_expr[]){y, sc_reshape(s, 1, (int64_t[]){1})}, 2, 0);
      args[1] = sc_stop_gradient(p);
      y = sc_call(f, args, 3, 0), s = sc_call(f, args, 3, 1);
    }
  }
  return sc_function_create(cx, "use", SC_IN({"x", x, NULL}, {"p", p, NULL}, {"n", n, NULL}),
                            SC_OUT({"y", y, NULL}, {"s", s, NULL}));
}

static const char *const requests[] = {"y",         "s",         "jac:y:x+p",  "grad:s:x+p", "fwd:y:x+p",
                                       "adj:y:x+p", "spjac:y:x", "hess:s:x+p", "laghess:x"};
enum { N_REQUESTS = sizeof requests / sizeof *requests };

static void values_of(const char *scale, bool jvp, bool vjp, int how, int n, int way, double *out) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *g = way_derive(use(cx, custom(cx, scale, jvp, vjp), how), requests, n, NULL);
  double in[64] = {0};
  size_t at = 0;
  for (size_t i = 0; i < sc_function_input_count(g); i++)
    for (int64_t k = 0; k < sc_expr_size(sc_function_input(g, i)); k++)
      if (strcmp(sc_function_input_name(g, i), "n"))
        in[at] = 0.2 + fmod((double)at * 0.618, 1.0), at++;
      else
        at++;
  way_run(g, way, in, out);
  sc_context_destroy(cx);
}

/* Every use and request: derivatives brought along, forward only, reverse only or both, say what plain rules say. */
Test(custom, right_derivatives_agree_with_plain_ones) {
  for (int how = 0; how < N_USES; how++) {
    double plain[512] = {0}, own[512];
    values_of("1", false, false, how, N_REQUESTS, 0, plain);
    for (int rules = 1; rules < 4; rules++)
      for (int way = 0; way < N_WAYS; way++) {
        if (way && rules != 1 + how % 3) continue;
        memset(own, 0, sizeof own);
        values_of("1", rules & 1, rules & 2, how, N_REQUESTS, way, own);
        if (way && own[0] == 0) continue; /* that compiler is missing */
        for (int k = 0; k < 512; k++)
          cr_expect(fabs(own[k] - plain[k]) <= 1e-12 * (1 + fabs(plain[k])),
                    "use %d, rules %d, %s: value %d is %.17g, not %.17g", how, rules, way_names[way], k, own[k],
                    plain[k]);
      }
  }
}

/* Wrong ones show that they are used: the first derivatives of one use are twice the right ones, those of two in a row
 * four times. */
Test(custom, other_derivatives_are_used) {
  for (int how = 0; how < N_USES; how++)
    for (int rules = 1; rules < 4; rules++) {
      double right[512] = {0}, own[512] = {0}, factor = how == TWICE ? 4 : 2;
      values_of("1", true, true, how, 7, 0, right);
      values_of("2", rules & 1, rules & 2, how, 7, 0, own);
      int n_values = how == MAPPED ? 7 : 3;
      for (int k = 0; k < 512; k++) {
        double want = right[k] * (k < n_values ? 1 : factor);
        cr_expect(fabs(own[k] - want) <= 1e-12 * (1 + fabs(want)), "use %d, rules %d: value %d is %.17g, not %.17g",
                  how, rules, k, own[k], want);
      }
    }
}

/* A step that passes derivatives straight through; its own body has none at all. Structure follows the derivative, or
 * what is stated. */
static const char straight[] =
    "expr.func @step(%x: tensor<4xfloat64>) -> (%y) { return floor(%x) }"
    "expr.func @pass(%x: tensor<4xfloat64>, %v: tensor<4xfloat64>) -> (%y) { return mul(%v, 3) }"
    "expr.func @step2(%x: tensor<4xfloat64>) -> (%y: tensor<4xfloat64>) {RULES} { return floor(%x) }"
    "expr.func @outer(%x: tensor<4xfloat64>) -> (%y) { return mul(expr.call(%x) {callee=\"step2\"}, %x) }"
    "expr.func @map(%x: tensor<12xfloat64>) -> (%y) { return expr.vmap(%x) {callee=\"step2\", length=3, starts=[0], "
    "strides=[4]} }";

Test(custom, text_and_structure) {
  static const char *const rules[] = {
      "jvp=\"pass\"", "vjp=\"pass\"", "jvp=\"pass\", vjp=\"pass\"",
      "jvp=\"pass\", jacobian=sparse<4x4xfloat64 csr rowptr=[0, 2, 4, 5, 6] colind=[0, 1, 0, 1, 2, 3]>"};
  for (int k = 0; k < 4; k++) {
    char text[2048];
    const char *gap = strstr(straight, "RULES");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(gap - straight), straight, rules[k], gap + 5);
    sc_context *cx = sc_context_create(NULL), *other = sc_context_create(NULL);
    sc_function *f = parse(cx, text, "outer"), *map = parse(cx, text, "map");
    cr_assert(f && map, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
    /* Print, parse, print. */
    char *once = sc_print_function(f);
    sc_function *again = parse(other, once, "outer");
    cr_assert(again, "%s\n%s", once, sc_context_error(other) ? sc_context_error(other)->message : "");
    char *twice = sc_print_function(again);
    cr_expect_str_eq(once, twice);
    cr_expect(strstr(once, k == 1 ? "vjp=\"pass\"" : "jvp=\"pass\"") && !strstr(once, "jvp") == (k == 1) &&
              !strstr(once, "jacobian=") == (k != 3));
    sc_string_free(cx, once), sc_string_free(other, twice);
    sc_context_destroy(cx);
    /* What nobody holds but the function stays through a collection. */
    sc_function_release(again);
    f = sc_function_create(other, "kept", SC_IN({"x", sc_function_input(again, 0), NULL}),
                           SC_OUT({"y", sc_function_output(again, 0), NULL}));
    cr_assert_eq(sc_context_collect(other, NULL, 0), SC_OK);
    cr_assert_eq(sc_verify(f), SC_OK);
    sc_function *g = way_derive(f, (const char *const[]){"spjac:y:x", "grad:y:x"}, 1, NULL);
    double in[4] = {1.5, 2.25, -3.5, 4.75}, out[16] = {0}, want[] = {1 + 4.5, 2 + 6.75, -4 - 10.5, 4 + 14.25};
    cr_expect_eq(sc_function_output_pattern(g, 0)->nnz, k == 3 ? 6 : 4);
    cr_assert(way_run(g, 0, in, out));
    for (int i = 0, at = 0; i < 4; i++) {
      if (k == 3 && i < 2) at += i;
      cr_expect_eq(out[at], want[i], "rules %d: %g, not %g", k, out[at], want[i]);
      at += k == 3 && i == 0 ? 2 : 1;
      if (k == 3 && i == 0) at = 2;
    }
    sc_context_destroy(other);
  }
}

Test(custom, what_does_not_fit_is_named) {
  static const struct {
    const char *attribute, *extra, *says;
  } cases[] = {
      {"jvp=\"g\"", "expr.func @g(%x: tensor<4xfloat64>) -> (%y) { return %x }", "jvp g has 1 inputs, not 2"},
      {"vjp=\"g\"", "expr.func @g(%x: tensor<4xfloat64>, %w: tensor<4xfloat64>) -> (%y, %z) { return %x, %x }",
       "vjp g has 2 outputs, not 1"},
      {"jvp=\"g\"", "expr.func @g(%x: tensor<4xfloat64>, %w: tensor<3xfloat64>) -> (%y) { return %x }",
       "input w of the jvp g is the tangent of input x, a float64 of shape 4, but is a float64 of shape 3"},
      {"vjp=\"g\"", "expr.func @g(%x: tensor<4xfloat64>, %w: tensor<4xfloat32>) -> (%y) { return %x }",
       "input w of the vjp g is the adjoint of output y, a float64 of shape 4, but is a float32 of shape 4"},
      {"vjp=\"g\"", "expr.func @g(%x: tensor<4xfloat64>, %w: tensor<4xfloat64>) -> (%r) { return sum(%x) }",
       "output r of the vjp g is the adjoint of input x, a float64 of shape 4, but is a float64 of shape scalar"},
      {"jvp=\"nobody\"", "", "there is no function @nobody"},
      {"jvp=\"step\"", "", "@step calls itself"},
      {"jacobian=sparse<4x4xfloat64 csr rowptr=[0, 0, 0, 0, 0] colind=[]>", "", "neither a jvp nor a vjp"},
      {"jvp=\"g\", jacobian=sparse<4x5xfloat64 csr rowptr=[0, 0, 0, 0, 0] colind=[]>",
       "expr.func @g(%x: tensor<4xfloat64>, %w: tensor<4xfloat64>) -> (%y) { return %w }", "pattern is 4x5"},
      {"jvp=\"g\", jacobian=tensor<4x4xfloat64>",
       "expr.func @g(%x: tensor<4xfloat64>, %w: tensor<4xfloat64>) -> (%y) { return %w }", "is a sparse type"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "%s expr.func @step(%%x: tensor<4xfloat64>) -> (%%y: tensor<4xfloat64>) {%s} { return floor(%%x) }",
             cases[i].extra, cases[i].attribute);
    sc_context *cx = sc_context_create(NULL);
    cr_expect_null(parse(cx, text, "step"));
    const sc_diagnostic *e = sc_context_error(cx);
    cr_expect(e && strstr(e->message, cases[i].says), "case %d: %s", (int)i, e ? e->message : "accepted");
    sc_context_destroy(cx);
  }
  sc_context *cx = sc_context_create(NULL), *other = sc_context_create(NULL);
  sc_function *f = custom(cx, "1", false, false), *g = custom(other, "1", false, false);
  cr_expect_null(sc_custom_derivative(f, g, NULL, NULL));
  cr_expect(strstr(sc_context_error(cx)->message, "another context"));
  sc_context_destroy(cx), sc_context_destroy(other);
}

/* ---- options ---- */

static const char *const kinks[] = {"minimum(%x, %y)", "maximum(%x, %y)", "max(stack(%x, %y))", "min(stack(%x, %y))",
                                    "abs(sub(%x, %y))"};

Test(options, ties) {
  static const double expected[3][5][2] = {
      [SC_NONSMOOTH_SPLIT] = {{.5, .5}, {.5, .5}, {.5, .5}, {.5, .5}, {0, 0}},
      [SC_NONSMOOTH_FIRST] = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {0, 0}},
  };
  for (int k = 0; k < 5; k++)
    for (sc_nonsmooth how = SC_NONSMOOTH_SPLIT; how <= SC_NONSMOOTH_ERROR; how++)
      for (int mapped = 0; mapped < 2; mapped++) {
        char text[512];
        snprintf(text, sizeof text,
                 "expr.func @g(%%x: tensor<float64>, %%y: tensor<float64>) -> (%%f) { return %s }"
                 "expr.func @h(%%x: tensor<float64>, %%y: tensor<float64>) -> (%%f) { return expr.call(%%x, %%y) "
                 "{callee=\"g\"} }",
                 kinks[k]);
        sc_context *cx = sc_context_create(NULL);
        sc_function *f = parse(cx, text, mapped ? "h" : "g");
        if (how == SC_NONSMOOTH_ERROR) {
          cr_expect_null(sc_gradient(f, "f", "x+y", &(sc_options){.nonsmooth = how}));
          cr_expect(sc_context_error(cx) && strstr(sc_context_error(cx)->message, "not differentiable"), "%s",
                    kinks[k]);
        } else {
          sc_function *split =
              way_derive(f, (const char *const[]){"grad:f:x+y"}, 1, NULL); /* cached callees are told apart */
          sc_function *d = way_derive(f, (const char *const[]){"grad:f:x+y", "jac:f:x+y", "fwd:f:x+y"}, 3,
                                      &(sc_options){.nonsmooth = how});
          double in[4] = {2, 2, 1, 0}, out[5], first[2];
          cr_assert(way_run(d, 0, in, out) && way_run(split, 0, in, first));
          for (int i = 0; i < 5; i++)
            cr_expect_eq(out[i], expected[how][k][i == 4 ? 0 : i % 2], "%s, %d: value %d is %g", kinks[k], (int)how, i,
                         out[i]);
          cr_expect(first[0] == expected[0][k][0] && first[1] == expected[0][k][1]);
        }
        sc_context_destroy(cx);
      }
  /* The first of several ties, along either axis. */
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = parse(cx, "expr.func @g(%x: tensor<2x3xfloat64>) -> (%f) { return sum(max(%x) {axes=[1]}) }", "g");
  sc_function *d =
      way_derive(f, (const char *const[]){"grad:f:x", "jac:f:x"}, 2, &(sc_options){.nonsmooth = SC_NONSMOOTH_FIRST});
  double in[] = {1, 5, 5, 7, 7, 7}, out[12], want[] = {0, 1, 0, 1, 0, 0};
  cr_assert(way_run(d, 0, in, out));
  for (int i = 0; i < 12; i++) cr_expect_eq(out[i], want[i % 6], "value %d is %g", i, out[i]);
  sc_context_destroy(cx);
}

/* Strict: 0 times infinity stays NaN, and printing says so; otherwise the zero factor is dropped. Also in callees. */
Test(options, strict_nan) {
  static const char text[] =
      "expr.func @g(%x: tensor<float64>, %y: tensor<float64>) -> (%f) { return mul(sub(%x, %x), exp(%y)) }"
      "expr.func @h(%x: tensor<float64>, %y: tensor<float64>) -> (%f) { return expr.call(%x, %y) {callee=\"g\"} }";
  for (int called = 0; called < 2; called++)
    for (int strict = 0; strict < 2; strict++)
      for (int way = 0; way < N_WAYS; way++) {
        sc_context *cx = sc_context_create(NULL);
        sc_function *f = parse(cx, text, called ? "h" : "g");
        sc_function *d = way_derive(f, (const char *const[]){"grad:f:y"}, 1, &(sc_options){.strict_nan = strict});
        cr_expect_eq(sc_function_strict_nan(d), strict != 0);
        char *printed = sc_print_function(d);
        cr_expect_eq(strstr(printed, "strict_nan=true") != NULL, strict != 0);
        sc_string_free(cx, printed);
        double in[] = {1, 1000}, out[1] = {7};
        if (way_run(d, way, in, out)) cr_expect(strict ? isnan(out[0]) : out[0] == 0, "%s: %g", way_names[way], out[0]);
        sc_context_destroy(cx);
      }
}
