/* The ways of running a derived function in these tests: the reference evaluator, the JIT and the system's compilers.
 */
#ifndef SCALY_TESTS_AD_WAYS_H
#define SCALY_TESTS_AD_WAYS_H

#include "scaly/scaly.h"

enum { WAY_MAX_VALUES = 4096 };

/* Runs f on the concatenated input values and writes the concatenated output values, all float64. Way 0 is the
 * evaluator; then the JIT, gcc and clang as far as they are there. False: that way is missing here. Fails the test on
 * an error. */
bool way_run(sc_function *f, int way, const double *in, double *out);
enum { N_WAYS = 4 };
extern const char *const way_names[N_WAYS];

/* The function derived by requests as the command spells them, e.g. {"f", "grad:f:x"}; fails the test when refused. */
sc_function *way_derive(sc_function *f, const char *const *requests, int n, const sc_options *options);

#endif
