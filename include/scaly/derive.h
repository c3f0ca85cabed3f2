/* Derivatives: functions in, functions out. A derivative is an ordinary function: callable, mappable, differentiable
 * again.
 *
 * Methods: forward and reverse accumulation (Griewank and Walther, Evaluating Derivatives, 2nd ed., chapters 3 and 7);
 * compression by coloring (Gebremedhin, Manne and Pothen, What Color Is Your Jacobian?, SIAM Review 47, 2005). */
#ifndef SCALY_DERIVE_H
#define SCALY_DERIVE_H

#include "scaly/function.h"

SC_BEGIN_DECLS

typedef enum sc_request_kind {
  SC_REQUEST_OUTPUT = 0, /* an output of the source function, unchanged */
  SC_REQUEST_FWD,        /* J v; adds the seed input fwd_WRT (one per input of WRT) */
  SC_REQUEST_ADJ,        /* J' w; adds the seed input lam_OF */
  SC_REQUEST_GRAD,       /* gradient of a one-element output, in WRT's shape (several inputs: one vector) */
  SC_REQUEST_JAC,        /* dense, (size OF, size WRT), row-major */
  SC_REQUEST_HESS,       /* dense, symmetric, of a one-element output */
  SC_REQUEST_SPJAC,
  SC_REQUEST_SPHESS,
  SC_REQUEST_LAGHESS, /* Hessian of the sum over all float outputs of <lam_OUT, OUT>; adds the seed inputs lam_OUT */
  SC_REQUEST_SPLAGHESS,
} sc_request_kind;

typedef enum sc_triangle { SC_TRIANGLE_FULL = 0, SC_TRIANGLE_LOWER, SC_TRIANGLE_UPPER } sc_triangle;

/* `of`: an output's name (unused by the Lagrangian Hessians). `wrt`: an input's name, or several joined by '+' ("x+u"):
 * their elements are the columns, in that order. */
typedef struct sc_request {
  sc_request_kind kind;
  const char *of, *wrt;
  sc_triangle triangle; /* sparse Hessians: the stored part */
  sc_layout layout;     /* sparse results: of the stored values */
} sc_request;

#define SC_OUTPUT(of_) ((sc_request){.kind = SC_REQUEST_OUTPUT, .of = (of_)})
#define SC_FWD(of_, wrt_) ((sc_request){.kind = SC_REQUEST_FWD, .of = (of_), .wrt = (wrt_)})
#define SC_ADJ(of_, wrt_) ((sc_request){.kind = SC_REQUEST_ADJ, .of = (of_), .wrt = (wrt_)})
#define SC_GRAD(of_, wrt_) ((sc_request){.kind = SC_REQUEST_GRAD, .of = (of_), .wrt = (wrt_)})
#define SC_JAC(of_, wrt_) ((sc_request){.kind = SC_REQUEST_JAC, .of = (of_), .wrt = (wrt_)})
#define SC_HESS(of_, wrt_) ((sc_request){.kind = SC_REQUEST_HESS, .of = (of_), .wrt = (wrt_)})
#define SC_SPJAC(of_, wrt_) ((sc_request){.kind = SC_REQUEST_SPJAC, .of = (of_), .wrt = (wrt_)})
#define SC_SPHESS(of_, wrt_, triangle_)                                                                                \
  ((sc_request){.kind = SC_REQUEST_SPHESS, .of = (of_), .wrt = (wrt_), .triangle = (triangle_)})
#define SC_LAGHESS(wrt_) ((sc_request){.kind = SC_REQUEST_LAGHESS, .wrt = (wrt_)})
#define SC_SPLAGHESS(wrt_, triangle_)                                                                                  \
  ((sc_request){.kind = SC_REQUEST_SPLAGHESS, .wrt = (wrt_), .triangle = (triangle_)})

/* Reads "grad:f:x", "spjac:eq:x+u", "spjac:eq:x:csr", "splaghess:z:lower", "sphess:f:z:upper:coo" or an output's name:
 * KIND:OF:WRT, without OF for the Lagrangian Hessians, then triangle and layout of sparse ones. The strings of `*out` point into `text`'s
 * copy, owned by the context. */
SC_API sc_status sc_request_parse(sc_context *cx, const char *text, sc_request *out);

/* Derivatives at ties of minimum, maximum and the max and min reductions. */
typedef enum sc_nonsmooth { SC_NONSMOOTH_SPLIT = 0, SC_NONSMOOTH_FIRST, SC_NONSMOOTH_ERROR } sc_nonsmooth;

typedef struct sc_options {
  sc_nonsmooth nonsmooth; /* error: differentiating a piecewise operation is refused */
  bool strict_nan;        /* simplification uses exact rules only; the derived function records it */
} sc_options;

/* One function of the source's inputs, followed by the seeds that the requests need, and one output per request (names
 * as the request strings with '_' for ':': grad_f_x, spjac_eq_x_u, sphess_gamma_z_z). NULL on failure; unknown names
 * list the known ones. `name` NULL: the source's name, with _<first derivative output> appended when a derivative is
 * among the requests. */
SC_API sc_function *sc_function_derive(sc_function *f, const char *name, const sc_request *requests, size_t n,
                                       const sc_options *options);

/* A copy of f whose derivatives are what jvp or vjp compute (at least one is given): in calls, in maps, and when it is
 * itself the source of requests. Its values are f's. Let f have the inputs x, of which the differentiable ones have
 * tangents, and the float outputs y.
 *
 * jvp: inputs are x, then a tangent of every differentiable input, in its shape; outputs are J v, a tangent per y.
 *
 * vjp: inputs are x, then an adjoint of every y, in its shape; outputs are J' w, an adjoint per differentiable input.
 *
 * Ports go by position, names do not matter. Both must be linear in what follows x; one alone serves both modes,
 * through its own adjoint. Second derivatives differentiate them in turn, and a Hessian takes one triangle of what they
 * say.
 *
 * `pattern`: one that holds every nonzero of the Jacobian of all y by all differentiable inputs, each behind the other.
 * NULL: what jvp (without it, vjp) depends on. NULL on failure: a port that does not fit is named. Printed text holds
 * all of it. */
SC_API sc_function *sc_custom_derivative(sc_function *f, sc_function *jvp, sc_function *vjp, const sc_pattern *pattern);
/* What a function brings along, NULL: nothing. */
SC_API sc_function *sc_function_jvp(const sc_function *f);
SC_API sc_function *sc_function_vjp(const sc_function *f);

/* One request each, under the default name. */
SC_API sc_function *sc_gradient(sc_function *f, const char *of, const char *wrt, const sc_options *options);
SC_API sc_function *sc_jacobian(sc_function *f, const char *of, const char *wrt, const sc_options *options);
SC_API sc_function *sc_hessian(sc_function *f, const char *of, const char *wrt, const sc_options *options);

SC_END_DECLS

#endif
