#pragma once
/// Bandwidth over size as a log's tables show it, without a prediction. Private.

#include "diagnose/context.hpp"
#include "readings/logs/nccl_runs.hpp"

#include <string>
#include <vector>

namespace fabricost::observe::diagnosis {

/// The table with the most sizes, as printed. \param test becomes its operation
[[nodiscard]] std::vector<Shown> curve_of(const std::vector<LogRun>& runs, std::string& test);
/// The same of streams of messages between two ends (osu_bw, ib_write_bw -a), where one has enough sizes for a shape. Lines are not known.
[[nodiscard]] std::vector<Shown> transfers_of(const std::vector<Point>& points);
/// Rows of all tables if none of them has a time above 0, else 0.
[[nodiscard]] int rows_without_time(const std::vector<LogRun>& runs);
/// "line 33: 12 wrong elements at 16 GiB (32 such rows)"; empty: the test found none, or did not check.
[[nodiscard]] std::string wrong_results_of(const std::vector<LogRun>& runs);
/// "512 MiB, before 16 GiB": where a table ends that neither reaches the size of its head nor has closing lines; empty: none does.
[[nodiscard]] std::string early_end_of(const std::vector<LogRun>& runs, const NcclInfo& info);

}  // namespace fabricost::observe::diagnosis
