/* Owns statements: loads, stores, assignments, calls, and loops with their loop-carried names. */
#include "backends/llvm/llvm.h"
#include "lib/program/walk.h"

static uint32_t level(const sci_llvm_emitter *e) {
  return (uint32_t)e->depth - 1;
}

/* A mutable name is never "available elsewhere": what is computed from it belongs to the present epoch. */
void sci_llvm_set_name(sci_llvm_emitter *e, sci_name n, LLVMValueRef value) {
  bool is_mutable = e->store->names[n].is_mutable;
  if (is_mutable) e->epoch++;
  bool varies = e->width && n < e->lanes.n_names && e->lanes.name[n];
  if (varies && LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMVectorTypeKind)
    value = sci_llvm_splat(e, sci_llvm_builder(e), value);
  e->names[n] = (sci_llvm_slot){value, e->scopes.data[level(e)].id, level(e), is_mutable, NULL};
}

static void decorate(const sci_llvm_emitter *e, LLVMValueRef value, const char *hint) {
  if (e->names_shown && hint && LLVMIsAInstruction(value)) LLVMSetValueName2(value, hint, strlen(hint));
}

/* Storages that share no memory are told apart by scopes: an access is in its storage's and in none of the others'. */
void sci_llvm_mark(sci_llvm_emitter *e, LLVMValueRef access, const sci_llvm_storage *storage) {
  if (e->groups < 2) return;
  const sci_llvm_group *g = sci_llvm_group_of(e, storage->group);
  LLVMSetMetadata(access, e->md_scope, g->scope);
  LLVMSetMetadata(access, e->md_noalias, g->others);
}

void sci_llvm_check(sci_llvm_emitter *e, LLVMValueRef at, uint64_t bytes, uint32_t n, bool store) {
  if (!e->asan) return;
  LLVMBuilderRef b = sci_llvm_builder(e);
  const char *name = store ? "__asan_storeN" : "__asan_loadN";
  LLVMTypeRef operands[] = {e->ptr, e->i64}, type = LLVMFunctionType(LLVMVoidTypeInContext(e->cx), operands, 2, false);
  LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
  if (!f) f = LLVMAddFunction(e->module, name, type);
  for (uint32_t i = 0; i < n; i++) {
    LLVMValueRef by = LLVMConstInt(e->i64, i * bytes, false),
                 one = LLVMBuildGEP2(b, LLVMInt8TypeInContext(e->cx), at, &by, 1, "");
    LLVMBuildCall2(b, type, f, (LLVMValueRef[]){one, LLVMConstInt(e->i64, bytes, false)}, 2, "");
  }
}

static void emit_load(sci_llvm_emitter *e, const sci_stmt *st) {
  sci_llvm_storage storage;
  LLVMBuilderRef b = sci_llvm_builder(e);
  LLVMValueRef kept = sci_llvm_kept_value(e, st, 1);
  if (kept) {
    sci_llvm_set_name(e, st->name, kept);
    return;
  }
  LLVMValueRef at = sci_llvm_address(e, st->buf, st->index, NULL, &storage);
  sc_dtype dtype = (sc_dtype)e->store->bufs[st->buf].dtype;
  sci_llvm_check(e, at, sc_dtype_size(dtype), 1, false);
  LLVMValueRef value = LLVMBuildLoad2(b, e->elements[dtype], at, "");
  LLVMSetAlignment(value, (unsigned)sc_dtype_size(dtype));
  sci_llvm_mark(e, value, &storage);
  if (dtype == SC_BOOL) value = LLVMBuildICmp(b, LLVMIntNE, value, LLVMConstInt(e->elements[SC_BOOL], 0, false), "");
  decorate(e, value, e->store->names[st->name].hint);
  sci_llvm_set_name(e, st->name, value);
}

static void emit_store(sci_llvm_emitter *e, const sci_stmt *st) {
  sci_llvm_storage storage;
  LLVMBuilderRef b = sci_llvm_builder(e);
  LLVMValueRef value = sci_llvm_value(e, st->value);
  LLVMValueRef at = sci_llvm_address(e, st->buf, st->index, NULL, &storage);
  sc_dtype dtype = (sc_dtype)e->store->bufs[st->buf].dtype;
  if (dtype == SC_BOOL) value = LLVMBuildZExt(b, value, e->elements[SC_BOOL], "");
  sci_llvm_keep(e, st, value, 1);
  sci_llvm_check(e, at, sc_dtype_size(dtype), 1, true);
  LLVMValueRef store = LLVMBuildStore(b, value, at);
  LLVMSetAlignment(store, (unsigned)sc_dtype_size(dtype));
  sci_llvm_mark(e, store, &storage);
}

/* An immutable name is its value, wherever that was computed. */
static void emit_assign(sci_llvm_emitter *e, const sci_stmt *st) {
  sci_llvm_slot slot = sci_llvm_slot_of(e, st->value);
  if (e->store->names[st->name].is_mutable || slot.epoch) {
    sci_llvm_set_name(e, st->name, slot.value);
  } else {
    decorate(e, slot.value, e->store->names[st->name].hint);
    e->names[st->name] = slot;
  }
}

static void emit_call(sci_llvm_emitter *e, const sci_call *call) {
  e->kept.n = 0;
  const sci_proc *callee = e->program->procs[call->proc];
  LLVMValueRef *args = SCI_ARRAY(&e->env->scratch, LLVMValueRef, call->n + 1);
  unsigned n = call->n;
  for (uint32_t i = 0; i < call->n; i++) {
    sci_llvm_storage storage;
    args[i] = sci_llvm_address(e, call->views[i].buf, call->views[i].index, NULL, &storage);
  }
  if (callee->workspace_total) {
    LLVMValueRef self = LLVMConstInt(e->i64, (uint64_t)e->program->procs[e->proc - 1]->workspace_self, false);
    args[n++] = LLVMBuildInBoundsGEP2(sci_llvm_builder(e), LLVMInt8TypeInContext(e->cx), e->workspace, &self, 1, "");
  }
  LLVMBuildCall2(sci_llvm_builder(e), e->proc_types[call->proc], e->procs[call->proc], args, n, "");
}

/* ---- loops ---- */

typedef struct carried {
  sci_name name;
  LLVMValueRef phi, before;
} carried;
typedef SCI_VEC(carried) carried_list;

/* The names from outside that the block changes: those assigned in it that have a value already. A body may be spelled
 * several times, so what it declares has none. */
static void find_carried(sci_llvm_emitter *e, sci_block block, carried_list *list) {
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    if (st->kind == SCI_S_LOOP) find_carried(e, st->loop->body, list);
    if (st->kind != SCI_S_ASSIGN) continue;
    if (st->declare) e->names[st->name].value = NULL;
    bool known = !e->names[st->name].value;
    for (size_t k = 0; k < list->n && !known; k++) known = list->data[k].name == st->name;
    if (!known) sci_vec_push(&e->env->scratch, list, (carried){st->name, NULL, e->names[st->name].value});
  }
}

static void hand_out(sci_llvm_emitter *e, const carried_list *list) {
  for (size_t i = 0; i < list->n; i++) sci_llvm_set_name(e, list->data[i].name, e->names[list->data[i].name].value);
}

/* A body that runs once needs no loop. */
static void emit_once(sci_llvm_emitter *e, const sci_loop *l) {
  e->vars[l->var] = (sci_llvm_slot){.value = LLVMConstInt(e->i64, (uint64_t)l->start, true)};
  sci_llvm_emit_block(e, l->body);
}

static LLVMValueRef smaller(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, x, y, ""), x, y, "");
}

/* Where a trip's iteration is: the loop's variable, but for the last chunk of a loop in lanes. */
typedef struct chunks {
  int64_t last; /* overlapping: where the last chunk starts; -1: wherever the variable is */
  bool all_masked;
  int64_t end; /* of the loop's iterations */
} chunks;

/* The lanes past the last iteration do what that one does. */
static void clamp_lanes(sci_llvm_emitter *e, const sci_loop *l, const chunks *c, LLVMValueRef at) {
  LLVMBuilderRef b = sci_llvm_builder(e);
  int64_t step = l->step / e->width;
  e->lane_at = SCI_ARRAY(&e->env->scratch, LLVMValueRef, e->width);
  LLVMValueRef left = LLVMBuildSub(b, LLVMConstInt(e->i64, (uint64_t)(c->end - step), true), at, "");
  if (step != 1) left = LLVMBuildSDiv(b, left, LLVMConstInt(e->i64, (uint64_t)step, false), "");
  for (uint32_t i = 0; i < e->width; i++)
    e->lane_at[i] = i ? smaller(b, LLVMConstInt(e->i64, i, false), left) : LLVMConstInt(e->i64, 0, false);
}

/* One trip, in a scope of its own: the body is spelled again for another. */
static void emit_copy(sci_llvm_emitter *e, const sci_loop *l, LLVMValueRef at) {
  carried_list list = {0};
  find_carried(e, l->body, &list);
  LLVMBuilderRef outer = sci_llvm_builder(e);
  LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(e->cx, e->function, "chunk");
  sci_llvm_scope_open(e, block);
  e->vars[l->var] = (sci_llvm_slot){at, e->scopes.data[level(e)].id, level(e), 0, NULL};
  sci_llvm_emit_block(e, l->body);
  LLVMBasicBlockRef last = LLVMGetInsertBlock(sci_llvm_builder(e));
  sci_llvm_scope_close(e);
  LLVMBuildBr(outer, block);
  LLVMPositionBuilderAtEnd(outer, last);
  hand_out(e, &list);
}

/* A trip at a place that is known. */
static void emit_chunk(sci_llvm_emitter *e, const sci_loop *l, int64_t start) {
  sci_var around = e->chunk;
  int64_t around_start = e->chunk_start;
  e->chunk = l->var;
  e->chunk_start = start;
  emit_copy(e, l, LLVMConstInt(e->i64, (uint64_t)start, true));
  e->chunk = around;
  e->chunk_start = around_start;
}

static LLVMValueRef further(LLVMBuilderRef b, LLVMValueRef at, int64_t by, bool no_wrap) {
  LLVMValueRef k = LLVMConstInt(LLVMTypeOf(at), (uint64_t)by, false);
  LLVMValueRef next = no_wrap ? LLVMBuildNSWAdd(b, at, k, "") : LLVMBuildAdd(b, at, k, "");
  if (no_wrap) LLVMSetNUW(next, true);
  return next;
}

/* The copies of a trip. What one of them has stored, the next one knows by other names. */
static void emit_copies(sci_llvm_emitter *e, const sci_loop *l, LLVMValueRef at, uint32_t copies, bool no_wrap) {
  for (uint32_t i = 0; i < copies; i++) {
    LLVMValueRef here = i ? further(sci_llvm_builder(e), at, l->step * i, no_wrap) : at;
    e->kept.n = 0;
    emit_copy(e, l, here);
  }
}

/* The loop is entered without a test, its trip count being known and not zero; the test is at the end of the body. The
 * block before it stays open while the body is built, so that values of outer scopes can still be added to it. */
static void emit_trips(sci_llvm_emitter *e, const sci_loop *l, int64_t trips, uint32_t copies, const chunks *form) {
  int64_t by = l->step * copies;
  LLVMBuilderRef outer = sci_llvm_builder(e);
  carried_list list = {0};
  sci_var chunk = e->chunk;
  find_carried(e, l->body, &list);
  e->kept.n = 0;
  e->chunk = SCI_NIL;
  LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(e->cx, e->function, "loop");
  sci_llvm_scope_open(e, body);
  LLVMBuilderRef b = sci_llvm_builder(e);
  const char *hint = e->store->vars[l->var].hint;
  LLVMValueRef at = LLVMBuildPhi(b, e->i64, e->names_shown && hint ? hint : "");
  LLVMValueRef first = form && form->last >= 0 ? smaller(b, at, LLVMConstInt(e->i64, (uint64_t)form->last, true)) : at;
  for (size_t i = 0; i < list.n; i++) {
    list.data[i].phi = LLVMBuildPhi(b, LLVMTypeOf(list.data[i].before), "");
    sci_llvm_set_name(e, list.data[i].name, list.data[i].phi);
  }
  e->vars[l->var] = (sci_llvm_slot){first, e->scopes.data[level(e)].id, level(e), 0, NULL};
  if (form && form->all_masked) clamp_lanes(e, l, form, at);
  bool no_wrap = l->start >= 0 && l->stop <= INT64_MAX - by;
  if (copies > 1)
    emit_copies(e, l, first, copies, no_wrap);
  else
    sci_llvm_emit_block(e, l->body);
  if (form && form->all_masked) e->lane_at = NULL; /* a loop inside a masked chunk leaves it masked */
  LLVMValueRef next = further(b, at, by, no_wrap);
  LLVMValueRef end = LLVMConstInt(e->i64, (uint64_t)l->start + (uint64_t)(trips / copies) * (uint64_t)by, true);
  LLVMValueRef done = LLVMBuildICmp(b, LLVMIntEQ, next, end, "");
  LLVMBasicBlockRef last = LLVMGetInsertBlock(b), before = LLVMGetInsertBlock(outer);
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->cx, e->function, "after");
  LLVMBuildCondBr(b, done, after, body);
  LLVMAddIncoming(at, (LLVMValueRef[]){LLVMConstInt(e->i64, (uint64_t)l->start, true), next},
                  (LLVMBasicBlockRef[]){before, last}, 2);
  sci_llvm_scope_close(e);
  for (size_t i = 0; i < list.n; i++) {
    const carried *c = &list.data[i];
    LLVMAddIncoming(c->phi, (LLVMValueRef[]){c->before, e->names[c->name].value}, (LLVMBasicBlockRef[]){before, last},
                    2);
  }
  e->kept.n = 0;
  e->chunk = chunk;
  LLVMBuildBr(outer, body);
  LLVMPositionBuilderAtEnd(outer, after);
  hand_out(e, &list);
}

/* As a loop of several copies a trip, and what is left over behind it; a short loop is all left over. */
static void emit_loop_of(sci_llvm_emitter *e, const sci_loop *l, int64_t trips, uint32_t copies, const chunks *form) {
  int64_t whole = copies < trips ? trips - trips % copies : 0;
  if (whole) emit_trips(e, l, whole, copies, form);
  for (int64_t i = whole; i < trips; i++) emit_chunk(e, l, l->start + i * l->step);
}

/* A chunk of fewer iterations than lanes: those that are left over repeat the last. */
static void emit_rest(sci_llvm_emitter *e, const sci_loop *l, int64_t done, int64_t rest) {
  e->lane_at = SCI_ARRAY(&e->env->scratch, LLVMValueRef, e->width);
  for (uint32_t i = 0; i < e->width; i++)
    e->lane_at[i] = LLVMConstInt(e->i64, i < rest ? i : (uint64_t)rest - 1, false);
  emit_chunk(e, l, l->start + done * l->step);
  e->lane_at = NULL;
}

/* Chunks of `width` iterations; the loop's variable is that of the chunk's first. */
static void emit_chunks(sci_llvm_emitter *e, const sci_loop *l, int64_t width) {
  int64_t trips = sci_loop_trips(l), whole = trips / width, rest = trips % width;
  chunks c = {.last = -1, .end = l->start + trips * l->step};
  sci_loop by_chunk = *l;
  if (!e->has_lanes) sci_lanes_init(&e->lanes, e->store, &e->env->scratch);
  e->has_lanes = true;
  sci_lanes_enter(&e->lanes, l);
  e->width = (uint32_t)width;
  by_chunk.step = l->step * width;
  uint32_t copies = l->tail == SCI_TAIL_ALL ? 1 : sci_llvm_copies(e, l, whole);
  bool overlaps = rest && l->tail == SCI_TAIL_OVERLAP, apart = overlaps && copies > 1;
  if (overlaps && !apart) {
    c.last = l->start + (trips - width) * l->step;
    whole++;
  }
  if (rest && l->tail == SCI_TAIL_ALL) {
    c.all_masked = true;
    whole++;
  }
  by_chunk.stop = l->start + whole * by_chunk.step;
  if (whole == 1)
    emit_chunk(e, l, l->start);
  else
    emit_loop_of(e, &by_chunk, whole, copies, &c);
  if (apart) emit_chunk(e, l, l->start + (trips - width) * l->step);
  if (rest && l->tail == SCI_TAIL_MASKED) emit_rest(e, l, trips - rest, rest);
  e->width = 0;
}

static void emit_loop(sci_llvm_emitter *e, const sci_loop *l) {
  int64_t trips = sci_loop_trips(l);
  int width = sci_loop_lanes(l, e->program->target.lanes);
  if (trips == 0) return;
  if (width > 1)
    emit_chunks(e, l, width);
  else if (trips == 1)
    emit_once(e, l);
  else
    emit_loop_of(e, l, trips, sci_llvm_copies(e, l, trips), NULL);
}

void sci_llvm_emit_block(sci_llvm_emitter *e, sci_block block) {
  sci_runs runs = {0};
  if (e->width) runs = sci_lane_runs(&e->lanes, block);
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    if (e->width && sci_llvm_lane_access(e, block, i, &runs)) continue;
    switch ((sci_stmt_kind)st->kind) {
    case SCI_S_LOAD: emit_load(e, st); break;
    case SCI_S_STORE: emit_store(e, st); break;
    case SCI_S_ASSIGN:
      if (i + 1 < block.n && sci_is_sincos(e->store, st, st + 1)) sci_llvm_sincos(e, st->value, st[1].value);
      emit_assign(e, st);
      break;
    case SCI_S_LOOP: emit_loop(e, st->loop); break;
    case SCI_S_CALL: emit_call(e, st->call); break;
    }
  }
}
