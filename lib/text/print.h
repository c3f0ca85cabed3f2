/* What both printers share: names, strings, numbers and types. */
#ifndef SCI_TEXT_PRINT_H
#define SCI_TEXT_PRINT_H

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/ops/ops.h"
#include "scaly/function.h"

/* A name behind its sigil: %x, @f; quoted unless it is an identifier: %"lam:y". */
void sci_put_name(sci_text *out, char sigil, const char *name);
/* A value without a name of its own: %12. */
void sci_put_number_name(sci_text *out, char sigil, uint32_t number);
/* In double quotes, with \" \\ and \xNN for what is not printable ASCII. */
void sci_put_string(sci_text *out, const char *s);
void sci_put_scalar(sci_text *out, sc_dtype dtype, sci_scalar v);
/* "3x4xfloat64", "float64" for rank 0. */
void sci_put_dims(sci_text *out, sc_dtype dtype, int rank, const int64_t *shape);
void sci_put_ints(sci_text *out, size_t n, const int64_t *v); /* [1, 2] */
void sci_put_ints32(sci_text *out, size_t n, const int32_t *v);
/* "sparse<3x4xfloat64 csc colptr=[..] rowind=[..]>" */
void sci_put_sparse(sci_text *out, sc_dtype dtype, const sc_pattern *p);
/* Opens an attribute list or continues it: "{" or ", ", then the name and "=". */
void sci_put_key(sci_text *out, bool *open, const char *key);

/* Hands out names that no other got: the wish itself, else wish_1, wish_2, ... In the scratch arena; the index of names
 * is on the cleanup list until sci_unique_end. */
typedef struct sci_unique {
  sci_env *env;
  sci_index index;
  SCI_VEC(struct sci_unique_entry) entries;
} sci_unique;
struct sci_unique_entry {
  const char *name;
  uint32_t next; /* suffix to try next */
};
sci_unique *sci_unique_begin(sci_env *env);
void sci_unique_end(sci_unique *u);
const char *sci_unique_name(sci_unique *u, const char *wish);

#endif
