/* Names of a generated file: words to stay clear of, and making names unique within a procedure. */
#ifndef SCI_MODULE_NAMES_H
#define SCI_MODULE_NAMES_H

#include "lib/base/hash.h"

/* Keywords of C and C++, macros and types of standard headers, the implementation's own names, and what a generated
 * file uses itself. */
bool sci_name_is_word(const char *name);
/* Functions that a C library defines. */
bool sci_name_is_library(const char *name);
bool sci_name_is_identifier(const char *name); /* ASCII letters, digits, underscores; no digit first */

/* Scopes: a procedure's number from 1 on, or the whole file, whose names no procedure may hide. */
#define SCI_SCOPE_NONE 0u
#define SCI_SCOPE_RELEASED (UINT32_MAX - 1) /* free, but for the file */
#define SCI_SCOPE_FILE UINT32_MAX

/* A name handed out, with the last scope that took it. Names of different procedures may be equal. */
typedef struct sci_taken {
  const char *name;
  uint32_t scope;
  uint32_t counting, next; /* the last number tried behind this stem, and in which scope */
} sci_taken;

typedef struct sci_namer {
  sci_env *env;
  sci_index index;
  SCI_VEC(sci_taken) taken;
} sci_namer;

void sci_namer_init(sci_namer *n, sci_env *env); /* deferred: sci_namer_free runs if the frame fails */
void sci_namer_free(sci_namer *n);
/* `stem` made an identifier and clear of words; a taken one is numbered: x, x_1, x_2. */
const char *sci_claim(sci_namer *n, uint32_t scope, const char *stem);
/* The same for a name of the model, which is public: a trailing underscore instead of a number. */
const char *sci_claim_public(sci_namer *n, uint32_t scope, const char *name);
/* Takes `name` itself when nothing has it in that scope. */
bool sci_claim_exactly(sci_namer *n, uint32_t scope, const char *name);
/* Gives a name of that scope back: the loop whose variable it was has ended. */
void sci_release_name(sci_namer *n, uint32_t scope, const char *name);

#endif
