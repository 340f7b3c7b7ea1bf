#pragma once
/// \file reliability.hpp
/// The rows of a reliability CSV beside what follows from published failure rates, prices and powers.

#include <fabricost/evaluation/workload.hpp>

#include <filesystem>
#include <vector>

namespace fabricost {

/// Every row of a reliability CSV (columns id group source topic system gpus model quantity value unit fully_specified notes).
///
///   failure counts, MTTF, failures per node-day   rate of the fleet the row's source is x nodes x time (reliability.hpp)
///   goodput, effective training time of a run     goodput_of with the defaults of FailureFacts, best interval, background checkpoints
///   size of a checkpoint                          14 bytes a parameter
///   power of a GPU, node, rack                    data/gpus, data/systems; measured at most: load x rated
///
/// Counts by cause come from the table that is compared: those rows check the reading and the arithmetic. The rest, observations that
/// follow from nothing else, says so in `skipped`. \throws SpecError for a missing column or a cell that is wrong
[[nodiscard]] std::vector<WorkloadRow> predict_reliability_rows(const std::filesystem::path& file);

}  // namespace fabricost
