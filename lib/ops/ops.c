/* Owns the tables' common columns and lookups by name. */
#include "lib/ops/ops.h"

#include <string.h>

#define CHEAP SCI_CHEAP
#define LIBM SCI_LIBM
#define COMM SCI_COMM
#define SMOOTH SCI_SMOOTH
#define PIECE SCI_PIECE
#define STEP SCI_STEP
#define PROGRAM SCI_PROGRAM

const sci_op_info sci_ops[SCI_OP_COUNT] = {
#define SCI_OP(name, arity, sig, traits, nan, ...) {#name, arity, SCI_SIG_##sig, traits, SCI_NAN_##nan},
#include "lib/ops/ops.def"
#undef SCI_OP
};

static const struct {
  const char *name;
  size_t size;
  bool is_float, is_int;
} dtypes[SC_DTYPE_COUNT] = {
#define SCI_DTYPE(id, name, type, bytes, flt, sint, suffix) [id] = {#name, bytes, flt, sint},
#include "lib/ops/dtypes.def"
#undef SCI_DTYPE
};

int sci_op_find(const char *name, size_t n) {
  for (int i = 0; i < SCI_OP_COUNT; i++)
    if (strlen(sci_ops[i].name) == n && !memcmp(sci_ops[i].name, name, n)) return i;
  return -1;
}

bool sci_dtype_find(const char *name, size_t n, sc_dtype *out) {
  for (int i = 0; i < SC_DTYPE_COUNT; i++) {
    if (strlen(dtypes[i].name) != n || memcmp(dtypes[i].name, name, n)) continue;
    *out = (sc_dtype)i;
    return true;
  }
  return false;
}

const char *sc_dtype_name(sc_dtype dtype) {
  return (unsigned)dtype < SC_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

size_t sc_dtype_size(sc_dtype dtype) {
  return (unsigned)dtype < SC_DTYPE_COUNT ? dtypes[dtype].size : 0;
}

bool sci_is_float(sc_dtype dtype) {
  return dtypes[dtype].is_float;
}

bool sci_is_int(sc_dtype dtype) {
  return dtypes[dtype].is_int;
}

bool sci_op_accepts(sci_op op, sc_dtype d) {
  switch ((sci_sig)sci_ops[op].sig) {
  case SCI_SIG_F:
  case SCI_SIG_FP: return sci_is_float(d);
  case SCI_SIG_A:
  case SCI_SIG_AP: return d != SC_BOOL;
  case SCI_SIG_B: return d == SC_BOOL;
  case SCI_SIG_EP:
  case SCI_SIG_SEL:
  case SCI_SIG_CAST: return true;
  }
  return false;
}

sc_dtype sci_op_result(sci_op op, sc_dtype d) {
  switch ((sci_sig)sci_ops[op].sig) {
  case SCI_SIG_AP:
  case SCI_SIG_EP:
  case SCI_SIG_FP: return SC_BOOL;
  case SCI_SIG_F:
  case SCI_SIG_A:
  case SCI_SIG_B:
  case SCI_SIG_SEL:
  case SCI_SIG_CAST: return d;
  }
  return d;
}
