/* Owns stores and programs: their life, and the tables of names, loop variables, buffers and constants. */
#include "lib/program/program.h"

sci_store *sci_store_create(sci_env *env) {
  sci_store *s = sci_raw(env, NULL, 0, sizeof *s);
  *s = (sci_store){.env = env, .refs = 1};
  sci_arena_init(&s->arena, env);
  sci_index_init(&s->value_index, env);
  sci_index_init(&s->table_index, env);
  sci_defer(env, (void (*)(void *))sci_store_release, s);
  return s;
}

void sci_store_release(sci_store *s) {
  if (!s || --s->refs) return;
  sci_env *env = s->env;
  sci_arena_free(&s->arena);
  sci_raw_free(env, s->values, s->cap_values * sizeof *s->values);
  sci_raw_free(env, s->names, s->cap_names * sizeof *s->names);
  sci_raw_free(env, s->vars, s->cap_vars * sizeof *s->vars);
  sci_raw_free(env, s->bufs, s->cap_bufs * sizeof *s->bufs);
  sci_raw_free(env, s->tables, s->cap_tables * sizeof *s->tables);
  sci_index_free(&s->value_index);
  sci_index_free(&s->table_index);
  sci_raw_free(env, s, sizeof *s);
}

void sci_program_free(sci_program *p) {
  if (!p) return;
  sci_store *s = p->store;
  sci_raw_free(s->env, p, sizeof *p);
  sci_store_release(s);
}

static sci_program *new_program(const sci_program *fields, sci_store *s) {
  sci_program *p = sci_raw(s->env, NULL, 0, sizeof *p);
  *p = *fields;
  p->store = s;
  s->refs++;
  sci_defer(s->env, (void (*)(void *))sci_program_free, p);
  return p;
}

sci_program *sci_program_create(sc_context *cx, sci_store *s) {
  sci_program *p = new_program(&(sci_program){.cx = cx}, s);
  sci_keep(s->env, s);
  s->refs--;
  return p;
}

sci_program *sci_program_with(const sci_program *p, uint32_t n_procs, const sci_proc *const *procs) {
  sci_program *q = new_program(p, p->store);
  q->n_procs = n_procs;
  q->procs = procs;
  q->reports = NULL;
  q->n_reports = 0;
  return q;
}

/* Room for one more element of a table of the store. */
static void *room(sci_store *s, void *data, uint32_t n, uint32_t *cap, size_t size) {
  if (n < *cap) return data;
  if (n >= UINT32_MAX / 2)
    sci_fail(s->env, SC_ERR_OVERFLOW, "program: more than %u entities of one kind", UINT32_MAX / 2);
  uint32_t grown = *cap ? 2 * *cap : 64;
  data = sci_raw(s->env, data, *cap * size, grown * size);
  *cap = grown;
  return data;
}

sci_val sci_store_add_value(sci_store *s, const sci_value *v) {
  s->values = room(s, s->values, s->n_values, &s->cap_values, sizeof *s->values);
  s->values[s->n_values] = *v;
  return s->n_values++;
}

static const char *own(sci_store *s, const char *hint) {
  return hint ? sci_strdup(&s->arena, hint) : NULL;
}

sci_name sci_new_name(sci_store *s, sc_dtype dtype, bool is_mutable, const char *hint) {
  s->names = room(s, s->names, s->n_names, &s->cap_names, sizeof *s->names);
  s->names[s->n_names] = (sci_name_info){(uint8_t)dtype, is_mutable, SCI_NIL, own(s, hint)};
  return s->n_names++;
}

sci_var sci_new_var(sci_store *s, const char *hint) {
  s->vars = room(s, s->vars, s->n_vars, &s->cap_vars, sizeof *s->vars);
  s->vars[s->n_vars] = (sci_var_info){SCI_NIL, own(s, hint)};
  return s->n_vars++;
}

static sci_buf add_buf(sci_store *s, sci_buffer b) {
  s->bufs = room(s, s->bufs, s->n_bufs, &s->cap_bufs, sizeof *s->bufs);
  s->bufs[s->n_bufs] = b;
  return s->n_bufs++;
}

sci_buf sci_new_buf(sci_store *s, sc_dtype dtype, sci_space space, int64_t size, const char *hint) {
  return add_buf(s, (sci_buffer){(uint8_t)dtype, (uint8_t)space, SCI_NIL, 0, size, NULL, own(s, hint)});
}

sci_buf sci_new_alias(sci_store *s, sci_buf of, int64_t offset, int64_t size, const char *hint) {
  int64_t at;
  sci_buf owner = sci_storage(s, of, &at);
  sci_buffer b = s->bufs[owner];
  return add_buf(s, (sci_buffer){b.dtype, b.space, owner, at + offset, size, NULL, own(s, hint)});
}

int64_t sci_local_unit(const sci_store *s, const sci_local *l) {
  return (int64_t)sc_dtype_size((sc_dtype)s->bufs[l->buf].dtype) * (l->lanes ? l->lanes : 1);
}

sci_buf sci_storage(const sci_store *s, sci_buf b, int64_t *offset) {
  const sci_buffer *x = &s->bufs[b];
  *offset = x->alias_of == SCI_NIL ? 0 : x->alias_offset;
  return x->alias_of == SCI_NIL ? b : x->alias_of;
}

sci_buf sci_const_table(sci_store *s, sc_dtype dtype, int64_t n, const void *data, const char *hint) {
  size_t bytes = (size_t)n * sc_dtype_size(dtype);
  if (!bytes) data = "";
  uint32_t hash = sci_mix(sci_hash_bytes(data, bytes), (uint64_t)dtype), id;
  sci_index_reserve(&s->table_index);
  for (uint32_t at = hash; sci_index_at(&s->table_index, &at, hash, &id); at++) {
    const sci_buffer *b = &s->bufs[s->tables[id]];
    if (b->dtype == dtype && b->size == n && !memcmp(b->data, data, bytes)) return s->tables[id];
  }
  s->tables = room(s, s->tables, s->n_tables, &s->cap_tables, sizeof *s->tables);
  void *copy = sci_alloc(&s->arena, bytes);
  if (bytes) memcpy(copy, data, bytes);
  sci_buf b = sci_new_buf(s, dtype, SCI_SPACE_CONSTANT, n, hint);
  s->bufs[b].data = copy;
  s->tables[s->n_tables] = b;
  sci_index_insert(&s->table_index, hash, s->n_tables++);
  return b;
}
