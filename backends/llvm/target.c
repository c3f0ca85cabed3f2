/* Owns target machines: which triple, processor and features a target means to LLVM, one machine kept per thread. */
#include <pthread.h>
#include <stdlib.h>

#include "backends/llvm/llvm.h"
#include "lib/target/target.h"

typedef enum arch { NO_ARCH, X86, AARCH64 } arch;
#if defined(__x86_64__)
#define HOST X86
#define HOST_CPU "x86-64"
#elif defined(__aarch64__)
#define HOST AARCH64
#define HOST_CPU "generic"
#else
#define HOST NO_ARCH
#define HOST_CPU ""
#endif

static const struct {
  const char *name, *cpu;
  arch arch;
} isas[] = {
    [SC_ISA_GENERIC] = {"the generic target", HOST_CPU, HOST}, [SC_ISA_X86_64] = {"x86-64", "x86-64", X86},
    [SC_ISA_X86_64_V3] = {"x86-64-v3", "x86-64-v3", X86},      [SC_ISA_X86_64_V4] = {"x86-64-v4", "x86-64-v4", X86},
    [SC_ISA_ARMV8_A] = {"armv8-a", "generic", AARCH64},        [SC_ISA_ARMV7E_M] = {"armv7e-m", "cortex-m7", NO_ARCH},
};

#ifdef SCALY_LLVM_X86
static void start_x86(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}
#endif
#ifdef SCALY_LLVM_AARCH64
static void start_aarch64(void) {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
}
#endif

/* Only what is asked for is initialized: every target costs page faults at start. */
static bool start_arch(arch a) {
#ifdef SCALY_LLVM_X86
  static pthread_once_t x86 = PTHREAD_ONCE_INIT;
  if (a == X86) return pthread_once(&x86, start_x86) == 0;
#endif
#ifdef SCALY_LLVM_AARCH64
  static pthread_once_t aarch64 = PTHREAD_ONCE_INIT;
  if (a == AARCH64) return pthread_once(&aarch64, start_aarch64) == 0;
#endif
  (void)a;
  return false;
}

/* Features as LLVM is told them. Each name costs it some 10 microseconds, several times per module, so what the
 * processor's level says already is left out, and so is what no arithmetic uses. */
static const char *const implied[] = {
    [SC_ISA_X86_64_V3] = ",sse3,ssse3,sse4.1,sse4.2,popcnt,cx16,sahf,avx,f16c,fma,avx2,bmi,bmi2,lzcnt,movbe,",
    [SC_ISA_X86_64_V4] = ",sse3,ssse3,sse4.1,sse4.2,popcnt,cx16,sahf,avx,f16c,fma,avx2,bmi,bmi2,lzcnt,movbe,"
                         "avx512f,avx512dq,avx512cd,avx512bw,avx512vl,",
    [SC_ISA_ARMV7E_M] = NULL,
};
static const char unused[] =
    ",aes,pclmul,sha,adx,gfni,vaes,vpclmulqdq,avx512ifma,avx512bitalg,avx512vpopcntdq,avx512vnni,avx512bf16,"
    "avx512vbmi,avx512vbmi2,avx512fp16,";

static bool listed(const char *list, const char *name, size_t n) {
  for (const char *at = list; at && (at = strchr(at, ',')) && at[1]; at++)
    if (!strncmp(at + 1, name, n) && at[1 + n] == ',') return true;
  return false;
}

static void put(char *out, size_t size, const char *feature, size_t n) {
  size_t used = strlen(out);
  if (used + n + 2 > size) return;
  if (used) out[used++] = ',';
  memcpy(out + used, feature, n);
  out[used + n] = 0;
}

static void spell_features(char *out, size_t size, const sc_target *t) {
  bool x86 = isas[t->isa].arch == X86;
  out[0] = 0;
  for (const char *f = t->features; *f;) {
    size_t n = strcspn(f, ",");
    bool vector = n > 1 && listed(implied[SC_ISA_X86_64_V4], f + 1, n - 1),
         here = n > 1 && listed(implied[t->isa], f + 1, n - 1);
    bool said = n > 1 && x86 && (listed(unused, f + 1, n - 1) || (vector && here == (f[0] == '+')));
    if (!said) put(out, size, f, n);
    f += n + (f[n] == ',');
  }
  static const char no_gather[] = "+prefer-no-gather,+prefer-no-scatter";
  if (x86 && !t->gathers_pay) put(out, size, no_gather, sizeof no_gather - 1);
}

/* Of one thread: a machine per tier. */
typedef struct kept {
  sci_llvm_machine m[2];
  sc_target target; /* the machine was made for */
  char features[600];
} kept;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void drop_machines(kept *k) {
  for (int i = 0; i < 2; i++) {
    if (k->m[i].machine) LLVMDisposeTargetMachine(k->m[i].machine);
    k->m[i].machine = NULL;
  }
}

static void drop(void *p) {
  kept *k = p;
  if (sci_llvm_usable()) drop_machines(k);
  free(k);
}

static void make_key(void) {
  pthread_key_create(&key, drop);
}

static kept *of_thread(sci_env *env) {
  pthread_once(&key_once, make_key);
  kept *k = pthread_getspecific(key);
  if (k) return k;
  k = calloc(1, sizeof *k);
  if (!k || pthread_setspecific(key, k)) {
    free(k);
    sci_fail(env, SC_ERR_MEMORY, "out of memory: a target machine's description");
  }
  return k;
}

static bool same(const sc_target *a, const sc_target *b) {
  return a->isa == b->isa && a->gathers_pay == b->gathers_pay && strcmp(a->features, b->features) == 0;
}

static LLVMTargetMachineRef make(const char *triple, const char *cpu, const char *features, LLVMCodeGenOptLevel level) {
  LLVMTargetRef target;
  char *error = NULL;
  if (LLVMGetTargetFromTriple(triple, &target, &error)) {
    sci_llvm_note(error);
    LLVMDisposeMessage(error);
    return NULL;
  }
  return LLVMCreateTargetMachine(target, triple, cpu, features, level, LLVMRelocPIC, LLVMCodeModelDefault);
}

const sci_llvm_machine *sci_llvm_machine_get(sci_env *env, const sc_target *target, bool native, bool fast) {
  arch a = isas[target->isa].arch;
  if (native) {
    const sc_target *host = sci_target_host();
    if (a != HOST || target->isa > host->isa)
      sci_fail(env, SC_ERR_ARGUMENT, "code for %s cannot run here: this machine is %s", isas[target->isa].name,
               isas[host->isa].name);
  }
  if (!start_arch(a))
    sci_fail(env, SC_ERR_UNAVAILABLE, "this build of LLVM makes no code for %s", isas[target->isa].name);
  kept *k = of_thread(env);
  sci_llvm_machine *m = &k->m[fast];
  if (!same(&k->target, target)) drop_machines(k);
  if (m->machine) return m;
  spell_features(k->features, sizeof k->features, target);
  k->target = *target;
  m->triple = a == HOST  ? LLVM_DEFAULT_TARGET_TRIPLE
              : a == X86 ? "x86_64-unknown-linux-gnu"
                         : "aarch64-unknown-linux-gnu";
  m->cpu = isas[target->isa].cpu;
  m->features = k->features;
  m->machine = make(m->triple, m->cpu, m->features, fast ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault);
  if (!m->machine) sci_fail(env, SC_ERR_UNAVAILABLE, "LLVM: %s", sci_llvm_guard_get()->message);
  return m;
}

LLVMTargetMachineRef sci_llvm_machine_host(void) {
  return start_arch(HOST) ? make(LLVM_DEFAULT_TARGET_TRIPLE, HOST_CPU, "", LLVMCodeGenLevelDefault) : NULL;
}
