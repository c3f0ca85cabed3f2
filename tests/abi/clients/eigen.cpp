/* Eigen's maps over the raw pointers: a row-major matrix in, a compressed-column sparse matrix out, with the header's
 * tables. */
#include "plant.h"
#include <Eigen/Dense>
#include <Eigen/SparseCore>
#include <cstdio>

int main() {
  Eigen::Matrix<double, 2, 3, Eigen::RowMajor> A;
  A << 1, 2, 3, 4, 5, 6;
  const Eigen::Vector3d x(0.5, -1, 2);
  Eigen::Vector2d y;
  Eigen::VectorXd values(plant_spjac_y_x_NNZ);
  const double *arg[] = {A.data(), x.data()};
  double *res[] = {y.data(), values.data()};
  if (plant(arg, res, nullptr, nullptr, 0)) return 1;
  std::printf("%.12g %.12g\n", y[0], y[1]);
  const Eigen::Map<const Eigen::SparseMatrix<double, Eigen::ColMajor, int32_t>> j(
      plant_spjac_y_x_NROW, plant_spjac_y_x_NCOL, plant_spjac_y_x_NNZ, plant_spjac_y_x_colptr, plant_spjac_y_x_rowind,
      values.data());
  for (int c = 0; c < j.outerSize(); c++)
    for (decltype(j)::InnerIterator it(j, c); it; ++it)
      std::printf("%d %d %.12g\n", static_cast<int>(it.row()), static_cast<int>(it.col()), it.value());
  return (Eigen::MatrixXd(j) * x).size() == 2 ? 0 : 1;
}
