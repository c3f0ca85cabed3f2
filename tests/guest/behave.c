/* A good guest: what the compiler leaves alone in its host's process, and what it says when something is missing. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "guest.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

extern char **environ;

static const char square[] = "expr.func @f(%x: tensor<float64>) -> (%y) { return add(mul(%x, %x), 1.0) }";

static sc_kernel *try_compile(sc_context *cx, const char *text, const sc_jit_options *o) {
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  CHECK_OK(cx, m);
  sc_kernel *k = sc_jit(sc_module_text_find(m, NULL), o);
  sc_module_text_free(m);
  return k;
}

static void ten(sc_kernel *k) {
  double x = 3, y = 0;
  CHECK(sc_kernel_call(k, (const void *[]){&x}, (void *[]){&y}, NULL) == 0 && y == 10, "%g", y);
}

static void compile_ten(void) {
  sc_context *cx = sc_context_create(NULL);
  for (int t = SC_TIER_AUTO; t <= SC_TIER_BEST; t++) {
    sc_kernel *k = try_compile(cx, square, &(sc_jit_options){.tier = (sc_tier)t});
    CHECK_OK(cx, k);
    ten(k);
    sc_kernel_release(k);
  }
  sc_context_destroy(cx);
}

/* ---- the host's state ---- */

typedef struct state {
  char locale[200], cwd[1000], environment[20000], files[4000];
  struct sigaction actions[32];
  sigset_t mask;
  mode_t umask_;
  int rounding;
  unsigned control, locked;
} state;

static void append(char *to, size_t size, const char *text) {
  size_t n = strlen(to);
  snprintf(to + n, size - n, "%s\n", text);
}

static void files(char *to, size_t size) {
  DIR *d = opendir("/proc/self/fd");
  for (struct dirent *e; d && (e = readdir(d));) append(to, size, e->d_name);
  if (d) closedir(d);
}

static state take_state(void) {
  state s;
  memset(&s, 0, sizeof s);
  snprintf(s.locale, sizeof s.locale, "%s", setlocale(LC_ALL, NULL));
  CHECK(getcwd(s.cwd, sizeof s.cwd), "cwd");
  for (char **e = environ; *e; e++) append(s.environment, sizeof s.environment, *e);
  files(s.files, sizeof s.files);
  for (int i = 1; i < 32; i++) sigaction(i, NULL, &s.actions[i]);
  pthread_sigmask(SIG_SETMASK, NULL, &s.mask);
  s.umask_ = umask(0);
  umask(s.umask_);
  s.rounding = fegetround();
#if defined(__x86_64__)
  s.control = _mm_getcsr();
#endif
  return s;
}

static void handler(int signal) {
  (void)signal;
}

static bool subnormals_exist(void) {
  volatile double tiny = 5e-324, zero = 0;
  return tiny > zero && nextafter(0, -1) < zero;
}

static void same_state(const state *a, const char *when) {
  state b = take_state();
  CHECK(!strcmp(a->locale, b.locale) && !strcmp(a->cwd, b.cwd) && !strcmp(a->environment, b.environment),
        "%s: locale, folder or environment", when);
  CHECK(!strcmp(a->files, b.files), "%s: open files:\n%s", when, b.files);
  for (int i = 1; i < 32; i++) {
    const struct sigaction *x = &a->actions[i], *y = &b.actions[i];
    CHECK(x->sa_handler == y->sa_handler && x->sa_flags == y->sa_flags, "%s: signal %d", when, i);
    CHECK(sigismember(&a->mask, i) == sigismember(&b.mask, i), "%s: mask of signal %d", when, i);
  }
  CHECK(a->umask_ == b.umask_ && a->rounding == b.rounding, "%s: umask or rounding", when);
  CHECK(a->control == b.control, "%s: MXCSR %x, was %x", when, b.control, a->control);
}

static void leaves_alone(void *unused) {
  (void)unused;
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) setlocale(LC_ALL, "C.UTF-8");
  signal(SIGUSR1, handler);
  CHECK(subnormals_exist(), "to begin with");
  state before = take_state();
  compile_ten();
  same_state(&before, "compiling");
  CHECK(subnormals_exist(), "afterwards");
#if defined(__x86_64__)
  /* A host of strange habits: rounds down, flushes subnormals. Its own environment stays, and the code is what it is
   * anywhere. */
  fesetround(FE_DOWNWARD);
  _mm_setcsr(_mm_getcsr() | 0x8040);
  before = take_state();
  compile_ten();
  same_state(&before, "compiling with strange habits");
#endif
}

/* ---- memory that is writable or executable ---- */

static void no_page_is_both(void) {
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k[GUEST_FUNCTIONS];
  for (int i = 0; i < GUEST_FUNCTIONS; i++) CHECK_OK(cx, (k[i] = sc_jit(guest_function(cx, i), NULL)));
  char line[1000];
  FILE *f = fopen("/proc/self/maps", "r");
  while (f && fgets(line, sizeof line, f)) CHECK(!strstr(line, " rwx"), "%s", line);
  if (f) fclose(f);
  for (int i = 0; i < GUEST_FUNCTIONS; i++) sc_kernel_release(k[i]);
  sc_context_destroy(cx);
}

/* A system that lets no memory become executable which could be written before (SELinux calls it execmem). */
static void denied(void *unused) {
  (void)unused;
  if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0L, 0L, 0L) != 0) return; /* this kernel cannot deny it */
  compile_ten();
}

/* ---- another LLVM ---- */

static void *open_other(void) {
  static const char *const names[] = {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so",
                                      "libLLVM.so",      "libLLVM-14.so.1", "libLLVM-15.so.1"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    if (library) return library;
  }
  return NULL;
}

typedef void *(*create_fn)(void);
typedef void (*dispose_fn)(void *);

static void use_other(void *library) {
  create_fn create;
  dispose_fn dispose;
  *(void **)&create = dlsym(library, "LLVMContextCreate");
  *(void **)&dispose = dlsym(library, "LLVMContextDispose");
  CHECK(create && dispose, "the other LLVM");
  dispose(create());
}

static void other_first(void *unused) {
  (void)unused;
  void *library = open_other();
  if (!library) {
    fprintf(stderr, "no other LLVM here\n");
    return;
  }
  use_other(library);
  compile_ten();
  use_other(library);
}

static void other_second(void *unused) {
  (void)unused;
  compile_ten();
  void *library = open_other();
  if (!library) return;
  use_other(library);
  compile_ten();
}

/* ---- many kernels, many threads ---- */

static size_t mapped(void) {
  char line[256];
  size_t pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fgets(line, sizeof line, f)) pages = strtoull(line, NULL, 10);
  if (f) fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* SCALY_TEST_ROUNDS sets how often. */
static void memory_comes_back(void) {
  const char *text = getenv("SCALY_TEST_ROUNDS");
  int rounds = text ? atoi(text) : 300;
  size_t before = 0, held = 0;
  for (int i = 0; i < rounds; i++) {
    sc_context *cx = sc_context_create(NULL);
    sc_kernel *k = try_compile(cx, square, &(sc_jit_options){.tier = (sc_tier)(i % 3)});
    CHECK_OK(cx, k);
    ten(k);
    sc_context_destroy(cx);
    sc_kernel_release(k);
    if (i == rounds / 4) before = mapped(), held = mallinfo2().uordblks;
  }
  size_t now = mapped();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(now < before + (2u << 20), "%zu bytes mapped before, %zu after", before, now);
  CHECK(mallinfo2().uordblks < held + (256u << 10), "%zu bytes allocated before, %zu after", held,
        (size_t)mallinfo2().uordblks);
#else
  (void)before, (void)held, (void)now;
#endif
}

/* y of 100 elements, 20 steps of Newton's method for the square root: r <- r - (r^2 - y) / (2 r). */
static sc_kernel *newton(sc_context *cx) {
  char text[4000] = "expr.func @newton(%y: tensor<100xfloat64>) -> (%r) { %r0 = add(mul(%y, 0.0), 1.0)\n";
  for (int i = 0; i < 20; i++) {
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "%%r%d = sub(%%r%d, div(sub(mul(%%r%d, %%r%d), %%y), mul(2.0, %%r%d)))\n",
             i + 1, i, i, i, i);
  }
  strcat(text, "return %r20 }");
  sc_kernel *k = try_compile(cx, text, NULL);
  CHECK_OK(cx, k);
  return k;
}

typedef struct caller {
  sc_kernel *k;
  const double *in, *want;
  pthread_t thread;
} caller;

static void *call_often(void *what) {
  caller *c = what;
  double out[100];
  for (int i = 0; i < 100; i++) {
    CHECK(sc_kernel_call(c->k, (const void *[]){c->in}, (void *[]){out}, NULL) == 0, "call");
    CHECK(!memcmp(out, c->want, sizeof out), "another thread count, another result");
  }
  return NULL;
}

static void threads_agree(void) {
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = newton(cx);
  double in[100], want[100];
  for (int i = 0; i < 100; i++) in[i] = 10.0 * i / 99;
  CHECK(sc_kernel_call(k, (const void *[]){in}, (void *[]){want}, NULL) == 0, "call");
  CHECK(want[0] == 9.5367431640625e-07, "%.17g", want[0]);
  for (int i = 1; i < 100; i++) CHECK(fabs(want[i] / sqrt(in[i]) - 1) < 1e-12, "%d", i);
  for (int n = 1; n <= 16; n *= 2) {
    caller c[16];
    for (int i = 0; i < n; i++) {
      c[i] = (caller){k, in, want, 0};
      pthread_create(&c[i].thread, NULL, call_often, &c[i]);
    }
    for (int i = 0; i < n; i++) pthread_join(c[i].thread, NULL);
  }
  sc_kernel_release(k);
  sc_context_destroy(cx);
}

static void *compile_often(void *unused) {
  for (int i = 0; i < 10; i++) compile_ten();
  return unused;
}

static void threads_compile(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, compile_often, NULL);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}

/* A thread that ends calls once more, behind the end of what kernels keep for it. */
typedef struct last_call {
  sc_kernel *k;
  pthread_key_t key;
} last_call;

static double reversed(sc_kernel *k) {
  enum { N = 3000 };
  static _Thread_local double in[N], out[N];
  for (int i = 0; i < N; i++) in[i] = i;
  CHECK(sc_kernel_call(k, (const void *[]){in}, (void *[]){out}, NULL) == 0, "call");
  return out[0];
}

static void call_last(void *what) {
  enum { BLOCKS = 40, BYTES = 24000 };
  last_call *c = what;
  unsigned char *mine[BLOCKS]; /* what the thread's workspace was made of, perhaps */
  for (int i = 0; i < BLOCKS; i++) {
    mine[i] = malloc(BYTES + 16u * (unsigned)i);
    CHECK(mine[i], "malloc");
    memset(mine[i], i, BYTES);
  }
  CHECK(reversed(c->k) == 2999, "the last call");
  for (int i = 0; i < BLOCKS; i++) {
    for (int k = 0; k < BYTES; k++) CHECK(mine[i][k] == i, "the last call wrote to somebody else's memory");
    free(mine[i]);
  }
}

static void *end_calling(void *what) {
  last_call *c = what;
  CHECK(reversed(c->k) == 2999, "the first call");
  CHECK(pthread_setspecific(c->key, c) == 0, "pthread_setspecific");
  return NULL;
}

static void threads_end(void *unused) {
  (void)unused;
  static const char text[] =
      "prog.proc @f(%x: memref<3000xfloat64>, %y: memref<3000xfloat64 output>) {workspace=24000, "
      "workspace_total=24000} {\nprog.local %t: memref<3000xfloat64> {workspace=0}\n"
      "prog.for %i = 0 to 3000 {kind=serial} { prog.store prog.load %x[%i], %t[%i] }\n"
      "prog.for %j = 0 to 3000 {kind=serial} { prog.store prog.load %t[sub(2999, %j)], %y[%j] }\n}";
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = sc_parse_program(cx, text, strlen(text), NULL);
  CHECK_OK(cx, p);
  last_call c = {.k = sc_jit_program(p, NULL)};
  CHECK_OK(cx, c.k);
  CHECK(sc_kernel_workspace_bytes(c.k) == 24000, "a workspace");
  pthread_t t;
  for (int i = 0; i < 2; i++) { /* keys on both sides of the kernels' own */
    CHECK(pthread_key_create(&c.key, call_last) == 0, "pthread_key_create");
    CHECK(pthread_create(&t, NULL, end_calling, &c) == 0 && pthread_join(t, NULL) == 0, "a thread");
  }
  sc_kernel_release(c.k);
  sc_program_destroy(p);
  sc_context_destroy(cx);
}

/* ---- what is missing is said ---- */

static void expect(const sc_jit_options *o, sc_status status, const char *says) {
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = try_compile(cx, square, o);
  const sc_diagnostic *d = sc_context_error(cx);
  CHECK(!k && d && d->status == status && strstr(d->message, says), "%s", d ? d->message : "no diagnostic");
  sc_context_destroy(cx);
}

static void missing_things(void *unused) {
  (void)unused;
  expect(&(sc_jit_options){.plugin_dir = "/nowhere"}, SC_ERR_UNAVAILABLE, "looked for /nowhere/libscaly-llvm.so");
#if !defined(__SANITIZE_ADDRESS__)
  expect(&(sc_jit_options){.asan = true}, SC_ERR_UNAVAILABLE, "build the program with -fsanitize=address");
#endif
  sc_target host, wide;
  sc_target_preset("native", &host);
  sc_target_preset("x86-64-v4", &wide);
  sc_lower_options lower = {.target = &wide};
  if (host.isa < SC_ISA_X86_64_V4) expect(&(sc_jit_options){.lower = &lower}, SC_ERR_ARGUMENT, "cannot run here");
  sc_target_preset("armv8-a", &wide);
  if (host.isa < SC_ISA_ARMV8_A) expect(&(sc_jit_options){.lower = &lower}, SC_ERR_ARGUMENT, "cannot run here");
  compile_ten(); /* which spoils nothing */
}

int main(void) {
  in_child(other_first, NULL);
  in_child(other_second, NULL);
  in_child(denied, NULL);
  in_child(leaves_alone, NULL);
  in_child(threads_end, NULL);
  in_child(missing_things, NULL);
  no_page_is_both();
  threads_agree();
  threads_compile();
  memory_comes_back();
  static sc_kernel *kept; /* exit with a live kernel */
  kept = try_compile(sc_context_create(NULL), square, NULL);
  ten(kept);
  return 0;
}
