/* Owns promotions: keeping programs for later, and compiling them then. */
#include "lib/api/promote.h"

#include <stdlib.h>

#include "lib/expr/expr.h"
#include "lib/text/text.h"

sci_promotion *sci_promotion_make(const sci_bytes *programs, size_t n, const char *plugin_dir, bool asan) {
  size_t size = sizeof(sci_promotion) + n * sizeof *programs, at = size, dir = plugin_dir ? strlen(plugin_dir) + 1 : 0;
  for (size_t i = 0; i < n; i++) size += programs[i].size;
  char *block = malloc(size + dir);
  if (!block) return NULL;
  sci_promotion *p = (sci_promotion *)(void *)block;
  *p = (sci_promotion){.asan = asan, .n = n};
  for (size_t i = 0; i < n; at += programs[i++].size)
    p->programs[i] = (sci_bytes){memcpy(block + at, programs[i].data, programs[i].size), programs[i].size};
  if (dir) p->plugin_dir = memcpy(block + at, plugin_dir, dir);
  return p;
}

sci_promotion *sci_promotion_of(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options) {
  sci_bytes *texts = SCI_ARRAY(&env->scratch, sci_bytes, n);
  for (size_t i = 0; i < n; i++) {
    sci_text t;
    sci_text_init(&t, &env->scratch);
    sci_print_program(&t, ps[i]);
    texts[i] = (sci_bytes){t.data, t.n};
  }
  sci_promotion *p = sci_promotion_make(texts, n, options ? options->plugin_dir : NULL, options && options->asan);
  if (!p) sci_fail(env, SC_ERR_MEMORY, "out of memory: what is to be compiled later");
  return p;
}

static sc_status compile_best(sc_context *cx, const sci_promotion *p, sc_program **ps, sci_code *out) {
  sci_frame fr;
  if (!SCI_TRY(&cx->env, &fr)) return sc_context_error(cx) ? sc_context_error(cx)->status : SC_ERR_MEMORY;
  const sci_backend *llvm = sci_llvm_plugin(&cx->env, p->plugin_dir, NULL);
  sc_status status = SC_ERR_UNAVAILABLE;
  if (!sci_jobs_end()) {
    sci_compile_request r = {
        .batch = (const sci_program *const *)ps, .n_batch = p->n, .tier = SC_TIER_BEST, .asan = p->asan};
    status = llvm->compile(&cx->env, &r, out);
  }
  sci_leave(&cx->env, &fr);
  return status;
}

sc_status sci_promote(const sci_promotion *p, sci_code *out) {
  sc_context *cx = sc_context_create(NULL);
  sc_program **ps = calloc(p->n, sizeof *ps);
  sc_status status = cx && ps ? SC_OK : SC_ERR_MEMORY;
  for (size_t i = 0; i < p->n && status == SC_OK; i++) {
    ps[i] = sc_parse_program(cx, p->programs[i].data, p->programs[i].size, NULL);
    if (!ps[i]) status = sc_context_error(cx) ? sc_context_error(cx)->status : SC_ERR_MEMORY;
  }
  if (status == SC_OK) status = compile_best(cx, p, ps, out);
  for (size_t i = 0; ps && i < p->n; i++) sc_program_destroy(ps[i]);
  free(ps);
  sc_context_destroy(cx);
  return status;
}
