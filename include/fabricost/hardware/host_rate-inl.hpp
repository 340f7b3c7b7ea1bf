#pragma once
/// \file host_rate-inl.hpp
/// Bodies of host_rate.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/host_rate.hpp>

namespace fabricost {

FABRICOST_BODY double host_rate(const System& system) {
  for (const TierRole role : {TierRole::c2c, TierRole::host})
    if (const Tier* tier = system.tier(role); tier != nullptr && tier->bandwidth.value.value() > 0)
      return tier->bandwidth.value.value() * tier->efficiency / tier->shared_by;
  if (const Tier* tier = system.tier(TierRole::scale_up); tier != nullptr && tier->kind == TierKind::host)
    return tier->bandwidth.value.value() * tier->efficiency / tier->shared_by;
  throw RequestError(system.name + ": states no link to the host; give it a tier with role host or c2c");
}

FABRICOST_BODY double host_room(const System& system) {
  const double all = system.host_memory.value.value();
  return all > 0 ? all / system.gpus_per_node : std::numeric_limits<double>::infinity();
}

FABRICOST_BODY double stated_host_room(const System& system) {
  return system.host_memory.value.value() > 0 && host_tier(system) != nullptr ? host_room(system) : 0;
}

FABRICOST_BODY double host_memory_rate(const System& system) {
  const double node = system.host_memory_rate.value.value();
  return node > 0 ? node / system.gpus_per_node : prior::memory::host_memory_rate;
}

}  // namespace fabricost
