/* Owns stack and concat: parts that were not computed in place are copied there, evenly spaced single elements by one
 * loop. */
#include "lib/lower/state.h"

/* Consecutive single-element parts that are evenly spaced where they are, and where they go. */
typedef struct run {
  uint32_t first, n;          /* parts */
  const sci_place *from, *to; /* of the first */
  int64_t from_step, to_step;
} run;

static void copy_part(sci_lowering *l, uint32_t part, const sci_place *to) {
  const sci_slot *slot = &l->slots[part];
  if (slot->val != SCI_NIL || !sci_place_is(slot->place, to)) sci_copy(l, sci_operand_of(l, part), to);
}

static bool extend(run *r, const sci_place *from, const sci_place *to) {
  int64_t from_step = from->offset - r->from->offset, to_step = to->offset - r->to->offset;
  if (from->buf != r->from->buf) return false;
  if (r->n == 1) {
    r->from_step = from_step;
    r->to_step = to_step;
  }
  return from_step == r->from_step * r->n && to_step == r->to_step * r->n;
}

static void flush(sci_lowering *l, uint32_t num, run *r) {
  enum { LOOP_MIN = 4 };
  if (r->n >= LOOP_MIN) {
    const sci_place *from = sci_place_new(l, r->from->buf, &(sci_digits){1, r->from->offset, {{r->n, r->from_step}}});
    const sci_place *to = sci_place_like(l, r->to, &(sci_digits){1, r->to->offset, {{r->n, r->to_step}}});
    sci_copy(l, (sci_operand){SCI_NIL, from}, to);
  } else {
    for (uint32_t i = 0; i < r->n; i++) {
      sci_digits to = {.offset = r->to->offset + i * r->to_step};
      copy_part(l, sci_arg_of(l, num, r->first + i), sci_place_like(l, r->to, &to));
    }
  }
  r->n = 0;
}

static void copy_parts(sci_lowering *l, uint32_t num, const sci_place *whole) {
  const sci_node *node = sci_node_of(l, num);
  run r = {0};
  int64_t start = 0;
  for (uint32_t k = 0; k < node->n_args; k++) {
    uint32_t part = sci_arg_of(l, num, k);
    const sci_type *t = sci_type_at(l, part);
    const sci_slot *slot = &l->slots[part];
    if (!t->size) {
      flush(l, num, &r); /* its parts are consecutive */
    } else {
      const sci_place *to = sci_part_place(l, num, part, start, whole);
      bool one = t->size == 1 && slot->place && slot->place->table == SCI_NIL && !sci_place_is(slot->place, to);
      if (r.n && (!one || !extend(&r, slot->place, to))) flush(l, num, &r);
      if (!one)
        copy_part(l, part, to);
      else if (r.n++ == 0)
        r = (run){.first = k, .n = 1, .from = slot->place, .to = to};
    }
    start += node->op == SCI_X_stack ? 1 : t->shape[node->attr];
  }
  flush(l, num, &r);
}

static void join(sci_lowering *l, uint32_t num) {
  uint32_t only = sci_only_part(l, num);
  if (only == SCI_NIL) {
    copy_parts(l, num, sci_target(l, num, NULL));
  } else {
    l->slots[num].val = l->slots[only].val;
    l->slots[num].place = l->slots[only].place;
  }
}

void sci_lower_stack(sci_lowering *l, uint32_t num) {
  join(l, num);
}

void sci_lower_concat(sci_lowering *l, uint32_t num) {
  join(l, num);
}
