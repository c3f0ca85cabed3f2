/* Owns the recognition of the processor that runs, from what it and the operating system say, never from its model
 * name. */
#define _GNU_SOURCE /* sysconf's cache sizes */
#include "lib/target/target.h"

#include <string.h>
#include <unistd.h>

static int cache_size(int level1, int fallback) {
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  long size = sysconf(level1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
  if (size > 0 && size <= 1L << 30) return (int)size;
#else
  (void)level1;
#endif
  return fallback;
}

/* A feature that does not fit any more is left out: fewer features are always safe. */
static void put_feature(sc_target *t, bool have, const char *name) {
  size_t n = strlen(t->features), len = strlen(name);
  if (n + len + 3 > sizeof t->features) return;
  if (n) t->features[n++] = ',';
  t->features[n++] = have ? '+' : '-';
  memcpy(t->features + n, name, len + 1);
}

#if defined(__x86_64__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };
/* Which register state a feature needs the operating system to save. */
typedef enum state { ANY, YMM, ZMM } state;

typedef struct leaf {
  unsigned id, sub;
} leaf;

/* LLVM's names. Vector features are printed either way, the others only when there. */
static const struct {
  const char *name;
  leaf at;
  uint8_t reg, bit, needs;
} x86_features[] = {
    {"sse3", {1, 0}, ECX, 0, ANY},
    {"pclmul", {1, 0}, ECX, 1, ANY},
    {"ssse3", {1, 0}, ECX, 9, ANY},
    {"fma", {1, 0}, ECX, 12, YMM},
    {"cx16", {1, 0}, ECX, 13, ANY},
    {"sse4.1", {1, 0}, ECX, 19, ANY},
    {"sse4.2", {1, 0}, ECX, 20, ANY},
    {"movbe", {1, 0}, ECX, 22, ANY},
    {"popcnt", {1, 0}, ECX, 23, ANY},
    {"aes", {1, 0}, ECX, 25, ANY},
    {"avx", {1, 0}, ECX, 28, YMM},
    {"f16c", {1, 0}, ECX, 29, YMM},
    {"bmi", {7, 0}, EBX, 3, ANY},
    {"avx2", {7, 0}, EBX, 5, YMM},
    {"bmi2", {7, 0}, EBX, 8, ANY},
    {"avx512f", {7, 0}, EBX, 16, ZMM},
    {"avx512dq", {7, 0}, EBX, 17, ZMM},
    {"adx", {7, 0}, EBX, 19, ANY},
    {"avx512ifma", {7, 0}, EBX, 21, ZMM},
    {"avx512cd", {7, 0}, EBX, 28, ZMM},
    {"sha", {7, 0}, EBX, 29, ANY},
    {"avx512bw", {7, 0}, EBX, 30, ZMM},
    {"avx512vl", {7, 0}, EBX, 31, ZMM},
    {"avx512vbmi", {7, 0}, ECX, 1, ZMM},
    {"avx512vbmi2", {7, 0}, ECX, 6, ZMM},
    {"gfni", {7, 0}, ECX, 8, ANY},
    {"vaes", {7, 0}, ECX, 9, YMM},
    {"vpclmulqdq", {7, 0}, ECX, 10, YMM},
    {"avx512vnni", {7, 0}, ECX, 11, ZMM},
    {"avx512bitalg", {7, 0}, ECX, 12, ZMM},
    {"avx512vpopcntdq", {7, 0}, ECX, 14, ZMM},
    {"avx512fp16", {7, 0}, EDX, 23, ZMM},
    {"avx512bf16", {7, 1}, EAX, 5, ZMM},
    {"sahf", {0x80000001, 0}, ECX, 0, ANY},
    {"lzcnt", {0x80000001, 0}, ECX, 5, ANY},
};

/* x86-64-v3 and v4 of the x86-64 psABI. */
static const char *const v3[] = {"avx2", "avx", "fma", "bmi", "bmi2", "lzcnt", "movbe", "f16c"};
static const char *const v4[] = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"};

/* Under a hypervisor every cpuid is a trap of microseconds, so each leaf is asked for once. */
static const leaf leaves[] = {{1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}};
enum { LEAVES = sizeof leaves / sizeof *leaves };
typedef unsigned leaf_values[LEAVES][4];

static void ask(leaf_values r) {
  unsigned top = __get_cpuid_max(0, NULL), top_extended = __get_cpuid_max(0x80000000u, NULL);
  memset(r, 0, sizeof(leaf_values));
  for (int i = 0; i < LEAVES; i++) {
    leaf at = leaves[i];
    if ((at.id & 0x80000000u ? top_extended : top) >= at.id)
      __cpuid_count(at.id, at.sub, r[i][EAX], r[i][EBX], r[i][ECX], r[i][EDX]);
  }
}

static const unsigned *leaf_at(leaf_values r, leaf at) {
  int i = 0;
  while (leaves[i].id != at.id || leaves[i].sub != at.sub) i++;
  return r[i];
}

/* XCR0, when the operating system has switched on XSAVE: bits 1 and 2 cover XMM and YMM, 5 to 7 the mask and ZMM
 * registers (Intel SDM vol. 1, 13.3). */
static state saved_state(leaf_values r) {
  if (!(leaf_at(r, (leaf){1, 0})[ECX] >> 27 & 1)) return ANY;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 0xE6) == 0xE6 ? ZMM : (low & 6) == 6 ? YMM : ANY;
}

static bool has_all(const char *const *names, size_t n, const bool *have) {
  for (size_t i = 0; i < n; i++) {
    bool found = false;
    for (size_t k = 0; k < sizeof x86_features / sizeof *x86_features; k++)
      found |= have[k] && strcmp(x86_features[k].name, names[i]) == 0;
    if (!found) return false;
  }
  return true;
}

void sci_target_probe(sc_target *t) {
  enum { N = sizeof x86_features / sizeof *x86_features };
  *t = (sc_target){.name = "native", .gcc_flags = "-march=native", .clang_flags = "-march=native"};
  leaf_values values;
  ask(values);
  state saved = saved_state(values);
  bool have[N];
  for (size_t i = 0; i < N; i++) {
    const unsigned *r = leaf_at(values, x86_features[i].at);
    have[i] = (r[x86_features[i].reg] >> x86_features[i].bit & 1) && x86_features[i].needs <= saved;
    if (have[i] || x86_features[i].needs != ANY) put_feature(t, have[i], x86_features[i].name);
  }
  bool is_v3 = has_all(v3, sizeof v3 / sizeof *v3, have), is_v4 = is_v3 && has_all(v4, sizeof v4 / sizeof *v4, have);
  t->isa = is_v4 ? SC_ISA_X86_64_V4 : is_v3 ? SC_ISA_X86_64_V3 : SC_ISA_X86_64;
  t->lanes = is_v4 ? 8 : is_v3 ? 4 : 2;
  t->vector_registers = is_v4 ? 32 : 16;
  t->fma_units = 2;
  t->fma_latency = 4;
  t->fast_fma = has_all(&v3[2], 1, have);
  t->l1_bytes = cache_size(1, 32 << 10);
  t->l2_bytes = cache_size(0, 512 << 10);
}

#elif defined(__aarch64__)
#ifdef __linux__
#include <sys/auxv.h>
#endif

/* Bits of AT_HWCAP (Linux, arch/arm64/include/uapi/asm/hwcap.h) and LLVM's names. */
static const struct {
  const char *name;
  uint8_t bit;
} arm_features[] = {{"aes", 3}, {"sha2", 6}, {"crc", 7}, {"lse", 8}, {"fullfp16", 10}, {"rdm", 12}, {"dotprod", 20}};

void sci_target_probe(sc_target *t) {
  sci_target_find("armv8-a", t);
  memcpy(t->name, "native", sizeof "native");
  memcpy(t->gcc_flags, "-mcpu=native", sizeof "-mcpu=native");
  memcpy(t->clang_flags, "-mcpu=native", sizeof "-mcpu=native");
  put_feature(t, true, "neon");
  unsigned long caps = 0;
#ifdef __linux__
  caps = getauxval(AT_HWCAP);
#endif
  for (size_t i = 0; i < sizeof arm_features / sizeof *arm_features; i++)
    if (caps >> arm_features[i].bit & 1) put_feature(t, true, arm_features[i].name);
  t->l1_bytes = cache_size(1, t->l1_bytes);
  t->l2_bytes = cache_size(0, t->l2_bytes);
}

#else
void sci_target_probe(sc_target *t) {
  sci_target_find("generic", t);
  memcpy(t->name, "native", sizeof "native");
}
#endif
