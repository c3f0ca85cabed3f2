/* The expression dialect's data: nodes, types, attributes, functions and the context that owns them.
 *
 * Internal builders take and return node ids and unwind on failure (lib/base/env.h); lib/api wraps them. */
#ifndef SCI_EXPR_EXPR_H
#define SCI_EXPR_EXPR_H

#include "lib/base/hash.h"
#include "lib/ops/ops.h"
#include "scaly/function.h"

typedef uint32_t sci_id;
#define SCI_NONE UINT32_MAX

/* Operation numbers: first the scalar operations of lib/ops/ops.def, then the structural ones. */
typedef enum sci_xop {
  SCI_X_FIRST = SCI_OP_COUNT - 1,
#define SCI_XOP(name, ...) SCI_X_##name,
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
  SCI_X_END
} sci_xop;

typedef struct sci_type {
  uint8_t dtype, diff, rank;
  uint32_t hash;
  int64_t size;         /* product of shape */
  const int64_t *shape; /* SC_MAX_RANK entries, zero behind the rank; stays where it is until the next collect */
} sci_type;

/* Immutable, 32 bytes. Operands precede users, so id order is topological order. */
typedef struct sci_node {
  uint16_t op;  /* sci_op or sci_xop */
  uint8_t hint; /* sc_hint */
  uint8_t pad;
  uint32_t n_args;
  uint32_t type; /* index into the context's types */
  uint32_t attr;
  union {
    sci_id args[3]; /* n_args <= 3 */
    uint32_t blob;  /* else the interned blob of n_args ids */
  };
  uint32_t hash;
} sci_node;

typedef struct sci_blob {
  uint32_t hash;
  uint32_t pad;
  size_t size;      /* bytes */
  const void *data; /* 16-byte aligned */
} sci_blob;

typedef struct sci_input_attr {
  uint32_t serial; /* inputs are nominal: each has its own number */
  char name[];     /* zero-terminated */
} sci_input_attr;

/* One entry per operand axis: elements start, start + step, ... (count of them; step may be negative). */
typedef struct sci_slice_axis {
  int64_t start, count, step;
  int64_t drop; /* 1: a single index, the axis disappears (count 1, step 1) */
} sci_slice_axis;

/* call: length 0, no windows. vmap: 2 * n_args numbers follow, starts then strides. */
typedef struct sci_call_attr {
  uint32_t callee; /* function id */
  uint32_t output;
  int64_t length;
  int64_t windows[];
} sci_call_attr;

typedef struct sci_formal {
  const char *name;
  sci_id node;
  const sc_pattern *pattern;             /* outputs; NULL: dense */
  const struct sc_matrix_report *report; /* outputs that are derivative matrices; NULL: others */
} sci_formal;

/* Derivatives that a function brings along (scaly/derive.h); both NULL: it has none. */
typedef struct sci_custom {
  sc_function *jvp, *vjp;
  const sc_pattern *pattern; /* NULL: what jvp or vjp says */
} sci_custom;

struct sc_function {
  sc_context *cx;
  uint32_t id; /* index into the context's functions; never reused */
  const char *name;
  uint32_t n_in, n_out;
  sci_formal *in, *out;
  uint8_t hint; /* effective: of nodes and set_hint */
  uint8_t node_hint, set_hint;
  bool strict_nan;
  bool derived; /* computes derivatives, by sci_derive */
  bool held;    /* the user has not released it */
  sci_custom custom;
  sci_arena arena; /* names, formals, patterns */
};

/* A function derived from another (a derivative of a callee), found again by an interned blob that says which one.
 * Forgotten by sci_context_collect; lib/ad alone knows what the blobs mean. */
typedef struct sci_memo {
  uint32_t key, data; /* blobs */
  uint32_t function;  /* SCI_NONE: there is nothing to derive */
} sci_memo;

enum { SCI_NODE_CHUNK_BITS = 12, SCI_NODE_CHUNK = 1 << SCI_NODE_CHUNK_BITS };

struct sc_context {
  sci_env env; /* first: a context is an environment */
  uint32_t generation;
  uint32_t next_serial;
  sci_arena arena;   /* blob contents */
  sci_node **chunks; /* stable addresses: SCI_NODE_CHUNK nodes each */
  uint32_t n_nodes, n_chunks, cap_chunks;
  sci_blob *blobs;
  uint32_t n_blobs, cap_blobs;
  sci_type *types;
  uint32_t n_types, cap_types;
  sc_function **functions; /* by id; NULL: dropped */
  uint32_t n_functions, cap_functions;
  sci_memo *memos;
  uint32_t n_memos, cap_memos;
  sci_index node_index, blob_index, type_index, memo_index;
  uint32_t n_indexed; /* nodes below are in node_index; the few younger ones are found by looking at them (context.c) */
};

/* ---- reading ---- */

static inline const sci_node *sci_node_at(const sc_context *cx, sci_id id) {
  return &cx->chunks[id >> SCI_NODE_CHUNK_BITS][id & (SCI_NODE_CHUNK - 1)];
}
static inline const sci_type *sci_type_of(const sc_context *cx, sci_id id) { /* invalid after the next node is built */
  return &cx->types[sci_node_at(cx, id)->type];
}
static inline const sci_id *sci_args(const sc_context *cx, const sci_node *n) {
  return n->n_args <= 3 ? n->args : cx->blobs[n->blob].data;
}
static inline sci_id sci_arg(const sc_context *cx, sci_id id, uint32_t i) {
  return sci_args(cx, sci_node_at(cx, id))[i];
}
static inline sc_expr sci_wrap(sc_context *cx, sci_id id) {
  return (sc_expr){.cx = cx, .id = id, .generation = cx->generation};
}
static inline const void *sci_attr(const sc_context *cx, sci_id id) {
  return cx->blobs[sci_node_at(cx, id)->attr].data;
}
static inline size_t sci_attr_size(const sc_context *cx, sci_id id) {
  return cx->blobs[sci_node_at(cx, id)->attr].size;
}
const char *sci_xop_name(unsigned op);        /* of scalar and structural operations */
int sci_xop_find(const char *name, size_t n); /* -1: none; program-only operations are not found */
bool sci_is_elementwise(unsigned op);         /* a scalar operation */
bool sci_attr_is_blob(unsigned op);           /* a node's attr is a blob's number */
/* "tensor<3x4xfloat64 diff>", "3x4" ("scalar" for rank 0): in the scratch arena, for messages. */
const char *sci_type_text(sc_context *cx, sci_id id);
const char *sci_shape_text(sc_context *cx, int rank, const int64_t *shape);
/* A constant scalar or a broadcast of one: its value. */
bool sci_const_value(const sc_context *cx, sci_id id, sci_scalar *out);
bool sci_is_const_number(const sc_context *cx, sci_id id, double v);

/* ---- interning: no checks, no simplification (for rebuilding what was already checked) ---- */

uint32_t sci_intern_type(sc_context *cx, sc_dtype dtype, bool diff, int rank, const int64_t *shape); /* checks sizes */
uint32_t sci_intern_blob(sc_context *cx, const void *data, size_t size);
sci_id sci_intern_node(sc_context *cx, unsigned op, sc_hint hint, uint32_t type, uint32_t attr, uint32_t n_args,
                       const sci_id *args);
bool sci_context_init(sc_context *cx, const sc_allocator *alloc); /* false: no memory, nothing held */
void sci_context_free(sc_context *cx);
/* The part of a context that holds nodes, blobs and types: emptied (what it held is not freed), freed. */
void sci_storage_init(sc_context *cx);
void sci_storage_free(sc_context *cx);
/* Drops what neither a live function nor the kept ids reach, renumbers the rest and rewrites the kept ids. */
void sci_collect(sc_context *cx, sci_id *keep, size_t n);
const sci_memo *sci_memo_find(const sc_context *cx, uint32_t key); /* NULL: none; valid until the next one is added */
void sci_memo_add(sc_context *cx, uint32_t key, uint32_t function, uint32_t data);
const sci_memo *sci_memo_of_function(const sc_context *cx, const sc_function *f);
/* Snapshot and rollback: lib/api takes a mark at entry and rolls back on failure. */
typedef struct sci_context_mark {
  uint32_t n_nodes, n_blobs, n_types, n_functions, n_memos, next_serial;
  sci_arena_mark arena;
} sci_context_mark;
sci_context_mark sci_context_here(const sc_context *cx);
void sci_context_rollback(sc_context *cx, sci_context_mark m);

/* ---- checked builders: infer, check, simplify, intern; unwind on failure ---- */

sci_id sci_make_input(sc_context *cx, const char *name, sc_dtype dtype, bool diff, int rank, const int64_t *shape);
sci_id sci_make_const(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, const void *data);
sci_id sci_make_number(sc_context *cx, sc_dtype dtype, sci_scalar v);
/* s where a is select(s == 0, 0, sqrt(s)), which norm_2 builds; SCI_NONE. */
sci_id sci_guarded_root(const sc_context *cx, sci_id a);
sci_id sci_make_double(sc_context *cx, sc_dtype dtype, double v);
sci_id sci_make_fill(sc_context *cx, sc_dtype dtype, int rank, const int64_t *shape, double v);
/* Elementwise, not cast. Operands are broadcast here, by explicit broadcast nodes: the operands of an elementwise NODE
 * always have the result's shape. A commutative node is found in either order of its operands and keeps the order it
 * was first built with. */
sci_id sci_make_scalar_op(sc_context *cx, sci_op op, const sci_id *args);
sci_id sci_make1(sc_context *cx, sci_op op, sci_id a);
sci_id sci_make2(sc_context *cx, sci_op op, sci_id a, sci_id b);
sci_id sci_make_select(sc_context *cx, sci_id cond, sci_id a, sci_id b);
sci_id sci_make_cast(sc_context *cx, sci_id a, sc_dtype dtype);
sci_id sci_make_stop_gradient(sc_context *cx, sci_id a);
sci_id sci_make_reduce(sc_context *cx, sci_xop op, sci_id a, uint32_t mask); /* sum, max, min; mask of axes; ~0u: all */
sci_id sci_make_reshape(sc_context *cx, sci_id a, int rank, const int64_t *shape);
sci_id sci_make_transpose(sc_context *cx, sci_id a, const int *axes);
sci_id sci_make_slice(sc_context *cx, sci_id a, int n, const sc_range *index);    /* Python meaning */
sci_id sci_make_slice_axes(sc_context *cx, sci_id a, const sci_slice_axis *axes); /* canonical, one per axis */
sci_id sci_make_broadcast(sc_context *cx, sci_id a, int rank, const int64_t *shape);
sci_id sci_make_gather(sc_context *cx, sci_id a, const int32_t *indices, int rank, const int64_t *shape);
sci_id sci_make_scatter(sc_context *cx, sci_id a, const int32_t *indices, int rank, const int64_t *shape);
sci_id sci_make_index(sc_context *cx, sci_xop op, sci_id base, sci_id values,
                      const int32_t *indices);                                               /* index_add, index_set */
sci_id sci_make_join(sc_context *cx, sci_xop op, const sci_id *parts, uint32_t n, int axis); /* stack, concat */
sci_id sci_make_matmul(sc_context *cx, sci_id a, sci_id b);
sci_id sci_make_call(sc_context *cx, sc_function *f, const sci_id *args, uint32_t n_args, uint32_t output);
sci_id sci_make_vmap(sc_context *cx, sc_function *f, int64_t length, const sci_id *args, uint32_t n_args,
                     const int64_t *starts, const int64_t *strides, uint32_t output);
sci_id sci_make_hint(sc_context *cx, sci_id a, sc_hint hint);
/* The same operation, attributes and hint on other operands (of the same dtypes and shapes), through the builders so
 * that simplification applies again. */
sci_id sci_remake(sc_context *cx, sci_id id, const sci_id *args);
/* The node of a handle; SC_ERR_STALE when it belongs to another context or to a time before the last collect. */
sci_id sci_handle(sc_context *cx, sc_expr e);
sc_function *sci_make_function(sc_context *cx, const char *name, const sc_named *in, size_t n_in, const sc_named *out,
                               size_t n_out);
void sci_function_destroy(sc_function *f); /* frees it; its id stays unused */
void sci_function_report(sc_function *f, uint32_t output,
                         const struct sc_matrix_report *report); /* a copy, under f's names */
void sci_function_hint_set(sc_function *f, sc_hint hint);
/* Names of functions and ports: letters, digits, _, not a digit first, at most SCI_NAME_MAX; ports may have ':'
 * (spelled _). */
enum { SCI_NAME_MAX = 255 };
void sci_check_name(sc_context *cx, const char *what, const char *name, bool port);
sc_pattern *sci_copy_pattern(sci_arena *arena, const sc_pattern *p);
/* Numbers of the inputs that custom derivatives take tangents of (the differentiable ones), and of the outputs that
 * have them (the float ones); returns how many. */
uint32_t sci_tangent_inputs(const sc_function *f, uint32_t *index);
uint32_t sci_tangent_outputs(const sc_function *f, uint32_t *index);
void sci_attach_derivative(sc_function *f, const sci_custom *custom); /* checks that it fits */
bool sci_is_custom(const sc_function *f);
void sci_inherit(sc_function *version, const sc_function *f); /* hint, strictness, custom derivative, reports */
bool sci_pattern_fits(const sc_pattern *p); /* sizes in range, entries ordered and inside the matrix */
/* The index of a port by name; SC_ERR_NAME listing the names there are. */
uint32_t sci_find_port(sc_context *cx, const sc_function *f, bool output, const char *name);

/* ---- inference and verification ---- */

/* What a node is made of, before it is one. */
typedef struct sci_recipe {
  unsigned op;
  uint32_t n_args, attr;
  const sci_id *args;
  uint32_t type; /* of input, const, reshape, broadcast, gather, scatter and cast, whose attribute it is; SCI_NONE
                    otherwise */
} sci_recipe;
/* The result's type, or a failure that says why there is none. Structural operations have one function each, scalar
 * ones share sci_infer_scalar. */
uint32_t sci_infer(sc_context *cx, const sci_recipe *r);
#define SCI_XOP(name, ...) uint32_t sci_infer_##name(sc_context *cx, const sci_recipe *r);
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
uint32_t sci_infer_scalar(sc_context *cx, const sci_recipe *r);
/* Checks f and the functions it calls; unwinds with SC_ERR_VERIFY naming the first broken rule. */
void sci_verify(sc_context *cx, const sc_function *f);

/* ---- walking ---- */

/* The nodes that `roots` reach (inputs and constants included, callees' bodies not), in ascending = topological order,
 * numbered from 0. In the scratch arena. */
typedef struct sci_order {
  uint32_t n;
  sci_id *ids;
  sci_id base;         /* ids[0] */
  uint32_t *number_of; /* indexed by id - base when the ids are dense enough, else NULL: binary search */
} sci_order;
sci_order sci_reach(sc_context *cx, const sci_id *roots, uint32_t n);
sci_order sci_reach_function(sc_context *cx, const sc_function *f); /* from all outputs and inputs */
uint32_t sci_number(const sci_order *o, sci_id id);                 /* SCI_NONE: not reached */
/* Functions called from f, transitively, callees before callers, f last; `rules`: and the derivatives that any of them
 * brings along. In the scratch arena. */
uint32_t sci_callees(sc_context *cx, sc_function *f, bool rules, sc_function ***out);

#endif
