/* The C compilers of this machine: where they are and what they call themselves. */
#ifndef SCALY_COMMAND_COMPILERS_H
#define SCALY_COMMAND_COMPILERS_H

#include <stddef.h>

typedef struct compiler {
  const char *way;         /* "gcc", "clang", "tcc", or "cc" for the one the environment names */
  const char *const *argv; /* how it is called, NULL-terminated */
  const char *path;        /* NULL: not found */
  const char *package;     /* of Debian; NULL: unknown */
} compiler;

enum { MAX_COMPILERS = 4 };
/* gcc, clang and tcc always; one more when SCALY_CC, else CC, names another. All memory from the pool. */
size_t find_compilers(compiler out[MAX_COMPILERS]);

/* The first line of what it prints for --version; NULL when it prints nothing. */
const char *compiler_version(const compiler *c);

/* A command line's words, NULL-terminated; NULL without any. */
const char *const *split_words(const char *text);

#endif
