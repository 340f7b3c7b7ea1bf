#pragma once
/// Pairs NCCL can be made to run, by NCCL_ALGO and NCCL_PROTO or by a tuner plugin: those that its own table
/// of models enables for a collective (NVIDIA/nccl, src/graph/tuning.cc; since 2.31 the map in src/tuning),
/// on a machine that can run them.

#include <fabricost/choice/candidates.hpp>

namespace fabricost::core {

/// True for an algorithm of NCCL's own table; the others exist in other libraries or only in papers.
[[nodiscard]] constexpr bool is_nccl_algorithm(Algorithm a) { return !nccl_name(a).empty(); }

/// Why NCCL cannot be made to run a pair here; nullptr if it can.
[[nodiscard]] inline const char* why_not_forced(Candidate c, Collective op, const Fabric& f, bool byte_wide) {
  if (is_exchange(op)) return "point-to-point traffic runs outside of NCCL's table";
  if (!is_nccl_algorithm(c.algorithm)) return "NCCL does not have this algorithm";
  if (c.algorithm == Algorithm::tree && op != Collective::all_reduce) return "NCCL enables trees for all_reduce alone";
  return why_not(c, op, f, byte_wide);
}

/// Every pair NCCL can be made to run.
[[nodiscard]] inline Candidates forced_candidates(Collective op, const Fabric& f, bool byte_wide) {
  Candidates out;
  for (const Candidate c : possible_candidates(op, f, byte_wide))
    if (why_not_forced(c, op, f, byte_wide) == nullptr) out.add(c.algorithm, c.protocol);
  return out;
}

}  // namespace fabricost::core
