/* The state of lowering one function, and what the families of operations share: places, nests, copies, sums.
 *
 * Nodes are lowered in id order into one block. A node's elements are either one scalar value (it has a single element,
 * or all are equal) or live at a place: a buffer and, for the row-major flattened index of the node, mixed-radix digits
 * with a stride each. Reshapes leave a place as it is, slices, transposes and broadcasts change digits: views cost
 * nothing until a consumer needs contiguous memory. Because the digits are of the flat index, not of the shape, loops
 * over several places run over the coarsest common refinement of their digits.
 *
 * Before the first statement, sci_assign_homes() gives nodes whose elements will be part of an output or of a joined
 * tensor a home: the place they are computed at, so that nothing is copied that need not be. */
#ifndef SCI_LOWER_STATE_H
#define SCI_LOWER_STATE_H

#include "lib/lower/lower.h"

enum { SCI_MAX_DIGITS = 24, SCI_MAX_PLACES = 4 };

typedef struct sci_digit {
  int64_t extent, stride;
} sci_digit;

/* Digits being worked on, the most significant first. */
typedef struct sci_digits {
  uint32_t n;
  int64_t offset;
  sci_digit d[SCI_MAX_DIGITS];
} sci_digits;

/* Where element `flat` of a tensor is: at offset + the sum of stride * digit in `buf`, or, with a constant int32 table,
 * `base` after the element of `buf` that the table holds there. Digits have extents above 1 and are coalesced. Scratch
 * arena. */
typedef struct sci_place {
  sci_buf buf, table; /* table SCI_NIL: none */
  uint32_t n;
  int64_t offset, base;
  sci_digit d[];
} sci_place;

/* A node's place-to-be. */
typedef struct sci_home {
  const sci_place *place;
  bool exclusive; /* the place is overwritten later: only for what has a single use */
  uint32_t after; /* number of an index_set whose base must be at the place first, or SCI_NIL */
} sci_home;

/* Where the loops that compute a tensor cut its flat index, as for sci_split. A single reader that cuts there too can
 * be merged with them. */
typedef struct sci_cuts {
  uint32_t n;
  int64_t at[];
} sci_cuts;

typedef struct sci_slot {
  uint32_t uses; /* operand slots and outputs that live nodes have for it */
  sci_val val;   /* its scalar value, or SCI_NIL */
  const sci_place *place;
  const sci_home *home; /* NULL: none */
  const sci_cuts *cuts; /* NULL: none */
} sci_slot;

/* What callers must know about a lowered function; one per function. */
typedef struct sci_plan {
  const sc_function *f;
  bool *used_out;           /* outputs that a caller may use */
  bool *kept_in, *kept_out; /* those that are parameters: of the entry all, of others what is used and has elements */
  sci_order order;
  uint32_t proc; /* SCI_NIL: not lowered */
} sci_plan;

/* Calls that differ only in their output: the first of them stands for all. */
typedef struct sci_sibling {
  uint32_t first, next; /* numbers; SCI_NIL ends the list */
} sci_sibling;

typedef struct sci_lowering {
  sc_context *cx;
  const sc_target *target;
  sci_store *s;
  sci_arena *scratch;
  const sci_plan *plans;
  uint32_t n_plans;
  const sci_plan *plan; /* of the function being lowered */
  const sci_order *order;
  sci_slot *slots; /* per number of the order */
  sci_block_builder top;
  SCI_VEC(sci_local) locals;
  sci_sibling *siblings; /* per number, of calls; NULL: there are none */
  const char *label;     /* of the tensor being written, for the names of loop variables */
} sci_lowering;

/* An operand inside loops: a value that is the same everywhere, or a place. */
typedef struct sci_operand {
  sci_val val; /* SCI_NIL: at `place` */
  const sci_place *place;
} sci_operand;

/* ---- nodes by number ---- */

static inline const sci_node *sci_node_of(const sci_lowering *l, uint32_t num) {
  return sci_node_at(l->cx, l->order->ids[num]);
}
static inline const sci_type *sci_type_at(const sci_lowering *l, uint32_t num) {
  return &l->cx->types[sci_node_of(l, num)->type];
}
static inline sc_dtype sci_dtype_at(const sci_lowering *l, uint32_t num) {
  return (sc_dtype)sci_type_at(l, num)->dtype;
}
static inline bool sci_is_live(const sci_lowering *l, uint32_t num) { /* has elements that somebody uses */
  return l->slots[num].uses && sci_type_at(l, num)->size;
}
static inline uint32_t sci_arg_of(const sci_lowering *l, uint32_t num, uint32_t i) {
  return sci_number(l->order, sci_args(l->cx, sci_node_of(l, num))[i]);
}

/* ---- digits (digits.c) ---- */

int64_t sci_shape_size(int rank, const int64_t *shape);
/* Makes `cut` (a divisor of the size, counted from the least significant end) a boundary between digits. False: not
 * one. */
bool sci_split(sci_digits *x, int64_t cut);
/* Makes every axis of a shape without zeros a run of whole digits: axis k is d[first[k]] to d[first[k + 1]]. */
bool sci_split_shape(sci_digits *x, int rank, const int64_t *shape, uint32_t first[SC_MAX_RANK + 1]);
/* The same with one digit per axis, extents of 1 included. */
bool sci_split_axes(sci_digits *x, int rank, const int64_t *shape);
void sci_coalesce(sci_digits *x);
int64_t sci_digits_at(const sci_digits *x, int64_t flat);
/* Digits that give table[k] for every k, if a few do. */
bool sci_digits_of_table(sci_digits *x, const int64_t *table, int64_t n);

sci_digits sci_digits_of(const sci_place *p);
const sci_place *sci_place_new(sci_lowering *l, sci_buf buf, const sci_digits *x);
const sci_place *sci_place_like(sci_lowering *l, const sci_place *p,
                                const sci_digits *x); /* of the same buffer, through the same table */
const sci_place *sci_place_whole(sci_lowering *l, sci_buf buf, int64_t size);
bool sci_place_is(const sci_place *p, const sci_place *q);
bool sci_is_contiguous(const sci_place *p);
/* Restricted to axes (zero counts excluded), or permuted. NULL: a digit would have to be cut unevenly. */
const sci_place *sci_place_slice(sci_lowering *l, const sci_place *p, int rank, const int64_t *shape,
                                 const sci_slice_axis *axes);
const sci_place *sci_place_transpose(sci_lowering *l, const sci_place *p, int rank, const int64_t *shape,
                                     const int *axes);

/* ---- loops (nest.c) ---- */

typedef struct sci_nest {
  uint32_t n; /* loops, outermost first */
  uint32_t n_places;
  const sci_place *places[SCI_MAX_PLACES];
  int64_t extent[SCI_MAX_DIGITS];
  int64_t stride[SCI_MAX_PLACES][SCI_MAX_DIGITS];
  sci_var vars[SCI_MAX_DIGITS];
  sci_block_builder *out, level[SCI_MAX_DIGITS]; /* around the loops; inside loop i */
} sci_nest;

/* The coarsest common loops of places of one size (NULL: a value, nowhere). Returns the first place that does not fit
 * those before it, or SCI_NIL. Contiguous places fit any. */
uint32_t sci_nest_fit(sci_nest *nest, uint32_t n, const sci_place *const *places);
void sci_nest_split(sci_nest *nest, const sci_cuts *cuts); /* where the loops allow it */
const sci_cuts *sci_nest_cuts(sci_lowering *l, const sci_nest *nest);
void sci_nest_begin(sci_lowering *l, sci_nest *nest, sci_block_builder *out);
sci_block_builder *sci_nest_body(sci_nest *nest);
sci_val sci_nest_index(sci_lowering *l, const sci_nest *nest, uint32_t place); /* into the digits of the place */
sci_val sci_nest_read(sci_lowering *l, sci_nest *nest, uint32_t place);
void sci_nest_end(sci_lowering *l, sci_nest *nest, sci_loop_kind kind);
sci_var sci_loop_var(sci_lowering *l, uint32_t depth); /* named i_, j_, ... after l->label */

/* ---- reading and writing (move.c) ---- */

sci_buf sci_private(sci_lowering *l, sc_dtype dtype, int64_t size, const char *hint);
/* The element that a place's digits lead to at `index`. Bools of a parameter become 0 or 1. */
sci_val sci_read(sci_lowering *l, sci_block_builder *b, const sci_place *p, sci_val index, const char *hint);
/* The value of a node with one element (or of equal elements); a load is emitted once, before anything that uses it. */
sci_val sci_value_of(sci_lowering *l, uint32_t num);
sci_operand sci_operand_of(sci_lowering *l, uint32_t num);
/* The node's elements in contiguous memory, copied there once if they are not. */
const sci_place *sci_contiguous(sci_lowering *l, uint32_t num);
void sci_copy(sci_lowering *l, sci_operand from, const sci_place *to);
/* The element of the buffer at `index` of the digits, and a store to it. */
sci_val sci_address(sci_lowering *l, sci_block_builder *b, const sci_place *p, sci_val index);
void sci_write(sci_lowering *l, sci_block_builder *b, const sci_place *p, sci_val index, sci_val v);
/* Where the elements of a node are to be computed, and are from here on: its home, or a new buffer. */
const sci_place *sci_target(sci_lowering *l, uint32_t num, const char *hint);
sci_val sci_zero(sci_lowering *l, sc_dtype dtype);

/* ---- homes (home.c) ---- */

/* Output i of the function, node roots[i], belongs at places[i]. */
void sci_assign_homes(sci_lowering *l, uint32_t n, const uint32_t *roots, const sci_place *const *places);
/* A part of a stack or concat, from `start` on along the joined axis, inside the place of the whole. NULL: no digits
 * for it. */
const sci_place *sci_part_place(sci_lowering *l, uint32_t join, uint32_t part, int64_t start, const sci_place *whole);
uint32_t sci_only_part(const sci_lowering *l,
                       uint32_t join); /* of a join with a single part that has elements; else SCI_NIL */
/* Whether a place of length * size elements is made of evenly spaced contiguous slices. */
bool sci_slice_digits(const sci_place *p, int64_t length, int64_t size, int64_t *step);

/* ---- index tables (index.c) ---- */

/* Digits of the elements that an index_set replaces, when there are any and none is replaced twice. */
bool sci_index_digits(sci_lowering *l, uint32_t num, sci_digits *out);
void sci_prepare_base(sci_lowering *l, uint32_t num); /* of an index_set or index_add: at its target, once */

void sci_transpose_axes_of(const sci_lowering *l, uint32_t num, int axes[SC_MAX_RANK]);

/* ---- sums (sum.c) ---- */

/* One sum (max, min) of products of up to two operands per element of `to`. Operand x's element for kept index i and
 * term t is where the digits of x's place lead for i, plus the digits term[x] for t; a value has neither. */
typedef struct sci_sums {
  sci_op op; /* add, maximum, minimum */
  sc_dtype dtype;
  int64_t n_terms;
  uint32_t n;
  sci_operand x[2];
  sci_digits term[2]; /* of equal extents */
} sci_sums;

/* Merges term digits. False: there are too many for the order of the sum to run over, or the places have no common
 * loops; the caller copies an operand and tries again. */
bool sci_sums_fit(sci_sums *sums, const sci_place *to);
/* `to` NULL: a single sum, returned as a value. Only what fits. */
sci_val sci_sum_terms(sci_lowering *l, sci_sums *sums, const sci_place *to);

/* ---- calls (call.c) ---- */

void sci_group_calls(sci_lowering *l);
const sci_plan *sci_plan_of(const sci_plan *plans, uint32_t n,
                            uint32_t function); /* plans are in order of the functions' ids */

/* ---- families: one function per row of expr_ops.def ---- */

#define SCI_XOP(name, ...) void sci_lower_##name(sci_lowering *l, uint32_t num);
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
void sci_lower_elementwise(sci_lowering *l, uint32_t num);

#endif
