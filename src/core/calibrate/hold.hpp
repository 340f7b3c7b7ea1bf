#pragma once
/// \file hold.hpp
/// Constants that somebody asks not to be fitted.

#include <fabricost/hardware/parameter.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::core::calibrating {

struct Held {
  const Parameter* parameter;
  std::optional<double> value;  ///< that it stays at; none: its own
};

/// \param terms "NAME", "SET:NAME", with "=VALUE" in seconds, bytes or as a plain number; a name without a set means every set that has it
/// \throws RequestError for an unknown name, a value out of the bounds of its kind, a set that points do not show
[[nodiscard]] std::vector<Held> held_constants(const std::vector<std::string>& terms);

}  // namespace fabricost::core::calibrating
