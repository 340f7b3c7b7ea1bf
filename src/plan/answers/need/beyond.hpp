#pragma once
/// What else of a machine would have to be faster for a value of one of its parameters. Private.

#include <fabricost/hardware/design_parameters.hpp>

#include <optional>
#include <string>

namespace fabricost::plan::need {

/// In words; empty: nothing, the machine as it is described carries it. \param value as of value_of(machine, parameter)
[[nodiscard]] std::string beyond_of(const System& machine, std::optional<DesignParameter> parameter, double value);

}  // namespace fabricost::plan::need
