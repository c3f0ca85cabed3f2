/* Where the cache of compiled code is. */
#ifndef SCALY_COMMAND_CACHE_ROOT_H
#define SCALY_COMMAND_CACHE_ROOT_H

/* SCALY_CACHE_DIR, else XDG_CACHE_HOME/scaly/jit, else ~/.cache/scaly/jit. NULL: SCALY_CACHE_DIR is set and empty, or
 * there is no home. */
const char *cache_root(void);

#endif
