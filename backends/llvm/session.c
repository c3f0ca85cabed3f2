/* Owns entering and leaving LLVM: the lock that fork waits for, and what becomes of LLVM's fatal errors. */
#define _GNU_SOURCE /* read-write locks, and which side of one goes first */
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "backends/llvm/llvm.h"

/* Compilations share the lock, fork takes it alone: a child never inherits a lock of LLVM's that nobody is left to
 * release. */
static pthread_rwlock_t compiling;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool broken;

/* LLVM's globals are never destroyed: that would happen in the order they came to life in, some in the middle of a
 * compilation, and a thread may still be compiling when the process ends. The linker gives this the name under which
 * C++ registers destructors (CMakeLists.txt). */
int sci_llvm_forget(void (*destructor)(void *), void *object, void *library);

int sci_llvm_forget(void (*destructor)(void *), void *object, void *library) {
  (void)destructor, (void)object, (void)library;
  return 0;
}

static void before_fork(void) {
  pthread_rwlock_wrlock(&compiling);
}

static void after_fork(void) {
  pthread_rwlock_unlock(&compiling);
}

static void make_lock(void) {
  pthread_rwlockattr_t attr;
  pthread_rwlockattr_init(&attr);
#ifdef __GLIBC__
  pthread_rwlockattr_setkind_np(
      &attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP); /* compiling threads must not starve fork */
#endif
  pthread_rwlock_init(&compiling, &attr);
  pthread_rwlockattr_destroy(&attr);
}

static void on_fatal(const char *reason) {
  sci_llvm_guard *g = sci_llvm_guard_get();
  if (!g->armed) return; /* not in a call of ours: LLVM ends the process as it would without us */
  sci_llvm_note(reason);
  atomic_store(&broken, true);
  longjmp(g->jump, 1);
}

/* Where many stores follow each other, joining their chains takes LLVM a third of the time of best code, more than
 * linear in the length of the block, and changes no byte of it. Only in an LLVM of our own, and one that is known to
 * have the option: of another it would end the process. */
static void limit_chains(void) {
#if !defined(SCALY_LLVM_SHARED) && LLVM_VERSION_MAJOR <= 20
  static const char *const options[] = {"scaly", "-combiner-tokenfactor-inline-limit=64"};
  LLVMParseCommandLineOptions(2, options, NULL);
#endif
}

static void start(void) {
  make_lock();
  pthread_atfork(before_fork, after_fork, make_lock); /* a child's lock would wait for its parent's threads */
  LLVMInstallFatalErrorHandler(on_fatal);
  limit_chains();
}

void sci_llvm_start(void) {
  pthread_once(&once, start);
}

sci_llvm_guard *sci_llvm_guard_get(void) {
  static _Thread_local sci_llvm_guard guard;
  return &guard;
}

bool sci_llvm_usable(void) {
  return !atomic_load(&broken);
}

void sci_llvm_note(const char *message) {
  sci_llvm_guard *g = sci_llvm_guard_get();
  if (!g->message[0]) snprintf(g->message, sizeof g->message, "%s", message);
}

void sci_llvm_lock(void) {
  sci_llvm_guard *g = sci_llvm_guard_get();
  sci_llvm_start();
  pthread_rwlock_rdlock(&compiling);
  g->message[0] = 0;
  g->armed = true;
}

void sci_llvm_unlock(void) {
  sci_llvm_guard_get()->armed = false;
  pthread_rwlock_unlock(&compiling);
}

static void unlock(void *guard) {
  (void)guard;
  sci_llvm_unlock();
}

void sci_llvm_enter(sci_env *env) {
  if (!sci_llvm_usable())
    sci_fail(env, SC_ERR_BACKEND, "LLVM met a fatal error earlier in this process and cannot be used any more");
  sci_llvm_lock();
  sci_defer(env, unlock, sci_llvm_guard_get());
}

void sci_llvm_exit(sci_env *env) {
  sci_keep(env, sci_llvm_guard_get());
  sci_llvm_unlock();
}

void sci_llvm_fatal(sci_env *env) {
  sci_llvm_guard *g = sci_llvm_guard_get();
  g->armed = false;
  if (g->linking) sci_llvm_link_unlock();
  sci_fail(env, SC_ERR_BACKEND, "LLVM: %s", g->message);
}
