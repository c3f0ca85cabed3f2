/* Owns forward_loads: a load of an element whose value is known takes that value.
 *
 * Known are the elements of constant tables, what an earlier load gave and what an earlier store put, in this block or
 * one around it. An element is named by its storage, the index without its constant (the base) and the constant. A
 * store forgets all elements of its storage with another base, for two bases may meet; a call forgets what it writes, a
 * loop, from its beginning, what its body writes. Values over mutable names are not remembered. */
#include "lib/passes/passes.h"
#include "lib/program/map.h"
#include "lib/program/walk.h"

typedef struct element {
  sci_buf storage;
  sci_val base, value;
  int64_t at;
  uint32_t block, version, foreign;
} element;

typedef struct memory {
  sci_val base;     /* of the stores since the last change of version */
  uint32_t version; /* grows when everything is forgotten */
  uint32_t foreign; /* grows when elements with other bases are */
} memory;

typedef struct forwarding {
  const sci_program *p;
  sci_store *s;
  sci_arena *a;
  sci_subst *subst;
  sci_index index; /* of elements */
  SCI_VEC(element) elements;
  sci_map memory_of; /* per storage that was written */
  SCI_VEC(memory) memories;
  SCI_VEC(bool) open; /* per block */
  uint32_t block;
  int64_t *changes;
} forwarding;

static memory *memory_at(forwarding *x, sci_buf storage) {
  uint32_t at = sci_map_get(&x->memory_of, storage);
  if (at == UINT32_MAX) {
    at = (uint32_t)x->memories.n;
    sci_vec_push(x->a, &x->memories, (memory){SCI_NIL, 0, 0});
    sci_map_set(&x->memory_of, storage, at);
  }
  return &x->memories.data[at];
}

static void forget(void *user, sci_buf b, bool write) {
  forwarding *x = user;
  int64_t offset;
  if (!write) return;
  memory *m = memory_at(x, sci_storage(x->s, b, &offset));
  m->version++;
  m->base = SCI_NIL;
}

/* The element an access names; false: none that stays the same. */
static bool name_element(forwarding *x, sci_buf b, sci_val index, element *e) {
  sci_affine f;
  int64_t offset;
  if (sci_value_at(x->s, index)->flags & SCI_VAL_MUTABLE) return false;
  *e = (element){.storage = sci_storage(x->s, b, &offset), .base = index, .at = offset, .block = x->block};
  if (!sci_affine_of(x->s, index, &f)) return true;
  e->at += f.constant;
  e->base = sci_idx_add(x->s, index, sci_val_int(x->s, -f.constant));
  return true;
}

static uint32_t hash_of(const element *e) {
  return sci_mix((uint64_t)e->storage << 32 | e->base, (uint64_t)e->at);
}

static element *find(forwarding *x, const element *e) {
  uint32_t hash = hash_of(e), id;
  sci_index_reserve(&x->index);
  for (uint32_t at = hash; sci_index_at(&x->index, &at, hash, &id); at++) {
    element *k = &x->elements.data[id];
    if (k->storage == e->storage && k->base == e->base && k->at == e->at) return k;
  }
  return NULL;
}

static bool is_valid(forwarding *x, const element *e) {
  const memory *m = memory_at(x, e->storage);
  if (!x->open.data[e->block] || e->version != m->version) return false;
  if (e->base != m->base && e->foreign != m->foreign) return false;
  return e->block == x->block || sci_value_at(x->s, e->value)->kind != SCI_V_OP;
}

static void remember(forwarding *x, element *e, sci_val value) {
  const memory *m = memory_at(x, e->storage);
  e->value = value;
  e->version = m->version;
  e->foreign = m->foreign;
  element *known = find(x, e);
  if (known) {
    *known = *e;
    return;
  }
  sci_index_insert(&x->index, hash_of(e), (uint32_t)x->elements.n);
  sci_vec_push(x->a, &x->elements, *e);
}

static bool is_table(const forwarding *x, const element *e) {
  const sci_buffer *b = &x->s->bufs[e->storage];
  return b->space == SCI_SPACE_CONSTANT && sci_val_is_const(x->s, e->base) && e->at >= 0 && e->at < b->size;
}

static void visit_load(forwarding *x, sci_block_builder *out, sci_stmt st) {
  element e;
  sci_val value = SCI_NIL;
  bool named = name_element(x, st.buf, st.index, &e);
  const element *known = named ? find(x, &e) : NULL;
  if (known && is_valid(x, known)) value = known->value;
  if (named && is_table(x, &e)) {
    const sci_buffer *b = &x->s->bufs[e.storage];
    value = sci_val_const(x->s, (sc_dtype)b->dtype, sci_scalar_load((sc_dtype)b->dtype, b->data, (size_t)e.at));
  }
  if (value == SCI_NIL) {
    if (named) remember(x, &e, sci_val_name(x->s, st.name));
    sci_emit(out, st);
    return;
  }
  ++*x->changes;
  if (sci_value_at(x->s, value)->kind != SCI_V_OP)
    sci_subst_name(x->subst, st.name, value);
  else
    sci_emit(
        out,
        (sci_stmt){
            .kind = SCI_S_ASSIGN, .declare = 1, .name = st.name, .buf = SCI_NIL, .index = SCI_NIL, .value = value});
}

static void visit_store(forwarding *x, const sci_stmt *st) {
  element e;
  int64_t offset;
  memory *m = memory_at(x, sci_storage(x->s, st->buf, &offset));
  bool named = name_element(x, st->buf, st->index, &e);
  if (!named || e.base != m->base)
    m->version++;
  else
    m->foreign++;
  m->base = named ? e.base : SCI_NIL;
  if (!named) return;
  if (!(sci_value_at(x->s, st->value)->flags & SCI_VAL_MUTABLE)) {
    remember(x, &e, st->value);
    return;
  }
  element *known = find(x, &e);
  if (known) known->version = m->version - 1;
}

static void visit(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  forwarding *x = r->user;
  if (st->kind == SCI_S_LOOP) {
    uint32_t outer = x->block;
    sci_stmt_accesses(x->p, st, forget, x);
    x->block = (uint32_t)x->open.n;
    sci_vec_push(x->a, &x->open, true);
    sci_emit(out, sci_loop_with(r->s, st, sci_rewrite_block(r, st->loop->body)));
    x->open.data[x->block] = false;
    x->block = outer;
    return;
  }
  sci_stmt copy = sci_subst_stmt(x->subst, st);
  if (st->kind == SCI_S_LOAD) {
    visit_load(x, out, copy);
    return;
  }
  if (st->kind == SCI_S_STORE) visit_store(x, &copy);
  if (st->kind == SCI_S_CALL) sci_stmt_accesses(x->p, &copy, forget, x);
  sci_emit(out, copy);
}

static const sci_proc *forward_proc(const sci_program *p, const sci_proc *q, void *user) {
  forwarding *x = user;
  x->block = (uint32_t)x->open.n;
  sci_vec_push(x->a, &x->open, true);
  sci_rewriter r = {p->store, visit, x};
  q = sci_proc_with(p->store, q, sci_rewrite_block(&r, q->body));
  x->open.data[x->block] = false;
  return q;
}

sci_program *sci_pass_forward_loads(const sci_program *p, int64_t *changes) {
  sci_env *env = p->store->env;
  forwarding x = {.p = p, .s = p->store, .a = &env->scratch, .subst = sci_subst_new(p->store), .changes = changes};
  sci_index_init(&x.index, env);
  sci_map_init(&x.memory_of, x.a);
  sci_defer(env, (void (*)(void *))sci_index_free, &x.index);
  sci_program *q = sci_pass_each(p, forward_proc, &x);
  sci_keep(env, &x.index);
  sci_index_free(&x.index);
  return q;
}
