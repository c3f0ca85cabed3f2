/* Calls of vector routines, a file per instruction set: how a compiler passes vectors is decided by what the whole file
 * is compiled for. */
#ifndef SCALY_TESTS_VECTOR_CALL_H
#define SCALY_TESTS_VECTOR_CALL_H

#include <string.h>

#define CALLS_DECLARED(T, W)                                                                                           \
  void unary_##T##W(void (*f)(void), size_t n, const void *x, void *out);                                              \
  void binary_##T##W(void (*f)(void), size_t n, const void *x, const void *y, void *out);                              \
  void pair_##T##W(void (*f)(void), size_t n, const void *x, void *out, void *out2)

CALLS_DECLARED(double, 2);
CALLS_DECLARED(float, 4);
CALLS_DECLARED(double, 4);
CALLS_DECLARED(float, 8);
CALLS_DECLARED(double, 8);
CALLS_DECLARED(float, 16);

/* The vector types of one register, and the loops over them. */
#define CALLS(T, W)                                                                                                    \
  typedef T T##W __attribute__((vector_size(W * sizeof(T))));                                                          \
  typedef struct {                                                                                                     \
    T##W a, b;                                                                                                         \
  } T##W##_pair;                                                                                                       \
  void unary_##T##W(void (*f)(void), size_t n, const void *x, void *out) {                                             \
    for (size_t i = 0; i < n; i += W) {                                                                                \
      T##W a, r;                                                                                                       \
      memcpy(&a, (const T *)x + i, sizeof a);                                                                          \
      r = ((T##W(*)(T##W))f)(a);                                                                                       \
      memcpy((T *)out + i, &r, sizeof r);                                                                              \
    }                                                                                                                  \
  }                                                                                                                    \
  void binary_##T##W(void (*f)(void), size_t n, const void *x, const void *y, void *out) {                             \
    for (size_t i = 0; i < n; i += W) {                                                                                \
      T##W a, b, r;                                                                                                    \
      memcpy(&a, (const T *)x + i, sizeof a);                                                                          \
      memcpy(&b, (const T *)y + i, sizeof b);                                                                          \
      r = ((T##W(*)(T##W, T##W))f)(a, b);                                                                              \
      memcpy((T *)out + i, &r, sizeof r);                                                                              \
    }                                                                                                                  \
  }                                                                                                                    \
  void pair_##T##W(void (*f)(void), size_t n, const void *x, void *out, void *out2) {                                  \
    for (size_t i = 0; i < n; i += W) {                                                                                \
      T##W a;                                                                                                          \
      T##W##_pair r;                                                                                                   \
      memcpy(&a, (const T *)x + i, sizeof a);                                                                          \
      r = ((T##W##_pair(*)(T##W))f)(a);                                                                                \
      memcpy((T *)out + i, &r.a, sizeof r.a);                                                                          \
      memcpy((T *)out2 + i, &r.b, sizeof r.b);                                                                         \
    }                                                                                                                  \
  }

#endif
