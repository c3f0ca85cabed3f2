/* Owns the drawing of expression graphs as SVG: a layer per distance from the inputs, the nodes of a layer ordered by
 * where their operands are (the barycenter heuristic of Sugiyama, Tagawa and Toda, Methods for Visual Understanding of
 * Hierarchical System Structures, 1981, section III; two sweeps down and one up). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/measure/plot.h"
#include "tools/scaly/graph.h"
#include "tools/scaly/report.h"

enum { CHARACTER = 7, LONGEST_ATTRIBUTES = 28 };
static const double box_height = 34, layer_height = 74, gap = 16, margin = 12;

typedef struct box {
  const char *title, *subtitle;
  const char *kind; /* class of the style sheet */
  size_t *from;     /* the boxes of the operands */
  size_t n_from;
  size_t layer;
  double center, width, wanted;
} box;

typedef struct drawing {
  box *boxes; /* operands precede users */
  size_t n, layers;
  box **order; /* by layer, and within one from left to right */
  double width;
} drawing;

static bool describe(box *b, sc_expr e) {
  char *attributes = sc_expr_attributes(e);
  if (!attributes) return false;
  bool is_long = strlen(attributes) > LONGEST_ATTRIBUTES;
  b->title = pool_printf("%s%s%s", sc_expr_op(e), *attributes ? " " : "", is_long ? "{...}" : attributes);
  sc_string_free(e.cx, attributes);
  b->subtitle = sc_dtype_name(sc_expr_dtype(e));
  for (int d = 0; d < sc_expr_rank(e); d++)
    b->subtitle = pool_printf("%s%s%" PRId64, b->subtitle, d ? "x" : " ", sc_expr_shape(e)[d]);
  b->kind = sc_expr_name(e) ? "input" : sc_expr_arg_count(e) ? "node" : "constant";
  return true;
}

static void measure(box *b) {
  size_t title = strlen(b->title), subtitle = b->subtitle ? strlen(b->subtitle) : 0;
  b->width = (double)(CHARACTER * (title > subtitle ? title : subtitle) + 2 * CHARACTER);
}

/* A box per node, then one per output. */
static bool make_boxes(drawing *d, const sc_function *f) {
  node_set s = graph_reach(f);
  size_t n_out = sc_function_output_count(f), *at = pool_alloc(s.n, sizeof *at);
  d->boxes = pool_alloc(s.n + n_out, sizeof *d->boxes);
  for (size_t id = 0; id < s.n; id++) {
    sc_expr e = s.by_id[id];
    if (sc_is_null(e)) continue;
    box *b = &d->boxes[at[id] = d->n++];
    if (!describe(b, e)) return false;
    b->n_from = sc_expr_arg_count(e);
    b->from = pool_alloc(b->n_from, sizeof *b->from);
    for (size_t k = 0; k < b->n_from; k++) b->from[k] = at[sc_expr_arg(e, k).id];
  }
  for (size_t i = 0; i < n_out; i++) {
    box *b = &d->boxes[d->n++];
    *b = (box){.title = sc_function_output_name(f, i), .kind = "output", .n_from = 1};
    b->from = pool_alloc(1, sizeof *b->from);
    b->from[0] = at[sc_function_output(f, i).id];
  }
  for (size_t i = 0; i < d->n; i++) measure(&d->boxes[i]);
  return true;
}

/* Inputs on top, everything else below its operands, a constant right above the first of its users. */
static void assign_layers(drawing *d) {
  size_t *first_use = pool_alloc(d->n, sizeof *first_use);
  for (size_t i = 0; i < d->n; i++) {
    box *b = &d->boxes[i];
    if (!strcmp(b->kind, "constant")) continue;
    for (size_t k = 0; k < b->n_from; k++) {
      size_t below = d->boxes[b->from[k]].layer + 1;
      if (below > b->layer) b->layer = below;
    }
    for (size_t k = 0; k < b->n_from; k++) {
      size_t *use = &first_use[b->from[k]];
      if (!*use || b->layer < *use) *use = b->layer;
    }
    if (b->layer >= d->layers) d->layers = b->layer + 1;
  }
  for (size_t i = 0; i < d->n; i++)
    if (!strcmp(d->boxes[i].kind, "constant") && first_use[i]) d->boxes[i].layer = first_use[i] - 1;
}

static int by_place(const void *left, const void *right) {
  const box *a = *(box *const *)left, *b = *(box *const *)right;
  if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
  if (a->wanted < b->wanted || a->wanted > b->wanted) return a->wanted < b->wanted ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* Puts the boxes of each layer side by side in their order, every layer around the middle of the widest. */
static void place(drawing *d) {
  double *widths = pool_alloc(d->layers, sizeof *widths);
  qsort(d->order, d->n, sizeof(box *), by_place);
  d->width = 0;
  for (size_t i = 0; i < d->n; i++) widths[d->order[i]->layer] += d->order[i]->width + gap;
  for (size_t k = 0; k < d->layers; k++)
    if (widths[k] > d->width) d->width = widths[k];
  double left = 0;
  for (size_t i = 0; i < d->n; i++) {
    box *b = d->order[i];
    if (!i || d->order[i - 1]->layer != b->layer) left = (d->width - widths[b->layer] + gap) / 2;
    b->center = left + b->width / 2;
    left += b->width + gap;
  }
}

/* Every box wants to be where its operands are on average (downwards), or its users. */
static void want(drawing *d, bool downwards) {
  double *sum = pool_alloc(d->n, sizeof *sum), *count = pool_alloc(d->n, sizeof *count);
  for (size_t i = 0; i < d->n; i++)
    for (size_t k = 0; k < d->boxes[i].n_from; k++) {
      size_t to = downwards ? i : d->boxes[i].from[k], from = downwards ? d->boxes[i].from[k] : i;
      sum[to] += d->boxes[from].center, count[to] += 1;
    }
  for (size_t i = 0; i < d->n; i++) d->boxes[i].wanted = count[i] > 0 ? sum[i] / count[i] : d->boxes[i].center;
}

static void arrange(drawing *d) {
  d->order = pool_alloc(d->n, sizeof *d->order);
  for (size_t i = 0; i < d->n; i++) d->order[i] = &d->boxes[i];
  place(d);
  for (int sweep = 0; sweep < 3; sweep++) {
    want(d, sweep != 1);
    place(d);
  }
}

static double top_of(const box *b) {
  return margin + (double)b->layer * layer_height;
}

/* Operands arrive side by side, in their order: so a node used twice shows twice. */
static void put_edge(const box *from, const box *to, size_t operand) {
  double x0 = margin + from->center, y0 = top_of(from) + box_height, x1 = margin + to->center, y1 = top_of(to);
  x1 += to->width * ((double)(operand + 1) / (double)(to->n_from + 1) - 0.5);
  double bend = (y1 - y0) / 2;
  printf("<path class=\"edge\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\" marker-end=\"url(#end)\"/>\n", x0, y0, x0,
         y0 + bend, x1, y1 - bend, x1, y1);
}

static void put_line(const char *text, double x, double y, const char *kind) {
  printf("<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">", kind, x, y);
  plot_text(stdout, text);
  fputs("</text>", stdout);
}

static void put_box(const box *b) {
  double x = margin + b->center, y = top_of(b);
  printf("<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"4\"/>", b->kind,
         x - b->width / 2, y, b->width, box_height);
  put_line(b->title, x, b->subtitle ? y + 14 : y + 21, "title");
  if (b->subtitle) put_line(b->subtitle, x, y + 28, "type");
  putchar('\n');
}

bool write_svg(const sc_function *f) {
  drawing d = {0};
  if (!make_boxes(&d, f)) return false;
  assign_layers(&d);
  arrange(&d);
  double width = d.width + 2 * margin,
         height = (double)d.layers * layer_height - layer_height + box_height + 2 * margin;
  printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n<title>", width, height);
  plot_text(stdout, sc_function_name(f));
  fputs("</title>\n<style>text{font:11px monospace;text-anchor:middle}.type{fill:#666}.edge{fill:none;stroke:#888}"
        "rect{fill:#fff;stroke:#444}.input{fill:#dbeafe}.output{fill:#dcfce7}.constant{fill:#f3f4f6;stroke:#aaa}</"
        "style>\n"
        "<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
        "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#888\"/></marker></defs>\n"
        "<rect width=\"100%\" height=\"100%\" style=\"stroke:none\"/>\n",
        stdout);
  for (size_t i = 0; i < d.n; i++)
    for (size_t k = 0; k < d.boxes[i].n_from; k++) put_edge(&d.boxes[d.boxes[i].from[k]], &d.boxes[i], k);
  for (size_t i = 0; i < d.n; i++) put_box(&d.boxes[i]);
  fputs("</svg>\n", stdout);
  return true;
}
