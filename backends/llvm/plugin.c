/* Owns the plugin's table: what the core asks of LLVM, each request in a frame of its own. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <llvm-c/BitWriter.h>
#include <elf.h>
#include <time.h>

#include "backends/llvm/llvm.h"

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static sc_status status_of(const sci_env *env) {
  return env->n_diags ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
}

/* ---- code ---- */

static LLVMMemoryBufferRef generate(sci_env *env, sci_llvm_emitter *e, LLVMCodeGenFileType type) {
  LLVMMemoryBufferRef code = NULL;
  char *problem = NULL;
  bool failed = LLVMTargetMachineEmitToMemoryBuffer(e->target->machine, e->module, type, &problem, &code);
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
  if (LLVMGetBufferSize(object) < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64) return 0;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(data + h->e_shoff);
  size_t bytes = 0;
  for (unsigned i = 0; i < h->e_shnum; i++)
    if (sections[i].sh_flags & SHF_EXECINSTR) bytes += sections[i].sh_size;
  return bytes;
}

/* No C identifier, so never the name of a math routine. */
static const char *kernel_symbol(sci_env *env, const sci_program *p) {
  return sci_asprintf(&env->scratch, "%s.entry", p->name);
}

static void compile_program(sci_env *env, const sci_program *p, sci_code *out) {
  double t0 = now_ms();
  const sci_llvm_machine *target = sci_llvm_machine_get(env, &p->target, true);
  sci_llvm_link_open(env);
  double t1 = now_ms();
  const char *symbol = kernel_symbol(env, p);
  sci_llvm_emitter *e = sci_llvm_emit(env, p, target, symbol, false);
  double t2 = now_ms();
  LLVMMemoryBufferRef object = generate(env, e, LLVMObjectFile);
  out->code_bytes = code_bytes(object);
  double t3 = now_ms();
  sci_llvm_link(env, object, symbol, out);
  out->times = (sc_compile_times){.target = t1 - t0, .emit = t2 - t1, .codegen = t3 - t2, .link = now_ms() - t3};
  sci_keep(env, e);
  sci_llvm_emitter_free(e);
}

static sc_status compile(sci_env *env, const sci_compile_request *request, sci_code *out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return status_of(env);
  sci_llvm_enter(env);
  if (setjmp(sci_llvm_guard_get()->jump)) sci_llvm_fatal(env);
  compile_program(env, request->program, out);
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
  const sci_llvm_machine *target = sci_llvm_machine_get(env, &r->program->target, false);
  sci_llvm_emitter *e = sci_llvm_emit(env, r->program, target, r->program->name, true);
  if (r->emit == SC_EMIT_LLVM) {
    char *text = LLVMPrintModuleToString(e->module);
    sci_defer(env, dispose_message, text);
    *size = strlen(text);
    *out = sci_bytes_dup(env, text, *size);
    sci_keep(env, text);
    LLVMDisposeMessage(text);
  } else {
    LLVMMemoryBufferRef buffer = r->emit == SC_EMIT_BITCODE ? LLVMWriteBitcodeToMemoryBuffer(e->module)
                                 : generate(env, e, r->emit == SC_EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile);
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
  static const sci_backend backend = {SCI_BACKEND_ABI, "llvm", "LLVM " LLVM_VERSION_STRING, render, compile};
  return &backend;
}
