/* The records of a kernel's description, and reading them one after the other. */
#ifndef SCI_API_DESCRIBE_H
#define SCI_API_DESCRIBE_H

#include "lib/api/kernel.h"

/* Everything starts at a multiple of 8. `name` is a length with the terminating zero; the text follows the record. */
typedef struct sci_kernel_record {
  uint64_t size, workspace;
  uint32_t n_in, n_out, name, pad;
} sci_kernel_record;

/* Behind the name: the shape, and for a sparse port its nnz, layout, outer and inner indices. */
typedef struct sci_port_record {
  int64_t count;
  uint32_t dtype, rank, sparse, name;
} sci_port_record;

typedef struct sci_description_reader {
  sci_description d;
  size_t at;
  bool broken;
} sci_description_reader;

/* What is returned points into the description. */
const sci_kernel_record *sci_description_begin(sci_description_reader *r, sci_description d, const char **name);
bool sci_description_port(sci_description_reader *r, sc_port *port,
                          sc_pattern *pattern); /* true: sparse, with a pattern */
const void *sci_description_take(sci_description_reader *r, size_t n);

#endif
