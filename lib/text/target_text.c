/* Owns the spelling of targets in program text. */
#include "lib/text/target_text.h"

#include "lib/text/print.h"

#define FIELD(name, kind)                                                                                              \
  { #name, SCI_TARGET_##kind, offsetof(sc_target, name), sizeof(((sc_target *)0)->name) }

const sci_target_field sci_target_fields[SCI_TARGET_FIELD_COUNT] = {
    FIELD(isa, ISA),         FIELD(lanes, INT),        FIELD(vector_registers, INT), FIELD(fma_units, INT),
    FIELD(fma_latency, INT), FIELD(fast_fma, BOOL),    FIELD(gathers_pay, BOOL),     FIELD(l1_bytes, INT),
    FIELD(l2_bytes, INT),    FIELD(gcc_flags, STRING), FIELD(clang_flags, STRING),   FIELD(features, STRING),
};

const char *const sci_isa_words[SCI_ISA_COUNT] = {
    [SC_ISA_GENERIC] = "generic",     [SC_ISA_X86_64] = "x86-64",   [SC_ISA_X86_64_V3] = "x86-64-v3",
    [SC_ISA_X86_64_V4] = "x86-64-v4", [SC_ISA_ARMV8_A] = "armv8-a", [SC_ISA_ARMV7E_M] = "armv7e-m",
};

bool sci_target_base(const char *name, sc_target *out) {
  if (sc_target_preset(name, out) == SC_OK) return true;
  *out = (sc_target){0};
  size_t n = strlen(name);
  memcpy(out->name, name, n < sizeof out->name ? n : sizeof out->name - 1);
  return false;
}

static bool same(const sci_target_field *f, const void *a, const void *b) {
  return f->kind == SCI_TARGET_STRING ? !strcmp(a, b) : !memcmp(a, b, f->size);
}

void sci_put_target(sci_text *out, const sc_target *t) {
  sc_target base;
  bool known = sci_target_base(t->name, &base);
  sci_put(out, "target=");
  sci_put_string(out, t->name);
  for (int i = 0; i < SCI_TARGET_FIELD_COUNT; i++) {
    const sci_target_field *f = &sci_target_fields[i];
    const char *at = (const char *)t + f->offset;
    /* The instruction set of a name that is no preset is always written: it says that the name is meant. */
    if (same(f, at, (const char *)&base + f->offset) && (known || f->kind != SCI_TARGET_ISA)) continue;
    sci_putf(out, ", %s=", f->key);
    switch (f->kind) {
    case SCI_TARGET_ISA: sci_put_string(out, sci_isa_words[*(const sc_isa *)(const void *)at]); break;
    case SCI_TARGET_INT: sci_put_int(out, *(const int *)(const void *)at); break;
    case SCI_TARGET_BOOL: sci_put(out, *(const bool *)(const void *)at ? "true" : "false"); break;
    case SCI_TARGET_STRING: sci_put_string(out, at); break;
    }
  }
}
