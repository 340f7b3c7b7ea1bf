#pragma once
/// \file traffic-inl.hpp
/// Bodies of traffic.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/network/traffic.hpp>

namespace fabricost::core {

FABRICOST_BODY Traffic TrafficCounter::count(Collective collective, Algorithm algorithm, std::span<const int> ranks) {
  for (const int link : touched_)
    bytes_[static_cast<std::size_t>(link)] = flows_[static_cast<std::size_t>(link)] = 0;  // left by a count that was refused
  touched_.clear();
  check(ranks);
  Traffic out;
  if (ranks.size() <= 1) return out;
  if (collective == Collective::send_recv && ranks.size() == 2) {
    send(ranks[0], ranks[1], 1);
    out.sent_by_rank = 1;
  } else if (collective == Collective::send_recv) {  // every rank to the next
    for (std::size_t i = 0; i < ranks.size(); ++i) send(ranks[i], ranks[(i + 1) % ranks.size()], 1);
    out.sent_by_rank = 1;
  } else {
    out.sent_by_rank = with_algorithm(algorithm, [&](auto a) { return count_by<decltype(a)>(collective, ranks); });
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

}  // namespace fabricost::core
