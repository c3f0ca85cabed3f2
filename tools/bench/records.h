/* The measurements of kernels that a run has taken, kept for what is said about all of them together. */
#ifndef SCALY_BENCH_RECORDS_H
#define SCALY_BENCH_RECORDS_H

#include <stdio.h>

#include "tools/bench/bench.h"

typedef struct record {
  char workload[16], size[64], kernel[24], way[16], tier[48], gate[256];
  int64_t sizes[WL_MAX_SIZES];
  double graph_ms, lower_ms, compile_ms, first_ms, ns, spread;
  int64_t code_bytes, ops, math_calls, accesses;
} record;

typedef struct records {
  record *all;
  size_t n, room;
} records;

void add_record(records *r, const measurement *m, const wl_problem *p);
void free_records(records *r);
bool same_kernel(const record *a, const record *b);
/* The least time among the rows of the kernel of `like` whose way is one of two; NULL without one. `other` may be NULL.
 */
const record *best_of(const records *r, const record *like, const char *way, const char *other);
/* Calls `each` for the first row of every kernel. */
void for_each_kernel(const records *r, void (*each)(const records *r, const record *first, void *user), void *user);

/* Our C against kernels written by hand, in process against our C: a line per kernel and the means. */
void print_ratios(const records *r, FILE *to);
/* A table for the README: a row per kernel. */
void print_markdown(const settings *s, const records *r, FILE *to);
/* Where the time goes: what each kernel does per call, beside its times. */
void print_profile(const settings *s, const records *r, FILE *to);
/* The bar of the workloads page, as far as the kernels that were measured tell. */
void print_bar(const records *r, FILE *to);
/* Each pass switched off, by the time with all of them. */
void print_passes(const records *r, FILE *to);
/* Reads the lines of an earlier run and prints every kernel that became slower by more than the noise of both. The
 * number of those, or -1 when the file cannot be read. */
int compare_with_earlier(const records *r, const char *file, FILE *to);
/* The whole run as one HTML file that needs no network. */
bool write_report(const settings *s, const records *r, const char *file);

#endif
