/* Owns loops in lanes against the same loops in scalars, bit for bit, for every width and around every multiple of it;
 * inputs and outputs end where an unreadable page begins. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/diff/diff.h"

/* A body over %i. */
typedef struct form {
  const char *what;
  int stride_in, stride_out; /* elements of x and y per iteration */
  const char *body;
  int own; /* elements of %t, which each iteration has to itself; negative: of %c, which are conditions */
} form;

static const form forms[] = {
    {"contiguous", 1, 1, "%v = prog.load %x[%i] prog.store prog.fma(%v, %v, prog.sqrt(prog.abs(%v))), %y[%i]", 0},
    {"functions", 1, 1, "%v = prog.load %x[%i] prog.store prog.mul(prog.sin(%v), prog.fmod(%v, 0.3)), %y[%i]", 0},
    {"selects", 1, 1,
     "%v = prog.load %x[%i] prog.store prog.select(prog.or(prog.lt(%v, 0), prog.isnan(%v)), prog.minimum(%v, -0.2), "
     "prog.maximum(prog.sign(%v), prog.copysign(prog.floor(%v), %v))), %y[%i]",
     0},
    {"in place", 1, 1,
     "%v = prog.load %x[%i] %w = prog.load %y[%i] prog.store prog.fma(%w, 0.5, prog.add(%v, 1)), %y[%i]", 0},
    {"guarded", 1, 1, /* what is only right on one side is computed for all lanes, and taken where it is right */
     "%v = prog.load %x[%i] %c = prog.assign prog.lt(0, %v) {declare} "
     "prog.store prog.select(%c, prog.add(prog.log(%v), prog.pow(%v, 0.7)), prog.select(prog.lt(%v, -1), "
     "prog.sqrt(prog.sub(prog.mul(%v, %v), 1)), prog.div(1, prog.sqrt(prog.add(%v, 2))))), %y[%i]",
     0},
    {"one condition for all", 1, 1, /* beside masks */
     "%u = prog.load %x[1] %v = prog.load %x[%i] %c = prog.assign prog.lt(0, %u) {declare} "
     "prog.store prog.select(prog.and(%c, prog.lt(%v, 0.5)), %v, prog.select(prog.or(prog.not(%c), prog.isnan(%v)), "
     "prog.sqrt(%v), prog.mul(%v, %u))), %y[%i]",
     0},
    {"two in place", 1, 2,
     "%v = prog.load %x[%i] %a = prog.load %y[prog.mul(%i, 2)] %b = prog.load %y[prog.add(prog.mul(%i, 2), 1)] "
     "prog.store prog.add(prog.sqrt(%v), %b), %y[prog.mul(%i, 2)] prog.store %a, %y[prog.add(prog.mul(%i, 2), 1)]",
     0},
    {"blocks", 3, 5,
     "%a = prog.load %x[prog.mul(%i, 3)] %b = prog.load %x[prog.add(prog.mul(%i, 3), 1)] %c = prog.load "
     "%x[prog.add(prog.mul(%i, 3), 2)] "
     "%u = prog.load %x[1] prog.store prog.mul(%a, %b), %y[prog.mul(%i, 5)] prog.store %c, %y[prog.add(prog.mul(%i, "
     "5), 1)] "
     "prog.store %u, %y[prog.add(prog.mul(%i, 5), 2)] prog.store prog.div(%b, %c), %y[prog.add(prog.mul(%i, 5), 3)] "
     "prog.store 2.5, %y[prog.add(prog.mul(%i, 5), 4)]",
     0},
    {"apart", 2, 3,
     "%a = prog.load %x[prog.mul(%i, 2)] %u = prog.load %x[1] %k = prog.assign %u {declare, mutable} "
     "prog.for %j = 0 to 3 step 1 {kind=reduce} { %o = prog.assign %k {declare} %k = prog.assign prog.fma(%o, %a, %a) "
     "} "
     "prog.store %k, %y[prog.mul(%i, 3)] prog.store prog.neg(%a), %y[prog.add(prog.mul(%i, 3), 2)]",
     0},
    {"memory of its own", 2, 3,
     "%u = prog.load %x[1] prog.for %j = 0 to 5 step 1 {kind=independent} { %a = prog.load %x[prog.mul(%i, 2)] "
     "prog.store prog.fma(%a, prog.cast(%j) {dtype=@}, %u), %t[%j] } prog.store %u, %t[5] "
     "prog.for %k = 0 to 4 step 1 {kind=serial} { %p = prog.load %t[%k] %q = prog.load %t[prog.add(%k, 1)] "
     "prog.store prog.fma(%p, 0.5, %q), %t[prog.add(%k, 1)] } "
     "%r = prog.load %t[4] %s = prog.load %t[5] %v = prog.load %x[prog.add(prog.mul(%i, 2), 1)] "
     "prog.store prog.add(%r, %v), %y[prog.mul(%i, 3)] prog.store %s, %y[prog.add(prog.mul(%i, 3), 2)]",
     6},
    {"conditions in memory", 1, 2,
     "%v = prog.load %x[%i] prog.for %j = 0 to 3 step 1 {kind=independent} { "
     "prog.store prog.or(prog.lt(%v, prog.cast(%j) {dtype=@}), prog.isnan(%v)), %c[%j] } "
     "%s = prog.assign -0 : @ {declare, mutable} prog.for %k = 0 to 3 step 1 {kind=reduce} { %p = prog.load %c[%k] "
     "%o = prog.assign %s {declare} "
     "%s = prog.assign prog.fma(%o, %v, prog.select(prog.not(%p), prog.sqrt(%v), prog.cast(%p) {dtype=@})) } "
     "%q = prog.load %c[1] prog.store %s, %y[prog.mul(%i, 2)] "
     "prog.store prog.select(%q, %v, prog.mul(%v, %v)), %y[prog.add(prog.mul(%i, 2), 1)]",
     -3},
    {"long, in place", 1, 1, NULL, 0},
};

/* More than a hundred operations between a load and a store of one element. Outputs are zero when a call begins. */
static void put_long_body(char *text, size_t size) {
  size_t n = (size_t)snprintf(
      text, size, "%%v = prog.load %%x[%%i] %%w = prog.load %%y[%%i] %%a0 = prog.assign prog.add(%%v, %%w) {declare} ");
  for (int i = 1; i < 120; i++)
    n += (size_t)snprintf(text + n, size - n, "%%a%d = prog.assign prog.sub(%d, prog.mul(%%a%d, 0.5)) {declare} ", i, i,
                          i - 1);
  snprintf(text + n, size - n, "prog.store %%a119, %%y[%%i]");
}

typedef struct guarded {
  char *map;
  size_t map_bytes;
  void *data;
} guarded;

static guarded guard(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
  guarded g = {.map_bytes = whole + page};
  g.map = mmap(NULL, g.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert(g.map != MAP_FAILED);
  cr_assert_eq(mprotect(g.map + whole, page, PROT_NONE), 0);
  g.data = g.map + whole - bytes;
  return g;
}

static sc_program *make(sc_context *cx, const form *f, int n, bool narrow, int lanes) {
  char text[16384], body[12000], own[64] = "";
  if (f->body)
    snprintf(body, sizeof body, "%s", f->body);
  else
    put_long_body(body, sizeof body);
  const char *type = narrow ? "float32" : "float64";
  for (char *at = strchr(body, '@'); at; at = strchr(at, '@')) {
    memmove(at + strlen(type), at + 1, strlen(at));
    memcpy(at, type, strlen(type));
  }
  if (f->own > 0) snprintf(own, sizeof own, "prog.local %%t: memref<%dx%s>", f->own, type);
  if (f->own < 0) snprintf(own, sizeof own, "prog.local %%c: memref<%dxbool>", -f->own);
  int nx = n * f->stride_in < 2 ? 2 : n * f->stride_in, ny = n * f->stride_out;
  snprintf(text, sizeof text,
           "prog.module @f {target=\"native\"} { prog.input \"x\" : tensor<%dx%s> prog.output \"y\" : tensor<%dx%s> "
           "prog.proc @f(%%x: memref<%dx%s>, %%y: memref<%dx%s output>) { %s prog.for %%i = 0 to %d step 1 "
           "{kind=independent} { %s } } }",
           nx, type, ny, type, nx, type, ny, type, own, n, body);
  sc_program *p = sc_parse_program(cx, text, strlen(text), "lanes");
  cr_assert(p, "%s: %s", f->what, sc_context_error(cx)->message);
  sc_target target;
  sc_target_preset("native", &target);
  target.lanes = lanes;
  sc_lower_options o = {.target = &target, .verify_each = true, .passes = lanes == 1 ? "-widen_loops" : NULL};
  sc_program *q = sc_program_optimize(p, &o);
  cr_assert(q, "%s: %s", f->what, sc_context_error(cx)->message);
  sc_program_destroy(p);
  return q;
}

static void run(const form *f, int n, bool narrow, int lanes, diff_way way, const void *x, size_t nx, void *y,
                size_t ny) {
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = make(cx, f, n, narrow, lanes);
  sc_kernel *k = diff_compile(way, p, NULL);
  cr_assert(k, "%s: %s", f->what, sc_context_error(cx) ? sc_context_error(cx)->message : "");
  guarded in = guard(nx), out = guard(ny);
  memcpy(in.data, x, nx);
  cr_assert_eq(sc_kernel_call(k, (const void *[]){in.data}, (void *[]){out.data}, NULL), SC_KERNEL_SUCCESS);
  memcpy(y, out.data, ny);
  munmap(in.map, in.map_bytes);
  munmap(out.map, out.map_bytes);
  sc_kernel_release(k);
  sc_program_destroy(p);
  sc_context_destroy(cx);
}

static void check(const form *f, int n, bool narrow, diff_way way, const int *lanes, size_t n_lanes) {
  enum { ROOM = 256 };
  double wide[ROOM], expected[ROOM], got[ROOM];
  float single[ROOM];
  size_t size = narrow ? 4 : 8, nx = (size_t)(n * f->stride_in < 2 ? 2 : n * f->stride_in) * size,
         ny = (size_t)(n * f->stride_out) * size;
  for (int i = 0; i < ROOM; i++) {
    wide[i] = i == 3    ? -0.0
              : i == 6  ? (double)NAN
              : i == 11 ? (double)INFINITY
                        : 3 * (i * 0.61803398874989485 - (int)(i * 0.61803398874989485)) - 1.5;
    single[i] = (float)wide[i];
  }
  const void *x = narrow ? (const void *)single : wide;
  run(f, n, narrow, 1, way, x, nx, expected, ny);
  for (size_t i = 0; i < n_lanes; i++) {
    run(f, n, narrow, lanes[i], way, x, nx, got, ny);
    int64_t at = ora_first_difference(narrow ? SC_FLOAT32 : SC_FLOAT64, (int64_t)(ny / size), got, expected);
    cr_expect_lt(at, 0, "%s, %d iterations of %s, %d lanes, %s: element %d", f->what, n, narrow ? "float32" : "float64",
                 lanes[i], diff_way_name(way), (int)at);
  }
}

Test(lanes, every_width_and_tail, .timeout = 240) {
  static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33}, widths[] = {2, 4, 8};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      for (int narrow = 0; narrow < 2 && diff_way_exists(DIFF_JIT); narrow++) {
        check(&forms[i], sizes[k], narrow, DIFF_JIT, widths, 3);
        check(&forms[i], sizes[k], narrow, DIFF_FAST, widths, 3);
      }
}

Test(lanes, compilers, .timeout = 240) {
  static const int widths[] = {4, 8};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    for (diff_way way = DIFF_GCC; way <= DIFF_PLAIN; way++)
      for (int narrow = 0; narrow < 2 && diff_way_exists(way); narrow++) check(&forms[i], 21, narrow, way, widths, 2);
}

/* A loop that is called vector does have vectors. */
Test(lanes, pays) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    sc_context *cx = sc_context_create(NULL);
    sc_program *p = make(cx, &forms[i], 33, false, 4);
    bool routines = strcmp(forms[i].what, "functions") == 0; /* without a vector library they stay scalar */
    cr_expect_eq(sc_program_statistics(p).vector_loops, !routines, "%s", forms[i].what);
    sc_program_destroy(p);
    sc_context_destroy(cx);
  }
}
