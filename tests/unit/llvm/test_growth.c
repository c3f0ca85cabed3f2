/* Owns the tests that compiling is linear in the size of the program, by what can be counted: operations, pieces and
 * the largest of them, memory, bytes of code. (Times are what the benchmark driver prints.) */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "lib/program/program.h"
#include "tests/data/workloads/workloads.h"

typedef struct counts {
  int64_t operations, procedures, statements, largest, allocated, code;
} counts;

static void *count(void *user, void *p, size_t old, size_t size) {
  (void)old;
  *(int64_t *)user += (int64_t)size;
  if (size) return realloc(p, size);
  free(p);
  return NULL;
}

static counts count_all(int64_t n) {
  counts c = {0};
  int64_t allocated = 0;
  sc_context *cx = sc_context_create(&(sc_allocator){count, &allocated});
  sc_function *f = wl_kernel(cx, &(wl_problem){"straight", {n}}, "y");
  cr_assert(f);
  int64_t before = allocated;
  sc_program *p = sc_lower(f, NULL);
  cr_assert(p);
  sc_program_stats s = sc_program_statistics(p);
  c.operations = s.operations;
  c.procedures = s.procedures;
  c.statements = s.statements;
  for (uint32_t i = 0; i < p->n_procs; i++)
    if (p->procs[i]->body.n > c.largest) c.largest = p->procs[i]->body.n;
  sc_kernel *k = sc_jit_program(p, &(sc_jit_options){.tier = SC_TIER_FAST, .plugin_dir = SCALY_TEST_PLUGIN_DIR});
  cr_assert(k, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "");
  c.code = (int64_t)sc_kernel_code_bytes(k);
  sc_kernel_release(k);
  sc_program_destroy(p);
  c.allocated = allocated - before;
  sc_context_destroy(cx);
  return c;
}

static void linear(const char *what, int64_t n, int64_t tenfold, double slack) {
  cr_expect_leq((double)tenfold, 10 * slack * (double)n, "%s: %lld, then %lld", what, (long long)n, (long long)tenfold);
}

Test(growth, straight_code_is_linear) {
  counts at[] = {count_all(1000), count_all(10000), count_all(100000)};
  for (int i = 0; i < 2; i++) {
    const counts *a = &at[i], *b = &at[i + 1];
    linear("operations", a->operations, b->operations, 1.01);
    linear("statements", a->statements, b->statements, 1.1);
    linear("bytes allocated by lowering and the fast tier", a->allocated, b->allocated, 2); /* lists double */
    linear("bytes of fast code", a->code, b->code, 1.2);
  }
  linear("pieces", at[1].procedures, at[2].procedures, 1.1);
  cr_expect_geq(at[2].procedures, 100, "long code is cut: %lld pieces", (long long)at[2].procedures);
  /* Whatever LLVM does to one piece, no piece grows with the program. */
  cr_expect_leq(at[2].largest, 1000, "the largest piece has %lld statements", (long long)at[2].largest);
}

/* The best tier where it is quick enough to be tried: bytes of its code. */
Test(growth, best_code_is_linear) {
  int64_t bytes[2];
  for (int i = 0; i < 2; i++) {
    sc_context *cx = sc_context_create(NULL);
    sc_function *f = wl_kernel(cx, &(wl_problem){"straight", {i ? 4000 : 400}}, "y");
    sc_kernel *k = sc_jit(f, &(sc_jit_options){.tier = SC_TIER_BEST, .plugin_dir = SCALY_TEST_PLUGIN_DIR});
    cr_assert(k);
    bytes[i] = (int64_t)sc_kernel_code_bytes(k);
    sc_kernel_release(k);
    sc_context_destroy(cx);
  }
  linear("bytes of the best code", bytes[0], bytes[1], 1.1);
}
