/* What the C++ interface throws, and the plumbing below its classes (detail). */
#ifndef SCALY_ERROR_HPP
#define SCALY_ERROR_HPP

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "scaly/scaly.h"

namespace scaly {

/* ---- errors ---- */

class error : public std::runtime_error {
public:
  error(sc_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
  explicit error(const sc_diagnostic &d)
      : std::runtime_error(d.message), status_(d.status), file_(d.file ? d.file : ""), line_(d.line),
        column_(d.column) {}

  sc_status status() const noexcept { return status_; }
  const std::string &file() const noexcept {
    return file_;
  } /* empty, and line and column 0, when the problem is in no text */
  int line() const noexcept { return line_; }
  int column() const noexcept { return column_; }

private:
  sc_status status_;
  std::string file_;
  int line_ = 0, column_ = 0;
};

namespace detail {

/* Throws the first recorded problem and clears it, so that the next failure is reported as its own. */
[[noreturn]] inline void fail(sc_context *cx) {
  const sc_diagnostic *d = cx ? sc_context_error(cx) : nullptr;
  if (!d)
    throw error(cx ? SC_ERR_MEMORY : SC_ERR_STALE,
                cx ? "out of memory" : "an expression or function without a context");
  error e(*d);
  sc_context_clear_error(cx);
  throw e;
}

template <class T> T *checked(sc_context *cx, T *p) {
  if (!p) fail(cx);
  return p;
}

inline void checked(sc_context *cx, sc_status status) {
  if (status != SC_OK) fail(cx);
}

/* A text of the library's as a string of one's own. */
inline std::string taken(sc_context *cx, char *text) {
  std::string s(checked(cx, text));
  sc_string_free(cx, text);
  return s;
}

inline const char *c_str_or_null(const std::string &s) {
  return s.empty() ? nullptr : s.c_str();
}

/* Owns a C handle that Destroy frees. */
template <class T, void (*Destroy)(T *)> class owner {
public:
  explicit owner(T *p = nullptr) noexcept : p_(p) {}
  owner(owner &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  owner &operator=(owner &&o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  owner(const owner &) = delete;
  owner &operator=(const owner &) = delete;
  ~owner() {
    if (p_) Destroy(p_);
  }
  T *get() const noexcept { return p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }

private:
  T *p_;
};

template <class T> struct dtype_of;
template <> struct dtype_of<double> { static constexpr sc_dtype value = SC_FLOAT64; };
template <> struct dtype_of<float> { static constexpr sc_dtype value = SC_FLOAT32; };
template <> struct dtype_of<std::int64_t> { static constexpr sc_dtype value = SC_INT64; };
template <> struct dtype_of<std::int32_t> { static constexpr sc_dtype value = SC_INT32; };
template <> struct dtype_of<std::uint8_t> { static constexpr sc_dtype value = SC_BOOL; };

} // namespace detail

} // namespace scaly

#endif
