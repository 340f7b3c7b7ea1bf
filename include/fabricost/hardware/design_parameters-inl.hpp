#pragma once
/// Bodies of design_parameters.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/design_parameters.hpp>

namespace fabricost::core {

FABRICOST_BODY double value_of(const System& system, DesignParameter parameter) {
  switch (parameter) {
    case DesignParameter::nic_bandwidth: return detail::parameter_tier(system, TierRole::nic).bandwidth.value.value();
    case DesignParameter::nic_count: return detail::parameter_tier(system, TierRole::nic).endpoints;
    case DesignParameter::domain: return system.domain;
    case DesignParameter::scale_up_bandwidth: return detail::parameter_tier(system, TierRole::scale_up).bandwidth.value.value();
    case DesignParameter::hbm_bandwidth: return system.gpu.hbm_bandwidth.value.value();
    case DesignParameter::hbm_size: return system.gpu.memory.value.value();
    case DesignParameter::arithmetic: return 1;
  }
  return 0;
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

/// Raises the links between GPU and NIC, and the ports of the switches, to `rate` per NIC; faster ones stay as they are.
FABRICOST_BODY void widen_way(System& system, const Tier& nic, double rate) {
  const double per_gpu = rate * nic.endpoints / nic.shared_by / system.gpus_per_node;
  for (Tier& tier : system.tiers) {
    if (tier.role == TierRole::network && tier.bandwidth.value.value() < rate) tier.bandwidth.value = Bandwidth::from_value(rate);
    if (tier.role != TierRole::host && !(tier.role == TierRole::c2c && nic.path == NicPath::c2c)) continue;
    const double carried = tier.bandwidth.value.value() * tier.efficiency, wanted = std::max(rate, per_gpu);
    if (carried < wanted) tier.bandwidth.value *= wanted / carried;
  }
}

FABRICOST_BODY void turn_domain(System& s, int gpus) {
  const bool is_node = s.domain == s.gpus_per_node;
  if (!is_node && gpus > s.gpus_per_node && gpus % s.gpus_per_node != 0)
    throw RequestError(s.name + ": a domain of " + std::to_string(gpus) + " GPUs does not consist of nodes of " +
                       std::to_string(s.gpus_per_node));
  const double described = std::max(s.domain, s.gpus_per_node);
  const bool any_number = !stated_gpus(s);
  if (is_node || gpus < s.gpus_per_node) {
    const double grown = static_cast<double>(gpus) / s.gpus_per_node;
    for (Tier& tier : s.tiers)
      if (tier.role == TierRole::nic) tier.endpoints = std::max(1, static_cast<int>(std::lround(tier.endpoints * grown)));
    if (s.nodes > 1) s.nodes = std::max(1, static_cast<int>(std::ceil(s.nodes / grown)));  // one node: as many as are wanted
    s.gpus_per_node = gpus;
  }
  for (Tier& tier : s.tiers)
    if (tier.role == TierRole::scale_up) tier.endpoints = gpus;
  s.domain = gpus;
  s.pod = 0;
  if (any_number && stated_gpus(s)) s.nodes = 1;  // a rack cut into its nodes may still be requested in any number
  const double larger = std::max(s.domain, s.gpus_per_node) / described;  // what power and price are stated for
  s.power.value *= larger;
  s.price.value *= larger;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY System with_parameter(System s, DesignParameter parameter, double value) {
  if (!(value > 0 && value < 1e18)) throw RequestError(std::string{name(parameter)} + ": not a number above zero");
  switch (parameter) {
    case DesignParameter::nic_bandwidth: {
      Tier& nic = detail::parameter_tier(s, TierRole::nic);
      nic.bandwidth.value = Bandwidth::from_value(value);
      if (nic.slot_bandwidth.value() > 0) nic.slot_bandwidth = Bandwidth::from_value(std::max(value, nic.slot_bandwidth.value()));
      detail::widen_way(s, nic, value);
      break;
    }
    case DesignParameter::nic_count: {
      Tier& nic = detail::parameter_tier(s, TierRole::nic);
      nic.endpoints = std::max(1, static_cast<int>(std::lround(value)));
      detail::widen_way(s, nic, nic.bandwidth.value.value());
      break;
    }
    case DesignParameter::domain: detail::turn_domain(s, std::max(1, static_cast<int>(std::lround(std::min(value, 1e6))))); break;
    case DesignParameter::scale_up_bandwidth: {
      Tier& inside = detail::parameter_tier(s, TierRole::scale_up);
      const double by = value / inside.bandwidth.value.value();
      inside.bandwidth.value *= by;
      inside.link_bandwidth *= by;
      inside.planning_rate *= by;
      break;
    }
    case DesignParameter::hbm_bandwidth:
      s.gpu.hbm_bandwidth.value = Bandwidth::from_value(value);
      for (Tier& tier : s.tiers)
        if (tier.role == TierRole::memory && tier.name == "hbm") tier.bandwidth.value = s.gpu.hbm_bandwidth.value;
      break;
    case DesignParameter::hbm_size: s.gpu.memory.value = Bytes::from_value(value); break;
    case DesignParameter::arithmetic:
      for (Sourced<FlopRate>* rate : {&s.gpu.fp16, &s.gpu.bf16, &s.gpu.fp8, &s.gpu.fp4}) rate->value *= value;
      s.gpu.arithmetic_factor *= value;
      break;
  }
  return s;
}

}  // namespace fabricost::core
