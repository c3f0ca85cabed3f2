/* Owns the tests of the pass driver: switches, bisection, dumps, reports, errors, and programs of a size that shows
 * what is not linear. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "lib/expr/expr.h"
#include "lib/passes/passes.h"
#include "scaly/scaly.h"
#include "tests/support/fault_alloc.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define NO_LEAKS() cr_assert(!__lsan_do_recoverable_leak_check())
#else
#define NO_LEAKS() (void)0
#endif

static const char *const pass_names[] = {
#define SCI_PASS(name, ...) #name,
#include "lib/passes/passes.def"
#undef SCI_PASS
};
static const bool needed[] = {
#define SCI_PASS(name, needed, ...) needed,
#include "lib/passes/passes.def"
#undef SCI_PASS
};
enum { N_PASSES = sizeof pass_names / sizeof *pass_names };

static const char text[] =
    "prog.module @f {target=\"x86-64-v3\", vector_glibc=235, vector_accuracy=4, derived=true} {\n"
    "  prog.table @c : memref<2xfloat64> = [3, 1]\n"
    "  prog.table @d : memref<4xint32> = [1, 0, 3, 2]\n"
    "  prog.proc @unused(%a: memref<1xfloat64>, %b: memref<1xfloat64 output>) { prog.store 0, %b[0] }\n"
    "  prog.proc @g(%a: memref<4xfloat64>, %b: memref<4xfloat64 output>) {lowering=\"block\"} {\n"
    "    prog.local %t : memref<4xfloat64>\n"
    "    prog.for %i = 0 to 4 step 1 {kind=independent} {\n"
    "      %v = prog.load %a[%i]\n"
    "      prog.store prog.sin(%v), %t[%i]\n"
    "    }\n"
    "    prog.for %j = 0 to 4 step 1 {kind=independent} {\n"
    "      %w = prog.load %t[%j]\n"
    "      %c = prog.load @c[1]\n"
    "      prog.store prog.add(prog.mul(%w, %w), prog.mul(%c, %w)), %b[%j]\n"
    "    }\n"
    "    prog.for %k = 0 to 4 step 1 {kind=independent} {\n"
    "      %z = prog.load %b[%k]\n"
    "      prog.store prog.add(prog.div(%z, 3), 1), %b[%k]\n"
    "    }\n"
    "  }\n"
    "  prog.proc @f(%x: memref<4xfloat64>, %y: memref<6xfloat64 output>, %z: memref<4xfloat64 output>, "
    "%s: memref<4xfloat64 output>) "
    "{lowering=\"block\"} {\n"
    "    prog.local %u : memref<4xfloat64>\n"
    "    prog.local %q : memref<4xfloat64>\n"
    "    prog.local %a : memref<4xfloat64>\n"
    "    prog.local %b : memref<4xfloat64>\n"
    "    prog.for %c = 0 to 4 step 1 {kind=independent} { prog.store 0, %a[%c] }\n"
    "    prog.for %d = 0 to 4 step 1 {kind=independent} { prog.store 0, %b[%d] }\n"
    "    prog.for %e = 0 to 2 step 1 {kind=independent} {\n"
    "      %f = prog.load %a[%e]\n"
    "      %g = prog.load %x[%e]\n"
    "      prog.store prog.add(%f, %g), %a[%e]\n"
    "    }\n"
    "    prog.for %h = 0 to 2 step 1 {kind=independent} {\n"
    "      %t = prog.load %b[prog.mul(%h, 2)]\n"
    "      %v = prog.load %x[%h]\n"
    "      prog.store prog.add(%t, %v), %b[prog.mul(%h, 2)]\n"
    "    }\n"
    "    prog.for %w = 0 to 4 step 1 {kind=independent} {\n"
    "      %aa = prog.load %a[%w]\n"
    "      %bb = prog.load %b[%w]\n"
    "      prog.store prog.add(%aa, %bb), %s[%w]\n"
    "    }\n"
    "    %dead = prog.load %x[0]\n"
    "    %late = prog.load %x[1]\n"
    "    %sum = prog.assign 0 : float64 {declare, mutable}\n"
    "    prog.for %ii = 0 to 4 step 1 {kind=serial} {\n"
    "      %old = prog.assign %sum {declare}\n"
    "      %xx = prog.load %x[%ii]\n"
    "      %sum = prog.assign prog.add(%old, %xx)\n"
    "    }\n"
    "    prog.store prog.add(%sum, prog.add(prog.add(prog.exp(%late), prog.exp(prog.add(%late, 1))), "
    "prog.add(prog.exp(prog.add(%late, 2)), prog.exp(prog.add(%late, 3))))), %y[4]\n"
    "    prog.store prog.add(prog.sin(%late), prog.cos(%late)), %y[5]\n"
    "    prog.for %i = 0 to 1 step 1 {kind=serial} { prog.call @g(%x[0], %u[0]) }\n"
    "    prog.for %j = 0 to 2 step 1 {kind=serial} {\n"
    "      %p = prog.load %u[%j]\n"
    "      prog.store %p, %y[prog.add(%j, 2)]\n"
    "      prog.store prog.add(prog.exp(%p), prog.sub(%late, 1)), %y[prog.sub(1, %j)]\n"
    "    }\n"
    "    prog.for %l = 0 to 2 step 1 {kind=independent} { prog.store 1, %q[prog.mul(%l, 2)] }\n"
    "    prog.for %m = 0 to 2 step 1 {kind=independent} { prog.store 2, %q[prog.add(prog.mul(%m, 2), 1)] }\n"
    "    prog.for %n = 0 to 4 step 1 {kind=independent} {\n"
    "      %o = prog.load @d[%n]\n"
    "      %r = prog.load %q[prog.cast(%o) {dtype=int64}]\n"
    "      prog.store %r, %z[%n]\n"
    "    }\n"
    "  }\n"
    "}\n";

static sc_program *parse(sc_context *cx) {
  return sc_parse_program(cx, text, sizeof text - 1, "text");
}

typedef struct dumps {
  char names[512];
  size_t n;
} dumps;

static void take(void *user, const char *pass, const char *program) {
  dumps *d = user;
  cr_expect(strstr(program, "prog.proc @f"));
  d->n += (size_t)snprintf(d->names + d->n, sizeof d->names - d->n, "%s ", pass);
}

static void check_switches(sc_context *cx, const sc_program *p) {
  char all[512] = "";
  for (int i = 0; i < N_PASSES; i++) strcat(strcat(all, pass_names[i]), " ");
  dumps d = {0};
  sc_lower_options o = {.verify_each = true, .dump_after = "all", .dump = take, .dump_user = &d};
  sc_program *q = sc_program_optimize(p, &o);
  cr_assert(q);
  cr_expect_str_eq(d.names, all);
  cr_expect_eq(sc_program_report_count(q), N_PASSES);
  for (size_t i = 0; i < N_PASSES; i++) {
    sc_pass_report r = sc_program_report(q, i);
    cr_expect_str_eq(r.pass, pass_names[i]);
    /* Golden files say what the passes do; here each must have been given something to do, but for those that hints
     * keep away. */
    cr_expect(r.changes > 0 || !strcmp(r.pass, "scalarize"), "%s found nothing to do", r.pass);
    cr_expect(r.ms >= 0);
  }
  sc_program_destroy(q);
  for (int i = 0; i < N_PASSES; i++) {
    char off[64];
    snprintf(off, sizeof off, "-%s", pass_names[i]);
    d = (dumps){0};
    o.passes = off;
    o.dump_after = pass_names[i];
    q = sc_program_optimize(p, &o);
    cr_expect_eq(q == NULL, needed[i]);
    cr_expect_str_eq(d.names, "");
    cr_expect_eq(sc_program_report_count(q), needed[i] ? 0 : N_PASSES - 1);
    sc_program_destroy(q);
    sc_context_clear_error(cx);
  }
}

/* After n runs the optional passes stop; what backends need runs regardless. */
static void check_bisection(const sc_program *p) {
  for (int n = -1; n <= N_PASSES + 1; n++) {
    int expected = 0;
    for (int i = 0; i < N_PASSES; i++) expected += needed[i] || n == 0 || i < n;
    sc_program *q = sc_program_optimize(p, &(sc_lower_options){.verify_each = true, .bisect = n});
    cr_assert(q);
    cr_expect_eq(sc_program_report_count(q), (size_t)expected, "bisect %d", n);
    sc_program_destroy(q);
  }
  sc_program *strict = sc_program_optimize(p, &(sc_lower_options){.rounding = SC_ROUNDING_STRICT});
  char *out = sc_print_program(strict);
  cr_expect(!strstr(out, "prog.fma"));
  sc_string_free(sc_program_context(p), out);
  sc_program_destroy(strict);
}

static void check_errors(sc_context *cx, const sc_program *p) {
  static const struct {
    sc_lower_options o;
    const char *why;
  } bad[] = {
      {{.passes = "fold_arith"}, "'fold_arith' is no switch"},
      {{.passes = "-fold_arith,-fold"}, "'-fold' is no switch"},
      {{.passes = "-bound_depth"}, "cannot be switched off"},
      {{.dump_after = "fold"}, "there is no pass 'fold'; there are: all, lower, "},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cr_expect_null(sc_program_optimize(p, &bad[i].o));
    const sc_diagnostic *d = sc_context_error(cx);
    cr_assert(d);
    cr_expect_eq(d->status, SC_ERR_NAME);
    cr_expect(strstr(d->message, bad[i].why), "%s", d->message);
    sc_context_clear_error(cx);
  }
}

/* What backends get: places for all buffers, and a second run changes nothing. */
static void check_finish(sc_context *cx, const sc_program *p) {
  sci_frame fr;
  cr_assert(SCI_TRY(&cx->env, &fr));
  sci_program *q = sci_finish_program(p), *again = sci_finish_program(q);
  cr_expect_neq(q->procs, p->procs);
  cr_expect_eq(again->procs, q->procs);
  for (uint32_t i = 0; i < q->n_procs; i++)
    for (uint32_t j = 0; j < q->procs[i]->n_locals; j++) cr_expect(q->procs[i]->locals[j].offset >= 0);
  sci_keep(&cx->env, q);
  sci_keep(&cx->env, again);
  sci_leave(&cx->env, &fr);
  sci_program_free(q);
  sci_program_free(again);
}

/* A second run of the pipeline finds nothing to do. */
static void check_settled(sc_context *cx, const sc_program *p) {
  sc_program *q = sc_program_optimize(p, NULL), *again = sc_program_optimize(q, NULL);
  char *a = sc_print_program(q), *b = sc_print_program(again);
  cr_expect_str_eq(a, b);
  sc_program_stats s = sc_program_statistics(q);
  cr_expect_eq(s.procedures, 2);
  cr_expect_eq(s.math_calls, 4 + 2 + 2 + 4);
  cr_expect_eq(s.stores, 4 + 2 + 4 + 4 + 4 + (4 + 2 + 2) + (4 + 4), "%lld", (long long)s.stores);
  sc_string_free(cx, a);
  sc_string_free(cx, b);
  sc_program_destroy(again);
  sc_program_destroy(q);
}

Test(passes, driver) {
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = parse(cx);
  cr_assert(p, "%s", sc_context_error(cx)->message);
  check_switches(cx, p);
  check_bisection(p);
  check_errors(cx, p);
  check_finish(cx, p);
  check_settled(cx, p);
  sc_program_destroy(p);
  sc_context_destroy(cx);
  NO_LEAKS();
}

/* Every allocation fails once: the pipeline gives NULL and a diagnostic, or does without. */
Test(passes, allocation_failures) {
  long total = 1;
  for (long at = 1; at <= total; at++) {
    fault_alloc f = {0};
    sc_allocator a = fault_allocator(&f);
    sc_context *cx = sc_context_create(&a);
    sc_program *p = parse(cx);
    cr_assert(p);
    f.allocations = 0;
    f.fail_at = at;
    sc_program *q = sc_program_optimize(p, &(sc_lower_options){.verify_each = true});
    cr_expect(q || sc_context_error(cx)->status == SC_ERR_MEMORY);
    if (!f.failures)
      total = 0;
    else
      total++;
    sc_program_destroy(q);
    sc_program_destroy(p);
    sc_context_destroy(cx);
    cr_assert_eq(f.bytes, 0);
  }
  NO_LEAKS();
}

/* ---- size ---- */

typedef enum shape { CHAIN, SCALARS, LOOPS } shape;

/* n steps: a chain of values in one store; a store and a load of a buffer of its own each; a loop each. */
static sci_program *long_program(sc_context *cx, shape kind, uint32_t n) {
  sci_store *s = sci_store_create(&cx->env);
  int64_t size = kind == LOOPS ? 3 : 1;
  sci_buf *params = SCI_ARRAY(&s->arena, sci_buf, 2);
  params[0] = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_INPUT, size, "x");
  params[1] = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_OUTPUT, size, "y");
  sci_local *locals = SCI_ARRAY(&s->arena, sci_local, n);
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_buf from = params[0];
  sci_val zero = sci_val_int(s, 0), v = kind == CHAIN ? sci_emit_load(&b, s, from, zero, NULL) : SCI_NIL;
  for (uint32_t i = 0; i < n; i++) {
    sci_var var = kind == LOOPS ? sci_new_var(s, NULL) : 0;
    sci_val index = kind == LOOPS ? sci_val_var(s, var) : zero;
    sci_block_builder body;
    sci_block_begin(&body, s);
    if (kind != CHAIN) v = sci_emit_load(&body, s, from, index, NULL);
    v = sci_val_op2(s, SCI_OP_add, sci_val_op1(s, SCI_OP_sin, v), sci_val_double(s, SC_FLOAT64, i + 1));
    if (kind == CHAIN) continue;
    from = i + 1 == n ? params[1] : sci_new_buf(s, SC_FLOAT64, SCI_SPACE_PRIVATE, size, NULL);
    locals[i] = (sci_local){.buf = from, .in_workspace = false, .offset = -1};
    sci_emit_store(&body, from, index, v);
    if (kind == LOOPS) sci_emit_loop(&b, s, SCI_LOOP_INDEPENDENT, var, 3, sci_block_end(&body, s));
    for (size_t j = 0; kind == SCALARS && j < body.stmts.n; j++) sci_emit(&b, body.stmts.data[j]);
  }
  if (kind == CHAIN) sci_emit_store(&b, params[1], zero, v);
  sci_proc *q = SCI_NEW(&s->arena, sci_proc);
  *q = (sci_proc){
      .name = "f", .n_in = 1, .n_out = 1, .n_locals = kind == CHAIN ? 0 : n - 1, .params = params, .locals = locals};
  q->body = sci_block_end(&b, s);
  const sci_proc **procs = SCI_ARRAY(&s->arena, const sci_proc *, 1);
  procs[0] = q;
  sci_program *p = sci_program_create(cx, s);
  p->name = "f";
  p->n_procs = 1;
  p->procs = procs;
  return p;
}

Test(passes, length) {
  enum { STEPS = 30000 };
  sc_context *cx = sc_context_create(NULL);
  for (shape kind = CHAIN; kind <= LOOPS; kind++) {
    sci_frame fr;
    cr_assert(SCI_TRY(&cx->env, &fr));
    sci_program *p = long_program(cx, kind, STEPS);
    sci_keep(&cx->env, p);
    sci_leave(&cx->env, &fr);
    sc_program *q = sc_program_optimize(p, &(sc_lower_options){.verify_each = true, .passes = "-schedule_scalar"});
    cr_assert(q, "%s", sc_context_error(cx)->message);
    sc_program_stats s = sc_program_statistics(q);
    cr_expect_eq(s.loops, kind == LOOPS);
    cr_expect_eq(s.stores, kind == LOOPS ? 3 : 1);
    cr_expect_eq(s.operations, 2 * STEPS * (kind == LOOPS ? 3 : 1));
    cr_expect_eq(s.statements, 1 + (2 * STEPS - 1) / 32 + 1 + (kind == LOOPS), "%lld", (long long)s.statements);
    sc_program_destroy(q);
    q = sc_program_optimize(p, &(sc_lower_options){.verify_each = true});
    cr_assert(q, "%s", sc_context_error(cx)->message);
    sc_program_stats split = sc_program_statistics(q);
    cr_expect_eq(split.operations, s.operations);
    cr_expect(kind == LOOPS ? split.procedures == 1 : split.procedures > STEPS / 512);
    cr_expect_leq(split.statements, s.statements + 4 * split.procedures); /* a call, what it passes on and takes up */
    sc_program_destroy(q);
    sc_program_destroy(p);
  }
  sc_context_destroy(cx);
  NO_LEAKS();
}
