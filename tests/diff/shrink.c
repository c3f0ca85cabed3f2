/* Owns the shrinking of a failing function: one edit at a time, kept when the result is smaller and still fails. */
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "tests/diff/diff.h"

typedef enum edit_kind {
  KEEP_OUTPUT, /* only output `which` stays */
  PEEL_OUTPUT, /* output 0 becomes operand `which` of its node */
  DROP_INPUT,  /* unused input `which` goes */
  CUT,         /* the node becomes an input (of the function itself) or ones (in a callee) */
  BYPASS,      /* the node becomes its operand `which`, which has the same type */
  INLINE,      /* a call becomes the callee's body */
} edit_kind;

typedef struct edit {
  edit_kind kind;
  const sc_function *f;
  sci_id node;
  uint32_t which;
} edit;

static void *grab(size_t n, size_t size) {
  void *p = calloc(n ? n : 1, size);
  if (!p) abort();
  return p;
}

/* ---- size ---- */

static uint8_t *reached_by(const sc_function *f) {
  const sc_context *cx = f->cx;
  uint8_t *reached = grab(cx->n_nodes, 1);
  for (uint32_t i = 0; i < f->n_out; i++) reached[f->out[i].node] = 1;
  for (uint32_t id = cx->n_nodes; id-- > 0;) {
    const sci_node *n = sci_node_at(cx, id);
    for (uint32_t k = 0; reached[id] && k < n->n_args; k++) reached[sci_args(cx, n)[k]] = 1;
  }
  return reached;
}

static bool is_call(const sci_node *n) {
  return n->op == SCI_X_call || n->op == SCI_X_vmap;
}

static const sc_function *callee_of(const sc_context *cx, sci_id id) {
  return cx->functions[((const sci_call_attr *)sci_attr(cx, id))->callee];
}

static void weigh(const sc_function *f, uint8_t *seen, int64_t *weight) {
  if (seen[f->id]) return;
  seen[f->id] = 1;
  *weight += f->n_in + 4 * (int64_t)f->n_out;
  uint8_t *reached = reached_by(f);
  for (uint32_t id = 0; id < f->cx->n_nodes; id++) {
    const sci_node *n = sci_node_at(f->cx, id);
    if (!reached[id] || n->op == SCI_X_input || n->op == SCI_X_const) continue;
    *weight += 8;
    if (is_call(n)) weigh(callee_of(f->cx, id), seen, weight);
  }
  free(reached);
}

static int64_t weight_of(const sc_function *f) {
  int64_t weight = 0;
  uint8_t *seen = grab(f->cx->n_functions, 1);
  weigh(f, seen, &weight);
  free(seen);
  return weight;
}

/* ---- editing; builders unwind to apply() ---- */

static uint8_t *reached_in_scratch(const sc_function *f) {
  uint8_t *seen = reached_by(f), *reached = sci_alloc(&f->cx->env.scratch, f->cx->n_nodes);
  memcpy(reached, seen, f->cx->n_nodes);
  free(seen);
  return reached;
}

typedef struct shrinker {
  sc_context *cx;
  const edit *e;
  sc_named more;      /* the input that a cut adds */
  sc_function **done; /* by function id: what it has become */
} shrinker;

static sc_function *rebuilt(shrinker *s, const sc_function *f, bool top);

static sci_id remake(sc_context *cx, sci_id id, const sc_function *callee, const sci_id *args) {
  const sci_node *n = sci_node_at(cx, id);
  if (!is_call(n)) return sci_remake(cx, id, args);
  const sci_call_attr *attr = sci_attr(cx, id);
  uint32_t n_args = n->n_args;
  sc_hint hint = (sc_hint)n->hint;
  if (n->op == SCI_X_call)
    return sci_make_hint(cx, sci_make_call(cx, cx->functions[callee->id], args, n_args, attr->output), hint);
  size_t bytes = 2 * n_args * sizeof(int64_t);
  int64_t *windows = sci_alloc(&cx->env.scratch, bytes + 1);
  memcpy(windows, attr->windows, bytes);
  sci_id mapped =
      sci_make_vmap(cx, cx->functions[callee->id], attr->length, args, n_args, windows, windows + n_args, attr->output);
  return sci_make_hint(cx, mapped, hint);
}

static sc_expr handle(sc_context *cx, sci_id id) {
  return (sc_expr){cx, id, cx->generation};
}

static sci_id replaced(shrinker *s, sci_id id, const sci_id *map, bool top) {
  sc_context *cx = s->cx;
  sci_type t = *sci_type_of(cx, id);
  const sci_node *n = sci_node_at(cx, id);
  if (s->e->kind == BYPASS) return map[sci_args(cx, n)[s->e->which]];
  if (s->e->kind == CUT && !top) return sci_make_fill(cx, (sc_dtype)t.dtype, t.rank, t.shape, 1);
  if (s->e->kind == CUT) {
    char *name = sci_asprintf(&cx->env.scratch, "c%u", id);
    sci_id input = sci_make_input(cx, name, (sc_dtype)t.dtype, t.diff, t.rank, t.shape);
    s->more = (sc_named){name, handle(cx, input), NULL};
    return input;
  }
  const sc_function *g = callee_of(cx, id);
  uint32_t output = ((const sci_call_attr *)sci_attr(cx, id))->output, n_old = cx->n_nodes;
  sci_id *inner = sci_alloc(&cx->env.scratch, n_old * sizeof *inner), args[64];
  const uint8_t *reached = reached_in_scratch(g);
  for (uint32_t i = 0; i < n_old; i++) {
    inner[i] = i;
    for (uint32_t k = 0; k < g->n_in; k++)
      if (g->in[k].node == i) inner[i] = map[sci_arg(cx, id, k)];
    const sci_node *m = sci_node_at(cx, i);
    if (!reached[i] || !m->n_args || m->n_args > 64) continue;
    for (uint32_t k = 0; k < m->n_args; k++) args[k] = inner[sci_arg(cx, i, k)];
    inner[i] = remake(cx, i, is_call(m) ? callee_of(cx, i) : NULL, args);
  }
  return inner[g->out[output].node];
}

/* The value of every node of f under the edit. */
static sci_id *mapped_nodes(shrinker *s, const sc_function *f, bool top, bool *changed) {
  sc_context *cx = s->cx;
  uint32_t n_old = cx->n_nodes;
  sci_id *map = sci_alloc(&cx->env.scratch, n_old * sizeof *map), *args;
  const uint8_t *reached = reached_in_scratch(f);
  for (uint32_t id = 0; id < n_old; id++) {
    map[id] = id;
    if (!reached[id]) continue;
    if (f == s->e->f && id == s->e->node && s->e->kind >= CUT) {
      map[id] = replaced(s, id, map, top);
      *changed = true;
      continue;
    }
    uint32_t n_args = sci_node_at(cx, id)->n_args;
    bool other = false;
    args = sci_alloc(&cx->env.scratch, (n_args + 1) * sizeof *args);
    for (uint32_t k = 0; k < n_args; k++) {
      args[k] = map[sci_arg(cx, id, k)];
      other |= args[k] != sci_arg(cx, id, k);
    }
    const sc_function *callee = is_call(sci_node_at(cx, id)) ? callee_of(cx, id) : NULL,
                      *g = callee ? rebuilt(s, callee, false) : NULL;
    if (other || g != callee) map[id] = remake(cx, id, g, args);
    *changed |= map[id] != id;
  }
  return map;
}

static sc_function *rebuilt(shrinker *s, const sc_function *f, bool top) {
  sc_context *cx = s->cx;
  if (!top && s->done[f->id]) return s->done[f->id];
  bool changed = top;
  const sci_id *map = mapped_nodes(s, f, top, &changed);
  if (!changed) return s->done[f->id] = cx->functions[f->id];
  sc_named *in = sci_alloc(&cx->env.scratch, (f->n_in + 1) * sizeof *in),
           *out = sci_alloc(&cx->env.scratch, (f->n_out + 1) * sizeof *out);
  size_t n_in = 0, n_out = 0;
  for (uint32_t k = 0; k < f->n_in; k++)
    if (!(top && s->e->kind == DROP_INPUT && s->e->which == k))
      in[n_in++] = (sc_named){f->in[k].name, handle(cx, f->in[k].node), NULL};
  if (top && s->more.name) in[n_in++] = s->more;
  for (uint32_t k = 0; k < f->n_out; k++) {
    sci_id value = f->out[k].node;
    if (top && s->e->kind == KEEP_OUTPUT && s->e->which != k) continue;
    if (top && s->e->kind == PEEL_OUTPUT && k == 0) value = sci_arg(cx, value, s->e->which);
    out[n_out++] = (sc_named){f->out[k].name, handle(cx, map[value]), NULL};
  }
  sc_function *g = sci_make_function(cx, f->name, in, n_in, out, n_out);
  g->strict_nan = f->strict_nan;
  return s->done[f->id] = g;
}

static sc_function *apply(sc_function *f, const edit *e) {
  sc_context *cx = f->cx;
  sci_context_mark mark = sci_context_here(cx);
  shrinker s = {cx, e, {0}, NULL};
  sci_frame fr;
  if (!SCI_TRY(&cx->env, &fr)) {
    sci_context_rollback(cx, mark);
    sc_context_clear_error(cx);
    return NULL;
  }
  s.done = SCI_ZEROS(&cx->env.scratch, sc_function *, cx->n_functions);
  sc_function *g = rebuilt(&s, f, true);
  sci_leave(&cx->env, &fr);
  return g;
}

/* ---- the search ---- */

static sc_function *attempt(sc_function *f, edit e, diff_fails fails, void *user) {
  sc_function *g = apply(f, &e);
  return g && weight_of(g) < weight_of(f) && fails(g, user) ? g : NULL;
}

static bool same_type(const sc_context *cx, sci_id a, sci_id b) {
  const sci_type *x = sci_type_of(cx, a), *y = sci_type_of(cx, b);
  return x->dtype == y->dtype && x->rank == y->rank && !memcmp(x->shape, y->shape, x->rank * sizeof *x->shape);
}

/* Nodes of f from the last to the first, so that a cut removes as much as it can. */
static sc_function *shrink_nodes(sc_function *f, const sc_function *where, diff_fails fails, void *user) {
  sc_function *g = NULL;
  uint8_t *reached = reached_by(where);
  for (uint32_t id = f->cx->n_nodes; !g && id-- > 0;) {
    const sci_node *n = sci_node_at(f->cx, id);
    if (!reached[id] || n->op == SCI_X_input || n->op == SCI_X_const) continue;
    g = attempt(f, (edit){CUT, where, id, 0}, fails, user);
    for (uint32_t k = 0; !g && k < n->n_args; k++)
      if (same_type(f->cx, id, sci_arg(f->cx, id, k))) g = attempt(f, (edit){BYPASS, where, id, k}, fails, user);
    if (!g && n->op == SCI_X_call) g = attempt(f, (edit){INLINE, where, id, 0}, fails, user);
    if (!g && is_call(n)) g = shrink_nodes(f, callee_of(f->cx, id), fails, user);
  }
  free(reached);
  return g;
}

static sc_function *shrink_once(sc_function *f, diff_fails fails, void *user) {
  sc_function *g = NULL;
  for (uint32_t k = 0; !g && f->n_out > 1 && k < f->n_out; k++)
    g = attempt(f, (edit){KEEP_OUTPUT, f, 0, k}, fails, user);
  const sci_node *n = sci_node_at(f->cx, f->out[0].node);
  for (uint32_t k = 0; !g && k < n->n_args; k++) g = attempt(f, (edit){PEEL_OUTPUT, f, 0, k}, fails, user);
  if (!g) g = shrink_nodes(f, f, fails, user);
  for (uint32_t k = 0; !g && k < f->n_in; k++) g = attempt(f, (edit){DROP_INPUT, f, 0, k}, fails, user);
  return g;
}

sc_function *diff_shrink(sc_function *f, diff_fails fails, void *user) {
  for (sc_function *g = f; g; g = shrink_once(f, fails, user)) f = g;
  return f;
}
