#pragma once
/// \file workload.hpp
/// Published results of whole workloads, row by row, beside what the model says of them; and the software stacks they ran on.

#include <fabricost/hardware/system.hpp>
#include <fabricost/workload/layout.hpp>
#include <fabricost/workload/model.hpp>
#include <fabricost/workload/stack.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// One published figure and its prediction.
struct WorkloadRow {
  std::string id, group, model, metric;
  double measured = 0, predicted = 0;  ///< in the same unit; training figures are compared as seconds per step
  bool fully_specified = false;
  std::string skipped;  ///< why there is no prediction; empty when there is one
  int line = 0;
};

/// A software stack of data/stacks, or a YAML file. \throws SpecError, RequestError as load_system
[[nodiscard]] Stack load_stack(std::string_view name_or_path);
[[nodiscard]] std::vector<std::string> stack_names();

/// One row of a training.csv (columns: docs/reading-logs.md), as a job on a machine.
struct TrainingRow {
  WorkloadRow row;
  Model model;
  Layout layout;
  std::string system;                  ///< of data/systems or data/clusters
  std::vector<std::string> overrides;  ///< NICs and GPU the row states
  std::string stack;
  int gpus = 0;
  double power_share = 1;  ///< of the datasheet's arithmetic, for parts the row says are held below it
  double memory_rate = 0;  ///< bytes/s the row states; 0: the datasheet's
  double memory_gib = 0;   ///< peak the row states; 0: none
};

/// Rows in the order of the file; those that cannot be priced say why in `row.skipped`. Figures become seconds per step by each group's own
/// convention: tokens/s, TFLOPS and MFU of 6 N and all scores (SC21: equation 3 with recomputation).
/// \throws SpecError with line and column for malformed cells
[[nodiscard]] std::vector<TrainingRow> read_training_rows(const std::filesystem::path& file);

/// Fills `predicted`. A row whose job is impossible says so in `skipped`.
void predict_training_rows(std::vector<TrainingRow>& rows);

}  // namespace fabricost
