#pragma once
/// The tiers as a group of ranks sees them, in plain SI numbers: rates per endpoint and direction, the path
/// between a GPU and its NIC; algorithms/connectivity.hpp holds how the ranks are joined. Knows no algorithm.
///
/// Level 0 is the scale-up domain (endpoint: a GPU), level 1 the NICs and the network of the domains (endpoint: a domain, all
/// its NICs in use together).

#include <fabricost/algorithms/connectivity.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/hardware/transport.hpp>
#include <fabricost/label.hpp>
#include <fabricost/price/channels.hpp>

namespace fabricost::core {

struct Fabric : Connectivity {
  int nodes = 1;               ///< as nccl-tests counts them
  int communicator = 0;        ///< ranks of the communicator that a send_recv belongs to; 0: just its two
  double inner_rate = 0;       ///< one way per GPU, for this many ranks of the domain; 0 when a domain has one rank
  double inner_latency_shift = 0;    ///< difference to the latency the constants were fitted with, per step; may be negative
  double full_rate = 0;        ///< one way per GPU with the whole domain active: the rate of in-switch algorithms
  double inner_exchanges = 1;  ///< share of inner_rate that a tapered second switch stage, PCIe links that GPUs share or the busiest link of a mesh leave to an all-to-all
  double outer_rate = 0;       ///< one way, summed over the NICs a domain uses; 0 on one domain
  double outer_latency_shift = 0;    ///< difference to the fitted latency, per network step
  double nics = 1;             ///< used by one domain; of a send_recv, by the rank that sends to another
  double ring_taper = 1;       ///< taper of the network for rings and trees: share of outer_rate they can use
  double all_to_all_taper = 1;  ///< share of outer_rate that an all-to-all can use: the network's taper and NICs that some GPUs lack (predict/lost_nics.hpp)
  Label inner_tier;            ///< of the domain's links; empty when there are none
  Label inner_limit_tier;      ///< the GPUs' memory, where it carries less than the domain's links; empty otherwise
  Label outer_tier;            ///< of the NICs
  Label nic_limit_tier;             ///< the tier between GPU and NIC that carries less than the NICs; empty if none does
  Label ring_taper_tier;       ///< the network tier that sets `ring_taper`; empty if none does
  Label all_to_all_taper_tier;  ///< empty, too, where NICs set it
  double planned_per_gpu = 0;  ///< NCCL's planning rate inside the domain, one way
  Channels channels;          ///< NCCL's search result for that rate
  double host_link_rate = 0;  ///< one way GPU to host, after packet overhead; 0 when unknown
  double pcie_rate = 0;        ///< of a PCIe scale-up tier: its x16 one-way rate
  double pcie_carried = 0;     ///< what its board carries of it for these ranks, where the system says so; 0: not known
  double pcie_exchanged = 0;   ///< what the board carries of pcie_rate in an exchange; 0: not known
  bool over_pcie = false;      ///< GPUs of a domain meet over PCIe
  // placed where they fit into padding
  Tuner tuner = newest_tuner;    ///< the version of the library's tables
  bool tuner_assumed = false;    ///< nothing says which version it was
  unsigned char nccl_release = 0;  ///< as System::nccl_release
  bool back_to_back = false;     ///< the next call is queued before this one ends
  TunerPlugin plugin = TunerPlugin::none;  ///< asked before the library's own tuner
  double per_socket = 4;       ///< over PCIe: GPUs that share a socket
  double ll_until = 0;         ///< bytes up to which RCCL runs LL inside a node
  double ll128_until = 0;      ///< bytes up to which RCCL runs LL128 inside a node
  double ring_until = 0;       ///< bytes up to which its all_reduce of eight is a ring, before it takes two steps; 0: it never does
  bool peer_to_peer = false;   ///< over PCIe: GPUs reach each other without staging in host memory
  bool switched = false;       ///< the domain has switches
  bool host_bridge = false;    ///< GPU and NIC meet at the host bridge or beyond
  bool gpu_direct = true;
  bool ll128 = true;  ///< LL128 runs over the transport between domains
  Generation generation = Generation::other;
  Library library = Library::other;
  Cpu cpu = Cpu::any;

  // not constexpr: g++ 12 would then clear the whole object before it writes the members
  Fabric() noexcept {}  // NOLINT(modernize-use-equals-default): defaulted, it would be constexpr
};

/// The release of NCCL is known and older than the one, 2.x, that brought something.
[[nodiscard]] inline bool lacks(const Fabric& f, double release) { return f.nccl_release > 0 && f.nccl_release < release; }
/// The library changes algorithm and protocol at fixed sizes, as RCCL does inside a node.
[[nodiscard]] inline bool changes_by_size(const Fabric& f) { return f.ll_until > 0 && f.domains() <= 1; }
/// RCCL's all_reduce of a whole mesh of eight GPUs: each sends an eighth to all, and its sum to all.
[[nodiscard]] inline bool changes_to_two_shot(Collective op, const Fabric& f) {
  return op == Collective::all_reduce && changes_by_size(f) && f.ring_until > 0;
}

}  // namespace fabricost::core

namespace fabricost {
using core::Fabric;
}  // namespace fabricost
