/* Owns substitution in values and the copying of blocks with fresh names and loop variables. */
#include "lib/program/map.h"
#include "lib/program/program.h"

/* `given` maps are the caller's; `fresh` ones belong to the block being copied and go with the next one. `memo` holds
 * finished values. */
struct sci_subst {
  sci_store *store;
  sci_map given_vars, given_names, fresh_vars, fresh_names, memo;
  sci_map bufs; /* index into `targets` */
  SCI_VEC(sci_view) targets;
  SCI_VEC(sci_val) stack;
};

sci_subst *sci_subst_new(sci_store *s) {
  sci_arena *a = &s->env->scratch;
  sci_subst *m = SCI_NEW(a, sci_subst);
  m->store = s;
  sci_map *maps[] = {&m->given_vars, &m->given_names, &m->fresh_vars, &m->fresh_names, &m->memo, &m->bufs};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) sci_map_init(maps[i], a);
  return m;
}

static void give(sci_subst *m, sci_map *map, uint32_t id, sci_val to) {
  if (sci_map_get(map, id) != UINT32_MAX) sci_map_clear(&m->memo);
  sci_map_set(map, id, to);
}

void sci_subst_var(sci_subst *m, sci_var v, sci_val to) {
  give(m, &m->given_vars, v, to);
}

void sci_subst_name(sci_subst *m, sci_name n, sci_val to) {
  give(m, &m->given_names, n, to);
}

void sci_subst_buf(sci_subst *m, sci_buf b, sci_buf to, sci_val offset) {
  sci_map_set(&m->bufs, b, (uint32_t)m->targets.n);
  sci_vec_push(&m->store->env->scratch, &m->targets, (sci_view){to, offset});
}

static sci_val leaf(const sci_map *fresh, const sci_map *given, uint32_t id, sci_val self) {
  uint32_t to = sci_map_get(fresh, id);
  if (to == UINT32_MAX) to = sci_map_get(given, id);
  return to == UINT32_MAX ? self : to;
}

/* The result when it needs no further work, else SCI_NIL. */
static sci_val ready(const sci_subst *m, sci_val v) {
  const sci_value *x = sci_value_at(m->store, v);
  if (x->kind == SCI_V_CONST) return v;
  if (x->kind == SCI_V_NAME) return leaf(&m->fresh_names, &m->given_names, x->args[0], v);
  if (x->kind == SCI_V_VAR) return leaf(&m->fresh_vars, &m->given_vars, x->args[0], v);
  return sci_map_get(&m->memo, v);
}

sci_val sci_subst_val(sci_subst *m, sci_val v) {
  sci_arena *a = &m->store->env->scratch;
  sci_val r = ready(m, v);
  if (r != SCI_NIL) return r;
  m->stack.n = 0;
  sci_vec_push(a, &m->stack, v);
  while (m->stack.n) {
    v = m->stack.data[m->stack.n - 1];
    sci_value x = *sci_value_at(m->store, v);
    sci_val args[3];
    bool waits = false;
    for (int i = 0; i < sci_ops[x.op].arity; i++) {
      args[i] = ready(m, x.args[i]);
      if (args[i] != SCI_NIL) continue;
      waits = true;
      sci_vec_push(a, &m->stack, x.args[i]);
    }
    if (waits) continue;
    m->stack.n--;
    r = sci_val_with(m->store, v, args);
    sci_map_set(&m->memo, v, r);
  }
  return r;
}

static sci_view view_of(sci_subst *m, sci_buf b, sci_val index) {
  sci_store *s = m->store;
  index = sci_subst_val(m, index);
  uint32_t at = sci_map_get(&m->bufs, b);
  int64_t offset = 0;
  if (at == UINT32_MAX && s->bufs[b].alias_of != SCI_NIL) {
    at = sci_map_get(&m->bufs, s->bufs[b].alias_of);
    offset = s->bufs[b].alias_offset;
  }
  if (at == UINT32_MAX) return (sci_view){b, index};
  sci_view to = m->targets.data[at];
  index = sci_idx_add(s, index, sci_idx_add(s, to.index, sci_val_int(s, offset)));
  return (sci_view){to.buf, index};
}

static sci_name fresh_name(sci_subst *m, sci_name n) {
  sci_name_info info = m->store->names[n];
  sci_name copy = sci_new_name(m->store, (sc_dtype)info.dtype, info.is_mutable, NULL);
  m->store->names[copy].hint = info.hint;
  sci_map_set(&m->fresh_names, n, sci_val_name(m->store, copy));
  return copy;
}

sci_stmt sci_subst_stmt(sci_subst *m, const sci_stmt *st) {
  sci_stmt copy = *st;
  if (copy.index != SCI_NIL) copy.index = sci_subst_val(m, st->index);
  if (copy.value != SCI_NIL) copy.value = sci_subst_val(m, st->value);
  if (st->kind != SCI_S_CALL) return copy;
  sci_view *views = SCI_ARRAY(&m->store->env->scratch, sci_view, st->call->n);
  bool same = true;
  for (uint32_t i = 0; i < st->call->n; i++) {
    views[i] = (sci_view){st->call->views[i].buf, sci_subst_val(m, st->call->views[i].index)};
    same &= views[i].index == st->call->views[i].index;
  }
  return same ? copy : sci_call_stmt(m->store, st->call->proc, st->call->n, views);
}

static sci_block copy_block(sci_subst *m, sci_block b);

static const sci_loop *copy_loop(sci_subst *m, const sci_loop *l) {
  sci_store *s = m->store;
  sci_loop *copy = SCI_NEW(&s->arena, sci_loop);
  *copy = *l;
  copy->var = sci_new_var(s, NULL);
  s->vars[copy->var].hint = s->vars[l->var].hint;
  sci_map_set(&m->fresh_vars, l->var, sci_val_var(s, copy->var));
  copy->body = copy_block(m, l->body);
  return copy;
}

static const sci_call *copy_call(sci_subst *m, const sci_call *c) {
  sci_store *s = m->store;
  sci_call *copy = SCI_NEW(&s->arena, sci_call);
  sci_view *views = SCI_ARRAY(&s->arena, sci_view, c->n);
  for (uint32_t i = 0; i < c->n; i++) views[i] = view_of(m, c->views[i].buf, c->views[i].index);
  *copy = (sci_call){c->proc, c->n, views};
  return copy;
}

static sci_stmt copy_stmt(sci_subst *m, sci_stmt st) {
  sci_store *s = m->store;
  if (st.kind == SCI_S_LOAD || st.kind == SCI_S_STORE) {
    sci_view v = view_of(m, st.buf, st.index);
    st.buf = v.buf;
    st.index = v.index;
  }
  if (st.kind == SCI_S_STORE || st.kind == SCI_S_ASSIGN) st.value = sci_subst_val(m, st.value);
  if (st.kind == SCI_S_LOAD || (st.kind == SCI_S_ASSIGN && st.declare)) {
    st.name = fresh_name(m, st.name);
  } else if (st.kind == SCI_S_ASSIGN) {
    sci_val self = sci_val_name(s, st.name);
    st.name = sci_value_at(s, leaf(&m->fresh_names, &m->given_names, st.name, self))->args[0];
  }
  if (st.kind == SCI_S_LOOP) st.loop = copy_loop(m, st.loop);
  if (st.kind == SCI_S_CALL) st.call = copy_call(m, st.call);
  return st;
}

static sci_block copy_block(sci_subst *m, sci_block b) {
  sci_stmt *stmts = SCI_ARRAY(&m->store->arena, sci_stmt, b.n);
  for (uint32_t i = 0; i < b.n; i++) stmts[i] = copy_stmt(m, b.stmts[i]);
  return (sci_block){b.n, stmts};
}

sci_block sci_subst_block(sci_subst *m, sci_block b) {
  sci_map_clear(&m->fresh_vars);
  sci_map_clear(&m->fresh_names);
  sci_map_clear(&m->memo);
  return copy_block(m, b);
}
