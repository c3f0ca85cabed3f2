/* Owns derived functions: resolves requests, shares seeds and gradients between them, and lays out their results. */
#include "lib/ad/derive.h"

#include "lib/base/text.h"
#include "lib/expr/simplify.h"

typedef struct matrix {
  uint32_t output;
  sc_matrix_report report;
} matrix;

typedef struct derivation {
  sc_context *cx;
  sc_function *f;
  sci_ad ad;
  sci_id *root;      /* per output: what is differentiated */
  sci_id *lam, *fwd; /* seed inputs per output and input, SCI_NONE: not asked for yet */
  SCI_VEC(sc_named) in;
  SCI_VEC(sc_named) out;
  SCI_VEC(matrix) matrices; /* outputs that are matrices, and how they were found */
} derivation;

/* A gradient, and what it is of: the sum of the roots, each multiplied by its seed. */
typedef struct slopes {
  sci_id *by_input;
  uint32_t n;
  const sci_id *roots, *seeds;
} slopes;

/* The inputs that a request differentiates by. */
typedef struct columns {
  uint32_t n;
  uint32_t *index;
  sci_id *nodes;
  int64_t size;
} columns;

static sc_dtype dtype_of(const derivation *d, sci_id id) {
  return (sc_dtype)sci_type_of(d->cx, id)->dtype;
}

/* ---- names ---- */

static const char *known_names(const derivation *d, const sci_formal *list, uint32_t n) {
  sci_text t;
  sci_text_init(&t, &d->cx->env.scratch);
  for (uint32_t i = 0; i < n && i < 50; i++) sci_putf(&t, "%s%s", i ? ", " : "", list[i].name);
  if (n > 50) sci_put(&t, ", ...");
  if (!n) sci_put(&t, "none");
  return t.data;
}

static uint32_t find(const derivation *d, const char *what, const sci_formal *list, uint32_t n, const char *name,
                     size_t length) {
  for (uint32_t i = 0; i < n; i++)
    if (strlen(list[i].name) == length && !memcmp(list[i].name, name, length)) return i;
  sci_fail(&d->cx->env, SC_ERR_NAME, "function %s has no %s '%.*s'; there are: %s", d->f->name, what,
           (int)(length > 200 ? 200 : length), name, known_names(d, list, n));
}

static uint32_t find_output(const derivation *d, const sc_request *r) {
  if (!r->of) sci_fail(&d->cx->env, SC_ERR_NAME, "a derivative request for %s names no output", d->f->name);
  return find(d, "output", d->f->out, d->f->n_out, r->of, strlen(r->of));
}

static columns find_columns(const derivation *d, const sc_request *r) {
  sci_env *env = &d->cx->env;
  columns c = {0, SCI_ARRAY(&env->scratch, uint32_t, d->f->n_in), SCI_ARRAY(&env->scratch, sci_id, d->f->n_in), 0};
  if (!r->wrt) sci_fail(env, SC_ERR_NAME, "a derivative request for %s names no input", d->f->name);
  for (const char *at = r->wrt;;) {
    size_t length = strcspn(at, "+");
    uint32_t i = find(d, "input", d->f->in, d->f->n_in, at, length);
    for (uint32_t k = 0; k < c.n; k++)
      if (c.index[k] == i) sci_fail(env, SC_ERR_NAME, "'%s' names the input %s twice", r->wrt, d->f->in[i].name);
    const sci_type *t = sci_type_of(d->cx, d->f->in[i].node);
    if (!t->diff)
      sci_fail(env, SC_ERR_DTYPE, "input %s of %s is not differentiable: it is %s", d->f->in[i].name, d->f->name,
               sci_type_text(d->cx, d->f->in[i].node));
    if (c.n && t->dtype != sci_type_of(d->cx, c.nodes[0])->dtype)
      sci_fail(env, SC_ERR_DTYPE, "'%s' joins inputs of different data types", r->wrt);
    c.index[c.n] = i;
    c.nodes[c.n++] = d->f->in[i].node;
    c.size = sci_add_size(env, c.size, t->size, "derivative");
    if (!at[length]) return c;
    at += length + 1;
  }
}

static const char *unused_name(const derivation *d, const char *prefix, const char *name) {
  char *made = sci_asprintf(&d->cx->env.scratch, "%s_%s", prefix, name);
  for (size_t i = 0; i < d->in.n; i++)
    if (!strcmp(d->in.data[i].name, made)) {
      made = sci_asprintf(&d->cx->env.scratch, "%s_", made);
      i = (size_t)-1;
    }
  return made;
}

/* The seed input that goes with an output (lam) or an input (fwd), made on first use. */
static sci_id seed(derivation *d, sci_id *slot, const char *prefix, const sci_formal *of) {
  if (*slot != SCI_NONE) return *slot;
  const char *name = unused_name(d, prefix, of->name);
  sci_shape s = sci_shape_of(d->cx, of->node);
  *slot = sci_make_input(d->cx, name, dtype_of(d, of->node), true, s.rank, s.dim);
  sci_vec_push(&d->cx->env.scratch, &d->in, (sc_named){name, sci_wrap(d->cx, *slot), NULL});
  return *slot;
}

static sci_id lam(derivation *d, uint32_t output) {
  return seed(d, &d->lam[output], "lam", &d->f->out[output]);
}

/* ---- first derivatives ---- */

static sci_id or_zeros(const derivation *d, sci_id value, sci_id like) {
  return value == SCI_NONE ? sci_zeros_like(&d->ad, like) : value;
}

static sci_id joined(const derivation *d, const columns *c, const sci_id *parts) {
  if (c->n == 1) return or_zeros(d, parts[0], c->nodes[0]);
  sci_id *flat = SCI_ARRAY(&d->cx->env.scratch, sci_id, c->n);
  for (uint32_t i = 0; i < c->n; i++) {
    sci_id v = or_zeros(d, parts[i], c->nodes[i]);
    flat[i] = sci_make_reshape(d->cx, v, 1, (int64_t[]){sci_type_of(d->cx, v)->size});
  }
  return sci_make_join(d->cx, SCI_X_concat, flat, c->n, 0);
}

static sci_id forward_product(derivation *d, uint32_t output, const columns *c) {
  sci_id *seeds = SCI_ARRAY(&d->cx->env.scratch, sci_id, c->n), root = d->root[output], out;
  for (uint32_t i = 0; i < c->n; i++) seeds[i] = seed(d, &d->fwd[c->index[i]], "fwd", &d->f->in[c->index[i]]);
  sci_forward(&d->ad, c->n, c->nodes, seeds, 1, &root, &out);
  return or_zeros(d, out, root);
}

/* Adjoints of the columns' inputs for several outputs and their seeds, one per input, in the inputs' shapes. */
static sci_id *adjoints(derivation *d, uint32_t n, const sci_id *roots, const sci_id *seeds, const columns *c) {
  sci_id *out = SCI_ARRAY(&d->cx->env.scratch, sci_id, c->n);
  sci_reverse(&d->ad, n, roots, seeds, c->n, c->nodes, out, NULL);
  for (uint32_t i = 0; i < c->n; i++) out[i] = or_zeros(d, out[i], c->nodes[i]);
  return out;
}

static slopes gradient(derivation *d, uint32_t output, const columns *c) {
  sci_id root = d->root[output], *seed = SCI_NEW(&d->cx->env.scratch, sci_id);
  sci_shape s = sci_shape_of(d->cx, root);
  if (sci_type_of(d->cx, root)->size != 1)
    sci_fail(&d->cx->env, SC_ERR_SHAPE, "output %s of %s has %lld elements: a gradient or Hessian needs one",
             d->f->out[output].name, d->f->name, (long long)sci_type_of(d->cx, root)->size);
  *seed = sci_make_fill(d->cx, dtype_of(d, root), s.rank, s.dim, 1);
  return (slopes){adjoints(d, 1, &root, seed, c), 1, &d->root[output], seed};
}

/* Gradient of the sum over all float outputs of <lam_OUT, OUT>. */
static slopes lagrangian_gradient(derivation *d, const columns *c) {
  sci_arena *scratch = &d->cx->env.scratch;
  sci_id *roots = SCI_ARRAY(scratch, sci_id, d->f->n_out), *seeds = SCI_ARRAY(scratch, sci_id, d->f->n_out);
  uint32_t n = 0;
  for (uint32_t i = 0; i < d->f->n_out; i++) {
    if (!sci_is_float(dtype_of(d, d->f->out[i].node))) continue;
    roots[n] = d->root[i];
    seeds[n++] = lam(d, i);
  }
  return (slopes){adjoints(d, n, roots, seeds, c), n, roots, seeds};
}

/* ---- matrices ---- */

static void add_output(derivation *d, const sc_request *r, sci_id value, const sc_pattern *pattern) {
  sci_vec_push(&d->cx->env.scratch, &d->out, (sc_named){sci_request_name(d->cx, r), sci_wrap(d->cx, value), pattern});
}

static void add_matrix(derivation *d, const sc_request *r, const sci_sparse *s, sci_id value,
                       const sc_pattern *pattern) {
  matrix m = {(uint32_t)d->out.n, s->report};
  m.report.nrow = s->n_rows, m.report.ncol = s->n_cols, m.report.nnz = s->nnz;
  sci_vec_push(&d->cx->env.scratch, &d->matrices, m);
  add_output(d, r, value, pattern);
}

/* Pointers of a compressed pattern from sorted majors. */
static int32_t *compress_majors(sc_context *cx, const int32_t *major, int64_t nnz, int64_t n) {
  int32_t *ptr = SCI_ZEROS(&cx->env.scratch, int32_t, n + 1);
  for (int64_t k = 0; k < nnz; k++) ptr[major[k] + 1]++;
  for (int64_t m = 0; m < n; m++) ptr[m + 1] += ptr[m];
  return ptr;
}

static void add_sparse(derivation *d, const sc_request *r, const sci_sparse *s) {
  sc_pattern *p = SCI_NEW(&d->cx->env.scratch, sc_pattern);
  *p = (sc_pattern){.layout = r->layout, .nrow = s->n_rows, .ncol = s->n_cols, .nnz = s->nnz};
  switch (r->layout) {
  case SC_CSC:
    p->outer = compress_majors(d->cx, s->col, s->nnz, s->n_cols);
    p->inner = s->row;
    break;
  case SC_CSR:
    p->outer = compress_majors(d->cx, s->row, s->nnz, s->n_rows);
    p->inner = s->col;
    break;
  case SC_COO:
    p->outer = s->row;
    p->inner = s->col;
    break;
  }
  add_matrix(d, r, s, s->values, p);
}

static int64_t dense_size(const derivation *d, int64_t rows, int64_t cols) {
  int64_t size = sci_mul_size(&d->cx->env, rows, cols, "dense derivative");
  if (size > SC_MAX_ELEMENTS)
    sci_fail(&d->cx->env, SC_ERR_OVERFLOW,
             "a dense derivative of %lld by %lld exceeds the largest tensor; ask for a sparse one", (long long)rows,
             (long long)cols);
  return size;
}

/* Stored values, row by row, into a dense matrix; `mirror`: the lower triangle also into the upper. */
static void add_dense(derivation *d, const sc_request *r, const sci_sparse *s, bool mirror) {
  sci_arena *scratch = &d->cx->env.scratch;
  int64_t size = dense_size(d, s->n_rows, s->n_cols), shape[] = {s->n_rows, s->n_cols};
  if (!mirror && s->nnz == size) {
    add_matrix(d, r, s, sci_make_reshape(d->cx, s->values, 2, shape), NULL);
    return;
  }
  int32_t *place = SCI_ARRAY(scratch, int32_t, 2 * s->nnz), *from = SCI_ARRAY(scratch, int32_t, 2 * s->nnz);
  int64_t n = 0;
  for (int64_t k = 0; k < s->nnz; k++) {
    from[n] = (int32_t)k, place[n++] = (int32_t)(s->row[k] * s->n_cols + s->col[k]);
    if (mirror && s->row[k] != s->col[k])
      from[n] = (int32_t)k, place[n++] = (int32_t)(s->col[k] * s->n_cols + s->row[k]);
  }
  sci_id values = n == s->nnz ? s->values : sci_make_gather(d->cx, s->values, from, 1, &n);
  sci_id zeros = sci_make_fill(d->cx, dtype_of(d, values), 2, shape, 0);
  add_matrix(d, r, s, sci_make_index(d->cx, SCI_X_index_set, zeros, values, place), NULL);
}

static sci_scalars scalars_of(const derivation *d) {
  return d->f->hint == SC_HINT_SCALAR ? SCI_SCALARS_ALWAYS : SCI_SCALARS_NEVER;
}

static sci_sparse jacobian(derivation *d, const sc_request *r, uint32_t output, const columns *c) {
  sci_id root = d->root[output];
  sci_jacobian_request q = {
      .n_roots = 1, .roots = &root, .n_inputs = c->n, .inputs = c->nodes, .scalars = scalars_of(d)};
  q.by_columns = r->kind == SC_REQUEST_SPJAC && r->layout == SC_CSC;
  return sci_sparse_jacobian(&d->ad, &q);
}

/* The lower triangle; `mirror`: both. */
static sci_sparse hessian(derivation *d, const slopes *gradient, const columns *c, bool by_columns, bool mirror) {
  sci_jacobian_request q = {.n_roots = c->n,
                            .roots = gradient->by_input,
                            .scalars = scalars_of(d),
                            .n_of = gradient->n,
                            .of = gradient->roots,
                            .seeds = gradient->seeds,
                            .n_inputs = c->n,
                            .inputs = c->nodes,
                            .symmetric = true,
                            .triangle = SC_TRIANGLE_LOWER,
                            .mirror = mirror};
  q.by_columns = by_columns;
  return sci_sparse_jacobian(&d->ad, &q);
}

static void add_hessian(derivation *d, const sc_request *r, slopes gradient, const columns *c) {
  bool sparse = r->kind == SC_REQUEST_SPHESS || r->kind == SC_REQUEST_SPLAGHESS;
  if (!sparse) {
    sci_sparse s = hessian(d, &gradient, c, false, false);
    add_dense(d, r, &s, true);
    return;
  }
  /* The upper triangle by columns is the lower one by rows, and its values are to be the same ones. */
  bool full = r->triangle == SC_TRIANGLE_FULL, upper = r->triangle == SC_TRIANGLE_UPPER,
       columns_first = r->layout == SC_CSC;
  sci_sparse s = hessian(d, &gradient, c, !full && columns_first != upper, full);
  const int32_t *row = s.row;
  if (full ? columns_first : upper) s.row = s.col, s.col = row; /* a symmetric matrix reads the same by columns */
  add_sparse(d, r, &s);
}

/* ---- requests ---- */

static void add_request(derivation *d, const sc_request *r) {
  sc_context *cx = d->cx;
  if ((unsigned)r->kind > SC_REQUEST_SPLAGHESS || (unsigned)r->triangle > SC_TRIANGLE_UPPER ||
      (unsigned)r->layout > SC_COO)
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "a derivative request for %s has an unknown kind, triangle or layout",
             d->f->name);
  if (r->kind == SC_REQUEST_OUTPUT) {
    uint32_t o = find_output(d, r);
    sci_vec_push(&cx->env.scratch, &d->out,
                 (sc_named){d->f->out[o].name, sci_wrap(d->cx, d->f->out[o].node), d->f->out[o].pattern});
    return;
  }
  columns c = find_columns(d, r);
  if (r->kind == SC_REQUEST_LAGHESS || r->kind == SC_REQUEST_SPLAGHESS) {
    add_hessian(d, r, lagrangian_gradient(d, &c), &c);
    return;
  }
  uint32_t o = find_output(d, r);
  sci_id root = d->root[o];
  if (!sci_is_float(dtype_of(d, root)))
    sci_fail(&cx->env, SC_ERR_DTYPE, "output %s of %s is not differentiable: it is %s", d->f->out[o].name, d->f->name,
             sci_type_text(cx, root));
  switch (r->kind) {
  case SC_REQUEST_FWD: add_output(d, r, forward_product(d, o, &c), NULL); return;
  case SC_REQUEST_ADJ: {
    sci_id w = lam(d, o);
    add_output(d, r, joined(d, &c, adjoints(d, 1, &root, &w, &c)), NULL);
    return;
  }
  case SC_REQUEST_GRAD: add_output(d, r, joined(d, &c, gradient(d, o, &c).by_input), NULL); return;
  case SC_REQUEST_JAC: {
    sci_sparse s = jacobian(d, r, o, &c);
    add_dense(d, r, &s, false);
    return;
  }
  case SC_REQUEST_SPJAC: {
    sci_sparse s = jacobian(d, r, o, &c);
    add_sparse(d, r, &s);
    return;
  }
  case SC_REQUEST_HESS:
  case SC_REQUEST_SPHESS: add_hessian(d, r, gradient(d, o, &c), &c); return;
  case SC_REQUEST_OUTPUT:
  case SC_REQUEST_LAGHESS:
  case SC_REQUEST_SPLAGHESS: return;
  }
}

static const char *default_name(sc_context *cx, const sc_function *f, const sc_request *requests, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (requests[i].kind != SC_REQUEST_OUTPUT)
      return sci_asprintf(&cx->env.scratch, "%s_%s", f->name, sci_request_name(cx, &requests[i]));
  return f->name;
}

sc_function *sci_derive(sc_context *cx, sc_function *f, const char *name, const sc_request *requests, size_t n,
                        const sc_options *options) {
  sci_arena *scratch = &cx->env.scratch;
  derivation d = {.cx = cx, .f = f, .ad = {.cx = cx, .strict_nan = f->strict_nan || (options && options->strict_nan)}};
  if (options) d.ad.nonsmooth = options->nonsmooth;
  d.lam = SCI_ARRAY(scratch, sci_id, f->n_out);
  d.fwd = SCI_ARRAY(scratch, sci_id, f->n_in);
  d.root = SCI_ARRAY(scratch, sci_id, f->n_out);
  for (uint32_t i = 0; i < f->n_out; i++) d.lam[i] = SCI_NONE, d.root[i] = sci_root_of(cx, f, i);
  for (uint32_t i = 0; i < f->n_in; i++) {
    d.fwd[i] = SCI_NONE;
    sci_vec_push(scratch, &d.in, (sc_named){f->in[i].name, sci_wrap(cx, f->in[i].node), NULL});
  }
  for (size_t i = 0; i < n; i++) add_request(&d, &requests[i]);
  sc_function *g =
      sci_make_function(cx, name ? name : default_name(cx, f, requests, n), d.in.data, d.in.n, d.out.data, d.out.n);
  g->set_hint = g->hint = f->hint;
  g->strict_nan = d.ad.strict_nan;
  for (size_t i = 0; i < n; i++) g->derived |= requests[i].kind != SC_REQUEST_OUTPUT;
  for (size_t i = 0; i < d.matrices.n; i++)
    sci_function_report(g, d.matrices.data[i].output, &d.matrices.data[i].report);
  sc_function *simple = sci_simplify(cx, g, false, NULL);
  g->held = false;
  simple->held = true;
  return simple;
}
