/* Owns the buffers that functions are run on, and the numbers in them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/diff/diff.h"

uint64_t rng_next(rng *r) {
  uint64_t z = r->state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

int64_t rng_below(rng *r, int64_t n) {
  return n <= 0 ? 0 : (int64_t)(rng_next(r) % (uint64_t)n);
}

bool rng_chance(rng *r, int percent) {
  return rng_below(r, 100) < percent;
}

double rng_real(rng *r) {
  return (double)(rng_next(r) >> 11) * 0x1p-53;
}

static size_t pages(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

void *diff_alloc(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = pages(bytes);
  char *base = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + whole, page, PROT_NONE)) abort();
  return base + whole - bytes;
}

void diff_free(void *p, size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = pages(bytes);
  munmap((char *)p + bytes - whole, whole + page);
}

static size_t bytes_of(sc_expr e) {
  return (size_t)sc_expr_size(e) * sc_dtype_size(sc_expr_dtype(e));
}

diff_io diff_io_open(const sc_function *f) {
  diff_io io = {f, sc_function_input_count(f), sc_function_output_count(f), NULL, NULL};
  io.in = calloc(io.n_in + 1, sizeof *io.in);
  io.out = calloc(io.n_out + 1, sizeof *io.out);
  if (!io.in || !io.out) abort();
  for (size_t i = 0; i < io.n_in; i++) io.in[i] = diff_alloc(bytes_of(sc_function_input(f, i)));
  for (size_t i = 0; i < io.n_out; i++) io.out[i] = diff_alloc(bytes_of(sc_function_output(f, i)));
  diff_io_clear_outputs(&io);
  return io;
}

void diff_io_close(diff_io *io) {
  for (size_t i = 0; i < io->n_in; i++) diff_free(io->in[i], bytes_of(sc_function_input(io->f, i)));
  for (size_t i = 0; i < io->n_out; i++) diff_free(io->out[i], bytes_of(sc_function_output(io->f, i)));
  free(io->in);
  free(io->out);
  *io = (diff_io){0};
}

void diff_io_clear_outputs(diff_io *io) {
  for (size_t i = 0; i < io->n_out; i++) memset(io->out[i], 0xCB, bytes_of(sc_function_output(io->f, i)));
}

const void *const *diff_in(const diff_io *io) {
  return (const void *const *)io->in;
}

static sci_scalar some_value(sc_dtype dtype, rng *r) {
  static const double special[] = {0, -0.0, 1, -1, 0.5, 2, 3};
  sci_scalar v = {.bits = 0};
  double real = rng_chance(r, 12) ? special[rng_below(r, 7)] : 4 * rng_real(r) - 2;
  int64_t whole = rng_chance(r, 5) ? (int64_t)rng_next(r) : rng_below(r, 21) - 10;
  switch (dtype) {
  case SC_FLOAT64: v.f64 = real; break;
  case SC_FLOAT32: v.f32 = (float)real; break;
  case SC_INT64: v.i64 = whole; break;
  case SC_INT32: v.i32 = (int32_t)(whole % INT32_MAX); break;
  case SC_BOOL: v.b8 = whole > 0; break;
  }
  return v;
}

void diff_io_fill(diff_io *io, uint64_t seed) {
  for (size_t k = 0; k < io->n_in; k++) {
    rng r = {seed * 1000003};
    for (const char *c = sc_function_input_name(io->f, k); *c; c++) r.state = r.state * 31 + (uint64_t)*c;
    sc_expr e = sc_function_input(io->f, k);
    for (int64_t i = 0; i < sc_expr_size(e); i++)
      ora_store(sc_expr_dtype(e), io->in[k], i, some_value(sc_expr_dtype(e), &r));
  }
}
