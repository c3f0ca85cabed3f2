/* Owns the names of constants: one with many digits that a procedure needs often is `const double k0` at its top.
 *
 * A constant and its negative share a name. Uses are counted while a procedure is analyzed; names are given where the
 * text first has one. */
#include "backends/c/c.h"

#include <math.h>

enum { FEWEST = 3, SHORTEST = 10 }; /* uses, and characters of the number, that are worth a name */

static uint32_t number_of(c_render *r, uint64_t bits, uint8_t dtype) {
  uint32_t hash = sci_mix(bits, dtype), id;
  sci_index_reserve(&r->constant_index);
  for (uint32_t at = hash; sci_index_at(&r->constant_index, &at, hash, &id); at++)
    if (r->constants_used.data[id].bits == bits && r->constants_used.data[id].dtype == dtype) return id;
  sci_vec_push(&r->env->scratch, &r->constants_used, (c_constant){.bits = bits, .dtype = dtype});
  id = (uint32_t)r->constants_used.n - 1;
  sci_index_insert(&r->constant_index, hash, id);
  return id;
}

static sci_scalar magnitude(const sci_value *x) {
  sci_scalar v = sci_scalar_from_bits((sc_dtype)x->dtype, x->bits);
  if (x->dtype == SC_FLOAT32)
    v.f32 = fabsf(v.f32);
  else
    v.f64 = fabs(v.f64);
  return v;
}

void sci_c_note_constant(c_render *r, sci_val v) {
  const sci_value *x = &r->s->values[v];
  if (!sci_is_float((sc_dtype)x->dtype)) return;
  uint32_t number = sci_c_of(&r->constants, v);
  if (!number) {
    number = 1 + number_of(r, sci_scalar_bits((sc_dtype)x->dtype, magnitude(x)), x->dtype);
    sci_map_set(&r->constants, v, number);
  }
  c_constant *c = &r->constants_used.data[number - 1];
  if (c->proc != r->proc) *c = (c_constant){.bits = c->bits, .dtype = c->dtype, .proc = r->proc};
  c->uses++;
}

const char *sci_c_constant_name(c_render *r, sci_val v, bool *is_negative) {
  const sci_value *x = &r->s->values[v];
  uint32_t number = sci_c_of(&r->constants, v);
  if (!number) return NULL;
  uint32_t id = number - 1;
  c_constant *c = &r->constants_used.data[id];
  *is_negative = x->bits != c->bits;
  if (c->name || c->proc != r->proc || c->uses < FEWEST) return c->proc == r->proc ? c->name : NULL;
  double value = sci_scalar_double((sc_dtype)c->dtype, sci_scalar_from_bits((sc_dtype)c->dtype, c->bits));
  char text[SCI_NUM_MAX];
  int length = c->dtype == SC_FLOAT32 ? sci_fmt_f32(text, (float)value) : sci_fmt_f64(text, value);
  if (!isfinite(value) || length < SHORTEST) return NULL;
  char stem[SCI_NUM_MAX + 1] = "k";
  sci_fmt_i64(stem + 1, (int64_t)r->named.n);
  c->name = sci_c_own_name(r, stem);
  sci_vec_push(&r->env->scratch, &r->named, id);
  return c->name;
}

void sci_c_forget_constants(c_render *r) {
  for (size_t i = 0; i < r->constants_used.n; i++) r->constants_used.data[i].proc = 0;
}

void sci_c_declare_constants(c_render *r, size_t at) {
  sci_text *body = r->out, declarations;
  sci_text_init(&declarations, &r->env->scratch);
  r->out = &declarations;
  for (size_t i = 0; i < r->named.n; i++) {
    const c_constant *c = &r->constants_used.data[r->named.data[i]];
    sci_putf(r->out, "  const %s %s = ", sci_c_types[c->dtype], c->name);
    sci_c_put_scalar(r, (sc_dtype)c->dtype, sci_scalar_from_bits((sc_dtype)c->dtype, c->bits));
    sci_put(r->out, ";\n");
  }
  r->named.n = 0;
  r->out = body;
  sci_c_insert(r, at, &declarations);
}
