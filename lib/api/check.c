/* Owns the public check of exported modules: opens the plugin that has libclang and makes diagnostics of what it
 * reports. */
#include "lib/module/check.h"
#include "lib/api/kernel.h"
#include "lib/expr/expr.h"

typedef struct reporting {
  sci_env *env;
  size_t n;
} reporting;

static void report(void *user, const sci_check_problem *p) {
  reporting *r = user;
  sc_diagnostic d = {.status = SC_ERR_VERIFY, .file = p->file, .line = p->line, .column = p->column};
  r->n++;
  sci_report(r->env, true, d, "%s", p->message);
}

static const sci_checker *find_checker(sci_env *env, const char *dir) {
  union {
    void *object;
    sci_checker_fn function;
  } entry = {sci_plugin_symbol(
      env, dir, "libscaly-clang", SCI_CHECKER_SYMBOL,
      "no check of exported modules: its plugin was not found (build Scaly with libclang, Debian: libclang-19-dev)")};
  const sci_checker *checker = entry.function();
  if (!checker || checker->abi != SCI_CHECKER_ABI)
    sci_fail(env, SC_ERR_UNAVAILABLE, "the plugin that checks modules belongs to another version of Scaly");
  return checker;
}

sc_status sc_check_module(sc_context *cx, const char *path, const char *plugin_dir, size_t *entries) {
  if (entries) *entries = 0;
  if (!cx || !path) return SC_ERR_ARGUMENT;
  sci_env *env = &cx->env;
  sci_frame fr;
  size_t before = env->n_diags, count = 0;
  if (!SCI_TRY(env, &fr)) return env->n_diags > before ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
  const sci_checker *checker = find_checker(env, plugin_dir);
  char why[512] = "";
  reporting r = {env, 0};
  sc_status status = checker->check(path, report, &r, &count, why, sizeof why);
  if (status != SC_OK) sci_fail(env, status, "check: %s", why);
  sci_leave(env, &fr);
  if (entries) *entries = count;
  return r.n ? SC_ERR_VERIFY : SC_OK;
}
