/* Owns single operations: what each row of ops.def is in instructions, scalar or in lanes, with the bits that the LLVM
 * backend gives. */
#include <math.h>

#include "backends/x86/x86.h"

/* The routine of a row that is a call; NULL for the others. */
#define L_BIN(f, i) NULL
#define L_CMP(f, i) NULL
#define L_CALL(f) #f
#define L_INTR(f) NULL
#define L_X NULL
#define SCI_OP(name, arity, sig, traits, nan, fold, c, llvm, ...) [SCI_OP_##name] = llvm,
static const char *const routines[SCI_OP_COUNT] = {
#include "lib/ops/ops.def"
};
#undef SCI_OP

enum {
  ADD = 0x58,
  MUL = 0x59,
  SUB = 0x5C,
  MIN = 0x5D,
  DIV = 0x5E,
  MAX = 0x5F,
  AND = 0x54,
  ANDN = 0x55,
  OR = 0x56,
  XOR = 0x57
};
enum { EQUAL = 0, UNORDERED = 3, NOT_EQUAL = 4, LESS = 0x11, LESS_EQUAL = 0x12 }; /* predicates of comparisons */
enum { DOWN = 9, UP = 10, TO_ZERO = 11 }; /* roundings, quiet about inexact results */
#define SIGN_BIT 0x8000000000000000u
#define ALL_BITS UINT64_MAX

/* The operands of one operation. */
typedef struct work {
  sci_x86 *x;
  const sci_x86_place *const *args;
  const sci_x86_place *to;
  bool wide, four; /* in lanes; in registers of 256 bits */
} work;

static int get(const work *w, int i) {
  return sci_x86_get(w->x, w->args[i], w->wide);
}

static void done(const work *w, int reg) {
  sci_x86_put(w->x, w->to, reg);
}

/* The same 64 bits in every element, in memory. */
static sci_x86_mem pattern(const work *w, uint64_t bits) {
  sci_x86 *x = w->x;
  uint32_t i = 0;
  while (i < x->n_patterns && x->patterns[i].bits != bits) i++;
  if (i == x->n_patterns) {
    uint64_t four[] = {bits, bits, bits, bits};
    x->patterns[x->n_patterns++] = (sci_x86_pattern){bits, sci_x86_constant(&x->a, four, sizeof four, sizeof four)};
  }
  return (sci_x86_mem){SCI_X86_RIP, SCI_X86_NO_INDEX, 0, false, (int32_t)x->patterns[i].at, 0};
}

static uint64_t bits_of(double v) {
  return sci_scalar_bits(SC_FLOAT64, (sci_scalar){.f64 = v});
}

/* ---- instructions ---- */

/* d <- a op b, where b is a register, or -1 and memory. */
static int with(const work *w, sci_x86_vex op, int a, int b, const sci_x86_mem *m, int imm) {
  int d = sci_x86_take(w->x);
  if (b >= 0)
    sci_x86_vex_rr(&w->x->a, op, w->four, d, a, b, imm);
  else
    sci_x86_vex_rm(&w->x->a, op, w->four, d, a, m, imm);
  return d;
}

static int arithmetic(const work *w, int opcode, int a, int b, const sci_x86_mem *m) {
  return with(w, (sci_x86_vex){w->wide ? P_66 : P_F2, M_0F, 0, (uint8_t)opcode}, a, b, m, -1);
}

/* Of all the bits of registers; memory must have as many. */
static int logic(const work *w, int opcode, int a, int b, const sci_x86_mem *m) {
  return with(w, (sci_x86_vex){P_66, M_0F, 0, (uint8_t)opcode}, a, b, m, -1);
}

static int compare(const work *w, int predicate, int a, int b, const sci_x86_mem *m) {
  return with(w, (sci_x86_vex){w->wide ? P_66 : P_F2, M_0F, 0, 0xC2}, a, b, m, predicate);
}

/* mask ? yes : no; `yes` -1: the pattern. */
static int blend(const work *w, int mask, int yes, uint64_t bits, int no) {
  static const sci_x86_vex op = {P_66, M_0F3A, 0, 0x4B};
  sci_x86_mem m = {0};
  if (yes < 0) m = pattern(w, bits);
  return with(w, op, no, yes, &m, mask << 4);
}

static void binary(const work *w, int opcode) {
  sci_x86_mem m;
  int a = get(w, 0), b = sci_x86_operand(w->x, w->args[1], w->wide, &m);
  done(w, arithmetic(w, opcode, a, b, &m));
}

static void ordered(const work *w, int predicate) {
  sci_x86_mem m;
  int a = get(w, 0), b = sci_x86_operand(w->x, w->args[1], w->wide, &m);
  done(w, compare(w, predicate, a, b, &m));
}

static void with_pattern(const work *w, int opcode, uint64_t bits) {
  sci_x86_mem m = pattern(w, bits);
  done(w, logic(w, opcode, get(w, 0), -1, &m));
}

static void square_root(const work *w) {
  int a = get(w, 0), d = sci_x86_take(w->x);
  sci_x86_vex_rr(&w->x->a, (sci_x86_vex){w->wide ? P_66 : P_F2, M_0F, 0, 0x51}, w->four, d, w->wide ? 0 : a, a, -1);
  done(w, d);
}

static void rounded(const work *w, int how) {
  int a = get(w, 0), d = sci_x86_take(w->x);
  sci_x86_vex_rr(&w->x->a, (sci_x86_vex){P_66, M_0F3A, 0, w->wide ? 9 : 0xB}, w->four, d, w->wide ? 0 : a, a, how);
  done(w, d);
}

static void fused(const work *w) {
  sci_x86_mem m;
  int a = get(w, 0), b = get(w, 1), c = sci_x86_operand(w->x, w->args[2], w->wide, &m);
  if (!w->x->program->target.fast_fma) {
    done(w, arithmetic(w, ADD, arithmetic(w, MUL, a, b, NULL), c, &m));
    return;
  }
  sci_x86_vex op = {P_66, M_0F38, 1, w->wide ? 0xA8 : 0xA9}; /* d <- d * b + c */
  int d = sci_x86_take(w->x);
  sci_x86_vex_rr(&w->x->a, (sci_x86_vex){P_66, M_0F, 0, 0x28}, w->four, d, 0, a, -1);
  if (c >= 0)
    sci_x86_vex_rr(&w->x->a, op, w->four, d, b, c, -1);
  else
    sci_x86_vex_rm(&w->x->a, op, w->four, d, b, &m, -1);
  done(w, d);
}

/* (a < b || a != a) ? a : b, or with >: the instruction gives b when one of them is NaN. */
static void extremum(const work *w, int opcode) {
  int a = get(w, 0), b = get(w, 1);
  int m = arithmetic(w, opcode, a, b, NULL), nan = compare(w, UNORDERED, a, a, NULL);
  done(w, blend(w, nan, a, 0, m));
}

static void sign(const work *w) {
  sci_x86_mem zero = pattern(w, 0);
  int a = get(w, 0), r = blend(w, compare(w, EQUAL, a, -1, &zero), -1, 0, a); /* NaN stays */
  r = blend(w, compare(w, LESS, a, -1, &zero), -1, bits_of(-1), r);
  int none = sci_x86_take(w->x);
  sci_x86_vex_rr(&w->x->a, (sci_x86_vex){P_66, M_0F, 0, XOR}, w->four, none, none, none, -1);
  done(w, blend(w, compare(w, LESS, none, a, NULL), -1, bits_of(1), r));
}

static void copy_sign(const work *w) {
  sci_x86_mem all_but = pattern(w, ~SIGN_BIT), bit = pattern(w, SIGN_BIT);
  int a = logic(w, AND, get(w, 0), -1, &all_but), b = logic(w, AND, get(w, 1), -1, &bit);
  done(w, logic(w, OR, a, b, NULL));
}

static void is_finite(const work *w) {
  sci_x86_mem all_but = pattern(w, ~SIGN_BIT), infinity = pattern(w, bits_of(INFINITY));
  done(w, compare(w, LESS, logic(w, AND, get(w, 0), -1, &all_but), -1, &infinity));
}

static void choose(const work *w) {
  int mask = get(w, 0), yes = get(w, 1), no = get(w, 2);
  done(w, blend(w, mask, yes, 0, no));
}

/* ---- routines ---- */

/* Of vector registers: what follows may use older instructions, which processors are slow to mix with those that have
 * filled them. Outside of loops in lanes they are clear. */
void sci_x86_clear_upper(sci_x86 *x) {
  sci_x86_byte(&x->a, 0xC5); /* vzeroupper */
  sci_x86_byte(&x->a, 0xF8);
  sci_x86_byte(&x->a, 0x77);
}

void sci_x86_call(sci_x86 *x, const char *name) {
  if (x->width == 4 && strncmp(name, "_ZGV", 4) != 0 && strncmp(name, "Sleef_", 6) != 0) sci_x86_clear_upper(x);
  sci_x86_call_routine(&x->a, sci_x86_routine(&x->a, name));
  sci_x86_forget(x);
}

/* Lanes `from` to `from` + n of an operand to a register, of the result from one. */
static void load_part(const work *w, const sci_x86_place *p, uint32_t from, uint32_t n, int reg) {
  static const sci_x86_vex scalar = {P_F2, M_0F, 0, 0x10}, packed = {P_66, M_0F, 0, 0x10},
                           all = {P_66, M_0F38, 0, 0x19}, both = {P_F2, M_0F, 0, 0x12};
  sci_x86_mem m = sci_x86_at(w->x, p, p->wide ? 8 * from : 0);
  sci_x86_vex op = n == 1 ? scalar : p->wide ? packed : n == 4 ? all : both;
  sci_x86_vex_rm(&w->x->a, op, n == 4, reg, 0, &m, -1);
}

static void call_parts(const work *w, const char *name, uint32_t n_args, uint32_t lanes) {
  sci_x86 *x = w->x;
  uint32_t width = w->wide ? x->width : 1;
  for (uint32_t from = 0; from < width; from += lanes) {
    for (uint32_t i = 0; i < n_args; i++) load_part(w, w->args[i], from, lanes, (int)i);
    sci_x86_call(x, name);
    if (!w->wide) {
      done(w, 0);
      return;
    }
    sci_x86_mem m = sci_x86_at(x, w->to, 8 * from);
    sci_x86_vex_rm(&x->a, (sci_x86_vex){lanes == 1 ? P_F2 : P_66, M_0F, 0, 0x11}, lanes == 4, 0, 0, &m, -1);
  }
}

static void call_math(const work *w, int op, const char *name) {
  sci_vector_routine r;
  const sci_program *p = w->x->program;
  bool found = w->wide && sci_vector_routine_find(&p->vector, p->target.isa, op, SC_FLOAT64, (int)w->x->asked, &r);
  if (found && r.lanes > w->x->width) sci_x86_refuse(w->x, "routines of eight lanes");
  call_parts(w, found ? r.name : name, (uint32_t)sci_ops[op].arity, found ? r.lanes : 1);
}

static void float_op(const work *w, int op) {
  if (routines[op]) {
    call_math(w, op, routines[op]);
    return;
  }
  switch (op) {
  case SCI_OP_neg: with_pattern(w, XOR, SIGN_BIT); break;
  case SCI_OP_abs: with_pattern(w, AND, ~SIGN_BIT); break;
  case SCI_OP_add: binary(w, ADD); break;
  case SCI_OP_sub: binary(w, SUB); break;
  case SCI_OP_mul: binary(w, MUL); break;
  case SCI_OP_div: binary(w, DIV); break;
  case SCI_OP_fma: fused(w); break;
  case SCI_OP_sqrt: square_root(w); break;
  case SCI_OP_floor: rounded(w, DOWN); break;
  case SCI_OP_ceil: rounded(w, UP); break;
  case SCI_OP_trunc: rounded(w, TO_ZERO); break;
  case SCI_OP_round: call_math(w, op, "round"); break;
  case SCI_OP_fmod: call_math(w, op, "fmod"); break;
  case SCI_OP_minimum: extremum(w, MIN); break;
  case SCI_OP_maximum: extremum(w, MAX); break;
  case SCI_OP_sign: sign(w); break;
  case SCI_OP_copysign: copy_sign(w); break;
  case SCI_OP_lt: ordered(w, LESS); break;
  case SCI_OP_le: ordered(w, LESS_EQUAL); break;
  case SCI_OP_eq: ordered(w, EQUAL); break;
  case SCI_OP_ne: ordered(w, NOT_EQUAL); break;
  case SCI_OP_isfinite: is_finite(w); break;
  case SCI_OP_isnan: done(w, compare(w, UNORDERED, get(w, 0), get(w, 0), NULL)); break;
  default: sci_x86_refuse(w->x, "an operation of floats");
  }
}

/* ---- bools ---- */

static void bool_op(const work *w, int op) {
  switch (op) {
  case SCI_OP_and: done(w, logic(w, AND, get(w, 0), get(w, 1), NULL)); break;
  case SCI_OP_or: done(w, logic(w, OR, get(w, 0), get(w, 1), NULL)); break;
  case SCI_OP_ne: done(w, logic(w, XOR, get(w, 0), get(w, 1), NULL)); break;
  case SCI_OP_not: with_pattern(w, XOR, ALL_BITS); break;
  case SCI_OP_eq: {
    sci_x86_mem all = pattern(w, ALL_BITS);
    done(w, logic(w, XOR, logic(w, XOR, get(w, 0), get(w, 1), NULL), -1, &all));
    break;
  }
  default: sci_x86_refuse(w->x, "an operation of bools");
  }
}

/* ---- integers, in RAX and RCX ---- */

enum { I_ADD = 0x03, I_SUB = 0x2B, I_MUL = 0x0FAF, I_COMPARE = 0x3B, I_GROUP = 0xF7, I_MOVE = 0x8B, I_LEA = 0x8D };
enum { I_NEG = 3, I_DIV = 7 }; /* of the group */

static void set_mask(const work *w, unsigned condition) {
  sci_x86_rr(&w->x->a, 0x0F00 | condition, 0, RAX);
  sci_x86_rr(&w->x->a, 0x0FB6, RAX, RAX);
  sci_x86_rr(&w->x->a, I_GROUP, I_NEG, RAX);
}

/* A jump within the next 127 bytes; returns where its distance goes. */
static uint32_t jump(sci_x86_asm *a, unsigned opcode) {
  sci_x86_byte(a, opcode);
  sci_x86_byte(a, 0);
  return (uint32_t)a->code.n - 1;
}

static void land(sci_x86_asm *a, uint32_t at) {
  a->code.data[at] = (uint8_t)(a->code.n - at - 1);
}

/* RAX by RCX: x / 0 is 0 and x / -1 wraps, which are x * y and nothing the processor divides by; the remainder is x -
 * (x / y) * y. */
static void divide(sci_x86_asm *a, bool remainder) {
  sci_x86_rm(a, I_LEA, RDX, &(sci_x86_mem){RCX, SCI_X86_NO_INDEX, 0, false, 1, 0}, 0);
  sci_x86_rr(a, 0x83, 7, RDX); /* 0 or 1? */
  sci_x86_byte(a, 1);
  uint32_t special = jump(a, 0x76);
  sci_x86_byte(a, 0x48); /* cqo */
  sci_x86_byte(a, 0x99);
  sci_x86_rr(a, I_GROUP, I_DIV, RCX);
  if (remainder) sci_x86_rr(a, I_MOVE, RAX, RDX);
  uint32_t end = jump(a, 0xEB);
  land(a, special);
  if (remainder) {
    sci_x86_rr(a, I_MUL, RCX, RAX);
    sci_x86_rr(a, I_ADD, RAX, RCX);
  } else {
    sci_x86_rr(a, I_MUL, RAX, RCX);
  }
  land(a, end);
}

static void int_op(const work *w, const sci_value *v) {
  sci_x86 *x = w->x;
  sci_x86_asm *a = &x->a;
  sci_x86_get_int(x, v->args[0], RAX);
  if (sci_ops[v->op].arity > 1) sci_x86_get_int(x, v->args[1], RCX);
  switch (v->op) {
  case SCI_OP_add: sci_x86_rr(a, I_ADD, RAX, RCX); break;
  case SCI_OP_sub: sci_x86_rr(a, I_SUB, RAX, RCX); break;
  case SCI_OP_mul: sci_x86_rr(a, I_MUL, RAX, RCX); break;
  case SCI_OP_neg: sci_x86_rr(a, I_GROUP, I_NEG, RAX); break;
  case SCI_OP_div: divide(a, false); break;
  case SCI_OP_fmod: divide(a, true); break;
  case SCI_OP_minimum:
  case SCI_OP_maximum:
    sci_x86_rr(a, I_COMPARE, RCX, RAX);
    sci_x86_rr(a, v->op == SCI_OP_minimum ? 0x0F4C : 0x0F4F, RAX, RCX);
    break;
  case SCI_OP_abs:
    sci_x86_rr(a, I_MOVE, RCX, RAX);
    sci_x86_rr(a, I_GROUP, I_NEG, RCX);
    sci_x86_rr(a, 0x0F49, RAX, RCX); /* if the negated one is not negative */
    break;
  case SCI_OP_lt:
  case SCI_OP_le:
  case SCI_OP_eq:
  case SCI_OP_ne:
    sci_x86_rr(a, I_COMPARE, RAX, RCX);
    set_mask(w, v->op == SCI_OP_lt ? 0x9C : v->op == SCI_OP_le ? 0x9E : v->op == SCI_OP_eq ? 0x94 : 0x95);
    break;
  default: sci_x86_refuse(x, "an operation of integers");
  }
  sci_x86_put_int(x, w->to, RAX);
}

/* ---- casts ---- */

static void from_int(const work *w, const sci_value *v) {
  sci_x86 *x = w->x;
  sci_x86_get_int(x, v->args[0], RAX);
  if (v->dtype == SC_BOOL) {
    sci_x86_rr(&x->a, 0x85, RAX, RAX);
    set_mask(w, 0x95);
    sci_x86_put_int(x, w->to, RAX);
    return;
  }
  int d = sci_x86_take(x);
  sci_x86_vex_rr(&x->a, (sci_x86_vex){P_66, M_0F, 0, XOR}, false, d, d, d, -1);
  sci_x86_vex_rr(&x->a, (sci_x86_vex){P_F2, M_0F, 1, 0x2A}, false, d, d, RAX, -1);
  done(w, d);
}

static void cast(const work *w, sc_dtype from, const sci_value *v) {
  sci_x86_mem m;
  if (from == v->dtype || (from == SC_INT32 && v->dtype == SC_INT64))
    done(w, get(w, 0));
  else if (from == SC_INT64 || from == SC_INT32)
    from_int(w, v);
  else if (from == SC_FLOAT64 && v->dtype == SC_BOOL) {
    m = pattern(w, 0);
    done(w, compare(w, NOT_EQUAL, get(w, 0), -1, &m));
  } else if (from == SC_BOOL && v->dtype == SC_FLOAT64) {
    with_pattern(w, AND, bits_of(1));
  } else if (from == SC_BOOL && v->dtype == SC_INT64) {
    with_pattern(w, AND, 1);
  } else {
    sci_x86_refuse(w->x, "a cast");
  }
}

void sci_x86_op(sci_x86 *x, const sci_value *v, const sci_x86_place *const *args, const sci_x86_place *to) {
  work w = {x, args, to, to->wide, to->wide && x->width == 4};
  sc_dtype from = (sc_dtype)sci_value_at(x->store, v->args[v->op == SCI_OP_select])->dtype;
  if (v->op == SCI_OP_select)
    choose(&w);
  else if (v->op == SCI_OP_cast)
    cast(&w, from, v);
  else if (from == SC_FLOAT64)
    float_op(&w, v->op);
  else if (from == SC_BOOL)
    bool_op(&w, v->op);
  else if (from == SC_INT64)
    int_op(&w, v);
  else
    sci_x86_refuse(x, "an operation of other types than float64, int64 and bool");
  sci_x86_unpin(x);
}
