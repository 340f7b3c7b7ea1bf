#pragma once
/// \file traffic.hpp
/// What one collective puts on every link of a machine: bytes per byte of its size S, from the messages its schedule sends, along
/// their real routes.
///
///   ring          each rank to the next, bytes(ring) each. Over several domains one channel per rank of a domain, each crossing by
///                 another NIC and carrying its even part; in a wired domain along link-disjoint rings (rings.hpp)
///   tree          a chain inside each domain, two binary trees of half the data between domains (Sanders, Speck, Traeff 2009)
///   exchange      direct, pairwise, one_shot, two_shot: everybody to everybody
///   hierarchical  rings inside domains, then rings of equal ranks across them, then rings inside again
///   halving_doubling, rabenseifner   partners at distances that double; the number of ranks a power of two
///   nvls          each GPU into its switches and back
///   torus_bucket  every wire of the torus alike
///
/// Volumes per rank are those of schedule/*.hpp (tests hold the two together); what is added here is who sends it where.
/// Exchanges are counted by groups, not by pairs: n ranks in d domains cost n x NICs + levels, so 16,384 ranks are quick.

#include <fabricost/network/traffic_exchange.hpp>
#include <fabricost/network/traffic_rings.hpp>
#include <fabricost/schedule/direct_reduce.hpp>
#include <fabricost/schedule/exchange.hpp>
#include <fabricost/schedule/halving_doubling.hpp>
#include <fabricost/schedule/in_network.hpp>
#include <fabricost/schedule/ring.hpp>
#include <fabricost/schedule/torus.hpp>
#include <fabricost/schedule/tree.hpp>

namespace fabricost {

inline void TrafficCounter::halving(std::span<const int> ranks, Collective collective, bool near_first) {
  const std::size_t n = ranks.size();
  if ((n & (n - 1)) != 0)
    throw RequestError("halving_doubling over " + std::to_string(n) + " ranks has no routes here; take a power of two");
  const double halves = collective == Collective::all_reduce ? 2 : 1;
  double bytes = 0.5;
  for (std::size_t step = 1; step < n; step *= 2, bytes /= 2) {
    const std::size_t distance = near_first ? step : n / 2 / step;
    for (std::size_t r = 0; r < n; ++r) send(ranks[r], ranks[r ^ distance], halves * bytes);
  }
}

inline void TrafficCounter::in_switch(std::span<const int> ranks, double bytes) {
  if (t_.gpu_out < 0) throw RequestError(t_.name + ": nvls needs a domain joined by switches");
  const auto sink = add(bytes);
  for (const int gpu : ranks) {
    sink(t_.link(t_.gpu_out, gpu), 1);
    sink(t_.link(t_.gpu_in, gpu), 1);
  }
}

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
      case Algorithm::hierarchical:
        out.sent_by_rank = ring_schedule(collective, flat).bytes(0);
        hierarchical(by_domain(ranks), collective);
        break;
      case Algorithm::halving_doubling:
      case Algorithm::rabenseifner:
        out.sent_by_rank = ring_schedule(collective, flat).bytes(0);
        halving(ranks, collective, algorithm == Algorithm::rabenseifner);
        break;
      case Algorithm::nvls:
        if (by_domain(ranks).members.size() > 1)
          throw RequestError(t_.name + ": nvls stays inside one domain; between domains it is nvls_tree");
        out.sent_by_rank = nvls_schedule(collective, flat).bytes(0);
        in_switch(ranks, out.sent_by_rank);
        break;
      case Algorithm::nvls_tree: {
        const Domains domains = by_domain(ranks);
        out.sent_by_rank = nvls_schedule(collective, Levels{static_cast<int>(domains.most)}).bytes(0);
        in_switch(ranks, out.sent_by_rank);
        tree(domains, collective, true);
        break;
      }
      case Algorithm::torus_bucket:
        out.sent_by_rank = torus_schedule(collective, flat, t_.dims, t_.wrap).bytes(0);
        bucket(ranks, collective);
        break;
      case Algorithm::collnet_direct:
      case Algorithm::collnet_chain:
      case Algorithm::pat:
      case Algorithm::bruck:
      case Algorithm::recursive_doubling:
        throw RequestError(std::string{name(algorithm)} +
                           " has no routes here; take ring, tree, nvls, nvls_tree, direct, pairwise, one_shot, two_shot, hierarchical, "
                           "halving_doubling, rabenseifner or torus_bucket");
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
