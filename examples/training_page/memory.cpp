/// \file memory.cpp
/// Peaks of memory, and layouts that ran or ended out of memory.

#include "sections.hpp"

#include <fabricost/plan/evaluation/workload.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace training {

using namespace fabricost::plan;

namespace {

/// All rows once: those of the fits, and the others of mlperf.csv and newer_training.csv.
std::vector<TrainingRow> all_rows(const Published& data) {
  std::vector<TrainingRow> out;
  std::set<std::string> seen;
  for (const auto* rows : {&data.steps, &data.mlperf, &data.newer})
    for (const TrainingRow& row : *rows)
      if (!row.row.group.starts_with("vtrain_") && seen.insert(row.row.id).second) out.push_back(row);
  return out;
}

std::string peaks(const std::vector<TrainingRow>& rows) {
  std::map<std::string, std::vector<const WorkloadRow*>> groups;
  const std::vector<WorkloadRow> predicted = predict_memory_rows(rows);
  for (const WorkloadRow& row : predicted) groups[row.group].push_back(&row);
  std::string out = "| group | rows | median / mean % | within 10 % |\n|---|---|---|---|\n";
  for (const auto& [group, its] : groups) {
    const auto near = std::count_if(its.begin(), its.end(), [](const WorkloadRow* r) { return std::abs(r->error()) <= 0.1; });
    out += fmt::format("| {} | {} | {} | {:.0f} % |\n", group, its.size(), pair(errors_of(its)),
                       100.0 * static_cast<double>(near) / static_cast<double>(its.size()));
  }
  return out + "\n";
}

struct Count {
  int ran = 0, refused = 0, failed = 0, missed = 0;
  void add(const MemoryVerdict& v) {
    (v.ran ? ran : failed) += 1;
    if (v.ran && !v.fits()) ++refused;
    if (!v.ran && v.fits()) ++missed;
  }
  [[nodiscard]] std::string row(std::string_view name) const {
    const auto share = [](int part, int whole) { return whole > 0 ? fmt::format("{} ({:.1f} %)", part, 100.0 * part / whole) : "-"; };
    return fmt::format("| {} | {} | {} | {} | {} |\n", name, ran, share(refused, ran), failed, share(missed, failed));
  }
};

std::string outcomes(const std::vector<TrainingRow>& rows) {
  std::map<std::string, Count> groups;
  Count all;
  std::string refused;
  for (const MemoryVerdict& v : judge_memory(rows)) {
    groups[v.group].add(v);
    all.add(v);
    if (v.ran && !v.fits())
      refused += fmt::format("- {}, {}, {}: {:.1f} of {:.1f} GiB\n", v.id, v.group, v.model, v.bytes / gibibyte, v.capacity / gibibyte);
  }
  std::string out =
      "Layouts whose outcome is recorded, with their recomputation: those that ran fit, so the model should say so; those that\nended "
      "out of memory (`OOM` as their value) should be refused.\n\n"
      "| group | ran | said not to fit | out of memory | said to fit |\n|---|---|---|---|---|\n";
  for (const auto& [group, its] : groups) out += its.row(group);
  out += all.row("**all**") + "\n";
  return out + (refused.empty() ? "" : "Ran, and are said not to fit:\n\n" + refused + "\n");
}

}  // namespace

std::string memory(const Published& data) {
  const std::vector<TrainingRow> rows = all_rows(data);
  return "## Peaks of memory\n\nEvery group that states them: the worst stage as the framework's allocator counts it. No number is fitted "
         "by least "
         "squares; the bytes\nof `data/stacks` were set by hand with the groups of their `published:` in view.\n\n" +
         peaks(rows) + outcomes(rows);
}

}  // namespace training
