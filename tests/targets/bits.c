/* A function gives the same bits from the in-process compiler's two tiers and from gcc and clang at -O2 and -O3, for
 * each vector math library on all sides.
 *
 *   bits FILE [REQUEST...]       exit code 77: no compiler to compare with */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaly/scaly.h"

static _Noreturn void die(const char *what, const char *why) {
  fprintf(stderr, "bits: %s: %s\n", what, why);
  exit(1);
}

static char *read_file(const char *path, size_t *n) {
  enum { MOST = 1 << 24 };
  FILE *f = fopen(path, "rb");
  char *text = f ? calloc(1, MOST) : NULL;
  if (!text) die(path, "cannot be read");
  *n = fread(text, 1, MOST - 1, f);
  fclose(f);
  return text;
}

static sc_function *read_function(sc_context *cx, const char *path, char **requests, size_t n) {
  sc_request parsed[32];
  size_t size;
  char *text = read_file(path, &size);
  sc_module_text *t = sc_parse(cx, text, size, path);
  sc_function *f = t ? sc_module_text_find(t, NULL) : NULL;
  sc_module_text_free(t);
  for (size_t i = 0; f && i < n && i < 32; i++)
    if (sc_request_parse(cx, requests[i], &parsed[i]) != SC_OK) f = NULL;
  if (f && n) f = sc_function_derive(f, NULL, parsed, n, NULL);
  if (!f) die(path, sc_context_error(cx)->message);
  free(text);
  return f;
}

/* ---- buffers ---- */

typedef struct buffers {
  size_t n_in, n_out;
  void **in, **out;
} buffers;

static void put(const sc_port *port, void *data, int64_t i, double v) {
  switch (port->dtype) {
  case SC_FLOAT64: ((double *)data)[i] = v; break;
  case SC_FLOAT32: ((float *)data)[i] = (float)v; break;
  case SC_INT64: ((int64_t *)data)[i] = (int64_t)(10 * v); break;
  case SC_INT32: ((int32_t *)data)[i] = (int32_t)(10 * v); break;
  case SC_BOOL: ((uint8_t *)data)[i] = v > 0; break;
  }
}

/* Moderate numbers of both signs, without patterns. */
static buffers open_buffers(const sc_kernel *k) {
  buffers b = {.n_in = sc_kernel_input_count(k), .n_out = sc_kernel_output_count(k)};
  b.in = calloc(b.n_in + 1, sizeof *b.in);
  b.out = calloc(b.n_out + 1, sizeof *b.out);
  for (size_t i = 0; i < b.n_in + b.n_out; i++) {
    const sc_port *port = i < b.n_in ? sc_kernel_input(k, i) : sc_kernel_output(k, i - b.n_in);
    void *data = calloc((size_t)port->count + 1, sc_dtype_size(port->dtype));
    for (int64_t e = 0; i < b.n_in && e < port->count; e++)
      put(port, data, e, (double)((e * 7919 + (int64_t)i * 104729 + 17) % 2001 - 1000) / 700.0);
    *(i < b.n_in ? &b.in[i] : &b.out[i - b.n_in]) = data;
  }
  return b;
}

static void close_buffers(buffers *b) {
  for (size_t i = 0; i < b->n_in; i++) free(b->in[i]);
  for (size_t i = 0; i < b->n_out; i++) free(b->out[i]);
  free(b->in);
  free(b->out);
}

/* ---- the comparison ---- */

typedef struct comparison {
  const char *file, *libm;
  buffers want;
  bool has_want, failed;
  size_t compared;
} comparison;

static bool same_value(sc_dtype dtype, const char *a, const char *b) {
  if (!memcmp(a, b, sc_dtype_size(dtype))) return true;
  double x, y;
  float s, t;
  memcpy(&x, a, dtype == SC_FLOAT64 ? sizeof x : 0);
  memcpy(&y, b, dtype == SC_FLOAT64 ? sizeof y : 0);
  memcpy(&s, a, dtype == SC_FLOAT32 ? sizeof s : 0);
  memcpy(&t, b, dtype == SC_FLOAT32 ? sizeof t : 0);
  return dtype == SC_FLOAT64 ? isnan(x) && isnan(y) : dtype == SC_FLOAT32 && isnan(s) && isnan(t);
}

static void compare(comparison *c, sc_kernel *k, const char *way) {
  buffers b = open_buffers(k);
  if (getenv("SCALY_TEST_SAY")) fprintf(stderr, "%s, %s\n", c->libm, way); /* what crashes on an emulated processor */
  if (sc_kernel_call(k, (const void *const *)b.in, b.out, NULL) != SC_KERNEL_SUCCESS) die(way, "the call failed");
  for (size_t o = 0; c->has_want && o < b.n_out; o++) {
    const sc_port *port = sc_kernel_output(k, o);
    size_t size = sc_dtype_size(port->dtype);
    for (int64_t e = 0; e < port->count; e++) {
      const char *got = (char *)b.out[o] + (size_t)e * size, *want = (char *)c->want.out[o] + (size_t)e * size;
      if (same_value(port->dtype, got, want)) continue;
      printf("%s, %s: %s[%lld] by %s has other bits\n", c->file, c->libm, port->name, (long long)e, way);
      c->failed = true;
      break;
    }
  }
  c->compared += c->has_want;
  if (c->has_want)
    close_buffers(&b);
  else
    c->want = b;
  c->has_want = true;
}

static void compare_jit(comparison *c, const sc_program *p, sc_tier tier, const char *way) {
  sc_kernel *k = sc_jit_program(p, &(sc_jit_options){.tier = tier, .plugin_dir = SCALY_TEST_PLUGIN_DIR});
  if (!k && sc_context_error(sc_program_context(p))->status == SC_ERR_UNAVAILABLE) return;
  if (!k) die(way, sc_context_error(sc_program_context(p))->message);
  compare(c, k, way);
  sc_kernel_release(k);
}

static void compare_cc(comparison *c, const sc_program *p, const char *compiler, const char *level) {
  char way[64];
  const char *argv[] = {compiler, NULL}, *flags[] = {level, NULL};
  if (!*compiler) return;
  snprintf(way, sizeof way, "%s %s", compiler, level);
  sc_kernel *k = sc_compile_cc_program(p, &(sc_cc_options){.compiler = argv, .flags = flags});
  if (!k) die(way, sc_context_error(sc_program_context(p))->message);
  compare(c, k, way);
  sc_kernel_release(k);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"auto", "none", "glibc", "sleef"};
  size_t compared = 0;
  bool failed = false;
  if (argc < 2) die("usage", "bits FILE [REQUEST...]");
  for (sc_vector_libm libm = SC_VECTOR_LIBM_NONE; libm <= SC_VECTOR_LIBM_SLEEF; libm++) {
    if (libm != SC_VECTOR_LIBM_NONE && !sc_vector_library_version(names[libm])) continue;
    sc_context *cx = sc_context_create(NULL);
    sc_function *f = read_function(cx, argv[1], argv + 2, (size_t)argc - 2);
    sc_program *p = sc_lower(f, &(sc_lower_options){.vector_libm = libm});
    if (!p) die(argv[1], sc_context_error(cx)->message);
    comparison c = {.file = argv[1], .libm = names[libm]};
    compare_jit(&c, p, SC_TIER_BEST, "the in-process compiler");
    compare_jit(&c, p, SC_TIER_FAST, "the in-process compiler, tier fast");
    for (int i = 0; i < 2; i++) {
      compare_cc(&c, p, SCALY_TEST_GCC, i ? "-O3" : "-O2");
      compare_cc(&c, p, SCALY_TEST_CLANG, i ? "-O3" : "-O2");
    }
    compared += c.compared;
    failed |= c.failed;
    if (c.has_want) close_buffers(&c.want);
    sc_program_destroy(p);
    sc_context_destroy(cx);
  }
  printf("%zu ways compared\n", compared);
  return failed ? 1 : compared ? 0 : 77;
}
