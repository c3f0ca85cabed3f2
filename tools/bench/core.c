/* Owns the measurements of the core alone: building and interning, a chain of a million operations through every stage,
 * and derivatives at size. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { NODES = 1000000, RUNS = 9, SMALL_STACK = 256 * 1024 };

/* About NODES different nodes: vectors and scalars, one to three operands. */
static sc_expr grow(sc_context *cx, sc_expr x, sc_expr c) {
  sc_expr y = x, z = x;
  for (int k = 0; k < NODES / 4; k++) {
    sc_expr s = sc_sin(y);
    z = sc_mul(s, z);
    y = sc_add(z, y);
    y = sc_sub(y, k % 2 ? x : c);
  }
  (void)cx;
  return y;
}

static void measure_building(void *user) {
  const settings *s = user;
  double fresh[RUNS], again[RUNS];
  size_t nodes = 1;
  const size_t runs = s->quick ? 3 : RUNS;
  for (size_t run = 0; run < runs; run++) {
    sc_context *cx = sc_context_create(NULL);
    const int64_t three = 3;
    sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &three), c = sc_full(cx, SC_FLOAT64, 1, &three, 0.5);
    double start = wall_ms();
    grow(cx, x, c);
    fresh[run] = wall_ms() - start;
    nodes = sc_context_node_count(cx);
    start = wall_ms();
    grow(cx, x, c);
    again[run] = wall_ms() - start;
    sc_context_destroy(cx);
  }
  for (int kind = 0; kind < 2; kind++) {
    double ms = median_of(kind ? again : fresh, runs);
    char rate[64];
    snprintf(rate, sizeof rate, "%.1f million nodes per second", (double)nodes / ms * 1e-3);
    measurement m = no_measurement;
    m.workload = "build";
    m.size = "nodes=1e6";
    m.kernel = kind ? "again" : "new";
    m.graph_ms = ms;
    m.ns = ms * 1e6 / (double)nodes;
    m.peak_kb = peak_kb();
    m.gate = rate;
    print_measurement(s, &m);
  }
}

/* ---- the long chain ---- */

static void stage(const settings *s, const char *name, double *since, bool fine) {
  double now = wall_ms();
  measurement m = no_measurement;
  m.workload = "long_chain";
  m.size = "n=1e6";
  m.kernel = name;
  m.first_ms = now - *since;
  m.peak_kb = peak_kb();
  m.gate = fine ? "ok" : "failed";
  print_measurement(s, &m);
  *since = wall_ms();
}

static void *long_chain(void *user) {
  const settings *s = user;
  double begin = wall_ms(), since = begin;
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), c = sc_scalar(cx, 0.25), y = x;
  for (int k = 0; k < NODES; k++) y = k % 3 == 0 ? sc_mul(y, x) : k % 3 == 1 ? sc_add(y, c) : sc_neg(y);
  sc_function *f = sc_function_create(cx, "chain", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}));
  stage(s, "build", &since, f);
  stage(s, "verify", &since, f && sc_verify(f) == SC_OK);
  char *text = f ? sc_print_function(f) : NULL;
  stage(s, "print", &since, text);
  sc_module_text *parsed = text ? sc_parse(cx, text, strlen(text), NULL) : NULL;
  stage(s, "parse", &since, parsed);
  sc_program *p = f ? sc_lower(f, NULL) : NULL;
  stage(s, "lower", &since, p);
  sc_module *source = p ? sc_render_c_program(p, NULL) : NULL;
  stage(s, "render", &since, source);
  if (source) sc_module_destroy(source);
  if (p) sc_program_destroy(p);
  if (parsed) sc_module_text_free(parsed);
  if (text) sc_string_free(cx, text);
  sc_context_destroy(cx);
  stage(s, "free", &since, true);
  stage(s, "total", &begin, true);
  return NULL;
}

static void measure_chain(void *user) {
  pthread_attr_t attr;
  pthread_t thread;
  if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, SMALL_STACK) ||
      pthread_create(&thread, &attr, long_chain, user))
    return;
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
}

/* ---- derivatives at size ---- */

typedef struct figure {
  const settings *s;
  wl_problem problem;
  const char *size, *kernel;
} figure;

static sc_function *arrow(sc_context *cx, int64_t n) {
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 1, &n), first = sc_at(x, 0);
  sc_expr f = sc_add(sc_sumsqr(x), sc_mul(first, sc_sum(x)));
  return sc_function_create(cx, "arrow", SC_IN({"x", x, NULL}), SC_OUT({"f", f, NULL}));
}

static bool build_figure(sc_context *cx, const figure *g) {
  if (strcmp(g->problem.workload, "arrow")) return wl_kernel(cx, &g->problem, g->kernel);
  sc_function *f = arrow(cx, g->problem.size[0]);
  return f && sc_function_derive(f, NULL, &SC_SPHESS("f", "x", SC_TRIANGLE_FULL), 1, NULL);
}

/* The function and its derivative, pattern and coloring included, in fresh contexts. */
static void measure_figure(void *user) {
  const figure *g = user;
  double ms[RUNS], total = 0;
  size_t n = 0;
  const char *gate = "ok";
  while (n < RUNS && (!n || total < (g->s->quick ? 50 : 1000))) {
    sc_context *cx = sc_context_create(NULL);
    double start = (g->s->cpu_time ? processor_ms() : wall_ms());
    if (!build_figure(cx, g)) gate = "failed";
    total += ms[n++] = (g->s->cpu_time ? processor_ms() : wall_ms()) - start;
    sc_context_destroy(cx);
  }
  measurement m = no_measurement;
  m.workload = "derive";
  m.size = g->size;
  m.kernel = g->kernel;
  m.graph_ms = median_of(ms, n);
  m.peak_kb = peak_kb();
  m.gate = gate;
  print_measurement(g->s, &m);
}

static void bench_derivatives(const settings *s) {
  static const figure figures[] = {
      {NULL, {"race_car", {500}}, "race_car,N=500", "spjac:eq:z"},
      {NULL, {"race_car", {500}}, "race_car,N=500", "splaghess:z:lower"},
      {NULL, {"race_car", {5000}}, "race_car,N=5000", "spjac:eq:z"},
      {NULL, {"race_car", {5000}}, "race_car,N=5000", "splaghess:z:lower"},
      {NULL, {"rosen", {100000}}, "rosen,n=100000", "sphess:f:x"},
      {NULL, {"arrow", {100000}}, "arrow,n=100000", "sphess:f:x"},
  };
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    figure g = figures[i];
    g.s = s;
    if (wanted(s, "derive", g.size, g.kernel)) in_child(measure_figure, &g);
  }
}

void bench_core(const settings *s) {
  settings copy = *s;
  if (wanted(s, "build", "nodes=1e6", "new")) in_child(measure_building, &copy);
  if (!s->quick && wanted(s, "long_chain", "n=1e6", "total")) in_child(measure_chain, &copy);
  bench_derivatives(s);
}
