/// Fits rooflines to one's own kernels, and writes the stack that holds them.

#include "calibrate/least_squares.hpp"
#include "evaluation/rows.hpp"
#include "text/csv.hpp"
#include "text/quantile.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/evaluation/calibrate_kernels.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace fabricost::plan {

AnswerTable<KernelFit> KernelFit::fields() {
  using A = KernelFit;
  return {gives(&A::gpu, "gpu", "gpu", "The GPU, of data/gpus."),
          gives(&A::kind_name, "kernel", "kernel", "gemm, experts, attention, attention_backward, decode, optimizer or memory."),
          gives(&A::precision_name, "precision", "precision", "bf16, fp8, fp8_block or fp4."),
          gives(&A::rows, "rows", "rows", "Times that it was fitted to."),
          gives(&A::share, "share", "share", "Of the dense peak; 1 where a kernel only moves bytes."),
          gives(&A::memory, "memory", "memory", "Of the memory's rate."),
          gives(&A::start, "start_s", "start", "Seconds before either."),
          gives(&A::depth, "depth_s", "depth", "Seconds for each value of the side that a product or decode sums over."),
          gives(&A::spread, "spread", "spread", "Standard deviation, in log, of times around it."),
          gives(&A::median_error, "median_ape", "median_error",
                "Median of |predicted / measured - 1|, each row by a fit without the fifth of the rows that holds it.", in_percent),
          gives(&A::mean_error, "mape", "mean_error", "Mean of the same.", in_percent),
          gives(&A::within, "within", "within", "Share of those rows inside its interval.")};
}

AnswerTable<KernelStackAnswer> KernelStackAnswer::fields() {
  using A = KernelStackAnswer;
  return {gives(&A::recipe, "stack", "recipe", "The stack whose recipe these kernels run in."),
          gives(&A::rows, "rows", "rows", "Times that were fitted."),
          gives(&A::median_error, "median_ape", "median_error", "Median of |predicted / measured - 1| of all rows, left out in fifths.",
                in_percent),
          gives(&A::mean_error, "mape", "mean_error", "Mean of the same.", in_percent),
          gives(&A::kernels, "kernels", "kernels", "A KernelFit for each GPU, kind and precision."),
          gives(&A::skipped_rows, "skipped", "", ""),
          gives(&A::skipped, "", "skipped", "Rows that were not fitted, by reason.")};
}

RequestTable<CalibrateStackRequest> CalibrateStackRequest::fields() {
  using R = CalibrateStackRequest;
  return {asks(&R::samples, "samples", "--from", "FILE...", "Tables of kernels: the columns of ops.csv", true),
          asks(&R::stack, "stack", "--stack", "NAME", "The stack whose recipe the kernels run in; default nemo", true),
          asks(&R::leave_out, "leave_out", "--leave-out", "GROUP...", "Leave out these groups of rows")};
}

namespace {

constexpr double loss_scale = 0.06;  // as of published steps and kernels: times repeat within a few per cent
constexpr int folds = 5, fewest_rows = 5;
constexpr double least_spread = 0.02;
constexpr double usual_depth = 0.5e-9;  // s: a step of 64 values in some 60 cycles

/// A time, and the processor that it was taken on.
struct Timed {
  const OpsRow* op;
  const Processor* gpu;
  double cache;  ///< bytes of its last cache
  int fold;
};

/// The fifth of the rows that a row belongs to.
int fold_of(const std::string& id) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<int>(hash % folds);
}

/// One roofline as least squares sees it. A loop around one kernel finds in the cache what a step reads from memory: the rate of operands
/// that fit there is an unknown of its own, and no part of the roofline.
class RooflineFit : public core::LeastSquaresProblem {
 public:
  RooflineFit(KernelKind kind, KernelPrecision precision, const Processor& gpu) : kind_(kind), precision_(precision) {
    const Precision p = precision_of(precision);
    const bool attention = kind == KernelKind::attention || kind == KernelKind::attention_backward;
    const double share = attention ? gpu.constants.attention : product_rate(gpu, p) / gpu.peak(p);
    moves_only_ = kind == KernelKind::decode || kind == KernelKind::optimizer || kind == KernelKind::memory;
    const bool sums = kind == KernelKind::gemm || kind == KernelKind::decode;
    prior_ = {moves_only_ ? 1 : share, gpu.constants.memory, gpu.constants.gemm_start, sums ? usual_depth : 0};
    // beside bytes, softmax grows with the queries: less is known of its rate than of memory's
    spreads_ = {0.4, attention ? 0.8 : 0.25, 0.7, 0.5, 1};
  }
  [[nodiscard]] KernelRate rate(const Eigen::VectorXd& u) const {
    return {moves_only_ ? 1 : std::min(1.0, prior_.share * std::exp(spreads_[0] * u[0])),
            std::min(1.0, prior_.memory * std::exp(spreads_[1] * u[1])), prior_.start * std::exp(spreads_[2] * u[2]),
            prior_.depth * std::exp(spreads_[4] * u[4])};
  }
  [[nodiscard]] double error(const Timed& row, const Eigen::VectorXd& u) const {
    Processor gpu = *row.gpu;
    KernelRate& own = gpu.own.of(kind_, precision_);
    own = rate(u);
    if (kernel_bytes(*row.op) < row.cache * row.op->part) own.memory *= std::exp(spreads_[3] * u[3]);
    return std::log(kernel_seconds(*row.op, gpu) / row.op->row.measured);
  }
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u) const override {
    Eigen::VectorXd out(static_cast<Eigen::Index>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) out[static_cast<Eigen::Index>(i)] = error(rows[i], u) / loss_scale;
    return out;
  }
  [[nodiscard]] Jacobian jacobian(const Eigen::VectorXd& u) const override {
    constexpr double step = 1e-3;
    const Eigen::VectorXd here = residuals(u);
    Eigen::MatrixXd out(here.size(), u.size());
    for (Eigen::Index k = 0; k < u.size(); ++k) {
      Eigen::VectorXd moved = u;
      moved[k] += step;
      out.col(k) = (residuals(moved) - here) / step;
    }
    return out;
  }
  [[nodiscard]] Eigen::VectorXd fitted() {
    const auto count = static_cast<Eigen::Index>(rows.size());
    return minimise(*this, Eigen::VectorXd::Zero(static_cast<Eigen::Index>(spreads_.size())), Eigen::VectorXd::Ones(count)).unknowns;
  }

  std::vector<Timed> rows;

 private:
  KernelKind kind_;
  KernelPrecision precision_;
  bool moves_only_ = false;
  KernelRate prior_;
  std::array<double, 5> spreads_{};
};

/// The spread whose interval holds nine in ten of these errors, in log.
double spread_of_errors(std::vector<double> sizes) {
  std::sort(sizes.begin(), sizes.end());
  return std::max(least_spread, quantile(sizes, 0.9) / core::nine_in_ten);
}

/// Fits all rows, and judges by fits without a fifth of them each. \param judged gets |predicted / measured - 1| of every row
KernelFit fit_of(KernelKind kind, KernelPrecision precision, const std::vector<Timed>& rows, std::vector<double>& judged) {
  const Processor& gpu = *rows.front().gpu;
  RooflineFit fit(kind, precision, gpu);
  std::vector<double> sizes, errors;
  std::vector<int> from;
  for (int fold = 0; fold < folds; ++fold) {
    fit.rows.clear();
    for (const Timed& row : rows)
      if (row.fold != fold) fit.rows.push_back(row);
    if (fit.rows.empty() || fit.rows.size() == rows.size()) continue;
    const Eigen::VectorXd u = fit.fitted();
    for (const Timed& row : rows) {
      if (row.fold != fold) continue;
      const double log_error = fit.error(row, u);
      sizes.push_back(std::fabs(log_error));
      errors.push_back(std::fabs(std::exp(log_error) - 1));
      from.push_back(fold);
    }
  }
  judged.insert(judged.end(), errors.begin(), errors.end());
  KernelFit out;
  double held = 0, sum = 0;
  for (const double error : errors) sum += error;
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<double> own, others;
    for (std::size_t i = 0; i < sizes.size(); ++i) (from[i] == fold ? own : others).push_back(sizes[i]);
    if (own.empty() || others.empty()) continue;
    const double most = core::nine_in_ten * spread_of_errors(std::move(others));
    held += static_cast<double>(std::count_if(own.begin(), own.end(), [&](double size) { return size <= most; }));
  }
  fit.rows = rows;
  static_cast<OwnKernel&>(out) = {
      gpu.name, kind, precision, fit.rate(fit.fitted()), spread_of_errors(sizes), static_cast<int>(rows.size())};
  std::sort(errors.begin(), errors.end());
  if (!errors.empty()) {
    const auto count = static_cast<double>(errors.size());
    out.median_error = quantile(errors, 0.5);
    out.mean_error = sum / count;
    out.within = held / count;
  }
  return out;
}

}  // namespace

int KernelStackAnswer::rows() const {
  int out = 0;
  for (const KernelFit& one : kernels) out += one.rows;
  return out;
}

KernelStackAnswer calibrate_kernels(std::vector<OpsRow> rows, const Stack& recipe, const std::vector<std::string>& leave_out) {
  TrainingMachines machines;
  std::vector<Issue> unknown;
  std::set<std::string> seen;
  std::map<std::string, int> skipped;
  std::map<std::string, std::string> first;  // place of the first row with a reason of its own
  std::map<std::tuple<std::string, KernelKind, KernelPrecision>, std::vector<Timed>> sets;
  for (OpsRow& op : rows) {
    const bool left_out = is_left_out(op.row.group, leave_out);
    if (op.row.skipped.empty() && left_out) op.row.skipped = left_out_as_asked;
    if (op.unknown && !left_out && seen.insert(op.gpu).second && unknown.size() < CsvTable::max_faults) unknown.push_back(*op.unknown);
  }
  if (!unknown.empty()) throw core::SpecError(std::move(unknown));
  skip_impossible(rows, machines);
  for (const OpsRow& op : rows) {
    const std::optional<KernelKind> kind = kernel_kind(op);
    std::string why = op.row.skipped;
    if (why.empty() && op.kind == OpKind::collective) why = "a collective: fit it with the points of its machine";
    if (why.empty() && !kind) why = "a kernel that reduces rows, or many small products: no kind of a stack's own";
    const TrainingMachine* machine = nullptr;
    try {
      if (why.empty()) machine = &machines.on(op.system, op.overrides, 0);
    } catch (const RequestError& error) {
      why = error.what();
    }
    if (machine == nullptr) {
      ++skipped[why];
      if (why != left_out_as_asked) first.try_emplace(why, fmt::format(" (first in {}:{})", op.file, op.row.line));
      continue;
    }
    sets[{machine->gpu.name, *kind, kernel_precision(op)}].push_back({&op, &machine->gpu, machine->system.gpu.l2_size.value.value(),
                                                                      fold_of(op.row.id + op.row.metric + fmt::format("{}", op.row.line))});
  }
  KernelStackAnswer out{.name = recipe.name + "-own-kernels", .recipe = recipe.name, .factor = fitted_name(recipe)};
  std::vector<double> judged;
  for (const auto& [key, timed] : sets) {
    const auto& [gpu, kind, precision] = key;
    if (timed.size() < fewest_rows)
      skipped[fmt::format("fewer than {} times of one kind and precision on a GPU", fewest_rows)] += static_cast<int>(timed.size());
    else
      out.kernels.push_back(fit_of(kind, precision, timed, judged));
  }
  for (const auto& [reason, n] : skipped) out.left.push_back({reason + first[reason], n});
  if (out.kernels.empty())
    throw RequestError(fmt::format("no kernel can be fitted{}; {} times of one kind and precision on a GPU of data/gpus are needed",
                                   out.left.empty() ? "" : ": " + out.left.front().reason, fewest_rows));
  std::sort(judged.begin(), judged.end());
  out.median = quantile(judged, 0.5);
  for (const double error : judged) out.mean += error / static_cast<double>(judged.size());
  return out;
}

std::string KernelStackAnswer::yaml(std::string_view called, std::string_view date) const {
  std::string out = fmt::format(
      "name: {}\ntitle: \"Kernels as they were timed, in the recipe of {}\"\nextends: {}\nsource: \"{}\"\nconfidence: measured\n"
      "notes: \"{}; start, then flops at a share of the dense peak beside bytes at a share of the memory's rate and the depth of the sum; "
      "spread: standard "
      "deviation, "
      "in log, of times around it\"\npublished: []\nfactor_of: {}\nscale: 1\nkernels:\n",
      called, recipe, recipe, origin, date, factor);
  std::string_view gpu;
  for (const KernelFit& one : kernels) {
    if (one.gpu != gpu) out += fmt::format("  {}:\n", one.gpu);
    gpu = one.gpu;
    out += fmt::format("    {}_{}: {{share: {:.4g}, memory: {:.4g}, start: {:.4g} us, {}spread: {:.3g}, rows: {}}}\n", one.kind_name(),
                       one.precision_name(), one.rate.share, one.rate.memory, 1e6 * one.rate.start,
                       one.rate.depth > 0 ? fmt::format("depth: {:.3g} ns, ", 1e9 * one.rate.depth) : "", one.spread, one.rows);
  }
  return out;
}

KernelStackAnswer answer(const CalibrateStackRequest& request) {
  if (request.samples.empty()) throw core::Refusal("from which times of kernels? Name the tables with <samples>");
  std::vector<OpsRow> rows;
  for (const Sample& sample : request.samples) {
    if (sample.file.empty() || workload_table(sample.file) != WorkloadTable::ops)
      throw RequestError((sample.file.empty() ? "samples in memory" : sample.file) +
                         ": is no table of kernels; its columns are id, group, gpu, op, tokens, time_us, ... (docs/reading-logs.md)");
    std::vector<OpsRow> more = read_ops_rows(sample.file);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  const NamedStack named = request.stack ? request.stack : NamedStack{usual_stack(Generation::hopper)};
  KernelStackAnswer out = calibrate_kernels(std::move(rows), named.load(), request.leave_out);
  if (!named.name.empty()) out.recipe = named.name;
  out.origin = core::fit_origin(out.rows(), "times", request.samples);
  return out;
}

}  // namespace fabricost::plan
