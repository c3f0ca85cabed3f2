/* Owns derivatives through calls and maps: one derivative function per callee and set of active operands, called or
 * mapped. */
#include "lib/ad/jacobian.h"

enum { FORWARD, REVERSE, JACOBIAN };

/* What identifies a derivative of a callee; flags follow: active inputs, then seeded outputs (reverse). */
typedef struct key {
  uint32_t callee;
  uint8_t mode, trailing, nonsmooth, strict_nan, guarded;
  int64_t seeds;
  bool flags[];
} key;

static uint32_t key_blob(const sci_ad *ad, const sc_function *f, int mode, bool trailing, const bool *active,
                         const bool *seeded) {
  sc_context *cx = ad->cx;
  size_t n_flags = f->n_in + (seeded ? f->n_out : 0), size = sizeof(key) + n_flags * sizeof(bool);
  key *k = sci_alloc_zero(&cx->env.scratch, 1, size);
  k->callee = f->id;
  k->mode = (uint8_t)mode, k->trailing = trailing && ad->seeds, k->nonsmooth = (uint8_t)ad->nonsmooth,
  k->strict_nan = ad->strict_nan;
  k->guarded = mode == REVERSE ? ad->guarded : 0;
  k->seeds = ad->seeds;
  memcpy(k->flags, active, f->n_in * sizeof(bool));
  if (seeded) memcpy(k->flags + f->n_in, seeded, f->n_out * sizeof(bool));
  return sci_intern_blob(cx, k, size);
}

/* ---- the seed axis in front or behind ---- */

static sci_id turn(const sci_ad *ad, sci_id t, bool last) {
  if (!ad->seeds) return t;
  sci_shape s = sci_shape_of(ad->cx, t);
  int axes[SC_MAX_RANK + 1] = {0};
  for (int k = 0; k < s.rank; k++) axes[k] = last ? (k + 1) % s.rank : (k + s.rank - 1) % s.rank;
  return sci_make_transpose(ad->cx, t, axes);
}

sci_id sci_seeds_last(const sci_ad *ad, sci_id t) {
  return turn(ad, t, true);
}

sci_id sci_seeds_first(const sci_ad *ad, sci_id t) {
  return turn(ad, t, false);
}

/* A seed input for `value`: (K, shape), or (shape, K). Returned as a sweep wants it, seeds first. */
static sci_id seed_input(const sci_ad *ad, sci_id value, const char *name, bool trailing, sci_id *input) {
  sci_shape s = sci_seeded(ad, sci_shape_of(ad->cx, value));
  if (trailing && ad->seeds) {
    memmove(s.dim, s.dim + 1, (size_t)(s.rank - 1) * sizeof *s.dim);
    s.dim[s.rank - 1] = ad->seeds;
  }
  sc_dtype dtype = (sc_dtype)sci_type_of(ad->cx, value)->dtype;
  *input = sci_make_input(ad->cx, name, dtype, true, s.rank, s.dim);
  return trailing ? sci_seeds_first(ad, *input) : *input;
}

/* ---- building derivative functions ---- */

typedef struct builder {
  const sci_ad *ad;
  sc_function *f;
  sc_named *in, *out;
  size_t n_in, n_out;
  uint32_t *of, *guarded;
} builder;

const char *sci_fresh_name(sci_arena *scratch, const sc_named *in, size_t n, const char *wanted) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(in[i].name, wanted)) {
      wanted = sci_asprintf(scratch, "%s_", wanted);
      i = (size_t)-1;
    }
  return wanted;
}

static builder begin(const sci_ad *ad, sc_function *f) {
  sci_arena *scratch = &ad->cx->env.scratch;
  uint32_t most = f->n_in + f->n_out;
  builder b = {
      .ad = ad, .f = f, .in = SCI_ZEROS(scratch, sc_named, most + f->n_in), .out = SCI_ZEROS(scratch, sc_named, most)};
  b.of = SCI_ARRAY(scratch, uint32_t, most), b.guarded = SCI_ZEROS(scratch, uint32_t, most);
  for (uint32_t i = 0; i < f->n_in; i++)
    b.in[b.n_in++] = (sc_named){f->in[i].name, sci_wrap(ad->cx, f->in[i].node), NULL};
  return b;
}

static sci_id add_seed(builder *b, const char *prefix, const sci_formal *of, bool trailing) {
  sci_id input;
  sci_arena *scratch = &b->ad->cx->env.scratch;
  const char *name = sci_fresh_name(scratch, b->in, b->n_in, sci_asprintf(scratch, "%s_%s", prefix, of->name));
  sci_id seed = seed_input(b->ad, of->node, name, trailing, &input);
  b->in[b->n_in++] = (sc_named){name, sci_wrap(b->ad->cx, input), NULL};
  return seed;
}

static void add_result(builder *b, const char *prefix, const char *name, uint32_t of, sci_id value, bool trailing) {
  if (value == SCI_NONE) return;
  if (trailing) value = sci_seeds_last(b->ad, value);
  b->out[b->n_out] =
      (sc_named){sci_asprintf(&b->ad->cx->env.scratch, "%s_%s", prefix, name), sci_wrap(b->ad->cx, value), NULL};
  b->of[b->n_out++] = of;
}

void sci_lower_as(const sci_ad *ad, sc_function *derived, const sc_function *f) {
  derived->held = false;
  derived->set_hint = derived->hint = f->hint;
  derived->strict_nan = f->strict_nan || ad->strict_nan;
}

/* The memo's data: what each output is of, then whether it is guarded. */
static sci_derived finish(builder *b, uint32_t blob, const char *prefix) {
  sc_context *cx = b->ad->cx;
  sci_derived d = {.n = (uint32_t)b->n_out, .of = b->of, .guarded = b->guarded};
  uint32_t *data = SCI_ARRAY(&cx->env.scratch, uint32_t, 2 * d.n);
  for (uint32_t k = 0; k < d.n; k++) data[k] = b->of[k], data[d.n + k] = b->guarded[k];
  if (d.n) {
    d.f = sci_make_function(cx, sci_asprintf(&cx->env.scratch, "%s_%s", prefix, b->f->name), b->in, b->n_in, b->out,
                            b->n_out);
    sci_lower_as(b->ad, d.f, b->f);
  }
  sci_memo_add(cx, blob, d.f ? d.f->id : SCI_NONE, sci_intern_blob(cx, data, 2 * d.n * sizeof *data));
  return d;
}

static bool find(sc_context *cx, uint32_t blob, sci_derived *d) {
  const sci_memo *m = sci_memo_find(cx, blob);
  if (!m) return false;
  const sci_blob *data = &cx->blobs[m->data];
  uint32_t n = (uint32_t)(data->size / (2 * sizeof *d->of));
  *d = (sci_derived){.f = m->function == SCI_NONE ? NULL : cx->functions[m->function], .n = n, .of = data->data};
  d->guarded = n ? d->of + n : NULL;
  return true;
}

static sci_id *no_ids(const sci_ad *ad, uint32_t n) {
  sci_id *ids = SCI_ARRAY(&ad->cx->env.scratch, sci_id, n);
  for (uint32_t i = 0; i < n; i++) ids[i] = SCI_NONE;
  return ids;
}

static sci_id *nodes_of(const sci_ad *ad, const sci_formal *list, uint32_t n) {
  sci_id *ids = SCI_ARRAY(&ad->cx->env.scratch, sci_id, n);
  for (uint32_t i = 0; i < n; i++) ids[i] = list[i].node;
  return ids;
}

sci_derived sci_callee_forward(const sci_ad *ad, sc_function *f, const bool *active, bool trailing) {
  uint32_t blob = key_blob(ad, f, FORWARD, trailing, active, NULL);
  sci_derived d;
  if (find(ad->cx, blob, &d)) return d;
  builder b = begin(ad, f);
  sci_id *tangents = no_ids(ad, f->n_in), *out = no_ids(ad, f->n_out);
  for (uint32_t i = 0; i < f->n_in; i++)
    if (active[i]) tangents[i] = add_seed(&b, "fwd", &f->in[i], trailing);
  if (sci_is_custom(f))
    sci_custom_forward(ad, f, tangents, out);
  else
    sci_forward(ad, f->n_in, nodes_of(ad, f->in, f->n_in), tangents, f->n_out, nodes_of(ad, f->out, f->n_out), out);
  for (uint32_t i = 0; i < f->n_out; i++) add_result(&b, "fwd", f->out[i].name, i, out[i], trailing);
  return finish(&b, blob, "fwd");
}

/* Adjoints of the active inputs; only these are nodes of the sweep. */
static void reverse_body(const sci_ad *ad, sc_function *f, const sci_id *seeds, const bool *active, sci_id *out,
                         bool *guarded) {
  sci_id *inputs = no_ids(ad, f->n_in), *adjoints = no_ids(ad, f->n_in);
  bool *zeros = SCI_ZEROS(&ad->cx->env.scratch, bool, f->n_in);
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->n_in; i++)
    if (active[i]) inputs[n++] = f->in[i].node;
  sci_reverse(ad, f->n_out, nodes_of(ad, f->out, f->n_out), seeds, n, inputs, adjoints, zeros);
  for (uint32_t i = 0, k = 0; i < f->n_in; i++)
    if (active[i]) guarded[i] = zeros[k], out[i] = adjoints[k++];
}

sci_derived sci_callee_reverse(const sci_ad *ad, sc_function *f, const bool *active, const bool *seeded,
                               bool trailing) {
  uint32_t blob = key_blob(ad, f, REVERSE, trailing, active, seeded);
  sci_derived d;
  if (find(ad->cx, blob, &d)) return d;
  builder b = begin(ad, f);
  sci_id *seeds = no_ids(ad, f->n_out), *out = no_ids(ad, f->n_in);
  bool *guarded = SCI_ZEROS(&ad->cx->env.scratch, bool, f->n_in);
  for (uint32_t i = 0; i < f->n_out; i++)
    if (seeded[i]) seeds[i] = add_seed(&b, "lam", &f->out[i], trailing);
  if (sci_is_custom(f))
    sci_custom_reverse(ad, f, seeds, active, out);
  else
    reverse_body(ad, f, seeds, active, out, guarded);
  for (uint32_t i = 0; i < f->n_in; i++) {
    b.guarded[b.n_out] = guarded[i];
    add_result(&b, "adj", f->in[i].name, i, out[i], trailing);
  }
  return finish(&b, blob, "adj");
}

/* ---- Jacobians of callees ---- */

/* Also identifies the entries kept and how: a pattern in row-major order. */
static uint32_t jacobian_key(const sci_ad *ad, const sc_function *f, const bool *active, const bool *used,
                             const sci_jacobian_request *q) {
  sc_context *cx = ad->cx;
  const sci_rows *only = q->only;
  sci_id parts[] = {key_blob(ad, f, JACOBIAN, false, active, used),
                    sci_intern_blob(cx, only->ptr, (size_t)(only->n + 1) * sizeof *only->ptr),
                    sci_intern_blob(cx, only->col, (size_t)only->ptr[only->n] * sizeof *only->col), q->symmetric};
  return sci_intern_blob(cx, parts, sizeof parts);
}

/* The wanted entries that the derivative graph does not have (simplified away) are zeros among the values. */
static sci_id complete(sc_context *cx, const sci_sparse *s, const sci_jacobian_request *q) {
  int64_t nnz = sci_rows_nnz(q->only), k = 0;
  int32_t *place = SCI_ARRAY(&cx->env.scratch, int32_t, s->nnz);
  for (int64_t r = 0; r < q->only->n; r++)
    for (int32_t e = q->only->ptr[r]; e < q->only->ptr[r + 1]; e++)
      if (k < s->nnz && s->row[k] == r && s->col[k] == q->only->col[e]) place[k++] = e;
  if (!s->nnz) return sci_make_fill(cx, (sc_dtype)sci_type_of(cx, q->roots[0])->dtype, 1, &nnz, 0);
  return sci_make_scatter(cx, s->values, place, 1, &nnz);
}

/* What a Hessian's f is the adjoint of, and the adjoints it is handed. */
static void find_source(sc_context *cx, const sc_function *f, sci_jacobian_request *q) {
  const key *k = cx->blobs[sci_memo_of_function(cx, f)->key].data;
  const sc_function *source = cx->functions[k->callee];
  if (!source || sci_is_custom(source) || k->seeds || k->guarded) return;
  sci_id *of = SCI_ARRAY(&cx->env.scratch, sci_id, source->n_out),
         *seeds = SCI_ARRAY(&cx->env.scratch, sci_id, source->n_out);
  for (uint32_t o = 0; o < source->n_out; o++) {
    if (!k->flags[source->n_in + o]) continue;
    of[q->n_of] = source->out[o].node;
    seeds[q->n_of] = f->in[source->n_in + q->n_of].node;
    q->n_of++;
  }
  q->of = of, q->seeds = seeds;
}

sc_function *sci_callee_jacobian(const sci_ad *ad, sc_function *f, const bool *active, const bool *used,
                                 const sci_jacobian_request *request) {
  sc_context *cx = ad->cx;
  uint32_t blob = jacobian_key(ad, f, active, used, request);
  sci_derived d;
  if (find(cx, blob, &d)) return d.f;
  sci_jacobian_request own = *request, *q = &own;
  own.scalars = f->hint == SC_HINT_SCALAR  ? SCI_SCALARS_ALWAYS
                : f->hint == SC_HINT_BLOCK ? SCI_SCALARS_NEVER
                                           : SCI_SCALARS_IF_FEW;
  if (q->symmetric) find_source(cx, f, &own);
  sci_sparse s = sci_sparse_jacobian(ad, q);
  if (s.nnz != sci_rows_nnz(q->only)) s.values = complete(cx, &s, q);
  builder b = begin(ad, f);
  b.out[b.n_out++] = (sc_named){"jac", sci_wrap(cx, s.values), NULL};
  sc_function *jac =
      sci_make_function(cx, sci_asprintf(&cx->env.scratch, "jac_%s", f->name), b.in, b.n_in, b.out, b.n_out);
  sci_lower_as(ad, jac, f);
  sc_matrix_report report = s.report;
  report.nrow = s.n_rows, report.ncol = s.n_cols, report.nnz = s.nnz;
  sci_function_report(jac, 0, &report);
  sci_memo_add(cx, blob, jac->id, sci_intern_blob(cx, NULL, 0));
  return jac;
}

bool sci_is_gradient_of_inputs(sc_context *cx, const sc_function *f, const bool *active, const uint32_t *node) {
  const sci_memo *m = sci_memo_of_function(cx, f);
  if (!m || cx->blobs[m->key].size <= sizeof(key) || ((const key *)cx->blobs[m->key].data)->mode != REVERSE)
    return false;
  const uint32_t *of = cx->blobs[m->data].data;
  bool *used = SCI_ZEROS(&cx->env.scratch, bool, f->n_in);
  uint32_t last = 0;
  for (uint32_t o = 0; o < f->n_out; o++) {
    if (node[o] == SCI_NONE) continue;
    if (of[o] < last) return false;
    last = of[o];
    used[of[o]] = true;
  }
  for (uint32_t i = 0; i < f->n_in; i++)
    if (used[i] != active[i]) return false;
  return true;
}

/* ---- call and vmap nodes in a sweep ---- */

typedef struct site {
  bool map;
  const sci_call_attr *attr;
  sc_function *f;
  uint32_t n_args;
  const sci_id *args;
} site;

static site site_of(sc_context *cx, sci_id node) {
  const sci_node *n = sci_node_at(cx, node);
  const sci_call_attr *attr = sci_attr(cx, node);
  return (site){.map = n->op == SCI_X_vmap,
                .attr = attr,
                .f = cx->functions[attr->callee],
                .n_args = n->n_args,
                .args = sci_args(cx, n)};
}

/* Operands of the derivative's call: the original ones, then the seeds. */
typedef struct operands {
  sci_id *args;
  int64_t *starts, *strides;
  uint32_t n;
} operands;

static operands operands_of(const sci_ad *ad, const site *s, uint32_t more) {
  sci_arena *scratch = &ad->cx->env.scratch;
  uint32_t most = s->n_args + more;
  operands o = {SCI_ARRAY(scratch, sci_id, most), SCI_ARRAY(scratch, int64_t, most), SCI_ARRAY(scratch, int64_t, most),
                s->n_args};
  for (uint32_t i = 0; i < s->n_args; i++) {
    o.args[i] = s->args[i];
    o.starts[i] = s->map ? s->attr->windows[i] : 0;
    o.strides[i] = s->map ? s->attr->windows[s->n_args + i] : 0;
  }
  return o;
}

/* A seed of a mapped operand: rows of (flat, K), so that an iteration's window is contiguous. */
static void add_operand(const sci_ad *ad, operands *o, const site *s, sci_id seed, int64_t start, int64_t stride) {
  int64_t k = ad->seeds ? ad->seeds : 1;
  if (s->map && ad->seeds) {
    seed = sci_seeds_last(ad, seed);
    seed = sci_make_reshape(ad->cx, seed, 1, (int64_t[]){sci_type_of(ad->cx, seed)->size});
  }
  o->args[o->n] = seed;
  o->starts[o->n] = start * k;
  o->strides[o->n++] = stride * k;
}

/* Output `output` of the derivative at the site; a map's result comes back as (K, length * size). */
static sci_id apply(const sci_ad *ad, const site *s, const operands *o, sc_function *f, uint32_t output) {
  sc_context *cx = ad->cx;
  if (!s->map) return sci_make_call(cx, f, o->args, o->n, output);
  sci_id flat = sci_make_vmap(cx, f, s->attr->length, o->args, o->n, o->starts, o->strides, output);
  if (!ad->seeds) return flat;
  return sci_seeds_first(
      ad, sci_make_reshape(cx, flat, 2, (int64_t[]){sci_type_of(cx, flat)->size / ad->seeds, ad->seeds}));
}

static sci_id forward_site(const sci_ad *ad, sci_id node, const sci_id *t) {
  site s = site_of(ad->cx, node);
  bool *active = SCI_ZEROS(&ad->cx->env.scratch, bool, s.n_args);
  for (uint32_t i = 0; i < s.n_args; i++) active[i] = t[i] != SCI_NONE && sci_type_of(ad->cx, s.f->in[i].node)->diff;
  sci_derived d = sci_callee_forward(ad, s.f, active, s.map);
  uint32_t k = 0;
  while (k < d.n && d.of[k] != s.attr->output) k++;
  if (k == d.n) return SCI_NONE;
  operands o = operands_of(ad, &s, s.n_args);
  for (uint32_t i = 0; i < s.n_args; i++)
    if (active[i]) add_operand(ad, &o, &s, t[i], o.starts[i], o.strides[i]);
  return apply(ad, &s, &o, d.f, k);
}

sci_id sci_forward_call(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_site(ad, node, t);
}

sci_id sci_forward_vmap(const sci_ad *ad, sci_id node, const sci_id *t) {
  return forward_site(ad, node, t);
}

/* Adjoints of the windows of one operand, value (K, length * size). Iterations of overlapping windows are parted at
 * multiples of the stride: each part is disjoint over the iterations. */
static void contribute_windows(sci_sweep *sweep, sci_id operand, sci_id value, int64_t length, int64_t size,
                               int64_t start, int64_t stride) {
  const sci_ad *ad = sweep->ad;
  sc_context *cx = ad->cx;
  int64_t k = ad->seeds ? ad->seeds : 1, reach = stride < 0 ? -stride : stride;
  sci_id windows = sci_make_reshape(cx, value, 3, (int64_t[]){k, length, size});
  if (stride == 0) {
    windows = sci_make_reduce(cx, SCI_X_sum, windows, 1u << 1);
    length = 1;
  }
  for (int64_t from = 0; from < size; from += reach) {
    int64_t width = stride == 0 || from + reach > size ? size - from : reach;
    int32_t *table = SCI_ARRAY(&cx->env.scratch, int32_t, length * width);
    for (int64_t i = 0; i < length; i++)
      for (int64_t j = 0; j < width; j++) table[i * width + j] = (int32_t)(start + i * stride + from + j);
    sci_id piece = windows;
    if (stride != 0) {
      sci_slice_axis axes[] = {{0, k, 1, 0}, {0, length, 1, 0}, {from, width, 1, 0}};
      piece = sci_make_slice_axes(cx, windows, axes);
    }
    sci_contribute_at(sweep, operand, piece, table, length * width);
    if (stride == 0) break;
  }
}

void sci_reverse_siblings(sci_sweep *sweep, sci_id node, const sci_id *by_output) {
  const sci_ad *ad = sweep->ad;
  sc_context *cx = ad->cx;
  site s = site_of(cx, node);
  bool *active = SCI_ZEROS(&cx->env.scratch, bool, s.n_args), *seeded = SCI_ZEROS(&cx->env.scratch, bool, s.f->n_out);
  for (uint32_t i = 0; i < s.n_args; i++)
    active[i] = sci_wants(sweep, s.args[i]) && sci_type_of(cx, s.f->in[i].node)->diff;
  for (uint32_t i = 0; i < s.f->n_out; i++) seeded[i] = by_output[i] != SCI_NONE;
  sci_ad inside = *ad;
  inside.guarded = sweep->guarded;
  sci_derived d = sci_callee_reverse(&inside, s.f, active, seeded, s.map);
  operands o = operands_of(ad, &s, s.f->n_out);
  for (uint32_t i = 0; i < s.f->n_out; i++)
    if (seeded[i]) add_operand(ad, &o, &s, by_output[i], 0, sci_type_of(cx, s.f->out[i].node)->size);
  for (uint32_t k = 0; k < d.n; k++) {
    uint32_t i = d.of[k];
    sci_id value = apply(ad, &s, &o, d.f, k);
    sweep->guarded = d.guarded[k] ? SCI_GUARDED_CHOICE : 0;
    if (s.map)
      contribute_windows(sweep, s.args[i], value, s.attr->length, sci_type_of(cx, s.f->in[i].node)->size, o.starts[i],
                         o.strides[i]);
    else
      sci_contribute(sweep, s.args[i], value);
  }
}

/* The sweep hands calls to sci_reverse_siblings, once for all outputs. */
void sci_reverse_call(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  (void)sweep, (void)node, (void)adjoint;
}

void sci_reverse_vmap(sci_sweep *sweep, sci_id node, sci_id adjoint) {
  (void)sweep, (void)node, (void)adjoint;
}
