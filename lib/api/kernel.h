/* How compiled code becomes a kernel. */
#ifndef SCI_API_KERNEL_H
#define SCI_API_KERNEL_H

#include "lib/module/backend.h"

/* A kernel around code, which it owns from here on, even if this fails (and unwinds). `lower_ms`, `plugin_ms`: for its times. */
sc_kernel *sci_kernel_make(sci_env *env, const sci_program *p, sci_code code, double lower_ms, double plugin_ms);
double sci_now_ms(void);

/* The LLVM plugin's table, opened on first use; unwinds with SC_ERR_UNAVAILABLE. `dir` NULL: the usual places. */
const sci_backend *sci_llvm_plugin(sci_env *env, const char *dir);

#endif
