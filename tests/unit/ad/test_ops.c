/* Owns the test of every operation's partials: forward, reverse, first and second order, against hyper-dual numbers,
 * and the dense, sparse and product forms of one derivative against each other. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "tests/oracle/hyperdual.h"
#include "tests/unit/ad/ways.h"

static bool close_enough(double got, double want, double scale) {
  return fabs(got - want) <= 2e-13 * (fabs(want) + scale);
}

/* Points inside every operation's domain. */
static void points_of(sci_op op, int k, double *x, double *y) {
  static const double general[][2] = {{0.3, 0.8}, {-0.7, 1.9}, {0.45, -0.6}, {-0.2, -1.3}};
  *x = general[k][0], *y = general[k][1];
  bool positive = op == SCI_OP_log || op == SCI_OP_log2 || op == SCI_OP_log10 || op == SCI_OP_sqrt || op == SCI_OP_pow;
  if (positive) *x = fabs(*x) + 0.1;
  if (op == SCI_OP_acosh) *x = fabs(*x) + 1.5;
  if (op == SCI_OP_fmod) *x *= 10;
}

static sc_function *function_of(sc_context *cx, sci_op op) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), y = sc_input(cx, "y", SC_FLOAT64, 0, NULL);
  sci_frame fr;
  cr_assert(SCI_TRY(&cx->env, &fr));
  sci_id args[2] = {x.id, y.id}, id = sci_make_scalar_op(cx, op, args);
  sci_leave(&cx->env, &fr);
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}, {"y", y, NULL}),
                            SC_OUT({"f", {cx, id, x.generation}, NULL}));
}

static void check_op(sci_op op) {
  static const char *const requests[] = {"grad:f:x",   "grad:f:y",  "jac:f:x+y",
                                         "hess:f:x+y", "fwd:f:x+y", "sphess:f:x+y:lower"};
  sc_context *cx = sc_context_create(NULL);
  sc_function *g = way_derive(function_of(cx, op), requests, 6, NULL);
  for (int k = 0; k < 4; k++) {
    double in[4] = {0, 0, 0.7, -0.4}, out[32] = {0};
    points_of(op, k, &in[0], &in[1]);
    hyperdual xx[2] = {{in[0], 1, 1, 0}, {in[1], 0, 0, 0}}, xy[2] = {{in[0], 1, 0, 0}, {in[1], 0, 1, 0}},
              yy[2] = {{in[0], 0, 0, 0}, {in[1], 1, 1, 0}};
    hyperdual a, b, c;
    cr_assert(hd_apply(op, xx, &a) && hd_apply(op, xy, &b) && hd_apply(op, yy, &c), "%s has no slopes in the oracle",
              sci_ops[op].name);
    cr_assert(way_run(g, 0, in, out));
    double want[] = {a.d1, c.d1, a.d1, c.d1, a.d12, b.d12, b.d12, c.d12, 0.7 * a.d1 - 0.4 * c.d1};
    for (int i = 0; i < 9; i++)
      cr_expect(close_enough(out[i], want[i], fabs(a.v) * 1e-3), "%s at %g, %g: value %d is %.17g, not %.17g",
                sci_ops[op].name, in[0], in[1], i, out[i], want[i]);
    const sc_pattern *p = sc_function_output_pattern(g, 5);
    for (int64_t col = 0, e = 0; col < 2; col++)
      for (; e < p->outer[col + 1]; e++)
        cr_expect_eq(out[9 + e], out[4 + 2 * p->inner[e] + col], "%s: stored value %d differs from the dense one",
                     sci_ops[op].name, (int)e);
  }
  sc_context_destroy(cx);
}

Test(partials, every_operation) {
  for (int op = 0; op < SCI_OP_COUNT; op++) {
    bool floats = sci_op_accepts((sci_op)op, SC_FLOAT64) && sci_op_result((sci_op)op, SC_FLOAT64) == SC_FLOAT64;
    if (!floats || (sci_ops[op].traits & SCI_PROGRAM) || sci_ops[op].arity > 2 || op == SCI_OP_cast) continue;
    check_op((sci_op)op);
  }
}

/* ---- structure: dense = sparse = products, patterns against brute force ---- */

static sc_expr line(sc_context *cx, const char *name, int64_t n) {
  return sc_input(cx, name, SC_FLOAT64, 1, &n);
}

static sc_function *made(sc_context *cx, sc_expr x, sc_expr y) {
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}), SC_OUT({"y", sc_vec(y), NULL}));
}

/* A function of n elements through every structural operation. */
static sc_function *structure(sc_context *cx, int which, int64_t n) {
  sc_expr x = line(cx, "x", n), s = sc_sin(x);
  int64_t *index = calloc((size_t)n + 1, sizeof *index);
  for (int64_t i = 0; i < n; i++) index[i] = (i * 7 + 3) % n;
  sc_expr y = x;
  switch (which) {
  case 0: y = sc_mul(s, x); break;
  case 1: y = sc_mul(sc_slice(x, 1, &(sc_range){SC_NONE, SC_NONE, -1}), s); break;
  case 2: y = sc_mul(sc_gather(s, index, 1, &n), x); break;
  case 3: y = sc_scatter(sc_mul(s, s), index, 1, &n); break;
  case 4: y = sc_index_add(sc_exp(x), s, index); break;
  case 5: y = sc_index_set(sc_exp(x), s, index); break;
  case 6: y = sc_sum(sc_mul(s, x)); break;
  case 7: y = sc_matmul(sc_outer(x, x), s); break;
  case 8: y = sc_transpose(sc_stack((sc_expr[]){s, sc_mul(x, x)}, 2, 0)); break;
  case 9: y = sc_concat((sc_expr[]){s, sc_span(sc_mul(x, x), 0, n / 2)}, 2, 0); break;
  case 10: y = sc_mul(sc_broadcast(sc_sum(s), 1, &n), x); break;
  case 11: y = sc_sum_axes(sc_outer(s, x), 1, &(int){0}); break;
  case 12: { /* tridiagonal: neighbours */
    sc_expr in = sc_sub(sc_span(x, 1, n), sc_mul(sc_span(x, 0, n - 1), sc_span(x, 0, n - 1)));
    y = sc_mul(in, in);
    break;
  }
  case 13: { /* overlapping windows, and a broadcast operand */
    sc_expr w = line(cx, "w", 2), c = line(cx, "c", 1);
    sc_function *f =
        sc_function_create(cx, "pair", SC_IN({"w", w, NULL}, {"c", c, NULL}),
                           SC_OUT({"r", sc_mul(sc_mul(sc_at(w, 0), sc_sin(sc_at(w, 1))), sc_at(c, 0)), NULL}));
    y = sc_vmap_windows(f, n - 1, (sc_expr[]){x, x}, 2, (int64_t[]){0, n - 1}, (int64_t[]){1, 0}, 0);
    break;
  }
  case 14: { /* a map of computed operands */
    sc_expr w = line(cx, "w", 1);
    sc_function *f = sc_function_create(cx, "one", SC_IN({"w", w, NULL}), SC_OUT({"r", sc_mul(w, sc_exp(w)), NULL}));
    y = sc_vmap_windows(f, n, &s, 1, (int64_t[]){0}, (int64_t[]){1}, 0);
    break;
  }
  case 15: { /* a call of computed operands, next to what it is called with */
    sc_expr w = line(cx, "w", n), v = line(cx, "v", n);
    sc_function *f =
        sc_function_create(cx, "both", SC_IN({"w", w, NULL}, {"v", v, NULL}),
                           SC_OUT({"r", sc_mul(w, sc_slice(v, 1, &(sc_range){SC_NONE, SC_NONE, -1})), NULL}));
    y = sc_call(f, (sc_expr[]){s, sc_exp(x)}, 2, 0);
    break;
  }
  case 16: y = sc_max_axes(sc_stack((sc_expr[]){s, sc_mul(s, s)}, 2, 1), 1, &(int){1}); break;
  case 17: y = sc_mul(sc_min(sc_span(s, 0, n / 2 + 1)), sc_span(x, 0, 2)); break;
  case 18: y = sc_select(sc_gt(s, sc_like(s, 0.5)), sc_mul(s, s), sc_gather(sc_exp(x), index, 1, &n)); break;
  case 19: { /* reshaped to rows of two, each row's sum times its first element */
    sc_expr rows = sc_reshape(sc_span(sc_tanh(s), 0, n / 2 * 2), 2, (int64_t[]){n / 2, 2});
    y = sc_mul(sc_sum_axes(rows, 1, &(int){1}), sc_slice(rows, 2, (sc_range[]){SC_ALL, SC_AT(0)}));
    break;
  }
  case 20: /* a matrix of constants: dense, whatever its elements */
    y = sc_matmul(sc_full(cx, SC_FLOAT64, 2, (int64_t[]){n, n}, 2), sc_mul(s, x));
    break;
  case 21: { /* one element of a map twice, as often as the map has iterations */
    sc_expr w = line(cx, "w", 1);
    sc_function *f = sc_function_create(cx, "one", SC_IN({"w", w, NULL}), SC_OUT({"r", sc_mul(w, sc_exp(w)), NULL}));
    sc_expr e = sc_at(sc_vmap_windows(f, 2, &x, 1, (int64_t[]){0}, (int64_t[]){n > 1}, 0), 0);
    y = sc_add(e, e);
    break;
  }
  default: break;
  }
  free(index);
  return made(cx, x, y);
}
enum { N_STRUCTURES = 22 };

/* Jacobian columns by forward products with unit seeds. */
static void brute_force_of(sc_function *f, const char *request, int64_t n, int64_t m, const double *x, double *jac) {
  sc_function *fwd = way_derive(f, &request, 1, NULL);
  double *in = calloc((size_t)(2 * n), sizeof *in), *column = calloc((size_t)m + 1, sizeof *column);
  memcpy(in, x, (size_t)n * sizeof *in);
  for (int64_t j = 0; j < n; j++) {
    in[n + j] = 1;
    cr_assert(way_run(fwd, 0, in, column));
    in[n + j] = 0;
    for (int64_t i = 0; i < m; i++) jac[i * n + j] = column[i];
  }
  free(in), free(column);
}

static void brute_force(sc_function *f, int64_t n, int64_t m, const double *x, double *jac) {
  brute_force_of(f, "fwd:y:x", n, m, x, jac);
}

static void check_structure(int which, int64_t n) {
  static const char *const requests[] = {"spjac:y:x", "jac:y:x", "adj:y:x"};
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = structure(cx, which, n);
  cr_assert(f, "structure %d: %s", which, sc_context_error(cx) ? sc_context_error(cx)->message : "");
  int64_t m = sc_expr_size(sc_function_output(f, 0));
  sc_function *g = way_derive(f, requests, 3, NULL);
  const sc_pattern *p = sc_function_output_pattern(g, 0);
  double *in = calloc((size_t)(n + m) + 1, sizeof *in), *out = calloc((size_t)(p->nnz + m * n + n) + 1, sizeof *out),
         *jac = calloc((size_t)(m * n) + 1, sizeof *jac);
  for (int64_t i = 0; i < n + m; i++) in[i] = 0.3 + fmod((double)i * 0.6180339887498949, 1.0);
  cr_assert(way_run(g, 0, in, out));
  brute_force(f, n, m, in, jac);
  const double *dense = out + p->nnz, *adj = dense + m * n;
  int64_t nonzeros = 0, stored = 0;
  for (int64_t k = 0; k < m * n; k++) {
    nonzeros += jac[k] != 0;
    cr_expect(close_enough(dense[k], jac[k], 1), "structure %d, n %d: dense entry %d is %.17g, not %.17g", which,
              (int)n, (int)k, dense[k], jac[k]);
  }
  for (int64_t j = 0; j < n; j++)
    for (int64_t e = p->outer[j]; e < p->outer[j + 1]; e++) {
      cr_expect_eq(out[e], dense[p->inner[e] * n + j], "structure %d, n %d: stored value %d", which, (int)n, (int)e);
      stored += jac[p->inner[e] * n + j] != 0;
    }
  cr_expect_eq(stored, nonzeros, "structure %d, n %d: %d of %d nonzeros stored", which, (int)n, (int)stored,
               (int)nonzeros);
  cr_expect(p->nnz <= nonzeros + n, "structure %d, n %d: %d stored, %d nonzero", which, (int)n, (int)p->nnz,
            (int)nonzeros);
  for (int64_t j = 0; j < n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < m; i++) sum += in[n + i] * jac[i * n + j];
    cr_expect(close_enough(adj[j], sum, 10), "structure %d, n %d: adjoint %d is %.17g, not %.17g", which, (int)n,
              (int)j, adj[j], sum);
  }
  free(in), free(out), free(jac);
  sc_context_destroy(cx);
}

Test(structures, patterns_and_forms_agree) {
  static const int64_t sizes[] = {2, 63, 64, 65, 129};
  for (int which = 0; which < N_STRUCTURES; which++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) check_structure(which, sizes[k]);
  for (int which = 0; which < N_STRUCTURES; which++)
    if (which != 12 && which != 13 && which != 17) check_structure(which, 1); /* those need neighbours */
}

/* H03: dense Hessians across the word size, symmetric bit for bit; S04: a band. */
static void check_hessian(int64_t n, bool band) {
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = line(cx, "x", n), f;
  if (band) {
    f = sc_sumsqr(x);
    for (int64_t d = 1; d <= 2; d++)
      f = sc_add(f, sc_mul(sc_scalar(cx, 2), sc_dot(sc_span(x, d, n), sc_span(x, 0, n - d))));
  } else {
    sc_expr s = sc_sum(x);
    f = sc_mul(s, s);
  }
  sc_function *t = sc_function_create(cx, "t", SC_IN({"x", x, NULL}), SC_OUT({"f", f, NULL}));
  double *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)(n * n) + 1, sizeof *out);
  for (int64_t i = 0; i < n; i++) in[i] = (double)(i % 7) - 3;
  int64_t all = band ? 5 * n - 6 : n * n;
  for (int lower = 0; lower < 2; lower++) {
    sc_function *g = way_derive(t, (const char *const[]){lower ? "sphess:f:x:lower" : "sphess:f:x"}, 1, NULL);
    const sc_pattern *p = sc_function_output_pattern(g, 0);
    int64_t want = lower ? (all + n) / 2 : all;
    cr_expect_eq(p->nnz, want, "n %d: %d nonzeros, not %d", (int)n, (int)p->nnz, (int)want);
    cr_assert(way_run(g, 0, in, out));
    for (int64_t e = 0; e < p->nnz; e++) cr_expect_eq(out[e], 2, "n %d: value %d is %g", (int)n, (int)e, out[e]);
  }
  free(in), free(out);
  sc_context_destroy(cx);
}

Test(structures, hessians) {
  for (int64_t n = 1; n <= 130; n = n < 8 ? n + 1 : n == 8 ? 63 : n < 66 ? n + 1 : n + 64) check_hessian(n, false);
  static const int64_t bands[] = {64, 65, 4128, 4129, 4203};
  for (size_t k = 0; k < sizeof bands / sizeof *bands; k++) check_hessian(bands[k], true);
}

/* Neighbours, second neighbours and every third element: stored values that repeat evenly, but for the ends. */
static sc_function *banded(sc_context *cx, int64_t n) {
  sc_expr x = line(cx, "x", n), low = sc_span(x, 0, n - 1), in = sc_sub(sc_span(x, 1, n), sc_mul(low, low));
  sc_expr f = sc_add(sc_mul(sc_scalar(cx, 100), sc_sumsqr(in)), sc_sum(sc_mul(low, sc_exp(low))));
  if (n > 2) f = sc_add(f, sc_sum(sc_sin(sc_mul(sc_span(x, 0, n - 2), sc_span(x, 2, n)))));
  sc_expr third = sc_slice(x, 1, &(sc_range){SC_NONE, SC_NONE, 3});
  f = sc_add(f, sc_add(sc_sumsqr(sc_mul(third, third)), sc_sum(sc_cos(x))));
  return sc_function_create(cx, "t", SC_IN({"x", x, NULL}), SC_OUT({"f", f, NULL}));
}

static void check_banded(int64_t n) {
  static const char *const kinds[] = {"sphess:f:x", "sphess:f:x:lower", "sphess:f:x:upper"};
  sc_context *cx = sc_context_create(NULL);
  sc_function *t = banded(cx, n), *gradient = way_derive(t, (const char *const[]){"grad:f:x"}, 1, NULL);
  double *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)(5 * n), sizeof *out),
         *hess = calloc((size_t)(n * n), sizeof *hess);
  for (int64_t i = 0; i < n; i++) in[i] = fmod((double)i * 0.6180339887498949, 2.0) - 1;
  brute_force_of(t, "fwd:f:x", n, 1, in, hess);
  for (int way = 0; way < N_WAYS; way++) {
    if (!way_run(gradient, way, in, out)) continue;
    for (int64_t k = 0; k < n; k++)
      cr_expect(close_enough(out[k], hess[k], 100), "gradient, n %d, %s: element %d is %.17g, not %.17g", (int)n,
                way_names[way], (int)k, out[k], hess[k]);
  }
  brute_force_of(gradient, "fwd:grad_f_x:x", n, n, in, hess);
  for (int kind = 0; kind < 3; kind++) {
    sc_function *g = way_derive(t, &kinds[kind], 1, NULL);
    const sc_pattern *p = sc_function_output_pattern(g, 0);
    cr_expect_eq(p->nnz, (kind ? 3 : 5) * n - (kind ? 3 : 6), "%s, n %d: %d nonzeros", kinds[kind], (int)n,
                 (int)p->nnz);
    for (int way = 0; way < N_WAYS; way++) {
      if (!way_run(g, way, in, out)) continue;
      for (int64_t j = 0; j < n; j++)
        for (int64_t e = p->outer[j]; e < p->outer[j + 1]; e++)
          cr_expect(close_enough(out[e], hess[p->inner[e] * n + j], 100), "%s, n %d, %s: (%d, %d) is %.17g, not %.17g",
                    kinds[kind], (int)n, way_names[way], (int)p->inner[e], (int)j, out[e], hess[p->inner[e] * n + j]);
    }
  }
  free(in), free(out), free(hess);
  sc_context_destroy(cx);
}

Test(structures, bands) {
  static const int64_t sizes[] = {2, 3, 14, 24, 33, 64, 65, 101};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) check_banded(sizes[k]);
}
