/* Owns the C++17 header: a namespace named like the entry, with a Buffer type per input and output and a call that
 * takes them. */
#include "backends/c/c.h"

static const char buffer[] =
    "#ifndef SCALY_BUFFER\n#define SCALY_BUFFER\n"
    "namespace scaly {\n"
    "/* Values of one input or output, row-major; an aggregate: Buffer<double, 2, 3> a{{1, 2, 3, 4, 5, 6}}; a(1, 2) is "
    "6. */\n"
    "template <class T, std::size_t... Dims> struct alignas(16) Buffer {\n"
    "  using value_type = T;\n"
    "  static constexpr std::size_t rank = sizeof...(Dims);\n"
    "  static constexpr std::size_t size = (std::size_t{1} * ... * Dims);\n"
    "  static constexpr std::array<std::size_t, rank> shape{{Dims...}};\n\n"
    "  T data[size ? size : 1];\n\n"
    "  T* ptr() { return data; }\n"
    "  const T* ptr() const { return data; }\n"
    "  T* begin() { return data; }\n"
    "  T* end() { return data + size; }\n"
    "  const T* begin() const { return data; }\n"
    "  const T* end() const { return data + size; }\n"
    "  /* By one subscript per dimension, or by the position in row-major order. */\n"
    "  template <class... Index> T& operator()(Index... index) { return data[offset(index...)]; }\n"
    "  template <class... Index> const T& operator()(Index... index) const { return data[offset(index...)]; }\n"
    "  T& operator[](std::size_t i) {\n    assert(i < size);\n    return data[i];\n  }\n"
    "  const T& operator[](std::size_t i) const {\n    assert(i < size);\n    return data[i];\n  }\n\n"
    "private:\n"
    "  template <class... Index> static std::size_t offset(Index... index) {\n"
    "    static_assert(sizeof...(Index) == rank, \"one subscript per dimension\");\n"
    "    std::size_t at = 0;\n"
    "    ((assert(static_cast<std::size_t>(index) < Dims), at = at * Dims + static_cast<std::size_t>(index)), ...);\n"
    "    return at;\n"
    "  }\n"
    "};\n"
    "} // namespace scaly\n"
    "#endif\n\n";

static void put_types(const c_render *r, sci_text *out) {
  for (size_t i = 0; i < r->m->n_in + r->m->n_out; i++) {
    const sci_port_info *port = &r->p->ports[i];
    sci_putf(out, "using %s_t = scaly::Buffer<%s", r->m->port_names[i], sci_c_types[port->dtype]);
    for (int k = 0; k < port->rank; k++) sci_putf(out, ", %lld", (long long)port->shape[k]);
    sci_put(out, ">;\n");
  }
  const char *type = r->m->abi == SCI_ABI_VOID ? "unsigned char" : sci_c_abi_type(r->m->abi);
  sci_putf(out, "struct alignas(64) workspace_t {\n  %s data[SZ_W ? SZ_W : 1];\n};\n\n", type);
}

/* Whether the namespace has a member of that name: a parameter must not hide it. */
static bool is_member(const c_render *r, const char *name) {
  static const char *const endings[] = {"_t",    "_NNZ",    "_NROW",   "_NCOL",   "_rows",
                                        "_cols", "_colptr", "_rowind", "_rowptr", "_colind"};
  if (!strcmp(name, "call") || !strcmp(name, "SZ_W") || !strcmp(name, "workspace_t")) return true;
  for (size_t i = 0; i < r->m->n_in + r->m->n_out; i++) {
    size_t n = strlen(r->m->port_names[i]);
    if (strncmp(name, r->m->port_names[i], n) != 0) continue;
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
      if (!strcmp(name + n, endings[k])) return true;
  }
  return false;
}

/* Nobody else sees a parameter's name. Two of them that end up equal would both be members' names with underscores
 * behind, which no port has. */
static const char *parameter(const c_render *r, size_t port) {
  const char *name = r->m->port_names[port];
  return is_member(r, name) ? sci_asprintf(&r->env->scratch, "scaly_%zu", port) : name;
}

static void put_pointers(const c_render *r, sci_text *out, const char *name, bool is_output) {
  size_t first = is_output ? r->m->n_in : 0, n = is_output ? r->m->n_out : r->m->n_in;
  sci_putf(out, "  %s%s* %s[] = {", is_output ? "" : "const ", sci_c_abi_type(r->m->abi), name);
  for (size_t i = first; i < first + n; i++) sci_putf(out, "%s%s.data", i > first ? ", " : "", parameter(r, i));
  sci_putf(out, "%s};\n", n ? "" : "nullptr");
}

static void put_call(const c_render *r, sci_text *out, bool with_workspace) {
  const char *f = r->m->entry, *w = sci_c_local(r, "w", "scaly_w"), *arg = sci_c_local(r, "arg", "scaly_arg"),
             *res = sci_c_local(r, "res", "scaly_res");
  sci_put(out, "inline int call(");
  size_t count = r->m->n_in + r->m->n_out;
  for (size_t i = 0; i < count; i++)
    sci_putf(out, "%s%s_t& %s%s", i < r->m->n_in ? "const " : "", r->m->port_names[i], parameter(r, i),
             i + 1 < count ? ", " : "");
  if (with_workspace) sci_putf(out, "%sworkspace_t& %s", count ? ", " : "", w);
  sci_put(out, ") {\n");
  put_pointers(r, out, arg, false);
  put_pointers(r, out, res, true);
  sci_putf(out, "  return ::%s::%s(%s, %s, nullptr, ", f, f, arg, res);
  if (with_workspace)
    sci_putf(out, "%s.data", w);
  else
    sci_put(out, "nullptr");
  sci_put(out, ", 0);\n}\n\n");
}

void sci_c_put_cpp_header(const c_render *r, sci_text *out) {
  const char *f = r->m->entry, *type = sci_c_abi_type(r->m->abi);
  if (!strcmp(f, "scaly") || !strcmp(f, "std"))
    sci_fail(r->env, SC_ERR_NAME,
             "module: the namespace of a C++ header cannot be '%s'; choose another name or a prefix", f);
  sci_c_put_recipe(r, out);
  sci_putf(out,
           "#ifndef %s_HPP\n#define %s_HPP\n\n#include <array>\n#include <cassert>\n#include <cstddef>\n\n#include "
           "<stdint.h>\n\n",
           f, f);
  sci_c_put_version(out);
  bool typed = !r->o->untyped && !r->o->casadi;
  if (typed) sci_put(out, buffer);
  if (r->o->casadi) sci_c_put_casadi_types(out);
  sci_putf(out, "namespace %s {\n\n", f);
  if (r->o->casadi) {
    sci_c_put_casadi_declarations(r, out);
    sci_putf(out, "} // namespace %s\n\n#endif\n", f);
    return;
  }
  sci_c_put_contract(r, out);
  sci_putf(out, "inline constexpr std::size_t SZ_W = %lld;\n", (long long)r->m->workspace_elements);
  sci_putf(out, "extern \"C\" int %s(const %s** arg, %s** res, int* iw, %s* w, int mem);\n\n", f, type, type, type);
  sci_c_put_sparse_tables(r, out, true);
  if (typed) {
    put_types(r, out);
    put_call(r, out, true);
    if (!r->m->workspace_elements) put_call(r, out, false);
  }
  sci_putf(out, "} // namespace %s\n\n#endif\n", f);
}
