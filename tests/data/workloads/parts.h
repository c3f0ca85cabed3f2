/* What the workload builders share: small expressions and integration. */
#ifndef SCALY_TESTS_WORKLOAD_PARTS_H
#define SCALY_TESTS_WORKLOAD_PARTS_H

#include "tests/data/workloads/workloads.h"

#define WL_STACK(...)                                                                                                  \
  sc_stack((const sc_expr[]){__VA_ARGS__}, sizeof((const sc_expr[]){__VA_ARGS__}) / sizeof(sc_expr), 0)
#define WL_CONCAT(...)                                                                                                 \
  sc_concat((const sc_expr[]){__VA_ARGS__}, sizeof((const sc_expr[]){__VA_ARGS__}) / sizeof(sc_expr), 0)

sc_expr wl_vector(sc_context *cx, const char *name, int64_t n);
sc_expr wl_matrix(sc_context *cx, const char *name, int64_t rows, int64_t columns);
sc_expr wl_scale(double k, sc_expr a); /* k * a */

/* One operand of a mapped stage: window i starts at start + i * stride of `of`. */
typedef struct wl_window {
  sc_expr of;
  int64_t start, stride;
} wl_window;
sc_expr wl_map(sc_function *stage, int64_t length, const wl_window *windows, size_t n);
/* A function of one output. */
sc_function *wl_stage(sc_context *cx, const char *name, const sc_named *in, size_t n_in, const char *out,
                      sc_expr value);

/* xdot of the state x and the input u; `user` holds what else it needs. */
typedef sc_expr (*wl_rate)(sc_expr x, sc_expr u, const void *user);
/* One step of the classical Runge-Kutta method of order 4. */
sc_expr wl_rk4(wl_rate rate, sc_expr x, sc_expr u, sc_expr dt, const void *user);

sc_function *wl_race_car(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_chain(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_npmpc(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_quadrotor(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_arm7(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_wave(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_rosen(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_mlp(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_matmul(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_reduce(sc_context *cx, const wl_problem *p, const char *kernel);
sc_function *wl_straight(sc_context *cx, const wl_problem *p, const char *kernel);

#endif
