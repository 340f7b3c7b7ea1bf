/// \file figures.cpp
/// Figures that are quoted by themselves.

#include <fabricost/plan/evaluation/workload.hpp>
#include "sections.hpp"

#include <fmt/format.h>

#include <cmath>

namespace training {

using namespace fabricost::plan;

namespace {

/// Model FLOPs of a step, 6 N + all scores.
double flops_of(const TrainingRow& r) {
  const Layout& l = r.layout;
  return double(l.global_batch) * l.sequence *
         (6 * parameters_of(r.model).multiplied + 12.0 * r.model.layers * r.model.query_width() * l.sequence);
}

constexpr double h100_peak = 989.5e12;  ///< dense bf16, by which the Llama 3 report divides (arXiv 2407.21783, table 4)

}  // namespace

std::string named_figures(const Published& data) {
  std::string out = "## Figures often quoted\n\n| figure | published | predicted | off |\n|---|---|---|---|\n";
  std::vector<const WorkloadRow*> korthikanti;
  for (const TrainingRow& r : data.steps)
    if (r.row.group == "korthikanti_tab5" && counts(r.row)) korthikanti.push_back(&r.row);
  for (const TrainingRow& r : data.steps) {
    if (!r.row.skipped.empty()) continue;
    const double off = 100 * (r.row.predicted / r.row.measured - 1);
    if (r.row.group == "korthikanti_tab5")
      out += fmt::format("| Korthikanti 2022, {} on {} A100, {}: step | {:.2f} s | {:.2f} s | {:+.1f} % |\n", r.row.model, r.gpus,
                         r.layout.recompute == Recompute::full ? "full recomputation" : "selective, sequence parallel", r.row.measured,
                         r.row.predicted, off);
    if (r.row.group == "llama3_405b_meta") {
      const double published = 100 * flops_of(r) / (r.row.measured * r.gpus * h100_peak),
                   ours = 100 * flops_of(r) / (r.row.predicted * r.gpus * h100_peak);
      out += fmt::format("| Llama 3 405B on {} H100, sequence {}: MFU | {:.1f} % | {:.1f} % | {:+.1f} points |\n", r.gpus,
                         r.layout.sequence, published, ours, ours - published);
    }
    if (r.row.group == "deepseek_v3_h800" && r.row.metric == "step_time_s") {
      const double tokens = double(r.layout.global_batch) * r.layout.sequence;
      const auto thousand_hours = [&](double seconds) { return seconds * r.gpus / 3600 / tokens * 1e12 / 1e3; };
      out += fmt::format("| DeepSeek-V3 on {} H800: step of {:.1f} M tokens | {:.2f} s | {:.2f} s | {:+.1f} % |\n", r.gpus, tokens / 1e6,
                         r.row.measured, r.row.predicted, off);
      out += fmt::format("| DeepSeek-V3: GPU-hours for 10^12 tokens | {:.0f} K | {:.0f} K | {:+.1f} % |\n", thousand_hours(r.row.measured),
                         thousand_hours(r.row.predicted), off);
    }
  }
  const Errors all = errors_of(korthikanti);
  out += fmt::format("| Korthikanti 2022, mean of the {} | | | {:.2f} % |\n\n", all.n, all.mean);
  return out + "All of them are in the fit; what a fit without its group says of each is above (*left out*).\n\n";
}

}  // namespace training
