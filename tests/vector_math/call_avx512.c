/* Owns the calls of AVX-512 routines; compiled for it. */
#include "tests/vector_math/call.h"

#if defined(__x86_64__)
CALLS(double, 8)
CALLS(float, 16)
#endif
