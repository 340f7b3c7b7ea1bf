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

}  // namespace fabricost::observe::diagnosis
