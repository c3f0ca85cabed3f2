/* Owns how places of the frame are shared. A procedure is spelled once with a place for each value, noting when each is
 * used for the last time; if that takes much room it is spelled again, the same way, and values take over places of
 * others that are not needed any more.
 *
 * Time is the number of places given out. What is used in a loop and was there before it is needed until the loop ends.
 */
#include "backends/x86/x86.h"

enum { WORTH_IT = 2048 }; /* bytes of a frame */

static unsigned class_of(uint32_t bytes) {
  return bytes > 16 ? 2 : bytes > 8;
}

void sci_x86_lives_begin(sci_x86 *x) {
  sci_x86_lives *v = &x->lives;
  v->n = 0;
  v->replays = false;
  v->last.n = v->in_loop.n = v->loops.n = v->touched.n = 0;
}

/* Sorted by time: the places that are used for the last time then. */
static void sort_by_end(sci_x86 *x) {
  sci_x86_lives *v = &x->lives;
  sci_arena *scratch = &x->env->scratch;
  v->ending = SCI_ZEROS(scratch, uint32_t, v->n + 1);
  v->next = SCI_ZEROS(scratch, uint32_t, v->n + 1);
  v->at = SCI_ZEROS(scratch, uint32_t, v->n + 1);
  v->size = SCI_ZEROS(scratch, uint8_t, v->n + 1);
  for (uint32_t id = v->n; id >= 1; id--) {
    uint32_t time = v->last.data[id - 1];
    v->next[id] = v->ending[time];
    v->ending[time] = id;
  }
}

bool sci_x86_lives_replay(sci_x86 *x) {
  sci_x86_lives *v = &x->lives;
  if (x->refusal || v->replays || x->frame < WORTH_IT) return false;
  sort_by_end(x);
  v->n = v->ended = 0;
  v->replays = true;
  for (int i = 0; i < 3; i++) v->spare[i].n = 0;
  return true;
}

void sci_x86_used(sci_x86 *x, const sci_x86_place *p) {
  sci_x86_lives *v = &x->lives;
  if (!p->id || v->replays) return;
  v->last.data[p->id - 1] = v->n;
  if (!v->loops.n) return;
  const sci_x86_span *loop = &v->loops.data[v->loops.n - 1];
  if (p->id > loop->start || v->in_loop.data[p->id - 1] == loop->number) return;
  v->in_loop.data[p->id - 1] = loop->number;
  sci_vec_push(&x->env->scratch, &v->touched, p->id);
}

void sci_x86_loop_begins(sci_x86 *x) {
  sci_x86_lives *v = &x->lives;
  if (!v->replays) sci_vec_push(&x->env->scratch, &v->loops, ((sci_x86_span){v->n, ++v->numbers, v->touched.n}));
}

void sci_x86_loop_ends(sci_x86 *x) {
  sci_x86_lives *v = &x->lives;
  if (v->replays) return;
  sci_x86_span loop = v->loops.data[--v->loops.n];
  uint32_t before = v->loops.n ? v->loops.data[v->loops.n - 1].start : 0; /* of the loop around it */
  size_t kept = loop.first;
  for (size_t i = loop.first; i < v->touched.n; i++) {
    uint32_t id = v->touched.data[i];
    v->last.data[id - 1] = v->n;
    if (id <= before) v->touched.data[kept++] = id;
  }
  v->touched.n = kept;
}

/* What nobody needs before the next place is given out. */
static void collect(sci_x86 *x) {
  sci_x86_lives *v = &x->lives;
  for (; v->ended <= v->n; v->ended++)
    for (uint32_t id = v->ending[v->ended]; id; id = v->next[id])
      sci_vec_push(&x->env->scratch, &v->spare[v->size[id]], v->at[id]);
}

uint32_t sci_x86_place_room(sci_x86 *x, uint32_t bytes, uint32_t *id) {
  sci_x86_lives *v = &x->lives;
  unsigned size = class_of(bytes);
  if (!v->replays) {
    sci_vec_push(&x->env->scratch, &v->last, v->n + 1);
    sci_vec_push(&x->env->scratch, &v->in_loop, 0);
    *id = ++v->n;
    return sci_x86_room(x, bytes, bytes);
  }
  collect(x);
  *id = ++v->n;
  bool reuses = v->spare[size].n;
  v->size[*id] = (uint8_t)size;
  return v->at[*id] = reuses ? v->spare[size].data[--v->spare[size].n] : sci_x86_room(x, bytes, bytes);
}
