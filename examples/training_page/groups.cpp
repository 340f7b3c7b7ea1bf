/// \file groups.cpp
/// Errors by group, and the worth of choosing between layouts.

#include <fabricost/plan/evaluation/workload.hpp>
#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace training {

using namespace fabricost::observe;

namespace {

using Rows = std::vector<const WorkloadRow*>;
using Groups = std::map<std::string, Rows>;

const Rows& of(const Groups& groups, const std::string& name) {
  static const Rows none;
  const auto at = groups.find(name);
  return at == groups.end() ? none : at->second;
}

/// Steps whose layouts compete: the same model, GPUs, batch, sequence and precision.
using Job = std::tuple<std::string, int, int, int, int, int, Precision>;

/// One row for each layout of a job: runs of the same one, of several releases or repeats, are no choice and become their median.
std::vector<WorkloadRow> distinct(const std::vector<const TrainingRow*>& rows) {
  std::map<double, std::vector<double>> measured;
  for (const TrainingRow* r : rows) measured[r->row.predicted].push_back(r->row.measured);
  std::vector<WorkloadRow> out;
  for (auto& [predicted, times] : measured) {
    std::sort(times.begin(), times.end());
    WorkloadRow row;
    row.predicted = predicted;
    row.measured = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
    out.push_back(row);
  }
  return out;
}

}  // namespace

std::string introduction(const Published& data) {
  int priced = 0;
  for (const TrainingRow& r : data.steps) priced += counts(r.row);
  return fmt::format(
      "# How accurate for training\n\n"
      "Written by `build/bin/training_page ../shared/measurements > docs/training-accuracy.md`; a test holds the page to what that\n"
      "command prints. {} published steps, {} of them fully specified and priced. Error is 100 |predicted / published - 1| of the\n"
      "seconds of a step; two figures with a slash are median and mean. Errors are by group and averaged over groups, since one group\n"
      "has more rows than all others together.\n\n",
      data.steps.size(), priced);
}

std::string groups(const Published& data) {
  const Groups shipped = by_group(data.steps), left = by_group(data.left_out), held = by_group(data.held_out);
  Groups seen;
  for (const TrainingRow& r : data.steps)
    if (counts(r.row) && !is_held_out(r.row.id)) seen[r.row.group].push_back(&r.row);
  std::string out =
      "## By group\n\n"
      "| group | steps | left out | + scalar | held out | in sample | one scalar | rank | in interval "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  Average all, scaled, unseen, unseen_scaled, fifths, every, every_unseen;
  double min_rank = 1, inside = 0;
  int counted = 0;
  for (std::size_t i = 0; i < data.fitted.size(); ++i) {
    const std::string& name = data.fitted[i];
    const Rows &rows = of(shipped, name), &without = of(left, name), &fifth = of(held, name);
    const Errors as_shipped = errors_of(rows), with_one = errors_of(rows, one_scalar(rows)), blind = errors_of(without),
                 blind_with_one = errors_of(without, one_scalar(without)), on_held = errors_of(fifth);
    const double rank = rank_correlation(rows);
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {:.3f} | {:.0f} % |\n", name, rows.size(), pair(blind), pair(blind_with_one),
                       pair(on_held), pair(as_shipped), pair(with_one), rank, 100 * coverage(rows));
    every.add(as_shipped), every_unseen.add(blind);
    if (i < data.groups.judged.size()) {
      all.add(as_shipped), scaled.add(with_one), unseen.add(blind), unseen_scaled.add(blind_with_one), fifths.add(on_held);
      min_rank = std::min(min_rank, rank);
      inside += coverage(rows);
      ++counted;
    }
  }
  out += fmt::format("| **first {}, averaged** | | **{}** | {} | **{}** | {} | {} | least {:.3f} | {:.0f} % |\n", counted, unseen.text(),
                     unseen_scaled.text(), fifths.text(), all.text(), scaled.text(), min_rank, 100 * inside / counted);
  out += fmt::format("| all {}, averaged | | {} | | | {} | | | |\n\n", data.fitted.size(), every_unseen.text(), every.text());
  out += fmt::format(
      "*One scalar*: all predictions of the group times one factor, the median of its ratios. *Left out*: by a fit that saw no row of\n"
      "the group, so its software stack, where no other group ran it or a variant of it, has the factor 1. *Held out*: the two fifths of\n"
      "its rows whose id hashes (FNV-1a) to 0 or 1 modulo 5, by a fit of the other three: other rows of the same groups, so it says\n"
      "nothing of new ones, and the shares of `data/stacks` set by hand have seen them all. *In sample*: with the shipped constants,\n"
      "fitted to these rows. *Rank*: Spearman's correlation of predicted and published seconds inside the group. *In interval*: share\n"
      "of published figures inside the predicted 5-95 % interval. The first {} groups are the\n"
      "sound ones an accuracy is quoted for; the others are fitted with them for what they say of a stack.\n\n"
      "`vtrain_single_a100` was composed from profiles of single layers rather than clocked: its rows hold some thirty different layer\n"
      "times, which no smooth form follows closer than about 4 %.\n\n",
      counted);
  return out;
}

std::string choices(const Published& data) {
  std::map<std::string, std::map<Job, std::vector<const TrainingRow*>>> jobs;
  for (const TrainingRow& r : data.steps)
    if (counts(r.row) && std::find(data.fitted.begin(), data.fitted.end(), r.row.group) != data.fitted.end())
      jobs[r.row.group][{r.row.model, r.model.layers, r.model.hidden, r.gpus, r.layout.global_batch, r.layout.sequence, r.layout.precision}]
          .push_back(&r);
  std::string out =
      "## Choosing by the model\n\n"
      "Layouts of the same model, GPUs, batch, sequence and precision; runs of the same layout, by several releases of the software, are\n"
      "one with their median. The model's pick is the layout it predicts fastest; the loss is how much slower that one was published\n"
      "than the best of the same job. Means over the jobs of a group with at least three layouts.\n\n"
      "| group | jobs | layouts | loss of the model's pick % | loss of the median layout % | rank inside a job "
      "|\n|---|---|---|---|---|---|\n";
  for (const std::string& group : data.fitted) {
    int n = 0, layouts = 0;
    double loss = 0, middle = 0, rank = 0;
    for (const auto& [job, rows] : jobs[group]) {
      const std::vector<WorkloadRow> each = distinct(rows);
      if (each.size() < 3) continue;
      Rows pointers;
      std::vector<double> measured;
      for (const WorkloadRow& row : each) pointers.push_back(&row), measured.push_back(row.measured);
      std::sort(measured.begin(), measured.end());
      const WorkloadRow& pick =
          *std::min_element(each.begin(), each.end(), [](const auto& a, const auto& b) { return a.predicted < b.predicted; });
      loss += 100 * (pick.measured / measured.front() - 1);
      middle += 100 * (measured[measured.size() / 2] / measured.front() - 1);
      rank += rank_correlation(pointers);
      ++n;
      layouts += static_cast<int>(each.size());
    }
    if (n > 0) out += fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {:.2f} |\n", group, n, layouts, loss / n, middle / n, rank / n);
  }
  return out + "\n";
}

std::string set_aside(const Published& data) {
  const Groups shipped = by_group(data.steps);
  std::map<std::string, int> rows;
  for (const TrainingRow& r : data.steps) ++rows[r.row.group];
  std::string out =
      "## Set aside\n\nGroups left out of all fits; those fully specified are priced all the same.\n\n| group | rows | priced | error | "
      "why "
      "|\n|---|---|---|---|---|\n";
  for (const auto& [group, n] : rows) {
    if (std::find(data.fitted.begin(), data.fitted.end(), group) != data.fitted.end()) continue;
    std::string why = "group not known to be sound";
    for (const auto& [beginning, reason] : data.groups.set_aside)
      if (group.starts_with(beginning)) why = reason;
    out += fmt::format("| {} | {} | {} | {} | {} |\n", group, n, of(shipped, group).size(), pair(errors_of(of(shipped, group))), why);
  }
  std::map<std::string, int> reasons;
  for (const TrainingRow& r : data.steps)
    if (!counts(r.row)) ++reasons[r.row.skipped.empty() ? "not fully specified: priced, not counted" : r.row.skipped];
  out += "\nSingle rows that do not count, of all groups:\n\n| rows | why |\n|---|---|\n";
  for (const auto& [why, n] : reasons) out += fmt::format("| {} | {} |\n", n, why);
  return out;
}

std::string conventions(const Published& data) {
  std::map<std::string, std::map<std::string, int>> metrics;
  for (const TrainingRow& r : data.steps)
    if (counts(r.row)) ++metrics[r.row.group][r.row.metric];
  std::string out =
      "## What each group publishes\n\n"
      "Figures become seconds per step of `T = batch x sequence` tokens on G GPUs. TFLOPS count 6 N + 12 l a d s per token, N the\n"
      "parameters a token is multiplied with and all scores, causal or not; Narayanan 2021 (`sc21`) its equation 3 with recomputation,\n"
      "96 B s l h^2 (1 + s / 6h + V / 16 l h). MFU divides by the dense peak of the precision: A100 312; H100, H200, H800 989.5; B200 "
      "2250\n"
      "TFLOP/s in 16 bit, twice that in fp8.\n\n"
      "| group | figure | steps | seconds |\n|---|---|---|---|\n";
  const auto formula = [](const std::string& group, const std::string& metric) -> std::string {
    if (metric == "step_time_s" || metric == "step_time_ms") return "as published";
    if (metric == "tokens_per_s_per_gpu") return "T / (value G)";
    if (metric == "tokens_per_s") return "T / value";
    const std::string flops = group.starts_with("sc21") ? "equation 3" : "T (6 N + 12 l a d s)";
    return metric == "mfu_pct" ? flops + " / (value peak G)" : flops + " / (value G)";
  };
  for (const auto& [group, its] : metrics)
    for (const auto& [metric, n] : its) out += fmt::format("| {} | {} | {} | {} |\n", group, metric, n, formula(group, metric));
  return out + "\n";
}

}  // namespace training
