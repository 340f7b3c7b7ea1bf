#pragma once
/// \file memory_rows.hpp
/// Published peaks of memory in training runs, row by row, beside what memory.hpp says of them.

#include <fabricost/workload/memory.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fabricost {

/// One published peak and its prediction, in GiB.
struct MemoryRow {
  std::string id, group, model, metric;
  double measured = 0, predicted = 0;
  bool fully_specified = false;
  std::string skipped;  ///< why there is no prediction; empty when there is one
  int line = 0;
  MemoryUse use;  ///< of the worst stage
};

/// The shape of a model named in a row, without what the row itself says of it; nothing for a name nobody knows.
using ModelOfName = std::function<std::optional<Model>(const std::string& name)>;
/// The software a group of rows ran on; nothing when it is not known what it keeps.
using MemoryStackOfGroup = std::function<std::optional<MemoryStack>(const std::string& group)>;

/// The rows of a training.csv that state `memory_gib`, in the order of the file. Numbers of the row (layers, hidden, ffn, heads, kv_heads,
/// vocab, experts, top_k) win over the named model's; a name nobody knows, with all of them in the row, is a GPT: two matrices, biases.
/// `ffn` of a row with experts is the expert's. dp = gpus / (tp pp cp), whatever the table prints.
/// \throws SpecError with line and column for a cell that is no whole number or a missing column
[[nodiscard]] std::vector<MemoryRow> predict_memory_rows(const std::filesystem::path& file, const ModelOfName& model_of,
                                                         const MemoryStackOfGroup& stack_of);

}  // namespace fabricost
