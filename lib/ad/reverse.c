/* Owns reverse accumulation: one sweep against topological order, adjoints only for active operands.
 *
 * The adjoint of a node is a sum of contributions. Two kinds are kept apart until the sweep reaches the node:
 * - Masked contributions. A select hands its adjoint to a branch together with its condition instead of multiplying it
 *   with 0: partials of elementwise operations are applied to the unmasked value and the mask is applied last, so that
 * an infinite partial in the branch not taken never meets a zero seed. Structural operations and calls get the mask
 *   applied; what they hand on is marked as guarded, and gets a mask again, where it is not 0, before the next partial
 *   that may be infinite or NaN.
 * - Indexed contributions (of slices and gathers). All of one node are joined into one scatter, or into one
 *   concatenation when together they cover the node exactly once. */
#include "lib/ad/combination.h"
#include "lib/ad/jacobian.h"

#include <stdlib.h>

typedef struct sci_contribution {
  struct sci_contribution *next;
  sci_combination value;  /* one multiple without a factor unless several seeds are carried */
  sci_id mask;            /* SCI_NONE, or a bool of the operand's shape, with the seeds or without */
  uint8_t mask_by;        /* SCI_GUARDED_...: what made the mask */
  uint8_t guarded;        /* where the mask holds, zeros may stand for what another one has left out */
  const int32_t *indices; /* NULL: the whole operand; else value is (K, n) */
  int64_t n;
} sci_contribution;

typedef void reverse_rule(sci_sweep *sweep, sci_id node, sci_id adjoint);
static reverse_rule *const rules[] = {
#define SCI_XOP(name, ...) sci_reverse_##name,
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
};

bool sci_wants(const sci_sweep *sweep, sci_id operand) {
  return sweep->active[sci_number(&sweep->order, operand)];
}

static void contribute(sci_sweep *sweep, sci_id operand, sci_contribution c) {
  sci_contribution **list = &sweep->parts[sci_number(&sweep->order, operand)];
  sci_contribution *entry = SCI_NEW(&sweep->ad->cx->env.scratch, sci_contribution);
  *entry = c;
  entry->next = *list;
  *list = entry;
}

void sci_contribute(sci_sweep *sweep, sci_id operand, sci_id value) {
  if (value == SCI_NONE) return;
  sci_combination whole = sci_combination_of(value);
  contribute(sweep, operand, (sci_contribution){.value = whole, .mask = SCI_NONE, .guarded = sweep->guarded});
}

void sci_contribute_at(sci_sweep *sweep, sci_id operand, sci_id value, const int32_t *indices, int64_t n) {
  contribute(
      sweep, operand,
      (sci_contribution){
          .value = sci_combination_of(value), .mask = SCI_NONE, .guarded = sweep->guarded, .indices = indices, .n = n});
}

/* ---- joining contributions ---- */

static sci_id masked(const sci_ad *ad, const sci_combination *x, sci_id mask) {
  sci_id value = sci_combined(ad, x);
  if (mask == SCI_NONE || value == SCI_NONE) return value;
  sci_id zero = sci_make_double(ad->cx, (sc_dtype)sci_type_of(ad->cx, value)->dtype, 0);
  return sci_make_select(ad->cx, mask, value, zero);
}

/* Indexed contributions in the order of their first elements, so that the slices of one value join in its order. */
typedef struct indexed {
  const sci_contribution *part;
  uint32_t sequence, group;
} indexed;

static int by_first(const void *a, const void *b) {
  const indexed *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  int32_t i = x->part->n ? x->part->indices[0] : -1, j = y->part->n ? y->part->indices[0] : -1;
  if (i != j) return i < j ? -1 : 1;
  return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Parts of one group touch disjoint elements, so that each group is one scatter whose iterations are independent: a
 * part goes one group past the latest one that has touched any of its elements. */
static void assign_groups(sci_arena *scratch, indexed *parts, uint32_t n, int64_t size) {
  uint32_t *touched = SCI_ZEROS(scratch, uint32_t, size);
  for (uint32_t i = 0; i < n; i++) {
    const sci_contribution *c = parts[i].part;
    uint32_t group = 0;
    for (int64_t j = 0; j < c->n; j++)
      if (touched[c->indices[j]] > group) group = touched[c->indices[j]];
    for (int64_t j = 0; j < c->n; j++) touched[c->indices[j]] = group + 1;
    parts[i].group = group;
  }
}

/* Adds the parts of one group to `base` (SCI_NONE: zero). */
static sci_id add_group(const sci_ad *ad, sci_id operand, sci_id base, const indexed *parts, uint32_t n) {
  sc_context *cx = ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  int64_t total = 0, at = 0, size = sci_type_of(cx, operand)->size, seeds = ad->seeds ? ad->seeds : 1;
  for (uint32_t i = 0; i < n; i++) total += parts[i].part->n;
  int32_t *indices = SCI_ARRAY(scratch, int32_t, total);
  sci_id *values = SCI_ARRAY(scratch, sci_id, n);
  for (uint32_t i = 0; i < n; i++) {
    const sci_contribution *c = parts[i].part;
    values[i] = sci_make_reshape(cx, c->value.of[0].base, 2, (int64_t[]){seeds, c->n});
    memcpy(indices + at, c->indices, (size_t)c->n * sizeof *indices);
    at += c->n;
  }
  sci_id joined = n == 1 ? values[0] : sci_make_join(cx, SCI_X_concat, values, n, 1);
  bool covers = total == size;
  for (int64_t i = 0; i < total && covers; i++) covers = indices[i] == i;
  sci_shape whole = sci_seeded(ad, sci_shape_of(cx, operand));
  if (covers) return sci_sum2(cx, base, sci_to_shape(ad, joined, whole));
  int32_t *table = sci_seeded_indices(ad, indices, total, size);
  return base == SCI_NONE ? sci_make_scatter(cx, joined, table, whole.rank, whole.dim)
                          : sci_make_index(cx, SCI_X_index_add, base, joined, table);
}

/* What maps and calls give comes in blocks, which are added where they are. */
static bool is_block(sc_context *cx, sci_id value) {
  while (sci_node_at(cx, value)->op == SCI_X_reshape) value = sci_arg(cx, value, 0);
  unsigned op = sci_node_at(cx, value)->op;
  return op == SCI_X_vmap || op == SCI_X_call;
}

/* Parts that overlap evenly, like slices of neighbours, with `base` (SCI_NONE: zero): tensors side by side instead of
 * one addition after the other. SCI_NONE: they do not. */
static sci_id add_banded(const sci_ad *ad, sci_id operand, sci_id base, const indexed *parts, uint32_t n) {
  sc_context *cx = ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  int64_t size = sci_type_of(cx, operand)->size, total = base == SCI_NONE ? 0 : size;
  if (ad->seeds) return SCI_NONE;
  for (uint32_t i = 0; i < n; i++) total += parts[i].part->n;
  sci_piece *pieces = SCI_ARRAY(scratch, sci_piece, n + 1);
  sci_placed *entries = SCI_ARRAY(scratch, sci_placed, total);
  int32_t *first = SCI_ZEROS(scratch, int32_t, size + 2);
  for (int64_t k = 0; base != SCI_NONE && k < size; k++) first[k + 2]++;
  for (uint32_t i = 0; i < n; i++)
    for (int64_t k = 0; k < parts[i].part->n; k++) first[parts[i].part->indices[k] + 2]++;
  for (int64_t k = 0; k < size; k++) first[k + 2] += first[k + 1];
  bool *bare = SCI_ARRAY(scratch, bool, size);
  for (int64_t k = 0; k < size; k++) bare[k] = first[k + 1] == first[k + 2];
  if (base != SCI_NONE) pieces[n] = (sci_piece){base, size, is_block(cx, base)};
  for (int64_t k = 0; base != SCI_NONE && k < size; k++)
    entries[first[k + 1]++] = (sci_placed){(int32_t)k, (int32_t)n, (int32_t)k, 1};
  for (uint32_t i = 0; i < n; i++) {
    const sci_contribution *c = parts[i].part;
    sci_id value = c->value.of[0].base;
    pieces[i] = (sci_piece){value, c->n, is_block(cx, value)};
    for (int64_t k = 0; k < c->n; k++)
      entries[first[c->indices[k] + 1]++] = (sci_placed){c->indices[k], (int32_t)i, (int32_t)k, 1};
  }
  sci_sources s = {size, NULL, bare, SCI_ZEROS(scratch, double, size), first, entries};
  sci_id sum = sci_band_values(cx, (sc_dtype)sci_type_of(cx, operand)->dtype, pieces, &s);
  return sum == SCI_NONE ? sum : sci_to_shape(ad, sum, sci_shape_of(cx, operand));
}

/* Whether the parts of one group, in order, are just the operand. */
static bool cover(const indexed *parts, uint32_t n, int64_t size) {
  int64_t at = 0;
  for (uint32_t i = 0; i < n; i++)
    for (int64_t k = 0; k < parts[i].part->n; k++)
      if (parts[i].part->indices[k] != at++) return false;
  return at == size;
}

static sci_id add_indexed(const sci_ad *ad, sci_id operand, sci_id base, const sci_contribution *list) {
  sci_arena *scratch = &ad->cx->env.scratch;
  SCI_VEC(indexed) parts = {0};
  for (const sci_contribution *c = list; c; c = c->next)
    if (c->indices) sci_vec_push(scratch, &parts, (indexed){c, (uint32_t)parts.n, 0});
  if (!parts.n) return base;
  assign_groups(scratch, parts.data, (uint32_t)parts.n, sci_type_of(ad->cx, operand)->size);
  qsort(parts.data, parts.n, sizeof *parts.data, by_first);
  if (!cover(parts.data, (uint32_t)parts.n, sci_type_of(ad->cx, operand)->size)) {
    sci_id sum = add_banded(ad, operand, base, parts.data, (uint32_t)parts.n);
    if (sum != SCI_NONE) return sum;
  }
  for (size_t i = 0, first = 0; i < parts.n; i++) {
    if (i + 1 < parts.n && parts.data[i + 1].group == parts.data[first].group) continue;
    base = add_group(ad, operand, base, parts.data + first, (uint32_t)(i + 1 - first));
    first = i + 1;
  }
  return base;
}

/* Where one of two masks holds; a select hands its two branches masks that leave nothing out together. */
static sci_id either(sc_context *cx, sci_id a, sci_id b) {
  if (a == SCI_NONE || b == SCI_NONE) return SCI_NONE;
  const sci_node *x = sci_node_at(cx, a), *y = sci_node_at(cx, b);
  if ((x->op == SCI_OP_not && x->args[0] == b) || (y->op == SCI_OP_not && y->args[0] == a)) return SCI_NONE;
  return sci_make2(cx, SCI_OP_or, a, b);
}

/* sum += x. One direction is added up as it comes. */
static void add_up(const sci_ad *ad, sci_combination *sum, const sci_combination *x) {
  if (ad->seeds)
    sci_combine(ad, sum, x, SCI_NONE, false);
  else
    *sum = sci_combination_of(sci_sum2(ad->cx, sci_combined(ad, sum), sci_combined(ad, x)));
}

/* The adjoint as (value, mask): it is `value` where the mask holds and 0 elsewhere. */
static sci_contribution join(const sci_ad *ad, sci_id operand, const sci_contribution *list) {
  sc_context *cx = ad->cx;
  sci_contribution sum = {.mask = SCI_NONE};
  bool first = true;
  for (const sci_contribution *c = list; c; c = c->next) sum.guarded |= c->guarded;
  for (const sci_contribution *c = list; c; c = c->next) {
    if (c->indices) continue;
    if (first || c->mask == sum.mask) {
      add_up(ad, &sum.value, &c->value);
      sum.mask = c->mask;
      sum.mask_by |= c->mask_by;
    } else {
      sci_combination other = sci_combination_of(masked(ad, &c->value, c->mask));
      sum.value = sci_combination_of(masked(ad, &sum.value, sum.mask));
      add_up(ad, &sum.value, &other);
      sum.mask = either(cx, sum.mask, c->mask);
      sum.mask_by = sum.mask == SCI_NONE ? 0 : sum.mask_by | c->mask_by;
    }
    first = false;
  }
  bool any_indexed = false;
  for (const sci_contribution *c = list; c; c = c->next) any_indexed |= c->indices != NULL;
  if (!any_indexed) return sum;
  sci_id base = first ? SCI_NONE : masked(ad, &sum.value, sum.mask);
  sum.guarded |= sum.mask_by;
  sum.value = sci_combination_of(add_indexed(ad, operand, base, list));
  sum.mask = SCI_NONE, sum.mask_by = 0;
  return sum;
}

/* ---- the sweep ---- */

/* Whether the partial in operand i may be infinite or NaN because of finite values further down. */
static bool is_wild(const sci_sweep *sweep, sci_op op, const sci_id *args, uint32_t n) {
  if (sci_op_is_wild(op)) return true;
  if (op == SCI_OP_neg || op == SCI_OP_add || op == SCI_OP_sub || op == SCI_OP_cast || op == SCI_OP_select)
    return false;
  for (uint32_t i = 0; i < n; i++)
    if (sweep->wild[sci_number(&sweep->order, args[i])]) return true;
  return false;
}

/* The adjoint behind operand i. */
static sci_combination passed_on(const sci_ad *ad, sci_id id, uint32_t i, const sci_combination *adjoint) {
  const sci_node *n = sci_node_at(ad->cx, id);
  const sci_id *args = sci_args(ad->cx, n);
  sci_op op = (sci_op)n->op;
  sci_id factor;
  bool negative;
  sci_combination out = {0};
  if (ad->seeds && !sci_op_is_steep(op) && sci_factor(ad, op, i, args, id, &factor, &negative)) {
    sci_combine(ad, &out, adjoint, factor, negative);
    return out;
  }
  return sci_combination_of(sci_partial(ad, op, i, args, id, sci_combined(ad, adjoint)));
}

/* select(s == 0, 0, sqrt(s)) as one operation, whose value takes the root's place. */
static void reverse_guarded_root(sci_sweep *sweep, sci_id id, sci_id under, sci_contribution adjoint) {
  sc_context *cx = sweep->ad->cx;
  sci_id outside = sci_make1(cx, SCI_OP_not, sci_arg(cx, id, 0));
  sci_combination out = {0};
  if (sweep->ad->seeds)
    sci_combine(sweep->ad, &out, &adjoint.value, sci_root_factor(sweep->ad, id), false);
  else
    out = sci_combination_of(sci_root_partial(sweep->ad, id, sci_combined(sweep->ad, &adjoint.value)));
  adjoint.value = out;
  adjoint.mask = adjoint.mask == SCI_NONE ? outside : sci_make2(cx, SCI_OP_and, adjoint.mask, outside);
  adjoint.mask_by |= SCI_GUARDED_ORIGIN;
  contribute(sweep, under, adjoint);
}

/* Where an adjoint stands for something: where it is not 0, or (of few elements, where this costs nothing when it runs)
 * where the value matters. */
static sci_id kept_of(const sci_ad *ad, sci_id id, sci_id adjoint, const sci_live *live) {
  sc_context *cx = ad->cx;
  enum { FEW = 32 };
  sci_shape s = sci_shape_of(cx, id);
  if (live && live->flags && sci_type_of(cx, id)->size <= FEW)
    return sci_make_const(cx, SC_BOOL, s.rank, s.dim, live->flags);
  sci_id zero = sci_make_double(cx, (sc_dtype)sci_type_of(cx, adjoint)->dtype, 0);
  return sci_make2(cx, SCI_OP_ne, adjoint, zero);
}

static void reverse_scalar(sci_sweep *sweep, sci_id id, sci_contribution adjoint) {
  const sci_ad *ad = sweep->ad;
  sc_context *cx = ad->cx;
  const sci_node *n = sci_node_at(cx, id);
  const sci_id *args = sci_args(cx, n);
  sci_op op = (sci_op)n->op;
  sci_id under = sci_guarded_root(cx, id);
  bool wild = under != SCI_NONE || is_wild(sweep, op, args, n->n_args);
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < n->n_args; i++) wanted += sci_wants(sweep, args[i]);
  const sci_live *live = &sweep->live[sci_number(&sweep->order, id)];
  bool masks = wild && (adjoint.guarded || !live->all);
  if (masks || !sci_stays_open(&adjoint.value, wanted))
    adjoint.value = sci_combination_of(sci_combined(ad, &adjoint.value));
  if (masks) {
    sci_id kept = kept_of(ad, id, adjoint.value.of[0].base, adjoint.guarded ? NULL : live);
    adjoint.mask = adjoint.mask == SCI_NONE ? kept : sci_make2(cx, SCI_OP_and, adjoint.mask, kept);
    adjoint.mask_by |= adjoint.guarded ? adjoint.guarded : SCI_GUARDED_CHOICE;
    adjoint.guarded = 0;
  }
  if (under != SCI_NONE) {
    reverse_guarded_root(sweep, id, under, adjoint);
    return;
  }
  if (op == SCI_OP_mul && args[0] == args[1] && !ad->seeds) {
    adjoint.value = sci_combination_of(sci_square_partial(ad, args[0], adjoint.value.of[0].base));
    contribute(sweep, args[0], adjoint);
    return;
  }
  for (uint32_t i = 0; i < n->n_args; i++) {
    if (!sci_wants(sweep, args[i])) continue;
    sci_contribution c = adjoint;
    if (op == SCI_OP_select) {
      sci_id taken = i == 1 ? args[0] : sci_make1(cx, SCI_OP_not, args[0]);
      c.mask = c.mask == SCI_NONE ? taken : sci_make2(cx, SCI_OP_and, c.mask, taken);
      c.mask_by |= SCI_GUARDED_CHOICE;
    } else {
      c.value = passed_on(ad, id, i, &adjoint.value);
      if (op == SCI_OP_minimum || op == SCI_OP_maximum) c.guarded |= SCI_GUARDED_CHOICE;
    }
    if (c.value.n) contribute(sweep, args[i], c);
  }
}

/* The adjoint of a sum that is one multiple goes to the terms as one, its base masked. False: it is not one. */
static bool reverse_open_sum(sci_sweep *sweep, sci_id id, const sci_contribution *adjoint) {
  const sci_ad *ad = sweep->ad;
  if (!ad->seeds || sci_node_at(ad->cx, id)->op != SCI_X_sum || adjoint->value.n != 1) return false;
  sci_multiple m = adjoint->value.of[0];
  /* A mask of its own for every seed is none of the factor's. */
  if (adjoint->mask != SCI_NONE && sci_type_of(ad->cx, adjoint->mask)->rank != sci_type_of(ad->cx, id)->rank)
    return false;
  if (adjoint->mask != SCI_NONE) m = sci_masked_multiple(ad, m, adjoint->mask, true);
  sci_ad plain = *ad;
  plain.seeds = 0;
  m.base = sci_spread_sum(ad, id, m.base);
  if (m.factor != SCI_NONE) m.factor = sci_spread_sum(&plain, id, m.factor);
  sci_contribution c = {.value = {1, {m}}, .mask = SCI_NONE, .guarded = adjoint->guarded | adjoint->mask_by};
  contribute(sweep, sci_arg(ad->cx, id, 0), c);
  return true;
}

/* The lowest-numbered sibling stands for all calls (maps) of one callee on the same operands, and is reached last. */
typedef struct sibling {
  sci_id key; /* the call's node with output 0 */
  uint32_t number;
} sibling;

static int by_key(const void *a, const void *b) {
  const sibling *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

sci_id sci_sibling_key(sc_context *cx, sci_id id) {
  const sci_node *n = sci_node_at(cx, id);
  const sci_call_attr *attr = sci_attr(cx, id);
  if (!attr->output) return id;
  size_t size = sci_attr_size(cx, id);
  sci_call_attr *zero = sci_alloc(&cx->env.scratch, size);
  memcpy(zero, attr, size);
  zero->output = 0;
  /* Only an identity: the type need not be output 0's. */
  return sci_intern_node(cx, n->op, (sc_hint)n->hint, n->type, sci_intern_blob(cx, zero, size), n->n_args,
                         sci_args(cx, n));
}

/* The sibling calls of the sweep: leader[k] is the number of node k's lowest sibling (SCI_NONE: no active call),
 * next[k] the sibling after k. */
typedef struct siblings {
  uint32_t *leader, *next;
} siblings;

static siblings find_siblings(sc_context *cx, const sci_order *order, const bool *active) {
  sci_arena *scratch = &cx->env.scratch;
  SCI_VEC(sibling) calls = {0};
  siblings s = {SCI_ARRAY(scratch, uint32_t, order->n), SCI_ARRAY(scratch, uint32_t, order->n)};
  for (uint32_t k = 0; k < order->n; k++) {
    s.leader[k] = s.next[k] = SCI_NONE;
    unsigned op = sci_node_at(cx, order->ids[k])->op;
    if (active[k] && (op == SCI_X_call || op == SCI_X_vmap))
      sci_vec_push(scratch, &calls, (sibling){sci_sibling_key(cx, order->ids[k]), k});
  }
  if (calls.n) qsort(calls.data, calls.n, sizeof *calls.data, by_key);
  for (size_t i = 0, first = 0; i < calls.n; i++) {
    if (calls.data[i].key != calls.data[first].key)
      first = i;
    else if (i > first)
      s.next[calls.data[i - 1].number] = calls.data[i].number;
    s.leader[calls.data[i].number] = calls.data[first].number;
  }
  return s;
}

static void reverse_call(sci_sweep *sweep, const siblings *s, uint32_t k, const sci_id *adjoints,
                         const uint8_t *guarded) {
  sc_context *cx = sweep->ad->cx;
  if (s->leader[k] != k) return; /* adjoints[k] waits for the leader */
  const sci_call_attr *attr = sci_attr(cx, sweep->order.ids[k]);
  uint32_t n = cx->functions[attr->callee]->n_out;
  sci_id *by_output = SCI_ARRAY(&cx->env.scratch, sci_id, n);
  bool any = false;
  sweep->guarded = 0;
  for (uint32_t i = 0; i < n; i++) by_output[i] = SCI_NONE;
  for (uint32_t j = k; j != SCI_NONE; j = s->next[j]) {
    if (adjoints[j] == SCI_NONE) continue;
    by_output[((const sci_call_attr *)sci_attr(cx, sweep->order.ids[j]))->output] = adjoints[j];
    sweep->guarded |= guarded[j];
    any = true;
  }
  if (any) sci_reverse_siblings(sweep, sweep->order.ids[k], by_output);
}

/* Values below which there is an operation that may leave the finite numbers; calls and maps may do anything. */
static const bool *find_wild(sc_context *cx, const sci_order *order) {
  bool *wild = SCI_ZEROS(&cx->env.scratch, bool, order->n);
  for (uint32_t k = 0; k < order->n; k++) {
    const sci_node *n = sci_node_at(cx, order->ids[k]);
    const sci_id *args = sci_args(cx, n);
    wild[k] = n->op == SCI_X_call || n->op == SCI_X_vmap || (n->op < SCI_OP_COUNT && sci_op_is_wild((sci_op)n->op));
    for (uint32_t i = 0; i < n->n_args && !wild[k]; i++) wild[k] = wild[sci_number(order, args[i])];
  }
  return wild;
}

void sci_reverse(const sci_ad *ad, uint32_t n_roots, const sci_id *roots, const sci_id *seeds, uint32_t n,
                 const sci_id *inputs, sci_id *out, bool *guarded_out) {
  sc_context *cx = ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  sci_sweep sweep = {.ad = ad, .order = sci_reach(cx, roots, n_roots), .guarded = ad->guarded};
  bool *active = SCI_ZEROS(scratch, bool, sweep.order.n), *fixed = SCI_ZEROS(scratch, bool, sweep.order.n);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = sci_number(&sweep.order, inputs[i]);
    if (k != SCI_NONE) active[k] = fixed[k] = true;
  }
  sci_mark_active(cx, &sweep.order, active, fixed);
  sweep.active = active;
  sweep.wild = find_wild(cx, &sweep.order);
  sweep.live = sci_find_live(cx, &sweep.order, active, n_roots, roots, seeds);
  uint8_t *guarded = SCI_ZEROS(scratch, uint8_t, sweep.order.n);
  sweep.parts = SCI_ZEROS(scratch, sci_contribution *, sweep.order.n);
  sci_id *adjoints = SCI_ARRAY(scratch, sci_id, sweep.order.n);
  for (uint32_t k = 0; k < sweep.order.n; k++) adjoints[k] = SCI_NONE;
  for (uint32_t i = 0; i < n_roots; i++)
    if (seeds[i] != SCI_NONE && sci_wants(&sweep, roots[i])) sci_contribute(&sweep, roots[i], seeds[i]);
  siblings calls = find_siblings(cx, &sweep.order, active);
  for (uint32_t k = sweep.order.n; k--;) {
    sci_id id = sweep.order.ids[k];
    unsigned op = sci_node_at(cx, id)->op;
    if (!active[k]) continue;
    bool call = calls.leader[k] != SCI_NONE;
    if (!sweep.parts[k] && !call) continue;
    if (sweep.parts[k]) {
      sci_contribution adjoint = join(ad, id, sweep.parts[k]);
      if (op < SCI_OP_COUNT && !fixed[k]) {
        reverse_scalar(&sweep, id, adjoint);
        continue;
      }
      if (!fixed[k] && reverse_open_sum(&sweep, id, &adjoint)) continue;
      adjoints[k] = masked(ad, &adjoint.value, adjoint.mask);
      sweep.guarded = guarded[k] = adjoint.guarded | adjoint.mask_by;
    }
    if (fixed[k]) continue;
    if (call)
      reverse_call(&sweep, &calls, k, adjoints, guarded);
    else
      rules[op - SCI_X_FIRST - 1](&sweep, id, adjoints[k]);
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = sci_number(&sweep.order, inputs[i]);
    out[i] = k == SCI_NONE ? SCI_NONE : adjoints[k];
    if (guarded_out) guarded_out[i] = k != SCI_NONE && (guarded[k] & SCI_GUARDED_CHOICE);
  }
}
