/* What the checker reads from libclang's syntax trees. */
#ifndef SCI_BACKENDS_CLANG_TREE_H
#define SCI_BACKENDS_CLANG_TREE_H

#include <clang-c/Index.h>

#include "backends/clang/clang.h"

/* The values of a table. */
typedef struct sci_clang_numbers {
  int32_t *data;
  size_t n, room;
  bool failed;
} sci_clang_numbers;

/* Whether every function of that name (in the namespace `scope`, NULL: anywhere) makes its two lists of pointers from
 * its parameters in order, from the first to the last of n_ports. */
bool sci_clang_hands_over_in_order(CXTranslationUnit unit, const char *scope, const char *call, size_t n_ports);
/* Whether the variable's initial value refers to `of`. */
bool sci_clang_is_set_to(CXTranslationUnit unit, const char *variable, const char *of);
/* The queries of an entry with a CasADi layer, in the source's tree. `patterns`: its table of them. */
void sci_clang_check_casadi(const sci_clang_entry *e, CXTranslationUnit unit, const sci_clang_numbers *patterns,
                            void (*wrong)(void *, const char *), void *user);

#endif
