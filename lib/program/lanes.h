/* Lanes: what a vector loop's plan means, worked out in one place for the pass that makes it, the verifier and the
 * backends.
 *
 * The body of a vector loop is written for one iteration. Spelled in W lanes, a value that differs between iterations
 * is a vector of W consecutive ones, everything else stays scalar; indices are those of the first lane. Private memory
 * that each iteration has to itself is W times as large: element e of lane l is element W * e + l. */
#ifndef SCI_PROGRAM_LANES_H
#define SCI_PROGRAM_LANES_H

#include "lib/program/map.h"
#include "lib/program/program.h"

/* Iterations at once where `lanes` float64 ones are asked for. */
static inline int sci_loop_lanes(const sci_loop *l, int lanes) {
  if (l->kind != SCI_LOOP_VECTOR || lanes < 2 || l->lanes < 2) return 1;
  int w = l->of == SC_FLOAT32 ? 2 * lanes : lanes;
  return w < l->lanes ? w : l->lanes;
}

enum {
  SCI_LANE_VARIES = 1, /* differs between lanes: a vector */
  SCI_LANE_INDEX = 2,  /* an integer over the loop's variable */
};

typedef struct sci_elements {
  int64_t lo, hi; /* of a storage, all that may be accessed is within */
} sci_elements;

typedef struct sci_lane_facts {
  const sci_store *s;
  sci_arena *a;
  const sci_loop *loop; /* entered last */
  uint32_t n_values, n_names;
  uint8_t *bits;             /* per value: sci_lane_bits where ... */
  uint32_t *stamp;           /* ... this is `epoch` */
  uint8_t *name;             /* per name: whether it varies */
  SCI_VEC(sci_name) varying; /* those that do */
  uint32_t epoch;
  int of;              /* the dtype of what varies; -1: nothing does */
  const char *problem; /* why the body cannot be spelled in lanes; NULL: it can */
  bool changed;
  SCI_VEC(sci_val) stack;
  sci_map written; /* storages that the body stores to: where in `stored` the elements are */
  SCI_VEC(sci_elements) stored;
  sci_map own; /* of these, private ones that every iteration has to itself */
  bool has_own;
  bool reads_written; /* and loads from: an iteration cannot be repeated */
} sci_lane_facts;

/* Covers the store as it is now. */
void sci_lanes_init(sci_lane_facts *k, const sci_store *s, sci_arena *a);
/* Finds out what varies in the loop's body; `problem` says why it must stay scalar. */
void sci_lanes_enter(sci_lane_facts *k, const sci_loop *l);
/* Of a value in the loop that was entered. */
uint32_t sci_lane_bits(sci_lane_facts *k, sci_val v);
static inline bool sci_varies(sci_lane_facts *k, sci_val v) {
  return sci_lane_bits(k, v) & SCI_LANE_VARIES;
}

typedef enum sci_access_kind {
  SCI_ACCESS_UNIFORM,    /* the same element for all lanes */
  SCI_ACCESS_CONTIGUOUS, /* neighbours */
  SCI_ACCESS_STRIDED,
  SCI_ACCESS_GATHERED, /* no constant distance */
  SCI_ACCESS_OWN,      /* the same element of each lane's own memory: neighbours, from W times the index on */
} sci_access_kind;

typedef struct sci_access {
  sci_access_kind kind;
  int64_t stride; /* elements from one lane to the next */
} sci_access;
sci_access sci_access_of(sci_lane_facts *k, sci_buf buf, sci_val index);
/* Whether each lane has a copy of the storage. */
static inline bool sci_lane_owns(const sci_lane_facts *k, sci_buf storage) {
  return k->has_own && sci_map_get(&k->own, storage) != UINT32_MAX;
}

/* Statements of a block (loads, or stores side by side) that together access consecutive elements in every iteration:
 * in lanes, they are loaded or stored whole and transposed. A run is spelled at its first statement in the block. */
typedef struct sci_run {
  uint32_t first, n; /* statements in `order`: by ascending element, each element once */
  sci_access access; /* strided */
} sci_run;
typedef struct sci_runs {
  uint32_t *of;    /* per statement: run + 1; 0: on its own */
  uint32_t *place; /* per statement of a run: the element, counted from the run's first */
  uint32_t *order; /* statement indices */
  SCI_VEC(sci_run) list;
} sci_runs;
sci_runs sci_lane_runs(sci_lane_facts *k, sci_block b);

#endif
