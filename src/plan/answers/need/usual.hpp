#pragma once
/// The values of an unknown where the request names none. Private.

#include "answers/varied/varied.hpp"

#include <fabricost/hardware/system.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan::need {

/// Equal for reasons that differ in their numbers.
[[nodiscard]] inline std::string without_numbers(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

/// Numbers of GPUs that a run may have, whatever its limits: nodes and scale-up domains, eight to an octave, and multiples of the batch.
/// \param least no fewer \param most no more, but one more
[[nodiscard]] std::vector<int> sizes_of_run(const System& machine, int batch, double least, double most);

/// Counts as people buy them; a parameter from a 64th to 64 times its value; the values that the machine's file lists for its own
/// parameters. \param gpus of the job, where they are known \param parts of a node are worth asking for \throws Refusal where no usual
/// values are known
[[nodiscard]] std::vector<double> usual_values(varied::Varied& unknown, const System& machine, const std::optional<int>& gpus, bool parts);

}  // namespace fabricost::plan::need
