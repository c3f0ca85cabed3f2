/* What a command works on: FILE[:FUNCTION] read, parsed, reduced to the outputs asked for, and compiled. */
#ifndef SCALY_COMMAND_MODEL_H
#define SCALY_COMMAND_MODEL_H

#include "scaly/scaly.h"
#include "tools/scaly/options.h"

typedef struct model {
  sc_context *cx;
  sc_function *function; /* NULL when the file holds program text */
  sc_program *program;   /* NULL when the file holds expression text */
  const char *file;
  sc_request *requests; /* model_open_underived: what --out lists, not derived yet */
  size_t n_requests;
} model;

/* Reads FILE[:FUNCTION] and applies every --out. On failure complains, leaves nothing to close and returns the exit
 * code. */
int model_open(model *m, const arguments *args);
/* The same, but what --out lists is only read: model_jit has it derived, unless the cache has its code. */
int model_open_underived(model *m, const arguments *args);
void model_close(model *m);

/* A path with the name of the function after its last colon, unless a file of the whole name exists. */
typedef struct model_path {
  const char *file, *function; /* function NULL: not given */
} model_path;
model_path model_split_path(const char *operand);

/* Whether a text is of the program dialect: its first word starts with "prog.". */
bool model_is_program(const char *text, size_t size);

/* Options that lowering takes from the command line and the environment (SCALY_TARGET). False after a complaint;
 * `*target` backs them. */
bool model_lower_options(const arguments *args, sc_lower_options *out, sc_target *target);

/* --vector-libm and --vector-accuracy. False after a complaint. */
bool model_vector_options(const arguments *args, sc_vector_libm *libm, double *accuracy);

/* The optimized program of the model (a new one, or a pass over program text). NULL after a complaint through the
 * context. */
sc_program *model_lower(const model *m, const sc_lower_options *options);
/* `jit` says all but lowering and requests; NULL: defaults. */
sc_kernel *model_jit(const model *m, const sc_lower_options *options, const sc_jit_options *jit);

/* Options shared by every command that works on a model. */
#define MODEL_OUT_OPTION                                                                                               \
  {                                                                                                                    \
    "out", 0, "REQUEST",                                                                                               \
        "What to compute; may be repeated. An output's name, or a derivative: fwd, adj, grad, jac,\n"                  \
        "hess, spjac, sphess (as KIND:OUTPUT:INPUT), laghess:INPUT, splaghess:INPUT; sparse\n"                         \
        "Hessians may end in :lower or :upper, sparse ones in :csc (default), :csr or :coo.\n"                         \
        "Default: every output."                                                                                       \
  }

#define VECTOR_LIBM_OPTION(auto_means)                                                                                 \
  {                                                                                                                    \
    "vector-libm", 0, "LIB",                                                                                           \
        "Vector math library for math functions in lanes: none, glibc (libmvec), sleef, or auto\n"                     \
        "(default): " auto_means "."                                                                                   \
  }
#define VECTOR_ACCURACY_OPTION                                                                                         \
  { "vector-accuracy", 0, "ULP", "Largest error of such a routine, in units in the last place. Default: 4." }
/* For commands whose code runs here. */
#define MODEL_VECTOR_OPTIONS                                                                                           \
  VECTOR_LIBM_OPTION("of those installed, the fastest for each function"), VECTOR_ACCURACY_OPTION

#endif
