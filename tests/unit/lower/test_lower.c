/* Structure of lowered programs: how many loops of which kind, what is copied, what needs storage of its own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/lower/lower.h"
#include "scaly/scaly.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define NO_LEAKS() cr_assert(!__lsan_do_recoverable_leak_check())
#else
#define NO_LEAKS() (void)0
#endif

typedef struct counts {
  int independent, reduce, serial, loads, stores, calls, copies;
} counts;

/* A store of what was just loaded moves data without computing. */
static bool is_copy(const sci_store *s, const sci_stmt *st) {
  return sci_value_at(s, st->value)->kind == SCI_V_NAME && st[-1].kind == SCI_S_LOAD &&
         st[-1].name == sci_value_at(s, st->value)->args[0];
}

static void count(const sci_store *s, sci_block b, counts *c) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    switch ((sci_stmt_kind)st->kind) {
    case SCI_S_LOAD: c->loads++; break;
    case SCI_S_STORE:
      c->stores++;
      if (i && is_copy(s, st)) c->copies++;
      break;
    case SCI_S_ASSIGN: break;
    case SCI_S_CALL: c->calls++; break;
    case SCI_S_LOOP:
      if (st->loop->kind == SCI_LOOP_INDEPENDENT)
        c->independent++;
      else if (st->loop->kind == SCI_LOOP_REDUCE)
        c->reduce++;
      else
        c->serial++;
      count(s, st->loop->body, c);
      break;
    }
  }
}

/* The entry in a line: procedures, loops (independent/reduce/serial), loads, stores, pure copies, calls, elements of
 * locals; absent when 0. */
static void summarize(const sci_program *p, char *out, size_t size) {
  counts c = {0};
  const sci_proc *entry = sci_entry(p);
  int64_t locals = 0;
  count(p->store, entry->body, &c);
  for (uint32_t i = 0; i < entry->n_locals; i++) locals += p->store->bufs[entry->locals[i].buf].size;
  const struct {
    const char *name;
    int64_t n;
  } parts[] = {{"procs", (int64_t)p->n_procs - 1},
               {"independent", c.independent},
               {"reduce", c.reduce},
               {"serial", c.serial},
               {"loads", c.loads},
               {"stores", c.stores},
               {"copies", c.copies},
               {"calls", c.calls},
               {"locals", locals}};
  size_t at = 0;
  out[0] = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].n)
      at += (size_t)snprintf(out + at, size - at, "%s%s %lld", at ? " " : "", parts[i].name, (long long)parts[i].n);
}

static const struct {
  const char *text, *expected;
} cases[] = {
    /* elementwise: scalars are names, tensors one loop over all dimensions that collapse, loads as far out as they can
       be */
    {"(%x: tensor<float64>) -> (%y) { return sin(mul(%x, %x)) }", "loads 1 stores 1"},
    {"(%x: tensor<3x4x5xfloat64>) -> (%y) { return mul(%x, %x) }", "independent 1 loads 1 stores 1"},
    {"(%x: tensor<3x4xfloat64>, %b: tensor<4xfloat64>) -> (%y) { return add(%x, broadcast(%b) {shape=[3, 4]}) }",
     "independent 2 loads 2 stores 1"},
    {"(%x: tensor<3x4xfloat64>, %b: tensor<float64>) -> (%y) { return add(%x, broadcast(%b) {shape=[3, 4]}) }",
     "independent 1 loads 2 stores 1"},
    {"(%b: tensor<float64>) -> (%y) { return exp(broadcast(%b) {shape=[3, 4]}) }", "independent 1 loads 1 stores 1"},
    {"(%x: tensor<0x4xfloat64>) -> (%y) { return exp(%x) }", ""},
    /* a single reader keeps the loops of what it reads */
    {"(%x: tensor<3x4xfloat64>, %b: tensor<4xfloat64>) -> (%y) { return exp(add(%x, broadcast(%b) {shape=[3, 4]})) }",
     "independent 4 loads 3 stores 2 locals 12"},
    /* views cost nothing */
    {"(%x: tensor<3x4xfloat64>, %w: tensor<2x3xfloat64>) -> (%y) { %t = transpose(%x) {axes=[1, 0]} return "
     "mul(%t[::2], %w) }",
     "independent 2 loads 2 stores 1"},
    {"(%x: tensor<4x6xfloat64>) -> (%y) { return neg(reshape(%x[1:3]) {shape=[12]}) }",
     "independent 1 loads 1 stores 1"},
    {"(%x: tensor<9xfloat64>) -> (%y) { return sin(gather(%x) {indices=[1, 3, 5, 7], shape=[4]}) }",
     "independent 1 loads 1 stores 1"},
    {"(%x: tensor<9xfloat64>) -> (%y) { return sin(gather(%x) {indices=[0, 3, 6, 1, 4, 7], shape=[6]}) }",
     "independent 2 loads 1 stores 1"},
    {"(%x: tensor<9xfloat64>) -> (%y) { return sin(gather(%x) {indices=[5, 0, 1, 7], shape=[4]}) }",
     "independent 1 loads 2 stores 1"},
    /* outputs are written in place, parts where they belong; only inputs, constants and second outputs are copied */
    {"(%x: tensor<4xfloat64>) -> (%y) { return %x }", "independent 1 loads 1 stores 1 copies 1"},
    {"(%x: tensor<4xfloat64>) -> (%y, %z) { %a = sin(%x) return %a, %a }", "independent 2 loads 2 stores 2 copies 1"},
    {"(%x: tensor<4xfloat64>) -> (%y, %z) { %a = sin(%x) return %a, reshape(%a) {shape=[2, 2]} }",
     "independent 2 loads 2 stores 2 copies 1"},
    {"(%x: tensor<4xfloat64>) -> (%y) { return reshape(transpose(reshape(sin(%x)) {shape=[2, 2]}) {axes=[1, 0]}) "
     "{shape=[4]} }",
     "independent 2 loads 1 stores 1"},
    {"(%x: tensor<4xfloat64>) -> (%y) { return concat(sin(%x), exp(%x), cos(%x)) {axis=0} }",
     "independent 3 loads 3 stores 3"},
    {"(%x: tensor<4xfloat64>) -> (%y) { return stack(sin(%x), exp(%x)) {axis=1} }", "independent 2 loads 2 stores 2"},
    {"(%x: tensor<4xfloat64>) -> (%y) { %s = sin(%x) return concat(%s, mul(%s, %s)) {axis=0} }",
     "independent 2 loads 2 stores 2"},
    {"(%x: tensor<9xfloat64>) -> (%y) { return stack(%x[0], %x[2], %x[4], %x[6], %x[8], %x[1]) {axis=0} }",
     "independent 1 loads 2 stores 2 copies 2"},
    {"(%x: tensor<9xfloat64>) -> (%y) { return concat(%x[0:1], %x[3:3], %x[2:3], %x[4:5]) {axis=0} }",
     "loads 3 stores 3 copies 3"},
    {"(%x: tensor<6xfloat64>, %v: tensor<2xfloat64>) -> (%y) { return index_set(sin(%x), exp(%v)) {indices=[1, 4]} }",
     "independent 2 loads 2 stores 2"},
    {"(%x: tensor<6xfloat64>, %v: tensor<3xfloat64>) -> (%y) { return index_set(%x, %v) {indices=[1, 4, 1]} }",
     "independent 2 loads 2 stores 2 copies 2"},
    {"(%x: tensor<6xfloat64>, %v: tensor<2xfloat64>) -> (%y) { return index_add(sin(%x), %v) {indices=[1, 4]} }",
     "independent 2 loads 3 stores 2"},
    {"(%v: tensor<3xfloat64>) -> (%y) { return scatter(%v) {indices=[1, 4, 1], shape=[6]} }",
     "independent 1 serial 1 loads 3 stores 2"},
    {"(%v: tensor<2xfloat64>) -> (%y) { return scatter(%v) {indices=[1, 4], shape=[6]} }",
     "independent 2 loads 2 stores 2"},
    /* sums: in order, in 4 names, in a buffer of 32, in blocks */
    {"(%x: tensor<7xfloat64>) -> (%y) { return sum(%x) }", "reduce 1 loads 1 stores 1"},
    {"(%x: tensor<3x7xfloat64>) -> (%y) { return sum(%x) {axes=[1]} }", "independent 1 reduce 1 loads 1 stores 1"},
    {"(%x: tensor<8xfloat64>) -> (%y) { return max(%x) }", "reduce 1 loads 4 stores 1"},
    {"(%x: tensor<10xfloat64>) -> (%y) { return sum(%x) }", "reduce 1 loads 6 stores 1"},
    {"(%x: tensor<96xfloat64>) -> (%y) { return sum(%x) }", "independent 1 reduce 1 loads 12 stores 2 locals 32"},
    {"(%x: tensor<3x64xfloat64>) -> (%y) { return sum(%x) {axes=[1]} }",
     "independent 1 reduce 1 serial 1 loads 12 stores 2 locals 32"},
    {"(%x: tensor<64x5xfloat64>) -> (%y) { return sum(%x) {axes=[0]} }", "independent 1 reduce 1 loads 32 stores 1"},
    {"(%x: tensor<0xfloat64>) -> (%y) { return sum(%x) }", "stores 1"},
    /* products */
    {"(%a: tensor<4x5xfloat64>, %b: tensor<5x6xfloat64>) -> (%y) { return matmul(%a, %b) }",
     "independent 1 reduce 1 loads 5 stores 4"},
    {"(%a: tensor<4x5xfloat64>, %b: tensor<6x5xfloat64>) -> (%y) { return matmul(%a, transpose(%b) {axes=[1, 0]}) }",
     "independent 1 loads 25 stores 4"},
    {"(%a: tensor<5x4xfloat64>, %b: tensor<5x1xfloat64>) -> (%y) { return matmul(transpose(%a) {axes=[1, 0]}, %b) }",
     "independent 1 loads 10 stores 1"},
    {"(%a: tensor<4x5xfloat64>, %b: tensor<5xfloat64>) -> (%y) { return matmul(%a, %b) }",
     "independent 1 reduce 1 loads 2 stores 1"},
    {"(%a: tensor<5xfloat64>, %b: tensor<5x6xfloat64>) -> (%y) { return matmul(%a, %b) }",
     "independent 1 loads 10 stores 1"},
    {"(%a: tensor<5xfloat64>, %b: tensor<5xfloat64>) -> (%y) { return matmul(%a, %b) }", "reduce 1 loads 2 stores 1"},
};

/* The caller's own; NULL on failure. */
static sci_program *lower(sc_context *cx, const sc_function *f) {
  sci_frame fr;
  if (!SCI_TRY(&cx->env, &fr)) return NULL;
  sci_program *p = sci_lower(cx, f, NULL);
  sci_keep(&cx->env, p);
  sci_leave(&cx->env, &fr);
  return p;
}

static sci_program *lower_text(sc_context *cx, const char *text) {
  sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
  cr_assert_not_null(m, "%s: %s", text, m ? "" : sc_context_error(cx)->message);
  sci_program *p = lower(cx, sc_module_text_find(m, NULL));
  cr_assert_not_null(p, "%s: %s", text, p ? "" : sc_context_error(cx)->message);
  sc_module_text_free(m);
  return p;
}

static void expect(const char *text, const char *expected) {
  sc_context *cx = sc_context_create(NULL);
  sci_program *p = lower_text(cx, text);
  char got[256];
  summarize(p, got, sizeof got);
  cr_expect_str_eq(got, expected, "%s\n  expected: %s\n  got:      %s", text, expected, got);
  sci_program_free(p);
  sc_context_destroy(cx);
}

Test(lower, structure) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    snprintf(text, sizeof text, "expr.func @f%s", cases[i].text);
    expect(text, cases[i].expected);
  }
}

#define G                                                                                                              \
  "expr.func @g(%a: tensor<2xfloat64>, %b: tensor<3xfloat64>) -> (%s, %p, %q) { return add(%a[0], %a[1]), mul(%a, "    \
  "%a), mul(%b, %b) }\n"

/* One call for siblings; parameters are what is used; windows are views; slices of outputs are written in place. */
Test(lower, calls) {
  expect(G "expr.func @f(%x: tensor<2xfloat64>, %y: tensor<3xfloat64>) -> (%u, %v) { "
           "%u = call(%x, %y) {callee=\"g\", output=0} %v = call(%x, %y) {callee=\"g\", output=1} return %u, %v }",
         "procs 1 calls 1");
  expect(G "expr.func @f(%z: tensor<22xfloat64>, %y: tensor<3xfloat64>) -> (%v, %w) { "
           "%v = vmap(%z, %y) {callee=\"g\", length=10, starts=[1, 0], strides=[2, 0], output=1} "
           "%w = vmap(%z, %y) {callee=\"g\", length=10, starts=[1, 0], strides=[2, 0], output=2} return %v, %w }",
         "procs 1 independent 1 calls 1");
  expect(G
         "expr.func @f(%z: tensor<5x4xfloat64>, %y: tensor<3xfloat64>) -> (%v) { %s = reshape(%z[:, 1:3]) {shape=[10]} "
         "%v = vmap(%s, %y) {callee=\"g\", length=5, starts=[0, 0], strides=[2, 0], output=1} "
         "return concat(reshape(%v) {shape=[5, 2]}, %z) {axis=1} }",
         "procs 1 independent 3 loads 1 stores 1 copies 1 calls 1");
  expect(G "expr.func @f(%z: tensor<4x5xfloat64>, %y: tensor<3xfloat64>) -> (%v) { %s = reshape(transpose(%z) "
           "{axes=[1, 0]}) {shape=[20]} "
           "return vmap(%s, %y) {callee=\"g\", length=10, starts=[0, 0], strides=[2, 0], output=1} }",
         "procs 1 independent 3 loads 1 stores 1 copies 1 calls 1 locals 20");
  expect(G "expr.func @f(%z: tensor<2xfloat64>, %y: tensor<3xfloat64>) -> (%v) { "
           "return vmap(%z, %y) {callee=\"g\", length=1, starts=[0, 0], strides=[0, 0], output=1} }",
         "procs 1 calls 1");
  expect(G "expr.func @f(%z: tensor<2xfloat64>, %y: tensor<3xfloat64>) -> (%v) { "
           "return vmap(%z, %y) {callee=\"g\", length=0, starts=[0, 0], strides=[0, 0], output=1} }",
         "");
}

/* Names, hints and ports. */
Test(lower, procedures) {
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){2}),
          u = sc_input(cx, "unused", SC_FLOAT32, 2, (int64_t[]){0, 3});
  sc_function *g = sc_function_create(cx, "f", SC_IN({"x", x, NULL}, {"u", u, NULL}),
                                      SC_OUT({"y", sc_with_hint(sc_sin(x), SC_HINT_BLOCK), NULL}));
  sc_function *h = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", sc_cos(x), NULL}));
  sc_expr z = sc_input(cx, "z", SC_FLOAT64, 1, (int64_t[]){2}), v = sc_input(cx, "v", SC_FLOAT32, 2, (int64_t[]){0, 3});
  sc_expr a = sc_call(g, (sc_expr[]){z, v}, 2, 0), b = sc_call(h, &a, 1, 0), c = sc_call(g, (sc_expr[]){b, v}, 2, 0);
  sc_pattern pattern = {SC_CSC, 2, 1, 2, (int32_t[]){0, 2}, (int32_t[]){0, 1}};
  sc_function *f = sc_function_create(cx, "f", SC_IN({"z", z, NULL}, {"v", v, NULL}), SC_OUT({"c", c, &pattern}));
  cr_assert_not_null(f);
  sci_program *p = lower(cx, f);
  cr_assert_not_null(p);
  cr_expect_eq(p->n_procs, 3);
  cr_expect_str_eq(p->procs[0]->name, "f_1");
  cr_expect_str_eq(p->procs[1]->name, "f_2");
  cr_expect_str_eq(sci_entry(p)->name, "f");
  cr_expect_eq(p->procs[0]->hint, SC_HINT_BLOCK);
  cr_expect_eq(p->procs[0]->n_in, 1, "what a callee does not read is no parameter");
  cr_expect_eq(sci_entry(p)->n_in, 2, "the entry keeps all");
  cr_expect_str_eq(p->ports[1].name, "v");
  cr_expect(p->ports[1].rank == 2 && p->ports[1].shape[1] == 3 && p->ports[1].dtype == SC_FLOAT32);
  cr_expect(p->ports[2].pattern && p->ports[2].pattern->nnz == 2 && p->ports[2].pattern->inner[1] == 1);
  sci_program_free(p);
  sc_context_destroy(cx);
}

/* A long chain stays flat: one name per operation, no recursion, no buffers. */
Test(lower, chain) {
  enum { N = 100000 };
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), y = x;
  for (int i = 0; i < N; i++) y = i % 2 ? sc_sin(y) : sc_mul(y, x);
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  sci_program *p = lower(cx, f);
  cr_assert_not_null(p);
  cr_expect_eq(sci_entry(p)->body.n, N + 2);
  cr_expect_eq(sci_entry(p)->n_locals, 0);
  sci_program_free(p);
  sc_context_destroy(cx);
}

/* ---- every allocation may fail ---- */

static int64_t allowed = INT64_MAX; /* allocations until one fails */

static void *limited(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)user;
  (void)old_size;
  if (!new_size) {
    free(ptr);
    return NULL;
  }
  return allowed-- > 0 ? realloc(ptr, new_size) : NULL;
}

Test(lower, memory) {
  static const char text[] = G
      "expr.func @f(%z: tensor<40x22xfloat64>, %y: tensor<3xfloat64>) -> (%v, %w, %s) { %r = reshape(%z) {shape=[880]} "
      "%v = vmap(%r, %y) {callee=\"g\", length=10, starts=[1, 0], strides=[2, 0], output=1} "
      "return index_set(sin(%r), %v) {indices=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 11, 12, 13, 15, 14, 16, 17, 18, 19]}, "
      "concat(%v, exp(%y)) {axis=0}, sum(%z) {axes=[0]} }";
  bool done = false;
  for (int64_t n = 0; !done; n++) {
    sc_context *cx = sc_context_create(&(sc_allocator){limited, NULL});
    sc_module_text *m = sc_parse(cx, text, strlen(text), NULL);
    cr_assert_not_null(m, "%s", m ? "" : sc_context_error(cx)->message);
    allowed = n;
    sci_program *p = lower(cx, sc_module_text_find(m, NULL));
    allowed = INT64_MAX;
    done = p;
    cr_expect_eq(sc_context_error(cx) ? sc_context_error(cx)->status : SC_OK, p ? SC_OK : SC_ERR_MEMORY);
    cr_expect(!p || n > 5, "only %lld allocations", (long long)n);
    sci_program_free(p);
    sc_module_text_free(m);
    sc_context_destroy(cx);
  }
  NO_LEAKS();
}
