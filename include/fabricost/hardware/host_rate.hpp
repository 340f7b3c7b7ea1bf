#pragma once
/// \file host_rate.hpp
/// A GPU's share of its host's memory, and the one-way rate to it while all GPUs copy at once: over the chip-to-chip link
/// if there is one, else PCIe (also the PCIe that joins the GPUs).

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <limits>

namespace fabricost {

/// Bytes per second. \throws RequestError when the machine describes no link to the host
[[nodiscard]] inline double host_rate(const System& system) {
  for (const TierRole role : {TierRole::c2c, TierRole::host})
    if (const Tier* tier = system.tier(role); tier != nullptr && tier->bandwidth.value.value() > 0)
      return tier->bandwidth.value.value() * tier->efficiency / tier->shared_by;
  if (const Tier* tier = system.tier(TierRole::scale_up); tier != nullptr && tier->kind == TierKind::host)
    return tier->bandwidth.value.value() * tier->efficiency / tier->shared_by;
  throw RequestError(system.name + ": states no link to the host; give it a tier with role host or c2c");
}

/// Bytes of the host's memory that are one GPU's share; infinity where the machine's file does not say.
[[nodiscard]] inline double host_room(const System& system) {
  const double all = system.host_memory.value.value();
  return all > 0 ? all / system.gpus_per_node : std::numeric_limits<double>::infinity();
}

/// The same for data that may wait there: 0 without a link to the host, or where its memory is not stated.
[[nodiscard]] inline double stated_host_room(const System& system) {
  return system.host_memory.value.value() > 0 && host_tier(system) != nullptr ? host_room(system) : 0;
}

/// A GPU's share of the rate at which its node's processors read and write their memory, bytes per second.
[[nodiscard]] inline double host_memory_rate(const System& system) {
  const double node = system.host_memory_rate.value.value();
  return node > 0 ? node / system.gpus_per_node : prior::memory::host_memory_rate;
}

}  // namespace fabricost
