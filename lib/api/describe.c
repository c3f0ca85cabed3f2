/* Owns the bytes that describe a kernel: its name, workspace, and what its inputs and outputs are. */
#include "lib/api/describe.h"

#include "lib/api/kernel.h"

enum { MOST_PORTS = 1 << 20 };

/* ---- writing; without a base, only measuring ---- */

typedef struct writer {
  char *base;
  size_t used;
} writer;

static void put(writer *w, const void *data, size_t n) {
  if (w->base && n) memcpy(w->base + w->used, data, n);
  w->used += (n + 7) & ~(size_t)7;
}

static size_t outer_count(sc_layout layout, int64_t nrow, int64_t ncol, int64_t nnz) {
  return (size_t)(layout == SC_CSC ? ncol + 1 : layout == SC_CSR ? nrow + 1 : nnz);
}

static void put_port(writer *w, const sci_port_info *info) {
  const sc_pattern *p = info->pattern;
  int64_t count = 1, matrix[SC_MAX_RANK] = {0};
  for (int i = 0; i < info->rank; i++) count *= info->shape[i];
  if (p) matrix[0] = p->nrow, matrix[1] = p->ncol;
  uint32_t rank = p ? 2 : info->rank;
  sci_port_record r = {.count = count,
                       .dtype = info->dtype,
                       .rank = rank,
                       .sparse = p != NULL,
                       .name = (uint32_t)strlen(info->name) + 1};
  put(w, &r, sizeof r);
  put(w, info->name, r.name);
  put(w, p ? matrix : info->shape, rank * sizeof(int64_t));
  if (!p) return;
  put(w, &(int64_t){p->nnz}, sizeof(int64_t));
  put(w, &(int64_t){p->layout}, sizeof(int64_t));
  put(w, p->outer, outer_count(p->layout, p->nrow, p->ncol, p->nnz) * sizeof *p->outer);
  put(w, p->inner, (size_t)p->nnz * sizeof *p->inner);
}

static void put_all(writer *w, const sci_program *p, size_t total) {
  const sci_proc *entry = sci_entry(p);
  sci_kernel_record r = {.size = total,
                         .workspace = (uint64_t)entry->workspace_total,
                         .n_in = entry->n_in,
                         .n_out = entry->n_out,
                         .name = (uint32_t)strlen(p->name) + 1};
  put(w, &r, sizeof r);
  put(w, p->name, r.name);
  for (uint32_t i = 0; i < entry->n_in + entry->n_out; i++) put_port(w, &p->ports[i]);
}

sci_description sci_describe(sci_env *env, const sci_program *p) {
  writer w = {0};
  put_all(&w, p, 0);
  size_t size = w.used;
  w = (writer){.base = sci_alloc_zero(&env->scratch, 1, size)};
  put_all(&w, p, size);
  return (sci_description){w.base, size};
}

/* ---- reading ---- */

const void *sci_description_take(sci_description_reader *r, size_t n) {
  size_t padded = (n + 7) & ~(size_t)7;
  if (r->broken || padded < n || padded > r->d.size - r->at) {
    r->broken = true;
    return NULL;
  }
  const void *p = (const char *)r->d.bytes + r->at;
  r->at += padded;
  return p;
}

static const char *take_name(sci_description_reader *r, uint32_t n) {
  const char *name = sci_description_take(r, n);
  if (!name || !n || name[n - 1]) r->broken = true;
  return name;
}

static bool counts(int64_t n) {
  return n >= 0 && n <= INT64_MAX / 64;
}

static void read_pattern(sci_description_reader *r, const int64_t *shape, sc_pattern *pattern) {
  const int64_t *nnz = sci_description_take(r, sizeof *nnz), *layout = sci_description_take(r, sizeof *layout);
  if (!nnz || !layout || !counts(*nnz) || !counts(shape[0]) || !counts(shape[1])) {
    r->broken = true;
    return;
  }
  *pattern = (sc_pattern){.layout = (sc_layout)*layout, .nrow = shape[0], .ncol = shape[1], .nnz = *nnz};
  pattern->outer =
      sci_description_take(r, outer_count(pattern->layout, shape[0], shape[1], *nnz) * sizeof *pattern->outer);
  pattern->inner = sci_description_take(r, (size_t)*nnz * sizeof *pattern->inner);
}

const sci_kernel_record *sci_description_begin(sci_description_reader *r, sci_description d, const char **name) {
  *r = (sci_description_reader){.d = d};
  const sci_kernel_record *k = sci_description_take(r, sizeof *k);
  if (!k || k->size != d.size || k->n_in > MOST_PORTS || k->n_out > MOST_PORTS) {
    r->broken = true;
    return NULL;
  }
  *name = take_name(r, k->name);
  return k;
}

bool sci_description_port(sci_description_reader *r, sc_port *port, sc_pattern *pattern) {
  const sci_port_record *p = sci_description_take(r, sizeof *p);
  if (!p || p->rank > SC_MAX_RANK || p->dtype >= SC_DTYPE_COUNT || (p->sparse && p->rank != 2) || !counts(p->count)) {
    r->broken = true;
    return false;
  }
  *port = (sc_port){.dtype = (sc_dtype)p->dtype, .rank = (int)p->rank, .count = p->count};
  port->name = take_name(r, p->name);
  port->shape = sci_description_take(r, p->rank * sizeof(int64_t));
  if (p->sparse && port->shape) read_pattern(r, port->shape, pattern);
  return p->sparse;
}

bool sci_description_sound(sci_description d) {
  sci_description_reader r;
  const char *name;
  const sci_kernel_record *k = sci_description_begin(&r, d, &name);
  for (uint32_t i = 0; k && !r.broken && i < k->n_in + k->n_out; i++) {
    sc_port port;
    sc_pattern pattern;
    sci_description_port(&r, &port, &pattern);
  }
  return !r.broken && r.at == d.size;
}
