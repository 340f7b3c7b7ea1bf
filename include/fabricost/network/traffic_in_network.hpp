#pragma once
/// \file traffic_in_network.hpp
/// Collectives that switches combine or multiply: every link carries a part once, however many ranks are below it.
///
///   nvls             each GPU its part into the switches of the domain and the result back; of two stages the first adds up before the
///                    trunk
///   collnet_direct   inside, everybody to everybody; rank i of every domain then has the i-th part, which its NIC hands the network's
///                    switches (SHARP) and takes back reduced
///   collnet_chain    inside, a chain that ends at the GPU whose NIC hands the part over; one chain for each NIC
///
/// In the network a part is a tree: the switches below one child of a tier add what comes from below, so one copy goes up and one comes
/// down, as far as the parts' ranks reach. all_reduce moves a part up and down; of reduce_scatter all goes up and each domain's own comes
/// down, of all_gather the reverse. Between the groups of a dragonfly with minimal routes the first group is the root.

#include <fabricost/network/traffic_counter.hpp>

#include <utility>

namespace fabricost {

/// On a trunk of two stages a group of m of n ranks adds up what is owned outside, (n-m)/n S, before it goes up, and what it owns comes
/// down added up, m/n S; handing out results is the reverse.
inline void TrafficCounter::in_switch(const Domains& domains, Collective collective, double bytes) {
  if (t_.gpu_out < 0) throw RequestError(t_.name + ": nvls needs a domain joined by switches");
  const auto sink = add(bytes);
  for (const Group& d : domains.members) {
    std::map<int, double> below;
    for (const int gpu : d) {
      sink(t_.link(t_.gpu_out, gpu), 1);
      sink(t_.link(t_.gpu_in, gpu), 1);
      if (t_.trunk_up >= 0) ++below[t_.stage_of(gpu)];
    }
    if (below.size() < 2) continue;
    for (const auto& [stage, m] : below) {
      const double own = m / static_cast<double>(d.size());
      const double up = (reduces(collective) ? 1 - own : 0) + (collective != Collective::reduce_scatter ? own : 0);
      const double down = (reduces(collective) ? own : 0) + (collective != Collective::reduce_scatter ? 1 - own : 0);
      add(up)(t_.link(t_.trunk_up, stage), 1);
      add(down)(t_.link(t_.trunk_down, stage), 1);
    }
  }
}

/// One part, from one GPU of each domain: `up` bytes of it into the network, `down` bytes out of it, per byte of size.
inline void TrafficCounter::aggregated(std::span<const int> heads, double up, double down) {
  if (t_.nic_out < 0) throw RequestError(t_.name + ": no NIC tier to leave a domain by");
  for (const int gpu : heads) {
    detail::nic_leg(t_, gpu, true, 1, add(up));
    detail::nic_leg(t_, gpu, false, 1, add(down));
  }
  for (const NetworkLevel& level : t_.levels) {
    std::map<std::pair<int, int>, double> below;  // child and lane: the share of the part there
    std::map<int, bool> children;
    for (const int gpu : heads) {
      const int child = t_.node_of(gpu) / level.span;
      children[child] = true;
      if (level.lanes == 1) {
        below[{child, 0}] = 1;
        continue;
      }
      detail::for_nics(t_, gpu, [&](int n, double share) { below[{child, n}] = std::max(below[{child, n}], share); });
    }
    if (children.size() < 2) return;  // all of them meet below
    if (level.up < 0) continue;
    if (level.pairs >= 0 && !options_.adaptive) {
      const int root = children.begin()->first;
      for (const auto& one : children) {
        if (one.first == root) continue;
        add(up)(t_.link(level.pairs, one.first * level.children + root), 1);
        add(down)(t_.link(level.pairs, root * level.children + one.first), 1);
      }
      continue;
    }
    for (const auto& [at, share] : below) {
      add(up)(t_.link(level.up, at.first * level.lanes + at.second), share);
      add(down)(t_.link(level.down, at.first * level.lanes + at.second), share);
    }
  }
}

inline void TrafficCounter::collnet(const Domains& domains, Collective collective, bool chained) {
  const std::size_t N = domains.members.size();
  if (N < 2) throw RequestError(t_.name + ": CollNet needs more than one domain");
  for (const Group& d : domains.members)
    if (d.size() != domains.most) throw RequestError(t_.name + ": CollNet needs as many ranks in every domain");
  const double own = 1 / static_cast<double>(N);
  const double up = collective == Collective::all_gather ? own : 1, down = collective == Collective::reduce_scatter ? own : 1;
  const std::size_t channels = chained ? channels_of(domains) : domains.most;
  const double part = 1 / static_cast<double>(channels);
  Group heads(N);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t d = 0; d < N; ++d) {
      if (!chained) {
        heads[d] = domains.members[d][c];
        continue;
      }
      const Group chain = ending_with(domains.members[d], c, domains.most);
      heads[d] = chain.back();
      for (std::size_t i = 1; i < chain.size(); ++i) {
        send(chain[i - 1], chain[i], part);
        send(chain[i], chain[i - 1], part);
      }
    }
    aggregated(heads, up * part, down * part);
  }
  if (chained) return;
  const double halves = collective == Collective::all_reduce ? 2 : 1;
  for (const Group& d : domains.members) exchange(d, halves * part);
}

}  // namespace fabricost
