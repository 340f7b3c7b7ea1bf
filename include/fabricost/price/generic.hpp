#pragma once
/// Any schedule on any fabric, from its phases alone: prices whatever price_by_form gives no form.
///
///   t = c0 + norm_q( f + sum over phases of steps x hop(level, protocol) , sum over stages of max over levels of bytes / rate )
///
/// The hops and rates are those fitted for rings of the same protocol; q = 1 for LL.

#include <fabricost/price/exchange.hpp>
#include <fabricost/price/internode.hpp>
#include <fabricost/price/pcie.hpp>

namespace fabricost::core {

/// Cost of one level under one protocol.
struct LevelCost {
  double hop = 0;   ///< seconds per serial step
  double rate = 0;  ///< bytes per second of one endpoint, one direction
};

[[nodiscard]] std::array<LevelCost, 2> level_costs(const Fabric& fabric, const Constants& c, Protocol protocol, Collective op);

/// The general price with given costs of the levels; tests use it with constants of their own.
[[nodiscard]] Line price_phases(const Schedule& schedule, const std::array<LevelCost, 2>& cost, double launch, double floor,
                                double overlap);

/// Share of an endpoint's links inside the domain that a schedule uses at a time. With separate links per
/// pair (a full mesh, a mesh graph) and one partner per step this is one peer's of g - 1; rings, direct sends
/// and switches use all.
[[nodiscard]] double link_share(Algorithm algorithm, const Fabric& fabric);

/// Share of the NICs' rate that a tapered network leaves: the all-to-all taper if all ranks send to all at
/// once, else the ring taper.
[[nodiscard]] double taper_share(Algorithm algorithm, const Fabric& fabric, Collective op = Collective::all_reduce);

[[nodiscard]] Line price_generic(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol);

/// SHARP: a domain's GPUs combine, the network's switches combine the domains' sums, and the domain's and the network's transfers, up and down, overlap:
///
///   t = c0 + norm_q( f + steps , S norm_p( b/B , 1/(eff path W) ) )
///
/// b: bytes that pass a GPU, 2 of a chain, 2 (g-1)/g of direct sends. Two sites with B200s on InfiniBand of 400 Gbit/s: 278 to 284 GB/s of
/// a chain's S on 2 to 8 nodes, 313 to 319 of direct sends, where the NICs alone would let 400 pass. What all_gather brings down and
/// reduce_scatter sends up meets a part of it in the other direction, so that eff is then that of a send: 390 to 401 GB/s of S where a
/// process drives each GPU, 327 to 333 where one drives all eight.
[[nodiscard]] Line price_collnet(const Schedule& schedule, const Fabric& fabric, const Constants& c);

/// Adds the least time that ranks which send to all of a level at once need for their messages, beside launch and steps: the time
/// measured for an exchange, per rank inside a domain, per message between domains.
void add_peers(Line& line, const Schedule& schedule, const Constants& c);

}  // namespace fabricost::core

namespace fabricost {
using core::price_generic;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/generic-inl.hpp>
#endif
