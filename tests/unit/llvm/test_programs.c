/* Owns the tests of statements: random programs against the reference evaluator, and the entry's interface. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "rig.h"
#include "tests/oracle/oracle.h"

/* ---- random programs: loops in loops, names that change, calls, aliases, tables, workspace ---- */

static uint64_t seed;

static int64_t rnd(int64_t n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (int64_t)(seed % (uint64_t)n);
}

enum { MOST_VALUES = 400, MOST_BUFS = 12, MOST_VARS = 8 };

typedef struct maker {
  rig *r;
  sci_val values[MOST_VALUES]; /* in scope */
  int n_values;
  sci_name accumulators[16]; /* mutable names in scope */
  int n_accumulators;
  sci_buf bufs[MOST_BUFS], writable[MOST_BUFS];
  int n_bufs, n_writable;
  struct {
    sci_var v;
    int64_t last;
  } vars[MOST_VARS];
  int depth;
  uint32_t n_callees;
  int budget;
} maker;

static bool plain; /* only types that direct code knows */

static sc_dtype any_type(void) {
  static const sc_dtype known[] = {SC_FLOAT64, SC_INT64, SC_BOOL, SC_FLOAT64};
  return plain ? known[rnd(4)] : (sc_dtype)rnd(SC_DTYPE_COUNT);
}

static const sci_buffer *buffer(const maker *m, sci_buf b) {
  return &m->r->s->bufs[b];
}

/* An index of `extent` elements that stays inside. */
static sci_val any_index(maker *m, sci_buf b, int64_t extent) {
  int64_t room = buffer(m, b)->size - extent;
  sci_val at = rig_int(m->r, 0);
  for (int i = 0; i < m->depth; i++) {
    int64_t last = m->vars[i].last, k = last ? rnd(room / last + 1) : rnd(3);
    if (rnd(5) == 0 && room >= last) { /* runs down */
      at = sci_idx_add(
          m->r->s, at,
          sci_idx_add(m->r->s, rig_int(m->r, last), sci_idx_mul(m->r->s, sci_val_var(m->r->s, m->vars[i].v), -1)));
      room -= last;
    } else if (k && last * k <= room) {
      at = sci_idx_add(m->r->s, at, sci_idx_mul(m->r->s, sci_val_var(m->r->s, m->vars[i].v), k));
      room -= last * k;
    }
  }
  return sci_idx_add(m->r->s, at, rig_int(m->r, rnd(room + 1)));
}

static void push_value(maker *m, sci_val v) {
  if (m->n_values < MOST_VALUES) m->values[m->n_values++] = v;
}

static sc_dtype dtype_of(const maker *m, sci_val v) {
  return (sc_dtype)sci_value_at(m->r->s, v)->dtype;
}

static sci_val any_value(maker *m, sc_dtype dtype) {
  for (int tries = 0; tries < 20; tries++) {
    sci_val v = m->values[rnd(m->n_values)];
    if (dtype_of(m, v) == dtype) return v;
  }
  return sci_val_double(m->r->s, dtype, (double)rnd(5) - 2);
}

static sci_val any_operation(maker *m, sc_dtype dtype) {
  static const sci_op floats[] = {SCI_OP_add, SCI_OP_sub, SCI_OP_mul,    SCI_OP_minimum, SCI_OP_abs, SCI_OP_sin,
                                  SCI_OP_fma, SCI_OP_div, SCI_OP_select, SCI_OP_cast,    SCI_OP_tanh};
  static const sci_op integers[] = {SCI_OP_add, SCI_OP_sub,  SCI_OP_mul,    SCI_OP_maximum,
                                    SCI_OP_div, SCI_OP_fmod, SCI_OP_select, SCI_OP_cast};
  static const sci_op bools[] = {SCI_OP_and, SCI_OP_or, SCI_OP_not, SCI_OP_lt, SCI_OP_eq, SCI_OP_select, SCI_OP_cast};
  sci_op op = sci_is_float(dtype) ? floats[rnd(sizeof floats / sizeof *floats)]
              : dtype == SC_BOOL  ? bools[rnd(sizeof bools / sizeof *bools)]
                                  : integers[rnd(sizeof integers / sizeof *integers)];
  sc_dtype from = dtype;
  if (op == SCI_OP_cast || op == SCI_OP_lt || op == SCI_OP_eq) from = (sc_dtype)rnd(4);
  if (plain && from != dtype) from = dtype == SC_INT64 || rnd(2) ? SC_INT64 : SC_FLOAT64;
  sci_val args[3];
  for (int i = 0; i < sci_ops[op].arity; i++) args[i] = any_value(m, op == SCI_OP_select && i == 0 ? SC_BOOL : from);
  return sci_val_op(m->r->s, op, dtype, args);
}

static void emit_any(maker *m);

static void emit_some(maker *m, int n) {
  while (n-- > 0 && m->budget-- > 0) emit_any(m);
}

static void emit_any_loop(maker *m) {
  static const int64_t trips[] = {0, 1, 2, 3, 5, 8};
  rig *r = m->r;
  int64_t n = trips[rnd(6)], start = rnd(3) ? 0 : rnd(4), step = rnd(3) ? 1 : 1 + rnd(2);
  sci_loop *l = SCI_NEW(&r->s->arena, sci_loop);
  sci_block_builder outer = r->b;
  int values = m->n_values, accumulators = m->n_accumulators;
  *l = (sci_loop){.var = sci_new_var(r->s, "i"),
                  .kind = SCI_LOOP_SERIAL,
                  .start = start,
                  .stop = start + n * step - (n ? rnd(step) : 0),
                  .step = step};
  m->vars[m->depth].v = l->var;
  m->vars[m->depth++].last = n ? start + (n - 1) * step : start;
  sci_block_begin(&r->b, r->s);
  emit_some(m, 1 + (int)rnd(7));
  l->body = sci_block_end(&r->b, r->s);
  m->depth--;
  m->n_values = values;
  m->n_accumulators = accumulators;
  r->b = outer;
  sci_emit(&r->b, (sci_stmt){.kind = SCI_S_LOOP, .loop = l});
}

/* Views of storages that the callee's outputs do not share with anything else. */
static void emit_any_call(maker *m) {
  rig *r = m->r;
  uint32_t at = (uint32_t)rnd(m->n_callees);
  const sci_proc *callee = r->procs.data[at];
  uint32_t n = callee->n_in + callee->n_out;
  sci_view *views = SCI_ARRAY(&r->s->arena, sci_view, n);
  for (uint32_t i = 0; i < n; i++) {
    const sci_buffer *formal = buffer(m, callee->params[i]);
    bool found = false;
    for (int tries = 0; tries < 40 && !found; tries++) {
      sci_buf b = i < callee->n_in ? m->bufs[rnd(m->n_bufs)] : m->writable[rnd(m->n_writable)];
      int64_t shift;
      found = buffer(m, b)->dtype == formal->dtype && buffer(m, b)->size >= formal->size;
      for (uint32_t k = 0; k < i && found; k++)
        found = sci_storage(r->s, views[k].buf, &shift) != sci_storage(r->s, b, &shift);
      if (found) views[i] = (sci_view){b, any_index(m, b, formal->size)};
    }
    if (!found) return;
  }
  sci_emit_call(&r->b, r->s, at, n, views);
}

static void add_accumulator(maker *m, sc_dtype dtype) {
  rig *r = m->r;
  sci_name n = sci_new_name(r->s, dtype, true, "acc");
  sci_emit(&r->b, (sci_stmt){.kind = SCI_S_ASSIGN, .declare = 1, .name = n, .value = any_value(m, dtype)});
  m->accumulators[m->n_accumulators++] = n;
  push_value(m, sci_val_name(r->s, n));
}

static void emit_any(maker *m) {
  rig *r = m->r;
  sc_dtype dtype = any_type();
  int64_t what = rnd(12);
  sci_buf b = m->bufs[rnd(m->n_bufs)], w = m->writable[rnd(m->n_writable)];
  if (what < 3) {
    push_value(m, rig_load(r, b, any_index(m, b, 1)));
  } else if (what < 6) {
    sci_val v = any_operation(m, dtype);
    push_value(m, rnd(2) ? v : sci_emit_let(&r->b, r->s, v, NULL));
  } else if (what < 8) {
    sc_dtype of = (sc_dtype)buffer(m, w)->dtype;
    sci_emit_store(&r->b, w, any_index(m, w, 1), rnd(3) ? any_value(m, of) : any_operation(m, of));
  } else if (what == 8 && m->n_accumulators < 16) {
    add_accumulator(m, dtype);
  } else if (what == 9 && m->n_accumulators) {
    sci_name n = m->accumulators[rnd(m->n_accumulators)];
    sci_emit(&r->b,
             (sci_stmt){.kind = SCI_S_ASSIGN, .name = n, .value = any_operation(m, (sc_dtype)r->s->names[n].dtype)});
  } else if (what == 10 && m->n_callees) {
    emit_any_call(m);
  } else if (m->depth < 4) {
    emit_any_loop(m);
  }
}

/* Every element written once, so that nothing is read before. */
static void fill(maker *m, sci_buf b) {
  rig *r = m->r;
  sci_var v = sci_new_var(r->s, "k");
  sci_block_builder outer = r->b;
  sci_block_begin(&r->b, r->s);
  sci_emit_store(&r->b, b, sci_val_var(r->s, v),
                 sci_val_op(r->s, SCI_OP_cast, (sc_dtype)buffer(m, b)->dtype, (sci_val[]){sci_val_var(r->s, v)}));
  sci_block body = sci_block_end(&r->b, r->s);
  r->b = outer;
  sci_emit_loop(&r->b, r->s, SCI_LOOP_INDEPENDENT, v, buffer(m, b)->size, body);
}

static void add(maker *m, sci_buf b, bool writable) {
  m->bufs[m->n_bufs++] = b;
  if (writable) m->writable[m->n_writable++] = b;
}

static void add_tables(maker *m) {
  static const double f[] = {1.5, -2, 0, 3, 1e3};
  static const int32_t i[] = {3, -1, 7};
  add(m, sci_const_table(m->r->s, SC_FLOAT64, 5, f, "f"), false);
  add(m, sci_const_table(m->r->s, SC_INT32, 3, i, "i"), false);
}

static void make_proc(rig *r, const char *name, uint32_t n_callees) {
  maker m = {.r = r, .n_callees = n_callees, .budget = 60};
  for (int i = 0; i < 2; i++) add(&m, rig_in(r, any_type(), 1 + rnd(9)), false);
  for (int i = 0; i < 2; i++) add(&m, rig_out(r, any_type(), 1 + rnd(9)), true);
  int64_t callee_total = 0;
  for (uint32_t i = 0; i < n_callees; i++)
    if (r->procs.data[i]->workspace_total > callee_total) callee_total = r->procs.data[i]->workspace_total;
  if (rnd(3)) { /* two in the workspace, one behind the other */
    r->workspace_self = 256;
    add(&m, rig_local(r, SC_FLOAT64, 10, true, 0), true);
    add(&m, rig_local(r, any_type(), 12, true, 128), true);
  }
  r->workspace_total = r->workspace_self + callee_total;
  add(&m, rig_local(r, any_type(), 6, false, -1), true);
  r->stack_self = 48;
  add(&m, rig_local(r, SC_FLOAT64, 6, false, 0), true);
  for (int i = 0; i < m.n_writable; i++) fill(&m, m.writable[i]);
  const sci_buffer *last = buffer(&m, m.bufs[m.n_bufs - 1]);
  add(&m, sci_new_alias(r->s, m.bufs[m.n_bufs - 1], 1, last->size - 2, "alias"), true);
  add_tables(&m);
  /* Something of every type to begin with, known at run time only, and names that change. */
  sci_val x = rig_load(r, m.bufs[0], rig_int(r, 0));
  for (int i = 0; i < SC_DTYPE_COUNT; i++) {
    sc_dtype from = (sc_dtype)buffer(&m, m.bufs[0])->dtype;
    if (plain && (i == SC_FLOAT32 || i == SC_INT32 || (i == SC_INT64 && from == SC_FLOAT64))) continue;
    push_value(&m, sci_val_op(r->s, SCI_OP_cast, (sc_dtype)i, &x));
    add_accumulator(&m, (sc_dtype)i);
  }
  emit_some(&m, 40);
  rig_proc(r, name);
}

static void fill_input(const sci_buffer *b, char *data) {
  for (int64_t i = 0; i < b->size; i++) {
    double v = (double)rnd(2001) / 250 - 4;
    ora_store((sc_dtype)b->dtype, data, i, sci_scalar_number((sc_dtype)b->dtype, v));
  }
}

static void check_random(uint64_t number) {
  rig r;
  seed = number * 0x9E3779B97F4A7C15u + 1;
  plain = number % 2;
  rig_begin(&r, plain || rnd(2) ? "native" : "generic");
  static const char *const names[] = {"g", "h", "f"};
  for (uint32_t i = 0; i < 3; i++) make_proc(&r, names[i], i);
  rig_ready(&r);
  const sci_proc *entry = sci_entry(r.p);
  _Alignas(64) static char in[2][80], got[2][80], want[2][80], w[4096];
  for (int i = 0; i < 2; i++) fill_input(&r.s->bufs[entry->params[i]], in[i]);
  char why[256] = "";
  bool runs = ora_run_program(r.p, (const void *[]){in[0], in[1]}, (void *[]){want[0], want[1]}, NULL, why, sizeof why);
  cr_assert(runs, "program %llu: %s", (unsigned long long)number, why);
  cr_assert_leq(entry->workspace_total, (int64_t)sizeof w);
  for (unsigned way = 0; way < RIG_WAYS; way++) {
    sci_code c = rig_compile_way(&r, way);
    cr_assert_eq(rig_call(&c, (const void *[]){in[0], in[1]}, (void *[]){got[0], got[1]}, w), 0);
    for (int i = 0; i < 2; i++) {
      const sci_buffer *b = &r.s->bufs[entry->params[2 + i]];
      int64_t at = ora_first_difference((sc_dtype)b->dtype, b->size, got[i], want[i]);
      cr_assert_eq(at, -1, "program %llu, way %u: element %lld of output %d differs", (unsigned long long)number, way,
                   (long long)at, i);
    }
    c.release(c.handle);
  }
  rig_end(&r);
}

Test(llvm, random_programs, .timeout = 600) {
  const char *many = getenv("SCALY_TEST_PROGRAMS"), *from = getenv("SCALY_TEST_FROM");
  uint64_t first = from ? strtoull(from, NULL, 10) : 0;
  for (uint64_t i = first; i < first + (many ? strtoull(many, NULL, 10) : 150); i++) check_random(i);
  NO_LEAKS();
}

/* Buffers whose lives do not overlap share a slot: what is read from one must not move past what is written to the
 * other. */
Test(llvm, shared_slots) {
  enum { N = 16 };
  for (int in_workspace = 0; in_workspace < 2; in_workspace++) {
    rig r;
    rig_begin(&r, "native");
    sci_buf x = rig_in(&r, SC_FLOAT64, N), y = rig_out(&r, SC_FLOAT64, 2 * N);
    sci_buf a = rig_local(&r, SC_FLOAT64, N, in_workspace, 0), b = rig_local(&r, SC_FLOAT64, N, in_workspace, 0);
    sci_buf c = rig_local(&r, SC_FLOAT64, N, in_workspace, in_workspace ? 64 : 8);
    if (in_workspace)
      r.workspace_self = r.workspace_total = 64 + 8 * N;
    else
      r.stack_self = 8 + 8 * N;
    sci_val v[N];
    for (int i = 0; i < N; i++) sci_emit_store(&r.b, a, rig_int(&r, i), rig_load(&r, x, rig_int(&r, i)));
    for (int i = 0; i < N; i++) v[i] = rig_load(&r, a, rig_int(&r, N - 1 - i));
    for (int i = 0; i < N; i++) sci_emit_store(&r.b, b, rig_int(&r, i), sci_val_op2(r.s, SCI_OP_add, v[i], v[0]));
    for (int i = 0; i < N; i++) sci_emit_store(&r.b, y, rig_int(&r, i), rig_load(&r, b, rig_int(&r, i)));
    for (int i = 0; i < N; i++) sci_emit_store(&r.b, c, rig_int(&r, i), sci_val_op1(r.s, SCI_OP_neg, v[i]));
    for (int i = 0; i < N; i++) sci_emit_store(&r.b, y, rig_int(&r, N + i), rig_load(&r, c, rig_int(&r, i)));
    rig_proc(&r, "f");
    rig_ready(&r);
    sci_code k = rig_compile(&r);
    double xv[N], yv[2 * N];
    _Alignas(64) char w[64 + 8 * N];
    for (int i = 0; i < N; i++) xv[i] = i + 1;
    cr_assert_eq(rig_call(&k, (const void *[]){xv}, (void *[]){yv}, w), 0);
    for (int i = 0; i < N; i++) cr_expect(yv[i] == xv[N - 1 - i] + xv[N - 1] && yv[N + i] == -xv[N - 1 - i]);
    k.release(k.handle);
    rig_end(&r);
  }
}

/* ---- the five-argument interface ---- */

static void begin_copy(rig *r, int64_t workspace) {
  rig_begin(r, "native");
  sci_buf x = rig_in(r, SC_FLOAT64, 1), none = rig_in(r, SC_FLOAT32, 0), y = rig_out(r, SC_FLOAT64, 1),
          nothing = rig_out(r, SC_BOOL, 0);
  (void)none, (void)nothing;
  r->workspace_self = r->workspace_total = workspace;
  sci_emit_store(&r->b, y, rig_int(r, 0), rig_load(r, x, rig_int(r, 0)));
  rig_proc(r, "sin"); /* any name will do in process */
  rig_ready(r);
}

Test(llvm, interface) {
  for (int64_t workspace = 0; workspace <= 64; workspace += 64) {
    rig r;
    begin_copy(&r, workspace);
    sci_code c = rig_compile(&r);
    double x = 3, y = 0, w[8];
    const void *arg[] = {&x, NULL}, *no_arg[] = {NULL, NULL};
    void *res[] = {&y, NULL}, *no_res[] = {NULL, NULL};
    cr_expect_eq(rig_call(&c, NULL, res, w), SC_KERNEL_ERR_NULL_ABI);
    cr_expect_eq(rig_call(&c, arg, NULL, NULL), SC_KERNEL_ERR_NULL_ABI);
    cr_expect_eq(rig_call(&c, no_arg, no_res, NULL), workspace ? SC_KERNEL_ERR_NULL_WORK : SC_KERNEL_ERR_NULL_INPUT);
    cr_expect_eq(rig_call(&c, no_arg, no_res, w), SC_KERNEL_ERR_NULL_INPUT);
    cr_expect_eq(rig_call(&c, arg, no_res, w), SC_KERNEL_ERR_NULL_RESULT);
    cr_expect_eq(y, 0);
    cr_expect_eq(rig_call(&c, arg, res, w), SC_KERNEL_SUCCESS);
    cr_expect_eq(y, 3);
    c.release(c.handle);
    rig_end(&r);
  }
  NO_LEAKS();
}
