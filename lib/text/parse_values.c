/* Owns the reading of scalar values and views in program text. Values are interned as they stand: text is not folded.
 */
#include "lib/text/prog_text.h"

const char *sci_hint_of(sci_parser *p, const sci_token *name) {
  bool number = name->n > 0;
  for (uint32_t i = 0; i < name->n; i++) number = number && name->s[i] >= '0' && name->s[i] <= '9';
  return number ? NULL : sci_token_string(p, name);
}

/* ---- operations ---- */

static _Noreturn void unknown_op(sci_parser *p) {
  sci_text list;
  sci_text_init(&list, &p->env->scratch);
  for (int op = 0; op < SCI_OP_COUNT; op++) sci_putf(&list, "%s ", sci_ops[op].name);
  sci_fail_at(p, p->tok.begin, SC_ERR_PARSE, "there is no operation '%s'; there are: %sload const",
              sci_show(p, p->tok.s, p->tok.n), list.data);
}

static sci_token without_prefix(const sci_token *t) {
  sci_token out = *t;
  if (out.n > 5 && !memcmp(out.s, "prog.", 5)) out.s += 5, out.n -= 5;
  return out;
}

/* Numbers take the type of the first operand that has one; a select's condition has no part in this. */
static sc_dtype operand_dtype(const sci_prog_parser *e, unsigned op, const sci_value_operand *operands, uint32_t n) {
  for (uint32_t i = op == SCI_OP_select; i < n; i++)
    if (operands[i].v != SCI_NIL) return (sc_dtype)sci_value_at(e->s, operands[i].v)->dtype;
  return op == SCI_OP_and || op == SCI_OP_or || op == SCI_OP_not ? SC_BOOL : SC_FLOAT64;
}

static sci_val literal(sci_prog_parser *e, const sci_literal *l, sc_dtype dtype) {
  return sci_val_const(e->s, dtype, sci_literal_value(&e->p, l, dtype));
}

/* cast {dtype=int64} */
static sc_dtype parse_cast(sci_parser *p) {
  sci_expect_punct(p, '{', "and the type of a cast (prog.cast(%x) {dtype=int64})");
  sci_expect_word(p, "dtype");
  sci_expect_punct(p, '=', "after dtype");
  sc_dtype dtype = sci_parse_dtype(p);
  sci_expect_punct(p, '}', "after the type of a cast");
  return dtype;
}

static void finish_op(sci_prog_parser *e, const sci_value_pending *op) {
  sci_parser *p = &e->p;
  const sci_op_info *info = &sci_ops[op->op];
  uint32_t n = (uint32_t)(e->operands.n - op->first), first = op->op == SCI_OP_select;
  const sci_value_operand *operands = e->operands.data + op->first;
  if (n != info->arity)
    sci_fail_at(p, op->where, SC_ERR_PARSE, "prog.%s takes %d operand%s, found %u", info->name, info->arity,
                info->arity == 1 ? "" : "s", n);
  sc_dtype dtype = operand_dtype(e, op->op, operands, n);
  sci_val args[3];
  for (uint32_t i = 0; i < n; i++) {
    args[i] = operands[i].v != SCI_NIL ? operands[i].v : literal(e, &operands[i].literal, i < first ? SC_BOOL : dtype);
    sc_dtype have = (sc_dtype)sci_value_at(e->s, args[i])->dtype, want = i < first ? SC_BOOL : dtype;
    if (have != want)
      sci_fail_at(p, op->where, SC_ERR_DTYPE, "operand %u of prog.%s is %s where %s is needed", i, info->name,
                  sc_dtype_name(have), sc_dtype_name(want));
  }
  if (!sci_op_accepts((sci_op)op->op, dtype))
    sci_fail_at(p, op->where, SC_ERR_DTYPE, "prog.%s does not take %s", info->name, sc_dtype_name(dtype));
  sc_dtype result = op->op == SCI_OP_cast ? parse_cast(p) : sci_op_result((sci_op)op->op, dtype);
  e->operands.n = op->first;
  sci_vec_push(&p->env->scratch, &e->operands,
               (sci_value_operand){.v = sci_intern_op(e->s, (sci_op)op->op, result, args)});
}

/* ---- buffers ---- */

static const sci_thing *find_thing(sci_prog_parser *e, const sci_token *t) {
  const uint32_t *at = sci_names_find(&e->names, t->s, t->n);
  const sci_thing *thing = at ? &e->things.data[*at] : NULL;
  if (!thing) sci_fail_at(&e->p, t->begin, SC_ERR_NAME, "%%%s is not defined", sci_show(&e->p, t->s, t->n));
  if (thing->gone && thing->kind != SCI_THING_VALUE)
    sci_fail_at(&e->p, t->begin, SC_ERR_NAME, "%%%s ended with its loop", sci_show(&e->p, t->s, t->n));
  return thing;
}

sci_buf sci_parse_buf(sci_prog_parser *e) {
  sci_parser *p = &e->p;
  sci_token t = p->tok;
  if (t.kind == SCI_T_SYMBOL) {
    const uint32_t *buf = sci_names_find(&e->tables, t.s, t.n);
    if (!buf) sci_fail_at(p, t.begin, SC_ERR_NAME, "there is no table @%s", sci_show(p, t.s, t.n));
    sci_advance(p);
    return *buf;
  }
  if (t.kind != SCI_T_VALUE) sci_unexpected(p, "a buffer (%%x) or a table (@t)");
  const sci_thing *thing = find_thing(e, &t);
  if (thing->kind != SCI_THING_BUF) sci_fail_at(p, t.begin, SC_ERR_NAME, "%%%s is not a buffer", sci_show(p, t.s, t.n));
  sci_advance(p);
  return thing->id;
}

void sci_parse_view(sci_prog_parser *e, sci_buf *buf, sci_val *index) {
  *buf = sci_parse_buf(e);
  sci_expect_punct(&e->p, '[', "and the index of a view (%x[0])");
  *index = sci_parse_scalar(e, SC_INT64);
  sci_expect_punct(&e->p, ']', "after an index");
}

static void finish_load(sci_prog_parser *e, const sci_value_pending *load) {
  sci_value_operand *o = &e->operands.data[e->operands.n - 1];
  if (o->v == SCI_NIL) o->v = literal(e, &o->literal, SC_INT64);
  o->v = sci_emit_load(e->block, e->s, load->buf, o->v, NULL);
}

/* ---- values ---- */

static void push_pending(sci_prog_parser *e, sci_value_pending what) {
  if (e->stack.n == SCI_MAX_NESTING)
    sci_fail_at(&e->p, what.where, SC_ERR_PARSE,
                "values nest deeper than %d; give some of them a name (%%v = prog.value ...)", SCI_MAX_NESTING);
  sci_vec_push(&e->p.env->scratch, &e->stack, what);
}

static void push_name(sci_prog_parser *e) {
  sci_parser *p = &e->p;
  sci_token t = p->tok;
  const sci_thing *thing = find_thing(e, &t);
  if (thing->kind == SCI_THING_BUF)
    sci_fail_at(p, t.begin, SC_ERR_NAME, "%%%s is a buffer, not a scalar: prog.load reads one", sci_show(p, t.s, t.n));
  sci_val v = thing->kind == SCI_THING_NAME ? sci_val_name(e->s, thing->id) : thing->id;
  sci_advance(p);
  sci_vec_push(&p->env->scratch, &e->operands, (sci_value_operand){.v = v});
}

/* prog.const 1 : float32 */
static void push_const(sci_prog_parser *e) {
  sci_parser *p = &e->p;
  sci_advance(p);
  sci_literal l = sci_parse_literal(p);
  sci_expect_punct(p, ':', "and the type of a constant");
  sc_dtype dtype = sci_parse_dtype(p);
  sci_vec_push(&p->env->scratch, &e->operands, (sci_value_operand){.v = literal(e, &l, dtype)});
}

/* Starts an operand; true when it is whole, false when it waits for operands of its own. */
static bool start_operand(sci_prog_parser *e) {
  sci_parser *p = &e->p;
  const char *where = p->tok.begin;
  if (p->tok.kind == SCI_T_VALUE) {
    push_name(e);
    return true;
  }
  if (sci_at_literal(p)) {
    sci_value_operand o = {.v = SCI_NIL, .literal = sci_parse_literal(p)};
    sci_vec_push(&p->env->scratch, &e->operands, o);
    return true;
  }
  if (p->tok.kind != SCI_T_WORD) sci_unexpected(p, "a scalar (%%v), a number or an operation");
  sci_token word = without_prefix(&p->tok);
  if (sci_token_is(&word, "const")) {
    push_const(e);
    return true;
  }
  if (sci_token_is(&word, "load")) {
    sci_advance(p);
    push_pending(e,
                 (sci_value_pending){.where = where, .is_load = true, .buf = sci_parse_buf(e), .first = e->operands.n});
    sci_expect_punct(p, '[', "and the index of a load");
    return false;
  }
  const uint32_t *op = sci_names_find(&e->ops, word.s, word.n);
  if (!op) unknown_op(p);
  sci_advance(p);
  sci_expect_punct(p, '(', "before the operands of an operation");
  push_pending(e, (sci_value_pending){.where = where, .op = *op, .first = e->operands.n});
  return false;
}

/* Operations wait on a stack: the C stack does not grow with the text. */
sci_val sci_parse_scalar(sci_prog_parser *e, sc_dtype dtype) {
  sci_parser *p = &e->p;
  size_t base = e->stack.n;
  for (;;) {
    if (!start_operand(e)) continue;
    for (;;) {
      if (e->stack.n == base) {
        sci_value_operand o = e->operands.data[--e->operands.n];
        return o.v != SCI_NIL ? o.v : literal(e, &o.literal, dtype);
      }
      sci_value_pending top = e->stack.data[e->stack.n - 1];
      if (!top.is_load && sci_accept_punct(p, ',')) break;
      if (top.is_load)
        sci_expect_punct(p, ']', "after an index");
      else
        sci_expect_punct(p, ')', "or ',' after an operand");
      e->stack.n--;
      if (top.is_load)
        finish_load(e, &top);
      else
        finish_op(e, &top);
    }
  }
}
