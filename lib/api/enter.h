/* How a public function enters the library: a frame, and a mark to which a failure rolls the context back.
 *
 *   sci_call_frame e;
 *   if (!SCI_ENTER(cx, &e)) return NULL;
 *   ... may unwind ...
 *   sci_return(cx, &e); */
#ifndef SCI_API_ENTER_H
#define SCI_API_ENTER_H

#include "lib/expr/expr.h"

typedef struct sci_call_frame {
  sci_frame frame;
  sci_context_mark mark;
} sci_call_frame;

#define SCI_ENTER(cx, e)                                                                                               \
  ((e)->mark = sci_context_here(cx), SCI_TRY(&(cx)->env, &(e)->frame) || (sci_context_rollback((cx), (e)->mark), false))

static inline void sci_return(sc_context *cx, sci_call_frame *e) {
  sci_leave(&cx->env, &e->frame);
}

/* Nothing may be read from NULL: `what` says whose array is missing. */
static inline void sci_expect_array(sc_context *cx, const char *what, const void *array, size_t n) {
  if (n && !array) sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: %zu entries are to be read from NULL", what, n);
}

#endif
