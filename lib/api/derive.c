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

sc_function *sc_function_derive(sc_function *f, const char *name, const sc_request *requests, size_t n, const sc_options *options) {
  sci_call_frame e;
  if (!f || !SCI_ENTER(f->cx, &e)) return NULL;
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
