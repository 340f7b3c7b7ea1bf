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

#include "pipeline/orders.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace fabricost::plan {
namespace {

struct SlottedWork {
  std::int64_t slot = 0;
  Work work;
};

/// One stage's forwards and backwards by the slots of its pattern, without Ws.
[[nodiscard]] std::vector<SlottedWork> v_pattern(PipelineSchedule schedule, int stage, int stages, int microbatches) {
  const int p = stages, i = stage;
  const int a = p % 3 == 0 ? 2 : 0, b = p % 2 == 0 ? 3 : 0;
  const std::array<int, 4> slots = schedule == PipelineSchedule::v_min
                                       ? std::array<int, 4>{i, 2 * p - i - 1, 2 * p + a + i, 4 * p + a - i - 1}
                                       : std::array<int, 4>{2 * i, 3 * p - i - 2, 3 * p + b + 2 * i - 1, 6 * p + b - i - 2};
  std::vector<SlottedWork> all;
  all.reserve(4 * static_cast<std::size_t>(microbatches));
  for (int m = 0; m < microbatches; ++m)
    for (std::size_t k = 0; k < 4; ++k)
      all.push_back({slots[k] + std::int64_t{6} * m, {k < 2 ? WorkKind::forward : WorkKind::backward, k == 1 || k == 2 ? 1 : 0, m}});
  std::stable_sort(all.begin(), all.end(), [](const SlottedWork& x, const SlottedWork& y) { return x.slot < y.slot; });
  return all;
}

/// Runs forwards and backwards in the given order and inserts Ws. Empty when a stage cannot go on within
/// `room`.
/// \param room maximum microbatch-stages a stage may hold \param fits share of a W that must fit into a gap
[[nodiscard]] std::optional<PipelineRun> filled_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times,
                                                    const PipelineOrders& pattern, double room, double fits) {
  PipelineClock clock(schedule, stages, chunks_of(schedule, 1), microbatches, times);
  const auto count = static_cast<std::size_t>(stages);
  struct Stage {
    std::size_t next = 0, weight = 0;
    double free_at = 0, held = 0;
    std::vector<Work> due;
  };
  std::vector<Stage> at(count);
  std::vector<std::vector<Bar>> bars(count);
  const auto put = [&](std::size_t s, const Work& w, double start) {
    at[s].held += clock.activations(w);
    clock.done(static_cast<int>(s), w, at[s].free_at);
    bars[s].push_back({w, start, at[s].free_at});
    if (w.kind == WorkKind::backward) at[s].due.push_back({WorkKind::weight, w.chunk, w.microbatch});
  };
  const auto run_weight = [&](std::size_t s) {
    const Work w = at[s].due[at[s].weight++];
    const double start = at[s].free_at;
    at[s].free_at += clock.seconds(static_cast<int>(s), w);
    put(s, w, start);
  };
  bool full = false;  // a stage cannot go on within the room
  by_turns(count, [&](std::size_t s) {
    Stage& stage = at[s];
    const std::size_t before = stage.next;
    while (!full && stage.next < pattern[s].size()) {
      const PipelineTurn turn = clock.turn(static_cast<int>(s), pattern[s], stage.next);
      if (turn.ready < 0) break;
      const auto waiting = [&stage] { return stage.weight < stage.due.size(); };
      while (waiting() && stage.free_at + fits * clock.seconds(static_cast<int>(s), stage.due[stage.weight]) <= turn.ready &&
             stage.free_at < turn.ready)
        run_weight(s);
      const Work& w = pattern[s][stage.next];
      const auto too_much = [&] { return w.kind == WorkKind::forward && stage.held + clock.activations(w) > room * (1 + 1e-9); };
      while (waiting() && too_much()) run_weight(s);
      full = too_much();
      if (full) break;
      const double start = std::max(stage.free_at, turn.ready);
      stage.free_at = start + turn.seconds;
      for (const std::size_t last = stage.next + turn.pieces; stage.next < last; ++stage.next) put(s, pattern[s][stage.next], start);
    }
    return stage.next > before;
  });
  for (std::size_t s = 0; s < count; ++s) {
    if (at[s].next < pattern[s].size()) return std::nullopt;
    while (at[s].weight < at[s].due.size()) run_weight(s);
  }
  return measured_run(clock, std::move(bars), microbatches * times.work());
}

}  // namespace

std::vector<Work> v_pattern_order(PipelineSchedule schedule, int stage, int stages, int microbatches) {
  std::vector<Work> order;
  for (const SlottedWork& one : v_pattern(schedule, stage, stages, microbatches)) order.push_back(one.work);
  return order;
}

int v_pattern_memory(PipelineSchedule schedule, int stages, int microbatches) {
  int max = 0;
  const int enough = std::min(microbatches, 2 * stages + 2);  // from there on the pattern repeats
  for (int i = 0; i < stages; ++i) {
    int held = 0, due = 0;
    std::int64_t slot = 0;
    for (const auto& one : v_pattern(schedule, i, stages, enough)) {
      const auto weights = static_cast<int>(std::min<std::int64_t>(due, one.slot - slot));
      due -= weights;
      held -= weights;
      slot = one.slot + 1;
      if (one.work.kind == WorkKind::forward)
        max = std::max(max, ++held);
      else
        ++due;
    }
  }
  return max;
}

std::optional<PipelineRun> best_filled_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times,
                                           const PipelineOrders& pattern, double room) {
  std::optional<PipelineRun> best;
  for (const double fits : {1.0, 0.5, 0.0}) {
    auto run = filled_run(schedule, stages, microbatches, times, pattern, room, fits);
    if (run && (!best || run->longest_stage < best->longest_stage)) best = std::move(run);
  }
  return best;
}

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
//   weights    a backward that is in no pair leaves its W, which runs where the stage waits or needs the memory (above)
//
// Eight ramps are tried: with and without early forwards, and 0, i, 2 i pairs apart or L / 2 on every stage;
// the shortest is kept. Without hand-overs and overlap its bubble is the paper's, (p/2 - 1) (F&B + B - 3 W).

namespace {

/// The order of work while the pipeline fills.
struct PairsRamp {
  bool early = false;  ///< forwards of the near direction in the idle slots before the first gradient
  int apart = 0;       ///< pairs that run separately, in places between the stage and the middle; below 0: L / 2 on every stage
};

/// One stage's list.
[[nodiscard]] std::vector<Work> pairs_order(PipelineSchedule schedule, int stage, int stages, int microbatches, PairsRamp ramp) {
  const PipelineWay way(schedule, stages, 2);
  const int half = way.length() / 2, down = way.position({stage, 0}), up = way.position({stage, 1});
  const int near_chunk = down < up ? 0 : 1, to_middle = half - 1 - std::min(down, up);
  int apart = ramp.apart < 0 ? half : ramp.apart * to_middle;
  const bool from_both_ends = layout_of(schedule) == PipelineLayout::both_ways;
  const int each = from_both_ends ? microbatches / 2 : microbatches;
  std::vector<SlottedWork> all;
  all.reserve(4 * static_cast<std::size_t>(each));
  for (int chunk = 0; chunk < 2; ++chunk)
    for (int k = 0; k < each; ++k) {
      const int at = way.position({stage, chunk}), microbatch = (from_both_ends && chunk == 1 ? each : 0) + k;
      const bool early = ramp.early && chunk == near_chunk && k < half + to_middle;
      all.push_back({at + 2 * k - (early ? std::min(k, 2 * to_middle) : 0), {WorkKind::forward, chunk, microbatch}});
      all.push_back({2 * way.length() - 1 - at + 2 * k, {WorkKind::full_backward, chunk, microbatch}});
    }
  std::stable_sort(all.begin(), all.end(), [](const SlottedWork& x, const SlottedWork& y) {
    return x.slot != y.slot ? x.slot < y.slot : x.work.kind < y.work.kind;  // forward before backward
  });
  std::vector<Work> list;
  list.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Work work = all[i].work;
    const bool pair = i + 1 < all.size() && all[i + 1].slot == all[i].slot;
    if (pair && apart <= 0) {
      work.with_next = true;
      list.push_back(work);
      list.push_back(all[++i].work);
      continue;
    }
    if (pair) {
      Work backward = all[++i].work;
      backward.kind = WorkKind::backward;
      list.push_back(backward);
      --apart;
    } else if (work.kind == WorkKind::full_backward) {
      work.kind = WorkKind::backward;
    }
    list.push_back(work);
  }
  return list;
}

}  // namespace

std::optional<PipelineRun> best_paired_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times, double room) {
  std::optional<PipelineRun> best;
  for (const bool early : {true, false})
    for (const int apart : {0, 1, 2, -1}) {
      PipelineOrders orders;
      for (int s = 0; s < stages; ++s) orders.push_back(pairs_order(schedule, s, stages, microbatches, {early, apart}));
      auto run = best_filled_run(schedule, stages, microbatches, times, orders, room);
      if (run && (!best || run->longest_stage < best->longest_stage * (1 - 1e-12))) best = std::move(run);
    }
  return best;
}

}  // namespace fabricost::plan
