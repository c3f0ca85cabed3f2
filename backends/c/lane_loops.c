/* Owns the spelling of loops in lanes in plain C: what differs between iterations is an array with an element per lane,
 * and the statements on such arrays are small loops over the lanes, which compilers turn into vectors.
 *
 *     enum { lanes = SCALY_F64W8 };
 *     double v[lanes], w[lanes];
 *     EACH(l) v[l] = z_i[3 + 12 * l];
 *     EACH(l) w[l] = v[l] * v[l];
 *
 * Compilers give a whole such loop up for one thing in it that they cannot do with vectors. So what moves single
 * elements and what calls the math library are loops of their own: loads of what nobody writes here come first in a
 * stretch without inner loops, stores last. Each of these loads has one to itself, since gcc takes no more at once; the
 * sides of a selection are computed before it, since a branch around arithmetic is such a thing, too. */
#include <stdio.h>

#include "backends/c/c.h"

/* Loads and stores of elements are apart: a lane that repeats the last iteration must not load what that one has
 * stored. */
typedef enum each_kind { NOTHING, ARITHMETIC, ELEMENTS_IN, ELEMENTS_OUT, CALLS } each_kind;

/* Statements in order, those of one kind side by side in one loop. */
typedef struct sequence {
  sci_text done, open, declared;
  each_kind kind;
  uint32_t pieces;  /* in `open` */
  const char *type; /* of what was declared last */
  size_t line;      /* where its line starts */
} sequence;

enum { LOADS, VALUES, STORES, SEQUENCES };

struct c_each {
  sequence in[SEQUENCES];
};

enum {
  MOST_PIECES = 128,    /* in one loop: what is known of two of them grows with the square */
  MOST_STATEMENTS = 512 /* in a body: gcc takes seconds beyond, where it takes one for scalars */
};

static void put(c_render *r, const char *text) {
  sci_put(r->out, text);
}

static void put_indent(c_render *r, sci_text *out, uint32_t more) {
  for (uint32_t i = 0; i < r->depth + more; i++) sci_put_n(out, "  ", 2);
}

bool sci_c_lane_loops(const c_render *r) {
  return r->o->dialect == SC_DIALECT_C;
}

static uint32_t count(sci_block b, uint32_t most) {
  uint32_t n = b.n;
  for (uint32_t i = 0; i < b.n && n <= most; i++)
    if (b.stmts[i].kind == SCI_S_LOOP) n += count(b.stmts[i].loop->body, most);
  return n;
}

bool sci_c_loops_over_lanes(const sci_loop *l) {
  return count(l->body, MOST_STATEMENTS) <= MOST_STATEMENTS;
}

const char *sci_c_lane(c_render *r) {
  return sci_c_own_name(r, "l");
}

/* ---- the loops over lanes ---- */

static void close(c_render *r, sequence *q) {
  if (!q->pieces) return;
  if (q->declared.n) sci_put(&q->declared, ";\n");
  sci_put_n(&q->done, q->declared.data, q->declared.n);
  put_indent(r, &q->done, 0);
  if (q->kind == CALLS)
    sci_putf(&q->done, "for (int %s = 0; %s < %s; %s++) ", sci_c_lane(r), sci_c_lane(r), sci_c_own_name(r, "lanes"),
             sci_c_lane(r));
  else
    sci_putf(&q->done, "%s(%s) ", sci_c_own_name(r, "EACH"), sci_c_lane(r));
  if (q->pieces > 1) sci_put(&q->done, "{\n");
  size_t indent = q->pieces > 1 ? 0 : 2 * (size_t)(r->depth + 1);
  sci_put_n(&q->done, q->open.data + indent, q->open.n - indent);
  if (q->pieces > 1) {
    put_indent(r, &q->done, 0);
    sci_put(&q->done, "}\n");
  }
  q->declared.n = q->open.n = 0;
  q->pieces = 0;
  q->type = NULL;
}

static void declare(c_render *r, sequence *q, const char *type, const char *name) {
  enum { WIDE = 130 };
  if (q->type != type || q->declared.n - q->line > WIDE) {
    if (q->declared.n) sci_put(&q->declared, ";\n");
    q->line = q->declared.n;
    put_indent(r, &q->declared, 0);
    sci_put(&q->declared, type);
  } else {
    sci_put_char(&q->declared, ',');
  }
  sci_putf(&q->declared, " %s[%s]", name, sci_c_own_name(r, "lanes"));
  q->type = type;
}

/* What follows goes into a sequence, up to end_piece. */
static sci_text *begin_piece(c_render *r, int which, each_kind kind) {
  sequence *q = &r->each->in[which];
  sci_text *out = r->out;
  if (q->kind != kind || which == LOADS || q->pieces == MOST_PIECES) close(r, q);
  q->kind = kind;
  q->pieces++;
  r->out = &q->open;
  put_indent(r, r->out, 1);
  return out;
}

static void end_piece(c_render *r, sci_text *out) {
  put(r, ";\n");
  r->out = out;
}

void sci_c_flush_each(c_render *r) {
  if (!r->each) return;
  for (int i = 0; i < SEQUENCES; i++) {
    sequence *q = &r->each->in[i];
    close(r, q);
    sci_put_n(r->out, q->done.data, q->done.n);
    q->done.n = 0;
  }
}

/* ---- elements ---- */

/* x[i + l], z_i[5 + 12 * l], t[i * lanes + l]: the lane that an access of a chunk's last iterations has is in an array.
 */
static void put_element(c_render *r, const sci_stmt *st, const sci_access *access) {
  char lane[160];
  const char *l = sci_c_lane(r);
  if (access->kind == SCI_ACCESS_OWN) {
    sci_c_put_lane_element(r, st->buf, st->index, sci_c_own_name(r, "lanes"), l);
    return;
  }
  if (r->vector.partial) l = sci_asprintf(&r->env->scratch, "%s[%s]", sci_c_own_name(r, "at"), l);
  const char *wide = access->stride > INT32_MAX / 16 || access->stride < -INT32_MAX / 16 ? "LL" : "";
  if (access->stride == 1)
    snprintf(lane, sizeof lane, "%s", l);
  else
    snprintf(lane, sizeof lane, "%lld%s * %s", (long long)access->stride, wide, l);
  sci_c_put_lane_element(r, st->buf, st->index, NULL, lane);
}

static bool moves_elements(const c_render *r, const sci_access *access) {
  return access->kind == SCI_ACCESS_STRIDED || (r->vector.partial && access->kind == SCI_ACCESS_CONTIGUOUS);
}

static const char *type_of(const c_render *r, unsigned dtype) {
  if (dtype != SC_BOOL) return sci_c_types[dtype];
  return r->vector.loop->of == SC_FLOAT32 ? "int32_t" : "int64_t"; /* conditions are as wide as what they are about */
}

/* ---- statements ---- */

static each_kind kind_of(const c_render *r, sci_val v) {
  const sci_value *x = &r->s->values[v];
  return x->kind == SCI_V_OP && sci_ops[x->op].traits & SCI_LIBM ? CALLS : ARITHMETIC;
}

/* An array with the value; NULL: the name is one already. */
static void put_array(c_render *r, const char *name, sci_val v, bool declares) {
  each_kind kind = kind_of(r, v);
  sci_text *out = begin_piece(r, VALUES, kind);
  if (declares) declare(r, &r->each->in[VALUES], type_of(r, r->s->values[v].dtype), name);
  sci_putf(r->out, "%s[%s] = ", name, sci_c_lane(r));
  sci_c_put_value(r, v, P_ANY);
  end_piece(r, out);
}

static void put_temporary(c_render *r, sci_val v) {
  char name[32];
  snprintf(name, sizeof name, "scaly_%u", r->n_temporaries);
  put_array(r, name, v, true);
  sci_map_set(&r->temporary, v, ++r->n_temporaries);
}

static void put_load(c_render *r, const sci_stmt *st) {
  sci_access access = sci_access_of(&r->vector.facts, st->buf, st->index);
  int64_t offset;
  bool elements = moves_elements(r, &access);
  bool fixed = sci_map_get(&r->vector.facts.written, sci_storage(r->s, st->buf, &offset)) == UINT32_MAX;
  int which = elements && fixed ? LOADS : VALUES;
  const char *name = r->m->name_names[st->name];
  sci_text *out = begin_piece(r, which, elements ? ELEMENTS_IN : ARITHMETIC);
  declare(r, &r->each->in[which], type_of(r, r->s->bufs[st->buf].dtype), name);
  sci_putf(r->out, "%s[%s] = ", name, sci_c_lane(r));
  put_element(r, st, &access);
  end_piece(r, out);
}

/* Stores wait for the end where nothing here loads what they store. */
static void put_store(c_render *r, const sci_stmt *st) {
  sci_access access = sci_access_of(&r->vector.facts, st->buf, st->index);
  bool elements = moves_elements(r, &access), waits = access.kind != SCI_ACCESS_OWN && !r->vector.facts.reads_written;
  bool apart = (elements || waits || kind_of(r, st->value) == CALLS) && r->s->values[st->value].kind == SCI_V_OP;
  if (apart && sci_c_varies(r, st->value) && !sci_c_of(&r->temporary, st->value)) {
    put_temporary(r, st->value);
    sci_vec_push(&r->env->scratch, &r->shared, st->value); /* to be forgotten with the others */
  }
  sci_text *out = begin_piece(r, waits ? STORES : VALUES, elements ? ELEMENTS_OUT : ARITHMETIC);
  put_element(r, st, &access);
  put(r, " = ");
  sci_c_put_value(r, st->value, P_ANY);
  end_piece(r, out);
}

static bool is_uniform(c_render *r, const sci_stmt *st) {
  return st->kind != SCI_S_STORE && !sci_c_name_varies(r, st->name);
}

/* Uniform names that never change stand before the stretch; others where they are. */
bool sci_c_put_each(c_render *r, const sci_stmt *st) {
  if (!r->vector.loop || !sci_c_lane_loops(r)) return false;
  if (!r->each) {
    r->each = SCI_NEW(&r->env->scratch, struct c_each);
    *r->each = (struct c_each){0};
    for (int i = 0; i < SEQUENCES; i++) {
      sci_text_init(&r->each->in[i].done, &r->env->scratch);
      sci_text_init(&r->each->in[i].open, &r->env->scratch);
      sci_text_init(&r->each->in[i].declared, &r->env->scratch);
    }
  }
  if (is_uniform(r, st)) {
    if (r->s->names[st->name].is_mutable ||
        (st->kind == SCI_S_ASSIGN && r->s->values[st->value].flags & SCI_VAL_MUTABLE))
      sci_c_flush_each(r);
    return false;
  }
  sci_c_find_shared(r, st);
  for (size_t i = 0; i < r->shared.n; i++)
    if (sci_c_varies(r, r->shared.data[i])) put_temporary(r, r->shared.data[i]);
  if (st->kind == SCI_S_LOAD)
    put_load(r, st);
  else if (st->kind == SCI_S_STORE)
    put_store(r, st);
  else
    put_array(r, r->m->name_names[st->name], st->value, st->declare);
  sci_c_forget_temporaries(r);
  return true;
}

/* What stands at the top of each chunk; `live` of its lanes have an iteration of their own, the others do what the last
 * one does. */
void sci_c_put_each_top(c_render *r) {
  const char *lanes = sci_c_own_name(r, "lanes");
  put_indent(r, r->out, 0);
  sci_putf(r->out, "enum { %s = %s };\n", lanes, r->vector.count);
  if (!r->vector.partial) return;
  const char *l = sci_c_lane(r), *live = sci_c_own_name(r, "live"), *at = sci_c_own_name(r, "at");
  put_indent(r, r->out, 0);
  sci_putf(r->out, "int %s[%s];\n", at, lanes);
  put_indent(r, r->out, 0);
  sci_putf(r->out, "%s(%s) %s[%s] = %s < %s ? %s : %s - 1;\n", sci_c_own_name(r, "EACH"), l, at, l, l, live, l, live);
}

static bool any_used(const c_render *r) {
  bool any = false;
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int k = 1; k < 5; k++) any |= r->needs.lanes[d][k].used;
  return any;
}

static void put_count(const c_render *r, sci_text *out, int size, int most) {
  if (r->o->lanes != SC_LANES_AUTO) return;
  const char *lanes = size == 32 ? "2 * SCALY_LANES" : "SCALY_LANES";
  sci_putf(out, "#ifndef SCALY_F%dW%d\n#if SCALY_LANES == 1\n#define SCALY_F%dW%d 1\n#elif %s < %d\n", size, most, size,
           most, lanes, most);
  sci_putf(out, "#define SCALY_F%dW%d (%s)\n#else\n#define SCALY_F%dW%d %d\n#endif\n#endif\n", size, most, lanes, size,
           most, most);
}

/* Without these words gcc unrolls such a loop before it looks for vectors, and clang does not take it for worth while.
 */
void sci_c_put_each_macro(c_render *r, sci_text *out) {
  if (!any_used(r)) return;
  sci_c_put_width(r, out);
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (int k = 1; k < 5; k++)
      if (r->needs.lanes[d][k].used) put_count(r, out, d == SC_FLOAT32 ? 32 : 64, 1 << k);
  const char *each = sci_c_own_name(r, "EACH"), *lanes = sci_c_own_name(r, "lanes");
  sci_putf(out,
           "#if defined(__clang__)\n#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
           "#define %s(l) _Pragma(\"clang loop unroll(disable) vectorize(enable)\") for (int l = 0; l < %s; l++)\n"
           "#elif defined(__GNUC__)\n#define %s(l) _Pragma(\"GCC ivdep\") _Pragma(\"GCC unroll 1\") for (int l = 0; l "
           "< %s; l++)\n"
           "#else\n#define %s(l) for (int l = 0; l < %s; l++)\n#endif\n\n",
           each, lanes, each, lanes, each, lanes);
}

void sci_c_drop_each_macro(c_render *r, sci_text *out) {
  if (any_used(r) && sci_c_lane_loops(r)) sci_putf(out, "#undef %s\n", sci_c_own_name(r, "EACH"));
}
