/// The orders that do not depend on times, per stage (i from 0): GPipe, 1F1B, interleaved, ZB-H1, ZB-H2,
/// handcrafted ZB-V.
///
///   gpipe         all microbatches through one chunk after the other, and back
///   1f1b, zb_h1   p - i - 1 forwards, then forward and backward in turn; zb_h1 runs each W i microbatches after its B
///   zb_h2         2 (p - i) - 2 forwards first, W 2 i microbatches after its B
///   interleaved   microbatches in groups of p; 2 (p - i - 1) + (v - 1) p forwards first (Narayanan 2021)
///   zb_v          Qi 2023; the counts of its phases as in PyTorch's ScheduleZBVZeroBubble
///
/// The interleaved order is Megatron-LM's, extended to microbatch counts that the stages do not divide.

#include "pipeline/orders.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace fabricost::plan {
namespace {

/// Builds one stage's list, counting microbatches by kind and chunk.
class OrderOf {
 public:
  explicit OrderOf(int limit) : limit_(limit) {}

  void add(WorkKind kind, int chunk) {
    int& n = count(kind, chunk);
    // microbatches that the step does not have leave holes in the pattern
    if (n < limit_) list_.push_back({kind, chunk, n});
    ++n;
    if (kind == WorkKind::backward) waiting_.push_back(chunk);
  }
  /// B and W together.
  void add_backward_and_weight(int chunk) {
    add(WorkKind::backward, chunk);
    waiting_.pop_back();
    add(WorkKind::weight, chunk);
  }
  /// The W that has waited longest.
  void add_oldest_weight() {
    if (at_ >= waiting_.size()) return;
    add(WorkKind::weight, waiting_[at_++]);
  }
  void add_all_weights() {
    while (at_ < waiting_.size()) add_oldest_weight();
  }
  /// Microbatches done so far; full backwards count as backwards.
  [[nodiscard]] int& count(WorkKind kind, int chunk) {
    const WorkKind counted = kind == WorkKind::full_backward ? WorkKind::backward : kind;
    return counts_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(counted)];
  }
  [[nodiscard]] std::vector<Work> take() { return std::move(list_); }

 private:
  int limit_;
  std::array<std::array<int, 3>, 2> counts_{};  ///< forward, backward, weight by chunk
  std::vector<int> waiting_;                    ///< chunks of the Bs whose W is pending
  std::size_t at_ = 0;
  std::vector<Work> list_;
};

/// \param warm_up forwards before the first 1F1B pair \param delay microbatches from a B to its W; below 0:
/// fused
std::vector<Work> one_f_one_b_order(int warm_up, int delay, int microbatches) {
  OrderOf order(microbatches);
  for (int i = 0; i < std::min(warm_up, microbatches); ++i) order.add(WorkKind::forward, 0);
  for (int i = 0; i < microbatches; ++i) {
    if (warm_up + i < microbatches) order.add(WorkKind::forward, 0);
    order.add(delay < 0 ? WorkKind::full_backward : WorkKind::backward, 0);
    if (delay >= 0 && i >= delay) order.add_oldest_weight();
  }
  order.add_all_weights();
  return order.take();
}

std::vector<Work> gpipe_order(int chunks, int microbatches) {
  std::vector<Work> list;
  list.reserve(2 * static_cast<std::size_t>(chunks) * static_cast<std::size_t>(microbatches));
  const auto pass = [&](WorkKind kind, int chunk) {
    for (int i = 0; i < microbatches; ++i) list.push_back({kind, chunk, i});
  };
  for (int c = 0; c < chunks; ++c) pass(WorkKind::forward, c);
  for (int c = chunks; c-- > 0;) pass(WorkKind::full_backward, c);
  return list;
}

/// Microbatches in even groups of at least `stages`: a group passes one chunk before it passes the next.
std::vector<Work> interleaved_order(int stage, int stages, int chunks, int microbatches) {
  const int groups = std::max(1, microbatches / stages);
  const int largest = (microbatches + groups - 1) / groups;
  std::vector<std::pair<int, int>> turns;  // chunk, microbatch
  turns.reserve(static_cast<std::size_t>(chunks) * static_cast<std::size_t>(microbatches));
  for (int g = 0, first = 0; g < groups; ++g) {
    const int size = microbatches / groups + (g < microbatches % groups ? 1 : 0);
    for (int c = 0; c < chunks; ++c)
      for (int i = 0; i < size; ++i) turns.emplace_back(c, first + i);
    first += size;
  }
  const auto all = turns.size();
  const auto warm_up = std::min(all, static_cast<std::size_t>(2 * (stages - stage - 1) + (chunks - 1) * largest));
  std::vector<Work> list;
  list.reserve(2 * all);
  const auto forward = [&](std::size_t k) { list.push_back({WorkKind::forward, turns[k].first, turns[k].second}); };
  for (std::size_t k = 0; k < warm_up; ++k) forward(k);
  for (std::size_t k = 0; k < all; ++k) {
    if (warm_up + k < all) forward(warm_up + k);
    list.push_back({WorkKind::full_backward, chunks - 1 - turns[k].first, turns[k].second});
  }
  return list;
}

/// Stage i: 2 (p - i) - 1 forwards of chunk 0; i times a forward of 1 and of 0; p - i times forward, B, W of
/// 1; then alternately forward, B, W of 0 and of 1; finally B of 0 and 1 i times, B and W of 0 p - i times,
/// and the remaining Ws.
std::vector<Work> zb_v_order(int stage, int stages, int microbatches) {
  const int filled = std::max(microbatches, 2 * stages - 1);  // the pattern needs that many; missing ones stay empty
  OrderOf order(microbatches);
  for (int i = 0; i < 2 * (stages - stage) - 1; ++i) order.add(WorkKind::forward, 0);
  for (int i = 0; i < stage; ++i) {
    order.add(WorkKind::forward, 1);
    order.add(WorkKind::forward, 0);
  }
  for (int i = 0; i < stages - stage; ++i) {
    order.add(WorkKind::forward, 1);
    order.add_backward_and_weight(1);
  }
  while (order.count(WorkKind::forward, 1) < filled) {
    if (order.count(WorkKind::forward, 0) < filled) order.add(WorkKind::forward, 0);
    order.add_backward_and_weight(0);
    order.add(WorkKind::forward, 1);
    order.add_backward_and_weight(1);
  }
  for (int i = 0; i < stage; ++i) {
    order.add(WorkKind::backward, 0);
    order.add(WorkKind::backward, 1);
  }
  for (int i = 0; i < stages - stage; ++i) {
    order.add(WorkKind::backward, 0);
    order.add_oldest_weight();
  }
  order.add_all_weights();
  return order.take();
}

}  // namespace

std::vector<Work> pipeline_order(PipelineSchedule schedule, int stage, int stages, int chunks, int microbatches) {
  check_pipeline(schedule, stages, chunks, microbatches, {.forward = 1});
  if (stage < 0 || stage >= stages)
    throw RequestError("stage " + std::to_string(stage) + " is not there; they are 0 to " + std::to_string(stages - 1));
  const int left = stages - stage - 1;
  switch (schedule) {
    case PipelineSchedule::none:
    case PipelineSchedule::one_f_one_b: return one_f_one_b_order(left, -1, microbatches);
    case PipelineSchedule::gpipe: return gpipe_order(chunks, microbatches);
    case PipelineSchedule::interleaved: return interleaved_order(stage, stages, chunks, microbatches);
    case PipelineSchedule::zb_h1: return one_f_one_b_order(left, stage, microbatches);
    case PipelineSchedule::zb_h2: return one_f_one_b_order(2 * left, 2 * stage, microbatches);
    case PipelineSchedule::zb_v: return zb_v_order(stage, stages, microbatches);
    default: break;
  }
  throw RequestError("the order of schedule " + std::string(name(schedule)) + " depends on the times; ask pipeline_orders with them");
}

}  // namespace fabricost::plan
