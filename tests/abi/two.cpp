/* Four modules' C++ headers in one file: their namespaces share one Buffer. */
#include "a/memory.hpp"
#include "a/order.hpp"
#include "b/memory.hpp"
#include "b/order.hpp"
#include <algorithm>
#include <type_traits>

static_assert(std::is_same_v<a_order::x_t, b_order::x_t>, "one Buffer template");
static_assert(a_memory::y_t::rank == 2 && a_memory::y_t::shape[0] == 2 && a_memory::y_t::shape[1] == 3 &&
              a_memory::y_t::size == 6);
static_assert(a_memory::none_t::size == 0 && sizeof(a_memory::workspace_t) >= a_memory::SZ_W);

int main() {
  const a_order::x_t x{{0.5, -1.0, 2.0, 4.0}};
  a_order::y_t ya, yb;
  a_order::z_t za, zb;
  if (a_order::call(x, ya, za) != 0 || b_order::call(x, yb, zb) != 0) return 1;
  if (!std::equal(ya.begin(), ya.end(), yb.begin()) || !std::equal(za.begin(), za.end(), zb.begin())) return 2;
  a_memory::y_t y{};
  y(1, 2) = 7;
  double sum = 0;
  for (double v : y) sum += v;
  return sum == 7 && y[5] == 7 && y.ptr() + y.size == y.end() ? 0 : 3;
}
