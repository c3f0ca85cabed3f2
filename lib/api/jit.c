/* Owns the public functions that compile: through the LLVM plugin, or through a spawned compiler. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/api/cached.h"
#include "lib/api/cc_cached.h"
#include "lib/api/names.h"
#include "lib/api/promote.h"
#include "lib/expr/expr.h"
#include "scaly/cache.h"

/* A backend returns a status; its diagnostic is already recorded, unless there was no memory for one. */
static void check(sci_env *env, sc_status status, const char *backend) {
  if (status == SC_OK) return;
  if (!env->n_diags) sci_fail(env, status, "the %s backend failed", backend);
  sci_unwind(env);
}

static void check_program(const sc_program *p, sci_env *env) {
  if (!p->n_procs) sci_fail(env, SC_ERR_ARGUMENT, "the program has no procedures");
}

static sc_status status_of(const sci_env *env) {
  return env->n_diags ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
}

/* A unit of the code, and kernels on its entries; those made before this unwinds are in `out`. */
static void make_kernels(sci_env *env, const sc_program *const *ps, size_t n, sci_code *code, sci_promotion *promotion,
                         const sci_cache_use *use, unsigned names, sc_kernel **out) {
  sci_description *d = SCI_ARRAY(&env->scratch, sci_description, n);
  sci_bytes *kernels = SCI_ARRAY(&env->scratch, sci_bytes, n);
  for (size_t i = 0; i < n; i++) {
    d[i] = sci_describe(env, ps[i]);
    kernels[i] = (sci_bytes){d[i].bytes, d[i].size};
  }
  double start = sci_now_ms();
  sc_compile_times times = code->times;
  sci_kept *kept = use && use->dir ? sci_kept_make(use, kernels, n) : NULL;
  if (promotion) sci_keep(env, promotion);
  sci_keep(env, code);
  sci_unit *unit = sci_unit_make(env, code, n, kept, sci_names_make(names, d, n), promotion);
  if (kept) times.cache += sci_now_ms() - start;
  sci_defer(env, sci_unit_release_it, unit);
  for (size_t i = 0; i < n; i++) {
    sci_unit_retain(unit);
    out[i] = sci_kernel_make(env, d[i], unit, i, times);
  }
  sci_keep(env, unit);
  sci_unit_release(unit);
}

/* ---- in process ---- */

/* Where there is no direct code, the first compilation of a process spends its time on bringing LLVM's code into
 * memory, which both tiers would do: then a small function gets its best code at once. Statements. */
enum { BEST_AT_ONCE = 25 };

static size_t statements(sci_block b) {
  size_t n = b.n;
  for (uint32_t i = 0; i < b.n; i++)
    if (b.stmts[i].kind == SCI_S_LOOP) n += statements(b.stmts[i].loop->body);
  return n;
}

static bool is_small_and_first(const sc_program *const *ps, size_t n) {
  static atomic_bool warm;
  return !atomic_exchange(&warm, true) && n == 1 && statements(sci_entry(ps[0])->body) <= BEST_AT_ONCE;
}

static bool compile_direct(sci_env *env, const sci_compile_request *r, sci_code *code) {
  if (r->asan)
    snprintf(code->refusal, sizeof code->refusal, "accesses are not checked");
  else
    check(env, sci_backend_x86.compile(env, r, code), sci_backend_x86.name);
  return code->entry;
}

static void compile_by_llvm(sci_env *env, const sci_compile_request *r, const char *plugin_dir, sci_code *code) {
  double start = sci_now_ms();
  const char *need = code->refusal[0] ? sci_strdup(&env->scratch, code->refusal) : NULL;
  const sci_backend *llvm = sci_llvm_plugin(env, plugin_dir, need);
  double plugin_ms = sci_now_ms() - start;
  *code = (sci_code){0};
  check(env, llvm->compile(env, r, code), llvm->name);
  code->times.plugin = plugin_ms;
}

/* A plugin that was asked for by name must be there, whether it will be needed or not. */
static bool has_llvm(sci_env *env, const char *plugin_dir) {
  if (sci_llvm_plugin_exists(env, plugin_dir)) return true;
  if (plugin_dir) sci_llvm_plugin(env, plugin_dir, NULL);
  return false;
}

/* Code of the tier: direct where that is known and fast code will do for now. True: the best is still to come. */
static bool compile_now(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options,
                        sci_code *code) {
  const char *dir = options ? options->plugin_dir : NULL;
  sci_compile_request r = {.batch = ps, .n_batch = n, .asan = options && options->asan};
  sc_tier tier = options ? options->tier : SC_TIER_AUTO;
  bool llvm = has_llvm(env, dir);
  if (tier == SC_TIER_AUTO && llvm && !sci_background_threads()) tier = SC_TIER_BEST;
  if (tier == SC_TIER_BEST || !compile_direct(env, &r, code)) {
    if (tier == SC_TIER_AUTO && is_small_and_first(ps, n)) tier = SC_TIER_BEST;
    r.tier = tier == SC_TIER_BEST ? SC_TIER_BEST : SC_TIER_FAST;
    compile_by_llvm(env, &r, dir, code);
  }
  sci_defer(env, sci_code_drop, code);
  return tier == SC_TIER_AUTO && llvm;
}

/* Compiles lowered programs of one context into kernels; the cache and lowering took so long. Unwinds. */
static void compile_all(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options,
                        const sci_cache_use *use, sc_compile_times times, sc_kernel **out) {
  for (size_t i = 0; i < n; i++) check_program(ps[i], env);
  sci_code *code = SCI_NEW(&env->scratch, sci_code);
  sci_promotion *promotion = NULL;
  if (compile_now(env, ps, n, options, code)) {
    promotion = sci_promotion_of(env, ps, n, options);
    sci_defer(env, free, promotion);
  }
  code->times.cache = times.cache;
  code->times.lower = times.lower;
  make_kernels(env, ps, n, code, promotion, use, options ? options->names : 0, out);
}

static void release_all(sc_kernel **out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    sc_kernel_release(out[i]);
    out[i] = NULL;
  }
}

static sc_status try_compile(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options,
                             const sci_cache_use *use, sc_compile_times times, sc_kernel **out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) {
    release_all(out, n);
    return status_of(env);
  }
  compile_all(env, ps, n, options, use, times, out);
  sci_leave(env, &fr);
  return SC_OK;
}

static sc_status jit(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options,
                     const sci_cache_use *use, sc_compile_times times, sc_kernel **out) {
  sci_fp_state fp = sci_fp_default();
  sc_status status = try_compile(env, ps, n, options, use, times, out);
  sci_fp_restore(&fp);
  return status;
}

/* ---- through the cache ---- */

/* Takes the key of functions or of a program, and what the cache has for it. SC_OK with out[0]: found. What goes wrong
 * with the cache alone is a warning in `use`, and `use->dir` NULL when there is no use in trying. */
static sc_status look_up(sci_env *env, const sc_function *const *fs, size_t n, const sc_program *p,
                         const sc_jit_options *o, double start, sci_cache_use *use, sc_kernel **out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) {
    release_all(out, n);
    return status_of(env);
  }
  bool keyed =
      sc_cache_available() && (p ? sci_key_program(env, p, o, use->key) : sci_key_functions(env, fs, n, o, use->key));
  if (keyed)
    sci_cache_find(env, use, o, start, n, out);
  else
    use->dir = NULL;
  sci_leave(env, &fr);
  return SC_OK;
}

sc_kernel *sc_jit_program(const sc_program *p, const sc_jit_options *options) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sc_kernel *k = NULL;
  sci_cache_use use;
  double start = sci_now_ms();
  if (sci_cache_wanted(options, &use) && (look_up(env, NULL, 1, p, options, start, &use, &k) != SC_OK || k)) return k;
  jit(env, &p, 1, options, &use, (sc_compile_times){.cache = use.dir ? sci_now_ms() - start : 0}, &k);
  return k;
}

/* What is to be compiled: the function, or what the requests derive from it. */
static sc_program *lower_requested(const sc_function *f, const sc_jit_options *o) {
  if (!o || !o->n_requests) return sc_lower(f, o ? o->lower : NULL);
  sc_function *derived = sc_function_derive((sc_function *)(uintptr_t)f, NULL, o->requests, o->n_requests, o->derive);
  sc_program *p = sc_lower(derived, o->lower);
  sc_function_release(derived);
  return p;
}

sc_kernel *sc_jit(const sc_function *f, const sc_jit_options *options) {
  if (!f) return NULL;
  sci_env *env = &f->cx->env;
  sc_kernel *k = NULL;
  sci_cache_use use;
  double start = sci_now_ms();
  if (sci_cache_wanted(options, &use) && (look_up(env, &f, 1, NULL, options, start, &use, &k) != SC_OK || k)) return k;
  double looked = sci_now_ms();
  sc_program *p = lower_requested(f, options);
  if (p)
    jit(env, (const sc_program *const *)&p, 1, options, &use,
        (sc_compile_times){.cache = looked - start, .lower = sci_now_ms() - looked}, &k);
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

static sc_status compile_batch(sci_env *env, const sc_function *const *fs, size_t n, const sc_jit_options *options,
                               const sci_cache_use *use, double cache_ms, sc_kernel **out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return status_of(env);
  const double start = sci_now_ms();
  sc_program **const ps = lower_all(env, fs, n, options);
  const sc_compile_times times = {.cache = cache_ms, .lower = sci_now_ms() - start};
  const sc_status status = ps ? jit(env, (const sc_program *const *)ps, n, options, use, times, out) : status_of(env);
  for (size_t i = 0; ps && i < n; i++) sc_program_destroy(ps[i]);
  sci_leave(env, &fr);
  return status;
}

sc_status sc_jit_batch(const sc_function *const *fs, size_t n, const sc_jit_options *options, sc_kernel **out) {
  if (!fs || !out || !n || (options && options->n_requests)) return SC_ERR_ARGUMENT;
  memset(out, 0, n * sizeof *out);
  for (size_t i = 0; i < n; i++)
    if (!fs[i] || fs[i]->cx != fs[0]->cx) return SC_ERR_ARGUMENT;
  sci_env *env = &fs[0]->cx->env;
  sci_cache_use use;
  double start = sci_now_ms();
  if (sci_cache_wanted(options, &use)) {
    sc_status status = look_up(env, fs, n, NULL, options, start, &use, out);
    if (status != SC_OK || out[0]) return status;
  }
  return compile_batch(env, fs, n, options, &use, use.dir ? sci_now_ms() - start : 0, out);
}

char *sc_emit_llvm(const sc_program *p, sc_emit kind, const sc_jit_options *options, size_t *size) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  check_program(p, env);
  const sci_backend *llvm = sci_llvm_plugin(env, options ? options->plugin_dir : NULL, NULL);
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
  const sci_backend *llvm = sci_llvm_plugin(&cx->env, plugin_dir, NULL);
  if (version) *version = llvm->version;
  sci_leave(&cx->env, &fr);
  return true;
}

/* ---- through a compiler ---- */

/* The unit of what the compiler made, and a kernel on it. */
static sc_kernel *make_cc_kernel(sci_env *env, const sc_program *p, sci_code *code, sci_cache_use *use) {
  sci_description d = sci_describe(env, p);
  if (use->dir) sci_cc_store(use, d, code);
  free(code->library.data);
  free(code->source.data);
  sci_kept *kept = use->dir ? sci_kept_make(use, &(sci_bytes){d.bytes, d.size}, 1) : NULL;
  if (kept) kept->stored = true;
  return sci_kernel_make(env, d, sci_unit_make(env, code, 1, kept, NULL, NULL), 0, code->times);
}

static sc_kernel *compile_cc(const sc_program *p, const sc_cc_options *options, sci_cache_use *use, double lower_ms) {
  if (!p) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  check_program(p, env);
  sci_code code = {0};
  sci_compile_request request = {.program = p, .cc = options, .keep = use->dir};
  check(env, sci_backend_cc.compile(env, &request, &code), sci_backend_cc.name);
  code.times.lower = lower_ms;
  sc_kernel *k = make_cc_kernel(env, p, &code, use);
  sci_leave(env, &fr);
  return k;
}

/* A function's or a program's kernel, if the cache has it; else `use` is ready for storing it, or has no folder. */
static sc_kernel *find_cc(sci_env *env, const sc_function *f, const sc_program *p, const sc_cc_options *o,
                          sci_cache_use *use) {
  *use = (sci_cache_use){.dir = NULL};
  sci_frame fr;
  if (!o || !o->cache_dir || !sc_cache_available() || (o->lower && (o->lower->dump_after || o->lower->dump)))
    return NULL;
  if (!SCI_TRY(env, &fr)) return NULL;
  double start = sci_now_ms();
  sc_kernel *k = NULL;
  if (sci_key_cc(env, f, p, o, sci_backend_cc.tool(env, &(sci_compile_request){.cc = o}), use->key)) {
    use->dir = o->cache_dir;
    if (!o->rebuild) k = sci_cc_find(env, use, start);
  }
  sci_leave(env, &fr);
  return k;
}

sc_kernel *sc_compile_cc_program(const sc_program *p, const sc_cc_options *options) {
  if (!p) return NULL;
  sci_cache_use use;
  sc_kernel *k = find_cc(&p->cx->env, NULL, p, options, &use);
  return k ? k : compile_cc(p, options, &use, 0);
}

sc_kernel *sc_compile_cc(const sc_function *f, const sc_cc_options *options) {
  if (!f) return NULL;
  sci_cache_use use;
  sc_kernel *found = find_cc(&f->cx->env, f, NULL, options, &use);
  if (found) return found;
  double start = sci_now_ms();
  sc_program *p = sc_lower(f, options ? options->lower : NULL);
  sc_kernel *k = compile_cc(p, options, &use, sci_now_ms() - start);
  sc_program_destroy(p);
  return k;
}
