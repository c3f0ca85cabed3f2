/* Direct code: a program spelled as x86-64 machine code in one go, without a compiler in between, for the first call.
 *
 * Every value has a place in the procedure's frame and is written there when it is computed; registers only remember
 * what is in memory anyway, until the next call or label. That makes code in a fraction of a microsecond per operation,
 * linear in the program, at about twice the run time of the best code. Operations are those of the LLVM backend, one by
 * one, so both give the same bits. What is not known here (float32 and int32 values, processors without AVX2 and fused
 * multiply-add, routines of eight lanes) is refused as a whole, and LLVM compiles it. */
#ifndef SCI_BACKENDS_X86_X86_H
#define SCI_BACKENDS_X86_X86_H

#include "lib/cache/loader.h"
#include "lib/program/lanes.h"

/* The code of n programs of one target, entry i being that of program i; one block, to be freed with free(). NULL:
 * refused, with the reason in `*refusal`. Unwinds when there is no memory. */
sci_image *sci_x86_image(sci_env *env, const sci_program *const *programs, size_t n, const char **refusal);

/* ---- asm.c: instructions, constants, routines ---- */

typedef enum sci_gpr { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 } sci_gpr;

enum { SCI_X86_RIP = -1, SCI_X86_NO_INDEX = -1 };

/* An operand in memory: base + index * scale + disp, or, with base SCI_X86_RIP, what `target` says. */
typedef struct sci_x86_mem {
  int8_t base, index;
  uint8_t scale; /* of the index, as a shift */
  bool is_routine;
  int32_t disp;    /* of a constant: its place among the constants */
  uint32_t target; /* of a routine's pointer */
} sci_x86_mem;

/* A distance to fill in when it is known where everything is. */
typedef struct sci_x86_fixup {
  uint32_t at;    /* the four bytes */
  uint32_t after; /* what the distance counts from */
  uint32_t to;
  bool is_routine;
} sci_x86_fixup;

typedef struct sci_x86_asm {
  sci_arena *arena;
  SCI_VEC(uint8_t) code;
  SCI_VEC(uint8_t) pool;
  SCI_VEC(sci_x86_fixup) fixups;
  SCI_VEC(const char *) routines;
} sci_x86_asm;

typedef enum sci_x86_prefix { P_NONE, P_66, P_F3, P_F2 } sci_x86_prefix;
enum { M_0F = 1, M_0F38, M_0F3A };

/* An instruction with vector registers: prefix, opcode map, W bit, opcode. */
typedef struct sci_x86_vex {
  uint8_t prefix, map, w, opcode;
} sci_x86_vex;

void sci_x86_byte(sci_x86_asm *a, unsigned byte);
void sci_x86_word(sci_x86_asm *a, uint32_t word);
/* d <- op(v, r/m); `imm` at least 0: a byte behind. `wide`: 256 bits. */
void sci_x86_vex_rr(sci_x86_asm *a, sci_x86_vex op, bool wide, int d, int v, int r, int imm);
void sci_x86_vex_rm(sci_x86_asm *a, sci_x86_vex op, bool wide, int d, int v, const sci_x86_mem *m, int imm);
/* 64-bit integers: opcode with a register and a register or memory; imm_bytes follow. */
void sci_x86_rr(sci_x86_asm *a, unsigned opcode, int reg, int rm);
void sci_x86_rm(sci_x86_asm *a, unsigned opcode, int reg, const sci_x86_mem *m, unsigned imm_bytes);
void sci_x86_set(sci_x86_asm *a, int reg, int64_t value);
uint32_t sci_x86_constant(sci_x86_asm *a, const void *data, size_t size, size_t alignment);
uint32_t sci_x86_routine(sci_x86_asm *a, const char *name);
void sci_x86_call_routine(sci_x86_asm *a, uint32_t routine);
/* Fills in a 32-bit distance at `at` to the code at `to`. */
void sci_x86_patch(sci_x86_asm *a, uint32_t at, uint32_t to);
sci_image *sci_x86_finish(sci_env *env, sci_x86_asm *a, const uint32_t *entries, uint32_t n);

/* ---- frame.c: where values are, and which registers hold them too ---- */

/* Where a value, a name or a variable is. */
typedef struct sci_x86_place {
  uint8_t kind;                 /* sci_x86_where */
  bool wide;                    /* one per lane */
  uint32_t at;                  /* bytes from the stack pointer, or among the constants */
  uint32_t id;                  /* when it was given out; 0: nobody ever shares it */
  uint32_t scope, level, epoch; /* as in the LLVM backend: where it is available */
} sci_x86_place;
typedef enum sci_x86_where { SCI_X86_NOWHERE, SCI_X86_FRAME, SCI_X86_CONST } sci_x86_where;

typedef struct sci_x86_storage {
  sci_x86_mem pointer; /* what to load the address from; ... */
  bool is_direct;      /* ... or itself the memory */
  bool known;
  int64_t offset; /* bytes behind that */
} sci_x86_storage;

/* ---- lives.c: who may share a place of the frame ---- */

typedef struct sci_x86_span {
  uint32_t start, number; /* places given out before the loop; which loop it is */
  size_t first;           /* its part of what is touched */
} sci_x86_span;

typedef struct sci_x86_lives {
  uint32_t n, ended, numbers; /* places given out; until when it is known whose lives are over; loops */
  bool replays;
  SCI_VEC(uint32_t) last, in_loop; /* per place: when it is used last; the loop that was seen to need it last */
  SCI_VEC(sci_x86_span) loops;
  SCI_VEC(uint32_t) touched; /* in the open loops, from before them */
  uint32_t *ending, *next;   /* per time and place: lists of those used last then */
  uint32_t *at;
  uint8_t *size;              /* per place: its class */
  SCI_VEC(uint32_t) spare[3]; /* by class */
} sci_x86_lives;

enum { SCI_X86_REGISTERS = 16 };

typedef struct sci_x86_pattern {
  uint64_t bits;
  uint32_t at; /* four times, among the constants */
} sci_x86_pattern;

typedef struct sci_x86 {
  sci_env *env;
  const sci_program *program;
  const sci_store *store;
  const char *refusal; /* the code is not used */
  sci_x86_asm a;

  sci_x86_place *values, *names, *vars;
  sci_x86_storage *storages;
  uint32_t *proc_at; /* where each procedure's code starts */
  SCI_VEC(sci_val) pending;
  SCI_VEC(uint32_t) scopes; /* ids of the open ones */
  uint32_t scope_ids, epoch;

  uint64_t xmm[SCI_X86_REGISTERS], gpr[SCI_X86_REGISTERS]; /* what each holds: a key; 0: nothing */
  uint32_t pinned;                                         /* bits of xmm registers in use by the present operation */
  unsigned next_xmm, next_gpr;

  uint32_t frame, call_area; /* bytes; place of the arguments of calls, or 0 */
  bool has_lanes;            /* `lanes` covers the store */
  sci_lane_facts lanes;
  uint32_t width; /* lanes of the present loop; 0: none */
  uint32_t asked; /* as the program has them: of which a register may hold half */
  uint32_t rest;  /* a chunk of so many iterations; the other lanes do what the last does. 0: whole */
  sci_x86_storage workspace;
  uint32_t proc;
  sci_x86_lives lives;
  sci_x86_pattern patterns[8]; /* more are not asked for */
  uint32_t n_patterns;
} sci_x86;

void sci_x86_lives_begin(sci_x86 *x);  /* of a procedure that is spelled for the first time */
bool sci_x86_lives_replay(sci_x86 *x); /* whether it is to be spelled again */
void sci_x86_used(sci_x86 *x, const sci_x86_place *p);
void sci_x86_loop_begins(sci_x86 *x);
void sci_x86_loop_ends(sci_x86 *x);
uint32_t sci_x86_place_room(sci_x86 *x, uint32_t bytes, uint32_t *id);

#define SCI_X86_GPR_KEY(mem) ((uint64_t)(uint32_t)(mem).disp << 8 | (uint64_t)((mem).base + 2))

void sci_x86_refuse(sci_x86 *x, const char *why);
uint32_t sci_x86_room(sci_x86 *x, int64_t bytes, uint32_t alignment); /* of the frame */
sci_x86_place sci_x86_new_place(sci_x86 *x, bool wide);
sci_x86_mem sci_x86_at(sci_x86 *x, const sci_x86_place *p, uint32_t byte);
static inline sci_x86_mem sci_x86_frame_at(uint32_t at) {
  return (sci_x86_mem){RSP, SCI_X86_NO_INDEX, 0, false, (int32_t)at, 0};
}
void sci_x86_forget(sci_x86 *x); /* registers: at calls and labels */

/* A register with the value, in every lane if `wide`; kept until sci_x86_unpin. */
int sci_x86_get(sci_x86 *x, const sci_x86_place *p, bool wide);
/* The same, or -1 with the value in memory. */
int sci_x86_operand(sci_x86 *x, const sci_x86_place *p, bool wide, sci_x86_mem *m);
int sci_x86_take(sci_x86 *x); /* any register */
void sci_x86_unpin(sci_x86 *x);
/* What the register holds is the value from now on. */
void sci_x86_put(sci_x86 *x, const sci_x86_place *p, int reg);
void sci_x86_load_to(sci_x86 *x, const sci_x86_place *p, bool wide, int reg);
/* Integers: in RAX and the like, and in addresses. */
void sci_x86_get_int(sci_x86 *x, sci_val v, int reg);
void sci_x86_put_int(sci_x86 *x, const sci_x86_place *p, int reg);
int sci_x86_pointer(sci_x86 *x, const sci_x86_mem *m); /* a register with the 64 bits there, until the next but one */
/* Memory of a buffer's element; `unit`: bytes of one, 0 for those of its type. */
sci_x86_mem sci_x86_address(sci_x86 *x, sci_buf buf, sci_val index, uint32_t unit);

/* ---- value.c ---- */

const sci_x86_place *sci_x86_value(sci_x86 *x, sci_val v);
const sci_x86_place *sci_x86_find(sci_x86 *x, sci_val v); /* NULL: not available */
void sci_x86_sincos(sci_x86 *x, sci_val sine, sci_val cosine);

/* ---- ops.c: one operation; sci_x86_refuse for what is not known ---- */

void sci_x86_op(sci_x86 *x, const sci_value *v, const sci_x86_place *const *args, const sci_x86_place *to);
void sci_x86_clear_upper(sci_x86 *x);
/* The routine, its arguments being where they belong; registers are forgotten. */
void sci_x86_call(sci_x86 *x, const char *name);

/* ---- stmt.c ---- */

void sci_x86_block(sci_x86 *x, sci_block block);

#endif
