/* Owns the public derivative requests (scaly/derive.h). */
#include "lib/ad/derive.h"
#include "lib/api/enter.h"

sc_status sc_request_parse(sc_context *cx, const char *text, sc_request *out) {
  sci_call_frame e;
  if (!cx || !text || !out) return SC_ERR_ARGUMENT;
  if (!SCI_ENTER(cx, &e)) return SC_ERR_PARSE;
  *out = sci_request_parse(cx, text);
  sci_return(cx, &e);
  return SC_OK;
}

sc_function *sc_function_derive(sc_function *f, const char *name, const sc_request *requests, size_t n,
                                const sc_options *options) {
  sci_call_frame e;
  if (!f || !SCI_ENTER(f->cx, &e)) return NULL;
  sci_expect_array(f->cx, "derive: requests", requests, n);
  sc_function *g = sci_derive(f->cx, f, name, requests, n, options);
  sci_return(f->cx, &e);
  return g;
}

sc_function *sc_gradient(sc_function *f, const char *of, const char *wrt, const sc_options *options) {
  return sc_function_derive(f, NULL, &SC_GRAD(of, wrt), 1, options);
}

sc_function *sc_jacobian(sc_function *f, const char *of, const char *wrt, const sc_options *options) {
  return sc_function_derive(f, NULL, &SC_JAC(of, wrt), 1, options);
}

sc_function *sc_hessian(sc_function *f, const char *of, const char *wrt, const sc_options *options) {
  return sc_function_derive(f, NULL, &SC_HESS(of, wrt), 1, options);
}

static sc_function *with_derivative(sc_function *f, const sci_custom *custom) {
  sc_context *cx = f->cx;
  sci_arena *scratch = &cx->env.scratch;
  sc_named *in = SCI_ARRAY(scratch, sc_named, f->n_in), *out = SCI_ARRAY(scratch, sc_named, f->n_out);
  for (uint32_t i = 0; i < f->n_in; i++) in[i] = (sc_named){f->in[i].name, sci_wrap(cx, f->in[i].node), NULL};
  for (uint32_t i = 0; i < f->n_out; i++)
    out[i] = (sc_named){f->out[i].name, sci_wrap(cx, f->out[i].node), f->out[i].pattern};
  sc_function *g = sci_make_function(cx, f->name, in, f->n_in, out, f->n_out);
  sci_inherit(g, f);
  sci_attach_derivative(g, custom);
  return g;
}

sc_function *sc_custom_derivative(sc_function *f, sc_function *jvp, sc_function *vjp, const sc_pattern *pattern) {
  sci_call_frame e;
  if (!f || !SCI_ENTER(f->cx, &e)) return NULL;
  sc_function *g = with_derivative(f, &(sci_custom){jvp, vjp, pattern});
  sci_return(f->cx, &e);
  return g;
}

sc_function *sc_function_jvp(const sc_function *f) {
  return f ? f->custom.jvp : NULL;
}

sc_function *sc_function_vjp(const sc_function *f) {
  return f ? f->custom.vjp : NULL;
}
