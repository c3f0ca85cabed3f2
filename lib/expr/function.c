/* Owns functions: what makes one valid, its ports, its hint, its life. */
#include "lib/base/text.h"
#include "lib/expr/expr.h"
#include "scaly/sparsity.h"

#include <stdlib.h>

/* ---- names ---- */

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void sci_check_name(sc_context *cx, const char *what, const char *name, bool port) {
  if (!name || !*name) sci_fail(&cx->env, SC_ERR_NAME, "%s: the name is empty", what);
  size_t n = strlen(name);
  if (n > SCI_NAME_MAX)
    sci_fail(&cx->env, SC_ERR_NAME, "%s: the name %.40s... has %zu characters, at most %d are allowed", what, name, n,
             SCI_NAME_MAX);
  bool good = is_letter(name[0]);
  for (const char *s = name; *s; s++) good = good && (is_letter(*s) || (*s >= '0' && *s <= '9') || (port && *s == ':'));
  if (!good)
    sci_fail(&cx->env, SC_ERR_NAME,
             "%s: the name \"%s\" is not an identifier (letters, digits and _, not a digit first)", what, name);
}

static int compare_mangled(const void *a, const void *b) {
  const char *s = *(const char *const *)a, *t = *(const char *const *)b;
  for (;; s++, t++) {
    char c = *s == ':' ? '_' : *s, d = *t == ':' ? '_' : *t;
    if (c != d) return (unsigned char)c < (unsigned char)d ? -1 : 1;
    if (!c) return 0;
  }
}

/* Unique after mangling: "lam:f" and "lam_f" are one name in generated code. */
static void check_ports(sc_context *cx, const char *name, const sc_named *in, size_t n_in, const sc_named *out,
                        size_t n_out) {
  size_t n = n_in + n_out;
  const char **all = SCI_ARRAY(&cx->env.scratch, const char *, n);
  for (size_t i = 0; i < n; i++) {
    const sc_named *p = i < n_in ? &in[i] : &out[i - n_in];
    const char *kind = i < n_in ? "input" : "output";
    sci_check_name(cx, sci_asprintf(&cx->env.scratch, "%s %zu of function %s", kind, i < n_in ? i : i - n_in, name),
                   p->name, true);
    if (sc_is_null(p->expr))
      sci_fail(&cx->env, SC_ERR_ARGUMENT, "function %s: %s %s is a null expression", name, kind, p->name);
    all[i] = p->name;
  }
  qsort(all, n, sizeof *all, compare_mangled);
  for (size_t i = 1; i < n; i++)
    if (!compare_mangled(&all[i - 1], &all[i]))
      sci_fail(&cx->env, SC_ERR_NAME, "function %s: the name %s is used twice among its inputs and outputs", name,
               all[i]);
}

/* ---- patterns ---- */

static bool increasing(const int32_t *v, int64_t lo, int64_t hi, int64_t limit) {
  for (int64_t k = lo; k < hi; k++)
    if (v[k] < 0 || v[k] >= limit || (k > lo && v[k] <= v[k - 1])) return false;
  return true;
}

static bool compressed_fits(const sc_pattern *p, int64_t n_outer, int64_t n_inner) {
  if (p->outer[0] != 0 || p->outer[n_outer] != p->nnz) return false;
  for (int64_t i = 0; i < n_outer; i++)
    if (p->outer[i + 1] < p->outer[i] || p->outer[i + 1] > p->nnz ||
        !increasing(p->inner, p->outer[i], p->outer[i + 1], n_inner))
      return false;
  return true;
}

static bool coordinates_fit(const sc_pattern *p) {
  for (int64_t k = 0; k < p->nnz; k++) {
    if (p->outer[k] < 0 || p->outer[k] >= p->nrow || p->inner[k] < 0 || p->inner[k] >= p->ncol) return false;
    if (k && (p->outer[k] < p->outer[k - 1] || (p->outer[k] == p->outer[k - 1] && p->inner[k] <= p->inner[k - 1])))
      return false;
  }
  return true;
}

static bool sizes_fit(const sc_pattern *p) {
  bool has_arrays = (p->outer || (p->layout == SC_COO && !p->nnz)) && (p->inner || !p->nnz);
  return has_arrays && p->nrow >= 0 && p->nrow < SC_MAX_ELEMENTS && p->ncol >= 0 && p->ncol < SC_MAX_ELEMENTS &&
         p->nnz >= 0 && p->nnz <= SC_MAX_ELEMENTS && (unsigned)p->layout <= SC_COO;
}

bool sci_pattern_fits(const sc_pattern *p) {
  if (!sizes_fit(p)) return false;
  if (p->layout == SC_COO) return coordinates_fit(p);
  return p->layout == SC_CSC ? compressed_fits(p, p->ncol, p->nrow) : compressed_fits(p, p->nrow, p->ncol);
}

sc_pattern *sci_copy_pattern(sci_arena *arena, const sc_pattern *p) {
  int64_t n_outer = p->layout == SC_CSC ? p->ncol + 1 : p->layout == SC_CSR ? p->nrow + 1 : p->nnz;
  sc_pattern *copy = SCI_NEW(arena, sc_pattern);
  int32_t *outer = SCI_ARRAY(arena, int32_t, n_outer), *inner = SCI_ARRAY(arena, int32_t, p->nnz);
  if (n_outer) memcpy(outer, p->outer, (size_t)n_outer * sizeof *outer);
  if (p->nnz) memcpy(inner, p->inner, (size_t)p->nnz * sizeof *inner);
  *copy = (sc_pattern){p->layout, p->nrow, p->ncol, p->nnz, outer, inner};
  return copy;
}

static const sc_pattern *copy_pattern(sc_function *f, const sc_named *out) {
  sc_context *cx = f->cx;
  const sc_pattern *p = out->pattern;
  const sci_type t = *sci_type_of(cx, out->expr.id);
  if (!sizes_fit(p) || t.rank != 1 || t.size != p->nnz)
    sci_fail(&cx->env, SC_ERR_SHAPE,
             "function %s: sparse output %s has a pattern of %lld stored values of a %lldx%lld matrix and values of "
             "shape %s",
             f->name, out->name, (long long)p->nnz, (long long)p->nrow, (long long)p->ncol,
             sci_shape_text(cx, t.rank, t.shape));
  if (!sci_pattern_fits(p))
    sci_fail(&cx->env, SC_ERR_INDEX,
             "function %s: the pattern of sparse output %s is not ordered, or leaves the %lldx%lld matrix", f->name,
             out->name, (long long)p->nrow, (long long)p->ncol);
  return sci_copy_pattern(&f->arena, p);
}

/* ---- hints ---- */

static uint8_t stronger(uint8_t a, uint8_t b) {
  return a > b ? a : b; /* block over scalar over auto: the order of sc_hint */
}

void sci_function_hint_set(sc_function *f, sc_hint hint) {
  f->set_hint = (uint8_t)hint;
  f->hint = stronger(f->node_hint, f->set_hint);
}

/* ---- making ---- */

sci_id sci_handle(sc_context *cx, sc_expr e) {
  if (e.cx != cx) sci_fail(&cx->env, SC_ERR_STALE, "an expression belongs to another context");
  if (e.generation != cx->generation || e.id >= cx->n_nodes)
    sci_fail(&cx->env, SC_ERR_STALE, "an expression was made before the last sc_context_collect and was not kept");
  return e.id;
}

static void check_inputs(sc_function *f) {
  sc_context *cx = f->cx;
  sci_order o = sci_reach_function(cx, f);
  bool *declared = SCI_ZEROS(&cx->env.scratch, bool, o.n);
  for (uint32_t i = 0; i < f->n_in; i++) {
    uint32_t k = sci_number(&o, f->in[i].node);
    if (sci_node_at(cx, f->in[i].node)->op != SCI_X_input)
      sci_fail(&cx->env, SC_ERR_ARGUMENT, "function %s: input %s is not an input expression but the result of %s",
               f->name, f->in[i].name, sci_xop_name(sci_node_at(cx, f->in[i].node)->op));
    if (declared[k])
      sci_fail(&cx->env, SC_ERR_ARGUMENT, "function %s: input %s is declared twice", f->name, f->in[i].name);
    declared[k] = true;
  }
  sci_text missing;
  sci_text_init(&missing, &cx->env.scratch);
  for (uint32_t k = 0; k < o.n; k++) {
    const sci_node *n = sci_node_at(cx, o.ids[k]);
    f->node_hint = stronger(f->node_hint, n->hint);
    if (n->op != SCI_X_input || declared[k]) continue;
    if (missing.n) sci_put(&missing, ", ");
    sci_put(&missing, ((const sci_input_attr *)sci_attr(cx, o.ids[k]))->name);
  }
  if (!missing.n) return;
  sci_text known;
  sci_text_init(&known, &cx->env.scratch);
  for (uint32_t i = 0; i < f->n_in; i++) sci_putf(&known, "%s%s", i ? ", " : "", f->in[i].name);
  sci_fail(&cx->env, SC_ERR_NAME, "function %s: its outputs depend on %s, which it does not declare (declared: %s)",
           f->name, missing.data, known.n ? known.data : "none");
}

static void destroy(void *f) {
  sci_function_destroy(f);
}

static void copy_formals(sc_function *f, sci_formal **to, const sc_named *from, size_t n) {
  *to = SCI_ZEROS(&f->arena, sci_formal, n);
  for (size_t i = 0; i < n; i++) {
    sci_formal *p = &(*to)[i];
    p->node = sci_handle(f->cx, from[i].expr);
    p->name = sci_strdup(&f->arena, from[i].name);
    if (from[i].pattern && to == &f->out) p->pattern = copy_pattern(f, &from[i]);
  }
}

sc_function *sci_make_function(sc_context *cx, const char *name, const sc_named *in, size_t n_in, const sc_named *out,
                               size_t n_out) {
  sci_env *env = &cx->env;
  sci_check_name(cx, "function", name, false);
  if (n_in > INT32_MAX || n_out > INT32_MAX)
    sci_fail(env, SC_ERR_OVERFLOW, "function %s: too many inputs or outputs", name);
  if (!n_out) sci_fail(env, SC_ERR_ARGUMENT, "function %s: it has no outputs", name);
  check_ports(cx, name, in, n_in, out, n_out);
  if (cx->n_functions == cx->cap_functions) {
    uint32_t cap = cx->cap_functions ? 2 * cx->cap_functions : 8;
    cx->functions = sci_raw(env, cx->functions, cx->cap_functions * sizeof *cx->functions, cap * sizeof *cx->functions);
    cx->cap_functions = cap;
  }
  sc_function *f = sci_raw(env, NULL, 0, sizeof *f);
  *f = (sc_function){.cx = cx, .id = cx->n_functions, .n_in = (uint32_t)n_in, .n_out = (uint32_t)n_out, .held = true};
  sci_arena_init(&f->arena, env);
  f->arena.next_size = 512; /* most functions have few ports */
  sci_defer(env, destroy, f);
  f->name = sci_strdup(&f->arena, name);
  copy_formals(f, &f->in, in, n_in);
  copy_formals(f, &f->out, out, n_out);
  check_inputs(f);
  f->hint = f->node_hint;
  sci_keep(env, f);
  cx->functions[cx->n_functions++] = f;
  return f;
}

void sci_function_report(sc_function *f, uint32_t output, const sc_matrix_report *report) {
  sc_matrix_report *copy = SCI_NEW(&f->arena, sc_matrix_report);
  *copy = *report;
  copy->function = f->name, copy->output = f->out[output].name;
  f->out[output].report = copy;
}

void sci_function_destroy(sc_function *f) {
  sc_context *cx = f->cx;
  if (f->id < cx->n_functions && cx->functions[f->id] == f) cx->functions[f->id] = NULL;
  sci_arena_free(&f->arena);
  sci_raw_free(&cx->env, f, sizeof *f);
}

uint32_t sci_find_port(sc_context *cx, const sc_function *f, bool output, const char *name) {
  const sci_formal *ports = output ? f->out : f->in;
  uint32_t n = output ? f->n_out : f->n_in;
  sci_text known;
  sci_text_init(&known, &cx->env.scratch);
  for (uint32_t i = 0; i < n; i++)
    if (name && !strcmp(ports[i].name, name)) return i;
  for (uint32_t i = 0; i < n; i++) sci_putf(&known, "%s%s", i ? ", " : "", ports[i].name);
  sci_fail(&cx->env, SC_ERR_NAME, "function %s has no %s \"%.64s\" (there are: %s)", f->name,
           output ? "output" : "input", name ? name : "", known.n ? known.data : "none");
}
