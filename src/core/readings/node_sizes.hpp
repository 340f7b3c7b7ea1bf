#pragma once
/// \file node_sizes.hpp
/// GPUs of a node by the machine's name. Private.

#include "readings/point_readers.hpp"

#include <fabricost/namespaces.hpp>

#include <map>
#include <string>

namespace fabricost::core {

/// Looks each machine up once. 0 for one that is not known: who prices its points says so.
class NodeSizes {
 public:
  [[nodiscard]] int of(const std::string& system) {
    const auto [at, added] = sizes_.try_emplace(system, 0);
    if (!added) return at->second;
    try {
      at->second = gpus_per_node_of(system);
    } catch (const Error&) {  // stays 0
    }
    return at->second;
  }

 private:
  std::map<std::string, int, std::less<>> sizes_;
};

}  // namespace fabricost::core
