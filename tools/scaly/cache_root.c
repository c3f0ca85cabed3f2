/* Owns the choice of the cache's folder from the environment. */
#include "tools/scaly/cache_root.h"

#include <stdlib.h>
#include <string.h>

#include "tools/scaly/report.h"

static const char *below(const char *folder, const char *path) {
  size_t n = strlen(folder), m = strlen(path);
  char *joined = pool_alloc(n + m + 1, 1);
  memcpy(joined, folder, n);
  memcpy(joined + n, path, m + 1);
  return joined;
}

const char *cache_root(void) {
  const char *own = getenv("SCALY_CACHE_DIR"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own) return *own ? own : NULL;
  /* The XDG base directory specification: relative paths are to be ignored. */
  if (caches && *caches == '/') return below(caches, "/scaly/jit");
  return home && *home ? below(home, "/.cache/scaly/jit") : NULL;
}
