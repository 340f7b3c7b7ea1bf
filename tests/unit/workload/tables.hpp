#pragma once
/// \file tables.hpp
/// Tables of published results as text, and the results of reading them.

#include <fabricost/error.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace tables {

/// A file that is removed at the end.
class File {
 public:
  explicit File(const std::string& text, const char* ending = ".csv") {
    static std::atomic<int> next{0};
    path_ =
        std::filesystem::temp_directory_path() / ("fabricost-table-" + std::to_string(getpid()) + "-" + std::to_string(next++) + ending);
    std::ofstream(path_, std::ios::binary) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Cells = std::map<std::string, std::string>;

/// Columns in the order `training()` writes them.
inline const std::vector<std::string>& columns() {
  static const std::vector<std::string> all{"id",
                                            "group",
                                            "model",
                                            "layers",
                                            "hidden",
                                            "ffn",
                                            "heads",
                                            "kv_heads",
                                            "vocab",
                                            "seq",
                                            "experts",
                                            "top_k",
                                            "gpu",
                                            "gpus",
                                            "gpus_per_node",
                                            "interconnect",
                                            "tp",
                                            "pp",
                                            "vpp",
                                            "cp",
                                            "ep",
                                            "microbatch",
                                            "global_batch",
                                            "precision",
                                            "recompute",
                                            "sequence_parallel",
                                            "zero_stage",
                                            "measured_metric",
                                            "value",
                                            "memory_gib",
                                            "schedule",
                                            "fully_specified",
                                            "notes"};
  return all;
}

/// A training.csv of rows that differ from a valid row in some cells.
inline std::string training(const std::vector<Cells>& rows) {
  Cells sound{{"id", "X1"},
              {"group", "mosaic_made"},
              {"model", "llama3-8b"},
              {"gpu", "H100"},
              {"gpus", "8"},
              {"tp", "1"},
              {"pp", "1"},
              {"microbatch", "1"},
              {"global_batch", "16"},
              {"seq", "4096"},
              {"precision", "BF16"},
              {"recompute", "none"},
              {"zero_stage", "1"},
              {"measured_metric", "step_time_s"},
              {"value", "2"},
              {"fully_specified", "yes"}};
  std::string out;
  for (const std::string& c : columns()) out += (out.empty() ? "" : ",") + c;
  out += "\n";
  for (const Cells& row : rows) {
    std::string line;
    for (const std::string& c : columns()) {
      const auto own = row.find(c);
      const std::string& text = own != row.end() ? own->second : sound[c];
      line += (&c == &columns().front() ? "" : ",") + (text.find(',') != std::string::npos ? "\"" + text + "\"" : text);
    }
    out += line + "\n";
  }
  return out;
}

inline std::vector<fabricost::plan::TrainingRow> read(const std::vector<Cells>& rows) {
  return fabricost::plan::read_training_rows(File(training(rows)).path());
}
inline fabricost::plan::TrainingRow read_one(const Cells& row) { return read({row}).front(); }

/// The faults of a refused text; empty if it is read.
inline std::vector<fabricost::core::Issue> faults(const std::string& text) {
  const File file(text);
  try {
    (void)fabricost::plan::validate_workloads({file.path()});
  } catch (const fabricost::core::SpecError& error) {
    return error.issues();
  }
  return {};
}

/// The column at which a name's cell starts in the last line of a text, from 1 (no quoted cells before it).
inline int column_of(const std::string& text, const std::string& name) {
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  std::size_t at = 0;
  for (const std::string& c : columns()) {
    if (c == name) return static_cast<int>(at) + 1;
    at = last.find(',', at) + 1;
  }
  return 0;
}

}  // namespace tables
