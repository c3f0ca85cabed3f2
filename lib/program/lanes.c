/* Owns the meaning of lanes: which values differ between iterations, how accesses move from one to the next, and which
 * of them form blocks. */
#include "lib/program/lanes.h"

#include <stdlib.h>

void sci_lanes_init(sci_lane_facts *k, const sci_store *s, sci_arena *a) {
  *k = (sci_lane_facts){.s = s, .a = a, .n_values = s->n_values, .n_names = s->n_names};
  k->bits = SCI_ZEROS(a, uint8_t, s->n_values);
  k->stamp = SCI_ZEROS(a, uint32_t, s->n_values);
  k->name = SCI_ZEROS(a, uint8_t, s->n_names);
}

/* ---- values ---- */

static void refuse(sci_lane_facts *k, const char *why) {
  if (!k->problem) k->problem = why;
}

static void take_dtype(sci_lane_facts *k, unsigned dtype) {
  if (!sci_is_float((sc_dtype)dtype))
    refuse(k, "integers or bools in memory differ between iterations");
  else if (k->of >= 0 && k->of != (int)dtype)
    refuse(k, "values of two types differ between iterations");
  else
    k->of = (int)dtype;
}

/* Floats of one type, and masks: comparisons of these and what logic makes of them. */
static void check_op(sci_lane_facts *k, const sci_value *x) {
  const sci_op_info *info = &sci_ops[x->op];
  bool of_mask = sci_value_at(k->s, x->args[0])->dtype == SC_BOOL && sci_is_float((sc_dtype)x->dtype);
  if (x->op == SCI_OP_cast && of_mask) {
    take_dtype(k, x->dtype);
    return;
  }
  if (x->op == SCI_OP_cast) refuse(k, "a value that differs between iterations changes its type");
  bool logic = info->sig == SCI_SIG_B;
  for (int i = 0; i < info->arity; i++) {
    const sci_value *a = sci_value_at(k->s, x->args[i]);
    bool mask = logic || (x->op == SCI_OP_select && i == 0);
    if (mask != (a->dtype == SC_BOOL)) refuse(k, "bools that differ between iterations are more than conditions");
    if (!mask && a->dtype != SC_BOOL) take_dtype(k, a->dtype);
  }
}

static uint32_t leaf_bits(const sci_lane_facts *k, const sci_value *x) {
  if (x->kind == SCI_V_NAME) return x->args[0] < k->n_names ? k->name[x->args[0]] : 0;
  return x->kind == SCI_V_VAR && x->args[0] == k->loop->var ? SCI_LANE_INDEX : 0;
}

uint32_t sci_lane_bits(sci_lane_facts *k, sci_val root) {
  const sci_value *x = sci_value_at(k->s, root);
  if (x->kind != SCI_V_OP) return leaf_bits(k, x);
  if (!(x->flags & (SCI_VAL_NAME | SCI_VAL_VAR))) return 0;
  if (k->stamp[root] == k->epoch) return k->bits[root];
  sci_vec_push(k->a, &k->stack, root);
  while (k->stack.n) {
    sci_val v = k->stack.data[k->stack.n - 1];
    x = sci_value_at(k->s, v);
    uint32_t bits = 0;
    size_t before = k->stack.n;
    for (int i = 0; i < sci_ops[x->op].arity; i++) {
      const sci_value *arg = sci_value_at(k->s, x->args[i]);
      if (arg->kind != SCI_V_OP)
        bits |= leaf_bits(k, arg);
      else if (k->stamp[x->args[i]] == k->epoch)
        bits |= k->bits[x->args[i]];
      else
        sci_vec_push(k->a, &k->stack, x->args[i]);
    }
    if (k->stack.n != before) continue;
    if (bits & SCI_LANE_VARIES) check_op(k, x);
    k->stamp[v] = k->epoch;
    k->bits[v] = (uint8_t)bits;
    k->stack.n--;
  }
  return k->bits[root];
}

/* ---- accesses ---- */

static sci_buf storage_of(const sci_lane_facts *k, sci_buf b) {
  int64_t offset;
  return sci_storage(k->s, b, &offset);
}

sci_access sci_access_of(sci_lane_facts *k, sci_buf buf, sci_val index) {
  uint32_t bits = sci_lane_bits(k, index);
  if (!bits) return (sci_access){sci_lane_owns(k, storage_of(k, buf)) ? SCI_ACCESS_OWN : SCI_ACCESS_UNIFORM, 0};
  sci_affine f;
  int64_t stride = 0;
  if (bits & SCI_LANE_VARIES || !sci_affine_of(k->s, index, &f)) return (sci_access){SCI_ACCESS_GATHERED, 0};
  for (uint32_t i = 0; i < f.n; i++) {
    const sci_value *x = sci_value_at(k->s, f.terms[i].term);
    if (x->kind == SCI_V_VAR && x->args[0] == k->loop->var)
      stride = f.terms[i].coefficient;
    else if (sci_lane_bits(k, f.terms[i].term))
      return (sci_access){SCI_ACCESS_GATHERED, 0};
  }
  if (__builtin_mul_overflow(stride, k->loop->step, &stride) || stride > INT32_MAX || stride < -INT32_MAX)
    return (sci_access){SCI_ACCESS_GATHERED, 0};
  return (sci_access){stride == 0   ? SCI_ACCESS_UNIFORM
                      : stride == 1 ? SCI_ACCESS_CONTIGUOUS
                                    : SCI_ACCESS_STRIDED,
                      stride};
}

/* ---- bodies ---- */

static void set_varying(sci_lane_facts *k, sci_name n) {
  if (k->name[n]) return;
  k->name[n] = SCI_LANE_VARIES;
  sci_vec_push(k->a, &k->varying, n);
  k->changed |= k->s->names[n].is_mutable;
}

/* The elements that a statement accesses in the loop's iterations, everything where they are not known. */
static sci_elements elements_of(const sci_lane_facts *k, const sci_stmt *st, sci_buf *storage) {
  const sci_elements all = {INT64_MIN, INT64_MAX};
  const sci_loop *l = k->loop;
  sci_affine f;
  int64_t offset, first, last, end;
  *storage = sci_storage(k->s, st->buf, &offset);
  if (l->stop <= l->start || !sci_affine_of(k->s, st->index, &f) || f.n > 1) return all;
  if (__builtin_add_overflow(f.constant, offset, &first)) return all;
  if (!f.n) return (sci_elements){first, first};
  const sci_value *x = sci_value_at(k->s, f.terms[0].term);
  if (x->kind != SCI_V_VAR || x->args[0] != l->var) return all;
  last = l->start + (sci_loop_trips(l) - 1) * l->step;
  if (__builtin_mul_overflow(f.terms[0].coefficient, last, &end) || __builtin_add_overflow(first, end, &end) ||
      __builtin_mul_overflow(f.terms[0].coefficient, l->start, &last) || __builtin_add_overflow(first, last, &first))
    return all;
  return first < end ? (sci_elements){first, end} : (sci_elements){end, first};
}

/* Whether the body may store to what the load reads. */
static bool is_written(const sci_lane_facts *k, const sci_stmt *load) {
  sci_buf storage;
  sci_elements e = elements_of(k, load, &storage);
  uint32_t at = sci_map_get(&k->written, storage);
  return at != UINT32_MAX && e.lo <= k->stored.data[at].hi && k->stored.data[at].lo <= e.hi;
}

/* What a store does not address by the loop's variable is each iteration's own, or two of them would meet there. */
static void note_write(sci_lane_facts *k, const sci_stmt *st) {
  sci_buf storage;
  sci_elements e = elements_of(k, st, &storage);
  uint32_t at = sci_map_get(&k->written, storage);
  if (at == UINT32_MAX) {
    sci_map_set(&k->written, storage, (uint32_t)k->stored.n);
    sci_vec_push(k->a, &k->stored, e);
  } else {
    sci_elements *all = &k->stored.data[at];
    *all = (sci_elements){e.lo < all->lo ? e.lo : all->lo, e.hi > all->hi ? e.hi : all->hi};
  }
  if (k->s->bufs[storage].space != SCI_SPACE_PRIVATE || sci_lane_bits(k, st->index)) return;
  sci_map_set(&k->own, storage, 1);
  k->has_own = true;
}

static void note_writes(sci_lane_facts *k, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    if (b.stmts[i].kind == SCI_S_STORE) note_write(k, &b.stmts[i]);
    if (b.stmts[i].kind == SCI_S_LOOP) note_writes(k, b.stmts[i].loop->body);
  }
}

static sci_access visit_access(sci_lane_facts *k, const sci_stmt *st) {
  sci_access access = sci_access_of(k, st->buf, st->index);
  if (access.kind == SCI_ACCESS_GATHERED)
    refuse(k, "an access moves by no constant distance");
  else if (access.kind != SCI_ACCESS_OWN && sci_lane_owns(k, storage_of(k, st->buf)))
    refuse(k, "memory of its own is addressed by the loop's variable");
  return access;
}

static void visit_load(sci_lane_facts *k, const sci_stmt *st) {
  sci_access access = visit_access(k, st);
  bool written = access.kind != SCI_ACCESS_OWN && is_written(k, st);
  k->reads_written |= written;
  if (access.kind != SCI_ACCESS_UNIFORM) {
    take_dtype(k, k->s->bufs[st->buf].dtype);
    set_varying(k, st->name);
  } else if (written) {
    refuse(k, "iterations load what others store");
  }
}

static void visit_store(sci_lane_facts *k, const sci_stmt *st) {
  if (visit_access(k, st).kind == SCI_ACCESS_UNIFORM) refuse(k, "iterations store to the same element");
  take_dtype(k, k->s->bufs[st->buf].dtype);
  if (sci_lane_bits(k, st->value) & SCI_LANE_INDEX) refuse(k, "the loop's variable is more than an index");
}

static void visit_assign(sci_lane_facts *k, const sci_stmt *st) {
  uint32_t bits = sci_lane_bits(k, st->value);
  if (bits & SCI_LANE_INDEX) refuse(k, "the loop's variable is more than an index");
  if (!(bits & SCI_LANE_VARIES)) return;
  if (sci_value_at(k->s, st->value)->dtype == SC_BOOL && k->s->names[st->name].is_mutable)
    refuse(k, "a condition is carried");
  if (sci_value_at(k->s, st->value)->dtype != SC_BOOL) take_dtype(k, sci_value_at(k->s, st->value)->dtype);
  set_varying(k, st->name);
}

/* Recursion follows loop nesting only. */
static void visit_block(sci_lane_facts *k, sci_block b) {
  for (uint32_t i = 0; i < b.n && !k->problem; i++) {
    const sci_stmt *st = &b.stmts[i];
    switch ((sci_stmt_kind)st->kind) {
    case SCI_S_LOAD: visit_load(k, st); break;
    case SCI_S_STORE: visit_store(k, st); break;
    case SCI_S_ASSIGN: visit_assign(k, st); break;
    case SCI_S_CALL: refuse(k, "it calls a procedure"); break;
    case SCI_S_LOOP:
      if (st->loop->kind == SCI_LOOP_VECTOR && st->loop->lanes > 1) refuse(k, "a loop inside has lanes");
      visit_block(k, st->loop->body);
      break;
    }
  }
}

/* Mutable names may turn out to vary after they were read, so what was concluded from them is concluded again. */
void sci_lanes_enter(sci_lane_facts *k, const sci_loop *l) {
  k->loop = l;
  k->of = -1;
  k->problem = NULL;
  k->reads_written = k->has_own = false;
  sci_map_init(&k->written, k->a);
  k->stored.n = 0;
  sci_map_init(&k->own, k->a);
  while (k->varying.n) k->name[k->varying.data[--k->varying.n]] = 0;
  k->epoch++; /* of indices, of which no name is known to vary */
  note_writes(k, l->body);
  do {
    k->changed = false;
    k->epoch++;
    visit_block(k, l->body);
  } while (k->changed && !k->problem);
  if (k->of < 0) refuse(k, "nothing differs between iterations");
}

/* ---- blocks of consecutive elements ---- */

typedef struct candidate {
  uint32_t stmt;
  sci_buf storage;
  sci_val base;
  int64_t element;
  bool store;
  uint32_t group; /* stores: only those side by side belong together */
} candidate;

static int by_element(const void *pa, const void *pb) {
  const candidate *a = pa, *b = pb;
  if (a->store != b->store) return a->store ? 1 : -1;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  if (a->storage != b->storage) return a->storage < b->storage ? -1 : 1;
  if (a->base != b->base) return a->base < b->base ? -1 : 1;
  if (a->element != b->element) return a->element < b->element ? -1 : 1;
  return a->stmt < b->stmt ? -1 : 1;
}

/* Indices are canonical: those that differ by a constant differ in their last summand only. */
static bool make_candidate(sci_lane_facts *k, const sci_stmt *st, candidate *c, sci_access *access) {
  sci_affine f;
  if (st->kind != SCI_S_LOAD && st->kind != SCI_S_STORE) return false;
  *access = sci_access_of(k, st->buf, st->index);
  if (access->kind != SCI_ACCESS_STRIDED || access->stride < 2 || !sci_affine_of(k->s, st->index, &f)) return false;
  int64_t offset;
  c->storage = sci_storage(k->s, st->buf, &offset);
  c->store = st->kind == SCI_S_STORE;
  if (!c->store && is_written(k, st)) return false;
  c->element = f.constant + offset;
  c->base = st->index;
  const sci_value *x = sci_value_at(k->s, st->index);
  bool sum = x->kind == SCI_V_OP && (x->op == SCI_OP_add || x->op == SCI_OP_sub) && sci_val_is_const(k->s, x->args[1]);
  if (sum) c->base = x->args[0];
  return true;
}

static void add_run(sci_lane_facts *k, sci_runs *r, const candidate *c, uint32_t n, uint32_t at) {
  for (uint32_t i = 0; i < n; i++) {
    r->of[c[i].stmt] = (uint32_t)r->list.n + 1;
    r->place[c[i].stmt] = i;
    r->order[at + i] = c[i].stmt;
  }
  sci_vec_push(k->a, &r->list, ((sci_run){at, n, {SCI_ACCESS_STRIDED, 0}}));
}

static bool follows(const candidate *x, const candidate *y, int64_t distance) {
  return x->store == y->store && x->group == y->group && x->storage == y->storage && x->base == y->base &&
         y->element == x->element + distance;
}

sci_runs sci_lane_runs(sci_lane_facts *k, sci_block b) {
  sci_runs r = {0};
  candidate *c = SCI_ARRAY(k->a, candidate, b.n);
  uint32_t n = 0, group = 0;
  sci_val base = SCI_NIL; /* of the last store */
  sci_access access;
  r.of = SCI_ZEROS(k->a, uint32_t, b.n);
  r.place = SCI_ZEROS(k->a, uint32_t, b.n);
  r.order = SCI_ZEROS(k->a, uint32_t, b.n);
  for (uint32_t i = 0; i < b.n; i++) {
    c[n] = (candidate){.stmt = i};
    group += b.stmts[i].kind != SCI_S_STORE;
    if (!make_candidate(k, &b.stmts[i], &c[n], &access)) {
      group++;
      continue;
    }
    if (c[n].store) {
      group += c[n].base != base;
      base = c[n].base;
      c[n].group = group;
    }
    n++;
  }
  qsort(c, n, sizeof *c, by_element);
  bool twice = false; /* the run begins with an element that the one before ends with */
  for (uint32_t i = 0, j; i < n; i = j) {
    for (j = i + 1; j < n && follows(&c[j - 1], &c[j], 1); j++) {
    }
    bool again = j < n && follows(&c[j - 1], &c[j], 0);
    if (j - i > 1 && !twice && !again) {
      add_run(k, &r, c + i, j - i, i);
      r.list.data[r.list.n - 1].access = sci_access_of(k, b.stmts[c[i].stmt].buf, b.stmts[c[i].stmt].index);
    }
    twice = again;
  }
  return r;
}
