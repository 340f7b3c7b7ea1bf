#pragma once
/// Bodies of host_rate.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/host_rate.hpp>

#include <algorithm>

namespace fabricost::core {

FABRICOST_BODY HostCopy host_copy_of(const Tier& tier, const PcieForm& form, Path path) {
  if (path == Path::gpu_host) {
    const HostCopy to = host_copy_of(tier, form, Path::to_gpu), from = host_copy_of(tier, form, Path::from_gpu);
    return {0.5 * (to.start + from.start), 2 / (1 / to.rate + 1 / from.rate)};
  }
  const std::size_t way = path == Path::to_gpu ? 0 : path == Path::from_gpu ? 1 : 2;
  const bool by_line = tier.bandwidth.provenance.confidence == Confidence::measured && tier.latency.provenance.confidence == Confidence::measured;
  HostCopy out{tier.copy_starts[way].value(), tier.copies[way].value()};
  if (!(out.rate > 0)) {
    const double to = tier.copies[0].value(), from = tier.copies[1].value(), link = tier.bandwidth.value.value() * tier.efficiency;
    const double stated = to > 0 && from > 0 ? std::min(to, from) : std::max(to, from);
    const double usual = by_line || tier.role == TierRole::c2c ? link : std::min(link, form.copy_share * tier.bandwidth.value.value());
    out.rate = (way == 2 ? form.copy_share_both / form.copy_share : 1) * (stated > 0 ? stated : usual);
  }
  out.rate = std::min(out.rate, tier.bandwidth.value.value());  // of a link that was made slower
  if (!(out.start > 0)) {
    const double usual = way == 0 ? form.copy_start_to : way == 1 ? form.copy_start_from : form.copy_start_both;
    const double latency = tier.latency.value.value();
    out.start = by_line ? latency : std::max(0.0, usual + latency - tier.nominal_latency.value());
  }
  return out;
}

FABRICOST_BODY double host_rate(const System& system) {
  const Tier* const tier = host_tier(system);
  if (tier == nullptr || !(tier->bandwidth.value.value() > 0))
    throw RequestError(system.name + ": states no link to the host; give it a tier with role host or c2c");
  return host_copy_of(*tier, system.constants.pcie.form, Path::gpu_host).rate / tier->shared_by;
}

FABRICOST_BODY double host_room(const System& system) {
  const double all = system.host_memory.value.value();
  return all > 0 ? all / system.gpus_per_node : std::numeric_limits<double>::infinity();
}

FABRICOST_BODY double stated_host_room(const System& system) {
  return system.host_memory.value.value() > 0 && host_tier(system) != nullptr ? host_room(system) : 0;
}

FABRICOST_BODY double staging_rate(const System& system) {
  const Tier* nic = system.tier(TierRole::nic);
  return nic == nullptr || nic->gpu_direct || nic->path == NicPath::c2c ? 0 : system.host_memory_rate.value.value();
}

FABRICOST_BODY double host_memory_rate(const System& system) {
  const double node = system.host_memory_rate.value.value();
  return node > 0 ? node / system.gpus_per_node : prior::memory::host_memory_rate;
}

}  // namespace fabricost::core
