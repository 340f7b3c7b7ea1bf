#pragma once
/// \file pairs-inl.hpp
/// Bodies of pairs.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/pipeline/pairs.hpp>

namespace fabricost::plan::detail {

/// One stage's list.
FABRICOST_BODY std::vector<Work> pairs_order(PipelineSchedule schedule, int stage, int stages, int microbatches, PairsRamp ramp) {
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

FABRICOST_BODY std::optional<PipelineRun> best_paired_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times,
                                                          double room) {
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

}  // namespace fabricost::plan::detail
