/* Owns the calls of vector routines through their calling conventions. */
#include <string.h>

#include "lib/target/target.h"
#include "tests/vector_math/rig.h"

/* The vector types of one register, and the loops over them. `attr` lets the compiler use the registers, whatever it compiles for. */
#define CALLS(T, W, attr)                                                                                              \
  typedef T T##W __attribute__((vector_size(W * sizeof(T))));                                                          \
  typedef struct {                                                                                                     \
    T##W a, b;                                                                                                         \
  } T##W##_pair;                                                                                                       \
  attr static void unary_##T##W(void (*f)(void), size_t n, const void *x, void *out) {                                 \
    for (size_t i = 0; i < n; i += W) {                                                                                \
      T##W a, r;                                                                                                       \
      memcpy(&a, (const T *)x + i, sizeof a);                                                                          \
      r = ((T##W(*)(T##W))f)(a);                                                                                       \
      memcpy((T *)out + i, &r, sizeof r);                                                                              \
    }                                                                                                                  \
  }                                                                                                                    \
  attr static void binary_##T##W(void (*f)(void), size_t n, const void *x, const void *y, void *out) {                 \
    for (size_t i = 0; i < n; i += W) {                                                                                \
      T##W a, b, r;                                                                                                    \
      memcpy(&a, (const T *)x + i, sizeof a);                                                                          \
      memcpy(&b, (const T *)y + i, sizeof b);                                                                          \
      r = ((T##W(*)(T##W, T##W))f)(a, b);                                                                              \
      memcpy((T *)out + i, &r, sizeof r);                                                                              \
    }                                                                                                                  \
  }                                                                                                                    \
  attr static void pair_##T##W(void (*f)(void), size_t n, const void *x, void *out, void *out2) {                      \
    for (size_t i = 0; i < n; i += W) {                                                                                \
      T##W a;                                                                                                          \
      T##W##_pair r;                                                                                                   \
      memcpy(&a, (const T *)x + i, sizeof a);                                                                          \
      r = ((T##W##_pair(*)(T##W))f)(a);                                                                                \
      memcpy((T *)out + i, &r.a, sizeof r.a);                                                                          \
      memcpy((T *)out2 + i, &r.b, sizeof r.b);                                                                         \
    }                                                                                                                  \
  }

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
CALLS(double, 4, AVX2)
CALLS(float, 8, AVX2)
CALLS(double, 8, AVX512)
CALLS(float, 16, AVX512)
#endif
CALLS(double, 2, )
CALLS(float, 4, )

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
#define ROW(T, W, D) {W, D, unary_##T##W, binary_##T##W, pair_##T##W}
static const calls table[] = {
    ROW(double, 2, SC_FLOAT64), ROW(float, 4, SC_FLOAT32),
#if defined(__x86_64__)
    ROW(double, 4, SC_FLOAT64), ROW(float, 8, SC_FLOAT32), ROW(double, 8, SC_FLOAT64), ROW(float, 16, SC_FLOAT32),
#endif
};

void call_routine(const sci_vector_routine *r, void (*address)(void), sc_dtype dtype, int op, size_t n, const void *x, const void *y, void *out,
                  void *out2) {
  const calls *c = table;
  while (c->lanes != r->lanes || c->dtype != dtype) c++;
  if (op == SCI_VECTOR_SINCOS) c->pair(address, n, x, out, out2);
  else if (sci_ops[op].arity == 2) c->binary(address, n, x, y, out);
  else c->unary(address, n, x, out);
}
