/* Values of inputs and outputs: read from the command line and from npy, csv and JSON files, written as tables, npy and
 * JSON. */
#ifndef SCALY_COMMAND_VALUES_H
#define SCALY_COMMAND_VALUES_H

#include "scaly/scaly.h"
#include "tools/scaly/options.h"

/* Inputs that values are wanted for, or outputs (sparse ones as the vector of stored values): known from a function
 * before it is compiled, from a kernel afterwards. */
typedef struct port_list {
  const sc_port *ports;
  size_t n;
} port_list;
port_list function_inputs(const sc_function *f);
port_list function_outputs(const sc_function *f);
port_list kernel_inputs(const sc_kernel *k);
port_list kernel_outputs(const sc_kernel *k);

/* What can be wrong with --arg and --seed before any file is read. Returns the exit code; `*seed` is 0 when not given.
 */
int check_value_options(const arguments *args, long long *seed);

struct batch; /* tools/scaly/batch.h */

/* Memory for every input, filled from --arg and --seed. An input that neither gives is a complaint, unless `fill_all`:
 * then seed 0 is implied. `rows` (NULL: one call) gets how inputs with a leading axis make many. Returns the exit code.
 */
int read_inputs(void ***in, port_list inputs, const arguments *args, bool fill_all, struct batch *rows);
void **make_outputs(port_list outputs);

#define VALUES_OPTIONS                                                                                                 \
  {"arg", 0, "NAME=VALUES", "An input's values, row-major: x=1,2,3, or x=@FILE with a .npy, .csv or .json file."}, {   \
    "seed", 0, "N", "Fills every input without --arg with reproducible values in [-1, 1]."                             \
  }

/* Readers of a file's bytes into `to`, which holds port->count elements. False after a complaint with the place in the
 * file. */
typedef struct value_source {
  const char *file;
  const char *text;
  size_t size;
} value_source;
bool read_npy(value_source src, const sc_port *port, void *to);
bool read_csv(value_source src, const sc_port *port, void *to);
/* Rows that are not blank, and the values in the first of them. */
void csv_extent(value_source src, size_t *rows, size_t *columns);
bool read_json(value_source src, const sc_port *port, void *to);

/* Store element i, converted; NULL, or what is wrong with the value. Integers take whole numbers in range, bools 0
 * and 1. */
const char *store_double(const sc_port *port, void *to, size_t i, double v);
const char *store_integer(const sc_port *port, void *to, size_t i, long long v);
/* The number, or inf, nan, true, false, in text[0..n) (blanks around it allowed). */
const char *store_text(const sc_port *port, void *to, size_t i, const char *text, size_t n);

bool has_suffix(const char *s, const char *suffix);

/* Whether a number that strtod or strtof made of `word` is infinite without the word saying so: 1e400. */
bool became_infinite(const char *word, double v);

/* "3x4", "scalar" */
const char *shape_text(const sc_port *port);

typedef enum value_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_NPY } value_format;
/* Writes all outputs of a function's call to standard output, or those of a batch: ports with a leading axis, of which
 * sparse ones hold the stored values of one matrix after the other. Returns the exit code. */
int write_outputs(const char *function, port_list outputs, void *const *out, value_format format);
/* A JSON string literal, and a number as the page wants it (non-finite ones as strings). */
void write_json_string(const char *s);
void write_json_double(double v);

#endif
