#pragma once
/// \file forced-inl.hpp
/// Bodies of forced.hpp.

#include <fabricost/choice/forced.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY const char* why_not_forced(Candidate c, Collective op, const Fabric& f, bool byte_wide) {
  if (is_exchange(op)) return "point-to-point traffic runs outside of NCCL's table";
  if (!is_nccl_algorithm(c.algorithm)) return "NCCL does not have this algorithm";
  if (c.algorithm == Algorithm::tree && op != Collective::all_reduce) return "NCCL enables trees for all_reduce alone";
  return why_not(c, op, f, byte_wide);
}

FABRICOST_BODY Candidates forced_candidates(Collective op, const Fabric& f, bool byte_wide) {
  Candidates out;
  for (const Candidate c : possible_candidates(op, f, byte_wide))
    if (why_not_forced(c, op, f, byte_wide) == nullptr) out.add(c.algorithm, c.protocol);
  return out;
}

}  // namespace fabricost::core
