/* Owns relocations by processor: those that code for one block of instructions and constants has, and no others. */
#include "backends/llvm/relocations.h"

#include <elf.h>
#include <string.h>

static void put32(unsigned char *at, uint32_t v) {
  memcpy(at, &v, sizeof v);
}

static bool fits(int64_t v, int bits) {
  return v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1);
}

/* ---- x86-64 (System V ABI, AMD64 supplement, 4.4): distances of 32 bits ---- */

static bool x86_inside(uint32_t type) {
  return type == R_X86_64_PC32 || type == R_X86_64_PLT32;
}

static bool x86_call(uint32_t type) {
  return type == R_X86_64_PLT32;
}

static bool x86_pointer(uint32_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

static size_t x86_width(uint32_t type) {
  (void)type;
  return 4;
}

static bool x86_resolve(unsigned char *blob, size_t place, uint32_t type, int64_t to) {
  (void)type;
  int64_t distance = to - (int64_t)place;
  put32(blob + place, (uint32_t)distance);
  return fits(distance, 32);
}

/* jmp *pointer(%rip), and breakpoints up to the next. */
static void x86_stub(unsigned char *blob, size_t at, size_t pointer) {
  memset(blob + at, 0xCC, SCI_STUB);
  blob[at] = 0xFF;
  blob[at + 1] = 0x25;
  put32(blob + at + 2, (uint32_t)(pointer - (at + 6)));
}

/* ---- AArch64 (ELF for the Arm 64-bit Architecture, 5.7): pages and offsets in them, and branches of 26 bits ---- */

static int
arm_access(uint32_t type) { /* log2 of the bytes that a load or store with an offset in its page moves; -1: not one */
  switch (type) {
  case R_AARCH64_LDST8_ABS_LO12_NC: return 0;
  case R_AARCH64_LDST16_ABS_LO12_NC: return 1;
  case R_AARCH64_LDST32_ABS_LO12_NC: return 2;
  case R_AARCH64_LDST64_ABS_LO12_NC: return 3;
  case R_AARCH64_LDST128_ABS_LO12_NC: return 4;
  case R_AARCH64_LD64_GOT_LO12_NC: return 3;
  default: return -1;
  }
}

static bool arm_call(uint32_t type) {
  return type == R_AARCH64_CALL26 || type == R_AARCH64_JUMP26;
}

static bool arm_pointer(uint32_t type) {
  return type == R_AARCH64_ADR_GOT_PAGE || type == R_AARCH64_LD64_GOT_LO12_NC;
}

static bool arm_inside(uint32_t type) {
  return arm_call(type) || type == R_AARCH64_ADR_PREL_PG_HI21 || type == R_AARCH64_ADD_ABS_LO12_NC ||
         type == R_AARCH64_PREL32 || type == R_AARCH64_PREL64 || (arm_access(type) >= 0 && !arm_pointer(type));
}

static size_t arm_width(uint32_t type) {
  return type == R_AARCH64_PREL64 ? 8 : 4;
}

/* Sets `bits` bits of the instruction, from `low` on. */
static void insert(unsigned char *at, int low, int bits, int64_t value) {
  uint32_t code, mask = (((uint32_t)1 << bits) - 1) << low;
  memcpy(&code, at, sizeof code);
  put32(at, (code & ~mask) | ((uint32_t)value << low & mask));
}

static bool arm_page(unsigned char *at, size_t place, int64_t to) {
  int64_t pages = (to >> 12) - ((int64_t)place >> 12);
  insert(at, 29, 2, pages);
  insert(at, 5, 19, pages >> 2);
  return fits(pages, 21);
}

static bool arm_resolve(unsigned char *blob, size_t place, uint32_t type, int64_t to) {
  unsigned char *at = blob + place;
  int64_t distance = to - (int64_t)place;
  int access = arm_access(type);
  if (access >= 0) {
    insert(at, 10, 12, (to & 0xFFF) >> access);
    return !(to & (((int64_t)1 << access) - 1));
  }
  switch (type) {
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26: insert(at, 0, 26, distance >> 2); return !(distance & 3) && fits(distance, 28);
  case R_AARCH64_ADR_GOT_PAGE:
  case R_AARCH64_ADR_PREL_PG_HI21: return arm_page(at, place, to);
  case R_AARCH64_ADD_ABS_LO12_NC: insert(at, 10, 12, to & 0xFFF); return true;
  case R_AARCH64_PREL32: put32(at, (uint32_t)distance); return fits(distance, 32);
  case R_AARCH64_PREL64: memcpy(at, &distance, sizeof distance); return true;
  default: return false;
  }
}

/* adrp x16, pointer; ldr x16, [x16, its offset]; br x16; brk #0 */
static void arm_stub(unsigned char *blob, size_t at, size_t pointer) {
  static const uint32_t code[] = {0x90000010, 0xF9400210, 0xD61F0200, 0xD4200000};
  memcpy(blob + at, code, sizeof code);
  arm_page(blob + at, at, (int64_t)pointer);
  insert(blob + at + 4, 10, 12, (int64_t)(pointer & 0xFFF) >> 3);
}

const sci_relocations *sci_relocations_of(uint16_t machine) {
  static const sci_relocations known[] = {
      {EM_X86_64, x86_inside, x86_call, x86_pointer, x86_width, x86_resolve, x86_stub},
      {EM_AARCH64, arm_inside, arm_call, arm_pointer, arm_width, arm_resolve, arm_stub},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].machine == machine) return &known[i];
  return NULL;
}
