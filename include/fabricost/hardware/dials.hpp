#pragma once
/// Numbers of a machine that change together: with a faster NIC its slot and the links to it; with a larger domain the
/// endpoints of its switches, its power and price, and the nodes and NICs where the domain is a node.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>

#include <array>
#include <string>
#include <string_view>

namespace fabricost::core {

enum class Dial : unsigned char { nic_bandwidth, nic_count, domain, scale_up_bandwidth, hbm_bandwidth, hbm_size, arithmetic };
inline constexpr std::array<std::string_view, 7> dial_names{"nic.bandwidth", "nic.count", "domain",    "scale_up.bandwidth",
                                                            "hbm.bandwidth", "hbm.size",  "arithmetic"};
[[nodiscard]] constexpr std::string_view name(Dial d) { return dial_names[static_cast<std::size_t>(d)]; }

namespace detail {
/// \throws RequestError where the machine has no such tier
template <class SystemOrConst>
[[nodiscard]] auto& dial_tier(SystemOrConst& system, TierRole role) {
  for (auto& tier : system.tiers)
    if (tier.role == role) return tier;
  throw RequestError(system.name + ": has no tier with role \"" + std::string{name(role)} + "\" to turn");
}
}  // namespace detail

/// The value of a dial: bytes per second one way of a NIC, of a GPU's links or of its memory; NICs of a node; GPUs of the domain; bytes of
/// a GPU's memory; 1 for arithmetic, which is turned against the machine's own. \throws RequestError where the machine has no such part
[[nodiscard]] double value_of(const System& system, Dial dial);

/// The machine with a dial at a value, in the units of value_of; counts are rounded. \throws RequestError where the machine has no such
/// part, or the value is no number above zero or does not fit the machine
[[nodiscard]] System with_dial(System s, Dial dial, double value);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/dials-inl.hpp>
#endif
