/* Owns the reading of comma-separated numbers: a row of the input per line. */
#include <string.h>

#include "tools/scaly/report.h"
#include "tools/scaly/values.h"

typedef struct csv_shape {
  size_t rows, columns;
  bool any_layout; /* a vector may be one row or one column */
} csv_shape;

static csv_shape expected_shape(const sc_port *port) {
  if (port->rank <= 1) return (csv_shape){1, (size_t)port->count, true};
  size_t columns = (size_t)port->shape[port->rank - 1], rows = 1;
  for (int d = 0; d + 1 < port->rank; d++) rows *= (size_t)port->shape[d];
  return (csv_shape){rows, columns, false};
}

static bool is_blank(const char *s, size_t n) {
  while (n && (*s == ' ' || *s == '\t' || *s == '\r')) s++, n--;
  return n == 0;
}

/* The fields of one line, stored from element `*i` on. */
static bool read_row(value_source src, const sc_port *port, void *to, size_t start, size_t end, size_t *i,
                     size_t *fields) {
  *fields = 0;
  for (size_t at = start;; at++) {
    const char *comma = memchr(src.text + at, ',', end - at);
    size_t stop = comma ? (size_t)(comma - src.text) : end;
    const char *problem;
    if (*i >= (size_t)port->count)
      problem = pool_printf("is one value too many: the input %s of shape %s has %lld", port->name, shape_text(port),
                            (long long)port->count);
    else
      problem = store_text(port, to, *i, src.text + at, stop - at);
    if (problem) {
      size_t shown = stop - at < 40 ? stop - at : 40;
      while (shown && is_blank(src.text + at + shown - 1, 1)) shown--;
      complain_at(src.file, src.text, src.size, at, "\"%.*s\" %s", (int)shown, src.text + at, problem);
      return false;
    }
    ++*i, ++*fields;
    if (stop == end) return true;
    at = stop;
  }
}

void csv_extent(value_source src, size_t *rows, size_t *columns) {
  *rows = *columns = 0;
  for (size_t at = 0, end; at < src.size; at = end + 1) {
    const char *newline = memchr(src.text + at, '\n', src.size - at);
    end = newline ? (size_t)(newline - src.text) : src.size;
    if (is_blank(src.text + at, end - at)) continue;
    if (!(*rows)++)
      for (size_t i = at; i <= end; i++) *columns += i == end || src.text[i] == ',';
  }
}

bool read_csv(value_source src, const sc_port *port, void *to) {
  csv_shape want = expected_shape(port);
  size_t i = 0, rows = 0, columns = 0, at = 0;
  if (src.size >= 3 && !memcmp(src.text, "\xEF\xBB\xBF", 3)) at = 3; /* the mark that spreadsheets put first */
  while (at < src.size) {
    const char *newline = memchr(src.text + at, '\n', src.size - at);
    size_t end = newline ? (size_t)(newline - src.text) : src.size, fields;
    if (!is_blank(src.text + at, end - at)) {
      if (!read_row(src, port, to, at, end, &i, &fields)) return false;
      if (!rows) columns = fields;
      rows++;
      if (fields != columns || (!want.any_layout && fields != want.columns)) {
        complain_at(src.file, src.text, src.size, at, "%zu values in this row where %zu are expected", fields,
                    want.any_layout ? columns : want.columns);
        return false;
      }
    }
    at = end + 1;
  }
  bool fits = i == (size_t)port->count && (want.any_layout ? rows <= 1 || columns == 1 : rows == want.rows || !i);
  if (!fits)
    complain("%s holds %zu rows of %zu values, the input %s has shape %s", src.file, rows, columns, port->name,
             shape_text(port));
  return fits;
}
