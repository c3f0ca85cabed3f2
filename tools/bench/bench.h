/* What the parts of the benchmark driver share: one measurement, how it is taken and printed. */
#ifndef SCALY_BENCH_H
#define SCALY_BENCH_H

#include "tests/data/workloads/workloads.h"
#include "tools/measure/timing.h"

/* One line of output. Strings are NULL and numbers negative where they do not apply. */
typedef struct measurement {
  const char *workload, *size, *kernel, *way, *tier, *vector_libm, *gate;
  int lanes;
  double graph_ms, lower_ms, compile_ms, first_ms, ns, spread;
  int64_t code_bytes, workspace, ops, math_calls, accesses, peak_kb; /* ops, calls and accesses per call */
} measurement;
extern const measurement no_measurement;

struct records;

typedef struct settings {
  bool json, markdown, profile, quick, cpu_time,
      passes; /* cpu_time: compiling is timed by the processor; passes: also in process with each pass switched off */
  struct records *records; /* NULL: nothing is kept */
  const char *only, *way;  /* NULL: all */
  double limit_s;          /* a way that takes longer to its first result is given up */
  const char *machine, *versions, *commit;
} settings;

bool wanted(const settings *s, const char *workload, const char *size, const char *kernel);
void print_header(const settings *s);
void print_measurement(const settings *s, const measurement *m);

int64_t peak_kb(void); /* of this process, or of the largest it has waited for */

/* Runs `body` in a child process, so that its peak memory is its own and what it breaks is only itself. False when it
 * died. */
bool in_child(void (*body)(void *user), void *user);

/* Building, derivative construction and coloring at size, and a chain of a million operations through every stage. */
void bench_core(const settings *s);
/* The command's first result as a whole process, with an empty cache and from the cache, beside /bin/true. */
void bench_process(const settings *s);
/* Every workload kernel that has a right value, through every way of compiling. False: a gate failed or a kernel died.
 */
bool bench_kernels(const settings *s);

#endif
