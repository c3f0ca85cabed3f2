/* Owns the functions behind a CasADi module: the source function with column-major matrices, and the derivative
 * functions that a loader looks for by name. The renderer adds the queries. Conventions: CasADi's users guide, "Using
 * external functions", and its naming of derivative functions (jac_F, fwd1_F, adj1_F; out_<name>, fwd_<name>,
 * adj_<name>, jac_<output>_<input>). */
#include "lib/api/casadi.h"

#include "lib/base/text.h"

/* ---- what can be a CasADi function ---- */

static void check_port(sci_env *env, const char *what, const char *name, sc_expr e, const sc_pattern *pattern) {
  sc_dtype dtype = sc_expr_dtype(e);
  if (dtype != SC_FLOAT64)
    sci_fail(env, SC_ERR_DTYPE, "casadi: %s '%.100s' is %s; every value must be float64", what, name,
             sc_dtype_name(dtype));
  if (pattern && pattern->layout != SC_CSC)
    sci_fail(env, SC_ERR_ARGUMENT, "casadi: %s '%.100s' is a sparse matrix in another layout than csc", what, name);
  if (!pattern && sc_expr_rank(e) > 2)
    sci_fail(env, SC_ERR_SHAPE, "casadi: %s '%.100s' has rank %d; vectors and matrices are all there is", what, name,
             sc_expr_rank(e));
}

static void check_function(const sc_function *f) {
  sci_env *env = &f->cx->env;
  for (size_t i = 0; i < sc_function_input_count(f); i++)
    check_port(env, "input", sc_function_input_name(f, i), sc_function_input(f, i), NULL);
  for (size_t i = 0; i < sc_function_output_count(f); i++)
    check_port(env, "output", sc_function_output_name(f, i), sc_function_output(f, i),
               sc_function_output_pattern(f, i));
}

/* ---- building functions ---- */

typedef struct builder {
  sc_context *cx;
  SCI_VEC(sc_named) in;
  SCI_VEC(sc_named) out;
} builder;

/* The public functions leave their reason in the context. */
static void *made(builder *b, void *p) {
  if (!p) sci_unwind(&b->cx->env);
  return p;
}

static sc_expr valid(builder *b, sc_expr e) {
  if (sc_is_null(e)) sci_unwind(&b->cx->env);
  return e;
}

static void add_in(builder *b, const char *name, sc_expr e) {
  sci_vec_push(&b->cx->env.scratch, &b->in, (sc_named){.name = name, .expr = e});
}

static void add_out(builder *b, const char *name, sc_expr e, const sc_pattern *pattern) {
  sci_vec_push(&b->cx->env.scratch, &b->out, (sc_named){.name = name, .expr = valid(b, e), .pattern = pattern});
}

static sc_function *finish(builder *b, const char *name, const sc_function *source) {
  sc_function *f = made(b, sc_function_create(b->cx, name, b->in.data, b->in.n, b->out.data, b->out.n));
  sc_function_set_strict_nan(f, sc_function_strict_nan(source));
  return f;
}

static const char *name_of(builder *b, const char *before, const char *name) {
  return sci_asprintf(&b->cx->env.scratch, "%s_%s", before, name);
}

static bool is_matrix(sc_expr e) {
  return sc_expr_rank(e) == 2 && sc_expr_shape(e)[0] > 1 && sc_expr_shape(e)[1] > 1;
}

/* A new input of e's shape. */
static sc_expr input_like(builder *b, const char *name, sc_expr e, bool diff) {
  sc_expr x = (diff ? sc_input : sc_input_nodiff)(b->cx, name, SC_FLOAT64, sc_expr_rank(e), sc_expr_shape(e));
  return valid(b, x);
}

/* ---- column-major ---- */

/* Memory that holds a matrix by columns holds its transpose by rows: f between transposes. f itself when it has no
 * matrices. */
static sc_function *by_columns(sc_function *f, const char *name) {
  builder b = {.cx = sc_function_context(f)};
  size_t n_in = sc_function_input_count(f), n_out = sc_function_output_count(f);
  bool any = false;
  for (size_t i = 0; i < n_in; i++) any |= is_matrix(sc_function_input(f, i));
  for (size_t i = 0; i < n_out; i++) any |= !sc_function_output_pattern(f, i) && is_matrix(sc_function_output(f, i));
  if (!any && !strcmp(name, sc_function_name(f))) return f;
  sc_expr *args = SCI_ARRAY(&b.cx->env.scratch, sc_expr, n_in ? n_in : 1);
  for (size_t i = 0; i < n_in; i++) {
    sc_expr x = sc_function_input(f, i);
    const int64_t *shape = sc_expr_shape(x),
                  turned[2] = {shape && is_matrix(x) ? shape[1] : 0, is_matrix(x) ? shape[0] : 0};
    const char *port = sc_function_input_name(f, i);
    args[i] = is_matrix(x) ? (sc_expr_diff(x) ? sc_input : sc_input_nodiff)(b.cx, port, SC_FLOAT64, 2, turned)
                           : input_like(&b, port, x, sc_expr_diff(x));
    add_in(&b, port, valid(&b, args[i]));
    if (is_matrix(x)) args[i] = sc_transpose(args[i]);
  }
  for (size_t i = 0; i < n_out; i++) {
    const sc_pattern *pattern = sc_function_output_pattern(f, i);
    sc_expr y = valid(&b, sc_call(f, args, n_in, i));
    add_out(&b, sc_function_output_name(f, i), !pattern && is_matrix(y) ? sc_transpose(y) : y, pattern);
  }
  return finish(&b, name, f);
}

/* ---- derivatives ---- */

static void add_source_inputs(builder *b, const sc_function *f) {
  for (size_t i = 0; i < sc_function_input_count(f); i++)
    add_in(b, sc_function_input_name(f, i), sc_function_input(f, i));
}

/* The values of the outputs, which a loader hands over and exact derivatives have no use for. */
static void add_results(builder *b, const sc_function *f) {
  for (size_t i = 0; i < sc_function_output_count(f); i++) {
    const char *name = name_of(b, "out", sc_function_output_name(f, i));
    add_in(b, name, input_like(b, name, sc_function_output(f, i), false));
  }
}

/* An output of zeros for what does not depend on its input, or may not: no stored values. */
static const sc_pattern *empty_pattern(builder *b, int64_t nrow, int64_t ncol) {
  sc_pattern *p = SCI_NEW(&b->cx->env.scratch, sc_pattern);
  *p = (sc_pattern){
      .layout = SC_CSC, .nrow = nrow, .ncol = ncol, .outer = SCI_ZEROS(&b->cx->env.scratch, int32_t, ncol + 1)};
  p->inner = p->outer;
  return p;
}

/* Rows that count stored values of a sparse output become rows that count all its elements by columns. Stored order is
 * theirs too. */
static const sc_pattern *among_all_elements(builder *b, const sc_pattern *block, const sc_pattern *output) {
  if (!output) return block;
  sci_arena *scratch = &b->cx->env.scratch;
  int64_t *position = SCI_ARRAY(scratch, int64_t, output->nnz ? output->nnz : 1);
  if (output->nrow && output->ncol > INT32_MAX / output->nrow)
    sci_fail(&b->cx->env, SC_ERR_OVERFLOW,
             "casadi: a sparse output has too many elements for the rows of its Jacobian");
  for (int64_t j = 0; j < output->ncol; j++)
    for (int32_t k = output->outer[j]; k < output->outer[j + 1]; k++) position[k] = j * output->nrow + output->inner[k];
  int32_t *rows = SCI_ARRAY(scratch, int32_t, block->nnz ? block->nnz : 1);
  for (int64_t k = 0; k < block->nnz; k++) rows[k] = (int32_t)position[block->inner[k]];
  sc_pattern *p = SCI_NEW(scratch, sc_pattern);
  *p = *block;
  p->nrow = output->nrow * output->ncol;
  p->inner = rows;
  return p;
}

static int64_t elements_of(const sc_function *f, size_t output) {
  const sc_pattern *p = sc_function_output_pattern(f, output);
  return p ? p->nrow * p->ncol : sc_expr_size(sc_function_output(f, output));
}

/* jac_F: one block per output and input. */
static sc_function *jacobian(sc_function *f, const char *name) {
  const sc_options options = {.strict_nan = sc_function_strict_nan(f)};
  builder b = {.cx = sc_function_context(f)};
  size_t n_in = sc_function_input_count(f), n_out = sc_function_output_count(f), n = 0;
  sc_request *requests = SCI_ARRAY(&b.cx->env.scratch, sc_request, n_in * n_out + 1);
  for (size_t o = 0; o < n_out; o++)
    for (size_t i = 0; i < n_in; i++)
      if (sc_expr_diff(sc_function_input(f, i)))
        requests[n++] = SC_SPJAC(sc_function_output_name(f, o), sc_function_input_name(f, i));
  sc_function *d = n ? made(&b, sc_function_derive(f, NULL, requests, n, &options)) : f;
  add_source_inputs(&b, d);
  add_results(&b, f);
  n = 0;
  for (size_t o = 0; o < n_out; o++)
    for (size_t i = 0; i < n_in; i++) {
      sc_expr x = sc_function_input(f, i);
      const char *block = name_of(&b, name_of(&b, "jac", sc_function_output_name(f, o)), sc_function_input_name(f, i));
      if (!sc_expr_diff(x)) {
        add_out(&b, block, sc_zeros(b.cx, SC_FLOAT64, 1, (int64_t[]){0}),
                empty_pattern(&b, elements_of(f, o), sc_expr_size(x)));
        continue;
      }
      const sc_pattern *pattern =
          among_all_elements(&b, sc_function_output_pattern(d, n), sc_function_output_pattern(f, o));
      add_out(&b, block, sc_function_output(d, n++), pattern);
    }
  return finish(&b, name, f);
}

/* The inputs that can carry a derivative, joined by '+'; NULL: none. */
static const char *smooth_inputs(builder *b, const sc_function *f) {
  sci_text t;
  sci_text_init(&t, &b->cx->env.scratch);
  for (size_t i = 0; i < sc_function_input_count(f); i++)
    if (sc_expr_diff(sc_function_input(f, i))) sci_putf(&t, "%s%s", t.n ? "+" : "", sc_function_input_name(f, i));
  return t.n ? t.data : NULL;
}

/* The seed that the derived function has of that name, or a new input that nothing reads. */
static void add_seed(builder *b, const sc_function *derived, size_t first, const char *name, sc_expr like) {
  for (size_t i = first; derived && i < sc_function_input_count(derived); i++)
    if (!strcmp(sc_function_input_name(derived, i), name)) {
      add_in(b, name, sc_function_input(derived, i));
      return;
    }
  add_in(b, name, input_like(b, name, like, false));
}

/* fwd1_F: one directional derivative. */
static sc_function *forward(sc_function *f, const char *name) {
  const sc_options options = {.strict_nan = sc_function_strict_nan(f)};
  builder b = {.cx = sc_function_context(f)};
  size_t n_in = sc_function_input_count(f), n_out = sc_function_output_count(f);
  const char *wrt = smooth_inputs(&b, f);
  sc_request *requests = SCI_ARRAY(&b.cx->env.scratch, sc_request, n_out + 1);
  for (size_t o = 0; o < n_out; o++) requests[o] = SC_FWD(sc_function_output_name(f, o), wrt);
  sc_function *d = wrt && n_out ? made(&b, sc_function_derive(f, NULL, requests, n_out, &options)) : NULL;
  for (size_t i = 0; i < n_in; i++) add_in(&b, sc_function_input_name(f, i), sc_function_input(d ? d : f, i));
  add_results(&b, f);
  for (size_t i = 0; i < n_in; i++)
    add_seed(&b, d, n_in, name_of(&b, "fwd", sc_function_input_name(f, i)), sc_function_input(f, i));
  for (size_t o = 0; o < n_out; o++) {
    sc_expr y = sc_function_output(f, o);
    sc_expr dy = d ? sc_function_output(d, o) : sc_zeros(b.cx, SC_FLOAT64, sc_expr_rank(y), sc_expr_shape(y));
    add_out(&b, name_of(&b, "fwd", sc_function_output_name(f, o)), dy, sc_function_output_pattern(f, o));
  }
  return finish(&b, name, f);
}

/* The sum over all outputs of <adj_o, o>, whose gradient is what adj1_F returns. */
static sc_function *weighted_sum(sc_function *f) {
  builder b = {.cx = sc_function_context(f)};
  sc_expr sum = sc_scalar(b.cx, 0);
  add_source_inputs(&b, f);
  for (size_t o = 0; o < sc_function_output_count(f); o++) {
    const char *name = name_of(&b, "adj", sc_function_output_name(f, o));
    sc_expr y = sc_function_output(f, o), seed = input_like(&b, name, y, false);
    add_in(&b, name, seed);
    if (sc_expr_size(y)) sum = sc_add(sum, sc_sum(sc_mul(seed, y)));
  }
  add_out(&b, "sum", sum, NULL);
  return finish(&b, name_of(&b, sc_function_name(f), "weighted"), f);
}

/* adj1_F: one product with the transposed Jacobian. */
static sc_function *reverse(sc_function *f, const char *name) {
  const sc_options options = {.strict_nan = sc_function_strict_nan(f)};
  builder b = {.cx = sc_function_context(f)};
  size_t n_in = sc_function_input_count(f), n_out = sc_function_output_count(f), n = 0;
  sc_function *sum = weighted_sum(f);
  sc_request *requests = SCI_ARRAY(&b.cx->env.scratch, sc_request, n_in + 1);
  for (size_t i = 0; i < n_in; i++)
    if (sc_expr_diff(sc_function_input(f, i))) requests[n++] = SC_GRAD("sum", sc_function_input_name(f, i));
  sc_function *d = n ? made(&b, sc_function_derive(sum, NULL, requests, n, &options)) : sum;
  for (size_t i = 0; i < n_in; i++) add_in(&b, sc_function_input_name(f, i), sc_function_input(d, i));
  add_results(&b, f);
  for (size_t o = 0; o < n_out; o++)
    add_in(&b, name_of(&b, "adj", sc_function_output_name(f, o)), sc_function_input(d, n_in + o));
  n = 0;
  for (size_t i = 0; i < n_in; i++) {
    sc_expr x = sc_function_input(f, i);
    sc_expr g =
        sc_expr_diff(x) ? sc_function_output(d, n++) : sc_zeros(b.cx, SC_FLOAT64, sc_expr_rank(x), sc_expr_shape(x));
    add_out(&b, name_of(&b, "adj", sc_function_input_name(f, i)), g, NULL);
  }
  return finish(&b, name, f);
}

size_t sci_casadi_functions(sc_function *f, const char *name, const char *prefix, bool derivatives,
                            sc_function *out[SCI_CASADI_FUNCTIONS]) {
  sci_arena *scratch = &f->cx->env.scratch;
  const char *entry = sci_asprintf(scratch, "%s%s", prefix ? prefix : "", name ? name : sc_function_name(f));
  check_function(f);
  out[0] = by_columns(f, name ? name : sc_function_name(f));
  if (!derivatives) return 1;
  out[1] = jacobian(out[0], sci_asprintf(scratch, "jac_%s", entry));
  out[2] = forward(out[0], sci_asprintf(scratch, "fwd1_%s", entry));
  out[3] = reverse(out[0], sci_asprintf(scratch, "adj1_%s", entry));
  return SCI_CASADI_FUNCTIONS;
}
