/* Foreign modules: C that something else wrote for the same function, compiled, opened and called through the pointer
 * entry int NAME(const double **arg, double **res, int *iw, double *w, int mem). */
#ifndef SCALY_MEASURE_FOREIGN_H
#define SCALY_MEASURE_FOREIGN_H

#include "scaly/scaly.h"
#include "tools/measure/timing.h"

typedef struct foreign_source {
  const char *path;             /* a folder of .c files or with one shared object, or one such file */
  const char *symbol;           /* of the entry */
  const char *const *compiler;  /* argv prefix, NULL-terminated */
  const char *const *flags;     /* before the files, NULL-terminated */
  const char *const *libraries; /* after the files and before -lm, NULL-terminated; NULL: none */
} foreign_source;

/* The lengths follow what the module tells: NAME_work as CasADi's loader calls it, or the macro NAME_SZ_W of a header
 * NAME.h in the folder. */
typedef struct foreign {
  void *library;
  sc_entry entry;
  size_t n_arg, n_res; /* at least so many pointers are wanted; 0: as many as there are inputs and outputs */
  size_t iw_bytes, w_bytes, code_bytes;
  double compile_ms; /* 0 when nothing had to be compiled */
} foreign;

/* False, with the reason, when it cannot be compiled, opened, or has no such entry. Everything temporary is gone
 * afterwards. */
bool foreign_open(foreign *f, const foreign_source *source, char *why, size_t why_size);
void foreign_close(foreign *f);

/* Whether a first call comes back, tried in a process of its own, which sees copies of the arguments: false, with the
 * reason, when it crashes, ends the process, or takes longer than ten seconds. */
bool foreign_returns(const timed_call *call, char *why, size_t why_size);

#endif
