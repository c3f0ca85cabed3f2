/* Owns the probes: sources that include a module's header and assert what the module declares, so that the compiler's
 * own notion of types, sizes and offsets decides. Every assertion's message is the problem. */
#include "backends/clang/clang.h"

#include <string.h>

static void put_signature(sci_clang_text *out, const sci_clang_entry *e) {
  const char *t = sci_clang_pointer_type(e);
  sci_clang_put(out, "(const %s**, %s**, %s*, %s*, int)", t, t, e->casadi ? "casadi_int" : "int", t);
}

static long long elements(long long n) {
  return n ? n : 1; /* C has no empty arrays */
}

static const char *workspace_type(const sci_clang_entry *e) {
  const char *t = sci_clang_pointer_type(e);
  return strcmp(t, "void") == 0 ? "unsigned char" : t;
}

static void put_c_buffer(sci_clang_text *out, const char *f, const char *port, const char *type, long long count,
                         int alignment) {
  const char *what = "is not what the module declares";
  sci_clang_put(out, "_Static_assert(sizeof(((%s_%s_t*)0)->data) == %lldu * sizeof(%s), \"the size of %s_%s_t %s\");\n",
                f, port, elements(count), type, f, port, what);
  sci_clang_put(out,
                "_Static_assert(_Generic(&((%s_%s_t*)0)->data[0], %s*: 1, default: 0), \"the type of %s_%s_t %s\");\n",
                f, port, type, f, port, what);
  sci_clang_put(out, "_Static_assert(offsetof(%s_%s_t, data) == 0, \"the offset of data in %s_%s_t %s\");\n", f, port,
                f, port, what);
  sci_clang_put(out, "_Static_assert(_Alignof(%s_%s_t) == %d, \"the alignment of %s_%s_t %s\");\n", f, port, alignment,
                f, port, what);
}

static void put_c_typed(sci_clang_text *out, const sci_clang_entry *e, size_t number) {
  for (size_t i = 0; i < e->n; i++)
    put_c_buffer(out, e->name, e->ports[i].name, e->ports[i].type, e->ports[i].count, 16);
  put_c_buffer(out, e->name, "workspace", workspace_type(e), e->workspace, 64);
  sci_clang_put(out, "int (*scaly_call_%zu)(", number);
  for (size_t i = 0; i < e->n; i++)
    sci_clang_put(out, "%s%s_%s_t*, ", e->ports[i].is_output ? "" : "const ", e->name, e->ports[i].name);
  sci_clang_put(out, "%s_workspace_t*) = %s_call;\n", e->name, e->name);
}

/* The tables of a sparse output: how long each is declared, and what the one that has two names is. `scope` and `joint`
 * make "f_" or "f::". */
static void put_tables(sci_clang_text *out, const char *scope, const char *joint, const sci_clang_port *p, bool cpp) {
  bool csc = !strcmp(p->layout, "csc"), coo = !strcmp(p->layout, "coo");
  const char *names[] = {"rows", "cols", csc ? "colptr" : "rowptr"},
             *assertion = cpp ? "static_assert" : "_Static_assert";
  long long lengths[] = {p->count, p->count, (csc ? p->ncol : p->nrow) + 1};
  for (int i = 0; i < (coo ? 2 : 3); i++)
    sci_clang_put(out,
                  "%s(sizeof(%s%s%s_%s) == %lldu * sizeof(int32_t), \"the table %s_%s has another length than the "
                  "module declares\");\n",
                  assertion, scope, joint, p->name, names[i], elements(lengths[i]), p->name, names[i]);
  const char *other = csc ? "rowind" : "colind", *same = csc ? "rows" : "cols";
  if (!coo && cpp)
    sci_clang_put(out, "static_assert(&%s::%s_%s == &%s::%s_%s, \"%s_%s is not %s_%s\");\n", scope, p->name, other,
                  scope, p->name, same, p->name, other, p->name, same);
  else if (!coo)
    sci_clang_put(out, "const int32_t* scaly_other_%s = %s_%s_%s;\n", p->name, scope, p->name, other);
}

static void put_c_counts(sci_clang_text *out, const sci_clang_entry *e) {
  for (size_t i = 0; i < e->n; i++) {
    const sci_clang_port *p = &e->ports[i];
    if (!p->is_output || !*p->layout) continue;
    sci_clang_put(out,
                  "_Static_assert(%s_%s_NNZ == %lld && %s_%s_NROW == %lld && %s_%s_NCOL == %lld, \"the counts of %s "
                  "are not what the module declares\");\n",
                  e->name, p->name, p->count, e->name, p->name, p->nrow, e->name, p->name, p->ncol, p->name);
    put_tables(out, e->name, "_", p, false);
  }
}

void sci_clang_put_c_probe(sci_clang_text *out, const sci_clang_module *m, const char *header, bool typed) {
  sci_clang_put(out, "#include \"%s\"\n#include <stddef.h>\n#include <stdint.h>\n", header);
  sci_clang_put(out,
                "#pragma clang diagnostic ignored \"-Wc11-extensions\"\n"); /* for what follows, not for the header */
  for (size_t i = 0; i < m->n; i++) {
    const sci_clang_entry *e = &m->entries[i];
    sci_clang_put(out, "int (*scaly_entry_%zu)", i);
    put_signature(out, e);
    sci_clang_put(out, " = %s;\n_Static_assert(%s_SZ_W == %lld, \"%s_SZ_W is not what the module declares\");\n",
                  e->name, e->name, e->workspace, e->name);
    if (i == 0) put_c_counts(out, e);
    if (typed && !e->casadi) put_c_typed(out, e, i);
  }
}

static void put_cpp_typed(sci_clang_text *out, const sci_clang_entry *e) {
  for (size_t i = 0; i < e->n; i++) {
    const sci_clang_port *p = &e->ports[i];
    sci_clang_put(out, "static_assert(std::is_same_v<%s::%s_t, scaly::Buffer<%s", e->name, p->name, p->type);
    for (int k = 0; k < p->rank; k++) sci_clang_put(out, ", %lld", p->shape[k]);
    sci_clang_put(out, ">>, \"the type %s_t is not what the module declares\");\n", p->name);
  }
  sci_clang_put(
      out,
      "static_assert(std::is_same_v<decltype(%s::workspace_t::data), %s[%lld]> && alignof(%s::workspace_t) == 64, ",
      e->name, workspace_type(e), elements(e->workspace), e->name);
  sci_clang_put(out, "\"workspace_t is not what the module declares\");\nint (*scaly_call)(");
  for (size_t i = 0; i < e->n; i++)
    sci_clang_put(out, "%s%s::%s_t&, ", e->ports[i].is_output ? "" : "const ", e->name, e->ports[i].name);
  sci_clang_put(out, "%s::workspace_t&) = %s::call;\n", e->name, e->name);
}

void sci_clang_put_cpp_probe(sci_clang_text *out, const sci_clang_module *m, const char *header, bool typed) {
  sci_clang_put(out, "#include \"%s\"\n#include <type_traits>\n", header);
  for (size_t i = 0; i < m->n; i++) {
    const sci_clang_entry *e = &m->entries[i];
    const char *scope = m->entries[0].name;
    sci_clang_put(out, "int (*scaly_entry_%zu)", i);
    put_signature(out, e);
    sci_clang_put(out,
                  " = %s::%s;\nstatic_assert(%s::%s%sSZ_W == %lld, \"SZ_W of %s is not what the module declares\");\n",
                  scope, e->name, scope, i ? e->name : "", i ? "_" : "", e->workspace, e->name);
    for (size_t k = 0; i == 0 && k < e->n; k++) {
      const sci_clang_port *p = &e->ports[k];
      if (!p->is_output || !*p->layout) continue;
      sci_clang_put(out,
                    "static_assert(%s::%s_NNZ == %lld && %s::%s_NROW == %lld && %s::%s_NCOL == %lld, \"the counts of "
                    "%s are not what the module declares\");\n",
                    scope, p->name, p->count, scope, p->name, p->nrow, scope, p->name, p->ncol, p->name);
      put_tables(out, scope, "::", p, true);
    }
    if (typed && !e->casadi) put_cpp_typed(out, e);
  }
}
