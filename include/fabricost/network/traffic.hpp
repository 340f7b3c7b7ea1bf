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

#include <fabricost/network/rings.hpp>
#include <fabricost/network/routes.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/schedule/direct_reduce.hpp>
#include <fabricost/schedule/exchange.hpp>
#include <fabricost/schedule/halving_doubling.hpp>
#include <fabricost/schedule/in_network.hpp>
#include <fabricost/schedule/point_to_point.hpp>
#include <fabricost/schedule/ring.hpp>
#include <fabricost/schedule/torus.hpp>
#include <fabricost/schedule/tree.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace fabricost {

/// What a collective puts on one link.
struct LinkLoad {
  int link = 0;
  double bytes = 0;  ///< per byte of the collective's size
  double flows = 0;  ///< messages at a time; in expectation where ways split
};

struct Traffic {
  std::vector<LinkLoad> loads;  ///< links touched, by number
  double sent_by_rank = 0;      ///< bytes per byte of size that leave one rank
};

/// Adds up traffic link by link; one for a topology, used for many collectives.
class TrafficCounter {
 public:
  explicit TrafficCounter(const Topology& t, RouteOptions options = {})
      : t_(t), options_(options), bytes_(static_cast<std::size_t>(t.links()), 0), flows_(static_cast<std::size_t>(t.links()), 0) {}

  /// The links that `collective` run by `algorithm` over the GPUs `ranks` loads.
  /// \throws RequestError for an algorithm without routes here, a GPU that does not exist or is named twice, or ranks it cannot run on
  [[nodiscard]] Traffic count(Collective collective, Algorithm algorithm, std::span<const int> ranks);

 private:
  using Group = std::vector<int>;
  struct Domains {
    std::vector<Group> members;  // in the order in which ranks name them
    std::size_t most = 0;
  };

  [[nodiscard]] auto add(double bytes) {
    return [this, bytes](int link, double part) {
      const auto l = static_cast<std::size_t>(link);
      if (flows_[l] == 0 && bytes_[l] == 0) touched_.push_back(link);
      bytes_[l] += part * bytes;
      flows_[l] += part;
    };
  }
  void send(int from, int to, double bytes) { for_route(t_, from, to, 1, options_, add(bytes)); }
  [[nodiscard]] Domains by_domain(std::span<const int> ranks) const;
  void check(std::span<const int> ranks) const;
  void ring(std::span<const int> ranks, double bytes);
  void inner_ring(const Group& members, double bytes);
  void tree(const Domains& domains, Collective collective, bool switched_inside);
  void exchange(std::span<const int> ranks, double each);
  void exchange_across(std::span<const int> ranks, const Domains& domains, double each);
  void exchange_above(std::span<const int> ranks, double each, bool relayed);
  void hierarchical(const Domains& domains, Collective collective);
  void halving(std::span<const int> ranks, Collective collective, bool near_first);
  void in_switch(std::span<const int> ranks, double bytes);
  void bucket(std::span<const int> ranks, Collective collective);
  [[nodiscard]] const std::vector<std::vector<int>>& rings_among(const Group& members);
  [[nodiscard]] std::size_t channels_of(const Domains& domains);
  [[nodiscard]] Group ending_with(const Group& members, std::size_t channel, std::size_t most);

  const Topology& t_;
  RouteOptions options_;
  std::vector<double> bytes_, flows_;
  std::vector<int> touched_;
  std::map<Group, std::vector<std::vector<int>>> rings_;  // of a wired domain, by members
};

inline TrafficCounter::Domains TrafficCounter::by_domain(std::span<const int> ranks) const {
  Domains out;
  std::map<int, std::size_t> place;
  for (const int gpu : ranks) {
    const auto [at, fresh] = place.try_emplace(t_.domain_of(gpu), out.members.size());
    if (fresh) out.members.emplace_back();
    out.members[at->second].push_back(gpu);
    out.most = std::max(out.most, out.members[at->second].size());
  }
  return out;
}

inline void TrafficCounter::check(std::span<const int> ranks) const {
  Group sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= t_.gpus()))
    throw RequestError(t_.name + ": GPU " + std::to_string(sorted.front() < 0 ? sorted.front() : sorted.back()) + " of 0 to " +
                       std::to_string(t_.gpus() - 1) + " does not exist");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw RequestError(t_.name + ": GPU " + std::to_string(*twice) + " is named twice in one collective");
}

/// Link-disjoint rings of a wired domain, endpoints by their number in it; none elsewhere.
inline const std::vector<std::vector<int>>& TrafficCounter::rings_among(const Group& members) {
  Group places;
  for (const int gpu : members) places.push_back(gpu % t_.domain);
  const auto at = rings_.find(places);
  if (at != rings_.end()) return at->second;
  const bool wired = t_.shape == TierKind::mesh_graph || t_.shape == TierKind::full_mesh;
  return rings_[places] = wired && places.size() > 1 && places.size() <= 32 ? disjoint_rings(t_, places) : std::vector<std::vector<int>>{};
}

/// One domain: `bytes` from each rank to the next, over as many rings as there are.
inline void TrafficCounter::inner_ring(const Group& members, double bytes) {
  const std::size_t n = members.size();
  if (n < 2) return;
  const int base = t_.domain_of(members[0]) * t_.domain;
  const auto& rings = rings_among(members);
  for (const auto& order : rings)
    for (std::size_t i = 0; i < n; ++i) send(base + order[i], base + order[(i + 1) % n], bytes / static_cast<double>(rings.size()));
  if (!rings.empty()) return;
  const bool both_ways = t_.shape == TierKind::torus || t_.shape == TierKind::ring;
  for (std::size_t i = 0; i < n; ++i) {
    send(members[i], members[(i + 1) % n], both_ways ? bytes / 2 : bytes);
    if (both_ways) send(members[(i + 1) % n], members[i], bytes / 2);
  }
}

/// Channels between domains: one for each rank of a domain, so that every NIC has its own, times the rings of a wired domain.
inline std::size_t TrafficCounter::channels_of(const Domains& domains) {
  std::size_t variants = 1;
  for (const Group& d : domains.members) variants = std::max(variants, rings_among(d).size());
  return domains.most * variants;
}

/// The ranks of a domain in the order in which a channel passes them, its own rank last; along wires where wires join them.
inline TrafficCounter::Group TrafficCounter::ending_with(const Group& members, std::size_t channel, std::size_t most) {
  const std::size_t g = members.size(), last = channel % g;
  const auto& rings = rings_among(members);
  Group order;
  order.reserve(g);
  if (rings.empty()) {
    for (std::size_t i = 1; i <= g; ++i) order.push_back(members[(last + i) % g]);
    return order;
  }
  const int base = t_.domain_of(members[0]) * t_.domain;
  const auto& cycle = rings[channel / most % rings.size()];
  const auto cut = static_cast<std::size_t>(std::find(cycle.begin(), cycle.end(), members[last] - base) - cycle.begin());
  for (std::size_t i = 1; i <= g; ++i) order.push_back(base + cycle[(cut + i) % g]);
  return order;
}

inline void TrafficCounter::ring(std::span<const int> ranks, double bytes) {
  const Domains domains = by_domain(ranks);
  if (domains.members.size() == 1) return inner_ring(domains.members[0], bytes);
  const std::size_t channels = channels_of(domains);
  Group order;
  for (std::size_t c = 0; c < channels; ++c) {
    order.clear();
    for (const Group& d : domains.members) {
      const Group part = ending_with(d, c, domains.most);
      order.insert(order.end(), part.begin(), part.end());
    }
    for (std::size_t i = 0; i < order.size(); ++i) send(order[i], order[(i + 1) % order.size()], bytes / static_cast<double>(channels));
  }
}

/// `switched_inside`: the domain reduces in its switches (nvls_tree), each of its ranks sending and receiving its even part.
inline void TrafficCounter::tree(const Domains& domains, Collective collective, bool switched_inside) {
  const bool up = collective != Collective::broadcast, down = collective != Collective::reduce;
  const auto both = [&](int child, int parent, double bytes) {
    if (up) send(child, parent, bytes);
    if (down) send(parent, child, bytes);
  };
  const std::size_t channels = channels_of(domains);
  const double part = 1 / static_cast<double>(channels);
  const std::size_t N = domains.members.size();
  Group heads(N);  // of the chains, which meet in the trees
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t d = 0; d < N; ++d) {
      const Group chain = ending_with(domains.members[d], c, domains.most);
      heads[d] = chain.back();
      for (std::size_t i = 1; i < chain.size() && !switched_inside; ++i) both(chain[i - 1], chain[i], part);
    }
    for (int which = 0; which < 2 && N > 1; ++which) {
      // the second tree is the first mirrored, or shifted by one where mirroring would leave a domain interior twice
      const auto node = [&](std::size_t r) { return which == 0 ? r : N % 2 == 0 ? N - 1 - r : (r + 1) % N; };
      for (std::size_t r = 1; r < N; ++r) {
        const std::size_t low = r & (~r + 1);
        std::size_t parent = (r ^ low) | (low << 1);
        if (parent >= N) parent = r ^ low;
        both(heads[node(r)], heads[node(parent)], part / 2);
      }
    }
  }
}

/// Every pair of ranks, both ways, `each` bytes.
inline void TrafficCounter::exchange(std::span<const int> ranks, double each) {
  const Domains domains = by_domain(ranks);
  const auto sink = add(each);
  for (const Group& d : domains.members) {
    const double others = static_cast<double>(d.size()) - 1;
    for (const int gpu : d) {
      if (others < 1) continue;
      if (t_.gpu_out >= 0) {
        sink(t_.link(t_.gpu_out, gpu), others);
        sink(t_.link(t_.gpu_in, gpu), others);
      } else {
        for (const int to : d)
          if (to != gpu) for_route(t_, gpu, to, 1, options_, sink);
      }
    }
  }
  if (domains.members.size() > 1) exchange_across(ranks, domains, each);
}

/// The part between domains up to the NICs: for each rank, how many messages leave by which GPU.
inline void TrafficCounter::exchange_across(std::span<const int> ranks, const Domains& domains, double each) {
  if (t_.nic_out < 0) throw RequestError(t_.name + ": no NIC tier to leave a domain by");
  const auto sink = add(each);
  const auto n = static_cast<double>(ranks.size());
  const bool relayed = t_.railed && options_.relay_on_rails && t_.joined;
  const auto places = static_cast<std::size_t>(t_.gpus_per_node);
  std::vector<double> all(places, 0), here(places, 0);
  for (const int gpu : ranks) ++all[static_cast<std::size_t>(gpu % t_.gpus_per_node)];
  for (const Group& d : domains.members) {
    std::fill(here.begin(), here.end(), 0);
    for (const int gpu : d) ++here[static_cast<std::size_t>(gpu % t_.gpus_per_node)];
    const double outside = n - static_cast<double>(d.size());
    for (const int gpu : d) {
      detail::nic_leg(t_, gpu, false, outside, sink);
      if (!relayed) {
        detail::nic_leg(t_, gpu, true, outside, sink);
        continue;
      }
      for (std::size_t place = 0; place < places; ++place) {
        const double messages = all[place] - here[place];
        if (messages <= 0) continue;
        const int peer = t_.node_of(gpu) * t_.gpus_per_node + static_cast<int>(place);
        const int exit = detail::rail_of(t_, peer) == detail::rail_of(t_, gpu) ? gpu : peer;
        if (exit != gpu) detail::inside(t_, gpu, exit, messages, sink);
        detail::nic_leg(t_, exit, true, messages, sink);
      }
    }
  }
  exchange_above(ranks, each, relayed);
}

/// The part above the NICs: of m ranks below one child of a tier, m (n - m) messages leave it.
inline void TrafficCounter::exchange_above(std::span<const int> ranks, double each, bool relayed) {
  const auto sink = add(each);
  const auto n = static_cast<double>(ranks.size());
  const auto places = static_cast<std::size_t>(t_.gpus_per_node);
  const int domain_nodes = std::max(1, t_.domain / t_.gpus_per_node);
  std::vector<double> all(places, 0);
  for (const int gpu : ranks) ++all[static_cast<std::size_t>(gpu % t_.gpus_per_node)];
  for (const NetworkLevel& level : t_.levels) {
    if (level.up < 0) continue;
    const int wide = std::max(level.span, domain_nodes);  // traffic inside a domain that spans several children stays on its own wires
    std::map<int, std::vector<double>> child, group;
    for (const int gpu : ranks) {
      const auto place = static_cast<std::size_t>(gpu % t_.gpus_per_node);
      for (auto* of : {&child, &group}) {
        std::vector<double>& counts = (*of)[t_.node_of(gpu) / (of == &child ? level.span : wide)];
        counts.resize(places, 0);
        ++counts[place];
      }
    }
    const auto sum = [](const std::vector<double>& v) {
      double out = 0;
      for (const double x : v) out += x;
      return out;
    };
    for (const auto& [c, counts] : child) {
      const std::vector<double>& near = group[static_cast<int>(static_cast<long long>(c) * level.span / wide)];
      const double m = sum(counts), far = n - sum(near);
      if (far <= 0) continue;
      if (level.pairs >= 0 && !options_.adaptive) {
        for (const auto& [other, theirs] : child)
          if (other != c) sink(t_.link(level.pairs, c * level.children + other), m * sum(theirs));
        continue;
      }
      const double global = level.pairs >= 0 ? 1 + options_.detoured : 1;
      if (level.lanes == 1) {
        sink(t_.link(level.up, c), m * far * global);
        sink(t_.link(level.down, c), m * far * global);
        continue;
      }
      for (std::size_t place = 0; place < places; ++place) {
        const double leaving = relayed ? m * (all[place] - near[place]) : counts[place] * far;
        const double entering = counts[place] * far;
        detail::for_nics(t_, static_cast<int>(place), [&](int nic, double share) {
          if (leaving > 0) sink(t_.link(level.up, c * level.lanes + nic), leaving * share);
          if (entering > 0) sink(t_.link(level.down, c * level.lanes + nic), entering * share);
        });
      }
    }
  }
}

inline void TrafficCounter::hierarchical(const Domains& domains, Collective collective) {
  const std::size_t g = domains.most, N = domains.members.size();
  for (const Group& d : domains.members)
    if (d.size() != g) throw RequestError(t_.name + ": hierarchical needs as many ranks in every domain");
  const double halves = collective == Collective::all_reduce ? 2 : 1;
  const auto share = [&](std::size_t m) { return halves * static_cast<double>(m - 1) / static_cast<double>(m); };
  for (const Group& d : domains.members) inner_ring(d, share(g));
  Group across(N);
  for (std::size_t i = 0; i < g && N > 1; ++i) {
    for (std::size_t d = 0; d < N; ++d) across[d] = domains.members[d][i];
    ring(across, share(N) / static_cast<double>(g));
  }
}

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
  for (const int link : touched_) bytes_[static_cast<std::size_t>(link)] = flows_[static_cast<std::size_t>(link)] = 0;  // of a count that was refused
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
        if (by_domain(ranks).members.size() > 1) throw RequestError(t_.name + ": nvls stays inside one domain; between domains it is nvls_tree");
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
