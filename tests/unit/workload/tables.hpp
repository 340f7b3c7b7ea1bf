#pragma once
/// Tables of published results as text, and the results of reading them.

#include <fabricost/error.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <fstream>
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

}  // namespace tables
