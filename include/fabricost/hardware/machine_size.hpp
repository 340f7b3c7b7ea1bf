#pragma once
/// \file machine_size.hpp
/// How many GPUs a machine has, where its description says: a cluster states `nodes` beyond one scale-up domain, a server or a rack may
/// be asked for in any number. A rack whose domain is overridden (gb200-nvl72 with domains of 8) stays a rack: its nodes are as many as
/// one domain had, and no network of it is described.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>

#include <optional>
#include <string>

namespace fabricost {

/// GPUs of a cluster: nodes x GPUs of a node; nothing for a server, a rack or a cluster that does not state its nodes.
[[nodiscard]] inline std::optional<long long> stated_gpus(const System& system) {
  const long long all = static_cast<long long>(system.nodes) * system.gpus_per_node;
  const bool rack = system.domain != system.gpus_per_node && system.tier(TierRole::network) == nullptr;
  return all > system.domain && !rack ? std::optional{all} : std::nullopt;
}

/// \throws RequestError for more GPUs than the machine has
inline void check_size(const System& system, double gpus) {
  const std::optional<long long> max = stated_gpus(system);
  if (!max || gpus <= static_cast<double>(*max)) return;
  throw RequestError(system.name + " has " + std::to_string(system.nodes) + " nodes of " + std::to_string(system.gpus_per_node) + ", " +
                     std::to_string(*max) + " GPUs; " + std::to_string(static_cast<long long>(gpus)) + " are asked for: take at most " +
                     std::to_string(*max) + ", or override its nodes");
}

}  // namespace fabricost
