/* What the parts of the benchmark driver share: one measurement, how it is taken and printed. */
#ifndef SCALY_BENCH_H
#define SCALY_BENCH_H

#include "tests/data/workloads/workloads.h"

/* One line of output. Strings are NULL and numbers negative where they do not apply. */
typedef struct measurement {
  const char *workload, *size, *kernel, *way, *tier, *vector_libm, *gate;
  int lanes;
  double graph_ms, lower_ms, compile_ms, first_ms, ns, spread;
  int64_t code_bytes, workspace, ops, peak_kb;
} measurement;
extern const measurement no_measurement;

typedef struct settings {
  bool json;
  const char *only, *way; /* NULL: all */
  const char *machine, *versions, *commit;
} settings;

bool wanted(const settings *s, const char *workload, const char *size, const char *kernel);
void print_header(const settings *s);
void print_measurement(const settings *s, const measurement *m);

double now_ms(void);
int64_t peak_kb(void); /* of this process */
double median_of(double *v, size_t n);

/* Runs `body` in a child process, so that its peak memory is its own and what it breaks is only itself. False when it
 * died. */
bool in_child(void (*body)(void *user), void *user);

/* The rate of building and the chain of a million operations. */
void bench_core(const settings *s);
/* Every workload kernel that has a right value, through every way of compiling. False: a gate failed or a kernel died.
 */
bool bench_kernels(const settings *s);

#endif
