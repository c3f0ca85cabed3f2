/* Walking and rebuilding programs: what passes share. */
#ifndef SCI_PROGRAM_WALK_H
#define SCI_PROGRAM_WALK_H

#include "lib/program/program.h"

/* ---- values ---- */

/* The values that some roots reach, each once. Numbers are per set; collecting costs the values reached, so a set may
 * be emptied and reused per procedure. Lives in the scratch arena. */
typedef struct sci_reach {
  const sci_store *s;
  uint32_t *number; /* per value of the store when the set was made: its place in `list` + 1; 0: not reached */
  uint32_t n_values;
  SCI_VEC(sci_val) list;
  SCI_VEC(sci_val) stack;
} sci_reach;

sci_reach *sci_reach_new(sci_store *s);
void sci_reach_add(sci_reach *r, sci_val v);
void sci_reach_block(sci_reach *r, sci_block b); /* every value and index of the block */
void sci_reach_sort(sci_reach *r);               /* ascending ids: operands first */
void sci_reach_clear(sci_reach *r);
/* Per reached value of the block: how often its statements and other reached values hold it. In the scratch arena. */
uint32_t *sci_reach_uses(const sci_reach *r, sci_block b);
/* The block storing and assigning to[i] where it had reached value i. */
sci_block sci_reach_replace(const sci_reach *r, sci_store *s, const sci_val *to, sci_block b);
static inline uint32_t sci_reach_at(const sci_reach *r, sci_val v) {
  return r->number[v] - 1; /* UINT32_MAX: not reached */
}

/* Calls fn for each value and index that a statement itself holds (not its body): values of stores and assignments,
 * indices of accesses and views. */
typedef void (*sci_value_fn)(void *user, sci_val v, bool is_index);
void sci_stmt_values(const sci_stmt *st, sci_value_fn fn, void *user);

/* ---- statements ---- */

/* Rebuilds blocks: `stmt` emits what a statement becomes (nothing, itself, several); unset, or for what it does not
 * care about, it calls sci_rewrite_default, which keeps the statement and rewrites the bodies of loops. Blocks and
 * loops without a change stay the old ones' own. */
typedef struct sci_rewriter sci_rewriter;
struct sci_rewriter {
  sci_store *s;
  void (*stmt)(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st);
  void *user;
};
sci_block sci_rewrite_block(sci_rewriter *r, sci_block b);
void sci_rewrite_default(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st);
/* What was built, or b itself when that is the same statements. */
sci_block sci_block_or(sci_block_builder *out, sci_store *s, sci_block b);
/* The loop with another body; itself when the body is its own. */
sci_stmt sci_loop_with(sci_store *s, const sci_stmt *st, sci_block body);
/* The procedure with another body; itself when the body is its own. */
const sci_proc *sci_proc_with(sci_store *s, const sci_proc *q, sci_block body);
/* The procedure with another body and these locals, which are copied. */
const sci_proc *sci_proc_with_locals(sci_store *s, const sci_proc *q, sci_block body, const sci_local *locals,
                                     size_t n);
/* The procedure calling number[i] where it called i; itself when nothing changes. */
const sci_proc *sci_proc_renumbered(sci_store *s, const sci_proc *q, uint32_t *number);

/* Whether memory is an input or a table, which nothing writes. */
bool sci_is_readonly(const sci_store *s, sci_buf b);
/* Whether a statement gives an immutable name its value; and whether it does, or loads, without reading mutable names.
 */
bool sci_is_let(const sci_store *s, const sci_stmt *st);
bool sci_is_pure(const sci_store *s, const sci_stmt *st);
/* Whether two neighbours name the sine and the cosine of one value: a backend may compute both in one call, of equal
 * bits. */
bool sci_is_sincos(const sci_store *s, const sci_stmt *sine, const sci_stmt *cosine);

/* Calls fn for each buffer that a statement touches, those in its body included. */
typedef void (*sci_access_fn)(void *user, sci_buf b, bool write);
void sci_stmt_accesses(const sci_program *p, const sci_stmt *st, sci_access_fn fn, void *user);

#endif
