/* Owns the elements of private memory that are known between two loops or calls: partial sums of one chunk of lanes,
 * arguments of a math routine. They are stored all the same, but a load that follows takes the value: without IR passes
 * LLVM would go through memory, and a vector that is loaded where scalars were stored waits for them. */
#include "backends/llvm/llvm.h"

enum { MOST = 64 };

/* The first element of an access in its storage; false: not a known one, or not private memory of floats. */
static bool place_of(const sci_llvm_emitter *e, const sci_stmt *st, sci_buf *storage, int64_t *element) {
  sci_affine f;
  const sci_buffer *b = &e->store->bufs[st->buf];
  *storage = sci_storage(e->store, st->buf, element);
  if (e->store->bufs[*storage].space != SCI_SPACE_PRIVATE || (b->dtype != SC_FLOAT64 && b->dtype != SC_FLOAT32))
    return false;
  if (e->lane_at || !sci_affine_of(e->store, st->index, &f) || f.n > 1) return false;
  *element += f.constant;
  if (!f.n) return true;
  const sci_value *v = sci_value_at(e->store, f.terms[0].term);
  if (e->chunk == SCI_NIL || v->kind != SCI_V_VAR || v->args[0] != e->chunk) return false;
  *element += f.terms[0].coefficient * e->chunk_start;
  return true;
}

static void forget(sci_llvm_emitter *e, sci_buf storage) {
  size_t n = 0;
  for (size_t i = 0; i < e->kept.n; i++)
    if (e->kept.data[i].storage != storage) e->kept.data[n++] = e->kept.data[i];
  e->kept.n = n;
}

static void forget_element(sci_llvm_emitter *e, sci_buf storage, int64_t element) {
  for (size_t i = 0; i < e->kept.n; i++) {
    sci_llvm_kept *k = &e->kept.data[i];
    if (k->storage == storage && k->element == element) *k = e->kept.data[--e->kept.n];
  }
}

void sci_llvm_keep(sci_llvm_emitter *e, const sci_stmt *store, LLVMValueRef value, uint32_t lanes) {
  sci_buf storage;
  int64_t element;
  if (!place_of(e, store, &storage, &element) || !value) {
    forget(e, storage);
    return;
  }
  if (e->kept.n + lanes > MOST) e->kept.n = 0;
  for (uint32_t i = 0; i < lanes; i++) {
    forget_element(e, storage, element + i);
    sci_vec_push(&e->env->scratch, &e->kept, (sci_llvm_kept){storage, element + i, value, i});
  }
}

static const sci_llvm_kept *find(const sci_llvm_emitter *e, sci_buf storage, int64_t element) {
  for (size_t i = e->kept.n; i-- > 0;)
    if (e->kept.data[i].storage == storage && e->kept.data[i].element == element) return &e->kept.data[i];
  return NULL;
}

static bool is_vector(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

LLVMValueRef sci_llvm_kept_value(sci_llvm_emitter *e, const sci_stmt *load, uint32_t lanes) {
  LLVMBuilderRef b = sci_llvm_builder(e);
  const sci_llvm_kept *of[16] = {NULL};
  sci_buf storage;
  int64_t element;
  bool scalars = true, vector = true;
  if (!e->kept.n || !place_of(e, load, &storage, &element)) return NULL;
  for (uint32_t i = 0; i < lanes; i++) {
    of[i] = find(e, storage, element + i);
    if (!of[i]) return NULL;
    scalars &= !is_vector(of[i]->value);
    vector &= of[i]->value == of[0]->value && of[i]->lane == i;
  }
  LLVMValueRef value = of[0]->value;
  if (lanes == 1)
    return is_vector(value) ? LLVMBuildExtractElement(b, value, LLVMConstInt(e->i32, of[0]->lane, false), "") : value;
  if (vector && is_vector(value) && LLVMGetVectorSize(LLVMTypeOf(value)) == lanes) return value;
  if (!scalars) return NULL;
  LLVMValueRef all = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(value), lanes));
  for (uint32_t i = 0; i < lanes; i++)
    all = LLVMBuildInsertElement(b, all, of[i]->value, LLVMConstInt(e->i32, i, false), "");
  return all;
}
