#pragma once
/// \file pairs.hpp
/// DualPipe (DeepSeek-AI 2024, arXiv 2412.19437) and its folded form, DualPipeV, derived from the paper's
/// description: microbatches enter a path of L places from both ends (DualPipeV: go down and come back up), a
/// forward of one direction and a backward of the other run as one, and a stage holds at most p + 1
/// microbatches (of whole chunks; p + 1/2 folded).
///
///   pattern    one pair a slot, one place a slot: at place q microbatch k has its forward in slot q + 2 k and its backward in slot
///              2 L - 1 - q + 2 k. A forward and a backward fall into the same slot when they are of different directions: those are pairs
///   ramp       before the first gradient arrives every other slot of a stage is idle until the far direction comes by. With i places
///              between the stage and the middle of the way, i forwards of the near direction fit in there (`early`), and the
///              backwards they were paired with run alone; or the first pairs run apart, the backward first, since gradients are
///              awaited elsewhere (`apart`)
///   weights    a backward that is in no pair leaves its W, which runs where the stage waits or needs the memory (fill.hpp)
///
/// Eight ramps are tried: with and without early forwards, and 0, i, 2 i pairs apart or L / 2 on every stage;
/// the shortest is kept. Without hand-overs and overlap its bubble is the paper's, (p/2 - 1) (F&B + B - 3 W).

#include <fabricost/plan/pipeline/fill.hpp>

namespace fabricost::plan {
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

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/pipeline/pairs-inl.hpp>
#endif
