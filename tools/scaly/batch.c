/* Owns the calls of a batch: which inputs have a row per call, and where the outputs go. */
#include "tools/scaly/batch.h"

#include <stdint.h>

#include "tools/scaly/npy.h"
#include "tools/scaly/report.h"

/* How many calls a file has rows for; -1: it is the input itself, or fits neither, which its reader then says. */
static int64_t rows_of(value_source src, const sc_port *port) {
  if (has_suffix(src.file, ".npy")) {
    int64_t shape[SC_MAX_RANK];
    int rank;
    if (!npy_shape(src, &rank, shape) || rank != port->rank + 1) return -1;
    for (int d = 0; d < port->rank; d++)
      if (shape[d + 1] != port->shape[d]) return -1;
    return shape[0];
  }
  if (!has_suffix(src.file, ".csv")) return -1;
  size_t rows, columns;
  csv_extent(src, &rows, &columns);
  return rows > 1 && columns == (size_t)port->count && port->count ? (int64_t)rows : -1;
}

/* A port with an axis of `rows` in front. A csv file has the values of a row flat, whatever their shape. */
static sc_port widened(const sc_port *port, int64_t rows, bool flat) {
  sc_port wide = *port;
  int rank = flat ? 1 : port->rank;
  int64_t *shape = pool_alloc((size_t)rank + 1, sizeof *shape);
  shape[0] = rows;
  if (flat)
    shape[1] = port->count;
  else
    for (int d = 0; d < rank; d++) shape[d + 1] = port->shape[d];
  wide.shape = shape;
  wide.rank = rank + 1;
  wide.count = rows * port->count;
  return wide;
}

bool batch_widen(batch *b, size_t input, value_source src, sc_port *port) {
  int64_t rows = rows_of(src, port);
  if (rows < 0) return true;
  if (b->rows >= 0 && rows != b->rows) {
    complain("%s has %lld rows where %s has %lld", src.file, (long long)rows, b->file, (long long)b->rows);
    return false;
  }
  /* A value takes a byte at least: what a damaged header announces is not allocated. */
  if (port->count && rows > (int64_t)src.size / port->count) {
    complain("%s cannot be read: it holds fewer values than its header announces", src.file);
    return false;
  }
  b->rows = rows;
  b->file = src.file;
  b->step[input] = (size_t)port->count * sc_dtype_size(port->dtype);
  *port = widened(port, rows, has_suffix(src.file, ".csv"));
  return true;
}

static int make_wide_outputs(sc_kernel *k, int64_t rows, port_list *ports, void ***out) {
  port_list single = kernel_outputs(k);
  sc_port *wide = pool_alloc(single.n, sizeof *wide);
  for (size_t i = 0; i < single.n; i++) {
    const sc_port *p = &single.ports[i];
    if (p->count && rows > PTRDIFF_MAX / 8 / p->count) {
      complain("%lld rows of the output %s are more than memory can hold", (long long)rows, p->name);
      return EXIT_ENVIRONMENT;
    }
    wide[i] = widened(p, rows, false);
  }
  *ports = (port_list){wide, single.n};
  *out = make_outputs(*ports);
  return EXIT_OK;
}

int batch_call(sc_kernel *k, const batch *b, void *const *in, port_list *ports, void ***out) {
  if (b->rows < 0) {
    complain("--batch: no input has a leading axis: give one as a .npy file of one more dimension,\n"
             "or as a .csv file with the values of a call in a line");
    return EXIT_INPUT;
  }
  int code = make_wide_outputs(k, b->rows, ports, out);
  size_t n_in = sc_kernel_input_count(k), n_out = sc_kernel_output_count(k);
  const void **arg = pool_alloc(n_in, sizeof *arg);
  void **res = pool_alloc(n_out, sizeof *res);
  for (int64_t row = 0; code == EXIT_OK && row < b->rows; row++) {
    for (size_t i = 0; i < n_in; i++) arg[i] = (const char *)in[i] + (size_t)row * b->step[i];
    for (size_t i = 0; i < n_out; i++) {
      const sc_port *p = sc_kernel_output(k, i);
      res[i] = (char *)(*out)[i] + (size_t)row * (size_t)p->count * sc_dtype_size(p->dtype);
    }
    int status = sc_kernel_call(k, arg, res, NULL);
    if (status == SC_KERNEL_SUCCESS) continue;
    complain("the kernel returned status %d for row %lld", status, (long long)row);
    code = EXIT_ENVIRONMENT;
  }
  return code;
}
