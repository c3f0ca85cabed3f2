/* Owns the plugin's table: what the core asks of LLVM, each request in a frame of its own. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <elf.h>
#include <llvm-c/BitWriter.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "backends/llvm/llvm.h"
#include "backends/x86/x86.h"
#include "lib/target/target.h"

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static sc_status status_of(const sci_env *env) {
  return env->n_diags ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
}

/* ---- code ---- */

static LLVMMemoryBufferRef generate(sci_env *env, LLVMModuleRef module, LLVMTargetMachineRef machine,
                                    LLVMCodeGenFileType type) {
  LLVMMemoryBufferRef code = NULL;
  char *problem = NULL;
  bool failed = LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &problem, &code);
  if (failed) sci_llvm_note(problem);
  LLVMDisposeMessage(problem);
  /* Errors of code generation proper are diagnostics; the call succeeds all the same. */
  if (!failed && sci_llvm_guard_get()->message[0]) LLVMDisposeMemoryBuffer(code);
  if (sci_llvm_guard_get()->message[0]) sci_fail(env, SC_ERR_BACKEND, "LLVM: %s", sci_llvm_guard_get()->message);
  return code;
}

/* The bytes of an ELF object's sections of instructions; 0 for other formats. */
static size_t code_bytes(LLVMMemoryBufferRef object) {
  const char *data = LLVMGetBufferStart(object);
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)data;
  if (LLVMGetBufferSize(object) < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
      h->e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(data + h->e_shoff);
  size_t bytes = 0;
  for (unsigned i = 0; i < h->e_shnum; i++)
    if (sections[i].sh_flags & SHF_EXECINSTR) bytes += sections[i].sh_size;
  return bytes;
}

/* ---- compiling ---- */

/* What is left of a compilation for the best tier: the module, in a context of its own. */
typedef struct later {
  LLVMContextRef cx;
  LLVMModuleRef module;
  sc_target target;
  size_t n;
  char *symbols[]; /* n, and behind them their text */
} later;

static void drop_later(void *what) {
  later *l = what;
  if (sci_llvm_usable()) {
    sci_llvm_lock();
    if (!setjmp(sci_llvm_guard_get()->jump)) {
      if (l->module) LLVMDisposeModule(l->module);
      if (l->cx) LLVMContextDispose(l->cx);
    }
    sci_llvm_unlock();
  }
  free(l);
}

/* Within a stay in LLVM already. */
static void dispose_later(void *what) {
  later *l = what;
  if (sci_llvm_usable()) {
    if (l->module) LLVMDisposeModule(l->module);
    if (l->cx) LLVMContextDispose(l->cx);
  }
  free(l);
}

static later *new_later(sci_env *env, const sc_target *target, const char *const *symbols, size_t n) {
  size_t bytes = sizeof(later) + n * sizeof(char *), texts = 0;
  for (size_t i = 0; i < n; i++) texts += strlen(symbols[i]) + 1;
  later *l = calloc(1, bytes + texts);
  if (!l) sci_fail(env, SC_ERR_MEMORY, "out of memory: what is to be compiled later");
  l->target = *target;
  l->n = n;
  char *at = (char *)l + bytes;
  for (size_t i = 0; i < n; i++) {
    size_t size = strlen(symbols[i]) + 1;
    l->symbols[i] = memcpy(at, symbols[i], size);
    at += size;
  }
  return l;
}

/* No C identifier, so never the name of a math routine. */
static const char *const *kernel_symbols(sci_env *env, const sci_program *const *programs, size_t n) {
  const char **symbols = SCI_ARRAY(&env->scratch, const char *, n);
  for (size_t i = 0; i < n; i++)
    symbols[i] = sci_asprintf(&env->scratch, n > 1 ? "%s.entry.%zu" : "%s.entry", programs[i]->name, i);
  return symbols;
}

static sci_llvm_emitter *emit_all(sci_env *env, const sci_program *const *programs, const char *const *symbols,
                                  size_t n, const sci_llvm_machine *target, bool asan) {
  sci_llvm_style style = asan ? SCI_LLVM_ASAN : SCI_LLVM_PLAIN;
  sci_llvm_emitter *e = sci_llvm_emit(env, programs[0], target, symbols[0], style, NULL);
  for (size_t i = 1; i < n; i++) {
    sci_llvm_emitter *guest = sci_llvm_emit(env, programs[i], target, symbols[i], style, e);
    sci_keep(env, guest);
    sci_llvm_emitter_free(guest);
  }
  return e;
}

static size_t count_instructions(LLVMModuleRef module) {
  size_t n = 0;
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) n++;
  return n;
}

/* Code of the module for the tier, placed; the module is used up. Where direct code came first, nobody waits for its
 * verification here. */
static void make_code(sci_env *env, LLVMModuleRef module, LLVMTargetMachineRef machine, const char *const *symbols,
                      size_t n, bool linked, sci_code *out) {
  double t0 = now_ms();
  sci_llvm_verify(env, module);
  LLVMMemoryBufferRef object = generate(env, module, machine, LLVMObjectFile);
  out->code_bytes = code_bytes(object);
  double t1 = now_ms();
  sci_llvm_place(env, object, symbols, n, linked, out);
  out->times.codegen = t1 - t0;
  out->times.link = now_ms() - t1;
}

/* Generating the best code takes 1.3 milliseconds and more, however small the function, so `auto` begins with fast
 * code. But the first compilation of a process spends its time on bringing LLVM's code into memory, which both ways
 * would do twice: then the best code of a small function is made at once. Instructions. */
enum { BEST_AT_ONCE = 60 };
static atomic_bool warm;

static bool is_direct(const sci_compile_request *request) {
  return !request->linked && !request->asan;
}

/* Fast code without LLVM, if it is known how; see backends/x86. */
static bool make_direct(sci_env *env, const sci_program *const *programs, size_t n, sci_code *out) {
#if defined(__x86_64__)
  if (programs[0]->target.isa > sci_target_host()->isa) return false;
  double t0 = now_ms();
  const char *refusal;
  sci_image *im = sci_x86_image(env, programs, n, &refusal);
  if (!im) return false;
  sci_defer(env, free, im);
  double t1 = now_ms();
  sci_llvm_place_image(env, im, out);
  out->code_bytes = im->code_bytes;
  out->tier = SC_TIER_FAST;
  out->times.codegen = t1 - t0;
  out->times.link = now_ms() - t1;
  sci_keep(env, im);
  free(im);
  return true;
#else
  (void)env, (void)programs, (void)n, (void)out;
  return false;
#endif
}

static bool is_for_later(const sci_compile_request *request, LLVMModuleRef module) {
#ifdef SCALY_LLVM_SHARED
  (void)request, (void)module;
  return false; /* libLLVM destroys its globals at exit, whatever still runs */
#else
  return request->tier == SC_TIER_AUTO && (atomic_exchange(&warm, true) || count_instructions(module) > BEST_AT_ONCE);
#endif
}

/* The emitter's module and context go on to the background. */
static void hand_over(sci_env *env, sci_llvm_emitter *e, later *l, sci_code *out) {
  l->cx = e->cx;
  if (!l->module)
    l->module = e->module;
  else
    LLVMDisposeModule(e->module);
  e->module = NULL;
  e->cx = NULL;
  sci_keep(env, l);
  out->later = l;
}

/* Fast code now: direct, or of a copy of the module. */
static void make_fast_first(sci_env *env, const sci_compile_request *request, sci_llvm_emitter *e,
                            const sci_program *const *programs, const char *const *symbols, size_t n, sci_code *out) {
  later *l = new_later(env, &programs[0]->target, symbols, n);
  sci_defer(env, dispose_later, l);
  if (!is_direct(request) || !make_direct(env, programs, n, out)) {
    l->module = LLVMCloneModule(e->module);
    make_code(env, e->module, sci_llvm_machine_get(env, &l->target, true, true)->machine, symbols, n, request->linked,
              out);
  }
  out->tier = SC_TIER_FAST;
  hand_over(env, e, l, out);
}

static void compile_programs(sci_env *env, const sci_compile_request *request, sci_code *out) {
  const sci_program *const *programs = request->batch ? request->batch : &request->program;
  size_t n = request->batch ? request->n_batch : 1;
  bool fast = request->tier == SC_TIER_FAST;
  if (request->asan && !sci_routine("__asan_loadN"))
    sci_fail(env, SC_ERR_UNAVAILABLE,
             "AddressSanitizer is not in this process: build the program with -fsanitize=address");
  if (fast && is_direct(request) && make_direct(env, programs, n, out)) return;
  double t0 = now_ms();
  const sci_llvm_machine *target = sci_llvm_machine_get(env, &programs[0]->target, true, fast);
  double t1 = now_ms();
  const char *const *symbols = kernel_symbols(env, programs, n);
  sci_llvm_emitter *e = emit_all(env, programs, symbols, n, target, request->asan);
  out->times.target = t1 - t0;
  out->times.emit = now_ms() - t1;
  if (is_for_later(request, e->module)) {
    make_fast_first(env, request, e, programs, symbols, n, out);
  } else {
    make_code(env, e->module, target->machine, symbols, n, request->linked, out);
    out->tier = fast ? SC_TIER_FAST : SC_TIER_BEST;
  }
  sci_keep(env, e);
  sci_llvm_emitter_free(e);
}

static sc_status compile(sci_env *env, const sci_compile_request *request, sci_code *out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return status_of(env);
  sci_llvm_enter(env);
  if (setjmp(sci_llvm_guard_get()->jump)) sci_llvm_fatal(env);
  compile_programs(env, request, out);
  sci_llvm_exit(env);
  sci_leave(env, &fr);
  return SC_OK;
}

static void finish_later(sci_env *env, later *l, sci_code *out) {
  const sci_llvm_machine *target = sci_llvm_machine_get(env, &l->target, true, false);
  out->tier = SC_TIER_BEST;
  make_code(env, l->module, target->machine, (const char *const *)l->symbols, l->n, false, out);
}

static sc_status finish(sci_env *env, void *what, sci_code *out) {
  later *l = what;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) {
    drop_later(l);
    return status_of(env);
  }
  sci_llvm_enter(env);
  if (setjmp(sci_llvm_guard_get()->jump)) sci_llvm_fatal(env);
  finish_later(env, l, out);
  sci_llvm_exit(env);
  sci_leave(env, &fr);
  drop_later(l);
  return SC_OK;
}

/* ---- text and objects ---- */

static void dispose_buffer(void *buffer) {
  if (sci_llvm_usable()) LLVMDisposeMemoryBuffer(buffer);
}

static void dispose_message(void *text) {
  if (sci_llvm_usable()) LLVMDisposeMessage(text);
}

static void render_program(sci_env *env, const sci_render_request *r, char **out, size_t *size) {
  const sci_llvm_machine *target = sci_llvm_machine_get(env, &r->program->target, false, false);
  sci_llvm_emitter *e =
      sci_llvm_emit(env, r->program, target, r->symbol ? r->symbol : r->program->name, SCI_LLVM_NAMES, NULL);
  sci_llvm_verify(env, e->module);
  if (r->emit == SC_EMIT_LLVM) {
    char *text = LLVMPrintModuleToString(e->module);
    sci_defer(env, dispose_message, text);
    *size = strlen(text);
    *out = sci_bytes_dup(env, text, *size);
    sci_keep(env, text);
    LLVMDisposeMessage(text);
  } else {
    LLVMMemoryBufferRef buffer =
        r->emit == SC_EMIT_BITCODE
            ? LLVMWriteBitcodeToMemoryBuffer(e->module)
            : generate(env, e->module, target->machine, r->emit == SC_EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile);
    sci_defer(env, dispose_buffer, buffer);
    *size = LLVMGetBufferSize(buffer);
    *out = sci_bytes_dup(env, LLVMGetBufferStart(buffer), *size);
    sci_keep(env, buffer);
    LLVMDisposeMemoryBuffer(buffer);
  }
  sci_keep(env, e);
  sci_llvm_emitter_free(e);
}

static sc_status render(sci_env *env, const sci_render_request *request, char *out[2], size_t size[2]) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return status_of(env);
  sci_llvm_enter(env);
  if (setjmp(sci_llvm_guard_get()->jump)) sci_llvm_fatal(env);
  render_program(env, request, &out[0], &size[0]);
  out[1] = NULL;
  size[1] = 0;
  sci_llvm_exit(env);
  sci_leave(env, &fr);
  return SC_OK;
}

SC_API const sci_backend *scaly_llvm_backend(void);

const sci_backend *scaly_llvm_backend(void) {
  static const sci_backend backend = {SCI_BACKEND_ABI, "llvm", "LLVM " LLVM_VERSION_STRING, render, compile, finish,
                                      drop_later,      NULL};
  sci_llvm_start();
  return &backend;
}
