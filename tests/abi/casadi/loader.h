/* A loader of CasADi external functions, symbol by symbol, for one width of casadi_int: INT, with LOADER(name) naming
 * its functions. Included once per width. */
#include "tests/abi/casadi/loader_common.h"

typedef struct LOADER(entry) {
  const char *name;
  int (*eval)(const double **, double **, INT *, double *, int);
  void (*incref)(void), (*decref)(void), (*release)(int), (*free_mem)(int);
  int (*checkout)(void), (*alloc_mem)(void), (*init_mem)(int);
  INT (*n_in)(void), (*n_out)(void);
  const char *(*name_in)(INT), *(*name_out)(INT);
  const INT *(*sparsity_in)(INT), *(*sparsity_out)(INT);
  double (*default_in)(INT);
  int (*work)(INT *, INT *, INT *, INT *), (*work_bytes)(INT *, INT *, INT *, INT *);
} LOADER(entry);

static LOADER(entry) LOADER(open)(void *library, const char *name) {
  LOADER(entry) e = {.name = name};
  find_symbol(library, name, "", &e.eval);
  find_symbol(library, name, "_incref", &e.incref);
  find_symbol(library, name, "_decref", &e.decref);
  find_symbol(library, name, "_checkout", &e.checkout);
  find_symbol(library, name, "_release", &e.release);
  find_symbol(library, name, "_n_in", &e.n_in);
  find_symbol(library, name, "_n_out", &e.n_out);
  find_symbol(library, name, "_name_in", &e.name_in);
  find_symbol(library, name, "_name_out", &e.name_out);
  find_symbol(library, name, "_sparsity_in", &e.sparsity_in);
  find_symbol(library, name, "_sparsity_out", &e.sparsity_out);
  find_symbol(library, name, "_default_in", &e.default_in);
  find_symbol(library, name, "_work", &e.work);
  find_symbol(library, name, "_work_bytes", &e.work_bytes);
  find_symbol(library, name, "_alloc_mem", &e.alloc_mem);
  find_symbol(library, name, "_init_mem", &e.init_mem);
  find_symbol(library, name, "_free_mem", &e.free_mem);
  return e;
}

static sparsity LOADER(pattern)(const char *what, const INT *p) {
  check(p != NULL, "%s: no pattern", what);
  sparsity s = {.nrow = p[0], .ncol = p[1]};
  const INT *colptr = p + 2, *rowind = colptr + s.ncol + 1;
  check(s.nrow >= 0 && s.ncol >= 0 && colptr[0] == 0, "%s: a pattern begins with %lld %lld %lld", what, (long long)p[0],
        (long long)p[1], (long long)p[2]);
  s.nnz = colptr[s.ncol];
  s.row = room((size_t)s.nnz * sizeof *s.row);
  s.col = room((size_t)s.nnz * sizeof *s.col);
  for (long long j = 0; j < s.ncol; j++) {
    check(colptr[j] <= colptr[j + 1], "%s: colptr decreases", what);
    for (long long k = colptr[j]; k < colptr[j + 1]; k++) {
      s.row[k] = rowind[k];
      s.col[k] = j;
      check(rowind[k] >= 0 && rowind[k] < s.nrow, "%s: a row out of range", what);
      check(k == colptr[j] || rowind[k - 1] < rowind[k], "%s: rows do not increase", what);
    }
  }
  return s;
}

/* What the queries say. */
static described LOADER(describe)(const LOADER(entry) * e) {
  described d = {.name = e->name, .n_in = (size_t)e->n_in(), .n_out = (size_t)e->n_out()};
  d.ports = room((d.n_in + d.n_out) * sizeof *d.ports);
  for (size_t i = 0; i < d.n_in + d.n_out; i++) {
    INT k = (INT)(i < d.n_in ? i : i - d.n_in);
    d.ports[i].name = (i < d.n_in ? e->name_in : e->name_out)(k);
    check(d.ports[i].name != NULL, "%s: port %zu has no name", e->name, i);
    d.ports[i].s = LOADER(pattern)(d.ports[i].name, (i < d.n_in ? e->sparsity_in : e->sparsity_out)(k));
    if (i < d.n_in) check(e->default_in(k) == 0, "%s: a default that is not zero", e->name);
  }
  check(!e->name_in((INT)d.n_in) && !e->name_out(-1) && !e->sparsity_in(-1) && !e->sparsity_out((INT)d.n_out),
        "%s: an index out of range has an answer", e->name);
  return d;
}

/* Evaluates as a loader does: vectors sized by the queries, memory checked out, room behind every vector guarded. */
static void LOADER(eval)(const LOADER(entry) * e, const described *d, const double *const *in, double *const *out) {
  INT arg = -1, res = -1, iw = -1, w = -1, bytes[4] = {-1, -1, -1, -1};
  check(e->work(&arg, &res, &iw, &w) == 0 && e->work_bytes(&bytes[0], &bytes[1], &bytes[2], &bytes[3]) == 0,
        "%s: work fails", e->name);
  check(e->work(NULL, NULL, NULL, NULL) == 0, "%s: work wants every answer read", e->name);
  check(arg >= (INT)d->n_in && res >= (INT)d->n_out && iw >= 0 && w >= 0, "%s: work says too little", e->name);
  check((size_t)bytes[0] == (size_t)arg * sizeof(double *) && (size_t)bytes[1] == (size_t)res * sizeof(double *) &&
            (size_t)bytes[2] == (size_t)iw * sizeof(INT) && (size_t)bytes[3] == (size_t)w * sizeof(double),
        "%s: work and work_bytes differ", e->name);
  const double **args = room((size_t)arg * sizeof *args);
  double **results = room((size_t)res * sizeof *results), *work = room(((size_t)w + 1) * sizeof *work);
  INT *ints = room((size_t)iw * sizeof *ints);
  for (size_t i = 0; i < d->n_in; i++) args[i] = in[i];
  for (size_t i = 0; i < d->n_out; i++) results[i] = out[i];
  work[w] = 12345;
  e->incref();
  int mem = e->checkout(), other = e->alloc_mem();
  check(mem >= 0 && other >= 0 && e->init_mem(other) == 0, "%s: no memory", e->name);
  check(e->eval(args, results, iw ? ints : NULL, w ? work : NULL, mem) == 0, "%s: evaluation fails", e->name);
  e->free_mem(other);
  e->release(mem);
  e->decref();
  check(work[w] == 12345, "%s: w is longer than work says", e->name);
  free(args);
  free(results);
  free(work);
  free(ints);
}

static void LOADER(run)(void *library, const char *prefix, const sc_function *f, const expectation *x) {
  static const char *const before[] = {"", "jac_", "fwd1_", "adj1_"};
  for (int kind = 0; kind < 4; kind++) {
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", before[kind], prefix, sc_function_name(f));
    LOADER(entry) e = LOADER(open)(library, name);
    described d = LOADER(describe)(&e);
    check_ports(&d, kind, x);
    vectors v = make_vectors(&d, kind, x);
    LOADER(eval)(&e, &d, (const double *const *)v.in, v.out);
    check_results(&d, kind, x, &v);
    for (size_t o = 0; o < d.n_out; o++) { /* a result that nobody wants changes nothing else */
      vectors w = make_vectors(&d, kind, x);
      double *kept = w.out[o];
      w.out[o] = NULL;
      LOADER(eval)(&e, &d, (const double *const *)w.in, w.out);
      w.out[o] = kept;
      check_same(&d, &v, &w, o);
      free_vectors(&d, &w);
    }
    for (size_t i = 0; i < d.n_in; i++) { /* null is zeros */
      vectors w = make_vectors(&d, kind, x), z = make_vectors(&d, kind, x);
      double *kept = w.in[i];
      memset(z.in[i], 0, (size_t)d.ports[i].s.nnz * sizeof(double));
      w.in[i] = NULL;
      LOADER(eval)(&e, &d, (const double *const *)w.in, w.out);
      LOADER(eval)(&e, &d, (const double *const *)z.in, z.out);
      w.in[i] = kept;
      check_same(&d, &z, &w, SIZE_MAX);
      free_vectors(&d, &w);
      free_vectors(&d, &z);
    }
    free_vectors(&d, &v);
    free_described(&d);
  }
}

#undef INT
#undef LOADER
