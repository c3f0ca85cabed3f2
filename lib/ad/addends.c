/* Owns addends of maps: what is added to the same value of every iteration, and moves evenly, is added by the mapped
 * function itself; what is stored between the values of every iteration is passed through it.
 *
 * The Hessian of a Lagrangian is the stages' Hessians, one map, plus the objective's, which lands on the stages'
 * diagonals: without this, the sum is a pass over stored values, place by place through tables. Here the addends become
 * a window of the map, and the sum is formed before the value is stored. */
#include "lib/ad/jacobian.h"

#include <stdlib.h>

enum { MAX_SPARE = 16 }; /* distance of elements that are read through one window */

/* An entry at a place where value j of iteration `it` of the map is; or at a place of none, and j is the map's number
 * of values, plus the place's distance from the iteration's first. */
typedef struct meeting {
  int32_t piece, j, it, at, entry;
  double coef;
} meeting;
typedef SCI_VEC(meeting) meeting_list;

/* Meetings of one value in all iterations: elements first, first + step, ... of a piece. Of those that are passed
 * through, j is the map's new value. */
typedef struct addend {
  int32_t piece, j, first, step;
  double coef;
} addend;

typedef struct mapped {
  sci_assembly *a;
  int32_t piece, length, period;
  int32_t first, stride; /* places between those of one iteration: in iteration `it`, stride from first + it * stride
                            on; 0: iterations do not lie behind each other */
  const sci_call_attr *attr;
  sc_function *f;
  int32_t *owner;   /* per place: the map's value there, -1: none, or several */
  int32_t n_passed; /* values that others' entries become: j = period, ... */
  SCI_VEC(addend) addends;
  SCI_VEC(addend) constants; /* `coef` is added to value `j` */
} mapped;

#define ORDER(x, y, member)                                                                                            \
  if ((x)->member != (y)->member) return (x)->member < (y)->member ? -1 : 1

static int by_value(const void *a, const void *b) {
  const meeting *x = a, *y = b;
  ORDER(x, y, piece);
  ORDER(x, y, j);
  ORDER(x, y, coef);
  ORDER(x, y, it);
  ORDER(x, y, at);
  return 0;
}

static int by_window(const void *a, const void *b) {
  const addend *x = a, *y = b;
  ORDER(x, y, piece);
  ORDER(x, y, step);
  ORDER(x, y, first);
  ORDER(x, y, j);
  return 0;
}

/* Where iterations lie: the values of each behind those of the one before, always at the same distance. */
static void find_span(mapped *m, int64_t n_places) {
  sci_arena *scratch = &m->a->ad->cx->env.scratch;
  int64_t *lo = SCI_ARRAY(scratch, int64_t, m->length), *hi = SCI_ARRAY(scratch, int64_t, m->length);
  for (int32_t it = 0; it < m->length; it++) lo[it] = -1;
  for (int64_t k = 0; k < n_places; k++) {
    if (m->owner[k] < 0) continue;
    int32_t it = m->owner[k] / m->period;
    if (lo[it] < 0) lo[it] = k;
    hi[it] = k;
  }
  if (lo[0] < 0 || lo[1] < 0 || lo[1] <= hi[0]) return;
  int64_t stride = lo[1] - lo[0];
  for (int32_t it = 1; it < m->length; it++)
    if (lo[it] != lo[0] + it * stride || hi[it] - lo[it] != hi[0] - lo[0]) return;
  /* What is stored before the first value of an iteration belongs to it, too. */
  int64_t spare = stride - (hi[0] - lo[0] + 1);
  m->first = (int32_t)(lo[0] - (spare < lo[0] ? spare : lo[0])), m->stride = (int32_t)stride;
}

static bool begin(mapped *m, sci_assembly *a, int32_t piece, const sci_placed_list *list, int64_t n_places) {
  sc_context *cx = a->ad->cx;
  const sci_piece *p = &a->pieces.data[piece];
  const sci_node *n = sci_node_at(cx, p->value);
  *m = (mapped){.a = a, .piece = piece};
  if (!p->period || p->size < 2 * p->period || n->op != SCI_X_vmap) return false;
  m->length = (int32_t)(p->size / p->period), m->period = (int32_t)p->period;
  m->attr = sci_attr(cx, p->value);
  m->f = cx->functions[m->attr->callee];
  if (m->attr->length != m->length) return false;
  m->owner = SCI_ARRAY(&cx->env.scratch, int32_t, n_places);
  bool *several = SCI_ZEROS(&cx->env.scratch, bool, n_places);
  for (int64_t k = 0; k < n_places; k++) m->owner[k] = -1;
  for (size_t i = 0; i < list->n; i++) {
    const sci_placed *e = &list->data[i];
    if (e->piece != piece) continue;
    several[e->place] |= m->owner[e->place] >= 0 || e->coef != 1;
    m->owner[e->place] = e->at;
  }
  for (int64_t k = 0; k < n_places; k++)
    if (several[k]) m->owner[k] = -1;
  find_span(m, n_places);
  return true;
}

/* Whether the meetings from x on are one in each iteration, evenly spaced. */
static bool moves_evenly(const mapped *m, const meeting *x, size_t n) {
  if (n != (size_t)m->length) return false;
  int64_t step = (int64_t)x[1].at - x[0].at;
  for (int32_t it = 0; it < m->length; it++)
    if (x[it].it != it || x[it].at != x[0].at + it * step) return false;
  return step >= 0;
}

static bool same_value(const meeting *x, const meeting *y) {
  return x->piece == y->piece && x->j == y->j && x->coef == y->coef;
}

/* Places that have one entry and nothing else. */
static bool *lone_places(const mapped *m, const sci_placed_list *list, int64_t n_places, const bool *touched) {
  sci_arena *scratch = &m->a->ad->cx->env.scratch;
  bool *lone = SCI_ZEROS(scratch, bool, n_places), *seen = SCI_ZEROS(scratch, bool, n_places);
  for (size_t i = 0; i < list->n; i++) {
    int32_t k = list->data[i].place;
    lone[k] = !seen[k] && !touched[k];
    seen[k] = true;
  }
  return lone;
}

static void collect_meetings(mapped *m, const bool *bound, const sci_placed_list *list, const bool *lone,
                             meeting_list *met) {
  for (size_t i = 0; i < list->n; i++) {
    const sci_placed *e = &list->data[i];
    if (e->piece == m->piece || bound[e->piece]) continue;
    meeting x = {.piece = e->piece, .at = e->at, .entry = (int32_t)i, .coef = e->coef};
    int32_t at = m->owner[e->place], from = e->place - m->first;
    if (at >= 0)
      x.j = at % m->period, x.it = at / m->period;
    else if (m->stride && lone[e->place] && from >= 0 && from / m->stride < m->length)
      x.j = m->period + from % m->stride, x.it = from / m->stride;
    else
      continue;
    sci_vec_push(&m->a->ad->cx->env.scratch, met, x);
  }
}

/* Entries that became addends leave the list, those that are passed through become the map's own. */
static void find_addends(mapped *m, const bool *bound, sci_placed_list *list, int64_t n_places, const bool *touched) {
  sci_arena *scratch = &m->a->ad->cx->env.scratch;
  meeting_list met = {0};
  collect_meetings(m, bound, list, lone_places(m, list, n_places, touched), &met);
  if (!met.n) return;
  qsort(met.data, met.n, sizeof *met.data, by_value);
  const meeting **taken = SCI_ZEROS(scratch, const meeting *, list->n);
  for (size_t first = 0, next; first < met.n; first = next) {
    const meeting *x = &met.data[first];
    for (next = first + 1; next < met.n && same_value(x, &met.data[next]);) next++;
    if (!moves_evenly(m, x, next - first)) continue;
    if (x->j >= m->period && m->n_passed == m->period) continue; /* the body must not grow by more than itself */
    int32_t j = x->j < m->period ? x->j : m->period + m->n_passed++;
    sci_vec_push(scratch, &m->addends, (addend){x->piece, j, x->at, x[1].at - x->at, x->coef});
    for (size_t k = first; k < next; k++) {
      if (x->j >= m->period) met.data[k].j = j;
      taken[met.data[k].entry] = &met.data[k];
    }
  }
  size_t kept = 0;
  const int32_t period = m->period + m->n_passed;
  for (size_t i = 0; i < list->n; i++) {
    sci_placed e = list->data[i];
    if (taken[i] && taken[i]->j < m->period) continue;
    if (taken[i])
      e = (sci_placed){e.place, m->piece, taken[i]->it * period + taken[i]->j, 1};
    else if (e.piece == m->piece)
      e.at = e.at / m->period * period + e.at % m->period;
    list->data[kept++] = e;
  }
  list->n = kept;
}

/* The same constant under one value in all iterations; `touched` places have one. */
static void find_constants(mapped *m, int64_t n_places, bool *touched, double *constant) {
  sci_arena *scratch = &m->a->ad->cx->env.scratch;
  int32_t *count = SCI_ZEROS(scratch, int32_t, m->period);
  double *value = SCI_ARRAY(scratch, double, m->period);
  for (int64_t k = 0; k < n_places; k++) {
    if (m->owner[k] < 0 || !touched[k]) continue;
    int32_t j = m->owner[k] % m->period;
    if (!count[j]) value[j] = constant[k];
    if (!memcmp(&value[j], &constant[k], sizeof(double))) count[j]++;
  }
  for (int32_t j = 0; j < m->period; j++)
    if (count[j] == m->length) sci_vec_push(scratch, &m->constants, (addend){.j = j, .coef = value[j]});
  for (int64_t k = 0; k < n_places; k++)
    if (m->owner[k] >= 0 && count[m->owner[k] % m->period] == m->length) touched[k] = false, constant[k] = 0;
}

/* ---- the function that adds ---- */

typedef struct terms {
  sci_id *part;
  int32_t *place; /* of each element */
  uint32_t n_parts, n_places;
} terms;

/* Its inputs and what the map hands it; what is added, and what is passed through. */
typedef struct summing {
  sc_named *in;
  sci_id *args;
  int64_t *starts, *strides;
  uint32_t n_in;
  terms added, passed;
} summing;

static terms room_for(sci_arena *scratch, size_t n) {
  return (terms){.part = SCI_ARRAY(scratch, sci_id, n), .place = SCI_ARRAY(scratch, int32_t, n)};
}

static sci_id coefficients(const mapped *m, sc_dtype dtype, const addend *x, size_t n) {
  double *coef = SCI_ARRAY(&m->a->ad->cx->env.scratch, double, n);
  for (size_t k = 0; k < n; k++) coef[k] = x[k].coef;
  return sci_make_numbers(m->a->ad->cx, dtype, (int64_t)n, coef);
}

static void add_part(terms *t, sci_id part, const addend *x, size_t n) {
  t->part[t->n_parts++] = part;
  for (size_t k = 0; k < n; k++) t->place[t->n_places++] = x[k].j;
}

/* Elements of a window that begins with element `from` of the piece. */
static void read_window(const mapped *m, sci_id window, int32_t from, const addend *x, size_t n, terms *t) {
  sc_context *cx = m->a->ad->cx;
  int64_t count = (int64_t)n;
  if (!n) return;
  int32_t *index = SCI_ARRAY(&cx->env.scratch, int32_t, n);
  bool unit = true;
  for (size_t k = 0; k < n; k++) index[k] = x[k].first - from, unit &= x[k].coef == 1;
  sci_id part = sci_make_gather(cx, window, index, 1, &count);
  sc_dtype dtype = (sc_dtype)sci_type_of(cx, window)->dtype;
  add_part(t, unit ? part : sci_make2(cx, SCI_OP_mul, part, coefficients(m, dtype, x, n)), x, n);
}

/* Addends of one piece and one step: a window over all of them, of which elements are read. */
static void add_window(const mapped *m, const addend *x, size_t n, summing *s) {
  sc_context *cx = m->a->ad->cx;
  const sci_piece *p = &m->a->pieces.data[x->piece];
  int64_t width = (int64_t)x[n - 1].first - x->first + 1;
  const char *name = sci_fresh_name(&cx->env.scratch, s->in, s->n_in, "addend");
  sci_id input = sci_make_input(cx, name, (sc_dtype)sci_type_of(cx, p->value)->dtype, true, 1, &width);
  addend *some = SCI_ARRAY(&cx->env.scratch, addend, n);
  for (int passed = 0; passed < 2; passed++) {
    size_t count = 0;
    for (size_t k = 0; k < n; k++)
      if ((x[k].j >= m->period) == passed) some[count++] = x[k];
    read_window(m, input, x->first, some, count, passed ? &s->passed : &s->added);
  }
  s->args[s->n_in] = sci_make_reshape(cx, p->value, 1, &p->size);
  s->starts[s->n_in] = x->first, s->strides[s->n_in] = x->step;
  s->in[s->n_in++] = (sc_named){name, sci_wrap(cx, input), NULL};
}

static summing begin_sum(const mapped *m) {
  sc_context *cx = m->a->ad->cx;
  sci_arena *scratch = &cx->env.scratch;
  const sci_node *n = sci_node_at(cx, m->a->pieces.data[m->piece].value);
  size_t most = n->n_args + m->addends.n;
  summing s = {.n_in = n->n_args, .in = SCI_ZEROS(scratch, sc_named, most)};
  s.args = SCI_ARRAY(scratch, sci_id, most);
  s.starts = SCI_ARRAY(scratch, int64_t, most), s.strides = SCI_ARRAY(scratch, int64_t, most);
  s.added = room_for(scratch, m->addends.n + m->constants.n), s.passed = room_for(scratch, m->addends.n);
  for (uint32_t i = 0; i < s.n_in; i++) {
    s.in[i] = (sc_named){m->f->in[i].name, sci_wrap(cx, m->f->in[i].node), NULL};
    s.args[i] = sci_args(cx, n)[i];
    s.starts[i] = m->attr->windows[i], s.strides[i] = m->attr->windows[s.n_in + i];
  }
  return s;
}

static sci_id joined(sc_context *cx, const terms *t) {
  return t->n_parts == 1 ? t->part[0] : sci_make_join(cx, SCI_X_concat, t->part, t->n_parts, 0);
}

/* Behind the map's own values, in the order of their numbers. */
static sci_id passed_through(const mapped *m, sci_id own, const terms *t) {
  sc_context *cx = m->a->ad->cx;
  int64_t n = t->n_places;
  int32_t *from = SCI_ARRAY(&cx->env.scratch, int32_t, n);
  for (int32_t k = 0; k < n; k++) from[t->place[k] - m->period] = k;
  sci_id more = sci_make_gather(cx, joined(cx, t), from, 1, &n);
  return sci_make_join(cx, SCI_X_concat, (sci_id[]){own, more}, 2, 0);
}

/* The map, with its addends in it. */
static sci_id sum_of(const mapped *m) {
  sc_context *cx = m->a->ad->cx;
  summing s = begin_sum(m);
  const addend *x = m->addends.data;
  for (size_t first = 0, next; first < m->addends.n; first = next) {
    for (next = first + 1; next < m->addends.n && x[next].piece == x[first].piece && x[next].step == x[first].step &&
                           x[next].first - x[next - 1].first <= MAX_SPARE;)
      next++;
    add_window(m, x + first, next - first, &s);
  }
  int64_t period = m->period;
  sci_id total = sci_make_reshape(cx, m->f->out[m->attr->output].node, 1, &period);
  if (m->constants.n)
    add_part(&s.added, coefficients(m, (sc_dtype)sci_type_of(cx, total)->dtype, m->constants.data, m->constants.n),
             m->constants.data, m->constants.n);
  if (s.added.n_parts) total = sci_make_index(cx, SCI_X_index_add, total, joined(cx, &s.added), s.added.place);
  if (s.passed.n_parts) total = passed_through(m, total, &s.passed);
  sc_named out = {"sum", sci_wrap(cx, total), NULL};
  sc_function *f = sci_make_function(cx, sci_asprintf(&cx->env.scratch, "%s_sum", m->f->name), s.in, s.n_in, &out, 1);
  sci_lower_as(m->a->ad, f, m->f);
  return sci_make_vmap(cx, f, m->length, s.args, s.n_in, s.starts, s.strides, 0);
}

/* Of pieces that meet, the one with most values an iteration has the others added; no piece is both. */
void sci_add_in_maps(sci_assembly *a, sci_placed_list *list, int64_t n_places, bool *touched, double *constant) {
  size_t n = a->pieces.n;
  bool *bound = SCI_ZEROS(&a->ad->cx->env.scratch, bool, n);
  for (;;) {
    int32_t piece = -1;
    for (size_t p = 0; p < n; p++)
      if (!bound[p] && a->pieces.data[p].period > (piece < 0 ? 0 : a->pieces.data[piece].period)) piece = (int32_t)p;
    if (piece < 0) return;
    bound[piece] = true;
    mapped m;
    if (!begin(&m, a, piece, list, n_places)) continue;
    find_addends(&m, bound, list, n_places, touched);
    find_constants(&m, n_places, touched, constant);
    if (!m.addends.n && !m.constants.n) continue;
    if (m.addends.n) qsort(m.addends.data, m.addends.n, sizeof *m.addends.data, by_window);
    for (size_t k = 0; k < m.addends.n; k++) bound[m.addends.data[k].piece] = true;
    int64_t period = m.period + m.n_passed;
    a->pieces.data[piece] = (sci_piece){sum_of(&m), m.length * period, period};
  }
}
