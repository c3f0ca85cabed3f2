/* Derivative requests: from names to one function. */
#ifndef SCI_AD_DERIVE_H
#define SCI_AD_DERIVE_H

#include "lib/ad/jacobian.h"

/* `name` NULL: the default of scaly/derive.h. Unwinds on failure. */
sc_function *sci_derive(sc_context *cx, sc_function *f, const char *name, const sc_request *requests, size_t n,
                        const sc_options *options);
/* "grad_f_x" and so on, in the scratch arena. */
const char *sci_request_name(sc_context *cx, const sc_request *r);
/* Strings in the context's arena. */
sc_request sci_request_parse(sc_context *cx, const char *text);

#endif
