/* Owns the parser of programs from the outside: the module with its target, ports and tables, and recovery between
 * procedures. */
#include "lib/text/prog_module.h"
#include "lib/text/target_text.h"

typedef struct port_text {
  const char *where;
  bool output;
  const char *name;
  sci_stated_type type;
} port_text;

typedef struct module_parser {
  sci_prog_parser e;
  bool open;
  const char *name;
  sc_target target;
  sc_rounding rounding;
  sci_vector_math vector;
  bool strict_nan, derived;
  SCI_VEC(port_text) ports;
  sci_text_proc entry; /* the last procedure's parameters */
} module_parser;

static void free_arena(void *what) {
  sci_arena_free(what);
}

/* ---- procedures ---- */

void sci_text_proc_wrote(sci_text_proc *proc, const sci_store *s, sci_buf b) {
  int64_t offset;
  sci_buf owner = sci_storage(s, b, &offset);
  /* Parameters are made one after the other, before any other buffer of their procedure. */
  sci_buf first = proc->params.n ? proc->params.data[0].buf : 0;
  if (owner >= first && owner - first < proc->params.n) proc->params.data[owner - first].written = true;
}

uint32_t sci_find_callee(sci_prog_parser *e, const sci_token *name) {
  sci_parser *p = &e->p;
  const uint32_t *at = sci_names_find(&e->procs_by_name, name->s, name->n);
  const char *shown = sci_show(p, name->s, name->n);
  if (!at)
    sci_fail_at(p, name->begin, SC_ERR_NAME, "there is no procedure @%s before this call: callees come before callers",
                shown);
  if (*at == e->procs.n) sci_fail_at(p, name->begin, SC_ERR_NAME, "@%s calls itself: recursion is not possible", shown);
  if (!e->procs.data[*at]) sci_unwind(p->env); /* its own problem has been reported */
  return *at;
}

static void parse_proc(module_parser *m) {
  sci_prog_parser *e = &m->e;
  sci_parser *p = &e->p;
  sci_advance(p);
  sci_token name = sci_expect(p, SCI_T_SYMBOL, "the name of a procedure (@f)");
  if (sci_names_find(&e->procs_by_name, name.s, name.n))
    sci_fail_at(p, name.begin, SC_ERR_NAME, "the procedure @%s is defined twice", sci_show(p, name.s, name.n));
  sci_names_add(&e->procs_by_name, &e->keep, sci_strndup(&e->keep, name.s, name.n), name.n, (uint32_t)e->procs.n);
  p->where = name.begin;
  sci_check_name(p->cx, "procedure", sci_token_string(p, &name), false);
  sci_names_init(&e->names, p->env);
  sci_text_proc text = {0};
  const sci_proc *proc = sci_parse_proc_body(e, &name, &text);
  sci_names_free(&e->names);
  sci_vec_push(&e->keep, &e->procs, proc);
  /* The last procedure's parameters may become the program's ports. */
  m->entry = (sci_text_proc){0};
  for (size_t i = 0; i < text.params.n; i++) {
    sci_text_param param = text.params.data[i];
    param.name = sci_strdup(&e->keep, param.name);
    sci_vec_push(&e->keep, &m->entry.params, param);
  }
}

/* ---- tables ---- */

/* prog.table @t : memref<4xint64> = [0, 1, 2, 3] */
static void parse_table(module_parser *m) {
  sci_prog_parser *e = &m->e;
  sci_parser *p = &e->p;
  sci_advance(p);
  sci_token name = sci_expect(p, SCI_T_SYMBOL, "the name of a table (@t)");
  if (sci_names_find(&e->tables, name.s, name.n))
    sci_fail_at(p, name.begin, SC_ERR_NAME, "the table @%s is defined twice", sci_show(p, name.s, name.n));
  sci_expect_punct(p, ':', "after the name of a table");
  sci_stated_type t = {.where = p->tok.begin};
  sci_expect_word(p, "memref");
  sci_parse_dims(p, &t, true);
  sci_expect_punct(p, '>', "at the end of a type");
  sci_expect_punct(p, '=', "before the elements of a table");
  sci_expect_punct(p, '[', "before the elements of a table");
  SCI_VEC(uint64_t) bits = {0};
  while (!sci_at_punct(p, ']')) {
    if (bits.n) sci_expect_punct(p, ',', "or ']' after an element");
    sci_literal l = sci_parse_literal(p);
    sci_vec_push(&p->env->scratch, &bits, sci_scalar_bits(t.dtype, sci_literal_value(p, &l, t.dtype)));
  }
  int64_t size = sci_type_size(&t);
  if ((int64_t)bits.n != size)
    sci_fail_at(p, t.where, SC_ERR_SHAPE, "%zu elements where %lld are stated", bits.n, (long long)size);
  sci_advance(p);
  char *data = sci_alloc_array(&p->env->scratch, bits.n, sc_dtype_size(t.dtype));
  for (size_t i = 0; i < bits.n; i++) sci_scalar_store(t.dtype, data, i, sci_scalar_from_bits(t.dtype, bits.data[i]));
  sci_buf table = sci_const_table(e->s, t.dtype, size, data, sci_hint_of(p, &name));
  sci_names_add(&e->tables, &e->keep, sci_strndup(&e->keep, name.s, name.n), name.n, table);
}

/* ---- ports ---- */

static const sc_pattern *keep_pattern(sci_arena *a, const sc_pattern *from) {
  sc_pattern *copy = SCI_NEW(a, sc_pattern);
  size_t n_outer = (size_t)(from->layout == SC_CSC   ? from->ncol + 1
                            : from->layout == SC_CSR ? from->nrow + 1
                                                     : from->nnz);
  size_t n_inner = (size_t)from->nnz;
  int32_t *outer = SCI_ARRAY(a, int32_t, n_outer), *inner = SCI_ARRAY(a, int32_t, n_inner);
  if (n_outer) memcpy(outer, from->outer, n_outer * sizeof *outer);
  if (n_inner) memcpy(inner, from->inner, n_inner * sizeof *inner);
  *copy = *from;
  copy->outer = outer;
  copy->inner = inner;
  return copy;
}

/* prog.output "y" : tensor<3xfloat64> */
static void parse_port(module_parser *m) {
  sci_parser *p = &m->e.p;
  port_text port = {.output = sci_at_word(p, "prog.output")};
  sci_advance(p);
  port.where = p->tok.begin;
  sci_token name = sci_expect(p, SCI_T_STRING, "the name of a port in double quotes");
  p->where = name.begin;
  port.name = sci_strndup(&m->e.s->arena, name.s, name.n);
  sci_check_name(p->cx, port.output ? "output" : "input", port.name, true);
  for (size_t i = 0; i < m->ports.n; i++)
    if (!strcmp(m->ports.data[i].name, port.name))
      sci_fail_at(p, name.begin, SC_ERR_NAME, "the name \"%s\" is used twice among inputs and outputs",
                  sci_show(p, name.s, name.n));
  if (m->ports.n && !port.output && m->ports.data[m->ports.n - 1].output)
    sci_fail_at(p, name.begin, SC_ERR_PARSE, "an input behind an output: inputs come first");
  sci_expect_punct(p, ':', "after the name of a port");
  port.type = sci_parse_type(p, port.output);
  if (port.type.pattern) {
    if (!sci_pattern_fits(port.type.pattern))
      sci_fail_at(p, port.type.where, SC_ERR_INDEX, "the pattern is not ordered, or leaves the matrix");
    port.type.pattern = (sc_pattern *)(uintptr_t)keep_pattern(&m->e.s->arena, port.type.pattern);
  }
  sci_vec_push(&m->e.keep, &m->ports, port);
}

static sci_port_info port_info(module_parser *m, const char *name, const sci_stated_type *t) {
  sci_port_info info = {.name = sci_strdup(&m->e.s->arena, name),
                        .dtype = (uint8_t)t->dtype,
                        .rank = (uint8_t)t->rank,
                        .pattern = t->pattern};
  memcpy(info.shape, t->shape, sizeof info.shape);
  if (!t->pattern) return info;
  info.rank = 1;
  info.shape[0] = t->pattern->nnz;
  info.shape[1] = 0;
  return info;
}

/* The stated ports, each as large as the parameter it stands for; without any, the parameters themselves. */
static const sci_port_info *make_ports(module_parser *m) {
  sci_parser *p = &m->e.p;
  const sci_text_proc *entry = &m->entry;
  sci_port_info *ports = SCI_ZEROS(&m->e.s->arena, sci_port_info, entry->params.n);
  if (m->ports.n && m->ports.n != entry->params.n)
    sci_fail_at(p, m->ports.data[0].where, SC_ERR_SHAPE,
                "%zu inputs and outputs, but the last procedure's parameters are %zu", m->ports.n, entry->params.n);
  for (size_t i = 0; i < entry->params.n; i++) {
    const sci_text_param *param = &entry->params.data[i];
    if (!m->ports.n) {
      p->where = param->where;
      sci_check_name(p->cx, "parameter", param->name, true);
      ports[i] = port_info(m, param->name, &param->type);
      continue;
    }
    const port_text *port = &m->ports.data[i];
    int64_t size = port->type.pattern ? port->type.pattern->nnz : sci_type_size(&port->type);
    if (port->output != (param->role == SCI_ROLE_OUTPUT) || port->type.dtype != param->type.dtype ||
        size != sci_type_size(&param->type))
      sci_fail_at(p, port->where, SC_ERR_SHAPE, "\"%s\" does not fit parameter %zu of the last procedure", port->name,
                  i);
    ports[i] = port_info(m, port->name, &port->type);
  }
  return ports;
}

/* ---- the module ---- */

static _Noreturn void unknown_target(sci_parser *p, const char *where, const char *name) {
  sci_text list;
  sci_text_init(&list, &p->env->scratch);
  for (size_t i = 0; i < sc_target_preset_count(); i++)
    sci_putf(&list, "%s%s", i ? ", " : "", sc_target_preset_name(i));
  sci_fail_at(p, where, SC_ERR_NAME, "there is no target \"%s\" (there are: %s)", sci_show(p, name, strlen(name)),
              list.data);
}

static void parse_target_field(sci_parser *p, sc_target *t, const sci_target_field *f) {
  void *at = (char *)t + f->offset;
  sci_token s;
  const char *where = p->tok.begin;
  switch (f->kind) {
  case SCI_TARGET_INT: *(int *)at = (int)sci_parse_int_in(p, 0, INT32_MAX, "a number"); break;
  case SCI_TARGET_BOOL: *(bool *)at = sci_parse_flag(p); break;
  case SCI_TARGET_STRING:
    s = sci_expect(p, SCI_T_STRING, "a string in double quotes");
    if (s.n >= f->size) sci_fail_at(p, where, SC_ERR_OVERFLOW, "%s has room for %zu characters", f->key, f->size - 1);
    memset(at, 0, f->size);
    memcpy(at, s.s, s.n);
    break;
  case SCI_TARGET_ISA: {
    s = sci_expect(p, SCI_T_STRING, "an instruction set in double quotes");
    int isa = 0;
    while (isa < SCI_ISA_COUNT && (strlen(sci_isa_words[isa]) != s.n || memcmp(sci_isa_words[isa], s.s, s.n) != 0))
      isa++;
    if (isa == SCI_ISA_COUNT)
      sci_fail_at(p, where, SC_ERR_NAME, "there is no instruction set \"%s\"", sci_show(p, s.s, s.n));
    *(sc_isa *)at = (sc_isa)isa;
    break;
  }
  }
}

/* vector_glibc=235, vector_sleef=304, vector_accuracy=4: which libraries, from which version on, to which error. */
static bool parse_vector_math(sci_parser *p, sci_vector_math *m) {
  bool glibc = sci_at_word(p, "vector_glibc"), sleef = sci_at_word(p, "vector_sleef");
  if (!glibc && !sleef && !sci_at_word(p, "vector_accuracy")) return false;
  sci_advance(p);
  sci_expect_punct(p, '=', "after the name of an attribute");
  if (glibc || sleef) {
    *(glibc ? &m->glibc : &m->sleef) = (int16_t)sci_parse_int_in(p, 0, INT16_MAX, "a version (100 * major + minor)");
    return true;
  }
  const char *where = p->tok.begin;
  sci_literal l = sci_parse_literal(p);
  m->accuracy = sci_literal_value(p, &l, SC_FLOAT64).f64;
  if (!(m->accuracy > 0))
    sci_fail_at(p, where, SC_ERR_PARSE, "vector_accuracy is a positive number of units in the last place");
  return true;
}

/* {target="x86-64-v3", lanes=2, rounding="strict"}: the target first, then what differs from it. */
static void parse_module_attrs(module_parser *m) {
  sci_parser *p = &m->e.p;
  if (!sci_at_attributes(p)) return;
  const char *where = NULL;
  bool known = true, has_isa = false;
  sci_advance(p);
  for (bool more = false; !sci_at_punct(p, '}'); more = true) {
    if (more) sci_expect_punct(p, ',', "or '}' after an attribute");
    if (parse_vector_math(p, &m->vector)) continue;
    const sci_target_field *field = NULL;
    for (int i = 0; i < SCI_TARGET_FIELD_COUNT; i++)
      if (sci_at_word(p, sci_target_fields[i].key)) field = &sci_target_fields[i];
    bool target = sci_at_word(p, "target"), strict = sci_at_word(p, "strict_nan"), derived = sci_at_word(p, "derived");
    if (!field && !target && !strict && !derived && !sci_at_word(p, "rounding"))
      sci_unexpected(p, "an attribute of a module (target and its fields, rounding, strict_nan, derived, vector_glibc, "
                        "vector_sleef, vector_accuracy)");
    if (target && where) sci_unexpected(p, "one target");
    if (field && !where) sci_unexpected(p, "the target before its fields");
    sci_advance(p);
    sci_expect_punct(p, '=', "after the name of an attribute");
    if (field) {
      parse_target_field(p, &m->target, field);
      has_isa |= field->kind == SCI_TARGET_ISA;
      continue;
    }
    if (strict || derived) {
      *(strict ? &m->strict_nan : &m->derived) = sci_parse_flag(p);
      continue;
    }
    sci_token s = sci_expect(p, SCI_T_STRING, "a string in double quotes");
    const char *string = sci_token_string(p, &s);
    if (target) {
      where = s.begin;
      known = sci_target_base(string, &m->target);
    } else if (!strcmp(string, "strict") || !strcmp(string, "default")) {
      m->rounding = string[0] == 's' ? SC_ROUNDING_STRICT : SC_ROUNDING_DEFAULT;
    } else {
      sci_fail_at(p, s.begin, SC_ERR_PARSE, "expected \"default\" or \"strict\", found \"%s\"", sci_show(p, s.s, s.n));
    }
  }
  sci_advance(p);
  if (!known && !has_isa) unknown_target(p, where, m->target.name);
}

static void parse_module_head(module_parser *m) {
  sci_parser *p = &m->e.p;
  sci_token name = sci_expect(p, SCI_T_SYMBOL, "the name of a module (@f)");
  p->where = name.begin;
  m->name = sci_strndup(&m->e.s->arena, name.s, name.n);
  sci_check_name(p->cx, "module", m->name, false);
  parse_module_attrs(m);
  sci_expect_punct(p, '{', "before the contents of a module");
}

/* One piece of the module in a frame of its own: a problem in it ends only that piece. */
static void parse_item(module_parser *m) {
  sci_prog_parser *e = &m->e;
  sci_parser *p = &e->p;
  const char *start = p->tok.begin;
  memset(&e->things, 0, sizeof e->things);
  memset(&e->operands, 0, sizeof e->operands);
  memset(&e->stack, 0, sizeof e->stack);
  sci_frame fr;
  if (SCI_TRY(p->env, &fr)) {
    if (sci_at_word(p, "prog.proc"))
      parse_proc(m);
    else if (m->open && sci_at_word(p, "prog.table"))
      parse_table(m);
    else if (m->open && (sci_at_word(p, "prog.input") || sci_at_word(p, "prog.output")))
      parse_port(m);
    else
      sci_unexpected(p, m->open ? "prog.proc, prog.table, prog.input, prog.output or '}'" : "prog.module or prog.proc");
    sci_leave(p->env, &fr);
    return;
  }
  if (e->procs.n < e->procs_by_name.entries.n) sci_vec_push(&e->keep, &e->procs, NULL);
  sci_parser_recover(p, start, "prog.proc");
}

static void parse_text(module_parser *m) {
  sci_parser *p = &m->e.p;
  bool closed = false;
  if (sci_accept_word(p, "prog.module")) {
    m->open = true;
    parse_module_head(m);
  }
  do {
    if (m->open && sci_accept_punct(p, '}')) {
      m->open = false;
      closed = true;
      if (p->tok.kind != SCI_T_END && !sci_parser_problems(p)) sci_unexpected(p, "nothing behind the module");
    } else {
      parse_item(m);
    }
  } while (p->tok.kind != SCI_T_END && !closed);
  if (sci_parser_problems(p)) sci_unwind(p->env);
  if (m->open) sci_unexpected(p, "'}' at the end of the module");
  if (!m->e.procs.n) sci_fail_at(p, p->source.text, SC_ERR_PARSE, "a module without procedures");
}

static sci_program *make_program(module_parser *m) {
  sci_prog_parser *e = &m->e;
  uint32_t n = (uint32_t)e->procs.n;
  const sci_proc **procs = SCI_ARRAY(&e->s->arena, const sci_proc *, n);
  memcpy(procs, e->procs.data, n * sizeof *procs);
  const sci_port_info *ports = make_ports(m);
  sci_program *program = sci_program_create(e->p.cx, e->s);
  program->name = m->name ? m->name : procs[n - 1]->name;
  program->n_procs = n;
  program->procs = procs;
  program->ports = ports;
  program->target = m->target;
  program->rounding = (uint8_t)m->rounding;
  program->strict_nan = m->strict_nan;
  program->derived = m->derived;
  program->vector = m->vector;
  return program;
}

sci_program *sci_parse_program(sc_context *cx, sci_source source) {
  sci_env *env = &cx->env;
  module_parser *m = SCI_NEW(&env->scratch, module_parser);
  sci_prog_parser *e = &m->e;
  e->s = sci_store_create(env);
  sci_parser_begin(&e->p, cx, source);
  sci_arena_init(&e->keep, env);
  sci_defer(env, free_arena, &e->keep);
  sci_names_init(&e->ops, env);
  for (uint32_t op = 0; op < SCI_OP_COUNT; op++)
    sci_names_add(&e->ops, &e->keep, sci_ops[op].name, strlen(sci_ops[op].name), op);
  sci_names_init(&e->procs_by_name, env);
  sci_names_init(&e->tables, env);
  sci_target_base("generic", &m->target);
  parse_text(m);
  sci_program *program = make_program(m);
  sci_names_free(&e->tables);
  sci_names_free(&e->procs_by_name);
  sci_names_free(&e->ops);
  sci_keep(env, &e->keep);
  sci_arena_free(&e->keep);
  sci_parser_end(&e->p);
  sci_program_check(program);
  return program;
}
