/* Owns the frame and the registers: where values are, which registers hold them too, and the addresses of buffers.
 *
 * Memory is always right: a register that is forgotten or given to another value needs no saving. */
#include <limits.h>

#include "backends/x86/x86.h"

static const sci_x86_vex LOAD_SCALAR = {P_F2, M_0F, 0, 0x10}, STORE_SCALAR = {P_F2, M_0F, 0, 0x11},
                         LOAD_WIDE = {P_66, M_0F, 0, 0x10}, STORE_WIDE = {P_66, M_0F, 0, 0x11},
                         BROADCAST = {P_66, M_0F38, 0, 0x19}, DUPLICATE = {P_F2, M_0F, 0, 0x12};

enum {
  LOAD_INT = 0x8B,
  STORE_INT = 0x89,
  LEA = 0x8D,
  MULTIPLY = 0x69,
  SPLAT = 4,
  MOST_FRAME = 64 << 10,
  MOST_AT_FIRST = 1 << 28
};

void sci_x86_refuse(sci_x86 *x, const char *why) {
  if (!x->refusal) x->refusal = why;
}

uint32_t sci_x86_room(sci_x86 *x, int64_t bytes, uint32_t alignment) {
  int64_t at = ((int64_t)x->frame + alignment - 1) / alignment * alignment;
  int64_t most = x->lives.replays ? MOST_FRAME : MOST_AT_FIRST;
  if (bytes > most || at + bytes > most) {
    sci_x86_refuse(x, "a procedure needs a large frame");
    return 0;
  }
  x->frame = (uint32_t)(at + bytes);
  return (uint32_t)at;
}

sci_x86_place sci_x86_new_place(sci_x86 *x, bool wide) {
  sci_x86_place p = {.kind = SCI_X86_FRAME, .wide = wide};
  p.at = sci_x86_place_room(x, wide ? 8 * x->width : 8, &p.id);
  return p;
}

sci_x86_mem sci_x86_at(sci_x86 *x, const sci_x86_place *p, uint32_t byte) {
  sci_x86_used(x, p);
  sci_x86_mem m = sci_x86_frame_at(p->at + byte);
  if (p->kind == SCI_X86_CONST) m.base = SCI_X86_RIP;
  return m;
}

/* ---- what registers hold ---- */

static uint64_t key_of(const sci_x86_place *p, bool splat) {
  return (uint64_t)p->at << 3 | p->kind | (splat ? SPLAT : 0);
}

void sci_x86_forget(sci_x86 *x) {
  memset(x->xmm, 0, sizeof x->xmm);
  memset(x->gpr, 0, sizeof x->gpr);
}

void sci_x86_unpin(sci_x86 *x) {
  x->pinned = 0;
}

static int held(const sci_x86 *x, uint64_t key) {
  for (int r = 0; r < SCI_X86_REGISTERS; r++)
    if (x->xmm[r] == key) return r;
  return -1;
}

int sci_x86_take(sci_x86 *x) {
  unsigned r = x->next_xmm;
  while (x->pinned >> r & 1) r = (r + 1) % SCI_X86_REGISTERS;
  x->next_xmm = (r + 1) % SCI_X86_REGISTERS;
  x->pinned |= 1u << r;
  x->xmm[r] = 0;
  return (int)r;
}

void sci_x86_load_to(sci_x86 *x, const sci_x86_place *p, bool wide, int reg) {
  sci_x86_mem m = sci_x86_at(x, p, 0);
  bool four = x->width == 4;
  x->xmm[reg] = 0;
  if (!wide)
    sci_x86_vex_rm(&x->a, LOAD_SCALAR, false, reg, 0, &m, -1);
  else if (p->wide)
    sci_x86_vex_rm(&x->a, LOAD_WIDE, four, reg, 0, &m, -1);
  else
    sci_x86_vex_rm(&x->a, four ? BROADCAST : DUPLICATE, four, reg, 0, &m, -1);
}

int sci_x86_get(sci_x86 *x, const sci_x86_place *p, bool wide) {
  sci_x86_used(x, p);
  uint64_t key = key_of(p, wide && !p->wide);
  int r = held(x, key);
  if (r < 0) {
    r = sci_x86_take(x);
    sci_x86_load_to(x, p, wide, r);
    x->xmm[r] = key;
  }
  x->pinned |= 1u << r;
  return r;
}

int sci_x86_operand(sci_x86 *x, const sci_x86_place *p, bool wide, sci_x86_mem *m) {
  if (wide != p->wide || held(x, key_of(p, false)) >= 0) return sci_x86_get(x, p, wide);
  *m = sci_x86_at(x, p, 0);
  return -1;
}

static void forget_place(sci_x86 *x, const sci_x86_place *p) {
  sci_x86_mem m = sci_x86_at(x, p, 0);
  for (int r = 0; r < SCI_X86_REGISTERS; r++) {
    if (x->xmm[r] == key_of(p, false) || x->xmm[r] == key_of(p, true)) x->xmm[r] = 0;
    if (x->gpr[r] == SCI_X86_GPR_KEY(m)) x->gpr[r] = 0;
  }
}

void sci_x86_put(sci_x86 *x, const sci_x86_place *p, int reg) {
  sci_x86_mem m = sci_x86_at(x, p, 0);
  forget_place(x, p);
  sci_x86_vex_rm(&x->a, p->wide ? STORE_WIDE : STORE_SCALAR, p->wide && x->width == 4, reg, 0, &m, -1);
  x->xmm[reg] = key_of(p, false);
}

/* ---- integers ---- */

/* RAX, RCX and RDX are for operations, RBX, RBP and RSP have their meaning. */
static int take_gpr(sci_x86 *x) {
  static const uint8_t all[] = {RSI, RDI, R8, R9, R10, R11};
  unsigned r;
  do {
    r = all[x->next_gpr];
    x->next_gpr = (x->next_gpr + 1) % (sizeof all / sizeof *all);
  } while (x->pinned >> (16 + r) & 1);
  x->pinned |= 1u << (16 + r);
  x->gpr[r] = 0;
  return (int)r;
}

int sci_x86_pointer(sci_x86 *x, const sci_x86_mem *m) {
  uint64_t key = SCI_X86_GPR_KEY(*m);
  int r = 0;
  while (r < SCI_X86_REGISTERS && x->gpr[r] != key) r++;
  if (r == SCI_X86_REGISTERS) {
    r = take_gpr(x);
    sci_x86_rm(&x->a, LOAD_INT, r, m, 0);
    x->gpr[r] = key;
  }
  x->pinned |= 1u << (16 + r);
  return r;
}

void sci_x86_get_int(sci_x86 *x, sci_val v, int reg) {
  const sci_value *c = sci_value_at(x->store, v);
  if (c->kind == SCI_V_CONST) {
    sci_x86_set(&x->a, reg, c->dtype == SC_INT32 ? (int32_t)c->bits : (int64_t)c->bits);
    return;
  }
  sci_x86_mem m = sci_x86_at(x, sci_x86_value(x, v), 0);
  sci_x86_rm(&x->a, LOAD_INT, reg, &m, 0);
}

void sci_x86_put_int(sci_x86 *x, const sci_x86_place *p, int reg) {
  sci_x86_mem m = sci_x86_at(x, p, 0);
  forget_place(x, p);
  sci_x86_rm(&x->a, STORE_INT, reg, &m, 0);
}

/* ---- addresses ---- */

static void bind_table(sci_x86 *x, sci_buf owner) {
  const sci_buffer *b = &x->store->bufs[owner];
  size_t bytes = (size_t)b->size * sc_dtype_size((sc_dtype)b->dtype);
  uint32_t at = sci_x86_constant(&x->a, bytes ? b->data : "", bytes, bytes >= 64 ? 64 : 16);
  x->storages[owner] = (sci_x86_storage){
      .pointer = {SCI_X86_RIP, SCI_X86_NO_INDEX, 0, false, (int32_t)at, 0}, .is_direct = true, .known = true};
}

/* The index without its constant summand; SCI_NIL: there is nothing else. */
static sci_val split_constant(const sci_x86 *x, sci_val index, int64_t *constant) {
  const sci_value *v = sci_value_at(x->store, index);
  *constant = 0;
  if (v->kind == SCI_V_CONST) {
    *constant = (int64_t)v->bits;
    return SCI_NIL;
  }
  if (v->kind != SCI_V_OP || (v->op != SCI_OP_add && v->op != SCI_OP_sub) || !sci_val_is_const(x->store, v->args[1]))
    return index;
  int64_t k = (int64_t)sci_value_at(x->store, v->args[1])->bits;
  *constant = v->op == SCI_OP_add ? k : -k;
  return v->args[0];
}

/* A register with the index, or with `unit` times that where an address cannot multiply by so much. */
static int8_t index_register(sci_x86 *x, sci_val index, uint32_t unit) {
  sci_x86_mem m = sci_x86_at(x, sci_x86_value(x, index), 0);
  int r = sci_x86_pointer(x, &m);
  if (unit <= 8) return (int8_t)r;
  int by = take_gpr(x);
  sci_x86_rr(&x->a, MULTIPLY, by, r);
  sci_x86_word(&x->a, unit);
  return (int8_t)by;
}

sci_x86_mem sci_x86_address(sci_x86 *x, sci_buf buf, sci_val index, uint32_t unit) {
  int64_t offset, constant;
  sci_buf owner = sci_storage(x->store, buf, &offset);
  if (!unit) unit = (uint32_t)sc_dtype_size((sc_dtype)x->store->bufs[owner].dtype);
  index = split_constant(x, index, &constant);
  int8_t by = index == SCI_NIL ? SCI_X86_NO_INDEX : index_register(x, index, unit);
  if (!x->storages[owner].known) bind_table(x, owner);
  sci_x86_storage s = x->storages[owner];
  int64_t disp = s.offset + (offset + constant) * unit;
  sci_x86_mem m = s.pointer;
  if (!s.is_direct) {
    m = (sci_x86_mem){(int8_t)sci_x86_pointer(x, &s.pointer), SCI_X86_NO_INDEX, 0, false, 0, 0};
  } else if (m.base == SCI_X86_RIP && by >= 0) {
    int r = take_gpr(x);
    sci_x86_rm(&x->a, LEA, r, &m, 0);
    m = (sci_x86_mem){(int8_t)r, SCI_X86_NO_INDEX, 0, false, 0, 0};
  }
  disp += m.disp;
  if (disp > INT32_MAX || disp < INT32_MIN) sci_x86_refuse(x, "a buffer of more than 2 GiB");
  m.disp = (int32_t)disp;
  m.index = by;
  m.scale = unit == 8 ? 3 : unit == 4 ? 2 : 0;
  return m;
}
