/* Owns the table of workloads, the pieces their builders share, and the rule of the inputs. */
#include "tests/data/workloads/workloads.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/data/workloads/parts.h"

static const struct workload {
  const char *name;
  const char *sizes[WL_MAX_SIZES];
  sc_function *(*build)(sc_context *, const wl_problem *, const char *kernel);
} workloads[] = {
    {"race_car", {"N", NULL}, wl_race_car}, {"chain", {"M", "N"}, wl_chain},
    {"npmpc", {"H", "N"}, wl_npmpc},        {"quadrotor", {"N", NULL}, wl_quadrotor},
    {"arm7", {"batch", NULL}, wl_arm7},     {"wave", {"n", NULL}, wl_wave},
    {"rosen", {"n", NULL}, wl_rosen},       {"mlp", {"batch", NULL}, wl_mlp},
    {"matmul", {"n", NULL}, wl_matmul},     {"reduce", {"n", NULL}, wl_reduce},
    {"straight", {"K", NULL}, wl_straight},
};

static const struct workload *find(const char *name) {
  for (size_t i = 0; i < wl_count(); i++)
    if (!strcmp(workloads[i].name, name)) return &workloads[i];
  return NULL;
}

size_t wl_count(void) {
  return sizeof workloads / sizeof *workloads;
}

const char *wl_name(size_t i) {
  return i < wl_count() ? workloads[i].name : NULL;
}

const char *wl_size_name(const char *workload, int k) {
  const struct workload *w = find(workload);
  return w && k < WL_MAX_SIZES ? w->sizes[k] : NULL;
}

const char *wl_size_text(const wl_problem *p, char text[64]) {
  size_t n = 0;
  text[0] = 0;
  for (int k = 0; k < WL_MAX_SIZES && wl_size_name(p->workload, k); k++)
    if (p->size[k])
      n += (size_t)snprintf(text + n, 64 - n, "%s%s=%" PRId64, n ? "," : "", wl_size_name(p->workload, k), p->size[k]);
  return text;
}

sc_function *wl_function(sc_context *cx, const wl_problem *p, const char *kernel) {
  const struct workload *w = find(p->workload);
  return w ? w->build(cx, p, kernel) : NULL;
}

sc_function *wl_value_kernel(sc_function *f, const char *output) {
  sc_named in[16], out;
  size_t n = sc_function_input_count(f);
  int k = sc_function_find_output(f, output);
  if (k < 0 || n > 16) return NULL;
  for (size_t i = 0; i < n; i++) in[i] = (sc_named){sc_function_input_name(f, i), sc_function_input(f, i), NULL};
  out = (sc_named){output, sc_function_output(f, (size_t)k), NULL};
  return sc_function_create(sc_function_context(f), sc_function_name(f), in, n, &out, 1);
}

bool wl_is_derivative(const char *kernel) {
  return strchr(kernel, ':');
}

double wl_tolerance(const char *kernel) {
  return strstr(kernel, "hess") ? 1e-9 : 1e-12;
}

sc_function *wl_kernel(sc_context *cx, const wl_problem *p, const char *kernel) {
  sc_function *f = wl_function(cx, p, kernel);
  if (!f || !wl_is_derivative(kernel)) return f ? wl_value_kernel(f, kernel) : NULL;
  if (p->size[0] && !strcmp(p->workload, "arm7")) return f; /* a mapped derivative */
  sc_request request;
  return sc_request_parse(cx, kernel, &request) == SC_OK ? sc_function_derive(f, NULL, &request, 1, NULL) : NULL;
}

/* ---- problems kept as text ---- */

static const wl_stored stored[] = {
    {{"race_car", {10}}, NULL},  {{"race_car", {200}}, NULL}, {{"chain", {5, 40}}, NULL},  {{"npmpc", {32, 12}}, NULL},
    {{"quadrotor", {20}}, NULL}, {{"arm7", {0}}, NULL},       {{"arm7", {64}}, NULL},      {{"wave", {64}}, NULL},
    {{"rosen", {10}}, NULL},     {{"mlp", {1}}, NULL},        {{"mlp", {32}}, NULL},       {{"matmul", {8}}, NULL},
    {{"reduce", {100}}, "sum"},  {{"reduce", {100}}, "dot"},  {{"reduce", {100}}, "norm"}, {{"straight", {1000}}, NULL},
};

size_t wl_stored_count(void) {
  return sizeof stored / sizeof *stored;
}

const wl_stored *wl_stored_at(size_t i) {
  return &stored[i];
}

const char *wl_stored_file(const wl_stored *s, char text[96]) {
  int n = snprintf(text, 96, "%s%s%s", s->problem.workload, s->kernel ? "_" : "", s->kernel ? s->kernel : "");
  for (int k = 0; k < WL_MAX_SIZES && wl_size_name(s->problem.workload, k); k++)
    if (s->problem.size[k])
      n += snprintf(text + n, 96 - (size_t)n, "_%s%" PRId64, wl_size_name(s->problem.workload, k), s->problem.size[k]);
  snprintf(text + n, 96 - (size_t)n, ".scaly");
  return text;
}

/* ---- shared pieces ---- */

sc_expr wl_vector(sc_context *cx, const char *name, int64_t n) {
  return sc_input(cx, name, SC_FLOAT64, 1, &n);
}

sc_expr wl_matrix(sc_context *cx, const char *name, int64_t rows, int64_t columns) {
  return sc_input(cx, name, SC_FLOAT64, 2, (const int64_t[]){rows, columns});
}

sc_expr wl_scale(double k, sc_expr a) {
  return sc_mul(sc_like(a, k), a);
}

sc_expr wl_map(sc_function *stage, int64_t length, const wl_window *windows, size_t n) {
  sc_expr args[16];
  int64_t starts[16], strides[16];
  if (!stage || n > 16) return (sc_expr){0};
  for (size_t k = 0; k < n; k++) {
    args[k] = windows[k].of;
    starts[k] = windows[k].start;
    strides[k] = windows[k].stride;
  }
  return sc_vmap_windows(stage, length, args, n, starts, strides, 0);
}

sc_function *wl_stage(sc_context *cx, const char *name, const sc_named *in, size_t n_in, const char *out,
                      sc_expr value) {
  return sc_function_create(cx, name, in, n_in, SC_OUT({out, value, NULL}));
}

sc_expr wl_rk4(wl_rate rate, sc_expr x, sc_expr u, sc_expr dt, const void *user) {
  sc_expr half = wl_scale(0.5, dt);
  sc_expr k1 = rate(x, u, user);
  sc_expr k2 = rate(sc_add(x, sc_mul(half, k1)), u, user);
  sc_expr k3 = rate(sc_add(x, sc_mul(half, k2)), u, user);
  sc_expr k4 = rate(sc_add(x, sc_mul(dt, k3)), u, user);
  sc_expr sum = sc_add(sc_add(k1, wl_scale(2, k2)), sc_add(wl_scale(2, k3), k4));
  return sc_add(x, sc_mul(sc_div(dt, sc_like(dt, 6)), sum));
}

/* ---- inputs ---- */

/* Volatile intermediates keep each operation rounded: a fused multiply-add changes the 11th digit. */
static double fraction(int64_t i) {
  volatile double product = (double)i * 0.6180339887498949, shifted = 0.5 + product;
  return shifted - floor(shifted);
}

static double between(double lo, double hi, int64_t i) {
  volatile double width = hi - lo, scaled = width * fraction(i);
  return lo + scaled;
}

static void race_car_input(const char *name, int64_t first, int64_t n, double *v) {
  static const double p[11] = {0.1, -0.2, 0.3, 5, 1.5706, 0.05, 230, 4.95, 297.03, 16.665, 0.6784};
  for (int64_t i = 0; i < n; i++) {
    if (name[0] == 'p')
      v[i] = p[i];
    else if (i % 6 == 3)
      v[i] = between(2, 8, first + i);
    else if (i % 6 == 4)
      v[i] = between(-200, 200, first + i);
  }
}

static void chain_input(const wl_problem *p, const char *name, int64_t n, double *v) {
  static const double c[5] = {0.033, 1, 0.033, -9.81, 0.2};
  int64_t masses = p->size[0], positions = 3 * (masses - 1), nx = 3 * (2 * masses - 3);
  bool state = name[0] == 'z';
  for (int64_t i = 0; i < n; i++) {
    int64_t at = state ? i % (nx + 3) : i;
    double rest = at % 3 == 0 ? 7.0 * (double)(at / 3 + 1) / (double)(masses - 1) : 0;
    if (at < positions)
      v[i] = rest + (state ? 0.1 * v[i] : 0);
    else if (!state)
      v[i] = at < nx ? 0 : c[at - nx];
  }
}

static void npmpc_input(const wl_problem *p, double *v) {
  int64_t h = p->size[0], w0 = 4 + 5 + 5 + 2 + 2, w1 = w0 + 9 * h, w2 = w1 + h * h, b2 = w2 + 2 * h;
  for (int64_t i = w0; i < b2; i++) v[i] *= 1 / sqrt(i < w1 ? 9 : (double)h);
}

static void quadrotor_input(const char *name, int64_t n, double *v) {
  for (int64_t i = 0; i < n; i++) {
    int64_t at = name[0] == 'z' ? i % 17 : i;
    if (at >= 3 && at < 7) v[i] = (at == 3 ? 1 : 0) + 0.1 * v[i];
    if (at >= 13) v[i] = 1.2 + 0.2 * v[i];
  }
}

int64_t wl_input(const wl_problem *p, const char *name, int64_t first, int64_t n, double *v) {
  bool seed = !strncmp(name, "lam:", 4) || !strncmp(name, "lam_", 4);
  for (int64_t i = 0; i < n; i++) v[i] = between(-1, 1, first + i);
  if (seed && !strcmp(name + 4, "f")) v[0] = 0.7;
  if (seed) return first + n;
  if (!strcmp(p->workload, "race_car")) race_car_input(name, first, n, v);
  if (!strcmp(p->workload, "chain")) chain_input(p, name, n, v);
  if (!strcmp(p->workload, "npmpc") && name[0] == 'p') npmpc_input(p, v);
  if (!strcmp(p->workload, "quadrotor")) quadrotor_input(name, n, v);
  if (!strcmp(p->workload, "straight") && name[0] == 'x') v[0] = between(1, 2, first);
  return first + n;
}
