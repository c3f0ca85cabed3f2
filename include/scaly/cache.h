/* The cache of compiled code: a folder of files, one per function, options and machine.
 *
 * A file is used only if it and its folder belong to the user and nobody else can write to them; symbolic links are not
 * followed. Whatever is truncated, damaged, foreign or newer counts as absent, and is replaced. The folder can be
 * moved, and any number of processes can use it at once. The library knows no usual place for it: the `scaly` command
 * takes SCALY_CACHE_DIR, else XDG_CACHE_HOME/scaly/jit, else
 * ~/.cache/scaly/jit. */
#ifndef SCALY_CACHE_H
#define SCALY_CACHE_H

#include <stdbool.h>

#include "scaly/context.h"

SC_BEGIN_DECLS

/* Whether this build has a cache (it needs nettle and zlib); without, sc_jit_options.cache_dir is of no effect but a
 * warning. */
SC_API bool sc_cache_available(void);

typedef struct sc_cache_summary {
  int64_t entries, bytes; /* whole ones */
  int64_t leftovers;      /* files that a writer has left behind */
  int64_t damaged;        /* sc_cache_verify: entries that would not be used */
  int64_t removed;        /* sc_cache_prune and sc_cache_clear: files */
} sc_cache_summary;

/* What is there. A folder that does not exist is an empty cache. */
SC_API sc_status sc_cache_info(sc_context *cx, const char *dir, sc_cache_summary *out);
/* The same; reads every entry, and counts those that are damaged. */
SC_API sc_status sc_cache_verify(sc_context *cx, const char *dir, sc_cache_summary *out);
/* Removes what was not used for `max_age` seconds, then what was used least recently until no more than `max_bytes` are
 * left; negative: no limit. Leftovers older than an hour go too. Never an entry that somebody is reading. Kernels
 * loaded from it are not affected. */
SC_API sc_status sc_cache_prune(sc_context *cx, const char *dir, int64_t max_bytes, int64_t max_age,
                                sc_cache_summary *out);
SC_API sc_status sc_cache_clear(sc_context *cx, const char *dir, sc_cache_summary *out);

SC_END_DECLS

#endif
