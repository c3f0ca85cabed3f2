/* Owns walking: reachable values, accesses of statements, and the rebuilding of blocks with sharing. */
#include "lib/program/walk.h"

#include <stdlib.h>

/* ---- values ---- */

sci_reach *sci_reach_new(sci_store *s) {
  sci_reach *r = SCI_NEW(&s->env->scratch, sci_reach);
  r->s = s;
  r->n_values = s->n_values;
  r->number = SCI_ZEROS(&s->env->scratch, uint32_t, s->n_values);
  return r;
}

void sci_reach_add(sci_reach *r, sci_val v) {
  sci_arena *a = &r->s->env->scratch;
  if (r->number[v]) return;
  r->stack.n = 0;
  sci_vec_push(a, &r->stack, v);
  r->number[v] = 1;
  while (r->stack.n) {
    v = r->stack.data[--r->stack.n];
    sci_vec_push(a, &r->list, v);
    r->number[v] = (uint32_t)r->list.n;
    const sci_value *x = sci_value_at(r->s, v);
    for (int i = 0; x->kind == SCI_V_OP && i < sci_ops[x->op].arity; i++) {
      if (r->number[x->args[i]]) continue;
      r->number[x->args[i]] = 1;
      sci_vec_push(a, &r->stack, x->args[i]);
    }
  }
}

void sci_stmt_values(const sci_stmt *st, sci_value_fn fn, void *user) {
  switch ((sci_stmt_kind)st->kind) {
  case SCI_S_LOAD: fn(user, st->index, true); break;
  case SCI_S_STORE:
    fn(user, st->index, true);
    fn(user, st->value, false);
    break;
  case SCI_S_ASSIGN: fn(user, st->value, false); break;
  case SCI_S_LOOP: break;
  case SCI_S_CALL:
    for (uint32_t i = 0; i < st->call->n; i++) fn(user, st->call->views[i].index, true);
    break;
  }
}

static void add_value(void *r, sci_val v, bool is_index) {
  (void)is_index;
  sci_reach_add(r, v);
}

void sci_reach_block(sci_reach *r, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    sci_stmt_values(&b.stmts[i], add_value, r);
    if (b.stmts[i].kind == SCI_S_LOOP) sci_reach_block(r, b.stmts[i].loop->body);
  }
}

static int by_id(const void *x, const void *y) {
  sci_val a = *(const sci_val *)x, b = *(const sci_val *)y;
  return (a > b) - (a < b);
}

void sci_reach_sort(sci_reach *r) {
  sci_val least = UINT32_MAX, most = 0;
  for (size_t i = 0; i < r->list.n; i++) {
    if (r->list.data[i] < least) least = r->list.data[i];
    if (r->list.data[i] > most) most = r->list.data[i];
  }
  if (r->list.n && most - least < 8 * r->list.n) {
    uint32_t n = 0;
    for (sci_val v = least; v <= most; v++)
      if (r->number[v]) r->list.data[n++] = v;
  } else if (r->list.n) {
    qsort(r->list.data, r->list.n, sizeof *r->list.data, by_id);
  }
  for (size_t i = 0; i < r->list.n; i++) r->number[r->list.data[i]] = (uint32_t)i + 1;
}

void sci_reach_clear(sci_reach *r) {
  for (size_t i = 0; i < r->list.n; i++) r->number[r->list.data[i]] = 0;
  r->list.n = 0;
}

/* ---- statements ---- */

static bool same_stmt(const sci_stmt *a, const sci_stmt *b) {
  if (a->kind != b->kind || a->declare != b->declare || a->name != b->name || a->buf != b->buf) return false;
  if (a->index != b->index || a->value != b->value) return false;
  return (a->kind != SCI_S_LOOP || a->loop == b->loop) && (a->kind != SCI_S_CALL || a->call == b->call);
}

sci_block sci_block_or(sci_block_builder *out, sci_store *s, sci_block b) {
  bool same = out->stmts.n == b.n;
  for (uint32_t i = 0; same && i < b.n; i++) same = same_stmt(&out->stmts.data[i], &b.stmts[i]);
  return same ? b : sci_block_end(out, s);
}

sci_block sci_rewrite_block(sci_rewriter *r, sci_block b) {
  sci_block_builder out;
  sci_block_begin(&out, r->s);
  for (uint32_t i = 0; i < b.n; i++) {
    if (r->stmt)
      r->stmt(r, &out, &b.stmts[i]);
    else
      sci_rewrite_default(r, &out, &b.stmts[i]);
  }
  return sci_block_or(&out, r->s, b);
}

sci_stmt sci_loop_with(sci_store *s, const sci_stmt *st, sci_block body) {
  const sci_loop *l = st->loop;
  if (body.stmts == l->body.stmts && body.n == l->body.n) return *st;
  sci_loop *made = SCI_NEW(&s->arena, sci_loop);
  *made = *l;
  made->body = body;
  sci_stmt copy = *st;
  copy.loop = made;
  return copy;
}

void sci_rewrite_default(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  sci_emit(out, st->kind == SCI_S_LOOP ? sci_loop_with(r->s, st, sci_rewrite_block(r, st->loop->body)) : *st);
}

const sci_proc *sci_proc_with(sci_store *s, const sci_proc *q, sci_block body) {
  if (body.stmts == q->body.stmts && body.n == q->body.n) return q;
  sci_proc *copy = SCI_NEW(&s->arena, sci_proc);
  *copy = *q;
  copy->body = body;
  return copy;
}

const sci_proc *sci_proc_with_locals(sci_store *s, const sci_proc *q, sci_block body, const sci_local *locals,
                                     size_t n) {
  sci_proc *copy = SCI_NEW(&s->arena, sci_proc);
  sci_local *own = SCI_ARRAY(&s->arena, sci_local, n);
  if (n) memcpy(own, locals, n * sizeof *own);
  *copy = *q;
  copy->body = body;
  copy->locals = own;
  copy->n_locals = (uint32_t)n;
  return copy;
}

/* ---- reached values, again ---- */

typedef struct counting {
  const sci_reach *reach;
  uint32_t *uses;
} counting;

static void count_use(void *user, sci_val v, bool is_index) {
  const counting *x = user;
  (void)is_index;
  x->uses[sci_reach_at(x->reach, v)]++;
}

static void count_block(counting *x, sci_block b) {
  for (uint32_t i = 0; i < b.n; i++) {
    sci_stmt_values(&b.stmts[i], count_use, x);
    if (b.stmts[i].kind == SCI_S_LOOP) count_block(x, b.stmts[i].loop->body);
  }
}

uint32_t *sci_reach_uses(const sci_reach *r, sci_block b) {
  counting x = {r, SCI_ZEROS(&r->s->env->scratch, uint32_t, r->list.n)};
  count_block(&x, b);
  for (size_t i = 0; i < r->list.n; i++) {
    const sci_value *v = sci_value_at(r->s, r->list.data[i]);
    for (int k = 0; v->kind == SCI_V_OP && k < sci_ops[v->op].arity; k++) x.uses[sci_reach_at(r, v->args[k])]++;
  }
  return x.uses;
}

typedef struct replacing {
  const sci_reach *reach;
  const sci_val *to;
} replacing;

static void replace(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  const replacing *x = r->user;
  if (st->kind != SCI_S_STORE && st->kind != SCI_S_ASSIGN) {
    sci_rewrite_default(r, out, st);
    return;
  }
  sci_stmt copy = *st;
  copy.value = x->to[sci_reach_at(x->reach, st->value)];
  sci_emit(out, copy);
}

sci_block sci_reach_replace(const sci_reach *r, sci_store *s, const sci_val *to, sci_block b) {
  replacing x = {r, to};
  return sci_rewrite_block(&(sci_rewriter){s, replace, &x}, b);
}

static void renumber(sci_rewriter *r, sci_block_builder *out, const sci_stmt *st) {
  const uint32_t *number = r->user;
  uint32_t proc = st->kind == SCI_S_CALL ? number[st->call->proc] : 0;
  if (st->kind != SCI_S_CALL || proc == st->call->proc)
    sci_rewrite_default(r, out, st);
  else
    sci_emit_call(out, r->s, proc, st->call->n, st->call->views);
}

const sci_proc *sci_proc_renumbered(sci_store *s, const sci_proc *q, uint32_t *number) {
  sci_rewriter r = {s, renumber, number};
  return sci_proc_with(s, q, sci_rewrite_block(&r, q->body));
}

bool sci_is_readonly(const sci_store *s, sci_buf b) {
  int64_t offset;
  uint8_t space = s->bufs[sci_storage(s, b, &offset)].space;
  return space == SCI_SPACE_INPUT || space == SCI_SPACE_CONSTANT;
}

bool sci_is_let(const sci_store *s, const sci_stmt *st) {
  return st->kind == SCI_S_ASSIGN && st->declare && !s->names[st->name].is_mutable;
}

bool sci_is_pure(const sci_store *s, const sci_stmt *st) {
  if (st->kind != SCI_S_LOAD && !sci_is_let(s, st)) return false;
  return !(sci_value_at(s, st->kind == SCI_S_LOAD ? st->index : st->value)->flags & SCI_VAL_MUTABLE);
}

bool sci_is_sincos(const sci_store *s, const sci_stmt *sine, const sci_stmt *cosine) {
  if (!sci_is_let(s, sine) || !sci_is_let(s, cosine)) return false;
  const sci_value *x = sci_value_at(s, sine->value), *y = sci_value_at(s, cosine->value);
  if (x->kind != SCI_V_OP || y->kind != SCI_V_OP) return false;
  return x->op == SCI_OP_sin && y->op == SCI_OP_cos && x->args[0] == y->args[0];
}

void sci_stmt_accesses(const sci_program *p, const sci_stmt *st, sci_access_fn fn, void *user) {
  switch ((sci_stmt_kind)st->kind) {
  case SCI_S_LOAD: fn(user, st->buf, false); break;
  case SCI_S_STORE: fn(user, st->buf, true); break;
  case SCI_S_ASSIGN: break;
  case SCI_S_LOOP:
    for (uint32_t i = 0; i < st->loop->body.n; i++) sci_stmt_accesses(p, &st->loop->body.stmts[i], fn, user);
    break;
  case SCI_S_CALL:
    for (uint32_t i = 0; i < st->call->n; i++) fn(user, st->call->views[i].buf, i >= p->procs[st->call->proc]->n_in);
    break;
  }
}
