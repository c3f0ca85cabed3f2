/* Owns the bytes: instructions, constants, pointers to routines, and the image of all of it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "backends/x86/x86.h"

enum { APART = 64 }; /* between instructions and constants */

void sci_x86_byte(sci_x86_asm *a, unsigned byte) {
  sci_vec_push(a->arena, &a->code, (uint8_t)byte);
}

void sci_x86_word(sci_x86_asm *a, uint32_t word) {
  for (int i = 0; i < 4; i++) sci_x86_byte(a, word >> 8 * i & 255);
}

/* ---- operands ---- */

static void put_rr(sci_x86_asm *a, int reg, int rm) {
  sci_x86_byte(a, 0xC0u | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

/* `behind`: bytes of the instruction after the operand. */
static void put_rip(sci_x86_asm *a, int reg, const sci_x86_mem *m, unsigned behind) {
  sci_x86_byte(a, (unsigned)(reg & 7) << 3 | 5);
  uint32_t at = (uint32_t)a->code.n;
  sci_vec_push(a->arena, &a->fixups,
               ((sci_x86_fixup){at, at + 4 + behind, m->is_routine ? m->target : (uint32_t)m->disp, m->is_routine}));
  sci_x86_word(a, 0);
}

static void put_rm(sci_x86_asm *a, int reg, const sci_x86_mem *m, unsigned behind) {
  if (m->base == SCI_X86_RIP) {
    put_rip(a, reg, m, behind);
    return;
  }
  bool is_short = m->disp >= -128 && m->disp < 128, sib = m->index >= 0 || (m->base & 7) == RSP;
  unsigned mode = is_short ? 0x40 : 0x80, r = (unsigned)(reg & 7) << 3, base = (unsigned)m->base & 7;
  sci_x86_byte(a, mode | r | (sib ? 4u : base));
  if (sib) sci_x86_byte(a, (unsigned)m->scale << 6 | (m->index >= 0 ? (unsigned)m->index & 7 : 4u) << 3 | base);
  if (is_short)
    sci_x86_byte(a, (unsigned)m->disp & 255);
  else
    sci_x86_word(a, (uint32_t)m->disp);
}

/* ---- vector registers (Intel SDM vol. 2, 2.3) ---- */

/* The inverted high bits of the registers, and what the opcode needs. */
static void put_vex(sci_x86_asm *a, sci_x86_vex op, bool wide, int d, int v, bool high_index, bool high_base) {
  unsigned r = d < 8, x = !high_index, b = !high_base,
           tail = (~(unsigned)v & 15) << 3 | (unsigned)wide << 2 | op.prefix;
  if (x && b && !op.w && op.map == M_0F) {
    sci_x86_byte(a, 0xC5);
    sci_x86_byte(a, r << 7 | tail);
  } else {
    sci_x86_byte(a, 0xC4);
    sci_x86_byte(a, r << 7 | x << 6 | b << 5 | op.map);
    sci_x86_byte(a, (unsigned)op.w << 7 | tail);
  }
  sci_x86_byte(a, op.opcode);
}

void sci_x86_vex_rr(sci_x86_asm *a, sci_x86_vex op, bool wide, int d, int v, int r, int imm) {
  put_vex(a, op, wide, d, v, false, r >= 8);
  put_rr(a, d, r);
  if (imm >= 0) sci_x86_byte(a, (unsigned)imm);
}

void sci_x86_vex_rm(sci_x86_asm *a, sci_x86_vex op, bool wide, int d, int v, const sci_x86_mem *m, int imm) {
  put_vex(a, op, wide, d, v, m->index >= 8, m->base >= 8);
  put_rm(a, d, m, imm >= 0);
  if (imm >= 0) sci_x86_byte(a, (unsigned)imm);
}

/* ---- integers ---- */

static void put_rex(sci_x86_asm *a, int reg, int index, int base) {
  sci_x86_byte(a, 0x48u | (reg >= 8 ? 4u : 0) | (index >= 8 ? 2u : 0) | (base >= 8 ? 1u : 0));
}

static void put_opcode(sci_x86_asm *a, unsigned opcode) {
  if (opcode > 255) sci_x86_byte(a, opcode >> 8);
  sci_x86_byte(a, opcode & 255);
}

void sci_x86_rr(sci_x86_asm *a, unsigned opcode, int reg, int rm) {
  put_rex(a, reg, 0, rm);
  put_opcode(a, opcode);
  put_rr(a, reg, rm);
}

void sci_x86_rm(sci_x86_asm *a, unsigned opcode, int reg, const sci_x86_mem *m, unsigned imm_bytes) {
  put_rex(a, reg, m->index, m->base);
  put_opcode(a, opcode);
  put_rm(a, reg, m, imm_bytes);
}

void sci_x86_set(sci_x86_asm *a, int reg, int64_t value) {
  if (value >= INT32_MIN && value <= INT32_MAX) {
    sci_x86_rr(a, 0xC7, 0, reg);
    sci_x86_word(a, (uint32_t)value);
    return;
  }
  put_rex(a, 0, 0, reg);
  sci_x86_byte(a, 0xB8u | (unsigned)(reg & 7));
  sci_x86_word(a, (uint32_t)value);
  sci_x86_word(a, (uint32_t)((uint64_t)value >> 32));
}

/* ---- what instructions refer to ---- */

uint32_t sci_x86_constant(sci_x86_asm *a, const void *data, size_t size, size_t alignment) {
  while (a->pool.n % alignment) sci_vec_push(a->arena, &a->pool, 0);
  size_t at = a->pool.n;
  while (a->pool.cap - at < size) a->pool.data = sci_vec_grow(a->arena, a->pool.data, &a->pool.cap, 1);
  if (size) memcpy(a->pool.data + at, data, size);
  a->pool.n = at + size;
  return (uint32_t)at;
}

uint32_t sci_x86_routine(sci_x86_asm *a, const char *name) {
  for (size_t i = 0; i < a->routines.n; i++)
    if (!strcmp(a->routines.data[i], name)) return (uint32_t)i;
  sci_vec_push(a->arena, &a->routines, sci_strdup(a->arena, name));
  return (uint32_t)a->routines.n - 1;
}

void sci_x86_call_routine(sci_x86_asm *a, uint32_t routine) {
  sci_x86_byte(a, 0xFF);
  put_rip(a, 2, &(sci_x86_mem){SCI_X86_RIP, SCI_X86_NO_INDEX, 0, true, 0, routine}, 0);
}

static void put_distance(unsigned char *code, uint32_t at, int64_t distance) {
  int32_t d = (int32_t)distance;
  memcpy(code + at, &d, sizeof d);
}

void sci_x86_patch(sci_x86_asm *a, uint32_t at, uint32_t to) {
  put_distance(a->code.data, at, (int64_t)to - (int64_t)(at + 4));
}

/* ---- the image: instructions, constants, pointers ---- */

static size_t align_to(size_t n, size_t alignment) {
  return (n + alignment - 1) & ~(alignment - 1);
}

/* Header, entries, symbols, names and blob in one block. */
static sci_image *new_image(sci_env *env, const sci_x86_asm *a, const uint32_t *entries, uint32_t n, size_t total) {
  size_t names = 0, symbols = sizeof(sci_image), at = symbols + a->routines.n * sizeof(char *);
  for (size_t i = 0; i < a->routines.n; i++) names += strlen(a->routines.data[i]) + 1;
  size_t texts = at + n * sizeof *entries, blob = align_to(texts + names, 64);
  char *block = calloc(1, blob + total);
  if (!block) sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes of code", blob + total);
  const char **symbol = (const char **)(void *)(block + symbols);
  for (size_t i = 0; i < a->routines.n; i++) {
    size_t length = strlen(a->routines.data[i]) + 1;
    symbol[i] = memcpy(block + texts, a->routines.data[i], length);
    texts += length;
  }
  sci_image *im = (sci_image *)(void *)block;
  *im = (sci_image){.blob = (unsigned char *)block + blob,
                    .size = total,
                    .symbols = symbol,
                    .n_symbols = (uint32_t)a->routines.n,
                    .n_entries = n,
                    .entries = memcpy(block + at, entries, n * sizeof *entries)};
  return im;
}

sci_image *sci_x86_finish(sci_env *env, sci_x86_asm *a, const uint32_t *entries, uint32_t n) {
  size_t pool = align_to(a->code.n, APART), slots = align_to(pool + a->pool.n, 16);
  size_t total = slots + a->routines.n * sizeof(uint64_t);
  if (total > INT32_MAX) return NULL;
  for (size_t i = 0; i < a->fixups.n; i++) {
    const sci_x86_fixup *f = &a->fixups.data[i];
    size_t to = f->is_routine ? slots + f->to * sizeof(uint64_t) : pool + f->to;
    put_distance(a->code.data, f->at, (int64_t)to - (int64_t)f->after);
  }
  sci_image *im = new_image(env, a, entries, n, total);
  unsigned char *blob = (unsigned char *)(uintptr_t)im->blob;
  memcpy(blob, a->code.data, a->code.n);
  if (a->pool.n) memcpy(blob + pool, a->pool.data, a->pool.n);
  im->slots = slots;
  im->code_bytes = a->code.n;
  return im;
}
