#pragma once
/// Dials as text: `dial.domain=144`, `dial.nic.bandwidth=100 GB/s` among the overrides of a machine; those its file declares. Private.

#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fabricost/hardware/dials.hpp>
#include <fabricost/specs/load.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// Whether two names mean one unknown: nic.bandwidth, nic_bandwidth and nic-bandwidth do.
[[nodiscard]] bool same_unknown(std::string_view a, std::string_view b);
/// The dial of that name.
[[nodiscard]] std::optional<Dial> dial_named(std::string_view text);
/// Whether it is the rate of a link, which says its direction.
[[nodiscard]] bool is_link_rate(Dial dial);

/// A value in the units of value_of: "100 GB/s per direction" or "800 Gbit/s per direction", "8 TB/s" and "288 GB" of memory, "144", "2".
/// \param named its name in messages \throws RequestError
[[nodiscard]] double dial_value(Dial dial, const std::string& text, std::string_view named);

/// Takes the overrides of dials out of the others. \throws RequestError for a name or a value that is none
[[nodiscard]] std::vector<std::pair<Dial, double>> take_dials(std::vector<std::pair<std::string, std::string>>& overrides);

/// Turns them one after the other, and notes which calibrations no longer are of this machine. \throws RequestError as with_dial
void turn(System& system, const std::vector<std::pair<Dial, double>>& dials, OverriddenParts& altered);

/// Reads and checks `dials:` of a system's tree: known keys, templates that can be filled, paths that lead somewhere.
[[nodiscard]] std::vector<DeclaredDial> read_declared_dials(const SpecNode& tree, Faults& faults);

/// Replaces every override `dial.NAME` of a declared dial by those it sets. \throws RequestError for a value that it cannot take
void spell_out_dials(const SpecNode& tree, std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace fabricost::core
