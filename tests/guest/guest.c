/* Owns the functions that the tests of a process's compiler compile, and how their results are compared. */
#include "guest.h"

#include <math.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct text {
  char *data;
  size_t n, cap;
} text;

static void put(text *t, const char *fmt, ...) {
  if (t->cap - t->n < 400) t->data = realloc(t->data, t->cap = 2 * t->cap + 4096);
  va_list ap;
  va_start(ap, fmt);
  t->n += (size_t)vsnprintf(t->data + t->n, t->cap - t->n, fmt, ap);
  va_end(ap);
}

static const char *const texts[] = {
    "expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(add(sin(%x), mul(%x, %x))) }",
    "expr.func @maps(%x: tensor<37xfloat64>, %z: tensor<37xfloat64>) -> (%y, %s) { %e = mul(exp(%x), tanh(%z)) return "
    "add(%e, pow(%x, 2.5)), "
    "sum(atan2(%e, %z)) }",
    "expr.func @table(%i: tensor<5xfloat64>) -> (%y) { %t = gather(%i) {indices=[4,0,0,3,1,2,4], shape=[7]} return "
    "mul(%t, const "
    "{value=[1.5, -2.25, 0.1, 3, inf, 1e-310, -0.0]} : tensor<7xfloat64>) }",
    "expr.func @inner(%a: tensor<3xfloat64>) -> (%b) { return mul(%a, log(add(1.0, mul(%a, %a)))) }\n"
    "expr.func @outer(%x: tensor<60xfloat64>) -> (%y) { %v = vmap(%x) {callee=\"inner\", length=20, starts=[0], "
    "strides=[3]} return "
    "add(%v, sum(%v)) }",
    "expr.func @single(%x: tensor<9xfloat32>) -> (%y, %z) { return floor(mul(cos(%x), 8.0)), fmod(%x, 0.75) }",
    "expr.func @choose(%x: tensor<11xfloat64>) -> (%y) { %c = lt(%x, 0.0) return select(%c, sqrt(neg(%x)), maximum(%x, "
    "minimum(%x, "
    "0.25))) }",
};

/* A chain and a tree of n operations. */
static sc_function *straight(sc_context *cx, int n) {
  text t = {0};
  put(&t, "expr.func @straight(%%x: tensor<4xfloat64>) -> (%%y) { %%v0 = %%x[0] %%v1 = %%x[1] %%v2 = %%x[2] %%v3 = "
          "%%x[3] %%v4 = exp(%%v0)\n");
  for (int i = 5; i < n; i++) {
    if (i % 50 == 0)
      put(&t, "%%v%d = sin(%%v%d)\n", i, i - 1);
    else
      put(&t, "%%v%d = %s(%%v%d, %%v%d)\n", i, i % 3 == 0 ? "mul" : i % 3 == 1 ? "add" : "sub", i - 1, i - 2 - i % 3);
  }
  put(&t, "return add(%%v%d, %%v%d) }", n - 1, n / 2);
  sc_module_text *m = sc_parse(cx, t.data, t.n, "straight");
  CHECK_OK(cx, m);
  sc_function *f = sc_module_text_find(m, NULL);
  sc_module_text_free(m);
  free(t.data);
  return f;
}

sc_function *guest_function(sc_context *cx, int i) {
  enum { N = sizeof texts / sizeof *texts };
  if (i >= N) return straight(cx, i == N ? 300 : 4000);
  sc_module_text *m = sc_parse(cx, texts[i], strlen(texts[i]), "texts");
  CHECK_OK(cx, m);
  sc_function *f = sc_module_text_find(m, NULL);
  sc_module_text_free(m);
  return f;
}

static double number(unsigned *state, unsigned seed) {
  static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 5e-324, 1e308, -1};
  *state = *state * 1664525u + 1013904223u;
  if (seed % 2 && (*state >> 13) % 5 == 0) return special[(*state >> 20) % 8];
  return (double)(*state >> 8) / (1 << 23) - 1;
}

static void *fill(const sc_port *p, unsigned *state, unsigned seed) {
  char *data = calloc((size_t)p->count + 1, 8);
  for (int64_t i = 0; i < p->count; i++) {
    double v = number(state, seed);
    if (p->dtype == SC_FLOAT64) memcpy(data + i * 8, &v, 8);
    if (p->dtype == SC_FLOAT32) memcpy(data + i * 4, &(float){(float)v}, 4);
  }
  return data;
}

buffers buffers_make(const sc_kernel *k, unsigned seed) {
  buffers b = {.n_in = sc_kernel_input_count(k), .n_out = sc_kernel_output_count(k)};
  unsigned state = seed;
  b.in = calloc(b.n_in + 1, sizeof *b.in);
  b.out = calloc(b.n_out + 1, sizeof *b.out);
  b.out_bytes = calloc(b.n_out + 1, sizeof *b.out_bytes);
  for (size_t i = 0; i < b.n_in; i++) b.in[i] = fill(sc_kernel_input(k, i), &state, seed);
  for (size_t i = 0; i < b.n_out; i++) {
    const sc_port *p = sc_kernel_output(k, i);
    b.out_bytes[i] = (size_t)p->count * sc_dtype_size(p->dtype);
    b.out[i] = calloc(1, b.out_bytes[i] + 1);
  }
  return b;
}

void buffers_clear(buffers *b) {
  for (size_t i = 0; i < b->n_out; i++) memset(b->out[i], 0xAB, b->out_bytes[i]);
}

static bool equal(sc_dtype dtype, const char *a, const char *b) {
  if (dtype == SC_FLOAT64) {
    double x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return (isnan(x) && isnan(y)) || !memcmp(a, b, 8);
  }
  if (dtype == SC_FLOAT32) {
    float x, y;
    memcpy(&x, a, 4);
    memcpy(&y, b, 4);
    return (isnan(x) && isnan(y)) || !memcmp(a, b, 4);
  }
  return !memcmp(a, b, sc_dtype_size(dtype));
}

bool buffers_equal(const sc_kernel *k, const buffers *a, const buffers *b) {
  for (size_t o = 0; o < a->n_out; o++) {
    const sc_port *p = sc_kernel_output(k, o);
    size_t size = sc_dtype_size(p->dtype);
    for (size_t i = 0; i < (size_t)p->count; i++)
      if (!equal(p->dtype, (char *)a->out[o] + i * size, (char *)b->out[o] + i * size)) return false;
  }
  return true;
}

void buffers_free(buffers *b) {
  for (size_t i = 0; i < b->n_in; i++) free(b->in[i]);
  for (size_t i = 0; i < b->n_out; i++) free(b->out[i]);
  free(b->in);
  free(b->out);
  free(b->out_bytes);
}

void call(sc_kernel *k, buffers *b) {
  buffers_clear(b);
  int status = sc_kernel_call(k, (const void *const *)b->in, b->out, NULL);
  CHECK(status == SC_KERNEL_SUCCESS, "status %d", status);
}

bool is_mapped(const char *name) {
  char line[1000];
  bool found = false;
  FILE *f = fopen("/proc/self/maps", "r");
  while (f && fgets(line, sizeof line, f)) found |= strstr(line, name) != NULL;
  if (f) fclose(f);
  return found;
}

void in_child(void (*what)(void *), void *arg) {
  fflush(NULL);
  pid_t child = fork();
  if (!child) {
    what(arg);
    exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0, "child: status %x", (unsigned)status);
}
