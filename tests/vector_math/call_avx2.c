/* Owns the calls of AVX2 routines; compiled for it. */
#include "tests/vector_math/call.h"

#if defined(__x86_64__)
CALLS(double, 4)
CALLS(float, 8)
#endif
