/* Owns the spelling of scalar operations: one operation of ops.def on LLVM values, which may be vectors of a loop's
 * lanes as well. */
#include <math.h>

#include "backends/llvm/llvm.h"

typedef enum spelling { BIN, CALL, INTR, CMP, BY_NAME } spelling;

#define L_BIN(f, i)                                                                                                    \
  { BIN, LLVM##f, LLVM##i, NULL }
#define L_CMP(f, i)                                                                                                    \
  { CMP, LLVMReal##f, LLVMInt##i, NULL }
#define L_CALL(f)                                                                                                      \
  { CALL, 0, 0, #f }
#define L_INTR(f)                                                                                                      \
  { INTR, 0, 0, "llvm." #f }
#define L_X                                                                                                            \
  { BY_NAME, 0, 0, NULL }
#define SCI_OP(name, arity, sig, traits, nan, fold, c, llvm, ...) [SCI_OP_##name] = llvm,
static const struct {
  uint8_t how;
  int floats, integers; /* opcode or predicate */
  const char *name;
} spellings[SCI_OP_COUNT] = {
#include "lib/ops/ops.def"
};
#undef SCI_OP

/* `number` in the type of `like`, in every lane. */
static LLVMValueRef number(LLVMValueRef like, double v) {
  return LLVMConstReal(LLVMTypeOf(like), v);
}

static LLVMValueRef integer(LLVMValueRef like, int64_t v) {
  return LLVMConstInt(LLVMTypeOf(like), (uint64_t)v, true);
}

static LLVMValueRef intrinsic(sci_llvm_emitter *e, LLVMBuilderRef b, const char *name, LLVMTypeRef *overload,
                              size_t n_overload, LLVMValueRef *args, unsigned n) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, overload, n_overload);
  return LLVMBuildCall2(b, LLVMIntrinsicGetType(e->cx, id, overload, n_overload), f, args, n, "");
}

static LLVMValueRef same_type(sci_llvm_emitter *e, LLVMBuilderRef b, const char *name, LLVMValueRef *args, unsigned n) {
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  return intrinsic(e, b, name, &type, 1, args, n);
}

/* A routine of the math library: no memory, no exceptions, and never taken for something LLVM may rewrite. */
LLVMValueRef sci_llvm_call_routine(sci_llvm_emitter *e, LLVMBuilderRef b, const char *name, LLVMTypeRef type,
                                   LLVMValueRef *args, unsigned n) {
  LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
  if (!f) {
    f = LLVMAddFunction(e->module, name, type);
    for (size_t i = 0; i < sizeof e->math_attributes / sizeof *e->math_attributes; i++)
      LLVMAddAttributeAtIndex(f, SCI_LLVM_FUNCTION, e->math_attributes[i]);
  }
  LLVMValueRef r = LLVMBuildCall2(b, type, f, args, n, "");
  LLVMAddCallSiteAttribute(r, SCI_LLVM_FUNCTION, e->nobuiltin);
  return r;
}

static LLVMValueRef call(sci_llvm_emitter *e, LLVMBuilderRef b, sci_op op, const char *stem, sc_dtype dtype,
                         LLVMValueRef *args, unsigned n) {
  char name[16];
  bool lanes = LLVMGetTypeKind(LLVMTypeOf(args[0])) == LLVMVectorTypeKind;
  LLVMValueRef all = lanes ? sci_llvm_lane_call(e, b, op, dtype, args, n) : NULL;
  if (all) return all;
  size_t len = strlen(stem);
  memcpy(name, stem, len);
  name[len] = dtype == SC_FLOAT32 ? 'f' : 0;
  name[len + 1] = 0;
  LLVMTypeRef type = e->math_types[dtype == SC_FLOAT32][n];
  if (lanes) return sci_llvm_by_lane(e, b, name, type, args, n);
  return sci_llvm_call_routine(e, b, name, type, args, n);
}

/* An operand of a select. LLVM 19's fast selection of instructions makes a scalar select a blend of whole registers and
 * lets it read its operand from memory, all 16 bytes of it, past the end of a buffer; a freeze in between, which costs
 * nothing, keeps the load apart. */
static LLVMValueRef chosen(LLVMBuilderRef b, LLVMValueRef v) {
  return LLVMIsALoadInst(v) ? LLVMBuildFreeze(b, v, "") : v;
}

/* Integer division: x / 0 is 0 and x / -1 wraps; the remainder is x - (x / y) * y. The divisor that is handed to the
 * processor is never one it would trap on, so the operation may be placed anywhere. */
static LLVMValueRef divide(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, bool remainder) {
  LLVMValueRef zero = integer(x, 0);
  if (LLVMIsAConstantInt(y)) {
    int64_t k = LLVMConstIntGetSExtValue(y);
    if (k == 0) return remainder ? x : zero;
    if (k == -1) return remainder ? zero : LLVMBuildSub(b, zero, x, "");
    return remainder ? LLVMBuildSRem(b, x, y, "") : LLVMBuildSDiv(b, x, y, "");
  }
  LLVMValueRef is_zero = LLVMBuildICmp(b, LLVMIntEQ, y, zero, "");
  LLVMValueRef is_minus = LLVMBuildICmp(b, LLVMIntEQ, y, integer(y, -1), "");
  LLVMValueRef safe = LLVMBuildSelect(b, LLVMBuildOr(b, is_zero, is_minus, ""), integer(y, 1), y, "");
  if (remainder) return LLVMBuildSelect(b, is_zero, x, LLVMBuildSRem(b, x, safe, ""), "");
  LLVMValueRef q = LLVMBuildSelect(b, is_minus, LLVMBuildSub(b, zero, x, ""), LLVMBuildSDiv(b, x, safe, ""), "");
  return LLVMBuildSelect(b, is_zero, zero, q, "");
}

/* (a < b || a != a) ? a : b, or with >. The comparison and the inner select are one minsd or maxsd. */
static LLVMValueRef extremum(LLVMBuilderRef b, bool is_float, bool larger, LLVMValueRef x, LLVMValueRef y) {
  if (!is_float) return LLVMBuildSelect(b, LLVMBuildICmp(b, larger ? LLVMIntSGT : LLVMIntSLT, x, y, ""), x, y, "");
  LLVMValueRef m = LLVMBuildSelect(b, LLVMBuildFCmp(b, larger ? LLVMRealOGT : LLVMRealOLT, x, y, ""), x, y, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), x, m, "");
}

static LLVMValueRef sign(LLVMBuilderRef b, bool is_float, LLVMValueRef x) {
  if (!is_float) {
    LLVMValueRef zero = integer(x, 0);
    LLVMValueRef positive = LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntSGT, x, zero, ""), LLVMTypeOf(x), "");
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, x, zero, ""), integer(x, -1), positive, "");
  }
  LLVMValueRef zero = number(x, 0);
  LLVMValueRef r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOEQ, x, zero, ""), zero, x, ""); /* NaN stays */
  r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, x, zero, ""), number(x, -1), r, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, x, zero, ""), number(x, 1), r, "");
}

/* The type of `to` with as many lanes as x. */
static LLVMTypeRef retyped(const sci_llvm_emitter *e, LLVMValueRef x, sc_dtype to) {
  LLVMTypeRef type = LLVMTypeOf(x);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMVectorType(e->types[to], LLVMGetVectorSize(type))
                                                     : e->types[to];
}

static LLVMValueRef cast(sci_llvm_emitter *e, LLVMBuilderRef b, sc_dtype from, sc_dtype to, LLVMValueRef x) {
  LLVMTypeRef type = retyped(e, x, to);
  if (from == to) return x;
  if (to == SC_BOOL)
    return sci_is_float(from) ? LLVMBuildFCmp(b, LLVMRealUNE, x, number(x, 0), "")
                              : LLVMBuildICmp(b, LLVMIntNE, x, integer(x, 0), "");
  if (from == SC_BOOL && sci_is_float(to) && type != e->types[to])
    return LLVMBuildSelect(b, x, LLVMConstReal(type, 1), LLVMConstReal(type, 0), "");
  if (from == SC_BOOL) return sci_is_float(to) ? LLVMBuildUIToFP(b, x, type, "") : LLVMBuildZExt(b, x, type, "");
  if (sci_is_float(from) && sci_is_float(to))
    return to == SC_FLOAT32 ? LLVMBuildFPTrunc(b, x, type, "") : LLVMBuildFPExt(b, x, type, "");
  if (sci_is_float(to)) return LLVMBuildSIToFP(b, x, type, "");
  if (sci_is_float(from)) return intrinsic(e, b, "llvm.fptosi.sat", (LLVMTypeRef[]){type, LLVMTypeOf(x)}, 2, &x, 1);
  return to == SC_INT32 ? LLVMBuildTrunc(b, x, type, "") : LLVMBuildSExt(b, x, type, "");
}

static bool is_minus_zero(LLVMValueRef v) {
  LLVMBool lossy;
  double k = v && LLVMIsAConstantFP(v) ? LLVMConstRealGetDouble(v, &lossy) : 1;
  return k == 0 && signbit(k);
}

/* Negative zero, in every lane: what sums begin with, and what changes none. */
static bool is_nothing(LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return is_minus_zero(v);
  bool all = LLVMIsConstant(v);
  for (unsigned i = 0; all && i < LLVMGetVectorSize(type); i++) all = is_minus_zero(LLVMGetAggregateElement(v, i));
  return all;
}

static LLVMValueRef fused(sci_llvm_emitter *e, LLVMBuilderRef b, LLVMValueRef *x) {
  if (is_nothing(x[2])) return LLVMBuildFMul(b, x[0], x[1], "");
  if (e->program->target.fast_fma) return same_type(e, b, "llvm.fma", x, 3);
  return LLVMBuildFAdd(b, LLVMBuildFMul(b, x[0], x[1], ""), x[2], "");
}

static LLVMValueRef by_name(sci_llvm_emitter *e, LLVMBuilderRef b, sci_op op, sc_dtype from, sc_dtype to,
                            LLVMValueRef *x) {
  bool is_float = sci_is_float(from);
  switch ((int)op) {
  case SCI_OP_neg: return is_float ? LLVMBuildFNeg(b, x[0], "") : LLVMBuildSub(b, integer(x[0], 0), x[0], "");
  case SCI_OP_div: return is_float ? LLVMBuildFDiv(b, x[0], x[1], "") : divide(b, x[0], x[1], false);
  case SCI_OP_fmod: return is_float ? call(e, b, op, "fmod", from, x, 2) : divide(b, x[0], x[1], true);
  case SCI_OP_abs:
    if (is_float) return same_type(e, b, "llvm.fabs", x, 1);
    return intrinsic(e, b, "llvm.abs", (LLVMTypeRef[]){LLVMTypeOf(x[0])}, 1,
                     (LLVMValueRef[]){x[0], LLVMConstInt(e->types[SC_BOOL], 0, 0)}, 2);
  case SCI_OP_sign: return sign(b, is_float, x[0]);
  case SCI_OP_minimum: return extremum(b, is_float, false, x[0], x[1]);
  case SCI_OP_maximum: return extremum(b, is_float, true, x[0], x[1]);
  case SCI_OP_isfinite:
    return LLVMBuildFCmp(b, LLVMRealOLT, same_type(e, b, "llvm.fabs", x, 1), number(x[0], INFINITY), "");
  case SCI_OP_isnan: return LLVMBuildFCmp(b, LLVMRealUNO, x[0], x[0], "");
  case SCI_OP_not: return LLVMBuildNot(b, x[0], "");
  case SCI_OP_select: return LLVMBuildSelect(b, x[0], chosen(b, x[1]), chosen(b, x[2]), "");
  case SCI_OP_cast: return cast(e, b, from, to, x[0]);
  case SCI_OP_fma: return fused(e, b, x);
  }
  return NULL; /* a row that says L_X and has no case: the unit test over all rows catches it */
}

LLVMValueRef sci_llvm_op(sci_llvm_emitter *e, LLVMBuilderRef b, sci_op op, sc_dtype from, sc_dtype to,
                         LLVMValueRef *x) {
  bool is_float = sci_is_float(from);
  unsigned arity = sci_ops[op].arity;
  switch ((spelling)spellings[op].how) {
  case BIN:
    return LLVMBuildBinOp(b, (LLVMOpcode)(is_float ? spellings[op].floats : spellings[op].integers), x[0], x[1], "");
  case CALL: return call(e, b, op, spellings[op].name, from, x, arity);
  case INTR: return same_type(e, b, spellings[op].name, x, arity);
  case CMP:
    if (is_float) return LLVMBuildFCmp(b, (LLVMRealPredicate)spellings[op].floats, x[0], x[1], "");
    return LLVMBuildICmp(b, (LLVMIntPredicate)spellings[op].integers, x[0], x[1], "");
  case BY_NAME: return by_name(e, b, op, from, to, x);
  }
  return NULL;
}
