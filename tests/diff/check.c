/* Owns the one check of a function: oracles of both dialects, the pipeline with parts of it missing, and compiled code.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/env.h"
#include "lib/passes/passes.h"
#include "tests/diff/diff.h"

const char *diff_way_name(diff_way way) {
  static const char *const names[DIFF_WAYS] = {"jit", "fast", "gcc", "clang", "plain C"};
  return names[way];
}

bool diff_way_exists(diff_way way) {
#ifdef SCALY_TEST_LLVM
  bool llvm = true;
#else
  bool llvm = false;
#endif
  return way <= DIFF_FAST ? llvm : way == DIFF_CLANG ? sizeof SCALY_TEST_CLANG > 1 : sizeof SCALY_TEST_GCC > 1;
}

sc_kernel *diff_compile(diff_way way, const sc_program *p, const char *optimize) {
  sc_tier tier = way == DIFF_JIT ? SC_TIER_BEST : SC_TIER_FAST;
  const char *plugin = diff_way_exists(DIFF_JIT) ? SCALY_TEST_PLUGIN_DIR : NULL;
  if (way <= DIFF_FAST) return sc_jit_program(p, &(sc_jit_options){.plugin_dir = plugin, .tier = tier});
  const char *compiler[] = {way == DIFF_CLANG ? SCALY_TEST_CLANG : SCALY_TEST_GCC, NULL};
  const char *flags[] = {optimize ? optimize : "-O2", NULL};
  return sc_compile_cc_program(p, &(sc_cc_options){.compiler = compiler,
                                                   .flags = flags,
                                                   .dialect = way == DIFF_PLAIN ? SC_DIALECT_C : SC_DIALECT_GNU});
}

sc_program *diff_lower(const sc_function *f, sc_rounding rounding, const char *passes) {
  sc_lower_options o = {.rounding = rounding, .passes = passes, .verify_each = true};
  o.vector_libm = SC_VECTOR_LIBM_NONE; /* the oracles have scalar routines */
  return sc_lower(f, &o);
}

typedef struct check {
  const sc_function *f;
  sc_target target; /* this machine, mostly with fewer lanes than it has */
  sc_context *cx;
  const diff_checks *checks;
  diff_io io;
  void **expected; /* outputs by the oracle */
  bool loose;      /* rules that are wrong for NaN, infinities and signed zeros may have been used */
  size_t choice;   /* any number that the function comes with */
  bool finite;     /* nothing on the way to the outputs was one of the first two */
  char *why;
  size_t why_size;
} check;

static bool complain(check *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(c->why, c->why_size, fmt, ap);
  va_end(ap);
  return false;
}

static bool failed(check *c, const char *stage) {
  const sc_diagnostic *d = sc_context_error(c->cx);
  complain(c, "%s: %s", stage, d ? d->message : "no diagnostic");
  sc_context_clear_error(c->cx);
  return false;
}

/* Where unsafe rules were at work: without infinities and NaN on the way the values are the same but for the signs of
 * zeros and what rounding makes of other orders. */
static int64_t first_difference(const check *c, sc_dtype dtype, int64_t n, const void *a, const void *b) {
  if (!c->loose) return ora_first_difference(dtype, n, a, b);
  for (int64_t i = 0; c->finite && i < n; i++) {
    sci_scalar x = ora_load(dtype, a, i), y = ora_load(dtype, b, i);
    double u = dtype == SC_FLOAT64 ? x.f64 : (double)x.f32, v = dtype == SC_FLOAT64 ? y.f64 : (double)y.f32;
    double tolerance = dtype == SC_FLOAT64 ? 1e-9 : 1e-3;
    if (ora_ulps(dtype, x, y) && !(sci_is_float(dtype) && fabs(u - v) <= tolerance * fmax(1, fabs(v)))) return i;
  }
  return -1;
}

static bool same(check *c, const char *stage) {
  for (size_t k = 0; k < c->io.n_out; k++) {
    sc_expr e = sc_function_output(c->f, k);
    sc_dtype dtype = sc_expr_dtype(e);
    int64_t at = first_difference(c, dtype, sc_expr_size(e), c->io.out[k], c->expected[k]);
    if (at < 0) continue;
    char got[48], want[48];
    ora_text(dtype, ora_load(dtype, c->io.out[k], at), got);
    ora_text(dtype, ora_load(dtype, c->expected[k], at), want);
    return complain(c, "%s: output %s element %" PRId64 " is %s instead of %s", stage, sc_function_output_name(c->f, k),
                    at, got, want);
  }
  return true;
}

static bool run(check *c, const sc_program *p, bool reverse, const char *stage) {
  char broken[512];
  diff_io_clear_outputs(&c->io);
  if (!ora_run_program(p, diff_in(&c->io), c->io.out, &(ora_run_options){.reverse = reverse}, broken, sizeof broken))
    return complain(c, "%s: %s", stage, broken);
  return true;
}

static bool run_expecting(check *c, const sc_program *p, const char *stage) {
  char backwards[128];
  snprintf(backwards, sizeof backwards, "%s, loops backwards", stage);
  return run(c, p, false, stage) && same(c, stage) && run(c, p, true, backwards) && same(c, backwards);
}

static sc_program *lowered(const check *c, sc_rounding rounding, const char *passes) {
  sc_lower_options o = {.target = &c->target, .rounding = rounding, .passes = passes, .verify_each = true};
  o.vector_libm = SC_VECTOR_LIBM_NONE; /* the oracles have scalar routines */
  return sc_lower(c->f, &o);
}

static bool check_passes(check *c, const char *passes) {
  char stage[128];
  snprintf(stage, sizeof stage, "strict program, passes %s", passes ? passes : "all");
  sc_program *p = lowered(c, SC_ROUNDING_STRICT, passes);
  if (!p && sc_context_error(c->cx) && strstr(sc_context_error(c->cx)->message, "cannot be switched off")) {
    sc_context_clear_error(c->cx);
    return true;
  }
  if (!p) return failed(c, stage);
  bool fine = run_expecting(c, p, stage);
  sc_program_destroy(p);
  return fine;
}

/* Every pass of the pipeline, named by its report, left out once. */
static bool check_toggles(check *c, const sc_program *whole) {
  bool fine = true;
  for (size_t i = 0; fine && i < sc_program_report_count(whole); i++) {
    const char *pass = sc_program_report(whole, i).pass;
    bool before = false;
    for (size_t k = 0; k < i; k++) before |= !strcmp(sc_program_report(whole, k).pass, pass);
    char option[160];
    snprintf(option, sizeof option, "-%s", pass);
    if (!before) fine = check_passes(c, option);
    /* And one more, another one for every function. */
    const char *other = sc_program_report(whole, (i + c->choice) % sc_program_report_count(whole)).pass;
    snprintf(option, sizeof option, "-%s,-%s", pass, other);
    if (fine && !before && strcmp(pass, other)) fine = check_passes(c, option);
  }
  return fine;
}

/* What has been computed is what everything from now on must give, bit for bit. */
static void expect_outputs(check *c) {
  for (size_t k = 0; k < c->io.n_out; k++) {
    sc_expr e = sc_function_output(c->f, k);
    size_t bytes = (size_t)sc_expr_size(e) * sc_dtype_size(sc_expr_dtype(e));
    if (bytes) memcpy(c->expected[k], c->io.out[k], bytes);
  }
  c->loose = false;
}

/* Compiled code does what its program does, bit for bit. Spawned compilers are slow: they see the default rounding
 * only. */
static bool check_compiled(check *c, const sc_program *p, sc_rounding mode) {
  char stage[64];
  const char *rounding = mode == SC_ROUNDING_STRICT ? "strict" : "default";
  snprintf(stage, sizeof stage, "program, %s rounding", rounding);
  if (!run(c, p, false, stage)) return false;
  expect_outputs(c);
  for (diff_way way = 0; way < DIFF_WAYS; way++) {
    if (!c->checks->way[way] || (way > DIFF_FAST && mode == SC_ROUNDING_STRICT)) continue;
    snprintf(stage, sizeof stage, "%s, %s rounding", diff_way_name(way), rounding);
    sc_kernel *k = diff_compile(way, p, c->checks->optimize);
    if (!k && way == DIFF_FAST && !diff_way_exists(way) && sc_context_error(c->cx)->status == SC_ERR_UNAVAILABLE) {
      sc_context_clear_error(c->cx); /* direct code does not know it */
      continue;
    }
    if (!k) return failed(c, stage);
    diff_io_clear_outputs(&c->io);
    int status = sc_kernel_call(k, diff_in(&c->io), c->io.out, NULL);
    sc_kernel_release(k);
    if (status) return complain(c, "%s: call returns %d", stage, status);
    if (!same(c, stage)) return false;
  }
  return true;
}

static bool check_program_text(check *c, const sc_program *p) {
  char *text = sc_print_program(p);
  if (!text) return failed(c, "printing the program");
  sc_program *q = sc_parse_program(c->cx, text, strlen(text), NULL);
  bool fine = q != NULL;
  if (!q) failed(c, "parsing the program");
  if (q) {
    char *again = sc_print_program(q);
    if (!again)
      fine = failed(c, "printing the parsed program");
    else if (strcmp(text, again))
      fine = complain(c, "the program's text changes when parsed and printed");
    else
      fine = run_expecting(c, q, "parsed program");
    if (again) sc_string_free(c->cx, again);
    sc_program_destroy(q);
  }
  sc_string_free(c->cx, text);
  return fine;
}

static bool check_function_text(check *c) {
  char *text = sc_print_function(c->f);
  if (!text) return failed(c, "printing the function");
  sc_context *other = sc_context_create(NULL);
  sc_module_text *m = sc_parse(other, text, strlen(text), NULL);
  bool fine = m != NULL;
  if (!m) complain(c, "parsing the function: %s", sc_context_error(other)->message);
  if (m) {
    sc_function *g = sc_module_text_find(m, NULL);
    char *again = sc_print_function(g);
    if (!again || strcmp(text, again)) fine = complain(c, "the function's text changes when parsed and printed");
    ora_eval_function(g, diff_in(&c->io), c->io.out);
    if (fine) fine = same(c, "parsed function");
    if (again) sc_string_free(other, again);
    sc_module_text_free(m);
  }
  sc_context_destroy(other);
  sc_string_free(c->cx, text);
  return fine;
}

/* The pass as it moves calls when there are vector routines; the oracle calls the scalar ones wherever they are. */
static sc_program *grouped(const sc_program *p) {
  sci_env *env = p->store->env;
  sci_frame fr;
  int64_t changes = 0;
  if (!SCI_TRY(env, &fr)) return NULL;
  sci_program *q = sci_program_with(p, p->n_procs, p->procs);
  q->vector = (sci_vector_math){.glibc = 235, .accuracy = 4};
  q->target.isa = SC_ISA_X86_64_V3;
  q->target.lanes = 4;
  sci_program *moved = sci_pass_group_math(q, &changes), *made = sci_finish_program(moved ? moved : q);
  sci_program_check(made);
  sci_keep(env, made);
  sci_keep(env, q);
  sci_program_free(q);
  if (moved) sci_keep(env, moved);
  if (moved) sci_program_free(moved);
  sci_leave(env, &fr);
  return made;
}

static bool check_grouped(check *c, const sc_program *p) {
  sc_program *q = grouped(p);
  if (!q) return failed(c, "grouping calls");
  bool fine = run_expecting(c, q, "strict program, calls grouped");
  sc_program_destroy(q);
  return fine;
}

static bool check_strict(check *c) {
  sc_program *p = lowered(c, SC_ROUNDING_STRICT, NULL);
  if (!p) return failed(c, "lowering");
  bool fine = check_passes(c, "none") && run_expecting(c, p, "strict program, passes all") && check_grouped(c, p) &&
              (!c->checks->toggles || check_toggles(c, p)) && (!c->checks->text || check_program_text(c, p)) &&
              check_compiled(c, p, SC_ROUNDING_STRICT);
  sc_program_destroy(p);
  return fine;
}

/* ---- other rounding ---- */

static double real_at(sc_dtype dtype, const void *data, int64_t i) {
  return sci_scalar_double(dtype, ora_load(dtype, data, i));
}

/* The inputs with their last digits changed. */
static void perturb(const check *c, diff_io *io) {
  rng r = {17};
  for (size_t k = 0; k < io->n_in; k++) {
    sc_expr x = sc_function_input(c->f, k);
    sc_dtype dtype = sc_expr_dtype(x);
    for (int64_t i = 0; i < sc_expr_size(x); i++) {
      sci_scalar v = ora_load(dtype, c->io.in[k], i);
      double by = (rng_chance(&r, 50) ? 1 : -1) * (dtype == SC_FLOAT32 ? 1e-6 : 1e-11);
      if (sci_is_float(dtype)) v = sci_scalar_number(dtype, sci_scalar_double(dtype, v) * (1 + by));
      ora_store(dtype, io->in[k], i, v);
    }
  }
}

/* What another rounding makes of the values is about what other last digits of the inputs make of them. */
static bool nearly_same(check *c, const char *stage) {
  diff_io other = diff_io_open(c->f);
  perturb(c, &other);
  bool finite = ora_eval_finite(c->f, diff_in(&other), other.out), fine = true;
  for (size_t k = 0; finite && fine && k < c->io.n_out; k++) {
    sc_expr y = sc_function_output(c->f, k);
    sc_dtype dtype = sc_expr_dtype(y);
    double scale = 0, moved = 0;
    for (int64_t i = 0; sci_is_float(dtype) && i < sc_expr_size(y); i++) {
      double v = real_at(dtype, c->expected[k], i);
      scale = fmax(scale, fabs(v));
      moved = fmax(moved, fabs(real_at(dtype, other.out[k], i) - v));
    }
    for (int64_t i = 0; sci_is_float(dtype) && fine && i < sc_expr_size(y); i++) {
      double got = real_at(dtype, c->io.out[k], i), want = real_at(dtype, c->expected[k], i);
      if (!(fabs(got - want) <= 100 * moved + (dtype == SC_FLOAT32 ? 1e-4 : 1e-9) * (1 + scale)))
        fine = complain(c, "%s: output %s element %" PRId64 " is %.17g, not about %.17g", stage,
                        sc_function_output_name(c->f, k), i, got, want);
    }
  }
  diff_io_close(&other);
  return fine;
}

/* Which products fuse is decided by lib/: the program's own execution is what compiled code must reproduce. */
static bool check_default(check *c) {
  sc_program *p = lowered(c, SC_ROUNDING_DEFAULT, NULL);
  if (!p) return failed(c, "lowering with fused multiply-adds");
  bool fine = true;
  if (c->finite) {
    ora_eval_function(c->f, diff_in(&c->io), c->expected);
    fine = run(c, p, false, "program, default rounding") && nearly_same(c, "program, default rounding");
  }
  fine = fine && check_compiled(c, p, SC_ROUNDING_DEFAULT);
  sc_program_destroy(p);
  return fine;
}

/* What the program oracle has no routines for: calls of vector math, in lanes of every number. Both tiers agree. */
static bool check_vector_math(check *c, int lanes) {
  sc_target target;
  sc_target_preset("native", &target);
  target.lanes = lanes;
  sc_lower_options o = {.target = &target};
  sc_program *p = sc_lower(c->f, &o);
  if (!p) return failed(c, "lowering with vector math");
  bool fine = true;
  for (diff_way way = DIFF_JIT; way <= DIFF_FAST && fine; way++) {
    char stage[64];
    snprintf(stage, sizeof stage, "%s, vector math, %d lanes", diff_way_name(way), lanes);
    sc_kernel *k = diff_compile(way, p, NULL);
    fine = k || failed(c, stage);
    diff_io_clear_outputs(&c->io);
    int status = k ? sc_kernel_call(k, diff_in(&c->io), c->io.out, NULL) : 0;
    sc_kernel_release(k);
    if (status) fine = complain(c, "%s: call returns %d", stage, status);
    if (fine && way == DIFF_JIT) expect_outputs(c);
    if (fine && way == DIFF_FAST) fine = same(c, stage);
  }
  sc_program_destroy(p);
  return fine;
}

bool diff_check(const sc_function *f, uint64_t data_seed, const diff_checks *checks, char *why, size_t why_size) {
  check c = {
      .f = f, .cx = sc_function_context(f), .checks = checks, .io = diff_io_open(f), .why = why, .why_size = why_size};
  sc_target_preset("native", &c.target);
  if (data_seed % 3 && c.target.lanes > 1 << data_seed % 3) c.target.lanes = 1 << data_seed % 3;
  diff_io expected = diff_io_open(f);
  c.expected = expected.out;
  c.choice = (size_t)(data_seed / 3);
  diff_io_fill(&c.io, data_seed);
  c.finite = ora_eval_finite(f, diff_in(&c.io), c.expected);
  c.loose = !sc_function_strict_nan(f);
  sc_context_clear_error(c.cx);
  bool fine = sc_verify(f) == SC_OK || failed(&c, "verifying");
  fine = fine && (!checks->text || check_function_text(&c)) && check_strict(&c) && check_default(&c);
  if (checks->way[DIFF_JIT] && checks->way[DIFF_FAST]) fine = fine && check_vector_math(&c, 2 << data_seed % 3);
  diff_io_close(&expected);
  diff_io_close(&c.io);
  return fine;
}
