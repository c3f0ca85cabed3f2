/* Checks derivatives of random functions: derivatives [--seed S] [--count N] [--compile K]. Forward, reverse and
 * hyper-dual directional derivatives of first and second order must agree; sparse and dense forms, and the two
 * triangles of a Hessian, bit for bit. Every K-th function also goes through the in-process compiler, which must give
 * the bits of the evaluator. A failure is shrunk and printed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/diff/diff.h"
#include "tests/oracle/hyperdual.h"

enum { MOST_DENSE = 4000, MOST_PORTS = 4 };

/* A source function, its point and directions, and what hyper-dual numbers say. */
typedef struct subject {
  sc_function *f;
  rng r;
  size_t n_in, n_out;
  int64_t in_size[MOST_PORTS], out_size[MOST_PORTS], columns;
  double *x[MOST_PORTS], *v[MOST_PORTS], *w[MOST_PORTS]; /* per input */
  double *lam[MOST_PORTS];                               /* per output */
  hyperdual *dual[MOST_PORTS];                           /* per output */
  bool active[MOST_PORTS];                               /* outputs of type float64 */
  char wrt[64];
  bool compile;
  char *why;
  size_t why_size;
} subject;

static double *numbers(rng *r, int64_t n) {
  double *p = calloc((size_t)n + 1, sizeof *p);
  for (int64_t i = 0; i < n; i++) p[i] = (2 * rng_real(r) - 1) * (rng_chance(r, 50) ? 1 : 1.7);
  return p;
}

static bool fail(subject *s, const char *what, int64_t at, double got, double want) {
  snprintf(s->why, s->why_size, "%s: value %" PRId64 " is %.17g, not %.17g", what, at, got, want);
  return false;
}

static bool close_enough(double got, double want, double scale) {
  return fabs(got - want) <= 1e-9 * (1 + fabs(want) + scale);
}

/* ---- running derived functions ---- */

static const void *input_named(const subject *s, const char *name) {
  for (size_t k = 0; k < s->n_in; k++)
    if (!strcmp(name, sc_function_input_name(s->f, k))) return s->x[k];
  for (size_t k = 0; k < s->n_in; k++)
    if (!strncmp(name, "fwd_", 4) && !strcmp(name + 4, sc_function_input_name(s->f, k))) return s->v[k];
  for (size_t k = 0; k < s->n_out; k++)
    if (!strncmp(name, "lam_", 4) && !strcmp(name + 4, sc_function_output_name(s->f, k))) return s->lam[k];
  return NULL;
}

static bool same_by(diff_way way, subject *s, sc_function *g, const void **in, double *const *expected) {
  sc_program *p = diff_lower(g, SC_ROUNDING_STRICT, NULL);
  sc_kernel *k = p ? diff_compile(way, p, NULL) : NULL;
  bool ok = k != NULL;
  if (!ok)
    snprintf(s->why, s->why_size, "%s: does not compile as %s", sc_function_output_name(g, 0), diff_way_name(way));
  size_t n = sc_function_output_count(g);
  void **out = calloc(n, sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = calloc((size_t)sc_expr_size(sc_function_output(g, i)) + 1, 8);
  ok = ok && sc_kernel_wait(k) == SC_OK && sc_kernel_call(k, in, out, NULL) == SC_KERNEL_SUCCESS;
  for (size_t i = 0; i < n && ok; i++) {
    for (int64_t e = 0; !sc_function_strict_nan(g) && e < sc_expr_size(sc_function_output(g, i)); e++)
      if (expected[i][e] == 0 && ((double *)out[i])[e] == 0)
        ((double *)out[i])[e] = expected[i][e]; /* either zero will do */
    int64_t at = ora_first_difference(SC_FLOAT64, sc_expr_size(sc_function_output(g, i)), out[i], expected[i]);
    if (at >= 0) ok = fail(s, diff_way_name(way), at, ((double *)out[i])[at], expected[i][at]);
  }
  for (size_t i = 0; i < n; i++) free(out[i]);
  free(out);
  sc_kernel_release(k);
  sc_program_destroy(p);
  return ok;
}

/* The outputs of the derived function, NULL when it could not be made or the compiler disagrees. */
static double **run(subject *s, const sc_request *requests, size_t n, sc_function **derived) {
  sc_context *cx = sc_function_context(s->f);
  sc_function *g = *derived = sc_function_derive(s->f, "d", requests, n, NULL);
  if (!g || sc_verify(g) != SC_OK) {
    snprintf(s->why, s->why_size, "deriving: %s", sc_context_error(cx) ? sc_context_error(cx)->message : "?");
    sc_context_clear_error(cx);
    return NULL;
  }
  const void *in[16];
  double **out = calloc(n, sizeof *out);
  for (size_t k = 0; k < sc_function_input_count(g); k++) in[k] = input_named(s, sc_function_input_name(g, k));
  for (size_t i = 0; i < n; i++) out[i] = calloc((size_t)sc_expr_size(sc_function_output(g, i)) + 1, sizeof(double));
  ora_eval_function(g, in, (void **)out);
  if (!s->compile || (same_by(DIFF_JIT, s, g, in, out) && same_by(DIFF_FAST, s, g, in, out))) return out;
  for (size_t i = 0; i < n; i++) free(out[i]);
  free(out);
  return NULL;
}

static void give_back(double **out, size_t n) {
  for (size_t i = 0; out && i < n; i++) free(out[i]);
  free(out);
}

/* ---- one output, first order ---- */

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static double dot_inputs(const subject *s, const double *a, double *const *direction) {
  double sum = 0;
  for (size_t k = 0; k < s->n_in; a += s->in_size[k++]) sum += dot(a, direction[k], s->in_size[k]);
  return sum;
}

/* Jacobian times v by the stored values, and (dense given) every stored value against it. */
static bool check_sparse(subject *s, const sc_pattern *p, const double *stored, const double *dense, double *product) {
  double *v = calloc((size_t)p->ncol + 1, sizeof *v);
  int64_t at = 0, nonzeros = 0;
  for (size_t k = 0; k < s->n_in; at += s->in_size[k++]) memcpy(v + at, s->v[k], (size_t)s->in_size[k] * sizeof *v);
  bool ok = true;
  for (int64_t j = 0; j < p->ncol; j++)
    for (int32_t e = p->outer[j]; e < p->outer[j + 1]; e++) {
      product[p->inner[e]] += stored[e] * v[j];
      nonzeros += stored[e] != 0;
      if (dense && stored[e] != dense[p->inner[e] * p->ncol + j])
        ok = fail(s, "sparse and dense Jacobian", e, stored[e], dense[p->inner[e] * p->ncol + j]);
    }
  for (int64_t k = 0; dense && ok && k < p->nrow * p->ncol; k++) nonzeros -= dense[k] != 0;
  if (dense && nonzeros) ok = fail(s, "nonzeros outside of the pattern", 0, (double)-nonzeros, 0);
  free(v);
  return ok;
}

static bool check_first(subject *s, size_t o) {
  const char *of = sc_function_output_name(s->f, o);
  sc_request requests[] = {SC_FWD(of, s->wrt), SC_ADJ(of, s->wrt), SC_SPJAC(of, s->wrt), SC_JAC(of, s->wrt)};
  bool dense = s->out_size[o] * s->columns <= MOST_DENSE;
  size_t n = dense ? 4 : 3;
  sc_function *g;
  double **out = run(s, requests, n, &g);
  if (!out) return false;
  double scale = 0, *product = calloc((size_t)s->out_size[o] + 1, sizeof *product);
  bool ok = check_sparse(s, sc_function_output_pattern(g, 2), out[2], dense ? out[3] : NULL, product);
  for (int64_t i = 0; i < s->out_size[o]; i++) scale = fmax(scale, fabs(s->dual[o][i].d1));
  for (int64_t i = 0; ok && i < s->out_size[o]; i++) {
    if (!close_enough(out[0][i], s->dual[o][i].d1, scale))
      ok = fail(s, "forward product", i, out[0][i], s->dual[o][i].d1);
    if (!close_enough(product[i], s->dual[o][i].d1, scale))
      ok = fail(s, "sparse Jacobian times v", i, product[i], s->dual[o][i].d1);
  }
  double left = dot_inputs(s, out[1], s->v), right = dot(s->lam[o], out[0], s->out_size[o]);
  if (ok && !close_enough(left, right, scale * (double)s->out_size[o]))
    ok = fail(s, "reverse against forward", 0, left, right);
  free(product);
  give_back(out, n);
  return ok;
}

/* ---- second order ---- */

static double bilinear(const subject *s, const double *h) {
  double sum = 0;
  int64_t row = 0;
  for (size_t k = 0; k < s->n_in; k++)
    for (int64_t i = 0; i < s->in_size[k]; i++, row++) sum += s->v[k][i] * dot_inputs(s, h + row * s->columns, s->w);
  return sum;
}

static bool check_second(subject *s) {
  if (s->columns * s->columns > MOST_DENSE) return true;
  sc_request requests[] = {SC_LAGHESS(s->wrt),
                           SC_SPLAGHESS(s->wrt, rng_chance(&s->r, 50) ? SC_TRIANGLE_LOWER : SC_TRIANGLE_FULL)};
  sc_function *g;
  double **out = run(s, requests, 2, &g), want = 0, scale = 0;
  if (!out) return false;
  bool ok = true;
  int64_t n = s->columns;
  for (int64_t i = 0; i < n && ok; i++)
    for (int64_t j = 0; j < i && ok; j++)
      if (memcmp(&out[0][i * n + j], &out[0][j * n + i], sizeof(double)))
        ok = fail(s, "symmetry", i * n + j, out[0][i * n + j], out[0][j * n + i]);
  const sc_pattern *p = sc_function_output_pattern(g, 1);
  for (int64_t j = 0; j < n; j++)
    for (int32_t e = p->outer[j]; e < p->outer[j + 1] && ok; e++)
      if (out[1][e] != out[0][p->inner[e] * n + j])
        ok = fail(s, "sparse and dense Hessian", e, out[1][e], out[0][p->inner[e] * n + j]);
  for (size_t o = 0; o < s->n_out; o++)
    for (int64_t i = 0; s->active[o] && i < s->out_size[o]; i++) {
      want += s->lam[o][i] * s->dual[o][i].d12;
      scale += fabs(s->dual[o][i].d12);
    }
  double got = bilinear(s, out[0]);
  if (ok && !close_enough(got, want, scale)) ok = fail(s, "Hessian along v and w", 0, got, want);
  give_back(out, 2);
  return ok;
}

/* ---- one function ---- */

typedef enum verdict { SKIPPED, AGREES, FAILED } verdict;

static void end(subject *s) {
  for (size_t k = 0; k < s->n_in; k++) free(s->x[k]), free(s->v[k]), free(s->w[k]);
  for (size_t k = 0; k < s->n_out; k++) free(s->lam[k]), free(s->dual[k]);
}

/* Ports and numbers; false: the function is no subject for comparison at this point. */
static bool begin(subject *s) {
  hyperdual *in[MOST_PORTS] = {NULL};
  if (sc_function_input_count(s->f) > MOST_PORTS || sc_function_output_count(s->f) > MOST_PORTS ||
      !sc_function_input_count(s->f))
    return false;
  for (size_t k = 0; k < sc_function_input_count(s->f);
       k++) /* shrinking cuts: what it cuts off need not carry derivatives */
    if (!sc_expr_diff(sc_function_input(s->f, k))) return false;
  s->n_in = sc_function_input_count(s->f), s->n_out = sc_function_output_count(s->f);
  for (size_t k = 0; k < s->n_in; k++) {
    int64_t n = s->in_size[k] = sc_expr_size(sc_function_input(s->f, k));
    s->x[k] = numbers(&s->r, n), s->v[k] = numbers(&s->r, n), s->w[k] = numbers(&s->r, n);
    in[k] = calloc((size_t)n + 1, sizeof *in[k]);
    for (int64_t i = 0; i < n; i++) in[k][i] = (hyperdual){s->x[k][i], s->v[k][i], s->w[k][i], 0};
    s->columns += n;
    snprintf(s->wrt + strlen(s->wrt), sizeof s->wrt - strlen(s->wrt), "%s%s", k ? "+" : "",
             sc_function_input_name(s->f, k));
  }
  bool good = true, any = false;
  for (size_t o = 0; o < s->n_out; o++) {
    sc_expr y = sc_function_output(s->f, o);
    s->out_size[o] = sc_expr_size(y);
    s->active[o] = sc_expr_dtype(y) == SC_FLOAT64;
    any |= s->active[o];
    s->lam[o] = numbers(&s->r, s->out_size[o]);
    s->dual[o] = calloc((size_t)s->out_size[o] + 1, sizeof **s->dual);
    good &= ora_eval_dual(s->f, (const hyperdual *const *)in, (uint32_t)o, s->dual[o]);
  }
  for (size_t k = 0; k < s->n_in; k++) free(in[k]);
  return good && any;
}

static verdict check(sc_function *f, uint64_t seed, bool compile, char *why, size_t why_size) {
  subject s = {.f = f,
               .r = {seed * 104729 + 5},
               .compile = compile && diff_way_exists(DIFF_JIT),
               .why = why,
               .why_size = why_size};
  verdict result = SKIPPED;
  if (begin(&s)) {
    bool ok = true;
    for (size_t o = 0; o < s.n_out && ok; o++) ok = !s.active[o] || check_first(&s, o);
    result = ok && check_second(&s) ? AGREES : FAILED;
  }
  end(&s);
  return result;
}

typedef struct attempt {
  uint64_t seed;
  bool compile;
} attempt;

static bool fails(const sc_function *f, void *user) {
  const attempt *a = user;
  char why[256];
  return check((sc_function *)(uintptr_t)f, a->seed, a->compile, why, sizeof why) == FAILED;
}

int main(int argc, char **argv) {
  uint64_t first = 1;
  int64_t count = 400, compile = 8;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--seed")) first = strtoull(argv[i + 1], NULL, 10);
    if (!strcmp(argv[i], "--count")) count = strtoll(argv[i + 1], NULL, 10);
    if (!strcmp(argv[i], "--compile")) compile = strtoll(argv[i + 1], NULL, 10);
  }
  int64_t verdicts[3] = {0};
  for (int64_t i = 0; i < count; i++) {
    sc_context *cx = sc_context_create(NULL);
    attempt a = {first + (uint64_t)i, compile && i % compile == 0};
    char why[512] = "a builder failed";
    sc_function *f = diff_random_smooth(cx, a.seed, "f");
    verdict v = f ? check(f, a.seed, a.compile, why, sizeof why) : FAILED;
    verdicts[v]++;
    if (v == FAILED) {
      printf("seed %" PRIu64 ": %s\n", a.seed, why);
      char *text = f ? sc_print_function(diff_shrink(f, fails, &a)) : NULL;
      printf("%s\n", text ? text : "");
      fflush(stdout);
      if (text) sc_string_free(cx, text);
    }
    sc_context_destroy(cx);
  }
  printf("%" PRId64 " functions from seed %" PRIu64 ": %" PRId64 " agree, %" PRId64 " skipped, %" PRId64 " failures\n",
         count, first, verdicts[AGREES], verdicts[SKIPPED], verdicts[FAILED]);
  return verdicts[FAILED] || verdicts[AGREES] < count / 4;
}
