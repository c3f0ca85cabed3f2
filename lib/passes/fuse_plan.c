/* Owns the decisions of fuse_elementwise. */
#include "lib/passes/fuse_plan.h"

#include <stdlib.h>

typedef struct access {
  sci_buf storage;
  uint32_t number;
  bool write, call;
} access;

typedef struct survey {
  fuse_plan *x;
  SCI_VEC(access) list; /* of buffers that are written: by storage, then number */
  sci_map first_of;     /* per storage: its first access */
} survey;

/* ---- surveying ---- */

static bool is_simple(const sci_store *s, const sci_stmt *st) {
  return st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && !s->names[st->name].is_mutable);
}

static void note(survey *v, sci_buf b, uint32_t number, bool write, bool call) {
  const sci_store *s = v->x->s;
  int64_t offset;
  sci_buf root = sci_storage(s, b, &offset);
  if (s->bufs[root].space == SCI_SPACE_PRIVATE || s->bufs[root].space == SCI_SPACE_OUTPUT)
    sci_vec_push(v->x->a, &v->list, (access){root, number, write, call});
}

static void survey_block(survey *v, sci_block b, uint32_t block) {
  fuse_plan *x = v->x;
  bool nest = b.n > 0;
  for (uint32_t i = 0; i + 1 < b.n; i++) nest &= is_simple(x->s, &b.stmts[i]);
  x->blocks.data[block].is_nest = nest && (b.stmts[b.n - 1].kind == SCI_S_LOOP || b.stmts[b.n - 1].kind == SCI_S_STORE);
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    uint32_t number = (uint32_t)x->stmts.n;
    sci_vec_push(x->a, &x->stmts, (fuse_stmt){.st = st, .block = block, .end = number});
    if (st->kind == SCI_S_LOAD || st->kind == SCI_S_STORE) note(v, st->buf, number, st->kind == SCI_S_STORE, false);
    if (st->kind == SCI_S_CALL)
      for (uint32_t j = 0; j < st->call->n; j++)
        note(v, st->call->views[j].buf, number, j >= x->p->procs[st->call->proc]->n_in, true);
    if (st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && st->declare)) x->home[st->name] = block;
    if (st->kind != SCI_S_LOOP) continue;
    fuse_block inner = {.parent = block, .depth = x->blocks.data[block].depth + 1, .loop = number};
    inner.runs = x->blocks.data[block].runs * (double)sci_loop_trips(st->loop);
    uint32_t at = (uint32_t)x->blocks.n;
    sci_vec_push(x->a, &x->blocks, inner);
    x->blocks.data[block].has_loops = true;
    x->stmts.data[number].body = at;
    survey_block(v, st->loop->body, at);
    x->stmts.data[number].end = (uint32_t)x->stmts.n - 1;
  }
}

static int by_storage(const void *p, const void *q) {
  const access *a = p, *b = q;
  if (a->storage != b->storage) return a->storage < b->storage ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

static uint32_t common_block(const fuse_plan *x, uint32_t a, uint32_t b) {
  const fuse_block *blocks = x->blocks.data;
  while (a != b) {
    if (blocks[a].depth >= blocks[b].depth)
      a = blocks[a].parent;
    else
      b = blocks[b].parent;
  }
  return a;
}

/* The statement of `block` that is or holds statement `number`. */
static uint32_t unit_in(const fuse_plan *x, uint32_t number, uint32_t block) {
  while (x->stmts.data[number].block != block) number = x->blocks.data[x->stmts.data[number].block].loop;
  return number;
}

/* ---- writers ---- */

static sci_val storage_index(const fuse_plan *x, const sci_stmt *st) {
  int64_t offset;
  sci_storage(x->s, st->buf, &offset);
  return sci_idx_add(x->s, st->index, sci_val_int(x->s, offset));
}

static void count_ops(const fuse_plan *x, fuse_writer *w, sci_val v) {
  enum { LIMIT = 64 };
  sci_val stack[128];
  uint32_t depth = 0, n = 0;
  stack[depth++] = v;
  while (depth && n < LIMIT) {
    const sci_value *value = sci_value_at(x->s, stack[--depth]);
    if (value->kind != SCI_V_OP) continue;
    n = depth + 3 > 128 ? LIMIT : n + 1;
    w->dear |= !(sci_ops[value->op].traits & SCI_CHEAP);
    for (int i = 0; n < LIMIT && i < sci_ops[value->op].arity; i++) stack[depth++] = value->args[i];
  }
  w->ops += n;
}

static bool add_loop(fuse_plan *x, fuse_writer *w, struct fuse_digit digits[FUSE_MAX_LOOPS], const sci_loop *l,
                     sci_affine *f) {
  sci_val var = sci_val_var(x->s, l->var);
  int64_t trips = sci_loop_trips(l), k = 0;
  if (!trips || l->start < 0) return false;
  for (uint32_t i = 0; i < f->n; i++) {
    if (f->terms[i].term != var) continue;
    k = f->terms[i].coefficient;
    f->terms[i] = f->terms[--f->n];
    break;
  }
  if (trips == 1) {
    f->constant += k * l->start;
    return true;
  }
  if (k <= 0 || l->step != 1 || w->n_loops == FUSE_MAX_LOOPS) return false;
  uint32_t at = w->n_loops++;
  for (; at && digits[at - 1].coefficient < k; at--) digits[at] = digits[at - 1];
  digits[at] = (struct fuse_digit){l, k};
  return true;
}

/* Each coefficient is larger than what the smaller ones span: one set of trips per element. */
static bool is_injective(const fuse_writer *w) {
  int64_t span = 0;
  for (uint32_t i = w->n_loops; i-- > 0;) {
    const struct fuse_digit *d = &w->digits[i];
    int64_t own;
    if (d->coefficient <= span || __builtin_mul_overflow(d->coefficient, sci_loop_trips(d->loop) - 1, &own))
      return false;
    if (__builtin_add_overflow(span, own, &span)) return false;
  }
  return true;
}

/* The nest from the writer's block down to its store. */
static bool read_nest(fuse_plan *x, fuse_writer *w, sci_affine *f) {
  uint32_t chain[FUSE_MAX_LOOPS * 2], n = 0;
  struct fuse_digit digits[FUSE_MAX_LOOPS];
  for (uint32_t b = x->stmts.data[w->number].block; b != w->block; b = x->blocks.data[b].parent) {
    if (!x->blocks.data[b].is_nest || n == FUSE_MAX_LOOPS * 2) return false;
    chain[n++] = b;
  }
  size_t cap = 0;
  while (n-- > 0) {
    uint32_t head = x->blocks.data[chain[n]].loop, last = n ? x->blocks.data[chain[n - 1]].loop : w->number;
    if (!add_loop(x, w, digits, x->stmts.data[head].st->loop, f)) return false;
    for (uint32_t at = head + 1; at < last; at++) {
      const sci_stmt *st = x->stmts.data[at].st;
      sci_val v = st->kind == SCI_S_LOAD ? st->index : st->value;
      if (sci_value_at(x->s, v)->flags & SCI_VAL_MUTABLE) return false;
      if (w->n_body == cap) w->body = sci_vec_grow(x->a, w->body, &cap, sizeof *w->body);
      w->body[w->n_body++] = at;
      w->loads += st->kind == SCI_S_LOAD;
      if (st->kind == SCI_S_ASSIGN) count_ops(x, w, v);
    }
  }
  w->digits = SCI_ARRAY(x->a, struct fuse_digit, w->n_loops);
  memcpy(w->digits, digits, w->n_loops * sizeof *digits);
  return is_injective(w);
}

/* False: the store's element is not known well enough, and neither is the buffer. */
static bool make_writer(fuse_plan *x, sci_buf storage, uint32_t number, uint32_t block) {
  const sci_stmt *st = x->stmts.data[number].st;
  fuse_writer w = {
      .number = number, .block = block, .storage = storage, .unit = unit_in(x, number, block), .result = SCI_NIL};
  sci_val index = storage_index(x, st);
  sci_range r = sci_range_of(x->facts, index);
  sci_affine f;
  if (!r.known || !sci_affine_of(x->s, index, &f) || sci_value_at(x->s, index)->flags & SCI_VAL_MUTABLE) return false;
  w.lo = r.lo;
  w.hi = r.hi;
  w.runs = x->blocks.data[x->stmts.data[number].block].runs;
  bool inner = w.unit != number;
  w.needs_name = !inner && sci_value_at(x->s, st->value)->flags & SCI_VAL_MUTABLE;
  w.blocked = inner && (!read_nest(x, &w, &f) || sci_value_at(x->s, st->value)->flags & SCI_VAL_MUTABLE);
  count_ops(x, &w, st->value);
  w.rest = w.blocked ? SCI_NIL : sci_affine_value(x->s, &f);
  sci_vec_push(x->a, &x->writers, w);
  uint32_t id = (uint32_t)x->writers.n;
  x->stmts.data[w.unit].writer = id;
  if (w.blocked) return true;
  for (uint32_t b = x->stmts.data[number].block; b != block; b = x->blocks.data[b].parent)
    x->blocks.data[b].writer = id;
  for (uint32_t i = 0; i < w.n_body; i++) x->slot[x->stmts.data[w.body[i]].st->name] = i + 1;
  return true;
}

static int by_element(const void *p, const void *q) {
  const fuse_writer *a = p, *b = q;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  return a->number < b->number ? -1 : 1;
}

/* ---- sites ---- */

static void link_site(fuse_plan *x, uint32_t number, uint32_t from, uint32_t to) {
  fuse_stmt *site = &x->stmts.data[number];
  sci_val index = storage_index(x, site->st);
  sci_range r = sci_range_of(x->facts, index);
  bool known = r.known && !(sci_value_at(x->s, index)->flags & SCI_VAL_MUTABLE);
  uint32_t lo = from, hi = to; /* the first writer that ends at or after the site's first element */
  while (known && lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (x->writers.data[mid].hi < r.lo)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (uint32_t i = known ? lo : from; i < to && (!known || x->writers.data[i].lo <= r.hi); i++) {
    fuse_writer *w = &x->writers.data[i];
    bool inside = known && w->lo <= r.lo && r.hi <= w->hi;
    if (!inside || unit_in(x, number, w->block) <= w->unit)
      w->blocked = true;
    else
      site->site = i + 1;
  }
}

static void plan_storage(survey *v, size_t from, size_t to) {
  fuse_plan *x = v->x;
  const access *list = v->list.data;
  uint32_t block = x->stmts.data[list[from].number].block, first = (uint32_t)x->writers.n;
  if (x->s->bufs[list[from].storage].space != SCI_SPACE_PRIVATE) return;
  for (size_t i = from; i < to; i++) {
    if (list[i].call) return;
    block = common_block(x, block, x->stmts.data[list[i].number].block);
  }
  for (size_t i = from; i < to; i++) {
    if (!list[i].write || make_writer(x, list[i].storage, list[i].number, block)) continue;
    for (size_t w = first; w < x->writers.n; w++) x->writers.data[w].blocked = true;
    return;
  }
  fuse_writer *writers = x->writers.data + first;
  size_t n = x->writers.n - first;
  bool sorted = true, overlap = false;
  for (size_t i = 1; i < n; i++) sorted &= writers[i - 1].lo <= writers[i].lo;
  if (!sorted) qsort(writers, n, sizeof *writers, by_element);
  for (size_t i = 0; i < n; i++) {
    uint32_t id = first + (uint32_t)i + 1;
    overlap |= i && writers[i].lo <= writers[i - 1].hi;
    x->stmts.data[writers[i].unit].writer = id;
    for (uint32_t b = x->stmts.data[writers[i].number].block; !writers[i].blocked && b != block;
         b = x->blocks.data[b].parent)
      x->blocks.data[b].writer = id;
  }
  for (size_t i = 0; i < n; i++) writers[i].blocked |= overlap;
  for (size_t i = from; i < to; i++)
    if (!list[i].write) link_site(x, list[i].number, first, (uint32_t)x->writers.n);
}

/* ---- solving ---- */

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b < 0);
}

static void add_term(sci_affine *f, sci_val term, int64_t k) {
  f->terms[f->n].term = term;
  f->terms[f->n++].coefficient = k;
}

static bool within(fuse_plan *x, const sci_loop *l, sci_val v) {
  sci_range r = sci_range_of(x->facts, v);
  return r.known && r.lo >= l->start && r.hi < l->stop;
}

/* One digit of the mixed radix: *r = c * digit + smaller ones, which lie in [lo, hi]. */
static bool take_digit(fuse_plan *x, sci_val *r, int64_t c, int64_t lo, int64_t hi, sci_val *digit) {
  sci_affine f, quotient = {0}, remainder = {0};
  if (!sci_affine_of(x->s, *r, &f)) return false;
  for (uint32_t i = 0; i < f.n; i++) {
    int64_t k = f.terms[i].coefficient;
    if (k % c == 0)
      add_term(&quotient, f.terms[i].term, k / c);
    else
      add_term(&remainder, f.terms[i].term, k);
  }
  sci_range small = {0, 0, true, true};
  if (remainder.n) small = sci_range_of(x->facts, sci_affine_value(x->s, &remainder));
  if (!small.known) return false;
  int64_t base, q;
  if (__builtin_add_overflow(f.constant, small.lo, &base) || __builtin_sub_overflow(base, lo, &base)) return false;
  q = floor_div(base, c);
  remainder.constant = f.constant - c * q;
  if (remainder.constant + small.hi > hi) return false;
  quotient.constant = q;
  *digit = sci_affine_value(x->s, &quotient);
  *r = sci_affine_value(x->s, &remainder);
  return true;
}

bool sci_fuse_solve(fuse_plan *x, const fuse_writer *w, sci_val index, bool strict, sci_val solved[FUSE_MAX_LOOPS]) {
  sci_val r = sci_val_op2(x->s, SCI_OP_sub, index, w->rest);
  int64_t lo = 0, hi = 0; /* of the smaller digits */
  for (uint32_t i = 0; i < w->n_loops; i++) {
    lo += w->digits[i].coefficient * w->digits[i].loop->start;
    hi += w->digits[i].coefficient * (w->digits[i].loop->stop - 1);
  }
  for (uint32_t i = 0; i < w->n_loops; i++) {
    int64_t c = w->digits[i].coefficient;
    lo -= c * w->digits[i].loop->start;
    hi -= c * (w->digits[i].loop->stop - 1);
    bool exact = c == 1 || take_digit(x, &r, c, lo, hi, &solved[i]);
    if (c == 1) {
      solved[i] = r;
      r = sci_val_int(x->s, 0);
    }
    if (strict && (!exact || !within(x, w->digits[i].loop, solved[i]))) return false;
    if (exact) continue;
    solved[i] = sci_idx_div(x->s, sci_idx_add(x->s, r, sci_val_int(x->s, -lo)), c);
    r = sci_val_op2(x->s, SCI_OP_sub, r, sci_idx_mul(x->s, solved[i], c));
  }
  return !strict || r == sci_val_int(x->s, 0);
}

/* ---- deciding ---- */

/* A site's index where the writer around it is inlined at `at`; SCI_NIL when it takes names of that body. */
static sci_val composed(fuse_plan *x, const fuse_writer *around, const fuse_instance *at, sci_val index) {
  sci_affine f;
  if (at->index == SCI_NIL || !sci_affine_of(x->s, index, &f)) return SCI_NIL;
  sci_val sum = sci_val_int(x->s, f.constant);
  for (uint32_t i = 0; i < f.n; i++) {
    sci_val term = f.terms[i].term;
    const sci_value *v = sci_value_at(x->s, term);
    if (v->kind == SCI_V_OP && v->flags & (SCI_VAL_NAME | SCI_VAL_VAR)) return SCI_NIL;
    if (v->kind == SCI_V_NAME && x->blocks.data[x->home[v->args[0]]].writer == (uint32_t)(around - x->writers.data) + 1)
      return SCI_NIL;
    for (uint32_t j = 0; v->kind == SCI_V_VAR && j < around->n_loops; j++)
      if (around->digits[j].loop->var == v->args[0]) term = at->solved[j];
    sum = sci_idx_add(x->s, sum, sci_idx_mul(x->s, term, f.terms[i].coefficient));
  }
  return sum;
}

/* Adds an instance unless it is there already; false: the writer cannot be inlined there. */
static bool add_instance(fuse_plan *x, fuse_writer *w, uint32_t block, uint32_t end, sci_val index, sci_val own_index) {
  if (!w->n_loops) {
    /* The store's element as it stands, or nothing: loops around both have the same trip there. */
    const sci_stmt *store = x->stmts.data[w->number].st;
    if (w->unit == w->number && own_index != storage_index(x, store)) return false;
  }
  for (fuse_instance *i = w->instances; i; i = i->next)
    if (i->block == block && i->index == index && index != SCI_NIL) {
      if (end > i->end) i->end = end;
      return true;
    }
  fuse_instance n = {.block = block, .end = end, .index = index, .value = SCI_NIL, .next = w->instances};
  sci_val scratch[FUSE_MAX_LOOPS];
  if (!sci_fuse_solve(x, w, own_index, true, scratch)) return false;
  if (index != SCI_NIL && !sci_fuse_solve(x, w, index, true, n.solved)) return false;
  fuse_instance *kept = SCI_NEW(x->a, fuse_instance);
  *kept = n;
  w->instances = kept;
  return ++w->n_instances <= FUSE_MAX_INSTANCES || !w->n_loops;
}

static bool gather_instances(fuse_plan *x, fuse_writer *w, const uint32_t *sites, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const fuse_stmt *site = &x->stmts.data[sites[i]];
    sci_val index = storage_index(x, site->st);
    uint32_t around = x->blocks.data[site->block].writer;
    fuse_writer *user = around ? &x->writers.data[around - 1] : NULL;
    if (!user || !user->fused) {
      uint32_t unit = unit_in(x, sites[i], w->block);
      if (!add_instance(x, w, site->block, x->stmts.data[unit].end, index, index)) return false;
      w->needs_name |= site->block != w->block;
      continue;
    }
    if (!w->n_loops) w->needs_name = true;
    for (const fuse_instance *at = user->instances; at; at = at->next) {
      uint32_t end = x->stmts.data[unit_in(x, at->end, w->block)].end;
      if (!add_instance(x, w, at->block, end, composed(x, user, at, index), index)) return false;
    }
  }
  return true;
}

/* Whether some write to a storage happens after statement `from`, up to `to`. */
static bool is_written(const survey *v, sci_buf storage, uint32_t from, uint32_t to) {
  uint32_t first = sci_map_get(&v->first_of, storage);
  if (first == UINT32_MAX) return false;
  size_t lo = first, hi = v->list.n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    const access *at = &v->list.data[mid];
    if (at->storage == storage && at->number <= from)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < v->list.n && v->list.data[lo].storage == storage && v->list.data[lo].number <= to; lo++)
    if (v->list.data[lo].write) return true;
  return false;
}

static bool is_safe(const survey *v, const fuse_writer *w) {
  const fuse_plan *x = v->x;
  uint32_t end = 0;
  for (const fuse_instance *i = w->instances; i; i = i->next)
    if (i->end > end) end = i->end;
  for (uint32_t i = 0; i < w->n_body; i++) {
    const sci_stmt *st = x->stmts.data[w->body[i]].st;
    int64_t offset;
    if (st->kind == SCI_S_LOAD && is_written(v, sci_storage(x->s, st->buf, &offset), w->unit, end)) return false;
  }
  return true;
}

static bool has_lanes(const sci_loop *l) {
  enum { FEWEST = 4 };
  return l->kind == SCI_LOOP_INDEPENDENT && sci_loop_trips(l) >= FEWEST;
}

/* Whether math that is done in lanes where it stands is so at each instance, too. */
static bool keeps_lanes(const fuse_plan *x, const fuse_writer *w) {
  bool any = false;
  for (uint32_t i = 0; i < w->n_loops; i++) any |= has_lanes(w->digits[i].loop);
  if (!any || !w->dear) return true;
  for (const fuse_instance *i = w->instances; i; i = i->next) {
    bool found = false;
    for (uint32_t b = i->block; b && !found; b = x->blocks.data[b].parent)
      found = has_lanes(x->stmts.data[x->blocks.data[b].loop].st->loop);
    if (!found) return false;
  }
  return true;
}

/* No operation is done more often than before, but for one or two cheap ones on one element, which are done twice (and
 * some more at the ends of a range) instead of a store and two loads; the text does not grow much. */
static bool pays(const fuse_plan *x, const fuse_writer *w) {
  double runs = 0;
  if (w->unit == w->number || (!w->ops && !w->loads)) return true;
  for (const fuse_instance *i = w->instances; i; i = i->next) runs += x->blocks.data[i->block].runs;
  bool cheap = !w->ops || (!w->dear && w->ops <= 2 && w->loads == 1);
  if (runs > (cheap ? 2.1 : 1) * w->runs || !keeps_lanes(x, w)) return false;
  /* Each instance takes a load's place. */
  return !w->n_instances || (w->n_instances - 1) * (w->ops + w->loads) <= 64 + (w->n_instances - 1);
}

typedef struct order {
  uint32_t number, writer;
} order;

static int by_number_down(const void *p, const void *q) {
  const order *a = p, *b = q;
  return a->number > b->number ? -1 : a->number < b->number;
}

/* Later writers first: whether a user is inlined itself is known before what it uses. */
static void decide(survey *v) {
  fuse_plan *x = v->x;
  size_t n = x->writers.n;
  uint32_t *count = SCI_ZEROS(x->a, uint32_t, n + 2), *sites = SCI_ARRAY(x->a, uint32_t, x->stmts.n);
  for (size_t i = 0; i < x->stmts.n; i++)
    if (x->stmts.data[i].site) count[x->stmts.data[i].site + 1]++;
  for (size_t i = 1; i < n + 2; i++) count[i] += count[i - 1];
  for (size_t i = 0; i < x->stmts.n; i++)
    if (x->stmts.data[i].site) sites[count[x->stmts.data[i].site]++] = (uint32_t)i;
  order *by = SCI_ARRAY(x->a, order, n);
  for (size_t i = 0; i < n; i++) by[i] = (order){x->writers.data[i].number, (uint32_t)i};
  qsort(by, n, sizeof *by, by_number_down);
  for (size_t i = 0; i < n; i++) {
    fuse_writer *w = &x->writers.data[by[i].writer];
    uint32_t from = by[i].writer ? count[by[i].writer] : 0;
    size_t n_sites = count[by[i].writer + 1] - from;
    if (w->blocked || !gather_instances(x, w, sites + from, n_sites) || !is_safe(v, w) || !pays(x, w)) continue;
    w->fused = true;
    x->fused++;
  }
}

typedef struct sizes {
  size_t stmts, blocks, accesses, stores;
} sizes;

static void count(sci_block b, sizes *n) {
  n->blocks++;
  n->stmts += b.n;
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    n->stores += st->kind == SCI_S_STORE;
    n->accesses += st->kind == SCI_S_CALL ? st->call->n : st->kind == SCI_S_STORE || st->kind == SCI_S_LOAD;
    if (st->kind == SCI_S_LOOP) count(st->loop->body, n);
  }
}

#define RESERVE(arena, v, size) ((v)->data = sci_alloc_array((arena), (v)->cap = (size), sizeof *(v)->data))

void sci_fuse_plan(fuse_plan *x, const sci_proc *q) {
  survey v = {.x = x};
  sizes n = {0};
  count(q->body, &n);
  RESERVE(x->a, &x->stmts, n.stmts);
  RESERVE(x->a, &x->blocks, n.blocks);
  RESERVE(x->a, &x->writers, n.stores);
  RESERVE(x->a, &v.list, n.accesses);
  sci_map_init(&v.first_of, x->a);
  sci_vec_push(x->a, &x->blocks, (fuse_block){.runs = 1});
  survey_block(&v, q->body, 0);
  qsort(v.list.data, v.list.n, sizeof *v.list.data, by_storage);
  for (size_t i = 0, j; i < v.list.n; i = j) {
    for (j = i; j < v.list.n && v.list.data[j].storage == v.list.data[i].storage; j++) continue;
    sci_map_set(&v.first_of, v.list.data[i].storage, (uint32_t)i);
    plan_storage(&v, i, j);
  }
  decide(&v);
}
