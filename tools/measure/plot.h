/* Plots as SVG: bars and lines, with axes, a legend and the data, self-contained and without scripts. */
#ifndef SCALY_MEASURE_PLOT_H
#define SCALY_MEASURE_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Where a plot goes: the top left corner and size of an <svg class="plot"> element; inside HTML x and y are 0. */
typedef struct plot_frame {
  double x, y, width, height;
  const char *title, *x_label, *y_label;
} plot_frame;

typedef struct plot_series {
  const char *name;
  size_t color; /* the same for the same thing in every plot */
  size_t n;
  const double *x, *y; /* positive; ascending in x */
} plot_series;

/* Both axes logarithmic; a marker on every point, the values on hovering. */
void plot_lines(FILE *to, const plot_frame *f, const plot_series *series, size_t n);

typedef struct plot_bar {
  const char *name;
  size_t color;
  double value;
  const char *text; /* the value as it is to be read */
} plot_bar;

/* Horizontal bars from 0, one below the other, each with its value; `mark` > 0 draws a line there. The height follows
 * from their number: see plot_bars_height. Without y_label; the legend names the colors in `legend`. */
void plot_bars(FILE *to, const plot_frame *f, const plot_bar *bars, size_t n, double mark, const plot_bar *legend,
               size_t n_legend);
double plot_bars_height(size_t n);

/* The style sheet that the plots need, inside a <style> element. */
void plot_style(FILE *to);
/* Text with &, <, > and quotes replaced. */
void plot_text(FILE *to, const char *s);

#endif
