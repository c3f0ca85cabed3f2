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
  c_lane_type lanes[SC_FLOAT32 + 1][5];      /* by dtype and the binary logarithm of the number of lanes */
  bool helper[SCI_OP_COUNT][SC_DTYPE_COUNT]; /* by operand dtype */
  bool cast[SC_DTYPE_COUNT][SC_DTYPE_COUNT]; /* from, to */
  bool called[SCI_OP_COUNT];                 /* math routines */
  bool fma[SC_DTYPE_COUNT];                  /* of scalars */
  bool restrict_;                            /* the macro for it */
  bool math;                                 /* anything of math.h */
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
  uint32_t proc;              /* the procedure, plus one, that the rest is about */
  uint32_t uses;              /* occurrences in the text */
  c_place last;               /* of the statement that has the last one counted */
  const sci_stmt *load;       /* inlined: the load to print instead */
  sci_val value;              /* so short that it is printed wherever the name is used; SCI_NIL: the name is */
  uint32_t written;           /* occurrences, before any value is printed in place of its name */
  uint32_t home;              /* the block that defines it */
  uint8_t is_load, is_spread; /* defined by a load; used in other blocks */
} c_name_use;

typedef struct c_buf_use {
  uint32_t read, written; /* the procedure, plus one, in which it is */
  uint32_t write_at;      /* the place of the write that follows next */
  const char *type;       /* of a local's elements, once it is declared */
} c_buf_use;

/* Where the elements begin that one iteration of a loop works on: a pointer of its own, for the text's sake
 * (pointers.c). */
typedef struct c_pointer {
  sci_buf owner;
  sci_val at;       /* owner + at */
  uint32_t uses;    /* elements, counted before anything is printed; then, those printed with it */
  uint32_t same_at; /* the next one from there, plus one */
  uint32_t next;    /* the next one of the same loop, plus one */
  const char *name; /* while its loop is printed, and it is used often enough */
} c_pointer;

typedef struct c_nest {
  sci_var var;
  int64_t start;
  uint32_t pointers; /* the first one, plus one */
} c_nest;

/* A constant that has a name in the current procedure, or will have when it is printed. */
typedef struct c_constant {
  uint64_t bits; /* of its magnitude */
  uint8_t dtype;
  uint32_t proc, uses; /* the procedure, plus one, that `uses` and `name` are about */
  const char *name;
} c_constant;

/* A name that the renderer made up, which nothing else in the file has. */
typedef struct c_own_name {
  const char *stem, *name;
} c_own_name;

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
  char suffix[24];               /* f64x4 */
  char count[32];                /* how many lanes: a number, or a macro */
  const char *splat, *mask;      /* calls that make vectors and masks, up to the value */
  int lanes;                     /* 0: the preprocessor decides */
  bool partial;                  /* the last chunk has fewer iterations than lanes */
  bool declares;                 /* variables of that type */
  uint32_t *block_of, *place_in; /* per name: the array it was loaded into, plus one, and where */
  uint32_t n_blocks;             /* arrays in the procedure */
} c_lanes;

typedef struct c_render {
  sci_env *env;
  sci_file_names names_taken;
  int widths[SC_FLOAT32 + 1]; /* different numbers of lanes in the file, by dtype */
  const char *fma_names[SC_FLOAT32 + 1]
                       [5]; /* by dtype and the binary logarithm of the number of lanes, once they are asked for */
  const char *vec_name;
  SCI_VEC(const char *) array_names;
  sci_index own_index, constant_index;
  SCI_VEC(c_own_name) own_names;
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
  sci_map temporary;   /* value: number of the temporary that holds it in the current statement, plus one */
  sci_map literals;    /* constant: place of its text in `texts` */
  sci_map constants;   /* float: number of its magnitude, plus one */
  sci_map pointers_at; /* value: the first pointer from there, plus one */
  SCI_VEC(const char *) texts;
  uint32_t epoch;

  /* the current procedure */
  uint32_t proc;          /* index plus one */
  SCI_VEC(uint8_t) flags; /* per statement, last one first */
  uint32_t n_blocks, place;
  uint32_t private_at; /* the place of the write to any private buffer that follows next; 0: none */
  uint32_t n_temporaries;
  bool calls_with_w;
  c_lanes vector;
  struct c_each *each;  /* loops over lanes that are not printed yet */
  bool in_each;         /* what is analyzed or printed is in such loops */
  SCI_VEC(c_nest) nest; /* loops around what is analyzed */
  SCI_VEC(c_pointer) pointers;
  SCI_VEC(uint32_t) loop_pointers; /* per loop analyzed and not printed yet: its first pointer, plus one */
  SCI_VEC(uint32_t) active;        /* pointers that are in scope */
  SCI_VEC(c_constant) constants_used;
  SCI_VEC(uint32_t) named; /* constants of the procedure that have names, in order of appearance */
  SCI_VEC(sci_val) walk, shared;
  SCI_VEC(struct c_item) items; /* what is left to print of an expression, last first */
} c_render;

/* What a map of values has for one, 0: nothing. Few values are in them, and a store has many. */
static inline uint32_t sci_c_of(const sci_map *m, sci_val v) {
  uint32_t id = sci_map_get(m, v);
  return id == UINT32_MAX ? 0 : id;
}

void sci_c_analyze(c_render *r, const sci_proc *proc);
/* The operations of a statement's own values that need a temporary, in order of evaluation, in r->shared. */
void sci_c_find_shared(c_render *r, const sci_stmt *st);

void sci_c_put_temporaries(c_render *r, const sci_stmt *st); /* proc.c: and remembers them, for the statement */
void sci_c_forget_temporaries(c_render *r);

/* ---- names for the text's sake (pointers.c, constants.c) ---- */

/* `stem`, or what is next to it and free: the same name whenever it is asked for. */
const char *sci_c_own_name(c_render *r, const char *stem);

void sci_c_note_element(c_render *r, sci_buf b, sci_val index);
void sci_c_enter_nest(c_render *r, const sci_loop *l);
void sci_c_leave_nest(c_render *r);
/* Loops are printed in the order opposite to that in which they were left. */
uint32_t
sci_c_open_pointers(c_render *r,
                    const char *variable); /* gives the loop's, for the other function; NULL: nothing is printed */
void sci_c_close_pointers(c_render *r, uint32_t first,
                          size_t at); /* declares those that were used, at that place of the text */
/* The pointer for an element, and how far behind it the element is; NULL: none. */
const char *sci_c_pointer_to(c_render *r, sci_buf owner, sci_val index, int64_t *offset);
sci_val sci_c_split_index(const c_render *r, sci_val index,
                          int64_t *offset); /* adds the index's own constant to `offset` */

void sci_c_insert(c_render *r, size_t at, const sci_text *text); /* into what was printed */

void sci_c_note_constant(c_render *r, sci_val v);
const char *sci_c_constant_name(c_render *r, sci_val v, bool *is_negative); /* NULL: it is written out */
void sci_c_declare_constants(c_render *r, size_t at);
void sci_c_forget_constants(c_render *r); /* procedures are numbered anew */

/* ---- the CasADi layer (casadi.c) ---- */

extern const char *const sci_c_casadi_words[]; /* F_<word> is a symbol of the layer */
extern const size_t sci_c_n_casadi_words;
/* Room in w for every result, since any may be skipped; the header's size of w has it too. */
void sci_c_add_skipped(c_unit *unit);
int64_t sci_c_skipped(int64_t elements);                 /* what such a result takes: whole cache lines */
void sci_c_put_casadi(const c_render *r, sci_text *out); /* the queries of the current unit */
void sci_c_put_casadi_declarations(const c_render *r, sci_text *out);
void sci_c_put_casadi_types(sci_text *out);

/* ---- spelling (expr.c) ---- */

/* How tightly an expression binds. Bit operators and `!` count as looser than C has them, so that no compiler asks for
 * parentheses. */
enum { P_ANY, P_SELECT, P_BITS, P_NOT, P_COMPARE, P_SUM, P_PRODUCT, P_MINUS, P_CAST, P_PRIMARY };

extern const char *const sci_c_types[SC_DTYPE_COUNT];
extern const char *const sci_c_suffixes[SC_DTYPE_COUNT]; /* f64, ... */
void sci_c_put_value(c_render *r, sci_val v, int least);
void sci_c_put_element(c_render *r, sci_buf b, sci_val index); /* name[index] */
void sci_c_put_address(c_render *r, sci_buf b, sci_val index); /* name + index */
void sci_c_put_scalar(c_render *r, sc_dtype dtype, sci_scalar v);

/* ---- loops in lanes (lanes.c) ---- */

bool sci_c_has_lanes(const c_render *r, const sci_loop *l);
/* The type of a local's elements: vectors where it has lanes, in the workspace those that need no alignment. */
const char *sci_c_local_type(c_render *r, const sci_local *l);
const char *sci_c_local_times(c_render *r,
                              const sci_local *l); /* " * 4": how many of them an element of a local takes */
void sci_c_put_lane_loop(c_render *r, const sci_loop *l, void (*body)(c_render *, const sci_loop *));
void sci_c_find_widths(c_render *r);                                /* of all units: before anything is printed */
const char *sci_c_fma_name(c_render *r, sc_dtype dtype, int lanes); /* lanes 1: of scalars */
bool sci_c_varies(c_render *r, sci_val v);                          /* a vector */
bool sci_c_name_varies(const c_render *r, sci_name n);
void sci_c_put_type(c_render *r, sc_dtype dtype, bool varies);
/* What is loaded, the store, the assignment: false when the statement is a scalar's. */
bool sci_c_put_lane_load(c_render *r, const sci_stmt *st);
bool sci_c_put_lane_store(c_render *r, const sci_stmt *st);
bool sci_c_put_lane_assign(c_render *r, const sci_stmt *st);
sci_runs sci_c_lane_runs(c_render *r, sci_block block);
/* The whole run of a statement, at its first one. True: the statement itself is done. `flags`: those of the block's
 * statements. */
bool sci_c_put_run(c_render *r, sci_block block, uint32_t at, sci_runs *runs, const uint8_t *flags);
const char *sci_c_splat(c_render *r); /* "scaly_splat_f64x4(" */
const char *sci_c_mask(c_render *r);  /* "SCALY_MASK(scaly_m64x4, " */

/* ---- the same in plain C (lane_loops.c) ---- */

bool sci_c_lane_loops(const c_render *r);       /* loops over lanes instead of vectors */
bool sci_c_loops_over_lanes(const sci_loop *l); /* it is short enough for them */
const char *sci_c_lane(c_render *r);            /* the variable of these */
/* A statement in such loops, which are printed when they are flushed. False: it is a scalar's, or there are vectors. */
bool sci_c_put_each(c_render *r, const sci_stmt *st);
void sci_c_flush_each(c_render *r); /* before anything else follows */
void sci_c_put_each_top(c_render *r);
void sci_c_put_each_macro(c_render *r, sci_text *out);
void sci_c_drop_each_macro(c_render *r, sci_text *out);
void sci_c_put_width(const c_render *r, sci_text *out); /* lane_helpers.c: how many lanes the preprocessor chooses */
/* expr.c: name[index + lane], or with `lanes`, name[index * lanes + lane]. */
void sci_c_put_lane_element(c_render *r, sci_buf b, sci_val index, const char *lanes, const char *lane);

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
void sci_c_put_lane_helpers(c_render *r, sci_text *out); /* lane_helpers.c */
void sci_c_put_fma(c_render *r, sci_text *out);
void sci_c_drop_fma(c_render *r, sci_text *out);
void sci_c_put_header(const c_render *r, sci_text *out);
void sci_c_put_cpp_header(const c_render *r, sci_text *out);
/* The comment that says what the entry takes, and the check of the ABI version: parts of either header. */
void sci_c_put_contract(const c_render *r, sci_text *out);
void sci_c_put_version(sci_text *out);
int64_t sci_c_port_size(const c_render *r, size_t port); /* elements */
const char *sci_c_local(const c_render *r, const char *name,
                        const char *otherwise); /* `otherwise` when `name` would hide the entry */
const char *sci_c_abi_type(sci_abi abi);
const char *sci_c_file_name(const c_render *r);

#endif
