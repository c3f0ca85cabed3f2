/* Workers: one process per kernel and way of compiling. It compiles, checks the result against the right one, and then
 * takes samples when asked, so that the driver can let the ways take turns. */
#ifndef SCALY_BENCH_WORKER_H
#define SCALY_BENCH_WORKER_H

#include <sys/types.h>

#include "tools/bench/bench.h"

typedef enum way_kind { WAY_LLVM, WAY_CC, WAY_HAND } way_kind;

typedef struct way {
  way_kind kind;
  const char *name, *tier;
  sc_tier level;         /* LLVM */
  const char *compiler;  /* CC, HAND */
  const char *file;      /* HAND: in tests/data/hand */
  const char *libraries; /* HAND: one option for the linker, or NULL */
  bool once;             /* measured up to the first result only */
  const char *passes;    /* LLVM, CC: as sc_lower_options takes them; NULL: all */
} way;

/* What a worker knows of its kernel once it has run; a plain block, sent through a pipe. */
typedef struct outcome {
  char gate[256]; /* "ok", or what went wrong */
  double graph_ms, lower_ms, compile_ms, first_ms;
  int64_t code_bytes, workspace, ops, math_calls, accesses, peak_kb;
  int lanes;
  bool vector_math; /* loops in lanes call math functions */
} outcome;

typedef struct task {
  const settings *s;
  const wl_reference *r;
  const way *way;
  bool time_graph;
} task;

typedef struct worker {
  pid_t pid;
  int to, from; /* pipes */
} worker;

/* Starts the process; false when that is impossible. */
bool worker_start(worker *w, const task *t);
/* Waits for the first result. When the worker dies or takes too long, `gate` says so and the worker is gone. */
void worker_outcome(worker *w, double limit_s, outcome *out);
/* One sample, ns per call; negative when the worker died. */
double worker_sample(worker *w);
void worker_end(worker *w);

#endif
