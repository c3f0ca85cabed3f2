/* The part of the C++17 interface that is about the machine: processors, vector math libraries, the cache of compiled
 * code, and the names of the C enumerations. scaly/scaly.hpp includes it. */
#ifndef SCALY_MACHINE_HPP
#define SCALY_MACHINE_HPP

#include "scaly/scaly.hpp"

namespace scaly {

/* ---- processors ---- */

inline sc_target target(const std::string &preset) {
  sc_target t;
  sc_status status = sc_target_preset(preset.c_str(), &t);
  if (status != SC_OK) throw error(status, "no processor is called '" + preset + "'");
  return t;
}
inline std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sc_target_preset_count(); i++) names.emplace_back(sc_target_preset_name(i));
  return names;
}

/* ---- vector math ---- */

/* Every routine of the libraries that code in lanes may call, and whether it can run here. Opens the libraries. */
inline std::vector<sc_vector_routine> vector_routines() {
  std::vector<sc_vector_routine> list;
  for (sc_vector_routine r; sc_vector_routine_at(list.size(), &r);) list.push_back(r);
  return list;
}
/* Of "glibc" or "sleef"; empty: this process cannot open it. */
inline std::string vector_library_version(const std::string &library) {
  const char *version = sc_vector_library_version(library.c_str());
  return version ? version : "";
}

/* ---- the cache of compiled code ---- */

/* The folder that sc_jit_options::cache_dir and sc_cc_options::cache_dir name; see scaly/cache.h for what is trusted.
 * Errors throw. */
class cache {
public:
  explicit cache(std::string dir) : dir_(std::move(dir)) {}

  static bool available() noexcept { return sc_cache_available(); } /* whether this build has one */
  const std::string &dir() const noexcept { return dir_; }
  sc_cache_summary info(context &cx) const { return run(cx, sc_cache_info); }
  sc_cache_summary verify(context &cx) const { return run(cx, sc_cache_verify); } /* counts the damaged ones, too */
  /* Until no more than max_bytes are left, and nothing older than max_age seconds; negative: no limit. */
  sc_cache_summary prune(context &cx, std::int64_t max_bytes, std::int64_t max_age = -1) const {
    sc_cache_summary s{};
    detail::checked(cx.get(), sc_cache_prune(cx.get(), dir_.c_str(), max_bytes, max_age, &s));
    return s;
  }
  sc_cache_summary clear(context &cx) const { return run(cx, sc_cache_clear); }

private:
  sc_cache_summary run(context &cx, sc_status (*what)(sc_context *, const char *, sc_cache_summary *)) const {
    sc_cache_summary s{};
    detail::checked(cx.get(), what(cx.get(), dir_.c_str(), &s));
    return s;
  }
  std::string dir_;
};

/* ---- names of the C enumerations ---- */

inline std::string to_string(sc_status s) {
  return sc_status_name(s);
}
inline std::string to_string(sc_dtype d) {
  return sc_dtype_name(d);
}
inline std::string to_string(sc_coloring_method m) {
  return sc_coloring_method_name(m);
}
inline std::string to_string(sc_coloring_order o) {
  return sc_coloring_order_name(o);
}
inline std::size_t size_of(sc_dtype d) { /* bytes per element */
  return sc_dtype_size(d);
}

} // namespace scaly

#endif
