#pragma once
/// \file traffic_counter-inl.hpp
/// Bodies of traffic_counter.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/network/traffic_counter.hpp>

namespace fabricost::core {

FABRICOST_BODY void TrafficCounter::send(int from, int to, double bytes) { for_route(t_, from, to, 1, options_, add(bytes)); }

FABRICOST_BODY TrafficCounter::Domains TrafficCounter::by_domain(std::span<const int> ranks) const {
  Domains out;
  std::map<int, std::size_t> place;
  for (const int gpu : ranks) {
    const auto [at, fresh] = place.try_emplace(t_.domain_of(gpu), out.members.size());
    if (fresh) out.members.emplace_back();
    out.members[at->second].push_back(gpu);
    out.max = std::max(out.max, out.members[at->second].size());
  }
  return out;
}

FABRICOST_BODY void TrafficCounter::check(std::span<const int> ranks) const {
  Group sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= t_.gpus()))
    throw RequestError(t_.name + ": GPU " + std::to_string(sorted.front() < 0 ? sorted.front() : sorted.back()) + " of 0 to " +
                       std::to_string(t_.gpus() - 1) + " does not exist");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw RequestError(t_.name + ": GPU " + std::to_string(*twice) + " is named twice in one collective");
}

}  // namespace fabricost::core
