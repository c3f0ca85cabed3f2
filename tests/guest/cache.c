/* The cache: what is stored is what was compiled, wherever it lies and in whatever process; what is not exactly right
 * counts as absent; nothing but the user's own files is used; any number of processes at once. Usage: guest_cache
 * FOLDER, a folder of its own. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static char root[400];

static const char *folder(const char *name) {
  static char path[600];
  snprintf(path, sizeof path, "%s/%s", root, name);
  return path;
}

static void empty(const char *dir) {
  sc_context *cx = sc_context_create(NULL);
  sc_cache_summary s;
  sc_cache_clear(cx, dir, &s);
  sc_context_destroy(cx);
}

static sc_cache_summary summary(const char *dir) {
  sc_context *cx = sc_context_create(NULL);
  sc_cache_summary s;
  CHECK_OK(cx, sc_cache_verify(cx, dir, &s) == SC_OK);
  sc_context_destroy(cx);
  return s;
}

static sc_kernel *compile_into(sc_context *cx, sc_function *f, const char *dir) {
  sc_kernel *k = sc_jit(f, &(sc_jit_options){.cache_dir = dir});
  CHECK_OK(cx, k);
  CHECK(sc_kernel_wait(k) == SC_OK, "promotion");
  CHECK(!sc_kernel_warning(k), "%s", sc_kernel_warning(k));
  return k;
}

static bool was_compiled(const sc_kernel *k) {
  sc_compile_times t = sc_kernel_times(k);
  return t.codegen > 0 || t.plugin > 0;
}

/* ---- every function, through files ---- */

typedef struct result {
  const char *dir;
  int function;
  size_t bytes;
  unsigned char out[1 << 16];
} result;
static result *shared;

static void run(sc_kernel *k, result *r) {
  buffers b = buffers_make(k, 8);
  call(k, &b);
  r->bytes = 0;
  for (size_t o = 0; o < b.n_out; o++) {
    CHECK(r->bytes + b.out_bytes[o] <= sizeof r->out, "outputs of %s", sc_kernel_name(k));
    memcpy(r->out + r->bytes, b.out[o], b.out_bytes[o]);
    r->bytes += b.out_bytes[o];
  }
  buffers_free(&b);
}

static void compile_one(void *arg) {
  result *r = arg;
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = compile_into(cx, guest_function(cx, r->function), r->dir);
  CHECK(was_compiled(k), "function %d was there already", r->function);
  run(k, r);
  sc_kernel_release(k);
  sc_context_destroy(cx);
}

/* At another address each time: two kernels of different contexts share code, so the folder is read anew after the
 * first is gone. */
static void load_one(void *arg) {
  result *r = arg, again = {.bytes = 0};
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = guest_function(cx, r->function);
  sc_kernel *k = compile_into(cx, f, r->dir);
  sc_entry first = sc_kernel_entry(k);
  CHECK(!was_compiled(k) && sc_kernel_tier(k) == SC_TIER_BEST, "function %d was not found", r->function);
  run(k, &again);
  CHECK(again.bytes == r->bytes && !memcmp(again.out, r->out, r->bytes), "function %d: loaded code differs",
        r->function);
  sc_kernel *twin = compile_into(cx, f, r->dir);
  CHECK(sc_kernel_entry(twin) == first, "kernels of one function share their code");
  sc_kernel_release(twin);
  sc_kernel_release(k);
  void *taken = malloc(1 << 20); /* and mappings, so that the next one lies elsewhere */
  FILE *maps = fopen("/proc/self/maps", "r");
  k = compile_into(cx, f, r->dir);
  run(k, &again);
  CHECK(again.bytes == r->bytes && !memcmp(again.out, r->out, r->bytes), "function %d: at another address",
        r->function);
  CHECK(!is_mapped("libscaly-llvm") && !is_mapped("libLLVM"), "LLVM was loaded for a hit");
  if (maps) fclose(maps);
  free(taken);
  sc_kernel_release(k);
  sc_context_destroy(cx);
}

static void every_function(const char *dir) {
  empty(dir);
  shared = calloc(1, sizeof *shared);
  for (int i = 0; i < GUEST_FUNCTIONS; i++) {
    int pipes[2];
    CHECK(pipe(pipes) == 0, "pipe");
    *shared = (result){.dir = dir, .function = i};
    pid_t child = fork();
    if (!child) {
      compile_one(shared);
      CHECK(write(pipes[1], &shared->bytes, sizeof shared->bytes) > 0, "pipe");
      CHECK(write(pipes[1], shared->out, shared->bytes) == (ssize_t)shared->bytes, "pipe");
      exit(0);
    }
    close(pipes[1]);
    CHECK(read(pipes[0], &shared->bytes, sizeof shared->bytes) == sizeof shared->bytes, "compiling function %d", i);
    for (size_t got = 0; got < shared->bytes;) {
      ssize_t n = read(pipes[0], shared->out + got, shared->bytes - got);
      CHECK(n > 0, "reading");
      got += (size_t)n;
    }
    close(pipes[0]);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "compiling function %d", i);
    in_child(load_one, shared);
    in_child(load_one, shared);
  }
  sc_cache_summary s = summary(dir);
  CHECK(s.entries == GUEST_FUNCTIONS && s.damaged == 0 && s.leftovers == 0, "%d entries", (int)s.entries);
  free(shared);
}

/* ---- fast code, and what becomes of it ---- */

typedef struct visit {
  const char *dir;
  sc_tier asked, found; /* at first; sc_kernel_tier */
  bool hits, waits;
  int llvm_ms; /* at least so long after LLVM was opened: the process ends; negative: at once, LLVM never comes */
} visit;

/* One process. Function 7 takes LLVM a tenth of a second and more. */
static void visit_once(void *arg) {
  const visit *v = arg;
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = guest_function(cx, GUEST_FUNCTIONS - 1);
  sc_kernel *k = sc_jit(f, &(sc_jit_options){.cache_dir = v->dir, .tier = v->asked});
  CHECK_OK(cx, k);
  CHECK(was_compiled(k) == !v->hits && sc_kernel_tier(k) == v->found, "tier %d", (int)sc_kernel_tier(k));
  buffers a = buffers_make(k, 8), b = buffers_make(k, 8);
  call(k, &a);
  if (v->waits) CHECK(sc_kernel_wait(k) == SC_OK && sc_kernel_tier(k) == SC_TIER_BEST, "promotion");
  call(k, &b);
  CHECK(buffers_equal(k, &a, &b), "the best code differs");
  CHECK(!sc_kernel_warning(k), "%s", sc_kernel_warning(k));
  for (int i = 0; v->llvm_ms >= 0 && !is_mapped("libscaly-llvm"); i++) {
    CHECK(i < 20000, "LLVM was never opened");
    usleep(1000);
  }
  if (v->llvm_ms > 0) usleep(1000u * (unsigned)v->llvm_ms);
  exit(0); /* with whatever is going on */
}

static void visits(const char *dir, const visit *v, size_t n) {
  empty(dir);
  for (size_t i = 0; i < n; i++) {
    visit one = v[i];
    one.dir = dir;
    in_child(visit_once, &one);
    sc_cache_summary s = summary(dir);
    CHECK(s.entries == 1 && !s.damaged && !s.leftovers, "visit %zu: %d entries, %d leftovers", i, (int)s.entries,
          (int)s.leftovers);
  }
}

/* Processes that end at once, or while LLVM is at work, leave the fast code and do not wait for the best; one that
 * lasts leaves that. */
static void short_lives(const char *dir) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  enum { MOMENT = 100 };
#else
  enum { MOMENT = 15 };
#endif
  sc_target host;
  sc_target_preset("native", &host);
  if (host.isa != SC_ISA_X86_64_V3 && host.isa != SC_ISA_X86_64_V4) return; /* no direct code */
  static const visit lasting[] = {{.asked = SC_TIER_AUTO, .found = SC_TIER_FAST, .llvm_ms = -1},
                                  {.asked = SC_TIER_AUTO, .found = SC_TIER_FAST, .hits = true, .llvm_ms = -1},
                                  {.asked = SC_TIER_AUTO, .found = SC_TIER_FAST, .hits = true, .llvm_ms = 0},
                                  {.asked = SC_TIER_AUTO, .found = SC_TIER_FAST, .hits = true, .llvm_ms = MOMENT},
                                  {.asked = SC_TIER_AUTO, .found = SC_TIER_FAST, .hits = true, .waits = true},
                                  {.asked = SC_TIER_AUTO, .found = SC_TIER_BEST, .hits = true, .llvm_ms = -1}};
  visits(dir, lasting, sizeof lasting / sizeof *lasting);
  static const visit best[] = {{.asked = SC_TIER_AUTO, .found = SC_TIER_FAST, .llvm_ms = -1},
                               {.asked = SC_TIER_BEST, .found = SC_TIER_BEST, .waits = true},
                               {.asked = SC_TIER_AUTO, .found = SC_TIER_BEST, .hits = true, .llvm_ms = -1}};
  visits(dir, best, sizeof best / sizeof *best);
}

/* ---- what the key covers ---- */

static const char plain[] = "expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) { return mul(%x, exp(%x)), sum(%x) }";

static bool hits(const char *text, const sc_jit_options *options) {
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  CHECK_OK(cx, m);
  sc_kernel *k = sc_jit(sc_module_text_find(m, NULL), options);
  CHECK_OK(cx, k);
  CHECK(!sc_kernel_warning(k), "%s", sc_kernel_warning(k));
  sc_kernel_wait(k);
  bool hit = !was_compiled(k);
  sc_module_text_free(m);
  sc_kernel_release(k);
  sc_context_destroy(cx);
  return hit;
}

/* Every fact of a target that lowering or code generation may read, one at a time. */
static void target_facts(sc_jit_options o) {
  sc_target t;
  sc_lower_options lower = {.target = &t};
  o.lower = &lower;
  for (int fact = 0; fact < 8; fact++) {
    sc_target_preset("native", &t);
    switch (fact) {
    case 0: t.lanes = t.lanes == 2 ? 4 : 2; break;
    case 1: t.vector_registers += 16; break;
    case 2: t.fma_units += 1; break;
    case 3: t.fma_latency += 1; break;
    case 4: t.fast_fma = !t.fast_fma; break;
    case 5: t.gathers_pay = !t.gathers_pay; break;
    case 6: t.l1_bytes *= 2; break;
    case 7: t.l2_bytes *= 2; break;
    }
    CHECK(!hits(plain, &o) && hits(plain, &o), "fact %d of the target", fact);
  }
}

static void requests(sc_jit_options *o) {
  sc_options derive = {.strict_nan = false};
  sc_request r = SC_SPHESS("s", "x", SC_TRIANGLE_FULL);
  o->requests = &r;
  o->n_requests = 1;
  static const char cubes[] =
      "expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) { return %x, sum(mul(%x, mul(%x, %x))) }";
  CHECK(!hits(cubes, o) && hits(cubes, o), "a sparse Hessian");
  r.triangle = SC_TRIANGLE_LOWER;
  CHECK(!hits(cubes, o) && hits(cubes, o), "its triangle");
  r.layout = SC_CSR;
  CHECK(!hits(cubes, o) && hits(cubes, o), "its layout");
  o->derive = &derive;
  derive.nonsmooth = SC_NONSMOOTH_ERROR;
  CHECK(!hits(cubes, o) && hits(cubes, o), "what is done with kinks");
  o->requests = NULL;
  o->n_requests = 0;
  o->derive = NULL;
}

static void keys(void *arg) {
  sc_jit_options o = {.cache_dir = arg};
  sc_lower_options lower = {.rounding = SC_ROUNDING_STRICT};
  sc_target target;
  CHECK(!hits(plain, &o) && hits(plain, &o), "the same function");
  CHECK(hits("// a comment\nexpr.func @f(%other: tensor<6xfloat64>) -> (%y, %s) { %unused = sin(%other) return "
             "mul(%other, exp(%other)), "
             "sum(%other) }",
             &o) == false,
        "an input's name is part of a kernel");
  CHECK(
      hits("expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) { %e = exp(%x) %m = mul(%x, %e) return %m, sum(%x) }", &o),
      "names of values are not");
  static const char *const others[] = {
      "expr.func @g(%x: tensor<6xfloat64>) -> (%y, %s) { return mul(%x, exp(%x)), sum(%x) }",
      "expr.func @f(%x: tensor<6xfloat32>) -> (%y, %s) { return mul(%x, exp(%x)), sum(%x) }",
      "expr.func @f(%x: tensor<7xfloat64>) -> (%y, %s) { return mul(%x, exp(%x)), sum(%x) }",
      "expr.func @f(%x: tensor<2x3xfloat64>) -> (%y, %s) { return mul(%x, exp(%x)), sum(%x) }",
      "expr.func @f(%x: tensor<6xfloat64>) -> (%s, %y) { return mul(%x, exp(%x)), sum(%x) }",
      "expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) { return mul(%x, exp2(%x)), sum(%x) }",
      "expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) { return mul(%x, exp(%x)), add(sum(%x), 1.0) }",
      "expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) { return mul(%x, exp(%x)), add(sum(%x), 2.0) }",
      "expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) {lowering=\"scalar\"} { return mul(%x, exp(%x)), sum(%x) }",
      "expr.func @f(%x: tensor<6xfloat64>) -> (%y, %s) {strict_nan=true} { return mul(%x, exp(%x)), sum(%x) }",
      "expr.func @g() -> (%y) { return 1.0 }\nexpr.func @inc(%a: tensor<2xfloat64>) -> (%y) { return add(%a, call() "
      "{callee=\"g\", output=0}) }",
      "expr.func @g() -> (%y) { return 2.0 }\nexpr.func @inc(%a: tensor<2xfloat64>) -> (%y) { return add(%a, call() "
      "{callee=\"g\", output=0}) }",
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    CHECK(!hits(others[i], &o) && hits(others[i], &o), "function %zu is another", i);
  o.lower = &lower;
  CHECK(!hits(plain, &o) && hits(plain, &o), "rounding");
  lower = (sc_lower_options){.passes = "-fuse_elementwise"};
  CHECK(!hits(plain, &o) && hits(plain, &o), "passes");
  lower = (sc_lower_options){.bisect = 2};
  CHECK(!hits(plain, &o) && hits(plain, &o), "bisect");
  lower = (sc_lower_options){.vector_libm = SC_VECTOR_LIBM_NONE};
  CHECK(!hits(plain, &o) && hits(plain, &o), "the vector library");
  lower = (sc_lower_options){.vector_accuracy = 1.0};
  CHECK(!hits(plain, &o) && hits(plain, &o), "the accuracy of vector routines");
  lower = (sc_lower_options){.rounding = SC_ROUNDING_DEFAULT};
  CHECK(hits(plain, &o), "options that say what is so without them");
  target_facts(o);
  lower = (sc_lower_options){.target = &target};
  sc_target_preset("x86-64", &target);
  bool runs = target.isa == SC_ISA_X86_64;
#if defined(__x86_64__)
  CHECK(runs && !hits(plain, &o) && hits(plain, &o), "the processor");
  target.lanes = 1;
  CHECK(!hits(plain, &o) && hits(plain, &o), "its lanes");
  memcpy(target.features, "-sse3", 6);
  CHECK(!hits(plain, &o) && hits(plain, &o), "its features");
  memcpy(target.name, "somewhat", 9);
  CHECK(hits(plain, &o), "its name is not");
#endif
  (void)runs;
  o.lower = NULL;
  sc_request r[2] = {SC_OUTPUT("y"), SC_JAC("y", "x")};
  o.requests = r;
  o.n_requests = 1;
  CHECK(!hits(plain, &o) && hits(plain, &o), "requests");
  o.n_requests = 2;
  CHECK(!hits(plain, &o) && hits(plain, &o), "more requests");
  r[1] = SC_GRAD("s", "x");
  CHECK(!hits(plain, &o) && hits(plain, &o), "another kind");
  sc_options derive = {.strict_nan = true};
  o.derive = &derive;
  CHECK(!hits(plain, &o) && hits(plain, &o), "how it is derived");
  o.derive = NULL;
  requests(&o);
  o = (sc_jit_options){.cache_dir = arg, .rebuild = true};
  CHECK(!hits(plain, &o), "rebuild");
  o = (sc_jit_options){.cache_dir = arg, .tier = SC_TIER_FAST};
  CHECK(!hits(plain, &o), "tier fast goes past the cache");
  o = (sc_jit_options){.cache_dir = arg, .tier = SC_TIER_BEST};
  CHECK(hits(plain, &o), "tier best does not");
}

/* ---- damage ---- */

static char *read_whole(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  CHECK(f, "%s", path);
  char *data = malloc(1 << 22);
  *n = fread(data, 1, 1 << 22, f);
  fclose(f);
  return data;
}

static void write_whole(const char *path, const char *data, size_t n) {
  int f = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK(f >= 0 && write(f, data, n) == (ssize_t)n, "%s", path);
  close(f);
}

static void find_entry(const char *dir, char path[900]) {
  path[0] = 0;
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));)
    if (strstr(e->d_name, ".jit")) snprintf(path, 900, "%s/%s", dir, e->d_name);
  if (d) closedir(d);
  CHECK(path[0], "an entry in %s", dir);
}

/* Each damaged version is a miss, and replaced; of the large ones only some are compiled again. */
static void damage_one(const char *dir, const char *path, const char *good, size_t n, const char *bad, size_t size,
                       bool compile) {
  write_whole(path, bad, size);
  CHECK(summary(dir).damaged == 1, "damage was not noticed: %zu of %zu bytes", size, n);
  if (compile) {
    CHECK(!hits(plain, &(sc_jit_options){.cache_dir = dir}), "a damaged entry was used");
    CHECK(hits(plain, &(sc_jit_options){.cache_dir = dir}), "and not replaced");
    size_t now;
    char *replaced = read_whole(path, &now);
    CHECK(now == n && !memcmp(replaced, good, n), "replaced by something else");
    free(replaced);
  }
}

static void damage(void *arg) {
  const char *dir = arg;
  char path[900];
  size_t n;
  empty(dir);
  CHECK(!hits(plain, &(sc_jit_options){.cache_dir = dir}), "an empty cache");
  find_entry(dir, path);
  char *good = read_whole(path, &n), *bad = malloc(n + 64);
  for (size_t size = 1; size < n; size++) damage_one(dir, path, good, n, good, size, size % 97 == 0);
  memcpy(bad, good, n);
  memset(bad + n, 0, 64);
  damage_one(dir, path, good, n, bad, n + 16, true);
  for (size_t i = 0; i < n; i++) {
    memcpy(bad, good, n);
    bad[i] = (char)(bad[i] ^ (1 << i % 8));
    damage_one(dir, path, good, n, bad, n, i % 61 == 0);
  }
  write_whole(path, good, n);
  CHECK(hits(plain, &(sc_jit_options){.cache_dir = dir}), "the good one again");
  free(good);
  free(bad);
}

/* ---- whose files ---- */

static void permissions(void *arg) {
  const char *dir = arg;
  char path[900], moved[1000];
  sc_jit_options o = {.cache_dir = dir};
  empty(dir);
  CHECK(!hits(plain, &o) && hits(plain, &o), "to begin with");
  find_entry(dir, path);
  struct stat s;
  CHECK(stat(dir, &s) == 0 && (s.st_mode & 0777) == 0700, "the folder's mode");
  CHECK(stat(path, &s) == 0 && (s.st_mode & 0777) == 0600, "the entry's mode");
  chmod(path, 0666);
  CHECK(!hits(plain, &o), "others can write the entry");
  CHECK(hits(plain, &o), "it was replaced");
  snprintf(moved, sizeof moved, "%s.elsewhere", path);
  rename(path, moved);
  CHECK(symlink(moved, path) == 0, "symlink");
  CHECK(!hits(plain, &o), "a symbolic link was followed");
  CHECK(lstat(path, &s) == 0 && S_ISREG(s.st_mode), "and was not replaced");
  unlink(moved);
  CHECK(hits(plain, &o), "replaced");
  if (geteuid() == 0) {
    CHECK(chown(path, 12345, 12345) == 0 && !hits(plain, &o) && hits(plain, &o), "somebody else's entry");
  }
  /* A use renews the time. */
  struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
  utimensat(AT_FDCWD, path, old, 0);
  CHECK(hits(plain, &o) && stat(path, &s) == 0 && s.st_mtime > 1000000000, "the time of use");
}

static void expect_warning(const char *dir, const char *says) {
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *m = sc_parse(cx, plain, strlen(plain), NULL);
  sc_kernel *k = sc_jit(sc_module_text_find(m, NULL), &(sc_jit_options){.cache_dir = dir});
  CHECK_OK(cx, k);
  sc_kernel_wait(k);
  CHECK(sc_kernel_warning(k) && strstr(sc_kernel_warning(k), says), "%s: %s", dir,
        sc_kernel_warning(k) ? sc_kernel_warning(k) : "no warning");
  CHECK(!sc_context_error(cx), "a warning is no error");
  buffers b = buffers_make(k, 2);
  call(k, &b);
  buffers_free(&b);
  sc_module_text_free(m);
  sc_kernel_release(k);
  sc_context_destroy(cx);
}

static void unusable(void *arg) {
  (void)arg;
  char file[700], link[700], open_to_all[700], spaces[700];
  snprintf(file, sizeof file, "%s", folder("file"));
  snprintf(link, sizeof link, "%s", folder("link"));
  snprintf(open_to_all, sizeof open_to_all, "%s", folder("open"));
  snprintf(spaces, sizeof spaces, "%s", folder("with spaces/and/below"));
  write_whole(file, "x", 1);
  expect_warning(file, "is no folder");
  unlink(link);
  CHECK(symlink(root, link) == 0, "symlink");
  expect_warning(link, "symbolic link");
  mkdir(open_to_all, 0700);
  chmod(open_to_all, 0777);
  expect_warning(open_to_all, "others can write");
  expect_warning("/proc/nowhere/cache", "cache '/proc/nowhere/cache'");
  if (access("/dev/full", W_OK) == 0 && geteuid() != 0) expect_warning("/scaly-cache", "Permission denied");
  empty(spaces);
  sc_jit_options o = {.cache_dir = spaces};
  CHECK(!hits(plain, &o) && hits(plain, &o), "folders are made, spaces are fine");
  CHECK(!hits(plain, &(sc_jit_options){0}), "no folder, no cache");
}

/* A host that goes elsewhere while its code is still being compiled. */
static void relative(void *arg) {
  const char *dir = arg;
  char back[700];
  empty(dir);
  CHECK(getcwd(back, sizeof back) && chdir(root) == 0, "chdir");
  sc_context *cx = sc_context_create(NULL);
  sc_kernel *k = sc_jit(guest_function(cx, GUEST_FUNCTIONS - 1), &(sc_jit_options){.cache_dir = strrchr(dir, '/') + 1});
  CHECK_OK(cx, k);
  CHECK(chdir("/") == 0 && sc_kernel_wait(k) == SC_OK && !sc_kernel_warning(k), "%s", sc_kernel_warning(k));
  CHECK(chdir(back) == 0 && summary(dir).entries == 1, "stored elsewhere");
  sc_kernel_release(k);
  sc_context_destroy(cx);
}

/* ---- many at once ---- */

static void stampede(const char *dir, int rounds) {
  enum { PROCESSES = 16 };
  for (int round = 0; round < rounds; round++) {
    empty(dir);
    pid_t children[PROCESSES];
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
      children[i] = fork();
      if (children[i]) continue;
      sc_context *cx = sc_context_create(NULL);
      static const char square[] = "expr.func @f(%x: tensor<float64>) -> (%y) { return add(mul(%x, %x), 1.0) }";
      sc_kernel *k = sc_jit(sc_module_text_find(sc_parse(cx, square, strlen(square), NULL), NULL),
                            &(sc_jit_options){.cache_dir = dir});
      double in = 3, out = 0;
      CHECK_OK(cx, k);
      if (i == 5) _exit(0); /* leaves early */
      CHECK(sc_kernel_call(k, (const void *[]){&in}, (void *[]){&out}, NULL) == 0 && out == 10, "%g", out);
      CHECK(!sc_kernel_warning(k), "%s", sc_kernel_warning(k));
      exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
      int status = -1;
      CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0, "round %d, process %d: %x", round, i,
            (unsigned)status);
    }
    sc_cache_summary s = summary(dir);
    CHECK(s.entries == 1 && s.leftovers == 0 && s.damaged == 0, "round %d: %d entries, %d leftovers", round,
          (int)s.entries, (int)s.leftovers);
  }
}

static void *compile_same(void *dir) {
  for (int i = 0; i < 4; i++) {
    sc_context *cx = sc_context_create(NULL);
    sc_kernel *k = compile_into(cx, guest_function(cx, i), dir);
    buffers b = buffers_make(k, 2);
    call(k, &b);
    buffers_free(&b);
    sc_kernel_release(k);
    sc_context_destroy(cx);
  }
  return NULL;
}

static void threads(void *dir) {
  empty(dir);
  pthread_t t[6];
  for (int i = 0; i < 6; i++) pthread_create(&t[i], NULL, compile_same, dir);
  for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
  CHECK(summary(dir).entries == 4, "one entry per function");
}

/* ---- housekeeping ---- */

static void prune(void *arg) {
  const char *dir = arg;
  char path[900];
  empty(dir);
  sc_context *cx = sc_context_create(NULL);
  for (int i = 0; i < 3; i++) sc_kernel_release(compile_into(cx, guest_function(cx, i), dir));
  find_entry(dir, path);
  struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
  utimensat(AT_FDCWD, path, old, 0);
  snprintf(path, sizeof path, "%s/.0123-leftover.tmp", dir);
  write_whole(path, "x", 1);
  sc_cache_summary s, before = summary(dir);
  CHECK(before.entries == 3 && before.leftovers == 1, "before");
  CHECK(sc_cache_prune(cx, dir, -1, 3600, &s) == SC_OK && s.removed == 1 && s.entries == 2 && s.leftovers == 1,
        "by age; fresh leftovers stay");
  utimensat(AT_FDCWD, path, old, 0);
  CHECK(sc_cache_prune(cx, dir, s.bytes - 1, -1, &s) == SC_OK && s.removed == 2 && s.entries == 1 && s.leftovers == 0,
        "by size, and old leftovers");
  CHECK(sc_cache_prune(cx, dir, -1, -1, &s) == SC_OK && s.removed == 0 && s.entries == 1, "no limits");
  CHECK(sc_cache_clear(cx, dir, &s) == SC_OK && s.removed == 1 && s.entries == 0, "clear");
  CHECK(sc_cache_info(cx, folder("nothing here"), &s) == SC_OK && s.entries == 0, "a folder that is not there");
  CHECK(sc_cache_info(cx, folder("file"), &s) == SC_ERR_IO && sc_context_error(cx), "a file");
  sc_context_destroy(cx);
}

static void batches(void *dir) {
  empty(dir);
  for (int round = 0; round < 2; round++) {
    sc_context *cx = sc_context_create(NULL);
    const sc_function *fs[4];
    sc_kernel *k[4];
    for (int i = 0; i < 4; i++) fs[i] = guest_function(cx, i);
    CHECK_OK(cx, sc_jit_batch(fs, 4, &(sc_jit_options){.cache_dir = dir}, k) == SC_OK);
    CHECK(sc_kernel_wait(k[2]) == SC_OK && was_compiled(k[2]) == !round, "round %d", round);
    for (int i = 0; i < 4; i++) {
      sc_kernel *alone = sc_jit(fs[i], NULL);
      buffers a = buffers_make(alone, 6), b = buffers_make(alone, 6);
      call(alone, &a);
      call(k[i], &b);
      CHECK(buffers_equal(alone, &a, &b), "function %d of the batch", i);
      buffers_free(&a);
      buffers_free(&b);
      sc_kernel_release(alone);
    }
    for (int i = 0; i < 4; i++) sc_kernel_release(k[i]);
    sc_context_destroy(cx);
  }
  CHECK(summary(dir).entries == 1, "one entry for all");
}

/* ---- through a compiler ---- */

static bool hits_cc(const char *text, const sc_cc_options *o) {
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  sc_kernel *k = sc_compile_cc(sc_module_text_find(m, NULL), o);
  CHECK_OK(cx, k);
  CHECK(!sc_kernel_warning(k), "%s", sc_kernel_warning(k));
  buffers a = buffers_make(k, 8), b = buffers_make(k, 8);
  call(k, &a);
  sc_kernel *other = sc_jit(sc_module_text_find(m, NULL), &(sc_jit_options){.lower = o->lower});
  CHECK_OK(cx, other);
  call(other, &b);
  CHECK(buffers_equal(k, &a, &b), "the compiler's code differs");
  bool hit = sc_kernel_times(k).codegen == 0;
  buffers_free(&a);
  buffers_free(&b);
  sc_kernel_release(other);
  sc_kernel_release(k);
  sc_module_text_free(m);
  sc_context_destroy(cx);
  return hit;
}

static void libraries(void *arg) {
  const char *dir = arg;
  static const char *const compiler[] = {"cc", NULL}, *const flags[] = {"-O1", NULL};
  static const char *const names[] = {".cc", ".so", ".c"};
  sc_lower_options scalar = {.vector_libm = SC_VECTOR_LIBM_NONE}; /* the same routines on both ways */
  sc_lower_options lower = {.vector_libm = SC_VECTOR_LIBM_NONE, .rounding = SC_ROUNDING_STRICT};
  sc_cc_options o = {.compiler = compiler, .cache_dir = dir, .temp_dir = root, .lower = &scalar};
  empty(dir);
  CHECK(!hits_cc(plain, &o) && hits_cc(plain, &o), "the same function");
  o.flags = flags;
  CHECK(!hits_cc(plain, &o) && hits_cc(plain, &o), "flags");
  o.lower = &lower;
  CHECK(!hits_cc(plain, &o) && hits_cc(plain, &o), "rounding");
  o.rebuild = true;
  CHECK(!hits_cc(plain, &o), "rebuild");
  CHECK(summary(dir).entries == 9, "three files each");
  empty(dir);
  o = (sc_cc_options){.compiler = compiler, .cache_dir = dir, .temp_dir = root, .lower = &scalar};
  CHECK(!hits_cc(plain, &o), "after clearing");
  for (int i = 0; i < 3; i++) { /* without, and with something else in its place */
    for (int damage = 0; damage < 2; damage++) {
      char path[900] = "";
      DIR *d = opendir(dir);
      for (struct dirent *e; d && (e = readdir(d));)
        if (!strcmp(e->d_name + strcspn(e->d_name, "."), names[i]))
          snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
      if (d) closedir(d);
      CHECK(path[0], "a file %s", names[i]);
      unlink(path);
      if (damage) write_whole(path, "damaged", 7);
      bool hit = hits_cc(plain, &o);
      CHECK(hit == (i == 2), "%s: %s", names[i], damage ? "damaged" : "missing");
      if (i == 2) write_whole(path, "restored", 8);
    }
  }
}

int main(int argc, char **argv) {
  CHECK(argc > 1, "which folder?");
  snprintf(root, sizeof root, "%s", argv[1]);
  mkdir(root, 0700);
  chmod(root, 0700);
  char dir[700];
  snprintf(dir, sizeof dir, "%s", folder("cache"));
  const char *rounds = getenv("SCALY_TEST_ROUNDS");
  every_function(dir);
  short_lives(dir);
  stampede(dir, rounds ? atoi(rounds) : 5);
  empty(dir);
  in_child(keys, dir);
  in_child(damage, dir);
  in_child(permissions, dir);
  in_child(unusable, NULL);
  in_child(relative, dir);
  in_child(threads, dir);
  in_child(prune, dir);
  in_child(batches, dir);
  in_child(libraries, dir);
  empty(dir);
  return 0;
}
