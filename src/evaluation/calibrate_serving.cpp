/// \file calibrate_serving.cpp
/// Fits efficiencies of inference kernels and overheads of serving frameworks to published serving runs.

#include "text/quantile.hpp"

#include <fabricost/calibrate/least_squares.hpp>
#include <fabricost/evaluation/inference.hpp>
#include <fabricost/kernels/interval.hpp>
#include <fabricost/serving/parameters.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/specs/serving.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace fabricost {

namespace {

constexpr double serving_scale_of_loss = 0.1;  // repeats of a serving run differ by about 5 %, unpublished configurations by more
constexpr double weight_of_ttft = 1.3;
constexpr double own_share = 0.5;  // generations differ half as much from each other as from the prior

[[nodiscard]] bool fitted_quantity(InferenceQuantity q) {
  using Q = InferenceQuantity;
  return q == Q::ttft || q == Q::tpot || q == Q::tokens_per_s || q == Q::tokens_per_s_per_gpu || q == Q::first_token;
}

struct Priced {
  const InferenceRow* row;
  std::unique_ptr<InferenceJob> job;
  ServingMachine* machine;
  int generation = 0, stack = 0;
};

/// One unknown: a constant of a generation (or of all, -1), or of a stack on a generation (or on all).
struct ServingUnknown {
  const ServingParameter<ServingConstants>* gpu = nullptr;
  const ServingParameter<ServingStack>* framework = nullptr;
  int generation = -1, stack = -1;
  double share = 1;  ///< fraction of the constant's spread
  [[nodiscard]] double spread() const { return share * (gpu != nullptr ? gpu->spread : framework->spread); }
};

class ServingRows {
 public:
  void add(const InferenceRow& row, const ServingTable& table) {
    const ServingStack stack = table.stack(row.stack, Generation::other);
    auto& [system, machine] = machines_[{row.system, row.stack}];
    if (!machine) {
      system = load_system(row.system);
      machine = std::make_unique<ServingMachine>(system, ServingConstants{}, stack.kernels);
    }
    Priced p{&row, std::make_unique<InferenceJob>(row, *machine), machine.get()};
    (void)(*p.job)(stack);  // throws if the row is impossible
    p.generation = index_of(generations, system.gpu.generation);
    p.stack = index_of(stacks, row.stack);
    pairs.insert({p.stack, p.generation});
    all.push_back(std::move(p));
  }
  std::vector<Priced> all;
  std::vector<Generation> generations;
  std::vector<std::string> stacks;
  std::set<std::pair<int, int>> pairs;

 private:
  template <class T>
  static int index_of(std::vector<T>& list, const T& wanted) {
    if (std::find(list.begin(), list.end(), wanted) == list.end()) list.push_back(wanted);
    return static_cast<int>(std::find(list.begin(), list.end(), wanted) - list.begin());
  }
  std::map<std::pair<std::string, std::string>, std::pair<System, std::unique_ptr<ServingMachine>>> machines_;  ///< by system and stack
};

class ServingModel {
 public:
  ServingModel(ServingRows& rows, const ServingTable& table) : rows_(rows) {
    for (const std::string& name : rows.stacks)
      described_.push_back(*std::find_if(table.stacks.begin(), table.stacks.end(), [&](const ServingStack& s) { return s.name == name; }));
    // a factor common to all GPUs, so that generations with few or no rows use the others' results
    for (const auto& p : serving_gpu_parameters) {
      if (p.fit == GpuFit::held) continue;
      unknowns.push_back({.gpu = &p});
      for (int g = 0; p.fit == GpuFit::own && g < static_cast<int>(rows.generations.size()); ++g)
        unknowns.push_back({.gpu = &p, .generation = g, .share = own_share});
    }
    for (const auto& p : serving_stack_parameters) {
      if (p.fit == StackFit::held) continue;
      for (int s = 0; s < static_cast<int>(rows.stacks.size()); ++s) unknowns.push_back({.framework = &p, .stack = s});
      if (p.fit != StackFit::own) continue;
      for (const auto& [s, g] : rows.pairs) unknowns.push_back({.framework = &p, .generation = g, .stack = s, .share = own_share});
    }
  }

  /// Sets the constants to u.
  void set(const Eigen::VectorXd& u) {
    gpus.assign(rows_.generations.size(), ServingConstants{});
    stacks.clear();
    for (const auto& pair : rows_.pairs) stacks[pair] = described_[static_cast<std::size_t>(pair.first)];
    for (std::size_t k = 0; k < unknowns.size(); ++k) {
      const ServingUnknown& x = unknowns[k];
      const double factor = std::exp(x.spread() * u[static_cast<Eigen::Index>(k)]);
      const auto apply = [&](auto& constants, const auto& p) {
        double& value = constants.*p.member;
        value = std::clamp(value * factor, p.min, p.max);
      };
      if (x.gpu != nullptr) {
        for (std::size_t g = 0; g < gpus.size(); ++g)
          if (x.generation < 0 || x.generation == static_cast<int>(g)) apply(gpus[g], *x.gpu);
      } else {
        for (auto& [pair, stack] : stacks)
          if (pair.first == x.stack && (x.generation < 0 || x.generation == pair.second)) apply(stack, *x.framework);
      }
    }
  }
  [[nodiscard]] double ratio(const Priced& p) const {
    p.machine->constants = gpus[static_cast<std::size_t>(p.generation)];
    return (*p.job)(stacks.at({p.stack, p.generation})) / p.row->row.measured;
  }
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u) {
    set(u);
    Eigen::VectorXd r(static_cast<Eigen::Index>(rows_.all.size()));
    for (std::size_t i = 0; i < rows_.all.size(); ++i)
      r[static_cast<Eigen::Index>(i)] = std::log(ratio(rows_.all[i])) / serving_scale_of_loss;
    return r;
  }
  [[nodiscard]] Eigen::MatrixXd jacobian(const Eigen::VectorXd& u) {
    constexpr double step = 1e-3;
    const Eigen::VectorXd here = residuals(u);
    Eigen::MatrixXd j = Eigen::MatrixXd::Zero(here.size(), u.size());
    for (Eigen::Index k = 0; k < u.size(); ++k) {
      const ServingUnknown& x = unknowns[static_cast<std::size_t>(k)];
      Eigen::VectorXd moved = u;
      moved[k] += step;
      set(moved);
      for (std::size_t i = 0; i < rows_.all.size(); ++i) {
        const Priced& p = rows_.all[i];
        if ((x.stack >= 0 && x.stack != p.stack) || (x.generation >= 0 && x.generation != p.generation)) continue;
        const auto at = static_cast<Eigen::Index>(i);
        j(at, k) = (std::log(ratio(p)) / serving_scale_of_loss - here[at]) / step;
      }
    }
    return j;
  }

  std::vector<ServingUnknown> unknowns;
  std::vector<ServingConstants> gpus;
  std::map<std::pair<int, int>, ServingStack> stacks;

 private:
  ServingRows& rows_;
  std::vector<ServingStack> described_;
};

}  // namespace

ServingFit calibrate_serving(const std::vector<InferenceRow>& rows, const std::vector<std::string>& leave_out) {
  ServingTable table = load_serving_table();
  table.fitted.clear();
  table.gpus.clear();
  ServingRows jobs;
  std::map<std::string, int> skipped, in_group;
  for (const InferenceRow& row : rows) {
    std::string why = row.row.skipped;
    if (why.empty() && std::any_of(leave_out.begin(), leave_out.end(), [&](const std::string& b) { return row.row.group.starts_with(b); }))
      why = "left out as asked";
    if (why.empty() && !fitted_quantity(row.quantity)) why = "nothing of it is fitted";
    if (why.empty() && !row.row.fully_specified) why = "not fully specified";
    if (why.empty() && !(row.row.measured > 0)) why = "no figure above zero";
    if (why.empty()) {
      try {
        jobs.add(row, table);
        ++in_group[row.row.group];
      } catch (const RequestError& error) {
        why = error.what();
      }
    }
    if (!why.empty()) ++skipped[why];
  }
  if (jobs.all.empty()) throw RequestError("no row of the files can be fitted: fully specified serving runs are needed");
  Eigen::VectorXd weight(static_cast<Eigen::Index>(jobs.all.size()));
  for (std::size_t i = 0; i < jobs.all.size(); ++i) {
    const InferenceRow& r = *jobs.all[i].row;
    weight[static_cast<Eigen::Index>(i)] =
        (r.quantity == InferenceQuantity::ttft ? weight_of_ttft : 1) * std::min(1.0, std::sqrt(40.0 / in_group[r.row.group]));
  }
  ServingModel model(jobs, table);
  const auto count = static_cast<Eigen::Index>(model.unknowns.size());
  const LeastSquares found = minimise(model, Eigen::VectorXd::Zero(count), weight, 60);
  model.set(found.unknowns);

  ServingFit out;
  out.rows = static_cast<int>(jobs.all.size());
  out.constants = static_cast<int>(count);
  out.steps = found.steps;
  for (const auto& [reason, n] : skipped) out.skipped.push_back({reason, n});
  std::map<std::pair<int, int>, std::array<std::vector<double>, 2>> logs;
  std::array<std::vector<double>, 2> ape;
  for (const Priced& p : jobs.all) {
    const double ratio = model.ratio(p);
    const int kind = p.row->quantity == InferenceQuantity::ttft ? 1 : 0;
    logs[{p.stack, p.generation}][static_cast<std::size_t>(kind)].push_back(std::fabs(std::log(ratio)));
    ape[static_cast<std::size_t>(kind)].push_back(100 * std::fabs(ratio - 1));
  }
  out.median_tpot = io::quantile_of(ape[0], 0.5);
  out.median_ttft = io::quantile_of(ape[1], 0.5);
  for (std::size_t g = 0; g < jobs.generations.size(); ++g) table.gpus[jobs.generations[g]] = model.gpus[g];
  for (auto& [pair, stack] : model.stacks) {
    const auto& own = logs[pair];
    // nine of ten rows are within nine_in_ten spreads; the prior counts as five rows, for stacks with few
    const auto spread = [](const std::vector<double>& errors, double prior) {
      const double seen = io::quantile_of(errors, 0.9) / nine_in_ten;
      const auto n = static_cast<double>(errors.size());
      return std::sqrt((n * seen * seen + 5 * prior * prior) / (n + 5));
    };
    stack.spread_tpot = spread(own[0], ServingStack{}.spread_tpot);
    stack.spread_ttft = spread(own[1], ServingStack{}.spread_ttft);
    const std::size_t at = static_cast<std::size_t>(pair.first);
    table.fitted[jobs.stacks[at]][jobs.generations[static_cast<std::size_t>(pair.second)]] = {
        stack, static_cast<int>(own[0].size() + own[1].size())};
  }
  out.table = std::move(table);
  return out;
}

}  // namespace fabricost
