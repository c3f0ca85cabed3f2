/* Owns the tests of the plugin's life: many kernels, many threads, forks, failures of LLVM, and its texts and objects.
 */
#define _DEFAULT_SOURCE
#include <criterion/criterion.h>
#include <elf.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

/* y = sin(x) * k + x, and a table read in a loop. */
static void make(rig *r, const char *target, double k) {
  rig_begin(r, target);
  sci_buf x = rig_in(r, SC_FLOAT64, 1), y = rig_out(r, SC_FLOAT64, 1);
  sci_val v = rig_load(r, x, rig_int(r, 0));
  sci_val s = sci_val_op2(r->s, SCI_OP_mul, sci_val_op1(r->s, SCI_OP_sin, v), sci_val_double(r->s, SC_FLOAT64, k));
  sci_emit_store(&r->b, y, rig_int(r, 0), sci_val_op2(r->s, SCI_OP_add, s, v));
  rig_proc(r, "f");
  rig_ready(r);
}

static bool right(const sci_code *c, double k) {
  double x = 0.5, y = 0;
  return rig_call(c, (const void *[]){&x}, (void *[]){&y}, NULL) == 0 && y == sin(0.5) * k + 0.5;
}

static sci_code make_and_compile(double k) {
  rig r;
  make(&r, "native", k);
  sci_code c = rig_compile(&r);
  rig_end(&r);
  return c;
}

static size_t mapped(void) {
  char line[256];
  size_t pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fgets(line, sizeof line, f)) pages = strtoull(line, NULL, 10);
  if (f) fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Kernels of one name side by side, and memory that comes back. SCALY_TEST_ROUNDS sets how often. */
Test(llvm, kernels_come_and_go, .timeout = 600) {
  const char *text = getenv("SCALY_TEST_ROUNDS");
  int rounds = text ? atoi(text) : 300;
  sci_code many[20];
  size_t before = 0, held = 0;
  for (int i = 0; i < rounds; i++) {
    sci_code c = make_and_compile(i);
    if (i >= 20) {
      cr_assert(right(&many[i % 20], i - 20)); /* still its own code */
      many[i % 20].release(many[i % 20].handle);
    }
    many[i % 20] = c;
    if (i == rounds / 4) before = mapped(), held = mallinfo2().uordblks;
  }
  size_t after = mapped();
#if !defined(__SANITIZE_ADDRESS__) /* which keeps what is freed */
  cr_assert(after < before + (2u << 20), "%zu bytes mapped before, %zu after", before, after);
  cr_assert(mallinfo2().uordblks < held + (256u << 10), "%zu bytes allocated before, %zu after", held,
            mallinfo2().uordblks);
#else
  (void)before, (void)held, (void)after;
#endif
  for (int i = 0; i < 20; i++) many[i].release(many[i].handle);
  NO_LEAKS();
}

static void *worker(void *arg) {
  for (int i = 0; i < 10; i++) {
    double k = *(int *)arg * 100 + i;
    sci_code c = make_and_compile(k);
    if (!right(&c, k)) return arg;
    c.release(c.handle);
  }
  return NULL;
}

Test(llvm, threads_and_forks, .timeout = 120) {
  rig_backend();
  pthread_t t[4];
  int number[4];
  for (int i = 0; i < 4; i++) number[i] = i, pthread_create(&t[i], NULL, worker, &number[i]);
  sci_code c = make_and_compile(7);
  pid_t child[4];
  for (int i = 0; i < 4; i++) { /* while the others compile */
    child[i] = fork();
    if (child[i]) continue;
    bool fine = right(&c, 7);
    sci_code d = make_and_compile(8);
    _exit(fine && right(&d, 8) ? 0 : 1);
  }
  for (int i = 0; i < 4; i++) {
    int status = -1;
    cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
    cr_expect_eq(status, 0);
    void *failed;
    pthread_join(t[i], &failed);
    cr_expect_null(failed);
  }
  cr_expect(right(&c, 7));
  c.release(c.handle);
}

static void expect_failure(const char *features, sc_isa isa, sc_status want, const char *says) {
  rig r;
  make(&r, "generic", 2);
  r.p->target.isa = isa;
  strcpy(r.p->target.features, features);
  sci_code c = {0};
  sc_status got = rig_try(&r, &c);
  cr_expect_eq(got, want, "%s", sc_status_name(got));
  cr_assert(r.env.n_diags);
  cr_expect(strstr(r.env.diags[0].message, says), "%s", r.env.diags[0].message);
  rig_end(&r);
}

Test(llvm, failures) {
  /* Without a unit for floating point, code calls routines that nobody promised. */
  expect_failure("+soft-float", SC_ISA_X86_64, SC_ERR_BACKEND, "__adddf3");
  sci_code c = make_and_compile(3);
  cr_expect(right(&c, 3), "a failed link spoils nothing");
  expect_failure("", SC_ISA_ARMV8_A, SC_ERR_ARGUMENT, "cannot run here");
  expect_failure("", SC_ISA_ARMV7E_M, SC_ERR_ARGUMENT, "cannot run here");
  expect_failure("-64bit", SC_ISA_X86_64, SC_ERR_BACKEND, "64-bit code requested");
  expect_failure("", SC_ISA_X86_64, SC_ERR_BACKEND, "earlier in this process");
  cr_expect(right(&c, 3), "running kernels go on");
  c.release(c.handle);
}

static char *render(const char *target, sc_emit emit, size_t *size) {
  rig r;
  make(&r, target, 2);
  char *out[2];
  size_t sizes[2];
  sc_status status = rig_backend()->render(&r.env, &(sci_render_request){.program = r.p, .emit = emit}, out, sizes);
  cr_assert_eq(status, SC_OK, "%s", r.env.n_diags ? r.env.diags[0].message : "");
  char *copy = malloc(sizes[0] + 1);
  memcpy(copy, out[0], sizes[0] + 1);
  *size = sizes[0];
  sci_bytes_free(&r.env, out[0]);
  rig_end(&r);
  return copy;
}

Test(llvm, texts_and_objects) {
  static const struct {
    const char *target, *expect[2];
    sc_emit emit;
  } cases[] = {
      {"x86-64-v3",
       {"define i32 @f(ptr %arg, ptr %res, ptr %iw, ptr %w, i32 %mem)", "call double @sin(double"},
       SC_EMIT_LLVM},
      {"x86-64-v3", {"frame-pointer\"=\"all\"", "prefer-no-gather"}, SC_EMIT_LLVM},
      {"x86-64-v3", {"\tcallq\tsin@PLT", "f:"}, SC_EMIT_ASM},
      {"neoverse-v2", {"\tbl\tsin", "\tfadd"}, SC_EMIT_ASM},
      {"x86-64-v3", {"\177ELF", "\177ELF"}, SC_EMIT_OBJ},
      {"x86-64-v3", {"BC\xc0\xde", "BC\xc0\xde"}, SC_EMIT_BITCODE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t n, again_n;
    char *text = render(cases[i].target, cases[i].emit, &n), *again = render(cases[i].target, cases[i].emit, &again_n);
    cr_expect(n == again_n && memcmp(text, again, n) == 0, "the same program gives the same bytes");
    for (int k = 0; k < 2; k++) cr_expect(strstr(text, cases[i].expect[k]), "%s\n%s", cases[i].expect[k], text);
    free(text);
    free(again);
  }
}
