/* Owns the accesses of loops in lanes: vectors from and to memory, and blocks of consecutive elements by transposition
 * in registers. */
#include "backends/llvm/llvm.h"

static LLVMValueRef i32(const sci_llvm_emitter *e, uint64_t v) {
  return LLVMConstInt(e->i32, v, false);
}

static LLVMTypeRef type_of(const sci_llvm_emitter *e, const sci_stmt *st) {
  return e->elements[e->store->bufs[st->buf].dtype];
}

static unsigned alignment(const sci_llvm_emitter *e, const sci_stmt *st) {
  return (unsigned)sc_dtype_size((sc_dtype)e->store->bufs[st->buf].dtype);
}

static uint32_t elements_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

/* Where a lane's element is, `base` being the first lane's. */
static LLVMValueRef lane_address(sci_llvm_emitter *e, const sci_stmt *st, LLVMValueRef base, int64_t stride,
                                 uint32_t lane, int64_t further) {
  LLVMBuilderRef b = sci_llvm_builder(e);
  LLVMValueRef by = LLVMConstInt(e->i64, (uint64_t)(stride * (int64_t)lane + further), true);
  if (e->lane_at) {
    by = LLVMBuildMul(b, e->lane_at[lane], LLVMConstInt(e->i64, (uint64_t)stride, true), "");
    if (further) by = LLVMBuildAdd(b, by, LLVMConstInt(e->i64, (uint64_t)further, true), "");
  }
  return LLVMBuildGEP2(b, type_of(e, st), base, &by, 1, "");
}

static LLVMValueRef load_from(sci_llvm_emitter *e, const sci_stmt *st, LLVMTypeRef type, LLVMValueRef at,
                              const sci_llvm_storage *storage) {
  sci_llvm_check(e, at, alignment(e, st), elements_of(type), false);
  LLVMValueRef v = LLVMBuildLoad2(sci_llvm_builder(e), type, at, "");
  LLVMSetAlignment(v, alignment(e, st));
  sci_llvm_mark(e, v, storage);
  return v;
}

static void store_to(sci_llvm_emitter *e, const sci_stmt *st, LLVMValueRef value, LLVMValueRef at,
                     const sci_llvm_storage *storage) {
  sci_llvm_check(e, at, alignment(e, st), elements_of(LLVMTypeOf(value)), true);
  LLVMValueRef s = LLVMBuildStore(sci_llvm_builder(e), value, at);
  LLVMSetAlignment(s, alignment(e, st));
  sci_llvm_mark(e, s, storage);
}

/* ---- one element per iteration ---- */

static LLVMValueRef load_one(sci_llvm_emitter *e, const sci_stmt *st, int64_t stride) {
  LLVMBuilderRef b = sci_llvm_builder(e);
  LLVMTypeRef type = LLVMVectorType(type_of(e, st), e->width);
  sci_llvm_storage storage;
  LLVMValueRef base = sci_llvm_address(e, st->buf, st->index, NULL, &storage);
  LLVMValueRef kept = stride == 1 ? sci_llvm_kept_value(e, st, e->width) : NULL;
  if (kept) return kept;
  if (stride == 1 && !e->lane_at) return load_from(e, st, type, base, &storage);
  LLVMValueRef all = LLVMGetPoison(type);
  for (uint32_t i = 0; i < e->width; i++) {
    LLVMValueRef one = load_from(e, st, type_of(e, st), lane_address(e, st, base, stride, i, 0), &storage);
    all = LLVMBuildInsertElement(b, all, one, i32(e, i), "");
  }
  return all;
}

static bool is_vector(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

static LLVMValueRef widened(sci_llvm_emitter *e, LLVMValueRef v) {
  return is_vector(v) ? v : sci_llvm_splat(e, sci_llvm_builder(e), v);
}

static void store_one(sci_llvm_emitter *e, const sci_stmt *st, int64_t stride) {
  LLVMBuilderRef b = sci_llvm_builder(e);
  sci_llvm_storage storage;
  LLVMValueRef value = widened(e, sci_llvm_value(e, st->value)),
               base = sci_llvm_address(e, st->buf, st->index, NULL, &storage);
  sci_llvm_keep(e, st, stride == 1 && !e->lane_at ? value : NULL, e->width);
  if (stride == 1 && !e->lane_at) {
    store_to(e, st, value, base, &storage);
    return;
  }
  for (uint32_t i = 0; i < e->width; i++) {
    LLVMValueRef one = LLVMBuildExtractElement(b, value, i32(e, i), "");
    store_to(e, st, one, lane_address(e, st, base, stride, i, 0), &storage);
  }
}

/* ---- one element of each lane's own memory ---- */

static void access_own(sci_llvm_emitter *e, const sci_stmt *st) {
  LLVMTypeRef type = LLVMVectorType(type_of(e, st), e->width);
  sci_llvm_storage storage;
  LLVMValueRef value = st->kind == SCI_S_STORE ? widened(e, sci_llvm_value(e, st->value)) : NULL;
  LLVMValueRef at = sci_llvm_address(e, st->buf, st->index, type, &storage);
  if (value) sci_llvm_keep(e, st, NULL, 0);
  if (value)
    store_to(e, st, value, at, &storage);
  else
    sci_llvm_set_name(e, st->name, load_from(e, st, type, at, &storage));
}

/* ---- blocks ---- */

/* Swaps row and column numbers bit by bit, in each stretch of `tile` elements on its own. */
static void transpose(sci_llvm_emitter *e, LLVMValueRef *v, uint32_t tile) {
  LLVMBuilderRef b = sci_llvm_builder(e);
  for (uint32_t s = 1; s < tile; s *= 2) {
    for (uint32_t j = 0; j < tile; j++) {
      if (j & s) continue;
      LLVMValueRef low[16], high[16], x = v[j], y = v[j + s];
      for (uint32_t p = 0; p < e->width; p++) {
        low[p] = i32(e, p & s ? e->width + p - s : p);
        high[p] = i32(e, p & s ? e->width + p : p + s);
      }
      v[j] = LLVMBuildShuffleVector(b, x, y, LLVMConstVector(low, e->width), "");
      v[j + s] = LLVMBuildShuffleVector(b, x, y, LLVMConstVector(high, e->width), "");
    }
  }
}

LLVMValueRef sci_llvm_part(sci_llvm_emitter *e, LLVMBuilderRef b, LLVMValueRef v, uint32_t from, uint32_t n) {
  LLVMValueRef mask[16];
  for (uint32_t i = 0; i < n; i++) mask[i] = i32(e, from + i);
  return LLVMBuildShuffleVector(b, v, v, LLVMConstVector(mask, n), "");
}

LLVMValueRef sci_llvm_joined(sci_llvm_emitter *e, LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, uint32_t n) {
  LLVMValueRef mask[16];
  for (uint32_t i = 0; i < 2 * n; i++) mask[i] = i32(e, i);
  return LLVMBuildShuffleVector(b, x, y, LLVMConstVector(mask, 2 * n), "");
}

/* `tile` consecutive elements of each lane, from element k of the run on: lanes j, j + tile, ... side by side in one
 * vector. */
static void load_tile(sci_llvm_emitter *e, const sci_stmt *st, const sci_run *r, uint32_t k, uint32_t tile,
                      LLVMValueRef base, const sci_llvm_storage *storage, LLVMValueRef *out) {
  LLVMTypeRef type = LLVMVectorType(type_of(e, st), tile);
  uint32_t groups = e->width / tile;
  for (uint32_t j = 0; j < tile; j++) {
    LLVMValueRef rows[16];
    for (uint32_t q = 0; q < groups; q++)
      rows[q] = load_from(e, st, type, lane_address(e, st, base, r->access.stride, q * tile + j, k), storage);
    uint32_t size = tile;
    for (uint32_t n = groups; n > 1; n /= 2, size *= 2)
      for (uint32_t q = 0; q < n / 2; q++)
        rows[q] = sci_llvm_joined(e, sci_llvm_builder(e), rows[2 * q], rows[2 * q + 1], size);
    out[j] = rows[0];
  }
  transpose(e, out, tile);
}

/* Every lane stores the same scalars. */
static void store_same(sci_llvm_emitter *e, const sci_stmt *st, const sci_run *r, uint32_t k, uint32_t tile,
                       LLVMValueRef base, const sci_llvm_storage *storage, const LLVMValueRef *values) {
  LLVMValueRef row = LLVMGetPoison(LLVMVectorType(type_of(e, st), tile));
  for (uint32_t j = 0; j < tile; j++)
    row = LLVMBuildInsertElement(sci_llvm_builder(e), row, values[k + j], i32(e, j), "");
  for (uint32_t lane = 0; lane < e->width; lane++)
    store_to(e, st, row, lane_address(e, st, base, r->access.stride, lane, k), storage);
}

static void store_tile(sci_llvm_emitter *e, const sci_stmt *st, const sci_run *r, uint32_t k, uint32_t tile,
                       LLVMValueRef base, const sci_llvm_storage *storage, const LLVMValueRef *values) {
  LLVMValueRef v[16];
  bool any = false;
  for (uint32_t j = 0; j < tile; j++) any |= is_vector(values[k + j]);
  if (!any) {
    store_same(e, st, r, k, tile, base, storage, values);
    return;
  }
  for (uint32_t j = 0; j < tile; j++) v[j] = widened(e, values[k + j]);
  transpose(e, v, tile);
  for (uint32_t j = 0; j < tile; j++)
    for (uint32_t q = 0; q < e->width / tile; q++) {
      LLVMValueRef row = tile == e->width ? v[j] : sci_llvm_part(e, sci_llvm_builder(e), v[j], q * tile, tile);
      store_to(e, st, row, lane_address(e, st, base, r->access.stride, q * tile + j, k), storage);
    }
}

/* The tile for what is left of a run behind element k, at most `most`; it may begin before k. */
static uint32_t tile_for(uint32_t n, uint32_t k, uint32_t most) {
  uint32_t tile = 2;
  while (tile < n - k) tile *= 2;
  while (tile > most || tile > n) tile /= 2;
  return tile;
}

static void load_run(sci_llvm_emitter *e, sci_block block, const sci_runs *runs, const sci_run *r) {
  const uint32_t *order = runs->order + r->first;
  const sci_stmt *first = &block.stmts[order[0]];
  sci_llvm_storage storage;
  LLVMValueRef base = sci_llvm_address(e, first->buf, first->index, NULL, &storage), tile[16];
  uint32_t most =
      e->width > 4 ? e->width / 2 : 2; /* inserting halves from memory is cheaper than another stage of shuffles */
  for (uint32_t k = 0; k < r->n;) {
    uint32_t size = tile_for(r->n, k, most), at = k + size > r->n ? r->n - size : k;
    load_tile(e, first, r, at, size, base, &storage, tile);
    for (; k < at + size; k++) sci_llvm_set_name(e, block.stmts[order[k]].name, tile[k - at]);
  }
}

/* What goes from memory to memory without arithmetic in between, LLVM 19's selection of instructions takes apart and
 * puts together again, for some without an end; it does not look through a freeze, which costs nothing. */
static LLVMValueRef opaque(sci_llvm_emitter *e, LLVMValueRef v) {
  bool moved = LLVMIsALoadInst(v) || LLVMIsAShuffleVectorInst(v) || LLVMIsAInsertElementInst(v);
  return moved ? LLVMBuildFreeze(sci_llvm_builder(e), v, "") : v;
}

static void store_run(sci_llvm_emitter *e, sci_block block, const sci_runs *runs, const sci_run *r) {
  const uint32_t *order = runs->order + r->first;
  const sci_stmt *first = &block.stmts[order[0]];
  sci_llvm_storage storage;
  LLVMValueRef *values = SCI_ARRAY(&e->env->scratch, LLVMValueRef, r->n);
  for (uint32_t k = 0; k < r->n; k++) values[k] = opaque(e, sci_llvm_value(e, block.stmts[order[k]].value));
  sci_llvm_keep(e, first, NULL, 0);
  LLVMValueRef base = sci_llvm_address(e, first->buf, first->index, NULL, &storage);
  for (uint32_t k = 0; k < r->n;) {
    uint32_t size = tile_for(r->n, k, e->width), at = k + size > r->n ? r->n - size : k;
    store_tile(e, first, r, at, size, base, &storage, values);
    k = at + size;
  }
}

bool sci_llvm_lane_access(sci_llvm_emitter *e, sci_block block, uint32_t at, sci_runs *runs) {
  const sci_stmt *st = &block.stmts[at];
  if (st->kind != SCI_S_LOAD && st->kind != SCI_S_STORE) return false;
  sci_access access = sci_access_of(&e->lanes, st->buf, st->index);
  if (access.kind == SCI_ACCESS_UNIFORM) return false;
  uint32_t number = e->lane_at ? 0 : runs->of[at];
  if (access.kind == SCI_ACCESS_OWN) {
    access_own(e, st);
  } else if (number) {
    sci_run *r = &runs->list.data[number - 1];
    if (r->n && st->kind == SCI_S_LOAD) load_run(e, block, runs, r);
    if (r->n && st->kind == SCI_S_STORE) store_run(e, block, runs, r);
    r->n = 0; /* done */
  } else if (st->kind == SCI_S_LOAD) {
    sci_llvm_set_name(e, st->name, load_one(e, st, access.stride));
  } else {
    store_one(e, st, access.stride);
  }
  return true;
}
