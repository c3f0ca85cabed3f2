/* Owns the backend's table: direct code for this process, in a frame of its own. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backends/x86/x86.h"
#include "lib/module/backend.h"
#include "lib/target/target.h"

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void compile_programs(sci_env *env, const sci_program *const *programs, size_t n, sci_code *out) {
  double start = now_ms();
  const char *refusal = "this processor is no x86-64";
#if defined(__x86_64__)
  sci_image *im = NULL;
  if (sci_isa_runs(sci_target_host()->isa, programs[0]->target.isa)) im = sci_x86_image(env, programs, n, &refusal);
#else
  sci_image *im = NULL;
#endif
  if (!im) {
    snprintf(out->refusal, sizeof out->refusal, "%s", refusal ? refusal : "it is too large");
    return;
  }
  sci_defer(env, free, im);
  double made = now_ms();
  sci_code_place(env, im, out);
  out->code_bytes = im->code_bytes;
  out->tier = SC_TIER_FAST;
  out->times.codegen = made - start;
  out->times.link = now_ms() - made;
  sci_keep(env, im);
  out->image = im;
}

static sc_status compile(sci_env *env, const sci_compile_request *r, sci_code *out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return env->n_diags ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
  compile_programs(env, r->batch ? r->batch : &r->program, r->batch ? r->n_batch : 1, out);
  sci_leave(env, &fr);
  return SC_OK;
}

const sci_backend sci_backend_x86 = {SCI_BACKEND_ABI, "x86", "0.1", NULL, compile, NULL, false};
