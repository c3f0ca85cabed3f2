/* Owns the NumPy file format (versions 1 to 3), https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html:
 * reading any real numeric type in either byte and memory order, writing version 1. */
#include "tools/scaly/npy.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tools/scaly/report.h"

typedef struct npy_header {
  char kind; /* f i u b */
  int width; /* bytes per element */
  bool swap; /* the file's byte order is not this machine's */
  bool fortran;
  int rank;
  int64_t shape[SC_MAX_RANK];
  size_t data; /* offset of the first element */
} npy_header;

static bool host_is_little(void) {
  const uint16_t one = 1;
  return *(const uint8_t *)&one == 1;
}

/* ---- the header: a Python dictionary of three entries, in any order ---- */

typedef struct scanner {
  const char *at, *end;
} scanner;

static bool take(scanner *s, const char *word) {
  while (s->at < s->end && isspace((unsigned char)*s->at)) s->at++;
  size_t n = strlen(word);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n)) return false;
  s->at += n;
  return true;
}

static const char *scan_descr(scanner *s, npy_header *h) {
  char order, kind;
  int width = 0;
  if (!take(s, "'") && !take(s, "\""))
    return "its 'descr' is not the name of a plain type (structured arrays are not read)";
  if (s->end - s->at < 4) return "its header ends too soon";
  order = *s->at++;
  kind = *s->at++;
  while (s->at < s->end && isdigit((unsigned char)*s->at) && width < 1000) width = 10 * width + (*s->at++ - '0');
  if (!take(s, "'") && !take(s, "\"")) return "its 'descr' is not the name of a plain type";
  bool known = (kind == 'f' && (width == 4 || width == 8)) || (kind == 'b' && width == 1) ||
               ((kind == 'i' || kind == 'u') && (width == 1 || width == 2 || width == 4 || width == 8));
  if (!known || !strchr("<>=|", order)) return "its element type is none of f4, f8, i1 to i8, u1 to u8, b1";
  h->kind = kind;
  h->width = width;
  h->swap = (order == '<' && !host_is_little()) || (order == '>' && host_is_little());
  return NULL;
}

static const char *scan_shape(scanner *s, npy_header *h) {
  if (!take(s, "(")) return "its 'shape' is not a tuple";
  h->rank = 0;
  while (!take(s, ")")) {
    int64_t size = 0;
    const char *first = s->at;
    for (; s->at < s->end && isdigit((unsigned char)*s->at); s->at++) {
      size = 10 * size + (*s->at - '0');
      if (size > SC_MAX_ELEMENTS) return "its 'shape' has a dimension beyond the limit of 2147483647";
    }
    if (s->at == first) return "its 'shape' is not a tuple of whole numbers";
    if (h->rank == SC_MAX_RANK) return "its 'shape' has more than 8 dimensions";
    h->shape[h->rank++] = size;
    take(s, "L"); /* Python 2 wrote long integers so */
    if (!take(s, ",") && (s->at == s->end || *s->at != ')')) return "its 'shape' is not a tuple of whole numbers";
  }
  return NULL;
}

static const char *scan_header(scanner s, npy_header *h) {
  unsigned seen = 0;
  if (!take(&s, "{")) return "its header is not a dictionary";
  while (!take(&s, "}")) {
    const char *problem = NULL;
    if (take(&s, "'descr':")) {
      problem = scan_descr(&s, h);
      seen |= 1;
    } else if (take(&s, "'fortran_order':")) {
      h->fortran = take(&s, "True");
      if (!h->fortran && !take(&s, "False")) problem = "its 'fortran_order' is neither True nor False";
      seen |= 2;
    } else if (take(&s, "'shape':")) {
      problem = scan_shape(&s, h);
      seen |= 4;
    } else {
      problem = "its header has something other than 'descr', 'fortran_order' and 'shape'";
    }
    if (problem) return problem;
    take(&s, ",");
  }
  return seen == 7 ? NULL : "its header lacks one of 'descr', 'fortran_order' and 'shape'";
}

static const char *read_header(value_source src, npy_header *h) {
  const unsigned char *b = (const unsigned char *)src.text;
  if (src.size < 10 || memcmp(b, "\x93NUMPY", 6)) return "it does not start like a .npy file";
  if (b[6] < 1 || b[6] > 3) return "its format version is not 1, 2 or 3";
  size_t prefix = b[6] == 1 ? 10 : 12, length;
  if (src.size < prefix) return "it is cut off in its header";
  length = b[6] == 1 ? (size_t)b[8] | (size_t)b[9] << 8
                     : (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (src.size - prefix < length) return "it is cut off in its header";
  h->data = prefix + length;
  return scan_header((scanner){src.text + prefix, src.text + prefix + length}, h);
}

/* ---- elements ---- */

static const char *read_element(const npy_header *h, const char *from, const sc_port *port, void *to, size_t i) {
  unsigned char raw[8] = {0};
  for (int k = 0; k < h->width; k++) raw[k] = (unsigned char)from[h->swap ? h->width - 1 - k : k];
  union {
    double f8;
    float f4;
    int8_t i1;
    int16_t i2;
    int32_t i4;
    int64_t i8;
    uint8_t u1;
    uint16_t u2;
    uint32_t u4;
    uint64_t u8;
  } v;
  memcpy(&v, raw, sizeof raw < sizeof v ? sizeof raw : sizeof v);
  if (h->kind == 'f') return store_double(port, to, i, h->width == 8 ? v.f8 : (double)v.f4);
  if (h->kind == 'b') return store_integer(port, to, i, v.u1 != 0);
  if (h->kind == 'u' && h->width == 8 && v.u8 > INT64_MAX) return "is out of the range of int64";
  long long n = h->width == 8   ? v.i8
                : h->width == 4 ? (h->kind == 'i' ? v.i4 : (long long)v.u4)
                : h->width == 2 ? (h->kind == 'i' ? v.i2 : v.u2)
                                : (h->kind == 'i' ? v.i1 : v.u1);
  return store_integer(port, to, i, n);
}

/* The place in memory order of the file of row-major element i. */
static size_t file_index(const npy_header *h, size_t i) {
  if (!h->fortran) return i;
  size_t at = 0, index[SC_MAX_RANK];
  for (int d = h->rank; d--; i /= (size_t)h->shape[d]) index[d] = i % (size_t)h->shape[d];
  for (int d = h->rank; d--;) at = at * (size_t)h->shape[d] + index[d];
  return at;
}

static const char *tuple_text(int rank, const int64_t *shape) {
  const char *s = "";
  for (int d = 0; d < rank; d++) s = pool_printf("%s%s%lld", s, d ? ", " : "", (long long)shape[d]);
  return pool_printf("(%s%s)", s, rank == 1 ? "," : "");
}

bool npy_shape(value_source src, int *rank, int64_t shape[SC_MAX_RANK]) {
  npy_header h = {0};
  if (read_header(src, &h)) return false;
  *rank = h.rank;
  memcpy(shape, h.shape, sizeof h.shape);
  return true;
}

bool read_npy(value_source src, const sc_port *port, void *to) {
  npy_header h = {0};
  const char *problem = read_header(src, &h);
  if (problem) {
    complain("%s cannot be read: %s", src.file, problem);
    return false;
  }
  bool same = h.rank == port->rank;
  for (int d = 0; same && d < h.rank; d++) same = h.shape[d] == port->shape[d];
  if (!same) {
    complain("%s has shape %s, the input %s has shape %s", src.file, tuple_text(h.rank, h.shape), port->name,
             tuple_text(port->rank, port->shape));
    return false;
  }
  size_t count = (size_t)port->count, have = src.size - h.data;
  if (have != count * (size_t)h.width) {
    complain("%s cannot be read: it holds %zu bytes of elements where its header announces %zu", src.file, have,
             count * (size_t)h.width);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    problem = read_element(&h, src.text + h.data + file_index(&h, i) * (size_t)h.width, port, to, i);
    if (!problem) continue;
    complain("%s: element %zu %s", src.file, i, problem);
    return false;
  }
  return true;
}

void write_npy(const sc_port *port, const void *data) {
  static const char *const types[SC_DTYPE_COUNT] = {"f8", "f4", "i8", "i4", "b1"};
  char header[256];
  int n = snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }",
                   port->dtype == SC_BOOL ? '|'
                   : host_is_little()     ? '<'
                                          : '>',
                   types[port->dtype], tuple_text(port->rank, port->shape));
  int total = (10 + n + 1 + 63) / 64 * 64; /* elements start on a multiple of 64 bytes */
  printf("\x93NUMPY%c%c%c%c%s%*s\n", 1, 0, (total - 10) & 255, (total - 10) >> 8, header, total - 11 - n, "");
  fwrite(data, sc_dtype_size(port->dtype), (size_t)port->count, stdout);
}
