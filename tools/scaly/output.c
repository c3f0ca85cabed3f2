/* Owns the writing of a call's outputs as tables, JSON and npy. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/text.h"
#include "tools/scaly/npy.h"
#include "tools/scaly/report.h"
#include "tools/scaly/values.h"

void write_json_string(const char *s) {
  putchar('"');
  for (; *s; s++) {
    if (*s == '"' || *s == '\\')
      printf("\\%c", *s);
    else if ((unsigned char)*s < 32)
      printf("\\u%04x", *s);
    else
      putchar(*s);
  }
  putchar('"');
}

void write_json_double(double v) {
  char buf[SCI_NUM_MAX];
  sci_fmt_f64(buf, v);
  printf(isfinite(v) ? "%s" : "\"%s\"", buf);
}

static void element_text(char buf[SCI_NUM_MAX], const sc_port *port, const void *data, size_t i) {
  switch (port->dtype) {
  case SC_FLOAT64: sci_fmt_f64(buf, ((const double *)data)[i]); break;
  case SC_FLOAT32: sci_fmt_f32(buf, ((const float *)data)[i]); break;
  case SC_INT64: sci_fmt_i64(buf, ((const int64_t *)data)[i]); break;
  case SC_INT32: sci_fmt_i64(buf, ((const int32_t *)data)[i]); break;
  case SC_BOOL: strcpy(buf, ((const uint8_t *)data)[i] ? "true" : "false"); break;
  }
}

/* ---- JSON ---- */

static void json_integers(const char *key, const int32_t *v, int64_t n) {
  printf(", \"%s\": [", key);
  for (int64_t i = 0; i < n; i++) printf("%s%" PRId32, i ? ", " : "", v[i]);
  putchar(']');
}

static void json_pattern(const sc_pattern *p) {
  static const char *const layouts[] = {"csc", "csr", "coo"};
  static const char *const outer[] = {"colptr", "rowptr", "rows"}, *const inner[] = {"rowind", "colind", "cols"};
  const int64_t n_outer[] = {p->ncol + 1, p->nrow + 1, p->nnz};
  printf(", \"layout\": \"%s\"", layouts[p->layout]);
  json_integers(outer[p->layout], p->outer, n_outer[p->layout]);
  json_integers(inner[p->layout], p->inner, p->nnz);
}

static void json_output(const sc_port *port, const void *data) {
  write_json_string(port->name);
  fputs(": {\"shape\": [", stdout);
  for (int d = 0; d < port->rank; d++) printf("%s%" PRId64, d ? ", " : "", port->shape[d]);
  printf("], \"dtype\": \"%s\"", sc_dtype_name(port->dtype));
  if (port->pattern) json_pattern(port->pattern);
  fputs(", \"data\": [", stdout);
  for (size_t i = 0; i < (size_t)port->count; i++) {
    char buf[SCI_NUM_MAX];
    element_text(buf, port, data, i);
    bool quoted = strstr(buf, "inf") || strstr(buf, "nan");
    printf(quoted ? "%s\"%s\"" : "%s%s", i ? ", " : "", buf);
  }
  fputs("]}", stdout);
}

static void write_json(const char *function, port_list outputs, void *const *out) {
  fputs("{\"function\": ", stdout);
  write_json_string(function);
  fputs(", \"outputs\": {", stdout);
  for (size_t i = 0; i < outputs.n; i++) {
    if (i) fputs(", ", stdout);
    json_output(&outputs.ports[i], out[i]);
  }
  fputs("}}\n", stdout);
}

/* ---- tables ---- */

static int widest(const sc_port *port, const void *data) {
  size_t most = 0;
  for (size_t i = 0; i < (size_t)port->count; i++) {
    char buf[SCI_NUM_MAX];
    element_text(buf, port, data, i);
    if (strlen(buf) > most) most = strlen(buf);
  }
  return (int)most;
}

static void table_cell(const sc_port *port, const void *data, size_t i, int width) {
  char buf[SCI_NUM_MAX];
  element_text(buf, port, data, i);
  printf("  %*s", width, buf);
}

static void table_matrix(const sc_port *port, const void *data, size_t first, int width) {
  const sc_pattern *p = port->pattern;
  int64_t at = 0;
  for (int64_t k = 0; k < p->nnz; k++) {
    while (p->layout != SC_COO && p->outer[at + 1] <= k) at++;
    int64_t outer = p->layout == SC_COO ? p->outer[k] : at, inner = p->inner[k];
    printf("  (%" PRId64 ", %" PRId64 ")", p->layout == SC_CSC ? inner : outer, p->layout == SC_CSC ? outer : inner);
    table_cell(port, data, first + (size_t)k, width);
    putchar('\n');
  }
}

/* One matrix, or those of a batch with a blank line between. */
static void table_sparse(const sc_port *port, const void *data, int width) {
  for (int64_t first = 0; first < port->count; first += port->pattern->nnz) {
    if (first) putchar('\n');
    table_matrix(port, data, (size_t)first, width);
  }
}

/* Rows of the last dimension; a vector in rows of as many values as fit a line. */
static void table_dense(const sc_port *port, const void *data, int width) {
  size_t per_row = port->rank >= 2 ? (size_t)port->shape[port->rank - 1] : (size_t)(100 / (width + 2));
  for (size_t i = 0; i < (size_t)port->count; i++) {
    table_cell(port, data, i, width);
    if ((i + 1) % per_row == 0 || i + 1 == (size_t)port->count) putchar('\n');
    /* A blank line between matrices. */
    if (port->rank > 2 && (i + 1) % (per_row * (size_t)port->shape[port->rank - 2]) == 0 && i + 1 < (size_t)port->count)
      putchar('\n');
  }
}

static void write_table(port_list outputs, void *const *out) {
  for (size_t i = 0; i < outputs.n; i++) {
    const sc_port *port = &outputs.ports[i];
    printf("%s: %s %s", port->name, sc_dtype_name(port->dtype), shape_text(port));
    if (port->pattern) printf(", %" PRId64 " stored", port->pattern->nnz);
    putchar('\n');
    (port->pattern ? table_sparse : table_dense)(port, out[i], widest(port, out[i]));
  }
}

int write_outputs(const char *function, port_list outputs, void *const *out, value_format format) {
  switch (format) {
  case FORMAT_TABLE: write_table(outputs, out); break;
  case FORMAT_JSON: write_json(function, outputs, out); break;
  case FORMAT_NPY: {
    const sc_port *port = outputs.n == 1 ? &outputs.ports[0] : NULL;
    if (!port || port->pattern) {
      complain(port ? "a .npy file holds no sparse matrix: use --format json"
                    : "a .npy file holds one array and the function has %zu outputs: choose one with --out",
               outputs.n);
      return EXIT_INPUT;
    }
    write_npy(port, out[0]);
  }
  }
  return EXIT_OK;
}
