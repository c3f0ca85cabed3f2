/* Owns the module: its types, constant tables, scopes and the order in which a program is spelled. */
#include <llvm-c/Analysis.h>

#include "backends/llvm/llvm.h"

void sci_llvm_scope_open(sci_llvm_emitter *e, LLVMBasicBlockRef block) {
  if (e->depth == e->scopes.n)
    sci_vec_push(&e->env->scratch, &e->scopes, (sci_llvm_scope){LLVMCreateBuilderInContext(e->cx), 0});
  sci_llvm_scope *s = &e->scopes.data[e->depth++];
  s->id = ++e->scope_ids;
  LLVMPositionBuilderAtEnd(s->builder, block);
}

void sci_llvm_scope_close(sci_llvm_emitter *e) {
  e->depth--;
}

/* Tables are bytes: what they hold is told by the loads from them, and a million elements cost one object. */
LLVMValueRef sci_llvm_table(sci_llvm_emitter *e, sci_buf buf) {
  const sci_buffer *b = &e->store->bufs[buf];
  size_t bytes = (size_t)b->size * sc_dtype_size((sc_dtype)b->dtype);
  LLVMValueRef data = LLVMConstStringInContext2(e->cx, bytes ? b->data : "", bytes, true);
  LLVMValueRef g = LLVMAddGlobal(e->module, LLVMTypeOf(data), e->names_shown && b->hint ? b->hint : "table");
  LLVMSetInitializer(g, data);
  LLVMSetGlobalConstant(g, true);
  LLVMSetLinkage(g, LLVMPrivateLinkage);
  LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(g, bytes >= 64 ? 64 : 16);
  return g;
}

void sci_llvm_emitter_free(void *emitter) {
  sci_llvm_emitter *e = emitter;
  if (!sci_llvm_usable()) return; /* LLVM's memory is given up after a fatal error */
  for (size_t i = 0; i < e->scopes.n; i++) LLVMDisposeBuilder(e->scopes.data[i].builder);
  e->scopes.n = 0;
  if (e->is_guest) return;
  if (e->module) LLVMDisposeModule(e->module);
  if (e->cx) LLVMContextDispose(e->cx);
}

/* Runs inside LLVM, so it only takes a note. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
  (void)context;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  sci_llvm_note(text);
  LLVMDisposeMessage(text);
}

static LLVMAttributeRef plain_attribute(sci_llvm_emitter *e, const char *name) {
  return LLVMCreateEnumAttribute(e->cx, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

static void make_types(sci_llvm_emitter *e) {
  LLVMContextRef cx = e->cx;
  e->types[SC_FLOAT64] = LLVMDoubleTypeInContext(cx);
  e->types[SC_FLOAT32] = LLVMFloatTypeInContext(cx);
  e->types[SC_INT64] = e->i64 = LLVMInt64TypeInContext(cx);
  e->types[SC_INT32] = e->i32 = LLVMInt32TypeInContext(cx);
  e->types[SC_BOOL] = LLVMInt1TypeInContext(cx);
  memcpy(e->elements, e->types, sizeof e->elements);
  e->elements[SC_BOOL] = LLVMInt8TypeInContext(cx);
  e->ptr = LLVMPointerTypeInContext(cx, 0);
  for (unsigned i = 0; i < 2; i++) {
    LLVMTypeRef t = e->types[i], operands[] = {t, t, t};
    for (unsigned n = 0; n < 3; n++) e->math_types[i][n] = LLVMFunctionType(t, operands, n, false);
  }
  e->math_attributes[0] = plain_attribute(e, "memory"); /* 0: none */
  e->math_attributes[1] = plain_attribute(e, "nounwind");
  e->math_attributes[2] = plain_attribute(e, "willreturn");
  e->nobuiltin = plain_attribute(e, "nobuiltin");
  e->md_scope = LLVMGetMDKindIDInContext(cx, "alias.scope", 11);
  e->md_noalias = LLVMGetMDKindIDInContext(cx, "noalias", 7);
}

static void make_module(sci_llvm_emitter *e) {
  LLVMContextSetDiscardValueNames(e->cx, !e->names_shown);
  LLVMContextSetDiagnosticHandler(e->cx, on_diagnostic, NULL);
  e->module = LLVMModuleCreateWithNameInContext(e->program->name, e->cx);
  LLVMSetTarget(e->module, e->target->triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(e->target->machine);
  LLVMSetModuleDataLayout(e->module, layout);
  LLVMDisposeTargetData(layout);
}

sci_llvm_emitter *sci_llvm_emit(sci_env *env, const sci_program *p, const sci_llvm_machine *target, const char *symbol,
                                sci_llvm_style style, const sci_llvm_emitter *into) {
  sci_arena *scratch = &env->scratch;
  sci_llvm_emitter *e = SCI_NEW(scratch, sci_llvm_emitter);
  e->env = env;
  e->program = p;
  e->store = p->store;
  e->target = target;
  e->names_shown = style == SCI_LLVM_NAMES;
  e->asan = style == SCI_LLVM_ASAN;
  e->epoch = 1;
  e->procs = SCI_ZEROS(scratch, LLVMValueRef, p->n_procs);
  e->proc_types = SCI_ZEROS(scratch, LLVMTypeRef, p->n_procs);
  e->values = SCI_ZEROS(scratch, sci_llvm_slot, p->store->n_values);
  e->names = SCI_ZEROS(scratch, sci_llvm_slot, p->store->n_names);
  e->vars = SCI_ZEROS(scratch, sci_llvm_slot, p->store->n_vars);
  e->storages = SCI_ZEROS(scratch, sci_llvm_storage, p->store->n_bufs);
  sci_defer(env, sci_llvm_emitter_free, e);
  e->is_guest = into;
  e->cx = into ? into->cx : LLVMContextCreate();
  if (into)
    e->module = into->module;
  else
    make_module(e);
  make_types(e);
  for (uint32_t i = 0; i + 1 < p->n_procs; i++) sci_llvm_emit_proc(e, i);
  sci_llvm_emit_entry(e, symbol);
  return e;
}

void sci_llvm_verify(sci_env *env, LLVMModuleRef module) {
  char *problem = NULL;
  bool invalid = LLVMVerifyModule(module, LLVMReturnStatusAction, &problem);
  if (invalid) sci_llvm_note(problem);
  LLVMDisposeMessage(problem);
  if (invalid) sci_fail(env, SC_ERR_BACKEND, "LLVM: %s", sci_llvm_guard_get()->message);
}
