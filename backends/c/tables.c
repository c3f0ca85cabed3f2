/* Owns the index tables of sparse outputs, as headers publish them: every stored value's row and column in stored
 * order, and the tables of the declared layout. */
#include "backends/c/c.h"

/* The coordinate that the layout compresses: entry k of segment i has it i. */
static int32_t *expand(sci_env *env, const int32_t *pointers, int64_t n, int64_t nnz) {
  int32_t *out = SCI_ARRAY(&env->scratch, int32_t, nnz ? nnz : 1);
  for (int64_t i = 0; i < n; i++)
    for (int32_t k = pointers[i]; k < pointers[i + 1]; k++) out[k] = (int32_t)i;
  return out;
}

sci_c_coordinates sci_c_coordinates_of(sci_env *env, const sc_pattern *p) {
  switch (p->layout) {
  case SC_CSC: return (sci_c_coordinates){p->inner, expand(env, p->outer, p->ncol, p->nnz)};
  case SC_CSR: return (sci_c_coordinates){expand(env, p->outer, p->nrow, p->nnz), p->inner};
  case SC_COO: break;
  }
  return (sci_c_coordinates){p->outer, p->inner};
}

void sci_c_put_int_list(sci_text *out, const int32_t *data, int64_t n) {
  enum { ONE_LINE = 24, WIDTH = 100 };
  size_t line = 0; /* where it began */
  bool wraps = n > ONE_LINE;
  sci_put_char(out, '{');
  for (int64_t i = 0; i < n; i++) {
    if (wraps && (!line || out->n - line > WIDTH)) {
      sci_put(out, "\n    ");
      line = out->n;
    } else if (i) {
      sci_put_char(out, ' ');
    }
    sci_put_int(out, data[i]);
    if (i + 1 < n) sci_put_char(out, ',');
  }
  if (!n) sci_put_char(out, '0'); /* C has no empty arrays */
  sci_put(out, wraps ? "\n};\n" : "};\n");
}

/* Under the port's name and an ending: f_s_rows in C, s_rows in the namespace of C++. */
static void put_constant(sci_text *out, bool cpp, const char *name, const char *ending, int64_t v) {
  if (cpp)
    sci_putf(out, "inline constexpr int64_t %s_%s = %lld;\n", name, ending, (long long)v);
  else
    sci_putf(out, "#define %s_%s %lld\n", name, ending, (long long)v);
}

static void put_table(sci_text *out, bool cpp, const char *name, const char *ending, const int32_t *data, int64_t n) {
  const char *type = cpp ? "inline constexpr int32_t" : "static const int32_t";
  sci_putf(out, "%s %s_%s[%lld] = ", type, name, ending, (long long)(n ? n : 1));
  sci_c_put_int_list(out, data, n);
}

static void put_alias(sci_text *out, bool cpp, const char *name, const char *ending, const char *of) {
  if (cpp)
    sci_putf(out, "inline constexpr auto &%s_%s = %s_%s;\n", name, ending, name, of);
  else
    sci_putf(out, "#define %s_%s %s_%s\n", name, ending, name, of);
}

static void put_port(const c_render *r, sci_text *out, size_t port, bool cpp) {
  const sc_pattern *p = r->p->ports[port].pattern;
  const char *name = cpp ? r->m->port_names[port] : r->m->port_symbols[port];
  sci_c_coordinates c = sci_c_coordinates_of(r->env, p);
  put_constant(out, cpp, name, "NNZ", p->nnz);
  put_constant(out, cpp, name, "NROW", p->nrow);
  put_constant(out, cpp, name, "NCOL", p->ncol);
  put_table(out, cpp, name, "rows", c.rows, p->nnz);
  put_table(out, cpp, name, "cols", c.cols, p->nnz);
  if (p->layout == SC_CSC) {
    put_table(out, cpp, name, "colptr", p->outer, p->ncol + 1);
    put_alias(out, cpp, name, "rowind", "rows");
  } else if (p->layout == SC_CSR) {
    put_table(out, cpp, name, "rowptr", p->outer, p->nrow + 1);
    put_alias(out, cpp, name, "colind", "cols");
  }
  sci_put_char(out, '\n');
}

void sci_c_put_sparse_tables(const c_render *r, sci_text *out, bool cpp) {
  for (size_t i = r->m->n_in; i < r->m->n_in + r->m->n_out; i++)
    if (r->p->ports[i].pattern) put_port(r, out, i, cpp);
}
