/* Owns the measurements of the workload kernels: which are measured, in which ways, and the turns the ways take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/records.h"
#include "tools/bench/worker.h"

enum { MAX_WAYS = 48, SAMPLES = 15, QUICK_SAMPLES = 7 };

/* Kernels written by hand, and the largest first size that they are for (0: any). */
static const struct hand {
  const char *workload, *kernel, *file;
  int64_t most;
} hands[] = {
    {"race_car", "spjac:eq:z", "race_car_spjac.c", 0},
    {"race_car", "splaghess:z:lower", "race_car_splaghess.c", 0},
    {"quadrotor", "spjac:eq:z", "quadrotor_spjac.c", 0},
    {"quadrotor", "splaghess:z:lower", "quadrotor_splaghess.c", 0},
    {"chain", "spjac:eq:z", "chain_spjac.c", 5},
    {"chain", "splaghess:z:lower", "chain_splaghess.c", 5},
    {"wave", "y", "wave.c", 0},
    {"wave", "grad:s:x", "wave.c", 0},
    {"reduce", "sum", "reduce.c", 0},
    {"reduce", "dot", "reduce.c", 0},
    {"reduce", "norm", "reduce.c", 0},
    {"matmul", "C", "matmul.c", 0},
};

/* What --quick measures: one size of each, small enough for every compiler. */
static const wl_problem quick[] = {{"race_car", {10}}, {"race_car", {50}},  {"chain", {3, 20}},  {"npmpc", {16, 2}},
                                   {"quadrotor", {2}}, {"arm7", {0}},       {"arm7", {64}},      {"wave", {64}},
                                   {"wave", {4096}},   {"rosen", {1000}},   {"mlp", {1}},        {"matmul", {8}},
                                   {"matmul", {64}},   {"reduce", {10000}}, {"straight", {1000}}};

static bool is_quick(const wl_problem *p) {
  for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
    if (!strcmp(quick[i].workload, p->workload) && !memcmp(quick[i].size, p->size, sizeof p->size)) return true;
  return false;
}

static void add_way(const settings *s, way all[MAX_WAYS], size_t *n, way w) {
  bool asked = !s->way || !strcmp(s->way, w.name);
  if (asked && *n < MAX_WAYS && (w.kind == WAY_LLVM || *w.compiler)) all[(*n)++] = w;
}

static bool can_do_without(const sc_function *f, const char *option) {
  sc_program *p = sc_lower(f, &(sc_lower_options){.passes = option});
  sc_program_destroy(p);
  return p;
}

/* In process with each pass of the pipeline switched off, but those that change nothing here or that backends rely on.
 */
static void add_passes(const settings *s, const wl_reference *r, way all[MAX_WAYS], size_t *n) {
  static char options[MAX_WAYS][64], tiers[MAX_WAYS][64];
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = wl_kernel(cx, &r->problem, r->kernel);
  sc_program *p = f ? sc_lower(f, NULL) : NULL;
  for (size_t i = 0; p && i < sc_program_report_count(p) && *n < MAX_WAYS; i++) {
    sc_pass_report report = sc_program_report(p, i);
    char *option = options[*n], *tier = tiers[*n];
    snprintf(option, sizeof options[0], "-%s", report.pass);
    snprintf(tier, sizeof tiers[0], "best -%s", report.pass);
    bool seen = !report.changes;
    for (size_t k = 0; k < *n; k++) seen |= all[k].passes && !strcmp(all[k].passes, option);
    if (!seen && can_do_without(f, option))
      add_way(s, all, n,
              (way){.kind = WAY_LLVM, .name = "llvm", .tier = tier, .level = SC_TIER_BEST, .passes = option});
  }
  sc_program_destroy(p);
  sc_context_destroy(cx);
}

static size_t list_ways(const settings *s, const wl_reference *r, way all[MAX_WAYS]) {
  size_t n = 0;
  add_way(s, all, &n, (way){.kind = WAY_LLVM, .name = "llvm", .tier = "best", .level = SC_TIER_BEST});
  if (s->passes) {
    add_passes(s, r, all, &n);
    return n;
  }
  add_way(s, all, &n, (way){.kind = WAY_LLVM, .name = "llvm", .tier = "fast", .level = SC_TIER_FAST});
  add_way(s, all, &n, (way){.kind = WAY_CC, .name = "gcc", .tier = "-O3", .compiler = SCALY_BENCH_GCC});
  if (!s->quick)
    add_way(s, all, &n, (way){.kind = WAY_CC, .name = "gcc", .tier = "-O2", .compiler = SCALY_BENCH_GCC, .once = true});
  add_way(s, all, &n, (way){.kind = WAY_CC, .name = "clang", .tier = "-O3", .compiler = SCALY_BENCH_CLANG});
  for (size_t i = 0; i < sizeof hands / sizeof *hands; i++) {
    const struct hand *h = &hands[i];
    bool fits = !h->most || r->problem.size[0] <= h->most;
    if (!strcmp(h->workload, "matmul")) fits = r->problem.size[0] % 16 == 0;
    if (strcmp(h->workload, r->workload) || strcmp(h->kernel, r->kernel) || !fits) continue;
    add_way(s, all, &n,
            (way){.kind = WAY_HAND, .name = "hand", .tier = "gcc", .compiler = SCALY_BENCH_GCC, .file = h->file});
    if (!s->quick)
      add_way(s, all, &n,
              (way){.kind = WAY_HAND, .name = "hand", .tier = "clang", .compiler = SCALY_BENCH_CLANG, .file = h->file});
  }
  if (!strcmp(r->workload, "matmul"))
    add_way(s, all, &n,
            (way){.kind = WAY_HAND,
                  .name = "openblas",
                  .tier = "1 thread",
                  .compiler = SCALY_BENCH_GCC,
                  .file = "matmul_blas.c",
                  .libraries = "-lopenblas"});
  return n;
}

typedef struct candidate {
  way way;
  worker worker;
  outcome o;
  double samples[SAMPLES];
  timing time;
} candidate;

/* One sample of each in turn: what disturbs the machine for a while disturbs all of them. */
static void take_turns(const settings *s, candidate *all, size_t n_ways) {
  size_t n = s->quick ? QUICK_SAMPLES : SAMPLES;
  for (size_t k = 0; k < n; k++)
    for (size_t w = 0; w < n_ways; w++) {
      candidate *c = &all[w];
      if (c->worker.pid <= 0) continue;
      c->samples[k] = worker_sample(&c->worker);
      if (c->worker.pid <= 0) snprintf(c->o.gate, sizeof c->o.gate, "died");
    }
  for (size_t w = 0; w < n_ways; w++) {
    all[w].time = all[w].worker.pid > 0 ? timing_of(all[w].samples, n) : (timing){-1, -1};
    worker_end(&all[w].worker);
  }
}

static void print_one(const settings *s, const wl_reference *r, const char *size, const candidate *c) {
  const outcome *o = &c->o;
  measurement m = no_measurement;
  m.workload = r->workload;
  m.size = size;
  m.kernel = r->kernel;
  m.way = c->way.name;
  m.tier = c->way.tier;
  m.vector_libm = c->way.kind == WAY_HAND ? "glibc" : o->vector_math ? "auto" : "none";
  m.lanes = o->lanes;
  m.gate = o->gate;
  m.graph_ms = o->graph_ms;
  m.lower_ms = o->lower_ms;
  m.compile_ms = o->compile_ms;
  m.first_ms = o->first_ms;
  m.ns = c->time.ns;
  m.spread = c->time.spread;
  m.code_bytes = o->code_bytes;
  m.workspace = o->workspace;
  m.ops = o->ops;
  m.math_calls = o->math_calls;
  m.accesses = o->accesses;
  m.peak_kb = o->peak_kb;
  print_measurement(s, &m);
  if (s->records) add_record(s->records, &m, &r->problem);
}

static bool bench_kernel(const settings *s, const wl_reference *r, const char *size) {
  static candidate all[MAX_WAYS];
  way ways[MAX_WAYS];
  size_t n = list_ways(s, r, ways);
  double graph_ms = -1;
  memset(all, 0, sizeof all);
  for (size_t w = 0; w < n; w++) {
    candidate *c = &all[w];
    c->way = ways[w];
    task t = {s, r, &c->way, graph_ms < 0};
    if (!worker_start(&c->worker, &t)) {
      snprintf(c->o.gate, sizeof c->o.gate, "no process could be started");
      continue;
    }
    worker_outcome(&c->worker, s->limit_s, &c->o);
    if (c->o.graph_ms >= 0) graph_ms = c->o.graph_ms;
    if (strcmp(c->o.gate, "ok") || c->way.once) worker_end(&c->worker);
  }
  take_turns(s, all, n);
  bool fine = true;
  for (size_t w = 0; w < n; w++) {
    all[w].o.graph_ms = all[w].way.kind == WAY_HAND ? -1 : graph_ms;
    print_one(s, r, size, &all[w]);
    fine &= !strcmp(all[w].o.gate, "ok");
  }
  return fine;
}

bool bench_kernels(const settings *s) {
  wl_references all;
  bool fine = true;
  if (!wl_read_references(SCALY_TEST_SOURCE_DIR "/tests/data/workloads/reference.txt", &all)) return false;
  for (size_t i = 0; i < all.n; i++) {
    char size[64];
    const wl_reference *r = &all.all[i];
    wl_size_text(&r->problem, size);
    if (wanted(s, r->workload, size, r->kernel) && (!s->quick || is_quick(&r->problem)))
      fine &= bench_kernel(s, r, size);
  }
  wl_free_references(&all);
  return fine;
}
