/* Tiers: the same bits from both, promotion in the background, waiting, releasing and forking meanwhile, batches. */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

static sc_kernel *compile(sc_context *cx, sc_function *f, sc_tier tier) {
  sc_kernel *k = sc_jit(f, &(sc_jit_options){.tier = tier});
  CHECK_OK(cx, k);
  return k;
}

static void same_bits(int i) {
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = guest_function(cx, i);
  sc_kernel *fast = compile(cx, f, SC_TIER_FAST), *best = compile(cx, f, SC_TIER_BEST),
            *both = compile(cx, f, SC_TIER_AUTO);
  CHECK(sc_kernel_tier(fast) == SC_TIER_FAST && sc_kernel_tier(best) == SC_TIER_BEST, "function %d", i);
  sc_entry first = sc_kernel_entry(both);
  CHECK(sc_kernel_wait(both) == SC_OK && sc_kernel_tier(both) == SC_TIER_BEST, "function %d", i);
  CHECK(i < GUEST_FUNCTIONS - 1 || (sc_kernel_entry(both) != first && sc_kernel_times(both).best > 0),
        "nothing was promoted");
  for (unsigned seed = 0; seed < 20; seed++) {
    buffers a = buffers_make(fast, seed), b = buffers_make(fast, seed);
    call(fast, &a);
    call(best, &b);
    CHECK(buffers_equal(fast, &a, &b), "function %d, seed %u: best differs", i, seed);
    call(both, &b);
    CHECK(buffers_equal(fast, &a, &b), "function %d, seed %u: auto differs", i, seed);
    if (!sc_kernel_workspace_bytes(both)) {
      buffers_clear(&b);
      CHECK(first((const void **)b.in, b.out, NULL, NULL, 0) == 0, "the entry handed out before");
      CHECK(buffers_equal(fast, &a, &b), "function %d: the entry handed out before", i);
    }
    buffers_free(&a);
    buffers_free(&b);
  }
  sc_kernel_release(fast);
  sc_kernel_release(best);
  sc_kernel_release(both);
  sc_context_destroy(cx);
}

static void release_meanwhile(void) {
  for (int i = 0; i < 12; i++) {
    sc_context *cx = sc_context_create(NULL);
    sc_function *f = guest_function(cx, GUEST_FUNCTIONS - 1 - i % 2);
    sc_kernel *k[4];
    for (int n = 0; n < 4; n++) k[n] = compile(cx, f, SC_TIER_AUTO);
    sc_context_destroy(cx); /* the kernels, and what is compiled for them, outlive it */
    if (i % 3 == 0) usleep(300u * (unsigned)i);
    for (int n = 0; n < 4; n++) sc_kernel_release(k[(n + i) % 4]);
  }
}

static void no_threads(void) {
  CHECK(sc_jit_set_threads(0) == SC_OK && sc_jit_set_threads(17) == SC_ERR_ARGUMENT &&
            sc_jit_set_threads(-1) == SC_ERR_ARGUMENT,
        "limits");
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = compile(cx, guest_function(cx, GUEST_FUNCTIONS - 2), SC_TIER_AUTO);
  CHECK(sc_kernel_tier(k) == SC_TIER_BEST && sc_kernel_times(k).best == 0, "nothing in the background");
  CHECK(sc_kernel_wait(k) == SC_OK, "nothing to wait for");
  sc_kernel_release(k);
  sc_context_destroy(cx);
  sc_jit_set_threads(1);
}

static void batch(sc_tier tier) {
  sc_context *cx = sc_context_create(NULL);
  const sc_function *fs[GUEST_FUNCTIONS];
  sc_kernel *together[GUEST_FUNCTIONS];
  for (int i = 0; i < GUEST_FUNCTIONS; i++) fs[i] = guest_function(cx, i);
  CHECK_OK(cx, sc_jit_batch(fs, GUEST_FUNCTIONS, &(sc_jit_options){.tier = tier}, together) == SC_OK);
  for (int i = 0; i < GUEST_FUNCTIONS; i++) {
    sc_kernel *alone = sc_jit(fs[i], NULL);
    CHECK(!strcmp(sc_kernel_name(alone), sc_kernel_name(together[i])), "%s", sc_kernel_name(together[i]));
    buffers a = buffers_make(alone, 2), b = buffers_make(alone, 2);
    if (i == 3)
      CHECK(sc_kernel_wait(together[i]) == SC_OK && sc_kernel_tier(together[i]) == SC_TIER_BEST, "one for all");
    call(alone, &a);
    call(together[i], &b);
    CHECK(buffers_equal(alone, &a, &b), "function %d of the batch", i);
    buffers_free(&a);
    buffers_free(&b);
    sc_kernel_release(alone);
  }
  for (int i = 0; i < GUEST_FUNCTIONS; i++) sc_kernel_release(together[i]); /* in any order */
  sc_context_destroy(cx);
}

/* A child has the kernels, what was to be compiled for them, and no threads. ThreadSanitizer knows no threads in
 * children of threaded programs. */
static void forks(void) {
#if defined(__SANITIZE_THREAD__)
  return;
#endif
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = guest_function(cx, GUEST_FUNCTIONS - 1);
  sc_kernel *k[3];
  for (int i = 0; i < 3; i++) k[i] = compile(cx, f, SC_TIER_AUTO);
  buffers a = buffers_make(k[0], 4), b = buffers_make(k[0], 4);
  call(k[0], &a);
  for (int n = 0; n < 3; n++) {
    pid_t child = fork();
    if (!child) {
      for (int i = n % 2; i < 3; i++)
        CHECK(sc_kernel_wait(k[i]) == SC_OK && sc_kernel_tier(k[i]) == SC_TIER_BEST, "in a child");
      call(k[2], &b);
      CHECK(buffers_equal(k[2], &a, &b), "a child computes something else");
      sc_kernel *own = compile(cx, f, SC_TIER_AUTO);
      CHECK(sc_kernel_wait(own) == SC_OK, "a child's own");
      exit(0); /* through the handlers */
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "child %d: %d", n, status);
  }
  for (int i = 0; i < 3; i++) {
    CHECK(sc_kernel_wait(k[i]) == SC_OK, "in the parent");
    sc_kernel_release(k[i]);
  }
  buffers_free(&a);
  buffers_free(&b);
  sc_context_destroy(cx);
}

/* Promotion while others call. */
typedef struct caller {
  sc_kernel *k;
  const buffers *want;
  pthread_t thread;
} caller;

static void *call_often(void *what) {
  caller *c = what;
  buffers b = buffers_make(c->k, 6);
  for (int i = 0; i < 2000; i++) {
    call(c->k, &b);
    CHECK(buffers_equal(c->k, &b, c->want), "call %d", i);
  }
  buffers_free(&b);
  return NULL;
}

static void called_meanwhile(void) {
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = compile(cx, guest_function(cx, GUEST_FUNCTIONS - 1), SC_TIER_AUTO);
  buffers want = buffers_make(k, 6);
  call(k, &want);
  caller c[4];
  for (int i = 0; i < 4; i++) {
    c[i] = (caller){k, &want, 0};
    pthread_create(&c[i].thread, NULL, call_often, &c[i]);
  }
  for (int i = 0; i < 4; i++) pthread_join(c[i].thread, NULL);
  CHECK(sc_kernel_wait(k) == SC_OK, "promotion");
  buffers_free(&want);
  sc_kernel_release(k);
  sc_context_destroy(cx);
}

int main(void) {
  for (int i = 0; i < GUEST_FUNCTIONS; i++) same_bits(i);
  called_meanwhile();
  release_meanwhile();
  no_threads();
  batch(SC_TIER_AUTO);
  batch(SC_TIER_BEST);
  forks();
  sc_jit_set_threads(3);
  release_meanwhile();
  forks();
  return 0; /* with whatever still compiles */
}
