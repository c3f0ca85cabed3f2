/* What fuse_elementwise decides before it rewrites a procedure: which stores of private buffers are computed again
 * where they are loaded.
 *
 * A writer is a store to a private buffer in the block that holds all accesses of that buffer, or in a perfect nest of
 * loops there: every loop body is loads and immutable names, then the next loop or the store. Statements are numbered
 * in order of the text, a loop before its body; blocks too, the procedure's own being 0. */
#ifndef SCI_PASSES_FUSE_PLAN_H
#define SCI_PASSES_FUSE_PLAN_H

#include "lib/passes/passes.h"
#include "lib/program/ranges.h"

enum { FUSE_MAX_LOOPS = 8, FUSE_MAX_INSTANCES = 48 };

typedef struct fuse_block {
  uint32_t parent, depth;
  uint32_t loop;   /* its statement's number */
  uint32_t writer; /* the nest it belongs to + 1; 0: none */
  double runs;     /* per run of the procedure */
  bool is_nest;    /* simple statements, then a loop or a store */
  bool has_loops;
  bool open; /* while rewriting */
} fuse_block;

typedef struct fuse_stmt {
  const sci_stmt *st;
  uint32_t block;
  uint32_t end;    /* the last number inside it */
  uint32_t body;   /* a loop: its body's block */
  uint32_t site;   /* a load: the writer of what it loads + 1; 0: memory stays */
  uint32_t writer; /* a store, or the loop at the head of a nest: its writer + 1 */
} fuse_stmt;

/* One place where a writer's value is needed. */
typedef struct fuse_instance {
  uint32_t block;
  uint32_t end;  /* last statement of the root unit, in the writer's block */
  sci_val index; /* in the storage, in terms of that place; SCI_NIL: not expressible (names of an inlined body) */
  sci_val solved[FUSE_MAX_LOOPS];
  sci_val value; /* while rewriting: computed for this block and index */
  struct fuse_instance *next;
} fuse_instance;

typedef struct fuse_writer {
  uint32_t number; /* of the store */
  uint32_t unit;   /* of the statement of `block` that is or holds it */
  uint32_t block;  /* that holds all accesses of the buffer */
  sci_buf storage;
  uint32_t n_loops; /* those that run more than once, larger coefficients first */
  struct fuse_digit {
    const sci_loop *loop;
    int64_t coefficient; /* in the element's index */
  } * digits;
  sci_val rest;           /* the index in the storage without these loops' terms */
  int64_t lo, hi;         /* elements written, in the storage */
  double runs;            /* of the store, per run of the procedure */
  uint32_t n_body, *body; /* numbers of loads and names, in order */
  uint32_t ops, loads;    /* in the values */
  bool dear;              /* some of the operations take more than a few cycles */
  bool blocked, fused;
  bool needs_name; /* no loops: used in inner blocks, or over mutable names */
  uint32_t n_instances;
  fuse_instance *instances, *computed;
  sci_val result; /* no loops, rewritten */
} fuse_writer;

typedef struct fuse_plan {
  const sci_program *p;
  sci_store *s;
  sci_arena *a;
  sci_facts *facts;
  SCI_VEC(fuse_block) blocks;
  SCI_VEC(fuse_stmt) stmts;
  SCI_VEC(fuse_writer) writers;
  uint32_t *slot; /* per name: place in the body that defines it + 1; shared by procedures */
  uint32_t *home; /* per name: its block */
  uint32_t fused;
} fuse_plan;

/* Surveys a procedure and decides. */
void sci_fuse_plan(fuse_plan *x, const sci_proc *q);
/* The loops' variables at which w writes element `index` of the storage. Exact splits only when `strict`; else always,
 * by division. */
bool sci_fuse_solve(fuse_plan *x, const fuse_writer *w, sci_val index, bool strict, sci_val solved[FUSE_MAX_LOOPS]);

#endif
