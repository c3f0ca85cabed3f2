/* The table through which the checker of exported modules is reached: a plugin, so that libclang is loaded by who asks
 * for it only. */
#ifndef SCI_MODULE_CHECK_H
#define SCI_MODULE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "scaly/base.h"

enum { SCI_CHECKER_ABI = 1 };

typedef struct sci_check_problem {
  const char *file, *message;
  int line, column; /* 0: of the file as a whole */
} sci_check_problem;

typedef struct sci_checker {
  uint32_t abi; /* SCI_CHECKER_ABI */
  const char *version;
  /* Looks at the module whose source is at `path` and reports every problem. `*entries` counts what it found to look
   * at. Anything but SC_OK: it could not look, and `why` says so. */
  sc_status (*check)(const char *path, void (*report)(void *user, const sci_check_problem *p), void *user,
                     size_t *entries, char *why, size_t room);
} sci_checker;

/* The plugin's only exported symbol. */
typedef const sci_checker *(*sci_checker_fn)(void);
#define SCI_CHECKER_SYMBOL "scaly_clang_checker"

#endif
