#pragma once
/// \file serving_model.hpp
/// Published serving runs as a function of constants: those of frameworks, those of inference on each GPU generation, and, in a fit
/// together with training steps, the rates of kernels common to both.

#include "evaluation/rows.hpp"
#include "text/quantile.hpp"

#include <fabricost/plan/evaluation/inference.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/serving/parameters.hpp>
#include <fabricost/specs/load.hpp>

#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan::detail {

inline constexpr double serving_scale_of_loss = 0.1;  // repeats of a serving run differ by some 5 %, configurations nobody printed by more
inline constexpr double weight_of_ttft = 1.3;
inline constexpr double own_share = 0.5;  // generations scatter half as widely around each other as around the prior

[[nodiscard]] inline bool fitted_quantity(InferenceQuantity q) {
  using Q = InferenceQuantity;
  return q == Q::ttft || q == Q::tpot || q == Q::tokens_per_s || q == Q::tokens_per_s_per_gpu || q == Q::first_token;
}

/// Runs ready to be priced again and again; the rows must outlive it.
class ServingModel {
 public:
  /// \param leave_out groups, or beginnings of their names
  ServingModel(const std::vector<InferenceRow>& rows, const std::vector<std::string>& leave_out) : table_(load_serving_table()) {
    table_.fitted.clear();
    table_.gpus.clear();
    for (const InferenceRow& row : rows) {
      std::string why = row.row.skipped;
      if (why.empty() && is_left_out(row.row.group, leave_out)) why = left_out_as_asked;
      if (why.empty() && !fitted_quantity(row.quantity)) why = "nothing of it is fitted";
      if (why.empty() && !row.row.fully_specified) why = "not fully specified";
      if (why.empty() && !(row.row.measured > 0)) why = "no figure above zero";
      if (why.empty()) {
        try {
          add(row);
          ++in_group_[row.row.group];
        } catch (const RequestError& error) {
          why = error.what();
        }
      }
      if (!why.empty()) ++skipped[why];
    }
    list_unknowns();
  }

  [[nodiscard]] Eigen::Index rows() const { return static_cast<Eigen::Index>(all_.size()); }
  [[nodiscard]] Eigen::Index size() const { return static_cast<Eigen::Index>(unknowns_.size()); }  ///< unknowns
  [[nodiscard]] Eigen::VectorXd weights() const {
    Eigen::VectorXd out(rows());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const InferenceRow& r = *all_[i].row;
      out[static_cast<Eigen::Index>(i)] =
          (r.quantity == InferenceQuantity::ttft ? weight_of_ttft : 1) * std::min(1.0, std::sqrt(40.0 / in_group_.at(r.row.group)));
    }
    return out;
  }
  /// Sets the rates that a generation's kernels reach; before, they are those of its machines' calibration.
  void reach(Generation generation, const ComputeConstants& constants) {
    for (auto& [name, machine] : machines_)
      if (machine.first.gpu.generation == generation) machine.second->reach(constants);
  }
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u) {
    set(u);
    Eigen::VectorXd r(rows());
    for (std::size_t i = 0; i < all_.size(); ++i) r[static_cast<Eigen::Index>(i)] = residual(all_[i]);
    return r;
  }
  /// residuals(u), where those of other generations are known to be as in `r`.
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u, Eigen::VectorXd r, Generation generation) {
    set(u);
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (generations_[static_cast<std::size_t>(all_[i].generation)] == generation) r[static_cast<Eigen::Index>(i)] = residual(all_[i]);
    return r;
  }
  [[nodiscard]] Eigen::MatrixXd jacobian(const Eigen::VectorXd& u) {
    constexpr double step = 1e-3;
    const Eigen::VectorXd here = residuals(u);
    Eigen::MatrixXd j = Eigen::MatrixXd::Zero(here.size(), u.size());
    for (Eigen::Index k = 0; k < u.size(); ++k) {
      const Unknown& x = unknowns_[static_cast<std::size_t>(k)];
      Eigen::VectorXd moved = u;
      moved[k] += step;
      set(moved);
      for (std::size_t i = 0; i < all_.size(); ++i) {
        const Priced& p = all_[i];
        if ((x.stack >= 0 && x.stack != p.stack) || (x.generation >= 0 && x.generation != p.generation)) continue;
        const auto at = static_cast<Eigen::Index>(i);
        j(at, k) = (residual(p) - here[at]) / step;
      }
    }
    return j;
  }
  /// The fit at `u`, with its errors.
  [[nodiscard]] ServingFit fit(const Eigen::VectorXd& u) {
    set(u);
    ServingFit out;
    out.rows = static_cast<int>(all_.size());
    out.constants = static_cast<int>(size());
    for (const auto& [reason, n] : skipped) out.skipped.push_back({reason, n});
    std::map<std::pair<int, int>, std::array<std::vector<double>, 2>> logs;
    std::array<std::vector<double>, 2> ape;
    std::map<std::pair<int, int>, MeasuredLoads> measured;
    for (const Priced& p : all_) {
      MeasuredLoads& most = measured[{p.stack, p.generation}];
      const double gpus = static_cast<double>(p.row->engine.gpus()) * (p.row->apart ? p.row->workers.decode : 1);
      most.sequences = std::max(most.sequences, p.row->load.concurrency / gpus);
      most.prompt = std::max(most.prompt, p.row->load.isl);
      most.answer = std::max(most.answer, p.row->load.osl);
      const double off = ratio(p);
      const std::size_t kind = p.row->quantity == InferenceQuantity::ttft ? 1 : 0;
      logs[{p.stack, p.generation}][kind].push_back(std::fabs(std::log(off)));
      ape[kind].push_back(100 * std::fabs(off - 1));
    }
    out.median_tpot = quantile_of(ape[0], 0.5);
    out.median_ttft = quantile_of(ape[1], 0.5);
    out.table = table_;
    for (std::size_t g = 0; g < generations_.size(); ++g) out.table.gpus[generations_[g]] = gpus_[g];
    for (auto [pair, stack] : stacks_) {
      const auto& own = logs[pair];
      // nine in ten rows are within nine_in_ten spreads; few rows say little of it, so the prior counts for five of them
      const auto spread = [](const std::vector<double>& errors, double prior) {
        const double seen = quantile_of(errors, 0.9) / nine_in_ten;
        const auto n = static_cast<double>(errors.size());
        return std::sqrt((n * seen * seen + 5 * prior * prior) / (n + 5));
      };
      stack.spread_tpot = spread(own[0], ServingStack{}.spread_tpot);
      stack.spread_ttft = spread(own[1], ServingStack{}.spread_ttft);
      stack.measured = measured[pair];
      out.table.fitted[names_[static_cast<std::size_t>(pair.first)]][generations_[static_cast<std::size_t>(pair.second)]] = {
          stack, static_cast<int>(own[0].size() + own[1].size())};
    }
    return out;
  }

  std::map<std::string, int> skipped;  ///< rows by reason

 private:
  struct Priced {
    const InferenceRow* row;
    std::unique_ptr<InferenceJob> job;
    ServingMachine* machine;
    int generation = 0, stack = 0;
  };
  /// One unknown: a constant of a generation (or of all, -1), or of a stack on a generation (or on all).
  struct Unknown {
    const ServingParameter<ServingConstants>* gpu = nullptr;
    const ServingParameter<ServingStack>* framework = nullptr;
    int generation = -1, stack = -1;
    double share = 1;  ///< of the constant's spread
    [[nodiscard]] double spread() const { return share * (gpu != nullptr ? gpu->spread : framework->spread); }
  };

  void add(const InferenceRow& row) {
    const ServingStack& stack = described(row.stack);
    auto& [system, machine] = machines_[{row.system, row.stack}];
    if (!machine) {
      system = load_system(row.system);
      machine = std::make_unique<ServingMachine>(system, ServingConstants{}, stack.kernels);
    }
    Priced p{&row, std::make_unique<InferenceJob>(row, *machine), machine.get()};
    (void)(*p.job)(stack);  // throws what makes the row impossible
    p.generation = index_of(generations_, system.gpu.generation);
    p.stack = index_of(names_, row.stack);
    pairs_.insert({p.stack, p.generation});
    all_.push_back(std::move(p));
  }
  [[nodiscard]] const ServingStack& described(const std::string& name) const {
    return *std::find_if(table_.stacks.begin(), table_.stacks.end(), [&](const ServingStack& s) { return s.name == name; });
  }
  void list_unknowns() {
    // the part common to all GPUs is learnt from all of them; a GPU with few measurements, or none, leans on it
    for (const auto& p : serving_gpu_parameters) {
      if (all_.empty() || p.fit == GpuFit::held) continue;
      unknowns_.push_back({.gpu = &p});
      for (int g = 0; p.fit == GpuFit::own && g < static_cast<int>(generations_.size()); ++g)
        unknowns_.push_back({.gpu = &p, .generation = g, .share = own_share});
    }
    for (const auto& p : serving_stack_parameters) {
      if (p.fit == StackFit::held) continue;
      for (int s = 0; s < static_cast<int>(names_.size()); ++s) unknowns_.push_back({.framework = &p, .stack = s});
      if (p.fit != StackFit::own) continue;
      for (const auto& [s, g] : pairs_) unknowns_.push_back({.framework = &p, .generation = g, .stack = s, .share = own_share});
    }
  }
  void set(const Eigen::VectorXd& u) {
    gpus_.assign(generations_.size(), ServingConstants{});
    stacks_.clear();
    for (const auto& pair : pairs_) stacks_[pair] = described(names_[static_cast<std::size_t>(pair.first)]);
    for (std::size_t k = 0; k < unknowns_.size(); ++k) {
      const Unknown& x = unknowns_[k];
      const double factor = std::exp(x.spread() * u[static_cast<Eigen::Index>(k)]);
      const auto apply = [&](auto& constants, const auto& p) {
        double& value = constants.*p.member;
        value = std::clamp(value * factor, p.min, p.max);
      };
      if (x.gpu != nullptr) {
        for (std::size_t g = 0; g < gpus_.size(); ++g)
          if (x.generation < 0 || x.generation == static_cast<int>(g)) apply(gpus_[g], *x.gpu);
      } else {
        for (auto& [pair, stack] : stacks_)
          if (pair.first == x.stack && (x.generation < 0 || x.generation == pair.second)) apply(stack, *x.framework);
      }
    }
  }
  [[nodiscard]] double ratio(const Priced& p) const {
    p.machine->constants = gpus_[static_cast<std::size_t>(p.generation)];
    return (*p.job)(stacks_.at({p.stack, p.generation})) / p.row->row.measured;
  }

  [[nodiscard]] double residual(const Priced& p) const { return std::log(ratio(p)) / serving_scale_of_loss; }

  ServingTable table_;
  std::vector<Priced> all_;
  std::map<std::string, int> in_group_;
  std::vector<Generation> generations_;
  std::vector<std::string> names_;       ///< of stacks
  std::set<std::pair<int, int>> pairs_;  ///< of a stack and a generation
  std::map<std::pair<std::string, std::string>, std::pair<System, std::unique_ptr<ServingMachine>>> machines_;  ///< by system and stack
  std::vector<Unknown> unknowns_;
  std::vector<ServingConstants> gpus_;
  std::map<std::pair<int, int>, ServingStack> stacks_;
};

}  // namespace fabricost::plan::detail
