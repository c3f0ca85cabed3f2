/* What the parts of the program verifier share: the rule table and the facts gathered on the way. */
#ifndef SCI_PROGRAM_VERIFY_H
#define SCI_PROGRAM_VERIFY_H

#include "lib/program/map.h"
#include "lib/program/program.h"

/* Every rule; tests/unit/program trips each one. */
#define SCI_RULES(RULE)                                                                                                \
  RULE(entry)          /* there is an entry; its ports agree with its parameters */                                     \
  RULE(proc_name)      /* procedures have distinct names */                                                             \
  RULE(param)          /* parameters are buffers of their own, inputs first, never aliases */                           \
  RULE(local)          /* locals are private buffers of their own, never aliases */                                     \
  RULE(packing)        /* packed locals lie inside their area, aligned */                                               \
  RULE(alias)          /* an alias lies inside a buffer that is none, with its dtype and space */                       \
  RULE(buffer_scope)   /* a procedure touches its parameters, its locals, constants and aliases of these */             \
  RULE(constant)       /* a constant has its elements */                                                                \
  RULE(op)             /* operations exist and their operands' dtypes agree with their signature */                     \
  RULE(name_scope)     /* a name is used where its definition is visible */                                             \
  RULE(var_scope)      /* a loop variable is used inside its loop */                                                    \
  RULE(name_once)      /* a name is declared once; an immutable one is assigned where it is declared */                 \
  RULE(assign)         /* a later assignment changes a mutable name declared in this block or around it */              \
  RULE(dtype)          /* what is stored, loaded and assigned has the dtype of its place; indices are int64 */          \
  RULE(loop)           /* loops have a known kind, a positive step and a variable of their own */                       \
  RULE(readonly)       /* inputs and constants are not written */                                                       \
  RULE(bounds)         /* every view lies inside its buffer */                                                          \
  RULE(call_order)     /* callees come before callers */                                                                \
  RULE(call_arity)     /* a call has a view per parameter */                                                            \
  RULE(call_dtype)     /* of the parameter's dtype */                                                                   \
  RULE(call_overlap)   /* an output of a call overlaps no other view of it */                                           \
  RULE(independent)    /* iterations that may run in any order do not touch what another one writes */

typedef enum sci_rule {
#define SCI_RULE(name) SCI_RULE_##name,
  SCI_RULES(SCI_RULE)
#undef SCI_RULE
      SCI_RULE_COUNT
} sci_rule;

typedef struct sci_scope {
  uint32_t depth;
  bool open;
} sci_scope;

typedef struct sci_range {
  int64_t lo, hi;
  bool known; /* every value lies in [lo, hi] */
  bool exact; /* both ends are reached: loop variables only */
} sci_range;

/* Scopes are numbered in the order they open, so what a loop contains has larger numbers than the loop. Number 0 holds what depends on
 * nothing. */
typedef struct sci_checker {
  const sci_program *p;
  const sci_store *s;
  sci_env *env;
  sci_arena *a;
  const sci_proc *proc;
  uint32_t proc_index, statement;
  uint32_t dead;              /* loops around this point that never run */
  SCI_VEC(sci_scope) scopes;
  uint32_t scope;             /* the innermost open one */
  uint32_t *value_scope;      /* per value: the innermost scope it needs, + 1; 0: not checked yet */
  uint32_t *name_scope;       /* per name: where it is declared, + 1 */
  const sci_stmt **name_def;  /* immutable names: the statement */
  uint32_t *var_scope;        /* per loop variable: its body, + 1 */
  const sci_loop **var_loop;
  uint32_t *buf_proc;         /* per parameter or local: its procedure + 1 */
  SCI_VEC(sci_val) stack;
  sci_map table_at;           /* constant buffers: where their range is in `tables` */
  SCI_VEC(sci_range) tables;
  int64_t budget;             /* point evaluations left for the promises of this program's loops */
} sci_checker;

_Noreturn void sci_rule_fail(const sci_checker *k, sci_rule rule, const char *fmt, ...) SCI_PRINTF(3, 4);

/* ---- ranges (lib/program/ranges.c) ---- */

sci_range sci_range_of(sci_checker *k, sci_val index); /* where loops run at least once */
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
bool sci_points_make(const sci_checker *k, sci_val index, sci_points *out); /* false: it depends on what is not known */
bool sci_points_eval(const sci_checker *k, sci_points *pts, int64_t *out);  /* at the current trips */
/* The next point, over variables of scopes of at least `inner` (others keep trip 0), each over at most `cap` trips; false at the end. */
bool sci_points_next(const sci_checker *k, sci_points *pts, uint32_t inner, int64_t cap);
/* Fails with `bounds` when [index, index + extent) leaves the buffer, as far as ranges and points tell. */
void sci_check_bounds(sci_checker *k, sci_buf b, sci_val index, int64_t extent);

/* ---- loops (lib/program/promise.c) ---- */

/* The promise of an independent or vector loop; `scope` is its body's, already checked. */
void sci_check_independent(sci_checker *k, const sci_loop *l, uint32_t scope);

#endif
