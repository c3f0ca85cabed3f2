/* Owns the tests of the program verifier: what it accepts, and one planted violation per rule. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "lib/program/verify.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define NO_LEAKS() cr_assert(!__lsan_do_recoverable_leak_check())
#else
#define NO_LEAKS() (void)0
#endif

static sci_env env;
static sci_store *s;

/* A program of a callee g(a[4]) -> (b[4]) and an entry f(x[12], n[12] of int64) -> (y[12]) with locals t[12], m[12] of
 * bool. */
typedef struct fixture {
  sci_buf a, b, x, n, y, t, m, table, index;
  sci_proc g, f;
  sci_block_builder body;
  sci_val i;
  sci_var iv;
} fixture;

static void begin(fixture *x) {
  static const int64_t indices[] = {3, 1, 2, 0};
  static const double values[] = {1, 2, 3, 4};
  *x = (fixture){0};
  x->a = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_INPUT, 4, "a");
  x->b = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_OUTPUT, 4, "b");
  x->x = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_INPUT, 12, "x");
  x->n = sci_new_buf(s, SC_INT64, SCI_SPACE_INPUT, 12, "n");
  x->y = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_OUTPUT, 12, "y");
  x->t = sci_new_buf(s, SC_FLOAT64, SCI_SPACE_PRIVATE, 12, "t");
  x->m = sci_new_buf(s, SC_BOOL, SCI_SPACE_PRIVATE, 12, "m");
  x->table = sci_const_table(s, SC_FLOAT64, 4, values, "table");
  x->index = sci_const_table(s, SC_INT64, 4, indices, "index");
  sci_buf *g = SCI_ARRAY(&s->arena, sci_buf, 2), *f = SCI_ARRAY(&s->arena, sci_buf, 3);
  g[0] = x->a, g[1] = x->b;
  f[0] = x->x, f[1] = x->n, f[2] = x->y;
  sci_local *locals = SCI_ARRAY(&s->arena, sci_local, 2);
  locals[0] = (sci_local){.buf = x->t, .in_workspace = false, .offset = -1};
  locals[1] = (sci_local){.buf = x->m, .in_workspace = false, .offset = -1};
  x->g = (sci_proc){.name = "g", .n_in = 1, .n_out = 1, .params = g};
  x->f = (sci_proc){.name = "f", .n_in = 2, .n_out = 1, .n_locals = 2, .params = f, .locals = locals};
  x->iv = sci_new_var(s, "i");
  x->i = sci_val_var(s, x->iv);
  sci_block_begin(&x->body, s);
}

static sci_val at(int64_t k) {
  return sci_val_int(s, k);
}
static sci_val num(double v) {
  return sci_val_double(s, SC_FLOAT64, v);
}
static sci_val name(sc_dtype dtype) {
  return sci_val_name(s, sci_new_name(s, dtype, false, "loose"));
}
static sci_val plus(sci_val a, int64_t k) {
  return sci_idx_add(s, a, at(k));
}

static sci_block one(sci_stmt st) {
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_emit(&b, st);
  return sci_block_end(&b, s);
}
static sci_stmt store(sci_buf buf, sci_val index, sci_val value) {
  return (sci_stmt){.kind = SCI_S_STORE, .name = SCI_NIL, .buf = buf, .index = index, .value = value};
}
static sci_stmt assign(sci_name n, sci_val value, bool declare) {
  return (sci_stmt){
      .kind = SCI_S_ASSIGN, .declare = declare, .name = n, .buf = SCI_NIL, .index = SCI_NIL, .value = value};
}
static void loop(fixture *x, sci_loop_kind kind, int64_t n, sci_block body) {
  sci_emit_loop(&x->body, s, kind, x->iv, n, body);
}
static void call(fixture *x, uint32_t proc, uint32_t n, sci_view a, sci_view b) {
  sci_emit_call(&x->body, s, proc, n, (sci_view[]){a, b});
}
/* A loop over i of 4 trips with an inner loop over j of 3 that stores to `to` at ki * i + kj * j after loading `from`
 * at li * i + lj * j. */
static void nest(fixture *x, sci_buf to, int64_t ki, int64_t kj, sci_buf from, int64_t li, int64_t lj) {
  sci_var jv = sci_new_var(s, "j");
  sci_val j = sci_val_var(s, jv);
  sci_block_builder inner, outer;
  sci_block_begin(&inner, s);
  sci_val v = sci_emit_load(&inner, s, from, sci_idx_add(s, sci_idx_mul(s, x->i, li), sci_idx_mul(s, j, lj)), "v");
  sci_emit_store(&inner, to, sci_idx_add(s, sci_idx_mul(s, x->i, ki), sci_idx_mul(s, j, kj)), v);
  sci_block_begin(&outer, s);
  sci_emit_loop(&outer, s, SCI_LOOP_SERIAL, jv, 3, sci_block_end(&inner, s));
  loop(x, SCI_LOOP_INDEPENDENT, 4, sci_block_end(&outer, s));
}
/* y[index[i] + shift] = x[i] over `trips`, or y[i + j] for j from the table. */
static void through_table(fixture *x, sci_loop_kind kind, int64_t trips, int64_t k, int64_t shift) {
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_val j = sci_emit_load(&b, s, x->index, x->i, "j");
  sci_emit_store(&b, x->y, sci_idx_add(s, sci_idx_mul(s, j, k), at(shift)), num(1));
  loop(x, kind, trips, sci_block_end(&b, s));
}

/* ---- accepted ---- */

static void good_empty(fixture *x) {
  (void)x;
}
static void good_rows(fixture *x) {
  nest(x, x->y, 3, 1, x->x, 3, 1);
}
static void good_columns(fixture *x) {
  nest(x, x->y, 1, 4, x->x, 3, 1);
}
static void good_in_place(fixture *x) {
  nest(x, x->y, 1, 4, x->y, 1, 4);
}
static void good_table(fixture *x) {
  through_table(x, SCI_LOOP_INDEPENDENT, 4, 1, 8);
}
static void good_dead(fixture *x) {
  loop(x, SCI_LOOP_INDEPENDENT, 0, one(store(x->y, at(99), num(0))));
}
static void good_reverse(fixture *x) {
  loop(x, SCI_LOOP_INDEPENDENT, 12, one(store(x->y, sci_val_op2(s, SCI_OP_sub, at(11), x->i), num(0))));
}
static void good_halves(fixture *x) { /* y[i] from y[i + 6], 6 apart */
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_emit_store(&b, x->y, x->i, sci_emit_load(&b, s, x->y, plus(x->i, 6), NULL));
  loop(x, SCI_LOOP_INDEPENDENT, 6, sci_block_end(&b, s));
}
static void good_mod(fixture *x) { /* 4 * (i / 4) + i mod 4 is i: its range alone would leave the buffer */
  sci_val v = sci_idx_add(s, sci_idx_mul(s, sci_idx_div(s, x->i, 5), 5), sci_idx_mod(s, x->i, 5));
  loop(x, SCI_LOOP_INDEPENDENT, 12, one(store(x->y, v, num(0))));
}
static void good_own(fixture *x) { /* t is touched in this loop only: each iteration has one of its own */
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_emit_store(&b, x->t, at(0), num(1));
  sci_emit_store(&b, x->y, x->i, sci_emit_load(&b, s, x->t, at(0), NULL));
  loop(x, SCI_LOOP_INDEPENDENT, 12, sci_block_end(&b, s));
}
/* y[i] = from[i] + 1, in lanes. */
static void in_lanes(fixture *x, sci_buf from, int64_t n, int lanes, sci_tail tail) {
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_val v = sci_emit_load(&b, s, from, x->i, NULL);
  sci_emit_store(&b, x->y, x->i, sci_val_op2(s, SCI_OP_add, v, num(1)));
  sci_loop like = {.var = x->iv, .stop = n, .step = 1};
  sci_emit(&x->body, sci_vector_stmt(s, &like, sci_block_end(&b, s), lanes, SC_FLOAT64, tail));
}
static void good_lanes(fixture *x) {
  in_lanes(x, x->x, 12, 4, SCI_TAIL_NONE);
}
static void good_lanes_overlap(fixture *x) {
  in_lanes(x, x->x, 11, 8, SCI_TAIL_OVERLAP);
}
static void good_lanes_in_place(fixture *x) {
  in_lanes(x, x->y, 11, 8, SCI_TAIL_MASKED);
}
static void bad_lanes_trips(fixture *x) {
  in_lanes(x, x->x, 3, 4, SCI_TAIL_MASKED);
}
static void bad_lanes_power(fixture *x) {
  in_lanes(x, x->x, 12, 6, SCI_TAIL_NONE);
}
static void bad_lanes_tail(fixture *x) {
  in_lanes(x, x->x, 11, 4, SCI_TAIL_NONE);
}
static void bad_lanes_repeat(fixture *x) {
  in_lanes(x, x->y, 11, 4, SCI_TAIL_OVERLAP);
}
static void bad_lanes_own(fixture *x) {
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_emit_store(&b, x->t, at(0), num(1));
  sci_emit_store(&b, x->y, x->i, sci_emit_load(&b, s, x->t, at(0), NULL));
  sci_loop like = {.var = x->iv, .stop = 12, .step = 1};
  sci_emit(&x->body, sci_vector_stmt(s, &like, sci_block_end(&b, s), 4, SC_FLOAT64, SCI_TAIL_NONE));
}
static void good_unknown(fixture *x) {
  sci_emit_store(&x->body, x->y, sci_emit_load(&x->body, s, x->n, at(0), NULL), num(0));
}
static void good_call(fixture *x) {
  call(x, 0, 2, (sci_view){x->y, at(0)}, (sci_view){x->y, at(4)});
}
static void good_mapped_call(fixture *x) {
  sci_stmt c = sci_call_stmt(s, 0, 2, (sci_view[]){{x->x, x->i}, {x->y, sci_idx_mul(s, x->i, 4)}});
  loop(x, SCI_LOOP_INDEPENDENT, 3, one(c));
}

static void (*const good[])(fixture *) = {good_empty,         good_rows,           good_columns, good_in_place,
                                          good_table,         good_dead,           good_reverse, good_lanes,
                                          good_lanes_overlap, good_lanes_in_place, good_own,     good_halves,
                                          good_mod,           good_unknown,        good_call,    good_mapped_call};

/* ---- one violation each ---- */

static void bad_proc_name(fixture *x) {
  x->g.name = "f";
}
static void bad_no_name(fixture *x) {
  x->g.name = "";
}
static void bad_param(fixture *x) {
  ((sci_buf *)(uintptr_t)x->f.params)[0] = x->y;
}
static void bad_param_alias(fixture *x) {
  ((sci_buf *)(uintptr_t)x->f.params)[0] = sci_new_alias(s, x->x, 0, 12, NULL);
}
static void bad_local(fixture *x) {
  ((sci_local *)(uintptr_t)x->f.locals)[0].buf = x->b;
}
static void bad_packing(fixture *x) {
  ((sci_local *)(uintptr_t)x->f.locals)[0].offset = 8;
  x->f.stack_self = 96;
}
static void bad_alias(fixture *x) {
  sci_emit_store(&x->body, sci_new_alias(s, x->y, 8, 5, NULL), at(0), num(0));
}
static void bad_buffer(fixture *x) {
  sci_emit_store(&x->body, x->b, at(0), num(0));
}
static void bad_constant(fixture *x) {
  sci_emit_load(&x->body, s, sci_new_buf(s, SC_FLOAT64, SCI_SPACE_CONSTANT, 3, NULL), at(0), NULL);
}
static void bad_op(fixture *x) {
  sci_val v = sci_emit_load(&x->body, s, x->x, at(0), NULL), n = sci_emit_load(&x->body, s, x->n, at(0), NULL);
  sci_emit_store(&x->body, x->y, at(0), sci_val_op2(s, SCI_OP_add, v, n));
}
static void bad_op_sig(fixture *x) {
  sci_emit_store(&x->body, x->m, at(0), sci_val_op1(s, SCI_OP_isnan, sci_emit_load(&x->body, s, x->n, at(0), NULL)));
}
static void bad_name(fixture *x) {
  sci_emit_store(&x->body, x->y, at(0), name(SC_FLOAT64));
}
static void bad_name_left(fixture *x) {
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_val v = sci_emit_load(&b, s, x->x, at(0), "inner"), w = sci_val_op1(s, SCI_OP_sin, v);
  sci_emit_store(&b, x->y, at(0), w);
  loop(x, SCI_LOOP_SERIAL, 2, sci_block_end(&b, s));
  sci_emit_store(&x->body, x->y, at(1), sci_val_op1(s, SCI_OP_cos, w));
}
static void bad_var(fixture *x) {
  sci_emit_store(&x->body, x->y, x->i, num(0));
}
static void bad_twice(fixture *x) {
  sci_name n = sci_new_name(s, SC_FLOAT64, false, NULL);
  sci_emit(&x->body, assign(n, num(0), true));
  sci_emit(&x->body, assign(n, num(1), true));
}
static void bad_immutable(fixture *x) {
  sci_name n = sci_new_name(s, SC_FLOAT64, false, NULL);
  sci_emit(&x->body, assign(n, num(0), true));
  sci_emit(&x->body, assign(n, num(1), false));
}
static void bad_assign(fixture *x) {
  sci_emit_assign(&x->body, sci_new_name(s, SC_FLOAT64, true, NULL), num(0));
}
static void bad_assign_left(fixture *x) {
  sci_block_builder b;
  sci_block_begin(&b, s);
  sci_name n = sci_emit_mutable(&b, s, num(0), NULL);
  loop(x, SCI_LOOP_SERIAL, 2, sci_block_end(&b, s));
  sci_emit_assign(&x->body, n, num(1));
}
static void bad_store_dtype(fixture *x) {
  sci_emit_store(&x->body, x->y, at(0), at(1));
}
static void bad_index_dtype(fixture *x) {
  sci_emit_store(&x->body, x->y, num(0), num(1));
}
static void bad_name_dtype(fixture *x) {
  sci_emit(&x->body, assign(sci_new_name(s, SC_FLOAT32, false, NULL), num(0), true));
}
static void bad_assign_dtype(fixture *x) {
  sci_emit_assign(&x->body, sci_emit_mutable(&x->body, s, num(0), NULL), at(0));
}
static void bad_step(fixture *x) {
  sci_emit(&x->body, sci_loop_stmt(s, SCI_LOOP_SERIAL, x->iv, 0, 3, 0, (sci_block){0, NULL}));
}
static void bad_shared_var(fixture *x) {
  loop(x, SCI_LOOP_SERIAL, 2, (sci_block){0, NULL});
  loop(x, SCI_LOOP_SERIAL, 2, (sci_block){0, NULL});
}
static void bad_input(fixture *x) {
  sci_emit_store(&x->body, x->x, at(0), num(0));
}
static void bad_table_written(fixture *x) {
  sci_emit_store(&x->body, x->table, at(0), num(0));
}
static void bad_call_input(fixture *x) {
  call(x, 0, 2, (sci_view){x->x, at(0)}, (sci_view){x->x, at(4)});
}
static void bad_high(fixture *x) {
  loop(x, SCI_LOOP_INDEPENDENT, 12, one(store(x->y, plus(x->i, 1), num(0))));
}
static void bad_low(fixture *x) {
  loop(x, SCI_LOOP_INDEPENDENT, 12, one(store(x->y, plus(x->i, -1), num(0))));
}
static void bad_table_range(fixture *x) {
  through_table(x, SCI_LOOP_SERIAL, 4, 1, 9);
}
static void bad_mod(fixture *x) { /* 5 * (i / 5) + 2 * (i mod 5) reaches 13 at i = 9 */
  sci_val v = sci_idx_add(s, sci_idx_mul(s, sci_idx_div(s, x->i, 5), 5), sci_idx_mul(s, sci_idx_mod(s, x->i, 5), 2));
  loop(x, SCI_LOOP_SERIAL, 10, one(store(x->y, v, num(0))));
}
static void bad_extent(fixture *x) {
  call(x, 0, 2, (sci_view){x->x, at(9)}, (sci_view){x->y, at(0)});
}
static void bad_order(fixture *x) {
  call(x, 1, 2, (sci_view){x->x, at(0)}, (sci_view){x->y, at(0)});
}
static void bad_arity(fixture *x) {
  call(x, 0, 1, (sci_view){x->x, at(0)}, (sci_view){x->y, at(0)});
}
static void bad_call_dtype(fixture *x) {
  call(x, 0, 2, (sci_view){x->n, at(0)}, (sci_view){x->y, at(0)});
}
static void bad_overlap(fixture *x) {
  call(x, 0, 2, (sci_view){x->y, at(0)}, (sci_view){x->y, at(3)});
}
static void bad_same(fixture *x) {
  loop(x, SCI_LOOP_INDEPENDENT, 2, one(store(x->y, at(0), num(0))));
}
static void bad_rows(fixture *x) {
  nest(x, x->y, 2, 1, x->x, 3, 1);
}
static void bad_columns(fixture *x) {
  nest(x, x->y, 1, 3, x->x, 3, 1);
}
static void bad_shift(fixture *x) {
  nest(x, x->y, 1, 4, x->y, 2, 1);
}
static void bad_wide_read(fixture *x) {
  nest(x, x->y, 3, 1, x->y, 2, 2);
}
static void bad_table_twice(fixture *x) {
  through_table(x, SCI_LOOP_INDEPENDENT, 4, 0, 0);
}
static void bad_shared(fixture *x) { /* t is needed behind the loop */
  good_own(x);
  sci_emit_load(&x->body, s, x->t, at(0), NULL);
}
static void bad_vector(fixture *x) {
  loop(x, SCI_LOOP_VECTOR, 2, one(store(x->y, at(0), num(0))));
}
static void bad_carried(fixture *x) {
  sci_name n = sci_emit_mutable(&x->body, s, num(0), NULL);
  loop(x, SCI_LOOP_INDEPENDENT, 2, one(assign(n, num(1), false)));
}
static void bad_mapped_call(fixture *x) {
  sci_stmt c = sci_call_stmt(s, 0, 2, (sci_view[]){{x->x, x->i}, {x->y, sci_idx_mul(s, x->i, 3)}});
  loop(x, SCI_LOOP_INDEPENDENT, 3, one(c));
}

static const struct {
  sci_rule rule;
  void (*plant)(fixture *);
} bad[] = {
    {SCI_RULE_proc_name, bad_proc_name},
    {SCI_RULE_proc_name, bad_no_name},
    {SCI_RULE_param, bad_param},
    {SCI_RULE_param, bad_param_alias},
    {SCI_RULE_local, bad_local},
    {SCI_RULE_packing, bad_packing},
    {SCI_RULE_alias, bad_alias},
    {SCI_RULE_buffer_scope, bad_buffer},
    {SCI_RULE_constant, bad_constant},
    {SCI_RULE_op, bad_op},
    {SCI_RULE_op, bad_op_sig},
    {SCI_RULE_name_scope, bad_name},
    {SCI_RULE_name_scope, bad_name_left},
    {SCI_RULE_var_scope, bad_var},
    {SCI_RULE_name_once, bad_twice},
    {SCI_RULE_name_once, bad_immutable},
    {SCI_RULE_assign, bad_assign},
    {SCI_RULE_assign, bad_assign_left},
    {SCI_RULE_dtype, bad_store_dtype},
    {SCI_RULE_dtype, bad_index_dtype},
    {SCI_RULE_dtype, bad_name_dtype},
    {SCI_RULE_dtype, bad_assign_dtype},
    {SCI_RULE_loop, bad_step},
    {SCI_RULE_loop, bad_shared_var},
    {SCI_RULE_readonly, bad_input},
    {SCI_RULE_readonly, bad_table_written},
    {SCI_RULE_readonly, bad_call_input},
    {SCI_RULE_bounds, bad_high},
    {SCI_RULE_bounds, bad_low},
    {SCI_RULE_bounds, bad_table_range},
    {SCI_RULE_bounds, bad_mod},
    {SCI_RULE_bounds, bad_extent},
    {SCI_RULE_call_order, bad_order},
    {SCI_RULE_call_arity, bad_arity},
    {SCI_RULE_call_dtype, bad_call_dtype},
    {SCI_RULE_call_overlap, bad_overlap},
    {SCI_RULE_independent, bad_same},
    {SCI_RULE_independent, bad_rows},
    {SCI_RULE_independent, bad_columns},
    {SCI_RULE_independent, bad_shift},
    {SCI_RULE_independent, bad_wide_read},
    {SCI_RULE_independent, bad_table_twice},
    {SCI_RULE_independent, bad_vector},
    {SCI_RULE_lanes, bad_lanes_trips},
    {SCI_RULE_lanes, bad_lanes_power},
    {SCI_RULE_lanes, bad_lanes_tail},
    {SCI_RULE_lanes, bad_lanes_repeat},
    {SCI_RULE_lanes, bad_lanes_own},
    {SCI_RULE_independent, bad_shared},
    {SCI_RULE_independent, bad_carried},
    {SCI_RULE_independent, bad_mapped_call},
};

static const char *const rule_names[] = {
#define NAME(name) #name,
    SCI_RULES(NAME)
#undef NAME
};

/* The rule that a program with this planted fails, "" for none. */
static void verdict(void (*plant)(fixture *), bool spoil_port, char out[64]) {
  sci_frame fr;
  out[0] = 0;
  if (!SCI_TRY(&env, &fr)) {
    const char *rule = strstr(env.diags[0].message, "rule ");
    snprintf(out, 64, "%s", rule ? rule + 5 : env.diags[0].message);
    out[strcspn(out, ":")] = 0;
    sci_diags_clear(&env);
    return;
  }
  s = sci_store_create(&env);
  fixture x;
  begin(&x);
  plant(&x);
  x.f.body = sci_block_end(&x.body, s);
  sci_port_info ports[] = {{"x", SC_FLOAT64, 1, {12}, NULL},
                           {"n", SC_INT64, 1, {12}, NULL},
                           {"y", SC_FLOAT64, 2, {3, spoil_port ? 3 : 4}, NULL}};
  const sci_proc *procs[] = {&x.g, &x.f};
  sci_program *p = sci_program_create(NULL, s);
  p->n_procs = 2;
  p->procs = procs;
  p->ports = ports;
  sci_program_check(p);
  sci_keep(&env, p);
  sci_program_free(p);
  sci_leave(&env, &fr);
}

Test(program, verify) {
  sci_env_init(&env, NULL);
  char rule[64];
  bool tripped[SCI_RULE_COUNT] = {false};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    verdict(good[i], false, rule);
    cr_expect_str_eq(rule, "", "good program %zu breaks %s", i, rule);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    verdict(bad[i].plant, false, rule);
    cr_expect_str_eq(rule, rule_names[bad[i].rule], "violation %zu of %s gives '%s'", i, rule_names[bad[i].rule], rule);
    tripped[bad[i].rule] = true;
  }
  verdict(good_empty, true, rule);
  cr_expect_str_eq(rule, "entry");
  tripped[SCI_RULE_entry] = true;
  for (int i = 0; i < SCI_RULE_COUNT; i++) cr_expect(tripped[i], "no test trips rule %s", rule_names[i]);
  sci_env_free(&env);
  cr_assert_eq(env.held, 0);
  NO_LEAKS();
}
