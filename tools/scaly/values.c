/* Owns the inputs of a call: --arg, --seed, and the conversion of single values to a port's type. */
#include "tools/scaly/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/scaly/batch.h"
#include "tools/scaly/report.h"

/* ---- single values ---- */

const char *store_integer(const sc_port *port, void *to, size_t i, long long v) {
  switch (port->dtype) {
  case SC_FLOAT64: ((double *)to)[i] = (double)v; return NULL;
  case SC_FLOAT32: ((float *)to)[i] = (float)v; return NULL;
  case SC_INT64: ((int64_t *)to)[i] = v; return NULL;
  case SC_INT32:
    if (v < INT32_MIN || v > INT32_MAX) return "is out of the range of int32";
    ((int32_t *)to)[i] = (int32_t)v;
    return NULL;
  case SC_BOOL:
    if (v != 0 && v != 1) return "is not a bool (0 or 1)";
    ((uint8_t *)to)[i] = (uint8_t)v;
    return NULL;
  }
  return "has no type";
}

const char *store_double(const sc_port *port, void *to, size_t i, double v) {
  switch (port->dtype) {
  case SC_FLOAT64: ((double *)to)[i] = v; return NULL;
  case SC_FLOAT32:
    ((float *)to)[i] = (float)v;
    return isfinite(v) && isinf((float)v) ? "is out of the range of float32" : NULL;
  case SC_INT64:
  case SC_INT32:
  case SC_BOOL:
    if (!(v == floor(v))) return "is not a whole number";
    /* Beyond 2^53 a double no longer says which integer was meant. */
    if (fabs(v) > 0x1p53) return "is too large to be an exact integer here (npy and --arg can hold it)";
    return store_integer(port, to, i, (long long)v);
  }
  return "has no type";
}

bool became_infinite(const char *word, double v) {
  return isinf(v) && !strpbrk(word, "iI");
}

const char *store_text(const sc_port *port, void *to, size_t i, const char *text, size_t n) {
  char word[128];
  while (n && isspace((unsigned char)*text)) text++, n--;
  while (n && isspace((unsigned char)text[n - 1])) n--;
  if (!n) return "is empty";
  if (n >= sizeof word) return "is not a number";
  memcpy(word, text, n);
  word[n] = 0;
  char *end;
  if (port->dtype == SC_BOOL && !strcmp(word, "true")) return store_integer(port, to, i, 1);
  if (port->dtype == SC_BOOL && !strcmp(word, "false")) return store_integer(port, to, i, 0);
  if (port->dtype == SC_INT64 || port->dtype == SC_INT32) {
    errno = 0;
    long long v = strtoll(word, &end, 10);
    if (!*end) return errno ? "is out of the range of int64" : store_integer(port, to, i, v);
  }
  /* Rounded once: a decimal read as double and then narrowed could land on the other neighbor. */
  if (port->dtype == SC_FLOAT32) {
    float v = strtof(word, &end);
    ((float *)to)[i] = v;
    return *end ? "is not a number" : became_infinite(word, v) ? "is out of the range of float32" : NULL;
  }
  double v = strtod(word, &end);
  if (*end) return "is not a number";
  return became_infinite(word, v) ? "is out of the range of float64" : store_double(port, to, i, v);
}

const char *shape_text(const sc_port *port) {
  if (!port->rank) return "scalar";
  char *s = pool_alloc(24, SC_MAX_RANK);
  for (int d = 0, n = 0; d < port->rank; d++) n += sprintf(s + n, "%s%lld", d ? "x" : "", (long long)port->shape[d]);
  return s;
}

/* ---- inputs ---- */

static bool read_list(const char *list, const sc_port *port, void *to) {
  size_t count = (size_t)port->count, i = 0;
  const char *at = list;
  bool empty = !list[strspn(list, " \t")];
  while (!empty) {
    const char *end = at + strcspn(at, ",");
    const char *problem = i < count ? store_text(port, to, i, at, (size_t)(end - at)) : NULL;
    if (problem) {
      complain("--arg %s: value %zu, \"%.*s\", %s", port->name, i, (int)(end - at < 60 ? end - at : 60), at, problem);
      return false;
    }
    i++;
    if (!*end) break;
    at = end + 1;
  }
  if (i == count) return true;
  complain("--arg %s: %zu values where the input of shape %s has %zu", port->name, i, shape_text(port), count);
  return false;
}

bool has_suffix(const char *s, const char *suffix) {
  size_t n = strlen(s), m = strlen(suffix);
  return n >= m && !strcmp(s + n - m, suffix);
}

static void *make_buffer(const sc_port *port) {
  return pool_alloc_aligned(64, (size_t)port->count * sc_dtype_size(port->dtype));
}

/* Into a buffer that is made here: how large it is, a file with a row per call says. */
static bool read_values(const char *values, const sc_port *port, void **to, batch *rows, size_t input) {
  if (values[0] != '@') return read_list(values, port, *to = make_buffer(port));
  value_source src = {.file = values + 1};
  bool (*reader)(value_source, const sc_port *, void *) = has_suffix(src.file, ".npy")    ? read_npy
                                                          : has_suffix(src.file, ".csv")  ? read_csv
                                                          : has_suffix(src.file, ".json") ? read_json
                                                                                          : NULL;
  if (!reader) {
    complain("--arg %s: %s is not a .npy, .csv or .json file", port->name, src.file);
    return false;
  }
  src.text = read_file(src.file, &src.size);
  sc_port wide = *port;
  if (!src.text || (rows && !batch_widen(rows, input, src, &wide))) return false;
  return reader(src, &wide, *to = make_buffer(&wide));
}

/* splitmix64 (Steele, Lea, Flood 2014) over a counter, so that a value depends on seed, input and element only. */
static double unit_value(uint64_t seed, uint64_t input, uint64_t element) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + input * 0xD1B54A32D192ED03u + element + 1;
  for (int round = 0; round < 2; round++) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
  }
  return (double)(z >> 11) * 0x1p-52 - 1;
}

static void fill(const sc_port *port, void *to, uint64_t seed, uint64_t input) {
  for (size_t i = 0; i < (size_t)port->count; i++) {
    double v = unit_value(seed, input, i);
    if (port->dtype == SC_BOOL)
      v = v >= 0;
    else if (port->dtype == SC_INT64 || port->dtype == SC_INT32)
      v = floor(1.5 * v + 0.5);
    store_double(port, to, i, v);
  }
}

static sc_port port_of(const char *name, sc_expr x) {
  const int64_t *shape = sc_expr_shape(x);
  int64_t *kept = pool_alloc((size_t)sc_expr_rank(x), sizeof *kept);
  for (int d = 0; d < sc_expr_rank(x); d++) kept[d] = shape[d];
  return (sc_port){
      .name = name, .dtype = sc_expr_dtype(x), .rank = sc_expr_rank(x), .shape = kept, .count = sc_expr_size(x)};
}

port_list function_inputs(const sc_function *f) {
  size_t n = sc_function_input_count(f);
  sc_port *ports = pool_alloc(n, sizeof *ports);
  for (size_t i = 0; i < n; i++) ports[i] = port_of(sc_function_input_name(f, i), sc_function_input(f, i));
  return (port_list){ports, n};
}

port_list function_outputs(const sc_function *f) {
  size_t n = sc_function_output_count(f);
  sc_port *ports = pool_alloc(n, sizeof *ports);
  for (size_t i = 0; i < n; i++) ports[i] = port_of(sc_function_output_name(f, i), sc_function_output(f, i));
  return (port_list){ports, n};
}

port_list kernel_inputs(const sc_kernel *k) {
  size_t n = sc_kernel_input_count(k);
  sc_port *ports = pool_alloc(n, sizeof *ports);
  for (size_t i = 0; i < n; i++) ports[i] = *sc_kernel_input(k, i);
  return (port_list){ports, n};
}

port_list kernel_outputs(const sc_kernel *k) {
  size_t n = sc_kernel_output_count(k);
  sc_port *ports = pool_alloc(n, sizeof *ports);
  for (size_t i = 0; i < n; i++) ports[i] = *sc_kernel_output(k, i);
  return (port_list){ports, n};
}

static int find_port(port_list inputs, const char *name, size_t n) {
  for (size_t i = 0; i < inputs.n; i++)
    if (strlen(inputs.ports[i].name) == n && !memcmp(inputs.ports[i].name, name, n)) return (int)i;
  return -1;
}

static const char *input_names(port_list inputs) {
  const char *list = "";
  for (size_t i = 0; i < inputs.n; i++) list = pool_printf("%s%s%s", list, i ? ", " : "", inputs.ports[i].name);
  return *list ? list : "none";
}

int check_value_options(const arguments *args, long long *seed) {
  *seed = 0;
  for (size_t i = 0; i < args->n_given; i++) {
    const char *text = args->given[i].value;
    if (strcmp(args->given[i].name, "arg")) continue;
    size_t n = strcspn(text, "=");
    if (!text[n]) return usage_error(args->command, "--arg takes NAME=VALUES, not \"%s\"", text);
    for (size_t j = 0; j < i; j++)
      if (!strcmp(args->given[j].name, "arg") && !strncmp(args->given[j].value, text, n + 1))
        return usage_error(args->command, "--arg %.*s is given twice", (int)n, text);
  }
  return option_integer(args, "seed", 0, INT64_MAX, seed) ? EXIT_OK : EXIT_USAGE;
}

static int fill_given(void **in, port_list inputs, const arguments *args, bool *given, batch *rows) {
  for (size_t i = 0; i < args->n_given; i++) {
    if (strcmp(args->given[i].name, "arg")) continue;
    const char *text = args->given[i].value;
    size_t n = strcspn(text, "=");
    int at = find_port(inputs, text, n);
    if (at < 0) {
      complain("--arg: there is no input \"%.*s\"; inputs are: %s", (int)n, text, input_names(inputs));
      return EXIT_INPUT;
    }
    given[at] = true;
    if (!read_values(text + n + 1, &inputs.ports[at], &in[at], rows, (size_t)at)) return EXIT_INPUT;
  }
  return EXIT_OK;
}

int read_inputs(void ***in, port_list inputs, const arguments *args, bool fill_all, batch *rows) {
  long long seed;
  bool *given = pool_alloc(inputs.n, sizeof *given);
  *in = pool_alloc(inputs.n, sizeof **in);
  if (rows) *rows = (batch){.rows = -1, .step = pool_alloc(inputs.n, sizeof *rows->step)};
  int code = check_value_options(args, &seed);
  if (code == EXIT_OK) code = fill_given(*in, inputs, args, given, rows);
  for (size_t i = 0; code == EXIT_OK && i < inputs.n; i++) {
    const sc_port *port = &inputs.ports[i];
    if (given[i]) continue;
    if (!fill_all && !option_given(args, "seed") && port->count) {
      complain("the input %s (%s %s) has no values: give --arg %s=... or --seed N", port->name,
               sc_dtype_name(port->dtype), shape_text(port), port->name);
      code = EXIT_INPUT;
    }
    fill(port, (*in)[i] = make_buffer(port), (uint64_t)seed, i);
  }
  return code;
}

void **make_outputs(port_list outputs) {
  void **out = pool_alloc(outputs.n, sizeof *out);
  for (size_t i = 0; i < outputs.n; i++) out[i] = make_buffer(&outputs.ports[i]);
  return out;
}
