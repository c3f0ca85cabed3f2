/* Owns procedures: their signatures, where each buffer's storage is, and which storages can share memory. */
#include <stdlib.h>

#include "backends/llvm/llvm.h"

enum { READ_ONLY = 0 }; /* the group of inputs and constants, which nobody writes */

static void bind(sci_llvm_emitter *e, sci_buf buf, LLVMValueRef base, uint32_t group) {
  e->storages[buf] = (sci_llvm_storage){base, group};
}

static LLVMValueRef bytes_after(sci_llvm_emitter *e, LLVMValueRef base, int64_t offset) {
  LLVMValueRef i = LLVMConstInt(e->i64, (uint64_t)offset, false);
  return offset ? LLVMBuildInBoundsGEP2(sci_llvm_builder(e), LLVMInt8TypeInContext(e->cx), base, &i, 1, "") : base;
}

/* ---- groups ---- */

static LLVMMetadataRef text(sci_llvm_emitter *e, const char *s) {
  return LLVMMDStringInContext2(e->cx, s, strlen(s));
}

static LLVMMetadataRef own_scope(sci_llvm_emitter *e, uint32_t group) {
  sci_llvm_group *g = &e->group[group];
  if (g->own) return g->own;
  const char *proc = e->program->procs[e->proc - 1]->name;
  LLVMMetadataRef domain = text(e, proc), name = text(e, sci_asprintf(&e->env->scratch, "%s.%u", proc, group));
  domain = LLVMMDNodeInContext2(e->cx, &domain, 1);
  return g->own = LLVMMDNodeInContext2(e->cx, (LLVMMetadataRef[]){name, domain}, 2);
}

const sci_llvm_group *sci_llvm_group_of(sci_llvm_emitter *e, uint32_t group) {
  sci_llvm_group *g = &e->group[group];
  if (g->scope) return g;
  LLVMMetadataRef own = own_scope(e, group), others[SCI_LLVM_GROUPS];
  size_t n = 0;
  for (uint32_t i = 0; i < e->groups; i++)
    if (i != group) others[n++] = own_scope(e, i);
  g->scope = LLVMMetadataAsValue(e->cx, LLVMMDNodeInContext2(e->cx, &own, 1));
  g->others = LLVMMetadataAsValue(e->cx, LLVMMDNodeInContext2(e->cx, others, n));
  return g;
}

/* ---- private storage ---- */

typedef struct slot {
  const sci_local *local;
  int64_t start, stop; /* bytes, of its slot area */
  uint32_t index;
} slot;

static int by_place(const void *pa, const void *pb) {
  const slot *a = pa, *b = pb;
  if (a->local->in_workspace != b->local->in_workspace) return a->local->in_workspace ? 1 : -1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->index < b->index ? -1 : 1;
}

static LLVMValueRef on_stack(sci_llvm_emitter *e, int64_t bytes, const char *hint) {
  LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(e->cx), (uint64_t)bytes);
  LLVMValueRef a = LLVMBuildAlloca(sci_llvm_builder(e), type, e->names_shown && hint ? hint : "");
  LLVMSetAlignment(a, bytes >= 64 ? 64 : 16);
  return a;
}

/* Slots that overlap, because their buffers' lives do not, make one storage; separate ones are separate, which is what
 * alias analysis can use. Buffers that no pass has packed get a slot each. */
static uint32_t bind_locals(sci_llvm_emitter *e, const sci_proc *p, uint32_t group) {
  slot *slots = SCI_ARRAY(&e->env->scratch, slot, p->n_locals);
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_locals; i++) {
    const sci_local *l = &p->locals[i];
    const sci_buffer *b = &e->store->bufs[l->buf];
    int64_t bytes = b->size * sci_local_unit(e->store, l);
    if (bytes == 0)
      bind(e, l->buf, LLVMConstNull(e->ptr), READ_ONLY);
    else if (l->offset < 0)
      bind(e, l->buf, on_stack(e, bytes, b->hint), group++);
    else
      slots[n++] = (slot){l, l->offset, l->offset + bytes, i};
  }
  qsort(slots, n, sizeof *slots, by_place);
  for (uint32_t i = 0; i < n;) {
    bool in_workspace = slots[i].local->in_workspace;
    int64_t start = slots[i].start, stop = slots[i].stop;
    uint32_t k = i + 1;
    for (; k < n && slots[k].local->in_workspace == in_workspace && slots[k].start < stop; k++)
      if (slots[k].stop > stop) stop = slots[k].stop;
    const char *hint = k == i + 1 ? e->store->bufs[slots[i].local->buf].hint : NULL;
    LLVMValueRef base = in_workspace ? bytes_after(e, e->workspace, start) : on_stack(e, stop - start, hint);
    for (; i < k; i++) bind(e, slots[i].local->buf, bytes_after(e, base, slots[i].start - start), group);
    group++;
  }
  return group;
}

/* ---- functions ---- */

static bool has_values(const sci_llvm_emitter *e, sci_buf buf) {
  return e->store->bufs[buf].size > 0;
}

static LLVMAttributeRef attribute(sci_llvm_emitter *e, const char *name, uint64_t value) {
  return LLVMCreateEnumAttribute(e->cx, LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
}

static void add_text_attribute(sci_llvm_emitter *e, LLVMValueRef f, const char *key, const char *value) {
  LLVMAttributeRef a = LLVMCreateStringAttribute(e->cx, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(f, SCI_LLVM_FUNCTION, a);
}

/* Frame pointers keep the stack aligned for vector spills and make backtraces work; nothing here ever unwinds. */
static LLVMValueRef begin(sci_llvm_emitter *e, const char *name, LLVMTypeRef type) {
  e->kept.n = 0;
  e->chunk = SCI_NIL;
  LLVMValueRef f = LLVMAddFunction(e->module, name, type);
  LLVMAddAttributeAtIndex(f, SCI_LLVM_FUNCTION, attribute(e, "nounwind", 0));
  add_text_attribute(e, f, "frame-pointer", "all");
  add_text_attribute(e, f, "target-cpu", e->target->cpu);
  if (e->target->features[0]) add_text_attribute(e, f, "target-features", e->target->features);
  if (e->program->target.lanes == 8) { /* else code for Intel servers keeps to half the width */
    add_text_attribute(e, f, "prefer-vector-width", "512");
    add_text_attribute(e, f, "min-legal-vector-width", "512");
  }
  e->function = f;
  e->groups = READ_ONLY + 1;
  memset(e->group, 0, sizeof e->group);
  sci_llvm_scope_open(e, LLVMAppendBasicBlockInContext(e->cx, f, "entry"));
  return f;
}

static void finish_groups(sci_llvm_emitter *e, uint32_t n) {
  e->groups = n <= SCI_LLVM_GROUPS ? n : 0;
}

void sci_llvm_emit_proc(sci_llvm_emitter *e, uint32_t index) {
  const sci_proc *p = e->program->procs[index];
  uint32_t n_params = p->n_in + p->n_out, n = n_params + (p->workspace_total > 0);
  LLVMTypeRef *types = SCI_ARRAY(&e->env->scratch, LLVMTypeRef, n);
  for (uint32_t i = 0; i < n; i++) types[i] = e->ptr;
  e->proc_types[index] = LLVMFunctionType(LLVMVoidTypeInContext(e->cx), types, n, false);
  e->proc = index + 1;
  LLVMValueRef f = begin(e, sci_asprintf(&e->env->scratch, "%s.raw", p->name), e->proc_types[index]);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  e->procs[index] = f;
  uint32_t group = READ_ONLY + 1;
  for (uint32_t i = 0; i < n; i++) {
    LLVMValueRef param = LLVMGetParam(f, i);
    LLVMAddAttributeAtIndex(f, i + 1, attribute(e, "noalias", 0));
    if (i < p->n_in) LLVMAddAttributeAtIndex(f, i + 1, attribute(e, "readonly", 0));
    const char *hint = i < n_params ? e->store->bufs[p->params[i]].hint : "w";
    if (e->names_shown && hint) LLVMSetValueName2(param, hint, strlen(hint));
    if (i == n_params)
      e->workspace = param;
    else
      bind(e, p->params[i], param, i < p->n_in ? READ_ONLY : group++);
  }
  finish_groups(e, bind_locals(e, p, group));
  sci_llvm_emit_block(e, p->body);
  LLVMBuildRetVoid(sci_llvm_builder(e));
  sci_llvm_scope_close(e);
}

/* ---- the entry: the five-argument interface, its checks in the order of the exported C ---- */

enum { ARG, RES, IW, W, MEM };

/* Goes on in a new block unless `pointer` is null; then the function returns `code`. */
static void check(sci_llvm_emitter *e, LLVMValueRef pointer, int code, LLVMBasicBlockRef *exits) {
  LLVMBuilderRef b = sci_llvm_builder(e);
  if (!exits[code]) exits[code] = LLVMCreateBasicBlockInContext(e->cx, "fail");
  LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(e->cx, e->function, "checked");
  LLVMBuildCondBr(b, LLVMBuildIsNull(b, pointer, ""), exits[code], next);
  LLVMPositionBuilderAtEnd(b, next);
}

static LLVMValueRef port(sci_llvm_emitter *e, LLVMValueRef array, uint32_t i) {
  LLVMValueRef k = LLVMConstInt(e->i64, i, false);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(sci_llvm_builder(e), e->ptr, array, &k, 1, "");
  sci_llvm_check(e, at, sizeof(void *), 1, false);
  return LLVMBuildLoad2(sci_llvm_builder(e), e->ptr, at, "");
}

static void bind_ports(sci_llvm_emitter *e, const sci_proc *p, LLVMBasicBlockRef *exits) {
  for (uint32_t i = 0; i < p->n_in + p->n_out; i++) {
    sci_buf buf = p->params[i];
    bool in = i < p->n_in;
    uint32_t group = in ? READ_ONLY : READ_ONLY + 1 + i - p->n_in;
    if (!has_values(e, buf)) {
      bind(e, buf, LLVMConstNull(e->ptr), group);
      continue;
    }
    LLVMValueRef pointer = port(e, LLVMGetParam(e->function, in ? ARG : RES), in ? i : i - p->n_in);
    const char *hint = e->store->bufs[buf].hint;
    if (e->names_shown && hint) LLVMSetValueName2(pointer, hint, strlen(hint));
    check(e, pointer, in ? SC_KERNEL_ERR_NULL_INPUT : SC_KERNEL_ERR_NULL_RESULT, exits);
    bind(e, buf, pointer, group);
  }
}

static void name_entry_parameters(sci_llvm_emitter *e) {
  static const char *const names[] = {"arg", "res", "iw", "w", "mem"};
  for (unsigned i = 0; i <= MEM; i++) LLVMSetValueName2(LLVMGetParam(e->function, i), names[i], strlen(names[i]));
}

void sci_llvm_emit_entry(sci_llvm_emitter *e, const char *symbol) {
  const sci_proc *p = sci_entry(e->program);
  LLVMTypeRef types[] = {[ARG] = e->ptr, [RES] = e->ptr, [IW] = e->ptr, [W] = e->ptr, [MEM] = e->i32};
  e->proc = e->program->n_procs;
  LLVMValueRef f = begin(e, symbol, LLVMFunctionType(e->i32, types, MEM + 1, false));
  if (e->names_shown) name_entry_parameters(e);
  e->workspace = LLVMGetParam(f, W);
  /* Stack slots first: only those of the function's first block have a fixed place. */
  finish_groups(e, bind_locals(e, p, READ_ONLY + 1 + p->n_out));
  LLVMBasicBlockRef exits[SC_KERNEL_ERR_NULL_INPUT + 1] = {NULL};
  check(e, LLVMGetParam(f, ARG), SC_KERNEL_ERR_NULL_ABI, exits);
  check(e, LLVMGetParam(f, RES), SC_KERNEL_ERR_NULL_ABI, exits);
  if (p->workspace_total) check(e, e->workspace, SC_KERNEL_ERR_NULL_WORK, exits);
  bind_ports(e, p, exits);
  sci_llvm_emit_block(e, p->body);
  LLVMBuilderRef b = sci_llvm_builder(e);
  LLVMBuildRet(b, LLVMConstInt(e->i32, SC_KERNEL_SUCCESS, false));
  for (int code = 0; code <= SC_KERNEL_ERR_NULL_INPUT; code++) {
    if (!exits[code]) continue;
    LLVMAppendExistingBasicBlock(f, exits[code]);
    LLVMPositionBuilderAtEnd(b, exits[code]);
    LLVMBuildRet(b, LLVMConstInt(e->i32, (unsigned)code, false));
  }
  sci_llvm_scope_close(e);
}
