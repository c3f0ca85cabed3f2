/* Owns reading, copying and filling: how a node's elements come out of memory and get there. */
#include "lib/lower/state.h"

sci_buf sci_private(sci_lowering *l, sc_dtype dtype, int64_t size, const char *hint) {
  sci_buf b = sci_new_buf(l->s, dtype, SCI_SPACE_PRIVATE, size, hint);
  sci_vec_push(l->scratch, &l->locals, (sci_local){.buf = b, .offset = -1});
  return b;
}

sci_val sci_zero(sci_lowering *l, sc_dtype dtype) {
  return sci_val_double(l->s, dtype, 0);
}

static sci_val load(sci_lowering *l, sci_block_builder *b, sci_buf buf, sci_val index, const char *hint) {
  const sci_buffer *x = &l->s->bufs[buf];
  sc_dtype dtype = (sc_dtype)x->dtype;
  if (x->space == SCI_SPACE_CONSTANT && sci_val_is_const(l->s, index)) {
    size_t i = (size_t)sci_val_int_of(l->s, index);
    return sci_val_const(l->s, dtype, sci_scalar_load(dtype, x->data, i));
  }
  bool normalize = dtype == SC_BOOL && x->space == SCI_SPACE_INPUT;
  sci_val v = sci_emit_load(b, l->s, buf, index, hint);
  return normalize ? sci_val_op2(l->s, SCI_OP_ne, v, sci_zero(l, SC_BOOL)) : v;
}

sci_val sci_address(sci_lowering *l, sci_block_builder *b, const sci_place *p, sci_val index) {
  if (p->table == SCI_NIL) return index;
  sci_val at = load(l, b, p->table, index, NULL);
  return sci_idx_add(l->s, sci_val_op(l->s, SCI_OP_cast, SC_INT64, &at), sci_val_int(l->s, p->base));
}

sci_val sci_read(sci_lowering *l, sci_block_builder *b, const sci_place *p, sci_val index, const char *hint) {
  return load(l, b, p->buf, sci_address(l, b, p, index), hint);
}

static bool is_one_element(const sci_place *p) {
  return !p->n || (p->n == 1 && !p->d[0].stride);
}

sci_val sci_value_of(sci_lowering *l, uint32_t num) {
  sci_slot *slot = &l->slots[num];
  if (slot->val != SCI_NIL) return slot->val;
  const sci_place *p = slot->place;
  const char *name = l->s->bufs[p->buf].hint, *hint = NULL;
  if (name && p->table == SCI_NIL) hint = sci_asprintf(l->scratch, "%s_%lld", name, (long long)p->offset);
  slot->val = sci_read(l, &l->top, p, sci_val_int(l->s, p->offset), hint);
  return slot->val;
}

sci_operand sci_operand_of(sci_lowering *l, uint32_t num) {
  const sci_slot *slot = &l->slots[num];
  if (slot->val != SCI_NIL || is_one_element(slot->place)) return (sci_operand){.val = sci_value_of(l, num)};
  return (sci_operand){SCI_NIL, slot->place};
}

void sci_copy(sci_lowering *l, sci_operand from, const sci_place *to) {
  sci_nest nest;
  sc_dtype dtype = (sc_dtype)l->s->bufs[to->buf].dtype;
  const sci_place *places[] = {to, from.place};
  if (sci_nest_fit(&nest, 2, places) != SCI_NIL) {
    int64_t size = 1;
    for (uint32_t i = 0; i < to->n; i++) size *= to->d[i].extent;
    const sci_place *between = sci_place_whole(l, sci_private(l, dtype, size, NULL), size);
    sci_copy(l, from, between);
    sci_copy(l, (sci_operand){SCI_NIL, between}, to);
    return;
  }
  l->label = l->s->bufs[to->buf].hint;
  sci_nest_begin(l, &nest, &l->top);
  sci_val v = from.place ? sci_nest_read(l, &nest, 1) : from.val;
  sci_write(l, sci_nest_body(&nest), to, sci_nest_index(l, &nest, 0), v);
  sci_nest_end(l, &nest, SCI_LOOP_INDEPENDENT);
}

void sci_write(sci_lowering *l, sci_block_builder *b, const sci_place *p, sci_val index, sci_val v) {
  sci_emit_store(b, p->buf, sci_address(l, b, p, index), v);
}

/* A value of equal elements in memory: a small constant is a table, anything else is filled in at run time. */
static const sci_place *spread(sci_lowering *l, sci_val v, sc_dtype dtype, int64_t size) {
  enum { TABLE_MAX = 256 };
  if (sci_val_is_const(l->s, v) && size <= TABLE_MAX) {
    sci_scalar x = sci_scalar_from_bits(dtype, sci_value_at(l->s, v)->bits);
    void *data = sci_alloc_array(l->scratch, (size_t)size, sc_dtype_size(dtype));
    for (int64_t i = 0; i < size; i++) sci_scalar_store(dtype, data, (size_t)i, x);
    return sci_place_whole(l, sci_const_table(l->s, dtype, size, data, NULL), size);
  }
  const sci_place *p = sci_place_whole(l, sci_private(l, dtype, size, NULL), size);
  sci_copy(l, (sci_operand){.val = v}, p);
  return p;
}

const sci_place *sci_contiguous(sci_lowering *l, uint32_t num) {
  sci_slot *slot = &l->slots[num];
  if (slot->place && sci_is_contiguous(slot->place)) return slot->place;
  int64_t size = sci_type_at(l, num)->size;
  sc_dtype dtype = sci_dtype_at(l, num);
  sci_operand from = sci_operand_of(l, num);
  if (!from.place) {
    slot->place = spread(l, from.val, dtype, size);
  } else {
    const sci_place *p = sci_place_whole(l, sci_private(l, dtype, size, NULL), size);
    sci_copy(l, from, p);
    slot->place = p;
  }
  return slot->place;
}

const sci_place *sci_target(sci_lowering *l, uint32_t num, const char *hint) {
  sci_slot *slot = &l->slots[num];
  int64_t size = sci_type_at(l, num)->size;
  slot->place =
      slot->home ? slot->home->place : sci_place_whole(l, sci_private(l, sci_dtype_at(l, num), size, hint), size);
  if (slot->home && slot->home->after != SCI_NIL) sci_prepare_base(l, slot->home->after);
  l->label = l->s->bufs[slot->place->buf].hint;
  return slot->place;
}
