/* Owns the optimal control problems: multiple shooting with mapped stages. */
#include "tests/data/workloads/parts.h"

/* eq = [x_0 - xbar; residuals of the stages] and f, as functions of z and p. */
static sc_function *control_problem(sc_context *cx, const char *name, sc_expr z, sc_expr p, int64_t nx,
                                    sc_expr residuals, sc_expr f) {
  sc_expr start = sc_sub(sc_span(z, 0, nx), sc_span(p, 0, nx));
  return sc_function_create(cx, name, SC_IN({"z", z, NULL}, {"p", p, NULL}),
                            SC_OUT({"f", f, NULL}, {"eq", WL_CONCAT(start, residuals), NULL}));
}

/* ---- race_car ---- */

enum { CAR_X = 4, CAR_U = 2, CAR_STAGE = CAR_X + CAR_U };

static sc_expr car_rate(sc_expr x, sc_expr u, const void *user) {
  const sc_expr *c = user;
  sc_expr length = sc_at(*c, 0), mass = sc_at(*c, 2), cm = sc_at(*c, 3);
  sc_expr cr0 = sc_at(*c, 4), cr1 = sc_at(*c, 5), cr2 = sc_at(*c, 6);
  sc_expr phi = sc_at(x, 2), v = sc_at(x, 3), throttle = sc_at(u, 0);
  sc_expr beta = wl_scale(0.5, sc_at(u, 1)), vx = sc_mul(v, sc_cos(beta)), heading = sc_add(phi, beta);
  sc_expr drag = sc_add(sc_add(cr0, sc_mul(cr1, vx)), sc_mul(cr2, sc_square(vx)));
  sc_expr force = sc_sub(sc_mul(cm, throttle), sc_mul(drag, sc_tanh(wl_scale(10, vx))));
  return WL_STACK(sc_mul(v, sc_cos(heading)), sc_mul(v, sc_sin(heading)),
                  sc_div(sc_mul(v, sc_sin(beta)), wl_scale(0.5, length)), sc_div(force, mass));
}

/* [x_k u_k x_{k+1}] -> F(x_k, u_k, c) - x_{k+1} */
static sc_function *car_stage(sc_context *cx) {
  sc_expr w = wl_vector(cx, "w", CAR_STAGE + CAR_X), c = wl_vector(cx, "c", 7);
  sc_expr next = wl_rk4(car_rate, sc_span(w, 0, CAR_X), sc_span(w, CAR_X, CAR_STAGE), sc_at(c, 1), &c);
  return wl_stage(cx, "stage", SC_IN({"w", w, NULL}, {"c", c, NULL}), "r",
                  sc_sub(next, sc_span(w, CAR_STAGE, CAR_STAGE + CAR_X)));
}

static sc_function *car_cost(sc_context *cx) {
  sc_expr w = wl_vector(cx, "w", CAR_STAGE);
  sc_expr position = sc_add(sc_square(sc_at(w, 0)), sc_square(sc_at(w, 1)));
  sc_expr speed = sc_square(sc_sub(sc_at(w, 3), sc_scalar(cx, 5)));
  sc_expr state = sc_add(sc_add(position, wl_scale(0.5, sc_square(sc_at(w, 2)))), wl_scale(0.1, speed));
  sc_expr input = sc_add(wl_scale(0.5e-4, sc_square(sc_at(w, 4))), wl_scale(0.5, sc_square(sc_at(w, 5))));
  return wl_stage(cx, "cost", SC_IN({"w", w, NULL}), "l", sc_add(wl_scale(0.5, state), input));
}

sc_function *wl_race_car(sc_context *cx, const wl_problem *problem, const char *kernel) {
  (void)kernel;
  int64_t n = problem->size[0];
  sc_expr z = wl_vector(cx, "z", CAR_STAGE * (n + 1)), p = wl_vector(cx, "p", CAR_X + 7);
  sc_expr residuals = wl_map(car_stage(cx), n, (const wl_window[]){{z, 0, CAR_STAGE}, {p, CAR_X, 0}}, 2);
  sc_expr f = sc_sum(wl_map(car_cost(cx), n + 1, (const wl_window[]){{z, 0, CAR_STAGE}}, 1));
  return control_problem(cx, "race_car", z, p, CAR_X, residuals, f);
}

/* ---- chain ---- */

typedef struct chain_parts {
  int64_t masses;
  sc_function *acceleration;
  sc_expr c; /* m, D, l, g, dt */
} chain_parts;

/* Link force per mass: (D/m) (1 - l/|d|) d. */
static sc_expr link(sc_expr d, sc_expr c) {
  sc_expr stretch = sc_sub(sc_like(d, 1), sc_div(sc_at(c, 2), sc_norm_2(d)));
  return sc_mul(sc_mul(sc_div(sc_at(c, 1), sc_at(c, 0)), stretch), d);
}

/* Three neighbouring positions -> acceleration of the middle one. */
static sc_function *chain_acceleration(sc_context *cx) {
  sc_expr q = wl_vector(cx, "q", 9), c = wl_vector(cx, "c", 4);
  sc_expr left = sc_sub(sc_span(q, 3, 6), sc_span(q, 0, 3)), right = sc_sub(sc_span(q, 6, 9), sc_span(q, 3, 6));
  sc_expr zero = sc_scalar(cx, 0), gravity = WL_STACK(zero, zero, sc_at(c, 3));
  return wl_stage(cx, "acceleration", SC_IN({"q", q, NULL}, {"c", c, NULL}), "a",
                  sc_add(sc_sub(link(right, c), link(left, c)), gravity));
}

static sc_expr chain_rate(sc_expr x, sc_expr u, const void *user) {
  const chain_parts *parts = user;
  int64_t moving = parts->masses - 2, positions = 3 * (moving + 1);
  sc_expr anchored = WL_CONCAT(sc_zeros(parts->c.cx, SC_FLOAT64, 1, (const int64_t[]){3}), sc_span(x, 0, positions));
  sc_expr a = wl_map(parts->acceleration, moving, (const wl_window[]){{anchored, 0, 3}, {parts->c, 0, 0}}, 2);
  return WL_CONCAT(sc_span(x, positions, positions + 3 * moving), u, a);
}

static sc_function *chain_stage(sc_context *cx, int64_t masses, int64_t nx) {
  sc_expr w = wl_vector(cx, "w", nx + 3 + nx), c = wl_vector(cx, "c", 5);
  chain_parts parts = {masses, chain_acceleration(cx), c};
  sc_expr next = wl_rk4(chain_rate, sc_span(w, 0, nx), sc_span(w, nx, nx + 3), sc_at(c, 4), &parts);
  sc_function *stage =
      wl_stage(cx, "stage", SC_IN({"w", w, NULL}, {"c", c, NULL}), "r", sc_sub(next, sc_span(w, nx + 3, nx + 3 + nx)));
  /* Short chains are worth straight-line code past the automatic budget: as loops, their Hessian's seeds multiply
   * zeros. */
  if (stage && masses <= 5) sc_function_set_hint(stage, SC_HINT_SCALAR);
  return stage;
}

static sc_expr chain_miss(sc_expr x, int64_t masses) {
  int64_t end = 3 * (masses - 1);
  double r[3] = {0.75, 0, 0};
  return sc_sumsqr(sc_sub(sc_span(x, end - 3, end), sc_const(x.cx, SC_FLOAT64, 1, (const int64_t[]){3}, r)));
}

static sc_function *chain_cost(sc_context *cx, int64_t masses, int64_t nx) {
  sc_expr w = wl_vector(cx, "w", nx + 3);
  sc_expr speed = sc_sumsqr(sc_span(w, 3 * (masses - 1), nx)), input = sc_sumsqr(sc_span(w, nx, nx + 3));
  sc_expr l = sc_add(sc_add(wl_scale(2.5, chain_miss(w, masses)), wl_scale(25, speed)), wl_scale(0.1, input));
  return wl_stage(cx, "cost", SC_IN({"w", w, NULL}), "l", l);
}

sc_function *wl_chain(sc_context *cx, const wl_problem *problem, const char *kernel) {
  (void)kernel;
  int64_t masses = problem->size[0], n = problem->size[1], nx = 3 * (2 * masses - 3);
  sc_expr z = wl_vector(cx, "z", n * (nx + 3) + nx), p = wl_vector(cx, "p", nx + 5);
  sc_expr residuals = wl_map(chain_stage(cx, masses, nx), n, (const wl_window[]){{z, 0, nx + 3}, {p, nx, 0}}, 2);
  sc_expr costs = sc_sum(wl_map(chain_cost(cx, masses, nx), n, (const wl_window[]){{z, 0, nx + 3}}, 1));
  sc_expr last = sc_span(z, n * (nx + 3), n * (nx + 3) + nx);
  sc_expr f = sc_add(wl_scale(0.5 / (double)n, costs), wl_scale(5, chain_miss(last, masses)));
  return control_problem(cx, "chain", z, p, nx, residuals, f);
}

/* ---- npmpc ---- */

enum { NP_X = 4, NP_FEATURES = 5, NP_IN = 9 };

/* The stage's inputs beside the state: where each lies in p, and its shape. */
typedef struct np_param {
  const char *name;
  int rank;
  int64_t shape[2];
} np_param;
enum { NP_S, NP_B, NP_SI, NP_BI, NP_W0, NP_W1, NP_W2, NP_B2, NP_CODE, NP_PARAMS };

static void np_params(int64_t h, np_param out[NP_PARAMS]) {
  const np_param table[NP_PARAMS] = {{"s", 1, {NP_FEATURES, 1}}, {"b", 1, {NP_FEATURES, 1}}, {"si", 1, {2, 1}},
                                     {"bi", 1, {2, 1}},          {"W0", 2, {h, NP_IN}},      {"W1", 2, {h, h}},
                                     {"W2", 2, {2, h}},          {"b2", 1, {2, 1}},          {"code", 1, {4, 1}}};
  for (int k = 0; k < NP_PARAMS; k++) out[k] = table[k];
}

static sc_expr np_step(sc_expr x, sc_expr tau, const sc_expr q[NP_PARAMS]) {
  sc_expr th = sc_at(x, 0), rates = sc_span(x, 2, 4);
  sc_expr features = WL_CONCAT(WL_STACK(sc_sin(th), sc_cos(th)), rates, tau);
  sc_expr y = sc_add(sc_mul(q[NP_S], features), q[NP_B]);
  sc_expr h1 = sc_sigmoid(sc_matmul(q[NP_W0], WL_CONCAT(y, q[NP_CODE]))), h2 = sc_sigmoid(sc_matmul(q[NP_W1], h1));
  sc_expr o = sc_add(sc_mul(sc_add(sc_matmul(q[NP_W2], h2), q[NP_B2]), q[NP_SI]), q[NP_BI]);
  return sc_add(x, WL_CONCAT(wl_scale(0.02, sc_add(rates, wl_scale(0.5, o))), o));
}

static sc_function *np_stage(sc_context *cx, const np_param params[NP_PARAMS]) {
  sc_expr w = wl_vector(cx, "w", 2 * NP_X), tau = wl_vector(cx, "tau", 1), q[NP_PARAMS];
  sc_named in[2 + NP_PARAMS] = {{"w", w, NULL}, {"tau", tau, NULL}};
  for (int k = 0; k < NP_PARAMS; k++) {
    q[k] = sc_input(cx, params[k].name, SC_FLOAT64, params[k].rank, params[k].shape);
    in[2 + k] = (sc_named){params[k].name, q[k], NULL};
  }
  sc_expr residual = sc_sub(np_step(sc_span(w, 0, NP_X), tau, q), sc_span(w, NP_X, 2 * NP_X));
  return wl_stage(cx, "stage", in, 2 + NP_PARAMS, "r", residual);
}

static sc_function *np_cost(sc_context *cx) {
  sc_expr x = wl_vector(cx, "x", NP_X);
  sc_expr angle = sc_square(wl_scale(2, sc_sin(wl_scale(0.5, sc_at(x, 0)))));
  sc_expr positions = sc_add(wl_scale(2.5, angle), wl_scale(1.5, sc_square(sc_at(x, 1))));
  sc_expr rates = sc_add(wl_scale(0.005, sc_square(sc_at(x, 2))), wl_scale(0.01, sc_square(sc_at(x, 3))));
  return wl_stage(cx, "cost", SC_IN({"x", x, NULL}), "l", sc_add(positions, rates));
}

sc_function *wl_npmpc(sc_context *cx, const wl_problem *problem, const char *kernel) {
  (void)kernel;
  int64_t h = problem->size[0], n = problem->size[1], states = NP_X * (n + 1), at = NP_X;
  np_param params[NP_PARAMS];
  np_params(h, params);
  sc_expr z = wl_vector(cx, "z", states + n), p;
  int64_t total = NP_X;
  for (int k = 0; k < NP_PARAMS; k++) total += params[k].shape[0] * params[k].shape[1];
  p = wl_vector(cx, "p", total);
  wl_window windows[2 + NP_PARAMS] = {{z, 0, NP_X}, {z, states, 1}};
  for (int k = 0; k < NP_PARAMS; k++) {
    windows[2 + k] = (wl_window){p, at, 0};
    at += params[k].shape[0] * params[k].shape[1];
  }
  sc_expr residuals = wl_map(np_stage(cx, params), n, windows, 2 + NP_PARAMS);
  sc_expr costs = sc_sum(wl_map(np_cost(cx), n + 1, (const wl_window[]){{z, 0, NP_X}}, 1));
  sc_expr f = sc_add(costs, sc_sumsqr(sc_span(z, states, states + n)));
  return control_problem(cx, "npmpc", z, p, NP_X, residuals, f);
}

/* ---- quadrotor ---- */

enum { QUAD_X = 13, QUAD_U = 4, QUAD_STAGE = QUAD_X + QUAD_U };

/* 0.5 q * (0, w), Hamilton's product. */
static sc_expr quaternion_rate(const sc_expr q[4], const sc_expr w[3]) {
  sc_expr re = sc_neg(sc_add(sc_add(sc_mul(q[1], w[0]), sc_mul(q[2], w[1])), sc_mul(q[3], w[2])));
  sc_expr i = sc_sub(sc_add(sc_mul(q[0], w[0]), sc_mul(q[2], w[2])), sc_mul(q[3], w[1]));
  sc_expr j = sc_add(sc_sub(sc_mul(q[0], w[1]), sc_mul(q[1], w[2])), sc_mul(q[3], w[0]));
  sc_expr k = sc_sub(sc_add(sc_mul(q[0], w[2]), sc_mul(q[1], w[1])), sc_mul(q[2], w[0]));
  return wl_scale(0.5, WL_STACK(re, i, j, k));
}

/* R(q) (0, 0, 1), q not normalized. */
static sc_expr thrust_axis(const sc_expr q[4]) {
  return WL_STACK(wl_scale(2, sc_add(sc_mul(q[1], q[3]), sc_mul(q[0], q[2]))),
                  wl_scale(2, sc_sub(sc_mul(q[2], q[3]), sc_mul(q[0], q[1]))),
                  sc_sub(sc_like(q[0], 1), wl_scale(2, sc_add(sc_square(q[1]), sc_square(q[2])))));
}

static sc_expr quad_rate(sc_expr x, sc_expr u, const void *user) {
  (void)user;
  sc_context *cx = x.cx;
  const double inertia[3] = {0.0023, 0.0023, 0.004}, gravity[3] = {0, 0, -9.81}, mass = 0.5, arm = 0.17, drag = 0.016;
  const int64_t three = 3;
  sc_expr q[4], w[3], f[4], j = sc_const(cx, SC_FLOAT64, 1, &three, inertia), rates = sc_span(x, 10, 13);
  for (int k = 0; k < 4; k++) q[k] = sc_at(x, 3 + k), f[k] = sc_at(u, k);
  for (int k = 0; k < 3; k++) w[k] = sc_at(x, 10 + k);
  sc_expr torque = WL_STACK(wl_scale(arm, sc_sub(f[1], f[3])), wl_scale(arm, sc_sub(f[2], f[0])),
                            wl_scale(drag, sc_sub(sc_add(sc_sub(f[0], f[1]), f[2]), f[3])));
  sc_expr push = sc_div(sc_sum(u), sc_scalar(cx, mass));
  sc_expr vdot = sc_add(sc_const(cx, SC_FLOAT64, 1, &three, gravity), sc_mul(thrust_axis(q), push));
  sc_expr wdot = sc_div(sc_sub(torque, sc_cross(rates, sc_mul(j, rates))), j);
  return WL_CONCAT(sc_span(x, 7, 10), quaternion_rate(q, w), vdot, wdot);
}

static sc_function *quad_stage(sc_context *cx) {
  sc_expr w = wl_vector(cx, "w", QUAD_STAGE + QUAD_X);
  sc_expr next = wl_rk4(quad_rate, sc_span(w, 0, QUAD_X), sc_span(w, QUAD_X, QUAD_STAGE), sc_scalar(cx, 0.05), NULL);
  sc_function *stage =
      wl_stage(cx, "stage", SC_IN({"w", w, NULL}), "r", sc_sub(next, sc_span(w, QUAD_STAGE, QUAD_STAGE + QUAD_X)));
  if (stage) sc_function_set_hint(stage, SC_HINT_SCALAR); /* its Hessian is past the automatic budget, as a chain's */
  return stage;
}

sc_function *wl_quadrotor(sc_context *cx, const wl_problem *problem, const char *kernel) {
  (void)kernel;
  int64_t n = problem->size[0];
  sc_expr z = wl_vector(cx, "z", n * QUAD_STAGE + QUAD_X), p = wl_vector(cx, "p", QUAD_X);
  sc_expr residuals = wl_map(quad_stage(cx), n, (const wl_window[]){{z, 0, QUAD_STAGE}}, 1);
  return control_problem(cx, "quadrotor", z, p, QUAD_X, residuals, wl_scale(0.5, sc_sumsqr(z)));
}
