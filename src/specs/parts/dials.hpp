#pragma once
/// \file dials.hpp
/// Dials as text: `dial.domain=144`, `dial.nic.bandwidth=100 GB/s` among the overrides of a machine. Private.

#include "specs/calibration.hpp"

#include <fabricost/hardware/dials.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::io {

/// A value in the units of value_of: "100 GB/s" or "800 Gbit/s" one way, "8 TB/s" and "288 GB" of memory, "144", "2". \param named what it
/// is called in messages \throws RequestError
[[nodiscard]] double dial_value(Dial dial, const std::string& text, std::string_view named);

/// Takes the overrides of dials out of the others. \throws RequestError for a name or a value that is none
[[nodiscard]] std::vector<std::pair<Dial, double>> take_dials(std::vector<std::pair<std::string, std::string>>& overrides);

/// Turns them one after the other, and notes which calibrations no longer are of this machine. \throws RequestError as turned
void turn(System& system, const std::vector<std::pair<Dial, double>>& dials, Altered& altered);

}  // namespace fabricost::io
