#pragma once
/// \file concurrent.hpp
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
/// Only rates are shared: the latency part of a collective is not slowed down (contended_time). A collective
/// that ends frees its links for the others; this is not modelled, the slow-down holds while all run.

#include <fabricost/network/balance.hpp>
#include <fabricost/network/layout.hpp>
#include <fabricost/network/link_names.hpp>
#include <fabricost/network/sharing.hpp>
#include <fabricost/network/traffic.hpp>
#include <fabricost/predict/prediction.hpp>
#include <fabricost/price/terms.hpp>

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fabricost {

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
};

/// `count` GPUs cut into groups of `size`, members `stride` apart: with the tensor-parallel size as stride
/// the data-parallel groups, with stride 1 the tensor-parallel ones. {0, s, 2 s, ...}, {1, s + 1, ...}, ...
/// \throws RequestError when they do not divide
[[nodiscard]] inline std::vector<std::vector<int>> strided_groups(int count, int size, int stride) {
  if (count < 1 || size < 1 || stride < 1 || static_cast<long long>(size) * stride > count || count % (size * stride) != 0)
    throw RequestError(std::to_string(count) + " GPUs do not divide into groups of " + std::to_string(size) + " at a stride of " +
                       std::to_string(stride));
  std::vector<std::vector<int>> out;
  for (int block = 0; block < count; block += size * stride)
    for (int offset = 0; offset < stride; ++offset) {
      std::vector<int>& group = out.emplace_back();
      for (int i = 0; i < size; ++i) group.push_back(block + offset + i * stride);
    }
  return out;
}

namespace detail {

/// Capacities after hashing: a bundle of p links crossed by f flows carries at most f x (one link) / E[max].
[[nodiscard]] inline std::vector<double> capacities_of(const Topology& t, const std::vector<Traffic>& traffic, Balancing balancing) {
  std::vector<double> out(static_cast<std::size_t>(t.links()));
  for (const LinkBlock& b : t.blocks)
    for (int i = b.first; i < b.first + b.count; ++i)
      out[static_cast<std::size_t>(i)] = b.kind == LinkKind::wire && t.shape != TierKind::torus ? t.capacity(i) : b.capacity;
  if (balancing == Balancing::even) return out;
  std::vector<double> flows(out.size(), 0);
  for (const Traffic& one : traffic)
    for (const LinkLoad& l : one.loads) flows[static_cast<std::size_t>(l.link)] += l.flows;
  std::map<std::pair<double, double>, double> known;
  for (const LinkBlock& b : t.blocks) {
    if (b.kind != LinkKind::tier_up && b.kind != LinkKind::tier_down && b.kind != LinkKind::groups) continue;
    for (int i = b.first; i < b.first + b.count; ++i) {
      const double f = std::round(flows[static_cast<std::size_t>(i)]);
      if (f < 2 || b.lanes < 2) continue;
      const auto [at, fresh] = known.try_emplace({f, b.lanes}, 0);
      if (fresh) at->second = std::min(1.0, f / b.lanes / expected_max_load(f, b.lanes));
      out[static_cast<std::size_t>(i)] *= at->second;
    }
  }
  return out;
}

}  // namespace detail

/// The rate and slow-down of each of `collectives` on `machine` while all of them run.
/// Cost: links loaded x log(links); 2,048 rings of 8 on 16,384 GPUs take 6 to 13 ms on one core.
/// \throws RequestError as TrafficCounter::count and share_max_min, with the collective's name
[[nodiscard]] inline Contention contention(const Topology& machine, std::span<const ConcurrentCollective> collectives,
                                           const ConcurrentOptions& options = {}) {
  TrafficCounter counter{machine, options.routes};
  std::vector<Traffic> traffic;
  traffic.reserve(collectives.size());
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    const ConcurrentCollective& one = collectives[c];
    const auto fault = [&](const std::string& what) {
      throw RequestError((one.name.empty() ? "collective " + std::to_string(c) : one.name) + ": " + what);
    };
    if (!(one.weight > 0) || std::isinf(one.weight)) fault("a weight must be a number above zero");
    try {
      traffic.push_back(counter.count(one.collective, one.algorithm, one.ranks));
    } catch (const RequestError& e) {
      fault(e.what());
    }
  }
  const std::vector<double> capacities = detail::capacities_of(machine, traffic, options.balancing);
  std::size_t total = 0;
  for (const Traffic& one : traffic) total += one.loads.size();
  std::vector<LinkUse> uses;
  uses.reserve(total);
  std::vector<Flow> flows;
  std::vector<std::size_t> whose;
  Contention out;
  out.outcomes.resize(collectives.size());
  for (std::size_t c = 0; c < traffic.size(); ++c) {
    const std::size_t begin = uses.size();
    double alone = std::numeric_limits<double>::infinity();
    for (const LinkLoad& l : traffic[c].loads) {
      uses.push_back({l.link, l.bytes / traffic[c].sent_by_rank});
      alone = std::min(alone, capacities[static_cast<std::size_t>(l.link)] / l.bytes);
    }
    if (uses.size() == begin) continue;
    out.outcomes[c].alone = alone;
    flows.push_back({.uses = {uses.data() + begin, uses.size() - begin}, .weight = collectives[c].weight});
    whose.push_back(c);
  }
  const Sharing sharing = share_max_min(capacities, flows);
  std::map<int, int> place;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const int link = sharing.bottlenecks[f];
    const auto [at, fresh] = place.try_emplace(link, static_cast<int>(out.links.size()));
    if (fresh) {
      const auto l = static_cast<std::size_t>(link);
      out.links.push_back(
          {.link = link, .name = name_of(machine, link), .capacity = capacities[l], .load = sharing.loads[l], .sharers = {}});
    }
    ConcurrentOutcome& one = out.outcomes[whose[f]];
    one.shared = std::min(one.alone, sharing.rates[f] / traffic[whose[f]].sent_by_rank);
    one.bottleneck = at->second;
  }
  std::vector<int> index(capacities.size(), -1);
  for (const auto& [link, at] : place) index[static_cast<std::size_t>(link)] = at;
  for (std::size_t f = 0; f < flows.size(); ++f)
    for (const LinkUse& use : flows[f].uses)
      if (const int at = index[static_cast<std::size_t>(use.link)]; at >= 0)
        out.links[static_cast<std::size_t>(at)].sharers.push_back(static_cast<int>(whose[f]));
  return out;
}

/// Seconds of a prediction whose transfers are slowed down: time + (slow_down - 1) x its wire terms. \throws RequestError below 1
[[nodiscard]] inline double contended_time(const Prediction& alone, double slow_down) {
  if (!(slow_down >= 1)) throw RequestError("a slow-down is at least 1");
  double wire = 0;
  for (const Term& term : alone.terms)
    if (term.name == name(TermKind::wire)) wire += term.time.value();
  return alone.seconds + (slow_down - 1) * wire;
}

}  // namespace fabricost
