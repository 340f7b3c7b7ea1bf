#pragma once
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
  [[nodiscard]] static const char* why_not(const Case& p) {
    if (const char* why = not_for(p.collective)) return why;
    if (p.at.local() > 1 || p.at.domains() <= 1) return "PAT needs one rank per node";
    return p.simple ? nullptr : "PAT runs Simple only";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const Collective collective = out.collective;
    const double n = levels.ranks();
    const double steps = detail::log2_ceil(n);
    out.add({.level = levels.count - 1,
             .steps = steps,
             .bytes = (n - 1) / n,
             .message = 1 / n,
             .forwards = collective == Collective::all_gather ? steps : 0,
             .reduces = reduces(collective) ? steps : 0});
  }

  [[nodiscard]] static int steps(Collective, const Levels& levels) { return static_cast<int>(detail::log2_ceil(levels.ranks())); }
  [[nodiscard]] static Message partner(Collective op, const Levels& levels, int step, int rank) {
    const int n = static_cast<int>(levels.ranks());
    const bool back = op == Collective::reduce_scatter;
    const int distance = 1 << (back ? step : steps(op, levels) - 1 - step);
    const int blocks = (n - 1 - distance) / (2 * distance) + 1;
    return {.to = (back ? rank + n - distance : rank + distance) % n, .bytes = static_cast<double>(blocks) / n};
  }
};

}  // namespace fabricost::core::algorithms
