/* Owns math functions of vectors: which routine is called, on as many lanes as it takes. */
#include "backends/llvm/llvm.h"

LLVMValueRef sci_llvm_by_lane(sci_llvm_emitter *e, LLVMBuilderRef b, const char *name, LLVMTypeRef type,
                              LLVMValueRef *args, unsigned n) {
  LLVMValueRef all = LLVMGetPoison(LLVMTypeOf(args[0])), one[3];
  for (unsigned lane = 0; lane < LLVMGetVectorSize(LLVMTypeOf(args[0])); lane++) {
    LLVMValueRef at = LLVMConstInt(e->i32, lane, false);
    for (unsigned i = 0; i < n; i++) one[i] = LLVMBuildExtractElement(b, args[i], at, "");
    all = LLVMBuildInsertElement(b, all, sci_llvm_call_routine(e, b, name, type, one, n), at, "");
  }
  return all;
}

LLVMValueRef sci_llvm_lane_call(sci_llvm_emitter *e, LLVMBuilderRef b, sci_op op, sc_dtype dtype, LLVMValueRef *args,
                                unsigned n) {
  sci_vector_routine r;
  uint32_t width = LLVMGetVectorSize(LLVMTypeOf(args[0]));
  const sc_program *p = e->program;
  if (!sci_vector_routine_find(&p->vector, p->target.isa, (int)op, dtype, (int)width, &r)) return NULL;
  LLVMTypeRef v = LLVMVectorType(e->types[dtype], r.lanes), operands[] = {v, v, v};
  LLVMTypeRef type = LLVMFunctionType(v, operands, n, false);
  LLVMValueRef parts[16], of[3];
  uint32_t calls = width / r.lanes, size = r.lanes;
  for (uint32_t k = 0; k < calls; k++) {
    for (unsigned i = 0; i < n; i++) of[i] = calls > 1 ? sci_llvm_part(e, b, args[i], k * size, size) : args[i];
    parts[k] = sci_llvm_call_routine(e, b, r.name, type, of, n);
  }
  for (; calls > 1; calls /= 2, size *= 2)
    for (uint32_t k = 0; k < calls / 2; k++) parts[k] = sci_llvm_joined(e, b, parts[2 * k], parts[2 * k + 1], size);
  return parts[0];
}
