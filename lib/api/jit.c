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

/* ---- in process ---- */

static sc_kernel *jit(const sc_program *p, const sc_jit_options *options, double lower_ms) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  check_program(p, env);
  double start = sci_now_ms();
  const sci_backend *llvm = sci_llvm_plugin(env, options ? options->plugin_dir : NULL);
  double plugin_ms = sci_now_ms() - start;
  sci_code code = {0};
  check(env, llvm->compile(env, &(sci_compile_request){.program = p}, &code), llvm->name);
  sc_kernel *k = sci_kernel_make(env, p, code, lower_ms, plugin_ms);
  sci_leave(env, &fr);
  return k;
}

sc_kernel *sc_jit_program(const sc_program *p, const sc_jit_options *options) {
  return jit(p, options, 0);
}

sc_kernel *sc_jit(const sc_function *f, const sc_jit_options *options) {
  double start = sci_now_ms();
  sc_program *p = sc_lower(f, options ? options->lower : NULL);
  sc_kernel *k = jit(p, options, sci_now_ms() - start);
  sc_program_destroy(p);
  return k;
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
  sc_kernel *k = sci_kernel_make(env, p, code, lower_ms, 0);
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
