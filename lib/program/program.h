/* The program dialect's data: procedures, buffers, loops, statements and scalar values.
 *
 * A program shares one `store` (arena, values, names, buffers, tables) with every program that passes derived from it.
 * A pass never changes a program: it builds a new sci_program whose unchanged procedures and statements are the old
 * ones' own. Ids of values, names, loop variables and buffers belong to the store, so they stay meaningful across
 * passes; an inlined copy gets fresh names, variables and buffers.
 *
 * Scalar values are pure and interned: constants, scalar names, loop variables, operations of ops.def. Their operands
 * precede them. A value is evaluated where a statement uses it. Names are assigned once, unless declared mutable: then
 * a later assignment in the same or an inner block changes them (loop-carried accumulators). Loads, stores, assignments
 * and calls are statements.
 *
 * Index values are int64 arithmetic over loop variables and names; they never overflow and address buffers in elements.
 */
#ifndef SCI_PROGRAM_PROGRAM_H
#define SCI_PROGRAM_PROGRAM_H

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/ops/ops.h"
#include "lib/target/vector_math.h"
#include "scaly/program.h"

typedef uint32_t sci_val;  /* scalar value */
typedef uint32_t sci_name; /* scalar name */
typedef uint32_t sci_var;  /* loop variable */
typedef uint32_t sci_buf;  /* buffer */
#define SCI_NIL UINT32_MAX

typedef enum sci_value_kind { SCI_V_CONST, SCI_V_NAME, SCI_V_VAR, SCI_V_OP } sci_value_kind;

typedef struct sci_value { /* 32 bytes */
  uint8_t kind, dtype;
  uint16_t op;      /* SCI_V_OP: sci_op; cast: dtype is the result's */
  uint32_t args[3]; /* OP: values; NAME: the name; VAR: the variable */
  uint64_t bits;    /* CONST: sci_scalar_bits */
  uint32_t hash;
  uint32_t flags; /* sci_value_flag, of the value and all it is made of */
} sci_value;

typedef enum sci_value_flag {
  SCI_VAL_MUTABLE = 1, /* over a mutable name: means something else after an assignment */
  SCI_VAL_NAME = 2,    /* over any name */
  SCI_VAL_VAR = 4,     /* over a loop variable */
  SCI_VAL_COSTLY = 8,  /* holds a math-library call, a division or a square root */
} sci_value_flag;

typedef struct sci_name_info {
  uint8_t dtype;
  uint8_t is_mutable;
  sci_val value;    /* SCI_NIL: not asked for yet */
  const char *hint; /* decoration: a name from the model, may be NULL */
} sci_name_info;

typedef struct sci_var_info {
  sci_val value;
  const char *hint;
} sci_var_info;

typedef enum sci_space { SCI_SPACE_INPUT, SCI_SPACE_OUTPUT, SCI_SPACE_PRIVATE, SCI_SPACE_CONSTANT } sci_space;

typedef struct sci_buffer {
  uint8_t dtype, space;
  sci_buf alias_of;     /* SCI_NIL, or the buffer (itself no alias) that owns the storage ... */
  int64_t alias_offset; /* ... and where this one starts in it, in elements */
  int64_t size;         /* elements */
  const void *data;     /* SCI_SPACE_CONSTANT: `size` elements, deduplicated by content */
  const char *hint;
} sci_buffer;

typedef enum sci_loop_kind {
  SCI_LOOP_INDEPENDENT, /* iterations touch disjoint stores and may run in any order, or at once; a private buffer that
                           only the body touches is each iteration's own */
  SCI_LOOP_REDUCE,      /* carries accumulators only; the order is kept */
  SCI_LOOP_SERIAL,
  SCI_LOOP_VECTOR, /* independent, and chosen to run in lanes: the body is written for one iteration */
} sci_loop_kind;

/* How the last chunk of a vector loop is completed when the trip count is no multiple of the lanes. */
typedef enum sci_tail {
  SCI_TAIL_NONE,    /* it is a multiple of every width up to the cap */
  SCI_TAIL_OVERLAP, /* the last chunk starts early and computes some iterations again, which is harmless */
  SCI_TAIL_MASKED,  /* a chunk of its own; lanes past the last iteration repeat that one, in step with it */
  SCI_TAIL_ALL,     /* the same, but every chunk is spelled that way: one copy of a long body */
} sci_tail;

typedef enum sci_stmt_kind { SCI_S_LOAD, SCI_S_STORE, SCI_S_ASSIGN, SCI_S_LOOP, SCI_S_CALL } sci_stmt_kind;

struct sci_loop;
struct sci_call;

typedef struct sci_stmt {
  uint8_t kind;
  uint8_t declare; /* ASSIGN: introduces the name (always so for immutable names); LOAD always does */
  sci_name name;   /* LOAD, ASSIGN: the name defined */
  sci_buf buf;     /* LOAD, STORE */
  sci_val index;   /* LOAD, STORE: element, int64 */
  sci_val value;   /* STORE, ASSIGN */
  union {
    const struct sci_loop *loop;
    const struct sci_call *call;
  };
} sci_stmt;

typedef struct sci_block {
  uint32_t n;
  const sci_stmt *stmts;
} sci_block;

typedef struct sci_loop {
  sci_var var;
  uint8_t kind;              /* sci_loop_kind */
  int64_t start, stop, step; /* start, start + step, ... < stop; step > 0 */
  sci_block body;
  uint8_t lanes; /* VECTOR: the cap on iterations at once, a power of two; up to 1: scalar */
  uint8_t of;    /* VECTOR: the dtype of what differs between lanes; of float32 there are twice as many */
  uint8_t tail;  /* VECTOR: sci_tail */
} sci_loop;

typedef struct sci_view {
  sci_buf buf;
  sci_val index; /* first element; the callee's parameter gives the extent */
} sci_view;

typedef struct sci_call {
  uint32_t proc; /* index into the program's procedures, less than the caller's own */
  uint32_t n;    /* inputs, then outputs */
  const sci_view *views;
} sci_call;

typedef struct sci_local {
  sci_buf buf;
  bool in_workspace;
  uint8_t lanes;  /* of a vector loop that has it to itself: room for so many iterations, element by element; else 0 */
  int64_t offset; /* bytes: in the procedure's own workspace window, or its stack slot area; -1: not packed yet */
} sci_local;

typedef struct sci_proc {
  const char *name; /* a C identifier, unique in the program */
  uint8_t hint;     /* sc_hint */
  uint32_t n_in, n_out, n_locals;
  const sci_buf *params; /* inputs, then outputs */
  const sci_local *locals;
  sci_block body;
  int64_t workspace_self;  /* bytes of its own window (multiple of 64) */
  int64_t workspace_total; /* with the deepest callee */
  int64_t stack_self;      /* bytes of packed stack slots */
} sci_proc;

/* What the entry's parameters are, beyond their storage. */
typedef struct sci_port_info {
  const char *name;
  uint8_t dtype, rank;
  int64_t shape[SC_MAX_RANK]; /* of the stored values when sparse: {nnz} */
  const sc_pattern *pattern;  /* NULL: dense */
} sci_port_info;

typedef struct sci_store {
  sci_env *env;
  uint32_t refs; /* programs sharing it */
  sci_arena arena;
  sci_value *values;
  uint32_t n_values, cap_values, n_indexed; /* values, those in value_index */
  sci_name_info *names;
  uint32_t n_names, cap_names;
  sci_var_info *vars;
  uint32_t n_vars, cap_vars;
  sci_buffer *bufs;
  uint32_t n_bufs, cap_bufs;
  sci_buf *tables; /* the constant ones */
  uint32_t n_tables, cap_tables;
  sci_index value_index, table_index;
} sci_store;

struct sc_program {
  sc_context *cx; /* for diagnostics and memory only */
  sci_store *store;
  const char *name; /* of the function lowered */
  uint32_t n_procs; /* callees before callers; the last is the entry */
  const sci_proc *const *procs;
  const sci_port_info *ports; /* the entry's inputs, then outputs */
  sc_target target;
  sci_vector_math vector; /* what lanes of a math function may call */
  uint8_t rounding;       /* sc_rounding */
  bool strict_nan;        /* no folding that is wrong for NaN, infinities or signed zeros */
  bool derived;           /* computes derivatives: sums of two products may round once */
  const sc_pass_report *reports;
  size_t n_reports;
};
typedef struct sc_program sci_program;

/* ---- building; everything unwinds on failure ---- */

sci_store *sci_store_create(sci_env *env); /* one reference, deferred for cleanup until a program takes it over */
void sci_store_release(sci_store *s);
/* An empty program that takes over the creator's reference of the store; deferred: sci_keep it when owned. Fill in its
 * fields; what they point to lives in the store's arena. */
sci_program *sci_program_create(sc_context *cx, sci_store *s);
void sci_program_free(sci_program *p);
/* A shallow copy with other procedures, sharing the store (a reference of its own); deferred. What passes return. */
sci_program *sci_program_with(const sci_program *p, uint32_t n_procs, const sci_proc *const *procs);

sci_val sci_val_const(sci_store *s, sc_dtype dtype, sci_scalar v);
sci_val sci_val_double(sci_store *s, sc_dtype dtype, double v);
sci_val sci_val_int(sci_store *s, int64_t v); /* index constant */
sci_val sci_val_name(sci_store *s, sci_name n);
sci_val sci_val_var(sci_store *s, sci_var v);
/* An operation: constants fold; identities that are exact for every input apply. `dtype` is the result's (cast needs
 * it; others must agree). */
sci_val sci_val_op(sci_store *s, sci_op op, sc_dtype dtype, const sci_val *args);
sci_val sci_val_op1(sci_store *s, sci_op op, sci_val a);
/* The operation v with other operands; v itself when they are its own. */
sci_val sci_val_with(sci_store *s, sci_val v, const sci_val *args);
sci_val sci_val_op2(sci_store *s, sci_op op, sci_val a, sci_val b);
/* Index arithmetic: canonical sums of products, so that equal indices are equal ids where they are affine: terms with
 * positive coefficients first, larger ones first, then (as subtractions) the negative ones, the constant last; terms of
 * equal coefficient in order of ids, so a printer that must not depend on ids orders those itself. sci_val_op does the
 * same for every int64 sum. */
sci_val sci_idx_add(sci_store *s, sci_val a, sci_val b);
sci_val sci_idx_mul(sci_store *s, sci_val a, int64_t k);
sci_val sci_idx_div(sci_store *s, sci_val a, int64_t k); /* a >= 0, k > 0 */
sci_val sci_idx_mod(sci_store *s, sci_val a, int64_t k);

/* constant + sum of coefficient * term, each term a loop variable, name or non-affine value. Returns false past `cap`
 * terms. */
typedef struct sci_affine {
  int64_t constant;
  uint32_t n;
  struct {
    sci_val term;
    int64_t coefficient;
  } terms[16];
} sci_affine;
bool sci_affine_of(const sci_store *s, sci_val v, sci_affine *out);
sci_val sci_affine_value(sci_store *s, sci_affine *f); /* sorts the terms; they must differ and have coefficients */
/* Every occurrence of a variable or name replaced. Results are remembered, so substituting many values is linear in
 * what they reach together: give a replacement before substituting values that contain what it replaces. Giving another
 * one later is fine, and forgets. */
typedef struct sci_subst sci_subst;
sci_subst *sci_subst_new(sci_store *s); /* scratch arena */
void sci_subst_var(sci_subst *m, sci_var v, sci_val to);
void sci_subst_name(sci_subst *m, sci_name n, sci_val to);
void sci_subst_buf(sci_subst *m, sci_buf b, sci_buf to,
                   sci_val offset); /* for blocks: views of b become views of to at + offset */
sci_val sci_subst_val(sci_subst *m, sci_val v);
/* The statement with its own values and indices (not a loop's body) substituted, in place: names and buffers stay. */
sci_stmt sci_subst_stmt(sci_subst *m, const sci_stmt *st);
/* A copy of a block under the substitution with fresh names and loop variables (inlining, unrolling). */
sci_block sci_subst_block(sci_subst *m, sci_block b);

sci_name sci_new_name(sci_store *s, sc_dtype dtype, bool is_mutable, const char *hint);
sci_var sci_new_var(sci_store *s, const char *hint);
sci_buf sci_new_buf(sci_store *s, sc_dtype dtype, sci_space space, int64_t size, const char *hint);
sci_buf sci_new_alias(sci_store *s, sci_buf of, int64_t offset, int64_t size,
                      const char *hint); /* resolves aliases of aliases */
sci_buf sci_const_table(sci_store *s, sc_dtype dtype, int64_t n, const void *data,
                        const char *hint); /* deduplicated; copies */

typedef struct sci_block_builder {
  sci_arena *scratch;
  SCI_VEC(sci_stmt) stmts;
} sci_block_builder;
void sci_block_begin(sci_block_builder *b, sci_store *s);
void sci_emit(sci_block_builder *b, sci_stmt st);
sci_val sci_emit_load(sci_block_builder *b, sci_store *s, sci_buf buf, sci_val index,
                      const char *hint); /* the name's value */
void sci_emit_store(sci_block_builder *b, sci_buf buf, sci_val index, sci_val value);
sci_val sci_emit_let(sci_block_builder *b, sci_store *s, sci_val value, const char *hint); /* an immutable name */
sci_name sci_emit_mutable(sci_block_builder *b, sci_store *s, sci_val value,
                          const char *hint);                           /* declares and initializes */
void sci_emit_assign(sci_block_builder *b, sci_name n, sci_val value); /* a later assignment */
void sci_emit_loop(sci_block_builder *b, sci_store *s, sci_loop_kind kind, sci_var var, int64_t n, sci_block body);
void sci_emit_call(sci_block_builder *b, sci_store *s, uint32_t proc, uint32_t n, const sci_view *views);
sci_stmt sci_loop_stmt(sci_store *s, sci_loop_kind kind, sci_var var, int64_t start, int64_t stop, int64_t step,
                       sci_block body);
/* The vector loop with a plan. */
sci_stmt sci_vector_stmt(sci_store *s, const sci_loop *like, sci_block body, int lanes, sc_dtype of, sci_tail tail);
sci_stmt sci_call_stmt(sci_store *s, uint32_t proc, uint32_t n, const sci_view *views);
sci_block sci_block_end(sci_block_builder *b, sci_store *s); /* copies into the store's arena */

static inline const sci_value *sci_value_at(const sci_store *s, sci_val v) {
  return &s->values[v];
}
static inline bool sci_val_is_const(const sci_store *s, sci_val v) {
  return s->values[v].kind == SCI_V_CONST;
}
int64_t sci_val_int_of(const sci_store *s, sci_val v); /* of an integer constant */
static inline int64_t sci_loop_trips(const sci_loop *l) {
  return l->stop <= l->start ? 0 : (l->stop - l->start + l->step - 1) / l->step;
}
static inline const sci_proc *sci_entry(const sci_program *p) {
  return p->procs[p->n_procs - 1];
}
/* Bytes of one element: of every lane, side by side, where the local has lanes. */
int64_t sci_local_unit(const sci_store *s, const sci_local *l);
/* The buffer that owns b's storage, and b's offset in it. */
sci_buf sci_storage(const sci_store *s, sci_buf b, int64_t *offset);

/* ---- verifying (lib/program/verify.c): SC_ERR_VERIFY naming procedure, statement, rule and reason ---- */
void sci_program_check(const sci_program *p);

#endif
