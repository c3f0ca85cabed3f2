/* Owns the routines that compiled code may call by name, and their addresses: the rows of ops.def that are calls, what code generation
 * makes of intrinsics where the processor has no instruction, and nothing else of this process. */
#include <math.h>

#include "backends/llvm/llvm.h"

typedef void (*routine)(void);

#define L_CALL(r) {#r, (routine)r}, {#r "f", (routine)r##f},
#define L_BIN(...)
#define L_CMP(...)
#define L_INTR(...)
#define L_X
#define SCI_OP(name, arity, sig, traits, nan, fold, c, llvm, ...) llvm
static const struct {
  const char *name;
  routine address;
} routines[] = {
#include "lib/ops/ops.def"
#undef SCI_OP
    L_CALL(fmod) L_CALL(floor) L_CALL(ceil) L_CALL(round) L_CALL(trunc)
    {"memcpy", (routine)memcpy}, {"memset", (routine)memset}, {"memmove", (routine)memmove},
};

uintptr_t sci_llvm_symbol(const char *name) {
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
    if (strcmp(routines[i].name, name) == 0) return (uintptr_t)routines[i].address;
  sci_vector_routine r;
  sc_dtype dtype;
  int op;
  for (size_t i = 0; sci_vector_routine_at(i, &op, &dtype, &r); i++)
    if (strcmp(r.name, name) == 0) return (uintptr_t)sci_vector_routine_address((sci_vector_lib)r.lib, name);
  return 0;
}
