#pragma once
/// Whether a layout is valid: groups divide what they share, every chunk has work, microbatches suffice.

#include <fabricost/error.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/plan/model/stages.hpp>
#include <fabricost/plan/pipeline/pipeline.hpp>

#include <numeric>
#include <string>

namespace fabricost::plan {

/// The rules a layout can break, in the order of checking.
enum class LayoutFault : unsigned char {
  none,
  positive,
  replicas,
  batch,
  heads,
  sequence,
  split,
  idle_chunk,
  interleaving,
  schedule,
  no_experts,
  experts,
  expert_ranks,
  shard
};

[[nodiscard]] constexpr bool divides(long long part, long long whole) { return part > 0 && whole % part == 0; }

[[nodiscard]] LayoutFault fault_of(const Model& m, const Layout& l);

/// The divisor of `whole` nearest to `wanted`, by their ratio.
[[nodiscard]] int nearest_divisor(int whole, int wanted);

/// Whether the layout is valid for the model: everything divides, no rank and no chunk is idle.
[[nodiscard]] inline bool is_possible(const Model& m, const Layout& l) { return fault_of(m, l) == LayoutFault::none; }

/// Names the fault and the nearest valid layout; empty for a valid one. \param gpus of the job, which the named layout divides; 0: those
/// of the layout
[[nodiscard]] std::string why_impossible(const Model& m, const Layout& l, int gpus = 0);

}  // namespace fabricost::plan
