/* C++ with Buffers. */
#include "plant.hpp"
#include <cstdio>

int main() {
  plant::A_t A;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) A(i, j) = 3 * i + j + 1;
  const plant::x_t x{{0.5, -1, 2}};
  plant::y_t y;
  plant::spjac_y_x_t j;
  plant::workspace_t w;
  if (plant::call(A, x, y, j, w)) return 1;
  std::printf("%.12g %.12g\n", y(0), y(1));
  for (std::size_t k = 0; k < j.size; k++)
    std::printf("%d %d %.12g\n", plant::spjac_y_x_rows[k], plant::spjac_y_x_cols[k], j[k]);
  return 0;
}
