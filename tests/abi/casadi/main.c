/* CasADi modules under a loader.
 *
 *   abi_casadi write CASES FOLDER PREFIX            exports every function of the file with its derivatives
 *   abi_casadi load CASES FOLDER PREFIX BITS        opens FOLDER/NAME.so for each and compares with the reference
 * evaluator abi_casadi refuse                               what has no form there is refused, with a reason */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "tests/abi/casadi/loader_common.h"
#include "tests/oracle/oracle.h"

void check(bool holds, const char *fmt, ...) {
  if (holds) return;
  va_list ap;
  va_start(ap, fmt);
  fprintf(stderr, "abi_casadi: ");
  vfprintf(stderr, fmt, ap);
  fprintf(stderr, "\n");
  va_end(ap);
  exit(1);
}

void *room(size_t bytes) {
  void *p = calloc(bytes ? bytes : 1, 1);
  check(p != NULL, "out of memory");
  return p;
}

void find_symbol(void *library, const char *name, const char *ending, void *target) {
  char symbol[300];
  snprintf(symbol, sizeof symbol, "%s%s", name, ending);
  void *p = dlsym(library, symbol);
  check(p != NULL, "there is no symbol %s", symbol);
  memcpy(target, &p, sizeof p);
}

/* ---- what is expected ---- */

struct expectation {
  const sc_function *f;
  size_t n_in, n_out;
  long long (*shape)[2]; /* per port */
  double **value;        /* per port, by columns */
  double **jacobian;     /* [output * n_in + input]: elements of the output by elements of the input, row after row */
};

static long long elements(const expectation *x, size_t port) {
  return x->shape[port][0] * x->shape[port][1];
}

/* The place by columns of element k by rows. */
static long long by_columns(const expectation *x, size_t port, long long k) {
  long long ncol = x->shape[port][1];
  return k % ncol * x->shape[port][0] + k / ncol;
}

/* The same of value k that is stored: itself when the port is dense. */
static long long place(const expectation *x, size_t port, long long k) {
  const sc_pattern *p = port < x->n_in ? NULL : sc_function_output_pattern(x->f, port - x->n_in);
  if (!p) return by_columns(x, port, k);
  long long column = 0;
  while (p->outer[column + 1] <= k) column++;
  return column * p->nrow + p->inner[k];
}

static sc_expr port_expr(const sc_function *f, size_t port) {
  size_t n_in = sc_function_input_count(f);
  return port < n_in ? sc_function_input(f, port) : sc_function_output(f, port - n_in);
}

static void fill_shapes(expectation *x) {
  for (size_t i = 0; i < x->n_in + x->n_out; i++) {
    sc_expr e = port_expr(x->f, i);
    const sc_pattern *p = i < x->n_in ? NULL : sc_function_output_pattern(x->f, i - x->n_in);
    int rank = sc_expr_rank(e);
    x->shape[i][0] = p ? p->nrow : rank > 0 ? sc_expr_shape(e)[0] : 1;
    x->shape[i][1] = p ? p->ncol : rank > 1 ? sc_expr_shape(e)[1] : 1;
    x->value[i] = room((size_t)elements(x, i) * sizeof(double));
  }
}

/* Evaluates a function of f's inputs; its output's elements, row-major or stored. */
static double *evaluate(const expectation *x, const sc_function *g, size_t output) {
  void **in = room(x->n_in * sizeof *in), **out = room(sc_function_output_count(g) * sizeof *out);
  for (size_t i = 0; i < x->n_in; i++) {
    double *rows = in[i] = room((size_t)elements(x, i) * sizeof(double));
    for (long long k = 0; k < elements(x, i); k++) rows[k] = x->value[i][by_columns(x, i, k)];
  }
  for (size_t o = 0; o < sc_function_output_count(g); o++)
    out[o] = room((size_t)sc_expr_size(sc_function_output(g, o)) * sizeof(double));
  ora_eval_function(g, (const void *const *)in, out);
  double *result = out[output];
  for (size_t i = 0; i < x->n_in; i++) free(in[i]);
  for (size_t o = 0; o < sc_function_output_count(g); o++)
    if (o != output) free(out[o]);
  free(in);
  free(out);
  return result;
}

static double *expected_jacobian(const expectation *x, size_t output, size_t input) {
  size_t port = x->n_in + output;
  long long rows = elements(x, port), cols = elements(x, input),
            stored = sc_expr_size(sc_function_output(x->f, output));
  double *j = room((size_t)(rows * cols) * sizeof *j);
  if (!sc_expr_diff(sc_function_input(x->f, input)) || !rows || !cols) return j;
  sc_function *g = sc_jacobian((sc_function *)(uintptr_t)x->f, sc_function_output_name(x->f, output),
                               sc_function_input_name(x->f, input), NULL);
  check(g != NULL, "%s: no Jacobian", sc_function_name(x->f));
  double *dense = evaluate(x, g, 0);
  for (long long r = 0; r < stored; r++)
    for (long long c = 0; c < cols; c++) j[place(x, port, r) * cols + by_columns(x, input, c)] = dense[r * cols + c];
  free(dense);
  return j;
}

static expectation expect(const sc_function *f) {
  expectation x = {.f = f, .n_in = sc_function_input_count(f), .n_out = sc_function_output_count(f)};
  x.shape = room((x.n_in + x.n_out) * sizeof *x.shape);
  x.value = room((x.n_in + x.n_out) * sizeof *x.value);
  x.jacobian = room(x.n_in * x.n_out * sizeof *x.jacobian);
  fill_shapes(&x);
  for (size_t i = 0; i < x.n_in; i++)
    for (long long k = 0; k < elements(&x, i); k++)
      x.value[i][k] = (double)((k * 37 + (long long)i * 11 + 5) % 23 - 11) / 8;
  for (size_t o = 0; o < x.n_out; o++) {
    double *stored = evaluate(&x, f, o);
    for (long long k = 0; k < sc_expr_size(sc_function_output(f, o)); k++)
      x.value[x.n_in + o][place(&x, x.n_in + o, k)] = stored[k];
    free(stored);
    for (size_t i = 0; i < x.n_in; i++) x.jacobian[o * x.n_in + i] = expected_jacobian(&x, o, i);
  }
  return x;
}

static void free_expectation(expectation *x) {
  for (size_t i = 0; i < x->n_in + x->n_out; i++) free(x->value[i]);
  for (size_t i = 0; i < x->n_in * x->n_out; i++) free(x->jacobian[i]);
  free(x->shape);
  free(x->value);
  free(x->jacobian);
}

/* ---- ports ---- */

enum { SOURCE, JACOBIAN, FORWARD, REVERSE };

static double seed(size_t port, long long k) {
  return (double)((k * 13 + (long long)port * 7) % 9 - 4) / 4;
}

/* The port of the source function that input i of a function stands for, and whether it is a seed. */
static size_t meaning(const expectation *x, int kind, size_t i, const char **before) {
  *before = i < x->n_in ? "" : i < x->n_in + x->n_out ? "out_" : kind == FORWARD ? "fwd_" : "adj_";
  if (i < x->n_in + x->n_out) return i;
  i -= x->n_in + x->n_out;
  return kind == FORWARD ? i : x->n_in + i;
}

static const char *source_name(const expectation *x, size_t port) {
  return port < x->n_in ? sc_function_input_name(x->f, port) : sc_function_output_name(x->f, port - x->n_in);
}

static void check_shape(const described *d, size_t i, long long nrow, long long ncol) {
  const sparsity *s = &d->ports[i].s;
  check(s->nrow == nrow && s->ncol == ncol, "%s: %s is %lld by %lld, not %lld by %lld", d->name, d->ports[i].name,
        s->nrow, s->ncol, nrow, ncol);
}

static void check_name(const described *d, size_t i, const char *before, const char *name) {
  const char *got = d->ports[i].name;
  size_t n = strlen(before);
  check(!strncmp(got, before, n) && !strcmp(got + n, name), "%s: port %zu is called %s, not %s%s", d->name, i, got,
        before, name);
}

void check_ports(const described *d, int kind, const expectation *x) {
  static const char *const results[] = {"", "", "fwd_", "adj_"};
  size_t n_in = x->n_in + (kind ? x->n_out : 0) + (kind == FORWARD ? x->n_in : kind == REVERSE ? x->n_out : 0);
  size_t n_out = kind == JACOBIAN ? x->n_in * x->n_out : kind == REVERSE ? x->n_in : x->n_out;
  check(d->n_in == n_in && d->n_out == n_out, "%s: %zu inputs and %zu outputs, not %zu and %zu", d->name, d->n_in,
        d->n_out, n_in, n_out);
  for (size_t i = 0; i < n_in; i++) {
    const char *before;
    size_t port = meaning(x, kind, i, &before);
    check_name(d, i, before, source_name(x, port));
    check_shape(d, i, x->shape[port][0], x->shape[port][1]);
  }
  for (size_t i = 0; i < n_out; i++) {
    if (kind == JACOBIAN) {
      char name[256];
      snprintf(name, sizeof name, "%s_%s", source_name(x, x->n_in + i / x->n_in), source_name(x, i % x->n_in));
      check_name(d, n_in + i, "jac_", name);
      check_shape(d, n_in + i, elements(x, x->n_in + i / x->n_in), elements(x, i % x->n_in));
    } else {
      size_t port = kind == REVERSE ? i : x->n_in + i;
      check_name(d, n_in + i, results[kind], source_name(x, port));
      check_shape(d, n_in + i, x->shape[port][0], x->shape[port][1]);
    }
  }
}

/* ---- values ---- */

static long long at_column_major(const sparsity *s, long long k) {
  return s->col[k] * s->nrow + s->row[k];
}

vectors make_vectors(const described *d, int kind, const expectation *x) {
  vectors v = {room(d->n_in * sizeof *v.in), room(d->n_out * sizeof *v.out)};
  for (size_t i = 0; i < d->n_in; i++) {
    const char *before;
    size_t port = meaning(x, kind, i, &before);
    const sparsity *s = &d->ports[i].s;
    v.in[i] = room((size_t)s->nnz * sizeof(double));
    for (long long k = 0; k < s->nnz; k++) {
      long long at = at_column_major(s, k);
      v.in[i][k] = *before == 'f' || *before == 'a' ? seed(port, at) : x->value[port][at];
    }
  }
  for (size_t i = 0; i < d->n_out; i++) {
    v.out[i] = room((size_t)d->ports[d->n_in + i].s.nnz * sizeof(double));
    for (long long k = 0; k < d->ports[d->n_in + i].s.nnz; k++) v.out[i][k] = NAN;
  }
  return v;
}

/* The seeds of a port where its pattern stores them, zero elsewhere. */
static double seed_stored(const expectation *x, size_t port, long long at) {
  const sc_pattern *p = port < x->n_in ? NULL : sc_function_output_pattern(x->f, port - x->n_in);
  bool stored = !p;
  for (long long k = 0; p && k < p->nnz; k++) stored |= place(x, port, k) == at;
  return stored ? seed(port, at) : 0;
}

static double expected_element(const expectation *x, int kind, size_t output, long long at) {
  double sum = 0;
  switch (kind) {
  case SOURCE: return x->value[x->n_in + output][at];
  case JACOBIAN: {
    long long rows = elements(x, x->n_in + output / x->n_in), cols = elements(x, output % x->n_in);
    return x->jacobian[output][at % rows * cols + at / rows];
  }
  case FORWARD:
    for (size_t i = 0; i < x->n_in; i++)
      for (long long c = 0; c < elements(x, i); c++)
        sum += x->jacobian[output * x->n_in + i][at * elements(x, i) + c] * seed(i, c);
    return sum;
  default:
    for (size_t o = 0; o < x->n_out; o++)
      for (long long r = 0; r < elements(x, x->n_in + o); r++)
        sum += x->jacobian[o * x->n_in + output][r * elements(x, output) + at] * seed_stored(x, x->n_in + o, r);
    return sum;
  }
}

void check_results(const described *d, int kind, const expectation *x, const vectors *v) {
  for (size_t o = 0; o < d->n_out; o++) {
    const sparsity *s = &d->ports[d->n_in + o].s;
    double *dense = room((size_t)(s->nrow * s->ncol) * sizeof *dense);
    for (long long k = 0; k < s->nnz; k++) dense[at_column_major(s, k)] = v->out[o][k];
    for (long long at = 0; at < s->nrow * s->ncol; at++) {
      double want = expected_element(x, kind, o, at);
      check(fabs(dense[at] - want) <= 1e-12 * (1 + fabs(want)), "%s: %s[%lld] is %.17g, not %.17g", d->name,
            d->ports[d->n_in + o].name, at, dense[at], want);
    }
    free(dense);
  }
}

void check_same(const described *d, const vectors *a, const vectors *b, size_t but) {
  for (size_t o = 0; o < d->n_out; o++) {
    size_t bytes = (size_t)d->ports[d->n_in + o].s.nnz * sizeof(double);
    check(o == but || memcmp(a->out[o], b->out[o], bytes) == 0, "%s: %s changes with what is null", d->name,
          d->ports[d->n_in + o].name);
  }
}

void free_vectors(const described *d, vectors *v) {
  for (size_t i = 0; i < d->n_in; i++) free(v->in[i]);
  for (size_t i = 0; i < d->n_out; i++) free(v->out[i]);
  free(v->in);
  free(v->out);
}

void free_described(described *d) {
  for (size_t i = 0; i < d->n_in + d->n_out; i++) {
    free(d->ports[i].s.row);
    free(d->ports[i].s.col);
  }
  free(d->ports);
}

/* ---- both widths ---- */

#define INT int
#define LOADER(name) name##_32
#include "tests/abi/casadi/loader.h"
#define INT long long int
#define LOADER(name) name##_64
#include "tests/abi/casadi/loader.h"

/* ---- commands ---- */

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  check(f != NULL, "%s cannot be read", path);
  char *text = room(1 << 20);
  check(fread(text, 1, (1 << 20) - 1, f) > 0, "%s is empty", path);
  fclose(f);
  return text;
}

static void write_one(sc_context *cx, const sc_function *f, const char *folder, const char *prefix) {
  size_t nodes = sc_context_node_count(cx);
  sc_c_options options = {.prefix = *prefix ? prefix : NULL, .casadi = SC_CASADI_DERIVATIVES};
  for (int cpp = 0; cpp < 2; cpp++) {
    options.lang = cpp ? SC_LANG_CPP : SC_LANG_C;
    sc_module *m = sc_render_c(f, &options);
    check(m != NULL, "%s: %s", sc_function_name(f), m ? "" : sc_context_error(cx)->message);
    check(sc_module_write(m, folder) == SC_OK, "%s", sc_module_error(m));
    sc_module_destroy(m);
  }
  options.lang = SC_LANG_C; /* the source that is left includes the C header */
  sc_module *m = sc_render_c(f, &options);
  check(m && sc_module_write(m, folder) == SC_OK, "%s cannot be written again", sc_function_name(f));
  sc_module_destroy(m);
  check(sc_context_node_count(cx) == nodes, "%s: an export leaves nodes behind", sc_function_name(f));
  printf("%s\n", sc_function_name(f));
}

static void load_one(const sc_function *f, const char *folder, const char *prefix, int bits) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", folder, sc_function_name(f));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  check(library != NULL, "%s", library ? "" : dlerror());
  expectation x = expect(f);
  if (bits == 32)
    run_32(library, prefix, f, &x);
  else
    run_64(library, prefix, f, &x);
  free_expectation(&x);
  dlclose(library);
}

static void refused(const char *text, const char *reason) {
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *t = sc_parse(cx, text, strlen(text), "text");
  check(t != NULL, "%s: %s", text, t ? "" : sc_context_error(cx)->message);
  sc_function *f = sc_module_text_find(t, NULL);
  sc_module *m = sc_render_c(f, &(sc_c_options){.casadi = SC_CASADI_DERIVATIVES});
  const char *message = m ? "accepted" : sc_context_error(cx)->message;
  check(!m && strstr(message, reason), "%s: '%s' instead of '%s'", text, message, reason);
  sc_context_clear_error(cx);
  sc_program *p = sc_lower(f, NULL);
  m = sc_render_c_program(p, &(sc_c_options){.casadi = SC_CASADI_ON});
  check(p && !m && strstr(sc_context_error(cx)->message, "program"), "a program is accepted");
  sc_program_destroy(p);
  sc_module_text_free(t);
  sc_context_destroy(cx);
}

static void refuse_all(void) {
  refused("expr.func @f(%x: tensor<3xfloat32>) -> (%y) { return sin(%x) }", "float32");
  refused("expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return lt(%x, 1) }", "bool");
  refused("expr.func @f(%x: tensor<2x2x2xfloat64>) -> (%y) { return sum(%x) }", "rank 3");
  refused("expr.func @f(%x: tensor<2xfloat64>) -> (%y: sparse<2x2xfloat64 csr rowptr=[0, 1, 2] colind=[0, 1]>) { "
          "return %x }",
          "csc");
  refused("expr.func @f(%x: tensor<float64>, %out_y: tensor<float64>) -> (%y) { return mul(%x, %out_y) }", "out_y");
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "refuse")) {
    refuse_all();
    return 0;
  }
  check(argc >= 5, "usage: abi_casadi write|load CASES FOLDER PREFIX [BITS]");
  char *text = read_file(argv[2]);
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *t = sc_parse(cx, text, strlen(text), argv[2]);
  check(t != NULL, "%s", t ? "" : sc_context_error(cx)->message);
  for (size_t i = 0; i < sc_module_text_count(t); i++) {
    if (!strcmp(argv[1], "write"))
      write_one(cx, sc_module_text_function(t, i), argv[3], argv[4]);
    else
      load_one(sc_module_text_function(t, i), argv[3], argv[4], atoi(argv[5]));
  }
  sc_module_text_free(t);
  sc_context_destroy(cx);
  free(text);
  return 0;
}
