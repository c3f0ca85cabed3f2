/* What the parts of the program verifier share: the rule table and the facts gathered on the way. */
#ifndef SCI_PROGRAM_VERIFY_H
#define SCI_PROGRAM_VERIFY_H

#include "lib/program/ranges.h"

/* Every rule; tests/unit/program trips each one. */
#define SCI_RULES(RULE)                                                                                                \
  RULE(entry)        /* there is an entry; its ports agree with its parameters */                                      \
  RULE(proc_name)    /* procedures have distinct names */                                                              \
  RULE(param)        /* parameters are buffers of their own, inputs first, never aliases */                            \
  RULE(local)        /* locals are private buffers of their own, never aliases */                                      \
  RULE(packing)      /* packed locals lie inside their area, aligned */                                                \
  RULE(alias)        /* an alias lies inside a buffer that is none, with its dtype and space */                        \
  RULE(buffer_scope) /* a procedure touches its parameters, its locals, constants and aliases of these */              \
  RULE(constant)     /* a constant has its elements */                                                                 \
  RULE(op)           /* operations exist and their operands' dtypes agree with their signature */                      \
  RULE(name_scope)   /* a name is used where its definition is visible */                                              \
  RULE(var_scope)    /* a loop variable is used inside its loop */                                                     \
  RULE(name_once)    /* a name is declared once; an immutable one is assigned where it is declared */                  \
  RULE(assign)       /* a later assignment changes a mutable name declared in this block or around it */               \
  RULE(dtype)        /* what is stored, loaded and assigned has the dtype of its place; indices are int64 */           \
  RULE(loop)         /* loops have a known kind, a positive step and a variable of their own */                        \
  RULE(readonly)     /* inputs and constants are not written */                                                        \
  RULE(bounds)       /* every view lies inside its buffer */                                                           \
  RULE(call_order)   /* callees come before callers */                                                                 \
  RULE(call_arity)   /* a call has a view per parameter */                                                             \
  RULE(call_dtype)   /* of the parameter's dtype */                                                                    \
  RULE(call_overlap) /* an output of a call overlaps no other view of it */                                            \
  RULE(independent)  /* iterations that may run in any order do not touch what another one writes */                   \
  RULE(lanes) /* the body of a loop with lanes can be spelled in lanes, and its tail is one it can have; memory of an  \
                 iteration has room for each lane, and only that memory has */

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

/* Scopes are numbered in the order they open, so what a loop contains has larger numbers than the loop. Number 0 holds
 * what depends on nothing. */
typedef struct sci_checker {
  sci_facts facts; /* loops and definitions met so far */
  const sci_program *p;
  const sci_store *s;
  sci_env *env;
  sci_arena *a;
  const sci_proc *proc;
  uint32_t proc_index, statement;
  uint32_t dead; /* loops around this point that never run */
  SCI_VEC(sci_scope) scopes;
  uint32_t scope;             /* the innermost open one */
  uint32_t *value_scope;      /* per value: the innermost scope it needs, + 1; 0: not checked yet */
  uint32_t *name_scope;       /* per name: where it is declared, + 1 */
  uint32_t *var_scope;        /* per loop variable: its body, + 1 */
  uint32_t *buf_proc;         /* per parameter or local: its procedure + 1 */
  uint32_t *touches, counted; /* per storage: accesses that run, in its procedure once that is counted (+ 1) */
  SCI_VEC(sci_val) stack;
  struct sci_lane_facts *lanes; /* NULL: no loop had lanes so far */
  uint8_t *has_lanes;           /* per buffer: the local's lanes */
  SCI_VEC(sci_buf) in_lanes;    /* such locals that were met and must turn out to be an iteration's own */
  int64_t budget;               /* point evaluations left for the promises of this program's loops */
} sci_checker;

_Noreturn void sci_rule_fail(const sci_checker *k, sci_rule rule, const char *fmt, ...) SCI_PRINTF(3, 4);

/* ---- loops (lib/program/promise.c) ---- */

/* The promise of an independent or vector loop; `scope` is its body's, already checked. */
void sci_check_independent(sci_checker *k, const sci_loop *l, uint32_t scope);

#endif
