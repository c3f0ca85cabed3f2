/* The cache of what a spawned compiler made. */
#ifndef SCI_API_CC_CACHED_H
#define SCI_API_CC_CACHED_H

#include "lib/api/cached.h"

/* A kernel for the key from this process or the folder, or NULL. */
sc_kernel *sci_cc_find(sci_env *env, sci_cache_use *use, double start);
/* Writes library, source and what ties them to the key; a problem is the warning. */
void sci_cc_store(sci_cache_use *use, sci_description d, const sci_code *code);

#endif
