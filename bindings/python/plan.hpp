#pragma once
/// \file plan.hpp
/// The question fc.plan and fc.compare share, and one layout as Python sees it.

#include "record.hpp"

#include <fabricost/training/plan.hpp>

#include <string>
#include <utility>
#include <vector>

namespace fabricost::python {

/// One layout with its price.
struct PlannedTraining {
  std::string system{}, model{}, stack{};
  int gpus = 0, global_batch = 0, sequence = 0;
  std::string precision{};
  double headroom = 0;
  int tp = 1, pp = 1, vp = 1, cp = 1, ep = 1, dp = 1, expert_tp = 1, zero = 0, shard = 0, microbatch = 1;
  std::string schedule{}, recompute{}, placing{};
  bool sequence_parallel = false, fits = true;
  double step_seconds = 0, memory_bytes = 0, exposed_communication_seconds = 0;
  double tokens_per_second = 0, tokens_per_second_per_gpu = 0, flops_per_second_per_gpu = 0, mfu = 0;
  double flops_per_second_per_gpu_causal = 0, mfu_causal = 0, gpu_hours_per_trillion_tokens = 0;
  std::pair<double, double> interval_seconds{};
  int idle_gpus = 0;
  std::vector<NamedSeconds> terms{};
  bool operator==(const PlannedTraining&) const = default;
};

[[nodiscard]] PlannedTraining planned(const TrainingQuestion& question, const System& system, const PricedLayout& priced);

}  // namespace fabricost::python
