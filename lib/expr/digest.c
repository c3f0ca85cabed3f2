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

/* An input's number and a callee's id are the context's own business. */
static void put_attr(state *s, const sci_node *n) {
  if (!sci_attr_is_blob(n->op)) {
    put_number(s, n->attr);
    return;
  }
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

static void put_node(state *s, const sci_order *order, sci_id id) {
  const sci_node *n = sci_node_at(s->cx, id);
  const sci_type *t = &s->cx->types[n->type];
  const uint32_t head[] = {n->op, n->hint, n->n_args, (uint32_t)t->dtype | (uint32_t)t->diff << 8 | (uint32_t)t->rank << 16};
  put(s, head, sizeof head);
  put(s, t->shape, t->rank * sizeof *t->shape);
  const sci_id *args = sci_args(s->cx, n);
  for (uint32_t i = 0; i < n->n_args; i++) {
    uint32_t number = sci_number(order, args[i]);
    put(s, &number, sizeof number);
  }
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

static void put_body(state *s, const sc_function *f) {
  sci_order order = sci_reach_function(s->cx, f);
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

void sci_digest_graph(sc_context *cx, sc_function *f, sci_digest_fn fn, void *user) {
  state *s = SCI_NEW(&cx->env.scratch, state);
  s->cx = cx;
  s->put = fn;
  s->user = user;
  s->n_functions = sci_callees(cx, f, true, &s->functions);
  put_number(s, s->n_functions);
  for (uint32_t i = 0; i < s->n_functions; i++) put_body(s, s->functions[i]);
  flush(s);
}
