/* The same through the C++ header. */
#include <cstdio>
#include <scaly/scaly.hpp>

int main() {
  scaly::context cx;
  scaly::expr x = cx.input("x", {3});
  scaly::function f = cx.define("f", {{"x", x}}, {{"y", sum(x * x)}});
  bool c = f.render_c().source().find("int f(") != std::string_view::npos, jit = false;
  try {
    jit = f.jit()({{1, 2, 3}})[0][0] == 14;
  } catch (const scaly::error &e) {
    if (e.status() != SC_ERR_UNAVAILABLE) throw;
  }
  std::printf("c: %d jit: %d\n", c, jit);
  return 0;
}
