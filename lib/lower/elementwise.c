/* Owns elementwise operations: scalar names for single elements, one nest of independent loops for more. */
#include "lib/lower/state.h"

/* A name for an operation's result; what already is a name or a number needs none. */
static sci_val named(sci_lowering *l, sci_val v) {
  return sci_value_at(l->s, v)->kind == SCI_V_OP ? sci_emit_let(&l->top, l->s, v, NULL) : v;
}

/* Loops like those of operands that nobody else reads. */
static void keep_cuts(sci_lowering *l, uint32_t num, sci_nest *nest) {
  uint32_t n = sci_node_of(l, num)->n_args;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t from = sci_arg_of(l, num, i), slots = 0;
    for (uint32_t k = 0; k < n; k++) slots += sci_arg_of(l, num, k) == from;
    if (l->slots[from].uses == slots) sci_nest_split(nest, l->slots[from].cuts);
  }
}

void sci_lower_elementwise(sci_lowering *l, uint32_t num) {
  const sci_node *node = sci_node_of(l, num);
  const sci_place *places[SCI_MAX_PLACES] = {0};
  sci_val args[3];
  bool everywhere = true; /* equal elements: one value stands for all */
  for (uint32_t i = 0; i < node->n_args; i++) {
    sci_operand x = sci_operand_of(l, sci_arg_of(l, num, i));
    args[i] = x.val;
    places[i + 1] = x.place;
    everywhere = everywhere && !x.place;
  }
  sc_dtype dtype = sci_dtype_at(l, num);
  if (everywhere) {
    l->slots[num].val = named(l, sci_val_op(l->s, (sci_op)node->op, dtype, args));
    return;
  }
  places[0] = sci_target(l, num, NULL);
  sci_nest nest;
  for (uint32_t bad; (bad = sci_nest_fit(&nest, node->n_args + 1, places)) != SCI_NIL;)
    places[bad] = sci_contiguous(l, sci_arg_of(l, num, bad - 1));
  keep_cuts(l, num, &nest);
  l->slots[num].cuts = sci_nest_cuts(l, &nest);
  sci_nest_begin(l, &nest, &l->top);
  for (uint32_t i = 0; i < node->n_args; i++) {
    if (!places[i + 1]) continue;
    uint32_t same = 0; /* x * x reads x once */
    while (same < i && places[same + 1] != places[i + 1]) same++;
    args[i] = same < i ? args[same] : sci_nest_read(l, &nest, i + 1);
  }
  sci_val v = sci_val_op(l->s, (sci_op)node->op, dtype, args);
  sci_write(l, sci_nest_body(&nest), places[0], sci_nest_index(l, &nest, 0), v);
  sci_nest_end(l, &nest, SCI_LOOP_INDEPENDENT);
}
