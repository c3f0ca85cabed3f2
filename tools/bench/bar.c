/* Owns the bar of the workloads page: each item with its figure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/records.h"

static const record *find(const records *r, const char *workload, const char *kernel, int64_t size, const char *way,
                          const char *tier) {
  for (size_t i = 0; i < r->n; i++) {
    const record *one = &r->all[i];
    if (!strcmp(one->workload, workload) && !strcmp(one->kernel, kernel) && one->sizes[0] == size &&
        !strcmp(one->way, way) && (!tier || !strcmp(one->tier, tier)))
      return one;
  }
  return NULL;
}

static const record *same_but(const records *r, const record *like, const char *way, const char *tier) {
  for (size_t i = 0; i < r->n; i++)
    if (same_kernel(&r->all[i], like) && !strcmp(r->all[i].way, way) && !strcmp(r->all[i].tier, tier))
      return &r->all[i];
  return NULL;
}

static double first_in_process(const records *r, const record *k) {
  const record *best = same_but(r, k, "llvm", "best"), *fast = same_but(r, k, "llvm", "fast");
  double least = INFINITY;
  if (best && best->first_ms > 0) least = best->first_ms;
  if (fast && fast->first_ms > 0) least = fmin(least, fast->first_ms);
  return least;
}

static void name_of(const record *k, char name[128]) {
  snprintf(name, 128, "%s %s %s", k->workload, k->size, k->kernel);
}

/* ---- 1: to the first result, against a spawned gcc -O2 ---- */

typedef struct first_ratios {
  double small, any;
  char small_name[128], any_name[128];
} first_ratios;

static void first_ratio(const records *r, const record *k, void *user) {
  first_ratios *l = user;
  const record *spawned = same_but(r, k, "gcc", "-O2"), *ours = same_but(r, k, "llvm", "best");
  double ms = first_in_process(r, k);
  if (!spawned || !ours || spawned->first_ms <= 0 || !isfinite(ms)) return;
  double ratio = spawned->first_ms / ms;
  if (ratio < l->any) {
    l->any = ratio;
    name_of(k, l->any_name);
  }
  if (ours->ops >= 0 && ours->code_bytes < 1000 && ratio < l->small) {
    l->small = ratio;
    name_of(k, l->small_name);
  }
}

static void item_1(const records *r, FILE *to) {
  first_ratios l = {.small = INFINITY, .any = INFINITY};
  for_each_kernel(r, first_ratio, &l);
  if (!isfinite(l.any)) return;
  fprintf(to, "1  first result, gcc -O2 spawned / in process: at least %.1f (%s); wanted 8\n", l.any, l.any_name);
  if (isfinite(l.small))
    fprintf(to, "1  of kernels under 1,000 bytes of code at least %.1f (%s); wanted 25\n", l.small, l.small_name);
}

/* ---- 3: against the leading framework, as measured elsewhere ---- */

/* ns per call of the fastest encoding of its generated C, on a machine of another make. */
static const struct figure {
  const char *workload, *size, *kernel;
  double ns;
} figures[] = {
    {"race_car", "N=10", "eq", 851},
    {"race_car", "N=10", "spjac:eq:z", 1566},
    {"race_car", "N=10", "splaghess:z:lower", 2906},
    {"race_car", "N=50", "eq", 3910},
    {"race_car", "N=50", "spjac:eq:z", 7680},
    {"race_car", "N=50", "splaghess:z:lower", 14229},
    {"race_car", "N=200", "eq", 16253},
    {"race_car", "N=200", "spjac:eq:z", 32889},
    {"race_car", "N=200", "splaghess:z:lower", 59747},
    {"quadrotor", "N=20", "eq", 1077},
    {"quadrotor", "N=20", "spjac:eq:z", 7877},
    {"quadrotor", "N=20", "splaghess:z:lower", 17213},
    {"chain", "M=5,N=40", "eq", 4692},
    {"chain", "M=5,N=40", "spjac:eq:z", 43037},
    {"chain", "M=5,N=40", "splaghess:z:lower", 109579},
    {"npmpc", "H=32,N=12", "eq", 12138},
    {"npmpc", "H=32,N=12", "spjac:eq:z", 43116},
    {"npmpc", "H=32,N=12", "splaghess:z:lower", 92977},
    {"npmpc", "H=32,N=50", "eq", 49390},
    {"npmpc", "H=32,N=50", "spjac:eq:z", 189909},
    {"npmpc", "H=32,N=50", "splaghess:z:lower", 384605},
    {"arm7", "", "y", 76},
    {"arm7", "", "jac:y:q", 119},
    {"arm7", "batch=64", "y", 4963},
    {"arm7", "batch=64", "jac:y:q", 7650},
    {"wave", "n=64", "y", 646},
    {"wave", "n=64", "grad:s:x", 771},
    {"wave", "n=4096", "y", 43160},
    {"wave", "n=4096", "grad:s:x", 51470},
    {"rosen", "n=1000", "grad:f:x", 1124},
    {"rosen", "n=1000", "sphess:f:x", 1807},
    {"mlp", "batch=1", "y", 12180},
    {"mlp", "batch=1", "adj:y:x", 28451},
    {"mlp", "batch=32", "y", 417614},
    {"mlp", "batch=32", "adj:y:x", 909656},
    {"matmul", "n=16", "C", 339},
    {"matmul", "n=64", "C", 135643},
    {"matmul", "n=256", "C", 35392433},
};

static void item_3(const records *r, FILE *to) {
  double logs = 0, least = INFINITY;
  int mapped = 0, slower = 0;
  char least_name[128] = "";
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    const struct figure *f = &figures[i];
    record like = {0};
    snprintf(like.workload, sizeof like.workload, "%s", f->workload);
    snprintf(like.size, sizeof like.size, "%s", f->size);
    snprintf(like.kernel, sizeof like.kernel, "%s", f->kernel);
    const record *ours = best_of(r, &like, "llvm", NULL);
    if (!ours) continue;
    double ratio = f->ns / ours->ns;
    slower += ratio < 1;
    if (ratio < least) {
      least = ratio;
      name_of(ours, least_name);
    }
    bool control = strchr(f->size, 'N') && strcmp(f->size, "N=10") && strcmp(f->size, "H=32,N=12");
    if (!control) continue;
    logs += log(ratio);
    mapped++;
  }
  if (!mapped) return;
  fprintf(to,
          "3  the framework's figures from another machine / in process: %.2f in the geometric mean of %d mapped "
          "control kernels, at least "
          "%.2f (%s), %d below 1; wanted 3 and 1, in one run\n",
          exp(logs / mapped), mapped, least, least_name, slower);
}

/* ---- 4: growth with the horizon ---- */

static void item_4(const records *r, FILE *to) {
  static const char *const kernels[] = {"eq", "spjac:eq:z", "splaghess:z:lower"};
  for (int i = 0; i < 3; i++) {
    const record *ten = find(r, "race_car", kernels[i], 10, "llvm", "best"),
                 *most = find(r, "race_car", kernels[i], 500, "llvm", "best");
    if (!ten || !most) continue;
    fprintf(to,
            "4  race_car %s from N = 10 to 500: code %+.1f%%, time to machine code %+.1f%%, graph at 500 in %.2f ms; "
            "wanted 2%%, 10%%, "
            "5 and 15 ms\n",
            kernels[i], 100 * ((double)most->code_bytes / (double)ten->code_bytes - 1),
            100 * (most->compile_ms / ten->compile_ms - 1), most->graph_ms);
  }
}

/* ---- 5: products and long vectors ---- */

static void against(const records *r, const record *k, void *user) {
  FILE *to = user;
  bool product = !strcmp(k->workload, "matmul"), is_long = k->sizes[0] == 1000000;
  const record *ours = best_of(r, k, "llvm", NULL), *c = best_of(r, k, "gcc", "clang"),
               *other = best_of(r, k, product ? "openblas" : "hand", NULL);
  char name[128];
  if ((!product && !is_long) || !ours || !c || !other) return;
  name_of(k, name);
  fprintf(to, "5  %s: in process %.2f, our C %.2f of %s; wanted %s\n", name, ours->ns / other->ns, c->ns / other->ns,
          product ? "OpenBLAS" : "the hand-written loop", product ? k->sizes[0] < 16 ? "below 1" : "1.25" : "1.1");
}

/* ---- 7: straight-line code ---- */

/* Of the whole from the graph on, in one way of compiling. */
static double per_operation(const records *r, int64_t size, bool best) {
  const record *k = find(r, "straight", "y", size, "llvm", "best");
  if (!k) return INFINITY;
  double ms = best ? k->first_ms : first_in_process(r, k);
  return 1e3 * (ms + fmax(k->graph_ms, 0)) / (double)size;
}

static void item_7(const records *r, FILE *to) {
  double before[2] = {INFINITY, INFINITY};
  for (int64_t size = 1000; size <= 100000; size *= 10) {
    double now[2] = {per_operation(r, size, false), per_operation(r, size, true)};
    if (!isfinite(now[0])) continue;
    fprintf(to,
            "7  straight K = %lld: %.2f microseconds per operation to the first result, %.1f to the best tier; wanted "
            "6 and 40\n",
            (long long)size, now[0], now[1]);
    if (isfinite(before[0]))
      fprintf(to, "7  growth over linear from a tenth of that: %.2f and %.2f; wanted 1.3 and 1.5\n", now[0] / before[0],
              now[1] / before[1]);
    before[0] = now[0];
    before[1] = now[1];
  }
}

void print_bar(const records *r, FILE *to) {
  fputc('\n', to);
  item_1(r, to);
  item_3(r, to);
  item_4(r, to);
  for_each_kernel(r, against, to);
  item_7(r, to);
}
