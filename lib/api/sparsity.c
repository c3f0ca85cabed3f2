/* Owns the public functions of scaly/sparsity.h: patterns, colorings and reports, copied out of the scratch arena. */
#include "scaly/sparsity.h"

#include "lib/ad/coloring.h"
#include "lib/ad/derive.h"
#include "lib/api/enter.h"

/* ---- patterns ---- */

struct sc_sparsity {
  sc_pattern pattern;
  sci_arena arena; /* its arrays */
};

static void destroy_sparsity(void *p) {
  sc_sparsity *s = p;
  sci_env *env = s->arena.env;
  sci_arena_free(&s->arena);
  sci_raw_free(env, s, sizeof *s);
}

/* The pattern of one request; the graph that it was read from is forgotten again. */
static sc_sparsity *pattern_of(sc_function *f, sc_request r) {
  sci_call_frame e;
  if (!f || !SCI_ENTER(f->cx, &e)) return NULL;
  sc_context *cx = f->cx;
  sc_sparsity *s = sci_raw(&cx->env, NULL, 0, sizeof *s);
  sci_arena_init(&s->arena, &cx->env);
  sci_defer(&cx->env, destroy_sparsity, s);
  const sc_function *g = sci_derive(cx, f, NULL, &r, 1, NULL);
  s->pattern = *sci_copy_pattern(&s->arena, g->out[0].pattern);
  sci_keep(&cx->env, s);
  sci_context_rollback(cx, e.mark);
  sci_return(cx, &e);
  return s;
}

sc_sparsity *sc_sparsity_jacobian(sc_function *f, const char *of, const char *wrt, sc_layout layout) {
  return pattern_of(f, (sc_request){.kind = SC_REQUEST_SPJAC, .of = of, .wrt = wrt, .layout = layout});
}

sc_sparsity *sc_sparsity_hessian(sc_function *f, const char *of, const char *wrt, sc_triangle triangle,
                                 sc_layout layout) {
  sc_request_kind kind = of ? SC_REQUEST_SPHESS : SC_REQUEST_SPLAGHESS;
  return pattern_of(f, (sc_request){.kind = kind, .of = of, .wrt = wrt, .triangle = triangle, .layout = layout});
}

const sc_pattern *sc_sparsity_pattern(const sc_sparsity *s) {
  return s ? &s->pattern : NULL;
}

void sc_sparsity_destroy(sc_sparsity *s) {
  if (s) destroy_sparsity(s);
}

/* ---- colorings ---- */

static const char *const methods[] = {"auto", "column", "row", "bidirectional", "star", "acyclic"};
static const char *const orders[] = {"auto", "natural", "largest first"};

const char *sc_coloring_method_name(sc_coloring_method method) {
  return (unsigned)method <= SC_COLORING_ACYCLIC ? methods[method] : "unknown";
}

const char *sc_coloring_order_name(sc_coloring_order order) {
  return (unsigned)order <= SC_ORDER_LARGEST_FIRST ? orders[order] : "unknown";
}

typedef struct owned_coloring {
  sc_coloring public; /* first: a handle is a pointer to it */
  sci_arena arena;
} owned_coloring;

static void destroy_coloring(void *p) {
  owned_coloring *c = p;
  sci_env *env = c->arena.env;
  sci_arena_free(&c->arena);
  sci_raw_free(env, c, sizeof *c);
}

static const int32_t *copy_ints(sci_arena *arena, const int32_t *from, int64_t n) {
  int32_t *to = SCI_ARRAY(arena, int32_t, n);
  if (n && from) memcpy(to, from, (size_t)n * sizeof *to);
  return from ? to : NULL;
}

/* The row-major recovery map in the order of the pattern's stored values. */
static void copy_recovery(owned_coloring *o, const sci_coloring *c, const int32_t *number) {
  sci_arena *arena = &o->arena, *scratch = &arena->env->scratch;
  int64_t nnz = o->public.nnz;
  int32_t *product = SCI_ARRAY(arena, int32_t, nnz), *at = SCI_ARRAY(arena, int32_t, nnz);
  uint8_t *reverse = SCI_ARRAY(arena, uint8_t, nnz);
  for (int64_t k = 0; k < nnz; k++)
    product[k] = c->color[number[k]], at[k] = c->at[number[k]], reverse[k] = c->reversed[number[k]];
  o->public.product = product, o->public.at = at, o->public.reverse = reverse;
  if (!c->minus_ptr) return;
  int32_t *ptr = SCI_ZEROS(arena, int32_t, nnz + 1), *minus = SCI_ARRAY(arena, int32_t, c->minus_ptr[nnz]);
  int32_t *sequence = SCI_ARRAY(arena, int32_t, nnz), *stored = SCI_ARRAY(scratch, int32_t, nnz), n = 0;
  for (int64_t k = 0; k < nnz; k++) stored[number[k]] = (int32_t)k;
  for (int64_t k = 0; k < nnz; k++) {
    int32_t m = c->minus_ptr[number[k]], end = c->minus_ptr[number[k] + 1];
    for (ptr[k + 1] = ptr[k]; m < end; m++) minus[ptr[k + 1]++] = stored[c->minus[m]];
  }
  for (int32_t level = 0; level < c->n_levels; level++)
    for (int64_t k = 0; k < nnz; k++)
      if (c->level[number[k]] == level) sequence[n++] = (int32_t)k;
  o->public.subtract_ptr = ptr, o->public.subtract = minus, o->public.sequence = sequence;
}

static void check_hessian(sc_context *cx, const sc_pattern *p, const sci_rows *rows) {
  bool symmetric = p->nrow == p->ncol;
  const int32_t *mirror = symmetric ? sci_rows_mirrors(cx, rows) : NULL;
  for (int64_t k = 0; k < p->nnz && symmetric; k++) symmetric = mirror[k] >= 0;
  if (!symmetric)
    sci_fail(&cx->env, SC_ERR_ARGUMENT,
             "sc_coloring_hessian: the pattern of the %lldx%lld matrix is not symmetric with both triangles",
             (long long)p->nrow, (long long)p->ncol);
}

static void check_request(sc_context *cx, const char *what, const sc_pattern *p, bool hessian,
                          const sc_coloring_options *o) {
  bool stars = o->method == SC_COLORING_STAR || o->method == SC_COLORING_ACYCLIC;
  if ((unsigned)o->method > SC_COLORING_ACYCLIC || (unsigned)o->order > SC_ORDER_LARGEST_FIRST ||
      !(o->reverse_weight >= 0) || !(o->product_cost >= 0))
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: an option is unknown or negative", what);
  if (o->method != SC_COLORING_AUTO && stars != hessian)
    sci_fail(&cx->env, SC_ERR_ARGUMENT, "%s: the method %s is for %s", what, methods[o->method],
             stars ? "Hessians" : "Jacobians");
  if (!p || !sci_pattern_fits(p))
    sci_fail(&cx->env, SC_ERR_INDEX, "%s: the pattern is missing, not ordered, or leaves its matrix", what);
}

static const sc_coloring *color(sc_context *cx, const char *what, const sc_pattern *p, bool hessian,
                                const sc_coloring_options *options) {
  sci_call_frame e;
  if (!cx || !SCI_ENTER(cx, &e)) return NULL;
  sc_coloring_options o = options ? *options : (sc_coloring_options){0};
  check_request(cx, what, p, hessian, &o);
  int32_t *number;
  const sci_rows *rows = sci_rows_of_pattern(cx, p, &number);
  if (hessian) check_hessian(cx, p, rows);
  sci_coloring c = hessian ? sci_color_hessian(cx, rows, &o) : sci_color_jacobian(cx, rows, p->ncol, &o);
  owned_coloring *owned = sci_raw(&cx->env, NULL, 0, sizeof *owned);
  *owned = (owned_coloring){
      .public = {.method = c.method, .order = c.order, .nrow = p->nrow, .ncol = p->ncol, .nnz = p->nnz}};
  sci_arena_init(&owned->arena, &cx->env);
  sci_defer(&cx->env, destroy_coloring, owned);
  owned->public.column_colors = (int32_t)c.n_forward, owned->public.row_colors = (int32_t)c.n_reverse;
  owned->public.column_color = copy_ints(&owned->arena, c.column_color, p->ncol);
  owned->public.row_color = copy_ints(&owned->arena, c.row_color, p->nrow);
  copy_recovery(owned, &c, number);
  sci_keep(&cx->env, owned);
  sci_return(cx, &e);
  return &owned->public;
}

const sc_coloring *sc_coloring_jacobian(sc_context *cx, const sc_pattern *pattern, const sc_coloring_options *options) {
  return color(cx, "sc_coloring_jacobian", pattern, false, options);
}

const sc_coloring *sc_coloring_hessian(sc_context *cx, const sc_pattern *pattern, const sc_coloring_options *options) {
  return color(cx, "sc_coloring_hessian", pattern, true, options);
}

void sc_coloring_destroy(const sc_coloring *c) {
  if (c) destroy_coloring((void *)(uintptr_t)c);
}

/* ---- reports ---- */

size_t sc_function_matrices(const sc_function *f, sc_matrix_report *reports, size_t capacity) {
  sci_call_frame e;
  if (!f || !SCI_ENTER(f->cx, &e)) return 0;
  sc_function **all;
  uint32_t n = sci_callees(f->cx, (sc_function *)(uintptr_t)f, false, &all);
  size_t found = 0;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 0; i < all[k]->n_out; i++) {
      if (!all[k]->out[i].report) continue;
      if (found < capacity) reports[found] = *all[k]->out[i].report;
      found++;
    }
  sci_return(f->cx, &e);
  return found;
}
