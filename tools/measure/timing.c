/* Owns the clock and the statistics of timed calls. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "tools/measure/timing.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#ifdef __linux__
#include <sched.h>
#endif

static double read_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double wall_ms(void) {
  return read_ms(CLOCK_MONOTONIC);
}

double processor_ms(void) {
  struct rusage spawned;
  double own = read_ms(CLOCK_PROCESS_CPUTIME_ID);
  if (getrusage(RUSAGE_CHILDREN, &spawned)) return own;
  return own + 1e3 * (double)(spawned.ru_utime.tv_sec + spawned.ru_stime.tv_sec) +
         1e-3 * (double)(spawned.ru_utime.tv_usec + spawned.ru_stime.tv_usec);
}

static double run(const timed_call *c, long calls) {
  double start = read_ms(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 0; i < calls; i++) c->entry(c->in, c->out, c->iw, c->w, 0);
  return read_ms(CLOCK_THREAD_CPUTIME_ID) - start;
}

long timing_calibrate(const timed_call *c, double sample_ms) {
  long calls = 1;
  double ms = run(c, 1);
  while ((ms = run(c, calls)) < sample_ms / 4) calls *= 2;
  double scaled = (double)calls * sample_ms / ms;
  return scaled < 1 ? 1 : (long)scaled;
}

double timing_sample(const timed_call *c, long calls) {
  run(c, 1 + calls / 8);
  return run(c, calls) * 1e6 / (double)calls;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median_of(double *samples, size_t n) {
  qsort(samples, n, sizeof *samples, by_value);
  return n % 2 ? samples[n / 2] : 0.5 * (samples[n / 2 - 1] + samples[n / 2]);
}

timing timing_of(double *samples, size_t n) {
  double median = median_of(samples, n);
  return (timing){median, median > 0 ? (samples[3 * n / 4] - samples[n / 4]) / median : 0};
}

bool timing_pin(void) {
#ifdef __linux__
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return false;
  CPU_ZERO(&one);
  for (size_t cpu = CPU_SETSIZE; cpu--;) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }
#endif
  return false;
}
