/* Owns the drawing of plots. */
#include "tools/measure/plot.h"

#include <math.h>
#include <string.h>

/* Margins and sizes, in pixels. */
static const double LEFT = 58, RIGHT = 14, TOP = 30, BOTTOM = 42, LEGEND = 22, BAR = 14, PITCH = 22, CHARACTER = 7,
                    VALUES = 80;

void plot_text(FILE *to, const char *s) {
  for (; *s; s++) {
    const char *with = *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : *s == '"' ? "&quot;" : NULL;
    if (with)
      fputs(with, to);
    else
      fputc(*s, to);
  }
}

void plot_style(FILE *to) {
  static const char *const colors[] = {"#2a78d6", "#1baf7a", "#eda100", "#4a3aa7",
                                       "#e34948", "#e87ba4", "#008300", "#eb6834"};
  fputs(
      "<style>\n.plot{font:12px system-ui,sans-serif;background:#fcfcfb}.plot text{fill:#52514e}.plot "
      ".title{fill:#0b0b0b;"
      "font-weight:600}\n.plot .axis line,.plot .axis path{stroke:#c9c8c4;fill:none}.plot .grid line{stroke:#ecebe7}\n"
      ".plot polyline{fill:none;stroke-width:2}.plot circle{stroke:#fcfcfb;stroke-width:2}.plot .mark{stroke:#52514e;"
      "stroke-dasharray:4 3}\n",
      to);
  for (size_t i = 0; i < sizeof colors / sizeof *colors; i++)
    fprintf(to, ".plot .c%zu{fill:%s}.plot polyline.c%zu{stroke:%s;fill:none}\n", i, colors[i], i, colors[i]);
  fputs("</style>\n", to);
}

static void text_at(FILE *to, double x, double y, const char *anchor, const char *class, const char *s) {
  fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
  if (class) fprintf(to, " class=\"%s\"", class);
  fputc('>', to);
  plot_text(to, s);
  fputs("</text>\n", to);
}

static void open_plot(FILE *to, const plot_frame *f) {
  fprintf(
      to,
      "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
      f->x, f->y, f->width, f->height, f->width, f->height);
  plot_text(to, f->title);
  fputs("\">\n", to);
  text_at(to, 10, 18, "start", "title", f->title);
}

/* Names of the series with their colors, from left to right. */
static void legend(FILE *to, double x, double y, const plot_bar *entries, size_t n) {
  fputs("<g class=\"legend\">\n", to);
  for (size_t i = 0; i < n; i++) {
    fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" rx=\"2\" class=\"c%zu\"/>\n", x, y - 9,
            entries[i].color % 8);
    text_at(to, x + 14, y, "start", NULL, entries[i].name);
    x += 26 + CHARACTER * (double)strlen(entries[i].name);
  }
  fputs("</g>\n", to);
}

/* ---- lines ---- */

typedef struct scale {
  double low, high, from, to; /* of the data, logarithms; of the screen */
} scale;

static double place(const scale *s, double v) {
  return s->from + (log10(v) - s->low) / (s->high - s->low) * (s->to - s->from);
}

/* A fifth of a decade around the data. */
static scale scale_of(const plot_series *series, size_t n, bool by_x, double from, double to) {
  scale s = {INFINITY, -INFINITY, from, to};
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < series[i].n; k++) {
      double v = log10(by_x ? series[i].x[k] : series[i].y[k]);
      s.low = fmin(s.low, v);
      s.high = fmax(s.high, v);
    }
  if (!(s.low <= s.high)) s.low = s.high = 0;
  s.low -= 0.2;
  s.high += 0.2;
  return s;
}

static void tick_text(char *text, size_t size, double v) {
  if (v >= 1e9 || v < 1e-3)
    snprintf(text, size, "%.0e", v);
  else if (v >= 1e6)
    snprintf(text, size, "%gM", v / 1e6);
  else if (v >= 1e3)
    snprintf(text, size, "%gk", v / 1e3);
  else
    snprintf(text, size, "%g", v);
}

/* 1, 2 and 5 of every decade, or 1 alone when there are many. */
static void axis(FILE *to, const scale *s, bool is_x, double across_from, double across_to) {
  static const double steps[] = {1, 2, 5};
  double decades = s->high - s->low;
  int n_steps = decades < 2.2 ? 3 : 1, every = decades > 7 ? 2 : 1;
  for (int d = (int)floor(s->low); d <= (int)ceil(s->high); d++)
    for (int k = 0; k < n_steps; k++) {
      double v = steps[k] * pow(10, d), at = place(s, v);
      char text[32];
      if (log10(v) < s->low || log10(v) > s->high || d % every) continue;
      tick_text(text, sizeof text, v);
      if (is_x) {
        fprintf(to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", at, across_from, at, across_from + 4);
        text_at(to, at, across_from + 17, "middle", "tick", text);
      } else {
        fprintf(to, "<g class=\"grid\"><line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/></g>\n", across_from, at,
                across_to, at);
        text_at(to, across_from - 6, at + 4, "end", "tick", text);
      }
    }
}

static void draw_series(FILE *to, const plot_series *s, const scale *x, const scale *y) {
  if (s->n > 1) {
    fprintf(to, "<polyline class=\"c%zu\" points=\"", s->color % 8);
    for (size_t k = 0; k < s->n; k++) fprintf(to, "%.1f,%.1f ", place(x, s->x[k]), place(y, s->y[k]));
    fputs("\"/>\n", to);
  }
  for (size_t k = 0; k < s->n; k++) {
    fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"point c%zu\"><title>", place(x, s->x[k]),
            place(y, s->y[k]), s->color % 8);
    plot_text(to, s->name);
    fprintf(to, ": %.6g at %.6g</title></circle>\n", s->y[k], s->x[k]);
  }
}

void plot_lines(FILE *to, const plot_frame *f, const plot_series *series, size_t n) {
  enum { MAX_ENTRIES = 16 };
  plot_bar entries[MAX_ENTRIES];
  double bottom = f->height - BOTTOM - LEGEND;
  scale x = scale_of(series, n, true, LEFT, f->width - RIGHT), y = scale_of(series, n, false, bottom, TOP);
  open_plot(to, f);
  fputs("<g class=\"axis\">\n", to);
  axis(to, &y, false, LEFT, f->width - RIGHT);
  axis(to, &x, true, bottom, 0);
  fprintf(to, "<path d=\"M%.0f %.0f V%.1f H%.1f\"/>\n", LEFT, TOP, bottom, f->width - RIGHT);
  text_at(to, (LEFT + f->width - RIGHT) / 2, bottom + 34, "middle", "label", f->x_label);
  fprintf(to, "<text transform=\"translate(14 %.1f) rotate(-90)\" text-anchor=\"middle\" class=\"label\">",
          (TOP + bottom) / 2);
  plot_text(to, f->y_label);
  fputs("</text>\n</g>\n<g class=\"data\">\n", to);
  for (size_t i = 0; i < n; i++) draw_series(to, &series[i], &x, &y);
  fputs("</g>\n", to);
  for (size_t i = 0; i < n && i < MAX_ENTRIES; i++)
    entries[i] = (plot_bar){.name = series[i].name, .color = series[i].color};
  legend(to, LEFT, f->height - 8, entries, n < MAX_ENTRIES ? n : MAX_ENTRIES);
  fputs("</svg>\n", to);
}

/* ---- bars ---- */

double plot_bars_height(size_t n) {
  return TOP + 8 + (double)n * PITCH + BOTTOM + LEGEND;
}

/* A round step that gives three to seven ticks. */
static double step_of(double most) {
  double step = pow(10, floor(log10(most)));
  return most / step < 2 ? step / 2 : most / step < 5 ? step : step * 2;
}

void plot_bars(FILE *to, const plot_frame *f, const plot_bar *bars, size_t n, double mark, const plot_bar *entries,
               size_t n_entries) {
  size_t longest = 0;
  for (size_t i = 0; i < n; i++) longest = strlen(bars[i].name) > longest ? strlen(bars[i].name) : longest;
  double most = mark, left = 20 + CHARACTER * (double)longest, right = f->width - VALUES,
         bottom = TOP + 8 + (double)n * PITCH;
  for (size_t i = 0; i < n; i++) most = fmax(most, bars[i].value);
  if (!(most > 0)) most = 1;
  double unit = (right - left) / most, step = step_of(most);
  plot_frame whole = *f;
  whole.height = plot_bars_height(n);
  open_plot(to, &whole);
  fputs("<g class=\"axis\">\n", to);
  for (double v = 0; v <= most * 1.0001; v += step) {
    char text[32];
    tick_text(text, sizeof text, v);
    fprintf(to, "<g class=\"grid\"><line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.1f\"/></g>\n", left + v * unit, TOP,
            left + v * unit, bottom);
    text_at(to, left + v * unit, bottom + 16, "middle", "tick", v == 0 ? "0" : text);
  }
  fprintf(to, "<path d=\"M%.1f %.0f V%.1f H%.1f\"/>\n", left, TOP, bottom, right);
  text_at(to, (left + right) / 2, bottom + 33, "middle", "label", f->x_label);
  fputs("</g>\n<g class=\"data\">\n", to);
  for (size_t i = 0; i < n; i++) {
    double y = TOP + 8 + (double)i * PITCH, width = fmax(bars[i].value * unit, 0.5);
    text_at(to, left - 8, y + 11, "end", NULL, bars[i].name);
    fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"2\" class=\"point c%zu\"><title>",
            left, y, width, BAR, bars[i].color % 8);
    plot_text(to, bars[i].name);
    fputs(": ", to);
    plot_text(to, bars[i].text);
    fputs("</title></rect>\n", to);
    text_at(to, left + width + 6, y + 11, "start", "value", bars[i].text);
  }
  fputs("</g>\n", to);
  if (mark > 0)
    fprintf(to, "<line class=\"mark\" x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", left + mark * unit, TOP,
            left + mark * unit, bottom);
  legend(to, left, whole.height - 8, entries, n_entries);
  fputs("</svg>\n", to);
}
