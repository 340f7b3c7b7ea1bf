/// Detects the kind of a table of published results, and summarises the errors of its rows.

#include "text/csv.hpp"

#include <fabricost/plan/evaluation/moe_kernel_rows.hpp>
#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/readings/points.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fabricost::plan {

WorkloadTable workload_table(const std::filesystem::path& file) {
  if (job_files().is_trace(file)) return WorkloadTable::none;
  LineReader reader(file);
  std::string line;
  while (reader.next(line))
    if (!line.empty() && line.front() != '#') break;
  std::vector<CsvCell> cells;
  if (split_csv(line, cells)) return WorkloadTable::none;
  std::set<std::string> columns;
  for (const CsvCell& cell : cells) columns.insert(cell.text);
  const auto all = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) { return columns.count(name) > 0; });
  };
  if (all({"id", "group", "op", "gpu", "time_us"})) return WorkloadTable::ops;
  if (all({"op", "gpu", "time_us"}) && columns.count("bytes") == 0)
    throw RequestError(fmt::format("{}: a table of kernels has columns id and group too; {} not there (docs/reading-logs.md)", file.string(),
                                   all({"group"}) ? "id is" : all({"id"}) ? "group is" : "both are"));
  if (all({"phase", "implementation", "tokens_per_rank", "time_us"})) return WorkloadTable::moe_kernels;
  for (const auto of : {"measured_metric", "schedule", "tokens_per_rank", "topic", "isl"})  // steps, pipelines, experts, reliability, serving runs
    if (all({"id", "group", of, "value"})) return WorkloadTable::in_python;
  return WorkloadTable::none;
}

WorkloadReport summarise(std::vector<WorkloadRow> rows) {
  WorkloadReport out;
  out.rows = std::move(rows);
  std::map<std::string, int> skipped;
  std::map<std::string, std::vector<Outcome>> groups;
  std::vector<Outcome> all;
  for (const WorkloadRow& row : out.rows) {
    const bool comparable = row.measured > 0 && row.predicted > 0;
    if (!row.skipped.empty() || !row.fully_specified || !comparable) {
      const std::string why = !comparable ? "a figure of 0 has no relative error" : "not fully specified: priced, not counted";
      ++skipped[row.skipped.empty() ? why : row.skipped];
      continue;
    }
    all.push_back({row.measured, row.predicted, row.low, row.high});
    groups[row.group].push_back(all.back());
  }
  for (const auto& [reason, n] : skipped) out.skipped.push_back({reason, n});
  for (const auto& [name, members] : groups) out.by_group.push_back({name, summarise(members)});
  out.total = summarise(all);
  return out;
}

WorkloadReport validate_workloads(const std::vector<std::filesystem::path>& files, const Stack* stack,
                                  const std::function<void(System&)>& adjust) {
  std::vector<WorkloadRow> rows;
  std::vector<MoeKernelRow> exchanges;
  for (const std::filesystem::path& file : files) {
    switch (workload_table(file)) {
      case WorkloadTable::ops: {
        std::vector<OpsRow> ops = read_ops_rows(file);
        predict_ops_rows(ops, stack);
        for (OpsRow& op : ops) rows.push_back(std::move(op.row));
        break;
      }
      case WorkloadTable::in_python:
        throw RequestError(fmt::format("{}: steps, serving runs, pipelines, experts and reliability are compared by `python -m fabricost.evaluation {}`",
                                       file.string(), file.string()));
      case WorkloadTable::moe_kernels:
        for (MoeKernelRow& row : read_moe_kernel_rows(file)) exchanges.push_back(std::move(row));
        break;
      case WorkloadTable::none: throw RequestError(file.string() + ": is no table of published results");
    }
  }
  exchanges = merge_repeats(exchanges);
  predict_moe_kernel_rows(exchanges, adjust);
  rows.insert(rows.end(), exchanges.begin(), exchanges.end());
  return summarise(std::move(rows));
}

}  // namespace fabricost::plan
