/* Owns the table of processors that can be named. */
#include "lib/target/target.h"

#include <pthread.h>
#include <string.h>

/* Vector units, latencies and cache sizes from the vendors' optimization guides; those of a family (x86-64-v3, armv8-a,
 * generic) are of its common members. Compilers older than a processor get the architecture level it implements. */
// clang-format off
static const sc_target presets[] = {
    {.name = "generic", .isa = SC_ISA_GENERIC, .lanes = 2, .vector_registers = 16, .fma_units = 2, .fma_latency = 4,
     .fast_fma = false, .l1_bytes = 32 << 10, .l2_bytes = 256 << 10},
    {.name = "native"},
    {.name = "x86-64", .isa = SC_ISA_X86_64, .lanes = 2, .vector_registers = 16, .fma_units = 2, .fma_latency = 4,
     .fast_fma = false, .l1_bytes = 32 << 10, .l2_bytes = 256 << 10,
     .gcc_flags = "-march=x86-64", .clang_flags = "-march=x86-64"},
    {.name = "x86-64-v3", .isa = SC_ISA_X86_64_V3, .lanes = 4, .vector_registers = 16, .fma_units = 2, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10,
     .gcc_flags = "-march=x86-64-v3", .clang_flags = "-march=x86-64-v3"},
    {.name = "x86-64-v4", .isa = SC_ISA_X86_64_V4, .lanes = 8, .vector_registers = 32, .fma_units = 2, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20,
     .gcc_flags = "-march=x86-64-v4", .clang_flags = "-march=x86-64-v4"},
    {.name = "armv8-a", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 2, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10,
     .gcc_flags = "-march=armv8-a", .clang_flags = "--target=aarch64-linux-gnu -march=armv8-a"},
    {.name = "neoverse-v2", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 4, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 64 << 10, .l2_bytes = 1 << 20,
     .gcc_flags = "-march=armv9-a", .clang_flags = "--target=aarch64-linux-gnu -mcpu=neoverse-v2"},
    {.name = "apple-m1", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 4, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 128 << 10, .l2_bytes = 12 << 20,
     .gcc_flags = "-march=armv8.4-a", .clang_flags = "--target=arm64-apple-macos -mcpu=apple-m1"},
    {.name = "apple-m2", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 4, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 128 << 10, .l2_bytes = 16 << 20,
     .gcc_flags = "-march=armv8.6-a", .clang_flags = "--target=arm64-apple-macos -mcpu=apple-m2"},
    {.name = "apple-m3", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 4, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 128 << 10, .l2_bytes = 16 << 20,
     .gcc_flags = "-march=armv8.6-a", .clang_flags = "--target=arm64-apple-macos -mcpu=apple-m3"},
    {.name = "apple-m4", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 4, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 128 << 10, .l2_bytes = 16 << 20,
     .gcc_flags = "-march=armv8.6-a", .clang_flags = "--target=arm64-apple-macos -mcpu=apple-m4"},
    {.name = "cortex-a53", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 1, .fma_latency = 8,
     .fast_fma = true, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10,
     .gcc_flags = "-mcpu=cortex-a53", .clang_flags = "--target=aarch64-linux-gnu -mcpu=cortex-a53"},
    {.name = "cortex-a72", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 2, .fma_latency = 7,
     .fast_fma = true, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20,
     .gcc_flags = "-mcpu=cortex-a72", .clang_flags = "--target=aarch64-linux-gnu -mcpu=cortex-a72"},
    {.name = "cortex-a76", .isa = SC_ISA_ARMV8_A, .lanes = 2, .vector_registers = 32, .fma_units = 2, .fma_latency = 4,
     .fast_fma = true, .l1_bytes = 64 << 10, .l2_bytes = 512 << 10,
     .gcc_flags = "-mcpu=cortex-a76", .clang_flags = "--target=aarch64-linux-gnu -mcpu=cortex-a76"},
    {.name = "cortex-m7", .isa = SC_ISA_ARMV7E_M, .lanes = 1, .vector_registers = 16, .fma_units = 1, .fma_latency = 7,
     .fast_fma = true, .l1_bytes = 16 << 10, .l2_bytes = 0,
     .gcc_flags = "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard",
     .clang_flags = "--target=arm-none-eabi -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard"},
};
// clang-format on

enum { PRESETS = sizeof presets / sizeof *presets };

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static sc_target host;

static void probe(void) {
  sci_target_probe(&host);
}

const sc_target *sci_target_host(void) {
  pthread_once(&probe_once, probe);
  return &host;
}

bool sci_target_find(const char *name, sc_target *out) {
  for (size_t i = 0; i < PRESETS; i++) {
    if (strcmp(presets[i].name, name) != 0) continue;
    *out = strcmp(name, "native") == 0 ? *sci_target_host() : presets[i];
    return true;
  }
  return false;
}

bool sci_isa_runs(sc_isa isa, sc_isa needed) {
  bool x86 = isa >= SC_ISA_X86_64 && isa <= SC_ISA_X86_64_V4;
  return x86 ? needed >= SC_ISA_X86_64 && needed <= isa : needed == isa;
}

size_t sc_target_preset_count(void) {
  return PRESETS;
}

const char *sc_target_preset_name(size_t i) {
  return i < PRESETS ? presets[i].name : NULL;
}
