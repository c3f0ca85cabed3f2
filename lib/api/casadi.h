/* The functions that a CasADi module is made of. */
#ifndef SCI_API_CASADI_H
#define SCI_API_CASADI_H

#include "lib/expr/expr.h"
#include "scaly/derive.h"

enum { SCI_CASADI_FUNCTIONS = 4 };

/* f with column-major matrices; with derivatives also jac_F, fwd1_F and adj1_F, named with the prefix in front of F.
 * Returns how many. Inside a frame; refuses what CasADi has no form for. */
size_t sci_casadi_functions(sc_function *f, const char *name, const char *prefix, bool derivatives,
                            sc_function *out[SCI_CASADI_FUNCTIONS]);

#endif
