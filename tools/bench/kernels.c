/* Owns the measurements of the workload kernels: which are measured, in which ways, and the turns the ways take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/worker.h"

static const way ways[] = {
    {"llvm", "best", WAY_LLVM},
    {"gcc", "-O3", WAY_GCC},
    {"clang", "-O3", WAY_CLANG},
};
enum { N_WAYS = sizeof ways / sizeof *ways, SAMPLES = 15, QUICK_SAMPLES = 7 };

/* What --quick measures: one size of each, small enough for every compiler. */
static const wl_problem quick[] = {{"race_car", {10}}, {"race_car", {50}},  {"chain", {3, 20}},  {"npmpc", {16, 12}},
                                   {"quadrotor", {2}}, {"arm7", {0}},       {"arm7", {64}},      {"wave", {64}},
                                   {"wave", {4096}},   {"rosen", {1000}},   {"mlp", {1}},        {"matmul", {8}},
                                   {"matmul", {64}},   {"reduce", {10000}}, {"straight", {1000}}};

static bool is_quick(const wl_problem *p) {
  for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
    if (!strcmp(quick[i].workload, p->workload) && !memcmp(quick[i].size, p->size, sizeof p->size)) return true;
  return false;
}

static bool exists(const settings *s, const way *w) {
  if (s->way && strcmp(s->way, w->name)) return false;
  return w->kind == WAY_LLVM || *(w->kind == WAY_GCC ? SCALY_BENCH_GCC : SCALY_BENCH_CLANG);
}

typedef struct candidate {
  worker worker;
  outcome o;
  double samples[SAMPLES];
  bool present;
} candidate;

/* One sample of each in turn: what disturbs the machine for a while disturbs all of them. */
static void take_turns(const settings *s, candidate *all, timing *times) {
  size_t n = s->quick ? QUICK_SAMPLES : SAMPLES;
  for (size_t k = 0; k < n; k++)
    for (int w = 0; w < N_WAYS; w++) {
      candidate *c = &all[w];
      if (c->worker.pid <= 0) continue;
      c->samples[k] = worker_sample(&c->worker);
      if (c->worker.pid <= 0) snprintf(c->o.gate, sizeof c->o.gate, "died");
    }
  for (int w = 0; w < N_WAYS; w++) {
    times[w] = all[w].worker.pid > 0 ? timing_of(all[w].samples, n) : (timing){-1, -1};
    worker_end(&all[w].worker);
  }
}

static void print_one(const settings *s, const wl_reference *r, const char *size, const way *w, const outcome *o,
                      timing t) {
  measurement m = no_measurement;
  m.workload = r->workload;
  m.size = size;
  m.kernel = r->kernel;
  m.way = w->name;
  m.tier = w->tier;
  m.vector_libm = "none";
  m.lanes = o->lanes;
  m.gate = o->gate;
  m.graph_ms = o->graph_ms;
  m.lower_ms = o->lower_ms;
  m.compile_ms = o->compile_ms;
  m.first_ms = o->first_ms;
  m.ns = t.ns;
  m.spread = t.spread;
  m.code_bytes = o->code_bytes;
  m.workspace = o->workspace;
  m.ops = o->ops;
  m.peak_kb = o->peak_kb;
  print_measurement(s, &m);
}

static bool bench_kernel(const settings *s, const wl_reference *r, const char *size) {
  candidate all[N_WAYS] = {0};
  timing times[N_WAYS];
  double graph_ms = -1;
  for (int w = 0; w < N_WAYS; w++) {
    candidate *c = &all[w];
    if (!exists(s, &ways[w])) continue;
    task t = {s, r, &ways[w], graph_ms < 0};
    c->present = true;
    if (!worker_start(&c->worker, &t)) {
      snprintf(c->o.gate, sizeof c->o.gate, "no process could be started");
      continue;
    }
    worker_outcome(&c->worker, s->limit_s, &c->o);
    if (c->o.graph_ms >= 0) graph_ms = c->o.graph_ms;
    if (strcmp(c->o.gate, "ok")) worker_end(&c->worker);
  }
  take_turns(s, all, times);
  bool fine = true;
  for (int w = 0; w < N_WAYS; w++) {
    if (!all[w].present) continue;
    all[w].o.graph_ms = graph_ms;
    print_one(s, r, size, &ways[w], &all[w].o, times[w]);
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
