/* Owns the arm's kinematics and the micro-kernels that isolate one mechanism each. */
#include <stdlib.h>
#include <string.h>

#include "tests/data/workloads/parts.h"

/* ---- arm7 ---- */

typedef struct dh_row {
  double a, d;
  int cos_alpha, sin_alpha;
} dh_row;

static const dh_row arm_rows[7] = {{0, .333, 1, 0},       {0, 0, 0, -1}, {0, .316, 0, 1}, {.0825, 0, 0, 1},
                                   {-.0825, .384, 0, -1}, {0, 0, 0, 1},  {.088, 0, 0, 1}};
static const double arm_flange = .107;

/* Sum of c[k] * v[k] over the nonzero coefficients; null expression when there are none. */
static sc_expr combine(const double *c, const sc_expr *v, int n) {
  sc_expr sum = {0};
  bool any = false;
  for (int k = 0; k < n; k++) {
    if (c[k] == 0) continue;
    sc_expr term = c[k] == 1 ? v[k] : c[k] == -1 ? sc_neg(v[k]) : wl_scale(c[k], v[k]);
    sum = any ? sc_add(sum, term) : term;
    any = true;
  }
  return sum;
}

/* Position and rotation so far, the rotation by columns. */
typedef struct arm_frame {
  sc_expr p[3], column[3][3];
} arm_frame;

/* Appends Rx(alpha) Tx(a) Rz(q) Tz(d). */
static void arm_joint(arm_frame *t, const dh_row *row, sc_expr q) {
  sc_expr c = sc_cos(q), s = sc_sin(q);
  for (int i = 0; i < 3; i++) {
    sc_expr y = t->column[1][i], z = t->column[2][i], yz[2] = {y, z};
    sc_expr tilted_y = combine((const double[]){row->cos_alpha, row->sin_alpha}, yz, 2);
    sc_expr tilted_z = combine((const double[]){-row->sin_alpha, row->cos_alpha}, yz, 2);
    sc_expr x = t->column[0][i];
    t->p[i] = combine((const double[]){1, row->a, row->d}, (const sc_expr[]){t->p[i], x, tilted_z}, 3);
    t->column[0][i] = sc_add(sc_mul(c, x), sc_mul(s, tilted_y));
    t->column[1][i] = sc_sub(sc_mul(c, tilted_y), sc_mul(s, x));
    t->column[2][i] = tilted_z;
  }
}

static sc_function *arm(sc_context *cx) {
  sc_expr q = wl_vector(cx, "q", 7), y[12];
  arm_frame t;
  for (int i = 0; i < 3; i++) {
    t.p[i] = sc_scalar(cx, 0);
    for (int k = 0; k < 3; k++) t.column[k][i] = sc_scalar(cx, i == k);
  }
  for (int k = 0; k < 7; k++) arm_joint(&t, &arm_rows[k], sc_at(q, k));
  for (int i = 0; i < 3; i++) {
    y[i] = sc_add(t.p[i], wl_scale(arm_flange, t.column[2][i]));
    for (int k = 0; k < 3; k++) y[3 + 3 * i + k] = t.column[k][i];
  }
  return wl_stage(cx, "arm7", SC_IN({"q", q, NULL}), "y", sc_stack(y, 12, 0));
}

/* The batch's Jacobian is the one of a single arm, mapped: B x 12 x 7, not the (12 B) x (7 B) matrix of the mapped
 * function. */
sc_function *wl_arm7(sc_context *cx, const wl_problem *p, const char *kernel) {
  int64_t batch = p->size[0];
  sc_function *one = arm(cx);
  if (!batch || !one) return one;
  if (kernel && !strcmp(kernel, "jac:y:q")) {
    sc_function *jacobian = sc_jacobian(one, "y", "q", NULL);
    sc_expr q = wl_matrix(cx, "q", batch, 7);
    return jacobian ? wl_stage(cx, "arm7_batch", SC_IN({"q", q, NULL}), "jac_y_q", sc_vmap(jacobian, batch, &q, 1, 0))
                    : NULL;
  }
  sc_expr q = wl_matrix(cx, "q", batch, 7);
  return wl_stage(cx, "arm7_batch", SC_IN({"q", q, NULL}), "y", sc_vmap(one, batch, &q, 1, 0));
}

/* ---- micro-kernels ---- */

sc_function *wl_wave(sc_context *cx, const wl_problem *p, const char *kernel) {
  (void)kernel;
  sc_expr x = wl_vector(cx, "x", p->size[0]);
  sc_expr y = sc_mul(sc_sin(x), sc_exp(sc_neg(sc_square(x))));
  return sc_function_create(cx, "wave", SC_IN({"x", x, NULL}), SC_OUT({"y", y, NULL}, {"s", sc_sum(y), NULL}));
}

sc_function *wl_rosen(sc_context *cx, const wl_problem *p, const char *kernel) {
  (void)kernel;
  int64_t n = p->size[0];
  sc_expr x = wl_vector(cx, "x", n), head = sc_span(x, 0, n - 1), tail = sc_span(x, 1, n);
  sc_expr curve = wl_scale(100, sc_square(sc_sub(tail, sc_square(head)))),
          slope = sc_square(sc_sub(sc_like(x, 1), head));
  return wl_stage(cx, "rosen", SC_IN({"x", x, NULL}), "f", sc_sum(sc_add(curve, slope)));
}

sc_function *wl_mlp(sc_context *cx, const wl_problem *p, const char *kernel) {
  (void)kernel;
  enum { IN = 64, HIDDEN = 128, OUT = 64 };
  int64_t batch = p->size[0];
  sc_expr x = batch > 1 ? wl_matrix(cx, "x", batch, IN) : wl_vector(cx, "x", IN);
  sc_expr w1 = wl_matrix(cx, "W1", HIDDEN, IN), b1 = wl_vector(cx, "b1", HIDDEN);
  sc_expr w2 = wl_matrix(cx, "W2", OUT, HIDDEN), b2 = wl_vector(cx, "b2", OUT), hidden, y;
  if (batch > 1) {
    hidden = sc_tanh(sc_add(sc_matmul(x, sc_transpose(w1)), b1));
    y = sc_tanh(sc_add(sc_matmul(hidden, sc_transpose(w2)), b2));
  } else {
    hidden = sc_tanh(sc_add(sc_matmul(w1, x), b1));
    y = sc_tanh(sc_add(sc_matmul(w2, hidden), b2));
  }
  return wl_stage(
      cx, "mlp", SC_IN({"x", x, NULL}, {"W1", w1, NULL}, {"b1", b1, NULL}, {"W2", w2, NULL}, {"b2", b2, NULL}), "y", y);
}

sc_function *wl_matmul(sc_context *cx, const wl_problem *p, const char *kernel) {
  (void)kernel;
  int64_t n = p->size[0];
  sc_expr a = wl_matrix(cx, "A", n, n), b = wl_matrix(cx, "B", n, n);
  return wl_stage(cx, "matmul", SC_IN({"A", a, NULL}, {"B", b, NULL}), "C", sc_matmul(a, b));
}

sc_function *wl_reduce(sc_context *cx, const wl_problem *p, const char *kernel) {
  sc_expr x = wl_vector(cx, "x", p->size[0]);
  char first = kernel ? kernel[0] : 's';
  if (first == 'd') {
    sc_expr y = wl_vector(cx, "y", p->size[0]);
    return wl_stage(cx, "reduce_dot", SC_IN({"x", x, NULL}, {"y", y, NULL}), "dot", sc_dot(x, y));
  }
  if (first == 'n') return wl_stage(cx, "reduce_norm", SC_IN({"x", x, NULL}), "norm", sc_norm_2(x));
  return wl_stage(cx, "reduce_sum", SC_IN({"x", x, NULL}), "sum", sc_sum(x));
}

sc_function *wl_straight(sc_context *cx, const wl_problem *p, const char *kernel) {
  (void)kernel;
  int64_t n = p->size[0] / 4;
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL), w = wl_vector(cx, "w", n), z = x;
  sc_expr *y = calloc((size_t)n, sizeof *y);
  if (!y) return NULL;
  for (int64_t k = 0; k < n; k++) {
    sc_expr next = sc_add(z, wl_scale(0.3, sc_sin(sc_mul(z, sc_at(w, k)))));
    y[k] = sc_mul(z, next);
    z = next;
  }
  sc_function *f = wl_stage(cx, "straight", SC_IN({"x", x, NULL}, {"w", w, NULL}), "y", sc_stack(y, (size_t)n, 0));
  free(y);
  return f;
}
