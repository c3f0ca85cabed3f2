/* Owns fixed index tables: gather, scatter, index_add and index_set, by digits where the table has any and through a
 * constant otherwise. */
#include "lib/lower/state.h"

/* A place for n elements at given addresses of a buffer. A table counts from `origin`, so that one table serves many
 * tensors. */
static const sci_place *place_at(sci_lowering *l, sci_buf buf, int64_t origin, const int64_t *address, int64_t n) {
  sci_digits x;
  if (sci_digits_of_table(&x, address, n)) return sci_place_new(l, buf, &x);
  int32_t *table = SCI_ARRAY(l->scratch, int32_t, n);
  for (int64_t k = 0; k < n; k++)
    if (address[k] < origin) origin = 0;
  for (int64_t k = 0; k < n; k++) table[k] = (int32_t)(address[k] - origin);
  sci_place p = {.buf = buf, .table = sci_const_table(l->s, SC_INT32, n, table, NULL), .base = origin};
  return sci_place_like(l, &p, &(sci_digits){.n = 1, .d = {{n, 1}}});
}

static int64_t origin_of(const sci_place *p) {
  return p->table == SCI_NIL ? p->offset : p->base;
}

static const int32_t *table_of(const sci_lowering *l, uint32_t num) {
  return sci_attr(l->cx, l->order->ids[num]);
}

static int64_t *addresses(sci_lowering *l, const sci_place *p, const int32_t *indices, int64_t n) {
  int64_t *at = SCI_ARRAY(l->scratch, int64_t, n);
  const int32_t *table = p->table == SCI_NIL ? NULL : l->s->bufs[p->table].data;
  sci_digits x = sci_digits_of(p);
  for (int64_t k = 0; k < n; k++) {
    at[k] = sci_digits_at(&x, indices ? indices[k] : k);
    if (table) at[k] = p->base + table[at[k]];
  }
  return at;
}

void sci_lower_gather(sci_lowering *l, uint32_t num) {
  sci_slot *slot = &l->slots[num];
  sci_operand x = sci_operand_of(l, sci_arg_of(l, num, 0));
  slot->val = x.val;
  if (!x.place) return;
  int64_t n = sci_type_at(l, num)->size;
  const sci_place *p = place_at(l, x.place->buf, origin_of(x.place), addresses(l, x.place, table_of(l, num), n), n);
  slot->place = p;
  if (p->table == SCI_NIL || slot->uses == 1) return;
  sci_copy(l, (sci_operand){SCI_NIL, p}, sci_target(l, num, NULL));
}

/* Whether no index occurs twice, and the positions whose index does not occur again later, in order. */
static bool last_of_each(sci_lowering *l, const int32_t *indices, int64_t n, int64_t size, int32_t *last,
                         int64_t *n_last) {
  uint8_t *seen = SCI_ZEROS(l->scratch, uint8_t, (size + 7) / 8);
  int64_t first = n;
  for (int64_t k = n; k-- > 0;) {
    uint8_t bit = (uint8_t)(1 << (indices[k] & 7));
    if (seen[indices[k] >> 3] & bit) continue;
    seen[indices[k] >> 3] |= bit;
    last[--first] = (int32_t)k;
  }
  *n_last = n - first;
  if (first) memmove(last, last + first, (size_t)*n_last * sizeof *last);
  return !first;
}

static bool is_distinct(sci_lowering *l, const int32_t *indices, int64_t n, int64_t size) {
  int64_t kept;
  return last_of_each(l, indices, n, size, SCI_ARRAY(l->scratch, int32_t, n), &kept);
}

bool sci_index_digits(sci_lowering *l, uint32_t num, sci_digits *out) {
  const int32_t *indices = table_of(l, num);
  int64_t n = sci_type_at(l, sci_arg_of(l, num, 1))->size;
  if (!n || !is_distinct(l, indices, n, sci_type_at(l, num)->size)) return false;
  int64_t *table = SCI_ARRAY(l->scratch, int64_t, n);
  for (int64_t k = 0; k < n; k++) table[k] = indices[k];
  return sci_digits_of_table(out, table, n);
}

/* Adds the elements of node `values` to those that the table names, in the order of the table. */
static void accumulate(sci_lowering *l, uint32_t num, uint32_t values, const sci_place *whole) {
  int64_t n = sci_type_at(l, values)->size;
  if (!n) return;
  const int32_t *indices = table_of(l, num);
  sci_operand x = sci_operand_of(l, values);
  const sci_place *places[] = {place_at(l, whole->buf, whole->offset, addresses(l, whole, indices, n), n), x.place};
  sci_nest nest;
  if (sci_nest_fit(&nest, 2, places) != SCI_NIL) {
    places[1] = sci_contiguous(l, values);
    sci_nest_fit(&nest, 2, places);
  }
  l->label = l->s->bufs[whole->buf].hint;
  sci_nest_begin(l, &nest, &l->top);
  sci_val v = x.place ? sci_nest_read(l, &nest, 1) : x.val;
  sci_block_builder *b = sci_nest_body(&nest);
  sci_val at = sci_address(l, b, places[0], sci_nest_index(l, &nest, 0));
  sci_val sum = sci_emit_load(b, l->s, whole->buf, at, NULL);
  sci_emit_store(b, whole->buf, at, sci_val_op2(l->s, SCI_OP_add, sum, v));
  bool distinct = is_distinct(l, indices, n, sci_type_at(l, num)->size);
  sci_nest_end(l, &nest, distinct ? SCI_LOOP_INDEPENDENT : SCI_LOOP_SERIAL);
}

void sci_lower_scatter(sci_lowering *l, uint32_t num) {
  const sci_place *whole = sci_target(l, num, NULL);
  sci_copy(l, (sci_operand){.val = sci_zero(l, sci_dtype_at(l, num))}, whole);
  accumulate(l, num, sci_arg_of(l, num, 0), whole);
}

/* `n` elements of the flat index of a contiguous place. */
static const sci_place *part_of(sci_lowering *l, const sci_place *p, int64_t start, int64_t n) {
  return sci_place_new(l, p->buf, &(sci_digits){.n = n > 1, .offset = p->offset + start, .d = {{n, 1}}});
}

/* Elements of the base: a part of a constant is a constant of its own. */
static sci_operand base_part(sci_lowering *l, sci_operand base, int64_t start, int64_t n) {
  if (!base.place) return base;
  const sci_buffer *b = &l->s->bufs[base.place->buf];
  if (b->space != SCI_SPACE_CONSTANT || b->alias_of != SCI_NIL)
    return (sci_operand){SCI_NIL, part_of(l, base.place, start, n)};
  sc_dtype dtype = (sc_dtype)b->dtype;
  const char *data = (const char *)b->data + (size_t)(base.place->offset + start) * sc_dtype_size(dtype);
  bool same = true;
  for (int64_t k = 1; k < n; k++) same &= !memcmp(data, data + (size_t)k * sc_dtype_size(dtype), sc_dtype_size(dtype));
  if (same) return (sci_operand){.val = sci_val_const(l->s, dtype, sci_scalar_load(dtype, data, 0))};
  return (sci_operand){SCI_NIL, sci_place_whole(l, sci_const_table(l->s, dtype, n, data, NULL), n)};
}

/* Copies those elements of the base that the values of an index_set leave, if they are few. */
static bool copy_around(sci_lowering *l, uint32_t num, sci_operand base, const sci_place *whole) {
  enum { MAX_RUNS = 128 };
  int64_t size = sci_type_at(l, num)->size, n = sci_type_at(l, sci_arg_of(l, num, 1))->size;
  bool simple = !base.place || (base.place->table == SCI_NIL && sci_is_contiguous(base.place));
  if (sci_node_of(l, num)->op != SCI_X_index_set || !n || !simple || !sci_is_contiguous(whole)) return false;
  struct {
    int64_t start, n;
  } runs[MAX_RUNS];
  int n_runs = 0;
  int64_t left = 0;
  const int32_t *indices = table_of(l, num);
  bool *covered = SCI_ZEROS(l->scratch, bool, size);
  for (int64_t k = 0; k < n; k++) covered[indices[k]] = true;
  for (int64_t k = 0; k < size; k++) {
    if (covered[k]) continue;
    bool begins = !k || covered[k - 1];
    if (begins && n_runs == MAX_RUNS) return false;
    if (begins) runs[n_runs].start = k, runs[n_runs++].n = 0;
    runs[n_runs - 1].n++;
    if (4 * ++left > size) return false;
  }
  for (int i = 0; i < n_runs; i++)
    sci_copy(l, base_part(l, base, runs[i].start, runs[i].n), part_of(l, whole, runs[i].start, runs[i].n));
  return true;
}

/* Puts the base where the result will be, once, unless it was computed there. */
void sci_prepare_base(sci_lowering *l, uint32_t num) {
  if (l->slots[num].place) return;
  uint32_t base = sci_arg_of(l, num, 0);
  const sci_place *whole = sci_target(l, num, NULL);
  const sci_slot *from = &l->slots[base];
  if (from->val == SCI_NIL && sci_place_is(from->place, whole)) return;
  sci_operand x = sci_operand_of(l, base);
  if (!copy_around(l, num, x, whole)) sci_copy(l, x, whole);
}

void sci_lower_index_add(sci_lowering *l, uint32_t num) {
  sci_prepare_base(l, num);
  accumulate(l, num, sci_arg_of(l, num, 1), l->slots[num].place);
}

void sci_lower_index_set(sci_lowering *l, uint32_t num) {
  sci_prepare_base(l, num);
  const sci_place *whole = l->slots[num].place;
  uint32_t values = sci_arg_of(l, num, 1);
  const int32_t *indices = table_of(l, num);
  int64_t n = sci_type_at(l, values)->size, kept;
  if (!n) return;
  int32_t *last = SCI_ARRAY(l->scratch, int32_t, n);
  bool distinct = last_of_each(l, indices, n, sci_type_at(l, num)->size, last, &kept);
  int64_t *at = addresses(l, whole, indices, n);
  for (int64_t k = 0; k < kept; k++) at[k] = at[last[k]];
  const sci_place *to = place_at(l, whole->buf, whole->offset, at, kept);
  const sci_slot *slot = &l->slots[values];
  if (distinct && slot->val == SCI_NIL && sci_place_is(slot->place, to)) return;
  sci_operand from = sci_operand_of(l, values);
  if (!distinct && from.place)
    from.place = place_at(l, from.place->buf, origin_of(from.place), addresses(l, from.place, last, kept), kept);
  sci_copy(l, from, to);
}
