#pragma once
/// Numbers of a machine that change together: with a faster NIC its slot and the links to it; with a larger domain the
/// endpoints of its switches, its power and price, and the nodes and NICs where the domain is a node.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>

#include <array>
#include <string>
#include <string_view>

namespace fabricost::core {

enum class DesignParameter : unsigned char { nic_bandwidth, nic_count, domain, scale_up_bandwidth, hbm_bandwidth, hbm_size, arithmetic };
inline constexpr std::array<std::string_view, 7> design_parameter_names{"nic.bandwidth", "nic.count", "domain",    "scale_up.bandwidth",
                                                                        "hbm.bandwidth", "hbm.size",  "arithmetic"};
[[nodiscard]] constexpr std::string_view name(DesignParameter d) { return design_parameter_names[static_cast<std::size_t>(d)]; }

namespace detail {
/// \throws RequestError where the machine has no such tier
template <class SystemOrConst>
[[nodiscard]] auto& parameter_tier(SystemOrConst& system, TierRole role) {
  for (auto& tier : system.tiers)
    if (tier.role == role) return tier;
  throw RequestError(system.name + ": has no tier with role \"" + std::string{name(role)} + "\" to turn");
}
}  // namespace detail

/// The value of a parameter: bytes per second one way of a NIC, of a GPU's links or of its memory; NICs of a node; GPUs of the domain;
/// bytes of a GPU's memory; 1 for arithmetic, which is turned against the machine's own. \throws RequestError where the machine has no such
/// part
[[nodiscard]] double value_of(const System& system, DesignParameter parameter);

/// The machine with a parameter at a value, in the units of value_of; counts are rounded. \throws RequestError where the machine has no
/// such part, or the value is no number above zero or does not fit the machine
[[nodiscard]] System with_parameter(System s, DesignParameter parameter, double value);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/design_parameters-inl.hpp>
#endif
