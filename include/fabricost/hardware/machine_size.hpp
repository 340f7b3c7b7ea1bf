#pragma once
/// \file machine_size.hpp
/// The number of GPUs of a machine, if its description states it. A cluster states `nodes` beyond one
/// scale-up domain; a server or rack may be requested in any number. A rack with a smaller domain by override
/// (gb200-nvl72 with domains of 8) has the nodes of the original domain, without a network between them.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace fabricost::core {

/// GPUs of a cluster: nodes x GPUs per node; empty for a server, a rack or a cluster without `nodes`.
[[nodiscard]] inline std::optional<long long> stated_gpus(const System& system) {
  const long long all = static_cast<long long>(system.nodes) * system.gpus_per_node;
  const bool rack = system.domain != system.gpus_per_node && system.tier(TierRole::network) == nullptr;
  return all > system.domain && !rack ? std::optional{all} : std::nullopt;
}

/// `gpus` and those that are rented out with them: whole nodes, or more of a domain where its seller parts with no less.
[[nodiscard]] inline double with_rented_together(const System& system, double gpus) {
  const double unit = std::max(system.gpus_per_node, system.rented_by);
  return std::min(std::ceil(gpus / unit) * unit, std::max(gpus, static_cast<double>(system.domain)));
}
/// Whether `gpus` leave a part of a domain of several nodes to other jobs. A slice of a torus is one job's own.
[[nodiscard]] inline bool takes_part_of_domain(const System& system, double gpus) {
  return system.domain > system.gpus_per_node && !system.slice && gpus < system.domain;
}

/// \throws RequestError for more GPUs than the machine has
inline void check_size(const System& system, double gpus) {
  const std::optional<long long> max = stated_gpus(system);
  if (!max || gpus <= static_cast<double>(*max)) return;
  throw RequestError(system.name + " has " + std::to_string(system.nodes) + " nodes of " + std::to_string(system.gpus_per_node) + ", " +
                     std::to_string(*max) + " GPUs; " + std::to_string(static_cast<long long>(gpus)) + " are asked for: take at most " +
                     std::to_string(*max) + ", or override its nodes");
}

}  // namespace fabricost::core
