/// The fit of calibrate/fit.hpp.

#include "calibrate/fit.hpp"

#include "calibrate/least_squares.hpp"

#include <Eigen/Dense>
#include <Eigen/Sparse>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace fabricost::core {

void apply_changes(Constants& into, const Block& block, std::span<const double> change) {
  const std::span<const Parameter> parameters = parameters_of(block.set);
  Constants follow, followed;
  const bool transport = block.set == ConstantSet::transport;
  if (transport) {
    const double step = block.prior.transport.tree_step;
    follow.transport = TransportConstants::from_tree_step(step);
    followed.transport = TransportConstants::from_tree_step(step * std::exp(change[0]));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    double value = p.value(block.prior);
    if (value > 0) {
      if (transport && i > 0) value *= p.value(followed) / p.value(follow);
      if (change[i] != 0) value *= std::exp(change[i]);
      value = std::clamp(value, p.min, p.max);
    }
    p.of(into) = value;
  }
}

namespace {

/// The least-squares problem for `minimise`.
class ConstantsProblem : public LeastSquaresProblem {
 public:
  ConstantsProblem(const std::vector<Block>& blocks, const std::vector<FittedMachine>& machines, const std::vector<Series>& series,
                   const FitOptions& options)
      : blocks_(blocks), machines_(machines), series_(series), options_(options) {
    first_.push_back(0);
    for (const Series& s : series_) first_.push_back(first_.back() + static_cast<Eigen::Index>(s.bytes.size()));
    for (const Block& b : blocks_) slots_.emplace_back(parameters_of(b.set).size(), -1);
    name_unknowns();
    whiten();
  }

  [[nodiscard]] const std::vector<Unknown>& unknowns() const { return unknowns_; }
  [[nodiscard]] Eigen::Index count() const { return static_cast<Eigen::Index>(unknowns_.size()); }
  [[nodiscard]] Eigen::VectorXd weights() const {
    Eigen::VectorXd w(first_.back());
    for (std::size_t s = 0; s < series_.size(); ++s)
      for (std::size_t i = 0; i < series_[s].bytes.size(); ++i) w[first_[s] + static_cast<Eigen::Index>(i)] = series_[s].weight[i];
    return w;
  }
  /// log changes from whitened unknowns
  [[nodiscard]] Eigen::VectorXd changes(const Eigen::VectorXd& u) const { return root_ * u; }
  [[nodiscard]] const Eigen::SparseMatrix<double>& root() const { return root_; }
  [[nodiscard]] Eigen::Index first(std::size_t series) const { return first_[series]; }

  [[nodiscard]] Constants constants_of(std::size_t block, const Eigen::VectorXd& change) const {
    Constants out = blocks_[block].prior;
    apply_changes(out, blocks_[block], block_changes(block, change));
    return out;
  }

  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u) const override {
    Eigen::VectorXd r(first_.back());
    const Eigen::VectorXd change = changes(u);
    for (std::size_t m = 0; m < machines_.size(); ++m) evaluate(m, change, r);
    return r;
  }

  [[nodiscard]] Jacobian jacobian(const Eigen::VectorXd& u) const override { return sparse_jacobian(u); }

  /// Forward differences, only over the machines a constant belongs to. Few constants price a point, so most are zero.
  [[nodiscard]] Eigen::SparseMatrix<double> sparse_jacobian(const Eigen::VectorXd& u) const {
    const Eigen::VectorXd base = residuals(u);
    const Eigen::VectorXd change = changes(u);
    Eigen::MatrixXd by_change = Eigen::MatrixXd::Zero(first_.back(), count());
    Eigen::VectorXd moved = base;
    constexpr double h = 1e-6;
    for (Eigen::Index k = 0; k < count(); ++k) {
      Eigen::VectorXd there = change;
      there[k] += h;
      for (std::size_t m = 0; m < machines_.size(); ++m) {
        if (!concerns(unknowns_[static_cast<std::size_t>(k)], machines_[m])) continue;
        evaluate(m, there, moved);
        for (std::size_t s = 0; s < series_.size(); ++s) {
          if (series_[s].machine != m) continue;
          const Eigen::Index n = first_[s + 1] - first_[s];
          by_change.col(k).segment(first_[s], n) = (moved.segment(first_[s], n) - base.segment(first_[s], n)) / h;
        }
      }
    }
    return Eigen::SparseMatrix<double>(by_change.sparseView()) * root_;
  }

 private:
  /// Every constant with a positive prior that is not held, once per block, or once for all where it is shared.
  void name_unknowns() {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const std::span<const Parameter> parameters = parameters_of(blocks_[b].set);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        if (p.held() || !(p.value(blocks_[b].prior) > 0)) continue;
        if (std::find(options_.hold.begin(), options_.hold.end(), &p) != options_.hold.end()) continue;
        if (options_.share && p.fitted == FitTreatment::shared) {
          const auto same = std::find_if(unknowns_.begin(), unknowns_.end(), [&](const Unknown& u) { return u.parameter == &p; });
          if (same != unknowns_.end()) {
            same->blocks.push_back(b);
            slots_[b][i] = static_cast<int>(same - unknowns_.begin());
            continue;
          }
        }
        slots_[b][i] = static_cast<int>(unknowns_.size());
        unknowns_.push_back({.parameter = &p, .blocks = {b}});
      }
    }
  }

  /// Covariance of two constants of one block from the block's own spreads.
  [[nodiscard]] static double scatter_of(const Block& block, const Parameter& a, const Parameter& b) {
    const double own = block.flat > 0 ? block.flat : block.spread * a.spread;
    return (&a == &b ? own * own : 0) + block.latency * block.latency * a.latency * b.latency + block.rate * block.rate * a.rate * b.rate;
  }

  /// Prior covariance of two unknowns: the scatter of every block that both descend from. A block's constants are those of its relative
  /// times its own scatter, the relative's those of its own, and so on.
  [[nodiscard]] double in_common(const Unknown& a, const Unknown& b, bool same) const {
    const bool alone = a.blocks.size() == 1 && b.blocks.size() == 1;
    if (!alone && !same) return 0;
    if (!alone) {
      const Block& of_a = blocks_[a.blocks.front()];
      const double own = of_a.flat > 0 ? of_a.flat : of_a.spread * a.parameter->spread;
      return own * own;
    }
    double out = 0;
    for (std::size_t at = a.blocks.front(); at != Block::no_relative; at = blocks_[at].relative)
      for (std::size_t bt = b.blocks.front(); bt != Block::no_relative; bt = blocks_[bt].relative)
        if (at == bt) out += scatter_of(blocks_[at], *a.parameter, *b.parameter);
    return out;
  }

  /// root_ root_' is the prior's covariance.
  void whiten() {
    Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(count(), count());
    for (Eigen::Index k = 0; k < count(); ++k)
      for (Eigen::Index l = 0; l < count(); ++l)
        covariance(k, l) = in_common(unknowns_[static_cast<std::size_t>(k)], unknowns_[static_cast<std::size_t>(l)], k == l);
    for (Eigen::Index k = 0; k < count(); ++k) unknowns_[static_cast<std::size_t>(k)].prior_deviation = std::sqrt(covariance(k, k));
    root_ = Eigen::MatrixXd(covariance.llt().matrixL()).sparseView();
  }

  [[nodiscard]] std::vector<double> block_changes(std::size_t block, const Eigen::VectorXd& change) const {
    std::vector<double> out(slots_[block].size(), 0.0);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (slots_[block][i] >= 0) out[i] = change[slots_[block][i]];
    return out;
  }

  [[nodiscard]] static bool concerns(const Unknown& unknown, const FittedMachine& machine) {
    return std::any_of(unknown.blocks.begin(), unknown.blocks.end(),
                       [&](std::size_t b) { return std::find(machine.block.begin(), machine.block.end(), b) != machine.block.end(); });
  }

  void evaluate(std::size_t machine, const Eigen::VectorXd& change, Eigen::VectorXd& r) const {
    Constants c = machines_[machine].constants;
    for (const std::size_t b : machines_[machine].block)
      if (b != FittedMachine::none) apply_changes(c, blocks_[b], block_changes(b, change));
    for (std::size_t s = 0; s < series_.size(); ++s) {
      const Series& points = series_[s];
      if (points.machine != machine) continue;
      const Line line = price(points.schedule, points.fabric, c, points.ran.protocol, points.byte_wide);
      for (std::size_t i = 0; i < points.bytes.size(); ++i)
        r[first_[s] + static_cast<Eigen::Index>(i)] = (std::log(line(points.bytes[i])) - points.log_seconds[i]) / points.scale;
    }
  }

  const std::vector<Block>& blocks_;
  const std::vector<FittedMachine>& machines_;
  const std::vector<Series>& series_;
  FitOptions options_;
  std::vector<Eigen::Index> first_;
  std::vector<std::vector<int>> slots_;  ///< unknown of a block's parameter, or -1
  std::vector<Unknown> unknowns_;
  Eigen::SparseMatrix<double> root_;
};

/// The same random numbers on every platform, unlike std::normal_distribution.
class Scatter {
 public:
  [[nodiscard]] double next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      sum += static_cast<double>(state_ >> 11) * 0x1.0p-53;
    }
    return sum;
  }

 private:
  unsigned long long state_ = 20240517;
};

}  // namespace

Fit fit_constants(const std::vector<Block>& blocks, const std::vector<FittedMachine>& machines, const std::vector<Series>& series,
                  const FitOptions& options) {
  ConstantsProblem problem(blocks, machines, series, options);
  const Eigen::VectorXd weights = problem.weights();
  LeastSquares best;
  Scatter scatter;
  for (int start = 0; start < std::max(1, options.starts); ++start) {
    Eigen::VectorXd u = Eigen::VectorXd::Zero(problem.count());
    if (start > 0)
      for (Eigen::Index k = 0; k < u.size(); ++k) u[k] = scatter.next();
    LeastSquares found = minimise(problem, u, weights, options.max_steps);
    if (found.cost < best.cost) best = std::move(found);
  }
  Fit out;
  out.cost = best.cost;
  out.noise = best.noise;
  out.steps = best.steps;
  out.converged = best.converged;
  const Eigen::VectorXd change = problem.changes(best.unknowns);
  const Eigen::MatrixXd covariance = Eigen::MatrixXd(problem.root() * best.covariance) * problem.root().transpose();
  for (std::size_t b = 0; b < blocks.size(); ++b) out.blocks.push_back(problem.constants_of(b, change));
  out.unknowns = problem.unknowns();
  for (Eigen::Index k = 0; k < change.size(); ++k) {
    Unknown& unknown = out.unknowns[static_cast<std::size_t>(k)];
    unknown.change = change[k];
    unknown.deviation = std::sqrt(covariance(k, k));
    for (Eigen::Index l = 0; l < change.size(); ++l) {
      if (l == k) continue;
      const double r = covariance(k, l) / std::sqrt(covariance(k, k) * covariance(l, l));
      if (std::fabs(r) > std::fabs(unknown.correlation)) {
        unknown.correlation = r;
        unknown.partner = static_cast<int>(l);
      }
    }
  }
  const Eigen::VectorXd r = problem.residuals(best.unknowns);
  const Eigen::SparseMatrix<double> sensitivity = problem.sparse_jacobian(best.unknowns);  // in units of each series' scale
  const Eigen::SparseMatrix<double> squares = sensitivity.cwiseProduct(Eigen::MatrixXd(sensitivity * best.covariance));
  const Eigen::VectorXd spread = (squares * Eigen::VectorXd::Ones(squares.cols())).cwiseSqrt();
  for (std::size_t s = 0; s < series.size(); ++s) {
    out.residuals.emplace_back();
    out.deviation.emplace_back();
    for (std::size_t i = 0; i < series[s].bytes.size(); ++i) {
      const Eigen::Index at = problem.first(s) + static_cast<Eigen::Index>(i);
      out.residuals.back().push_back(r[at] * series[s].scale);
      out.deviation.back().push_back(spread[at] * series[s].scale);
    }
  }
  return out;
}

}  // namespace fabricost::core
