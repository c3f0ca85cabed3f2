/* Owns running derived functions every way there is. */
#include "tests/unit/ad/ways.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/oracle/oracle.h"

const char *const way_names[N_WAYS] = {"evaluator", "llvm", "gcc", "clang"};

static sc_kernel *compile(sc_function *f, int way) {
  sc_lower_options lower = {.verify_each = true};
  if (way == 1) {
#ifdef SCALY_TEST_LLVM
    return sc_jit(f, &(sc_jit_options){.lower = &lower, .plugin_dir = SCALY_TEST_PLUGIN_DIR});
#else
    return NULL;
#endif
  }
  static const char *const gcc[] = {"gcc", NULL}, *const clang[] = {"clang", NULL}, *const flags[] = {"-O1", NULL};
  return sc_compile_cc(f, &(sc_cc_options){.compiler = way == 2 ? gcc : clang, .flags = flags, .lower = &lower});
}

bool way_run(sc_function *f, int way, const double *in, double *out) {
  const void *arg[16] = {0};
  void *res[16] = {0};
  size_t n_in = sc_function_input_count(f), n_out = sc_function_output_count(f);
  cr_assert(n_in <= 16 && n_out <= 16);
  for (size_t i = 0; i < n_in; i++) {
    arg[i] = in;
    in += sc_expr_size(sc_function_input(f, i));
  }
  for (size_t i = 0; i < n_out; i++) {
    res[i] = out;
    out += sc_expr_size(sc_function_output(f, i));
  }
  if (way == 0) {
    ora_eval_function(f, arg, res);
    return true;
  }
  sc_context *cx = sc_function_context(f);
  sc_kernel *k = compile(f, way);
  if (!k) {
    const sc_diagnostic *e = sc_context_error(cx);
    cr_assert(!e || e->status == SC_ERR_UNAVAILABLE, "%s: %s", way_names[way], e ? e->message : "");
    sc_context_clear_error(cx);
    return false;
  }
  cr_assert_eq(sc_kernel_call(k, arg, res, NULL), SC_KERNEL_SUCCESS);
  sc_kernel_release(k);
  return true;
}

sc_function *way_derive(sc_function *f, const char *const *requests, int n, const sc_options *options) {
  sc_context *cx = sc_function_context(f);
  sc_request r[16];
  for (int i = 0; i < n; i++)
    cr_assert_eq(sc_request_parse(cx, requests[i], &r[i]), SC_OK, "%s: %s", requests[i],
                 sc_context_error(cx) ? sc_context_error(cx)->message : "");
  sc_function *g = sc_function_derive(f, NULL, r, (size_t)n, options);
  cr_assert(g, "%s: %s", requests[0], sc_context_error(cx) ? sc_context_error(cx)->message : "");
  cr_assert_eq(sc_verify(g), SC_OK);
  return g;
}
