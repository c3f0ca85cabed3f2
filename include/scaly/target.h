/* Processors: what lowering and the backends know about the machine that will run the code. */
#ifndef SCALY_TARGET_H
#define SCALY_TARGET_H

#include <stdbool.h>

#include "scaly/base.h"

SC_BEGIN_DECLS

typedef enum sc_isa {
  SC_ISA_GENERIC = 0, /* any C compiler's default */
  SC_ISA_X86_64,      /* SSE2 */
  SC_ISA_X86_64_V3,   /* AVX2, FMA */
  SC_ISA_X86_64_V4,   /* AVX-512 F, CD, BW, DQ, VL */
  SC_ISA_ARMV8_A,     /* NEON */
  SC_ISA_ARMV7E_M,    /* Cortex-M7, double-precision FPU, no vectors */
} sc_isa;

/* All counts are per core; sizes in bytes; latency in cycles. */
typedef struct sc_target {
  char name[32]; /* preset name, "native" for the probed host */
  sc_isa isa;
  int lanes; /* float64 lanes of the widest vector: 1, 2, 4, 8 */
  int vector_registers;
  int fma_units; /* vector multiply-add units */
  int fma_latency;
  bool fast_fma; /* a fused multiply-add instruction exists */
  bool gathers_pay;
  int l1_bytes, l2_bytes;
  char gcc_flags[96], clang_flags[96]; /* "-march=..." and so on; "" for generic */
  char features[512];                  /* native: LLVM feature string of the probed host ("+avx2,-avx512f,...") */
} sc_target;

/* SC_ERR_NAME for an unknown preset. "native" probes the processor that runs: cpuid together with the
 * operating system's register-state support (Intel SDM vol. 1, 13.3), never the model name alone. */
SC_API sc_status sc_target_preset(const char *name, sc_target *out);
SC_API size_t sc_target_preset_count(void);
SC_API const char *sc_target_preset_name(size_t i);

/* One routine of a vector math library, as code for some processor may call it. */
typedef struct sc_vector_routine {
  char name[40];       /* the symbol */
  const char *op;      /* the scalar operation, or "sincos" */
  const char *library; /* "glibc" (libmvec) or "sleef" */
  sc_dtype dtype;
  int lanes;      /* elements per call */
  sc_isa isa;     /* instruction set needed */
  double max_ulp; /* largest error over all arguments, in units in the last place of the exact result */
  bool installed; /* this process can open the library, and it has the routine */
  bool runs;      /* on this machine */
} sc_vector_routine;

/* The library's table of vector math routines, row by row; false past its end. Opens the libraries. */
SC_API bool sc_vector_routine_at(size_t i, sc_vector_routine *out);
/* The version of a vector math library ("glibc", "sleef") that this process can open, or NULL. */
SC_API const char *sc_vector_library_version(const char *library);

SC_END_DECLS

#endif
