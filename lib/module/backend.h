/* The table through which a backend is reached, and what lib/ hands to it. The C renderer and the compiler driver fill theirs in
 * statically; the LLVM plugin's is found when it is opened. A backend's function opens its own frame and returns a status:
 * nothing unwinds into or out of it. */
#ifndef SCI_MODULE_BACKEND_H
#define SCI_MODULE_BACKEND_H

#include "lib/module/module.h"
#include "scaly/kernel.h"

enum { SCI_BACKEND_ABI = 1 };

typedef struct sci_render_request {
  const sci_program *program;
  const sc_c_options *c;   /* C renderer; NULL otherwise */
  sc_emit emit;            /* LLVM */
  const sci_program *const *more; /* C renderer: further entries of the same file, under the names of their programs */
  size_t n_more;
} sci_render_request;

typedef struct sci_compile_request {
  const sci_program *program;
  const sc_cc_options *cc; /* compiler driver; NULL otherwise */
} sci_compile_request;

/* Machine code ready to call. `release(handle)` frees it. */
typedef struct sci_code {
  sc_entry entry;
  void *handle;
  void (*release)(void *handle);
  size_t code_bytes;
  sc_compile_times times; /* the stages this backend ran */
} sci_code;

typedef struct sci_backend {
  uint32_t abi; /* SCI_BACKEND_ABI */
  const char *name, *version;
  /* Texts (or object bytes) made by sci_bytes_dup: C gives source and header, LLVM one result. NULL: cannot. */
  sc_status (*render)(sci_env *env, const sci_render_request *request, char *out[2], size_t size[2]);
  sc_status (*compile)(sci_env *env, const sci_compile_request *request, sci_code *out); /* NULL: cannot */
} sci_backend;

extern const sci_backend sci_backend_c;
extern const sci_backend sci_backend_cc;
/* The plugin's only exported symbol. */
typedef const sci_backend *(*sci_plugin_fn)(void);
#define SCI_PLUGIN_SYMBOL "scaly_llvm_backend"

#endif
