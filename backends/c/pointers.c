/* Owns the pointers to where an iteration's elements begin: `const double* z_i = z + 6 * i;`, and z_i[3] from there on.
 *
 * They are there for the reader, and for the length of the text: an element is found at the same address either way.
 * Elements are counted while a procedure is analyzed; a pointer is declared at the top of the loop whose variable it
 * needs, when the text behind turned out to use it. */
#include <stdio.h>

#include "backends/c/c.h"

enum { FEWEST = 3 }; /* elements that are worth a pointer */

const char *sci_c_own_name(c_render *r, const char *stem) {
  uint32_t hash = sci_hash_bytes(stem, strlen(stem)), id;
  sci_index_reserve(&r->own_index);
  for (uint32_t at = hash; sci_index_at(&r->own_index, &at, hash, &id); at++)
    if (!strcmp(r->own_names.data[id].stem, stem)) return r->own_names.data[id].name;
  c_own_name own = {sci_strdup(&r->env->scratch, stem), sci_claim(&r->names_taken.namer, SCI_SCOPE_FILE, stem)};
  sci_vec_push(&r->env->scratch, &r->own_names, own);
  sci_index_insert(&r->own_index, hash, (uint32_t)r->own_names.n - 1);
  return own.name;
}

/* ---- what qualifies ---- */

sci_val sci_c_split_index(const c_render *r, sci_val index, int64_t *offset) {
  const sci_value *x = &r->s->values[index];
  bool splits =
      x->kind == SCI_V_OP && (x->op == SCI_OP_add || x->op == SCI_OP_sub) && sci_val_is_const(r->s, x->args[1]);
  if (!splits) return index;
  int64_t own = sci_val_int_of(r->s, x->args[1]);
  *offset += x->op == SCI_OP_add ? own : -own;
  return x->args[0];
}

/* Whether v is made of loop variables and constants only and never negative: a pointer must stay within its array.
 * `inner` becomes the innermost loop that it needs. */
static bool is_place(const c_render *r, sci_val v, int depth, size_t *inner) {
  enum { DEEPEST = 12 };
  const sci_value *x = &r->s->values[v];
  if (x->kind == SCI_V_CONST) return sci_val_int_of(r->s, v) >= 0;
  if (x->kind == SCI_V_VAR) {
    for (size_t i = r->nest.n; i-- > 0;) {
      if (r->nest.data[i].var != x->args[0]) continue;
      if (i + 1 > *inner) *inner = i + 1;
      return r->nest.data[i].start >= 0;
    }
    return false;
  }
  bool keeps_sign = x->kind == SCI_V_OP &&
                    (x->op == SCI_OP_add || x->op == SCI_OP_mul || x->op == SCI_OP_div || x->op == SCI_OP_fmod);
  return keeps_sign && depth < DEEPEST && is_place(r, x->args[0], depth + 1, inner) &&
         is_place(r, x->args[1], depth + 1, inner);
}

/* ---- counting ---- */

static c_pointer *find(c_render *r, sci_buf owner, sci_val at) {
  for (uint32_t i = sci_c_of(&r->pointers_at, at); i; i = r->pointers.data[i - 1].same_at)
    if (r->pointers.data[i - 1].owner == owner) return &r->pointers.data[i - 1];
  return NULL;
}

void sci_c_note_element(c_render *r, sci_buf b, sci_val index) {
  if (!r->nest.n || r->s->values[index].kind != SCI_V_OP) return;
  int64_t offset;
  sci_buf owner = sci_storage(r->s, b, &offset);
  sci_val at = sci_c_split_index(r, index, &offset);
  if (offset < 0 || r->s->values[at].kind != SCI_V_OP || !r->s->bufs[owner].size) return;
  c_pointer *p = find(r, owner, at);
  if (p) {
    p->uses++;
    return;
  }
  size_t inner = 0;
  if (!is_place(r, at, 0, &inner) || !inner) return;
  c_nest *loop = &r->nest.data[inner - 1];
  c_pointer new = {
      .owner = owner, .at = at, .uses = 1, .same_at = sci_c_of(&r->pointers_at, at), .next = loop->pointers};
  sci_vec_push(&r->env->scratch, &r->pointers, new);
  loop->pointers = (uint32_t)r->pointers.n;
  sci_map_set(&r->pointers_at, at, loop->pointers);
}

void sci_c_enter_nest(c_render *r, const sci_loop *l) {
  sci_vec_push(&r->env->scratch, &r->nest, (c_nest){.var = l->var, .start = l->start});
}

/* What is left is found no more: a variable may have another loop later. */
void sci_c_leave_nest(c_render *r) {
  uint32_t first = r->nest.data[--r->nest.n].pointers;
  for (uint32_t i = first; i; i = r->pointers.data[i - 1].next)
    sci_map_set(&r->pointers_at, r->pointers.data[i - 1].at, 0);
  sci_vec_push(&r->env->scratch, &r->loop_pointers, first);
}

/* ---- names and declarations ---- */

static bool is_taken(const c_render *r, const char *name) {
  for (size_t i = 0; i < r->active.n; i++)
    if (!strcmp(r->pointers.data[r->active.data[i]].name, name)) return true;
  return false;
}

/* z_i, where i is what the loop's variable begins with. */
static const char *name_of(c_render *r, const c_pointer *p, const char *variable) {
  char stem[160];
  const char *buffer = r->m->buf_names[p->owner];
  int letters = (int)strcspn(variable, "_");
  for (int i = 1;; i++) {
    int n = snprintf(stem, sizeof stem, "%.100s_%.*s", buffer, letters > 20 ? 20 : letters, variable);
    if (i > 1) snprintf(stem + n, sizeof stem - (size_t)n, "%d", i);
    const char *name = sci_c_own_name(r, stem);
    if (!is_taken(r, name)) return name;
  }
}

uint32_t sci_c_open_pointers(c_render *r, const char *variable) {
  uint32_t first = r->loop_pointers.data[--r->loop_pointers.n];
  if (!variable) return 0;
  for (uint32_t i = first; i; i = r->pointers.data[i - 1].next) {
    c_pointer *p = &r->pointers.data[i - 1];
    if (p->uses < FEWEST) continue;
    p->name = name_of(r, p, variable);
    p->uses = 0;
    p->same_at = sci_c_of(&r->pointers_at, p->at);
    sci_map_set(&r->pointers_at, p->at, i);
    sci_vec_push(&r->env->scratch, &r->active, i - 1);
  }
  return first;
}

const char *sci_c_pointer_to(c_render *r, sci_buf owner, sci_val index, int64_t *offset) {
  if (!r->active.n || r->s->values[index].kind != SCI_V_OP) return NULL;
  int64_t behind = *offset;
  c_pointer *p = find(r, owner, sci_c_split_index(r, index, &behind));
  if (!p || behind < 0) return NULL;
  p->uses++;
  *offset = behind;
  return p->name;
}

static void put_pointer(c_render *r, const c_pointer *p) {
  const sci_buffer *b = &r->s->bufs[p->owner];
  for (uint32_t i = 0; i < r->depth; i++) sci_put_n(r->out, "  ", 2);
  if (b->space == SCI_SPACE_INPUT || b->space == SCI_SPACE_CONSTANT) sci_put(r->out, "const ");
  const char *type = r->bufs[p->owner].type; /* of lanes, it may be */
  sci_putf(r->out, "%s* %s = ", type ? type : sci_c_types[b->dtype], p->name);
  sci_c_put_address(r, p->owner, p->at);
  sci_put(r->out, ";\n");
}

/* Those of outer loops stay in scope, and may be what an inner one starts from. */
void sci_c_close_pointers(c_render *r, uint32_t first, size_t at) {
  sci_text *body = r->out, declarations;
  sci_text_init(&declarations, &r->env->scratch);
  r->out = &declarations;
  for (uint32_t i = first; i; i = r->pointers.data[i - 1].next) {
    if (!r->pointers.data[i - 1].name) continue;
    const c_pointer *last = &r->pointers.data[r->active.data[--r->active.n]];
    sci_map_set(&r->pointers_at, last->at, last->same_at);
  }
  for (uint32_t i = first; i; i = r->pointers.data[i - 1].next)
    if (r->pointers.data[i - 1].name && r->pointers.data[i - 1].uses) put_pointer(r, &r->pointers.data[i - 1]);
  r->out = body;
  sci_c_insert(r, at, &declarations);
}

void sci_c_insert(c_render *r, size_t at, const sci_text *text) {
  if (!text->n) return;
  size_t behind = r->out->n - at;
  sci_put_n(r->out, text->data, text->n); /* room, and the zero at the end */
  memmove(r->out->data + at + text->n, r->out->data + at, behind);
  memcpy(r->out->data + at, text->data, text->n);
}
