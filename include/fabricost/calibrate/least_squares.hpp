#pragma once
/// Levenberg-Marquardt for robust least squares with a Gaussian prior, in whitened unknowns u (prior: every u is 0 with standard
/// deviation 1, independently):
///
///   minimise  sum_i w_i rho(r_i(u)^2) + |u|^2,   rho(z) = 2 (sqrt(1 + z) - 1)  (soft L1: squares near zero, absolute values far out)
///
/// by steps of  (J' W J + I + lambda diag) d = -(J' W r + u)  with W = w rho'. Deterministic.

#include <fabricost/shipped_numbers.hpp>

#include <Eigen/Dense>
#include <Eigen/Sparse>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fabricost::core {

/// Below this ratio of its standard deviation after the fit to that of its prior, an unknown is determined.
inline constexpr double narrowed_to = policy::fits::narrowed_to;

struct LeastSquares {
  Eigen::VectorXd unknowns;
  Eigen::MatrixXd covariance;  ///< of the unknowns, with the noise estimated from the robust spread of the residuals
  double cost = std::numeric_limits<double>::infinity();
  double noise = 0;  ///< robust standard deviation of the residuals, in units of the loss's scale
  int steps = 0;
  bool converged = false;
};

namespace detail {

[[nodiscard]] inline double soft_l1(double r) { return 2 * (std::sqrt(1 + r * r) - 1); }

/// 1.4826 times the median of |r| with positive weight: the standard deviation, for normal residuals.
[[nodiscard]] inline double robust_spread(const Eigen::VectorXd& r, const Eigen::VectorXd& weight) {
  std::vector<double> sizes;
  for (Eigen::Index i = 0; i < r.size(); ++i)
    if (weight[i] > 0) sizes.push_back(std::fabs(r[i]));
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return 1.4826 * *middle;
}

/// J' W J
template <class Jacobian>
[[nodiscard]] Eigen::MatrixXd product(const Jacobian& j, const Eigen::VectorXd& weight) {
  const Jacobian weighted = weight.asDiagonal() * j;
  return Eigen::MatrixXd(j.transpose() * weighted);
}

}  // namespace detail

/// \param model  `residuals(u)` (finite everywhere) and `jacobian(u)` (residuals x unknowns, dense or sparse)
/// \param weight of every residual, 0 to 1
template <class Model>
[[nodiscard]] LeastSquares minimise(Model& model, const Eigen::VectorXd& start, const Eigen::VectorXd& weight, int max_steps = 200) {
  using Vector = Eigen::VectorXd;
  LeastSquares out;
  out.unknowns = start;
  Vector r = model.residuals(start);
  const auto cost_of = [&](const Vector& u, const Vector& residuals) {
    double sum = u.squaredNorm();
    for (Eigen::Index i = 0; i < residuals.size(); ++i) sum += weight[i] * detail::soft_l1(residuals[i]);
    return sum;
  };
  const auto pull = [&](const Vector& residuals) -> Vector { return weight.array() / (1 + residuals.array().square()).sqrt(); };
  out.cost = cost_of(start, r);
  double damping = 1e-2;
  Eigen::MatrixXd normal;
  for (; out.steps < max_steps && !out.converged; ++out.steps) {
    const auto j = model.jacobian(out.unknowns);
    const Vector w = pull(r);
    normal = detail::product(j, w);
    const Vector gradient = j.transpose() * w.cwiseProduct(r) + out.unknowns;
    normal.diagonal().array() += 1;
    bool better = false;
    for (int attempt = 0; attempt < 12 && !better; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal().array() += damping * normal.diagonal().array();
      const Vector step = damped.ldlt().solve(-gradient);
      const Vector next = out.unknowns + step;
      const Vector residuals = model.residuals(next);
      const double cost = cost_of(next, residuals);
      if (std::isfinite(cost) && cost < out.cost) {
        better = true;
        out.converged = out.cost - cost < 1e-6 * (1 + cost);  // a millionth is far below the uncertainty of any constant
        out.unknowns = next;
        out.cost = cost;
        r = residuals;
        damping = std::max(1e-9, damping / 4);
      } else {
        damping *= 4;
      }
    }
    if (!better) out.converged = true;  // no step decreases the cost
  }
  const auto j = model.jacobian(out.unknowns);
  // a few points do not determine the noise: it is assumed to be one scale until there are about twenty
  const auto seen = static_cast<double>((weight.array() > 0).count());
  const double spread = detail::robust_spread(r, weight);
  out.noise = std::sqrt((20 + seen * spread * spread) / (20 + seen));
  normal = detail::product(j, pull(r) / (out.noise * out.noise));
  normal.diagonal().array() += 1;
  out.covariance = normal.ldlt().solve(Eigen::MatrixXd::Identity(normal.rows(), normal.cols()));
  return out;
}

}  // namespace fabricost::core
