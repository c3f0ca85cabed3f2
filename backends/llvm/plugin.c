/* Owns the plugin's table: what the core asks of LLVM, each request in a frame of its own. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <elf.h>
#include <llvm-c/BitWriter.h>
#include <stdlib.h>
#include <time.h>

#include "backends/llvm/llvm.h"
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

/* Code of the module for the tier, placed; the module is used up. */
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

static void compile_programs(sci_env *env, const sci_compile_request *request, sci_code *out) {
  const sci_program *const *programs = request->batch ? request->batch : &request->program;
  size_t n = request->batch ? request->n_batch : 1;
  bool fast = request->tier == SC_TIER_FAST;
  if (request->asan && !sci_routine("__asan_loadN"))
    sci_fail(env, SC_ERR_UNAVAILABLE,
             "AddressSanitizer is not in this process: build the program with -fsanitize=address");
  double t0 = now_ms();
  const sci_llvm_machine *target = sci_llvm_machine_get(env, &programs[0]->target, true, fast);
  double t1 = now_ms();
  const char *const *symbols = kernel_symbols(env, programs, n);
  sci_llvm_emitter *e = emit_all(env, programs, symbols, n, target, request->asan);
  out->times.target = t1 - t0;
  out->times.emit = now_ms() - t1;
  make_code(env, e->module, target->machine, symbols, n, request->linked, out);
  out->tier = fast ? SC_TIER_FAST : SC_TIER_BEST;
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

/* ---- text and objects ---- */

static void dispose_buffer(void *buffer) {
  if (sci_llvm_usable()) LLVMDisposeMemoryBuffer(buffer);
}

static void dispose_message(void *text) {
  if (sci_llvm_usable()) LLVMDisposeMessage(text);
}

static void render_program(sci_env *env, const sci_render_request *r, char **out, size_t *size) {
  const sci_llvm_machine *target = sci_llvm_machine_get(env, &r->program->target, false, false);
  sci_llvm_style style = r->emit == SC_EMIT_LLVM ? SCI_LLVM_NAMES : SCI_LLVM_PLAIN;
  sci_llvm_emitter *e = sci_llvm_emit(env, r->program, target, r->symbol ? r->symbol : r->program->name, style, NULL);
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

/* Linked statically, LLVM's globals are never destroyed (sci_llvm_forget); those of the shared library are. */
#ifdef SCALY_LLVM_SHARED
enum { MAY_BE_LEFT = false };
#else
enum { MAY_BE_LEFT = true };
#endif

SC_API const sci_backend *scaly_llvm_backend(void);

const sci_backend *scaly_llvm_backend(void) {
  static const sci_backend backend = {SCI_BACKEND_ABI, "llvm", "LLVM " LLVM_VERSION_STRING, render, compile, NULL,
                                      MAY_BE_LEFT};
  sci_llvm_start();
  return &backend;
}
