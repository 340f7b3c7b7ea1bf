#pragma once
/// Bodies of candidates.hpp.

#include <fabricost/choice/candidates.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY bool has_ll128(const Fabric& f) {
  if (f.over_pcie || f.library == Library::oneccl) return false;
  if (f.domains() <= 1) return true;
  return !f.host_bridge && f.ll128 && f.generation >= Generation::volta;
}

FABRICOST_BODY const char* why_not(Candidate c, Collective op, const Fabric& f, bool byte_wide) {
  if (static_cast<int>(c.algorithm) >= algorithm_count) return "unknown algorithm";
  return with_algorithm(c.algorithm, [&](auto a) { return detail::why_not<decltype(a)>(c.protocol, op, f, byte_wide); });
}

FABRICOST_BODY Candidates possible_candidates(Collective op, const Fabric& f, bool byte_wide) {
  Candidates out;
  for_every_algorithm([&](auto a) {
    for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple})
      if (detail::why_not<decltype(a)>(p, op, f, byte_wide) == nullptr) out.add(Algorithm{place_of<decltype(a)>}, p);
  });
  return out;
}

}  // namespace fabricost::core
