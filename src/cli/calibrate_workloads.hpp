#pragma once
/// \file calibrate_workloads.hpp
/// fabricost calibrate of what is no point of a collective of NCCL's: training steps and kernels, serving runs, MoE dispatch and combine,
/// the all-reduces of inference engines.

#include "runner.hpp"

#include <fabricost/readings/points.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::cli {

/// As typed; empty where nothing was.
struct CalibrateQuestion {
  std::vector<std::string> files, leave_out;
  std::string only, system, nodes, ranks, calibration, out, date;
  bool json = false;
};

/// What to write into a calibration: the day, --date or today; and its origin, as in "... of 12 rows of a.csv, b.csv".
[[nodiscard]] std::string date_of(const CalibrateQuestion& asked);
[[nodiscard]] std::string origin_of(const CalibrateQuestion& asked, int fitted, std::string_view what);

/// Fits the tables and, with -o FOLDER, writes what was fitted as it lies in data/; nothing when the files are no such tables.
/// \throws RequestError for tables that are not fitted together and for options that only points of collectives have; SpecError
[[nodiscard]] std::optional<std::string> calibrate_tables(const CalibrateQuestion& asked, const Terminal& terminal);

/// Fits the all-reduces of inference engines, --only custom; -o FOLDER gets custom-GENERATION.yaml. \throws RequestError
[[nodiscard]] std::string calibrate_engines(const CalibrateQuestion& asked, const Points& points, const Terminal& terminal);

}  // namespace fabricost::cli
