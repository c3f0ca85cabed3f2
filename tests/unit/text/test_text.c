/* Owns the tests of printing, of round trips that golden files cannot make, and of the public functions for text. */
#define _GNU_SOURCE /* pthread attributes */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "lib/program/value.h"
#include "lib/text/text.h"
#include "scaly/scaly.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define NO_LEAKS() cr_assert(!__lsan_do_recoverable_leak_check())
enum { CHAIN = 100000, STACK = 1 << 20 };
#else
#define NO_LEAKS() (void)0
enum { CHAIN = 1000000, STACK = 256 << 10 };
#endif

static sc_context *cx;

static void begin(void) {
  cx = sc_context_create(NULL);
}

static void end(void) {
  sc_context_destroy(cx);
  NO_LEAKS();
}

TestSuite(text, .init = begin, .fini = end);

static const char *why(sc_context *c) {
  return sc_context_error(c) ? sc_context_error(c)->message : "no reason";
}

static sc_function *parse(sc_context *c, const char *text) {
  sc_module_text *m = sc_parse(c, text, strlen(text), NULL);
  cr_assert(m, "%s\n%s", why(c), text);
  sc_function *f = sc_module_text_find(m, NULL);
  sc_module_text_free(m);
  return f;
}

/* In a context of its own and once more in the one it came from: text must not depend on what else a context holds. */
static void round_trip(const sc_function *f) {
  char *text = sc_print_function(f);
  cr_assert(text, "%s", why(cx));
  sc_context *other = sc_context_create(NULL);
  sc_context *contexts[2] = {other, cx};
  for (int i = 0; i < 2; i++) {
    sc_function *g = parse(contexts[i], text);
    char *again = sc_print_function(g);
    cr_assert_str_eq(again, text);
    cr_assert_eq(sc_verify(g), SC_OK);
    sc_string_free(contexts[i], again);
    sc_function_release(g);
  }
  sc_context_destroy(other);
  sc_string_free(cx, text);
}

/* Graphs from the builders, which text must give back as they are: expansions, shared parts, constants of every kind.
 */
Test(text, builders_round_trip) {
  int64_t s3[] = {3}, s33[] = {3, 3};
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, s3), m = sc_input(cx, "m", SC_FLOAT64, 2, s33),
          t = sc_input(cx, "t", SC_FLOAT64, 0, NULL);
  sc_expr v[] = {
      sc_norm_2(x),
      sc_dot(x, sc_matmul(m, x)),
      sc_trace(m),
      sc_sum(sc_kron(m, sc_outer(x, x))),
      sc_sum(sc_cross(x, sc_at(m, -1))),
      sc_sum(sc_pow(x, sc_scalar(cx, 7))),
      sc_pow(t, sc_scalar(cx, -0.5)),
      sc_pow(t, t),
      sc_softplus(t),
      sc_sigmoid(t),
      sc_relu(t),
      sc_clip(t, sc_scalar(cx, -1), sc_scalar(cx, 1e-300)),
      sc_polyval((const double[]){1, -0.0, 3.25}, 3, t),
      sc_sum(sc_repmat(m, 2, 3)),
      sc_sum(sc_diag(x)),
      sc_sum(sc_diag(m)),
      sc_sum(sc_mul(sc_eye(cx, SC_FLOAT64, 3), m)),
      sc_sum(sc_mul(sc_linspace(cx, SC_FLOAT64, 0, 1, 3), x)),
      sc_sum(sc_slice(m, 2, (const sc_range[]){{SC_NONE, SC_NONE, -2}, SC_SPAN(0, 2)})),
      sc_sum(sc_concat(
          (const sc_expr[]){x, sc_zeros(cx, SC_FLOAT64, 1, (const int64_t[]){0}), sc_full(cx, SC_FLOAT64, 1, s3, NAN)},
          3, 0)),
      sc_select(sc_and(sc_gt(t, sc_scalar(cx, 0)), sc_isfinite(t)), sc_erf(t),
                sc_copysign(t, sc_scalar(cx, -INFINITY))),
      sc_sum(sc_index_set(x, sc_vec(sc_span(m, 0, 1)), (const int64_t[]){0, 0, -1})),
      sc_cast(sc_fmod(sc_cast(t, SC_INT32), sc_integer(cx, SC_INT32, INT32_MIN)), SC_FLOAT64),
      sc_stop_gradient(sc_hypot(t, t)),
  };
  size_t n = sizeof v / sizeof *v;
  sc_expr all = sc_stack(v, n, 0);
  cr_assert(!sc_is_null(all), "%s", why(cx));
  sc_function *f =
      sc_function_create(cx, "f", SC_IN({"x", x, NULL}, {"m", m, NULL}, {"t", t, NULL}), SC_OUT({"y", all, NULL}));
  cr_assert(f, "%s", why(cx));
  round_trip(f);
  sc_function_set_hint(f, SC_HINT_BLOCK);
  sc_function_set_strict_nan(f, true);
  round_trip(f);
  /* Only what a function reaches is printed, in an order of its own. */
  sc_expr late = sc_add(sc_mul(sc_scalar(cx, 5), t), sc_cos(sc_sin(t)));
  round_trip(sc_function_create(cx, "late", SC_IN({"t", t, NULL}), SC_OUT({"y", late, NULL})));
}

Test(text, functions_of_one_name) {
  sc_expr t = sc_input(cx, "t", SC_FLOAT64, 0, NULL), all = t;
  static const char *const names[] = {"g", "g", "g_1", "f", "g"};
  for (int i = 0; i < 5; i++) {
    sc_function *g =
        sc_function_create(cx, names[i], SC_IN({"t", t, NULL}), SC_OUT({"y", sc_mul(t, sc_scalar(cx, i + 2)), NULL}));
    all = sc_call(g, &all, 1, 0);
  }
  sc_function *f = sc_function_create(cx, "f", SC_IN({"t", t, NULL}), SC_OUT({"y", all, NULL}));
  char *text = sc_print_function(f);
  const char *at = text;
  static const char *const printed[] = {"func @g(",   "func @g_1(", "func @g_1_1(",
                                        "func @f_1(", "func @g_2(", "func @f("};
  for (int i = 0; i < 6; i++) {
    at = at ? strstr(at, printed[i]) : NULL;
    cr_assert(at, "%s\n%s", printed[i], text);
  }
  sc_string_free(cx, text);
  round_trip(f);
}

Test(text, public_functions) {
  static const char text[] = "expr.func @a(%x: tensor<3xfloat64>) -> (%y) { return sin(%x) }\n"
                             "expr.func @b(%x: tensor<2x3xfloat64>) -> (%y) { return sum(call(%x[0]) {callee=\"a\"}) }";
  sc_module_text *m = sc_parse(cx, text, sizeof text - 1, "file.scaly");
  cr_assert(m && sc_module_text_count(m) == 2);
  sc_function *a = sc_module_text_function(m, 0), *b = sc_module_text_find(m, "b");
  cr_expect_str_eq(sc_function_name(a), "a");
  cr_expect(b && b == sc_module_text_function(m, 1) && b == sc_module_text_find(m, NULL) &&
            a == sc_module_text_find(m, "a"));
  cr_expect(!sc_module_text_function(m, 2) && !sc_module_text_find(m, "c"));
  cr_assert_str_eq(why(cx), "the text has no function \"c\" (there are: a, b)");
  sc_context_clear_error(cx);
  sc_module_text_free(m);
  cr_expect(sc_function_output_count(b) == 1, "functions outlive the module");

  sc_expr sum = sc_function_output(b, 0), call = sc_expr_arg(sum, 0), slice = sc_expr_arg(call, 0);
  const struct {
    sc_expr e;
    const char *text;
  } attributes[] = {
      {sum, ""},
      {call, "{callee=\"a\", output=0}"},
      {slice, "{index=[0, :]}"},
      {sc_expr_arg(slice, 0), "{name=\"x\"}"},
      {sc_sum_axes(sc_function_input(b, 0), 1, (const int[]){1}), "{axes=[1]}"},
      {sc_with_hint(sc_sin(sum), SC_HINT_SCALAR), "{lowering=\"scalar\"}"},
      {sc_scalar(cx, 2.5), "{value=2.5}"},
  };
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    char *s = sc_expr_attributes(attributes[i].e);
    cr_expect_str_eq(s, attributes[i].text);
    sc_string_free(cx, s);
  }
  cr_expect(!sc_expr_attributes((sc_expr){0}) && !sc_print_function(NULL) && !sc_print_program(NULL));
  cr_expect(!sc_parse(NULL, "", 0, NULL) && !sc_parse(cx, NULL, 3, NULL) &&
            sc_context_error(cx)->status == SC_ERR_ARGUMENT);
  sc_context_clear_error(cx);
  cr_expect_eq(sc_context_collect(cx, NULL, 0), SC_OK);
  cr_expect(!sc_expr_attributes(slice) && sc_context_error(cx)->status == SC_ERR_STALE);
  sc_module_text_free(NULL);
}

/* ---- depth ---- */

static void in_small_stack(void *(*work)(void *)) {
  pthread_attr_t attr;
  pthread_t thread;
  pthread_attr_init(&attr);
  cr_assert_eq(pthread_attr_setstacksize(&attr, STACK), 0);
  cr_assert_eq(pthread_create(&thread, &attr, work, NULL), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
}

static void *long_chain(void *unused) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (const int64_t[]){3}), y = x;
  for (int i = 0; i < CHAIN; i++) y = i % 2 ? sc_sin(y) : sc_mul(y, x);
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  char *text = sc_print_function(f);
  sc_context *other = sc_context_create(NULL);
  sc_function *g = parse(other, text);
  char *again = sc_print_function(g);
  cr_assert_str_eq(again, text);
  sc_string_free(other, again);
  sc_context_destroy(other);
  sc_string_free(cx, text);
  return unused;
}

Test(text, a_long_chain_needs_no_stack) {
  in_small_stack(long_chain);
}

/* y[0] = v_n, v_k = v_{k-1} * v_{k-1} + x: as a tree it would have 2^n leaves. */
static sc_program *deep_program(int n) {
  sci_env *env = &cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  sci_store *s = sci_store_create(env);
  sci_buf x = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_INPUT, 1, "x"),
          y = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_OUTPUT, 1, "y");
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_val a = sci_emit_load(&b, s, x, sci_val_int(s, 0), "a"), v = a;
  for (int i = 0; i < n; i++) v = sci_val_op2(s, SCI_OP_add, sci_val_op2(s, SCI_OP_mul, v, v), a);
  sci_emit_store(&b, y, sci_val_int(s, 0), v);
  sci_proc *proc = SCI_NEW(&s->arena, sci_proc);
  sci_buf *params = SCI_ARRAY(&s->arena, sci_buf, 2);
  params[0] = x;
  params[1] = y;
  *proc = (sci_proc){.name = "f", .n_in = 1, .n_out = 1, .params = params, .body = sci_block_end(&b, s)};
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, 1);
  sci_port_info *ports = SCI_ZEROS(&s->arena, sci_port_info, 2);
  procs[0] = proc;
  ports[0].name = "x";
  ports[1].name = "y";
  sc_program *p = sci_program_create(cx, s);
  p->name = "f";
  p->n_procs = 1;
  p->procs = procs;
  p->ports = ports;
  sc_target_preset("generic", &p->target);
  sci_keep(env, p);
  sci_leave(env, &fr);
  return p;
}

static void *deep_values(void *unused) {
  size_t length[2];
  for (int k = 0; k < 2; k++) {
    sc_program *p = deep_program((k + 1) * CHAIN / 20);
    cr_assert(p, "%s", why(cx));
    char *text = sc_print_program(p);
    length[k] = strlen(text);
    sc_context *other = sc_context_create(NULL);
    sc_program *q = sc_parse_program(other, text, length[k], NULL);
    cr_assert(q, "%s", why(other));
    char *again = sc_print_program(q);
    cr_assert_str_eq(again, text);
    sc_string_free(other, again);
    sc_program_destroy(q);
    sc_context_destroy(other);
    sc_string_free(cx, text);
    sc_program_destroy(p);
  }
  cr_assert_lt(length[1], length[0] * 9 / 4, "text grows with the values, not with the tree");
  return unused;
}

Test(text, deep_values_are_linear_text) {
  in_small_stack(deep_values);
}
