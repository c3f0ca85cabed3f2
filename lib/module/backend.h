/* The table through which a backend is reached, and what lib/ hands to it. The C renderer and the compiler driver fill
 * theirs in statically; the LLVM plugin's is found when it is opened. A backend's function opens its own frame and
 * returns a status: nothing unwinds into or out of it. */
#ifndef SCI_MODULE_BACKEND_H
#define SCI_MODULE_BACKEND_H

#include "lib/cache/loader.h"
#include "lib/module/module.h"
#include "scaly/kernel.h"

enum { SCI_BACKEND_ABI = 4 };

typedef struct sci_render_request {
  const sci_program *program;
  const sc_c_options *c; /* C renderer; NULL otherwise */
  sc_emit emit;          /* LLVM */
  const char *symbol;    /* LLVM: of the entry; NULL: the program's name */
  const char *object;    /* C renderer: the file that the header is for when that is no C source; NULL otherwise */
  const sci_program *const *more; /* C renderer: further entries of the same file, under the names of their programs */
  size_t n_more;
} sci_render_request;

typedef struct sci_compile_request {
  const sci_program *program;
  /* Several in one module, with one target; `program` is ignored. NULL: one program. */
  const sci_program *const *batch;
  size_t n_batch;
  const sc_cc_options *cc; /* compiler driver; NULL otherwise */
  sc_tier tier;            /* LLVM: fast or best */
  bool linked;             /* LLVM: through ORC, never placed as an image */
  bool asan;               /* LLVM: accesses are checked by AddressSanitizer */
  bool keep;               /* compiler driver: the library and its source, for the cache */
} sci_compile_request;

/* Memory to be freed with free(). */
typedef struct sci_kept_file {
  void *data;
  size_t size;
} sci_kept_file;

/* Machine code ready to call. `release(handle)` frees it, from any thread. */
typedef struct sci_code {
  sc_entry entry;          /* of the first program */
  const sc_entry *entries; /* of each of a batch, owned by the handle; NULL: there is one */
  void *handle;
  void (*release)(void *handle);
  size_t code_bytes;
  sc_tier tier;           /* fast or best */
  sc_compile_times times; /* the stages this backend ran */
  sci_image *image;       /* what can be stored, to be freed with free(); NULL: nothing can, and `refusal` says why */
  char refusal[160];
  sci_kept_file library, source; /* when they were to be kept */
} sci_code;

typedef struct sci_backend {
  uint32_t abi; /* SCI_BACKEND_ABI */
  const char *name, *version;
  /* Texts (or object bytes) made by sci_bytes_dup: C gives source and header, LLVM one result. NULL: cannot. */
  sc_status (*render)(sci_env *env, const sci_render_request *request, char *out[2], size_t size[2]);
  /* SC_OK without an entry: it does not know how, and `refusal` says why. NULL: cannot. */
  sc_status (*compile)(sci_env *env, const sci_compile_request *request, sci_code *out);
  /* The path of the compiler that a request means, in scratch memory; NULL: not found, or there is no such thing. */
  const char *(*tool)(sci_env *env, const sci_compile_request *request);
  bool may_be_left; /* a plugin: the process may end while it compiles */
} sci_backend;

/* Puts an image into this process: sets the code's entries and what releases them. Unwinds. */
void sci_code_place(sci_env *env, const sci_image *image, sci_code *out);

extern const sci_backend sci_backend_c;
extern const sci_backend sci_backend_cc;
extern const sci_backend sci_backend_x86; /* direct code: fast, for this process */
/* The plugin's only exported symbol. */
typedef const sci_backend *(*sci_plugin_fn)(void);
#define SCI_PLUGIN_SYMBOL "scaly_llvm_backend"

#endif
