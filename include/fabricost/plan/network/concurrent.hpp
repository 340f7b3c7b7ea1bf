#pragma once
/// Collectives that run at the same time: how much each is slowed down by the others, on which link, and who shares it.
///
///   data-parallel rings of all tensor-parallel ranks:   one all_reduce for each group of strided_groups(...)
///   all-reduce beside all-to-all:                       two entries over the same ranks
///
/// All messages of a collective move together because its ranks wait for each other, so it is one flow that
/// loads each of its links l with a_l bytes per byte of its size S (traffic.hpp). Flows share links max-min
/// fairly (sharing.hpp); against other collectives, a rank's sends in one collective count as one:
///
///   S/t alone    min over l of C_l / a_l
///   S/t shared   progressive filling of x = (S/t) x bytes a rank sends, uses a_l / bytes a rank sends
///   slow-down    alone / shared, at least 1
///
/// Between the groups of a dragonfly adaptive routes cross a third group with what the wires of the two do not carry.
///
/// Only rates are shared: the latency part of a collective is not slowed down (until_end.hpp). The slow-down holds while all run; that one
/// which ends frees its links for the others is until_end.hpp's part.

#include <fabricost/plan/network/balance.hpp>
#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/plan/network/link_names.hpp>
#include <fabricost/plan/network/sharing.hpp>
#include <fabricost/plan/network/traffic.hpp>

#include <span>
#include <string>
#include <vector>

namespace fabricost::plan {

/// One of the collectives that run at once.
struct ConcurrentCollective {
  std::string name{};  ///< for people; "" becomes its place in the list
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  std::vector<int> ranks{};  ///< GPUs, numbered through the machine, in ring order
  double weight = 1;         ///< share of a link relative to the others; 2 for twice as many connections
};

struct ConcurrentOptions {
  RouteOptions routes{};
  Balancing balancing = Balancing::even;  ///< of flows over the parallel links of network tiers
};

/// Whether the network tiers have parallel links, over which flows can be hashed.
[[nodiscard]] bool has_parallel_links(const Topology& machine);

/// A link that limits a collective.
struct ContendedLink {
  int link = 0;
  std::string name;
  double capacity = 0;       ///< bytes per second, one way, after collisions
  double load = 0;           ///< what all collectives put on it
  std::vector<int> sharers;  ///< collectives that cross it, by place in the list
};

struct ConcurrentOutcome {
  double alone = 0;     ///< bytes of its size per second without the others: its algorithm bandwidth without latency
  double shared = 0;    ///< the same beside the others
  int bottleneck = -1;  ///< in Contention::links; -1 for a collective that moves nothing
  [[nodiscard]] double slow_down() const { return shared > 0 ? alone / shared : 1; }
};

struct Contention {
  std::vector<ConcurrentOutcome> outcomes;  ///< one for each collective, in order
  std::vector<ContendedLink> links;         ///< links that limit any of them
  double detoured = 0;                      ///< share of what the groups of a dragonfly send each other that crosses a third group
};

/// `count` GPUs cut into groups of `size`, members `stride` apart: with the tensor-parallel size as stride
/// the data-parallel groups, with stride 1 the tensor-parallel ones. {0, s, 2 s, ...}, {1, s + 1, ...}, ...
/// \throws RequestError when they do not divide
[[nodiscard]] std::vector<std::vector<int>> strided_groups(int count, int size, int stride);

/// Collectives whose bytes on the links of a machine are counted once, for sharing the links among any of them.
class ConcurrentFlows {
 public:
  /// \param machine outlives this object \throws RequestError as TrafficCounter::count, with the collective's name
  ConcurrentFlows(const Topology& machine, std::span<const ConcurrentCollective> collectives, const ConcurrentOptions& options = {});
  /// While all of them run. \throws RequestError as share_max_min
  [[nodiscard]] Contention contention() const;
  /// The slow-down of each of `running`, by place in the list, while these run and no others.
  [[nodiscard]] std::vector<double> slow_downs(std::span<const int> running) const;

 private:
  /// Bytes a second of the size of each of `running`, and how their flows share.
  struct Shared {
    std::vector<double> rates;               ///< 0: it moves nothing
    std::vector<int> whose;                  ///< the place in `running` of each flow
    std::vector<std::vector<LinkUse>> uses;  ///< of each flow
    Sharing sharing;                         ///< of the flows
    double detoured = 0;                     ///< as Contention's
  };
  [[nodiscard]] Shared shared_by(std::span<const int> running) const;

  const Topology* machine_;
  std::vector<Traffic> traffic_;
  std::vector<double> weights_, alone_;  ///< alone_: bytes a second of its size without the others
  std::vector<double> capacities_;       ///< of the links, after collisions of all collectives
};

/// The rate and slow-down of each of `collectives` on `machine` while all of them run.
/// Cost: links loaded x log(links); 2,048 rings of 8 on 16,384 GPUs take 6 to 13 ms on one core.
/// \throws RequestError as TrafficCounter::count and share_max_min, with the collective's name
[[nodiscard]] Contention contention(const Topology& machine, std::span<const ConcurrentCollective> collectives,
                                    const ConcurrentOptions& options = {});

}  // namespace fabricost::plan

namespace fabricost {
using plan::ConcurrentCollective;
using plan::ConcurrentOptions;
using plan::ConcurrentOutcome;
using plan::Contention;
using plan::contention;
}  // namespace fabricost
