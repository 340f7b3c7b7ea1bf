#pragma once
/// Times of a training program's steps, as frameworks print them.

#include "readings/logs/nccl_info.hpp"

#include <filesystem>
#include <vector>

namespace fabricost::observe {

/// One line about a step; of lines about rates, the time of one sample or iteration.
struct StepTime {
  double seconds = 0;
  double waited = 0;  ///< of it, for data; 0 where the line does not say
  LogLine line;
};

/// Those of the form that most lines have, in their order, at most the first 65536. \throws SpecError
[[nodiscard]] std::vector<StepTime> read_step_times(const std::filesystem::path& file);

}  // namespace fabricost::observe
