/* Exported C modules: one source file and one header, depending on libm only. */
#ifndef SCALY_MODULE_H
#define SCALY_MODULE_H

#include "scaly/program.h"

SC_BEGIN_DECLS

typedef struct sc_module sc_module;

typedef enum sc_emit { SC_EMIT_LLVM = 0, SC_EMIT_ASM, SC_EMIT_OBJ, SC_EMIT_BITCODE } sc_emit;
typedef enum sc_lanes { SC_LANES_AUTO = 0, SC_LANES_1 = 1, SC_LANES_2 = 2, SC_LANES_4 = 4, SC_LANES_8 = 8 } sc_lanes;
typedef enum sc_lang { SC_LANG_C = 0, SC_LANG_CPP } sc_lang;
typedef enum sc_casadi { SC_CASADI_OFF = 0, SC_CASADI_ON, SC_CASADI_DERIVATIVES } sc_casadi;
typedef enum sc_dialect { SC_DIALECT_GNU = 0, SC_DIALECT_C } sc_dialect;

/* Zero-initialized: the documented defaults. */
typedef struct sc_c_options {
  const char *name; /* of the entry and files; NULL: the function's */
  const char *cpu;  /* target preset; NULL: "generic" */
  sc_lanes lanes;
  sc_dialect dialect;
  sc_rounding rounding;
  sc_lang lang;               /* of the header; the source is C either way, and compiles as C++ too */
  sc_vector_libm vector_libm; /* auto: none */
  double vector_accuracy;     /* ULP; 0: 4 */
  /* The queries and conventions of a loader of CasADi external functions: matrices column-major, a null input is zeros,
   * a null result is not written, every port float64 of rank 2 at most, sparse outputs csc, no typed buffers. With
   * derivatives, the file also has jac_F, fwd1_F and adj1_F, which a loader finds by name. Only for functions, not for
   * programs. */
  sc_casadi casadi;
  bool untyped;                  /* leave the typed buffers and the _call helper out of the header */
  const char *prefix;            /* for every external symbol and macro; NULL: none */
  const sc_lower_options *lower; /* passes, bisection, dumps; its target, rounding and vector math are ignored */
} sc_c_options;

SC_API sc_module *sc_render_c(const sc_function *f, const sc_c_options *options);
SC_API sc_module *sc_render_c_program(const sc_program *p, const sc_c_options *options);

/* Machine code instead of C: through the LLVM backend, for the target of `cpu` ("generic": the least this machine can
 * be), with its lanes or those of the options (a program keeps those of its own target). The module's source is an
 * object, assembly, LLVM text or bitcode (NAME.o, .s, .ll, .bc), the header the same as for C. No CasADi layer. NULL on
 * failure: SC_ERR_UNAVAILABLE without the plugin (looked for in plugin_dir, as sc_jit_options has it) or without the
 * target. */
SC_API sc_module *sc_render_llvm(const sc_function *f, const sc_c_options *options, sc_emit kind,
                                 const char *plugin_dir);
SC_API sc_module *sc_render_llvm_program(const sc_program *p, const sc_c_options *options, sc_emit kind,
                                         const char *plugin_dir);

SC_API const char *sc_module_name(const sc_module *m);
SC_API const char *sc_module_source(const sc_module *m);
SC_API size_t sc_module_source_size(const sc_module *m);      /* bytes; a zero behind them does not count */
SC_API const char *sc_module_source_name(const sc_module *m); /* NAME.c, or what it is */
SC_API const char *sc_module_header(const sc_module *m);
SC_API const char *sc_module_header_name(const sc_module *m); /* NAME.h, or NAME.hpp for C++ */
/* Writes source and header into an existing folder: to temporary names first, then renamed, so a failure leaves nothing
 * new. A file that holds the very text already is left alone. */
SC_API sc_status sc_module_write(sc_module *m, const char *folder);
/* Why the last write failed, or NULL: a module outlives its context, so it keeps its own message. */
SC_API const char *sc_module_error(const sc_module *m);
SC_API void sc_module_destroy(sc_module *m);

/* Checks an exported module on disk with libclang, spawning nothing: source and header without a diagnostic under the
 * recipe's flags, as C and as C++; the entry's signature, the buffers' types, sizes and offsets, the size of w and the
 * sparsity tables as the source declares them. Finds the header beside the source. SC_OK; SC_ERR_VERIFY with every
 * problem in the context's diagnostics; SC_ERR_IO; SC_ERR_UNAVAILABLE without the plugin, libscaly-clang (looked for in
 * plugin_dir, as sc_jit_options has it). `entries` (may be NULL) gets the number of entries checked. */
SC_API sc_status sc_check_module(sc_context *cx, const char *path, const char *plugin_dir, size_t *entries);

SC_END_DECLS

#endif
