/// \file unseen.cpp
/// Steps that no fit has seen.

#include <fabricost/plan/evaluation/workload.hpp>
#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace training {

using namespace fabricost::observe;

namespace {

using Groups = std::map<std::string, std::vector<const WorkloadRow*>>;

double within(const std::vector<const WorkloadRow*>& rows, double share) {
  const auto near = std::count_if(rows.begin(), rows.end(), [&](const WorkloadRow* r) { return std::abs(r->error()) <= share; });
  return rows.empty() ? 0 : 100.0 * static_cast<double>(near) / static_cast<double>(rows.size());
}

std::string table(const Groups& groups, const char* first) {
  std::string out = fmt::format("| {} | steps | median / mean % | within 10 % | in interval |\n|---|---|---|---|---|\n", first);
  for (const auto& [group, rows] : groups)
    out += fmt::format("| {} | {} | {} | {:.0f} % | {:.0f} % |\n", group, rows.size(), pair(errors_of(rows)), within(rows, 0.1),
                       100 * coverage(rows));
  return out;
}

/// The number of rows that are not priced, by the reason.
std::string not_priced(const std::vector<TrainingRow>& rows) {
  std::map<std::string, int> reasons;
  for (const TrainingRow& r : rows)
    if (!counts(r.row)) ++reasons[r.row.skipped.empty() ? "not fully specified: priced, not counted" : r.row.skipped];
  std::string out;
  for (const auto& [why, n] : reasons) out += fmt::format("- not counted: {} rows, {}\n", n, why);
  return out + "\n";
}

/// The errors of each submitter's rows, by a fit without them.
std::string by_submitter(const Published& data) {
  std::string out =
      "The rows that are fitted, by who submitted them, each by a fit of all others:\n\n"
      "| submitter | steps | median / mean % | within 10 % | in interval |\n|---|---|---|---|---|\n";
  double median = 0, mean = 0;
  for (const auto& [who, its] : data.submitters) {
    std::vector<const WorkloadRow*> rows;
    for (const TrainingRow& r : its) rows.push_back(&r.row);
    const Errors e = errors_of(rows);
    median += e.median, mean += e.mean;
    out += fmt::format("| {} | {} | {} | {:.0f} % | {:.0f} % |\n", who, rows.size(), pair(e), within(rows, 0.1), 100 * coverage(rows));
  }
  const auto n = static_cast<double>(data.submitters.size());
  return out + fmt::format("| averaged | | {:.1f} / {:.1f} | | |\n\n", median / n, mean / n);
}

}  // namespace

std::string never_fitted(const Published& data) {
  Groups models, others;
  for (const TrainingRow& r : data.mlperf)
    if (counts(r.row)) models[r.row.model].push_back(&r.row);
  for (const std::vector<TrainingRow>* from : {&data.left_out, &data.adapters})
    for (const TrainingRow& r : *from)
      if (counts(r.row) && r.row.group.starts_with("mlperf_")) others[r.row.model].push_back(&r.row);
  return "## MLPerf Training, left out\n\nStep times derived from logs in the public result repositories of MLPerf Training (Apache-2.0), "
         "by a fit that saw none\nof them, all machines of a model together: no step on Blackwell but SimuMax's, none on an AMD GPU. They "
         "are not verified by\nMLCommons, and step time is no official metric. The shipped constants were fitted to those of NVIDIA's code "
         "as well: the groups\n`mlperf_` below.\n\n" +
         table(models, "model") +
         "\nThe same of NVIDIA's code by a fit that saw the other models: what a new model of a known program is off. Adapters are in no "
         "fit.\n\n" +
         table(others, "model") + "\n" + not_priced(data.mlperf) + by_submitter(data);
}

}  // namespace training
