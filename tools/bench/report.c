/* Owns the HTML report of a run. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/records.h"
#include "tools/measure/plot.h"

enum { MAX_POINTS = 16, WIDTH = 400, HEIGHT = 320, WIDE = 700 };

/* Ways that get a line in the plots, each its color everywhere. */
static const struct line {
  const char *way, *tier; /* tier NULL: the fastest of that way */
} lines[] = {{"llvm", "best"}, {"gcc", NULL}, {"clang", NULL}, {"hand", NULL}, {"openblas", NULL}, {"llvm", "fast"}};
enum { N_LINES = sizeof lines / sizeof *lines };

static double ns_of(const record *r) {
  return r->ns;
}

static double compile_of(const record *r) {
  return r->compile_ms;
}

static double bytes_of(const record *r) {
  return (double)r->code_bytes;
}

static const struct quantity {
  const char *title, *label;
  double (*of)(const record *r);
} quantities[] = {
    {"time per call", "ns", ns_of}, {"time to machine code", "ms", compile_of}, {"machine code", "bytes", bytes_of}};

/* ---- lines against a size ---- */

/* Kernels that differ in size number `varying` only. */
typedef struct family {
  const record *first;
  int varying;
} family;

static bool in_family(const family *f, const record *r) {
  if (strcmp(r->workload, f->first->workload) || strcmp(r->kernel, f->first->kernel)) return false;
  for (int k = 0; k < WL_MAX_SIZES; k++)
    if (k != f->varying && r->sizes[k] != f->first->sizes[k]) return false;
  return true;
}

/* The measurement of a line at a size: the fastest that has the quantity. */
static double value_at(const records *r, const family *f, const struct line *l, int64_t size,
                       const struct quantity *q) {
  const record *best = NULL;
  for (size_t i = 0; i < r->n; i++) {
    const record *one = &r->all[i];
    if (!in_family(f, one) || one->sizes[f->varying] != size || strcmp(one->way, l->way) ||
        (l->tier && strcmp(one->tier, l->tier)))
      continue;
    if (q->of(one) > 0 && (!best || (one->ns > 0 && one->ns < best->ns))) best = one;
  }
  return best ? q->of(best) : -1;
}

static size_t sizes_of(const records *r, const family *f, int64_t out[MAX_POINTS]) {
  size_t n = 0;
  for (size_t i = 0; i < r->n; i++) {
    if (!in_family(f, &r->all[i])) continue;
    int64_t v = r->all[i].sizes[f->varying];
    size_t at = 0;
    while (at < n && out[at] < v) at++;
    if ((at < n && out[at] == v) || n == MAX_POINTS) continue;
    memmove(out + at + 1, out + at, (n - at) * sizeof *out);
    out[at] = v;
    n++;
  }
  return n;
}

static bool plot_family(FILE *to, const records *r, const family *f, const struct quantity *q) {
  int64_t sizes[MAX_POINTS];
  double x[N_LINES][MAX_POINTS], y[N_LINES][MAX_POINTS];
  plot_series series[N_LINES];
  size_t n_sizes = sizes_of(r, f, sizes), n = 0;
  char names[N_LINES][32], title[128], fixed[48] = "";
  for (size_t l = 0; l < N_LINES; l++) {
    size_t points = 0;
    for (size_t k = 0; k < n_sizes; k++) {
      double v = value_at(r, f, &lines[l], sizes[k], q);
      if (v <= 0) continue;
      x[l][points] = sizes[k] > 0 ? (double)sizes[k] : 1;
      y[l][points++] = v;
    }
    if (!points) continue;
    snprintf(names[l], sizeof names[l], "%s%s%s", lines[l].way, lines[l].tier ? " " : "",
             lines[l].tier ? lines[l].tier : "");
    series[n++] = (plot_series){names[l], l, points, x[l], y[l]};
  }
  if (!n) return false;
  int other = 1 - f->varying;
  const char *other_name = wl_size_name(f->first->workload, 0) ? wl_size_name(f->first->workload, other) : NULL;
  if (other_name) snprintf(fixed, sizeof fixed, " at %s = %lld", other_name, (long long)f->first->sizes[other]);
  snprintf(title, sizeof title, "%s %s%s: %s", f->first->workload, f->first->kernel, fixed, q->title);
  plot_frame frame = {0, 0, WIDTH, HEIGHT, title, wl_size_name(f->first->workload, f->varying), q->label};
  plot_lines(to, &frame, series, n);
  return true;
}

static int size_count(const char *workload) {
  int n = 0;
  while (n < WL_MAX_SIZES && wl_size_name(workload, n)) n++;
  return n;
}

/* Every family with two sizes or more; of workloads with one size measured, the first one. */
static void plot_families(FILE *to, const records *r) {
  for (size_t i = 0; i < r->n; i++) {
    for (int k = 0; k < size_count(r->all[i].workload); k++) {
      family f = {&r->all[i], k};
      int64_t sizes[MAX_POINTS];
      bool seen = false;
      for (size_t j = 0; j < i && !seen; j++) seen = in_family(&f, &r->all[j]);
      if (seen || (sizes_of(r, &f, sizes) < 2 && k)) continue;
      fputs("<div class=\"row\">\n", to);
      for (size_t q = 0; q < sizeof quantities / sizeof *quantities; q++) plot_family(to, r, &f, &quantities[q]);
      fputs("</div>\n", to);
    }
  }
}

/* ---- speedups ---- */

enum { MAX_BARS = 160 };
typedef struct bar_list {
  size_t n;
  plot_bar bars[MAX_BARS];
  char names[MAX_BARS][112], texts[MAX_BARS][24];
  const char *over, *over_too, *under, *under_too;
  bool first; /* of the times to the first result, not of calls */
} bar_list;

static void add_speedup(const records *r, const record *k, void *user) {
  bar_list *l = user;
  const record *over = best_of(r, k, l->over, l->over_too), *under = best_of(r, k, l->under, l->under_too);
  if (!over || !under || l->n == MAX_BARS) return;
  double speedup = l->first ? over->first_ms / under->first_ms : over->ns / under->ns;
  snprintf(l->names[l->n], sizeof l->names[l->n], "%s %s %s", k->workload, k->size, k->kernel);
  snprintf(l->texts[l->n], sizeof l->texts[l->n], "%.2f", speedup);
  l->bars[l->n] = (plot_bar){l->names[l->n], 0, speedup, l->texts[l->n]};
  l->n++;
}

static void plot_speedup(FILE *to, const records *r, bar_list *l, const char *title, const char *label) {
  l->n = 0;
  for_each_kernel(r, add_speedup, l);
  if (!l->n) return;
  plot_bar legend = {label, 0, 0, ""};
  plot_frame frame = {0, 0, WIDE, 0, title, "times", ""};
  plot_bars(to, &frame, l->bars, l->n, 1, &legend, 1);
}

static void plot_speedups(FILE *to, const records *r) {
  static bar_list l;
  fputs("<div class=\"row\">\n", to);
  l = (bar_list){.over = "gcc", .over_too = "clang", .under = "llvm"};
  plot_speedup(to, r, &l, "Speedup per call: in process, by our C", "the faster of gcc -O3 and clang -O3 / llvm");
  l = (bar_list){.over = "gcc", .over_too = "gcc", .under = "llvm", .first = true};
  plot_speedup(to, r, &l, "Speedup to the first result: in process, by gcc -O3", "gcc -O3 spawned / llvm");
  l = (bar_list){.over = "gcc", .over_too = "clang", .under = "hand", .under_too = "openblas"};
  plot_speedup(to, r, &l, "What writing by hand gains over our C", "the faster of gcc -O3 and clang -O3 / by hand");
  fputs("</div>\n", to);
}

/* ---- the table ---- */

static void cell(FILE *to, double v, const char *unknown) {
  if (v < 0)
    fprintf(to, "<td>%s</td>", unknown);
  else
    fprintf(to, "<td>%.6g</td>", v);
}

static void write_table(FILE *to, const records *r) {
  static const char *const heads[] = {"workload",   "size",       "kernel",   "way",         "graph ms",
                                      "lower ms",   "compile ms", "first ms", "ns per call", "spread",
                                      "code bytes", "operations", "gate"};
  fputs("<table><thead><tr>", to);
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) fprintf(to, "<th>%s</th>", heads[i]);
  fputs("</tr></thead><tbody>\n", to);
  for (size_t i = 0; i < r->n; i++) {
    const record *m = &r->all[i];
    const double values[] = {m->graph_ms, m->lower_ms, m->compile_ms,         m->first_ms,
                             m->ns,       m->spread,   (double)m->code_bytes, (double)m->ops};
    fprintf(to, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s %s</td>", m->workload, m->size, m->kernel, m->way,
            m->tier);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) cell(to, values[k], "");
    fputs("<td>", to);
    plot_text(to, m->gate);
    fputs("</td></tr>\n", to);
  }
  fputs("</tbody></table>\n", to);
}

bool write_report(const settings *s, const records *r, const char *file) {
  FILE *to = fopen(file, "w");
  if (!to) {
    fprintf(stderr, "scaly_bench: %s: %s\n", file, strerror(errno));
    return false;
  }
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Scaly: measurements</title>\n", to);
  plot_style(to);
  fputs(
      "<style>body{font:14px "
      "system-ui,sans-serif;margin:24px;background:#fcfcfb;color:#0b0b0b}.row{display:flex;flex-wrap:wrap;"
      "gap:16px;margin:12px 0}\ntable{border-collapse:collapse;font-size:12px}td,th{padding:2px 8px;text-align:right;"
      "border-bottom:1px solid #ecebe7}\ntd:nth-child(-n+4),th:nth-child(-n+4){text-align:left}</style></head><body>\n"
      "<h1>Scaly: measurements</h1>\n<p>",
      to);
  plot_text(to, s->machine);
  fputs("; ", to);
  plot_text(to, s->versions);
  fprintf(to, "; commit %s. Every time was taken after the result agreed with the reference.</p>\n<h2>Ratios</h2>\n",
          s->commit);
  plot_speedups(to, r);
  fputs("<h2>By size</h2>\n", to);
  plot_families(to, r);
  fputs("<h2>All measurements</h2>\n", to);
  write_table(to, r);
  fputs("</body></html>\n", to);
  bool fine = !ferror(to);
  return !fclose(to) && fine;
}
