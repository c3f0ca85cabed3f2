/* Owns the parser of programs: statements and procedures. */
#include "lib/text/prog_module.h"
#include "lib/text/prog_text.h"
#include "lib/text/words.h"

typedef struct open_loop {
  sci_loop loop;
  sci_block_builder block;
  size_t first_thing; /* defined since the loop began */
  sci_block_builder *outer;
} open_loop;

typedef SCI_VEC(sci_local) locals_vec;

typedef struct proc_parser {
  sci_prog_parser *e;
  sci_text_proc *out;
  sci_block_builder body;
  SCI_VEC(open_loop *) loops;
  locals_vec locals;
  SCI_VEC(sci_buf) aliases;
  SCI_VEC(uint32_t) scoped; /* things in order of definition */
} proc_parser;

/* ---- names ---- */

static void define(proc_parser *k, const sci_token *name, sci_thing_kind kind, uint32_t id) {
  sci_prog_parser *e = k->e;
  sci_arena *scratch = &e->p.env->scratch;
  const uint32_t *old = sci_names_find(&e->names, name->s, name->n);
  uint32_t at = old ? *old : (uint32_t)e->things.n;
  if (old && !e->things.data[at].gone)
    sci_fail_at(&e->p, name->begin, SC_ERR_NAME, "%%%s is defined twice", sci_show(&e->p, name->s, name->n));
  sci_thing thing = {.kind = (uint8_t)kind, .id = id};
  if (old) {
    e->things.data[at] = thing;
  } else {
    sci_vec_push(scratch, &e->things, thing);
    sci_names_add(&e->names, scratch, name->s, name->n, at);
  }
  sci_vec_push(scratch, &k->scoped, at);
}

/* ---- types and attributes ---- */

/* memref<12xfloat64>, in a signature with a role. */
static sci_stated_type parse_memref(sci_parser *p) {
  sci_stated_type t = {.where = p->tok.begin};
  sci_expect_word(p, "memref");
  sci_parse_dims(p, &t, true);
  return t;
}

static sci_stated_type parse_plain_memref(sci_parser *p) {
  sci_stated_type t = parse_memref(p);
  sci_expect_punct(p, '>', "at the end of a type");
  return t;
}

/* `: float64` behind a statement, which must agree with what the statement has. */
static void parse_stated_dtype(sci_parser *p, sc_dtype have) {
  if (!sci_accept_punct(p, ':')) return;
  const char *where = p->tok.begin;
  sc_dtype dtype = sci_parse_dtype(p);
  if (dtype != have)
    sci_fail_at(p, where, SC_ERR_DTYPE, "%s is stated where the value is %s", sc_dtype_name(dtype),
                sc_dtype_name(have));
}

static void parse_proc_attrs(sci_parser *p, sci_proc *proc) {
  if (!sci_at_attributes(p)) return;
  sci_advance(p);
  for (bool more = false; !sci_at_punct(p, '}'); more = true) {
    static const char *const keys[] = {"lowering", "workspace", "workspace_total", "stack"};
    int64_t *const sizes[] = {NULL, &proc->workspace_self, &proc->workspace_total, &proc->stack_self};
    size_t k = 0;
    if (more) sci_expect_punct(p, ',', "or '}' after an attribute");
    while (k < sizeof keys / sizeof *keys && !sci_at_word(p, keys[k])) k++;
    if (k == sizeof keys / sizeof *keys)
      sci_unexpected(p, "an attribute of a procedure (lowering, workspace, workspace_total, stack)");
    sci_advance(p);
    sci_expect_punct(p, '=', "after the name of an attribute");
    if (k)
      *sizes[k] = sci_parse_int_in(p, 0, INT64_MAX / 2, "a number of bytes");
    else
      proc->hint = (uint8_t)sci_parse_hint(p);
  }
  sci_advance(p);
}

/* ---- locals and aliases ---- */

static void parse_local_attribute(sci_parser *p, sci_local *l) {
  bool lanes = sci_at_word(p, "lanes"), workspace = sci_at_word(p, "workspace");
  if (!lanes && !workspace && !sci_at_word(p, "stack"))
    sci_unexpected(p, "an attribute of a local (lanes, workspace, stack)");
  sci_advance(p);
  sci_expect_punct(p, '=', "after the name of an attribute");
  if (lanes) {
    l->lanes = (uint8_t)sci_parse_int_in(p, 0, 16, "a number of lanes");
  } else {
    l->in_workspace = workspace;
    l->offset = sci_parse_int_in(p, -1, INT64_MAX / 2, "an offset in bytes");
  }
}

/* prog.local %t : memref<12xfloat64> {lanes=8, workspace=0} */
static void parse_local(proc_parser *k) {
  sci_parser *p = &k->e->p;
  sci_advance(p);
  sci_token name = sci_expect(p, SCI_T_VALUE, "the name of a buffer (%t)");
  sci_expect_punct(p, ':', "after the name of a buffer");
  sci_stated_type t = parse_plain_memref(p);
  sci_local l = {.offset = -1};
  if (sci_accept_punct(p, '{')) {
    do parse_local_attribute(p, &l);
    while (sci_accept_punct(p, ','));
    sci_expect_punct(p, '}', "after an attribute");
  }
  l.buf = sci_new_buf(k->e->s, t.dtype, SCI_SPACE_PRIVATE, sci_type_size(&t), sci_hint_of(p, &name));
  define(k, &name, SCI_THING_BUF, l.buf);
  sci_vec_push(&p->env->scratch, &k->locals, l);
}

/* prog.alias %a : memref<3xfloat64> = %x[6] */
static void parse_alias(proc_parser *k) {
  sci_parser *p = &k->e->p;
  sci_store *s = k->e->s;
  sci_advance(p);
  sci_token name = sci_expect(p, SCI_T_VALUE, "the name of a buffer (%a)");
  sci_expect_punct(p, ':', "after the name of a buffer");
  sci_stated_type t = parse_plain_memref(p);
  sci_expect_punct(p, '=', "and what the alias is part of (%x[6])");
  const char *where = p->tok.begin;
  sci_buf of = sci_parse_buf(k->e);
  sci_expect_punct(p, '[', "and an offset in elements");
  int64_t offset = sci_parse_int_in(p, 0, SC_MAX_ELEMENTS, "an offset in elements");
  sci_expect_punct(p, ']', "after an offset");
  sc_dtype have = (sc_dtype)s->bufs[of].dtype;
  if (have != t.dtype)
    sci_fail_at(p, where, SC_ERR_DTYPE, "%s is stated for a part of a buffer of %s", sc_dtype_name(t.dtype),
                sc_dtype_name(have));
  sci_buf alias = sci_new_alias(s, of, offset, sci_type_size(&t), sci_hint_of(p, &name));
  define(k, &name, SCI_THING_BUF, alias);
  sci_vec_push(&p->env->scratch, &k->aliases, alias);
}

/* ---- statements ---- */

static void parse_store(proc_parser *k) {
  sci_prog_parser *e = k->e;
  sci_parser *p = &e->p;
  sci_advance(p);
  /* A number alone takes the type of the place, which comes behind it. */
  bool alone = sci_at_literal(p);
  const char *where = p->tok.begin;
  sci_literal l = {0};
  sci_val value = SCI_NIL, index;
  sci_buf buf;
  if (alone)
    l = sci_parse_literal(p);
  else
    value = sci_parse_scalar(e, SC_FLOAT64);
  sci_expect_punct(p, ',', "and a place (%y[0]) after the value of a store");
  sci_parse_view(e, &buf, &index);
  sc_dtype dtype = (sc_dtype)e->s->bufs[buf].dtype;
  if (alone) value = sci_val_const(e->s, dtype, sci_literal_value(p, &l, dtype));
  sc_dtype have = (sc_dtype)sci_value_at(e->s, value)->dtype;
  if (have != dtype)
    sci_fail_at(p, where, SC_ERR_DTYPE, "a value of %s is stored into a buffer of %s", sc_dtype_name(have),
                sc_dtype_name(dtype));
  parse_stated_dtype(p, dtype);
  sci_emit_store(e->block, buf, index, value);
  sci_text_proc_wrote(k->out, e->s, buf);
}

/* , lanes=4, of=float64, tail=overlap: the plan of a vector loop. */
static void parse_plan(sci_parser *p, sci_loop *l) {
  sci_advance(p);
  sci_expect_word(p, "lanes");
  sci_expect_punct(p, '=', "after lanes");
  l->lanes = (uint8_t)sci_parse_int_in(p, 1, 16, "a number of lanes");
  sci_expect_punct(p, ',', "after the number of lanes");
  sci_expect_word(p, "of");
  sci_expect_punct(p, '=', "after of");
  l->of = (uint8_t)sci_parse_dtype(p);
  sci_expect_punct(p, ',', "after the type of the lanes");
  sci_expect_word(p, "tail");
  sci_expect_punct(p, '=', "after tail");
  int tail = 0;
  while (tail < SCI_TAIL_COUNT && !sci_at_word(p, sci_tail_words[tail])) tail++;
  if (tail == SCI_TAIL_COUNT) sci_unexpected(p, "a tail (none, overlap, masked, all_masked)");
  l->tail = (uint8_t)tail;
  sci_advance(p);
}

/* prog.for %i = 0 to 3 step 1 {kind=reduce} { */
static void parse_for(proc_parser *k) {
  sci_prog_parser *e = k->e;
  sci_parser *p = &e->p;
  const char *where = p->tok.begin;
  open_loop *l = SCI_NEW(&p->env->scratch, open_loop);
  sci_advance(p);
  if (k->loops.n == SCI_MAX_NESTING) sci_fail_at(p, where, SC_ERR_PARSE, "loops nest deeper than %d", SCI_MAX_NESTING);
  sci_token name = sci_expect(p, SCI_T_VALUE, "a loop variable (%i)");
  sci_expect_punct(p, '=', "after a loop variable");
  l->loop.start = sci_parse_int(p);
  sci_expect_word(p, "to");
  l->loop.stop = sci_parse_int(p);
  l->loop.step = sci_accept_word(p, "step") ? sci_parse_int_in(p, 1, INT64_MAX, "a step") : 1;
  l->loop.kind = SCI_LOOP_SERIAL;
  if (sci_at_attributes(p)) {
    sci_advance(p);
    sci_expect_word(p, "kind");
    sci_expect_punct(p, '=', "after kind");
    int kind = 0;
    while (kind < SCI_LOOP_KIND_COUNT && !sci_at_word(p, sci_loop_kind_words[kind])) kind++;
    if (kind == SCI_LOOP_KIND_COUNT) sci_unexpected(p, "a kind of loop (independent, reduce, serial, vector)");
    l->loop.kind = (uint8_t)kind;
    sci_advance(p);
    if (kind == SCI_LOOP_VECTOR && sci_at_punct(p, ',')) parse_plan(p, &l->loop);
    sci_expect_punct(p, '}', "after the kind of a loop");
  }
  sci_expect_punct(p, '{', "before the body of a loop");
  l->loop.var = sci_new_var(e->s, sci_hint_of(p, &name));
  l->first_thing = k->scoped.n;
  define(k, &name, SCI_THING_VAR, sci_val_var(e->s, l->loop.var));
  l->outer = e->block;
  sci_block_begin(&l->block, e->s);
  e->block = &l->block;
  sci_vec_push(&p->env->scratch, &k->loops, l);
}

static void close_loop(proc_parser *k) {
  sci_prog_parser *e = k->e;
  open_loop *l = k->loops.data[--k->loops.n];
  while (k->scoped.n > l->first_thing) e->things.data[k->scoped.data[--k->scoped.n]].gone = true;
  e->block = l->outer;
  sci_loop *made = SCI_NEW(&e->s->arena, sci_loop);
  *made = l->loop;
  made->body = sci_block_end(&l->block, e->s);
  sci_emit(e->block,
           (sci_stmt){
               .kind = SCI_S_LOOP, .name = SCI_NIL, .buf = SCI_NIL, .index = SCI_NIL, .value = SCI_NIL, .loop = made});
}

/* prog.call @g(%x[0], %y[3]) */
static void parse_call(proc_parser *k) {
  sci_prog_parser *e = k->e;
  sci_parser *p = &e->p;
  SCI_VEC(sci_view) views = {0};
  sci_advance(p);
  sci_token name = sci_expect(p, SCI_T_SYMBOL, "the name of a procedure (@g)");
  uint32_t at = sci_find_callee(e, &name);
  const sci_proc *callee = e->procs.data[at];
  sci_expect_punct(p, '(', "before the views of a call");
  while (!sci_at_punct(p, ')')) {
    sci_view v;
    if (views.n) sci_expect_punct(p, ',', "or ')' after a view");
    const char *where = p->tok.begin;
    sci_parse_view(e, &v.buf, &v.index);
    if (views.n == callee->n_in + callee->n_out)
      sci_fail_at(p, where, SC_ERR_PARSE, "a view behind the last parameter (@%s has %zu)", callee->name, views.n);
    if (views.n >= callee->n_in) sci_text_proc_wrote(k->out, e->s, v.buf);
    sci_vec_push(&p->env->scratch, &views, v);
  }
  if (views.n != callee->n_in + callee->n_out)
    sci_fail_at(p, name.begin, SC_ERR_PARSE, "@%s has %u parameter%s, found %zu view%s", callee->name,
                callee->n_in + callee->n_out, callee->n_in + callee->n_out == 1 ? "" : "s", views.n,
                views.n == 1 ? "" : "s");
  sci_advance(p);
  sci_emit_call(e->block, e->s, at, (uint32_t)views.n, views.data);
}

/* {declare}, {declare=true}, {declare, mutable} */
static void parse_assign_flags(sci_parser *p, bool *declares, bool *is_mutable) {
  if (!sci_accept_punct(p, '{')) return;
  for (bool more = false; !sci_at_punct(p, '}'); more = true) {
    if (more) sci_expect_punct(p, ',', "or '}' after an attribute");
    bool *flag = sci_at_word(p, "declare") ? declares : sci_at_word(p, "mutable") ? is_mutable : NULL;
    if (!flag) sci_unexpected(p, "an attribute of prog.assign (declare, mutable)");
    sci_advance(p);
    *flag = !sci_accept_punct(p, '=') || sci_parse_flag(p);
  }
  sci_advance(p);
}

static void parse_assign(proc_parser *k, const sci_token *name) {
  sci_prog_parser *e = k->e;
  sci_parser *p = &e->p;
  const uint32_t *old = sci_names_find(&e->names, name->s, name->n);
  const sci_thing *thing = old ? &e->things.data[*old] : NULL;
  bool known = thing && thing->kind == SCI_THING_NAME && !thing->gone, declares = false, is_mutable = false;
  bool alone = sci_at_literal(p);
  sci_literal l = {0};
  sci_val value = SCI_NIL;
  if (alone)
    l = sci_parse_literal(p);
  else
    value = sci_parse_scalar(e, SC_FLOAT64);
  sc_dtype dtype = value != SCI_NIL ? (sc_dtype)sci_value_at(e->s, value)->dtype
                   : known          ? (sc_dtype)e->s->names[thing->id].dtype
                                    : SC_FLOAT64;
  if (alone && sci_accept_punct(p, ':')) dtype = sci_parse_dtype(p);
  if (alone) value = sci_val_const(e->s, dtype, sci_literal_value(p, &l, dtype));
  parse_stated_dtype(p, dtype);
  parse_assign_flags(p, &declares, &is_mutable);
  if (is_mutable && !declares)
    sci_fail_at(p, name->begin, SC_ERR_PARSE, "mutable belongs to a declaration: {declare, mutable}");
  if (!declares && !known)
    sci_fail_at(p, name->begin, SC_ERR_NAME, "%%%s is assigned before it is declared ({declare})",
                sci_show(p, name->s, name->n));
  sci_name n;
  if (declares) {
    n = sci_new_name(e->s, dtype, is_mutable, sci_hint_of(p, name));
    define(k, name, SCI_THING_NAME, n);
  } else {
    n = e->things.data[*sci_names_find(&e->names, name->s, name->n)].id;
  }
  sci_emit(e->block,
           (sci_stmt){
               .kind = SCI_S_ASSIGN, .declare = declares, .name = n, .buf = SCI_NIL, .index = SCI_NIL, .value = value});
}

/* %v = prog.load ..., prog.assign ..., prog.value ... */
static void parse_definition(proc_parser *k) {
  sci_prog_parser *e = k->e;
  sci_parser *p = &e->p;
  sci_token name = p->tok;
  sci_advance(p);
  sci_expect_punct(p, '=', "after a name");
  if (sci_accept_word(p, "prog.assign")) {
    parse_assign(k, &name);
  } else if (sci_accept_word(p, "prog.value")) {
    sci_val v = sci_parse_scalar(e, SC_FLOAT64);
    parse_stated_dtype(p, (sc_dtype)sci_value_at(e->s, v)->dtype);
    define(k, &name, SCI_THING_VALUE, v);
  } else if (sci_accept_word(p, "prog.load")) {
    sci_buf buf;
    sci_val index;
    sci_parse_view(e, &buf, &index);
    sc_dtype dtype = (sc_dtype)e->s->bufs[buf].dtype;
    parse_stated_dtype(p, dtype);
    sci_name n = sci_new_name(e->s, dtype, false, sci_hint_of(p, &name));
    define(k, &name, SCI_THING_NAME, n);
    sci_emit(e->block,
             (sci_stmt){.kind = SCI_S_LOAD, .declare = 1, .name = n, .buf = buf, .index = index, .value = SCI_NIL});
  } else {
    sci_unexpected(p, "prog.load, prog.assign or prog.value");
  }
}

/* One statement or the end of a loop; false at the end of the procedure. */
static bool parse_statement(proc_parser *k) {
  sci_parser *p = &k->e->p;
  if (p->tok.kind == SCI_T_VALUE)
    parse_definition(k);
  else if (sci_at_word(p, "prog.store"))
    parse_store(k);
  else if (sci_at_word(p, "prog.for"))
    parse_for(k);
  else if (sci_at_word(p, "prog.call"))
    parse_call(k);
  else if (sci_at_word(p, "prog.local"))
    parse_local(k);
  else if (sci_at_word(p, "prog.alias"))
    parse_alias(k);
  else if (!sci_accept_punct(p, '}'))
    sci_unexpected(p, "a statement (prog.store, prog.for, ...) or '}'");
  else if (!k->loops.n)
    return false;
  else
    close_loop(k);
  return true;
}

/* ---- procedures ---- */

static void parse_param(proc_parser *k) {
  sci_prog_parser *e = k->e;
  sci_parser *p = &e->p;
  sci_token name = sci_expect(p, SCI_T_VALUE, "a parameter (%x: memref<3xfloat64>)");
  sci_expect_punct(p, ':', "after the name of a parameter");
  sci_stated_type t = parse_memref(p);
  sci_text_param param = {.name = sci_token_string(p, &name), .where = name.begin, .type = t};
  if (sci_accept_word(p, "output"))
    param.role = SCI_ROLE_OUTPUT;
  else if (sci_accept_word(p, "input"))
    param.role = SCI_ROLE_INPUT;
  sci_expect_punct(p, '>', "at the end of a type");
  sci_space space = param.role == SCI_ROLE_OUTPUT ? SCI_SPACE_OUTPUT : SCI_SPACE_INPUT;
  param.buf = sci_new_buf(e->s, t.dtype, space, sci_type_size(&t), sci_hint_of(p, &name));
  define(k, &name, SCI_THING_BUF, param.buf);
  sci_vec_push(&p->env->scratch, &k->out->params, param);
}

/* A parameter without a role is an output when something is written to it. */
static void settle_roles(proc_parser *k, sci_proc *proc) {
  sci_parser *p = &k->e->p;
  sci_store *s = k->e->s;
  sci_text_proc *out = k->out;
  sci_buf *params = SCI_ARRAY(&s->arena, sci_buf, out->params.n);
  for (size_t i = 0; i < out->params.n; i++) {
    sci_text_param *param = &out->params.data[i];
    if (param->role == SCI_ROLE_UNSAID) param->role = param->written ? SCI_ROLE_OUTPUT : SCI_ROLE_INPUT;
    bool output = param->role == SCI_ROLE_OUTPUT;
    if (!output && proc->n_out)
      sci_fail_at(p, param->where, SC_ERR_PARSE, "%%%s is an input behind an output: inputs come first",
                  sci_show(p, param->name, strlen(param->name)));
    s->bufs[param->buf].space = output ? SCI_SPACE_OUTPUT : SCI_SPACE_INPUT;
    params[i] = param->buf;
    *(output ? &proc->n_out : &proc->n_in) += 1;
  }
  for (size_t i = 0; i < k->aliases.n; i++) {
    sci_buffer *alias = &s->bufs[k->aliases.data[i]];
    alias->space = s->bufs[alias->alias_of].space;
  }
  proc->params = params;
}

const sci_proc *sci_parse_proc_body(sci_prog_parser *e, const sci_token *name, sci_text_proc *out) {
  sci_parser *p = &e->p;
  proc_parser k = {.e = e, .out = out};
  sci_proc *proc = SCI_NEW(&e->s->arena, sci_proc);
  proc->name = sci_strndup(&e->s->arena, name->s, name->n);
  sci_expect_punct(p, '(', "after the name of a procedure");
  while (!sci_at_punct(p, ')')) {
    if (out->params.n) sci_expect_punct(p, ',', "or ')' after a parameter");
    parse_param(&k);
  }
  sci_advance(p);
  parse_proc_attrs(p, proc);
  sci_expect_punct(p, '{', "before the body of a procedure");
  sci_block_begin(&k.body, e->s);
  e->block = &k.body;
  while (parse_statement(&k)) {
  }
  proc->body = sci_block_end(&k.body, e->s);
  settle_roles(&k, proc);
  sci_local *locals = SCI_ARRAY(&e->s->arena, sci_local, k.locals.n);
  if (k.locals.n) memcpy(locals, k.locals.data, k.locals.n * sizeof *locals);
  proc->n_locals = (uint32_t)k.locals.n;
  proc->locals = locals;
  return proc;
}
