/* Owns the public functions that compile: through the LLVM plugin, or through a spawned compiler. */
#include "lib/api/kernel.h"
#include "lib/expr/expr.h"

/* A backend returns a status; its diagnostic is already recorded, unless there was no memory for one. */
static void check(sci_env *env, sc_status status, const char *backend) {
  if (status == SC_OK) return;
  if (!env->n_diags) sci_fail(env, status, "the %s backend failed", backend);
  sci_unwind(env);
}

static void check_program(const sc_program *p, sci_env *env) {
  if (!p->n_procs) sci_fail(env, SC_ERR_ARGUMENT, "the program has no procedures");
}

static void release_unit(void *unit) {
  sci_unit_release(unit);
}

static sc_status status_of(const sci_env *env) {
  return env->n_diags ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
}

/* Kernels on the entries of a unit, whose reference is taken even if this unwinds; those made by then are in `out`. */
static void make_kernels(sci_env *env, const sc_program *const *ps, size_t n, sci_unit *unit, sc_compile_times times, sc_kernel **out) {
  sci_defer(env, release_unit, unit);
  for (size_t i = 0; i < n; i++) {
    sci_description d = sci_describe(env, ps[i]);
    sci_unit_retain(unit);
    out[i] = sci_kernel_make(env, d, unit, i, times);
  }
  sci_keep(env, unit);
  sci_unit_release(unit);
}

/* ---- in process ---- */

/* Compiles lowered programs of one context into kernels; lowering took so long. Unwinds. */
static void compile_all(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options, double lower_ms,
                        sc_kernel **out) {
  for (size_t i = 0; i < n; i++) check_program(ps[i], env);
  double start = sci_now_ms();
  const sci_backend *llvm = sci_llvm_plugin(env, options ? options->plugin_dir : NULL);
  double plugin_ms = sci_now_ms() - start;
  sc_tier tier = options ? options->tier : SC_TIER_AUTO;
  if (tier == SC_TIER_AUTO && !sci_background_threads()) tier = SC_TIER_BEST;
  sci_code code = {0};
  check(env, llvm->compile(env, &(sci_compile_request){.batch = ps, .n_batch = n, .tier = tier}, &code), llvm->name);
  code.times.lower = lower_ms;
  code.times.plugin = plugin_ms;
  make_kernels(env, ps, n, sci_unit_make(env, llvm, &code, n), code.times, out);
}

static sc_status try_compile(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options, double lower_ms,
                             sc_kernel **out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) {
    for (size_t i = 0; i < n; i++) {
      sc_kernel_release(out[i]);
      out[i] = NULL;
    }
    return status_of(env);
  }
  compile_all(env, ps, n, options, lower_ms, out);
  sci_leave(env, &fr);
  return SC_OK;
}

static sc_status jit(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options, double lower_ms,
                     sc_kernel **out) {
  sci_fp_state fp = sci_fp_default();
  sc_status status = try_compile(env, ps, n, options, lower_ms, out);
  sci_fp_restore(&fp);
  return status;
}

static sc_kernel *jit_one(const sc_program *p, const sc_jit_options *options, double lower_ms) {
  sc_kernel *k = NULL;
  if (p) jit(&p->cx->env, &p, 1, options, lower_ms, &k);
  return k;
}

sc_kernel *sc_jit_program(const sc_program *p, const sc_jit_options *options) {
  return jit_one(p, options, 0);
}

sc_kernel *sc_jit(const sc_function *f, const sc_jit_options *options) {
  double start = sci_now_ms();
  sc_program *p = sc_lower(f, options ? options->lower : NULL);
  sc_kernel *k = jit_one(p, options, sci_now_ms() - start);
  sc_program_destroy(p);
  return k;
}

/* The programs of the functions, or NULL. Memory of the frame. */
static sc_program **lower_all(sci_env *env, const sc_function *const *fs, size_t n, const sc_jit_options *options) {
  sc_program **ps = SCI_ZEROS(&env->scratch, sc_program *, n);
  for (size_t i = 0; i < n; i++) {
    ps[i] = sc_lower(fs[i], options ? options->lower : NULL);
    if (ps[i]) continue;
    while (i) sc_program_destroy(ps[--i]);
    return NULL;
  }
  return ps;
}

sc_status sc_jit_batch(const sc_function *const *fs, size_t n, const sc_jit_options *options, sc_kernel **out) {
  if (!fs || !out || !n) return SC_ERR_ARGUMENT;
  memset(out, 0, n * sizeof *out);
  for (size_t i = 0; i < n; i++)
    if (!fs[i] || fs[i]->cx != fs[0]->cx) return SC_ERR_ARGUMENT;
  sci_env *env = &fs[0]->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return status_of(env);
  const double start = sci_now_ms();
  sc_program **const ps = lower_all(env, fs, n, options);
  const sc_status status = ps ? jit(env, (const sc_program *const *)ps, n, options, sci_now_ms() - start, out) : status_of(env);
  for (size_t i = 0; ps && i < n; i++) sc_program_destroy(ps[i]);
  sci_leave(env, &fr);
  return status;
}

char *sc_emit_llvm(const sc_program *p, sc_emit kind, const sc_jit_options *options, size_t *size) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  check_program(p, env);
  const sci_backend *llvm = sci_llvm_plugin(env, options ? options->plugin_dir : NULL);
  char *out[2] = {NULL, NULL};
  size_t sizes[2] = {0, 0};
  check(env, llvm->render(env, &(sci_render_request){.program = p, .emit = kind}, out, sizes), llvm->name);
  if (size) *size = sizes[0];
  sci_leave(env, &fr);
  return out[0];
}

bool sc_llvm_available(sc_context *cx, const char *plugin_dir, const char **version) {
  if (version) *version = NULL;
  if (!cx) return false;
  size_t before = cx->env.n_diags; /* absence is an answer here, no problem */
  sci_frame fr;
  if (!SCI_TRY(&cx->env, &fr)) {
    sci_diags_truncate(&cx->env, before);
    return false;
  }
  const sci_backend *llvm = sci_llvm_plugin(&cx->env, plugin_dir);
  if (version) *version = llvm->version;
  sci_leave(&cx->env, &fr);
  return true;
}

/* ---- through a compiler ---- */

static sc_kernel *compile_cc(const sc_program *p, const sc_cc_options *options, double lower_ms) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  check_program(p, env);
  sci_code code = {0};
  check(env, sci_backend_cc.compile(env, &(sci_compile_request){.program = p, .cc = options}, &code), sci_backend_cc.name);
  code.times.lower = lower_ms;
  sc_kernel *k = NULL;
  make_kernels(env, &p, 1, sci_unit_make(env, &sci_backend_cc, &code, 1), code.times, &k);
  sci_leave(env, &fr);
  return k;
}

sc_kernel *sc_compile_cc_program(const sc_program *p, const sc_cc_options *options) {
  return compile_cc(p, options, 0);
}

sc_kernel *sc_compile_cc(const sc_function *f, const sc_cc_options *options) {
  double start = sci_now_ms();
  sc_program *p = sc_lower(f, options ? options->lower : NULL);
  sc_kernel *k = compile_cc(p, options, sci_now_ms() - start);
  sc_program_destroy(p);
  return k;
}
