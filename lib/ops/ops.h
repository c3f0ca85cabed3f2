/* Scalar operations and data types: the tables' common columns, and evaluation for folding and oracles. */
#ifndef SCI_OPS_OPS_H
#define SCI_OPS_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "scaly/base.h"

typedef enum sci_op {
#define SCI_OP(name, ...) SCI_OP_##name,
#include "lib/ops/ops.def"
#undef SCI_OP
} sci_op;

enum {
#define SCI_OP(...) +1
  SCI_OP_COUNT = 0
#include "lib/ops/ops.def"
#undef SCI_OP
};

typedef enum sci_trait {
  SCI_CHEAP = 1,
  SCI_LIBM = 2,
  SCI_COMM = 4,
  SCI_SMOOTH = 8,
  SCI_PIECE = 16,
  SCI_STEP = 32,
  SCI_PROGRAM = 64, /* not an operation of the expression dialect */
} sci_trait;

typedef enum sci_sig {
  SCI_SIG_F,
  SCI_SIG_A,
  SCI_SIG_AP,
  SCI_SIG_EP,
  SCI_SIG_FP,
  SCI_SIG_B,
  SCI_SIG_SEL,
  SCI_SIG_CAST
} sci_sig;
typedef enum sci_nan_rule { SCI_NAN_PROP, SCI_NAN_SOME, SCI_NAN_NEVER } sci_nan_rule;

typedef struct sci_op_info {
  const char *name;
  uint8_t arity;
  uint8_t sig;
  uint8_t traits;
  uint8_t nan;
} sci_op_info;

extern const sci_op_info sci_ops[SCI_OP_COUNT];

int sci_op_find(const char *name, size_t n); /* -1: none */

/* One scalar of any dtype. */
typedef union sci_scalar {
  double f64;
  float f32;
  int64_t i64;
  int32_t i32;
  uint8_t b8;
  uint64_t bits;
} sci_scalar;

/* The bits that identify a value: zero-extended, floats' NaNs canonical (quiet, positive), -0.0 distinct from 0.0,
 * bools 0 or 1. */
uint64_t sci_scalar_bits(sc_dtype dtype, sci_scalar v);
sci_scalar sci_scalar_from_bits(sc_dtype dtype, uint64_t bits);
sci_scalar sci_scalar_load(sc_dtype dtype, const void *data, size_t i); /* element i of an array */
void sci_scalar_store(sc_dtype dtype, void *data, size_t i, sci_scalar v);
sci_scalar sci_scalar_number(sc_dtype dtype, double v); /* converted as cast does */
double sci_scalar_double(sc_dtype dtype, sci_scalar v);
bool sci_scalar_is(sc_dtype dtype, sci_scalar v, double number); /* equal in value, and in sign of zero */

bool sci_is_float(sc_dtype dtype);
bool sci_is_int(sc_dtype dtype);
bool sci_dtype_find(const char *name, size_t n, sc_dtype *out);

/* Whether the operation takes operands of this dtype (select: its branches; cast: any). */
bool sci_op_accepts(sci_op op, sc_dtype dtype);
/* The result's dtype for operand dtype `dtype` (cast excluded). */
sc_dtype sci_op_result(sci_op op, sc_dtype dtype);

/* Evaluates with operand dtype `dtype`; for cast, `to` is the result's dtype (ignored otherwise); for select, args[0]
 * is the bool. NaNs come out canonical. */
sci_scalar sci_op_eval(sci_op op, sc_dtype dtype, sc_dtype to, const sci_scalar *args);

#endif
