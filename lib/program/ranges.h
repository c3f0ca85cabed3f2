/* What is known about index values: loops of variables, definitions of names, and the ranges and points that follow. */
#ifndef SCI_PROGRAM_RANGES_H
#define SCI_PROGRAM_RANGES_H

#include "lib/program/map.h"
#include "lib/program/program.h"

typedef struct sci_range {
  int64_t lo, hi;
  bool known; /* every value lies in [lo, hi] */
  bool exact; /* both ends are reached: loop variables only */
} sci_range;

/* Loop variables and names belong to one loop and one definition in a program, so these facts hold wherever a value is
 * legal. */
typedef struct sci_facts {
  const sci_store *s;
  sci_arena *a;
  const sci_loop **var_loop; /* per loop variable; NULL: not met */
  const sci_stmt **name_def; /* per name: the load or declaration; NULL: mutable or not met */
  uint32_t n_vars, n_names;  /* capacities of these; later ids are unknown */
  sci_map table_at;          /* constant buffers: where their range is in `tables` */
  SCI_VEC(sci_range) tables;
} sci_facts;

void sci_facts_init(sci_facts *k, const sci_store *s, sci_arena *a); /* nothing met yet */
void sci_facts_block(sci_facts *k, sci_block b);                     /* everything in the block */
void sci_facts_name(sci_facts *k, sci_name n, const sci_stmt *st);   /* a name made since; st outlives the facts */

/* The range of an index, loops running at least once. */
sci_range sci_range_of(sci_facts *k, sci_val index);

/* An index, made ready to be evaluated at points of its loops: definitions of names followed, constant tables read. */
enum { SCI_POINT_NODES = 64, SCI_POINT_VARS = 8 };
typedef struct sci_points {
  uint32_t n, n_vars;
  sci_val nodes[SCI_POINT_NODES]; /* operands first */
  sci_scalar result[SCI_POINT_NODES];
  uint16_t args[SCI_POINT_NODES][3];
  sci_var vars[SCI_POINT_VARS];
  int64_t trip[SCI_POINT_VARS];
} sci_points;
bool sci_points_make(const sci_facts *k, sci_val index, sci_points *out); /* false: it depends on what is not known */
bool sci_points_eval(const sci_facts *k, sci_points *pts,
                     int64_t *out); /* at the current trips; false: outside a table */
/* The next point, each variable over at most `cap` trips; those with scope[v] <= inner stay (NULL: none). False at the
 * end. */
bool sci_points_next(const sci_facts *k, sci_points *pts, const uint32_t *scope, uint32_t inner, int64_t cap);

#endif
