#pragma once
/// \file nccl_tests.hpp
/// What the output of nccl-tests (and rccl-tests) says, run by run, before anything is concluded from it. Private to the sources.

#include "io/point_readers.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::io {

/// One half of a row: the out-of-place or the in-place columns.
struct LogSide {
  double time = 0;  ///< as printed; 0: none
  double algbw = 0, busbw = 0;
  double algbw_slack = 0, busbw_slack = 0;  ///< half of the last printed digit
  bool checked = true;                      ///< the result column holds a number, not N/A
  double wrong = 0;
  bool in_place = false;
  bool known_place = true;
};

struct LogRow {
  int line = 0;
  double bytes = 0, count = 0;
  std::string type, redop;
  std::optional<int> root;
  std::vector<LogSide> sides;
};

/// One table with what was printed around it.
struct LogRun {
  std::string test;  ///< all_reduce, alltoall, ...: from the line of the test or of its command; empty when neither was there
  std::vector<int> ranks_listed;
  std::vector<std::string> hosts;  ///< of the ranks listed
  std::vector<int> groups;         ///< of the ranks listed
  std::string library, version;
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  std::vector<LogRow> rows;
  std::vector<Skipped> skipped;
  double time_unit = 0;  ///< seconds; 0: not said
  int line = 1;          ///< where it starts
};

/// What several readers of logs need.
[[nodiscard]] std::vector<LogRun> read_nccl_runs(const std::filesystem::path& file);

/// Points of the runs: which operation, how many ranks and nodes, on which machine. \throws SpecError, RequestError
[[nodiscard]] Points points_of(const std::vector<LogRun>& runs, const std::filesystem::path& file, const PointSource& otherwise,
                               const RunDescriptions& described);

}  // namespace fabricost::io
