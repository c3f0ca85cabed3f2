/* Kernels: functions compiled to machine code that this process can call. */
#ifndef SCALY_KERNEL_H
#define SCALY_KERNEL_H

#include "scaly/derive.h"
#include "scaly/module.h"

SC_BEGIN_DECLS

typedef struct sc_kernel sc_kernel;

/* The entry's C signature; element types are those of the inputs and outputs. Status codes are SC_KERNEL_*. */
typedef int (*sc_entry)(const void **arg, void **res, int *iw, void *w, int mem);

enum {
  SC_KERNEL_SUCCESS = 0,
  SC_KERNEL_ERR_NULL_ABI = 1,
  SC_KERNEL_ERR_NULL_WORK = 2,
  SC_KERNEL_ERR_NULL_RESULT = 3,
  SC_KERNEL_ERR_NULL_INPUT = 4,
  SC_KERNEL_ERR_OVERLAP = 5, /* sc_kernel_call only: an output overlaps another buffer */
};

/* How much work goes into the code. All tiers give the same bits, NaN payloads apart.
 *   fast  quick code generation, no register allocation to speak of: for the first call
 *   best  for the steady state
 *   auto  fast, and best on a background thread, swapped in when it is ready; without LLVM, fast for good. (Where fast
 *         code needs LLVM itself, the first small function of a process gets its best code at once.)
 * Fast code of float64, int64 and bools is the library's own on x86-64 with AVX2; everything else needs LLVM. */
typedef enum sc_tier { SC_TIER_AUTO = 0, SC_TIER_FAST, SC_TIER_BEST } sc_tier;

enum {
  SC_NAMES_GDB = 1,  /* functions in backtraces, through gdb's JIT interface */
  SC_NAMES_PERF = 2, /* in profiles, through /tmp/perf-PID.map, which is left behind */
};

typedef struct sc_jit_options {
  const sc_lower_options *lower; /* NULL: defaults, host target */
  const char *plugin_dir;        /* where libscaly-llvm.so is; NULL: beside the library, then the install prefix */
  sc_tier tier;

  /* sc_jit only: compiles what these derive from the function (sc_function_derive with these options) instead of the
   * function itself. A hit in the cache then derives nothing. */
  const sc_request *requests;
  size_t n_requests;
  const sc_options *derive;

  /* The folder of the cache (scaly/cache.h); NULL: none. What it has is loaded instead of being compiled, without LLVM.
   * Tier auto puts its fast code there at once, and the best in its place when that is ready: in this process, or in a
   * later one that finds the fast code and lasts. Tier best takes nothing but the best. In this process, kernels of the
   * same function and options share their code. Tier fast goes past it. */
  const char *cache_dir;
  bool rebuild;   /* compile in any case, and replace what the cache has */
  unsigned names; /* SC_NAMES_*: which tools are told what the code is called */
  /* Every load and store of the code is checked by AddressSanitizer, so that a buffer which is too short, or gone, is
   * reported where it is accessed. The program must be built with -fsanitize=address: SC_ERR_UNAVAILABLE if not. For
   * debugging: such code is several times slower, and goes past the cache. */
  bool asan;
} sc_jit_options;

/* Threads of this process that compile in the background, 0 to 16; 1 unless set. With 0, tier `auto` compiles its best
 * code at once where there is LLVM. They are started when there is work for them, and begin it after ten milliseconds,
 * unless somebody waits for it. The end of the process waits for no compilation. A library that has had such work stays
 * loaded. While a shared library is being opened or closed (its constructors and destructors), do not wait for a
 * kernel, and compile in tier `fast` or `auto` only: the threads may have to open one themselves. */
SC_API sc_status sc_jit_set_threads(int n);

/* Compiles in process. NULL on failure: SC_ERR_UNAVAILABLE when that takes LLVM and this build or installation has no
 * plugin, or when there is none in `plugin_dir`. */
SC_API sc_kernel *sc_jit(const sc_function *f, const sc_jit_options *options);
SC_API sc_kernel *sc_jit_program(const sc_program *p, const sc_jit_options *options);

/* Compiles n functions in one module, cheaper than one by one: out[i] is the kernel of fs[i]. All of one context. On
 * failure out is all NULL. */
SC_API sc_status sc_jit_batch(const sc_function *const *fs, size_t n, const sc_jit_options *options, sc_kernel **out);

/* What the LLVM backend makes of the program, as bytes. `*size` excludes the terminating zero. Free with
 * sc_string_free. */
SC_API char *sc_emit_llvm(const sc_program *p, sc_emit kind, const sc_jit_options *options, size_t *size);

typedef struct sc_cc_options {
  const char *const *compiler; /* argv prefix, NULL-terminated, e.g. {"gcc", NULL} or {"zig", "cc", NULL} */
  const char *const *flags;    /* NULL-terminated; NULL: {"-O2", NULL} */
  sc_dialect dialect;   /* gnu needs vector extensions of the compiler; c compiles anywhere, with loops over lanes, and
                           without vector math */
  const char *temp_dir; /* NULL: "/tmp" */
  const sc_lower_options *lower;
  /* As in sc_jit_options. The library is kept with the source it was made of, and belongs to the compiler as it is: its
   * path, size and time. */
  const char *cache_dir;
  bool rebuild;
} sc_cc_options;

/* Renders C, spawns the compiler (never a shell), loads the shared object. */
SC_API sc_kernel *sc_compile_cc(const sc_function *f, const sc_cc_options *options);
SC_API sc_kernel *sc_compile_cc_program(const sc_program *p, const sc_cc_options *options);

SC_API sc_kernel *sc_kernel_retain(sc_kernel *k);
SC_API void sc_kernel_release(sc_kernel *k); /* frees the code with the last reference */

/* Calls the kernel: arg[i] and res[i] point to the inputs' and outputs' row-major elements (stored values when sparse);
 * buffers without values may be NULL. `w` is sc_kernel_workspace_bytes of 64-byte aligned memory, or NULL for a
 * per-thread workspace. Safe from any number of threads at once. Returns SC_KERNEL_*. */
SC_API int sc_kernel_call(sc_kernel *k, const void *const *arg, void *const *res, void *w);
/* The best code there is now. What an earlier call returned stays valid as long as the kernel. */
SC_API sc_entry sc_kernel_entry(const sc_kernel *k);
/* Waits until nothing is being compiled for the kernel in the background. Anything but SC_OK: that failed, and the fast
 * code stays. */
SC_API sc_status sc_kernel_wait(sc_kernel *k);
SC_API sc_tier sc_kernel_tier(const sc_kernel *k); /* of the code there is now: fast or best */
/* Why the cache could not be used for the kernel as asked (an unwritable folder, code that cannot be stored); NULL:
 * nothing to tell. What is compiled in the background is stored when it is ready. */
SC_API const char *sc_kernel_warning(const sc_kernel *k);
SC_API size_t sc_kernel_workspace_bytes(const sc_kernel *k);
SC_API size_t sc_kernel_code_bytes(const sc_kernel *k);

typedef struct sc_port {
  const char *name;
  sc_dtype dtype;
  int rank;
  const int64_t *shape;      /* of the tensor; {nrow, ncol} when sparse */
  int64_t count;             /* stored elements */
  const sc_pattern *pattern; /* NULL: dense */
} sc_port;

SC_API const char *sc_kernel_name(const sc_kernel *k);
SC_API size_t sc_kernel_input_count(const sc_kernel *k);
SC_API size_t sc_kernel_output_count(const sc_kernel *k);
SC_API const sc_port *sc_kernel_input(const sc_kernel *k, size_t i);
SC_API const sc_port *sc_kernel_output(const sc_kernel *k, size_t i);

/* Milliseconds spent making the kernel, by stage; a stage that did not happen is 0. */
typedef struct sc_compile_times {
  double cache;   /* the cache: key, reading, loading, writing */
  double lower;   /* expression graph to optimized program */
  double plugin;  /* loading the LLVM plugin, if this kernel is the first that could not do without */
  double target;  /* target machine and JIT session, first kernel only */
  double emit;    /* IR or C text */
  double codegen; /* LLVM passes and code generation, or the spawned compiler */
  double link;    /* placing, linking or dlopen */
  double best;    /* passes, code generation and placing of the best tier in the background */
} sc_compile_times;
SC_API sc_compile_times sc_kernel_times(const sc_kernel *k);

/* What this build and machine offer. `path` and `version` may be NULL when absent. */
SC_API bool sc_llvm_available(sc_context *cx, const char *plugin_dir, const char **version);

SC_END_DECLS

#endif
