#pragma once
/// \file usual.hpp
/// The values of an unknown where the request names none. Private.

#include "answers/varied/varied.hpp"

#include <fabricost/hardware/system.hpp>

#include <optional>
#include <vector>

namespace fabricost::need {

/// Counts as people buy them, a dial from a 64th to 64 times of where it stands, what the machine's file says of its own dials.
/// \param gpus of the job, where they are known \throws Refusal where nobody could guess them
[[nodiscard]] std::vector<double> usual_values(varied::Varied& unknown, const System& machine, const std::optional<int>& gpus);

}  // namespace fabricost::need
