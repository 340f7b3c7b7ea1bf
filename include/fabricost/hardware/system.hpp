#pragma once
/// \file system.hpp
/// A machine: GPUs in nodes, a scale-up domain, NICs and the network that joins the nodes, with the constants it is priced by.
///
/// `gpus_per_node` is what nccl-tests counts as a node; `domain` is how many GPUs the scale-up tier joins. They are equal in
/// an 8-GPU server; an NVL72 rack has nodes (trays) of 4 in a domain of 72.

#include <fabricost/error.hpp>
#include <fabricost/hardware/gpu.hpp>
#include <fabricost/hardware/tier.hpp>
#include <fabricost/hardware/constants.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

struct System {
  std::string name;
  std::string title;
  Gpu gpu;
  int gpus_per_node = 1;
  int domain = 1;
  int nodes = 1;  ///< of the whole machine as described; predictions may ask for other counts
  Cpu cpu = Cpu::any;
  Library library = Library::other;
  Sourced<Watts> power;
  Sourced<Dollars> price;
  std::vector<Tier> tiers;  ///< from the inside out, memories first
  Provenance provenance;
  std::string notes;
  Constants constants;  ///< what predictions are priced with

  [[nodiscard]] int gpus() const { return gpus_per_node * nodes; }
  [[nodiscard]] Bytes memory() const { return gpu.memory.value; }

  /// The first tier with that role, or nullptr.
  [[nodiscard]] const Tier* tier(TierRole role) const {
    for (const Tier& t : tiers)
      if (t.role == role) return &t;
    return nullptr;
  }
  [[nodiscard]] const Tier* tier(std::string_view tier_name) const {
    for (const Tier& t : tiers)
      if (t.name == tier_name) return &t;
    return nullptr;
  }
};

}  // namespace fabricost
