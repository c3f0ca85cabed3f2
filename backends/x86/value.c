/* Owns the evaluation of scalar values: each is computed once, when first needed, and is available as far out as its
 * operands are: loops run at least once, so what a body has computed from outer values is there behind it, too. A value
 * over mutable names belongs to the moment it is used. */
#include "backends/x86/x86.h"

static uint32_t level(const sci_x86 *x) {
  return (uint32_t)x->scopes.n - 1;
}

static bool available(const sci_x86 *x, const sci_x86_place *p) {
  if (p->kind == SCI_X86_NOWHERE) return false;
  if (p->epoch && p->epoch != x->epoch) return false;
  return p->level < x->scopes.n && x->scopes.data[p->level] == p->scope;
}

/* Bools are masks: all bits of the element, as comparisons make them. An int32 has the 64 bits of its number. */
static sci_x86_place constant(sci_x86 *x, const sci_value *v) {
  uint64_t bits = v->bits;
  if (v->dtype == SC_BOOL && bits) bits = UINT64_MAX;
  if (v->dtype == SC_INT32) bits = (uint64_t)(int64_t)(int32_t)bits;
  return (sci_x86_place){.kind = SCI_X86_CONST, .at = sci_x86_constant(&x->a, &bits, sizeof bits, sizeof bits)};
}

const sci_x86_place *sci_x86_find(sci_x86 *x, sci_val v) {
  const sci_value *c = sci_value_at(x->store, v);
  switch ((sci_value_kind)c->kind) {
  case SCI_V_NAME: return &x->names[c->args[0]];
  case SCI_V_VAR: return &x->vars[c->args[0]];
  case SCI_V_CONST:
    if (!x->values[v].kind) x->values[v] = constant(x, c);
    return &x->values[v];
  case SCI_V_OP: break;
  }
  return available(x, &x->values[v]) ? &x->values[v] : NULL;
}

static bool is_known(const sci_value *v) {
  return v->dtype == SC_FLOAT64 || v->dtype == SC_INT64 || v->dtype == SC_BOOL;
}

static void compute(sci_x86 *x, sci_val v) {
  const sci_value *c = sci_value_at(x->store, v);
  const sci_x86_place *args[3] = {NULL, NULL, NULL};
  bool wide = false, moment = false;
  uint32_t outermost = 0;
  for (unsigned i = 0; i < sci_ops[c->op].arity; i++) {
    args[i] = sci_x86_find(x, c->args[i]);
    wide |= args[i]->wide;
    moment |= args[i]->epoch != 0;
    if (args[i]->level > outermost) outermost = args[i]->level;
  }
  if (moment) outermost = level(x);
  if (!is_known(c)) sci_x86_refuse(x, "values of other types than float64, int64 and bool");
  sci_x86_place to = sci_x86_new_place(x, wide);
  to.level = outermost;
  to.scope = x->scopes.data[outermost];
  to.epoch = moment ? x->epoch : 0;
  sci_x86_op(x, c, args, &to);
  x->values[v] = to;
}

const sci_x86_place *sci_x86_value(sci_x86 *x, sci_val v) {
  const sci_x86_place *there = sci_x86_find(x, v);
  if (there) return there;
  sci_arena *scratch = &x->env->scratch;
  sci_vec_push(scratch, &x->pending, v);
  while (x->pending.n) {
    sci_val top = x->pending.data[x->pending.n - 1];
    const sci_value *c = sci_value_at(x->store, top);
    size_t before = x->pending.n;
    if (!sci_x86_find(x, top)) {
      for (unsigned i = sci_ops[c->op].arity; i-- > 0;)
        if (!sci_x86_find(x, c->args[i])) sci_vec_push(scratch, &x->pending, c->args[i]);
      if (x->pending.n > before) continue;
      compute(x, top);
    }
    x->pending.n--;
  }
  return sci_x86_find(x, v);
}

/* Both in one call, as the best code does it; what follows finds them computed. */
void sci_x86_sincos(sci_x86 *x, sci_val sine, sci_val cosine) {
  sci_val v[] = {sine, cosine};
  if (sci_x86_find(x, sine) || sci_x86_find(x, cosine)) return;
  const sci_value *c = sci_value_at(x->store, sine);
  const sci_x86_place *angle = sci_x86_value(x, c->args[0]);
  if (angle->wide || angle->kind == SCI_X86_CONST || c->dtype != SC_FLOAT64) return;
  uint32_t at = angle->epoch ? level(x) : angle->level, epoch = angle->epoch ? x->epoch : 0;
  sci_x86_load_to(x, angle, false, 0);
  for (int i = 0; i < 2; i++) {
    sci_x86_place p = sci_x86_new_place(x, false);
    p.level = at;
    p.scope = x->scopes.data[at];
    p.epoch = epoch;
    sci_x86_mem m = sci_x86_at(x, &p, 0);
    sci_x86_rm(&x->a, 0x8D, i ? RSI : RDI, &m, 0);
    x->values[v[i]] = p;
  }
  sci_x86_call(x, "sincos");
}
