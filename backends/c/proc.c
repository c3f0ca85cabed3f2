/* Owns the spelling of procedures: signatures, temporaries, statements, and the entry's checks. */
#include "backends/c/c.h"

#include <stdlib.h>

static void put(c_render *r, const char *text) {
  sci_put(r->out, text);
}

static void put_indent(c_render *r) {
  for (uint32_t i = 0; i < r->depth; i++) sci_put_n(r->out, "  ", 2);
}

/* ---- statements ---- */

void sci_c_put_temporaries(c_render *r, const sci_stmt *st) {
  sci_c_find_shared(r, st);
  for (size_t i = 0; i < r->shared.n; i++) {
    sci_val v = r->shared.data[i];
    put_indent(r);
    sci_c_put_type(r, (sc_dtype)r->s->values[v].dtype, sci_c_varies(r, v));
    sci_putf(r->out, " scaly_%u = ", r->n_temporaries);
    sci_c_put_value(r, v, P_ANY);
    put(r, ";\n");
    sci_map_set(&r->temporary, v, ++r->n_temporaries);
  }
}

void sci_c_forget_temporaries(c_render *r) {
  for (size_t i = 0; i < r->shared.n; i++) sci_map_set(&r->temporary, r->shared.data[i], 0);
}

static void put_load(c_render *r, const sci_stmt *st) {
  const sci_buffer *buf = &r->s->bufs[st->buf];
  bool varies = sci_c_name_varies(r, st->name);
  sci_c_put_type(r, (sc_dtype)buf->dtype, varies);
  sci_put_char(r->out, ' ');
  put(r, r->m->name_names[st->name]);
  put(r, " = ");
  if (sci_c_put_lane_load(r, st)) return;
  sci_c_put_element(r, st->buf, st->index);
  if (buf->dtype == SC_BOOL && buf->space == SCI_SPACE_INPUT) put(r, " != 0");
}

static void put_store(c_render *r, const sci_stmt *st) {
  if (sci_c_put_lane_store(r, st)) return;
  sci_c_put_element(r, st->buf, st->index);
  put(r, " = ");
  sci_c_put_value(r, st->value, P_ANY);
}

static void put_assign(c_render *r, const sci_stmt *st) {
  if (sci_c_put_lane_assign(r, st)) return;
  if (st->declare) {
    put(r, sci_c_types[r->s->names[st->name].dtype]);
    sci_put_char(r->out, ' ');
  }
  put(r, r->m->name_names[st->name]);
  put(r, " = ");
  sci_c_put_value(r, st->value, P_ANY);
}

/* `bytes` further than w. */
static void put_workspace(c_render *r, int64_t bytes) {
  if (bytes && r->m->abi == SCI_ABI_VOID) {
    put(r, "(char*)w + ");
    sci_put_int(r->out, bytes);
  } else {
    put(r, "w");
    if (bytes) put(r, " + ");
    if (bytes) sci_put_int(r->out, bytes / sci_abi_unit(r->m->abi));
  }
}

static void put_call(c_render *r, const sci_stmt *st) {
  const sci_proc *callee = r->p->procs[st->call->proc];
  put(r, r->m->proc_names[st->call->proc]);
  sci_put_char(r->out, '(');
  for (uint32_t i = 0; i < st->call->n; i++) {
    sci_c_put_address(r, st->call->views[i].buf, st->call->views[i].index);
    put(r, ", ");
  }
  if (callee->workspace_total)
    put_workspace(r, r->p->procs[r->proc - 1]->workspace_self);
  else
    put(r, "NULL");
  sci_put_char(r->out, ')');
}

static void put_block(c_render *r, sci_block block);

/* The block of a loop, with the pointers that it uses before it. */
static void put_body(c_render *r, const sci_loop *l) {
  uint32_t pointers = sci_c_open_pointers(r, r->m->var_names[l->var]);
  size_t at = r->out->n;
  put_block(r, l->body);
  sci_c_close_pointers(r, pointers, at);
}

static void put_loop(c_render *r, const sci_loop *l) {
  if (sci_c_has_lanes(r, l)) {
    sci_c_put_lane_loop(r, l, put_body);
    return;
  }
  const char *i = r->m->var_names[l->var];
  put(r, "for (long long ");
  put(r, i);
  put(r, " = ");
  sci_put_int(r->out, l->start);
  put(r, "; ");
  put(r, i);
  put(r, " < ");
  sci_put_int(r->out, l->stop);
  put(r, "; ");
  if (l->step == 1) put(r, "++");
  put(r, i);
  if (l->step != 1) put(r, " += ");
  if (l->step != 1) sci_put_int(r->out, l->step);
  put(r, ") {\n");
  r->depth++;
  put_body(r, l);
  r->depth--;
  put_indent(r);
  put(r, "}\n");
}

/* A mutable name that nothing reads is not declared, so nothing may assign it either. */
static bool is_unread(const c_render *r, const sci_stmt *st) {
  const c_name_use *use = &r->names[st->name];
  return st->kind == SCI_S_ASSIGN && (use->proc != r->proc || !use->uses);
}

static void put_simple(c_render *r, const sci_stmt *st, uint8_t flags) {
  if (sci_c_put_each(r, st)) return;
  if (flags & C_SHARES) sci_c_put_temporaries(r, st);
  put_indent(r);
  switch ((sci_stmt_kind)st->kind) {
  case SCI_S_LOAD: put_load(r, st); break;
  case SCI_S_STORE: put_store(r, st); break;
  case SCI_S_ASSIGN: put_assign(r, st); break;
  case SCI_S_CALL: put_call(r, st); break;
  case SCI_S_LOOP: break;
  }
  put(r, ";\n");
  if (flags & C_SHARES) sci_c_forget_temporaries(r);
}

/* How many flags a loop's body has. */
static size_t count_flags(const sci_loop *l) {
  if (!sci_loop_trips(l)) return 0;
  size_t n = l->body.n;
  for (uint32_t i = 0; i < l->body.n; i++)
    if (l->body.stmts[i].kind == SCI_S_LOOP) n += count_flags(l->body.stmts[i].loop);
  return n;
}

/* The flags of a block's own statements, in their order. */
static const uint8_t *flags_of_block(c_render *r, sci_block block) {
  uint8_t *flags = SCI_ARRAY(&r->env->scratch, uint8_t, block.n);
  size_t at = r->flags.n;
  for (uint32_t i = 0; i < block.n; i++) {
    flags[i] = r->flags.data[--at];
    if (block.stmts[i].kind == SCI_S_LOOP) at -= count_flags(block.stmts[i].loop);
  }
  return flags;
}

/* Recursion follows loop nesting only. The flags lie in the order of the walk that left them, which went backwards. */
static void put_block(c_render *r, sci_block block) {
  sci_runs runs = sci_c_lane_runs(r, block);
  const uint8_t *of_block = runs.of ? flags_of_block(r, block) : NULL;
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    uint8_t flags = r->flags.data[--r->flags.n];
    bool dead = flags & C_DEAD;
    if (sci_c_put_run(r, block, i, &runs, of_block)) continue;
    if (st->kind == SCI_S_LOOP) {
      if (dead && !sci_loop_trips(st->loop)) continue;
      if (dead) {
        sci_c_open_pointers(r, NULL);
        put_block(r, st->loop->body); /* prints nothing, but has flags */
        continue;
      }
      sci_c_flush_each(r);
      put_indent(r);
      put_loop(r, st->loop);
    } else if (!dead && !(flags & C_INLINED) && !is_unread(r, st)) {
      put_simple(r, st, flags);
    }
  }
  sci_c_flush_each(r);
}

/* ---- temporaries of a procedure ---- */

static bool is_used(const c_render *r, sci_buf b) {
  return r->bufs[b].read == r->proc || r->bufs[b].written == r->proc;
}

static int64_t bytes_of(const c_render *r, const sci_local *l) {
  return r->s->bufs[l->buf].size * sci_local_unit(r->s, l);
}

static void put_restrict(c_render *r) {
  bool gnu = r->o->dialect == SC_DIALECT_GNU;
  put(r, gnu ? "__restrict " : "SCALY_RESTRICT ");
  r->needs.restrict_ |= !gnu;
}

typedef struct slot {
  const sci_local *local;
  int64_t begin, end, unit;
  unsigned kind; /* different for different types */
  const char *type;
} slot;

static int by_place(const void *a, const void *b) {
  const slot *x = a, *y = b;
  if (x->local->in_workspace != y->local->in_workspace) return x->local->in_workspace ? 1 : -1;
  if (!x->local->in_workspace && x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->local->buf < y->local->buf ? -1 : 1;
}

static void put_pointer(c_render *r, const slot *sl, bool alone) {
  const char *type = sl->type;
  bool same = strcmp(type, sci_c_abi_type(r->m->abi)) == 0;
  put_indent(r);
  put(r, type);
  put(r, "* ");
  if (alone) put_restrict(r);
  put(r, r->m->buf_names[sl->local->buf]);
  put(r, " = ");
  if (!same) sci_putf(r->out, "(%s*)", type);
  if (!same && sl->begin) put(r, "(");
  put_workspace(r, sl->begin);
  if (!same && sl->begin) put(r, ")");
  put(r, ";\n");
}

/* One array for the whole range of stack slots that share bytes; each further buffer points into it. Buffers of
 * different types get memory of their own, so that no object is read as another type. */
static void put_arrays(c_render *r, const slot *group, size_t n, int64_t end) {
  int64_t size = group->unit;
  const char *type = group->type, *name = r->m->buf_names[group->local->buf];
  put_indent(r);
  const char *times = sci_c_local_times(r, group->local);
  sci_putf(r->out, "%s %s[%lld%s];\n", type, name, (long long)((end - group->begin) / size), times);
  for (size_t i = 1; i < n; i++) {
    put_indent(r);
    sci_putf(r->out, "%s* %s = %s", type, r->m->buf_names[group[i].local->buf], name);
    if (group[i].begin != group->begin)
      sci_putf(r->out, " + %lld%s", (long long)((group[i].begin - group->begin) / size), times);
    put(r, ";\n");
  }
}

static void put_locals(c_render *r, const sci_proc *proc) {
  slot *slots = SCI_ARRAY(&r->env->scratch, slot, proc->n_locals);
  size_t n = 0;
  for (uint32_t i = 0; i < proc->n_locals; i++) {
    const sci_local *l = &proc->locals[i];
    const sci_buffer *b = &r->s->bufs[l->buf];
    if (b->alias_of != SCI_NIL || !b->size || !is_used(r, l->buf)) continue;
    unsigned kind = b->dtype * 32u + l->lanes;
    r->bufs[l->buf].type = sci_c_local_type(r, l);
    slots[n++] = (slot){l, l->offset, l->offset + bytes_of(r, l), sci_local_unit(r->s, l), kind, r->bufs[l->buf].type};
  }
  if (n) qsort(slots, n, sizeof *slots, by_place);
  for (size_t i = 0, j; i < n; i = j) {
    bool packed = slots[i].local->in_workspace || slots[i].local->offset >= 0;
    int64_t end = slots[i].end;
    for (j = i + 1; packed && j < n; j++) {
      bool apart = slots[j].local->in_workspace != slots[i].local->in_workspace || slots[j].begin >= end ||
                   (!slots[i].local->in_workspace && slots[j].kind != slots[i].kind);
      if (apart) break;
      if (slots[j].end > end) end = slots[j].end;
    }
    if (!slots[i].local->in_workspace) {
      put_arrays(r, slots + i, j - i, end);
      continue;
    }
    for (size_t k = i; k < j; k++) put_pointer(r, &slots[k], j == i + 1);
  }
}

/* ---- procedures ---- */

static bool uses_w(const c_render *r, const sci_proc *proc) {
  bool uses = r->calls_with_w;
  for (uint32_t i = 0; i < proc->n_locals; i++) {
    const sci_local *l = &proc->locals[i];
    uses |= l->in_workspace && is_used(r, l->buf) && r->s->bufs[l->buf].size;
  }
  return uses;
}

static void put_parameter(c_render *r, sci_buf b, bool is_output) {
  if (!is_output) put(r, "const ");
  put(r, sci_c_types[r->s->bufs[b].dtype]);
  put(r, "* ");
  if (is_output) put_restrict(r);
  put(r, r->m->buf_names[b]);
}

/* With the constants that have names before them. */
static void put_statements(c_render *r, const sci_proc *proc) {
  size_t at = r->out->n;
  put_block(r, proc->body);
  sci_c_declare_constants(r, at);
}

static void put_proc(c_render *r, const sci_proc *proc) {
  put(r, "static inline void ");
  put(r, r->m->proc_names[r->proc - 1]);
  sci_put_char(r->out, '(');
  for (uint32_t i = 0; i < proc->n_in + proc->n_out; i++) {
    put_parameter(r, proc->params[i], i >= proc->n_in);
    put(r, ", ");
  }
  sci_putf(r->out, "%s* w) {\n", sci_c_abi_type(r->m->abi));
  for (uint32_t i = 0; i < proc->n_in + proc->n_out; i++)
    if (!is_used(r, proc->params[i]) || !r->s->bufs[proc->params[i]].size)
      sci_putf(r->out, "  (void)%s;\n", r->m->buf_names[proc->params[i]]);
  if (!uses_w(r, proc)) put(r, "  (void)w;\n");
  put_locals(r, proc);
  put_statements(r, proc);
  put(r, "}\n\n");
}

/* CasADi: a null input means zeros, a null result goes into the room at the end of w, from `skipped` on. */
static void put_binding(c_render *r, sci_buf b, bool is_output, uint32_t i, int64_t skipped) {
  put(r, "  ");
  put_parameter(r, b, is_output);
  put(r, " = ");
  if (r->m->abi == SCI_ABI_VOID)
    sci_putf(r->out, is_output ? "(%s*)" : "(const %s*)", sci_c_types[r->s->bufs[b].dtype]);
  const char *array = is_output ? "res" : "arg";
  sci_putf(r->out, "%s[%u]", array, i);
  if (r->o->casadi) sci_putf(r->out, " ? %s[%u] : ", array, i);
  if (r->o->casadi && !is_output) put(r, "scaly_zeros");
  if (r->o->casadi && is_output) put_workspace(r, skipped * sci_abi_unit(r->m->abi));
  put(r, ";\n");
}

static void put_check(c_render *r, sci_buf b, const char *array, uint32_t i, const char *status) {
  if (r->s->bufs[b].size) sci_putf(r->out, "  if (!%s[%u]) return %s;\n", array, i, status);
}

static bool is_bound(const c_render *r, sci_buf b) {
  return is_used(r, b) && r->s->bufs[b].size;
}

static void put_zeros(c_render *r, const sci_proc *proc) {
  int64_t longest = 0;
  for (uint32_t i = 0; i < proc->n_in; i++)
    if (is_bound(r, proc->params[i]) && r->s->bufs[proc->params[i]].size > longest)
      longest = r->s->bufs[proc->params[i]].size;
  if (longest) sci_putf(r->out, "  static const double scaly_zeros[%lld] = {0.0};\n", (long long)longest);
}

static void put_bindings(c_render *r, const sci_proc *proc) {
  int64_t skipped = r->skipped_at;
  if (r->o->casadi) put_zeros(r, proc);
  for (uint32_t i = 0; i < proc->n_in + proc->n_out; i++) {
    sci_buf b = proc->params[i];
    bool is_output = i >= proc->n_in;
    if (is_bound(r, b)) put_binding(r, b, is_output, is_output ? i - proc->n_in : i, skipped);
    if (is_output) skipped += sci_c_skipped(r->s->bufs[b].size);
  }
}

static void put_entry(c_render *r, const sci_proc *proc) {
  const char *type = sci_c_abi_type(r->m->abi);
  const char *integer = r->o->casadi ? "casadi_int" : "int";
  sci_c_put_contract(r, r->out);
  sci_putf(r->out, "int %s(const %s** arg, %s** res, %s* iw, %s* w, int mem) {\n", r->m->entry, type, type, integer,
           type);
  put(r, "  (void)iw;\n  (void)mem;\n");
  if (!r->m->workspace_elements) put(r, "  (void)w;\n");
  put(r, "  if (!arg || !res) return SCALY_ERR_NULL_ABI;\n");
  if (r->m->workspace_elements) put(r, "  if (!w) return SCALY_ERR_NULL_WORK;\n");
  for (uint32_t i = 0; !r->o->casadi && i < proc->n_in; i++)
    put_check(r, proc->params[i], "arg", i, "SCALY_ERR_NULL_INPUT");
  for (uint32_t i = 0; !r->o->casadi && i < proc->n_out; i++)
    put_check(r, proc->params[proc->n_in + i], "res", i, "SCALY_ERR_NULL_RESULT");
  put_bindings(r, proc);
  put_locals(r, proc);
  put_statements(r, proc);
  put(r, "  return SCALY_SUCCESS;\n}\n");
}

void sci_c_put_procs(c_render *r) {
  r->depth = 1;
  for (uint32_t i = 0; i < r->p->n_procs; i++) {
    const sci_proc *proc = r->p->procs[i];
    r->proc = i + 1;
    sci_c_analyze(r, proc);
    if (i + 1 < r->p->n_procs)
      put_proc(r, proc);
    else
      put_entry(r, proc);
  }
}
