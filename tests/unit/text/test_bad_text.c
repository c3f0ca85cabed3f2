/* Owns the tests of text that is not right: cut, nested, huge, or met by a lack of memory. Golden files have the
 * messages. */
#define _GNU_SOURCE /* pthread attributes */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>

#include "lib/text/text.h"
#include "scaly/scaly.h"
#include "tests/support/fault_alloc.h"

#if defined(__SANITIZE_ADDRESS__)
enum { DEEP = 100000, STACK = 1 << 20, STRIDE = 7 };
#else
enum { DEEP = 1000000, STACK = 256 << 10, STRIDE = 1 };
#endif

/* ---- samples: the inputs of the golden files ---- */

typedef struct sample {
  char *file, *text;
  size_t size;
} sample;

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  cr_assert(f, "%s", path);
  fseek(f, 0, SEEK_END);
  size_t n = (size_t)ftell(f);
  rewind(f);
  char *text = calloc(1, n + 1);
  cr_assert_eq(fread(text, 1, n, f), n);
  fclose(f);
  return text;
}

static void each_sample(const char *folder, void (*use)(const sample *s)) {
  char path[512];
  snprintf(path, sizeof path, SCALY_TEST_SOURCE_DIR "/tests/golden/%s", folder);
  DIR *dir = opendir(path);
  cr_assert(dir, "%s", path);
  int used = 0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, SCALY_TEST_SOURCE_DIR "/tests/golden/%s/%s", folder, e->d_name);
    char *file = read_file(path);
    for (char *at = file; (at = strstr(at, "RUN: ")) != NULL;) {
      char *text = strchr(at, '\n') + 1, *stop = strstr(text, "----\n");
      use(&(sample){e->d_name, text, (size_t)(stop - text)});
      used++;
      at = stop;
    }
    free(file);
  }
  closedir(dir);
  cr_assert_gt(used, 3);
}

/* A text in memory of its exact size, so that a sanitizer sees a read behind its end. */
static char *exact(const char *text, size_t n) {
  char *copy = malloc(n ? n : 1);
  memcpy(copy, text, n);
  return copy;
}

/* ---- cut at every byte ---- */

static void check_problem(sc_context *cx, const sample *s, size_t n) {
  const sc_diagnostic *d = sc_context_error(cx);
  cr_assert(d && d->message[0], "%s cut at %zu", s->file, n);
  if (d->status == SC_ERR_VERIFY) return; /* of the whole program */
  cr_assert(d->line > 0 && d->column > 0 && !strcmp(d->file, "<text>"), "%s cut at %zu: %s", s->file, n, d->message);
  cr_assert(!d->source || strlen(d->source) + 1 >= (size_t)d->column, "%s cut at %zu: column %d", s->file, n,
            d->column);
}

static void cut_expr(const sample *s) {
  sc_context *cx = sc_context_create(NULL);
  for (size_t n = 0; n <= s->size; n += STRIDE) {
    size_t nodes = sc_context_node_count(cx);
    uint32_t functions = cx->n_functions;
    char *text = exact(s->text, n);
    sc_module_text *m = sc_parse(cx, text, n, NULL);
    free(text);
    if (!m) {
      check_problem(cx, s, n);
      cr_assert(sc_context_node_count(cx) == nodes && cx->n_functions == functions, "%s cut at %zu: something stays",
                s->file, n);
      sc_context_clear_error(cx);
    }
    sc_module_text_free(m);
  }
  sc_context_destroy(cx);
}

static void cut_program(const sample *s) {
  sc_context *cx = sc_context_create(NULL);
  for (size_t n = 0; n <= s->size; n += STRIDE) {
    size_t memory = sc_context_memory(cx);
    char *text = exact(s->text, n);
    sc_program *p = sc_parse_program(cx, text, n, NULL);
    free(text);
    if (!p) check_problem(cx, s, n);
    sc_program_destroy(p);
    sc_context_clear_error(cx);
    if (n > 64) cr_assert_leq(sc_context_memory(cx), memory + 4096, "%s cut at %zu: something stays", s->file, n);
  }
  sc_context_destroy(cx);
}

Test(bad_text, cut_anywhere, .timeout = 120) {
  each_sample("parse", cut_expr);
  each_sample("program", cut_program);
}

/* ---- nested a million deep, in a small stack ---- */

static void repeat(char **text, size_t *n, const char *before, const char *unit, int times) {
  size_t unit_n = strlen(unit);
  *n = strlen(before) + unit_n * (size_t)times;
  *text = malloc(*n);
  memcpy(*text, before, strlen(before));
  for (int i = 0; i < times; i++) memcpy(*text + strlen(before) + unit_n * (size_t)i, unit, unit_n);
}

static const char *const expr_nests[][2] = {
    {"expr.func @f(%x: tensor<float64>) -> (%y) { return ", "neg("},
    {"expr.func @f(%x: tensor<float64>) -> (%y) { return ", "add(%x, "},
    {"expr.func @f(%x: tensor<float64>) -> (%y) { %c = const {value=", "["},
    {"expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return %x", "[0:3]"},
    {"expr.func @f(%x: tensor<3xfloat64>) -> (%y) ", "{"},
    {"expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(%x) {axes=[", "0, "},
    {"expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return %x", ", %x"},
    {"expr.func @f", "("},
    {"expr.func @f(%x: tensor<", "1x"},
    {"", "expr.module { "},
    {"", "expr.func @f"},
    {"", "\""},
    {"expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return mul(%x, 1", "0"},
    {"expr.func @f(%x: tensor<3xfloat64>) -> (%", "y"},
};

static const char *const prog_nests[][2] = {
    {"prog.proc @f(%y: memref<1xfloat64>) { prog.store ", "neg("},
    {"prog.proc @f(%y: memref<1xfloat64>) { prog.store ", "load %y["},
    {"prog.proc @f(%y: memref<1xfloat64>) { ", "prog.for %i = 0 to 1 { "},
    {"prog.proc @f(%y: memref<1xfloat64>) { ", "{"},
    {"prog.module @f { prog.table @t : memref<1xint64> = [", "0, "},
    {"prog.module @f { ", "prog.module @f { "},
    {"prog.module @f {", "target=\"generic\", "},
};

static void *nest(void *unused) {
  sc_context *cx = sc_context_create(NULL);
  for (size_t i = 0; i < sizeof expr_nests / sizeof *expr_nests; i++) {
    char *text;
    size_t n;
    repeat(&text, &n, expr_nests[i][0], expr_nests[i][1], DEEP);
    cr_assert(!sc_parse(cx, text, n, NULL), "%s", expr_nests[i][1]);
    cr_assert_eq(sc_context_error(cx)->line, 1, "%s: %s", expr_nests[i][1], sc_context_error(cx)->message);
    cr_assert_leq(sc_context_diagnostic_count(cx), 101);
    sc_context_clear_error(cx);
    free(text);
  }
  for (size_t i = 0; i < sizeof prog_nests / sizeof *prog_nests; i++) {
    char *text;
    size_t n;
    repeat(&text, &n, prog_nests[i][0], prog_nests[i][1], DEEP);
    cr_assert(!sc_parse_program(cx, text, n, NULL), "%s", prog_nests[i][1]);
    cr_assert_eq(sc_context_error(cx)->line, 1, "%s: %s", prog_nests[i][1], sc_context_error(cx)->message);
    sc_context_clear_error(cx);
    free(text);
  }
  sc_context_destroy(cx);
  return unused;
}

Test(bad_text, nested_deep, .timeout = 120) {
  pthread_attr_t attr;
  pthread_t thread;
  pthread_attr_init(&attr);
  cr_assert_eq(pthread_attr_setstacksize(&attr, STACK), 0);
  cr_assert_eq(pthread_create(&thread, &attr, nest, NULL), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
}

/* ---- places ---- */

Test(bad_text, diagnostics) {
  sc_context *cx = sc_context_create(NULL);
  static const char crlf[] = "// one\r\nexpr.func @f(%x: tensor<float64>) -> (%y) {\r\n\treturn sinus(%x)\r\n}\r\n";
  cr_assert(!sc_parse(cx, crlf, sizeof crlf - 1, "dir/a.scaly"));
  const sc_diagnostic *d = sc_context_error(cx);
  cr_expect(d->status == SC_ERR_PARSE && d->line == 3 && d->column == 9 && !strcmp(d->file, "dir/a.scaly"));
  cr_expect_str_eq(d->source, "\treturn sinus(%x)");

  /* A second run appends; the first problem stays the error. */
  cr_assert(!sc_parse(cx, "3", 1, NULL));
  cr_expect(sc_context_diagnostic_count(cx) == 2 && sc_context_error(cx)->line == 3 &&
            sc_context_diagnostic(cx, 1)->column == 1);
  sc_context_clear_error(cx);
  cr_assert(!sc_parse_program(cx, "3", 1, NULL) && sc_context_diagnostic_count(cx) == 1);
  sc_context_clear_error(cx);

  /* The source of a long line ends a little behind the column, and is left out when the column is far out. */
  char text[4096];
  for (int wide = 0; wide < 2; wide++) {
    int n = snprintf(text, sizeof text, "%*sx%*s", wide ? 2000 : 100, "", 1000, "");
    cr_assert(!sc_parse(cx, text, (size_t)n, NULL));
    d = sc_context_error(cx);
    cr_expect_eq(d->column, wide ? 2001 : 101);
    cr_expect(wide ? !d->source : strlen(d->source) == 180);
    sc_context_clear_error(cx);
  }

  /* Zero bytes are as wrong as any other; a message is printable. */
  cr_assert(!sc_parse(cx, "expr.func \0", 11, NULL));
  cr_expect_str_eq(sc_context_error(cx)->message, "expected the name of a function (@f), found the byte 0x00");
  sc_context_clear_error(cx);
  cr_assert(!sc_parse(cx, "\xff\xfe", 2, NULL));
  cr_expect_str_eq(sc_context_error(cx)->message, "expected expr.func or expr.module, found the byte 0xff");
  sc_context_destroy(cx);

  /* A mark of UTF-8 counts for nothing: neither as text nor as a column. Two are one too many. */
  const char marked[] = "\xEF\xBB\xBF"
                        "expr.fun",
             twice[] = "\xEF\xBB\xBF\xEF\xBB\xBF"
                       "expr.func";
  sc_context *marks = sc_context_create(NULL);
  cr_assert_null(sc_parse(marks, marked, sizeof marked - 1, NULL));
  cr_assert_eq(sc_context_error(marks)->column, 1);
  cr_assert_str_eq(sc_context_error(marks)->source, "expr.fun");
  sc_context_clear_error(marks);
  cr_assert_null(sc_parse(marks, twice, sizeof twice - 1, NULL));
  sc_context_clear_error(marks);
  cr_assert_null(sc_parse_program(marks, twice, 3, NULL));
  sc_context_destroy(marks);
}

/* ---- lack of memory ---- */

static const char fault_expr[] =
    "expr.module { expr.func @g(%\"a\\x41\": tensor<3xfloat64>) -> (%y, %j: sparse<2x2xfloat64 csc colptr=[0, 1, 2] "
    "rowind=[0, 1]>)"
    " {lowering=\"block\"} { %v = const {value=[[1, 2, 3], [4, 5, 6]]} %w = gather(%v) {indices=[0, 1, 2], shape=[3]}"
    " return add(mul(sin(%\"aA\"), 2.5), %w), %w[0:2] }\n"
    "expr.func @f(%x: tensor<9xfloat64>) -> (%y) { return sum(vmap(%x) {callee=\"g\", length=3, starts=[0], "
    "strides=[3]}) } }";
static const char fault_program[] =
    "prog.module @f {target=\"x86-64\", rounding=\"strict\"} { prog.input \"x\" : tensor<3xfloat64> prog.output \"y\" "
    ": sparse<2x2xfloat64 csc"
    " colptr=[0, 1, 3] rowind=[0, 0, 1]> prog.table @t : memref<3xint64> = [2, 1, 0]"
    " prog.proc @f(%x: memref<3xfloat64>, %y: memref<3xfloat64 output>) { prog.local %\"l\\x41\" : memref<3xfloat64>"
    " prog.alias %a : memref<2xfloat64> = %x[1] prog.for %i = 0 to 3 { prog.store add(load %x[load @t[%i]], sin(load "
    "%a[0])), %\"lA\"[%i]"
    " %s = prog.load %\"lA\"[%i] prog.store mul(%s, %s), %y[%i] } } }";

static bool work(sc_context *cx) {
  sc_module_text *m = sc_parse(cx, fault_expr, sizeof fault_expr - 1, "a");
  char *text = m ? sc_print_function(sc_module_text_find(m, NULL)) : NULL;
  sc_module_text_free(m);
  sc_string_free(cx, text);
  if (!text) return false;
  sc_program *p = sc_parse_program(cx, fault_program, sizeof fault_program - 1, "b");
  text = p ? sc_print_program(p) : NULL;
  sc_program_destroy(p);
  sc_string_free(cx, text);
  return text != NULL;
}

Test(bad_text, allocation_failures, .timeout = 120) {
  fault_alloc fa = {0};
  sc_allocator alloc = fault_allocator(&fa);
  sc_context *cx = sc_context_create(&alloc);
  cr_assert(work(cx), "%s", sc_context_error(cx)->message);
  sc_context_destroy(cx);
  cr_assert(fa.bytes == 0 && fa.blocks == 0);
  long total = fa.allocations;
  for (int mode = 0; mode < 2; mode++)
    for (long at = 1; at <= total; at++) {
      fa = (fault_alloc){.fail_at = mode ? 0 : at, .fail_after = mode ? at : 0};
      cx = sc_context_create(&alloc);
      if (cx) {
        bool done = work(cx);
        const sc_diagnostic *d = sc_context_error(cx);
        cr_assert_eq(done, d == NULL, "allocation %ld: a failure has a reason", at);
        cr_assert(!d || d->status == SC_ERR_MEMORY, "allocation %ld: %s", at, d ? d->message : "");
        if (!mode) {
          sc_context_clear_error(cx);
          cr_assert(work(cx), "after allocation %ld: %s", at, sc_context_error(cx)->message);
        }
        sc_context_destroy(cx);
      }
      cr_assert(fa.bytes == 0 && fa.blocks == 0, "allocation %ld: %zu bytes in %ld blocks leak", at, fa.bytes,
                fa.blocks);
    }
}
