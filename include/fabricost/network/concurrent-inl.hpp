#pragma once
/// \file concurrent-inl.hpp
/// Bodies of concurrent.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/network/concurrent.hpp>

namespace fabricost {

FABRICOST_BODY std::vector<std::vector<int>> strided_groups(int count, int size, int stride) {
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

}  // namespace fabricost

namespace fabricost::detail {

/// Capacities after hashing: a bundle of p links crossed by f flows carries at most f x (one link) / E[max].
FABRICOST_BODY std::vector<double> capacities_of(const Topology& t, const std::vector<Traffic>& traffic, Balancing balancing) {
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

}  // namespace fabricost::detail

namespace fabricost {

FABRICOST_BODY Contention contention(const Topology& machine, std::span<const ConcurrentCollective> collectives,
                                     const ConcurrentOptions& options) {
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

FABRICOST_BODY double contended_time(const Prediction& alone, double slow_down) {
  if (!(slow_down >= 1)) throw RequestError("a slow-down is at least 1");
  double wire = 0;
  for (const Term& term : alone.terms)
    if (term.name == name(TermKind::wire)) wire += term.time.value();
  return alone.seconds + (slow_down - 1) * wire;
}

}  // namespace fabricost
