#pragma once
/// Levenberg-Marquardt for robust least squares with a Gaussian prior, in whitened unknowns u (prior: every u is 0 with standard
/// deviation 1, independently):
///
///   minimise  sum_i w_i rho(r_i(u)^2) + |u|^2,   rho(z) = 2 (sqrt(1 + z) - 1)  (soft L1: squares near zero, absolute values far out)
///
/// by steps of  (J' W J + I + lambda diag) d = -(J' W r + u)  with W = w rho'. Deterministic.

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <limits>
#include <variant>

namespace fabricost::core {

struct LeastSquares {
  Eigen::VectorXd unknowns;
  Eigen::MatrixXd covariance;  ///< of the unknowns, with the noise estimated from the robust spread of the residuals
  double cost = std::numeric_limits<double>::infinity();
  double noise = 0;  ///< robust standard deviation of the residuals, in units of the loss's scale
  int steps = 0;
  bool converged = false;
};

/// Residuals as a function of the unknowns, and its derivatives.
struct LeastSquaresProblem {
  using Jacobian = std::variant<Eigen::MatrixXd, Eigen::SparseMatrix<double>>;  ///< residuals x unknowns

  LeastSquaresProblem() = default;
  LeastSquaresProblem(const LeastSquaresProblem&) = default;
  LeastSquaresProblem& operator=(const LeastSquaresProblem&) = default;
  virtual ~LeastSquaresProblem() = default;
  /// Finite everywhere.
  [[nodiscard]] virtual Eigen::VectorXd residuals(const Eigen::VectorXd& u) const = 0;
  [[nodiscard]] virtual Jacobian jacobian(const Eigen::VectorXd& u) const = 0;
};

/// \param weight of every residual, 0 to 1
[[nodiscard]] LeastSquares minimise(const LeastSquaresProblem& problem, const Eigen::VectorXd& start, const Eigen::VectorXd& weight,
                                    int max_steps = 200);

}  // namespace fabricost::core
