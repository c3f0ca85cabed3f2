/* Owns the public functions of scaly/program.h, printing aside. */
#include "scaly/program.h"

#include "lib/api/enter.h"
#include "lib/expr/simplify.h"
#include "lib/lower/lower.h"
#include "lib/passes/passes.h"
#include "lib/program/stats.h"
#include "lib/target/target.h"

/* What an option asks for. Code for the host runs here, any other does not: it assumes nothing of this machine. */
static sci_vector_math vector_math(const sc_lower_options *o) {
  bool native = !o || !o->target || strcmp(o->target->name, "native") == 0;
  return sci_vector_math_choose(o ? o->vector_libm : SC_VECTOR_LIBM_AUTO, o ? o->vector_accuracy : 0, native);
}

/* Whether anything could be called: opening libraries takes longer than compiling a small program. */
static bool calls_routines(const sci_program *p) {
  const sci_store *s = p->store;
  for (sci_val v = 0; v < s->n_values; v++) {
    const sci_value *x = sci_value_at(s, v);
    if (x->kind == SCI_V_OP && sci_ops[x->op].traits & SCI_LIBM && sci_is_float((sc_dtype)x->dtype)) return true;
  }
  return false;
}

/* The pipeline's result, owned by the caller; p is given up. */
static sc_program *optimized(sci_program *p, const sc_lower_options *options) {
  sci_env *env = p->store->env;
  sci_program *q = sci_run_passes(p, options);
  sci_keep(env, p);
  sci_program_free(p);
  sci_keep(env, q);
  return q;
}

sc_program *sc_lower(const sc_function *f, const sc_lower_options *options) {
  if (!f) return NULL;
  sc_context *cx = f->cx;
  sci_call_frame fr;
  if (!SCI_ENTER(cx, &fr)) return NULL;
  sc_lower_options lower = options ? *options : (sc_lower_options){0};
  if (!lower.target) lower.target = sci_target_host();
  /* A private copy: the graph stays as it is for differentiation and reading. */
  sci_program *p = sci_lower(cx, sci_simplify(cx, (sc_function *)(uintptr_t)f, true, NULL), &lower);
  sci_context_rollback(cx, fr.mark);
  p->strict_nan = f->strict_nan;
  p->derived = f->derived;
  p->rounding = (uint8_t)(options ? options->rounding : SC_ROUNDING_DEFAULT);
  if (calls_routines(p)) p->vector = vector_math(options);
  sci_dump_stage(p, options, "lower");
  p = optimized(p, options);
  sci_return(cx, &fr);
  return p;
}

sc_program *sc_program_optimize(const sc_program *p, const sc_lower_options *options) {
  if (!p) return NULL;
  sci_env *env = p->store->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  sci_program *q = sci_program_with(p, p->n_procs, p->procs);
  if (options && options->target) q->target = *options->target;
  if (options && options->rounding == SC_ROUNDING_STRICT) q->rounding = SC_ROUNDING_STRICT;
  if (options && options->vector_libm) q->vector = vector_math(options);
  q = optimized(q, options);
  sci_leave(env, &fr);
  return q;
}

void sc_program_destroy(sc_program *p) {
  sci_program_free(p);
}

sc_context *sc_program_context(const sc_program *p) {
  return p ? p->cx : NULL;
}

sc_status sc_program_verify(const sc_program *p) {
  if (!p) return SC_ERR_ARGUMENT;
  sci_env *env = p->store->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return env->n_diags ? env->diags[0].status : SC_ERR_MEMORY;
  sci_program_check(p);
  sci_leave(env, &fr);
  return SC_OK;
}

sc_program_stats sc_program_statistics(const sc_program *p) {
  sc_program_stats none = {0};
  if (!p) return none;
  sci_env *env = p->store->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return none;
  sc_program_stats stats = sci_program_count(p);
  sci_leave(env, &fr);
  return stats;
}

size_t sc_program_report_count(const sc_program *p) {
  return p ? p->n_reports : 0;
}

sc_pass_report sc_program_report(const sc_program *p, size_t i) {
  return p && i < p->n_reports ? p->reports[i] : (sc_pass_report){0};
}
