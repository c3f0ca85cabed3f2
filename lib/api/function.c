/* Owns the public functions of scaly/function.h. */
#include "lib/api/enter.h"

static const sc_expr null_expr;

sc_function *sc_function_create(sc_context *cx, const char *name, const sc_named *inputs, size_t n_inputs,
                                const sc_named *outputs, size_t n_outputs) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return NULL;
  sci_expect_array(cx, "function: inputs", inputs, n_inputs);
  sci_expect_array(cx, "function: outputs", outputs, n_outputs);
  sc_function *f = sci_make_function(cx, name, inputs, n_inputs, outputs, n_outputs);
  sci_return(cx, &e);
  return f;
}

void sc_function_release(sc_function *f) {
  if (f) f->held = false;
}

/* ---- reading ---- */

sc_context *sc_function_context(const sc_function *f) {
  return f ? f->cx : NULL;
}

const char *sc_function_name(const sc_function *f) {
  return f ? f->name : NULL;
}

size_t sc_function_input_count(const sc_function *f) {
  return f ? f->n_in : 0;
}

size_t sc_function_output_count(const sc_function *f) {
  return f ? f->n_out : 0;
}

const char *sc_function_input_name(const sc_function *f, size_t i) {
  return f && i < f->n_in ? f->in[i].name : NULL;
}

const char *sc_function_output_name(const sc_function *f, size_t i) {
  return f && i < f->n_out ? f->out[i].name : NULL;
}

sc_expr sc_function_input(const sc_function *f, size_t i) {
  return f && i < f->n_in ? sci_wrap(f->cx, f->in[i].node) : null_expr;
}

sc_expr sc_function_output(const sc_function *f, size_t i) {
  return f && i < f->n_out ? sci_wrap(f->cx, f->out[i].node) : null_expr;
}

const sc_pattern *sc_function_output_pattern(const sc_function *f, size_t i) {
  return f && i < f->n_out ? f->out[i].pattern : NULL;
}

static int find_port(const sc_function *f, bool output, const char *name) {
  sci_call_frame e;
  if (!f || !SCI_ENTER(f->cx, &e)) return -1;
  int i = (int)sci_find_port(f->cx, f, output, name);
  sci_return(f->cx, &e);
  return i;
}

int sc_function_find_input(const sc_function *f, const char *name) {
  return find_port(f, false, name);
}

int sc_function_find_output(const sc_function *f, const char *name) {
  return find_port(f, true, name);
}

sc_hint sc_function_hint(const sc_function *f) {
  return f ? (sc_hint)f->hint : SC_HINT_AUTO;
}

void sc_function_set_hint(sc_function *f, sc_hint hint) {
  if (f && (unsigned)hint <= SC_HINT_BLOCK) sci_function_hint_set(f, hint);
}

void sc_function_set_strict_nan(sc_function *f, bool strict) {
  if (f) f->strict_nan = strict;
}

bool sc_function_strict_nan(const sc_function *f) {
  return f && f->strict_nan;
}

/* ---- calls ---- */

static bool any_null(const sc_expr *args, size_t n) {
  for (size_t i = 0; args && i < n; i++)
    if (!args[i].cx) return true;
  return false;
}

static sci_id *arg_ids(const sc_function *f, const char *what, const sc_expr *args, size_t n, size_t output) {
  sc_context *cx = f->cx;
  if (n != f->n_in)
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s of %s: %zu arguments given, it takes %u", what, f->name, n, f->n_in);
  if (output >= f->n_out)
    sci_fail(&cx->env, SC_ERR_INDEX, "%s of %s: output %zu does not exist, it has %u", what, f->name, output, f->n_out);
  sci_expect_array(cx, what, args, n);
  sci_id *ids = SCI_ARRAY(&cx->env.scratch, sci_id, n);
  for (size_t i = 0; i < n; i++) ids[i] = sci_handle(cx, args[i]);
  return ids;
}

sc_expr sc_call(sc_function *f, const sc_expr *args, size_t n_args, size_t output) {
  sci_call_frame e;
  if (!f || any_null(args, n_args) || !SCI_ENTER(f->cx, &e)) return null_expr;
  sci_id id = sci_make_call(f->cx, f, arg_ids(f, "call", args, n_args, output), f->n_in, (uint32_t)output);
  sci_return(f->cx, &e);
  return sci_wrap(f->cx, id);
}

sc_expr sc_vmap_windows(sc_function *f, int64_t length, const sc_expr *args, size_t n_args, const int64_t *starts,
                        const int64_t *strides, size_t output) {
  sci_call_frame e;
  if (!f || any_null(args, n_args) || !SCI_ENTER(f->cx, &e)) return null_expr;
  sci_id *ids = arg_ids(f, "vmap", args, n_args, output);
  sci_expect_array(f->cx, "vmap: starts", starts, n_args);
  sci_expect_array(f->cx, "vmap: strides", strides, n_args);
  sci_id id = sci_make_vmap(f->cx, f, length, ids, f->n_in, starts, strides, (uint32_t)output);
  sci_return(f->cx, &e);
  return sci_wrap(f->cx, id);
}

static bool is_formal_shape(const sci_type *t, int skip, const sci_type *formal) {
  return t->rank == formal->rank + skip &&
         !memcmp(t->shape + skip, formal->shape, formal->rank * sizeof *formal->shape);
}

/* Rows: window i starts at i formals; the formal's own shape: every window is the whole operand. */
static int64_t row_stride(const sc_function *f, int64_t length, uint32_t i, sci_id arg) {
  sc_context *cx = f->cx;
  const sci_type t = *sci_type_of(cx, arg), formal = *sci_type_of(cx, f->in[i].node);
  if (is_formal_shape(&t, 0, &formal)) return 0;
  if (is_formal_shape(&t, 1, &formal) && t.shape[0] == length) return formal.size;
  sci_fail(&cx->env, SC_ERR_SHAPE, "vmap of %s: argument %u has shape %s, input %s takes %s or %lld rows of that",
           f->name, i, sci_shape_text(cx, t.rank, t.shape), f->in[i].name,
           sci_shape_text(cx, formal.rank, formal.shape), (long long)length);
}

sc_expr sc_vmap(sc_function *f, int64_t length, const sc_expr *args, size_t n_args, size_t output) {
  sci_call_frame e;
  if (!f || any_null(args, n_args) || !SCI_ENTER(f->cx, &e)) return null_expr;
  sc_context *const cx = f->cx;
  sci_id *ids = arg_ids(f, "vmap", args, n_args, output);
  int64_t *starts = SCI_ZEROS(&cx->env.scratch, int64_t, n_args),
          *strides = SCI_ZEROS(&cx->env.scratch, int64_t, n_args);
  for (uint32_t i = 0; i < f->n_in; i++) {
    strides[i] = row_stride(f, length, i, ids[i]);
    ids[i] = sci_make_reshape(cx, ids[i], 1, (int64_t[]){sci_type_of(cx, ids[i])->size});
  }
  sci_id flat = sci_make_vmap(cx, f, length, ids, f->n_in, starts, strides, (uint32_t)output);
  const sci_type y = *sci_type_of(cx, f->out[output].node);
  int64_t shape[SC_MAX_RANK + 1] = {length};
  for (int i = 0; i < y.rank; i++) shape[i + 1] = y.shape[i];
  sci_id id = sci_make_reshape(cx, flat, y.rank + 1, shape);
  sci_return(cx, &e);
  return sci_wrap(cx, id);
}

sc_status sc_verify(const sc_function *f) {
  if (!f) return SC_ERR_ARGUMENT;
  sc_context *const cx = f->cx;
  const size_t before = cx->env.n_diags;
  sci_call_frame e;
  if (!SCI_ENTER(cx, &e)) return cx->env.n_diags > before ? cx->env.diags[before].status : SC_ERR_VERIFY;
  sci_verify(cx, f);
  sci_return(cx, &e);
  return SC_OK;
}
