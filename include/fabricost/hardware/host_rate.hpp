#pragma once
/// \file host_rate.hpp
/// One-way rate between a GPU and the memory of its host while all GPUs copy at once: over the chip-to-chip link if there
/// is one, else PCIe (also the PCIe that joins the GPUs).

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/shipped_numbers.hpp>

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

/// One GPU's share of what the processors of its node read and write of their memory a second, in bytes.
[[nodiscard]] inline double host_memory_rate(const System& system) {
  const double node = system.host_memory_rate.value.value();
  return node > 0 ? node / system.gpus_per_node : prior::memory::host_memory_rate;
}

}  // namespace fabricost
