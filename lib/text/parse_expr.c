/* Owns the parser of expression functions: modules, signatures, statements and nested operations. */
#include "lib/text/expr_text.h"

typedef struct pending { /* an operation whose operands are being read */
  const char *where;
  unsigned op;
  size_t first; /* of its operands */
} pending;

typedef struct expr_parser {
  sci_parser p;
  sci_arena keep; /* what outlives a function: the functions' names */
  sci_names ops;
  sci_known_functions known;
  /* of the function being read, in the scratch arena of its frame */
  sci_names values;
  SCI_VEC(sc_named) inputs;
  SCI_VEC(sci_operand) operands;
  SCI_VEC(pending) stack;
} expr_parser;

static void free_arena(void *what) {
  sci_arena_free(what);
}

/* ---- operations ---- */

static _Noreturn void unknown_op(sci_parser *p) {
  sci_text list;
  sci_text_init(&list, &p->env->scratch);
  for (unsigned op = 0; op < SCI_X_END; op++)
    if (sci_xop_find(sci_xop_name(op), strlen(sci_xop_name(op))) >= 0)
      sci_putf(&list, "%s%s", list.n ? " " : "", sci_xop_name(op));
  for (unsigned c = 0; c < SCI_C_COUNT; c++) sci_putf(&list, " %s", sci_compositions[c].name);
  sci_fail_at(p, p->tok.begin, SC_ERR_PARSE, "there is no operation '%s'; there are: %s",
              sci_show(p, p->tok.s, p->tok.n), list.data);
}

static unsigned parse_op(expr_parser *e) {
  sci_token t = e->p.tok;
  if (t.n > 5 && !memcmp(t.s, "expr.", 5)) t.s += 5, t.n -= 5;
  const uint32_t *op = sci_names_find(&e->ops, t.s, t.n);
  if (!op) unknown_op(&e->p);
  sci_advance(&e->p);
  return *op;
}

/* `name` of an input node: the input of the signature. */
static sci_id parse_input(expr_parser *e, const char *where, const sci_attrs *attrs) {
  sci_parser *p = &e->p;
  const sci_attr_value *name = sci_given(attrs, SCI_A_NAME);
  if (!name) sci_fail_at(p, where, SC_ERR_PARSE, "expr.input needs the attribute name");
  if (sci_given(attrs, SCI_A_LOWERING)) sci_fail_at(p, where, SC_ERR_PARSE, "an input carries no hint");
  for (size_t i = 0; i < e->inputs.n; i++)
    if (!strcmp(e->inputs.data[i].name, name->string)) return e->inputs.data[i].expr.id;
  sci_fail_at(p, name->where, SC_ERR_NAME, "the function has no input \"%s\"",
              sci_show(p, name->string, strlen(name->string)));
}

/* The operation's name and operands have been read; what follows is attributes and a type. */
static void finish_op(expr_parser *e) {
  sci_parser *p = &e->p;
  pending op = e->stack.data[--e->stack.n];
  sci_attrs attrs;
  sci_stated_type stated;
  sci_parse_attrs(p, op.op, &attrs);
  bool typed = sci_accept_punct(p, ':');
  if (typed) stated = sci_parse_type(p, false);
  sci_id id;
  if (op.op == SCI_X_input) {
    id = parse_input(e, op.where, &attrs);
    if (typed) sci_check_stated(p, id, &stated);
  } else {
    sci_op_text t = {.where = op.where,
                     .op = op.op,
                     .operands = e->operands.data + op.first,
                     .n = (uint32_t)(e->operands.n - op.first),
                     .attrs = &attrs,
                     .stated = typed ? &stated : NULL};
    id = sci_build_op(p, &e->known, &t);
  }
  e->operands.n = op.first;
  sci_vec_push(&p->env->scratch, &e->operands, (sci_operand){.where = op.where, .id = id});
}

static void parse_value_name(expr_parser *e) {
  sci_parser *p = &e->p;
  sci_token t = p->tok;
  const uint32_t *id = sci_names_find(&e->values, t.s, t.n);
  if (!id) sci_fail_at(p, t.begin, SC_ERR_NAME, "the value %%%s is not defined", sci_show(p, t.s, t.n));
  sci_advance(p);
  sci_vec_push(&p->env->scratch, &e->operands, (sci_operand){.where = t.begin, .id = *id});
}

/* Starts an operand; true when it is whole, false when it is an operation whose first operand comes next. */
static bool start_operand(expr_parser *e) {
  sci_parser *p = &e->p;
  if (p->tok.kind == SCI_T_VALUE) {
    parse_value_name(e);
    return true;
  }
  if (sci_at_literal(p)) {
    const char *where = p->tok.begin;
    sci_operand o = {.where = where, .id = SCI_NONE, .literal = sci_parse_literal(p)};
    sci_vec_push(&p->env->scratch, &e->operands, o);
    return true;
  }
  if (p->tok.kind != SCI_T_WORD) sci_unexpected(p, "a value (%%x), a number or an operation");
  if (e->stack.n == SCI_MAX_NESTING)
    sci_fail_at(p, p->tok.begin, SC_ERR_PARSE, "operations nest deeper than %d; give some of them a name (%%v = ...)",
                SCI_MAX_NESTING);
  pending op = {.where = p->tok.begin, .op = parse_op(e), .first = e->operands.n};
  sci_vec_push(&p->env->scratch, &e->stack, op);
  if (op.op == SCI_X_input || op.op == SCI_X_const) {
    if (sci_at_punct(p, '('))
      sci_fail_at(p, p->tok.begin, SC_ERR_PARSE, "expr.%s takes no operands", sci_xop_name(op.op));
  } else {
    sci_expect_punct(p, '(', "before the operands of an operation");
    if (!sci_accept_punct(p, ')')) return false;
  }
  finish_op(e);
  return true;
}

/* %z[0], %z[1:3] */
static void parse_subscripts(expr_parser *e) {
  sci_parser *p = &e->p;
  while (sci_at_punct(p, '[')) {
    sci_operand *o = &e->operands.data[e->operands.n - 1];
    const char *where = p->tok.begin;
    if (o->id == SCI_NONE) sci_fail_at(p, where, SC_ERR_PARSE, "a number has no elements to index");
    sc_range ranges[SC_MAX_RANK];
    sci_advance(p);
    int n = sci_parse_ranges(p, ranges);
    p->where = where;
    o->id = sci_make_slice(p->cx, o->id, n, ranges);
  }
}

/* Reads one value with all that nests in it and leaves it as the only operand. Operations wait on a stack: the C stack
 * does not grow with the text. */
static sci_operand parse_value(expr_parser *e) {
  sci_parser *p = &e->p;
  size_t base = e->stack.n;
  for (;;) {
    if (!start_operand(e)) continue;
    for (;;) {
      parse_subscripts(e);
      if (e->stack.n == base) return e->operands.data[--e->operands.n];
      if (sci_accept_punct(p, ',')) break;
      sci_expect_punct(p, ')', "or ',' after an operand");
      finish_op(e);
    }
  }
}

/* ---- statements ---- */

static void define(expr_parser *e, const sci_token *name, sci_id id) {
  sci_parser *p = &e->p;
  const uint32_t *old = sci_names_find(&e->values, name->s, name->n);
  if (!old) {
    sci_names_add(&e->values, &p->env->scratch, name->s, name->n, id);
  } else if (*old != id ||
             sci_node_at(p->cx, id)->op != SCI_X_input) { /* %x = expr.input {name="x"} only repeats the signature */
    sci_fail_at(p, name->begin, SC_ERR_NAME, "the value %%%s is defined twice", sci_show(p, name->s, name->n));
  }
}

/* %v = value; a number alone may say its type: %v = 2 : tensor<float32> */
static void parse_definition(expr_parser *e) {
  sci_parser *p = &e->p;
  sci_token name = p->tok;
  sci_advance(p);
  sci_expect_punct(p, '=', "after the name of a value");
  sci_operand v = parse_value(e);
  if (v.id == SCI_NONE) {
    sci_stated_type t = {.dtype = sci_literal_is_bool(&v.literal) ? SC_BOOL : SC_FLOAT64};
    bool typed = sci_accept_punct(p, ':');
    if (typed) t = sci_parse_type(p, false);
    v.id = sci_build_literal(p, &v.literal, t.dtype);
    if (typed) sci_check_stated(p, v.id, &t);
  }
  define(e, &name, v.id);
}

typedef SCI_VEC(sci_stated_type) types_vec;
typedef SCI_VEC(sc_named) named_vec;

static void parse_return(expr_parser *e, named_vec *outputs, const types_vec *types) {
  sci_parser *p = &e->p;
  const char *where = p->tok.begin;
  size_t n = 0;
  sci_advance(p);
  while (!sci_at_punct(p, '}')) {
    if (n) sci_expect_punct(p, ',', "or '}' after a returned value");
    const char *at = p->tok.begin;
    sci_operand v = parse_value(e);
    if (n == outputs->n)
      sci_fail_at(p, at, SC_ERR_PARSE, "a value behind the last output (the function has %zu)", outputs->n);
    const sci_stated_type *t = &types->data[n];
    if (v.id == SCI_NONE) v.id = sci_build_literal(p, &v.literal, t->where ? t->dtype : SC_FLOAT64);
    if (t->where && !t->pattern) sci_check_stated(p, v.id, t);
    if (t->pattern && sci_type_of(p->cx, v.id)->dtype != t->dtype)
      sci_fail_at(p, at, SC_ERR_DTYPE, "%s is stated, but the value is %s", sci_type_show(p, t),
                  sci_type_text(p->cx, v.id));
    outputs->data[n++].expr = sci_wrap(p->cx, v.id);
  }
  if (n < outputs->n)
    sci_fail_at(p, where, SC_ERR_PARSE, "the output %%%s is not returned",
                sci_show(p, outputs->data[n].name, strlen(outputs->data[n].name)));
}

/* ---- functions ---- */

static void parse_inputs(expr_parser *e) {
  sci_parser *p = &e->p;
  sci_expect_punct(p, '(', "after the name of a function");
  while (!sci_at_punct(p, ')')) {
    if (e->inputs.n) sci_expect_punct(p, ',', "or ')' after an input");
    sci_token name = sci_expect(p, SCI_T_VALUE, "an input (%x: tensor<..>)");
    sci_expect_punct(p, ':', "after the name of an input");
    sci_stated_type t = sci_parse_type(p, false);
    if (t.diff > 0 && !sci_is_float(t.dtype))
      sci_fail_at(p, t.where, SC_ERR_DTYPE, "%s carries no derivative", sc_dtype_name(t.dtype));
    const char *s = sci_token_string(p, &name);
    p->where = name.begin;
    sci_id id = sci_make_input(p->cx, s, t.dtype, t.diff >= 0 && sci_is_float(t.dtype), t.rank, t.shape);
    define(e, &name, id);
    sci_vec_push(&p->env->scratch, &e->inputs, (sc_named){.name = s, .expr = sci_wrap(p->cx, id)});
  }
  sci_advance(p);
}

static void parse_outputs(expr_parser *e, named_vec *outputs, types_vec *types) {
  sci_parser *p = &e->p;
  if (p->tok.kind != SCI_T_ARROW) sci_unexpected(p, "'->' and the outputs");
  sci_advance(p);
  sci_expect_punct(p, '(', "before the outputs");
  while (!sci_at_punct(p, ')')) {
    if (outputs->n) sci_expect_punct(p, ',', "or ')' after an output");
    sci_token name = sci_expect(p, SCI_T_VALUE, "an output (%y: tensor<..>)");
    sci_stated_type t = {.where = NULL};
    if (sci_accept_punct(p, ':')) t = sci_parse_type(p, true);
    sci_vec_push(&p->env->scratch, types, t);
    sci_vec_push(&p->env->scratch, outputs, (sc_named){.name = sci_token_string(p, &name), .pattern = t.pattern});
  }
  sci_advance(p);
}

typedef struct function_attrs {
  sc_hint hint;
  bool strict_nan, derived;
  sci_custom custom;
} function_attrs;

/* {lowering="block", strict_nan=true, derived=true, jvp="f_jvp", vjp="f_vjp", jacobian=sparse<..>} */
static void parse_function_attrs(expr_parser *e, function_attrs *attrs) {
  sci_parser *p = &e->p;
  if (!sci_at_attributes(p)) return;
  sci_advance(p);
  for (bool more = false; !sci_at_punct(p, '}'); more = true) {
    if (more) sci_expect_punct(p, ',', "or '}' after an attribute");
    static const char *const keys[] = {"lowering", "strict_nan", "derived", "jvp", "vjp", "jacobian"};
    size_t key = 0;
    while (key < 6 && !sci_at_word(p, keys[key])) key++;
    if (key == 6) sci_unexpected(p, "an attribute of a function (lowering, strict_nan, derived, jvp, vjp, jacobian)");
    sci_advance(p);
    sci_expect_punct(p, '=', "after the name of an attribute");
    switch (key) {
    case 0: attrs->hint = sci_parse_hint(p); break;
    case 1: attrs->strict_nan = sci_parse_flag(p); break;
    case 2: attrs->derived = sci_parse_flag(p); break;
    case 3: attrs->custom.jvp = sci_parse_known_function(p, &e->known); break;
    case 4: attrs->custom.vjp = sci_parse_known_function(p, &e->known); break;
    default: {
      const char *where = p->tok.begin;
      attrs->custom.pattern = sci_parse_type(p, true).pattern;
      if (!attrs->custom.pattern)
        sci_fail_at(p, where, SC_ERR_PARSE, "the pattern of a Jacobian is a sparse type (sparse<..>)");
    }
    }
  }
  sci_advance(p);
}

/* From behind the function's name to its closing brace. */
static sc_function *parse_body(expr_parser *e, const sci_token *name) {
  sci_parser *p = &e->p;
  named_vec outputs = {0};
  types_vec types = {0};
  function_attrs attrs = {.hint = SC_HINT_AUTO};
  parse_inputs(e);
  parse_outputs(e, &outputs, &types);
  parse_function_attrs(e, &attrs);
  sci_expect_punct(p, '{', "before the body of a function");
  while (p->tok.kind == SCI_T_VALUE) parse_definition(e);
  if (!sci_at_word(p, "expr.return") && !sci_at_word(p, "return"))
    sci_unexpected(p, "a definition (%%v = ...) or expr.return");
  parse_return(e, &outputs, &types);
  sci_expect_punct(p, '}', "at the end of a function");
  p->where = name->begin;
  sc_function *f =
      sci_make_function(p->cx, sci_token_string(p, name), e->inputs.data, e->inputs.n, outputs.data, outputs.n);
  sci_function_hint_set(f, attrs.hint);
  f->strict_nan = attrs.strict_nan;
  f->derived = attrs.derived;
  if (attrs.custom.jvp || attrs.custom.vjp || attrs.custom.pattern) sci_attach_derivative(f, &attrs.custom);
  return f;
}

static sci_token parse_name(expr_parser *e) {
  sci_parser *p = &e->p;
  sci_token name = sci_expect(p, SCI_T_SYMBOL, "the name of a function (@f)");
  if (sci_names_find(&e->known.names, name.s, name.n))
    sci_fail_at(p, name.begin, SC_ERR_NAME, "the function @%s is defined twice", sci_show(p, name.s, name.n));
  return name;
}

static void parse_function(expr_parser *e, const char *expected) {
  sci_parser *p = &e->p;
  if (!sci_accept_word(p, "expr.func")) sci_unexpected(p, "%s", expected);
  sci_token name = parse_name(e);
  sci_names_add(&e->known.names, &e->keep, sci_strndup(&e->keep, name.s, name.n), name.n, (uint32_t)e->known.list.n);
  sci_names_init(&e->values, p->env);
  sc_function *f = parse_body(e, &name);
  sci_vec_push(&e->keep, &e->known.list, f);
  sci_names_free(&e->values);
}

/* One function in a frame of its own: a problem in it ends only that function. */
static void parse_item(expr_parser *e, const char *expected) {
  sci_parser *p = &e->p;
  const char *start = p->tok.begin;
  memset(&e->inputs, 0, sizeof e->inputs);
  memset(&e->operands, 0, sizeof e->operands);
  memset(&e->stack, 0, sizeof e->stack);
  sci_frame fr;
  if (SCI_TRY(p->env, &fr)) {
    parse_function(e, expected);
    sci_leave(p->env, &fr);
    return;
  }
  if (e->known.list.n < e->known.names.entries.n) sci_vec_push(&e->keep, &e->known.list, NULL);
  sci_parser_recover(p, start, "expr.func");
}

static void parse_text(expr_parser *e) {
  sci_parser *p = &e->p;
  bool open = false;
  do {
    if (open && sci_accept_punct(p, '}')) {
      open = false;
    } else if (!open && sci_accept_word(p, "expr.module")) {
      sci_expect_punct(p, '{', "after expr.module");
      open = true;
    } else {
      parse_item(e, open ? "expr.func or '}'" : "expr.func or expr.module");
    }
  } while (p->tok.kind != SCI_T_END);
  if (sci_parser_problems(p)) sci_unwind(p->env);
  if (open) sci_unexpected(p, "'}' at the end of the module");
}

uint32_t sci_parse_functions(sc_context *cx, sci_source source, sc_function ***out) {
  sci_env *env = &cx->env;
  expr_parser *e = SCI_NEW(&env->scratch, expr_parser);
  sci_parser_begin(&e->p, cx, source);
  sci_arena_init(&e->keep, env);
  sci_defer(env, free_arena, &e->keep);
  sci_names_init(&e->ops, env);
  for (unsigned op = 0; op < SCI_X_END; op++) {
    const char *name = sci_xop_name(op);
    if (sci_xop_find(name, strlen(name)) >= 0) sci_names_add(&e->ops, &e->keep, name, strlen(name), op);
  }
  for (unsigned c = 0; c < SCI_C_COUNT; c++) {
    const char *name = sci_compositions[c].name;
    sci_names_add(&e->ops, &e->keep, name, strlen(name), SCI_X_END + c);
  }
  sci_names_init(&e->known.names, env);
  parse_text(e);
  uint32_t n = (uint32_t)e->known.list.n;
  *out = SCI_ARRAY(&env->scratch, sc_function *, n);
  if (n) memcpy(*out, e->known.list.data, n * sizeof **out);
  sci_names_free(&e->known.names);
  sci_names_free(&e->ops);
  sci_keep(env, &e->keep);
  sci_arena_free(&e->keep);
  sci_parser_end(&e->p);
  return n;
}
