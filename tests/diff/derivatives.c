/* Checks derivatives of random functions, by some of their inputs, and derivatives of those derivatives: derivatives
 * [--seed S] [--count N] [--compile K]. Forward, reverse and hyper-dual directional derivatives of first and second
 * order must agree; sparse and dense forms, in every layout, and the triangles of a Hessian, but for the order of sums.
 * Every K-th function also goes through the in-process compiler, which must give the bits of the evaluator, and nearly
 * those where it may round differently. A failure is shrunk and printed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "tests/diff/diff.h"
#include "tests/oracle/hyperdual.h"

enum { MOST_DENSE = 4000, MOST_PORTS = 12, MOST_NODES = 4000 };

/* A source function, its point and directions, and what hyper-dual numbers say. */
typedef struct subject {
  sc_function *f;
  rng r;
  size_t n_in, n_out;
  int64_t in_size[MOST_PORTS], out_size[MOST_PORTS], columns;
  bool by[MOST_PORTS];                                   /* inputs that derivatives are taken by */
  void *data[MOST_PORTS];                                /* per input: in its type */
  double *x[MOST_PORTS], *v[MOST_PORTS], *w[MOST_PORTS]; /* per input */
  double *lam[MOST_PORTS];                               /* per output */
  hyperdual *dual[MOST_PORTS];                           /* per output */
  bool active[MOST_PORTS];                               /* outputs of type float64 */
  char wrt[256];
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

/* Sums of an entry's parts may be in another order: which parts meet first depends on which entries are wanted. */
static bool same_entry(double got, double want, double largest) {
  return got == want || fabs(got - want) <= 1e-14 * (fabs(want) + largest);
}

static double largest_of(const double *v, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(v[i]));
  return largest;
}

/* ---- running derived functions ---- */

/* `name` without what makes it unlike other names. */
static bool is_seed_of(const char *name, const char *prefix, const char *port) {
  size_t n = strlen(prefix), size = strlen(port);
  if (strncmp(name, prefix, n) || strncmp(name + n, port, size)) return false;
  return strspn(name + n + size, "_") == strlen(name + n + size);
}

static const void *input_named(const subject *s, const char *name) {
  const void *found = NULL;
  size_t longest = 0;
  for (size_t k = 0; k < s->n_in; k++)
    if (!strcmp(name, sc_function_input_name(s->f, k))) return s->data[k];
  for (size_t k = 0; k < s->n_in; k++) {
    const char *port = sc_function_input_name(s->f, k);
    if (is_seed_of(name, "fwd_", port) && strlen(port) > longest) found = s->v[k], longest = strlen(port);
  }
  for (size_t k = 0; k < s->n_out; k++) {
    const char *port = sc_function_output_name(s->f, k);
    if (is_seed_of(name, "lam_", port) && strlen(port) > longest) found = s->lam[k], longest = strlen(port);
  }
  return found;
}

static bool same_by(diff_way way, subject *s, sc_function *g, const void **in, double *const *expected,
                    sc_rounding rounding) {
  sc_target target;
  sc_target_preset("native", &target);
  target.lanes = 1 << rng_below(&s->r, 3);
  sc_lower_options o = {.target = &target, .rounding = rounding, .verify_each = true};
  o.vector_libm = SC_VECTOR_LIBM_NONE;
  sc_program *p = sc_lower(g, &o);
  sc_kernel *k = p ? diff_compile(way, p, NULL) : NULL;
  bool ok = k != NULL, loose = rounding != SC_ROUNDING_STRICT;
  if (!ok)
    snprintf(s->why, s->why_size, "%s: does not compile as %s", sc_function_output_name(g, 0), diff_way_name(way));
  size_t n = sc_function_output_count(g);
  void **out = calloc(n, sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = calloc((size_t)sc_expr_size(sc_function_output(g, i)) + 1, 8);
  ok = ok && sc_kernel_wait(k) == SC_OK && sc_kernel_call(k, in, out, NULL) == SC_KERNEL_SUCCESS;
  for (size_t i = 0; i < n && ok; i++) {
    int64_t size = sc_expr_size(sc_function_output(g, i));
    double *got = out[i], scale = 0;
    for (int64_t e = 0; e < size; e++)
      if (isfinite(expected[i][e])) scale = fmax(scale, fabs(expected[i][e]));
    for (int64_t e = 0; e < size; e++) {
      bool same_zero = !sc_function_strict_nan(g) && expected[i][e] == 0 && got[e] == 0; /* either will do */
      if (same_zero || (loose && fabs(got[e] - expected[i][e]) <= 1e-8 * (1 + scale))) got[e] = expected[i][e];
      if (loose && !isfinite(expected[i][e])) got[e] = expected[i][e];
    }
    int64_t at = ora_first_difference(SC_FLOAT64, size, got, expected[i]);
    if (at >= 0) ok = fail(s, diff_way_name(way), at, got[at], expected[i][at]);
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
  const void *in[4 * MOST_PORTS];
  double **out = calloc(n, sizeof *out);
  for (size_t k = 0; k < sc_function_input_count(g); k++) in[k] = input_named(s, sc_function_input_name(g, k));
  for (size_t i = 0; i < n; i++) out[i] = calloc((size_t)sc_expr_size(sc_function_output(g, i)) + 1, sizeof(double));
  ora_eval_function(g, in, (void **)out);
  bool same = true;
  for (int k = 0; s->compile && same && k < 4; k++)
    same = same_by(k % 2 ? DIFF_FAST : DIFF_JIT, s, g, in, out, k < 2 ? SC_ROUNDING_STRICT : SC_ROUNDING_DEFAULT);
  if (same) return out;
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
  for (size_t k = 0; k < s->n_in; k++) {
    if (!s->by[k]) continue;
    sum += dot(a, direction[k], s->in_size[k]);
    a += s->in_size[k];
  }
  return sum;
}

/* Row and column of every stored value. */
typedef struct places {
  int64_t *row, *col;
} places;

static places places_of(const sc_pattern *p) {
  places at = {calloc((size_t)p->nnz + 1, sizeof *at.row), calloc((size_t)p->nnz + 1, sizeof *at.col)};
  int64_t major = 0;
  for (int64_t e = 0; e < p->nnz; e++) {
    while (p->layout != SC_COO && e >= p->outer[major + 1]) major++;
    at.row[e] = p->layout == SC_COO ? p->outer[e] : p->layout == SC_CSR ? major : p->inner[e];
    at.col[e] = p->layout == SC_CSC ? major : p->inner[e];
  }
  return at;
}

static void free_places(places at) {
  free(at.row), free(at.col);
}

/* Jacobian times v by the stored values, and (dense given) every stored value against it. */
static bool check_sparse(subject *s, const sc_pattern *p, const double *stored, const double *dense, double *product) {
  double *v = calloc((size_t)p->ncol + 1, sizeof *v);
  int64_t at = 0, nonzeros = 0;
  for (size_t k = 0; k < s->n_in; k++) {
    if (!s->by[k]) continue;
    memcpy(v + at, s->v[k], (size_t)s->in_size[k] * sizeof *v);
    at += s->in_size[k];
  }
  bool ok = true;
  places where = places_of(p);
  double largest = dense ? largest_of(dense, p->nrow * p->ncol) : 0;
  for (int64_t e = 0; e < p->nnz; e++) {
    int64_t i = where.row[e], j = where.col[e];
    product[i] += stored[e] * v[j];
    nonzeros += dense && dense[i * p->ncol + j] != 0;
    if (dense && !same_entry(stored[e], dense[i * p->ncol + j], largest))
      ok = fail(s, "sparse and dense Jacobian", e, stored[e], dense[i * p->ncol + j]);
  }
  for (int64_t k = 0; dense && ok && k < p->nrow * p->ncol; k++) nonzeros -= dense[k] != 0;
  if (dense && nonzeros) ok = fail(s, "nonzeros outside of the pattern", 0, (double)-nonzeros, 0);
  free_places(where);
  free(v);
  return ok;
}

static sc_layout some_layout(subject *s) {
  return (sc_layout)rng_below(&s->r, 3);
}

static bool check_first(subject *s, size_t o) {
  const char *of = sc_function_output_name(s->f, o);
  sc_request requests[] = {SC_FWD(of, s->wrt), SC_ADJ(of, s->wrt), SC_SPJAC(of, s->wrt), SC_JAC(of, s->wrt)};
  bool dense = s->out_size[o] * s->columns <= MOST_DENSE;
  size_t n = dense ? 4 : 3;
  requests[2].layout = some_layout(s);
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
    for (int64_t i = 0; s->by[k] && i < s->in_size[k]; i++, row++)
      sum += s->v[k][i] * dot_inputs(s, h + row * s->columns, s->w);
  return sum;
}

static bool check_stored(subject *s, const sc_pattern *p, sc_triangle part, const double *stored, const double *dense) {
  int64_t n = s->columns, nonzeros = 0;
  double largest = largest_of(dense, n * n);
  places where = places_of(p);
  bool ok = true;
  for (int64_t e = 0; e < p->nnz && ok; e++) {
    double want = dense[where.row[e] * n + where.col[e]];
    nonzeros += want != 0;
    if (!same_entry(stored[e], want, largest)) ok = fail(s, "sparse and dense Hessian", e, stored[e], want);
  }
  free_places(where);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (part == SC_TRIANGLE_FULL || (part == SC_TRIANGLE_LOWER ? j <= i : j >= i)) nonzeros -= dense[i * n + j] != 0;
  return ok && (!nonzeros || fail(s, "nonzeros outside of the Hessian's pattern", 0, (double)-nonzeros, 0));
}

static bool check_second(subject *s) {
  if (s->columns * s->columns > MOST_DENSE) return true;
  sc_request requests[] = {SC_LAGHESS(s->wrt), SC_SPLAGHESS(s->wrt, (sc_triangle)rng_below(&s->r, 3))};
  requests[1].layout = some_layout(s);
  sc_function *g;
  double **out = run(s, requests, 2, &g), want = 0, scale = 0;
  if (!out) return false;
  bool ok = true;
  int64_t n = s->columns;
  for (int64_t i = 0; i < n && ok; i++)
    for (int64_t j = 0; j < i && ok; j++)
      if (memcmp(&out[0][i * n + j], &out[0][j * n + i], sizeof(double)))
        ok = fail(s, "symmetry", i * n + j, out[0][i * n + j], out[0][j * n + i]);
  ok = ok && check_stored(s, sc_function_output_pattern(g, 1), requests[1].triangle, out[1], out[0]);
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
  for (size_t k = 0; k < s->n_in; k++) free(s->x[k]), free(s->v[k]), free(s->w[k]), free(s->data[k]);
  for (size_t k = 0; k < s->n_out; k++) free(s->lam[k]), free(s->dual[k]);
}

/* An input's numbers, in its type too, and the directions. Each depends on the input's place only, not on which others
 * there are: shrinking cuts some. */
static void begin_input(subject *s, size_t k) {
  sc_expr x = sc_function_input(s->f, k);
  sc_dtype dtype = sc_expr_dtype(x);
  int64_t n = s->in_size[k] = sc_expr_size(x);
  s->x[k] = numbers(&s->r, n), s->v[k] = numbers(&s->r, n), s->w[k] = numbers(&s->r, n);
  s->data[k] = calloc((size_t)n + 1, sizeof(double));
  bool derives = dtype == SC_FLOAT64 && sc_expr_diff(x), chosen = !rng_chance(&s->r, 15);
  s->by[k] = derives && chosen;
  for (int64_t i = 0; i < n; i++) {
    if (dtype == SC_BOOL)
      s->x[k][i] = s->x[k][i] > 0;
    else if (dtype != SC_FLOAT64)
      s->x[k][i] = trunc(4 * s->x[k][i]);
    ora_store(dtype, s->data[k], i, sci_scalar_number(dtype, s->x[k][i]));
    if (!s->by[k]) s->v[k][i] = s->w[k][i] = 0;
  }
}

/* Ports and numbers; false: the function is no subject for comparison at this point. */
static bool begin(subject *s) {
  hyperdual *in[MOST_PORTS] = {NULL};
  if (sc_function_input_count(s->f) > MOST_PORTS || sc_function_output_count(s->f) > MOST_PORTS ||
      !sc_function_input_count(s->f))
    return false;
  s->n_in = sc_function_input_count(s->f), s->n_out = sc_function_output_count(s->f);
  for (size_t k = 0; k < s->n_in; k++) {
    begin_input(s, k);
    in[k] = calloc((size_t)s->in_size[k] + 1, sizeof *in[k]);
    for (int64_t i = 0; i < s->in_size[k]; i++) in[k][i] = (hyperdual){s->x[k][i], s->v[k][i], s->w[k][i], 0};
    if (!s->by[k]) continue;
    s->columns += s->in_size[k];
    snprintf(s->wrt + strlen(s->wrt), sizeof s->wrt - strlen(s->wrt), "%s%s", *s->wrt ? "+" : "",
             sc_function_input_name(s->f, k));
  }
  bool good = *s->wrt, any = false;
  for (size_t o = 0; o < s->n_out; o++) {
    sc_expr y = sc_function_output(s->f, o);
    s->out_size[o] = sc_expr_size(y);
    s->active[o] = sc_expr_dtype(y) == SC_FLOAT64;
    any |= s->active[o];
    s->lam[o] = numbers(&s->r, s->out_size[o]);
    s->dual[o] = calloc((size_t)s->out_size[o] + 1, sizeof **s->dual);
    good &=
        sc_expr_dtype(y) != SC_FLOAT32 && ora_eval_dual(s->f, (const hyperdual *const *)in, (uint32_t)o, s->dual[o]);
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

/* A derivative of f, to be differentiated in turn; f itself when it has none or too large ones. */
static sc_function *derivative(sc_function *f, rng *r) {
  char wrt[128] = "";
  int64_t columns = 0;
  for (size_t k = 0; k < sc_function_input_count(f); k++) {
    sc_expr x = sc_function_input(f, k);
    if (sc_expr_dtype(x) != SC_FLOAT64 || !sc_expr_diff(x) || rng_chance(r, 30)) continue;
    snprintf(wrt + strlen(wrt), sizeof wrt - strlen(wrt), "%s%s", *wrt ? "+" : "", sc_function_input_name(f, k));
    columns += sc_expr_size(x);
  }
  sc_request requests[2];
  size_t n = 0;
  bool directions = false; /* a second seed of one name would be hard to tell from the first one's own */
  for (size_t k = 0; k < sc_function_input_count(f); k++)
    directions |= !strncmp(sc_function_input_name(f, k), "fwd_", 4);
  for (size_t o = 0; *wrt && o < sc_function_output_count(f) && n < 2; o++) {
    sc_expr y = sc_function_output(f, o);
    const char *of = sc_function_output_name(f, o);
    if (sc_expr_dtype(y) != SC_FLOAT64 || rng_chance(r, 30)) continue;
    int64_t which = rng_below(r, 5), size = which == 3 ? columns : sc_expr_size(y);
    if ((which >= 2 && columns * size > 400) || (!which && directions)) which = 1;
    requests[n++] = which == 0   ? SC_FWD(of, wrt)
                    : which == 1 ? SC_ADJ(of, wrt)
                    : which == 2 ? SC_SPJAC(of, wrt)
                    : which == 3 ? SC_SPLAGHESS(wrt, (sc_triangle)rng_below(r, 3))
                                 : SC_JAC(of, wrt);
    if (which == 3) break;
  }
  sc_function *g = n ? sc_function_derive(f, "g", requests, n, NULL) : NULL;
  return g && g->cx->n_nodes < MOST_NODES ? g : f;
}

/* ---- problems over a horizon ---- */

/* Two or three smooth values of a window. */
static sc_function *some_stage(sc_context *cx, rng *r, const char *name, int64_t width) {
  sc_expr w = sc_input(cx, "w", SC_FLOAT64, 1, &width), out[3];
  int64_t n = 2 + rng_below(r, 2);
  for (int64_t k = 0; k < n; k++) {
    sc_expr a = sc_at(w, rng_below(r, width)), b = sc_at(w, rng_below(r, width));
    switch (rng_below(r, 4)) {
    case 0: out[k] = sc_mul(sc_sin(a), b); break;
    case 1: out[k] = sc_exp(sc_mul(a, sc_mul(b, sc_like(b, 0.5)))); break;
    case 2: out[k] = sc_add(sc_mul(a, a), sc_mul(b, sc_like(b, 3))); break;
    default: out[k] = sc_div(a, sc_add(sc_mul(b, b), sc_like(b, 2)));
    }
  }
  return sc_function_create(cx, name, SC_IN({"w", w, NULL}), SC_OUT({"r", sc_stack(out, (size_t)n, 0), NULL}));
}

/* Values of maps over windows of z, and what may be added to them: other maps, elementwise terms, constants, some of
 * them not evenly. */
static sc_function *horizon(sc_context *cx, rng *r) {
  int64_t width = 2 + rng_below(r, 3), stride = 1 + rng_below(r, 3), length = 2 + rng_below(r, 5);
  int64_t n = width + stride * length + rng_below(r, 3);
  sc_expr z = sc_input(cx, "z", SC_FLOAT64, 1, &n), sum = sc_sum(sc_mul(z, sc_like(z, 0)));
  sc_expr rows = sc_slice(z, 1, &(sc_range){0, 1, 1});
  for (int64_t k = 0, terms = 2 + rng_below(r, 3); k < terms; k++) {
    char name[16];
    snprintf(name, sizeof name, "stage%d", (int)k);
    double c = (double)rng_below(r, 7) - 3;
    int64_t most = length + rng_below(r, 2);
    sc_expr part;
    switch (rng_below(r, 5)) {
    case 0: part = sc_mul(z, sc_mul(z, sc_like(z, c))); break;
    case 1: part = sc_mul(sc_sin(z), sc_like(z, c)); break;
    case 2: part = sc_exp(sc_slice(z, 1, &(sc_range){rng_below(r, 2), SC_NONE, 1 + rng_below(r, 3)})); break;
    default:
      part = sc_vmap_windows(some_stage(cx, r, name, width), most, &z, 1, (int64_t[]){0}, &stride, 0);
      part = sc_reshape(part, 1, (int64_t[]){sc_expr_size(part)});
    }
    if (rng_chance(r, 60)) rows = sc_concat((sc_expr[]){rows, part}, 2, 0);
    sum = sc_add(sum, sc_sum(rng_chance(r, 50) ? part : sc_mul(part, sc_like(part, 1.5))));
  }
  return sc_function_create(cx, "f", SC_IN({"z", z, NULL}), SC_OUT({"v", sum, NULL}, {"rows", rows, NULL}));
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
    rng choices = {a.seed};
    sc_function *f = rng_chance(&choices, 25) ? horizon(cx, &choices) : diff_random_smooth(cx, a.seed, "f");
    for (int more = 0; f && more < 2 && rng_chance(&choices, 20); more++) f = derivative(f, &choices);
    if (f && rng_chance(&choices, 40)) sc_function_set_hint(f, SC_HINT_SCALAR); /* element by element */
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
