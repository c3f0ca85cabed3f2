/* A program outside the tree that uses an installed Scaly: one function to C text and, where there is LLVM, to machine
 * code. */
#include <scaly/scaly.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  sc_context *cx = sc_context_create(NULL);
  const int64_t shape[] = {3};
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, shape);
  sc_expr y = sc_sum(sc_mul(x, x));
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x}), SC_OUT({"y", y}));
  sc_module *m = sc_render_c(f, NULL);
  printf("c: %d ", m && strstr(sc_module_source(m), "int f("));
  sc_module_destroy(m);

  const sc_jit_options options = {.plugin_dir = getenv("SCALY_PLUGINS")};
  sc_kernel *k = sc_jit(f, &options);
  const double in[] = {1, 2, 3};
  double out = 0;
  const void *arg[] = {in};
  void *res[] = {&out};
  printf("jit: %d\n", k && sc_kernel_call(k, arg, res, NULL) == SC_KERNEL_SUCCESS && out == 14);
  sc_kernel_release(k);
  sc_context_destroy(cx);
  return 0;
}
