#pragma once
/// Measured times per iteration, of a job or of each of its ranks.

#include <fabricost/compiled_part.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace fabricost::plan {

/// Times per iteration: one number per line, or a CSV with a column time_s, time_ms or time_us, and columns
/// iteration and rank if ranks were measured separately. Seconds.
struct IterationTimes {
  std::vector<double> seconds;     ///< all of them
  int ranks = 0;                   ///< with separate times; 0: none
  std::vector<double> rank_means;  ///< by rank, in the order of their names
  std::vector<std::string> rank_names;
  std::vector<double> slowest;  ///< of each iteration that every rank has
};
/// \throws SpecError with file, line and column for a time that is not a positive number, a rank or iteration
/// without its column, or a file without times
[[nodiscard]] IterationTimes read_iteration_times(const std::filesystem::path& file);

}  // namespace fabricost::plan
