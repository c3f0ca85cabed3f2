/* Uses the C module that the build exports. */
#include "stage.h"
#include <stdio.h>

int main(void) {
  stage_z_t z = {{1, 2}};
  stage_u_t u = {{2}};
  stage_znext_t next;
  if (stage_call(&z, &u, &next, NULL)) return 1;
  printf("%g %g\n", next.data[0], next.data[1]);
  return 0;
}
