/* Owns pack_workspace: every private buffer gets its place, buffers that are not alive together share one, and what
 * nothing touches goes.
 *
 * A buffer lives from the first to the last statement that touches it, of the procedure's outermost block, or of the
 * body of an independent loop if nothing else touches it: each iteration has it to itself. Buffers of 8 KiB or more go
 * to the workspace, at multiples of 64 bytes, the others to the stack; where the stack of a call chain would pass 32
 * KiB, the largest of the caller's follow them. On the stack each dtype has a region of its own, and so have the
 * vectors of each number of lanes (in the order of dtypes and lanes, each from a multiple of 64 bytes), so that a
 * backend may spell it as one array per type. */
#include <stdlib.h>

#include "lib/passes/passes.h"
#include "lib/program/walk.h"

enum { LINE = 64, WORKSPACE_FROM = 8 << 10, STACK_LIMIT = 32 << 10, HOLES_TRIED = 64 };
enum { LANE_TYPES = 5, TYPES = SC_DTYPE_COUNT * LANE_TYPES };

typedef struct life {
  uint32_t local, first, last;
  int64_t bytes, unit;
  unsigned type; /* of its elements */
} life;

typedef struct hole {
  int64_t at, bytes;
} hole;

typedef struct area {
  sci_arena *a;
  SCI_VEC(hole) holes; /* by offset */
  int64_t top;
} area;

typedef struct packing {
  const sci_program *p;
  uint32_t *first, *last;             /* per buffer of the store: numbers of statements, from 1; 0: untouched */
  uint32_t *in;                       /* per buffer: the block that its life is looked for in */
  uint32_t block, blocks, start, end; /* that block, how many there were, the statement at hand with all in its body */
  int64_t *stack_total, *workspace_total; /* per procedure packed so far */
  uint32_t index;
  int64_t *changes;
} packing;

static int64_t round_up(int64_t v, int64_t to) {
  return (v + to - 1) / to * to;
}

/* ---- places ---- */

static int64_t take(area *x, int64_t bytes) {
  size_t tried = x->holes.n < HOLES_TRIED ? x->holes.n : HOLES_TRIED;
  for (size_t i = 0; i < tried; i++) {
    hole *h = &x->holes.data[i];
    if (h->bytes < bytes) continue;
    int64_t at = h->at;
    h->at += bytes;
    h->bytes -= bytes;
    if (!h->bytes) {
      memmove(h, h + 1, (x->holes.n - i - 1) * sizeof *h);
      x->holes.n--;
    }
    return at;
  }
  x->top += bytes;
  return x->top - bytes;
}

static void give_back(area *x, int64_t at, int64_t bytes) {
  size_t i = x->holes.n;
  while (i && x->holes.data[i - 1].at > at) i--;
  hole *before = i ? &x->holes.data[i - 1] : NULL, *after = i < x->holes.n ? &x->holes.data[i] : NULL;
  bool joins_before = before && before->at + before->bytes == at, joins_after = after && at + bytes == after->at;
  if (joins_before) {
    before->bytes += bytes + (joins_after ? after->bytes : 0);
    if (!joins_after) return;
    memmove(after, after + 1, (x->holes.n - i - 1) * sizeof *after);
    x->holes.n--;
  } else if (joins_after) {
    after->at = at;
    after->bytes += bytes;
  } else {
    sci_vec_push(x->a, &x->holes, (hole){at, bytes});
    memmove(&x->holes.data[i + 1], &x->holes.data[i], (x->holes.n - 1 - i) * sizeof(hole));
    x->holes.data[i] = (hole){at, bytes};
  }
}

static int by_end(const void *p, const void *q) {
  const life *const *x = p, *const *y = q;
  if ((*x)->last != (*y)->last) return (*x)->last < (*y)->last ? -1 : 1;
  return (*x)->local < (*y)->local ? -1 : 1;
}

/* Places those lives (in order of their beginnings) that `in` selects; returns the area's size. */
static int64_t place(sci_arena *a, const life *lives, uint32_t n, bool (*in)(const life *, int64_t), int64_t key,
                     int64_t unit, int64_t base, sci_local *locals) {
  area x = {.a = a};
  const life **ends = SCI_ARRAY(a, const life *, n);
  uint32_t n_ends = 0, dead = 0;
  for (uint32_t i = 0; i < n; i++)
    if (in(&lives[i], key)) ends[n_ends++] = &lives[i];
  qsort(ends, n_ends, sizeof *ends, by_end);
  for (uint32_t i = 0; i < n; i++) {
    const life *l = &lives[i];
    if (!in(l, key)) continue;
    for (; dead < n_ends && ends[dead]->last < l->first; dead++)
      if (ends[dead]->bytes) give_back(&x, locals[ends[dead]->local].offset - base, round_up(ends[dead]->bytes, unit));
    locals[l->local].offset = base + (l->bytes ? take(&x, round_up(l->bytes, unit)) : 0);
  }
  return x.top;
}

/* ---- lives ---- */

static void touch(void *user, sci_buf b, bool write) {
  packing *x = user;
  int64_t offset;
  (void)write;
  sci_buf root = sci_storage(x->p->store, b, &offset);
  if (x->in[root] != x->block) return;
  if (!x->first[root]) x->first[root] = x->start;
  x->last[root] = x->end;
}

static uint32_t count(const sci_stmt *st) {
  uint32_t n = 1;
  for (uint32_t i = 0; st->kind == SCI_S_LOOP && i < st->loop->body.n; i++) n += count(&st->loop->body.stmts[i]);
  return n;
}

static void enter(void *user, sci_buf b, bool write) {
  packing *x = user;
  int64_t offset;
  (void)write;
  sci_buf root = sci_storage(x->p->store, b, &offset);
  if (x->in[root] != x->block || x->first[root] != x->start || x->last[root] != x->end) return;
  x->in[root] = x->blocks;
  x->first[root] = x->last[root] = 0;
}

/* The lives of the buffers that are in block `number`; `at`: the number of its first statement. Recursion follows loop
 * nesting only. */
static void live_block(packing *x, sci_block b, uint32_t number, uint32_t at) {
  uint32_t first = at;
  x->block = number;
  for (uint32_t i = 0; i < b.n; i++, at = x->end + 1) {
    x->start = at;
    x->end = at + count(&b.stmts[i]) - 1;
    sci_stmt_accesses(x->p, &b.stmts[i], touch, x);
  }
  at = first;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    uint32_t n = count(st);
    bool apart =
        st->kind == SCI_S_LOOP && (st->loop->kind == SCI_LOOP_INDEPENDENT || st->loop->kind == SCI_LOOP_VECTOR);
    if (apart) {
      x->block = number;
      x->start = at;
      x->end = at + n - 1;
      x->blocks++;
      sci_stmt_accesses(x->p, st, enter, x);
      live_block(x, st->loop->body, x->blocks, at + 1);
    }
    at += n;
  }
}

static int by_start(const void *p, const void *q) {
  const life *x = p, *y = q;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return x->local < y->local ? -1 : 1;
}

static unsigned type_of(const sci_store *s, const sci_local *l) {
  unsigned doublings = 0;
  while (1 << doublings < l->lanes) doublings++;
  return s->bufs[l->buf].dtype * LANE_TYPES + doublings;
}

/* In order of their beginnings, of the locals that are touched; those are moved to the front of `locals`. */
static life *lives_of(packing *x, sci_proc *q, sci_local *locals) {
  const sci_store *s = x->p->store;
  x->blocks++;
  for (uint32_t i = 0; i < q->n_locals; i++) {
    sci_buf b = q->locals[i].buf;
    x->first[b] = x->last[b] = 0;
    x->in[b] = x->blocks;
  }
  live_block(x, q->body, x->blocks, 1);
  life *lives = SCI_ARRAY(&s->env->scratch, life, q->n_locals);
  uint32_t n = 0;
  for (uint32_t i = 0; i < q->n_locals; i++) {
    sci_buf b = q->locals[i].buf;
    if (!x->first[b]) continue;
    int64_t unit = sci_local_unit(s, &q->locals[i]), bytes = sci_mul_size(s->env, s->bufs[b].size, unit, q->name);
    locals[n] = q->locals[i];
    lives[n] = (life){n, x->first[b], x->last[b], bytes, unit, type_of(s, &q->locals[i])};
    n++;
  }
  q->n_locals = n;
  q->locals = locals;
  qsort(lives, n, sizeof *lives, by_start);
  return lives;
}

static bool at_least(const life *l, int64_t threshold) {
  return l->bytes >= threshold;
}

/* The key packs threshold and type. */
static bool small_of(const life *l, int64_t key) {
  return l->type == key % TYPES && l->bytes < key / TYPES;
}

static int64_t place_stack(sci_arena *a, const life *lives, uint32_t n, int64_t threshold, sci_local *locals) {
  int64_t size = 0;
  int64_t unit[TYPES] = {0};
  for (uint32_t i = 0; i < n; i++) unit[lives[i].type] = lives[i].unit;
  for (unsigned type = 0; type < TYPES; type++) {
    if (!unit[type]) continue;
    int64_t base = round_up(size, LINE);
    int64_t top = place(a, lives, n, small_of, threshold * TYPES + type, unit[type], base, locals);
    if (top) size = base + top;
  }
  return size;
}

/* ---- procedures ---- */

static void callee_totals(const packing *x, sci_block b, int64_t *stack, int64_t *workspace) {
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind == SCI_S_LOOP) callee_totals(x, b.stmts[i].loop->body, stack, workspace);
    if (b.stmts[i].kind != SCI_S_CALL) continue;
    uint32_t callee = b.stmts[i].call->proc;
    if (x->stack_total[callee] > *stack) *stack = x->stack_total[callee];
    if (x->workspace_total[callee] > *workspace) *workspace = x->workspace_total[callee];
  }
}

static bool same_packing(const sci_proc *a, const sci_proc *b) {
  if (a->n_locals != b->n_locals) return false;
  if (a->workspace_self != b->workspace_self || a->workspace_total != b->workspace_total ||
      a->stack_self != b->stack_self)
    return false;
  for (uint32_t i = 0; i < a->n_locals; i++)
    if (a->locals[i].offset != b->locals[i].offset || a->locals[i].in_workspace != b->locals[i].in_workspace)
      return false;
  return true;
}

static const sci_proc *pack(const sci_program *p, const sci_proc *q, void *user) {
  packing *x = user;
  sci_store *s = p->store;
  sci_arena *a = &s->env->scratch;
  int64_t stack = 0, workspace = 0, threshold = WORKSPACE_FROM;
  callee_totals(x, q->body, &stack, &workspace);
  sci_proc packed = *q;
  sci_local *locals = SCI_ARRAY(a, sci_local, q->n_locals);
  const life *lives = lives_of(x, &packed, locals);
  uint32_t n = packed.n_locals;
  packed.stack_self = place_stack(a, lives, n, threshold, locals);
  for (; stack + packed.stack_self > STACK_LIMIT && threshold > 1; threshold /= 2)
    packed.stack_self = place_stack(a, lives, n, threshold / 2, locals);
  packed.workspace_self = round_up(place(a, lives, n, at_least, threshold, LINE, 0, locals), LINE);
  packed.workspace_total = sci_add_size(s->env, packed.workspace_self, workspace, q->name);
  for (uint32_t i = 0; i < n; i++) locals[lives[i].local].in_workspace = at_least(&lives[i], threshold);
  x->stack_total[x->index] = stack + packed.stack_self;
  x->workspace_total[x->index++] = packed.workspace_total;
  if (same_packing(q, &packed)) return q;
  *x->changes += q->n_locals;
  sci_proc *copy = SCI_NEW(&s->arena, sci_proc);
  *copy = packed;
  sci_local *kept = SCI_ARRAY(&s->arena, sci_local, n);
  if (n) memcpy(kept, locals, n * sizeof *locals);
  copy->locals = kept;
  return copy;
}

sci_program *sci_pass_pack_workspace(const sci_program *p, int64_t *changes) {
  sci_arena *a = &p->store->env->scratch;
  packing x = {.p = p, .changes = changes};
  x.first = SCI_ZEROS(a, uint32_t, p->store->n_bufs);
  x.last = SCI_ZEROS(a, uint32_t, p->store->n_bufs);
  x.in = SCI_ZEROS(a, uint32_t, p->store->n_bufs);
  x.stack_total = SCI_ZEROS(a, int64_t, p->n_procs);
  x.workspace_total = SCI_ZEROS(a, int64_t, p->n_procs);
  return sci_pass_each(p, pack, &x);
}
