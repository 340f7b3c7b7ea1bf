#pragma once
/// What else of a machine would have to be faster for a value of one of its dials. Private.

#include <fabricost/hardware/dials.hpp>

#include <optional>
#include <string>

namespace fabricost::plan::need {

/// In words; empty: nothing, the machine as it is described carries it. \param value as of value_of(machine, dial)
[[nodiscard]] std::string beyond_of(const System& machine, std::optional<Dial> dial, double value);

}  // namespace fabricost::plan::need
