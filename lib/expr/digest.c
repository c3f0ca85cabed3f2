/* Owns what a graph is as bytes. */
#include "lib/expr/digest.h"

typedef struct state {
  sc_context *cx;
  sci_digest_fn put;
  void *user;
  sc_function **functions;
  uint32_t n_functions;
  uint32_t n;
  char buffer[4096];
} state;

static void flush(state *s) {
  s->put(s->user, s->buffer, s->n);
  s->n = 0;
}

static void put(state *s, const void *data, size_t n) {
  if (n > sizeof s->buffer - s->n) flush(s);
  if (n > sizeof s->buffer) {
    s->put(s->user, data, n);
    return;
  }
  if (n) memcpy(s->buffer + s->n, data, n);
  s->n += (uint32_t)n;
}

static void put_number(state *s, uint64_t v) {
  put(s, &v, sizeof v);
}

static void put_text(state *s, const char *text) {
  size_t n = strlen(text);
  put_number(s, n);
  put(s, text, n);
}

static void put_function(state *s, const sc_function *f) {
  uint32_t i = 0;
  while (i < s->n_functions && s->functions[i] != f) i++;
  put_number(s, i);
}

static void put_pattern(state *s, const sc_pattern *p) {
  put_number(s, p != NULL);
  if (!p) return;
  int64_t outer = p->layout == SC_CSC ? p->ncol + 1 : p->layout == SC_CSR ? p->nrow + 1 : p->nnz;
  const int64_t sizes[] = {p->layout, p->nrow, p->ncol, p->nnz};
  put(s, sizes, sizeof sizes);
  put(s, p->outer, (size_t)outer * sizeof *p->outer);
  put(s, p->inner, (size_t)p->nnz * sizeof *p->inner);
}

/* An input's number and a callee's id are the context's own business. What is no blob is part of the node's head. */
static void put_attr(state *s, const sci_node *n) {
  if (!sci_attr_is_blob(n->op)) return;
  const sci_blob *b = &s->cx->blobs[n->attr];
  if (n->op == SCI_X_input) {
    put_text(s, ((const sci_input_attr *)b->data)->name);
  } else if (n->op == SCI_X_call || n->op == SCI_X_vmap) {
    const sci_call_attr *a = b->data;
    put_function(s, s->cx->functions[a->callee]);
    put_number(s, a->output);
    put_number(s, b->size);
    put(s, &a->length, b->size - offsetof(sci_call_attr, length));
  } else {
    put_number(s, b->size);
    put(s, b->data, b->size);
  }
}

static char *put_word(char *at, uint32_t word) {
  memcpy(at, &word, sizeof word);
  return at + sizeof word;
}

/* Hashing costs more than anything else here, so a node is short: most have few operands, neither a shape nor an
 * attribute. */
static void put_node(state *s, const sci_order *order, sci_id id) {
  enum { MANY = 127, ROOM = 4 * (2 + MANY) };
  const sci_node *n = sci_node_at(s->cx, id);
  const sci_type *t = &s->cx->types[n->type];
  const sci_id *args = sci_args(s->cx, n);
  bool has_attr = !sci_attr_is_blob(n->op) && n->attr;
  uint32_t few = n->n_args < MANY ? n->n_args : MANY;
  if (sizeof s->buffer - s->n < ROOM) flush(s);
  char *at = s->buffer + s->n;
  at = put_word(at, (uint32_t)n->op | (uint32_t)n->hint << 16 | few << 24 | (uint32_t)has_attr << 31);
  at = put_word(at, (uint32_t)t->dtype | (uint32_t)t->diff << 8 | (uint32_t)t->rank << 16);
  for (uint32_t i = 0; few < MANY && i < few; i++) at = put_word(at, sci_number(order, args[i]));
  s->n = (uint32_t)(at - s->buffer);
  if (few == MANY) put_number(s, n->n_args);
  for (uint32_t i = 0; few == MANY && i < n->n_args; i++) put_number(s, sci_number(order, args[i]));
  if (t->rank) put(s, t->shape, t->rank * sizeof *t->shape);
  if (has_attr) put_number(s, n->attr);
  put_attr(s, n);
}

static void put_formals(state *s, const sci_order *order, const sci_formal *formals, uint32_t n) {
  put_number(s, n);
  for (uint32_t i = 0; i < n; i++) {
    put_text(s, formals[i].name);
    put_number(s, sci_number(order, formals[i].node));
    put_pattern(s, formals[i].pattern);
  }
}

static void put_body(state *s, const sc_function *f, sci_order order) {
  put_text(s, f->name);
  put_number(s, (uint64_t)f->hint | (uint64_t)f->set_hint << 8 | (uint64_t)f->strict_nan << 16 |
                    (uint64_t)f->derived << 17);
  put_number(s, order.n);
  for (uint32_t i = 0; i < order.n; i++) put_node(s, &order, order.ids[i]);
  put_formals(s, &order, f->in, f->n_in);
  put_formals(s, &order, f->out, f->n_out);
  put_function(s, f->custom.jvp);
  put_function(s, f->custom.vjp);
  put_pattern(s, f->custom.pattern);
}

/* The function and what it calls or brings along, in the order of their ids, callees first; and the nodes of each. */
static sci_order *reach(state *s, sc_function *f) {
  sci_arena *scratch = &s->cx->env.scratch;
  sci_order *orders = SCI_ZEROS(scratch, sci_order, f->id + 1);
  bool *called = SCI_ZEROS(scratch, bool, f->id + 1);
  called[f->id] = true;
  for (uint32_t id = f->id + 1; id-- > 0;) {
    if (!called[id]) continue;
    s->n_functions++;
    const sc_function *one = s->cx->functions[id];
    if (one->custom.jvp) called[one->custom.jvp->id] = true;
    if (one->custom.vjp) called[one->custom.vjp->id] = true;
    orders[id] = sci_reach_function(s->cx, one);
    for (uint32_t i = 0; i < orders[id].n; i++) {
      unsigned op = sci_node_at(s->cx, orders[id].ids[i])->op;
      if (op != SCI_X_call && op != SCI_X_vmap) continue;
      called[((const sci_call_attr *)sci_attr(s->cx, orders[id].ids[i]))->callee] = true;
    }
  }
  s->functions = SCI_ARRAY(scratch, sc_function *, s->n_functions);
  for (uint32_t id = 0, n = 0; id <= f->id; id++)
    if (called[id]) s->functions[n++] = s->cx->functions[id];
  return orders;
}

void sci_digest_graph(sc_context *cx, sc_function *f, sci_digest_fn fn, void *user) {
  state *s = SCI_NEW(&cx->env.scratch, state);
  s->cx = cx;
  s->put = fn;
  s->user = user;
  const sci_order *orders = reach(s, f);
  put_number(s, s->n_functions);
  for (uint32_t i = 0; i < s->n_functions; i++) put_body(s, s->functions[i], orders[s->functions[i]->id]);
  flush(s);
}
