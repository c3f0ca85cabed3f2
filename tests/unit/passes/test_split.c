/* Owns the tests of schedule_scalar on code that is long enough to be split: the pieces compute what the whole did. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>

#include "scaly/scaly.h"
#include "tests/oracle/oracle.h"

enum { STEPS = 3000, SIZE = 16, ROOM = 1 << 20 };

static char *text;
static size_t length;

static void put(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  length += (size_t)vsnprintf(text + length, ROOM - length, fmt, ap);
  va_end(ap);
  cr_assert(length < ROOM);
}

/* A chain with everything that can travel from piece to piece: names of every dtype, used near and far; inputs, tables
 * and an output that is read again; private memory that changes; and around it loops, calls and mutable names. */
static void write_program(void) {
  length = 0;
  put("prog.module @f {\n  prog.table @c : memref<4xfloat64> = [0.5, 0.25, -1, 3]\n"
      "  prog.proc @f_part7(%%a: memref<1xfloat64>, %%b: memref<1xfloat64 output>) {lowering=\"block\"} {\n"
      "    %%v = prog.load %%a[0]\n    prog.store prog.cos(%%v), %%b[0]\n  }\n"
      "  prog.proc @f(%%x: memref<%dxfloat64>, %%k: memref<1xint64>, %%y: memref<%dxfloat64 output>) "
      "{lowering=\"block\"} {\n"
      "    prog.local %%t : memref<4xfloat64>\n    prog.local %%u : memref<1xfloat64>\n"
      "    %%m = prog.assign 1 : float64 {declare, mutable}\n    %%far = prog.load %%x[3]\n"
      "    %%early = prog.assign prog.sin(%%m) {declare}\n"
      "    prog.for %%i = 0 to 4 step 1 {kind=independent} {\n"
      "      %%p = prog.load %%x[%%i]\n      prog.store %%p, %%t[%%i]\n    }\n"
      "    prog.call @f_part7(%%t[1], %%u[0])\n    %%z0 = prog.load %%u[0]\n    %%n0 = prog.load %%k[0]\n",
      SIZE, SIZE);
  for (int i = 0; i < STEPS; i++) {
    put("    %%a%d = prog.load %%t[%d]\n", i, i % 4);
    put("    %%b%d = prog.load @c[%d]\n", i, i % 4);
    put("    %%d%d = prog.assign prog.lt(%%a%d, %%z%d) {declare}\n", i, i, i);
    put("    %%n%d = prog.assign prog.add(%%n%d, 1) {declare}\n", i + 1, i);
    put("    %%z%d = prog.assign prog.add(prog.mul(%%z%d, %%b%d), prog.select(%%d%d, %%early, %%a%d)) {declare}\n",
        i + 1, i, i, i / 2, i);
    put("    prog.store prog.sub(%%z%d, %%z%d), %%t[%d]\n", i, i / 3, (i * 7 + 1) % 4);
    if (i % 50 == 0) {
      put("    prog.store %%z%d, %%y[%d]\n    %%r%d = prog.load %%y[%d]\n", i, i / 50 % SIZE, i, i / 50 % SIZE);
      put("    prog.store prog.add(%%r%d, prog.cast(%%n%d) {dtype=float64}), %%y[%d]\n", i, i / 2, i / 50 % SIZE);
    }
    if (i == STEPS / 2)
      put("    %%m = prog.assign prog.add(%%m, %%z%d)\n    %%late = prog.assign prog.sin(%%m) {declare}\n", i);
  }
  put("    prog.for %%j = 0 to %d step 1 {kind=serial} {\n      %%q = prog.load %%y[%%j]\n"
      "      prog.store prog.add(prog.add(%%q, %%late), prog.mul(%%far, prog.add(%%z17, %%z%d))), %%y[%%j]\n    }\n  "
      "}\n}\n",
      SIZE, STEPS);
}

static sc_program *optimized(const sc_program *p, const char *passes) {
  sc_program *q = sc_program_optimize(
      p, &(sc_lower_options){.rounding = SC_ROUNDING_STRICT, .verify_each = true, .passes = passes});
  cr_assert(q, "%s", sc_context_error(sc_program_context(p))->message);
  return q;
}

static void run(const sc_program *p, double *y) {
  double x[SIZE];
  char why[256] = "";
  for (int i = 0; i < SIZE; i++) x[i] = 0.3 + 0.01 * i;
  cr_assert(ora_run_program(p, (const void *[]){x, (int64_t[]){5}}, (void *[]){y}, NULL, why, sizeof why), "%s", why);
}

Test(passes, split) {
  text = malloc(ROOM);
  write_program();
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = sc_parse_program(cx, text, length, "long");
  cr_assert(p, "%s", sc_context_error(cx)->message);
  static const char *const switches[] = {"none", "-schedule_scalar", NULL, "-fold_arith,-forward_loads",
                                         "-coalesce_stores"};
  double expected[SIZE], y[SIZE];
  run(p, expected);
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
    sc_program *q = optimized(p, switches[i]);
    sc_program_stats s = sc_program_statistics(q);
    bool whole = i < 2;
    cr_expect(whole ? s.procedures == 2 : s.procedures > 10, "%s: %lld procedures", switches[i] ? switches[i] : "all",
              (long long)s.procedures);
    run(q, y);
    cr_expect_eq(ora_first_difference(SC_FLOAT64, SIZE, expected, y), -1, "%s", switches[i] ? switches[i] : "all");
    sc_program_destroy(q);
  }
  sc_program_destroy(p);
  sc_context_destroy(cx);
  free(text);
}
