/* A plan: what lib/ decided about a program and every backend must have spelled. Procedures, their loops with bounds
 * and lanes, and in each the math routines and procedures it calls. Recovered three times: from the program, from the C
 * through libclang, from the LLVM text. */
#ifndef SCALY_TESTS_PLAN_H
#define SCALY_TESTS_PLAN_H

#include "lib/base/text.h"
#include "lib/ops/ops.h"
#include "scaly/scaly.h"

/* A procedure (no `step`) or a loop; nodes are in order of appearance, children behind their parent. */
typedef struct plan_node {
  int parent; /* -1: a procedure */
  int64_t start, trips, step;
  int lanes;
  int calls[SCI_OP_COUNT]; /* math routines and fused multiply-adds, those of inner loops not counted */
  int procs;               /* calls of procedures */
} plan_node;

typedef struct plan {
  plan_node *nodes;
  int n, cap;
  bool fma; /* whether fused multiply-adds count: the target has them */
} plan;

/* Opens a node below `parent` and returns its number. */
int plan_open(plan *p, int parent);
/* The operation that a math routine computes ("sinf" is sin), or -1. */
int plan_routine(const plan *p, const char *name, size_t n);
/* Its text, to compare; free() it. */
char *plan_text(const plan *p);
void plan_free(plan *p);

void plan_of_program(plan *out, const sc_program *p);
/* False with a message on stderr when the text does not parse. */
bool plan_of_c(plan *out, const char *source, const char *header, const char *name, const sc_target *target);
bool plan_of_llvm(plan *out, const char *text);

#endif
