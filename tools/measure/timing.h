/* Timing of kernel calls: calibrated repetitions, samples that candidates take in turn, their median and spread. */
#ifndef SCALY_MEASURE_TIMING_H
#define SCALY_MEASURE_TIMING_H

#include "scaly/scaly.h"

double wall_ms(void);
/* Processor time of this process and of those it has waited for. */
double processor_ms(void);

/* Everything one call takes. */
typedef struct timed_call {
  sc_entry entry;
  const void **in;
  void **out;
  void *w;
  int *iw; /* NULL for code of ours */
} timed_call;

/* How many calls fill a sample of `sample_ms`; warms caches, branch predictors and clocks on the way. */
long timing_calibrate(const timed_call *c, double sample_ms);

/* Nanoseconds per call over `calls` calls, after a few untimed ones that bring back what another candidate evicted.
 * Processor time of this thread: what other processes take from the machine does not count. */
double timing_sample(const timed_call *c, long calls);

typedef struct timing {
  double ns;     /* per call, median */
  double spread; /* interquartile range / median */
} timing;
/* Sorts the samples. */
timing timing_of(double *samples, size_t n);
double median_of(double *samples, size_t n);

/* Keeps this thread on one processor of those it may use. False where that is not allowed. */
bool timing_pin(void);

#endif
