/* Owns the tests of walking, rolling back, collecting and verifying graphs. */
#define _GNU_SOURCE /* pthread attributes */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>

#include "lib/expr/expr.h"
#include "tests/support/fault_alloc.h"

static fault_alloc allocated;
static sc_context *cx;

static void begin(void) {
  allocated = (fault_alloc){0};
  cx = sc_context_create(&(sc_allocator){.reallocate = fault_reallocate, .user = &allocated});
}

static void end(void) {
  sc_context_destroy(cx);
  cr_expect_eq(allocated.bytes, 0, "%zu bytes leak", allocated.bytes);
}

TestSuite(graph, .init = begin, .fini = end);

static sc_expr scalar_input(sc_context *c, const char *name) {
  return sc_input(c, name, SC_FLOAT64, 0, NULL);
}

Test(graph, reaching) {
  sc_expr x = scalar_input(cx, "x"), chain = x;
  for (int i = 0; i < 20000; i++) sc_sin(sc_add(x, sc_scalar(cx, i))); /* far from what is reached */
  for (int i = 0; i < 10; i++) chain = sc_sin(chain);
  sc_expr other = scalar_input(cx, "other");
  sci_frame fr;
  if (!SCI_TRY(&cx->env, &fr)) cr_assert_fail("%s", sc_context_error(cx)->message);
  sci_order o = sci_reach(cx, &chain.id, 1);
  cr_assert_eq(o.n, 11);
  cr_assert_eq(o.ids[0], x.id);
  cr_expect(o.number_of == NULL, "too sparse for a table");
  for (uint32_t i = 0; i < o.n; i++) cr_expect_eq(sci_number(&o, o.ids[i]), i);
  cr_expect_eq(sci_number(&o, x.id + 1), SCI_NONE);
  cr_expect_eq(sci_number(&o, other.id), SCI_NONE);
  sci_id all[2] = {chain.id, other.id};
  o = sci_reach(cx, all, 2);
  cr_assert_eq(o.n, 12);
  for (uint32_t i = 1; i < o.n; i++) cr_expect_lt(o.ids[i - 1], o.ids[i]);
  o = sci_reach(cx, NULL, 0);
  cr_expect_eq(o.n, 0);
  cr_expect_eq(sci_number(&o, 0), SCI_NONE);
  sci_leave(&cx->env, &fr);

  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", chain, NULL}));
  sc_expr fx = sc_call(f, &other, 1, 0);
  sc_function *g = sc_function_create(cx, "g", SC_IN({"z", other, NULL}), SC_OUT({"y", fx, NULL}));
  sc_expr both = sc_add(sc_call(g, &x, 1, 0), sc_call(f, &x, 1, 0));
  sc_function *h = sc_function_create(cx, "h", SC_IN({"x", x, NULL}), SC_OUT({"y", both, NULL}));
  cr_assert(h && sc_verify(h) == SC_OK);
  if (!SCI_TRY(&cx->env, &fr)) cr_assert_fail("%s", sc_context_error(cx)->message);
  sc_function **called;
  cr_assert_eq(sci_callees(cx, h, false, &called), 3);
  cr_expect(called[0] == f && called[1] == g && called[2] == h);
  o = sci_reach_function(cx, h);
  cr_expect_eq(o.number_of != NULL, (uint64_t)(o.ids[o.n - 1] - o.base) < 8 * (uint64_t)o.n + SCI_NODE_CHUNK);
  sci_leave(&cx->env, &fr);
}

/* A failed call leaves the context as it was: what is built afterwards is what it would have been. */
Test(graph, rolling_back) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, (int64_t[]){4});
  sci_context_mark start = sci_context_here(cx);
  for (volatile int round = 0; round < 3; round++) {
    for (volatile int cut = 0; cut < 12; cut++) {
      sci_frame fr;
      if (!SCI_TRY(&cx->env, &fr)) {
        sci_context_rollback(cx, start);
        cr_assert_eq(cx->n_nodes, start.n_nodes);
        cr_assert_eq(cx->node_index.n, cx->n_indexed);
        cr_assert_eq(cx->blob_index.n, cx->n_blobs);
        cr_assert_eq(cx->type_index.n, cx->n_types);
        continue;
      }
      sci_id e = x.id;
      for (int i = 0; i < 300; i++) {
        if (i == cut * 25) sci_fail(&cx->env, SC_ERR_SHAPE, "cut");
        e = i % 3 == 0   ? sci_make1(cx, SCI_OP_sin, e)
            : i % 3 == 1 ? sci_make2(cx, SCI_OP_add, e, sci_make_double(cx, SC_FLOAT64, i))
                         : sci_make_reshape(cx, e, 2, (int64_t[]){2, 2});
      }
      sci_leave(&cx->env, &fr);
    }
  }
  sc_expr y = sc_sin(x);
  cr_assert_eq(y.id, start.n_nodes);
  cr_assert(sc_same(y, sc_sin(x)));
}

/* ---- collection ---- */

static sc_expr build_some(sc_expr x, int n) {
  sc_expr e = x;
  for (int i = 0; i < n; i++) {
    sc_expr parts[5] = {e, x, sc_cos(e), e, x};
    e = sc_add(sc_sum_axes(sc_stack(parts, 5, 0), 1, (int[]){0}),
               sc_const(cx, SC_FLOAT64, 1, (int64_t[]){2}, (double[]){i, i + 1}));
  }
  return e;
}

Test(graph, collecting) {
  int64_t two = 2;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &two), u = sc_input(cx, "u", SC_FLOAT64, 1, &two);
  build_some(u, 50);
  sc_function *f = sc_function_create(cx, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", build_some(x, 20), NULL}));
  sc_expr call = sc_call(f, &u, 1, 0);
  sc_function *g = sc_function_create(cx, "g", SC_IN({"u", u, NULL}), SC_OUT({"y", call, NULL}));
  sc_expr kept = sc_mul(call, build_some(u, 10)), lost = sc_tan(u), keep[3] = {kept, {0}, u};
  sc_function *w = sc_function_create(cx, "w", SC_IN({"u", u, NULL}), SC_OUT({"y", kept, NULL}));
  sc_function_release(w);
  size_t nodes = sc_context_node_count(cx);
  cr_assert_eq(sc_context_collect(cx, keep, 3), SC_OK);
  cr_expect_lt(sc_context_node_count(cx), nodes);
  cr_expect(sc_is_null(keep[1]));
  cr_expect_str_eq(sc_expr_name(keep[2]), "u");
  cr_expect_str_eq(sc_expr_op(keep[0]), "mul");
  cr_assert_eq(sc_verify(f), SC_OK);
  cr_assert_eq(sc_verify(g), SC_OK);
  cr_expect(sc_expr_op(kept) == NULL, "a handle that was not rewritten is stale");
  cr_expect(sc_is_null(sc_sin(lost)));
  cr_expect_eq(sc_context_error(cx)->status, SC_ERR_STALE);
  sc_context_clear_error(cx);
  /* What survived is interned: building it again gives the same nodes. */
  sc_expr again = sc_mul(sc_call(f, &keep[2], 1, 0), build_some(keep[2], 10));
  cr_expect(sc_same(again, keep[0]));
  /* f lives as long as g calls it. */
  sc_function_release(f);
  cr_assert_eq(sc_context_collect(cx, NULL, 0), SC_OK);
  cr_assert_eq(sc_verify(g), SC_OK);
  sc_function_release(g);
  size_t idle = sc_context_memory(cx);
  cr_assert_eq(sc_context_collect(cx, NULL, 0), SC_OK);
  cr_expect_eq(sc_context_node_count(cx), 0);
  cr_expect_leq(sc_context_memory(cx), idle);
  sc_expr fresh = sc_sin(scalar_input(cx, "x"));
  cr_expect(!sc_is_null(fresh));
}

/* ---- verifying: one planted violation per rule ---- */

typedef struct planted {
  unsigned op, hint;
  uint32_t n_args;
  bool type_of_vector; /* else of the scalar */
  uint32_t attr;
  int args[3]; /* 0: the scalar input, 1: the vector input, 2: an undeclared input, 3: the node itself */
  const char *message;
} planted;

Test(graph, verifying) {
  static const planted cases[] = {
      {SCI_X_END, 0, 1, false, 0, {0}, "rule operation: operation number"},
      {SCI_OP_fma, 0, 3, false, 0, {0, 0, 0}, "rule operation: fma belongs to programs"},
      {SCI_OP_sin, 0, 2, false, 0, {0, 0}, "(sin): rule arity: 2 operands, it takes 1"},
      {SCI_X_matmul, 0, 1, true, 0, {1}, "rule arity: 1 operands, it takes 2"},
      {SCI_OP_sin, 0, 1, false, 0, {3}, "rule order: operand 0 does not precede the node"},
      {SCI_OP_sin, 7, 1, false, 0, {0}, "rule attribute: hint number 7"},
      {SCI_OP_sin, 0, 1, false, 3, {0}, "rule attribute: it has an attribute, the operation takes none"},
      {SCI_X_slice, 0, 1, true, 99999, {1}, "rule attribute: attribute number 99999"},
      {SCI_X_slice, 0, 1, true, 0, {1}, "rule type: slice: the attribute does not have"},
      {SCI_X_call, 0, 1, false, 0, {0}, "rule callee: the attribute is too short"},
      {SCI_OP_sin,
       0,
       1,
       true,
       0,
       {0},
       "rule type: it is tensor<3xfloat64 diff>, its operands give float64 of shape scalar"},
      {SCI_OP_add, 0, 2, true, 0, {0, 1}, "rule type: add: operands have shapes scalar and 3"},
      {SCI_X_sum, 0, 1, false, 2, {1}, "rule type: sum: an axis is out of range"},
      {SCI_OP_and, 0, 2, false, 0, {0, 0}, "rule type: and: float64 operands are not supported"},
      {SCI_OP_sin, 0, 1, false, 0, {2}, "%2 (input): rule declared: input u is not an input"},
  };
  for (volatile size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sc_context *c = sc_context_create(NULL);
    const planted *p = &cases[k];
    sc_expr s = scalar_input(c, "s"), v = sc_input(c, "v", SC_FLOAT64, 1, (int64_t[]){3}), u = scalar_input(c, "u");
    sc_expr good = sc_add(v, s);
    sc_function *f = sc_function_create(c, "f", SC_IN({"s", s, NULL}, {"v", v, NULL}), SC_OUT({"y", good, NULL}));
    cr_assert_eq(sc_verify(f), SC_OK);
    sci_frame fr;
    if (!SCI_TRY(&c->env, &fr)) cr_assert_fail("%s", sc_context_error(c)->message);
    sci_id all[] = {s.id, v.id, u.id, c->n_nodes}, args[3];
    for (int i = 0; i < 3; i++) args[i] = all[p->args[i]];
    uint32_t type = sci_node_at(c, p->type_of_vector ? v.id : s.id)->type;
    if (p->op == SCI_X_END) { /* no hash of it can be asked for */
      f->out[0].node = sci_intern_node(c, SCI_X_sum, SC_HINT_AUTO, type, 0, 1, args);
      ((sci_node *)(uintptr_t)sci_node_at(c, f->out[0].node))->op = SCI_X_END;
    } else
      f->out[0].node = sci_intern_node(c, p->op, (sc_hint)p->hint, type, p->attr, p->n_args, args);
    sci_leave(&c->env, &fr);
    cr_expect_eq(sc_verify(f), SC_ERR_VERIFY, "case %zu", k);
    const sc_diagnostic *d = sc_context_error(c);
    cr_expect(d && strstr(d->message, p->message), "case %zu: %s", k, d ? d->message : "nothing");
    cr_expect_eq(sc_context_diagnostic_count(c), 1);
    sc_context_destroy(c);
  }
}

/* ---- size ---- */

static void *long_chain(void *unused) {
  (void)unused;
  sc_context *c = sc_context_create(NULL);
  sc_expr x = scalar_input(c, "x"), e = x;
  for (int i = 0; i < 500000; i++) e = sc_sin(sc_add(e, x));
  sc_function *f = sc_function_create(c, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", e, NULL}));
  bool good =
      f && sc_verify(f) == SC_OK && sc_context_collect(c, &e, 1) == SC_OK && sc_context_node_count(c) == 1000001;
  if (good) {
    sc_function_release(f);
    good = sc_context_collect(c, NULL, 0) == SC_OK && sc_context_node_count(c) == 0;
  }
  sc_context_destroy(c);
  return good ? c : NULL;
}

Test(graph, a_million_operations_in_a_small_stack) {
  pthread_attr_t attr;
  pthread_t thread;
  void *good = NULL;
  pthread_attr_init(&attr);
  cr_assert_eq(pthread_attr_setstacksize(&attr, 256 << 10), 0);
  cr_assert_eq(pthread_create(&thread, &attr, long_chain, NULL), 0);
  pthread_join(thread, &good);
  pthread_attr_destroy(&attr);
  cr_assert(good != NULL);
}

/* ---- allocation failures ---- */

/* Builds, calls, verifies and collects; false as soon as anything fails. */
static bool typical(sc_context *c) {
  sc_expr x = sc_input(c, "x", SC_FLOAT64, 1, (int64_t[]){6}), e = x;
  for (int i = 0; i < 100; i++) {
    sc_expr parts[4] = {sc_at(e, 0), sc_at(e, i % 6), sc_scalar(c, i), sc_norm_2(e)};
    e = sc_add(sc_concat((sc_expr[]){sc_stack(parts, 4, 0), sc_span(e, 2, 4)}, 2, 0), sc_sigmoid(e));
    if (sc_is_null(e)) return false;
  }
  int64_t idx[3] = {1, 1, 5};
  e = sc_index_add(e, sc_gather(e, idx, 1, (int64_t[]){3}), idx);
  sc_pattern pattern = {.layout = SC_COO,
                        .nrow = 6,
                        .ncol = 6,
                        .nnz = 6,
                        .outer = (int32_t[]){0, 1, 2, 3, 4, 5},
                        .inner = (int32_t[]){0, 1, 2, 3, 4, 5}};
  sc_function *f = sc_function_create(c, "f", SC_IN({"x", x, NULL}), SC_OUT({"y", e, &pattern}));
  if (!f) return false;
  sc_expr z = sc_input(c, "z", SC_FLOAT64, 1, (int64_t[]){30}),
          m = sc_vmap_windows(f, 4, &z, 1, (int64_t[]){0}, (int64_t[]){8}, 0);
  sc_function *g = sc_function_create(c, "g", SC_IN({"z", z, NULL}), SC_OUT({"m", m, NULL}));
  if (!g || sc_verify(g) != SC_OK) return false;
  sc_function_release(f);
  sc_expr big = sc_linspace(c, SC_FLOAT64, 0, 1, 9000), keep[2] = {sc_sin(big), z};
  if (sc_is_null(keep[0]) || sc_context_collect(c, keep, 2) != SC_OK || sc_verify(g) != SC_OK) return false;
  return !sc_is_null(sc_exp(keep[1]));
}

Test(graph, every_allocation_may_fail) {
  fault_alloc fa = {0};
  sc_allocator alloc = fault_allocator(&fa);
  sc_context *c = sc_context_create(&alloc);
  cr_assert(typical(c), "%s", sc_context_error(c)->message);
  cr_assert_eq(fa.bytes, sc_context_memory(c), "the context knows what it holds");
  sc_context_destroy(c);
  cr_assert(fa.bytes == 0 && fa.blocks == 0);
  long total = fa.allocations;
  cr_assert_gt(total, 50);
  for (int mode = 0; mode < 2; mode++) /* one allocation fails; all from one on fail */
    for (long at = 1; at <= total; at++) {
      fa = (fault_alloc){.fail_at = mode ? 0 : at, .fail_after = mode ? at : 0};
      c = sc_context_create(&alloc);
      if (c) {
        bool done = typical(c);
        const sc_diagnostic *d = sc_context_error(c);
        cr_assert_eq(done, d == NULL, "allocation %ld: a failure has a reason", at);
        cr_assert(!d || d->status == SC_ERR_MEMORY, "allocation %ld: %s", at, d ? d->message : "");
        if (!mode) { /* memory is back: the same work succeeds in the same context */
          sc_context_clear_error(c);
          cr_assert(typical(c), "after allocation %ld: %s", at, sc_context_error(c)->message);
        }
        sc_context_destroy(c);
      }
      cr_assert_gt(fa.failures, 0);
      cr_assert(fa.bytes == 0 && fa.blocks == 0, "allocation %ld: %zu bytes in %ld blocks leak", at, fa.bytes,
                fa.blocks);
    }
}
