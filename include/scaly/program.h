/* A lowered function: procedures, loops and buffers. Made from a function, or parsed from text; read only as text. */
#ifndef SCALY_PROGRAM_H
#define SCALY_PROGRAM_H

#include "scaly/function.h"
#include "scaly/target.h"

SC_BEGIN_DECLS

typedef struct sc_program sc_program;

typedef enum sc_rounding { SC_ROUNDING_DEFAULT = 0, SC_ROUNDING_STRICT } sc_rounding;

/* Vector math libraries that lanes of a math function may call, subject to vector_accuracy: the largest error, in units
 * in the last place, that a routine may have over all its arguments. */
typedef enum sc_vector_libm {
  SC_VECTOR_LIBM_AUTO =
      0, /* code that runs here: of what this machine has, the fastest routine for each function; exported C: none */
  SC_VECTOR_LIBM_NONE,  /* each lane calls scalar libm */
  SC_VECTOR_LIBM_GLIBC, /* libmvec */
  SC_VECTOR_LIBM_SLEEF,
} sc_vector_libm;

/* Called with the program's text after a pass; `pass` is "lower" for the lowering itself. */
typedef void (*sc_dump_fn)(void *user, const char *pass, const char *text);

/* Zero-initialized: the documented defaults. */
typedef struct sc_lower_options {
  const sc_target *target; /* NULL: the host */
  sc_rounding rounding;
  sc_vector_libm vector_libm;
  double vector_accuracy; /* ULP; 0: 4 */
  bool verify_each;       /* run the program verifier after every pass, not only after lowering */
  const char *passes;     /* NULL: the pipeline; "-name,-name" switches passes off; "none": no passes at all */
  int64_t bisect;         /* n > 0: stop after the first n pass runs; 0: no limit; negative: no passes */
  const char *dump_after; /* a pass name, "lower" or "all"; NULL: none */
  sc_dump_fn dump;
  void *dump_user;
} sc_lower_options;

typedef struct sc_pass_report {
  const char *pass;
  int64_t changes; /* rewrites made */
  double ms;
} sc_pass_report;

/* Lowers f and runs the pipeline. NULL on failure. Destroy it before its context. */
SC_API sc_program *sc_lower(const sc_function *f, const sc_lower_options *options);
/* Parses program text (prog.module or a single prog.proc) and verifies it; runs no passes. */
SC_API sc_program *sc_parse_program(sc_context *cx, const char *text, size_t length, const char *file);
/* Runs the pipeline on a program; returns a new one. */
SC_API sc_program *sc_program_optimize(const sc_program *p, const sc_lower_options *options);
SC_API void sc_program_destroy(sc_program *p);
SC_API char *sc_print_program(const sc_program *p); /* free with sc_string_free(sc_program_context(p), ...) */
SC_API sc_context *sc_program_context(const sc_program *p);
SC_API sc_status sc_program_verify(const sc_program *p);

typedef struct sc_program_stats {
  int64_t operations; /* scalar operations executed by one call, loops counted by their trips; index arithmetic not
                         counted */
  int64_t statements, loops, procedures, math_calls;
  int64_t vector_loops; /* of the loops: those that run in lanes */
  int64_t loads, stores;
  int64_t workspace_bytes, stack_bytes, table_bytes;
} sc_program_stats;
SC_API sc_program_stats sc_program_statistics(const sc_program *p);
SC_API size_t sc_program_report_count(const sc_program *p);
SC_API sc_pass_report sc_program_report(const sc_program *p, size_t i);

SC_END_DECLS

#endif
