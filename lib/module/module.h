/* What every backend needs to know about a module: names, the pointer ABI, workspace, status codes. Computed once from
 * a program. */
#ifndef SCI_MODULE_MODULE_H
#define SCI_MODULE_MODULE_H

#include "lib/module/names.h"
#include "lib/program/program.h"

/* The element type of the entry's pointers: float64 or float32 when all ports agree, else void. */
typedef enum sci_abi { SCI_ABI_F64, SCI_ABI_F32, SCI_ABI_VOID } sci_abi;

typedef struct sci_module_info {
  const char *entry;  /* external symbol: prefix + name */
  const char *prefix; /* "" without one. With one, static names begin with the entry, so that modules may be one
                         translation unit */
  sci_abi abi;
  size_t n_in, n_out;
  const char **port_names; /* inputs then outputs, as C identifiers, unique, clear of keywords and standard macros */
  const char *
      *port_symbols;       /* the same in external names: f_<name>; types, macros and tables of a port begin with it */
  const char **proc_names; /* per procedure: callees <name>_raw, unique; the entry's is `entry` */
  const char **buf_names;  /* per buffer of the store: parameters, locals and constant tables of this program; NULL
                              otherwise (aliases too) */
  const char **name_names; /* per scalar name of the store; NULL when unused */
  const char **var_names;  /* per loop variable; NULL when unused */
  uint32_t first_scope;    /* of its procedures' names */
  int64_t workspace_bytes; /* the entry's total */
  int64_t workspace_elements; /* SZ_W: in elements of the ABI's type (bytes for void) */
} sci_module_info;

/* In env's scratch arena. SC_ERR_NAME when the entry is a keyword or a C library function. `name` NULL: the program's.
 */
sci_module_info sci_module_info_make(sci_env *env, const sci_program *p, const char *name, const char *prefix);

/* The same for programs that share a file: names taken by the earlier ones stay taken. */
typedef struct sci_file_names {
  sci_namer namer;
  uint32_t scopes; /* numbers handed out to procedures */
} sci_file_names;
void sci_file_names_init(sci_file_names *n, sci_env *env); /* deferred: sci_file_names_free runs if the frame fails */
void sci_file_names_free(sci_file_names *n);
/* First for every program of the file: its external names, and `reserve` more of the form <entry>_<word>. `entry`: the
 * external symbol itself; NULL: prefix and name. Then for every program in the same order: the names within. */
sci_module_info sci_module_info_begin(sci_file_names *n, const sci_program *p, const char *name, const char *prefix,
                                      const char *entry, const char *const *reserve, size_t n_reserve);
void sci_module_info_finish(sci_file_names *n, const sci_program *p, sci_module_info *m);

/* Bytes of one element of the entry's pointers: 8, 4 or (void) 1. */
int64_t sci_abi_unit(sci_abi abi);

/* Of the layout's two tables, in stored order (FNV-1a over their values): what a header says is compared with. */
static inline uint32_t sci_digest_of(uint32_t digest, const int32_t *values, int64_t n) {
  for (int64_t i = 0; i < n; i++) digest = (digest ^ (uint32_t)values[i]) * 16777619u;
  return digest;
}
static inline uint32_t sci_pattern_digest(const sc_pattern *p) {
  int64_t n = p->layout == SC_CSC ? p->ncol + 1 : p->layout == SC_CSR ? p->nrow + 1 : p->nnz;
  return sci_digest_of(sci_digest_of(2166136261u, p->outer, n), p->inner, p->nnz);
}

/* Whether a recipe must keep compilers from replacing calls of this routine: gcc and clang turn some powers into other
 * routines with other roundings, always; the strict recipe keeps every call of the math library, known arguments
 * included. */
static inline bool sci_keeps_call(sci_op op, sc_rounding rounding) {
  return op == SCI_OP_pow || (rounding == SC_ROUNDING_STRICT && sci_ops[op].traits & SCI_LIBM);
}

/* The JIT's and the exporter's entry check the same things in the same order: arg and res, w when there is a workspace,
 * inputs, outputs that hold values. Status codes are SC_KERNEL_* of scaly/kernel.h. A callee gets the caller's w
 * advanced past the caller's own window, and NULL when it needs none. */

#endif
