/* Owns the canonical text of programs.
 *
 * Scalar values are trees on paper and graphs in memory. A value that several places use, or that is large, gets a name
 * of its own in the text (%7 = prog.value ...), so that the text grows with the graph and nests a bounded depth. Such a
 * line is an abbreviation, not a statement: it is evaluated where it is used. */
#include "lib/text/print.h"
#include "lib/text/target_text.h"
#include "lib/text/text.h"
#include "lib/text/words.h"

enum {
  SHARED_OPS = 1,   /* a value used more than once is repeated up to this many operations, */
  SHARED_INDEX = 4, /* an index up to this many */
  LARGE_OPS = 24,   /* a statement's tree beyond this size names its larger parts ... */
  PART_OPS = 8,     /* ... those beyond this one */
  DEEP = 12,        /* nesting beyond this depth is cut */
};

typedef struct label {
  const char *text; /* NULL: `number` names it */
  uint32_t number;
  uint32_t proc; /* the procedure it holds in, plus one */
} label;

/* What is known of an operation in one procedure. */
typedef struct value_state {
  uint32_t counted, sized; /* the procedure in which it was, plus one */
  uint32_t uses;
  uint16_t ops, depth;  /* of the tree as printed */
  uint32_t name, named; /* its own name, and the procedure in which it holds plus one */
} value_state;

typedef struct frame {
  sci_val v;
  uint32_t next;
} frame;

typedef struct printer {
  sci_text *out;
  const sci_program *p;
  const sci_store *s;
  sci_arena *scratch;
  uint32_t proc; /* current, plus one */
  uint32_t depth;
  uint32_t n_numbers;
  sci_unique *unique;                  /* of the procedure */
  label *names, *vars, *bufs, *tables; /* by id */
  value_state *values;
  SCI_VEC(frame) stack;
  SCI_VEC(sci_buf) aliases, table_list;
  uint32_t n_table_numbers;
} printer;

static void put_indent(printer *p) {
  for (uint32_t i = 0; i < p->depth; i++) sci_put_n(p->out, "  ", 2);
}

/* ---- names ---- */

static bool is_number(const char *hint) {
  size_t n = strspn(hint, "0123456789");
  return n && !hint[n];
}

/* A hint that is a bare number would read as a name without a hint, so it is none. */
static void take_label(printer *p, label *l, const char *hint) {
  *l = (label){.proc = p->proc};
  if (hint && *hint && !is_number(hint))
    l->text = sci_unique_name(p->unique, hint);
  else
    l->number = p->n_numbers++;
}

static void put_label(printer *p, const label *l) {
  if (l->text)
    sci_put_name(p->out, '%', l->text);
  else
    sci_put_number_name(p->out, '%', l->number);
}

static void put_scalar_name(printer *p, sci_name n) {
  if (p->names[n].proc != p->proc) take_label(p, &p->names[n], p->s->names[n].hint);
  put_label(p, &p->names[n]);
}

static void put_var(printer *p, sci_var v) {
  if (p->vars[v].proc != p->proc) take_label(p, &p->vars[v], p->s->vars[v].hint);
  put_label(p, &p->vars[v]);
}

static bool is_table(const printer *p, sci_buf b) {
  return p->s->bufs[b].space == SCI_SPACE_CONSTANT && p->s->bufs[b].alias_of == SCI_NIL;
}

static void put_buf(printer *p, sci_buf b) {
  if (is_table(p, b)) {
    const label *l = &p->tables[b];
    if (l->text)
      sci_put_name(p->out, '@', l->text);
    else
      sci_put_number_name(p->out, '@', l->number);
    return;
  }
  if (p->bufs[b].proc != p->proc) take_label(p, &p->bufs[b], p->s->bufs[b].hint);
  put_label(p, &p->bufs[b]);
}

static void put_memref(printer *p, sci_buf b, const char *role) {
  const sci_buffer *buf = &p->s->bufs[b];
  sci_put(p->out, "memref<");
  sci_put_dims(p->out, (sc_dtype)buf->dtype, 1, &buf->size);
  sci_put(p->out, role);
  sci_put_char(p->out, '>');
}

/* ---- walking the statements of a block: every buffer and every value used, in order ---- */

typedef struct visitor {
  void (*on_buf)(printer *, sci_buf);
  void (*on_value)(printer *, sci_val);
} visitor;

static void visit_block(printer *p, const visitor *v, sci_block block) {
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    switch ((sci_stmt_kind)st->kind) {
    case SCI_S_LOAD:
      v->on_buf(p, st->buf);
      v->on_value(p, st->index);
      break;
    case SCI_S_STORE:
      v->on_value(p, st->value);
      v->on_buf(p, st->buf);
      v->on_value(p, st->index);
      break;
    case SCI_S_ASSIGN: v->on_value(p, st->value); break;
    case SCI_S_LOOP: visit_block(p, v, st->loop->body); break;
    case SCI_S_CALL:
      for (uint32_t k = 0; k < st->call->n; k++) {
        v->on_buf(p, st->call->views[k].buf);
        v->on_value(p, st->call->views[k].index);
      }
      break;
    }
  }
}

static void no_value(printer *p, sci_val v) {
  (void)p, (void)v;
}

static void no_buf(printer *p, sci_buf b) {
  (void)p, (void)b;
}

static void find_table(printer *p, sci_buf b) {
  if (p->s->bufs[b].alias_of != SCI_NIL) b = p->s->bufs[b].alias_of;
  if (!is_table(p, b) || p->tables[b].proc) return;
  p->tables[b].proc = 1;
  const char *hint = p->s->bufs[b].hint;
  if (hint && *hint && !is_number(hint))
    p->tables[b].text = sci_unique_name(p->unique, hint);
  else
    p->tables[b].number = p->n_table_numbers++;
  sci_vec_push(p->scratch, &p->table_list, b);
}

static void find_alias(printer *p, sci_buf b) {
  if (p->s->bufs[b].alias_of == SCI_NIL || p->bufs[b].proc == p->proc) return;
  take_label(p, &p->bufs[b], p->s->bufs[b].hint);
  sci_vec_push(p->scratch, &p->aliases, b);
}

/* Uses of operations: by statements, and once by each operation that has them as an operand. */
static void count_uses(printer *p, sci_val root) {
  sci_vec_push(p->scratch, &p->stack, (frame){root, 0});
  while (p->stack.n) {
    sci_val v = p->stack.data[--p->stack.n].v;
    const sci_value *val = &p->s->values[v];
    value_state *st = &p->values[v];
    if (val->kind != SCI_V_OP) continue;
    if (st->counted == p->proc) {
      st->uses++;
      continue;
    }
    st->counted = p->proc;
    st->uses = 1;
    for (uint32_t k = sci_ops[val->op].arity; k-- > 0;) sci_vec_push(p->scratch, &p->stack, (frame){val->args[k], 0});
  }
}

/* ---- values ---- */

static bool is_named(const printer *p, sci_val v) {
  return p->values[v].named == p->proc;
}

/* Operands that agree in type with each other: all, but for the condition of a select. */
static uint32_t first_typed(sci_op op) {
  return op == SCI_OP_select ? 1 : 0;
}

/* A constant operand takes the type of the first operand beside it that is none; where there is none its type is
 * written. */
static bool has_typed_sibling(const printer *p, const sci_value *val, uint32_t k) {
  if (k < first_typed((sci_op)val->op)) return true; /* a select's condition is a bool */
  for (uint32_t i = first_typed((sci_op)val->op); i < sci_ops[val->op].arity; i++)
    if (p->s->values[val->args[i]].kind != SCI_V_CONST) return true;
  return false;
}

static void put_const(printer *p, const sci_value *val, bool typed) {
  if (typed) sci_put(p->out, "prog.const ");
  sci_put_scalar(p->out, (sc_dtype)val->dtype, sci_scalar_from_bits((sc_dtype)val->dtype, val->bits));
  if (!typed) return;
  sci_put_n(p->out, " : ", 3);
  sci_put(p->out, sc_dtype_name((sc_dtype)val->dtype));
}

static void put_value(printer *p, sci_val v, bool typed);

static void put_operation(printer *p, sci_val v) {
  const sci_value *val = &p->s->values[v];
  sci_put(p->out, "prog.");
  sci_put(p->out, sci_ops[val->op].name);
  sci_put_char(p->out, '(');
  for (uint32_t k = 0; k < sci_ops[val->op].arity; k++) {
    if (k) sci_put_n(p->out, ", ", 2);
    put_value(p, val->args[k], !has_typed_sibling(p, val, k));
  }
  sci_put_char(p->out, ')');
  if (val->op == SCI_OP_cast) sci_putf(p->out, " {dtype=%s}", sc_dtype_name((sc_dtype)val->dtype));
}

/* Recursion is bounded: what nests deeper than DEEP has a name. `typed`: a constant says its type. */
static void put_value(printer *p, sci_val v, bool typed) {
  const sci_value *val = &p->s->values[v];
  switch ((sci_value_kind)val->kind) {
  case SCI_V_CONST: put_const(p, val, typed); break;
  case SCI_V_NAME: put_scalar_name(p, val->args[0]); break;
  case SCI_V_VAR: put_var(p, val->args[0]); break;
  case SCI_V_OP:
    if (is_named(p, v))
      sci_put_number_name(p->out, '%', p->values[v].name);
    else
      put_operation(p, v);
    break;
  }
}

static void put_abbreviation(printer *p, sci_val v) {
  value_state *st = &p->values[v];
  st->name = p->n_numbers++;
  put_indent(p);
  sci_put_number_name(p->out, '%', st->name);
  sci_put(p->out, " = prog.value ");
  put_operation(p, v);
  sci_putf(p->out, " : %s\n", sc_dtype_name((sc_dtype)p->s->values[v].dtype));
  st->named = p->proc;
  st->ops = st->depth = 0;
}

/* All operands of v have their measure; names those parts that would make its tree too large or too deep. */
static void measure(printer *p, sci_val v) {
  const sci_value *val = &p->s->values[v];
  value_state *st = &p->values[v];
  uint32_t arity = sci_ops[val->op].arity, ops = 1;
  for (uint32_t k = 0; k < arity; k++)
    if (p->s->values[val->args[k]].kind == SCI_V_OP) ops += p->values[val->args[k]].ops;
  bool large = ops > LARGE_OPS;
  st->ops = 1;
  st->depth = 1;
  for (uint32_t k = 0; k < arity; k++) {
    if (p->s->values[val->args[k]].kind != SCI_V_OP) continue;
    value_state *a = &p->values[val->args[k]];
    if (!is_named(p, val->args[k]) && ((large && a->ops > PART_OPS) || a->depth >= DEEP))
      put_abbreviation(p, val->args[k]);
    st->ops = (uint16_t)(st->ops + a->ops);
    if (a->depth >= st->depth) st->depth = (uint16_t)(a->depth + 1);
  }
  if (st->uses > 1 && st->ops > (val->dtype == SC_INT64 ? SHARED_INDEX : SHARED_OPS)) put_abbreviation(p, v);
}

/* Prints the abbreviations that a statement's value needs before the statement itself. */
static void prepare(printer *p, sci_val root) {
  sci_vec_push(p->scratch, &p->stack, (frame){root, 0});
  while (p->stack.n) {
    frame *top = &p->stack.data[p->stack.n - 1];
    const sci_value *val = &p->s->values[top->v];
    if (val->kind != SCI_V_OP || p->values[top->v].sized == p->proc) {
      p->stack.n--;
    } else if (top->next < sci_ops[val->op].arity) {
      sci_val arg = val->args[top->next++];
      sci_vec_push(p->scratch, &p->stack, (frame){arg, 0});
    } else {
      sci_val v = top->v;
      p->stack.n--;
      p->values[v].sized = p->proc;
      measure(p, v);
    }
  }
}

/* ---- statements ---- */

static void put_view(printer *p, sci_buf b, sci_val index) {
  put_buf(p, b);
  sci_put_char(p->out, '[');
  put_value(p, index, false);
  sci_put_char(p->out, ']');
}

static void put_dtype(printer *p, unsigned dtype) {
  sci_put_n(p->out, " : ", 3);
  sci_put(p->out, sc_dtype_name((sc_dtype)dtype));
}

static void put_block(printer *p, sci_block block);

static void put_loop(printer *p, const sci_loop *l) {
  put_indent(p);
  sci_put(p->out, "prog.for ");
  put_var(p, l->var);
  sci_put(p->out, " = ");
  sci_put_int(p->out, l->start);
  sci_put(p->out, " to ");
  sci_put_int(p->out, l->stop);
  sci_put(p->out, " step ");
  sci_put_int(p->out, l->step);
  sci_putf(p->out, " {kind=%s", sci_loop_kind_words[l->kind]);
  if (l->kind == SCI_LOOP_VECTOR && l->lanes > 1)
    sci_putf(p->out, ", lanes=%d, of=%s, tail=%s", l->lanes, sc_dtype_name((sc_dtype)l->of), sci_tail_words[l->tail]);
  sci_put(p->out, "} {\n");
  p->depth++;
  put_block(p, l->body);
  p->depth--;
  put_indent(p);
  sci_put(p->out, "}\n");
}

static void put_call(printer *p, const sci_call *call) {
  for (uint32_t k = 0; k < call->n; k++) prepare(p, call->views[k].index);
  put_indent(p);
  sci_put(p->out, "prog.call ");
  sci_put_name(p->out, '@', p->p->procs[call->proc]->name);
  sci_put_char(p->out, '(');
  for (uint32_t k = 0; k < call->n; k++) {
    if (k) sci_put_n(p->out, ", ", 2);
    put_view(p, call->views[k].buf, call->views[k].index);
  }
  sci_put(p->out, ")\n");
}

static void put_stmt(printer *p, const sci_stmt *st) {
  switch ((sci_stmt_kind)st->kind) {
  case SCI_S_LOAD:
    prepare(p, st->index);
    put_indent(p);
    put_scalar_name(p, st->name);
    sci_put(p->out, " = prog.load ");
    put_view(p, st->buf, st->index);
    put_dtype(p, p->s->names[st->name].dtype);
    break;
  case SCI_S_STORE:
    prepare(p, st->value);
    prepare(p, st->index);
    put_indent(p);
    sci_put(p->out, "prog.store ");
    put_value(p, st->value, false);
    sci_put_n(p->out, ", ", 2);
    put_view(p, st->buf, st->index);
    put_dtype(p, p->s->bufs[st->buf].dtype);
    break;
  case SCI_S_ASSIGN:
    prepare(p, st->value);
    put_indent(p);
    put_scalar_name(p, st->name);
    sci_put(p->out, " = prog.assign ");
    put_value(p, st->value, false);
    put_dtype(p, p->s->names[st->name].dtype);
    if (st->declare) sci_put(p->out, p->s->names[st->name].is_mutable ? " {declare, mutable}" : " {declare}");
    break;
  case SCI_S_LOOP: put_loop(p, st->loop); return;
  case SCI_S_CALL: put_call(p, st->call); return;
  }
  sci_put_char(p->out, '\n');
}

/* Recursion follows loop nesting only. */
static void put_block(printer *p, sci_block block) {
  for (uint32_t i = 0; i < block.n; i++) put_stmt(p, &block.stmts[i]);
}

/* ---- procedures ---- */

static void put_number_key(printer *p, bool *open, const char *key, int64_t v) {
  sci_put_key(p->out, open, key);
  sci_put_int(p->out, v);
}

static void put_proc_attributes(printer *p, const sci_proc *proc) {
  bool open = false;
  size_t before = p->out->n;
  sci_put_char(p->out, ' ');
  if (proc->hint) {
    sci_put_key(p->out, &open, "lowering");
    sci_put_string(p->out, sci_hint_words[proc->hint]);
  }
  if (proc->workspace_self) put_number_key(p, &open, "workspace", proc->workspace_self);
  if (proc->workspace_total) put_number_key(p, &open, "workspace_total", proc->workspace_total);
  if (proc->stack_self) put_number_key(p, &open, "stack", proc->stack_self);
  if (open)
    sci_put_char(p->out, '}');
  else
    p->out->n = before;
}

static void put_local(printer *p, const sci_local *l) {
  put_indent(p);
  sci_put(p->out, "prog.local ");
  put_buf(p, l->buf);
  sci_put_n(p->out, " : ", 3);
  put_memref(p, l->buf, "");
  bool packed = l->in_workspace || l->offset != -1;
  if (l->lanes || packed) sci_put(p->out, " {");
  if (l->lanes) sci_putf(p->out, "lanes=%d%s", l->lanes, packed ? ", " : "");
  if (packed) sci_putf(p->out, "%s=%lld", l->in_workspace ? "workspace" : "stack", (long long)l->offset);
  if (l->lanes || packed) sci_put_char(p->out, '}');
  sci_put_char(p->out, '\n');
}

static void put_alias(printer *p, sci_buf b) {
  const sci_buffer *buf = &p->s->bufs[b];
  put_indent(p);
  sci_put(p->out, "prog.alias ");
  put_buf(p, b);
  sci_put_n(p->out, " : ", 3);
  put_memref(p, b, "");
  sci_put(p->out, " = ");
  put_buf(p, buf->alias_of);
  sci_put_char(p->out, '[');
  sci_put_int(p->out, buf->alias_offset);
  sci_put(p->out, "]\n");
}

static void put_proc(printer *p, const sci_proc *proc) {
  p->proc++;
  p->n_numbers = 0;
  p->unique = sci_unique_begin(p->s->env);
  put_indent(p);
  sci_put(p->out, "prog.proc ");
  sci_put_name(p->out, '@', proc->name);
  sci_put_char(p->out, '(');
  for (uint32_t k = 0; k < proc->n_in + proc->n_out; k++) {
    if (k) sci_put_n(p->out, ", ", 2);
    put_buf(p, proc->params[k]);
    sci_put_n(p->out, ": ", 2);
    put_memref(p, proc->params[k], k < proc->n_in ? "" : " output");
  }
  sci_put_char(p->out, ')');
  put_proc_attributes(p, proc);
  sci_put(p->out, " {\n");
  p->depth++;
  for (uint32_t k = 0; k < proc->n_locals; k++) put_local(p, &proc->locals[k]);
  p->aliases.n = 0;
  visit_block(p, &(visitor){find_alias, no_value}, proc->body);
  for (size_t k = 0; k < p->aliases.n; k++) put_alias(p, p->aliases.data[k]);
  visit_block(p, &(visitor){no_buf, count_uses}, proc->body);
  put_block(p, proc->body);
  p->depth--;
  put_indent(p);
  sci_put(p->out, "}\n");
  sci_unique_end(p->unique);
}

/* ---- the module ---- */

static void put_ports(printer *p) {
  const sci_proc *entry = sci_entry(p->p);
  for (uint32_t k = 0; k < entry->n_in + entry->n_out; k++) {
    const sci_port_info *port = &p->p->ports[k];
    put_indent(p);
    sci_put(p->out, k < entry->n_in ? "prog.input " : "prog.output ");
    sci_put_string(p->out, port->name);
    sci_put_n(p->out, " : ", 3);
    if (port->pattern) {
      sci_put_sparse(p->out, (sc_dtype)port->dtype, port->pattern);
    } else {
      sci_put(p->out, "tensor<");
      sci_put_dims(p->out, (sc_dtype)port->dtype, port->rank, port->shape);
      sci_put_char(p->out, '>');
    }
    sci_put_char(p->out, '\n');
  }
}

static void put_tables(printer *p) {
  for (size_t i = 0; i < p->table_list.n; i++) {
    sci_buf b = p->table_list.data[i];
    const sci_buffer *buf = &p->s->bufs[b];
    put_indent(p);
    sci_put(p->out, "prog.table ");
    put_buf(p, b);
    sci_put_n(p->out, " : ", 3);
    put_memref(p, b, "");
    sci_put(p->out, " = [");
    for (int64_t k = 0; k < buf->size; k++) {
      if (k) sci_put_n(p->out, ", ", 2);
      sci_put_scalar(p->out, (sc_dtype)buf->dtype, sci_scalar_load((sc_dtype)buf->dtype, buf->data, (size_t)k));
    }
    sci_put(p->out, "]\n");
  }
}

static void put_vector_math(sci_text *out, const sci_vector_math *m) {
  if (!m->glibc && !m->sleef) return;
  char number[SCI_NUM_MAX];
  sci_fmt_f64(number, m->accuracy);
  if (m->glibc) sci_putf(out, ", vector_glibc=%d", m->glibc);
  if (m->sleef) sci_putf(out, ", vector_sleef=%d", m->sleef);
  sci_putf(out, ", vector_accuracy=%s", number);
}

void sci_print_program(sci_text *out, const sci_program *program) {
  const sci_store *s = program->store;
  sci_arena *scratch = &s->env->scratch;
  printer p = {.out = out, .p = program, .s = s, .scratch = scratch, .depth = 1};
  p.names = SCI_ZEROS(scratch, label, s->n_names);
  p.vars = SCI_ZEROS(scratch, label, s->n_vars);
  p.bufs = SCI_ZEROS(scratch, label, s->n_bufs);
  p.tables = SCI_ZEROS(scratch, label, s->n_bufs);
  p.values = SCI_ZEROS(scratch, value_state, s->n_values);
  sci_put(out, "prog.module ");
  sci_put_name(out, '@', program->name);
  sci_put(out, " {");
  sci_put_target(out, &program->target);
  if (program->rounding == SC_ROUNDING_STRICT) sci_put(out, ", rounding=\"strict\"");
  if (program->strict_nan) sci_put(out, ", strict_nan=true");
  if (program->derived) sci_put(out, ", derived=true");
  put_vector_math(out, &program->vector);
  sci_put(out, "} {\n");
  put_ports(&p);
  p.unique = sci_unique_begin(s->env);
  for (uint32_t i = 0; i < program->n_procs; i++)
    visit_block(&p, &(visitor){find_table, no_value}, program->procs[i]->body);
  sci_unique_end(p.unique);
  put_tables(&p);
  for (uint32_t i = 0; i < program->n_procs; i++) put_proc(&p, program->procs[i]);
  sci_put(out, "}\n");
}
