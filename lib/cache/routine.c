/* Owns the routines that compiled code may call by name, and their addresses: the rows of ops.def that are calls, what
 * code generation makes of intrinsics where the processor has no instruction, vector routines of the libraries that
 * lib/target opens, and nothing else of this process. A name tells its library: those of vector functions have a prefix
 * that no other routine has. */
#define _GNU_SOURCE /* sincos */
#include <math.h>
#include <string.h>

#include "lib/cache/loader.h"
#include "lib/target/vector_math.h"

typedef void (*routine)(void);

/* AddressSanitizer's, where the process has it: checks of bytes that are about to be accessed. */
extern void __asan_loadN(uintptr_t address, size_t bytes) __attribute__((weak));
extern void __asan_storeN(uintptr_t address, size_t bytes) __attribute__((weak));

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
    L_CALL(sincos) L_CALL(fmod) L_CALL(floor) L_CALL(ceil) L_CALL(round) L_CALL(trunc){"memcpy", (routine)memcpy},
    {"memset", (routine)memset},
    {"memmove", (routine)memmove},
    {"__asan_loadN", (routine)__asan_loadN},
    {"__asan_storeN", (routine)__asan_storeN},
};

uintptr_t sci_routine(const char *name) {
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
    if (strcmp(routines[i].name, name) == 0) return (uintptr_t)routines[i].address;
  if (!strncmp(name, "_ZGV", 4)) return (uintptr_t)sci_vector_routine_address(SCI_VECTOR_GLIBC, name);
  if (!strncmp(name, "Sleef_", 6)) return (uintptr_t)sci_vector_routine_address(SCI_VECTOR_SLEEF, name);
  return 0;
}
