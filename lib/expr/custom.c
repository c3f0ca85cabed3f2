/* Owns what makes a function's own derivative functions fit it. */
#include "lib/expr/expr.h"

uint32_t sci_tangent_inputs(const sc_function *f, uint32_t *index) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->n_in; i++)
    if (sci_type_of(f->cx, f->in[i].node)->diff) index[n++] = i;
  return n;
}

uint32_t sci_tangent_outputs(const sc_function *f, uint32_t *index) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->n_out; i++)
    if (sci_is_float((sc_dtype)sci_type_of(f->cx, f->out[i].node)->dtype)) index[n++] = i;
  return n;
}

/* A derivative function under examination. */
typedef struct candidate {
  const sc_function *f, *g; /* g: its jvp or vjp */
  const char *what;
} candidate;

static void check_count(const candidate *c, const char *ports, uint32_t have, uint32_t want, const char *meaning) {
  if (have == want) return;
  sci_fail(&c->f->cx->env, SC_ERR_ARGUMENT, "custom derivative of %s: the %s %s has %u %s, not %u (%s)", c->f->name,
           c->what, c->g->name, have, ports, want, meaning);
}

static void check_port(const candidate *c, const char *kind, const sci_formal *port, const char *meaning,
                       const sci_formal *like) {
  sc_context *cx = c->f->cx;
  const sci_type a = *sci_type_of(cx, port->node), b = *sci_type_of(cx, like->node);
  if (a.dtype == b.dtype && a.rank == b.rank && !memcmp(a.shape, b.shape, a.rank * sizeof *a.shape)) return;
  sci_fail(&cx->env, a.dtype == b.dtype ? SC_ERR_SHAPE : SC_ERR_DTYPE,
           "custom derivative of %s: %s %s of the %s %s is the %s %s, a %s of shape %s, but is a %s of shape %s",
           c->f->name, kind, port->name, c->what, c->g->name, meaning, like->name, sc_dtype_name((sc_dtype)b.dtype),
           sci_shape_text(cx, b.rank, b.shape), sc_dtype_name((sc_dtype)a.dtype), sci_shape_text(cx, a.rank, a.shape));
}

static void check_rule(const sc_function *f, const sc_function *g, bool forward) {
  if (!g) return;
  sc_context *cx = f->cx;
  candidate c = {f, g, forward ? "jvp" : "vjp"};
  if (g->cx != cx)
    sci_fail(&cx->env, SC_ERR_STALE, "custom derivative of %s: the %s belongs to another context", f->name, c.what);
  uint32_t *in = SCI_ARRAY(&cx->env.scratch, uint32_t, f->n_in), *out = SCI_ARRAY(&cx->env.scratch, uint32_t, f->n_out);
  uint32_t n_in = sci_tangent_inputs(f, in), n_out = sci_tangent_outputs(f, out);
  check_count(&c, "inputs", g->n_in, f->n_in + (forward ? n_in : n_out),
              forward ? "those of the function, then a tangent per differentiable input"
                      : "those of the function, then an adjoint per float output");
  check_count(&c, "outputs", g->n_out, forward ? n_out : n_in,
              forward ? "a tangent per float output" : "an adjoint per differentiable input");
  for (uint32_t i = 0; i < f->n_in; i++) check_port(&c, "input", &g->in[i], "input", &f->in[i]);
  for (uint32_t i = 0; i < n_in; i++)
    check_port(&c, forward ? "input" : "output", forward ? &g->in[f->n_in + i] : &g->out[i],
               forward ? "tangent of input" : "adjoint of input", &f->in[in[i]]);
  for (uint32_t i = 0; i < n_out; i++)
    check_port(&c, forward ? "output" : "input", forward ? &g->out[i] : &g->in[f->n_in + i],
               forward ? "tangent of output" : "adjoint of output", &f->out[out[i]]);
}

static void check_pattern(const sc_function *f, const sc_pattern *p) {
  sc_context *cx = f->cx;
  uint32_t *in = SCI_ARRAY(&cx->env.scratch, uint32_t, f->n_in), *out = SCI_ARRAY(&cx->env.scratch, uint32_t, f->n_out);
  uint32_t n_in = sci_tangent_inputs(f, in), n_out = sci_tangent_outputs(f, out);
  int64_t rows = 0, cols = 0;
  for (uint32_t i = 0; i < n_in; i++) cols += sci_type_of(cx, f->in[in[i]].node)->size;
  for (uint32_t i = 0; i < n_out; i++) rows += sci_type_of(cx, f->out[out[i]].node)->size;
  if (p->nrow != rows || p->ncol != cols)
    sci_fail(&cx->env, SC_ERR_SHAPE,
             "custom derivative of %s: the pattern is %lldx%lld, the Jacobian of its float outputs by its "
             "differentiable inputs %lldx%lld",
             f->name, (long long)p->nrow, (long long)p->ncol, (long long)rows, (long long)cols);
  if (!sci_pattern_fits(p))
    sci_fail(&cx->env, SC_ERR_INDEX, "custom derivative of %s: the pattern is not ordered, or leaves the matrix",
             f->name);
}

void sci_attach_derivative(sc_function *f, const sci_custom *custom) {
  if (!custom->jvp && !custom->vjp)
    sci_fail(&f->cx->env, SC_ERR_ARGUMENT, "custom derivative of %s: neither a jvp nor a vjp is given", f->name);
  check_rule(f, custom->jvp, true);
  check_rule(f, custom->vjp, false);
  if (custom->pattern) check_pattern(f, custom->pattern);
  f->custom = *custom;
  if (custom->pattern) f->custom.pattern = sci_copy_pattern(&f->arena, custom->pattern);
}

bool sci_is_custom(const sc_function *f) {
  return f->custom.jvp || f->custom.vjp;
}

/* What a rewritten version of f has of f, ports and body aside. */
void sci_inherit(sc_function *version, const sc_function *f) {
  version->set_hint = version->hint = f->hint;
  version->strict_nan = f->strict_nan;
  version->derived = f->derived;
  version->custom = f->custom;
  if (f->custom.pattern) version->custom.pattern = sci_copy_pattern(&version->arena, f->custom.pattern);
  for (uint32_t i = 0; i < f->n_out; i++)
    if (f->out[i].report) sci_function_report(version, i, f->out[i].report);
}
