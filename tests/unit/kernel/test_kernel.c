/* Owns the tests of kernels as objects: what they tell, their references, their checks, workspaces of threads, and the
 * plugin's absence. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"
#include "tests/support/fault_alloc.h"

static sc_program *program(sc_context *cx, const char *text) {
  sc_program *p = sc_parse_program(cx, text, strlen(text), NULL);
  cr_assert(p, "%s", sc_context_error(cx)->message);
  return p;
}

/* y = sum of x through a workspace, s = a sparse output's values. */
static const char text[] =
    "prog.module @total {} {\n"
    "prog.input \"x\" : tensor<2x2xfloat64>\n"
    "prog.input \"none\" : tensor<0xfloat64>\n"
    "prog.output \"y\" : tensor<float64>\n"
    "prog.output \"s\" : sparse<2x3xfloat64 csc colptr=[0,1,1,2] rowind=[1,0]>\n"
    "prog.proc @total(%x: memref<4xfloat64>, %none: memref<0xfloat64>, %y: memref<1xfloat64 output>, "
    "%s: memref<2xfloat64 output>) {workspace=64, workspace_total=64} {\n"
    "prog.local %t : memref<4xfloat64> {workspace=0}\n"
    "prog.for %i = 0 to 4 step 1 {kind=independent} { prog.store prog.mul(prog.load %x[%i], 2), %t[%i] }\n"
    "prog.store prog.add(prog.add(prog.load %t[0], prog.load %t[1]), prog.add(prog.load %t[2], prog.load %t[3])), "
    "%y[0]\n"
    "prog.store prog.load %t[3], %s[0]\n"
    "prog.store prog.load %t[1], %s[1]\n} }";

static void check_ports(const sc_kernel *k) {
  cr_assert_str_eq(sc_kernel_name(k), "total");
  cr_assert_eq(sc_kernel_input_count(k), 2);
  cr_assert_eq(sc_kernel_output_count(k), 2);
  const sc_port *x = sc_kernel_input(k, 0), *none = sc_kernel_input(k, 1), *y = sc_kernel_output(k, 0),
                *s = sc_kernel_output(k, 1);
  cr_assert(x && none && y && s);
  cr_assert(!strcmp(x->name, "x") && x->dtype == SC_FLOAT64 && x->rank == 2 && x->shape[0] == 2 && x->shape[1] == 2 &&
            x->count == 4);
  cr_assert(!strcmp(none->name, "none") && none->rank == 1 && none->count == 0 && !none->pattern);
  cr_assert(!strcmp(y->name, "y") && y->rank == 0 && y->count == 1);
  cr_assert(!strcmp(s->name, "s") && s->rank == 2 && s->shape[0] == 2 && s->shape[1] == 3 && s->count == 2);
  cr_assert(s->pattern && s->pattern->layout == SC_CSC && s->pattern->outer[3] == 2 && s->pattern->inner[0] == 1 &&
            s->pattern->inner[1] == 0);
  cr_assert_null(sc_kernel_input(k, 2));
  cr_assert_null(sc_kernel_output(k, 2));
  cr_assert_eq(sc_kernel_workspace_bytes(k), 64);
  cr_assert(sc_kernel_entry(k));
}

static void check_calls(sc_kernel *k) {
  _Alignas(64) double memory[32] = {0};
  double *x = memory, *y = memory + 8, *s = memory + 10, *w = memory + 16;
  for (int i = 0; i < 4; i++) x[i] = i + 1;
  const void *arg[] = {x, NULL};
  void *res[] = {y, s};
  cr_assert_eq(sc_kernel_call(k, arg, res, NULL), SC_KERNEL_SUCCESS);
  cr_assert(y[0] == 20 && s[0] == 8 && s[1] == 4);
  y[0] = 0;
  cr_assert_eq(sc_kernel_call(k, arg, res, w), SC_KERNEL_SUCCESS);
  cr_assert(y[0] == 20 && w[0] == 2, "the caller's workspace is used");

  cr_assert_eq(sc_kernel_call(NULL, arg, res, NULL), SC_KERNEL_ERR_NULL_ABI);
  cr_assert_eq(sc_kernel_call(k, NULL, res, NULL), SC_KERNEL_ERR_NULL_ABI);
  cr_assert_eq(sc_kernel_call(k, arg, NULL, NULL), SC_KERNEL_ERR_NULL_ABI);
  cr_assert_eq(sc_kernel_call(k, (const void *[]){NULL, NULL}, res, NULL), SC_KERNEL_ERR_NULL_INPUT);
  cr_assert_eq(sc_kernel_call(k, arg, (void *[]){y, NULL}, NULL), SC_KERNEL_ERR_NULL_RESULT);
  cr_assert_eq(sc_kernel_entry(k)(arg, res, NULL, NULL, 0), SC_KERNEL_ERR_NULL_WORK);
  cr_assert_eq(sc_kernel_entry(k)(NULL, res, NULL, w, 0), SC_KERNEL_ERR_NULL_ABI);

  /* Touching ends are no overlap; one byte is. */
  cr_assert_eq(sc_kernel_call(k, arg, (void *[]){x + 4, s}, NULL), SC_KERNEL_SUCCESS);
  cr_assert_eq(sc_kernel_call(k, arg, (void *[]){x + 3, s}, NULL), SC_KERNEL_ERR_OVERLAP);
  cr_assert_eq(sc_kernel_call(k, arg, (void *[]){s + 2, s}, NULL), SC_KERNEL_SUCCESS);
  cr_assert_eq(sc_kernel_call(k, arg, (void *[]){s + 1, s}, NULL), SC_KERNEL_ERR_OVERLAP);
  cr_assert_eq(sc_kernel_call(k, arg, (void *[]){(char *)s + 15, s}, NULL), SC_KERNEL_ERR_OVERLAP);
  cr_assert_eq(sc_kernel_call(k, (const void *[]){x, y}, res, NULL), SC_KERNEL_SUCCESS,
               "an input without values overlaps nothing");
  cr_assert_eq(sc_kernel_call(k, arg, res, y - 2), SC_KERNEL_ERR_OVERLAP, "the workspace counts");
}

typedef struct worker {
  sc_kernel *k;
  double start;
  int failures;
} worker;

static void *work(void *user) {
  worker *me = user;
  for (int i = 0; i < 2000; i++) {
    double x[4] = {me->start, i, 1, 1}, y = 0, s[2];
    if (sc_kernel_call(me->k, (const void *[]){x, NULL}, (void *[]){&y, s}, NULL) || y != 2 * (me->start + i + 2))
      me->failures++;
  }
  sc_kernel_release(me->k);
  return NULL;
}

/* Any number of threads at once, each with a reference of its own, the last of which frees the code. */
static void check_threads(sc_kernel *k) {
  enum { N = 4 };
  pthread_t threads[N];
  worker workers[N];
  for (int i = 0; i < N; i++) {
    workers[i] = (worker){sc_kernel_retain(k), i * 10, 0};
    cr_assert_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  sc_kernel_release(k);
  for (int i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    cr_assert_eq(workers[i].failures, 0);
  }
}

Test(kernel, through_a_compiler) {
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = program(cx, text);
  sc_kernel *k = sc_compile_cc_program(p, NULL);
  cr_assert(k, "%s", sc_context_error(cx)->message);
  sc_program_destroy(p);
  sc_context_destroy(cx); /* the kernel outlives both */
  check_ports(k);
  check_calls(k);
  check_threads(k);
  sc_kernel_release(NULL);
  cr_assert_null(sc_kernel_retain(NULL));
  cr_assert_null(sc_kernel_name(NULL));
  cr_assert_null(sc_kernel_input(NULL, 0));
}

Test(kernel, without_a_plugin) {
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = program(cx, text);
  sc_jit_options nowhere = {.plugin_dir = "/nonexistent/dir"};
  size_t size = 77;
  const char *version = "";
  cr_assert_not(sc_llvm_available(cx, nowhere.plugin_dir, &version));
  cr_assert_null(version);
  cr_assert_null(sc_context_error(cx), "asking is no error");
  cr_assert_null(sc_jit_program(p, &nowhere));
  cr_assert_eq(sc_context_error(cx)->status, SC_ERR_UNAVAILABLE);
  cr_assert(strstr(sc_context_error(cx)->message, "/nonexistent/dir/libscaly-llvm"), "%s",
            sc_context_error(cx)->message);
  cr_assert(strstr(sc_context_error(cx)->message, "llvm-19-dev"));
  sc_context_clear_error(cx);
  cr_assert_null(sc_emit_llvm(p, SC_EMIT_LLVM, &nowhere, &size));
  cr_assert_eq(sc_context_error(cx)->status, SC_ERR_UNAVAILABLE);
  cr_assert_null(sc_jit_program(NULL, NULL));
  cr_assert_null(sc_jit(NULL, NULL));
  cr_assert_null(sc_emit_llvm(NULL, SC_EMIT_LLVM, NULL, NULL));
  sc_program_destroy(p);
  sc_context_destroy(cx);
}

#ifdef SCALY_TEST_LLVM
Test(kernel, through_the_plugin) {
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = program(cx, text);
  sc_jit_options here = {.plugin_dir = SCALY_TEST_PLUGIN_DIR};
  const char *version = NULL;
  cr_assert(sc_llvm_available(cx, here.plugin_dir, &version) && strstr(version, "LLVM"));
  cr_assert(sc_llvm_available(cx, NULL, NULL), "found from the place of this program as well");
  size_t size = 0;
  char *ir = sc_emit_llvm(p, SC_EMIT_LLVM, &here, &size);
  cr_assert(ir && strlen(ir) == size && strstr(ir, "define"), "%s", ir ? ir : sc_context_error(cx)->message);
  sc_string_free(cx, ir);
  sc_kernel *k = sc_jit_program(p, &here);
  cr_assert(k, "%s", sc_context_error(cx)->message);
  sc_program_destroy(p);
  sc_context_destroy(cx);
  check_ports(k);
  check_calls(k);
  check_threads(k);
}
#endif

/* Without memory at any point, nothing is left behind. */
Test(kernel, allocation_failure) {
  for (long at = 1;; at++) {
    fault_alloc fault = {0};
    sc_allocator alloc = fault_allocator(&fault);
    sc_context *cx = sc_context_create(&alloc);
    sc_program *p = program(cx, text);
    static const char *const tcc[] = {"tcc", NULL}, *const cc[] = {"cc", NULL};
    static const char *const *compiler = tcc; /* the quickest there is */
    fault.fail_at = fault.allocations + at;
    sc_kernel *k = sc_compile_cc_program(p, &(sc_cc_options){.compiler = compiler});
    bool failed = fault.failures > 0, missing = !k && !failed;
    if (failed) cr_assert_eq(sc_context_error(cx)->status, SC_ERR_MEMORY);
    fault.fail_at = 0;
    sc_program_destroy(p);
    sc_context_destroy(cx);
    if (k) check_ports(k);
    sc_kernel_release(k);
    cr_assert_eq(fault.blocks, 0, "at %ld", at);
    if (missing && compiler == tcc) {
      compiler = cc;
      at = 0;
      continue;
    }
    cr_assert_not(missing);
    if (!failed) break;
    cr_assert(at < 200);
  }
}
