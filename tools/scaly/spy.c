/* Owns the drawing of sparsity patterns as text. */
#include "tools/scaly/spy.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/scaly/report.h"

/* More rows or columns than this do not fit a page: then one character stands for a square of entries. */
enum { MOST = 100 };

static int64_t divide_up(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

/* How many stored entries each square holds, row-major. */
static int64_t *count_squares(const sc_pattern *p, int64_t side) {
  int64_t columns = divide_up(p->ncol, side), outer = 0;
  int64_t *counts = pool_alloc((size_t)(divide_up(p->nrow, side) * columns), sizeof *counts);
  for (int64_t k = 0; k < p->nnz; k++) {
    while (p->layout != SC_COO && p->outer[outer + 1] <= k) outer++;
    int64_t major = p->layout == SC_COO ? p->outer[k] : outer, minor = p->inner[k];
    int64_t row = p->layout == SC_CSC ? minor : major, column = p->layout == SC_CSC ? major : minor;
    counts[row / side * columns + column / side]++;
  }
  return counts;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void write_pattern(const char *name, const sc_pattern *p) {
  static const char *const layouts[] = {"csc", "csr", "coo"};
  int64_t side = divide_up(p->nrow > p->ncol ? p->nrow : p->ncol, MOST);
  if (side < 1) side = 1;
  printf("%s: %" PRId64 "x%" PRId64 " %s, %" PRId64 " stored", name, p->nrow, p->ncol, layouts[p->layout], p->nnz);
  if (side > 1) printf("; a character is %" PRId64 "x%" PRId64 " entries: * all stored, + some, . none", side, side);
  putchar('\n');
  const int64_t *counts = count_squares(p, side);
  for (int64_t i = 0; i < p->nrow; i += side) {
    fputs("  ", stdout);
    for (int64_t j = 0; j < p->ncol; j += side) {
      int64_t n = *counts++, all = least(side, p->nrow - i) * least(side, p->ncol - j);
      putchar(n == 0 ? '.' : n == all ? '*' : '+');
    }
    putchar('\n');
  }
}

int write_spy(const sc_function *f) {
  size_t written = 0;
  for (size_t i = 0; i < sc_function_output_count(f); i++) {
    const sc_pattern *p = sc_function_output_pattern(f, i);
    if (p) write_pattern(sc_function_output_name(f, i), p), written++;
  }
  if (written) return EXIT_OK;
  complain("%s has no sparse output: ask for one, as with --out spjac:OUTPUT:INPUT", sc_function_name(f));
  return EXIT_INPUT;
}
