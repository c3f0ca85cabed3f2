/* The benchmark problems: builders of their functions at any size, their inputs, and right values to compare with.
 *
 * Formulas, constants and the rule of the inputs are those of the workloads design page. */
#ifndef SCALY_TESTS_WORKLOADS_H
#define SCALY_TESTS_WORKLOADS_H

#include "scaly/scaly.h"

enum { WL_MAX_SIZES = 2 };

/* A workload at a size: values in the order of wl_size_name(). A batch of 0 means no batch. */
typedef struct wl_problem {
  const char *workload;
  int64_t size[WL_MAX_SIZES];
} wl_problem;

size_t wl_count(void);
const char *wl_name(size_t i);
/* Size names of a workload ("N"; "M", "N"; ...), NULL past the last. */
const char *wl_size_name(const char *workload, int k);
/* "N=10", "M=5,N=40", "" without sizes. */
const char *wl_size_text(const wl_problem *p, char text[64]);

/* The function of a problem with all its outputs (f and eq; y; ...). `kernel` chooses among the functions of `reduce`
 * (sum, dot, norm) and is ignored elsewhere. NULL on failure, the reason in the context. */
sc_function *wl_function(sc_context *cx, const wl_problem *p, const char *kernel);
/* The same inputs, one output. */
sc_function *wl_value_kernel(sc_function *f, const char *output);

/* The function whose only output is `kernel`: an output's name or a derivative request ("splaghess:z:lower"). */
sc_function *wl_kernel(sc_context *cx, const wl_problem *p, const char *kernel);
bool wl_is_derivative(const char *kernel);
/* How far a value may be from the reference: second derivatives are less exact. */
double wl_tolerance(const char *kernel);

/* The problems kept as text in tests/data/workloads, and the name of each one's file ("chain_M5_N40.scaly"). */
typedef struct wl_stored {
  wl_problem problem;
  const char *kernel; /* as wl_function takes it */
} wl_stored;
size_t wl_stored_count(void);
const wl_stored *wl_stored_at(size_t i);
const char *wl_stored_file(const wl_stored *s, char text[96]);

/* Values of the input `name` by the rule; `first` is the index of its first value over all inputs of the kernel, seeds
 * included
 * ("lam:eq"). Returns the index of the next input. */
int64_t wl_input(const wl_problem *p, const char *name, int64_t first, int64_t n, double *v);

/* ---- right values ---- */

typedef struct wl_checksum {
  int64_t count;
  double sum, sumabs, weighted;
} wl_checksum;
wl_checksum wl_checksum_of(int64_t n, const double *v);

typedef struct wl_reference {
  wl_problem problem;
  char workload[16], kernel[24];
  int n_inputs;
  struct {
    char name[12];
    wl_checksum sum;
  } inputs[8];
  wl_checksum sum; /* of the output's values */
  double *values;  /* NULL: only the sums and the first ones are known */
  double first[8];
  int64_t shape[3];         /* unused trailing entries are 0 */
  bool sparse;              /* nrow, ncol in shape; csc */
  int32_t *colptr, *rowind; /* NULL: only the four sums */
  int64_t rowind_sum, colptr_sum;
  double rowind_weighted, colptr_weighted;
} wl_reference;

typedef struct wl_references {
  size_t n;
  wl_reference *all;
} wl_references;

/* Reads tests/data/workloads/reference.txt. False when it is missing or malformed. */
bool wl_read_references(const char *path, wl_references *out);
void wl_free_references(wl_references *r);
const wl_reference *wl_find_reference(const wl_references *r, const wl_problem *p, const char *kernel);
/* Each value within `tolerance` of the largest of the output (checksums: of the sum of magnitudes). On failure says
 * what differs. */
bool wl_agrees(const wl_reference *r, int64_t n, const double *v, double tolerance, char *why, size_t why_size);
/* Whether a result has the right pattern (NULL: dense). On failure says what differs. */
bool wl_pattern_agrees(const wl_reference *r, const sc_pattern *p, char *why, size_t why_size);

#endif
