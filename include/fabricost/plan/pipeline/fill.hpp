#pragma once
/// \file fill.hpp
/// The V schedules with controllable memory (Qi 2024, arXiv 2405.15362); weight gradients fill idle gaps.
///
/// Forwards and backwards follow a pattern that repeats for every microbatch, six slots after the previous
/// one. With i the stage, the slots of its first microbatch are
///
///             forward 0   forward 1     backward 1        backward 0
///     v_min   i           2p - i - 1    2p + a + i        4p + a - i - 1     a = 2 where 3 divides p, else 0
///     v_half  2i          3p - i - 2    3p + b + 2i - 1   6p + b - i - 2     b = 3 for even p, else 0
///
/// (slots and intervals as in github.com/sail-sg/zero-bubble-pipeline-parallelism, zbv_greedy.py), so an
/// activation lives a third (v_min) or half (v_half) as long as in 1F1B. Starting each piece as early as
/// possible closes the gaps at both ends. Nothing depends on a W: Ws fill gaps, and run when a stage has no
/// memory left. Three rules are tried, a W enters a gap when all, half or any of it fits, and the shortest
/// run is kept. (The authors reorder the ends of the pattern; bubbles at F = B = W equal the paper's.)

#include <fabricost/plan/pipeline/orders.hpp>

#include <cstdint>

namespace fabricost::plan {
namespace detail {

struct SlottedWork {
  std::int64_t slot = 0;
  Work work;
};

[[nodiscard]] std::vector<Work> v_pattern_order(PipelineSchedule schedule, int stage, int stages, int microbatches);

/// Peak activations (in chunks) of one stage when Ws take the free slots of the pattern, oldest first: the
/// memory the schedule promises.
[[nodiscard]] int v_pattern_memory(PipelineSchedule schedule, int stages, int microbatches);

/// The shortest of the three rules; empty when the pattern does not run in that room.
[[nodiscard]] std::optional<PipelineRun> best_filled_run(PipelineSchedule schedule, int stages, int microbatches,
                                                         const StageTimes& times, const PipelineOrders& pattern, double room);

}  // namespace detail
}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/pipeline/fill-inl.hpp>
#endif
