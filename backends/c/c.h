/* What the files of the C renderer share. */
#ifndef SCI_BACKENDS_C_C_H
#define SCI_BACKENDS_C_C_H

#include "lib/base/text.h"
#include "lib/module/backend.h"
#include "lib/program/lanes.h"

/* ---- what the finished text turns out to need ---- */

typedef enum c_lane_helper {
  C_LANE_LOAD,
  C_LANE_STORE,
  C_LANE_LOAD_STRIDED,
  C_LANE_STORE_STRIDED,
  C_LANE_LOAD_PART,
  C_LANE_STORE_PART,
  C_LANE_LOAD_BLOCK,
  C_LANE_STORE_BLOCK,
  C_LANE_SPLAT,
  C_LANE_SELECT,
  C_LANE_HELPERS
} c_lane_helper;

/* One type of vectors. */
typedef struct c_lane_type {
  bool used;
  bool helper[C_LANE_HELPERS];
  bool op[SCI_OP_COUNT];
} c_lane_type;

typedef struct c_needs {
  c_lane_type lanes[SC_FLOAT32 + 1][5]; /* by dtype and the binary logarithm of the number of lanes */
  bool helper[SCI_OP_COUNT][SC_DTYPE_COUNT]; /* by operand dtype */
  bool cast[SC_DTYPE_COUNT][SC_DTYPE_COUNT]; /* from, to */
  bool called[SCI_OP_COUNT];                 /* math routines */
  bool fma[SC_DTYPE_COUNT];
  bool restrict_;                            /* the macro for it */
  bool math; /* anything of math.h */
} c_needs;

/* A piece of an expression: text, or a value printed so that it binds at least as tightly as `least`. */
typedef struct c_item {
  const char *text; /* NULL: the value */
  sci_val v;
  uint8_t least, is_index;
} c_item;

/* ---- what is known of one procedure before it is printed (analyze.c) ---- */

enum {
  C_DEAD = 1,    /* not printed: nothing uses what it defines */
  C_INLINED = 2, /* a load, printed where its one use is */
  C_SHARES = 4,  /* holds operations that several of its own parts use */
};

/* A statement's block and its place, counted from the end of the procedure. */
typedef struct c_place {
  uint32_t block, at;
} c_place;

typedef struct c_name_use {
  uint32_t proc; /* the procedure, plus one, that the rest is about */
  uint32_t uses; /* occurrences in the text */
  c_place last;  /* of the statement that has the last one counted */
  const sci_stmt *load; /* inlined: the load to print instead */
} c_name_use;

typedef struct c_buf_use {
  uint32_t read, written; /* the procedure, plus one, in which it is */
  uint32_t write_at;      /* the place of the write that follows next */
} c_buf_use;

/* One entry of the file: a program, its names, and what CasADi's conventions add to it. */
typedef struct c_unit {
  const sci_program *p;
  sci_module_info m;
  int64_t skipped_at; /* CasADi: elements of w in front of the room for results that the caller does not want */
} c_unit;

/* The loop in lanes that is being printed. */
typedef struct c_lanes {
  const sci_loop *loop; /* NULL: none */
  sci_lane_facts facts;
  c_lane_type *type;
  char suffix[24]; /* f64x4 */
  char count[32];  /* how many lanes: a number, or a macro */
  int lanes;       /* 0: the preprocessor decides */
  bool partial;    /* the last chunk has fewer iterations than lanes */
  uint32_t *block_of, *place_in; /* per name: the array it was loaded into, plus one, and where */
  uint32_t n_blocks;             /* arrays in the procedure */
} c_lanes;

typedef struct c_render {
  sci_env *env;
  c_unit *units;
  size_t n_units;
  /* the current unit's */
  const sci_program *p;
  const sci_store *s;
  const sci_module_info *m;
  int64_t skipped_at;
  const sc_c_options *o;
  const char *object; /* not C: the file that the header is for */
  sci_text *out;
  c_needs needs;
  uint32_t depth; /* of indentation */

  /* by id, for the current program */
  c_name_use *names;
  c_buf_use *bufs;     /* owners of storage */
  uint8_t *plain;      /* per value: int64 arithmetic over loop variables and constants only */
  uint32_t *seen;      /* per value: the statement that was walked last, numbered by `epoch` */
  uint32_t *temporary; /* per value: number of the temporary that holds it in the current statement, plus one */
  const char **literals; /* per value: the text of a constant */
  uint32_t epoch;

  /* the current procedure */
  uint32_t proc; /* index plus one */
  SCI_VEC(uint8_t) flags; /* per statement, last one first */
  uint32_t n_blocks, place;
  uint32_t private_at; /* the place of the write to any private buffer that follows next; 0: none */
  uint32_t n_temporaries;
  bool calls_with_w;
  c_lanes vector;
  SCI_VEC(sci_val) walk, shared;
  SCI_VEC(struct c_item) items; /* what is left to print of an expression, last first */
} c_render;

void sci_c_analyze(c_render *r, const sci_proc *proc);
/* The operations of a statement's own values that need a temporary, in order of evaluation, in r->shared. */
void sci_c_find_shared(c_render *r, const sci_stmt *st);

void sci_c_put_temporaries(c_render *r, const sci_stmt *st); /* proc.c: and remembers them, for the statement */
void sci_c_forget_temporaries(c_render *r);

/* ---- the CasADi layer (casadi.c) ---- */

extern const char *const sci_c_casadi_words[]; /* F_<word> is a symbol of the layer */
extern const size_t sci_c_n_casadi_words;
/* Room in w for every result, since any may be skipped; the header's size of w has it too. */
void sci_c_add_skipped(c_unit *unit);
int64_t sci_c_skipped(int64_t elements); /* what such a result takes: whole cache lines */
void sci_c_put_casadi(const c_render *r, sci_text *out);              /* the queries of the current unit */
void sci_c_put_casadi_declarations(const c_render *r, sci_text *out);
void sci_c_put_casadi_types(sci_text *out);

/* ---- spelling (expr.c) ---- */

/* How tightly an expression binds. Bit operators and `!` count as looser than C has them, so that no compiler asks for parentheses. */
enum { P_ANY, P_SELECT, P_BITS, P_NOT, P_COMPARE, P_SUM, P_PRODUCT, P_MINUS, P_CAST, P_PRIMARY };

extern const char *const sci_c_types[SC_DTYPE_COUNT];
extern const char *const sci_c_suffixes[SC_DTYPE_COUNT]; /* f64, ... */
void sci_c_put_value(c_render *r, sci_val v, int least);
void sci_c_put_element(c_render *r, sci_buf b, sci_val index);      /* name[index] */
void sci_c_put_address(c_render *r, sci_buf b, sci_val index);      /* name + index */
void sci_c_put_scalar(c_render *r, sc_dtype dtype, sci_scalar v);

/* ---- loops in lanes (lanes.c) ---- */

bool sci_c_has_lanes(const c_render *r, const sci_loop *l);
void sci_c_put_lane_loop(c_render *r, const sci_loop *l, void (*body)(c_render *, sci_block));
bool sci_c_varies(c_render *r, sci_val v); /* a vector */
bool sci_c_name_varies(const c_render *r, sci_name n);
void sci_c_put_type(c_render *r, sc_dtype dtype, bool varies);
/* What is loaded, the store, the assignment: false when the statement is a scalar's. */
bool sci_c_put_lane_load(c_render *r, const sci_stmt *st);
bool sci_c_put_lane_store(c_render *r, const sci_stmt *st);
bool sci_c_put_lane_assign(c_render *r, const sci_stmt *st);
sci_runs sci_c_lane_runs(c_render *r, sci_block block);
/* The whole run of a statement, at its first one. True: the statement itself is done. */
bool sci_c_put_run(c_render *r, sci_block block, uint32_t at, sci_runs *runs);
const char *sci_c_splat(c_render *r); /* "scaly_splat_f64x4(" */
const char *sci_c_mask(c_render *r);  /* "SCALY_MASK(scaly_m64x4, " */

/* ---- sparse outputs (tables.c) ---- */

typedef struct sci_c_coordinates {
  const int32_t *rows, *cols; /* of the stored values, in stored order */
} sci_c_coordinates;

sci_c_coordinates sci_c_coordinates_of(sci_env *env, const sc_pattern *p); /* scratch arena */
void sci_c_put_int_list(sci_text *out, const int32_t *data, int64_t n);    /* "{1, 2};" and a line end */
void sci_c_put_sparse_tables(const c_render *r, sci_text *out, bool cpp);

/* ---- the parts of a file ---- */

void sci_c_put_procs(c_render *r);
void sci_c_put_recipe(const c_render *r, sci_text *out);
void sci_c_put_guards(const c_render *r, sci_text *out);
void sci_c_put_helpers(const c_render *r, sci_text *out);
void sci_c_put_lane_helpers(const c_render *r, sci_text *out); /* lane_helpers.c */
void sci_c_put_fma(const c_render *r, sci_text *out);
void sci_c_put_header(const c_render *r, sci_text *out);
void sci_c_put_cpp_header(const c_render *r, sci_text *out);
/* The comment that says what the entry takes, and the check of the ABI version: parts of either header. */
void sci_c_put_contract(const c_render *r, sci_text *out);
void sci_c_put_version(sci_text *out);
int64_t sci_c_port_size(const c_render *r, size_t port); /* elements */
const char *sci_c_local(const c_render *r, const char *name, const char *otherwise); /* `otherwise` when `name` would hide the entry */
const char *sci_c_abi_type(sci_abi abi);
const char *sci_c_file_name(const c_render *r);

#endif
