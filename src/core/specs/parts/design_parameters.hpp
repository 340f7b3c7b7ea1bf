#pragma once
/// Design parameters as text: `design.domain=144`, `design.nic.bandwidth=100 GB/s` among the overrides of a machine; those its file
/// declares. Private.

#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/specs/load.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// Whether two names mean one unknown: nic.bandwidth, nic_bandwidth and nic-bandwidth do.
[[nodiscard]] bool same_unknown(std::string_view a, std::string_view b);
/// The parameter of that name.
[[nodiscard]] std::optional<DesignParameter> parameter_named(std::string_view text);
/// Whether it is the rate of a link, which says its direction.
[[nodiscard]] bool is_link_rate(DesignParameter parameter);

/// A value in the units of value_of: "100 GB/s per direction" or "800 Gbit/s per direction", "8 TB/s" and "288 GB" of memory, "144", "2".
/// \param named its name in messages \throws RequestError
[[nodiscard]] double parameter_value(DesignParameter parameter, const std::string& text, std::string_view named);

/// Takes the overrides of parameters out of the others. \throws RequestError for a name or a value that is none
[[nodiscard]] std::vector<std::pair<DesignParameter, double>> take_parameters(std::vector<std::pair<std::string, std::string>>& overrides);

/// Turns them one after the other, and notes which calibrations no longer are of this machine. \throws RequestError as with_parameter
void turn(System& system, const std::vector<std::pair<DesignParameter, double>>& parameters, OverriddenParts& altered);

/// Reads and checks `design:` of a system's tree: known keys, templates that can be filled, paths that lead somewhere.
[[nodiscard]] std::vector<DeclaredParameter> read_declared_parameters(const SpecNode& tree, Faults& faults);

/// Replaces every override `design.NAME` of a declared parameter by those it sets. \throws RequestError for a value that it cannot take
void spell_out_parameters(const SpecNode& tree, std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace fabricost::core
