/* What the files of widen_loops share. */
#ifndef SCI_PASSES_WIDEN_H
#define SCI_PASSES_WIDEN_H

#include "lib/program/lanes.h"
#include "lib/program/walk.h"

/* The fewest iterations that lanes are worth; lowering and scalarize keep such loops for them. */
enum { SCI_LANE_TRIPS = 4 };

typedef struct sci_lane_plan {
  int lanes; /* the cap; 1: not worth it */
  sci_tail tail;
} sci_lane_plan;

/* The plan of a loop if its body can be spelled in lanes, and those are worth more than lanes of the loops inside.
 * Enters the loop, others first. Facts and set cover the values there are. */
sci_lane_plan sci_lane_plan_of(sci_lane_facts *k, sci_reach *reach, const sci_loop *l, const sci_program *p);

/* The procedure with its conditions in private memory as floats, if there are any. */
const sci_proc *sci_widen_masks(sci_store *s, const sci_proc *q);

typedef struct sci_expansion {
  const sci_program *p;
  const uint32_t *calls;   /* per procedure: from how many places it is called */
  SCI_VEC(sci_buf) locals; /* new ones of the caller: each call has what the callee had to itself */
} sci_expansion;

/* The loop's body with its calls expanded, where all of them can be; else the body itself. */
sci_block sci_expand_calls(sci_expansion *x, sci_block body);

#endif
