#pragma once
/// \file workload.hpp
/// Published results of training runs beside what the model says: a row of a workload CSV, predicted or with the reason why not.

#include <filesystem>
#include <string>
#include <vector>

namespace fabricost {

/// One published figure. Units are those of the row (its column `unit`).
struct WorkloadRow {
  std::string id, group, model, metric;
  double measured = 0, predicted = 0;
  bool fully_specified = false;  ///< the row or data/ give every input of a model
  std::string skipped;           ///< why it is not predicted; empty: it is
  int line = 0;                  ///< of the file

  /// predicted / measured - 1; 0 when skipped.
  [[nodiscard]] double error() const { return skipped.empty() ? predicted / measured - 1 : 0; }
};

/// Every row of a pipeline CSV (columns `id group model layers hidden heads seq p v tp m microbatch schedule t_f_ms t_b_ms t_w_ms t_comm_ms
/// metric value unit fully_specified notes`, others are left alone).
///
///   bubble_rate                  bubble / (work + bubble), pipeline_cost; zb_2p is searched
///   samples_per_gpu_per_s        m b / (p step), step = (1 + stretch) work + bubble + 2 v m C: of data/workloads/pipeline.yaml
///   activations_first_stage,
///   params_grads_optimizer_...,
///   activation_percent_of_...    Korthikanti 2022 (arXiv 2205.05198)
///   normalised_throughput        GPipe on even stages over its first row: p m / (m + p - 1)
///
/// Stage times a row does not have come from a profile of the same model, else of the nearest by width, scaled by layers, FLOPs and tokens.
/// \throws SpecError for a file that is none, a column or cell that is wrong
[[nodiscard]] std::vector<WorkloadRow> predict_pipeline_rows(const std::filesystem::path& file);

}  // namespace fabricost
