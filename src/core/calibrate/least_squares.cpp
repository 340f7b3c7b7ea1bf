/// The minimiser of calibrate/least_squares.hpp.

#include "calibrate/least_squares.hpp"

#include "text/quantile.hpp"

#include <Eigen/Dense>
#include <Eigen/Sparse>

#include <cmath>
#include <type_traits>
#include <vector>

namespace fabricost::core {
namespace {

[[nodiscard]] double soft_l1(double r) { return 2 * (std::sqrt(1 + r * r) - 1); }

/// 1.4826 times the median of |r| with positive weight: the standard deviation, for normal residuals.
[[nodiscard]] double robust_spread(const Eigen::VectorXd& r, const Eigen::VectorXd& weight) {
  std::vector<double> sizes;
  for (Eigen::Index i = 0; i < r.size(); ++i)
    if (weight[i] > 0) sizes.push_back(std::fabs(r[i]));
  return sizes.empty() ? 0 : 1.4826 * upper_median(sizes);
}

/// J' W J
[[nodiscard]] Eigen::MatrixXd product(const LeastSquaresProblem::Jacobian& jacobian, const Eigen::VectorXd& weight) {
  return std::visit(
      [&](const auto& j) {
        const std::decay_t<decltype(j)> weighted = weight.asDiagonal() * j;
        return Eigen::MatrixXd(j.transpose() * weighted);
      },
      jacobian);
}

}  // namespace

LeastSquares minimise(const LeastSquaresProblem& problem, const Eigen::VectorXd& start, const Eigen::VectorXd& weight, int max_steps) {
  using Vector = Eigen::VectorXd;
  LeastSquares out;
  out.unknowns = start;
  Vector r = problem.residuals(start);
  const auto cost_of = [&](const Vector& u, const Vector& residuals) {
    double sum = u.squaredNorm();
    for (Eigen::Index i = 0; i < residuals.size(); ++i) sum += weight[i] * soft_l1(residuals[i]);
    return sum;
  };
  const auto pull = [&](const Vector& residuals) -> Vector { return weight.array() / (1 + residuals.array().square()).sqrt(); };
  out.cost = cost_of(start, r);
  double damping = 1e-2;
  Eigen::MatrixXd normal;
  for (; out.steps < max_steps && !out.converged; ++out.steps) {
    const auto j = problem.jacobian(out.unknowns);
    const Vector w = pull(r);
    normal = product(j, w);
    const Vector gradient = std::visit([&](const auto& its) { return Vector(its.transpose() * w.cwiseProduct(r) + out.unknowns); }, j);
    normal.diagonal().array() += 1;
    bool better = false;
    for (int attempt = 0; attempt < 12 && !better; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal().array() += damping * normal.diagonal().array();
      const Vector step = damped.ldlt().solve(-gradient);
      const Vector next = out.unknowns + step;
      const Vector residuals = problem.residuals(next);
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
  const auto j = problem.jacobian(out.unknowns);
  // a few points do not determine the noise: it is assumed to be one scale until there are about twenty
  const auto seen = static_cast<double>((weight.array() > 0).count());
  const double spread = robust_spread(r, weight);
  out.noise = std::sqrt((20 + seen * spread * spread) / (20 + seen));
  normal = product(j, pull(r) / (out.noise * out.noise));
  normal.diagonal().array() += 1;
  out.covariance = normal.ldlt().solve(Eigen::MatrixXd::Identity(normal.rows(), normal.cols()));
  return out;
}

}  // namespace fabricost::core
