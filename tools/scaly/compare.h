/* What the compare command gathers, and the forms it is shown in. */
#ifndef SCALY_COMMAND_COMPARE_H
#define SCALY_COMMAND_COMPARE_H

#include "tools/measure/foreign.h"
#include "tools/measure/timing.h"
#include "tools/scaly/difference.h"
#include "tools/scaly/model.h"

enum { MAX_ROWS = 32 };

/* One way of compiling. */
typedef struct row {
  const char *way, *tier; /* tier NULL: the way has none */
  const char *error;      /* NULL: it ran */
  sc_kernel *kernel;      /* NULL: a foreign module */
  foreign module;
  timed_call call;
  int lanes;
  const char *vector_libm;
  double compile_ms; /* to machine code, lowering not counted; 0 for a foreign shared object */
  double first_ms;   /* from the function to the first result */
  size_t code_bytes;
  timing time;
  difference diff;
  bool compared; /* another row ran too */
  bool differs;  /* a foreign module whose values are not ours */
} row;

typedef struct comparison {
  const arguments *args;
  model model;
  sc_lower_options lower;
  sc_target target;
  const char *name;
  port_list inputs, outputs;
  void **in; /* shared by all rows; NULL: not read yet */
  row rows[MAX_ROWS];
  size_t n;
  int64_t operations;
  int lanes; /* that the program's loops get; 1: none of them is for lanes */
  const char *vector_libm;
} comparison;

double row_gflops(const comparison *c, const row *r);
/* The row of the least time among those that do not differ, or NULL. */
const row *fastest_row(const comparison *c);

void write_comparison_table(const comparison *c);
void write_comparison_json(const comparison *c);
/* SVG, or HTML around it when the name ends so. False after a complaint. */
bool write_comparison_plot(const comparison *c, const char *file);

#endif
