/* Owns form_fma: a product that feeds a sum becomes a fused multiply-add, which rounds once.
 *
 * a * b + c is fma(a, b, c), a * b - c is fma(a, b, -c), c - a * b is fma(-a, b, c). A sum of two products stays (a * a
 * - b * b is exactly 0 at a = b) unless the program computes derivatives, and so does every use of a product that some
 * other use needs anyway: a product is fused into all of its sums or into none. This is the only place where fused
 * multiply-adds come from. */
#include "lib/passes/passes.h"
#include "lib/program/walk.h"

typedef struct fusing {
  sci_store *s;
  sci_reach *reach;
  uint32_t *uses, *sums; /* per reached value: uses, and those by sums that could take it */
  sci_val *to;           /* rewritten */
  bool derived;
  int64_t *changes;
} fusing;

static bool is_product(const sci_store *s, sci_val v) {
  const sci_value *x = sci_value_at(s, v);
  return x->kind == SCI_V_OP && x->op == SCI_OP_mul && sci_is_float((sc_dtype)x->dtype);
}

/* The operand of a sum that is a product when the other one is none, or in a derivative a product that nothing else
 * needs; -1. */
static int product_operand(const fusing *x, const sci_value *sum) {
  if (sum->kind != SCI_V_OP || (sum->op != SCI_OP_add && sum->op != SCI_OP_sub)) return -1;
  bool first = is_product(x->s, sum->args[0]), second = is_product(x->s, sum->args[1]);
  if (first != second) return first ? 0 : 1;
  for (int at = 1; first && x->derived && at >= 0; at--)
    if (x->uses[sci_reach_at(x->reach, sum->args[at])] == 1) return at;
  return -1;
}

static sci_val fused(const fusing *x, const sci_value *sum, int at) {
  sci_store *s = x->s;
  const sci_value product = *sci_value_at(s, sum->args[at]);
  sci_val a = x->to[sci_reach_at(x->reach, product.args[0])], b = x->to[sci_reach_at(x->reach, product.args[1])];
  sci_val c = x->to[sci_reach_at(x->reach, sum->args[!at])];
  if (sum->op == SCI_OP_sub && at == 0) c = sci_val_op1(s, SCI_OP_neg, c);
  if (sum->op == SCI_OP_sub && at == 1) {
    if (sci_val_is_const(s, b))
      b = sci_val_op1(s, SCI_OP_neg, b);
    else
      a = sci_val_op1(s, SCI_OP_neg, a);
  }
  return sci_val_op(s, SCI_OP_fma, (sc_dtype)product.dtype, (sci_val[]){a, b, c});
}

static sci_val rewritten(const fusing *x, sci_val v) {
  const sci_value value = *sci_value_at(x->s, v);
  if (value.kind != SCI_V_OP) return v;
  int at = product_operand(x, &value);
  uint32_t product = at < 0 ? 0 : sci_reach_at(x->reach, value.args[at]);
  if (at >= 0 && x->uses[product] == x->sums[product]) {
    ++*x->changes;
    return fused(x, &value, at);
  }
  sci_val args[3];
  for (int i = 0; i < sci_ops[value.op].arity; i++) args[i] = x->to[sci_reach_at(x->reach, value.args[i])];
  return sci_val_with(x->s, v, args);
}

static const sci_proc *fuse_proc(const sci_program *p, const sci_proc *q, void *user) {
  fusing *x = user;
  sci_arena *a = &p->store->env->scratch;
  int64_t before = *x->changes;
  sci_reach_clear(x->reach);
  sci_reach_block(x->reach, q->body);
  sci_reach_sort(x->reach);
  size_t n = x->reach->list.n;
  sci_arena_mark here = sci_arena_here(a);
  x->uses = sci_reach_uses(x->reach, q->body);
  x->sums = SCI_ZEROS(a, uint32_t, n);
  x->to = SCI_ARRAY(a, sci_val, n);
  for (size_t i = 0; i < n; i++) {
    const sci_value *v = sci_value_at(x->s, x->reach->list.data[i]);
    int at = product_operand(x, v);
    if (at >= 0) x->sums[sci_reach_at(x->reach, v->args[at])]++;
  }
  for (size_t i = 0; i < n; i++) x->to[i] = rewritten(x, x->reach->list.data[i]);
  if (*x->changes != before) q = sci_proc_with(x->s, q, sci_reach_replace(x->reach, x->s, x->to, q->body));
  sci_arena_release(a, here);
  return q;
}

sci_program *sci_pass_form_fma(const sci_program *p, int64_t *changes) {
  fusing x = {.s = p->store, .reach = sci_reach_new(p->store), .derived = p->derived, .changes = changes};
  return sci_pass_each(p, fuse_proc, &x);
}
