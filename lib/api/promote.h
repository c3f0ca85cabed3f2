/* What is left to do when fast code came first: the programs, for the best code of them, later and on any thread. They
 * are text, which says everything about them, belongs to no context, and can lie in the cache beside the code. */
#ifndef SCI_API_PROMOTE_H
#define SCI_API_PROMOTE_H

#include "lib/api/kernel.h"
#include "lib/cache/entry.h"

/* One block, to be freed with free(). */
struct sci_promotion {
  const char *plugin_dir;
  bool asan;
  size_t n;
  sci_bytes programs[];
};

/* Of n texts. NULL: no memory. */
sci_promotion *sci_promotion_make(const sci_bytes *programs, size_t n, const char *plugin_dir, bool asan);
/* Unwinds when there is no memory. */
sci_promotion *sci_promotion_of(sci_env *env, const sc_program *const *ps, size_t n, const sc_jit_options *options);
/* Opens LLVM if nothing has yet. The process may end meanwhile: see sci_job_leave. */
sc_status sci_promote(const sci_promotion *p, sci_code *out);

#endif
