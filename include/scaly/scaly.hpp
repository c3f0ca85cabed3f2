/* The C++17 interface: header only, over the C interface, nothing else to link.
 *
 *   scaly::context cx;
 *   scaly::expr x = cx.input("x", {3});
 *   scaly::function f = cx.define("f", {{"x", x}}, {{"y", sum(sin(x) + x * x)}});
 *   scaly::kernel k = f.gradient("y", "x").jit();
 *   std::vector<double> g = k({{1, 2, 3}})[0];
 *
 * Errors. Operators have no place for a status, so every failure is thrown, as scaly::error with the status, the
 * message and, for text, the place; after a throw the context is as it was before the call. Only std::bad_alloc comes
 * besides (from containers). Destructors do not throw.
 *
 * Ownership. context, program, c_module, sparsity and coloring own what they wrap and can be moved, not copied; kernel
 * counts references and can be copied. expr and function are small views of what the context owns: copy them freely,
 * and do not use them after their context. A context belongs to one thread at a time; a kernel may be called from any
 * number of them.
 *
 * Shapes are lists of extents, values row-major, as everywhere; the C headers have the meaning of every operation.
 * get() gives the C handle of anything, so both interfaces mix. Names and options that need no wrapper are the C ones:
 * sc_dtype, sc_layout, sc_c_options, ... */
#ifndef SCALY_SCALY_HPP
#define SCALY_SCALY_HPP

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "scaly/error.hpp"
#include "scaly/scaly.h"

namespace scaly {

using shape_t = std::vector<std::int64_t>;

/* ---- indices: an entry per axis of expr::operator() ---- */

/* A single position, which drops the axis; span(a, b) and all keep it. Negative positions count from the end. */
struct index {
  sc_range range;
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  index(I i) : range{static_cast<std::int64_t>(i), 0, 0} {}
  explicit index(sc_range r) : range(r) {}
};
inline index span(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return index(sc_range{start, stop, step});
}
inline index from(std::int64_t start, std::int64_t step = 1) {
  return index(sc_range{start, SC_NONE, step});
}
inline index until(std::int64_t stop, std::int64_t step = 1) {
  return index(sc_range{SC_NONE, stop, step});
}
inline const index all{sc_range{SC_NONE, SC_NONE, 1}};

/* ---- expressions ---- */

/* A value of a graph: immutable, two words and a pointer. A default-constructed one is none, and using it throws. */
class expr {
public:
  expr() noexcept : h_{} {}
  /* Takes a C handle; throws the problem recorded in `cx` when it is null. */
  expr(sc_context *cx, sc_expr h) : h_(h) {
    if (sc_is_null(h)) detail::fail(cx);
  }

  sc_expr get() const noexcept { return h_; }
  sc_context *context() const noexcept { return h_.cx; }
  explicit operator bool() const noexcept { return !sc_is_null(h_); }

  const char *op() const { return sc_expr_op(h_); }
  std::size_t arg_count() const { return sc_expr_arg_count(h_); }
  expr arg(std::size_t i) const { return {h_.cx, sc_expr_arg(h_, i)}; }
  sc_dtype dtype() const { return sc_expr_dtype(h_); }
  int rank() const { return sc_expr_rank(h_); }
  std::int64_t size() const { return sc_expr_size(h_); }
  bool diff() const { return sc_expr_diff(h_); }
  shape_t shape() const {
    const std::int64_t *s = sc_expr_shape(h_);
    return s ? shape_t(s, s + rank()) : shape_t();
  }
  std::string name() const { /* an input's; else empty */
    const char *s = sc_expr_name(h_);
    return s ? s : "";
  }
  const void *const_data() const { return sc_expr_const_data(h_); }
  std::string attributes() const { return detail::taken(h_.cx, sc_expr_attributes(h_)); }

  expr operator[](std::int64_t i) const { return {h_.cx, sc_at(h_, i)}; } /* along the first axis */
  template <class... Index>
  expr operator()(Index... entries) const { /* x(0, all, span(1, 3)); missing entries: whole axes */
    const sc_range r[] = {index(entries).range...};
    return {h_.cx, sc_slice(h_, static_cast<int>(sizeof...(entries)), r)};
  }
  expr span(std::int64_t start, std::int64_t stop) const { return {h_.cx, sc_span(h_, start, stop)}; }
  expr reshape(const shape_t &s) const { return {h_.cx, sc_reshape(h_, static_cast<int>(s.size()), s.data())}; }
  expr broadcast(const shape_t &s) const { return {h_.cx, sc_broadcast(h_, static_cast<int>(s.size()), s.data())}; }
  expr vec() const { return {h_.cx, sc_vec(h_)}; }
  expr transpose() const { return {h_.cx, sc_transpose(h_)}; }
  expr transpose(const std::vector<int> &axes) const { return {h_.cx, sc_transpose_axes(h_, axes.data())}; }
  expr cast(sc_dtype to) const { return {h_.cx, sc_cast(h_, to)}; }
  expr gather(const std::vector<std::int64_t> &indices, const shape_t &s) const {
    return {h_.cx, sc_gather(h_, indices.data(), static_cast<int>(s.size()), s.data())};
  }
  expr scatter(const std::vector<std::int64_t> &indices, const shape_t &s) const {
    return {h_.cx, sc_scatter(h_, indices.data(), static_cast<int>(s.size()), s.data())};
  }
  expr index_add(expr values, const std::vector<std::int64_t> &at) const {
    return {h_.cx, sc_index_add(h_, values.h_, at.data())};
  }
  expr index_set(expr values, const std::vector<std::int64_t> &at) const {
    return {h_.cx, sc_index_set(h_, values.h_, at.data())};
  }
  expr repmat(std::int64_t rows, std::int64_t cols) const { return {h_.cx, sc_repmat(h_, rows, cols)}; }
  expr stop_gradient() const { return {h_.cx, sc_stop_gradient(h_)}; }
  expr with_hint(sc_hint hint) const { return {h_.cx, sc_with_hint(h_, hint)}; }
  expr block() const { return with_hint(SC_HINT_BLOCK); }
  expr scalar() const { return with_hint(SC_HINT_SCALAR); }

private:
  sc_expr h_;
};

/* The same node: what == cannot ask, since comparisons of values are expressions. */
inline bool same(expr a, expr b) {
  return sc_same(a.get(), b.get());
}

/* Every function of one or two operands; a number stands for a scalar of the other operand's type. */
#define SCALY_UNARY(name)                                                                                              \
  inline expr name(expr a) {                                                                                           \
    return {a.context(), sc_##name(a.get())};                                                                          \
  }
#define SCALY_BINARY(name)                                                                                             \
  inline expr name(expr a, expr b) {                                                                                   \
    return {a.context(), sc_##name(a.get(), b.get())};                                                                 \
  }                                                                                                                    \
  inline expr name(expr a, double b) {                                                                                 \
    return name(a, expr(a.context(), sc_like(a.get(), b)));                                                            \
  }                                                                                                                    \
  inline expr name(double a, expr b) {                                                                                 \
    return name(expr(b.context(), sc_like(b.get(), a)), b);                                                            \
  }
#define SCALY_OPERATOR(symbol, name)                                                                                   \
  inline expr operator symbol(expr a, expr b) {                                                                        \
    return name(a, b);                                                                                                 \
  }                                                                                                                    \
  inline expr operator symbol(expr a, double b) {                                                                      \
    return name(a, b);                                                                                                 \
  }                                                                                                                    \
  inline expr operator symbol(double a, expr b) {                                                                      \
    return name(a, b);                                                                                                 \
  }
#define SCALY_ASSIGNMENT(symbol)                                                                                       \
  inline expr &operator symbol##=(expr &a, expr b) {                                                                   \
    return a = a symbol b;                                                                                             \
  }                                                                                                                    \
  inline expr &operator symbol##=(expr &a, double b) {                                                                 \
    return a = a symbol b;                                                                                             \
  }

SCALY_UNARY(neg)
SCALY_UNARY(sin)
SCALY_UNARY(cos)
SCALY_UNARY(tan)
SCALY_UNARY(asin)
SCALY_UNARY(acos)
SCALY_UNARY(atan)
SCALY_UNARY(sinh)
SCALY_UNARY(cosh)
SCALY_UNARY(tanh)
SCALY_UNARY(asinh)
SCALY_UNARY(acosh)
SCALY_UNARY(atanh)
SCALY_UNARY(exp)
SCALY_UNARY(exp2)
SCALY_UNARY(expm1)
SCALY_UNARY(log)
SCALY_UNARY(log2)
SCALY_UNARY(log10)
SCALY_UNARY(log1p)
SCALY_UNARY(sqrt)
SCALY_UNARY(cbrt)
SCALY_UNARY(erf)
SCALY_UNARY(erfc)
SCALY_UNARY(abs)
SCALY_UNARY(sign)
SCALY_UNARY(floor)
SCALY_UNARY(ceil)
SCALY_UNARY(round)
SCALY_UNARY(trunc)
SCALY_UNARY(isfinite)
SCALY_UNARY(isnan)
SCALY_UNARY(sum)
SCALY_UNARY(max)
SCALY_UNARY(min)
SCALY_UNARY(sumsqr)
SCALY_UNARY(norm_2)
SCALY_UNARY(trace)
SCALY_UNARY(diag)
SCALY_UNARY(square)
SCALY_UNARY(reciprocal)
SCALY_UNARY(sigmoid)
SCALY_UNARY(softplus)
SCALY_UNARY(relu)
SCALY_BINARY(add)
SCALY_BINARY(sub)
SCALY_BINARY(mul)
SCALY_BINARY(div)
SCALY_BINARY(pow)
SCALY_BINARY(fmod)
SCALY_BINARY(hypot)
SCALY_BINARY(atan2)
SCALY_BINARY(minimum)
SCALY_BINARY(maximum)
SCALY_BINARY(copysign)
SCALY_BINARY(lt)
SCALY_BINARY(le)
SCALY_BINARY(gt)
SCALY_BINARY(ge)
SCALY_BINARY(eq)
SCALY_BINARY(ne)
SCALY_OPERATOR(+, add)
SCALY_OPERATOR(-, sub)
SCALY_OPERATOR(*, mul)
SCALY_OPERATOR(/, div)
SCALY_OPERATOR(%, fmod)
SCALY_OPERATOR(<, lt)
SCALY_OPERATOR(<=, le)
SCALY_OPERATOR(>, gt)
SCALY_OPERATOR(>=, ge)
SCALY_ASSIGNMENT(+)
SCALY_ASSIGNMENT(-)
SCALY_ASSIGNMENT(*)
SCALY_ASSIGNMENT(/)

#undef SCALY_UNARY
#undef SCALY_BINARY
#undef SCALY_OPERATOR
#undef SCALY_ASSIGNMENT

inline expr operator-(expr a) {
  return neg(a);
}
/* Of bool expressions. */
inline expr operator&(expr a, expr b) {
  return {a.context(), sc_and(a.get(), b.get())};
}
inline expr operator|(expr a, expr b) {
  return {a.context(), sc_or(a.get(), b.get())};
}
inline expr operator~(expr a) {
  return {a.context(), sc_not(a.get())};
}
inline expr select(expr cond, expr a, expr b) {
  return {cond.context(), sc_select(cond.get(), a.get(), b.get())};
}
inline expr where(expr cond, expr a, expr b) {
  return {cond.context(), sc_where(cond.get(), a.get(), b.get())};
}
inline expr clip(expr a, expr lo, expr hi) {
  return {a.context(), sc_clip(a.get(), lo.get(), hi.get())};
}
inline expr clip(expr a, double lo, double hi) {
  return clip(a, expr(a.context(), sc_like(a.get(), lo)), expr(a.context(), sc_like(a.get(), hi)));
}
inline expr polyval(const std::vector<double> &coefficients, expr x) {
  return {x.context(), sc_polyval(coefficients.data(), coefficients.size(), x.get())};
}

inline expr sum(expr a, const std::vector<int> &axes) {
  return {a.context(), sc_sum_axes(a.get(), static_cast<int>(axes.size()), axes.data())};
}
inline expr max(expr a, const std::vector<int> &axes) {
  return {a.context(), sc_max_axes(a.get(), static_cast<int>(axes.size()), axes.data())};
}
inline expr min(expr a, const std::vector<int> &axes) {
  return {a.context(), sc_min_axes(a.get(), static_cast<int>(axes.size()), axes.data())};
}

inline expr matmul(expr a, expr b) {
  return {a.context(), sc_matmul(a.get(), b.get())};
}
inline expr dot(expr a, expr b) {
  return {a.context(), sc_dot(a.get(), b.get())};
}
inline expr outer(expr a, expr b) {
  return {a.context(), sc_outer(a.get(), b.get())};
}
inline expr cross(expr a, expr b) {
  return {a.context(), sc_cross(a.get(), b.get())};
}
inline expr kron(expr a, expr b) {
  return {a.context(), sc_kron(a.get(), b.get())};
}

namespace detail {
inline std::vector<sc_expr> handles(const std::vector<expr> &list) {
  std::vector<sc_expr> h;
  h.reserve(list.size());
  for (const expr &e : list) h.push_back(e.get());
  return h;
}
inline sc_context *context_of(const std::vector<expr> &list) {
  return list.empty() ? nullptr : list.front().context();
}
} // namespace detail

inline expr stack(const std::vector<expr> &parts, int axis = 0) {
  return {detail::context_of(parts), sc_stack(detail::handles(parts).data(), parts.size(), axis)};
}
inline expr concat(const std::vector<expr> &parts, int axis = 0) {
  return {detail::context_of(parts), sc_concat(detail::handles(parts).data(), parts.size(), axis)};
}
inline expr horzcat(const std::vector<expr> &parts) {
  return {detail::context_of(parts), sc_horzcat(detail::handles(parts).data(), parts.size())};
}
inline expr vertcat(const std::vector<expr> &parts) {
  return {detail::context_of(parts), sc_vertcat(detail::handles(parts).data(), parts.size())};
}

/* ---- sparsity ---- */

/* A pattern of one's own; see sc_pattern for the meaning of outer and inner. */
struct pattern {
  sc_layout layout = SC_CSC;
  std::int64_t nrow = 0, ncol = 0;
  std::vector<std::int32_t> outer, inner;

  pattern() = default;
  pattern(sc_layout l, std::int64_t rows, std::int64_t cols, std::vector<std::int32_t> outer_,
          std::vector<std::int32_t> inner_)
      : layout(l), nrow(rows), ncol(cols), outer(std::move(outer_)), inner(std::move(inner_)) {}
  explicit pattern(const sc_pattern &p) : layout(p.layout), nrow(p.nrow), ncol(p.ncol) {
    const std::int64_t n = p.layout == SC_CSC ? p.ncol + 1 : p.layout == SC_CSR ? p.nrow + 1 : p.nnz;
    outer.assign(p.outer, p.outer + n);
    inner.assign(p.inner, p.inner + p.nnz);
  }
  std::int64_t nnz() const { return static_cast<std::int64_t>(inner.size()); }
  sc_pattern view() const { return {layout, nrow, ncol, nnz(), outer.data(), inner.data()}; } /* points into this */
};

class sparsity : public detail::owner<sc_sparsity, sc_sparsity_destroy> {
public:
  using owner::owner;
  const sc_pattern &pattern() const { return *sc_sparsity_pattern(get()); }
};

class coloring : public detail::owner<const sc_coloring, sc_coloring_destroy> {
public:
  using owner::owner;
  const sc_coloring *operator->() const { return get(); }
};

/* ---- kernels, programs, modules ---- */

/* Machine code. Copies share it. */
class kernel {
public:
  explicit kernel(sc_kernel *k = nullptr) noexcept : k_(k) {}
  kernel(const kernel &o) : k_(o.k_ ? sc_kernel_retain(o.k_) : nullptr) {}
  kernel(kernel &&o) noexcept : k_(std::exchange(o.k_, nullptr)) {}
  kernel &operator=(kernel o) noexcept {
    std::swap(k_, o.k_);
    return *this;
  }
  ~kernel() {
    if (k_) sc_kernel_release(k_);
  }

  sc_kernel *get() const noexcept { return k_; }
  explicit operator bool() const noexcept { return k_ != nullptr; }
  std::string name() const { return sc_kernel_name(k_); }
  std::size_t input_count() const { return sc_kernel_input_count(k_); }
  std::size_t output_count() const { return sc_kernel_output_count(k_); }
  const sc_port &input(std::size_t i) const { return *sc_kernel_input(k_, i); }
  const sc_port &output(std::size_t i) const { return *sc_kernel_output(k_, i); }
  std::size_t workspace_bytes() const { return sc_kernel_workspace_bytes(k_); }
  std::size_t code_bytes() const { return sc_kernel_code_bytes(k_); }
  sc_compile_times times() const { return sc_kernel_times(k_); }
  sc_entry entry() const { return sc_kernel_entry(k_); }
  sc_tier tier() const { return sc_kernel_tier(k_); }
  sc_status wait() const { return sc_kernel_wait(k_); } /* for what is compiled in the background */
  std::string warning() const { /* why the cache could not be used as asked; empty: nothing to tell */
    const char *s = sc_kernel_warning(k_);
    return s ? s : "";
  }

  /* As sc_kernel_call; allocates nothing, never throws, returns SC_KERNEL_*. */
  int call(const void *const *arg, void *const *res, void *w = nullptr) const noexcept {
    return sc_kernel_call(k_, arg, res, w);
  }

  /* Elements of every input in, of every output (stored values when sparse) out, all of one C++ type. */
  template <class T = double> std::vector<std::vector<T>> operator()(const std::vector<std::vector<T>> &in) const {
    if (in.size() != input_count())
      throw error(SC_ERR_ARGUMENT,
                  name() + ": " + std::to_string(in.size()) + " inputs instead of " + std::to_string(input_count()));
    std::vector<const void *> arg;
    std::vector<void *> res;
    std::vector<std::vector<T>> out;
    for (std::size_t i = 0; i < in.size(); i++) {
      check_port<T>(input(i));
      if (static_cast<std::int64_t>(in[i].size()) != input(i).count)
        throw error(SC_ERR_SHAPE, name() + ": " + std::to_string(in[i].size()) + " values for " + input(i).name +
                                      ", which has " + std::to_string(input(i).count));
      arg.push_back(in[i].data());
    }
    for (std::size_t i = 0; i < output_count(); i++) {
      check_port<T>(output(i));
      out.emplace_back(static_cast<std::size_t>(output(i).count));
    }
    for (std::vector<T> &o : out) res.push_back(o.data());
    if (int code = call(arg.data(), res.data()))
      throw error(SC_ERR_ARGUMENT, name() + ": the call failed with code " + std::to_string(code));
    return out;
  }
  std::vector<std::vector<double>> operator()(std::initializer_list<std::vector<double>> in) const {
    return (*this)(std::vector<std::vector<double>>(in));
  }

private:
  template <class T> void check_port(const sc_port &p) const {
    if (p.dtype != detail::dtype_of<T>::value)
      throw error(SC_ERR_DTYPE, name() + ": " + p.name + " is " + sc_dtype_name(p.dtype) + "; call with pointers");
  }
  sc_kernel *k_;
};

/* Exported C: source and header as texts. Outlives its context. (A class called module would be a keyword from C++20
 * on.) */
class c_module : public detail::owner<sc_module, sc_module_destroy> {
public:
  using owner::owner;
  std::string name() const { return sc_module_name(get()); }
  std::string_view source() const { return {sc_module_source(get()), sc_module_source_size(get())}; }
  std::string source_name() const { return sc_module_source_name(get()); }
  std::string_view header() const { return sc_module_header(get()); }
  std::string header_name() const { return sc_module_header_name(get()); }
  void write(const std::string &folder) const {
    sc_status status = sc_module_write(get(), folder.c_str());
    if (status == SC_OK) return;
    const char *why = sc_module_error(get());
    throw error(status, why ? why : folder);
  }
};

/* A lowered function. Must not outlive its context. */
class program : public detail::owner<sc_program, sc_program_destroy> {
public:
  using owner::owner;
  sc_context *context() const { return sc_program_context(get()); }
  std::string text() const { return detail::taken(context(), sc_print_program(get())); }
  sc_program_stats statistics() const { return sc_program_statistics(get()); }
  std::vector<sc_pass_report> reports() const {
    std::vector<sc_pass_report> all_reports;
    for (std::size_t i = 0; i < sc_program_report_count(get()); i++) all_reports.push_back(sc_program_report(get(), i));
    return all_reports;
  }
  void verify() const { detail::checked(context(), sc_program_verify(get())); }
  program optimize(const sc_lower_options &options = {}) const {
    return program(detail::checked(context(), sc_program_optimize(get(), &options)));
  }
  kernel jit(const sc_jit_options &options = {}) const {
    return kernel(detail::checked(context(), sc_jit_program(get(), &options)));
  }
  kernel compile_cc(const sc_cc_options &options) const {
    return kernel(detail::checked(context(), sc_compile_cc_program(get(), &options)));
  }
  c_module render_c(const sc_c_options &options = {}) const {
    return c_module(detail::checked(context(), sc_render_c_program(get(), &options)));
  }
  c_module render_llvm(sc_emit kind, const sc_c_options &options = {}, const std::string &plugin_dir = "") const {
    return c_module(
        detail::checked(context(), sc_render_llvm_program(get(), &options, kind, detail::c_str_or_null(plugin_dir))));
  }
  /* LLVM text, assembly, an object or bitcode, as bytes. */
  std::string emit_llvm(sc_emit kind, const sc_jit_options &options = {}) const {
    std::size_t size = 0;
    char *bytes = detail::checked(context(), sc_emit_llvm(get(), kind, &options, &size));
    std::string s(bytes, size);
    sc_string_free(context(), bytes);
    return s;
  }
};

/* ---- functions ---- */

/* A function of the context: lives as long as that, or until release() and the next collect. */
class function {
public:
  function() noexcept = default;
  explicit function(sc_function *f) noexcept : f_(f) {}

  sc_function *get() const noexcept { return f_; }
  sc_context *context() const { return f_ ? sc_function_context(f_) : nullptr; }
  explicit operator bool() const noexcept { return f_ != nullptr; }
  void release() {
    if (f_) sc_function_release(std::exchange(f_, nullptr));
  }

  std::string name() const { return sc_function_name(f_); }
  std::size_t input_count() const { return sc_function_input_count(f_); }
  std::size_t output_count() const { return sc_function_output_count(f_); }
  std::string input_name(std::size_t i) const { return sc_function_input_name(f_, i); }
  std::string output_name(std::size_t i) const { return sc_function_output_name(f_, i); }
  expr input(std::size_t i) const { return {context(), sc_function_input(f_, i)}; }
  expr output(std::size_t i) const { return {context(), sc_function_output(f_, i)}; }
  const sc_pattern *output_pattern(std::size_t i) const { return sc_function_output_pattern(f_, i); } /* null: dense */
  std::size_t find_input(const std::string &n) const { return found(sc_function_find_input(f_, n.c_str())); }
  std::size_t find_output(const std::string &n) const { return found(sc_function_find_output(f_, n.c_str())); }
  sc_hint hint() const { return sc_function_hint(f_); }
  void set_hint(sc_hint hint) const { sc_function_set_hint(f_, hint); }
  bool strict_nan() const { return sc_function_strict_nan(f_); }
  void set_strict_nan(bool strict) const { sc_function_set_strict_nan(f_, strict); }
  std::string text() const { return detail::taken(context(), sc_print_function(f_)); }
  void verify() const { detail::checked(context(), sc_verify(f_)); }

  /* Symbolic calls: f(x, u) is the first output. */
  expr call(const std::vector<expr> &args, std::size_t output = 0) const {
    return {context(), sc_call(f_, detail::handles(args).data(), args.size(), output)};
  }
  template <class... Args> expr operator()(Args... args) const { return call({args...}); }
  expr vmap(std::int64_t length, const std::vector<expr> &args, std::size_t output = 0) const {
    return {context(), sc_vmap(f_, length, detail::handles(args).data(), args.size(), output)};
  }
  expr vmap_windows(std::int64_t length, const std::vector<expr> &args, const std::vector<std::int64_t> &starts,
                    const std::vector<std::int64_t> &strides, std::size_t output = 0) const {
    if (starts.size() != args.size() || strides.size() != args.size())
      throw error(SC_ERR_ARGUMENT, name() + ": a start and a stride per argument are needed");
    return {context(), sc_vmap_windows(f_, length, detail::handles(args).data(), args.size(), starts.data(),
                                       strides.data(), output)};
  }

  /* Derivatives; requests as text: "y", "grad:y:x", "spjac:eq:x+u", "sphess:f:x:lower". */
  function derive(const std::vector<std::string> &requests, const std::string &as = "",
                  const sc_options &options = {}) const {
    return derive(parse_requests(requests), as, options);
  }
  function derive(const std::vector<sc_request> &requests, const std::string &as = "",
                  const sc_options &options = {}) const {
    return made(sc_function_derive(f_, detail::c_str_or_null(as), requests.data(), requests.size(), &options));
  }
  function gradient(const std::string &of, const std::string &wrt, const sc_options &options = {}) const {
    return made(sc_gradient(f_, of.c_str(), wrt.c_str(), &options));
  }
  function jacobian(const std::string &of, const std::string &wrt, const sc_options &options = {}) const {
    return made(sc_jacobian(f_, of.c_str(), wrt.c_str(), &options));
  }
  function hessian(const std::string &of, const std::string &wrt, const sc_options &options = {}) const {
    return made(sc_hessian(f_, of.c_str(), wrt.c_str(), &options));
  }
  sparsity jacobian_sparsity(const std::string &of, const std::string &wrt, sc_layout layout = SC_CSC) const {
    return sparsity(detail::checked(context(), sc_sparsity_jacobian(f_, of.c_str(), wrt.c_str(), layout)));
  }
  /* `of` empty: of the Lagrangian. */
  sparsity hessian_sparsity(const std::string &of, const std::string &wrt, sc_triangle triangle = SC_TRIANGLE_FULL,
                            sc_layout layout = SC_CSC) const {
    return sparsity(
        detail::checked(context(), sc_sparsity_hessian(f_, detail::c_str_or_null(of), wrt.c_str(), triangle, layout)));
  }
  /* A copy whose derivatives are what jvp or vjp compute; one may be none. */
  function custom_derivative(function jvp, function vjp, const sc_pattern *pattern = nullptr) const {
    return made(sc_custom_derivative(f_, jvp.get(), vjp.get(), pattern));
  }
  function jvp() const { return function(sc_function_jvp(f_)); } /* what it brings along; none: false */
  function vjp() const { return function(sc_function_vjp(f_)); }
  std::vector<sc_matrix_report> matrices() const {
    std::vector<sc_matrix_report> reports(sc_function_matrices(f_, nullptr, 0));
    sc_function_matrices(f_, reports.data(), reports.size());
    return reports;
  }

  program lower(const sc_lower_options &options = {}) const {
    return program(detail::checked(context(), sc_lower(f_, &options)));
  }
  kernel jit(const sc_jit_options &options = {}) const {
    return kernel(detail::checked(context(), sc_jit(f_, &options)));
  }
  /* What requests derive, compiled at once: with a cache that has it, nothing is derived. */
  kernel jit(const std::vector<std::string> &requests, sc_jit_options options = {}) const {
    const std::vector<sc_request> parsed = parse_requests(requests);
    options.requests = parsed.data();
    options.n_requests = parsed.size();
    return jit(options);
  }
  kernel compile_cc(const sc_cc_options &options) const {
    return kernel(detail::checked(context(), sc_compile_cc(f_, &options)));
  }
  c_module render_c(const sc_c_options &options = {}) const {
    return c_module(detail::checked(context(), sc_render_c(f_, &options)));
  }
  c_module render_llvm(sc_emit kind, const sc_c_options &options = {}, const std::string &plugin_dir = "") const {
    return c_module(detail::checked(context(), sc_render_llvm(f_, &options, kind, detail::c_str_or_null(plugin_dir))));
  }

private:
  std::vector<sc_request> parse_requests(const std::vector<std::string> &requests) const {
    std::vector<sc_request> parsed(requests.size());
    for (std::size_t i = 0; i < requests.size(); i++)
      detail::checked(context(), sc_request_parse(context(), requests[i].c_str(), &parsed[i]));
    return parsed;
  }
  function made(sc_function *f) const { return function(detail::checked(context(), f)); }
  std::size_t found(int i) const {
    if (i < 0) detail::fail(context());
    return static_cast<std::size_t>(i);
  }
  sc_function *f_ = nullptr;
};

/* Several functions of one context in one module, cheaper than one by one. */
inline std::vector<kernel> jit(const std::vector<function> &list, const sc_jit_options &options = {}) {
  std::vector<const sc_function *> fs;
  for (const function &f : list) fs.push_back(f.get());
  std::vector<sc_kernel *> out(list.size());
  if (list.empty()) return {};
  if (sc_jit_batch(fs.data(), fs.size(), &options, out.data()) != SC_OK) detail::fail(list.front().context());
  std::vector<kernel> kernels;
  for (sc_kernel *k : out) kernels.emplace_back(k);
  return kernels;
}
/* Threads that compile in the background. */
inline void set_jit_threads(int n) {
  sc_status status = sc_jit_set_threads(n);
  if (status != SC_OK) throw error(status, "the number of threads is from 0 to 16");
}

/* ---- contexts ---- */

/* An input or output of a function. */
struct named {
  std::string name;
  expr value;
  const pattern *sparse = nullptr; /* outputs: `value` holds the stored values */
  named(std::string n, expr v, const pattern *p = nullptr) : name(std::move(n)), value(v), sparse(p) {}
};

class context : public detail::owner<sc_context, sc_context_destroy> {
public:
  explicit context(const sc_allocator *allocator = nullptr) : owner(sc_context_create(allocator)) {
    if (!get()) throw error(SC_ERR_MEMORY, "out of memory: no context");
  }

  /* Sources. An empty shape is a scalar. */
  expr input(const std::string &name, const shape_t &shape = {}, sc_dtype dtype = SC_FLOAT64) {
    return wrap(sc_input(get(), name.c_str(), dtype, static_cast<int>(shape.size()), shape.data()));
  }
  expr input_nodiff(const std::string &name, const shape_t &shape = {}, sc_dtype dtype = SC_FLOAT64) {
    return wrap(sc_input_nodiff(get(), name.c_str(), dtype, static_cast<int>(shape.size()), shape.data()));
  }
  /* double, float, std::int64_t, std::int32_t, or std::uint8_t for bool. */
  template <class T> expr constant(const std::vector<T> &values, const shape_t &shape) {
    std::int64_t size = 1;
    for (std::int64_t n : shape) size *= n;
    if (size != static_cast<std::int64_t>(values.size()))
      throw error(SC_ERR_SHAPE,
                  "constant: " + std::to_string(values.size()) + " values for " + std::to_string(size) + " elements");
    return wrap(
        sc_const(get(), detail::dtype_of<T>::value, static_cast<int>(shape.size()), shape.data(), values.data()));
  }
  template <class T> expr constant(const std::vector<T> &values) {
    return constant(values, {static_cast<std::int64_t>(values.size())});
  }
  expr constant(std::initializer_list<double> values) { return constant(std::vector<double>(values)); }
  expr scalar(double value) { return wrap(sc_scalar(get(), value)); }
  expr number(sc_dtype dtype, double value) { return wrap(sc_number(get(), dtype, value)); }
  expr integer(std::int64_t value, sc_dtype dtype = SC_INT64) { return wrap(sc_integer(get(), dtype, value)); }
  expr full(const shape_t &shape, double value, sc_dtype dtype = SC_FLOAT64) {
    return wrap(sc_full(get(), dtype, static_cast<int>(shape.size()), shape.data(), value));
  }
  expr zeros(const shape_t &shape, sc_dtype dtype = SC_FLOAT64) {
    return wrap(sc_zeros(get(), dtype, static_cast<int>(shape.size()), shape.data()));
  }
  expr ones(const shape_t &shape, sc_dtype dtype = SC_FLOAT64) {
    return wrap(sc_ones(get(), dtype, static_cast<int>(shape.size()), shape.data()));
  }
  expr eye(std::int64_t n, sc_dtype dtype = SC_FLOAT64) { return wrap(sc_eye(get(), dtype, n)); }
  expr linspace(double first, double last, std::int64_t n, sc_dtype dtype = SC_FLOAT64) {
    return wrap(sc_linspace(get(), dtype, first, last, n));
  }

  function define(const std::string &name, const std::vector<named> &inputs, const std::vector<named> &outputs) {
    std::vector<sc_pattern> patterns;
    patterns.reserve(outputs.size());
    std::vector<sc_named> in, out;
    for (const named &n : inputs) in.push_back({n.name.c_str(), n.value.get(), nullptr});
    for (const named &n : outputs) {
      if (n.sparse) patterns.push_back(n.sparse->view());
      out.push_back({n.name.c_str(), n.value.get(), n.sparse ? &patterns.back() : nullptr});
    }
    return function(
        detail::checked(get(), sc_function_create(get(), name.c_str(), in.data(), in.size(), out.data(), out.size())));
  }

  /* The functions of a text, in its order. On any problem throws the first one; diagnostics() has all of them until the
   * next failure. */
  std::vector<function> parse(std::string_view text, const std::string &file = "") {
    const text_owner m = read(text, file);
    std::vector<function> list;
    for (std::size_t i = 0; i < sc_module_text_count(m.get()); i++)
      list.emplace_back(sc_module_text_function(m.get(), i));
    return list;
  }
  /* One of them: by name, or the last one. */
  function parse_function(std::string_view text, const std::string &name = "", const std::string &file = "") {
    const text_owner m = read(text, file);
    return function(detail::checked(get(), sc_module_text_find(m.get(), detail::c_str_or_null(name))));
  }
  const std::vector<error> &diagnostics() const noexcept { return problems_; }
  program parse_program(std::string_view text, const std::string &file = "") {
    return program(
        detail::checked(get(), sc_parse_program(get(), text.data(), text.size(), detail::c_str_or_null(file))));
  }

  coloring color_jacobian(const sc_pattern &p, const sc_coloring_options &options = {}) {
    return coloring(detail::checked(get(), sc_coloring_jacobian(get(), &p, &options)));
  }
  coloring color_hessian(const sc_pattern &p, const sc_coloring_options &options = {}) {
    return coloring(detail::checked(get(), sc_coloring_hessian(get(), &p, &options)));
  }

  /* Checks an exported module on disk; throws its first problem, all are in diagnostics(). Returns the number of
   * entries. */
  std::size_t check_module(const std::string &path, const std::string &plugin_dir = "") {
    problems_.clear();
    std::size_t entries = 0;
    if (sc_check_module(get(), path.c_str(), detail::c_str_or_null(plugin_dir), &entries) == SC_OK) return entries;
    for (std::size_t i = 0; i < sc_context_diagnostic_count(get()); i++)
      problems_.emplace_back(*sc_context_diagnostic(get(), i));
    detail::fail(get());
  }

  /* Drops what no function and none of `keep` reaches; every other expr is stale from then on. */
  void collect(const std::vector<expr *> &keep = {}) {
    std::vector<sc_expr> h;
    for (const expr *e : keep) h.push_back(e->get());
    detail::checked(get(), sc_context_collect(get(), h.data(), h.size()));
    for (std::size_t i = 0; i < keep.size(); i++)
      if (!sc_is_null(h[i])) *keep[i] = expr(get(), h[i]);
  }
  std::size_t node_count() const { return sc_context_node_count(get()); }
  std::size_t memory() const { return sc_context_memory(get()); }
  /* The version of LLVM when there is an in-process compiler, else empty. */
  std::string llvm_version(const std::string &plugin_dir = "") {
    const char *version = nullptr;
    return sc_llvm_available(get(), detail::c_str_or_null(plugin_dir), &version) && version ? version : "";
  }

private:
  using text_owner = detail::owner<sc_module_text, sc_module_text_free>;
  text_owner read(std::string_view text, const std::string &file) {
    problems_.clear();
    sc_module_text *m = sc_parse(get(), text.data(), text.size(), detail::c_str_or_null(file));
    if (m) return text_owner(m);
    for (std::size_t i = 0; i < sc_context_diagnostic_count(get()); i++)
      problems_.emplace_back(*sc_context_diagnostic(get(), i));
    detail::fail(get());
  }
  expr wrap(sc_expr e) { return {get(), e}; }
  std::vector<error> problems_;
};

} // namespace scaly

#include "scaly/machine.hpp" /* processors, vector math, the cache, names */

#endif
