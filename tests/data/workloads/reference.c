/* Owns the right values of the workloads: reading reference.txt and comparing with it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/data/workloads/workloads.h"

/* In words of the file: whatever is between white space. */
typedef struct reader {
  char *at;
  bool failed;
} reader;

static char *word(reader *r) {
  r->at += strspn(r->at, " \n");
  char *start = r->at;
  r->at += strcspn(r->at, " \n");
  if (r->at == start)
    r->failed = true;
  else if (*r->at)
    *r->at++ = 0;
  return start;
}

static double number(reader *r) {
  char *end, *w = word(r);
  double v = strtod(w, &end);
  if (*end) r->failed = true;
  return v;
}

static int64_t integer(reader *r) {
  return (int64_t)number(r);
}

static void copy_word(reader *r, char *to, size_t size) {
  const char *w = word(r);
  if (strlen(w) >= size)
    r->failed = true;
  else
    memcpy(to, w, strlen(w) + 1);
}

static wl_checksum sums(reader *r) {
  wl_checksum c = {.count = integer(r)};
  c.sum = number(r);
  c.sumabs = number(r);
  c.weighted = number(r);
  return c;
}

static void *room(reader *r, int64_t n, size_t size) {
  void *p = n < 0 || n > SC_MAX_ELEMENTS ? NULL : calloc((size_t)n + 1, size);
  if (!p) r->failed = true;
  return p;
}

static int32_t *integers(reader *r, int64_t n) {
  int32_t *v = room(r, n, sizeof *v);
  for (int64_t i = 0; v && i < n && !r->failed; i++) v[i] = (int32_t)integer(r);
  return v;
}

static double *numbers(reader *r, int64_t n) {
  double *v = room(r, n, sizeof *v);
  for (int64_t i = 0; v && i < n && !r->failed; i++) v[i] = number(r);
  return v;
}

static void read_sparse(reader *r, wl_reference *c) {
  c->sparse = true;
  c->shape[0] = integer(r);
  c->shape[1] = integer(r);
  if (!strcmp(word(r), "pattern")) {
    c->rowind_sum = integer(r);
    c->rowind_weighted = number(r);
    c->colptr_sum = integer(r);
    c->colptr_weighted = number(r);
    return;
  }
  c->colptr = integers(r, c->shape[1] + 1);
  if (r->failed || strcmp(word(r), "rowind"))
    r->failed = true;
  else
    c->rowind = integers(r, c->colptr[c->shape[1]]);
}

/* After the word "case". */
static void read_case(reader *r, wl_reference *c) {
  copy_word(r, c->workload, sizeof c->workload);
  for (int k = 0; k < WL_MAX_SIZES; k++) c->problem.size[k] = integer(r);
  copy_word(r, c->kernel, sizeof c->kernel);
  for (int k = 0; k < 8 && !r->failed; k++) {
    const char *what = word(r);
    if (!strcmp(what, "input")) {
      copy_word(r, c->inputs[k].name, sizeof c->inputs[k].name);
      c->inputs[k].sum = sums(r);
      c->n_inputs = k + 1;
      continue;
    }
    if (!strcmp(what, "sparse"))
      read_sparse(r, c);
    else
      for (int d = 0; d < 3; d++) c->shape[d] = integer(r);
    break;
  }
  if (r->failed || strcmp(word(r), "sums")) {
    r->failed = true;
    return;
  }
  c->sum = sums(r);
  if (!strcmp(word(r), "values"))
    c->values = numbers(r, c->sum.count);
  else
    for (int k = 0; k < 8 && k < c->sum.count; k++) c->first[k] = number(r);
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = NULL;
  long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  if (size >= 0 && !fseek(file, 0, SEEK_SET)) text = calloc((size_t)size + 1, 1);
  if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
    free(text);
    text = NULL;
  }
  fclose(file);
  return text;
}

bool wl_read_references(const char *path, wl_references *out) {
  *out = (wl_references){0};
  char *text = read_file(path);
  if (!text) return false;
  reader r = {text, false};
  while (*(r.at += strspn(r.at, " \n")) == '#') r.at += strcspn(r.at, "\n");
  while (!r.failed && *(r.at += strspn(r.at, " \n"))) {
    wl_reference *grown = realloc(out->all, (out->n + 1) * sizeof *grown);
    if (!grown || strcmp(word(&r), "case")) {
      r.failed = true;
      if (grown) out->all = grown;
      break;
    }
    out->all = grown;
    memset(&grown[out->n], 0, sizeof *grown);
    read_case(&r, &grown[out->n++]);
  }
  for (size_t i = 0; i < out->n; i++) out->all[i].problem.workload = out->all[i].workload;
  free(text);
  if (r.failed) wl_free_references(out);
  return !r.failed;
}

void wl_free_references(wl_references *r) {
  for (size_t i = 0; i < r->n; i++) {
    free(r->all[i].values);
    free(r->all[i].colptr);
    free(r->all[i].rowind);
  }
  free(r->all);
  *r = (wl_references){0};
}

const wl_reference *wl_find_reference(const wl_references *r, const wl_problem *p, const char *kernel) {
  for (size_t i = 0; i < r->n; i++) {
    const wl_reference *c = &r->all[i];
    if (!strcmp(c->workload, p->workload) && !memcmp(c->problem.size, p->size, sizeof p->size) &&
        !strcmp(c->kernel, kernel))
      return c;
  }
  return NULL;
}

wl_checksum wl_checksum_of(int64_t n, const double *v) {
  wl_checksum c = {.count = n};
  for (int64_t i = 0; i < n; i++) {
    double turn = (double)(i + 1) * 0.6180339887498949;
    c.sum += v[i];
    c.sumabs += fabs(v[i]);
    c.weighted += (0.5 + (turn - floor(turn))) * v[i];
  }
  return c;
}

bool wl_agrees(const wl_reference *r, int64_t n, const double *v, double tolerance, char *why, size_t why_size) {
  if (n != r->sum.count) {
    snprintf(why, why_size, "%" PRId64 " values instead of %" PRId64, n, r->sum.count);
    return false;
  }
  const double *right = r->values ? r->values : r->first;
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(r->values ? right[i] : v[i]));
  for (int64_t i = 0; i < n && (r->values || i < 8); i++) {
    if (fabs(v[i] - right[i]) <= tolerance * largest) continue;
    snprintf(why, why_size, "value %" PRId64 " is %.17g instead of %.17g, largest %.3g", i, v[i], right[i], largest);
    return false;
  }
  wl_checksum c = wl_checksum_of(n, v);
  double bound = tolerance * r->sum.sumabs;
  if (fabs(c.sum - r->sum.sum) <= bound && fabs(c.sumabs - r->sum.sumabs) <= bound &&
      fabs(c.weighted - r->sum.weighted) <= bound)
    return true;
  snprintf(why, why_size, "sums %.17g, %.17g, %.17g instead of %.17g, %.17g, %.17g", c.sum, c.sumabs, c.weighted,
           r->sum.sum, r->sum.sumabs, r->sum.weighted);
  return false;
}

/* ---- patterns ---- */

static bool same_entries(const int32_t *a, const int32_t *b, int64_t n, const char *what, char *why, size_t why_size) {
  for (int64_t i = 0; i < n; i++) {
    if (a[i] == b[i]) continue;
    snprintf(why, why_size, "pattern: %s %" PRId64 " is %" PRId32 " instead of %" PRId32, what, i, a[i], b[i]);
    return false;
  }
  return true;
}

static double weighted_sum(const int32_t *v, int64_t n, int more) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double turn = (double)(i + 1) * 0.6180339887498949;
    sum += (0.5 + (turn - floor(turn))) * (double)(v[i] + more);
  }
  return sum;
}

static int64_t plain_sum(const int32_t *v, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i];
  return sum;
}

bool wl_pattern_agrees(const wl_reference *r, const sc_pattern *p, char *why, size_t why_size) {
  if (!p || !r->sparse) {
    snprintf(why, why_size, "%s instead of %s", p ? "sparse" : "dense", r->sparse ? "sparse" : "dense");
    return !p && !r->sparse;
  }
  if (p->layout != SC_CSC || p->nrow != r->shape[0] || p->ncol != r->shape[1] || p->nnz != r->sum.count) {
    snprintf(why, why_size,
             "pattern: %" PRId64 " by %" PRId64 " with %" PRId64 " nonzeros instead of %" PRId64 " by %" PRId64
             " with %" PRId64,
             p->nrow, p->ncol, p->nnz, r->shape[0], r->shape[1], r->sum.count);
    return false;
  }
  if (r->rowind)
    return same_entries(p->outer, r->colptr, p->ncol + 1, "colptr", why, why_size) &&
           same_entries(p->inner, r->rowind, p->nnz, "rowind", why, why_size);
  double rows = weighted_sum(p->inner, p->nnz, 1), columns = weighted_sum(p->outer, p->ncol + 1, 0);
  if (plain_sum(p->inner, p->nnz) == r->rowind_sum && plain_sum(p->outer, p->ncol + 1) == r->colptr_sum &&
      fabs(rows - r->rowind_weighted) <= 1e-11 * r->rowind_weighted &&
      fabs(columns - r->colptr_weighted) <= 1e-11 * r->colptr_weighted)
    return true;
  snprintf(why, why_size, "pattern: weighted sums %.17g, %.17g instead of %.17g, %.17g", rows, columns,
           r->rowind_weighted, r->colptr_weighted);
  return false;
}
