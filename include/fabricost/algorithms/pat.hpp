#pragma once
/// \file pat.hpp
/// Parallel aggregated trees, NCCL's all_gather and reduce_scatter for one rank per node (NVIDIA/nccl 2.23,
/// PAT): log2 n steps, (n-1)/n S. The rank at distance 2^i gets one block of every second run of 2^i, far
/// ranks first; reducing runs in the opposite direction.

#include <fabricost/algorithms/definition.hpp>

namespace fabricost::core::algorithms {

struct Pat : Defaults {
  static constexpr std::string_view name = "pat", nccl_name = "PAT";

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return gathers_or_scatters(op) ? nullptr : "PAT exists for all_gather and reduce_scatter";
  }
  [[nodiscard]] static const char* why_not(const Case& p);

  static void add_phases(Schedule& out, const Connectivity& at);

  [[nodiscard]] static int steps(Collective, const Levels& levels) { return static_cast<int>(detail::log2_ceil(levels.ranks())); }
  [[nodiscard]] static Message partner(Collective op, const Levels& levels, int step, int rank);
};

}  // namespace fabricost::core::algorithms

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/pat-inl.hpp>
#endif
