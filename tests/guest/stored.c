/* Stored code: every kernel of the workloads, and some of what else there is, in every tier and width, compiled in one
 * process and loaded in another that has no LLVM, at two places, with the same results. Usage: guest_stored FOLDER, a
 * folder of its own. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "tests/data/workloads/workloads.h"

static const wl_problem problems[] = {{"race_car", {11}}, {"chain", {2, 5}},  {"npmpc", {4, 3}}, {"quadrotor", {3}},
                                      {"arm7", {0}},      {"arm7", {9}},      {"wave", {37}},    {"rosen", {50}},
                                      {"mlp", {1}},       {"mlp", {3}},       {"matmul", {9}},   {"matmul", {20}},
                                      {"reduce", {100}},  {"straight", {400}}};

/* Tables, constant pools, memory that is cleared, remainders, conditions. */
static const char *const texts[] = {
    "expr.func @cleared(%x: tensor<700xfloat64>) -> (%y, %z) { return mul(%x, 0.0), gather(%x) "
    "{indices=[3,1,699,4,4,0,17], shape=[7]} }",
    "expr.func @zeros(%x: tensor<3xfloat64>) -> (%y) { %n = broadcast(0.0) {shape=[900]} return concat(%n, %x) "
    "{axis=0} }",
    "expr.func @remainders(%x: tensor<37xfloat64>) -> (%y, %s) { %r = fmod(%x, 0.37) return %r, floor(mul(%r, 100.0)) "
    "}",
    ("expr.func @conditions(%x: tensor<41xfloat64>) -> (%y, %z) { %c = lt(%x, 0.2) %s = select(%c, sin(%x), "
     "log(add(2.0, %x))) return %s, "
     "select(and(%c, lt(-0.5, %x)), maximum(%s, 0.125), sqrt(abs(%x))) }"),
    "expr.func @pool(%x: tensor<9xfloat64>) -> (%y) { return add(mul(%x, 1.1), mul(mul(%x, %x), add(3.3, mul(%x, "
    "sub(0.7, div(%x, 9.9)))))) }",
    "expr.func @single(%x: tensor<33xfloat32>) -> (%y, %z) { return mul(cos(%x), tanh(%x)), fmod(%x, 0.75) }",
};

enum {
  N_PROBLEMS = sizeof problems / sizeof *problems,
  N_TEXTS = sizeof texts / sizeof *texts,
  WIDTHS = 4,
  MOST = 1 << 24
};

/* Outputs of all kernels, one behind the other, shared by the processes. */
typedef struct results {
  size_t n;
  unsigned char bytes[MOST];
} results;
static results *shared;
static const char *folder;

static sc_target target;
static sc_lower_options lower;

/* Width 0: what the processor has. */
static sc_jit_options options_of(int width, int turn) {
  static const int lanes[WIDTHS] = {0, 1, 2, 4};
  lower = (sc_lower_options){.target = lanes[width] ? &target : NULL};
  sc_target_preset("native", &target);
  target.lanes = lanes[width];
  return (sc_jit_options){.lower = &lower, .cache_dir = folder, .tier = turn % 2 ? SC_TIER_BEST : SC_TIER_AUTO};
}

static void keep(const void *data, size_t n) {
  CHECK(n <= MOST - shared->n, "room for results");
  memcpy(shared->bytes + shared->n, data, n);
  shared->n += n;
}

static void run(sc_kernel *k, bool compare, size_t *at, const char *what, int width) {
  buffers b = buffers_make(k, 4);
  call(k, &b);
  for (size_t o = 0; o < b.n_out; o++) {
    if (!compare)
      keep(b.out[o], b.out_bytes[o]);
    else
      CHECK(!memcmp(shared->bytes + *at, b.out[o], b.out_bytes[o]), "%s, width %d: output %zu differs", what, width, o);
    *at += b.out_bytes[o];
  }
  buffers_free(&b);
}

static sc_kernel *compile(sc_function *f, const sc_jit_options *o, const char *what) {
  sc_kernel *k = sc_jit(f, o);
  CHECK(k, "%s: %s", what,
        sc_context_error(sc_function_context(f)) ? sc_context_error(sc_function_context(f))->message : "");
  CHECK(sc_kernel_wait(k) == SC_OK && !sc_kernel_warning(k), "%s: %s", what,
        sc_kernel_warning(k) ? sc_kernel_warning(k) : "promotion");
  return k;
}

typedef void (*visit_fn)(sc_function *f, const char *what, int turn);

static void store_one(sc_function *f, const char *what, int turn) {
  for (int width = 0; width < WIDTHS; width++) {
    sc_jit_options o = options_of(width, turn), fast = o;
    sc_kernel *k = compile(f, &o, what);
    size_t at = shared->n, again = at;
    run(k, false, &at, what, width);
    fast.tier = SC_TIER_FAST;
    sc_kernel *first = compile(f, &fast, what);
    run(first, true, &again, what, width);
    sc_kernel_release(first);
    sc_kernel_release(k);
  }
}

/* The second time something else lies where it lay at first. */
static void load_one(sc_function *f, const char *what, int turn) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (int width = 0; width < WIDTHS; width++) {
    sc_jit_options o = options_of(width, turn);
    size_t at = shared->n;
    sc_kernel *k = compile(f, &o, what);
    sc_compile_times t = sc_kernel_times(k);
    CHECK(t.codegen == 0 && t.lower == 0 && sc_kernel_tier(k) == SC_TIER_BEST, "%s, width %d: not found", what, width);
    uintptr_t first = (uintptr_t)sc_kernel_entry(k);
    run(k, true, &at, what, width);
    sc_kernel_release(k);
    void *taken = mmap((void *)(first & ~(uintptr_t)(page - 1)), page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    k = compile(f, &o, what);
    CHECK(taken == MAP_FAILED || (uintptr_t)sc_kernel_entry(k) != first, "%s: the same place", what);
    run(k, true, &shared->n, what, width);
    sc_kernel_release(k);
    if (taken != MAP_FAILED) munmap(taken, page);
  }
}

static int visit_problem(const wl_references *all, const wl_problem *p, visit_fn visit, int turn) {
  int n = 0;
  for (size_t i = 0; i < all->n; i++) {
    const wl_reference *r = &all->all[i];
    bool seen = strcmp(r->workload, p->workload) != 0;
    for (size_t k = 0; k < i && !seen; k++)
      seen = !strcmp(all->all[k].workload, r->workload) && !strcmp(all->all[k].kernel, r->kernel);
    if (seen) continue;
    char what[100], size[64];
    snprintf(what, sizeof what, "%s %s %s", p->workload, wl_size_text(p, size), r->kernel);
    sc_context *cx = sc_context_create(NULL);
    sc_function *f = wl_kernel(cx, p, r->kernel);
    CHECK_OK(cx, f);
    visit(f, what, turn + n++);
    sc_context_destroy(cx);
  }
  CHECK(n > 0, "%s has kernels", p->workload);
  return n;
}

static void visit_all(visit_fn visit) {
  wl_references all;
  CHECK(wl_read_references(SCALY_TEST_SOURCE_DIR "/tests/data/workloads/reference.txt", &all), "references");
  int turn = 0;
  for (int i = 0; i < N_PROBLEMS; i++) turn += visit_problem(&all, &problems[i], visit, turn);
  for (int i = 0; i < N_TEXTS; i++) {
    sc_context *cx = sc_context_create(NULL);
    sc_module_text *m = sc_parse(cx, texts[i], strlen(texts[i]), "texts");
    CHECK_OK(cx, m);
    visit(sc_module_text_find(m, NULL), texts[i], turn++);
    sc_module_text_free(m);
    sc_context_destroy(cx);
  }
  wl_free_references(&all);
}

static void load_all(void *unused) {
  (void)unused;
  shared->n = 0;
  visit_all(load_one);
  CHECK(!is_mapped("libscaly-llvm") && !is_mapped("libLLVM"), "LLVM was loaded");
}

static void store_all(void *unused) {
  (void)unused;
  visit_all(store_one);
}

int main(int argc, char **argv) {
  CHECK(argc > 1, "which folder?");
  folder = argv[1];
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED, "memory");
  sc_context *cx = sc_context_create(NULL);
  sc_cache_summary s;
  sc_cache_clear(cx, folder, &s);
  in_child(store_all, NULL);
  size_t stored = shared->n;
  in_child(load_all, NULL);
  CHECK(shared->n == stored, "results of all");
  CHECK_OK(cx, sc_cache_clear(cx, folder, &s) == SC_OK && s.removed > 100);
  sc_context_destroy(cx);
  return 0;
}
