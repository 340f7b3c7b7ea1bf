/// The fit of evaluation/kernel_fit.hpp.

#include "evaluation/kernel_fit.hpp"

#include "calibrate/least_squares.hpp"

#include <fabricost/shipped_numbers.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabricost::plan {
namespace {

[[nodiscard]] std::string_view section_of(std::string_view key) { return key.substr(0, key.find('.')); }

class KernelProblem : public core::LeastSquaresProblem {
 public:
  static constexpr double scale = policy::fits::scale;

  KernelProblem(ConstantSet set, std::vector<Constants> prior, const std::vector<KernelSample>& samples)
      : prior_(std::move(prior)), samples_(samples) {
    for (const Parameter& p : parameters_of(set)) {
      if (p.held()) continue;
      if (p.fitted == FitTreatment::shared)
        unknowns.push_back({.parameter = &p});
      else
        for (std::size_t g = 0; g < prior_.size(); ++g)
          if (concerns_any(p, g)) unknowns.push_back({.parameter = &p, .of = static_cast<int>(g)});
    }
  }
  [[nodiscard]] std::vector<Constants> constants(const Eigen::VectorXd& u) const {
    std::vector<Constants> out = prior_;
    for (std::size_t k = 0; k < unknowns.size(); ++k)
      for (std::size_t g = 0; g < out.size(); ++g)
        if (unknowns[k].of < 0 || unknowns[k].of == static_cast<int>(g)) {
          const Parameter& p = *unknowns[k].parameter;
          double& value = p.of(out[g]);
          value = std::clamp(value * std::exp(p.spread * u[static_cast<Eigen::Index>(k)]), p.min, p.max);
        }
    return out;
  }
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u) const override {
    const std::vector<Constants> c = constants(u);
    Eigen::VectorXd r(static_cast<Eigen::Index>(samples_.size()));
    for (std::size_t i = 0; i < samples_.size(); ++i) r[static_cast<Eigen::Index>(i)] = residual(i, c);
    return r;
  }
  [[nodiscard]] Jacobian jacobian(const Eigen::VectorXd& u) const override {
    constexpr double h = 1e-4;
    const Eigen::VectorXd here = residuals(u);
    Eigen::MatrixXd j = Eigen::MatrixXd::Zero(here.size(), u.size());
    for (Eigen::Index k = 0; k < u.size(); ++k) {
      Eigen::VectorXd there = u;
      there[k] += h;
      const std::vector<Constants> c = constants(there);
      const KernelUnknown& x = unknowns[static_cast<std::size_t>(k)];
      for (std::size_t i = 0; i < samples_.size(); ++i) {
        const KernelSample& s = samples_[i];
        if (s.section != section_of(x.parameter->key) || (x.of >= 0 && static_cast<std::size_t>(x.of) != s.generation)) continue;
        const auto at = static_cast<Eigen::Index>(i);
        j(at, k) = (residual(i, c) - here[at]) / h;
      }
    }
    return j;
  }

  std::vector<KernelUnknown> unknowns;

 private:
  [[nodiscard]] bool concerns_any(const Parameter& p, std::size_t generation) const {
    return std::any_of(samples_.begin(), samples_.end(),
                       [&](const KernelSample& s) { return s.generation == generation && s.section == section_of(p.key); });
  }
  [[nodiscard]] double residual(std::size_t i, const std::vector<Constants>& c) const {
    const KernelSample& s = samples_[i];
    return std::log(s.seconds(c[s.generation]) / s.measured) / scale;
  }
  std::vector<Constants> prior_;
  const std::vector<KernelSample>& samples_;
};

}  // namespace

FittedKernels fit_kernels(ConstantSet set, const std::vector<Constants>& prior, const std::vector<KernelSample>& samples) {
  KernelProblem problem(set, prior, samples);
  const auto count = static_cast<Eigen::Index>(problem.unknowns.size());
  const Eigen::VectorXd weight = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(samples.size()));
  const core::LeastSquares found = minimise(problem, Eigen::VectorXd::Zero(count), weight);
  FittedKernels out;
  out.generations = problem.constants(found.unknowns);
  out.unknowns = problem.unknowns;
  for (Eigen::Index k = 0; k < count; ++k) {
    KernelUnknown& x = out.unknowns[static_cast<std::size_t>(k)];
    const double narrowed = std::sqrt(found.covariance(k, k));
    x.deviation = x.parameter->spread * narrowed;
    x.determined = narrowed < policy::fits::narrowed_to;
  }
  const Eigen::VectorXd r = problem.residuals(found.unknowns);
  for (Eigen::Index i = 0; i < r.size(); ++i) out.residuals.push_back(r[i] * KernelProblem::scale);
  out.steps = found.steps;
  out.converged = found.converged;
  return out;
}

}  // namespace fabricost::plan
