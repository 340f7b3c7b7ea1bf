#pragma once
/// A machine: GPUs in nodes, a scale-up domain, NICs and the network that joins the nodes, with the constants it is priced by.
///
/// `gpus_per_node` is the node of nccl-tests; `domain` is the number of GPUs that the scale-up tier joins.
/// They are equal in an 8-GPU server; an NVL72 rack has nodes (trays) of 4 in a domain of 72.

#include <fabricost/error.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/hardware/provenance.hpp>
#include <fabricost/hardware/tier.hpp>
#include <fabricost/hardware/tuner.hpp>
#include <fabricost/units.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// One accelerator: its memories, its compute rates (dense) and its links outward.
struct Gpu {
  std::string name;
  std::string title;
  std::string vendor;
  Generation generation = Generation::other;
  Sourced<Bytes> memory;
  Sourced<Bandwidth> hbm_bandwidth;  ///< shared by reads and writes
  Sourced<Time> hbm_latency;         ///< zero when unknown
  Sourced<Bytes> l2_size;            ///< zero when there is none
  Sourced<Bandwidth> l2_bandwidth;
  Sourced<Time> l2_latency;
  Sourced<FlopRate> fp32, tf32, fp16, bf16, fp8, int8, fp4;  ///< dense; zero when not offered or unknown
  bool dataflow = false;  ///< a compiler fixes when each core computes and sends what: no kernel is launched
  int units = 0;                                            ///< SMs or compute units
  double clock_hz = 0;
  Sourced<Watts> power;
  double arithmetic_factor = 1;  ///< peaks over those of the chip that was described: more units at the clock it has, not more on its power
  Sourced<DollarRate> price;
  std::string scale_up_link;  ///< empty when it has none
  int scale_up_links = 0;
  bool scale_up_bridge = false;  ///< the links need a bridge between cards, sold separately
  std::string host_link;
  std::string c2c_link;
  std::string arch;  ///< as compilers name it: sm_90, gfx942; empty: unknown
};

/// Compute capability 10.3, for which engines select other kernels.
[[nodiscard]] inline bool is_blackwell_ultra(const Gpu& gpu) { return gpu.arch == "sm_103"; }

struct System {
  std::string name;
  std::string title;
  Gpu gpu;
  int gpus_per_node = 1;
  int domain = 1;
  int pod = 0;    ///< most GPUs of one slice, where jobs get slices of a torus (slice.hpp); 0: jobs get no slices
  bool slice = false;  ///< the domain is such a slice, which a job has for itself
  int rented_by = 0;   ///< fewest GPUs of a domain that the seller rents out; 0: one node's
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
  std::string price_is;        ///< what kind of figure its price is: list, quotation, estimate, press
  std::string seller;          ///< the cloud that rents it out, by its name in data/prices; empty: no particular one
  std::vector<Tier> tiers;  ///< from the inside out, memories first
  Provenance provenance;
  std::string notes;
  Constants constants;  ///< of all prices

  [[nodiscard]] int gpus() const { return gpus_per_node * nodes; }
  [[nodiscard]] double nodes_per_domain() const { return static_cast<double>(domain) / gpus_per_node; }
  [[nodiscard]] Bytes memory() const { return gpu.memory.value; }

  /// The first tier with that role, or nullptr.
  [[nodiscard]] const Tier* tier(TierRole role) const;
  [[nodiscard]] const Tier* tier(std::string_view tier_name) const;
};

/// The tier between a GPU and its host: C2C if there is one, else PCIe, or the PCIe that joins the GPUs
/// themselves; nullptr if none is described.
[[nodiscard]] const Tier* host_tier(const System& system);

/// Limits between a GPU and the network that are lower than the NIC's rate, one way in bytes per second;
/// infinity: unknown.
struct NicWay {
  double link = std::numeric_limits<double>::infinity();  ///< of each GPU, to its PCIe switch or processor
  double slot = std::numeric_limits<double>::infinity();  ///< of each NIC
  double port =
      std::numeric_limits<double>::infinity();  ///< up to the processor, shared by `port_gpus` GPUs, where messages pass through it
  int port_gpus = 1;
  /// Bytes per second that `gpus` GPUs can exchange with their `nics` NICs.
  [[nodiscard]] double rate(double gpus, double nics) const;
};
/// The limits over PCIe (`host`), or over C2C where the NIC is attached to the processor beside the GPU. A
/// slot is as wide as the GPUs' own unless the NIC tier says otherwise (`slot:`); a NIC in the GPU's package
/// has no such limit. \param host, c2c tiers of these roles, or nullptr
[[nodiscard]] NicWay nic_way(const Tier& nic, const Tier* host, const Tier* c2c);
/// Whether the GPUs of a domain meet over PCIe.
[[nodiscard]] bool is_over_pcie(const System& system);
/// The PCIe tier between GPUs, NICs and processors: role `host`, or the PCIe that joins the GPUs themselves;
/// nullptr if none is described.
[[nodiscard]] const Tier* pcie_tier(const System& system);

/// Bytes per second that a node's NICs send, one way: their own rate, or the limits before them. 0 without.
[[nodiscard]] double nics_rate(const System& system);

/// Endpoints of a tier over the whole machine: GPUs of a domain, NICs of a node; for a network tier the NICs
/// of all nodes, since all of them feed it.
[[nodiscard]] double endpoints_of(const System& system, const Tier& tier);
/// The factor by which the ports of a network tier are slower than the parts they join; at least 1. A tier
/// whose rate is not known (below a byte per second) narrows nothing.
[[nodiscard]] double port_slowdown(double rate_below, const Tier& tier);
/// The fraction of the NICs' rate that the switches below a network tier pass on to it: one over the product
/// of their oversubscriptions. Traffic below one switch does not use its uplinks: the innermost tier has 1.
[[nodiscard]] double share_into(const System& system, const Tier& tier);
/// Bytes per second that all endpoints of a tier inject together, one direction; for a network tier the rate
/// that the switches below pass on.
[[nodiscard]] Bandwidth aggregate_of(const System& system, const Tier& tier);
/// Rate across the worst even cut, one direction: Tier::bisection, or half of a network tier's injected rate. Of that, as much as the wires
/// between the halves carry where each two of g groups of a dragonfly are joined by 1/(g - 1) of what leaves one: (g/2) / (g - 1).
[[nodiscard]] Bandwidth bisection_of(const System& system, const Tier& tier);

/// GPUs of a cluster, which states `nodes` beyond one scale-up domain: nodes x GPUs per node; empty for a server or a rack, which may be
/// requested in any number, and for a cluster without `nodes`. A rack with a smaller domain by override (gb200-nvl72 with domains of 8) has
/// the nodes of the original domain, without a network between them.
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
void check_size(const System& system, double gpus);

}  // namespace fabricost::core

namespace fabricost {
using core::Gpu;
using core::NicWay;
using core::System;
using core::host_tier;
using core::nic_way;
using core::nics_rate;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/system-inl.hpp>
#endif
