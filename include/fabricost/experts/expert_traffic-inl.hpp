#pragma once
/// \file expert_traffic-inl.hpp
/// Bodies of expert_traffic.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/experts/expert_traffic.hpp>

namespace fabricost::core {

FABRICOST_BODY double token_bytes(int hidden, Precision p) {
  const double h = hidden;
  switch (p) {
    case Precision::fp8: return h + 4 * h / 128;
    case Precision::fp4: return bytes_in_4_bit * h;
    default: return 2 * h;
  }
}

FABRICOST_BODY ExpertPlacement place_experts(int ranks, int domain, int stride) {
  if (ranks < 1 || domain < 1 || stride < 1) throw RequestError("expert ranks, domain and stride must be at least 1");
  const int room = std::max(1, domain / stride);
  if (ranks <= room) return {ranks, ranks};
  const int domains = (ranks + room - 1) / room;
  if (ranks % domains != 0)
    throw RequestError(std::to_string(ranks) + " expert ranks do not spread evenly over " + std::to_string(domains) + " domains of " +
                       std::to_string(room) + "; take " + std::to_string(ranks / domains * domains));
  return {ranks, ranks / domains};
}

FABRICOST_BODY ExpertTraffic expert_traffic(const Gate& gate, const ExpertPlacement& at, Copies copies, double tokens, double bytes_each) {
  const double e = at.ranks, g = at.per_domain, N = at.domains();
  const double touched = touched_sets(gate, at.ranks);
  const double all = tokens * bytes_each;
  if (copies == Copies::per_domain && at.domains() > 1) {
    const double domains = touched_sets(gate, at.domains());
    return {all * touched * (1 - 1 / g), all * domains * (1 - 1 / N), all * touched, all * domains};
  }
  const double sent = copies == Copies::per_expert ? gate.top_k : touched;
  return {all * sent * (g - 1) / e, all * sent * (1 - g / e), all * sent, all * sent};
}

}  // namespace fabricost::core
