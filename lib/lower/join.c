/* Owns stack and concat: parts that were not computed in place are copied there. */
#include "lib/lower/state.h"

static void join(sci_lowering *l, uint32_t num) {
  uint32_t only = sci_only_part(l, num);
  sci_slot *slot = &l->slots[num];
  if (only != SCI_NIL) {
    slot->val = l->slots[only].val;
    slot->place = l->slots[only].place;
    return;
  }
  const sci_node *node = sci_node_of(l, num);
  const sci_place *whole = sci_target(l, num, NULL);
  int64_t start = 0;
  for (uint32_t k = 0; k < node->n_args; k++) {
    uint32_t part = sci_arg_of(l, num, k);
    const sci_type *t = sci_type_at(l, part);
    if (t->size) {
      const sci_place *to = sci_part_place(l, num, part, start, whole);
      const sci_slot *from = &l->slots[part];
      if (from->val != SCI_NIL || !sci_place_is(from->place, to)) sci_copy(l, sci_operand_of(l, part), to);
    }
    start += node->op == SCI_X_stack ? 1 : t->shape[node->attr];
  }
}

void sci_lower_stack(sci_lowering *l, uint32_t num) {
  join(l, num);
}

void sci_lower_concat(sci_lowering *l, uint32_t num) {
  join(l, num);
}
