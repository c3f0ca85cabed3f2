/* What the parts of the checker share: what a module declares, texts that grow, and reporting. */
#ifndef SCI_BACKENDS_CLANG_CLANG_H
#define SCI_BACKENDS_CLANG_CLANG_H

#include <stdbool.h>

#include "lib/module/check.h"

/* ---- texts ---- */

typedef struct sci_clang_text {
  char *data; /* NULL: nothing yet, or out of memory */
  size_t n, room;
  bool failed;
} sci_clang_text;

void sci_clang_put(sci_clang_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sci_clang_text_free(sci_clang_text *t);

/* ---- what the source declares (contract.c) ---- */

typedef struct sci_clang_port {
  char name[128];
  const char *type; /* of an element, in C */
  bool is_output;
  int rank;
  long long shape[8], count;
  char layout[4]; /* "": dense */
  long long nrow, ncol;
  uint32_t digest;
} sci_clang_port;

typedef struct sci_clang_entry {
  char name[256];
  bool casadi;
  int line;            /* of the comment */
  long long workspace; /* elements, or bytes of a void interface */
  size_t n, room;
  sci_clang_port *ports; /* inputs, then outputs */
} sci_clang_entry;

typedef struct sci_clang_module {
  size_t n, room;
  sci_clang_entry *entries;
  char flags[1024]; /* of the recipe's clang command */
  char standard[8]; /* c11; c99 for the dialect c */
} sci_clang_module;

bool sci_clang_read_contracts(const char *source, sci_clang_module *m); /* false: out of memory */
void sci_clang_module_free(sci_clang_module *m);
const char *sci_clang_pointer_type(const sci_clang_entry *e); /* "double", "float" or "void" */

/* ---- assertions that a compiler checks (probe.c) ---- */

/* A source that includes the header and asserts what the entries declare; `typed`: with buffers and the call. */
void sci_clang_put_c_probe(sci_clang_text *out, const sci_clang_module *m, const char *header, bool typed);
void sci_clang_put_cpp_probe(sci_clang_text *out, const sci_clang_module *m, const char *header, bool typed);

#endif
