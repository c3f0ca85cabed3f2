/* Owns the test that code of either tier stays inside its buffers: every operation on single elements in front of a
 * page that cannot be touched, in one store and as operands of a select. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/ops/ops.h"
#include "scaly/scaly.h"

enum { PORTS = 4 };

static char *pages[PORTS]; /* where the page that cannot be touched begins */

static void make_pages(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < PORTS; i++) {
    char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(at != MAP_FAILED && !mprotect(at + page, page, PROT_NONE));
    pages[i] = at + page;
  }
}

/* y = op(a, b, c); z = the same where b is not 0, else c, which is how loads become operands of selects. */
static void check(sc_context *cx, sci_op op, sc_dtype dtype, sc_tier tier) {
  const sci_op_info *info = &sci_ops[op];
  sc_dtype result = sci_op_result(op, dtype), first = op == SCI_OP_select ? SC_BOOL : dtype;
  char text[1024], args[64] = "%p";
  for (int i = 1; i < info->arity; i++) strcat(args, i == 1 ? ", %q" : ", %r");
  snprintf(text, sizeof text,
           "prog.proc @f(%%a: memref<1x%s>, %%b: memref<1x%s>, %%c: memref<1x%s>, %%y: memref<2x%s output>) {\n"
           "%%p = prog.load %%a[0]\n%%q = prog.load %%b[0]\n%%r = prog.load %%c[0]\n"
           "prog.store prog.%s(%s), %%y[0]\n"
           "prog.store prog.select(prog.ne(prog.load %%b[0], prog.load %%a[0]), prog.%s(%s), prog.%s(%s)), %%y[1]\n}",
           sc_dtype_name(first), sc_dtype_name(dtype), sc_dtype_name(dtype), sc_dtype_name(result), info->name, args,
           info->name, args, info->name, args);
  if (op == SCI_OP_select) {
    char *late = strstr(text, "prog.ne(prog.load %b[0], prog.load %a[0])");
    memcpy(late, "prog.cast(prog.load %b[0]) {dtype=bool}  ", strlen("prog.ne(prog.load %b[0], prog.load %a[0])"));
  }
  sc_program *p = sc_parse_program(cx, text, strlen(text), info->name);
  cr_assert(p, "%s: %s", text, sc_context_error(cx)->message);
  sc_lower_options none = {.passes = "none"};
  sc_kernel *k = sc_jit_program(p, &(sc_jit_options){.lower = &none, .tier = tier});
  cr_assert(k, "%s: %s", info->name, sc_context_error(cx)->message);
  const void *in[] = {pages[0] - sc_dtype_size(first), pages[1] - sc_dtype_size(dtype),
                      pages[2] - sc_dtype_size(dtype)};
  cr_expect_eq(sc_kernel_call(k, in, (void *[]){pages[3] - 2 * sc_dtype_size(result)}, NULL), SC_KERNEL_SUCCESS);
  sc_kernel_release(k);
  sc_program_destroy(p);
}

Test(llvm, ends, .timeout = 120) {
  make_pages();
  sc_context *cx = sc_context_create(NULL);
  for (int op = 0; op < SCI_OP_COUNT; op++)
    for (int dtype = 0; dtype < SC_DTYPE_COUNT; dtype++)
      if (op != SCI_OP_cast && sci_op_accepts((sci_op)op, (sc_dtype)dtype)) {
        check(cx, (sci_op)op, (sc_dtype)dtype, SC_TIER_FAST);
        check(cx, (sci_op)op, (sc_dtype)dtype, SC_TIER_BEST);
      }
  /* What was found: a select of a loaded value and a constant. */
  static const char found[] =
      "expr.func @f(%x: tensor<float32>, %c: tensor<float32>) -> (%y) { return select(cast(%c) {dtype=bool}, %x, 1) }";
  sc_module_text *m = sc_parse(cx, found, strlen(found), NULL);
  cr_assert(m);
  sc_kernel *k = sc_jit(sc_module_text_function(m, 0), &(sc_jit_options){.tier = SC_TIER_FAST});
  cr_assert(k);
  float *x = (float *)(void *)pages[0] - 1, *c = (float *)(void *)pages[1] - 1, *y = (float *)(void *)pages[3] - 1;
  *x = 3;
  *c = 2;
  cr_expect_eq(sc_kernel_call(k, (const void *[]){x, c}, (void *[]){y}, NULL), SC_KERNEL_SUCCESS);
  cr_expect_eq(*y, 3);
  sc_kernel_release(k);
  sc_module_text_free(m);
  sc_context_destroy(cx);
}
