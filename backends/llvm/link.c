/* Owns the JIT session: one LLJIT per process, started by the first object that asks for it; each object under its own
 * resource tracker. */
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/llvm/llvm.h"
#include "lib/cache/loader.h"

/* A kernel's symbols live in a library of their own, so kernels of one name do not meet. Libraries cannot be removed
 * through the C API, so those of released kernels are used again. */
typedef struct linked {
  struct linked *next; /* free ones */
  sc_entry *entries;
  LLVMOrcJITDylibRef library;
  LLVMOrcResourceTrackerRef tracker;
} linked;

/* One thread at a time: ORC runs the linking of whatever is outstanding on the thread that looks up, so two threads
 * would finish each other's work. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LLVMOrcLLJITRef jit;
static linked *unused;
static unsigned libraries;

static void lock_session(void) {
  pthread_mutex_lock(&lock);
  sci_llvm_guard_get()->linking = true;
}

void sci_llvm_link_unlock(void) {
  sci_llvm_guard_get()->linking = false;
  pthread_mutex_unlock(&lock);
}

static void note_error(LLVMErrorRef error) {
  char *text = LLVMGetErrorMessage(error);
  sci_llvm_note(text);
  LLVMDisposeErrorMessage(text);
}

/* The only place where ORC names a missing symbol. Runs on the thread that looks up. */
static void on_session_error(void *context, LLVMErrorRef error) {
  (void)context;
  note_error(error);
}

/* Defines what the table of routines has among the names looked up; the session reports the rest. */
static LLVMErrorRef define_routines(LLVMOrcDefinitionGeneratorRef generator, void *context,
                                    LLVMOrcLookupStateRef *state, LLVMOrcLookupKind kind, LLVMOrcJITDylibRef library,
                                    LLVMOrcJITDylibLookupFlags flags, LLVMOrcCLookupSet names, size_t n) {
  (void)generator, (void)context, (void)state, (void)kind, (void)flags;
  for (size_t i = 0; i < n; i++) {
    uintptr_t address = sci_routine(LLVMOrcSymbolStringPoolEntryStr(names[i].Name));
    if (!address) continue;
    LLVMOrcRetainSymbolStringPoolEntry(names[i].Name);
    LLVMOrcCSymbolMapPair pair = {
        names[i].Name, {address, {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0}}};
    LLVMErrorRef error = LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(&pair, 1));
    if (error) return error;
  }
  return LLVMErrorSuccess;
}

static void fail_locked(sci_env *env) {
  sci_llvm_link_unlock();
  sci_fail(env, SC_ERR_BACKEND, "LLVM: %s", sci_llvm_guard_get()->message);
}

static bool start(void) {
  LLVMTargetMachineRef machine = sci_llvm_machine_host();
  if (!machine) return false;
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder,
                                                LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine));
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit, builder);
  if (error) {
    jit = NULL;
    note_error(error);
    return false;
  }
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(jit), on_session_error, NULL);
  return true;
}

static linked *take_library(void) {
  linked *k = unused;
  if (k) {
    unused = k->next;
    return k;
  }
  k = calloc(1, sizeof *k);
  if (!k) return NULL;
  char name[32];
  snprintf(name, sizeof name, "kernel.%u", libraries++);
  k->library = LLVMOrcExecutionSessionCreateBareJITDylib(LLVMOrcLLJITGetExecutionSession(jit), name);
  LLVMOrcJITDylibAddGenerator(k->library, LLVMOrcCreateCustomCAPIDefinitionGenerator(define_routines, NULL, NULL));
  return k;
}

/* Gives back what the kernel's object defined, and the library for the next one. */
static void give_back(linked *k) {
  LLVMErrorRef error = LLVMOrcResourceTrackerRemove(k->tracker);
  if (error) note_error(error);
  LLVMOrcReleaseResourceTracker(k->tracker);
  k->tracker = NULL;
  free(k->entries);
  k->entries = NULL;
  k->next = unused;
  unused = k;
}

static void release(void *handle) {
  if (!sci_llvm_usable()) return; /* its memory is given up with LLVM */
  sci_llvm_lock();
  if (setjmp(sci_llvm_guard_get()->jump)) {
    if (sci_llvm_guard_get()->linking) sci_llvm_link_unlock();
  } else {
    lock_session();
    give_back(handle);
    LLVMOrcSymbolStringPoolClearDeadEntries(
        LLVMOrcExecutionSessionGetSymbolStringPool(LLVMOrcLLJITGetExecutionSession(jit)));
    sci_llvm_link_unlock();
  }
  sci_llvm_unlock();
}

static void on_found(LLVMErrorRef error, LLVMOrcCSymbolMapPairs result, size_t n, void *context) {
  if (error)
    note_error(error);
  else if (n == 1)
    *(uint64_t *)context = result[0].Sym.Address;
}

static uint64_t look_up(LLVMOrcJITDylibRef library, const char *symbol) {
  LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(jit);
  LLVMOrcCJITDylibSearchOrderElement order = {library, LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
  LLVMOrcCLookupSetElement name = {LLVMOrcExecutionSessionIntern(session, symbol),
                                   LLVMOrcSymbolLookupFlagsRequiredSymbol};
  uint64_t address = 0;
  LLVMOrcExecutionSessionLookup(session, LLVMOrcLookupKindStatic, &order, 1, &name, 1, on_found, &address);
  return address;
}

static bool look_up_all(linked *k, const char *const *symbols, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t address = look_up(k->library, symbols[i]);
    if (!address) return false;
    k->entries[i] = (sc_entry)(uintptr_t)address;
  }
  return true;
}

void sci_llvm_link(sci_env *env, LLVMMemoryBufferRef object, const char *const *symbols, size_t n, sci_code *out) {
  lock_session();
  if (!jit && !start()) {
    LLVMDisposeMemoryBuffer(object);
    fail_locked(env);
  }
  linked *k = take_library();
  if (k) k->entries = calloc(n, sizeof *k->entries);
  if (!k || !k->entries) {
    sci_llvm_link_unlock();
    LLVMDisposeMemoryBuffer(object);
    sci_fail(env, SC_ERR_MEMORY, "out of memory: a kernel's handle");
  }
  k->tracker = LLVMOrcJITDylibCreateResourceTracker(k->library);
  LLVMErrorRef error = LLVMOrcLLJITAddObjectFileWithRT(jit, k->tracker, object);
  if (error) note_error(error);
  if (error || !look_up_all(k, symbols, n)) {
    give_back(k);
    fail_locked(env);
  }
  sci_llvm_link_unlock();
  out->entries = k->entries;
  out->entry = k->entries[0];
  out->handle = k;
  out->release = release;
}
