/* Owns the evaluation of scalar values: each is computed once, in the outermost scope that has its operands, when first
 * needed.
 *
 * A value of constants, loop variables and immutable names is pure, so it is placed at the end of the outermost open
 * scope where all of them exist (before the loops opened since): that is legal because every loop emitted runs at least
 * once, and no operation traps. A value of a mutable name belongs to the moment it is used; it is kept until such a
 * name changes. */
#include "backends/llvm/llvm.h"

static const sci_llvm_scope *scope_at(const sci_llvm_emitter *e, uint32_t level) {
  return &e->scopes.data[level];
}

static bool available(const sci_llvm_emitter *e, const sci_llvm_slot *slot) {
  if (!slot->value) return false;
  if (!slot->scope) return true;
  if (slot->epoch && slot->epoch != e->epoch) return false;
  return slot->level < e->depth && scope_at(e, slot->level)->id == slot->scope;
}

LLVMValueRef sci_llvm_const(sci_llvm_emitter *e, sc_dtype dtype, uint64_t bits) {
  sci_scalar v = sci_scalar_from_bits(dtype, bits);
  switch (dtype) {
  case SC_FLOAT64: return LLVMConstReal(e->types[dtype], v.f64);
  case SC_FLOAT32: return LLVMConstReal(e->types[dtype], (double)v.f32);
  case SC_INT64: return LLVMConstInt(e->types[dtype], v.bits, false);
  case SC_INT32: return LLVMConstInt(e->types[dtype], (uint32_t)v.i32, false);
  case SC_BOOL: return LLVMConstInt(e->types[dtype], v.b8 != 0, false);
  }
  return NULL;
}

/* The slot of a value that is there, or NULL. Names and variables are always there: the verifier saw their definitions.
 */
static const sci_llvm_slot *find(sci_llvm_emitter *e, sci_val v) {
  const sci_value *x = sci_value_at(e->store, v);
  switch ((sci_value_kind)x->kind) {
  case SCI_V_NAME: return &e->names[x->args[0]];
  case SCI_V_VAR: return &e->vars[x->args[0]];
  case SCI_V_CONST:
    if (!e->values[v].value) e->values[v] = (sci_llvm_slot){.value = sci_llvm_const(e, (sc_dtype)x->dtype, x->bits)};
    return &e->values[v];
  case SCI_V_OP: break;
  }
  return available(e, &e->values[v]) ? &e->values[v] : NULL;
}

LLVMValueRef sci_llvm_splat(sci_llvm_emitter *e, LLVMBuilderRef b, LLVMValueRef scalar) {
  LLVMValueRef lanes[16];
  if (LLVMIsConstant(scalar)) {
    for (uint32_t i = 0; i < e->width; i++) lanes[i] = scalar;
    return LLVMConstVector(lanes, e->width);
  }
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), e->width);
  LLVMValueRef one = LLVMBuildInsertElement(b, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, false), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(e->i32, e->width));
  return LLVMBuildShuffleVector(b, one, LLVMGetPoison(type), zeros, "");
}

static bool is_vector(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

/* Put where the scalar is computed, and kept beside it. */
static LLVMValueRef splat_of(sci_llvm_emitter *e, sci_llvm_slot *slot) {
  bool kept = slot->splat && LLVMGetVectorSize(LLVMTypeOf(slot->splat)) == e->width;
  if (!kept) slot->splat = sci_llvm_splat(e, scope_at(e, slot->scope ? slot->level : 0)->builder, slot->value);
  return slot->splat;
}

static void widen_operands(sci_llvm_emitter *e, const sci_value *x, LLVMValueRef *args) {
  bool any = false;
  unsigned arity = sci_ops[x->op].arity;
  for (unsigned i = 0; i < arity; i++) any |= is_vector(args[i]);
  for (unsigned i = x->op == SCI_OP_select; any && i < arity; i++)
    if (!is_vector(args[i])) args[i] = splat_of(e, (sci_llvm_slot *)(uintptr_t)find(e, x->args[i]));
}

static void compute(sci_llvm_emitter *e, sci_val v) {
  const sci_value *x = sci_value_at(e->store, v);
  unsigned arity = sci_ops[x->op].arity;
  LLVMValueRef args[3] = {NULL, NULL, NULL};
  uint32_t level = 0;
  bool moment = false;
  for (unsigned i = 0; i < arity; i++) {
    const sci_llvm_slot *a = find(e, x->args[i]);
    args[i] = a->value;
    if (a->level > level) level = a->level;
    moment |= a->epoch != 0;
  }
  if (moment) level = (uint32_t)e->depth - 1;
  if (e->width) widen_operands(e, x, args);
  sc_dtype from = (sc_dtype)sci_value_at(e->store, x->args[x->op == SCI_OP_select])->dtype;
  LLVMValueRef value = sci_llvm_op(e, scope_at(e, level)->builder, (sci_op)x->op, from, (sc_dtype)x->dtype, args);
  e->values[v] = (sci_llvm_slot){value, scope_at(e, level)->id, level, moment ? e->epoch : 0, NULL};
}

sci_llvm_slot sci_llvm_slot_of(sci_llvm_emitter *e, sci_val v) {
  const sci_llvm_slot *slot = find(e, v);
  if (slot) return *slot;
  sci_arena *scratch = &e->env->scratch;
  sci_vec_push(scratch, &e->pending, v);
  while (e->pending.n) {
    sci_val top = e->pending.data[e->pending.n - 1];
    const sci_value *x = sci_value_at(e->store, top);
    size_t before = e->pending.n;
    if (!find(e, top)) {
      for (unsigned i = sci_ops[x->op].arity; i-- > 0;)
        if (!find(e, x->args[i])) sci_vec_push(scratch, &e->pending, x->args[i]);
      if (e->pending.n > before) continue;
      compute(e, top);
    }
    e->pending.n--;
  }
  return *find(e, v);
}

/* A place of the function's own for a result that comes through a pointer. */
static LLVMValueRef cell(const sci_llvm_emitter *e, LLVMTypeRef type) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(e->cx);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first)
    LLVMPositionBuilderBefore(b, first);
  else
    LLVMPositionBuilderAtEnd(b, entry);
  LLVMValueRef at = LLVMBuildAlloca(b, type, "");
  LLVMDisposeBuilder(b);
  return at;
}

void sci_llvm_sincos(sci_llvm_emitter *e, sci_val sine, sci_val cosine) {
  sci_val v[] = {sine, cosine};
  if (find(e, sine) || find(e, cosine)) return;
  const sci_value *x = sci_value_at(e->store, sine);
  sci_llvm_slot angle = sci_llvm_slot_of(e, x->args[0]);
  if (is_vector(angle.value) || LLVMIsConstant(angle.value)) return;
  uint32_t level = angle.epoch ? (uint32_t)e->depth - 1 : angle.level;
  LLVMBuilderRef b = scope_at(e, level)->builder;
  LLVMTypeRef type = e->types[x->dtype], operands[] = {type, e->ptr, e->ptr};
  LLVMTypeRef of = LLVMFunctionType(LLVMVoidTypeInContext(e->cx), operands, 3, false);
  const char *name = x->dtype == SC_FLOAT32 ? "sincosf" : "sincos";
  LLVMValueRef f = LLVMGetNamedFunction(e->module, name), args[] = {angle.value, cell(e, type), cell(e, type)};
  if (!f) f = LLVMAddFunction(e->module, name, of);
  LLVMAddCallSiteAttribute(LLVMBuildCall2(b, of, f, args, 3, ""), SCI_LLVM_FUNCTION, e->nobuiltin);
  for (int i = 0; i < 2; i++) {
    LLVMValueRef value = LLVMBuildLoad2(b, type, args[i + 1], "");
    e->values[v[i]] = (sci_llvm_slot){value, scope_at(e, level)->id, level, angle.epoch ? e->epoch : 0, NULL};
  }
}

LLVMValueRef sci_llvm_value(sci_llvm_emitter *e, sci_val v) {
  return sci_llvm_slot_of(e, v).value;
}

/* A constant last summand stays apart, so that code generation finds it as a displacement of an address it shares. */
static int64_t split_constant(const sci_llvm_emitter *e, sci_val *index) {
  const sci_value *x = sci_value_at(e->store, *index);
  if (x->kind == SCI_V_CONST) {
    *index = SCI_NIL;
    return (int64_t)x->bits;
  }
  if (x->kind != SCI_V_OP || (x->op != SCI_OP_add && x->op != SCI_OP_sub) || !sci_val_is_const(e->store, x->args[1]))
    return 0;
  *index = x->args[0];
  int64_t k = (int64_t)sci_value_at(e->store, x->args[1])->bits;
  return x->op == SCI_OP_add ? k : -k;
}

LLVMValueRef sci_llvm_address(sci_llvm_emitter *e, sci_buf buf, sci_val index, LLVMTypeRef element,
                              sci_llvm_storage *storage) {
  int64_t offset;
  sci_buf owner = sci_storage(e->store, buf, &offset);
  if (!e->storages[owner].base)
    e->storages[owner].base = sci_llvm_table(e, owner); /* everything else is bound by its procedure */
  *storage = e->storages[owner];
  LLVMBuilderRef b = sci_llvm_builder(e);
  LLVMValueRef at = storage->base, i;
  if (!element) element = e->elements[e->store->bufs[owner].dtype];
  if (index != SCI_NIL) offset += split_constant(e, &index);
  if (index == SCI_NIL) {
    if (!offset) return at;
    i = LLVMConstInt(e->i64, (uint64_t)offset, true);
    return LLVMBuildInBoundsGEP2(b, element, at, &i, 1, "");
  }
  i = sci_llvm_value(e, index);
  if (!offset) return LLVMBuildInBoundsGEP2(b, element, at, &i, 1, "");
  at = LLVMBuildGEP2(b, element, at, &i, 1, ""); /* may leave the buffer before the constant brings it back */
  i = LLVMConstInt(e->i64, (uint64_t)offset, true);
  return LLVMBuildGEP2(b, element, at, &i, 1, "");
}
