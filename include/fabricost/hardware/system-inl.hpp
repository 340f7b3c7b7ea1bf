#pragma once
/// Bodies of system.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/system.hpp>

namespace fabricost::core {

FABRICOST_BODY const Tier* System::tier(TierRole role) const {
  for (const Tier& t : tiers)
    if (t.role == role) return &t;
  return nullptr;
}

FABRICOST_BODY const Tier* System::tier(std::string_view tier_name) const {
  for (const Tier& t : tiers)
    if (t.name == tier_name) return &t;
  return nullptr;
}

FABRICOST_BODY const Tier* host_tier(const System& system) {
  if (const Tier* c2c = system.tier(TierRole::c2c)) return c2c;
  if (const Tier* host = system.tier(TierRole::host)) return host;
  const Tier* scale_up = system.tier(TierRole::scale_up);
  return scale_up != nullptr && scale_up->kind == TierKind::host ? scale_up : nullptr;
}

FABRICOST_BODY double NicWay::rate(double gpus, double nics) const {
  const double by_link = std::min(nics * slot, gpus * link);
  if (port >= by_link) return by_link;
  return std::min(by_link, std::max(1.0, std::ceil(gpus / port_gpus - 1e-9)) * port);
}

FABRICOST_BODY NicWay nic_way(const Tier& nic, const Tier* host, const Tier* c2c) {
  NicWay out;
  if (nic.on_gpu) return out;
  const bool on_processor = nic.path == NicPath::c2c;
  if (const Tier* way = on_processor ? c2c : host) {
    out.link = way->bandwidth.value.value() * way->efficiency;
    if (!on_processor) out.slot = out.link;
    const bool below_switch = nic.path == NicPath::pix || nic.path == NicPath::pxb;
    if (!on_processor && !(below_switch && nic.gpu_direct)) {
      out.port = out.link;
      out.port_gpus = std::max(1, way->shared_by);
    }
  }
  if (nic.slot_bandwidth.value() > 0) out.slot = nic.slot_bandwidth.value();
  return out;
}

FABRICOST_BODY bool is_over_pcie(const System& system) {
  const Tier* const inside = system.tier(TierRole::scale_up);
  return inside != nullptr && inside->kind == TierKind::host;
}

FABRICOST_BODY const Tier* pcie_tier(const System& system) {
  if (const Tier* host = system.tier(TierRole::host)) return host;
  return is_over_pcie(system) ? system.tier(TierRole::scale_up) : nullptr;
}

FABRICOST_BODY double nics_rate(const System& system) {
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) return 0;
  const NicWay way = nic_way(*nic, pcie_tier(system), system.tier(TierRole::c2c));
  return std::min(nic->endpoints * nic->bandwidth.value.value() / nic->shared_by, way.rate(system.gpus_per_node, nic->endpoints));
}

FABRICOST_BODY double endpoints_of(const System& system, const Tier& tier) {
  if (tier.role != TierRole::network) return tier.endpoints;
  const Tier* nic = system.tier(TierRole::nic);
  return static_cast<double>(system.nodes) * (nic != nullptr ? nic->endpoints : 1);
}

FABRICOST_BODY double port_slowdown(double rate_below, const Tier& tier) {
  const double port = tier.bandwidth.value.value();
  return port >= 1 && port < rate_below ? rate_below / port : 1;
}

FABRICOST_BODY double share_into(const System& system, const Tier& tier) {
  double out = 1;
  for (const Tier& below : system.tiers) {
    if (&below == &tier) break;
    if (below.role == TierRole::network) out /= below.oversubscription;
  }
  return out;
}

FABRICOST_BODY Bandwidth aggregate_of(const System& system, const Tier& tier) {
  return tier.role == TierRole::network ? tier.bandwidth.value * (endpoints_of(system, tier) * share_into(system, tier)) : tier.aggregate();
}

FABRICOST_BODY Bandwidth bisection_of(const System& system, const Tier& tier) {
  if (tier.role != TierRole::network) return tier.bisection();
  const Bandwidth half = aggregate_of(system, tier) * 0.5;
  const auto top = std::find_if(system.tiers.rbegin(), system.tiers.rend(), [](const Tier& t) { return t.role == TierRole::network; });
  if (tier.kind != TierKind::dragonfly || &tier != &*top || tier.endpoints < 2) return half;
  const int groups = tier.endpoints, near = groups / 2;
  return half * (2.0 * near * (groups - near) / groups / (groups - 1));
}

FABRICOST_BODY void check_size(const System& system, double gpus) {
  const std::optional<long long> max = stated_gpus(system);
  if (!max || gpus <= static_cast<double>(*max)) return;
  throw RequestError(system.name + " has " + std::to_string(system.nodes) + " nodes of " + std::to_string(system.gpus_per_node) + ", " +
                     std::to_string(*max) + " GPUs; " + std::to_string(static_cast<long long>(gpus)) + " are asked for: take at most " +
                     std::to_string(*max) + ", or override its nodes");
}

}  // namespace fabricost::core
