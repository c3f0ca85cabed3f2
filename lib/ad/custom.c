/* Owns the use of derivatives that functions bring along.
 *
 * A jvp is linear in the tangents, a vjp in the adjoints, so either one serves both modes: J' w is the adjoint of v ->
 * J v, and J v the adjoint of w -> J' w (taken at zero; being linear, they are the same everywhere). */
#include "lib/ad/ad.h"

sci_id sci_root_of(sc_context *cx, sc_function *f, uint32_t o) {
  if (!sci_is_custom(f)) return f->out[o].node;
  sci_id *args = SCI_ARRAY(&cx->env.scratch, sci_id, f->n_in);
  for (uint32_t i = 0; i < f->n_in; i++) args[i] = f->in[i].node;
  return sci_make_call(cx, f, args, f->n_in, o);
}

/* Arguments of a product: values that all seeds share, then one per seed. */
typedef struct product {
  sc_function *g;
  sci_id *args;
  uint32_t n, shared;
} product;

static product begin(const sci_ad *ad, sc_function *f, sc_function *g) {
  product p = {g, SCI_ARRAY(&ad->cx->env.scratch, sci_id, g->n_in), f->n_in, f->n_in};
  for (uint32_t i = 0; i < f->n_in; i++) p.args[i] = f->in[i].node;
  return p;
}

static sci_id flat(const sci_ad *ad, sci_id value) {
  return sci_make_reshape(ad->cx, value, 1, (int64_t[]){sci_type_of(ad->cx, value)->size});
}

/* One call; with several seeds, one map over them. */
static sci_id multiply(const sci_ad *ad, const product *p, uint32_t output) {
  sc_context *cx = ad->cx;
  if (!ad->seeds) return sci_make_call(cx, p->g, p->args, p->n, output);
  sci_arena *scratch = &cx->env.scratch;
  sci_id *args = SCI_ARRAY(scratch, sci_id, p->n);
  int64_t *starts = SCI_ZEROS(scratch, int64_t, p->n), *strides = SCI_ZEROS(scratch, int64_t, p->n);
  for (uint32_t i = 0; i < p->n; i++) {
    args[i] = flat(ad, p->args[i]);
    if (i >= p->shared) strides[i] = sci_type_of(cx, p->g->in[i].node)->size;
  }
  sci_id all = sci_make_vmap(cx, p->g, ad->seeds, args, p->n, starts, strides, output);
  return sci_to_shape(ad, all, sci_seeded(ad, sci_shape_of(cx, p->g->out[output].node)));
}

static sci_id or_zeros(const sci_ad *ad, sci_id value, sci_id like) {
  return value == SCI_NONE ? sci_zeros_like(ad, like) : value;
}

/* The products of f's jvp (or vjp) with `seeds`, in the order of its outputs, where `wanted`. */
static void direct(const sci_ad *ad, sc_function *f, sc_function *g, const sci_id *seeds, const bool *wanted,
                   sci_id *out) {
  product p = begin(ad, f, g);
  for (; p.n < g->n_in; p.n++) p.args[p.n] = or_zeros(ad, seeds[p.n - f->n_in], g->in[p.n].node);
  for (uint32_t k = 0; k < g->n_out; k++) out[k] = wanted[k] ? multiply(ad, &p, k) : SCI_NONE;
}

/* The products of the transpose: of g's adjoint with `seeds`, which belong to g's outputs, in the order of g's own
 * seeds. */
static void transposed(const sci_ad *ad, sc_function *f, sc_function *g, const sci_id *seeds, const bool *wanted,
                       sci_id *out) {
  sci_arena *scratch = &ad->cx->env.scratch;
  bool *active = SCI_ZEROS(scratch, bool, g->n_in), *seeded = SCI_ZEROS(scratch, bool, g->n_out);
  for (uint32_t i = f->n_in; i < g->n_in; i++) active[i] = wanted[i - f->n_in], out[i - f->n_in] = SCI_NONE;
  for (uint32_t k = 0; k < g->n_out; k++) seeded[k] = seeds[k] != SCI_NONE;
  sci_ad one = *ad;
  one.seeds = 0;
  sci_derived d = sci_callee_reverse(&one, g, active, seeded, false);
  if (!d.n) return;
  product p = begin(ad, f, d.f);
  for (; p.n < g->n_in; p.n++) p.args[p.n] = sci_zeros_like(&one, g->in[p.n].node);
  p.shared = p.n;
  for (uint32_t k = 0; k < g->n_out; k++)
    if (seeded[k]) p.args[p.n++] = seeds[k];
  for (uint32_t k = 0; k < d.n; k++) out[d.of[k] - f->n_in] = multiply(ad, &p, k);
}

void sci_custom_forward(const sci_ad *ad, sc_function *f, const sci_id *tangents, sci_id *out) {
  sci_arena *scratch = &ad->cx->env.scratch;
  uint32_t *in = SCI_ARRAY(scratch, uint32_t, f->n_in), *of = SCI_ARRAY(scratch, uint32_t, f->n_out);
  uint32_t n_in = sci_tangent_inputs(f, in), n_out = sci_tangent_outputs(f, of);
  sci_id *seeds = SCI_ARRAY(scratch, sci_id, n_in), *values = SCI_ARRAY(scratch, sci_id, n_out);
  bool *wanted = SCI_ARRAY(scratch, bool, n_out);
  for (uint32_t i = 0; i < n_in; i++) seeds[i] = tangents[in[i]];
  for (uint32_t i = 0; i < n_out; i++) wanted[i] = true;
  for (uint32_t i = 0; i < f->n_out; i++) out[i] = SCI_NONE;
  if (f->custom.jvp)
    direct(ad, f, f->custom.jvp, seeds, wanted, values);
  else
    transposed(ad, f, f->custom.vjp, seeds, wanted, values);
  for (uint32_t i = 0; i < n_out; i++) out[of[i]] = values[i];
}

void sci_custom_reverse(const sci_ad *ad, sc_function *f, const sci_id *adjoints, const bool *active, sci_id *out) {
  sci_arena *scratch = &ad->cx->env.scratch;
  uint32_t *in = SCI_ARRAY(scratch, uint32_t, f->n_in), *of = SCI_ARRAY(scratch, uint32_t, f->n_out);
  uint32_t n_in = sci_tangent_inputs(f, in), n_out = sci_tangent_outputs(f, of);
  sci_id *seeds = SCI_ARRAY(scratch, sci_id, n_out), *values = SCI_ARRAY(scratch, sci_id, n_in);
  bool *wanted = SCI_ARRAY(scratch, bool, n_in);
  for (uint32_t i = 0; i < n_out; i++) seeds[i] = adjoints[of[i]];
  for (uint32_t i = 0; i < n_in; i++) wanted[i] = active[in[i]];
  for (uint32_t i = 0; i < f->n_in; i++) out[i] = SCI_NONE;
  if (f->custom.vjp)
    direct(ad, f, f->custom.vjp, seeds, wanted, values);
  else
    transposed(ad, f, f->custom.jvp, seeds, wanted, values);
  for (uint32_t i = 0; i < n_in; i++) out[in[i]] = values[i];
}
