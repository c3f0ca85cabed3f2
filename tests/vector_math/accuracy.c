/* Compares every vector routine that this machine has and can run with correctly rounded results: its largest error is
 * the one that the table states, or less.
 *
 *   accuracy [--points N] [--scale S] [--measure [--untimed]] [--record FILE | --replay FILE] [OP]
 *
 * --scale multiplies the stated errors, to see the test fail; --measure prints errors and times instead of comparing.
 * --record only writes down what AVX-512's routines give, which is quick under emulation; --replay judges that
 * elsewhere, with the same arguments.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/vector_math/rig.h"

typedef struct setting {
  size_t points;
  double scale;
  bool measure, untimed;
  const char *only;
  FILE *record, *replay;
} setting;

typedef struct tally {
  size_t checked, failed, absent, cannot;
} tally;

/* Arguments and exact results of one operation and type; the second results are those of a sincos. */
typedef struct sample {
  int op;
  sc_dtype dtype;
  size_t n;
  double *x, *y;
  exact *want[2];
  void *in[2], *out[2];
} sample;

static void *room(size_t n, size_t size) {
  void *p = aligned_alloc(64, (n * size + 63) / 64 * 64);
  if (!p) abort();
  return p;
}

static void put(void *at, sc_dtype dtype, size_t i, double v) {
  if (dtype == SC_FLOAT32)
    ((float *)at)[i] = (float)v;
  else
    ((double *)at)[i] = v;
}

static double get(const void *at, sc_dtype dtype, size_t i) {
  return dtype == SC_FLOAT32 ? (double)((const float *)at)[i] : ((const double *)at)[i];
}

static int arity_of(int op) {
  return op == SCI_VECTOR_SINCOS ? 1 : sci_ops[op].arity;
}

static void prepare(sample *s, int op, sc_dtype dtype, size_t n, bool exact_too) {
  bool two = arity_of(op) == 2, both = op == SCI_VECTOR_SINCOS;
  *s = (sample){
      .op = op, .dtype = dtype, .n = n, .x = room(n, sizeof(double)), .y = two ? room(n, sizeof(double)) : NULL};
  make_points(op, dtype, n, s->x, s->y);
  for (int k = 0; k < 2; k++) {
    s->in[k] = room(n, sizeof(double));
    s->out[k] = room(n, sizeof(double));
    s->want[k] = room(n, sizeof(exact));
  }
  for (size_t i = 0; i < n; i++) {
    double y = two ? s->y[i] : 0;
    put(s->in[0], dtype, i, s->x[i]);
    put(s->in[1], dtype, i, y);
    if (!exact_too) continue;
    s->want[0][i] = exact_value(both ? SCI_OP_sin : op, dtype, s->x[i], y);
    if (both) s->want[1][i] = exact_value(SCI_OP_cos, dtype, s->x[i], y);
  }
}

static void drop(sample *s) {
  free(s->x);
  free(s->y);
  for (int k = 0; k < 2; k++) {
    free(s->in[k]);
    free(s->out[k]);
    free(s->want[k]);
  }
}

/* ---- results from another machine: names and arrays, in the table's order ---- */

enum { NAME = sizeof((sci_vector_routine){0}.name) };

static size_t results_of(const sample *s) {
  return s->op == SCI_VECTOR_SINCOS ? 2 : 1;
}

static void write_results(const sample *s, const sci_vector_routine *r, FILE *f) {
  if (fwrite(r->name, NAME, 1, f) != 1) abort();
  for (size_t k = 0; k < results_of(s); k++)
    if (fwrite(s->out[k], sc_dtype_size(s->dtype), s->n, f) != s->n) abort();
}

/* False: the next results in the file are another routine's. */
static bool read_results(const sample *s, const sci_vector_routine *r, FILE *f) {
  char name[NAME];
  long at = ftell(f);
  if (fread(name, NAME, 1, f) != 1 || strncmp(name, r->name, NAME) != 0) {
    fseek(f, at, SEEK_SET);
    return false;
  }
  for (size_t k = 0; k < results_of(s); k++)
    if (fread(s->out[k], sc_dtype_size(s->dtype), s->n, f) != s->n) abort();
  return true;
}

/* The largest error of the results. */
static double worst(const sample *s, size_t *at) {
  double most = 0;
  *at = 0;
  for (int k = 0; k < (s->op == SCI_VECTOR_SINCOS ? 2 : 1); k++)
    for (size_t i = 0; i < s->n; i++) {
      double e = error_of(s->dtype, get(s->out[k], s->dtype, i), s->want[k][i]);
      if (!(e > most)) continue;
      most = e;
      *at = i;
    }
  return most;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nanoseconds per element on ordinary arguments, best of several. */
static double time_of(const sample *s, const sci_vector_routine *r, void (*address)(void)) {
  enum { N = 1024, ROUNDS = 25, CALLS = 20 };
  void *x = room(N, sizeof(double)), *y = room(N, sizeof(double));
  double best = INFINITY;
  bool above = s->op == SCI_OP_acosh;
  for (size_t i = 0; i < N; i++) {
    put(x, s->dtype, i, (above ? 1.0 : 0.01) + 0.9 / (double)N * (double)i);
    put(y, s->dtype, i, 0.3 + 1.5 / (double)N * (double)(i * 7 % N));
  }
  for (int k = 0; k < ROUNDS; k++) {
    double start = seconds();
    for (int c = 0; c < CALLS; c++) call_routine(r, address, s->dtype, s->op, N, x, y, s->out[0], s->out[1]);
    double t = (seconds() - start) * 1e9 / (double)(CALLS * N);
    if (t < best) best = t;
  }
  free(x);
  free(y);
  return best;
}

/* Called here, or what was recorded. False: neither, and the tally says why. */
static bool get_results(const sample *s, const sci_vector_routine *r, const setting *set, tally *t) {
  void (*address)(void) = sci_vector_routine_address((sci_vector_lib)r->lib, r->name);
  if (set->replay) return read_results(s, r, set->replay);
  if (set->record && r->isa != SC_ISA_X86_64_V4) return false;
  if (!address || !can_run(r)) {
    ++*(address ? &t->cannot : &t->absent);
    return false;
  }
  call_routine(r, address, s->dtype, s->op, s->n, s->in[0], s->in[1], s->out[0], s->out[1]);
  return true;
}

static void check(const sample *s, const sci_vector_routine *r, const setting *set, tally *t) {
  size_t at;
  if (!get_results(s, r, set, t)) return;
  if (set->record) {
    write_results(s, r, set->record);
    t->checked++;
    return;
  }
  double error = worst(s, &at);
  double got = get(s->out[0], s->dtype, at);
  t->checked++;
  if (set->measure) {
    double ns =
        set->untimed || set->replay ? 0 : time_of(s, r, sci_vector_routine_address((sci_vector_lib)r->lib, r->name));
    printf("%-28s %8.4f %7.3f   at %a", r->name, error, ns, s->x[at]);
    if (s->y) printf(", %a", s->y[at]);
    printf(" gives %a, not %a\n", got, s->want[0][at].rounded);
  } else if (!(error <= r->ulp * set->scale)) {
    t->failed++;
    printf("%s: error %.4g ULP at %a", r->name, error, s->x[at]);
    if (s->y) printf(", %a", s->y[at]);
    printf(" (%a), the table says %g\n", got, r->ulp);
  }
}

static void check_operation(int op, sc_dtype dtype, const setting *set, tally *t) {
  sample s = {0};
  int o;
  sc_dtype d;
  sci_vector_routine r;
  for (size_t i = 0; sci_vector_routine_at(i, &o, &d, &r); i++) {
    if (o != op || d != dtype) continue;
    if (!s.n) prepare(&s, op, dtype, set->points, !set->record);
    check(&s, &r, set, t);
  }
  if (s.n) drop(&s);
}

static FILE *open_file(const char *path, const char *mode) {
  FILE *f = fopen(path, mode);
  if (f) return f;
  perror(path);
  exit(2);
}

int main(int argc, char **argv) {
  setting set = {.points = 4096, .scale = 1};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--points") && i + 1 < argc)
      set.points = (strtoul(argv[++i], NULL, 10) + 15) / 16 * 16;
    else if (!strcmp(argv[i], "--scale") && i + 1 < argc)
      set.scale = strtod(argv[++i], NULL);
    else if (!strcmp(argv[i], "--measure"))
      set.measure = true;
    else if (!strcmp(argv[i], "--untimed"))
      set.untimed = true;
    else if (!strcmp(argv[i], "--record") && i + 1 < argc)
      set.record = open_file(argv[++i], "wb");
    else if (!strcmp(argv[i], "--replay") && i + 1 < argc)
      set.replay = open_file(argv[++i], "rb");
    else
      set.only = argv[i];
  }
  tally t = {0};
  for (int op = 0; op < SCI_VECTOR_OPS; op++) {
    const char *name = op == SCI_VECTOR_SINCOS ? "sincos" : sci_ops[op].name;
    if (set.only && strcmp(set.only, name) != 0) continue;
    check_operation(op, SC_FLOAT64, &set, &t);
    check_operation(op, SC_FLOAT32, &set, &t);
  }
  if (set.record && fclose(set.record)) return 2;
  if (set.replay) fclose(set.replay);
  printf("%s%zu routines checked, %zu wrong; not installed here: %zu; skipped, this processor cannot run them: %zu\n",
         set.measure ? "# " : "", t.checked, t.failed, t.absent, t.cannot);
  if (!t.checked && !set.only) return 77;
  return t.failed ? 1 : 0;
}
