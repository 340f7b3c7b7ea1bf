#pragma once
/// \file orders.hpp
/// The orders that do not depend on times, per stage (i from 0): GPipe, 1F1B, interleaved, ZB-H1, ZB-H2,
/// handcrafted ZB-V.
///
///   1f1b, zb_h1   p - i - 1 forwards, then forward and backward in turn; zb_h1 runs each W i microbatches after its B
///   zb_h2         2 (p - i) - 2 forwards first, W 2 i microbatches after its B
///   interleaved   microbatches in groups of p; 2 (p - i - 1) + (v - 1) p forwards first (Narayanan 2021)
///   zb_v          Qi 2023; the counts of its phases as in PyTorch's ScheduleZBVZeroBubble
///
/// The interleaved order is Megatron-LM's, extended to microbatch counts that the stages do not divide.

#include <fabricost/plan/pipeline/work.hpp>

namespace fabricost::plan {
namespace detail {

/// Builds one stage's list, counting microbatches by kind and chunk.
class OrderOf {
 public:
  explicit OrderOf(int limit) : limit_(limit) {}

  void add(WorkKind kind, int chunk);
  /// B and W together.
  void add_backward_and_weight(int chunk);
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

}  // namespace detail

/// True if the order follows from the counts alone.
[[nodiscard]] constexpr bool has_fixed_order(PipelineSchedule s) {
  return s != PipelineSchedule::zb_1p && s != PipelineSchedule::zb_2p && s != PipelineSchedule::v_half && s != PipelineSchedule::v_min &&
         !runs_both_ways(s);
}

/// The work of one stage, in order. \throws RequestError as check_pipeline, for a stage that does not exist,
/// and for a schedule whose order depends on the times (use pipeline_orders)
[[nodiscard]] std::vector<Work> pipeline_order(PipelineSchedule schedule, int stage, int stages, int chunks, int microbatches);

}  // namespace fabricost::plan
