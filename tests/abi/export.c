/* Writes a module, a consumer of it, and the output that the consumer must print, as the program evaluator has it.
 *
 *   abi_export CASE FOLDER DIALECT [PREFIX [REQUEST...]]
 *
 * CASE: a file of program text, or "ops" for every scalar operation on every data type; or a file of functions, of
 * which the last one is derived as requested and lowered with strict rounding, so that every build gives the
 * evaluator's bits. With -DSTACK=BYTES the consumer's work is done on a thread with that much stack. SCALY_TEST_CPU
 * names another target than generic. DIALECT: gnu or c, with a consumer in C that is also C++; or cpp, the gnu dialect
 * with a C++ header and a consumer in C++. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr.h"
#include "lib/module/backend.h"
#include "tests/oracle/oracle.h"

static _Noreturn void die(const char *what, const char *why) {
  fprintf(stderr, "abi_export: %s: %s\n", what, why);
  exit(1);
}

/* ---- the program ---- */

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) die(path, "cannot be read");
  char *text = calloc(1, 1 << 24);
  if (!text || fread(text, 1, (1 << 24) - 1, f) == 0) die(path, "is empty");
  fclose(f);
  return text;
}

enum { OPS_N = 24 };
static const char *const suffix[] = {"f64", "f32", "i64", "i32", "b8"};

typedef struct growing {
  char *text;
  size_t n, cap;
} growing;

SCI_PRINTF(2, 3) static void say(growing *g, const char *fmt, ...) {
  va_list ap;
  if (g->cap - g->n < 512) g->text = realloc(g->text, g->cap = 2 * g->cap + 4096);
  if (!g->text) abort();
  va_start(ap, fmt);
  g->n += (size_t)vsnprintf(g->text + g->n, 512, fmt, ap);
  va_end(ap);
}

typedef void (*each_op)(growing *g, sci_op op, sc_dtype from, sc_dtype to);

static void for_all_ops(growing *g, each_op visit) {
  for (int op = 0; op < SCI_OP_COUNT; op++)
    for (int d = 0; d < SC_DTYPE_COUNT; d++) {
      if (!sci_op_accepts((sci_op)op, (sc_dtype)d)) continue;
      if (op != SCI_OP_cast) visit(g, (sci_op)op, (sc_dtype)d, sci_op_result((sci_op)op, (sc_dtype)d));
      for (int to = 0; op == SCI_OP_cast && to < SC_DTYPE_COUNT; to++) visit(g, (sci_op)op, (sc_dtype)d, (sc_dtype)to);
    }
}

static void say_port(growing *g, sci_op op, sc_dtype from, sc_dtype to) {
  say(g, "prog.output \"%s_%s_%s\" : tensor<%dx%s>\n", sci_ops[op].name, suffix[from], suffix[to], OPS_N,
      sc_dtype_name(to));
}

static void say_parameter(growing *g, sci_op op, sc_dtype from, sc_dtype to) {
  say(g, ", %%%s_%s_%s: memref<%dx%s output>", sci_ops[op].name, suffix[from], suffix[to], OPS_N, sc_dtype_name(to));
}

static void say_store(growing *g, sci_op op, sc_dtype from, sc_dtype to) {
  say(g, "prog.store prog.%s(", sci_ops[op].name);
  if (op == SCI_OP_select)
    say(g, "prog.load %%a_b8[%%i], prog.load %%a_%s[%%i], prog.load %%b_%s[%%i])", suffix[from], suffix[from]);
  for (int k = 0; op != SCI_OP_select && k < sci_ops[op].arity; k++)
    say(g, "%sprog.load %%%c_%s[%%i]%s", k ? ", " : "", 'a' + k, suffix[from], k + 1 == sci_ops[op].arity ? ")" : "");
  if (op == SCI_OP_cast) say(g, " {dtype=%s}", sc_dtype_name(to));
  say(g, ", %%%s_%s_%s[%%i] : %s\n", sci_ops[op].name, suffix[from], suffix[to], sc_dtype_name(to));
}

static char *ops_text(void) {
  growing g = {0};
  say(&g, "prog.module @ops {} {\n");
  for (char k = 'a'; k <= 'c'; k++)
    for (int d = 0; d < SC_DTYPE_COUNT; d++)
      say(&g, "prog.input \"%c_%s\" : tensor<%dx%s>\n", k, suffix[d], OPS_N, sc_dtype_name((sc_dtype)d));
  for_all_ops(&g, say_port);
  say(&g, "prog.proc @ops(");
  for (char k = 'a'; k <= 'c'; k++)
    for (int d = 0; d < SC_DTYPE_COUNT; d++)
      say(&g, "%s%%%c_%s: memref<%dx%s>", k == 'a' && !d ? "" : ", ", k, suffix[d], OPS_N, sc_dtype_name((sc_dtype)d));
  for_all_ops(&g, say_parameter);
  say(&g, ") {\nprog.for %%i = 0 to %d step 1 {kind=independent} {\n", OPS_N);
  for_all_ops(&g, say_store);
  say(&g, "}\n}\n}\n");
  return g.text;
}

/* ---- values ---- */

/* Operands meet their specials in turn: the three inputs of a type go through the list at different speeds. Third
 * operands and everything a fused multiply-add could round differently stay small integers. */
static double special(int64_t i, size_t port, bool ops) {
  static const double list[] = {0.0,    -0.0,     1.0,       -1.0, 2.0, -3.0, 0.5,  -2.5,  1e300, -1e300,
                                1e-310, INFINITY, -INFINITY, NAN,  3e9, -3e9, 1e19, -1e19, 7.0};
  static const double small[] = {0.0, 1.0, -2.0, 3.0, 5.0, -7.0};
  if (!ops) return (double)((i * 7919 + (int64_t)port * 104729 + 17) % 2001 - 1000) / 1000.0;
  if (port >= 10) return small[i % 6];
  return list[(i * (port < 5 ? 1 : 5) + (int64_t)port) % 19];
}

static void fill(sc_dtype dtype, void *data, int64_t n, size_t port, bool ops) {
  for (int64_t i = 0; i < n; i++) {
    double v = special(i, port, ops);
    sci_scalar s = sci_scalar_number(dtype, v);
    if (dtype == SC_INT64 || dtype == SC_INT32) s = sci_scalar_number(dtype, ops ? v : v * 1000);
    if (dtype == SC_BOOL) s.b8 = (uint8_t)(i % 3 ? i % 5 : 0); /* any nonzero value reads as true */
    if (dtype == SC_BOOL)
      ((uint8_t *)data)[i] = s.b8;
    else
      sci_scalar_store(dtype, data, (size_t)i, s);
  }
}

/* Raw bits; a NaN's sign and payload are nobody's promise. */
static uint64_t bits_of(sc_dtype dtype, const void *data, int64_t i) {
  if (dtype == SC_BOOL) return ((const uint8_t *)data)[i];
  return sci_scalar_bits(dtype, sci_scalar_load(dtype, data, (size_t)i));
}

/* ---- the consumer ---- */

typedef struct consumer {
  FILE *f;
  const sci_program *p;
  const sci_module_info *m;
  size_t n_in, n_out;
  void **data;
  bool cpp;
} consumer;

/* A name of the module: f_x_t, or f::x_t. */
static const char *of_module(const consumer *c, const char *name) {
  static char room[8][512];
  static unsigned next;
  char *s = room[next++ % 8];
  snprintf(s, sizeof room[0], "%s%s%s", c->m->entry, c->cpp ? "::" : "_", name);
  return s;
}

static const char *of_port(const consumer *c, size_t port, const char *ending) {
  char name[256];
  snprintf(name, sizeof name, "%s_%s", c->m->port_names[port], ending);
  return of_module(c, name);
}

static int64_t count(const consumer *c, size_t i) {
  return c->p->store->bufs[sci_entry(c->p)->params[i]].size;
}

static const char *c_type(sc_dtype d) {
  static const char *const types[] = {"double", "float", "int64_t", "int32_t", "uint8_t"};
  return types[d];
}

static void put_inputs(const consumer *c) {
  for (size_t i = 0; i < c->n_in; i++) {
    fprintf(c->f, "static const uint64_t in%zu[] = {", i);
    for (int64_t k = 0; k < count(c, i); k++)
      fprintf(c->f, "0x%" PRIx64 "u, ", bits_of((sc_dtype)c->p->ports[i].dtype, c->data[i], k));
    fprintf(c->f, "0};\n");
  }
}

static void put_prelude(const consumer *c, const char *name) {
  fprintf(
      c->f,
      "#include \"%s.%s\"\n#include \"%s.%s\"\n#include <inttypes.h>\n#include <stdio.h>\n#include <string.h>\n\n"
      "#ifdef __TINYC__ /* has no way to align a member */\n#define MISALIGNED(p) 0\n"
      "#else\n#define MISALIGNED(p) ((uintptr_t)(p) %% 16 != 0)\n#endif\n\n"
      "static void unpack(void *to, const uint64_t *from, size_t n, size_t size) {\n"
      "  for (size_t i = 0; i < n; i++) {\n"
      "    uint32_t low = (uint32_t)from[i];\n    uint8_t byte = (uint8_t)from[i];\n"
      "    const void *p = size == 8 ? (const void *)&from[i] : size == 4 ? (const void *)&low : (const void *)&byte;\n"
      "    memcpy((char *)to + i * size, p, size);\n  }\n}\n\n"
      "static void show(const char *what, const void *data, size_t n, size_t size, int is_float) {\n"
      "  printf(\"%%s\", what);\n"
      "  for (size_t i = 0; i < n; i++) {\n"
      "    uint64_t bits = 0;\n    uint32_t low = 0;\n"
      "    if (size == 8) memcpy(&bits, (const char *)data + i * size, 8);\n"
      "    if (size == 4) memcpy(&low, (const char *)data + i * size, 4);\n"
      "    if (size == 4) bits = low;\n"
      "    if (size == 1) bits = ((const unsigned char *)data)[i];\n"
      "    if (is_float && size == 8 && (bits << 1) > 0xffe0000000000000u) bits = 0x7ff8000000000000u;\n"
      "    if (is_float && size == 4 && (uint32_t)(low << 1) > 0xff000000u) bits = 0x7fc00000u;\n"
      "    printf(\" %%\" PRIx64, bits);\n  }\n  printf(\"\\n\");\n}\n\n",
      name, c->cpp ? "hpp" : "h", name, c->cpp ? "hpp" : "h");
}

static void put_buffers(const consumer *c) {
  for (size_t i = 0; i < c->n_in + c->n_out; i++)
    fprintf(c->f, "static %s b%zu, typed%zu;\n", of_port(c, i, "t"), i, i);
  fprintf(c->f, "static %s w;\n\n", of_module(c, "workspace_t"));
}

static void put_null_checks(const consumer *c) {
  const char *f = c->cpp ? of_module(c, c->m->entry) : c->m->entry;
  const char *w = "w.data";
  fprintf(c->f, "  if (%s(NULL, res, NULL, %s, 0) != 1 || %s(arg, NULL, NULL, %s, 0) != 1) return 11;\n", f, w, f, w);
  fprintf(c->f, "  if (%s && %s(arg, res, NULL, NULL, 0) != 2) return 12;\n", of_module(c, "SZ_W"), f);
  for (size_t i = 0; i < c->n_in + c->n_out; i++) {
    bool is_output = i >= c->n_in;
    const char *array = is_output ? "res" : "arg";
    size_t k = is_output ? i - c->n_in : i;
    if (count(c, i))
      fprintf(c->f, "  %s[%zu] = NULL;\n  if (%s(arg, res, NULL, %s, 0) != %d) return 13;\n  %s[%zu] = b%zu.data;\n",
              array, k, f, w, is_output ? 3 : 4, array, k, i);
    else
      fprintf(c->f, "  %s[%zu] = NULL; /* no values: may stay null */\n", array, k);
  }
}

/* What a header says of a sparse output, in the order in which put_expected_tables has it. */
static void put_table_prints(const consumer *c, size_t port) {
  const sc_pattern *p = c->p->ports[port].pattern;
  static const char *const outer[] = {"colptr", "rowptr"}, *const inner[] = {"rowind", "colind"};
  fprintf(c->f, "  printf(\"%s %%d x %%d %%d\\n\", (int)%s, (int)%s, (int)%s);\n", c->m->port_names[port],
          of_port(c, port, "NROW"), of_port(c, port, "NCOL"), of_port(c, port, "NNZ"));
  fprintf(c->f, "  for (int i = 0; i < %" PRId64 "; i++) printf(\" (%%d, %%d)\", (int)%s[i], (int)%s[i]);\n", p->nnz,
          of_port(c, port, "rows"), of_port(c, port, "cols"));
  if (p->layout != SC_COO) {
    int64_t n = p->layout == SC_CSC ? p->ncol : p->nrow;
    fprintf(c->f, "  for (int i = 0; i <= %" PRId64 "; i++) printf(\" %%d\", (int)%s[i]);\n", n,
            of_port(c, port, outer[p->layout]));
    fprintf(c->f, "  for (int i = 0; i < %" PRId64 "; i++) printf(\" %%d\", (int)%s[i]);\n", p->nnz,
            of_port(c, port, inner[p->layout]));
  }
  fprintf(c->f, "  printf(\"\\n\");\n");
}

static void put_expected_tables(const consumer *c, size_t port, FILE *f) {
  const sc_pattern *p = c->p->ports[port].pattern;
  fprintf(f, "%s %" PRId64 " x %" PRId64 " %" PRId64 "\n", c->m->port_names[port], p->nrow, p->ncol, p->nnz);
  int64_t n = p->layout == SC_CSC ? p->ncol : p->nrow;
  for (int64_t i = 0; p->layout != SC_COO && i < n; i++)
    for (int32_t k = p->outer[i]; k < p->outer[i + 1]; k++) {
      int other = p->inner[k], own = (int)i;
      fprintf(f, " (%d, %d)", p->layout == SC_CSC ? other : own, p->layout == SC_CSC ? own : other);
    }
  for (int64_t k = 0; p->layout == SC_COO && k < p->nnz; k++) fprintf(f, " (%d, %d)", p->outer[k], p->inner[k]);
  for (int64_t i = 0; p->layout != SC_COO && i <= n; i++) fprintf(f, " %d", p->outer[i]);
  for (int64_t k = 0; p->layout != SC_COO && k < p->nnz; k++) fprintf(f, " %d", p->inner[k]);
  fprintf(f, "\n");
}

/* main(), or a thread's work. */
static void put_start(const consumer *c) {
  fprintf(
      c->f,
      "\n#ifdef STACK\n#include <pthread.h>\nstatic int code = 1;\n"
      "static void *work(void *unused) {\n  (void)unused;\n  code = body();\n  return NULL;\n}\n\n"
      "int main(void) {\n  pthread_t thread;\n  pthread_attr_t attr;\n"
      "  pthread_attr_init(&attr);\n  if (pthread_attr_setstacksize(&attr, STACK)) return 20;\n"
      "  if (pthread_create(&thread, &attr, work, NULL) || pthread_join(thread, NULL)) return 21;\n  return code;\n}\n"
      "#else\nint main(void) {\n  return body();\n}\n#endif\n");
}

static void put_main(const consumer *c) {
  static const char *const pointers[] = {"double", "float", "void"};
  const char *f = c->cpp ? of_module(c, c->m->entry) : c->m->entry, *type = pointers[c->m->abi];
  fprintf(c->f, "static int body(void) {\n  const %s *arg[] = {", type);
  for (size_t i = 0; i < c->n_in; i++) fprintf(c->f, "b%zu.data, ", i);
  fprintf(c->f, "NULL};\n  %s *res[] = {", type);
  for (size_t i = 0; i < c->n_out; i++) fprintf(c->f, "b%zu.data, ", c->n_in + i);
  fprintf(c->f, "NULL};\n");
  for (size_t i = 0; i < c->n_in + c->n_out; i++) {
    sc_dtype d = (sc_dtype)c->p->ports[i].dtype;
    if (i < c->n_in)
      fprintf(c->f, "  unpack(b%zu.data, in%zu, %" PRId64 ", sizeof(%s));\n  typed%zu = b%zu;\n", i, i, count(c, i),
              c_type(d), i, i);
    fprintf(c->f, "  if (MISALIGNED(&b%zu) || sizeof b%zu < %" PRId64 " * sizeof(%s)) return 10;\n", i, i, count(c, i),
            c_type(d));
  }
  put_null_checks(c);
  fprintf(c->f, "  if (%s(arg, res, NULL, %s ? w.data : NULL, 0) != 0) return 14;\n", f, of_module(c, "SZ_W"));
  for (size_t i = c->n_in; i < c->n_in + c->n_out; i++) {
    sc_dtype d = (sc_dtype)c->p->ports[i].dtype;
    fprintf(c->f, "  show(\"%s:\", b%zu.data, %" PRId64 ", sizeof(%s), %d);\n", c->m->port_names[i], i, count(c, i),
            c_type(d), sci_is_float(d));
  }
  fprintf(c->f, "  if (%s(", of_module(c, "call"));
  for (size_t i = 0; i < c->n_in + c->n_out; i++) fprintf(c->f, "%styped%zu, ", c->cpp ? "" : "&", i);
  fprintf(c->f, "%sw) != 0) return 15;\n", c->cpp ? "" : "&");
  for (size_t i = c->n_in; i < c->n_in + c->n_out; i++)
    if (c->p->ports[i].pattern) put_table_prints(c, i);
  for (size_t i = c->n_in; i < c->n_in + c->n_out; i++)
    fprintf(c->f, "  if (memcmp(b%zu.data, typed%zu.data, %" PRId64 " * sizeof(%s)) != 0) return 16;\n", i, i,
            count(c, i), c_type((sc_dtype)c->p->ports[i].dtype));
  fprintf(c->f, "  return SCALY_ABI_VERSION == 1 ? 0 : 17;\n}\n");
}

static void put_expected(const consumer *c, const char *folder) {
  char path[4096], why[512];
  snprintf(path, sizeof path, "%s/expected.txt", folder);
  if (!ora_run_program(c->p, (const void *const *)c->data, c->data + c->n_in, NULL, why, sizeof why))
    die("the evaluator refuses", why);
  FILE *f = fopen(path, "w");
  if (!f) die(path, "cannot be written");
  for (size_t i = c->n_in; i < c->n_in + c->n_out; i++) {
    fprintf(f, "%s:", c->m->port_names[i]);
    for (int64_t k = 0; k < count(c, i); k++)
      fprintf(f, " %" PRIx64, bits_of((sc_dtype)c->p->ports[i].dtype, c->data[i], k));
    fprintf(f, "\n");
  }
  for (size_t i = c->n_in; i < c->n_in + c->n_out; i++)
    if (c->p->ports[i].pattern) put_expected_tables(c, i, f);
  fclose(f);
}

static void write_consumer(const sci_program *p, const sci_module_info *m, const char *folder, bool ops, bool cpp) {
  char path[4096];
  consumer c = {.p = p, .m = m, .n_in = m->n_in, .n_out = m->n_out, .cpp = cpp};
  c.data = calloc(c.n_in + c.n_out, sizeof *c.data);
  for (size_t i = 0; i < c.n_in + c.n_out; i++) {
    c.data[i] = calloc((size_t)count(&c, i) + 1, 8);
    if (i < c.n_in) fill((sc_dtype)p->ports[i].dtype, c.data[i], count(&c, i), i, ops);
  }
  snprintf(path, sizeof path, "%s/consumer.%s", folder, cpp ? "cpp" : "c");
  c.f = fopen(path, "w");
  if (!c.f) die(path, "cannot be written");
  put_prelude(&c, p->name);
  put_inputs(&c);
  put_buffers(&c);
  put_main(&c);
  put_start(&c);
  fclose(c.f);
  put_expected(&c, folder);
  for (size_t i = 0; i < c.n_in + c.n_out; i++) free(c.data[i]);
  free(c.data);
}

static void make_consumer(const sci_program *p, const char *prefix, const char *folder, bool ops, bool cpp) {
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) die("names", sc_context_error(p->cx)->message);
  sci_module_info m = sci_module_info_make(env, p, NULL, prefix);
  write_consumer(p, &m, folder, ops, cpp);
  sci_leave(env, &fr);
}

static bool holds_functions(const char *text) {
  return strstr(text, "expr.") || !strstr(text, "prog.");
}

static sc_program *lower_function(sc_context *cx, const char *text, const char *file, char **requests, size_t n) {
  sc_target target;
  sc_request parsed[32];
  sc_module_text *t = sc_parse(cx, text, strlen(text), file);
  sc_function *f = t ? sc_module_text_find(t, NULL) : NULL;
  sc_module_text_free(t);
  for (size_t i = 0; f && i < n && i < 32; i++)
    if (sc_request_parse(cx, requests[i], &parsed[i]) != SC_OK) return NULL;
  if (f && n) f = sc_function_derive(f, NULL, parsed, n, NULL);
  const char *cpu = getenv("SCALY_TEST_CPU");
  if (!f || sc_target_preset(cpu ? cpu : "generic", &target) != SC_OK) return NULL;
  return sc_lower(f, &(sc_lower_options){.target = &target, .rounding = SC_ROUNDING_STRICT});
}

int main(int argc, char **argv) {
  if (argc < 4) die("usage", "abi_export CASE FOLDER DIALECT [PREFIX]");
  bool ops = strcmp(argv[1], "ops") == 0;
  char *text = ops ? ops_text() : read_file(argv[1]);
  sc_context *cx = sc_context_create(NULL);
  sc_program *p = !ops && holds_functions(text)
                      ? lower_function(cx, text, argv[1], argv + 5, argc > 5 ? (size_t)argc - 5 : 0)
                      : sc_parse_program(cx, text, strlen(text), argv[1]);
  if (!p) die(argv[1], sc_context_error(cx)->message);
  bool cpp = strcmp(argv[3], "cpp") == 0;
  sc_c_options options = {.dialect = strcmp(argv[3], "c") == 0 ? SC_DIALECT_C : SC_DIALECT_GNU,
                          .lang = cpp ? SC_LANG_CPP : SC_LANG_C,
                          .prefix = argc > 4 && *argv[4] ? argv[4] : NULL};
  sc_module *module = sc_render_c_program(p, &options);
  if (!module) die(argv[1], sc_context_error(cx)->message);
  if (sc_module_write(module, argv[2]) != SC_OK) die(argv[2], sc_module_error(module));
  make_consumer(p, options.prefix, argv[2], ops, cpp);
  printf("%s\n", sc_module_name(module));
  sc_module_destroy(module);
  sc_program_destroy(p);
  sc_context_destroy(cx);
  free(text);
  return 0;
}
