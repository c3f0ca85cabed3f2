/* Owns the calls of vector routines through their calling conventions. */
#include "tests/vector_math/call.h"
#include "lib/target/target.h"
#include "tests/vector_math/rig.h"

CALLS(double, 2)
CALLS(float, 4)

bool can_run(const sci_vector_routine *r) {
  return sci_isa_runs(sci_target_host()->isa, (sc_isa)r->isa);
}

typedef void (*unary_fn)(void (*)(void), size_t, const void *, void *);
typedef void (*binary_fn)(void (*)(void), size_t, const void *, const void *, void *);
typedef void (*both_fn)(void (*)(void), size_t, const void *, void *, void *);
typedef struct calls {
  int lanes;
  sc_dtype dtype;
  unary_fn unary;
  binary_fn binary;
  both_fn pair;
} calls;
#define ROW(T, W, D)                                                                                                   \
  { W, D, unary_##T##W, binary_##T##W, pair_##T##W }
static const calls table[] = {
    ROW(double, 2, SC_FLOAT64), ROW(float, 4, SC_FLOAT32),
#if defined(__x86_64__)
    ROW(double, 4, SC_FLOAT64), ROW(float, 8, SC_FLOAT32), ROW(double, 8, SC_FLOAT64), ROW(float, 16, SC_FLOAT32),
#endif
};

void call_routine(const sci_vector_routine *r, void (*address)(void), sc_dtype dtype, int op, size_t n, const void *x,
                  const void *y, void *out, void *out2) {
  const calls *c = table;
  while (c->lanes != r->lanes || c->dtype != dtype) c++;
  if (op == SCI_VECTOR_SINCOS)
    c->pair(address, n, x, out, out2);
  else if (sci_ops[op].arity == 2)
    c->binary(address, n, x, y, out);
  else
    c->unary(address, n, x, out);
}
