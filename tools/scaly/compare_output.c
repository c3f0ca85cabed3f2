/* Owns the table, the JSON and the plot of a comparison. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/measure/plot.h"
#include "tools/scaly/compare.h"
#include "tools/scaly/report.h"

double row_gflops(const comparison *c, const row *r) {
  return r->time.ns > 0 ? (double)c->operations / r->time.ns : 0;
}

const row *fastest_row(const comparison *c) {
  const row *best = NULL;
  for (size_t i = 0; i < c->n; i++) {
    const row *r = &c->rows[i];
    if (!r->error && !r->differs && (!best || r->time.ns < best->time.ns)) best = r;
  }
  return best;
}

static const char *row_name(const row *r) {
  return r->tier ? pool_printf("%s %s", r->way, r->tier) : r->way;
}

/* ---- JSON ---- */

static void write_json_row(const comparison *c, const row *r) {
  printf("{\"way\": ");
  write_json_string(r->way);
  printf(", \"tier\": ");
  if (r->tier)
    write_json_string(r->tier);
  else
    fputs("null", stdout);
  if (r->kernel)
    printf(", \"lanes\": %d, \"vector_libm\": \"%s\"", r->lanes, r->vector_libm);
  else
    printf(", \"lanes\": null, \"vector_libm\": null");
  const char *names[] = {"compile_ms", "first_ms", "code_bytes", "ns", "spread", "max_abs", "max_ulp", "gflops"};
  const double values[] = {r->compile_ms,  r->first_ms, (double)r->code_bytes, r->time.ns,
                           r->time.spread, r->diff.abs, r->diff.ulp,           row_gflops(c, r)};
  for (int i = 0; i < 8; i++) {
    printf(", \"%s\": ", names[i]);
    bool known = !r->error && (r->compared || (i != 5 && i != 6));
    if (known)
      write_json_double(values[i]);
    else
      fputs("null", stdout);
  }
  printf(", \"error\": ");
  if (r->error)
    write_json_string(r->error);
  else
    fputs("null", stdout);
  putchar('}');
}

void write_comparison_json(const comparison *c) {
  printf("{\"function\": ");
  write_json_string(c->name);
  printf(", \"requests\": [");
  for (size_t i = 0; i < c->outputs.n; i++) {
    if (i) fputs(", ", stdout);
    write_json_string(c->outputs.ports[i].name);
  }
  printf("], \"rows\": [");
  for (size_t i = 0; i < c->n; i++) {
    if (i) fputs(", ", stdout);
    write_json_row(c, &c->rows[i]);
  }
  printf("]}\n");
}

/* ---- table ---- */

static bool bold(void) {
  const char *no_color = getenv("NO_COLOR");
  return !(no_color && *no_color) && isatty(STDOUT_FILENO);
}

static void write_row(const comparison *c, const row *r, int name_width, const row *best) {
  if (r->error) {
    printf("%-*s  %s\n", name_width, row_name(r), r->error);
    return;
  }
  bool strong = r == best && bold();
  printf("%s%-*s", strong ? "\033[1m" : "", name_width, row_name(r));
  if (r->kernel)
    printf(" %5d %7s", r->lanes, r->vector_libm);
  else
    printf(" %5s %7s", "-", "-");
  if (r->compile_ms > 0)
    printf(" %11.2f %10.2f", r->compile_ms, r->first_ms);
  else
    printf(" %11s %10s", "-", "-");
  printf(" %11zu %12.1f %6.1f%% %7.2f", r->code_bytes, r->time.ns, 100 * r->time.spread, r->time.ns / best->time.ns);
  if (r->compared)
    printf(" %9.2g %9.3g", r->diff.abs, r->diff.ulp);
  else
    printf(" %9s %9s", "-", "-");
  printf(" %8.3f%s\n", row_gflops(c, r), strong ? "\033[0m" : "");
}

void write_comparison_table(const comparison *c) {
  const row *best = fastest_row(c), *second = NULL;
  int name_width = 10;
  printf("%s:", c->name);
  for (size_t i = 0; i < c->outputs.n; i++) printf("%s %s", i ? "," : "", c->outputs.ports[i].name);
  printf("; %" PRId64 " operations per call\n\n", c->operations);
  for (size_t i = 0; i < c->n; i++) {
    const row *r = &c->rows[i];
    int width = (int)strlen(row_name(r));
    if (width > name_width) name_width = width;
    if (r != best && !r->error && !r->differs && (!second || r->time.ns < second->time.ns)) second = r;
  }
  printf("%-*s %5s %7s %11s %10s %11s %12s %7s %7s %9s %9s %8s\n", name_width, "way", "lanes", "math", "compile ms",
         "first ms", "code bytes", "ns per call", "spread", "to best", "max abs", "max ULP", "GFLOP/s");
  for (size_t i = 0; i < c->n; i++) write_row(c, &c->rows[i], name_width, best);
  if (!best) return;
  printf("\nfastest: %s", row_name(best));
  if (second) {
    double gain = second->time.ns / best->time.ns, noise = best->time.spread + second->time.spread;
    printf(gain - 1 > noise ? ", by %.2f before %s" : ", by %.2f before %s, which is within the spread", gain,
           row_name(second));
  }
  putchar('\n');
  for (size_t i = 0; i < c->n; i++)
    if (c->rows[i].differs) printf("%s differs: its values are not those of our rows\n", row_name(&c->rows[i]));
}

/* ---- plot ---- */

typedef struct quantity {
  const char *title, *label;
  bool whole; /* numbers */
  double (*of)(const row *r);
} quantity;

static double ns_of(const row *r) {
  return r->time.ns;
}

static double first_of(const row *r) {
  return r->first_ms;
}

static double bytes_of(const row *r) {
  return (double)r->code_bytes;
}

static void plot_quantity(FILE *to, const comparison *c, const quantity *q, double y) {
  plot_bar bars[MAX_ROWS];
  size_t n = 0;
  for (size_t i = 0; i < c->n; i++) {
    const row *r = &c->rows[i];
    if (r->error || !(q->of(r) > 0)) continue;
    const char *text = q->whole ? pool_printf("%.0f", q->of(r)) : pool_printf("%.4g", q->of(r));
    bars[n++] = (plot_bar){row_name(r), i, q->of(r), text};
  }
  plot_frame frame = {0, y, 640, 0, pool_printf("%s: %s", c->name, q->title), q->label, ""};
  plot_bars(to, &frame, bars, n, 0, bars, n);
}

bool write_comparison_plot(const comparison *c, const char *file) {
  static const quantity quantities[] = {{"time per call", "ns", false, ns_of},
                                        {"time from the function to the first result", "ms", false, first_of},
                                        {"machine code", "bytes", true, bytes_of}};
  size_t length = strlen(file);
  bool html = length > 5 && !strcmp(file + length - 5, ".html");
  FILE *to = fopen(file, "w");
  if (!to) {
    complain("%s: %s", file, strerror(errno));
    return false;
  }
  double each = plot_bars_height(c->n) + 16;
  if (html) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", to);
    plot_text(to, c->name);
    fputs("</title></head><body>\n", to);
  }
  fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"%.0f\">\n", 3 * each);
  plot_style(to);
  for (int i = 0; i < 3; i++) plot_quantity(to, c, &quantities[i], i * each);
  fputs(html ? "</svg>\n</body></html>\n" : "</svg>\n", to);
  bool fine = !ferror(to);
  if (fclose(to)) fine = false;
  if (!fine) complain("%s: not everything could be written", file);
  return fine;
}
