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

// DualPipe (DeepSeek-AI 2024, arXiv 2412.19437) and its folded form, DualPipeV, derived from the paper's
// description: microbatches enter a path of L places from both ends (DualPipeV: go down and come back up), a
// forward of one direction and a backward of the other run as one, and a stage holds at most p + 1
// microbatches (of whole chunks; p + 1/2 folded).
//
//   pattern    one pair a slot, one place a slot: at place q microbatch k has its forward in slot q + 2 k and its backward in slot
//              2 L - 1 - q + 2 k. A forward and a backward fall into the same slot when they are of different directions: those are pairs
//   ramp       before the first gradient arrives every other slot of a stage is idle until the far direction comes by. With i places
//              between the stage and the middle of the way, i forwards of the near direction fit in there (`early`), and the
//              backwards they were paired with run alone; or the first pairs run apart, the backward first, since gradients are
//              awaited elsewhere (`apart`)
//   weights    a backward that is in no pair leaves its W, which runs where the stage waits or needs the memory (fill.hpp)
//
// Eight ramps are tried: with and without early forwards, and 0, i, 2 i pairs apart or L / 2 on every stage;
// the shortest is kept. Without hand-overs and overlap its bubble is the paper's, (p/2 - 1) (F&B + B - 3 W).

namespace detail {

/// The order of work while the pipeline fills.
struct PairsRamp {
  bool early = false;  ///< forwards of the near direction in the idle slots before the first gradient
  int apart = 0;       ///< pairs that run separately, in places between the stage and the middle; below 0: L / 2 on every stage
};

/// The shortest run found; empty when no order runs. \param room microbatch-stages a stage may hold
[[nodiscard]] std::optional<PipelineRun> best_paired_run(PipelineSchedule schedule, int stages, int microbatches,
                                                         const StageTimes& times, double room);

}  // namespace detail
}  // namespace fabricost::plan
