/* Hand-built programs of one procedure or several, compiled through the plugin's table. */
#ifndef TESTS_UNIT_LLVM_RIG_H
#define TESTS_UNIT_LLVM_RIG_H

#include "lib/module/backend.h"
#include "lib/target/target.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define NO_LEAKS() cr_assert(!__lsan_do_recoverable_leak_check())
#else
#define NO_LEAKS() (void)0
#endif

typedef struct rig {
  sci_env env;
  sci_frame frame; /* everything between begin and ready runs in it */
  sci_store *s;
  sci_program *p;
  SCI_VEC(const sci_proc *) procs;
  sci_block_builder b;
  sci_buf params[16];
  uint32_t n_in, n_out;
  sci_local locals[16];
  uint32_t n_locals;
  int64_t workspace_self, workspace_total, stack_self;
} rig;

const sci_backend *rig_backend(void); /* opens the plugin once */
void rig_begin(rig *r, const char *target);
sci_buf rig_in(rig *r, sc_dtype dtype, int64_t size);
sci_buf rig_out(rig *r, sc_dtype dtype, int64_t size);
sci_buf rig_local(rig *r, sc_dtype dtype, int64_t size, bool in_workspace, int64_t offset);
uint32_t rig_proc(rig *r, const char *name); /* ends the procedure; its index */
void rig_ready(rig *r);                      /* after the last procedure: the program, verified */
/* Ways of making code: best or fast, placed by our own loader (fast code is direct where that is known) or linked by
 * ORC. */
enum { RIG_LINKED = 1, RIG_FAST = 2, RIG_WAYS = 4 };
sc_status rig_try_way(rig *r, unsigned way, sci_code *out); /* diagnostics stay in r->env */
sc_status rig_try(rig *r, sci_code *out);                   /* in each way by turns */
sci_code rig_compile_way(rig *r, unsigned way);             /* asserts success */
sci_code rig_compile(rig *r);
void rig_end(rig *r); /* frees the program; kernels go on */

static inline sci_val rig_load(rig *r, sci_buf buf, sci_val index) {
  return sci_emit_load(&r->b, r->s, buf, index, NULL);
}
static inline sci_val rig_int(rig *r, int64_t v) {
  return sci_val_int(r->s, v);
}
static inline int rig_call(const sci_code *c, const void **arg, void **res, void *w) {
  return c->entry(arg, res, NULL, w, 0);
}

#endif
