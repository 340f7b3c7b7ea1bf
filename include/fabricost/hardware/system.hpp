#pragma once
/// \file system.hpp
/// A machine: GPUs in nodes, a scale-up domain, NICs and the network that joins the nodes, with the constants it is priced by.
///
/// `gpus_per_node` is the node of nccl-tests; `domain` is the number of GPUs that the scale-up tier joins.
/// They are equal in an 8-GPU server; an NVL72 rack has nodes (trays) of 4 in a domain of 72.

#include <fabricost/error.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/hardware/gpu.hpp>
#include <fabricost/hardware/tier.hpp>
#include <fabricost/hardware/tuner.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
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
  int pod = 0;    ///< the most GPUs whose own links join where jobs get slices of a torus (slice.hpp); 0: none but the domain
  bool slice = false;  ///< the domain is such a slice, which a job has for itself
  int rented_by = 0;   ///< GPUs that its seller rents out together, of a domain; 0: a node's
  int nodes = 1;  ///< of the whole machine as described; predictions may use other counts
  Cpu cpu = Cpu::any;
  Library library = Library::other;
  Tuner tuner = newest_tuner;  ///< the version of the library whose tables choose
  bool tuner_assumed = false;  ///< nothing says which version it was: widens intervals inside a domain
  int nccl_release = 0;        ///< 18 of NCCL 2.18: later algorithms are not there; 0: not said, all are
  Sourced<Bandwidth> host_memory_rate;  ///< reads and writes together that the processors of one node reach; 0: not known
  Sourced<Time> host_launch;   ///< its processor's time to launch a collective on one GPU; 0: ScaleUpForm::host_gpu
  Sourced<Watts> power;
  Sourced<Dollars> price;
  Sourced<Bytes> host_memory;  ///< of one node; 0: not known
  std::string seller;          ///< the cloud that rents it out, by its name in data/prices; empty: no particular one
  std::vector<Tier> tiers;  ///< from the inside out, memories first
  Provenance provenance;
  std::string notes;
  Constants constants;  ///< of all prices

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

/// The tier between a GPU and its host: C2C if there is one, else PCIe, or the PCIe that joins the GPUs
/// themselves; nullptr if none is described.
[[nodiscard]] inline const Tier* host_tier(const System& system) {
  if (const Tier* c2c = system.tier(TierRole::c2c)) return c2c;
  if (const Tier* host = system.tier(TierRole::host)) return host;
  const Tier* scale_up = system.tier(TierRole::scale_up);
  return scale_up != nullptr && scale_up->kind == TierKind::host ? scale_up : nullptr;
}

/// Limits between a GPU and the network that are lower than the NIC's rate, one way in bytes per second;
/// infinity: unknown.
struct NicWay {
  double link = std::numeric_limits<double>::infinity();  ///< of each GPU, to its PCIe switch or processor
  double slot = std::numeric_limits<double>::infinity();  ///< of each NIC
  double port =
      std::numeric_limits<double>::infinity();  ///< up to the processor, shared by `port_gpus` GPUs, where messages pass through it
  int port_gpus = 1;
  /// Bytes per second that `gpus` GPUs can exchange with their `nics` NICs.
  [[nodiscard]] double lets(double gpus, double nics) const {
    const double by_link = std::min(nics * slot, gpus * link);
    if (port >= by_link) return by_link;
    return std::min(by_link, std::max(1.0, std::ceil(gpus / port_gpus - 1e-9)) * port);
  }
};
/// The limits over PCIe (`host`), or over C2C where the NIC is attached to the processor beside the GPU. A
/// slot is as wide as the GPUs' own unless the NIC tier says otherwise (`slot:`); a NIC in the GPU's package
/// has no such limit. \param host, c2c tiers of these roles, or nullptr
[[nodiscard]] inline NicWay nic_way(const Tier& nic, const Tier* host, const Tier* c2c) {
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
/// Whether the GPUs of a domain meet over PCIe.
[[nodiscard]] inline bool is_over_pcie(const System& system) {
  const Tier* const inside = system.tier(TierRole::scale_up);
  return inside != nullptr && inside->kind == TierKind::host;
}
/// The PCIe tier between GPUs, NICs and processors: role `host`, or the PCIe that joins the GPUs themselves;
/// nullptr if none is described.
[[nodiscard]] inline const Tier* pcie_tier(const System& system) {
  if (const Tier* host = system.tier(TierRole::host)) return host;
  return is_over_pcie(system) ? system.tier(TierRole::scale_up) : nullptr;
}

/// Bytes per second that a node's NICs send, one way: their own rate, or the limits before them. 0 without.
[[nodiscard]] inline double nics_rate(const System& system) {
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) return 0;
  const NicWay way = nic_way(*nic, pcie_tier(system), system.tier(TierRole::c2c));
  return std::min(nic->endpoints * nic->bandwidth.value.value() / nic->shared_by, way.lets(system.gpus_per_node, nic->endpoints));
}

/// Endpoints of a tier over the whole machine: GPUs of a domain, NICs of a node; for a network tier the NICs
/// of all nodes, since all of them feed it.
[[nodiscard]] inline double endpoints_of(const System& system, const Tier& tier) {
  if (tier.role != TierRole::network) return tier.endpoints;
  const Tier* nic = system.tier(TierRole::nic);
  return static_cast<double>(system.nodes) * (nic != nullptr ? nic->endpoints : 1);
}
/// The factor by which the ports of a network tier are slower than the parts they join; at least 1. A tier
/// whose rate is not known (below a byte per second) narrows nothing.
[[nodiscard]] inline double narrows(double rate_below, const Tier& tier) {
  const double port = tier.bandwidth.value.value();
  return port >= 1 && port < rate_below ? rate_below / port : 1;
}
/// The fraction of the NICs' rate that the switches below a network tier pass on to it: one over the product
/// of their oversubscriptions. Traffic below one switch does not use its uplinks: the innermost tier has 1.
[[nodiscard]] inline double share_into(const System& system, const Tier& tier) {
  double out = 1;
  for (const Tier& below : system.tiers) {
    if (&below == &tier) break;
    if (below.role == TierRole::network) out /= below.oversubscription;
  }
  return out;
}
/// Bytes per second that all endpoints of a tier inject together, one direction; for a network tier the rate
/// that the switches below pass on.
[[nodiscard]] inline Bandwidth aggregate_of(const System& system, const Tier& tier) {
  return tier.role == TierRole::network ? tier.bandwidth.value * (endpoints_of(system, tier) * share_into(system, tier)) : tier.aggregate();
}
/// Rate across the worst even cut, one direction: Tier::bisection, or half of a network tier's injected rate.
[[nodiscard]] inline Bandwidth bisection_of(const System& system, const Tier& tier) {
  return tier.role == TierRole::network ? aggregate_of(system, tier) * 0.5 : tier.bisection();
}

}  // namespace fabricost
