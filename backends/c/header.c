/* Owns the C header: the entry's declaration, and typed buffers with a call that takes them. */
#include "backends/c/c.h"

enum { ABI_VERSION = 1 };

static const char aligned[] =
    "#ifndef SCALY_ALIGNAS\n"
    "#if defined(__cplusplus)\n#define SCALY_ALIGNAS(n) alignas(n)\n"
    "#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L\n#define SCALY_ALIGNAS(n) _Alignas(n)\n"
    "#elif defined(__GNUC__)\n#define SCALY_ALIGNAS(n) __attribute__((aligned(n)))\n"
    "#elif defined(_MSC_VER)\n#define SCALY_ALIGNAS(n) __declspec(align(n))\n"
    "#else\n#define SCALY_ALIGNAS(n)\n#endif\n#endif\n\n";

const char *sci_c_abi_type(sci_abi abi) {
  switch (abi) {
  case SCI_ABI_F64: return "double";
  case SCI_ABI_F32: return "float";
  case SCI_ABI_VOID: return "void";
  }
  return "void";
}

int64_t sci_c_port_size(const c_render *r, size_t port) {
  return r->s->bufs[sci_entry(r->p)->params[port]].size;
}

/* One line per input and output: "arg[0] z: float64, 10 x 2". */
static void put_port_line(const c_render *r, sci_text *out, size_t i) {
  const sci_port_info *port = &r->p->ports[i];
  bool is_output = i >= r->m->n_in;
  sci_putf(out, " *   %s[%zu] %s: %s", is_output ? "res" : "arg", is_output ? i - r->m->n_in : i, r->m->port_names[i],
           sc_dtype_name((sc_dtype)port->dtype));
  int64_t nrow = port->shape[0], ncol = port->shape[1];
  if (r->o->casadi && port->rank == 2 && nrow > 1 && ncol > 1) /* held as its transpose */
    sci_putf(out, ", %lld x %lld", (long long)ncol, (long long)nrow);
  else
    for (int k = 0; k < port->rank; k++) sci_putf(out, k ? " x %lld" : ", %lld", (long long)port->shape[k]);
  static const char *const layouts[] = {[SC_CSC] = "csc", [SC_CSR] = "csr", [SC_COO] = "coo"};
  const sc_pattern *p = port->pattern;
  if (p)
    sci_putf(out, " stored values of a sparse %lld x %lld matrix, %s #%08x", (long long)p->nrow, (long long)p->ncol,
             layouts[p->layout], (unsigned)sci_pattern_digest(p));
  sci_put_char(out, '\n');
}

void sci_c_put_contract(const c_render *r, sci_text *out) {
  if (r->o->casadi)
    sci_putf(out,
             "/* %s: all values by columns. No result may overlap another buffer. A null input is zeros, a null result "
             "is not wanted.\n",
             r->m->entry);
  else
    sci_putf(
        out,
        "/* %s: all values row-major. No output may overlap another buffer; a buffer without values may be null.\n",
        r->m->entry);
  for (size_t i = 0; i < r->m->n_in + r->m->n_out; i++) put_port_line(r, out, i);
  const char *scope = r->o->lang == SC_LANG_CPP ? "::" : "_";
  bool bytes = r->m->abi == SCI_ABI_VOID;
  long long w = (long long)r->m->workspace_elements;
  if (r->m->workspace_elements && r->o->casadi)
    sci_putf(out, " *   w: %lld elements, as %s_work says\n", w, r->m->entry);
  else if (r->m->workspace_elements)
    sci_putf(out, " *   w: %lld %s (%s%sSZ_W)%s; 64-byte alignment puts every temporary on a cache line\n", w,
             bytes ? "bytes" : "elements", r->m->entry, scope, bytes ? ", 8-byte aligned" : "");
  else
    sci_put(out, " *   w: unused, may be null\n");
  sci_put(out, " * iw and mem are unused. Returns 0, or 1 when arg or res is null, 2 when w is");
  sci_put(out, r->o->casadi ? ". */\n" : ", 3 when an output is, 4 when an input is. */\n");
}

void sci_c_put_version(sci_text *out) {
  sci_putf(out, "#ifndef SCALY_ABI_VERSION\n#define SCALY_ABI_VERSION %d\n#elif SCALY_ABI_VERSION != %d\n", ABI_VERSION,
           ABI_VERSION);
  sci_put(out, "#error \"this header and another one are of different SCALY_ABI_VERSION\"\n#endif\n\n");
}

static void put_struct(sci_text *out, const char *name, const char *type, int64_t n, int alignment) {
  sci_putf(out, "typedef struct {\n  SCALY_ALIGNAS(%d) %s data[%lld];", alignment, type, (long long)(n ? n : 1));
  if (!n) sci_put(out, " /* no values: C has no empty arrays */");
  sci_putf(out, "\n} %s_t;\n", name);
}

static void put_array(const c_render *r, sci_text *out, const char *name, bool is_output) {
  size_t first = is_output ? r->m->n_in : 0, n = is_output ? r->m->n_out : r->m->n_in;
  sci_putf(out, "  %s%s* %s[] = {", is_output ? "" : "const ", sci_c_abi_type(r->m->abi), name);
  for (size_t i = first; i < first + n; i++) sci_putf(out, "%s%s->data", i > first ? ", " : "", r->m->port_names[i]);
  sci_putf(out, "%s};\n", n ? "" : "NULL");
}

/* A local of the call must not hide the entry. */
const char *sci_c_local(const c_render *r, const char *name, const char *otherwise) {
  return strcmp(r->m->entry, name) == 0 ? otherwise : name;
}

static void put_typed(const c_render *r, sci_text *out) {
  const char *f = r->m->entry, *w = sci_c_local(r, "w", "scaly_w"), *arg = sci_c_local(r, "arg", "scaly_arg"),
             *res = sci_c_local(r, "res", "scaly_res");
  for (size_t i = 0; i < r->m->n_in + r->m->n_out; i++)
    put_struct(out, r->m->port_symbols[i], sci_c_types[r->p->ports[i].dtype], sci_c_port_size(r, i), 16);
  const char *type = r->m->abi == SCI_ABI_VOID ? "unsigned char" : sci_c_abi_type(r->m->abi);
  put_struct(out, sci_asprintf(&r->env->scratch, "%s_workspace", f), type, r->m->workspace_elements, 64);
  sci_putf(out, "\nstatic inline int %s_call(", f);
  for (size_t i = 0; i < r->m->n_in + r->m->n_out; i++)
    sci_putf(out, "%s%s_t* %s, ", i < r->m->n_in ? "const " : "", r->m->port_symbols[i], r->m->port_names[i]);
  sci_putf(out, "%s_workspace_t* %s) {\n", f, w);
  put_array(r, out, arg, false);
  put_array(r, out, res, true);
  sci_putf(out, "  return %s(%s, %s, NULL, %s ? %s->data : NULL, 0);\n}\n\n", f, arg, res, w, w);
}

void sci_c_put_header(const c_render *r, sci_text *out) {
  const char *f = r->m->entry, *type = sci_c_abi_type(r->m->abi);
  sci_c_put_recipe(r, out);
  sci_putf(out, "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", f, f);
  sci_c_put_version(out);
  bool typed = !r->o->untyped && !r->o->casadi;
  if (typed) sci_put(out, aligned);
  if (r->o->casadi) sci_c_put_casadi_types(out);
  sci_put(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  if (r->o->casadi) {
    sci_c_put_casadi_declarations(r, out);
    sci_put(out, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return;
  }
  sci_c_put_contract(r, out);
  sci_putf(out, "#define %s_SZ_W %lld\n", f, (long long)r->m->workspace_elements);
  sci_putf(out, "int %s(const %s** arg, %s** res, int* iw, %s* w, int mem);\n\n", f, type, type, type);
  sci_c_put_sparse_tables(r, out, false);
  if (typed) put_typed(r, out);
  sci_put(out, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
