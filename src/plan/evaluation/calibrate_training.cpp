/// \file calibrate_training.cpp
/// Fits kernel efficiencies and the factors of software stacks to published training steps and kernels.

#include "evaluation/rows.hpp"
#include "evaluation/serving_model.hpp"
#include "text/quantile.hpp"

#include <fabricost/calibrate/least_squares.hpp>
#include <fabricost/plan/evaluation/calibrate_training.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace fabricost::plan {

namespace {

constexpr double training_scale_of_loss = 0.06;  // steps repeat within a few per cent; larger deviations are specific to a row
constexpr double spread_of_stacks = 0.15;
constexpr double max_weight_of_group = 40;
constexpr int fewest_steps_of_program = 5;  // as many as its spread of unseen software counts for; with fewer, its factor is the common one

/// A row prepared for repeated pricing: a step or a single kernel.
struct Job {
  const TrainingRow* step;  ///< null: a kernel
  const OpsRow* kernel;     ///< null: a step
  TrainingMachine* machine;
  Processor gpu;
  Stack stack;
  int generation = 0, stack_index = 0, factor = 0;

  [[nodiscard]] const WorkloadRow& row() const { return step != nullptr ? step->row : kernel->row; }
  [[nodiscard]] const std::string& system() const { return step != nullptr ? step->system : kernel->system; }
};

/// The rows of a fit on their machines.
class Jobs {
 public:
  /// \throws RequestError when the machine cannot join the ranks of a group
  void add(const TrainingRow& row) {
    TrainingMachine& machine = machines_.on(row.system, row.overrides, row.gpus);
    Job job{&row, nullptr, &machine, processor_of(row, machine), load_once(row.stack)};
    job.stack.scale = 1;
    (void)step_time(row.model, row.layout, job.stack, job.gpu, *machine.costs);
    const std::string stack = job.stack.name, factor = fitted_name(job.stack);
    add(std::move(job), stack, factor);
  }
  /// A kernel; its publisher is a stack named as the group.
  void add(const OpsRow& row) {
    TrainingMachine& machine = machines_.on(row.system, row.overrides, 0);
    add(Job{nullptr, &row, &machine, machine.gpu, Stack{}}, row.row.group, row.row.group);
  }
  std::vector<Job> all;
  std::vector<Generation> generations;
  std::vector<std::string> stacks, factors;

 private:
  void add(Job job, const std::string& stack, const std::string& factor) {
    job.generation = index_of(generations, job.machine->system.gpu.generation);
    job.stack_index = index_of(stacks, stack);
    job.factor = index_of(factors, factor);
    all.push_back(std::move(job));
  }
  const Stack& load_once(const std::string& name) {
    const auto [at, fresh] = loaded_.try_emplace(name);
    if (fresh) at->second = load_stack(name);
    return at->second;
  }
  TrainingMachines machines_;
  std::map<std::string, Stack> loaded_;
};

/// One unknown of the fit: a constant of one generation, or of all (-1), or a factor of stacks, or what those of programs share (-1).
struct TrainingUnknown {
  const Parameter* parameter = nullptr;  ///< null: a factor
  int of = -1;
  double spread = 0.15;
  bool held = false;  ///< at its prior, since the rows say nothing of it
};

/// Steps and kernels, then serving runs: both depend on the constants of generations. Unknowns of serving alone come last.
class StepFit {
 public:
  /// \param unscaled factors that are 1: of kernels and steps that say what kernels take by themselves, whatever other software adds
  StepFit(const Jobs& jobs, detail::ServingModel& served, const TrainingFitOptions& options, const std::vector<std::string>& unscaled)
      : jobs_(jobs), served_(served) {
    for (int g = 0; g < static_cast<int>(jobs.generations.size()); ++g) watts_.push_back(usual_watts(jobs, g));
    for (const double watts : watts_) starts_.push_back(start_of(watts));
    for (const Parameter& p : compute_parameters) {
      const auto fixed = options.hold.find(std::string{p.key});
      if (fixed != options.hold.end())
        for (Constants& c : starts_) p.of(c) = fixed->second;
      if (p.held()) continue;
      const bool held = fixed != options.hold.end();
      if (p.fitted == FitTreatment::shared)
        unknowns.push_back({&p, -1, p.spread, held});
      else
        for (int g = 0; g < static_cast<int>(jobs.generations.size()); ++g) unknowns.push_back({&p, g, p.spread, held});
    }
    std::vector<std::set<int>> programs(jobs.generations.size());
    std::vector<int> rows(jobs.factors.size());
    const auto is_unscaled = [&](int f) { return std::find(unscaled.begin(), unscaled.end(), jobs.factors[static_cast<std::size_t>(f)]) != unscaled.end(); };
    for (const Job& job : jobs.all) {
      ++rows[static_cast<std::size_t>(job.factor)];
      if (job.step != nullptr && !is_unscaled(job.factor)) programs[static_cast<std::size_t>(job.generation)].insert(job.factor);
    }
    shares_.assign(jobs.factors.size(), false);
    for (const std::set<int>& of : programs)  // the factor of a generation's only program says as much of the generation
      for (const int f : of) shares_[static_cast<std::size_t>(f)] = shares_[static_cast<std::size_t>(f)] || of.size() > 1;
    unknowns.push_back({nullptr, -1, spread_of_stacks, !options.factors});
    for (int f = 0; f < static_cast<int>(jobs.factors.size()); ++f) {
      const bool few = rows[static_cast<std::size_t>(f)] < fewest_steps_of_program && !options.every_group;
      unknowns.push_back({nullptr, f, spread_of_stacks, !options.factors || few || is_unscaled(f)});
    }
  }

  /// Sets the constants of all generations and the factors of stacks to u.
  void set(const Eigen::VectorXd& u) {
    constants = starts_;
    scales.assign(jobs_.factors.size(), 1);
    for (std::size_t k = 0; k < unknowns.size(); ++k) {
      const TrainingUnknown& x = unknowns[k];
      if (x.held) continue;
      const double factor = std::exp(x.spread * u[static_cast<Eigen::Index>(k)]);
      if (x.parameter == nullptr) {
        for (std::size_t f = 0; f < scales.size(); ++f)
          if (x.of < 0 ? shares(f) : x.of == static_cast<int>(f)) scales[f] *= factor;
        continue;
      }
      for (std::size_t g = 0; g < constants.size(); ++g)
        if (x.of < 0 || x.of == static_cast<int>(g)) {
          double& value = x.parameter->of(constants[g]);
          value = std::clamp(value * factor, x.parameter->min, x.parameter->max);
        }
    }
    for (std::size_t g = 0; g < constants.size(); ++g) served_.reach(jobs_.generations[g], constants[g].compute);
  }
  [[nodiscard]] double seconds(const Job& job) const {
    Processor gpu = job.gpu;
    gpu.use(constants[static_cast<std::size_t>(job.generation)].compute);
    const double scale = scales[static_cast<std::size_t>(job.factor)];
    if (job.kernel != nullptr) return kernel_seconds(*job.kernel, gpu, scale);
    Stack stack = job.stack;
    stack.scale = scale;
    return step_time(job.step->model, job.step->layout, stack, gpu, *job.machine->costs).seconds;
  }
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u) {
    set(u);
    const auto own = static_cast<Eigen::Index>(jobs_.all.size());
    Eigen::VectorXd r = Eigen::VectorXd::Zero(own + served_.rows());
    for (std::size_t i = 0; i < jobs_.all.size(); ++i) r[static_cast<Eigen::Index>(i)] = residual(jobs_.all[i]);
    if (with_served) r.tail(served_.rows()) = served_.residuals(u.tail(served_.size()));
    return r;
  }
  [[nodiscard]] Eigen::MatrixXd jacobian(const Eigen::VectorXd& u) {
    constexpr double step = 1e-3;
    const Eigen::VectorXd here = residuals(u);
    Eigen::MatrixXd j = Eigen::MatrixXd::Zero(here.size(), u.size());
    if (with_served) j.bottomRightCorner(served_.rows(), served_.size()) = served_.jacobian(u.tail(served_.size()));
    const Eigen::Index own = here.size() - served_.rows();
    for (Eigen::Index k = 0; k < u.size() - served_.size(); ++k) {
      const TrainingUnknown& x = unknowns[static_cast<std::size_t>(k)];
      if (x.held) continue;
      Eigen::VectorXd moved = u;
      moved[k] += step;
      set(moved);
      for (Eigen::Index i = 0; i < own; ++i) {
        const Job& job = jobs_.all[static_cast<std::size_t>(i)];
        const bool moves = x.of < 0 ? x.parameter != nullptr || shares(static_cast<std::size_t>(job.factor))
                                    : x.of == (x.parameter == nullptr ? job.factor : job.generation);
        if (moves) j(i, k) = (residual(job) - here[i]) / step;
      }
      if (!with_served || x.parameter == nullptr) continue;
      const Eigen::VectorXd others = here.tail(served_.rows()), of_served = moved.tail(served_.size());
      const Eigen::VectorXd there = x.of < 0 ? served_.residuals(of_served)
                                             : served_.residuals(of_served, others, jobs_.generations[static_cast<std::size_t>(x.of)]);
      j.col(k).tail(served_.rows()) = (there - others) / step;
    }
    return j;
  }

  /// Whether a factor is that of a program, which has in common with others that it takes longer than its kernels.
  [[nodiscard]] bool shares(std::size_t factor) const { return shares_[factor]; }
  /// The priors of a generation.
  [[nodiscard]] const Constants& start(std::size_t generation) const { return starts_[generation]; }

  std::vector<TrainingUnknown> unknowns;
  std::vector<Constants> constants;
  std::vector<double> scales;
  bool with_served = true;  ///< otherwise serving runs count as met

 private:
  [[nodiscard]] double residual(const Job& job) const { return std::log(seconds(job) / job.row().measured) / training_scale_of_loss; }
  /// Watts per TFLOP/s of the GPU that most rows of a generation ran on: the one its shares of the peak refer to.
  [[nodiscard]] static double usual_watts(const Jobs& jobs, int generation) {
    std::map<double, int> rows;
    for (const Job& job : jobs.all)
      if (job.generation == generation) ++rows[job.gpu.watts];
    return std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
  }

  /// The prior is a mean over generations, of GPUs that have the mean watts for a TFLOP/s: one with fewer starts as much lower as GPUs of
  /// one generation with fewer reach less.
  [[nodiscard]] Constants start_of(double watts) const {
    Constants out;
    out.compute.gemm_watts = watts;
    double sum = 0;
    int known = 0;
    for (const double each : watts_)
      if (each > 0) sum += std::log(each), ++known;
    if (!(watts > 0) || known < 2) return out;
    const double more = std::pow(watts / std::exp(sum / known), out.compute.form.power);
    out.compute.gemm = std::min(1.0, out.compute.gemm * more);
    out.compute.attention = std::min(1.0, out.compute.attention * more);
    out.compute.elementwise /= more;
    return out;
  }

  const Jobs& jobs_;
  detail::ServingModel& served_;
  std::vector<double> watts_;      ///< of each generation
  std::vector<Constants> starts_;  ///< likewise
  std::vector<bool> shares_;       ///< of each factor
};

/// Constants on which the rows have no information, least known first: a constant may be known once another one is held.
std::vector<Eigen::Index> unsaid_of(const StepFit& model, const Eigen::MatrixXd& covariance) {
  Eigen::MatrixXd information = covariance.inverse(), left = covariance;
  std::vector<Eigen::Index> out;
  for (;;) {
    Eigen::Index least = -1;
    double most = narrowed_to * narrowed_to;
    for (std::size_t i = 0; i < model.unknowns.size(); ++i) {
      const auto k = static_cast<Eigen::Index>(i);
      const bool open = model.unknowns[i].parameter != nullptr && std::find(out.begin(), out.end(), k) == out.end();
      if (open && left(k, k) >= most) {
        most = left(k, k);
        least = k;
      }
    }
    if (least < 0) return out;
    out.push_back(least);
    information.row(least).setZero();
    information.col(least).setZero();
    information(least, least) = 1;
    left = information.inverse();
  }
}

/// Median and mean of absolute errors in percent.
std::pair<double, double> errors(std::vector<double> ape) {
  double sum = 0;
  for (const double e : ape) sum += e;
  std::sort(ape.begin(), ape.end());
  return {quantile(ape, 0.5), ape.empty() ? 0 : sum / static_cast<double>(ape.size())};
}

}  // namespace

TrainingFit calibrate_training(const std::vector<TrainingRow>& rows, const std::vector<OpsRow>& kernels,
                               const TrainingFitOptions& options) {
  const TrainingGroups groups = load_training_groups();
  Jobs jobs;
  std::map<std::string, int> skipped, in_group;
  for (const TrainingRow& row : rows) {
    const auto aside = std::find_if(groups.set_aside.begin(), groups.set_aside.end(),
                                    [&](const auto& entry) { return row.row.group.starts_with(entry.first); });
    const bool known = std::find(groups.judged.begin(), groups.judged.end(), row.row.group) != groups.judged.end() ||
                       std::find(groups.fitted.begin(), groups.fitted.end(), row.row.group) != groups.fitted.end();
    std::string why = row.row.skipped;
    if (why.empty() && is_left_out(row.row.group, options.leave_out)) why = left_out_as_asked;
    if (why.empty() && !row.row.fully_specified) why = "not fully specified";
    if (why.empty() && !known && !options.every_group)
      why = aside != groups.set_aside.end() ? aside->second : "group not known to be sound";
    if (!why.empty()) {
      ++skipped[why];
      continue;
    }
    try {
      jobs.add(row);
      ++in_group[row.row.group];
    } catch (const RequestError& error) {
      ++skipped[error.what()];
    }
  }
  for (const OpsRow& row : kernels) {
    const bool known = std::find(groups.kernels.begin(), groups.kernels.end(), row.row.group) != groups.kernels.end();
    std::string why = row.row.skipped;
    if (why.empty() && row.kind == OpKind::collective) why = "a collective: fit it with the points of its machine";
    if (why.empty() && is_left_out(row.row.group, options.leave_out)) why = left_out_as_asked;
    if (why.empty() && !known && !options.every_group) why = "group not known to be sound";
    if (!why.empty()) {
      ++skipped[why];
      continue;
    }
    jobs.add(row);
    ++in_group[row.row.group];
  }
  if (jobs.all.empty())
    throw RequestError("no row of the files can be fitted: fully specified steps, or kernels, of a known group are needed");
  detail::ServingModel served(options.served, options.leave_out);
  Eigen::VectorXd weight(static_cast<Eigen::Index>(jobs.all.size()) + served.rows());
  weight.tail(served.rows()) = served.weights();
  for (std::size_t i = 0; i < jobs.all.size(); ++i)
    weight[static_cast<Eigen::Index>(i)] = std::sqrt(std::min(1.0, max_weight_of_group / in_group[jobs.all[i].row().group]));
  StepFit model(jobs, served, options, groups.unscaled);
  const auto count = static_cast<Eigen::Index>(model.unknowns.size());
  // steps and kernels first: together with serving runs from the start, floors of layers end in a valley that other steps contradict
  Eigen::VectorXd alone = weight;
  alone.tail(served.rows()).setZero();
  model.with_served = false;
  LeastSquares found = minimise(model, Eigen::VectorXd::Zero(count + served.size()), alone);
  model.with_served = true;
  if (served.rows() > 0) found = minimise(model, found.unknowns, weight);
  const std::vector<Eigen::Index> unsaid = unsaid_of(model, found.covariance);
  for (const Eigen::Index k : unsaid) model.unknowns[static_cast<std::size_t>(k)].held = true, found.unknowns[k] = 0;
  if (!unsaid.empty()) found = minimise(model, found.unknowns, weight);
  model.set(found.unknowns);

  TrainingFit out;
  out.rows = static_cast<int>(jobs.all.size() + static_cast<std::size_t>(served.rows()));
  out.constants = static_cast<int>(served.size() + std::count_if(model.unknowns.begin(), model.unknowns.end(), [](const TrainingUnknown& x) { return !x.held; }));
  out.steps = found.steps;
  if (served.rows() > 0) out.served = served.fit(found.unknowns.tail(served.size()));
  for (const auto& [reason, n] : served.skipped) skipped[reason] += n;
  for (const auto& [reason, n] : skipped) out.skipped.push_back({reason, n});
  std::vector<std::vector<double>> by_generation(jobs.generations.size()), by_stack(jobs.stacks.size());
  std::vector<std::set<std::string>> systems(jobs.generations.size());
  std::vector<std::set<int>> seen(jobs.stacks.size());
  std::vector<char> experts(jobs.stacks.size()), fp4(jobs.stacks.size());
  std::vector<std::size_t> factor(jobs.stacks.size());
  std::vector<double> all;
  for (const Job& job : jobs.all) {
    const double ratio = model.seconds(job) / job.row().measured;
    all.push_back(100 * std::fabs(ratio - 1));
    by_generation[static_cast<std::size_t>(job.generation)].push_back(all.back());
    by_stack[static_cast<std::size_t>(job.stack_index)].push_back(std::fabs(std::log(ratio)));
    systems[static_cast<std::size_t>(job.generation)].insert(job.system());
    seen[static_cast<std::size_t>(job.stack_index)].insert(job.generation);
    if (job.step != nullptr && job.step->model.mixture()) experts[static_cast<std::size_t>(job.stack_index)] = 1;
    if (job.step != nullptr && job.step->layout.precision == Precision::fp4) fp4[static_cast<std::size_t>(job.stack_index)] = 1;
    factor[static_cast<std::size_t>(job.stack_index)] = static_cast<std::size_t>(job.factor);
  }
  std::tie(out.median_ape, out.mape) = errors(all);
  for (std::size_t g = 0; g < jobs.generations.size(); ++g) {
    CalibratedSet set;
    set.set = ConstantSet::compute;
    set.generation = jobs.generations[g];
    set.name = fmt::format("compute-{}", name(set.generation));
    set.systems.assign(systems[g].begin(), systems[g].end());
    set.constants = model.constants[g];
    set.points = static_cast<int>(by_generation[g].size());
    std::tie(set.median_ape, set.mape) = errors(by_generation[g]);
    for (std::size_t k = 0; k < model.unknowns.size(); ++k) {
      const TrainingUnknown& x = model.unknowns[k];
      if (x.parameter == nullptr || x.held || (x.of >= 0 && x.of != static_cast<int>(g))) continue;
      const auto at = static_cast<Eigen::Index>(k);
      const double narrowed = std::sqrt(found.covariance(at, at));
      set.fitted.push_back({.key = x.parameter->key,
                            .measure = x.parameter->measure(),
                            .value = x.parameter->value(set.constants),
                            .prior = x.parameter->value(model.start(g)),
                            .deviation = x.spread * narrowed,
                            .prior_deviation = x.spread,
                            .determined = narrowed < narrowed_to,
                            .shared = x.of < 0});
    }
    out.generations.push_back(std::move(set));
  }
  const auto common = count - static_cast<Eigen::Index>(jobs.factors.size()) - 1;
  if (options.factors)
    out.stacks.push_back({.name = unseen_program,
                          .factor = unseen_program,
                          .scale = std::exp(spread_of_stacks * found.unknowns[common]),
                          .deviation = spread_of_stacks * std::sqrt(found.covariance(common, common))});
  for (const std::string& name : groups.unscaled)
    if (std::find(jobs.stacks.begin(), jobs.stacks.end(), name) == jobs.stacks.end()) out.stacks.push_back({.name = name, .factor = name});
  for (std::size_t s = 0; s < jobs.stacks.size(); ++s) {
    std::sort(by_stack[s].begin(), by_stack[s].end());
    const std::size_t f = factor[s];
    FittedStack stack{.name = jobs.stacks[s],
                      .factor = jobs.factors[f],
                      .scale = model.scales[f],
                      .rows = static_cast<int>(by_stack[s].size()),
                      .seen = {.experts = experts[s] != 0, .fp4 = fp4[s] != 0}};
    const auto at = count - static_cast<Eigen::Index>(jobs.factors.size() - f);
    const double own_part = model.unknowns[static_cast<std::size_t>(at)].held ? 0 : found.covariance(at, at);
    const double with_common = model.shares(f) ? found.covariance(common, common) + 2 * found.covariance(at, common) : 0;
    stack.deviation = spread_of_stacks * std::sqrt(own_part + with_common);
    // nine of ten rows are within nine_in_ten times this; with few rows that is uncertain, so the spread of
    // an unseen stack counts as five rows
    const double own = quantile(by_stack[s], 0.9) / nine_in_ten;
    const double n = stack.rows;
    stack.spread = std::sqrt((n * own * own + 5 * spread_of_stacks * spread_of_stacks) / (n + 5));
    for (const int g : seen[s]) stack.seen.on.push_back({jobs.generations[static_cast<std::size_t>(g)], stack.spread});
    out.stacks.push_back(std::move(stack));
  }
  return out;
}

}  // namespace fabricost::plan
