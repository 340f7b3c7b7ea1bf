#pragma once
/// \file machine_size-inl.hpp
/// Bodies of machine_size.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/machine_size.hpp>

namespace fabricost::core {

FABRICOST_BODY std::optional<long long> stated_gpus(const System& system) {
  const long long all = static_cast<long long>(system.nodes) * system.gpus_per_node;
  const bool rack = system.domain != system.gpus_per_node && system.tier(TierRole::network) == nullptr;
  return all > system.domain && !rack ? std::optional{all} : std::nullopt;
}

FABRICOST_BODY double with_rented_together(const System& system, double gpus) {
  const double unit = std::max(system.gpus_per_node, system.rented_by);
  return std::min(std::ceil(gpus / unit) * unit, std::max(gpus, static_cast<double>(system.domain)));
}

FABRICOST_BODY bool takes_part_of_domain(const System& system, double gpus) {
  return system.domain > system.gpus_per_node && !system.slice && gpus < system.domain;
}

FABRICOST_BODY void check_size(const System& system, double gpus) {
  const std::optional<long long> max = stated_gpus(system);
  if (!max || gpus <= static_cast<double>(*max)) return;
  throw RequestError(system.name + " has " + std::to_string(system.nodes) + " nodes of " + std::to_string(system.gpus_per_node) + ", " +
                     std::to_string(*max) + " GPUs; " + std::to_string(static_cast<long long>(gpus)) + " are asked for: take at most " +
                     std::to_string(*max) + ", or override its nodes");
}

}  // namespace fabricost::core
