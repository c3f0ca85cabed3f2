/* A function's graph as a sequence of bytes that says everything about it and nothing about the context it is in. */
#ifndef SCI_EXPR_DIGEST_H
#define SCI_EXPR_DIGEST_H

#include "lib/expr/expr.h"

typedef void (*sci_digest_fn)(void *user, const void *data, size_t n);
/* Operations, types, attributes, constants, names, hints, patterns, and the same of every function called from it or
 * brought along as a derivative. Two functions give the same bytes exactly when they are the same but for the order in
 * which independent nodes were built. */
void sci_digest_graph(sc_context *cx, sc_function *f, sci_digest_fn put, void *user);

#endif
