#pragma once
/// The directed links of a machine with the one-way bytes per second of each: GPUs, PCIe switches, NICs and
/// every switch of the network.
///
/// Equal links are stored once, as a block with a count: a link is a number, its block says what it carries,
/// and the position inside the block says whose it is. A machine of 16,384 GPUs on three network levels has
/// eleven blocks.
///
///   scale-up by switches   GPU -> switch plane, plane -> GPU, all planes of one GPU together (traffic is striped over them)
///   in two stages          besides, from one group of first-stage switches to the others: its GPUs x rate / oversubscription
///   scale-up by wires      one link per direction and neighbour: full mesh, mesh graph, ring, torus
///   PCIe or C2C            GPU -> switch or processor; where `shared_by` GPUs hang on one port, that port upward
///   NICs                   out and in
///   host memory            of a node without GPUDirect, for all that is written to it and read from it
///   network tiers          out of one child of the tier: span x NICs x rate / the oversubscriptions of the switches passed; one
///                          per rail where rails run apart; at the top of a dragonfly also the wires between each two groups
///
/// Rates are the datasheet's one-way rates, PCIe after packet headers, as predictions use them. Not modelled: the links between
/// processors.

#include <fabricost/hardware/tier.hpp>
#include <fabricost/label.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace fabricost::plan {

enum class LinkKind : unsigned char {
  gpu_out,
  gpu_in,
  trunk_up,
  trunk_down,
  wire,
  host_out,
  host_in,
  port_up,
  port_down,
  nic_out,
  nic_in,
  host_memory,
  tier_up,
  tier_down,
  groups
};

/// Links that differ only in their owner.
struct LinkBlock {
  LinkKind kind = LinkKind::gpu_out;
  Label tier;
  double capacity = 0;  ///< bytes per second, one way
  double lanes = 1;     ///< physical links in it; hashing spreads flows over them
  int first = 0;        ///< number of its first link
  int count = 0;
  int level = 0;  ///< of a network tier, from 0
};

/// A direct link inside a scale-up domain, one way.
struct Wire {
  int from = 0, to = 0;
  double links = 1;
};

/// One network tier. Its children are groups of `span` nodes.
struct NetworkLevel {
  Label name;
  TierKind kind = TierKind::fat_tree;
  int span = 1;                        ///< nodes below one child
  int children = 1;                    ///< of the whole machine
  int lanes = 1;                       ///< separate bundles of one child: rails, or 1
  double taper = 1;                    ///< share of what leaves a child: product of the oversubscriptions of the tiers below
  int up = -1, down = -1, pairs = -1;  ///< blocks; -1 where the links are the NICs' own, or no dragonfly
  int groups = 0;                      ///< of the whole dragonfly, of which these children are some
};

struct Topology {
  std::string name;
  int nodes = 1, gpus_per_node = 1, domain = 1;
  TierKind shape = TierKind::switched;  ///< of the scale-up domain
  bool joined = false;                  ///< there is a scale-up tier
  bool peer_to_peer = true;             ///< of a PCIe domain
  bool wrap = true;
  unsigned char open_axes = 0;  ///< as Tier::open_axes
  std::vector<int> dims;        ///< of a torus
  std::vector<Wire> wires;      ///< of one domain, sorted by (from, to); empty for a torus, whose wires are computed
  std::vector<int> first_wire;  ///< index of each endpoint's first wire, and the end
  int first_stage = 0;          ///< endpoints below one group of first-stage switches; 0: one stage, or all of the domain below one
  int port_gpus = 1;            ///< GPUs on one port upward
  int nics = 0;                 ///< of one node
  int nic_group = 1;            ///< NICs that share one link
  bool railed = false;          ///< NIC i of every node meets on leaf i
  NicPath path = NicPath::pxb;
  bool gpu_direct = true;
  bool nic_on_gpu = false;  ///< the NIC is part of the GPU's package: no host link between the two
  std::vector<NetworkLevel> levels;
  std::vector<LinkBlock> blocks;
  int gpu_out = -1, gpu_in = -1, trunk_up = -1, trunk_down = -1, wire = -1, host_out = -1, host_in = -1, port_up = -1, port_down = -1,
      nic_out = -1, nic_in = -1, host_memory = -1;  ///< blocks

  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
  [[nodiscard]] int links() const { return blocks.empty() ? 0 : blocks.back().first + blocks.back().count; }
  [[nodiscard]] int domain_of(int gpu) const { return gpu / domain; }
  /// Machine-wide number of the first-stage group of an endpoint.
  [[nodiscard]] int stage_of(int gpu) const {
    const int groups = (domain + first_stage - 1) / first_stage;
    return domain_of(gpu) * groups + gpu % domain / first_stage;
  }
  [[nodiscard]] int node_of(int gpu) const { return gpu / gpus_per_node; }
  [[nodiscard]] int wires_per_domain() const {
    return shape == TierKind::torus ? domain * 2 * static_cast<int>(dims.size()) : static_cast<int>(wires.size());
  }
  [[nodiscard]] const LinkBlock& block_of(int link) const {
    const auto after = std::upper_bound(blocks.begin(), blocks.end(), link, [](int n, const LinkBlock& b) { return n < b.first; });
    return *(after - 1);
  }
  /// Bytes per second, one way.
  [[nodiscard]] double capacity(int link) const {
    const LinkBlock& b = block_of(link);
    if (b.kind != LinkKind::wire || shape == TierKind::torus) return b.capacity;
    return b.capacity * wires[static_cast<std::size_t>((link - b.first) % wires_per_domain())].links;
  }
  /// Number of link `at` of a block.
  [[nodiscard]] int link(int block, int at) const { return blocks[static_cast<std::size_t>(block)].first + at; }
  /// The wire between two endpoints of a domain, counted from the domain's first; -1 where there is none.
  [[nodiscard]] int wire_between(int from, int to) const {
    const auto begin = wires.begin() + first_wire[static_cast<std::size_t>(from)];
    const auto end = wires.begin() + first_wire[static_cast<std::size_t>(from) + 1];
    const auto at = std::lower_bound(begin, end, to, [](const Wire& w, int n) { return w.to < n; });
    return at != end && at->to == to ? static_cast<int>(at - wires.begin()) : -1;
  }
};

}  // namespace fabricost::plan

namespace fabricost {
using plan::LinkKind;
using plan::Topology;
}  // namespace fabricost
