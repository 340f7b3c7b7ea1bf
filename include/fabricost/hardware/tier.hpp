#pragma once
/// One level of the machine: its endpoints, its shape, and its rate per endpoint and direction.

#include <fabricost/hardware/kinds.hpp>
#include <fabricost/hardware/provenance.hpp>
#include <fabricost/hardware/transport.hpp>
#include <fabricost/label.hpp>
#include <fabricost/units.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// A bundle of direct links between two endpoints of a mesh graph.
struct Edge {
  int from = 0, to = 0, links = 1;
};

/// Keys of a PCIe tier in files: the board's rates of a ring in a pair, one socket, two; of an exchange in a pair, across two sockets.
inline constexpr std::array<std::string_view, 5> carried_keys{"pair_rate", "socket_rate", "sockets_rate", "pair_exchange_rate",
                                                              "sockets_exchange_rate"};

/// Keys in files of copies between a GPU and its host over a tier: rates of payload to the GPU, from it, each of both at once, and starts.
inline constexpr std::array<std::string_view, 3> copy_keys{"copy_to_gpu", "copy_from_gpu", "copy_both"};
inline constexpr std::array<std::string_view, 3> copy_start_keys{"copy_start_to_gpu", "copy_start_from_gpu", "copy_start_both"};

struct Tier {
  Label name;
  TierRole role = TierRole::scale_up;
  TierKind kind = TierKind::switched;
  int endpoints = 1;                       ///< children (GPUs of a domain, NICs of a node, nodes below a switch)
  std::string link;                        ///< name of the link; empty for a memory
  int links = 1;                           ///< of one endpoint into this tier
  std::string switch_name;                 ///< empty when there is none
  int switches = 0;
  int hops = 1;                            ///< switch hops between two endpoints
  Sourced<Bandwidth> bandwidth;            ///< per endpoint, one direction
  Sourced<Time> latency;                   ///< one hop; zero when unknown
  Time nominal_latency{};                  ///< the one that the constants were fitted with; the deviation of `latency` from it is charged
  Bandwidth link_bandwidth{};              ///< of one link, one direction
  Bandwidth planning_rate{};               ///< NCCL's planning rate of one link; zero when unknown
  double efficiency = 1;                   ///< payload share after packet headers, in (0, 1]
  double oversubscription = 1;             ///< of one switch, or of a first stage: downlink rate over uplink rate, at least 1
  int first_stage = 0;  ///< of a two-stage switch: endpoints below one group of the first stage (a board, a rack); 0: one stage
  int shared_by = 1;                       ///< endpoints that share one such link upward
  bool reduces_in_network = false;
  bool multicasts = false;
  bool wrap = true;                        ///< whether the axes of a torus close
  unsigned char open_axes = 0;             ///< where they do: a bit for each that does not, as it is shorter than the pod's
  [[nodiscard]] constexpr bool closes(std::size_t axis) const { return wrap && (open_axes >> axis & 1U) == 0; }
  std::vector<int> dims;                   ///< of a torus
  std::vector<Edge> edges;                 ///< of a mesh graph
  Transport transport;                     ///< of a NIC tier
  NicPath path = NicPath::pxb;
  std::string slot;            ///< of a NIC tier: the link of its cards' slots; empty: as the host tier's
  Bandwidth slot_bandwidth{};  ///< payload rate of that slot, one way; zero: as the host tier's
  int lost = 0;                ///< of a NIC tier: NICs of one node that are down, beside `endpoints` that are left (predict/lost_nics.hpp)
  bool gpu_direct = true;
  bool on_gpu = false;                     ///< NICs are part of the GPU's package, without a host link in between (`slot: none`)
  bool peer_to_peer = false;               ///< GPUs of a PCIe tier write into each other's memory; otherwise data is staged in host memory
  bool sharp = false;                      ///< the network behind this NIC offers in-network reduction
  int per_socket = 4;                      ///< GPUs of a PCIe tier that share a socket
  std::array<Bandwidth, 3> copies{};       ///< between a GPU and its host (copy_keys), one way; zero where not known
  std::array<Time, 3> copy_starts{};       ///< of those (copy_start_keys)
  Confidence copies_confidence = Confidence::assumed;  ///< the least sure of those given
  std::array<Bandwidth, 5> carried{};      ///< by the board of a PCIe tier, one way per GPU (carried_keys); zero where not known
  std::string notes;

  /// Bytes per second that all endpoints inject together, one direction.
  [[nodiscard]] Bandwidth aggregate() const { return bandwidth.value * static_cast<double>(endpoints); }
  /// Rate across the worst even cut, one direction: switch n/2 B; full mesh (n/2)^2 pairs; ring 2 links; torus 2 x faces.
  [[nodiscard]] Bandwidth bisection() const;
};

}  // namespace fabricost::core

namespace fabricost {
using core::Edge;
using core::Tier;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/tier-inl.hpp>
#endif
