/* Owns the measurements of the workload kernels, each way in a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { SAMPLES = 15, GRAPH_RUNS = 5, MAX_INPUTS = 16 };
static const double sample_ms = 2;

typedef enum way { WAY_LLVM, WAY_GCC, WAY_CLANG, WAYS } way;
static const char *const way_names[WAYS] = {"llvm", "gcc", "clang"};

typedef struct job {
  const settings *s;
  const wl_reference *r;
  way way;
  char size[64];
} job;

static sc_kernel *compile(const job *j, const sc_function *f) {
  if (j->way == WAY_LLVM) return sc_jit(f, &(sc_jit_options){.plugin_dir = SCALY_TEST_PLUGIN_DIR});
  const char *compiler[] = {j->way == WAY_GCC ? SCALY_BENCH_GCC : SCALY_BENCH_CLANG, NULL}, *flags[] = {"-O3", NULL};
  return sc_compile_cc(f, &(sc_cc_options){.compiler = compiler, .flags = flags});
}

static sc_function *build(sc_context *cx, const wl_reference *r) {
  sc_function *f = wl_function(cx, &r->problem, r->kernel);
  return f ? wl_value_kernel(f, r->kernel) : NULL;
}

static double graph_ms(const wl_reference *r) {
  double ms[GRAPH_RUNS];
  for (int i = 0; i < GRAPH_RUNS; i++) {
    sc_context *cx = sc_context_create(NULL);
    double start = now_ms();
    build(cx, r);
    ms[i] = now_ms() - start;
    sc_context_destroy(cx);
  }
  return median_of(ms, GRAPH_RUNS);
}

static void time_calls(sc_entry entry, const void **in, void **out, void *w, measurement *m) {
  double samples[SAMPLES], elapsed;
  long calls = 1;
  for (;; calls *= 2) {
    double start = now_ms();
    for (long i = 0; i < calls; i++) entry(in, out, NULL, w, 0);
    elapsed = now_ms() - start;
    if (elapsed >= sample_ms / 2) break;
  }
  for (int s = 0; s < SAMPLES; s++) {
    double start = now_ms();
    for (long i = 0; i < calls; i++) entry(in, out, NULL, w, 0);
    samples[s] = (now_ms() - start) * 1e6 / (double)calls;
  }
  m->ns = median_of(samples, SAMPLES);
  m->spread = m->ns > 0 ? (samples[3 * SAMPLES / 4] - samples[SAMPLES / 4]) / m->ns : 0;
}

static void *doubles(int64_t n) {
  void *p = aligned_alloc(64, ((size_t)n * sizeof(double) + 127) / 64 * 64);
  if (!p) abort();
  return p;
}

/* Calls the kernel on the rule's inputs, compares, and only then takes its time. */
static void run_kernel(const job *j, sc_kernel *k, double start, measurement *m) {
  const void *in[MAX_INPUTS];
  static char why[256];
  int64_t first = 0;
  for (size_t i = 0; i < sc_kernel_input_count(k); i++) {
    const sc_port *port = sc_kernel_input(k, i);
    double *v = doubles(port->count);
    first = wl_input(&j->r->problem, port->name, first, port->count, v);
    in[i] = v;
  }
  int64_t n = sc_kernel_output(k, 0)->count;
  void *out[1] = {doubles(n)}, *w = doubles((int64_t)sc_kernel_workspace_bytes(k) / 8 + 1);
  double inputs_done = now_ms();
  int status = sc_kernel_entry(k)(in, out, NULL, w, 0);
  m->first_ms = start + now_ms() - inputs_done;
  bool fine = !status && wl_agrees(j->r, n, out[0], 1e-12, why, sizeof why);
  m->gate = fine ? "ok" : why;
  if (fine) time_calls(sc_kernel_entry(k), in, out, w, m);
  for (size_t i = 0; i < sc_kernel_input_count(k); i++) free((void *)(uintptr_t)in[i]);
  free(out[0]);
  free(w);
}

/* The first compile of a process also loads the plugin, or warms the file cache: not what is measured here. */
static void warm_up(const job *j) {
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL);
  sc_function *f = sc_function_create(cx, "warm", SC_IN({"x", x, NULL}), SC_OUT({"y", sc_sin(x), NULL}));
  sc_kernel *k = compile(j, f);
  if (k) sc_kernel_release(k);
  sc_context_destroy(cx);
}

static void measure(void *user) {
  const job *j = user;
  measurement m = no_measurement;
  m.workload = j->r->workload;
  m.size = j->size;
  m.kernel = j->r->kernel;
  m.way = way_names[j->way];
  m.tier = j->way == WAY_LLVM ? "best" : "-O3";
  m.vector_libm = "none";
  m.lanes = 1;
  warm_up(j);
  m.graph_ms = graph_ms(j->r);
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = build(cx, j->r);
  double start = now_ms();
  sc_kernel *k = f ? compile(j, f) : NULL;
  double elapsed = now_ms() - start;
  if (k) {
    sc_compile_times t = sc_kernel_times(k);
    m.lower_ms = t.lower;
    m.compile_ms = t.target + t.emit + t.codegen + t.link;
    m.code_bytes = (int64_t)sc_kernel_code_bytes(k);
    m.workspace = (int64_t)sc_kernel_workspace_bytes(k);
    run_kernel(j, k, elapsed, &m);
    sc_kernel_release(k);
    sc_program *p = sc_lower(f, NULL);
    if (p) m.ops = sc_program_statistics(p).operations;
    if (p) sc_program_destroy(p);
  } else {
    m.gate = sc_context_error(cx) ? sc_context_error(cx)->message : "no kernel";
  }
  m.peak_kb = peak_kb();
  print_measurement(j->s, &m);
  bool fine = m.gate && !strcmp(m.gate, "ok");
  sc_context_destroy(cx);
  if (!fine) {
    fflush(NULL);
    _Exit(1);
  }
}

/* Straight-line code beyond 1,000 operations takes minutes: measured only when named, and by gcc and clang never at
 * 100,000. */
static bool sensible(const settings *s, const wl_reference *r, way w) {
  if (strcmp(r->workload, "straight") || r->problem.size[0] <= 1000) return true;
  return s->only && strstr(s->only, "straight") && (w == WAY_LLVM || r->problem.size[0] <= 10000);
}

bool bench_kernels(const settings *s) {
  wl_references all;
  bool fine = true;
  if (!wl_read_references(SCALY_TEST_SOURCE_DIR "/tests/data/workloads/reference.txt", &all)) return false;
  for (size_t i = 0; i < all.n; i++) {
    const wl_reference *r = &all.all[i];
    if (strchr(r->kernel, ':')) continue; /* a derivative */
    for (way w = 0; w < WAYS; w++) {
      job j = {s, r, w, ""};
      wl_size_text(&r->problem, j.size);
      if (!wanted(s, r->workload, j.size, r->kernel) || !sensible(s, r, w)) continue;
      if (s->way && strcmp(s->way, way_names[w])) continue;
      if ((w == WAY_GCC && !*SCALY_BENCH_GCC) || (w == WAY_CLANG && !*SCALY_BENCH_CLANG)) continue;
      fine &= in_child(measure, &j);
    }
  }
  wl_free_references(&all);
  return fine;
}
