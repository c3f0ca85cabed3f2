/* Owns the tests of what is decided once about a module: names, ABI, workspace. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "lib/module/module.h"
#include "lib/module/names.h"

static sc_context *cx;

static void open_context(void) {
  cx = sc_context_create(NULL);
}

static void close_context(void) {
  sc_context_destroy(cx);
}

/* A program whose entry has the given input (a scalar of `dtype`) and output names. */
static sc_program *program_of(const char *entry, const char *in, const char *out, sc_dtype dtype) {
  char text[4096];
  const char *t = sc_dtype_name(dtype);
  snprintf(text, sizeof text,
           "prog.module @%s {} { prog.input \"%s\" : tensor<%s> prog.output \"%s\" : tensor<%s>\n"
           "prog.proc @%s(%%a: memref<1x%s>, %%b: memref<1x%s output>) {workspace=128, workspace_total=192} {\n"
           "prog.store prog.load %%a[0], %%b[0] : %s\n} }",
           entry, in, t, out, t, entry, t, t, t);
  sc_program *p = sc_parse_program(cx, text, strlen(text), NULL);
  cr_assert(p, "%s", sc_context_error(cx)->message);
  return p;
}

/* The names of ports, or NULL and the diagnostic's status. */
static const char *names_of(const sc_program *p, const char *name, const char *prefix, sc_status *status) {
  static char text[512];
  sci_frame fr;
  sc_context_clear_error(cx);
  if (!SCI_TRY(&cx->env, &fr)) {
    *status = sc_context_error(cx)->status;
    return NULL;
  }
  sci_module_info m = sci_module_info_make(&cx->env, p, name, prefix);
  snprintf(text, sizeof text, "%s %s %s", m.entry, m.port_names[0], m.port_names[1]);
  for (int i = 0; i < 2; i++)
    cr_assert(strstr(m.port_symbols[i], m.port_names[i]) && !strncmp(m.port_symbols[i], m.entry, strlen(m.entry)));
  sci_leave(&cx->env, &fr);
  *status = SC_OK;
  return text;
}

Test(module, port_names, .init = open_context, .fini = close_context) {
  static const struct {
    const char *in, *out, *expected;
  } rows[] = {
      {"x", "y", "f x y"},
      {"I_", "I", "f I_ I__"},
      {"f", "x", "f f_ x"},
      {"int", "class", "f int_ class_"},
      {"I", "NAN", "f I_ NAN_"},
      {"near", "errno", "f near_ errno_"},
      {"w", "arg", "f w_ arg_"},
      {"res", "mem", "f res_ mem_"},
      {"sin", "y1", "f sin_ y1"},
      {"int", "int_", "f int_ int__"},
      {"lam:f", "fwd:x", "f lam_f fwd_x"},
      {"__x", "_W", "f __x_ _W_"},
      {"scaly_0", "SCALY_FMA", "f scaly_0_ SCALY_FMA_"},
      {"workspace", "call", "f workspace_ call"},
      {"template", "and", "f template_ and_"},
      {"uint8_t", "HUGE_VAL", "f uint8_t_ HUGE_VAL_"},
      {"double2", "linux", "f double2 linux_"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sc_status status;
    sc_program *p = program_of("f", rows[i].in, rows[i].out, SC_FLOAT64);
    const char *got = names_of(p, NULL, NULL, &status);
    cr_assert(got, "%s %s", rows[i].in, rows[i].out);
    cr_expect_str_eq(got, rows[i].expected);
    sc_program_destroy(p);
  }
}

Test(module, entry_names, .init = open_context, .fini = close_context) {
  static const struct {
    const char *name, *prefix;
    const char *expected; /* NULL: refused */
  } rows[] = {
      {"g", NULL, "g x y"},     {"g", "my_", "my_g x y"}, {"log", NULL, NULL},     {"log", "my_", "my_log x y"},
      {"int", NULL, NULL},      {"class", NULL, NULL},    {"main", NULL, NULL},    {"isnan", NULL, NULL},
      {"NAN", NULL, NULL},      {"malloc", NULL, NULL},   {"write", NULL, NULL},   {"y1", NULL, NULL},
      {"res", NULL, "res x y"}, {"w", NULL, "w x y"},     {"scaly_f", NULL, NULL}, {"__f", NULL, NULL},
      {"", NULL, NULL},         {"a b", NULL, NULL},      {"f-g", NULL, NULL},     {"g", "1", NULL},
      {"g", "a-", NULL},        {"1g", NULL, NULL},       {"1g", "p", "p1g x y"},  {"x", NULL, "x x_ y"},
      {"y", NULL, "y x y_"},
  };
  sc_program *p = program_of("f", "x", "y", SC_FLOAT64);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sc_status status;
    const char *got = names_of(p, rows[i].name, rows[i].prefix, &status);
    cr_expect_eq(got != NULL, rows[i].expected != NULL, "%s", rows[i].name);
    if (!got) cr_expect_eq(status, SC_ERR_NAME, "%s", rows[i].name);
    if (got && rows[i].expected) cr_expect_str_eq(got, rows[i].expected);
  }
  sc_program_destroy(p);
}

Test(module, abi, .init = open_context, .fini = close_context) {
  static const struct {
    sc_dtype dtype;
    sci_abi abi;
    int64_t elements; /* of a workspace of 192 bytes */
  } rows[] = {{SC_FLOAT64, SCI_ABI_F64, 24},
              {SC_FLOAT32, SCI_ABI_F32, 48},
              {SC_INT64, SCI_ABI_VOID, 192},
              {SC_BOOL, SCI_ABI_VOID, 192}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sc_program *p = program_of("f", "x", "y", rows[i].dtype);
    sci_frame fr;
    cr_assert(SCI_TRY(&cx->env, &fr));
    sci_module_info m = sci_module_info_make(&cx->env, p, NULL, NULL);
    cr_expect_eq(m.abi, rows[i].abi);
    cr_expect_eq(m.workspace_bytes, 192);
    cr_expect_eq(m.workspace_elements, rows[i].elements);
    sci_leave(&cx->env, &fr);
    sc_program_destroy(p);
  }
}

/* Stems are numbered within a procedure, and each procedure starts anew; what belongs to the file is nobody else's. */
Test(module, namer, .init = open_context, .fini = close_context) {
  sci_frame fr;
  sci_namer n;
  cr_assert(SCI_TRY(&cx->env, &fr));
  sci_namer_init(&n, &cx->env);
  cr_assert(sci_claim_exactly(&n, SCI_SCOPE_FILE, "f"));
  cr_expect_not(sci_claim_exactly(&n, 1, "f"));
  cr_expect_str_eq(sci_claim(&n, 1, "x"), "x");
  cr_expect_str_eq(sci_claim(&n, 1, "x"), "x_1");
  cr_expect_str_eq(sci_claim(&n, 1, "x_2"), "x_2");
  cr_expect_str_eq(sci_claim(&n, 1, "x"), "x_3");
  cr_expect_str_eq(sci_claim(&n, 1, "f"), "f_1");
  cr_expect_str_eq(sci_claim(&n, 1, "for"), "for_1");
  cr_expect_str_eq(sci_claim(&n, 1, "2 x\xc3\xa9"), "_2_x__");
  cr_expect_str_eq(sci_claim(&n, 2, "x"), "x");
  cr_expect_str_eq(sci_claim(&n, 2, "x"), "x_1");
  cr_expect_str_eq(sci_claim(&n, SCI_SCOPE_FILE, "x"), "x_4", "what any procedure has is not for the file");
  sci_release_name(&n, 2, "x_1");
  cr_expect_str_eq(sci_claim(&n, 2, "x_1"), "x_1");
  for (int i = 0; i < 100000; i++) sci_claim(&n, 3, "same");
  cr_expect_str_eq(sci_claim(&n, 3, "same"), "same_100000", "many names of one stem cost no more than others");
  sci_namer_free(&n);
  sci_leave(&cx->env, &fr);
}

/* The tables are searched by bisection. */
Test(module, reserved_words) {
  static const char *const words[] = {"auto",     "while",   "xor_eq",   "I",       "NAN",       "AIO_PRIO_DELTA_MAX",
                                      "wctype_t", "_Bool",   "__LINE__", "near",    "far",       "minor",
                                      "major",    "errno",   "int64_t",  "arg",     "sin",       "sinf",
                                      "isfinite", "scaly_x", "size_t",   "alignas", "constexpr", "nullptr",
                                      "co_await", "complex", "stdin",    "EOF",     "M_PI",      "unix"};
  static const char *const functions[] = {"a64l", "log", "logf",  "malloc", "write", "printf",
                                          "y1",   "jn",  "exp10", "wscanf", "main",  "abs"};
  static const char *const free_names[] = {"x", "y1_", "euler", "rollout", "znext", "Log", "t0", "v0", "_x", "x_"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) cr_expect(sci_name_is_word(words[i]), "%s", words[i]);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    cr_expect(sci_name_is_library(functions[i]), "%s", functions[i]);
  for (size_t i = 0; i < sizeof free_names / sizeof *free_names; i++)
    cr_expect(!sci_name_is_word(free_names[i]) && !sci_name_is_library(free_names[i]), "%s", free_names[i]);
}
