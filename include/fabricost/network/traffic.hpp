#pragma once
/// \file traffic.hpp
/// What one collective puts on every link of a machine: bytes per byte of its size S, from the messages its schedule sends, along
/// their real routes.
///
///   ring          each rank to the next, bytes(ring) each. Over several domains one channel per rank of a domain, each crossing by
///                 another NIC and carrying its even part; in a wired domain along link-disjoint rings (rings.hpp)
///   tree          a chain inside each domain, two binary trees of half the data between domains (Sanders, Speck, Traeff 2009)
///   exchange      direct, pairwise, one_shot, two_shot: everybody to everybody
///   hierarchical  rings inside domains, then rings of equal ranks across them, then rings inside again; an all_to_all inside first,
///                 then among equal ranks
///   halving_doubling, rabenseifner, bruck, pat, recursive_doubling   one partner a step (traffic_partners.hpp)
///   nvls, collnet_direct, collnet_chain   switches combine (traffic_in_network.hpp)
///   torus_bucket  every wire of the torus alike
///
/// Volumes per rank are those of schedule/*.hpp (tests hold the two together); what is added here is who sends it where.
/// Exchanges are counted by groups, not by pairs: n ranks in d domains cost n x NICs + levels, so 16,384 ranks are quick.

#include <fabricost/network/traffic_exchange.hpp>
#include <fabricost/network/traffic_in_network.hpp>
#include <fabricost/network/traffic_partners.hpp>
#include <fabricost/network/traffic_rings.hpp>
#include <fabricost/schedule/direct_reduce.hpp>
#include <fabricost/schedule/exchange.hpp>
#include <fabricost/schedule/halving_doubling.hpp>
#include <fabricost/schedule/hierarchical.hpp>
#include <fabricost/schedule/in_network.hpp>
#include <fabricost/schedule/pat.hpp>
#include <fabricost/schedule/recursive_doubling.hpp>
#include <fabricost/schedule/ring.hpp>
#include <fabricost/schedule/torus.hpp>
#include <fabricost/schedule/tree.hpp>

namespace fabricost {

inline void TrafficCounter::bucket(std::span<const int> ranks, Collective collective) {
  if (t_.shape != TierKind::torus || static_cast<int>(ranks.size()) != t_.domain || by_domain(ranks).members.size() != 1)
    throw RequestError(t_.name + ": torus_bucket runs on all chips of one torus");
  const Levels levels{t_.domain};
  const double bytes = torus_schedule(collective, levels, t_.dims, t_.wrap).bytes(0);
  const int each = t_.wires_per_domain(), ways = 2 * static_cast<int>(t_.dims.size());
  const auto sink = add(bytes / ways);
  for (int w = 0; w < each; ++w) sink(t_.link(t_.wire, t_.domain_of(ranks[0]) * each + w), 1);
}

inline Traffic TrafficCounter::count(Collective collective, Algorithm algorithm, std::span<const int> ranks) {
  for (const int link : touched_)
    bytes_[static_cast<std::size_t>(link)] = flows_[static_cast<std::size_t>(link)] = 0;  // of a count that was refused
  touched_.clear();
  check(ranks);
  Traffic out;
  const Levels flat{static_cast<int>(ranks.size())};
  const double n = flat.ranks();
  if (n <= 1) return out;
  if (collective == Collective::send_recv && n == 2) {
    send(ranks[0], ranks[1], 1);
    out.sent_by_rank = 1;
  } else if (collective == Collective::send_recv) {  // everybody to the next
    for (std::size_t i = 0; i < ranks.size(); ++i) send(ranks[i], ranks[(i + 1) % ranks.size()], 1);
    out.sent_by_rank = 1;
  } else {
    switch (algorithm) {
      case Algorithm::ring:
        out.sent_by_rank = ring_schedule(collective, flat).bytes(0);
        ring(ranks, out.sent_by_rank);
        break;
      case Algorithm::tree:
        out.sent_by_rank = tree_schedule(collective, flat).bytes(0);
        tree(by_domain(ranks), collective, false);
        break;
      case Algorithm::direct:
      case Algorithm::pairwise:
        out.sent_by_rank = direct_schedule(collective, flat).bytes(0);
        exchange(ranks, 1 / n);
        break;
      case Algorithm::one_shot:
      case Algorithm::two_shot: {
        const Schedule s = algorithm == Algorithm::one_shot ? one_shot_schedule(flat) : two_shot_schedule(flat);
        out.sent_by_rank = s.bytes(0);
        exchange(ranks, s.bytes(0) / (n - 1));
        break;
      }
      case Algorithm::hierarchical: {
        const Domains domains = by_domain(ranks);
        if (collective != Collective::all_to_all) {
          out.sent_by_rank = ring_schedule(collective, flat).bytes(0);
          hierarchical(domains, collective);
          break;
        }
        const Levels levels{static_cast<int>(domains.most), static_cast<int>(domains.members.size())};
        const Schedule s = hierarchical_schedule(collective, levels);
        out.sent_by_rank = s.bytes(0) + s.bytes(1) / static_cast<double>(domains.most);
        two_level_exchange(domains);
        break;
      }
      case Algorithm::halving_doubling:
      case Algorithm::rabenseifner:
        out.sent_by_rank = ring_schedule(collective, flat).bytes(0);
        halving(ranks, collective, algorithm == Algorithm::rabenseifner);
        break;
      case Algorithm::nvls: {
        const Domains domains = by_domain(ranks);
        if (domains.members.size() > 1) throw RequestError(t_.name + ": nvls stays inside one domain; between domains it is nvls_tree");
        out.sent_by_rank = nvls_schedule(collective, flat).bytes(0);
        in_switch(domains, collective, out.sent_by_rank);
        break;
      }
      case Algorithm::nvls_tree: {
        const Domains domains = by_domain(ranks);
        out.sent_by_rank = nvls_schedule(collective, Levels{static_cast<int>(domains.most)}).bytes(0);
        in_switch(domains, collective, out.sent_by_rank);
        tree(domains, collective, true);
        break;
      }
      case Algorithm::torus_bucket:
        out.sent_by_rank = torus_schedule(collective, flat, t_.dims, t_.wrap).bytes(0);
        bucket(ranks, collective);
        break;
      case Algorithm::collnet_direct:
      case Algorithm::collnet_chain: {
        const Domains domains = by_domain(ranks);
        const bool chained = algorithm == Algorithm::collnet_chain;
        const Levels levels{static_cast<int>(domains.most), static_cast<int>(domains.members.size())};
        const Schedule s = collnet_schedule(algorithm, collective, levels);
        out.sent_by_rank = s.bytes(0) + s.bytes(1) / static_cast<double>(domains.most);
        collnet(domains, collective, chained);
        break;
      }
      case Algorithm::pat:
        if (collective != Collective::all_gather && collective != Collective::reduce_scatter)
          throw RequestError("PAT exists for all_gather and reduce_scatter");
        out.sent_by_rank = pat_schedule(collective, flat).bytes(0);
        aggregated_trees(ranks, collective);
        break;
      case Algorithm::bruck:
        if (collective != Collective::all_gather && collective != Collective::all_to_all)
          throw RequestError("Bruck exists for all_to_all and all_gather");
        out.sent_by_rank = bruck_schedule(collective, flat).bytes(0);
        bruck(ranks, collective);
        break;
      case Algorithm::recursive_doubling:
        out.sent_by_rank = recursive_doubling_schedule(flat).bytes(0);
        recursive_doubling(ranks, by_domain(ranks));
        break;
    }
  }
  std::sort(touched_.begin(), touched_.end());
  out.loads.reserve(touched_.size());
  for (const int link : touched_) {
    const auto l = static_cast<std::size_t>(link);
    out.loads.push_back({link, bytes_[l], flows_[l]});
    bytes_[l] = flows_[l] = 0;
  }
  touched_.clear();
  return out;
}

}  // namespace fabricost
