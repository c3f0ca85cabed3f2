/* Functions that are several operations: never a node's own, they are gone once they are built. */
#ifndef SCI_EXPR_COMPOSED_H
#define SCI_EXPR_COMPOSED_H

#include "lib/expr/build.h"

typedef enum sci_composition {
#define SCI_COMPOSED(name, arity) SCI_C_##name,
#include "lib/expr/composed.def"
#undef SCI_COMPOSED
  SCI_C_COUNT
} sci_composition;

typedef struct sci_composed {
  const char *name;
  int arity; /* at most SCI_COMPOSED_ARITY */
  sci_id (*build)(sc_context *cx, const sci_id *x);
} sci_composed;
enum { SCI_COMPOSED_ARITY = 3 };

extern const sci_composed sci_compositions[SCI_C_COUNT];

#endif
