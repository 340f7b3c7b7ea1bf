/// \file rows.cpp
/// Reading published rows, and fits that leave some out.

#include "rows.hpp"

#include <fabricost/hardware/parameters.hpp>
#include <fabricost/on_threads.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace training {

using namespace fabricost::plan;

bool is_held_out(std::string_view id) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash % 5 < 2;
}

std::string submitter_of(const TrainingRow& row) {
  constexpr std::string_view mlperf = "MLPerf Training ";
  if (!row.source.starts_with(mlperf)) return {};
  const auto from = row.source.find(", "), to = from == std::string::npos ? from : row.source.find(',', from + 2);
  return to == std::string::npos ? std::string{} : row.source.substr(from + 2, to - from - 2);
}

bool counts(const WorkloadRow& row) { return row.skipped.empty() && row.fully_specified; }

namespace {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto i = static_cast<std::size_t>(at);
  const std::size_t next = std::min(i + 1, values.size() - 1);
  return values[i] + (at - static_cast<double>(i)) * (values[next] - values[i]);
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) out[order[k]] = static_cast<double>(i + j - 1) / 2;
    i = j;
  }
  return out;
}

}  // namespace

Published read_published(const std::string& folder, bool refits) {
  const std::filesystem::path workloads = std::filesystem::path(folder) / "workloads";
  Published out;
  out.groups = load_training_groups();
  out.steps = read_training_rows(workloads / "training.csv");
  const std::filesystem::path second = std::filesystem::path(folder) / "second" / "workloads";
  out.mlperf = read_training_rows(second / "mlperf.csv");
  const std::vector<TrainingRow> newer = read_training_rows(second / "newer_training.csv");
  for (const std::vector<TrainingRow>* later : {&std::as_const(out.mlperf), &newer})
    for (const TrainingRow& r : *later)
      if (std::find(out.groups.fitted.begin(), out.groups.fitted.end(), r.row.group) != out.groups.fitted.end()) out.steps.push_back(r);
  const std::filesystem::path own = data_directory() / "measurements";
  for (const TrainingRow& r : read_training_rows(own / "torch-steps.csv")) out.steps.push_back(r);
  const auto served = read_inference_rows(workloads / "inference.csv", load_serving_table());
  const auto fit_without = [&](const std::vector<TrainingRow>& steps, std::vector<std::string> groups) {
    return calibrate_training(steps, out.kernels, {.leave_out = std::move(groups), .served = served});
  };
  for (const TrainingRow& r : out.mlperf)
    if (r.row.group == "mlperf_lora_nvidia") out.adapters.push_back(r);
  predict_training_rows(out.adapters);
  out.kernels = read_ops_rows(workloads / "ops.csv");
  for (OpsRow& r : read_ops_rows(own / "torch-kernels.csv")) out.kernels.push_back(std::move(r));
  predict_training_rows(out.steps);
  predict_ops_rows(out.kernels);
  out.newer = read_training_rows(second / "newer_training.csv");
  predict_training_rows(out.newer);
  out.fit = fit_without(out.steps, {});
  out.fitted = out.groups.judged;
  out.fitted.insert(out.fitted.end(), out.groups.fitted.begin(), out.groups.fitted.end());
  if (!refits) {
    predict_training_rows(out.mlperf, out.fit);
    return out;
  }

  // each piece of work is a fit, and writes rows of its own
  std::vector<std::function<void()>> fits;
  fits.emplace_back([&] { predict_training_rows(out.mlperf, fit_without(out.steps, {"mlperf_"})); });

  std::map<std::string, std::vector<TrainingRow>> by_name;
  for (const std::string& group : out.fitted) {
    std::vector<TrainingRow>& its = by_name[group];
    for (const TrainingRow& r : out.steps)
      if (r.row.group == group) its.push_back(r);
    fits.emplace_back([&] { predict_training_rows(its, fit_without(out.steps, {group})); });
  }

  std::map<std::string, std::vector<TrainingRow>> submitters;
  for (const TrainingRow& r : out.steps)
    if (const std::string who = submitter_of(r); !who.empty() && counts(r.row)) submitters[who].push_back(r);
  for (auto& one : submitters)
    fits.emplace_back([&] {
      std::vector<TrainingRow> others = out.steps;
      std::erase_if(others, [&](const TrainingRow& r) { return submitter_of(r) == one.first; });
      predict_training_rows(one.second, fit_without(others, {}));
    });

  std::vector<TrainingRow> kept;
  for (const TrainingRow& r : out.steps)
    if (!is_held_out(r.row.id)) kept.push_back(r);
  out.held_out = out.steps;
  fits.emplace_back([&] { predict_training_rows(out.held_out, fit_without(kept, {})); });

  for (const Parameter& p : compute_parameters) {
    if (p.held()) continue;
    const bool share = p.kind == ConstantKind::share || p.kind == ConstantKind::link_share;
    out.worth.push_back({std::string{p.key}, share ? 1 : p.min, {}});
  }
  out.worth.push_back({"", 1, {}});
  for (Worth& one : out.worth)
    fits.emplace_back([&] {
      one.steps = out.steps;
      std::map<std::string, double> hold;
      if (!one.constant.empty()) hold.emplace(one.constant, one.held);
      predict_training_rows(one.steps, calibrate_training(out.steps, out.kernels,
                                                          {.served = served, .hold = std::move(hold), .factors = !one.constant.empty()}));
    });

  on_threads(fits.size(), processors(), [&](std::size_t at) { fits[at](); });
  for (const auto& [group, its] : by_name) out.left_out.insert(out.left_out.end(), its.begin(), its.end());
  out.submitters.assign(std::make_move_iterator(submitters.begin()), std::make_move_iterator(submitters.end()));
  std::erase_if(out.held_out, [](const TrainingRow& r) { return !is_held_out(r.row.id); });
  return out;
}

std::string Average::text() const { return groups == 0 ? "-" : fmt::format("{:.2f} / {:.2f}", median / groups, mean / groups); }

Errors errors_of(const std::vector<const WorkloadRow*>& rows, double factor) {
  Errors out{.n = static_cast<int>(rows.size())};
  if (rows.empty()) return out;
  std::vector<double> ape;
  for (const WorkloadRow* r : rows) ape.push_back(100 * std::fabs(factor * r->predicted / r->measured - 1));
  out.mean = std::accumulate(ape.begin(), ape.end(), 0.0) / static_cast<double>(ape.size());
  out.median = quantile(ape, 0.5);
  return out;
}

double one_scalar(const std::vector<const WorkloadRow*>& rows) {
  std::vector<double> logs;
  for (const WorkloadRow* r : rows) logs.push_back(std::log(r->measured / r->predicted));
  return rows.empty() ? 1 : std::exp(quantile(logs, 0.5));
}

double rank_correlation(const std::vector<const WorkloadRow*>& rows) {
  if (rows.size() < 2) return 0;
  std::vector<double> measured, predicted;
  for (const WorkloadRow* r : rows) measured.push_back(r->measured), predicted.push_back(r->predicted);
  const std::vector<double> a = ranks(measured), b = ranks(predicted);
  const double mean = static_cast<double>(rows.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

double coverage(const std::vector<const WorkloadRow*>& rows) {
  const auto inside =
      std::count_if(rows.begin(), rows.end(), [](const WorkloadRow* r) { return r->low <= r->measured && r->measured <= r->high; });
  return rows.empty() ? 0 : static_cast<double>(inside) / static_cast<double>(rows.size());
}

std::string pair(const Errors& e) { return e.n == 0 ? "-" : fmt::format("{:.1f} / {:.1f}", e.median, e.mean); }

std::map<std::string, std::vector<const WorkloadRow*>> by_group(const std::vector<TrainingRow>& rows) {
  std::map<std::string, std::vector<const WorkloadRow*>> out;
  for (const TrainingRow& r : rows)
    if (counts(r.row)) out[r.row.group].push_back(&r.row);
  return out;
}

}  // namespace training
