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
  [[nodiscard]] double nodes_per_domain() const { return static_cast<double>(domain) / gpus_per_node; }
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

/// The tier between a GPU and its host: C2C before PCIe, or the PCIe that joins the GPUs themselves; nullptr when none is described.
[[nodiscard]] inline const Tier* host_tier(const System& system) {
  if (const Tier* c2c = system.tier(TierRole::c2c)) return c2c;
  if (const Tier* host = system.tier(TierRole::host)) return host;
  const Tier* scale_up = system.tier(TierRole::scale_up);
  return scale_up != nullptr && scale_up->kind == TierKind::host ? scale_up : nullptr;
}

/// Endpoints of a tier over the whole machine it belongs to: GPUs of a domain, NICs of a node, and for a network tier every NIC
/// of all nodes, since all of them feed it.
[[nodiscard]] inline double endpoints_of(const System& system, const Tier& tier) {
  if (tier.role != TierRole::network) return tier.endpoints;
  const Tier* nic = system.tier(TierRole::nic);
  return static_cast<double>(system.nodes) * (nic != nullptr ? nic->endpoints : 1);
}
/// Bytes per second all endpoints of a tier inject together, one direction; what a taper lets into a network tier.
[[nodiscard]] inline Bandwidth aggregate_of(const System& system, const Tier& tier) {
  return tier.role == TierRole::network ? tier.bandwidth.value * (endpoints_of(system, tier) / tier.oversubscription) : tier.aggregate();
}
/// Rate across the worst even cut, one direction: Tier::bisection, and half of what a network tier takes in.
[[nodiscard]] inline Bandwidth bisection_of(const System& system, const Tier& tier) {
  return tier.role == TierRole::network ? aggregate_of(system, tier) * 0.5 : tier.bisection();
}

}  // namespace fabricost
