/* Plain C with the typed header. */
#include "plant.h"
#include <stdio.h>

int main(void) {
  plant_A_t A = {{1, 2, 3, 4, 5, 6}};
  plant_x_t x = {{0.5, -1, 2}};
  plant_y_t y;
  plant_spjac_y_x_t j;
  plant_workspace_t w;
  if (plant_call(&A, &x, &y, &j, &w)) return 1;
  printf("%.12g %.12g\n", y.data[0], y.data[1]);
  for (int k = 0; k < plant_spjac_y_x_NNZ; k++)
    printf("%d %d %.12g\n", plant_spjac_y_x_rows[k], plant_spjac_y_x_cols[k], j.data[k]);
  return 0;
}
