/* Owns block building: statements collected in the scratch arena, then copied into the store. */
#include "lib/program/program.h"

void sci_block_begin(sci_block_builder *b, sci_store *s) {
  *b = (sci_block_builder){.scratch = &s->env->scratch};
}

void sci_emit(sci_block_builder *b, sci_stmt st) {
  sci_vec_push(b->scratch, &b->stmts, st);
}

sci_val sci_emit_load(sci_block_builder *b, sci_store *s, sci_buf buf, sci_val index, const char *hint) {
  sci_name n = sci_new_name(s, (sc_dtype)s->bufs[buf].dtype, false, hint);
  sci_emit(b, (sci_stmt){.kind = SCI_S_LOAD, .declare = 1, .name = n, .buf = buf, .index = index, .value = SCI_NIL});
  return sci_val_name(s, n);
}

void sci_emit_store(sci_block_builder *b, sci_buf buf, sci_val index, sci_val value) {
  sci_emit(b, (sci_stmt){.kind = SCI_S_STORE, .name = SCI_NIL, .buf = buf, .index = index, .value = value});
}

static sci_stmt assignment(sci_name n, sci_val value, bool declare) {
  return (sci_stmt){
      .kind = SCI_S_ASSIGN, .declare = declare, .name = n, .buf = SCI_NIL, .index = SCI_NIL, .value = value};
}

sci_val sci_emit_let(sci_block_builder *b, sci_store *s, sci_val value, const char *hint) {
  sci_name n = sci_new_name(s, (sc_dtype)sci_value_at(s, value)->dtype, false, hint);
  sci_emit(b, assignment(n, value, true));
  return sci_val_name(s, n);
}

sci_name sci_emit_mutable(sci_block_builder *b, sci_store *s, sci_val value, const char *hint) {
  sci_name n = sci_new_name(s, (sc_dtype)sci_value_at(s, value)->dtype, true, hint);
  sci_emit(b, assignment(n, value, true));
  return n;
}

void sci_emit_assign(sci_block_builder *b, sci_name n, sci_val value) {
  sci_emit(b, assignment(n, value, false));
}

sci_stmt sci_loop_stmt(sci_store *s, sci_loop_kind kind, sci_var var, int64_t start, int64_t stop, int64_t step,
                       sci_block body) {
  sci_loop *l = SCI_NEW(&s->arena, sci_loop);
  *l = (sci_loop){.var = var, .kind = (uint8_t)kind, .start = start, .stop = stop, .step = step, .body = body};
  return (sci_stmt){.kind = SCI_S_LOOP, .name = SCI_NIL, .buf = SCI_NIL, .index = SCI_NIL, .value = SCI_NIL, .loop = l};
}

sci_stmt sci_vector_stmt(sci_store *s, const sci_loop *like, sci_block body, int lanes, sc_dtype of, sci_tail tail) {
  sci_loop *l = SCI_NEW(&s->arena, sci_loop);
  *l = *like;
  l->kind = SCI_LOOP_VECTOR;
  l->body = body;
  l->lanes = (uint8_t)lanes;
  l->of = (uint8_t)of;
  l->tail = (uint8_t)tail;
  return (sci_stmt){.kind = SCI_S_LOOP, .name = SCI_NIL, .buf = SCI_NIL, .index = SCI_NIL, .value = SCI_NIL, .loop = l};
}

void sci_emit_loop(sci_block_builder *b, sci_store *s, sci_loop_kind kind, sci_var var, int64_t n, sci_block body) {
  sci_emit(b, sci_loop_stmt(s, kind, var, 0, n, 1, body));
}

sci_stmt sci_call_stmt(sci_store *s, uint32_t proc, uint32_t n, const sci_view *views) {
  sci_call *c = SCI_NEW(&s->arena, sci_call);
  sci_view *copy = SCI_ARRAY(&s->arena, sci_view, n);
  if (n) memcpy(copy, views, n * sizeof *views);
  *c = (sci_call){proc, n, copy};
  return (sci_stmt){.kind = SCI_S_CALL, .name = SCI_NIL, .buf = SCI_NIL, .index = SCI_NIL, .value = SCI_NIL, .call = c};
}

void sci_emit_call(sci_block_builder *b, sci_store *s, uint32_t proc, uint32_t n, const sci_view *views) {
  sci_emit(b, sci_call_stmt(s, proc, n, views));
}

sci_block sci_block_end(sci_block_builder *b, sci_store *s) {
  sci_stmt *stmts = SCI_ARRAY(&s->arena, sci_stmt, b->stmts.n);
  if (b->stmts.n) memcpy(stmts, b->stmts.data, b->stmts.n * sizeof *stmts);
  return (sci_block){(uint32_t)b->stmts.n, stmts};
}
