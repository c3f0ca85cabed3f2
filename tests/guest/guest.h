/* What the programs of this folder share: checks that end the process, functions to compile, and kernels with their
 * buffers. */
#ifndef TESTS_GUEST_GUEST_H
#define TESTS_GUEST_GUEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"

#define CHECK(condition, ...)                                                                                          \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                                  \
      fprintf(stderr, __VA_ARGS__);                                                                                    \
      fputc('\n', stderr);                                                                                             \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
#define CHECK_OK(cx, condition)                                                                                        \
  CHECK(condition, "%s", sc_context_error(cx) ? sc_context_error(cx)->message : "no diagnostic")

enum { GUEST_FUNCTIONS = 8 };
/* Function i of a context that is made for it: scalars, loops, tables, callees, float32, special values, thousands of
 * operations. */
sc_function *guest_function(sc_context *cx, int i);

bool is_mapped(const char *name); /* a file of that name in this process */
/* Whether a child process ends well; it begins without LLVM and without kernels to share unless its parent has some. */
void in_child(void (*what)(void *), void *arg);

/* Buffers for one call: inputs filled reproducibly from `seed`, special values among them when it is odd. */
typedef struct buffers {
  void **in, **out;
  size_t n_in, n_out;
  size_t *out_bytes;
} buffers;
buffers buffers_make(const sc_kernel *k, unsigned seed);
void buffers_clear(buffers *b); /* the outputs */
bool buffers_equal(const sc_kernel *k, const buffers *a,
                   const buffers *b); /* the outputs, bit by bit; any NaN is a NaN */
void buffers_free(buffers *b);
void call(sc_kernel *k, buffers *b);

#endif
