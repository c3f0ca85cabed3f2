/* Uses the C++ module that the build exports. */
#include "stage_jacobian.hpp"
#include <cstdio>

int main() {
  namespace f = stage_jacobian;
  const f::z_t z{{1, 2}};
  const f::u_t u{{2}};
  f::znext_t next;
  f::spjac_znext_z_u_t values;
  if (f::call(z, u, next, values)) return 1;
  for (std::size_t k = 0; k < values.size; k++)
    std::printf("(%d, %d) %g\n", f::spjac_znext_z_u_rows[k], f::spjac_znext_z_u_cols[k], values[k]);
  return 0;
}
