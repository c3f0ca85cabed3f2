/* What the files of widen_loops share. */
#ifndef SCI_PASSES_WIDEN_H
#define SCI_PASSES_WIDEN_H

#include "lib/program/lanes.h"

/* The fewest iterations that lanes are worth; lowering and scalarize keep such loops for them. */
enum { SCI_LANE_TRIPS = 4 };

typedef struct sci_lane_plan {
  int lanes; /* the cap; 1: not worth it */
  sci_tail tail;
} sci_lane_plan;

/* The plan of a loop whose body can be spelled in lanes (just entered in `k`). */
sci_lane_plan sci_lane_plan_of(sci_lane_facts *k, const sci_loop *l, const sci_program *p);

/* The loop's body with its calls expanded, where all of them can be; else the body itself. `calls`: per procedure, from
 * how many places it is called. */
sci_block sci_expand_calls(const sci_program *p, sci_block body, const uint32_t *calls);

#endif
