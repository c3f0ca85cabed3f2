/* How compiled code becomes a kernel. */
#ifndef SCI_API_KERNEL_H
#define SCI_API_KERNEL_H

#include <fenv.h>

#include "lib/api/unit.h"
#include "lib/module/backend.h"

/* What is known of a kernel besides its code, as bytes that mean the same in every process of this machine. */
typedef struct sci_description {
  const void *bytes; /* 16-byte aligned */
  size_t size;
} sci_description;

/* ---- describe.c ---- */

sci_description sci_describe(sci_env *env, const sci_program *p); /* scratch memory */
bool sci_description_sound(sci_description d);                    /* for bytes from elsewhere */

/* ---- kernel.c ---- */

/* A kernel on entry `which` of the unit, whose reference it takes, even if this fails (and unwinds). The description
 * must be sound. */
sc_kernel *sci_kernel_make(sci_env *env, sci_description d, sci_unit *unit, size_t which, sc_compile_times times);
double sci_now_ms(void);

/* ---- plugin.c ---- */

/* The LLVM plugin's table, opened on first use; unwinds with SC_ERR_UNAVAILABLE. `dir` NULL: the usual places. `need`:
 * why nothing else will do, for the message; NULL: nothing else was thought of. */
const sci_backend *sci_llvm_plugin(sci_env *env, const char *dir, const char *need);
bool sci_llvm_plugin_exists(sci_env *env, const char *dir); /* there is a file to open */
bool sci_plugin_may_be_left(void);                          /* one is open, and the process may end while it compiles */
const char *sci_llvm_plugin_path(sci_env *env, const char *dir); /* scratch memory; NULL: there is none */
/* A function of a plugin, which stays open, by the plugin's file without its ending; unwinds with SC_ERR_UNAVAILABLE
 * and what is missing. */
void *sci_plugin_symbol(sci_env *env, const char *dir, const char *file, const char *symbol, const char *missing);
void sci_plugin_lock(void); /* for fork */
void sci_plugin_unlock(void);

void sci_guard_process(void); /* background.c; after a plugin has been opened */

/* ---- the floating-point environment: compiling works in the default one, whatever the host's, and leaves the host's
 * alone ---- */

typedef struct sci_fp_state {
  fenv_t host;
} sci_fp_state;

static inline sci_fp_state sci_fp_default(void) {
  sci_fp_state s;
  fegetenv(&s.host);
  fesetenv(FE_DFL_ENV);
  return s;
}

static inline void sci_fp_restore(const sci_fp_state *s) {
  fesetenv(&s->host);
}

#endif
