/* What the differential tests share: buffers with guard pages, reproducible values, and one check that takes a function
 * through the oracles and every way of compiling it. */
#ifndef SCALY_TESTS_DIFF_H
#define SCALY_TESTS_DIFF_H

#include "tests/oracle/oracle.h"

/* ---- reproducible randomness: splitmix64 ---- */

typedef struct rng {
  uint64_t state;
} rng;
uint64_t rng_next(rng *r);
int64_t rng_below(rng *r, int64_t n); /* 0 .. n - 1 */
bool rng_chance(rng *r, int percent);
double rng_real(rng *r); /* in [0, 1) */

/* ---- buffers of a function; each ends at a page that cannot be touched ---- */

typedef struct diff_io {
  const sc_function *f;
  size_t n_in, n_out;
  void **in, **out;
} diff_io;
diff_io diff_io_open(const sc_function *f);
void diff_io_close(diff_io *io);
/* Inputs: moderate numbers, with zeros, ones and repeated values now and then. Depends on the seed, the input's name
 * and the element only. */
void diff_io_fill(diff_io *io, uint64_t seed);
void diff_io_clear_outputs(diff_io *io); /* bytes that no result has by accident */
const void *const *diff_in(const diff_io *io);

/* Memory that ends at a guard page. */
void *diff_alloc(size_t bytes);
void diff_free(void *p, size_t bytes);

/* ---- ways of compiling ---- */

/* Tiers best and fast; compilers; gcc with plain C. */
typedef enum diff_way { DIFF_JIT, DIFF_FAST, DIFF_GCC, DIFF_CLANG, DIFF_PLAIN, DIFF_WAYS } diff_way;
const char *diff_way_name(diff_way way);
bool diff_way_exists(diff_way way);                                               /* in this build, on this machine */
sc_kernel *diff_compile(diff_way way, const sc_program *p, const char *optimize); /* optimize: "-O1", ...; NULL: -O2 */
sc_program *diff_lower(const sc_function *f, sc_rounding rounding, const char *passes);

/* ---- the check ---- */

typedef struct diff_checks {
  bool way[DIFF_WAYS];
  bool toggles; /* the pipeline without each of its passes, one at a time */
  bool text;    /* print, parse, print: function and program */
  const char *optimize;
} diff_checks;

/* Expression oracle = program oracle before, between and after passes, forwards and backwards, with strict rounding;
 * compiled code = program oracle under both roundings. All bit for bit. False: why. */
bool diff_check(const sc_function *f, uint64_t data_seed, const diff_checks *checks, char *why, size_t why_size);

/* ---- random functions ---- */

/* The same seed gives the same function. NULL: a builder failed that should not have; the reason is in the context. */
sc_function *diff_random_function(sc_context *cx, uint64_t seed, const char *name);
/* One whose inputs are all float64: for derivatives. */
sc_function *diff_random_smooth(sc_context *cx, uint64_t seed, const char *name);
/* Derivatives of one. */
sc_function *diff_random_derivative(sc_context *cx, uint64_t seed, const char *name);

/* ---- shrinking ---- */

typedef bool (*diff_fails)(const sc_function *f, void *user);
/* A small function that still fails, found by cutting, bypassing and flattening nodes of f and of what it calls. */
sc_function *diff_shrink(sc_function *f, diff_fails fails, void *user);

#endif
