/* Fuzzes the parsers of both dialects with mutated golden inputs: nothing crashes, a failure has a located reason and
 * leaves nothing behind, and what is accepted prints to text that parses back to itself.
 *
 *   fuzz_parse ITERATIONS [SEED]     the same bytes every time; prints a failing input and stops
 *
 * Compiled with -DFUZZ_TARGET and clang's -fsanitize=fuzzer it is a libFuzzer target instead. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"

static const uint8_t *current; /* the input at work, for the report */
static size_t current_size;

static _Noreturn void fail(const char *what, const char *detail) {
  fprintf(stderr, "fuzz_parse: %s: %s\n---- input of %zu bytes\n", what, detail, current_size);
  fwrite(current, 1, current_size, stderr);
  fputs("\n----\n", stderr);
  abort();
}

static void check_failure(sc_context *cx) {
  const sc_diagnostic *d = sc_context_error(cx);
  if (!d) fail("refused without a reason", "");
  if (d->status != SC_ERR_VERIFY && d->line < 1) fail("a problem without a place", d->message);
  if (d->source && strlen(d->source) + 1 < (size_t)d->column) fail("a column outside of its line", d->message);
  if (sc_context_node_count(cx)) fail("nodes stay behind a failure", d->message);
}

static void try_expr(const char *text, size_t n) {
  sc_context *cx = sc_context_create(NULL), *other = sc_context_create(NULL);
  sc_module_text *m = sc_parse(cx, text, n, NULL);
  if (!m) check_failure(cx);
  for (size_t i = 0; i < sc_module_text_count(m); i++) {
    sc_function *f = sc_module_text_function(m, i);
    if (sc_verify(f)) fail("an accepted function does not verify", sc_context_error(cx)->message);
    char *first = sc_print_function(f);
    sc_module_text *again = sc_parse(other, first, strlen(first), NULL);
    if (!again) fail("printed text is refused", sc_context_error(other)->message);
    char *second = sc_print_function(sc_module_text_find(again, NULL));
    if (strcmp(first, second) != 0) fail("printing changed", first);
    sc_string_free(cx, first);
    sc_string_free(other, second);
    sc_module_text_free(again);
  }
  sc_module_text_free(m);
  sc_context_destroy(other);
  sc_context_destroy(cx);
}

static void try_program(const char *text, size_t n) {
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = sc_parse_program(cx, text, n, NULL);
  if (!p) {
    check_failure(cx);
  } else {
    char *first = sc_print_program(p);
    sc_program *q = sc_parse_program(cx, first, strlen(first), NULL);
    if (!q) fail("printed text is refused", sc_context_error(cx)->message);
    char *second = sc_print_program(q);
    if (strcmp(first, second) != 0) fail("printing changed", first);
    sc_string_free(cx, first);
    sc_string_free(cx, second);
    sc_program_destroy(q);
  }
  sc_program_destroy(p);
  sc_context_destroy(cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = malloc(size ? size : 1); /* of the exact size: a sanitizer sees a read behind the end */
  if (!copy) return 0;
  if (size) memcpy(copy, data, size);
  current = data;
  current_size = size;
  try_expr(copy, size);
  try_program(copy, size);
  free(copy);
  return 0;
}

#ifndef FUZZ_TARGET

/* ---- the corpus ---- */

enum { MAX_SEEDS = 4096, MAX_INPUT = 1 << 14 };

typedef struct input {
  uint8_t *data;
  size_t n;
} input;

static input seeds[MAX_SEEDS];
static size_t n_seeds;

/* The inputs of a golden file: what stands between a RUN line and its "----". */
static void add_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return;
  static char text[1 << 20];
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  for (char *at = text; (at = strstr(at, "RUN: ")) != NULL && n_seeds < MAX_SEEDS;) {
    char *start = strchr(at, '\n'), *stop = start ? strstr(start, "\n----\n") : NULL;
    if (!stop) return;
    input *s = &seeds[n_seeds++];
    s->n = (size_t)(stop - start);
    if (s->n > MAX_INPUT) s->n = MAX_INPUT;
    s->data = malloc(s->n);
    if (!s->data) exit(2);
    memcpy(s->data, start, s->n);
    at = stop;
  }
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names, which a folder does not have. */
static void add_folder(const char *folder) {
  static char names[1024][256];
  char *order[1024], path[1024];
  size_t n = 0;
  snprintf(path, sizeof path, SCALY_TEST_SOURCE_DIR "/tests/golden/%s", folder);
  DIR *dir = opendir(path);
  if (!dir) return;
  for (struct dirent *e; n < 1024 && (e = readdir(dir)) != NULL;) {
    size_t len = strlen(e->d_name);
    if (e->d_name[0] == '.' || len >= sizeof names[0]) continue;
    memcpy(names[n], e->d_name, len + 1);
    order[n] = names[n];
    n++;
  }
  closedir(dir);
  qsort(order, n, sizeof *order, compare_names);
  for (size_t i = 0; i < n; i++) {
    snprintf(path, sizeof path, SCALY_TEST_SOURCE_DIR "/tests/golden/%s/%s", folder, order[i]);
    add_file(path);
  }
}

/* ---- mutations ---- */

static uint64_t state;

static uint64_t next_random(void) { /* splitmix64 */
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static size_t below(size_t n) {
  return n ? (size_t)(next_random() % n) : 0;
}

static const char *const words[] = {
    "expr.func ",
    "expr.module { ",
    "expr.return ",
    "return ",
    "%x",
    "%0",
    "%1",
    "@f",
    "@g",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ":",
    "=",
    "-",
    "->",
    "\"",
    "\\x00",
    "//",
    "\n",
    "tensor<3xfloat64>",
    "tensor<0xfloat32 nodiff>",
    "tensor<int64>",
    "memref<3xfloat64 output>",
    "diff",
    "nodiff",
    "sparse<2x2xfloat64 csc colptr=[0, 1, 2] rowind=[0, 1]>",
    "float64",
    "int32",
    "bool",
    "0",
    "-1",
    "1",
    "2",
    "3",
    "2147483647",
    "2147483648",
    "-9223372036854775808",
    "9223372036854775807",
    "99999999999999999999",
    "0.1",
    "1e999",
    "nan",
    "-inf",
    "true",
    "false",
    "0x1p-1074",
    "1e-320",
    "add(",
    "mul(%x, ",
    "select(",
    "sum(",
    "reshape(",
    "slice(",
    "stack(",
    "concat(",
    "matmul(",
    "gather(",
    "call(",
    "vmap(",
    "broadcast(",
    "fma(",
    "{axes=[0]}",
    "{shape=[-1]}",
    "{index=[::-1]}",
    "{indices=[0, 0], shape=[2]}",
    "{value=[1, 2]}",
    "{dtype=int32}",
    "{lowering=\"block\"}",
    "{callee=\"g\", output=0}",
    "prog.proc @f",
    "prog.module @f {",
    "prog.for %i = 0 to 3 step 1 {kind=reduce} {",
    "prog.store 0, %y[0]",
    "prog.load %x[0]",
    "prog.assign 0 : float64 {declare, mutable}",
    "prog.value ",
    "prog.call @g(%x[0], %y[0])",
    "prog.local %t : memref<3xfloat64> {stack=0}",
    "prog.alias %a : memref<1xfloat64> = %x[1]",
    "prog.table @t : memref<2xint64> = [0, 1]",
    "prog.const 1 : int32",
    "kind=independent",
    "kind=vector",
};

typedef struct buffer {
  uint8_t data[2 * MAX_INPUT];
  size_t n;
} buffer;

static void splice(buffer *b, size_t at, size_t drop, const uint8_t *with, size_t n) {
  if (drop > b->n - at) drop = b->n - at;
  if (b->n - drop + n > MAX_INPUT) return;
  uint8_t copy[256];
  if (n <= sizeof copy) { /* the source may lie in the buffer */
    memcpy(copy, with, n);
    with = copy;
  } else if (with >= b->data && with < b->data + sizeof b->data) {
    return;
  }
  memmove(b->data + at + n, b->data + at + drop, b->n - at - drop);
  memcpy(b->data + at, with, n);
  b->n = b->n - drop + n;
}

static bool is_digit(uint8_t c) {
  return c >= '0' && c <= '9';
}

static void mutate(buffer *b) {
  size_t at = below(b->n + 1), n = 1 + below(8);
  const char *word = words[below(sizeof words / sizeof *words)];
  const input *other = &seeds[below(n_seeds)];
  uint8_t byte = (uint8_t)next_random();
  switch (below(8)) {
  case 0: splice(b, at, 1, &byte, 1); break;
  case 1: splice(b, at, below(16), b->data, 0); break;
  case 2: splice(b, at, 0, (const uint8_t *)word, strlen(word)); break;
  case 3: splice(b, at, n, (const uint8_t *)word, strlen(word)); break;
  case 4: { /* a piece of the text again, elsewhere */
    size_t from = below(b->n), most = b->n - from;
    splice(b, at, 0, b->data + from, most ? below(most < 64 ? most : 64) : 0);
    break;
  }
  case 5: { /* a piece of another one */
    size_t from = below(other->n), most = other->n - from;
    splice(b, at, below(24), other->data + from, most ? below(most < 200 ? most : 200) : 0);
    break;
  }
  case 6: /* another number */
    while (at < b->n && !is_digit(b->data[at])) at++;
    for (n = 0; at + n < b->n && is_digit(b->data[at + n]);) n++;
    if (n) {
      static const char *const numbers[] = {"0",     "1",          "2",          "3",          "4",  "7",  "8",
                                            "65536", "2147483647", "2147483648", "4294967296", "-1", "1.5"};
      const char *number = numbers[below(sizeof numbers / sizeof *numbers)];
      splice(b, at, n, (const uint8_t *)number, strlen(number));
    }
    break;
  case 7: b->n = below(20) ? b->n : at; break;
  }
}

int main(int argc, char **argv) {
  long iterations = argc > 1 ? atol(argv[1]) : 1000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  static buffer b;
  add_folder("parse");
  add_folder("program");
  add_folder("errors");
  if (!n_seeds) return 2;
  for (long i = 0; i < iterations; i++) {
    state = seed * 0x100000001B3u + (uint64_t)i; /* each input by itself, whatever came before */
    const input *s = &seeds[below(n_seeds)];
    memcpy(b.data, s->data, s->n);
    b.n = s->n;
    for (size_t k = below(6); k-- > 0;) mutate(&b);
    LLVMFuzzerTestOneInput(b.data, b.n);
  }
  for (size_t i = 0; i < n_seeds; i++) free(seeds[i].data);
  return 0;
}

#endif
