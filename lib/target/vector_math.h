/* Vector math routines: which routine of which library computes an operation on a number of lanes, how far it may be
 * off, and what it needs. The facts are in vector_math.def; the answer depends on the arguments alone, never on the
 * machine that asks. */
#ifndef SCI_TARGET_VECTOR_MATH_H
#define SCI_TARGET_VECTOR_MATH_H

#include "lib/ops/ops.h"
#include "scaly/program.h"
#include "scaly/target.h"

typedef enum sci_vector_lib { SCI_VECTOR_GLIBC, SCI_VECTOR_SLEEF, SCI_VECTOR_LIBS } sci_vector_lib;

/* What a program may call: versions as 100 * major + minor, 0 for a library that it may not use. All zero: scalar calls
 * only. */
typedef struct sci_vector_math {
  int16_t glibc, sleef;
  double accuracy; /* largest error of a routine, ULP */
} sci_vector_math;

/* A sine and a cosine of one argument at once: numbered like an operation behind those of ops.def. Its routine returns
 * a struct of two vectors, the sine first; every other one takes and returns vectors. */
enum { SCI_VECTOR_SINCOS = SCI_OP_COUNT, SCI_VECTOR_OPS };

typedef struct sci_vector_routine {
  char name[40]; /* the symbol */
  uint8_t lib;   /* sci_vector_lib */
  uint8_t lanes; /* of one call: divides the lanes asked for */
  uint8_t isa;   /* sc_isa that it needs at least */
  int16_t since; /* version of the library that has it, as above */
  double ulp;    /* largest error over all arguments */
  double ns;     /* time per element, to compare routines of one width by */
} sci_vector_routine;

/* The fastest routine within `m` for `op` (sci_op, or SCI_VECTOR_SINCOS) on `lanes` elements of `dtype` that a
 * processor of `isa` runs; where there is none of that width the one of half, and so on: the caller makes lanes /
 * out->lanes calls. False: each lane calls scalar libm; for SCI_VECTOR_SINCOS: a sine and a cosine by themselves are as
 * fast, or all there is. */
bool sci_vector_routine_find(const sci_vector_math *m, sc_isa isa, int op, sc_dtype dtype, int lanes,
                             sci_vector_routine *out);

/* Every routine of the table, in its order, whatever the library, instruction set and error; false past the end. For
 * listing and tests. */
/* The first glibc with routines for an operation; 0: none has. */
int sci_vector_glibc_since(int op, sc_dtype dtype);
bool sci_vector_routine_at(size_t i, int *op, sc_dtype *dtype, sci_vector_routine *out);

/* The address of a routine of this process's own glibc or SLEEF, opened for the purpose and kept (RTLD_LOCAL; no other
 * library is searched); NULL without one. Safe from any thread. */
void (*sci_vector_routine_address(sci_vector_lib lib, const char *name))(void);
/* The version of a library that can be opened, as in sci_vector_math, and in words ("2.36"); 0 and NULL without it. */
int sci_vector_library(sci_vector_lib lib);
const char *sci_vector_library_version(sci_vector_lib lib);

/* What an option means: `auto` is what this host has for code that runs here (`native`), and nothing for any other. A
 * library that is asked for by name is assumed to be there; `accuracy` 0: 4 ULP. */
sci_vector_math sci_vector_math_choose(sc_vector_libm choice, double accuracy, bool native);

#endif
